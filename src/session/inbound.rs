//! What arrives, and whom it concerns.

use crate::prelude::*;
use crate::protocol::json::{self, Raw};
use crate::protocol::jsonrpc::{self, Malformed, Message, RequestId, ResponseId, decimal};
use crate::protocol::message;
use crate::protocol::revision::Revision;
use crate::text::{cut, text};

use super::event::{Event, Notification, Progress};
use super::time::Instant;
use super::verdict::{Attempt, CallId, Cause, Failure, FailureKind, Generation, ReadError, RpcError};
use super::{Incoming, Purpose, Session, Timer};

/// The longest id of a server's request that is answered, in bytes.
const LONGEST_ID: usize = 1024;

impl Session {
    /// A `receive` returned. An error means that the connection is lost.
    pub fn received(&mut self, now: Instant, generation: Generation, result: Result<Incoming, Failure>) {
        // Nothing of a connection that was let go concerns anybody.
        if !self.connections.contains(&generation) {
            return;
        }
        match result {
            Ok(Incoming::Message { bytes, channel }) => {
                let limit = self.options.limits.message_bytes;
                if bytes.len() > limit {
                    let size = u64::try_from(bytes.len()).ok();
                    self.too_large(now, generation, &bytes[..limit.min(4096)], &bytes, size, channel);
                } else {
                    self.arrived(now, generation, bytes, channel);
                }
            }
            Ok(Incoming::TooLarge { head, tail, size, channel }) => {
                self.too_large(now, generation, &head, &tail, size, channel);
            }
            Ok(Incoming::AnswerLost(request, failure)) => {
                self.answer_lost(now, generation, request, failure);
            }
            Ok(Incoming::End) => {
                let failure = Failure::new(FailureKind::Closed, "the server ended the connection");
                self.lost(now, generation, failure);
            }
            Err(failure) => self.lost(now, generation, failure),
        }
    }

    /// A message came, alone or with others in an array.
    pub(super) fn arrived(
        &mut self,
        now: Instant,
        generation: Generation,
        bytes: Vec<u8>,
        channel: Option<RequestId>,
    ) {
        let arrival = Arrival { now, generation, bytes: &bytes, channel };
        if let Some(channel) = channel {
            self.heard(Attempt { generation, request: channel });
        }
        let mut faults = false;
        let array = jsonrpc::read(&bytes, &mut |message| {
            if is_fault(&message) {
                faults = true;
            } else {
                self.message(&arrival, message);
            }
        });
        // What is wrong in an array comes last: the answer may stand behind it.
        if faults {
            jsonrpc::read(&bytes, &mut |message| {
                if is_fault(&message) {
                    self.message(&arrival, message);
                }
            });
        }
        let revision = self.revision(generation);
        if array && revision.is_some_and(|revision| !revision.has_batches()) {
            self.events.diagnose("messages in an array, which the revision does not have");
        }
    }

    fn message(&mut self, arrival: &Arrival<'_>, message: Result<Message<'_>, Malformed>) {
        match message {
            Ok(Message::Response { id, body }) => self.response(arrival, id, body),
            Ok(Message::Request { id, method, params }) => self.request(arrival, id, &method, params),
            Ok(Message::Notification { method, params }) => self.notification(arrival, method, params),
            Err(malformed) => self.malformed(arrival, malformed),
        }
    }

    fn response(&mut self, arrival: &Arrival<'_>, id: ResponseId, body: Result<Raw<'_>, Raw<'_>>) {
        let request = match (id, arrival.channel) {
            (ResponseId::Exact(request) | ResponseId::AsString(request), None) => request,
            (ResponseId::Exact(request) | ResponseId::AsString(request), Some(channel)) => {
                if request != channel {
                    return self.events.diagnose("an answer to another request than its channel's");
                }
                request
            }
            // An error for nobody, on a channel that only one request has, is for that one.
            (ResponseId::Null, Some(channel)) if body.is_err() => {
                self.events.diagnose("an error without an id, on a request's own channel");
                channel
            }
            (ResponseId::Null, _) => return self.events.diagnose("an answer without an id"),
            (ResponseId::Foreign, _) => {
                return self.events.diagnose("an answer to no request of ours");
            }
        };
        if let ResponseId::AsString(_) = id {
            self.events.diagnose("an answer whose id is a string, to a request whose id is a number");
        }
        let Some(out) = self.requests.get(&request).copied() else {
            return self.events.diagnose("an answer to a request that awaits none");
        };
        // An answer is one only on the connection that its attempt was made on.
        if out.generation != arrival.generation {
            return self.events.diagnose("an answer on another connection than its request's");
        }
        match out.purpose {
            Purpose::Call(call) => self.answer_to_call(arrival, call, request, body),
            Purpose::LateTask(call) => {
                self.requests.remove(&request);
                self.fetched(arrival, call, body);
            }
            Purpose::Fetch(call) if self.is_modern(arrival.generation) => {
                self.requests.remove(&request);
                self.fetched(arrival, call, body);
            }
            Purpose::Late(call) | Purpose::Fetch(call) => {
                self.answer_came_late(arrival, call, request, body);
            }
            Purpose::Nothing => _ = self.requests.remove(&request),
            Purpose::Listening => {
                self.requests.remove(&request);
                let failure = |error| Failure::new(FailureKind::Other, &RpcError::words(error));
                self.unsubscribed(body.err().map(failure));
            }
            Purpose::Read(ticket) => self.read_answered(arrival.now, ticket, request, body),
            Purpose::Handshake => {
                self.requests.remove(&request);
                self.handshake_answered(arrival.now, arrival.generation, body);
            }
        }
    }

    fn malformed(&mut self, arrival: &Arrival<'_>, malformed: Malformed) {
        let Malformed { request, reason } = malformed;
        // What came on a request's own channel was meant for it, whatever it says.
        match arrival.channel.or(request) {
            Some(request) => self.answer_unreadable(arrival, request, reason),
            None => self.events.diagnose("skipped a message that is not JSON-RPC"),
        }
    }

    fn answer_unreadable(&mut self, arrival: &Arrival<'_>, request: RequestId, reason: String) {
        let Some(out) = self.requests.get(&request).copied() else {
            return self.events.diagnose("an unreadable answer that nobody awaits");
        };
        if out.generation != arrival.generation {
            return self.events.diagnose("an unreadable answer from another connection");
        }
        let unreadable = self.undecodable(reason, arrival.bytes);
        match out.purpose {
            Purpose::Call(call) => {
                self.answer_leaves_unknown(arrival.now, call, request, Cause::Undecodable(unreadable));
            }
            Purpose::Late(_) | Purpose::LateTask(_) => {
                self.events.diagnose("a late answer that cannot be read");
            }
            // Its answer may still come, and is one then; whoever waits asks once more.
            Purpose::Fetch(call) => {
                let modern = self.is_modern(arrival.generation);
                if let Some(out) = self.requests.get_mut(&request) {
                    out.purpose = if modern { Purpose::LateTask(call) } else { Purpose::Late(call) };
                }
                self.fetch(call);
                self.want_link(arrival.now);
            }
            Purpose::Nothing => {}
            Purpose::Listening => {
                self.requests.remove(&request);
                self.unsubscribed(Some(Failure::new(FailureKind::Malformed, &unreadable.reason)));
            }
            Purpose::Read(ticket) => {
                self.requests.remove(&request);
                self.read_ended(ticket, Err(ReadError::Undecodable(unreadable)));
            }
            Purpose::Handshake => {
                let what = text!("cannot be read: {}", &unreadable.reason);
                self.unanswered(arrival.now, &what, None);
            }
        }
    }

    fn too_large(
        &mut self,
        now: Instant,
        generation: Generation,
        head: &[u8],
        tail: &[u8],
        size: Option<u64>,
        channel: Option<RequestId>,
    ) {
        let limit = self.options.limits.message_bytes;
        let reason = match size {
            Some(size) => text!("{} bytes, more than the {} allowed", size, limit),
            None => text!("more than the {} bytes allowed", limit),
        };
        match channel.or_else(|| jsonrpc::salvage(head, tail)) {
            Some(request) => {
                let arrival = Arrival { now, generation, bytes: head, channel };
                self.answer_unreadable(&arrival, request, reason);
            }
            None => self.events.diagnose(&text!("skipped a message of {}", &reason)),
        }
    }

    fn answer_lost(&mut self, now: Instant, generation: Generation, request: RequestId, failure: Failure) {
        let out = self.requests.get(&request).copied();
        let Some(out) = out.filter(|out| out.generation == generation) else {
            return;
        };
        // Nothing comes for it any more, also not late.
        self.requests.remove(&request);
        match out.purpose {
            Purpose::Call(call) if self.is_current(call, request) => {
                self.attempt_unknown(now, call, Cause::Transport(failure));
            }
            // An earlier attempt of a call that goes on is left in doubt as it was.
            Purpose::Call(_) => {}
            Purpose::Late(call) | Purpose::LateTask(call) | Purpose::Fetch(call) => {
                self.late_answer_lost(call);
                self.want_link(now);
            }
            Purpose::Nothing => {}
            Purpose::Listening => self.unsubscribed(Some(failure)),
            Purpose::Read(ticket) => self.read_failed(now, ticket, ReadError::Transport(failure)),
            Purpose::Handshake => self.unanswered(now, "was lost", Some(failure)),
        }
        self.sweep_connections();
    }

    /// A request of the server's. All but `ping`, and what the host declared that it answers, are refused.
    fn request(&mut self, arrival: &Arrival<'_>, id: Raw<'_>, method: &str, params: Option<Raw<'_>>) {
        // It would be sent back, many times over, and kept until then.
        if id.get().len() > LONGEST_ID {
            return self.events.diagnose("a request of the server's with too long an id");
        }
        let revision = self.revision(arrival.generation);
        if revision.is_some_and(Revision::is_modern) {
            return self.events.diagnose("a request of the server's, which the revision does not have");
        }
        if self.ask_host(arrival.generation, arrival.channel, id, method, params) {
            return;
        }
        self.control(arrival.generation, message::answer(id.get(), method, revision));
        if method != "ping" {
            let method = cut(method, 64);
            self.events.diagnose(&text!("refused the server's request `{}`", method));
        }
    }

    fn notification(&mut self, arrival: &Arrival<'_>, method: String, params: Option<Raw<'_>>) {
        if method == "notifications/progress"
            && let Some(params) = params
            && let Some((call, request)) = self.progress_of(arrival, params)
        {
            self.heard(Attempt { generation: arrival.generation, request });
            self.progressed(arrival.now, call);
            let params = params.get().to_owned();
            self.events.push(Event::Progress(Progress { call, params }));
            return;
        }
        match method.as_str() {
            "notifications/subscriptions/acknowledged" => {
                return self.acknowledged(arrival.generation, arrival.channel, params);
            }
            "notifications/cancelled" => {
                self.cancelled_by_server(arrival.generation, params);
                self.question_cancelled(arrival.generation, params);
            }
            _ => self.lists.notified(&method),
        }
        let params = params.map(|params| params.get().to_owned());
        self.events.push(Event::Notification(Notification { method, params }));
    }

    /// The call whose progress this is, and the attempt: our tokens are the attempts' ids. Callers' own
    /// tokens may be the same numbers.
    fn progress_of(&self, arrival: &Arrival<'_>, params: Raw<'_>) -> Option<(CallId, RequestId)> {
        let request = decimal(json::member(params.get(), "progressToken")?.get())?;
        let out = self.requests.get(&request)?;
        let on_its_way =
            out.generation == arrival.generation && arrival.channel.is_none_or(|channel| channel == request);
        let asked = |call| self.calls.get(&call).is_some_and(|call| call.progress);
        match out.purpose {
            Purpose::Call(call) if on_its_way && asked(call) => Some((call, request)),
            _ => None,
        }
    }

    fn progressed(&mut self, now: Instant, id: CallId) {
        if self.options.timing.progress_extends
            && let Some(call) = self.calls.get_mut(&id)
        {
            self.timers.remove(call.deadline, Timer::Call(id));
            call.deadline = (now + call.timeout).min(call.begun + self.options.timing.cap);
            self.timers.insert(call.deadline, Timer::Call(id));
        }
    }
}

/// Where something came, and when.
pub(super) struct Arrival<'a> {
    pub(super) now: Instant,
    pub(super) generation: Generation,
    pub(super) bytes: &'a [u8],
    channel: Option<RequestId>,
}

/// Whether it is no message, or an error that is for nobody unless it came on somebody's channel.
fn is_fault(message: &Result<Message<'_>, Malformed>) -> bool {
    matches!(message, Err(_) | Ok(Message::Response { id: ResponseId::Null, body: Err(_) }))
}
