//! The session's types to and from those of the WIT. No decision is made here.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::list::Listing;
use crate::protocol::message;
use crate::protocol::query::LogLevel;
use crate::protocol::revision::Revision;
use crate::session::reads::Read;
use crate::session::time::Instant;
use crate::session::{self, Delivery, Incoming, policy};

use super::bindings::exports::noreplay::mcp::client;
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

pub(super) fn options_out(options: policy::Options) -> types::Options {
    let policy::Options { recovery, timing, limits, .. } = options;
    types::Options {
        ownership: match options.ownership {
            policy::Ownership::Owned => types::Ownership::Owned,
            policy::Ownership::CallerManaged => types::Ownership::CallerManaged,
        },
        initialised: options.initialised.map(|initialised| types::Initialised {
            protocol_version: initialised.revision.as_str().to_owned(),
            first_request: initialised.first_request,
        }),
        protocol: None,
        resend: match options.resend {
            policy::Resend::Never => types::Resend::Never,
            policy::Resend::Proven => types::Resend::Proven,
            policy::Resend::Refused => types::Resend::Refused,
        },
        accept_refusals: options.accept_refusals,
        grants: options.grants,
        rely_on_lists: options.rely_on_lists,
        recovery: types::Recovery {
            attempts: recovery.attempts,
            backoff_ms: millis(recovery.backoff),
            backoff_cap_ms: millis(recovery.backoff_cap),
            circuit_ms: millis(recovery.circuit),
            seed: None,
        },
        timing: types::Timing {
            call_ms: millis(timing.call),
            connect_ms: millis(timing.connect),
            progress_extends: timing.progress_extends,
            cap_ms: millis(timing.cap),
        },
        limits: types::Limits {
            message_bytes: u64::try_from(limits.message_bytes).unwrap_or(u64::MAX),
            in_flight: u32::try_from(limits.in_flight).unwrap_or(u32::MAX),
            events: u32::try_from(limits.events).unwrap_or(u32::MAX),
            cause_bytes: u32::try_from(limits.cause_bytes).unwrap_or(u32::MAX),
        },
        client: options.client,
    }
}

pub(super) fn options_in(options: types::Options, now: Instant) -> policy::Options {
    let types::Options { recovery, timing, limits, .. } = options;
    policy::Options {
        ownership: match options.ownership {
            types::Ownership::Owned => policy::Ownership::Owned,
            types::Ownership::CallerManaged => policy::Ownership::CallerManaged,
        },
        initialised: options.initialised.map(|initialised| policy::Initialised {
            // A revision that this client does not know is spoken as the newest that has sessions.
            revision: Revision::parse(&initialised.protocol_version).unwrap_or(Revision::LATEST_LEGACY),
            first_request: initialised.first_request,
        }),
        protocol: match options.protocol {
            None => policy::Protocol::Any,
            Some(name) => match Revision::parse(&name) {
                Some(revision) => policy::Protocol::Only(revision),
                None => policy::Protocol::Unknown(name),
            },
        },
        resend: match options.resend {
            types::Resend::Never => policy::Resend::Never,
            types::Resend::Proven => policy::Resend::Proven,
            types::Resend::Refused => policy::Resend::Refused,
        },
        accept_refusals: options.accept_refusals,
        grants: options.grants,
        rely_on_lists: options.rely_on_lists,
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
        capabilities: Capabilities::NONE,
    }
}

/// The empty string leaves a member out.
fn given(json: String) -> Option<String> {
    (!json.is_empty()).then_some(json)
}

pub(super) fn read(what: types::Query) -> Read {
    match what {
        types::Query::Resources => Read::List(Listing::Resources),
        types::Query::ResourceTemplates => Read::List(Listing::ResourceTemplates),
        types::Query::Prompts => Read::List(Listing::Prompts),
        types::Query::Contents(uri) => Read::Resource(uri),
        types::Query::Prompt(types::Prompt { name, arguments }) => {
            Read::Prompt { name, arguments: given(arguments) }
        }
        types::Query::Completion(params) => Read::Completion(params),
        types::Query::Ping => Read::Ping,
        types::Query::LogLevel(level) => Read::LogLevel(log_level(level)),
        types::Query::News(news) => Read::News(news),
    }
}

fn log_level(level: types::LogLevel) -> LogLevel {
    match level {
        types::LogLevel::Debug => LogLevel::Debug,
        types::LogLevel::Info => LogLevel::Info,
        types::LogLevel::Notice => LogLevel::Notice,
        types::LogLevel::Warning => LogLevel::Warning,
        types::LogLevel::Error => LogLevel::Error,
        types::LogLevel::Critical => LogLevel::Critical,
        types::LogLevel::Alert => LogLevel::Alert,
        types::LogLevel::Emergency => LogLevel::Emergency,
    }
}

pub(super) fn tool_call(call: client::ToolCall) -> session::ToolCall {
    session::ToolCall {
        name: call.name,
        key: call.key,
        arguments: given(call.arguments),
        meta: given(call.meta),
        continuation: given(call.continuation),
        progress: call.progress,
        task: (call.task_ttl_ms > 0).then(|| from_millis(call.task_ttl_ms)),
        timeout: call.timeout_ms.map(from_millis),
    }
}

pub(super) fn outgoing(message: message::Outgoing) -> transport::Outgoing {
    transport::Outgoing {
        message: message.bytes,
        method: message.method.to_owned(),
        request: message.request.map(|request| request.0),
        protocol_version: message.revision.map(|revision| revision.as_str().to_owned()),
        headers: message.headers,
    }
}

pub(super) fn delivery(delivery: transport::Delivery) -> Delivery {
    match delivery {
        transport::Delivery::HandedOver => Delivery::HandedOver,
        transport::Delivery::Accepted => Delivery::Accepted,
    }
}

/// What came on a connection that is open.
pub(super) fn incoming(incoming: transport::Incoming) -> Option<Incoming> {
    Some(match incoming {
        transport::Incoming::Opened => return None,
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
    })
}
