//! What became of a call, as JSON: one line each, in the words of the WIT.
//!
//! What a server said passes through verbatim: numbers keep their digits, members their order. Nothing
//! of it is parsed into values.
//!
//! ```
//! use host_tests::{Outcome, ToolResult, verdict};
//!
//! let outcome = Outcome::Ok(ToolResult {
//!     call: 1,
//!     attempts: 1,
//!     json: r#"{"n":1915883588174806058}"#.into(),
//!     warnings: vec![],
//! });
//! assert_eq!(
//!     verdict::outcome(&outcome).to_string(),
//!     r#"{"verdict":"ok","call":1,"result":{"n":1915883588174806058},"warnings":[]}"#,
//! );
//! ```

use crate::{
    CallId, Cause, Event, NotExecuted, Outcome, ReadError, Server, Stage, Tool, ToolResult, UnknownOutcome,
};

mod object;
mod parts;

pub use object::Object;
pub use parts::{failure, failure_kind, refusal, rpc_error};

use parts::bytes;

/// What `call-tool` brought.
pub fn call(verdict: &Result<Outcome, NotExecuted>) -> Object {
    match verdict {
        Ok(known) => outcome(known),
        Err(reason) => not_executed(reason),
    }
}

/// What became of a call that may have reached the server.
pub fn outcome(outcome: &Outcome) -> Object {
    let Named { verdict, call, rest } = named(outcome);
    Object::new().text("verdict", verdict).value("call", &call).and(rest)
}

/// What became known of a call after its outcome had been unknown.
pub fn late_answer(outcome: &Outcome) -> Object {
    let Named { verdict, call, rest } = named(outcome);
    event(&Event::LateAnswer(call)).text("verdict", verdict).and(rest)
}

/// An outcome: its name, its call, and everything else.
struct Named {
    verdict: &'static str,
    call: CallId,
    rest: Object,
}

fn named(outcome: &Outcome) -> Named {
    match outcome {
        Outcome::Ok(result) => answered("ok", result),
        Outcome::ToolError(result) => answered("tool-error", result),
        Outcome::UnknownOutcome(unknown) => {
            Named { verdict: "unknown-outcome", call: unknown.call, rest: unknown_outcome(unknown) }
        }
    }
}

fn answered(verdict: &'static str, result: &ToolResult) -> Named {
    // Once is what is promised; more is worth telling.
    let rest = match result.attempts {
        0 | 1 => Object::new(),
        attempts => Object::new().value("attempts", &attempts),
    };
    Named {
        verdict,
        call: result.call,
        rest: rest.json("result", &result.json).value("warnings", &result.warnings),
    }
}

fn unknown_outcome(unknown: &UnknownOutcome) -> Object {
    Object::new()
        .value("attempts", &unknown.attempts)
        .text("stage", stage(unknown.stage))
        .value("cause", &cause(&unknown.cause))
        .text("message", &unknown.message)
}

/// A call that did not run.
pub fn not_executed(reason: &NotExecuted) -> Object {
    Object::new().text("verdict", "not-executed").value("reason", &not_executed_reason(reason))
}

/// The name of a stage.
pub fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Waiting => "waiting",
        Stage::HandingOver => "handing-over",
        Stage::HandedOver => "handed-over",
        Stage::Accepted => "accepted",
        Stage::Answering => "answering",
        Stage::Answered => "answered",
    }
}

/// Why an outcome is unknown.
pub fn cause(cause: &Cause) -> Object {
    let kind = |kind| Object::new().text("kind", kind);
    match cause {
        Cause::Transport(lost) => kind("transport").value("failure", &failure(lost)),
        Cause::Refused(refused) => kind("refused").value("refusal", &refusal(refused)),
        Cause::AnsweredWithError(error) => kind("answered-with-error").value("error", &rpc_error(error)),
        Cause::Undecodable(undecodable) => {
            kind("undecodable").text("reason", &undecodable.reason).text("head", &bytes(&undecodable.head))
        }
        Cause::InputRequired(result) => kind("input-required").json("result", result),
        Cause::TaskEnded(task) => kind("task-ended").json("task", task),
        Cause::TimedOut => kind("timed-out"),
        Cause::Cancelled => kind("cancelled"),
        Cause::SessionReplaced => kind("session-replaced"),
        Cause::Closed => kind("closed"),
    }
}

/// Why a call did not run.
pub fn not_executed_reason(reason: &NotExecuted) -> Object {
    let kind = |kind| Object::new().text("kind", kind);
    match reason {
        NotExecuted::InvalidCall(wrong) => kind("invalid-call").value("detail", &[wrong]),
        NotExecuted::NotConnected => kind("not-connected"),
        NotExecuted::ConnectFailed(why) => kind("connect-failed").value("failure", &failure(why)),
        NotExecuted::HandshakeFailed(why) => kind("handshake-failed").and(parts::handshake_failure(why)),
        NotExecuted::NotSent(why) => kind("not-sent").value("failure", &failure(why)),
        NotExecuted::Refused(refused) => kind("refused").value("refusal", &refusal(refused)),
        NotExecuted::Closed => kind("closed"),
    }
}

/// What `reconnect` brought.
pub fn reconnected(result: &Result<Server, NotExecuted>) -> Object {
    match result {
        Ok(connected) => Object::new().text("verdict", "reconnected").value("server", &server(connected)),
        Err(reason) => not_executed(reason),
    }
}

/// The server as it introduced itself.
pub fn server(server: &Server) -> Object {
    Object::new()
        .text("name", &server.name)
        .text("version", &server.version)
        .text("protocol-version", &server.protocol_version)
}

/// What `reconcile` brought.
pub fn reconciled(known: Option<&Outcome>) -> Object {
    match known {
        Some(known) => outcome(known),
        None => Object::new().text("verdict", "still-unknown"),
    }
}

/// What `list-tools` brought.
pub fn tools(result: &Result<Vec<Tool>, ReadError>) -> Object {
    match result {
        Ok(tools) => {
            let entries = tools.iter().map(|tool| tool.json.as_str());
            Object::new().text("verdict", "tools").json_list("tools", entries)
        }
        Err(error) => Object::new().text("verdict", "failed").value("reason", &read_error(error)),
    }
}

/// What `read` brought.
pub fn read(result: &Result<String, ReadError>) -> Object {
    match result {
        Ok(nothing) if nothing.is_empty() => Object::new().text("verdict", "read"),
        Ok(json) => Object::new().text("verdict", "read").json("result", json),
        Err(error) => Object::new().text("verdict", "failed").value("reason", &read_error(error)),
    }
}

/// Why a read brought nothing.
pub fn read_error(error: &ReadError) -> Object {
    let kind = |kind| Object::new().text("kind", kind);
    match error {
        ReadError::InvalidRead(wrong) => kind("invalid-read").value("detail", &[wrong]),
        ReadError::NotConnected => kind("not-connected"),
        ReadError::ConnectFailed(why) => kind("connect-failed").value("failure", &failure(why)),
        ReadError::HandshakeFailed(why) => kind("handshake-failed").and(parts::handshake_failure(why)),
        ReadError::Transport(lost) => kind("transport").value("failure", &failure(lost)),
        ReadError::Refused(refused) => kind("refused").value("refusal", &refusal(refused)),
        ReadError::AnsweredWithError(error) => kind("answered-with-error").value("error", &rpc_error(error)),
        ReadError::Undecodable(undecodable) => {
            kind("undecodable").text("reason", &undecodable.reason).text("head", &bytes(&undecodable.head))
        }
        ReadError::InputRequired(result) => kind("input-required").json("result", result),
        ReadError::Endless(how) => kind("endless").value("detail", &[how]),
        ReadError::TimedOut => kind("timed-out"),
        ReadError::Closed => kind("closed"),
    }
}

/// What happened beside the calls. A late answer is told as a fact only: `reconcile` brings it, and
/// [`late_answer`] tells it.
pub fn event(event: &Event) -> Object {
    let name = |name| Object::new().text("event", name);
    match event {
        Event::Connected(connected) => name("connected").value("server", &server(connected)),
        Event::Disconnected(lost) => name("disconnected").value("failure", &failure(lost)),
        Event::LateAnswer(call) => name("late-answer").value("call", call),
        Event::Unclaimed(call) => name("unclaimed").value("call", call),
        Event::Progress(progress) => {
            name("progress").value("call", &progress.call).json("params", &progress.params)
        }
        Event::Notification(notification) => {
            let object = name("notification").text("method", &notification.method);
            match &notification.params {
                Some(params) => object.json("params", params),
                None => object,
            }
        }
        Event::Unsubscribed(None) => name("unsubscribed"),
        Event::Unsubscribed(Some(lost)) => name("unsubscribed").value("failure", &failure(lost)),
        Event::Diagnostic(diagnostic) => {
            name("diagnostic").text("text", &diagnostic.text).value("count", &diagnostic.count)
        }
        Event::Dropped(count) => name("dropped").value("count", count),
    }
}
