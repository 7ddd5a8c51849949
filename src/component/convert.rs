//! The session's types to and from those of the WIT. No decision is made here.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::handshake;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;
use crate::protocol::revision::Revision;
use crate::protocol::tool_list;
use crate::session::evidence::SendError;
use crate::session::time::Instant;
use crate::session::{self, Delivery, Incoming, event, policy, verdict};

use super::bindings::exports::noreplay::mcp::client as wit;
use super::bindings::noreplay::mcp::{transport, types};

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

fn from_millis(millis: u32) -> Duration {
    Duration::from_millis(millis.into())
}

fn size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

pub(super) fn options_out(options: policy::Options) -> wit::Options {
    let policy::Options { recovery, timing, limits, client, .. } = options;
    wit::Options {
        ownership: match options.ownership {
            policy::Ownership::Owned => wit::Ownership::Owned,
            policy::Ownership::CallerManaged => wit::Ownership::CallerManaged,
        },
        initialised: options.initialised.map(|initialised| wit::Initialised {
            protocol_version: initialised.revision.as_str().to_owned(),
            first_request: initialised.first_request,
        }),
        resend: match options.resend {
            policy::Resend::Never => wit::Resend::Never,
            policy::Resend::Proven => wit::Resend::Proven,
            policy::Resend::Refused => wit::Resend::Refused,
        },
        accept_refusals: options.accept_refusals,
        grants: options.grants.into_iter().map(|(tool, attempts)| wit::Grant { tool, attempts }).collect(),
        recovery: wit::Recovery {
            attempts: recovery.attempts,
            backoff_ms: millis(recovery.backoff),
            backoff_cap_ms: millis(recovery.backoff_cap),
            circuit_ms: millis(recovery.circuit),
            seed: None,
        },
        timing: wit::Timing {
            call_ms: millis(timing.call),
            connect_ms: millis(timing.connect),
            progress_extends: timing.progress_extends,
            cap_ms: millis(timing.cap),
        },
        limits: wit::Limits {
            message_bytes: u64::try_from(limits.message_bytes).unwrap_or(u64::MAX),
            in_flight: u32::try_from(limits.in_flight).unwrap_or(u32::MAX),
            events: u32::try_from(limits.events).unwrap_or(u32::MAX),
            cause_bytes: u32::try_from(limits.cause_bytes).unwrap_or(u32::MAX),
        },
        client: wit::Implementation { name: client.name, version: client.version },
    }
}

pub(super) fn options_in(options: wit::Options, now: Instant) -> policy::Options {
    let wit::Options { recovery, timing, limits, client, .. } = options;
    policy::Options {
        ownership: match options.ownership {
            wit::Ownership::Owned => policy::Ownership::Owned,
            wit::Ownership::CallerManaged => policy::Ownership::CallerManaged,
        },
        initialised: options.initialised.map(|initialised| policy::Initialised {
            // A revision that this client does not know is spoken as the newest that it does.
            revision: Revision::parse(&initialised.protocol_version).unwrap_or(Revision::LATEST),
            first_request: initialised.first_request,
        }),
        resend: match options.resend {
            wit::Resend::Never => policy::Resend::Never,
            wit::Resend::Proven => policy::Resend::Proven,
            wit::Resend::Refused => policy::Resend::Refused,
        },
        accept_refusals: options.accept_refusals,
        grants: options.grants.into_iter().map(|grant| (grant.tool, grant.attempts)).collect(),
        recovery: policy::Recovery {
            attempts: recovery.attempts.max(1),
            backoff: from_millis(recovery.backoff_ms),
            backoff_cap: from_millis(recovery.backoff_cap_ms),
            circuit: from_millis(recovery.circuit_ms),
            seed: recovery.seed.unwrap_or(now.as_nanos()),
        },
        timing: policy::Timing {
            call: from_millis(timing.call_ms),
            connect: from_millis(timing.connect_ms),
            progress_extends: timing.progress_extends,
            cap: from_millis(timing.cap_ms),
        },
        limits: policy::Limits {
            message_bytes: size(limits.message_bytes),
            in_flight: size(limits.in_flight.into()),
            events: size(limits.events.into()),
            cause_bytes: size(limits.cause_bytes.into()),
        },
        client: handshake::Implementation { name: client.name, version: client.version },
    }
}

pub(super) fn tool_call(call: wit::ToolCall) -> session::ToolCall {
    session::ToolCall {
        name: call.name,
        key: call.key,
        arguments: call.arguments,
        meta: call.meta,
        progress: call.progress,
        timeout: call.timeout_ms.map(from_millis),
    }
}

pub(super) fn outgoing(message: message::Outgoing) -> transport::Outgoing {
    transport::Outgoing {
        message: message.bytes,
        method: message.method.to_owned(),
        request: message.request.map(|request| request.0),
        protocol_version: message.revision.map(|revision| revision.as_str().to_owned()),
        headers: Vec::new(),
    }
}

pub(super) fn sent(result: Result<transport::Delivery, transport::SendError>) -> Result<Delivery, SendError> {
    match result {
        Ok(transport::Delivery::HandedOver) => Ok(Delivery::HandedOver),
        Ok(transport::Delivery::Accepted) => Ok(Delivery::Accepted),
        Err(transport::SendError::NotSent(failure)) => Err(SendError::NotSent(failure_in(failure))),
        Err(transport::SendError::Truncated(failure)) => Err(SendError::Truncated(failure_in(failure))),
        Err(transport::SendError::Refused(refusal)) => Err(SendError::Refused(refusal_in(refusal))),
        Err(transport::SendError::Unknown(failure)) => Err(SendError::Unknown(failure_in(failure))),
    }
}

pub(super) fn received(
    result: Result<transport::Incoming, transport::Failure>,
) -> Result<Incoming, verdict::Failure> {
    Ok(match result.map_err(failure_in)? {
        transport::Incoming::Message(arrival) => {
            Incoming::Message { bytes: arrival.message, channel: arrival.channel.map(RequestId) }
        }
        transport::Incoming::TooLarge(oversized) => Incoming::TooLarge {
            head: oversized.head,
            tail: oversized.tail,
            size: oversized.size,
            channel: oversized.channel.map(RequestId),
        },
        transport::Incoming::AnswerLost(lost) => {
            Incoming::AnswerLost(RequestId(lost.request), failure_in(lost.failure))
        }
        transport::Incoming::End => Incoming::End,
    })
}

/// The kinds are the same on both sides.
macro_rules! failure_kinds {
    ($($kind:ident),*) => {
        fn kind_in(kind: types::FailureKind) -> verdict::FailureKind {
            match kind {
                types::FailureKind::MessageTooLarge(limit) => verdict::FailureKind::MessageTooLarge(limit),
                $(types::FailureKind::$kind => verdict::FailureKind::$kind,)*
            }
        }

        fn kind_out(kind: verdict::FailureKind) -> types::FailureKind {
            match kind {
                verdict::FailureKind::MessageTooLarge(limit) => types::FailureKind::MessageTooLarge(limit),
                $(verdict::FailureKind::$kind => types::FailureKind::$kind,)*
            }
        }
    };
}

failure_kinds!(
    NameNotResolved,
    ConnectionRefused,
    SpawnFailed,
    TlsFailed,
    ConnectionReset,
    Closed,
    TimedOut,
    AccessDenied,
    Malformed,
    Cancelled,
    Busy,
    Duplicated,
    Other
);

pub(super) fn failure_in(failure: types::Failure) -> verdict::Failure {
    verdict::Failure { kind: kind_in(failure.kind), detail: failure.detail }
}

fn failure(failure: verdict::Failure) -> types::Failure {
    types::Failure { kind: kind_out(failure.kind), detail: failure.detail }
}

fn refusal_in(refusal: types::Refusal) -> verdict::Refusal {
    let types::Refusal { status, had_session, headers, body } = refusal;
    verdict::Refusal { status, had_session, headers, body }
}

fn refusal(refusal: verdict::Refusal) -> types::Refusal {
    let verdict::Refusal { status, had_session, headers, body } = refusal;
    types::Refusal { status, had_session, headers, body }
}

fn rpc_error(error: verdict::RpcError) -> types::RpcError {
    let verdict::RpcError { code, message, data } = error;
    types::RpcError { code, message, data }
}

fn undecodable(undecodable: verdict::Undecodable) -> wit::Undecodable {
    let verdict::Undecodable { reason, head } = undecodable;
    wit::Undecodable { reason, head }
}

fn handshake_failure(handshake: verdict::HandshakeFailure) -> wit::HandshakeFailure {
    wit::HandshakeFailure {
        reason: handshake.reason,
        error: handshake.error.map(rpc_error),
        failure: handshake.failure.map(failure),
    }
}

pub(super) fn not_executed(reason: verdict::NotExecuted) -> wit::NotExecuted {
    match reason {
        verdict::NotExecuted::InvalidCall(reason) => wit::NotExecuted::InvalidCall(reason),
        verdict::NotExecuted::NotConnected => wit::NotExecuted::NotConnected,
        verdict::NotExecuted::ConnectFailed(it) => wit::NotExecuted::ConnectFailed(failure(it)),
        verdict::NotExecuted::HandshakeFailed(it) => wit::NotExecuted::HandshakeFailed(handshake_failure(it)),
        verdict::NotExecuted::NotSent(it) => wit::NotExecuted::NotSent(failure(it)),
        verdict::NotExecuted::Refused(it) => wit::NotExecuted::Refused(refusal(it)),
        verdict::NotExecuted::Closed => wit::NotExecuted::Closed,
    }
}

pub(super) fn read_error(error: verdict::ReadError) -> wit::ReadError {
    match error {
        verdict::ReadError::NotConnected => wit::ReadError::NotConnected,
        verdict::ReadError::ConnectFailed(it) => wit::ReadError::ConnectFailed(failure(it)),
        verdict::ReadError::HandshakeFailed(it) => wit::ReadError::HandshakeFailed(handshake_failure(it)),
        verdict::ReadError::Transport(it) => wit::ReadError::Transport(failure(it)),
        verdict::ReadError::Refused(it) => wit::ReadError::Refused(refusal(it)),
        verdict::ReadError::AnsweredWithError(it) => wit::ReadError::AnsweredWithError(rpc_error(it)),
        verdict::ReadError::Undecodable(it) => wit::ReadError::Undecodable(undecodable(it)),
        verdict::ReadError::Endless(reason) => wit::ReadError::Endless(reason),
        verdict::ReadError::TimedOut => wit::ReadError::TimedOut,
        verdict::ReadError::Closed => wit::ReadError::Closed,
    }
}

fn stage(stage: verdict::Stage) -> wit::Stage {
    match stage {
        verdict::Stage::Waiting => wit::Stage::Waiting,
        verdict::Stage::HandingOver => wit::Stage::HandingOver,
        verdict::Stage::HandedOver => wit::Stage::HandedOver,
        verdict::Stage::Accepted => wit::Stage::Accepted,
        verdict::Stage::Answering => wit::Stage::Answering,
        verdict::Stage::Answered => wit::Stage::Answered,
    }
}

fn cause(cause: verdict::Cause) -> wit::Cause {
    match cause {
        verdict::Cause::Transport(it) => wit::Cause::Transport(failure(it)),
        verdict::Cause::Refused(it) => wit::Cause::Refused(refusal(it)),
        verdict::Cause::AnsweredWithError(it) => wit::Cause::AnsweredWithError(rpc_error(it)),
        verdict::Cause::Undecodable(it) => wit::Cause::Undecodable(undecodable(it)),
        verdict::Cause::InputRequired(json) => wit::Cause::InputRequired(json),
        verdict::Cause::TimedOut => wit::Cause::TimedOut,
        verdict::Cause::Cancelled => wit::Cause::Cancelled,
        verdict::Cause::SessionReplaced => wit::Cause::SessionReplaced,
        verdict::Cause::Closed => wit::Cause::Closed,
    }
}

pub(super) fn unknown_outcome(unknown: verdict::UnknownOutcome) -> wit::UnknownOutcome {
    let message = unknown.message();
    wit::UnknownOutcome {
        call: unknown.call.0,
        key: unknown.key,
        tool: unknown.tool,
        attempts: unknown.attempts,
        stage: stage(unknown.stage),
        cause: cause(unknown.cause),
        message,
    }
}

fn tool_result(result: verdict::ToolResult) -> wit::ToolResult {
    let verdict::ToolResult { call, attempts, json, warnings } = result;
    wit::ToolResult { call: call.0, attempts, json, warnings }
}

pub(super) fn outcome(outcome: verdict::Outcome) -> wit::Outcome {
    match outcome {
        verdict::Outcome::Ok(result) => wit::Outcome::Ok(tool_result(result)),
        verdict::Outcome::ToolError(result) => wit::Outcome::ToolError(tool_result(result)),
        verdict::Outcome::Unknown(unknown) => wit::Outcome::UnknownOutcome(unknown_outcome(unknown)),
    }
}

pub(super) fn verdict(verdict: verdict::Verdict) -> Result<wit::Outcome, wit::NotExecuted> {
    verdict.map(outcome).map_err(not_executed)
}

pub(super) fn server(server: handshake::Server) -> wit::Server {
    wit::Server {
        name: server.name,
        version: server.version,
        protocol_version: server.revision.as_str().to_owned(),
        capabilities: server.capabilities,
        instructions: server.instructions,
    }
}

pub(super) fn tool(tool: tool_list::Tool) -> wit::Tool {
    let tool_list::Tool { name, description, json } = tool;
    wit::Tool { name, description, json }
}

pub(super) fn pending_call(call: session::PendingCall) -> wit::PendingCall {
    wit::PendingCall {
        call: call.call.0,
        key: call.key,
        tool: call.tool,
        attempts: call.attempts,
        stage: stage(call.stage),
    }
}

pub(super) fn event(event: event::Event) -> wit::Event {
    match event {
        event::Event::Connected(it) => wit::Event::Connected(server(it)),
        event::Event::Disconnected(it) => wit::Event::Disconnected(failure(it)),
        event::Event::LateAnswer(call) => wit::Event::LateAnswer(call.0),
        event::Event::Unclaimed(call) => wit::Event::Unclaimed(call.0),
        event::Event::Progress(call, params) => wit::Event::Progress(wit::Progress { call: call.0, params }),
        event::Event::Notification { method, params } => {
            wit::Event::Notification(wit::Notification { method, params })
        }
        event::Event::Diagnostic(text, count) => wit::Event::Diagnostic(wit::Diagnostic { text, count }),
        event::Event::Dropped(count) => wit::Event::Dropped(count),
    }
}
