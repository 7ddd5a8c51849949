//! What the client said, in the agent's words.

use super::bindings::exports::noreplay::agent::errands::{Event, Unknown, Verdict};
use super::bindings::noreplay::mcp::client;

pub(super) fn verdict(verdict: Result<client::Outcome, client::NotExecuted>) -> Verdict {
    match verdict {
        Ok(known) => outcome(known),
        Err(reason) => Verdict::NotExecuted(format!("{reason:?}")),
    }
}

pub(super) fn outcome(outcome: client::Outcome) -> Verdict {
    match outcome {
        client::Outcome::Ok(result) => Verdict::Ok(result.json),
        client::Outcome::ToolError(result) => Verdict::ToolError(result.json),
        client::Outcome::UnknownOutcome(it) => Verdict::UnknownOutcome(unknown(it)),
    }
}

pub(super) fn unknown(unknown: client::UnknownOutcome) -> Unknown {
    Unknown { call: unknown.call, tool: unknown.tool, message: unknown.message }
}

pub(super) fn event(event: client::Event) -> Event {
    match event {
        client::Event::Unclaimed(call) => Event::Unclaimed(call),
        client::Event::LateAnswer(call) => Event::LateAnswer(call),
        other => Event::Other(format!("{other:?}")),
    }
}
