//! Reads: lists, resources, prompts and the like. They have no side effects, and may be repeated.

use crate::prelude::*;
use crate::protocol::json::{self, Object, Raw};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::list::{self, Entry, Listing};
use crate::protocol::message;
use crate::protocol::param_headers::{is_marked, of_tool};
use crate::protocol::query::{LogLevel, News, Query};
use crate::text::{cut, text};

use super::call::Asked;
use super::evidence::{Evidence, SendError, weigh};
use super::link::Link;
use super::lists::{Fresh, Partial};
use super::policy::Spent;
use super::time::Instant;
use super::verdict::{Attempt, Failure, FailureKind, Generation, NotExecuted, ReadError, RpcError};
use super::{Action, Awaited, Delivery, Purpose, Queued, Receipt, Resolution, Session, Ticket, Timer, What};

/// What a caller wants to read.
#[derive(Clone, Debug)]
pub enum Read {
    /// A list, all pages of it.
    List(Listing),
    /// What the resource of this URI holds.
    Resource(String),
    /// A prompt.
    Prompt {
        /// Its name.
        name: String,
        /// A JSON object.
        arguments: Option<String>,
    },
    /// How an argument may go on: the request's `params`, a JSON object.
    Completion(String),
    /// Nothing, but the server is to log so much.
    LogLevel(LogLevel),
    /// Nothing, but whether the server is there.
    Ping,
    /// Nothing, but this news is to come, and no other.
    News(News),
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A list.
    List(Vec<Entry>),
    /// Anything else: the `result`, verbatim; empty where there is none.
    Json(String),
}

impl Answer {
    /// All of it as one JSON text: a list is an array of its entries.
    pub fn into_json(self) -> String {
        match self {
            Self::Json(json) => json,
            Self::List(entries) => {
                let entries: Vec<_> = entries.iter().map(|entry| entry.json.as_str()).collect();
                ["[", &entries.join(","), "]"].concat()
            }
        }
    }
}

/// A read that is under way.
#[derive(Debug)]
pub(super) struct Reading {
    subject: Subject,
    deadline: Instant,
    /// How often it was begun.
    tries: u32,
    attempt: Option<Attempt>,
    partial: Partial,
    /// What the server wants back before it goes on.
    state: Option<Object>,
    spent: Spent,
}

/// What is read.
#[derive(Debug)]
enum Subject {
    List(Listing),
    Query(Query),
    LogLevel(LogLevel),
    Ping,
    News(News),
}

impl Reading {
    fn new(subject: Subject, deadline: Instant) -> Self {
        let (partial, spent) = (Partial::default(), Spent::default());
        Self { subject, deadline, tries: 1, attempt: None, partial, state: None, spent }
    }

    /// Whether it is to bring news.
    pub(super) fn brings_news(&self) -> bool {
        matches!(self.subject, Subject::News(_))
    }
}

impl Session {
    /// Reads something. It ends by [`Resolution::Read`].
    pub fn read(&mut self, now: Instant, read: Read) -> Ticket {
        let ticket = self.ticket();
        match self.begin_read(now, read) {
            Ok(subject) => {
                let deadline = now + self.options.timing.call;
                self.timers.insert(deadline, Timer::Read(ticket));
                self.reads.insert(ticket, Reading::new(subject, deadline));
                self.queue.push(Queued::Read(ticket));
            }
            Err(known) => self.resolve(Resolution::Read(ticket, known)),
        }
        ticket
    }

    /// What is to be asked; or what is known without.
    fn begin_read(&mut self, now: Instant, read: Read) -> Result<Subject, Result<Answer, ReadError>> {
        if !self.open {
            return Err(Err(ReadError::Closed));
        }
        let subject = self.subject(read).map_err(|reason| Err(read_error(&reason)))?;
        if let (Subject::List(listing), Link::Up { .. }, true) =
            (&subject, &self.link, self.options.rely_on_lists)
            && let Some(entries) = self.lists.get(*listing, now)
        {
            return Err(Ok(Answer::List(entries.to_vec())));
        }
        if self.in_flight() >= self.options.limits.in_flight {
            let failure = Failure::new(FailureKind::Busy, "as much is in flight as may be");
            return Err(Err(ReadError::Transport(failure)));
        }
        self.ensure_link(now).map_err(|reason| Err(read_error(&reason)))?;
        Ok(subject)
    }

    fn subject(&self, read: Read) -> Result<Subject, NotExecuted> {
        Ok(match read {
            Read::List(listing) => Subject::List(listing),
            Read::Resource(uri) => Subject::Query(Query::resource(uri)),
            Read::Prompt { name, arguments } => {
                let arguments = self.object("arguments", arguments)?;
                Subject::Query(Query::prompt(name, arguments.as_ref()))
            }
            Read::Completion(params) => match self.object("params", Some(params))? {
                Some(params) if !params.has(&["_meta"]) => Subject::Query(Query::completion(&params)),
                _ => return Err(NotExecuted::InvalidCall("`params` has a `_meta` of its own".to_owned())),
            },
            Read::LogLevel(level) => Subject::LogLevel(level),
            Read::Ping => Subject::Ping,
            Read::News(to) => Subject::News(to),
        })
    }

    pub(super) fn send_read(&mut self, generation: Generation, ticket: Ticket) -> Option<Action> {
        let revision = self.revision(generation)?;
        let modern = revision.is_modern();
        let dialect = self.options.dialect(revision, self.log_level);
        let read = self.reads.get_mut(&ticket)?;
        let request = self.ids.request();
        let message = match &read.subject {
            Subject::List(listing) => {
                message::list(request, *listing, read.partial.cursor.as_deref(), dialect)
            }
            Subject::Query(query) => query.message(request, read.state.as_ref(), dialect),
            Subject::Ping => Query::ping(dialect).message(request, None, dialect),
            Subject::LogLevel(level) if modern => {
                // From now on each request says so.
                self.log_level = Some(*level);
                return self.nothing_to_read(ticket);
            }
            Subject::LogLevel(level) => Query::log_level(*level).message(request, None, dialect),
            Subject::News(to) if modern => Query::listen(to).message(request, None, dialect),
            Subject::News(to) => match self.connections.get(&generation)?.next_step(to) {
                Some((uri, wanted)) => Query::of_resource(&uri, wanted).message(request, None, dialect),
                None => return self.nothing_to_read(ticket),
            },
        };
        read.attempt = Some(Attempt { generation, request });
        self.requests.insert(request, Awaited { generation, purpose: Purpose::Read(ticket) });
        let receipt = Receipt { generation, what: What::Request(request) };
        Some(Action::Send { call: None, receipt, message })
    }

    fn nothing_to_read(&mut self, ticket: Ticket) -> Option<Action> {
        self.read_ended(ticket, Ok(Answer::Json(String::new())));
        self.poll_action()
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
        let Some(attempt) = self.reads.get_mut(&ticket).and_then(|read| read.attempt.take()) else {
            return;
        };
        let read = match body {
            Ok(result) => self.take_in(now, ticket, attempt.generation, result),
            Err(error) => Err(match RpcError::read(error) {
                Some(error) => ReadError::AnsweredWithError(error),
                None => self.unreadable("an error that cannot be read".to_owned(), error),
            }),
        };
        match read {
            Ok(None) => self.read_on(now, ticket),
            Ok(Some(answer)) => self.read_ended(ticket, Ok(answer)),
            Err(error) => self.read_ended(ticket, Err(error)),
        }
    }

    fn unreadable(&self, reason: String, raw: Raw<'_>) -> ReadError {
        ReadError::Undecodable(self.undecodable(reason, raw.get().as_bytes()))
    }

    /// Takes a result in; none if there is more to ask.
    fn take_in(
        &mut self,
        now: Instant,
        ticket: Ticket,
        generation: Generation,
        result: Raw<'_>,
    ) -> Result<Option<Answer>, ReadError> {
        let modern = self.is_modern(generation);
        let kind = json::member(result.get(), "resultType").map(Raw::get).filter(|_| modern);
        let Some(read) = self.reads.get_mut(&ticket) else {
            return Ok(None);
        };
        match (kind, &read.subject) {
            (None | Some("\"complete\""), Subject::List(listing)) => {
                let listing = *listing;
                self.take_page(now, ticket, generation, listing, result)
            }
            (None | Some("\"complete\""), Subject::News(to)) if !modern => {
                if let Some(connection) = self.connections.get_mut(&generation) {
                    connection.step_done(to);
                }
                Ok(None)
            }
            (None | Some("\"complete\""), Subject::News(_)) => {
                Err(self.unreadable("the subscription ended before it began".to_owned(), result))
            }
            (None | Some("\"complete\""), _) => Ok(Some(Answer::Json(result.get().to_owned()))),
            (Some("\"input_required\""), Subject::Query(_)) => {
                match Asked::read(result).filter(|_| read.spent.continues()) {
                    Some(asked) => read.state = Some(asked.into_object()),
                    None => return Err(ReadError::InputRequired(result.get().to_owned())),
                }
                Ok(None)
            }
            _ => Err(self.unreadable("a `resultType` that is unknown".to_owned(), result)),
        }
    }

    fn take_page(
        &mut self,
        now: Instant,
        ticket: Ticket,
        generation: Generation,
        listing: Listing,
        result: Raw<'_>,
    ) -> Result<Option<Answer>, ReadError> {
        let modern = self.is_modern(generation);
        let mut page = list::read(result, listing).map_err(|error| self.unreadable(error.words(), result))?;
        let Some(read) = self.reads.get_mut(&ticket) else {
            return Ok(None);
        };
        if modern && listing == Listing::Tools {
            page.entries.retain(|tool| {
                if !is_marked(&tool.json) {
                    return true;
                }
                let sound = of_tool(&tool.json, None);
                if let Err(wrong) = sound {
                    let name = cut(&tool.name, 64);
                    self.events.diagnose(&text!("left out the tool `{}`, which asks for {}", name, wrong));
                } else {
                    read.partial.marked.push((tool.name.clone(), tool.json.clone()));
                }
                sound.is_ok()
            });
        }
        let most_bytes = self.options.limits.message_bytes;
        read.partial.add(page, most_bytes)?;
        if read.partial.cursor.is_some() {
            return Ok(None);
        }
        let partial = core::mem::take(&mut read.partial);
        let tells = self.connections.get(&generation).is_some_and(|connection| connection.tells_of_tools);
        let fresh = match (modern, listing) {
            (true, _) => partial.fresh(now),
            (false, Listing::Tools) if tells => Some(Fresh::UntilChange),
            (false, _) => None,
        };
        if let Some(fresh) = fresh.filter(|_| self.options.rely_on_lists) {
            self.lists.keep(listing, fresh, &partial.entries, most_bytes);
        }
        if listing == Listing::Tools {
            self.marked = partial.marked;
        }
        Ok(Some(Answer::List(partial.entries)))
    }

    /// Asks for what comes next, which has its own time.
    fn read_on(&mut self, now: Instant, ticket: Ticket) {
        let Some(read) = self.reads.get_mut(&ticket) else {
            return;
        };
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
        read.tries += 1;
        read.attempt = None;
        read.partial = Partial::default();
        read.state = None;
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

    pub(super) fn read_ended(&mut self, ticket: Ticket, result: Result<Answer, ReadError>) {
        let Some(read) = self.reads.remove(&ticket) else {
            return;
        };
        self.timers.remove(read.deadline, Timer::Read(ticket));
        self.queue.retain(|queued| *queued != Queued::Read(ticket));
        self.resolve(Resolution::Read(ticket, result));
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
        NotExecuted::InvalidCall(reason) => ReadError::InvalidRead(reason),
        NotExecuted::Closed => ReadError::Closed,
    }
}
