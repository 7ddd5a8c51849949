//! The session's types to and from those of the WIT. No decision is made here.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;
use crate::protocol::revision::Revision;
use crate::session::time::Instant;
use crate::session::{self, Delivery, Incoming, policy};

use super::bindings::exports::noreplay::mcp::client as wit;
use super::bindings::noreplay::mcp::transport;

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
    let policy::Options { recovery, timing, limits, .. } = options;
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
        grants: options.grants,
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
        client: options.client,
    }
}

pub(super) fn options_in(options: wit::Options, now: Instant) -> policy::Options {
    let wit::Options { recovery, timing, limits, .. } = options;
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
        grants: options.grants,
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
        client: options.client,
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

pub(super) fn delivery(delivery: transport::Delivery) -> Delivery {
    match delivery {
        transport::Delivery::HandedOver => Delivery::HandedOver,
        transport::Delivery::Accepted => Delivery::Accepted,
    }
}

pub(super) fn incoming(incoming: transport::Incoming) -> Incoming {
    match incoming {
        transport::Incoming::Message(arrival) => {
            Incoming::Message { bytes: arrival.message, channel: arrival.channel.map(RequestId) }
        }
        transport::Incoming::TooLarge(oversized) => Incoming::TooLarge {
            head: oversized.head,
            tail: oversized.tail,
            size: oversized.size,
            channel: oversized.channel.map(RequestId),
        },
        transport::Incoming::AnswerLost(lost) => Incoming::AnswerLost(RequestId(lost.request), lost.failure),
        transport::Incoming::End => Incoming::End,
    }
}
