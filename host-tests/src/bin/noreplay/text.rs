//! Verdicts, for a person to read.

use host_tests::{
    Cause, Failure, HandshakeFailure, NotExecuted, Outcome, ReadError, Refusal, RpcError, ToolResult,
    UnknownOutcome, verdict,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::style::{BAD, DOUBT, FAINT, STRONG, harmless, styled};

/// What became of a call.
pub(crate) fn verdict(verdict: &Result<Outcome, NotExecuted>) -> String {
    match verdict {
        Ok(Outcome::Ok(result)) => answer(result),
        Ok(Outcome::ToolError(result)) => {
            let headline = styled(BAD, "tool error");
            format!("{headline}\n{}", answer(result))
        }
        Ok(Outcome::UnknownOutcome(unknown)) => unknown_outcome(unknown),
        Err(reason) => {
            let headline = styled(STRONG, "not executed");
            format!("{headline}: {}", not_executed(reason))
        }
    }
}

/// The members of a result that are shown.
#[derive(Deserialize)]
struct Shown<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Text {
    r#type: String,
    text: String,
}

/// A server's answer: its texts as they are, everything else as JSON.
fn answer(result: &ToolResult) -> String {
    let mut lines = Vec::new();
    match serde_json::from_str::<Shown<'_>>(&result.json) {
        Ok(shown) => {
            lines.extend(shown.content.iter().map(|block| block_text(block.get())));
            // Where there is content, it says the same.
            if let (true, Some(structured)) = (lines.is_empty(), shown.structured) {
                lines.push(structured.get().to_owned());
            }
        }
        Err(_) => lines.push(result.json.clone()),
    }
    let mut lines: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
    let warnings = result.warnings.iter();
    lines.extend(warnings.map(|warning| styled(DOUBT, "note: ") + &harmless(warning)));
    lines.join("\n")
}

fn block_text(block: &str) -> String {
    match serde_json::from_str::<Text>(block) {
        Ok(Text { r#type, text }) if r#type == "text" => text,
        _ => block.to_owned(),
    }
}

fn unknown_outcome(unknown: &UnknownOutcome) -> String {
    let headline = styled(DOUBT, "unknown outcome");
    let member = |name: &str, value: &str| format!("  {} {value}", styled(FAINT, &format!("{name:<8}")));
    [
        format!("{headline}: {}", harmless(&unknown.message)),
        member("cause", &cause(&unknown.cause)),
        member("stage", verdict::stage(unknown.stage)),
        member("attempts", &unknown.attempts.to_string()),
    ]
    .join("\n")
}

/// Why an outcome is unknown.
pub(crate) fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Transport(lost) => failure(lost),
        Cause::Refused(refused) => refusal(refused),
        Cause::AnsweredWithError(error) => rpc_error(error),
        Cause::Undecodable(undecodable) => {
            format!("an answer that cannot be read: {}", harmless(&undecodable.reason))
        }
        Cause::InputRequired(_) => "the server asks for input".into(),
        Cause::TaskEnded(_) => "the server ended its task".into(),
        Cause::TimedOut => "its time ran out".into(),
        Cause::Cancelled => "it was cancelled".into(),
        Cause::SessionReplaced => "the connection was replaced".into(),
        Cause::Closed => "the session was closed".into(),
    }
}

/// Why a call did not run.
pub(crate) fn not_executed(reason: &NotExecuted) -> String {
    match reason {
        NotExecuted::InvalidCall(wrong) => format!("the call is invalid: {}", harmless(wrong)),
        NotExecuted::NotConnected => "there is no connection".into(),
        NotExecuted::ConnectFailed(why) => format!("no connection: {}", failure(why)),
        NotExecuted::HandshakeFailed(why) => format!("no handshake: {}", handshake_failure(why)),
        NotExecuted::NotSent(why) => format!("it was not sent: {}", failure(why)),
        NotExecuted::Refused(refused) => refusal(refused),
        NotExecuted::Closed => "the session is closed".into(),
    }
}

/// Why a read brought nothing.
pub(crate) fn read_error(error: &ReadError) -> String {
    match error {
        ReadError::InvalidRead(wrong) => format!("it cannot be asked: {}", harmless(wrong)),
        ReadError::NotConnected => "there is no connection".into(),
        ReadError::ConnectFailed(why) => format!("no connection: {}", failure(why)),
        ReadError::HandshakeFailed(why) => format!("no handshake: {}", handshake_failure(why)),
        ReadError::Transport(lost) => failure(lost),
        ReadError::Refused(refused) => refusal(refused),
        ReadError::AnsweredWithError(error) => rpc_error(error),
        ReadError::Undecodable(undecodable) => {
            format!("an answer that cannot be read: {}", harmless(&undecodable.reason))
        }
        ReadError::InputRequired(_) => "the server asks for input".into(),
        ReadError::Endless(how) => format!("the list does not end: {}", harmless(how)),
        ReadError::TimedOut => "time ran out".into(),
        ReadError::Closed => "the session is closed".into(),
    }
}

fn failure(failure: &Failure) -> String {
    let kind = verdict::failure_kind(failure.kind);
    if failure.detail.is_empty() {
        return kind.into();
    }
    format!("{} ({kind})", harmless(&failure.detail.join(": ")))
}

fn handshake_failure(why: &HandshakeFailure) -> String {
    let mut words = vec![harmless(&why.reason)];
    words.extend(why.error.as_ref().map(rpc_error));
    words.extend(why.failure.as_ref().map(failure));
    words.extend(why.refusal.as_ref().map(refusal));
    words.join(": ")
}

fn refusal(refusal: &Refusal) -> String {
    format!("the server refused it with status {}", refusal.status)
}

fn rpc_error(error: &RpcError) -> String {
    let message = harmless(&error.message);
    format!("the server answered with error {}: {message}", error.code)
}
