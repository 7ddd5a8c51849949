//! Reads: `tools/list`, page by page. They have no side effects, and may be repeated.

use crate::prelude::*;
use crate::protocol::json::Raw;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;
use crate::protocol::param_headers::{is_marked, of_tool};
use crate::protocol::revision::Revision;
use crate::protocol::tool_list::{self, Page, Tool};
use crate::text::{cut, text};

use super::evidence::{Evidence, SendError, weigh};
use super::time::Instant;
use super::verdict::{
    Attempt, Failure, FailureKind, Generation, NotExecuted, ReadError, RpcError, Undecodable,
};
use super::{Action, Awaited, Delivery, Purpose, Queued, Receipt, Resolution, Session, Ticket, Timer, What};

/// The most pages of one list.
const PAGES: usize = 1000;

/// A list that is being read.
#[derive(Debug)]
pub(super) struct Read {
    deadline: Instant,
    /// How often it was begun.
    tries: u32,
    attempt: Option<Attempt>,
    cursor: Option<String>,
    /// The cursors used, so that a list that bites its tail is noticed.
    seen: Vec<String>,
    tools: Vec<Tool>,
    /// Those of them that want arguments as headers.
    marked: Vec<(String, String)>,
    /// Of tools and cursors, together.
    bytes: usize,
}

impl Read {
    fn new(deadline: Instant) -> Self {
        let (seen, tools, marked) = (Vec::new(), Vec::new(), Vec::new());
        Self { deadline, tries: 1, attempt: None, cursor: None, seen, tools, marked, bytes: 0 }
    }

    /// Adds a page. A cursor is good for one session only, so that a list is begun anew elsewhere.
    fn add(&mut self, page: Page, most_bytes: usize) -> Result<(), ReadError> {
        let size = page.tools.iter().map(|tool| tool.json.len()).sum::<usize>()
            + page.next.as_ref().map_or(0, String::len);
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > most_bytes {
            return Err(ReadError::Endless(text!("the list is longer than {} bytes", most_bytes)));
        }
        self.tools.extend(page.tools);
        if let Some(cursor) = &page.next {
            if self.seen.contains(cursor) {
                return Err(ReadError::Endless("the server repeats a cursor".to_owned()));
            }
            self.seen.push(cursor.clone());
            if self.seen.len() >= PAGES {
                return Err(ReadError::Endless(text!("the list has more than {} pages", PAGES)));
            }
        }
        self.cursor = page.next;
        Ok(())
    }
}

impl Session {
    /// Lists the server's tools. It ends by [`Resolution::Tools`].
    pub fn list_tools(&mut self, now: Instant) -> Ticket {
        let ticket = self.ticket();
        let refused = if !self.open {
            Some(ReadError::Closed)
        } else if self.in_flight() >= self.options.limits.in_flight {
            let failure = Failure::new(FailureKind::Busy, "as much is in flight as may be");
            Some(ReadError::Transport(failure))
        } else {
            self.ensure_link(now).err().map(|reason| read_error(&reason))
        };
        if let Some(error) = refused {
            self.resolve(Resolution::Tools(ticket, Err(error)));
            return ticket;
        }
        let deadline = now + self.options.timing.call;
        self.timers.insert(deadline, Timer::Read(ticket));
        self.reads.insert(ticket, Read::new(deadline));
        self.queue.push(Queued::Read(ticket));
        ticket
    }

    pub(super) fn send_read(&mut self, generation: Generation, ticket: Ticket) -> Option<Action> {
        let revision = self.revision(generation)?;
        let dialect = self.options.dialect(revision);
        let read = self.reads.get_mut(&ticket)?;
        let request = self.ids.request();
        read.attempt = Some(Attempt { generation, request });
        self.requests.insert(request, Awaited { generation, purpose: Purpose::Read(ticket) });
        let message = message::tools_list(request, read.cursor.as_deref(), dialect);
        let receipt = Receipt { generation, what: What::Request(request) };
        Some(Action::Send { call: None, receipt, message })
    }

    pub(super) fn read_sent(
        &mut self,
        now: Instant,
        ticket: Ticket,
        generation: Generation,
        request: RequestId,
        result: Result<Delivery, SendError>,
    ) {
        let Err(error) = result else { return };
        self.note_send_error(now, generation, &error);
        let session_ended =
            matches!(&error, SendError::Refused(refusal) if refusal.status == 404 && refusal.had_session);
        match weigh(error, request, false) {
            Evidence::Answer(body) => self.arrived(now, generation, body, Some(request)),
            Evidence::Proof(proof) => {
                self.requests.remove(&request);
                match proof.into_reason() {
                    NotExecuted::Refused(refusal) if session_ended => {
                        self.read_failed(now, ticket, ReadError::Refused(refusal));
                    }
                    NotExecuted::Refused(refusal) => {
                        self.read_ended(ticket, Err(ReadError::Refused(refusal)));
                    }
                    reason => self.read_failed(now, ticket, read_error(&reason)),
                }
            }
            Evidence::Nothing(SendError::Refused(refusal)) => {
                self.requests.remove(&request);
                self.read_ended(ticket, Err(ReadError::Refused(refusal)));
            }
            Evidence::Nothing(
                SendError::NotSent(failure) | SendError::Truncated(failure) | SendError::Unknown(failure),
            ) => {
                self.requests.remove(&request);
                self.read_failed(now, ticket, ReadError::Transport(failure));
            }
        }
    }

    pub(super) fn read_answered(
        &mut self,
        now: Instant,
        ticket: Ticket,
        request: RequestId,
        body: Result<Raw<'_>, Raw<'_>>,
    ) {
        self.requests.remove(&request);
        let generation =
            self.reads.get(&ticket).and_then(|read| read.attempt).map(|attempt| attempt.generation);
        let modern = generation.and_then(|it| self.revision(it)).is_some_and(Revision::is_modern);
        let limits = &self.options.limits;
        let unreadable = |reason: String, raw: Raw<'_>| {
            ReadError::Undecodable(Undecodable::new(reason, raw.get().as_bytes(), limits.cause_bytes))
        };
        let page = match body {
            Ok(result) => tool_list::read(result).map_err(|error| unreadable(error.words(), result)),
            Err(error) => Err(match RpcError::read(error) {
                Some(error) => ReadError::AnsweredWithError(error),
                None => unreadable("an error that cannot be read".to_owned(), error),
            }),
        };
        let Some(read) = self.reads.get_mut(&ticket) else {
            return;
        };
        read.attempt = None;
        if let Err(error) = page.and_then(|mut page| {
            if modern {
                page.tools.retain(|tool| {
                    if !is_marked(&tool.json) {
                        return true;
                    }
                    let sound = of_tool(&tool.json, None);
                    if let Err(wrong) = sound {
                        let name = cut(&tool.name, 64);
                        self.events.diagnose(&text!(
                            "left out the tool `{}`, which asks for {}",
                            name,
                            wrong
                        ));
                    } else {
                        read.marked.push((tool.name.clone(), tool.json.clone()));
                    }
                    sound.is_ok()
                });
            }
            read.add(page, limits.message_bytes)
        }) {
            return self.read_ended(ticket, Err(error));
        }
        if read.cursor.is_none() {
            let tools = core::mem::take(&mut read.tools);
            self.marked = core::mem::take(&mut read.marked);
            return self.read_ended(ticket, Ok(tools));
        }
        self.timers.remove(read.deadline, Timer::Read(ticket));
        read.deadline = now + self.options.timing.call;
        self.timers.insert(read.deadline, Timer::Read(ticket));
        self.queue.push(Queued::Read(ticket));
    }

    /// A read did not get through. It is begun anew, as often as the recovery policy allows.
    pub(super) fn read_failed(&mut self, now: Instant, ticket: Ticket, error: ReadError) {
        let Some(read) = self.reads.get_mut(&ticket) else {
            return;
        };
        if read.tries >= self.options.recovery.attempts {
            return self.read_ended(ticket, Err(error));
        }
        let (deadline, tries) = (read.deadline, read.tries + 1);
        *read = Read { tries, ..Read::new(deadline) };
        self.queue.push(Queued::Read(ticket));
        self.want_link(now);
    }

    pub(super) fn read_cannot_connect(&mut self, ticket: Ticket, reason: &NotExecuted) {
        self.read_ended(ticket, Err(read_error(reason)));
    }

    pub(super) fn read_timed_out(&mut self, _now: Instant, ticket: Ticket) {
        if let Some(attempt) = self.reads.get(&ticket).and_then(|read| read.attempt) {
            self.stop_waiting(attempt, "deadline");
            self.forget_request(attempt.request);
        }
        self.read_ended(ticket, Err(ReadError::TimedOut));
    }

    pub(super) fn read_ended(&mut self, ticket: Ticket, result: Result<Vec<Tool>, ReadError>) {
        let Some(read) = self.reads.remove(&ticket) else {
            return;
        };
        self.timers.remove(read.deadline, Timer::Read(ticket));
        self.queue.retain(|queued| *queued != Queued::Read(ticket));
        self.resolve(Resolution::Tools(ticket, result));
        self.sweep_connections();
    }

    pub(super) fn close_reads(&mut self) {
        let tickets: Vec<_> = self.reads.keys().collect();
        for ticket in tickets {
            self.read_ended(ticket, Err(ReadError::Closed));
        }
    }
}

/// What it means for a read that nothing could be sent.
fn read_error(reason: &NotExecuted) -> ReadError {
    match reason.clone() {
        NotExecuted::NotConnected => ReadError::NotConnected,
        NotExecuted::ConnectFailed(failure) => ReadError::ConnectFailed(failure),
        NotExecuted::HandshakeFailed(failure) => ReadError::HandshakeFailed(failure),
        NotExecuted::NotSent(failure) => ReadError::Transport(failure),
        NotExecuted::Refused(refusal) => ReadError::Refused(refusal),
        NotExecuted::InvalidCall(reason) => ReadError::Transport(Failure::new(FailureKind::Other, &reason)),
        NotExecuted::Closed => ReadError::Closed,
    }
}
