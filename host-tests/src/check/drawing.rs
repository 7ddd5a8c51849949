//! A run, drawn as lines that a person can follow.

use super::moment::{Entry, Fate, Kind, Meaning, Moment, Told, Verdict};
use super::schedule::Schedule;
use crate::transport::{Delivery, SendError};
use crate::verdict as words;
use crate::{NotExecuted, Outcome};

/// The run's sequence: who did what, and when.
pub(super) fn draw(schedule: &Schedule, log: &[Entry]) -> Vec<String> {
    let mut lines = vec![format!("policy: {}; server: {}", schedule.policy, schedule.setting)];
    lines.extend(log.iter().filter_map(|entry| {
        let line = line(&entry.moment, log)?;
        Some(format!("{:>7} ms  {line}", entry.at.as_millis()))
    }));
    lines
}

fn line(moment: &Moment, log: &[Entry]) -> Option<String> {
    let message = |index: usize| name(index, log);
    Some(match moment {
        Moment::Called(call) => {
            format!("caller     calls `{}` (call {}), deadline {} ms", call.tool, call.number, call.timeout)
        }
        Moment::Verdict(number, verdict) => format!("component  call {number} is {}", verdict_words(verdict)),
        Moment::Cancelled(number) => format!("caller     cancels call {number}"),
        Moment::Reconnecting => "caller     reconnects".to_owned(),
        Moment::Reconnected(Ok(_)) => "component  reconnected".to_owned(),
        Moment::Reconnected(Err(reason)) => format!("component  did not reconnect: {}", reason_words(reason)),
        Moment::Closing => "caller     closes".to_owned(),
        Moment::Closed => "component  closed".to_owned(),
        Moment::Listing => "caller     lists the tools".to_owned(),
        Moment::Listed(Ok(count)) => format!("component  lists {count} tools"),
        Moment::Listed(Err(error)) => format!("component  lists nothing: {}", words::read_error(error)),
        Moment::Reconciling(number) => format!("caller     asks what became of call {number}"),
        Moment::Reconciled(number, None) => format!("component  call {number} is still unknown"),
        Moment::Reconciled(number, Some(known)) => {
            format!("component  call {number} is known now: {}", verdict_words(&Ok(known.clone())))
        }
        Moment::Hung(what) => format!("component  {what} does not end"),
        Moment::Dead(error) => format!("component  {error}"),
        Moment::Connecting(number) => format!("component  opens connection {number}"),
        Moment::Connected(number) => format!("transport  connection {number} is up"),
        Moment::ConnectFailed(number, failure) => {
            format!("transport  connection {number} fails: {}", words::failure_kind(failure.kind))
        }
        Moment::ConnectDropped(number) => format!("component  gives connection {number} up"),
        Moment::Handed(handed) => {
            format!("component  hands over {} on connection {}", message(handed.index), handed.connection)
        }
        Moment::Returned(_, Ok(Delivery::HandedOver), Meaning::Nothing) => return None,
        Moment::Returned(index, result, _) => {
            format!("transport  {}: {}", message(*index), sent_words(result))
        }
        Moment::SendDropped(index) => format!("component  gives up handing over {}", message(*index)),
        Moment::Executed(index) => format!("server     EXECUTES {}", message(*index)),
        Moment::Told(connection, _, told) => {
            format!("transport  connection {connection} brings {}", told_words(told, log))
        }
        Moment::Abandoned(connection, request) => {
            format!("component  abandons request {request} on connection {connection}")
        }
        Moment::Ended(connection) => format!("component  ends connection {connection}"),
        Moment::Dropped(connection) => format!("component  lets connection {connection} go"),
        Moment::Unread(connection) => {
            format!("component  leaves unread what came on connection {connection}")
        }
        Moment::Fault(fault) => format!("** fault   {fault}"),
        Moment::Pending(..) | Moment::Unsettled(_) | Moment::Event(_) => return None,
    })
}

/// What a message is, and its id.
fn name(index: usize, log: &[Entry]) -> String {
    let handed = log.iter().find_map(|entry| match &entry.moment {
        Moment::Handed(message) if message.index == index => Some(message),
        _ => None,
    });
    let Some(message) = handed else { return "a message".to_owned() };
    let what = match &message.kind {
        Kind::Discover => "server/discover".to_owned(),
        Kind::Initialize => "initialize".to_owned(),
        Kind::Initialized => "initialized".to_owned(),
        Kind::Call(number) => format!("call {number}"),
        Kind::List => "tools/list".to_owned(),
        Kind::Cancel(request) => format!("the cancel of request {request}"),
        Kind::Response => "an answer".to_owned(),
        Kind::Other(method) => format!("`{method}`"),
    };
    match message.request {
        Some(request) => format!("{what} (id {request})"),
        None => what,
    }
}

fn sent_words(result: &Result<Delivery, SendError>) -> String {
    match result {
        Ok(Delivery::HandedOver) => "handed over".to_owned(),
        Ok(Delivery::Accepted) => "accepted".to_owned(),
        Err(SendError::NotSent(failure)) => format!("not sent ({})", words::failure_kind(failure.kind)),
        Err(SendError::Truncated(failure)) => format!("truncated ({})", words::failure_kind(failure.kind)),
        Err(SendError::Refused(refusal)) => format!("refused with {}", refusal.status),
        Err(SendError::Unknown(failure)) => {
            format!("nobody knows whether it arrived ({})", words::failure_kind(failure.kind))
        }
    }
}

fn told_words(told: &Told, log: &[Entry]) -> String {
    match told {
        Told::Of(index, fate) => {
            let what = match fate {
                Fate::Result { is_error: false, .. } => "the result of".to_owned(),
                Fate::Result { is_error: true, .. } => "the result (isError) of".to_owned(),
                Fate::Error(error) => format!("the error {} for", error.code),
                Fate::InputRequired(_) => "input-required for".to_owned(),
                Fate::Unreadable(_) => "something unreadable for".to_owned(),
                Fate::AnswerLost(_) => "the loss of the answer to".to_owned(),
            };
            format!("{what} {}", name(*index, log))
        }
        Told::Sign(index) => format!("progress of {}", name(*index, log)),
        Told::Noise(text) => format!("noise: {}", text.chars().take(60).collect::<String>().escape_debug()),
        Told::Request => "a request of the server's".to_owned(),
        Told::Lost(failure) => format!("its loss ({})", words::failure_kind(failure.kind)),
        Told::End => "its end".to_owned(),
    }
}

/// A verdict in a few words.
pub(super) fn verdict_words(verdict: &Verdict) -> String {
    match verdict {
        Ok(Outcome::Ok(_)) => "ok".to_owned(),
        Ok(Outcome::ToolError(_)) => "tool-error".to_owned(),
        Ok(Outcome::UnknownOutcome(unknown)) => {
            format!("unknown-outcome({}), {}", cause_kind(&unknown.cause), words::stage(unknown.stage))
        }
        Err(reason) => format!("not-executed({})", reason_words(reason)),
    }
}

fn cause_kind(cause: &crate::Cause) -> &'static str {
    match cause {
        crate::Cause::Transport(_) => "transport",
        crate::Cause::Refused(_) => "refused",
        crate::Cause::AnsweredWithError(_) => "answered-with-error",
        crate::Cause::Undecodable(_) => "undecodable",
        crate::Cause::InputRequired(_) => "input-required",
        crate::Cause::TaskEnded(_) => "task-ended",
        crate::Cause::TimedOut => "timed-out",
        crate::Cause::Cancelled => "cancelled",
        crate::Cause::SessionReplaced => "session-replaced",
        crate::Cause::Closed => "closed",
    }
}

fn reason_words(reason: &NotExecuted) -> &'static str {
    match reason {
        NotExecuted::InvalidCall(_) => "invalid-call",
        NotExecuted::NotConnected => "not-connected",
        NotExecuted::ConnectFailed(_) => "connect-failed",
        NotExecuted::HandshakeFailed(_) => "handshake-failed",
        NotExecuted::NotSent(_) => "not-sent",
        NotExecuted::Refused(_) => "refused",
        NotExecuted::Closed => "closed",
    }
}
