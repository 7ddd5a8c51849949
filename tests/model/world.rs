//! A caller, a transport and a server around a session. The world knows what it did to each attempt, so
//! that what the session makes of it can be held against it.
//!
//! The transport keeps its word (contract, section 8): it tells of each message once, and what it tells
//! is true. The server owes nothing: it says anything, valid or not, to anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::harness::{Bench, Sent, failure, ms, refusal};
use noreplay::protocol::jsonrpc::RequestId;
use noreplay::protocol::revision::Revision;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Grant, Options, Ownership, Protocol, Resend};
use noreplay::session::time::Instant;
use noreplay::session::verdict::{CallId, FailureKind, Generation, NotExecuted, Refusal, Stage};
use noreplay::session::{Delivery, Incoming, Ticket, ToolCall, What};

use super::server::{Body, Saying};
use super::step::{Calling, Pick, Returning, Step};

/// Further attempts that calls of `granted` may have.
pub const GRANTED: u32 = 2;

/// How many calls, reads and waits there may be.
pub const IN_FLIGHT: usize = 12;

/// How many events and unknown outcomes are remembered.
pub const EVENTS: usize = 16;

/// What ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Proof that it did not run: something of it was withheld.
    Withheld,
    /// A refusal by its normative meaning.
    Refused,
    /// Something that proves nothing.
    Doubt,
    /// The server suspended it, and wants its state back.
    Suspended,
}

/// The calls that a step may give a verdict to.
#[derive(Debug)]
pub enum Reach {
    /// Those on one connection, or all: it was a connection that something happened to.
    Any,
    /// That of this message, if it is a call's.
    Only(Option<CallId>),
}

/// The session and all around it.
pub struct World {
    pub bench: Bench,
    pub options: Options,
    /// Whether the server is one of 2026-07-28.
    modern: bool,
    /// Connections that the transport has, up or being opened.
    pub alive: BTreeSet<Generation>,
    /// What ended each attempt first.
    pub ends: BTreeMap<u64, End>,
    /// Attempts that something came back for.
    pub heard: BTreeSet<u64>,
    /// Attempts that were answered with a result.
    pub answered: BTreeSet<u64>,
    /// When each call has its verdict at the latest.
    pub due: BTreeMap<CallId, Instant>,
    /// Calls whose caller went away before the verdict.
    pub abandoned: BTreeSet<CallId>,
    pub closed: bool,
    /// What was asked for and is no call.
    pub tickets: BTreeSet<Ticket>,
    /// How far each call had come.
    pub stages: BTreeMap<CallId, Stage>,
    /// The messages that the transport told of.
    returned: BTreeSet<usize>,
    pub seen: Seen,
    /// What happened so far.
    pub trace: Vec<Step>,
}

/// How much of what the session did was looked at.
#[derive(Debug, Default)]
pub struct Seen {
    pub wire: usize,
    pub connects: usize,
    pub disconnects: usize,
    pub verdicts: BTreeSet<CallId>,
    pub resolutions: usize,
    pub request: u64,
}

impl World {
    /// A world whose caller's policies follow from a number.
    pub fn new(policies: u8) -> Self {
        let pick = |shift: u8| usize::from(policies >> shift & 3);
        let mut options = Options {
            ownership: [Ownership::Owned, Ownership::Owned, Ownership::Owned, Ownership::CallerManaged]
                [pick(0)],
            resend: [Resend::Proven, Resend::Never, Resend::Refused, Resend::Proven][pick(2)],
            accept_refusals: pick(4) & 1 == 0,
            grants: vec![Grant { tool: "granted".to_owned(), attempts: GRANTED }],
            ..Options::default()
        };
        options.limits.in_flight = IN_FLIGHT;
        options.limits.events = EVENTS;
        options.timing.progress_extends = pick(4) & 2 == 2;
        options.protocol = [
            Protocol::Only(Revision::LATEST_LEGACY),
            Protocol::Any,
            Protocol::Any,
            Protocol::Only(Revision::LATEST),
        ][pick(6)]
        .clone();
        Self {
            bench: Bench::probing(options.clone(), Box::leak(Box::default())),
            options,
            modern: pick(6) > 1,
            alive: BTreeSet::new(),
            ends: BTreeMap::new(),
            heard: BTreeSet::new(),
            answered: BTreeSet::new(),
            due: BTreeMap::new(),
            abandoned: BTreeSet::new(),
            closed: false,
            tickets: BTreeSet::new(),
            stages: BTreeMap::new(),
            returned: BTreeSet::new(),
            seen: Seen::default(),
            trace: Vec::new(),
        }
    }

    /// A walk from the beginning of everything to the end.
    pub fn walk(policies: u8, steps: impl IntoIterator<Item = Step>) -> Self {
        let mut world = Self::new(policies);
        steps.into_iter().for_each(|step| world.step(step));
        world.step(Step::Wait(ms(3_600_000)));
        world.look_back();
        world
    }

    /// The walk that some bytes say: the policies, and then steps.
    pub fn walk_of(bytes: &[u8]) {
        if let Some((policies, steps)) = bytes.split_first() {
            Self::walk(*policies, Step::all(steps));
        }
    }

    /// Lets it happen, and looks whether every promise was kept.
    pub fn step(&mut self, step: Step) {
        self.trace.push(step);
        let reach = self.happen(step);
        self.look(&reach);
    }

    fn happen(&mut self, step: Step) -> Reach {
        match step {
            Step::Call(calling) => return self.call(calling),
            Step::Cancel(which) => {
                let Some(call) = self.pick_call(which) else { return Reach::Only(None) };
                self.bench.cancel(call);
                return Reach::Only(Some(call));
            }
            Step::Abandon(which) => {
                let Some(call) = self.pick_call(which) else { return Reach::Only(None) };
                if self.bench.is_pending(call) {
                    self.abandoned.insert(call);
                }
                self.bench.enter(|session, _| session.abandon(call));
                return Reach::Only(None);
            }
            Step::Reconnect => {
                let ticket = self.bench.reconnect();
                self.tickets.insert(ticket);
            }
            Step::List => {
                let ticket = self.bench.list_tools();
                self.tickets.insert(ticket);
                return Reach::Only(None);
            }
            Step::Reconcile(which, patience) => {
                if let Some(call) = self.pick_call(which) {
                    let ticket = self.bench.reconcile(call, patience);
                    self.tickets.insert(ticket);
                }
                return Reach::Only(None);
            }
            Step::Close => {
                self.closed = true;
                self.bench.close();
            }
            Step::Listen => {
                self.bench.session.poll_event();
                return Reach::Only(None);
            }
            Step::Open { fails, handshake } => self.open(fails, handshake),
            Step::Return(which, how) => return self.send_returns(which, how),
            Step::Message { about, saying, whole, elsewhere, on_channel } => {
                return self.server_says(about, saying, whole, elsewhere, on_channel);
            }
            Step::TooLarge(about) => {
                let Some(sent) = self.pick_request(about) else { return Reach::Only(None) };
                let head = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"con"#, sent.id()).into_bytes();
                let incoming = Incoming::TooLarge { head, tail: Vec::new(), size: None, channel: None };
                self.end(sent.id(), End::Doubt);
                self.receive(sent.receipt.generation, Ok(incoming));
                return reach_of(&sent);
            }
            Step::AnswerLost(about) => {
                let Some(sent) = self.pick_request(about) else { return Reach::Only(None) };
                self.end(sent.id(), End::Doubt);
                self.bench.lose_answer(&sent, failure(FailureKind::Closed));
                return reach_of(&sent);
            }
            Step::Lose { which, orderly } => {
                let alive: Vec<_> = self.alive.iter().copied().collect();
                let Some(generation) = which.of(&alive).copied() else { return Reach::Only(None) };
                let on_it: Vec<_> =
                    self.requests().filter(|sent| sent.receipt.generation == generation).collect();
                let ids: Vec<_> = on_it.into_iter().map(Sent::id).collect();
                ids.into_iter().for_each(|id| self.end(id, End::Doubt));
                let end = if orderly { Ok(Incoming::End) } else { Err(failure(FailureKind::Other)) };
                self.receive(generation, end);
            }
            Step::Wait(time) => self.bench.advance(time),
        }
        Reach::Any
    }

    fn call(&mut self, calling: Calling) -> Reach {
        let Calling { granted, progress, named, timeout, meta } = calling;
        let call = ToolCall {
            name: if granted { "granted" } else { "pay" }.to_owned(),
            key: named.then(|| "the same".to_owned()),
            arguments: Some(r#"{"amount":5}"#.to_owned()),
            meta: meta.map(str::to_owned),
            continuation: None,
            progress,
            task: None,
            timeout,
        };
        let wrong = meta == Some("[]") || progress && meta.is_some_and(|meta| meta.contains("progressToken"));
        match self.bench.try_call(call) {
            Ok(call) => {
                assert!(!wrong && timeout != Some(Duration::ZERO), "{calling:?}");
                let timing = &self.options.timing;
                let time = if timing.progress_extends { timing.cap } else { timeout.unwrap_or(timing.call) };
                self.due.insert(call, self.bench.now + time.min(timing.cap));
                Reach::Only(Some(call))
            }
            Err(reason) => {
                let invalid = matches!(reason, NotExecuted::InvalidCall(_));
                assert!(self.closed || !wrong || invalid, "{calling:?}: {reason:?}");
                Reach::Only(None)
            }
        }
    }

    fn open(&mut self, fails: bool, handshake: bool) {
        let Some(generation) = self.bench.connects.last().copied().filter(|last| self.alive.contains(last))
        else {
            let ticket = self.bench.reconnect();
            self.tickets.insert(ticket);
            return;
        };
        let result = if fails { Err(failure(FailureKind::ConnectionRefused)) } else { Ok(()) };
        self.bench.enter(|session, now| session.connected(now, generation, result));
        let last = |world: &Self, method: &str| {
            let on_it = world.bench.wire.iter().enumerate();
            let on_it = on_it.filter(|(_, sent)| sent.receipt.generation == generation);
            let mut last = on_it.rev().filter(|(_, sent)| sent.method == method);
            last.next().map(|(index, sent)| (index, sent.clone()))
        };
        if !handshake {
            return;
        }
        // A question that it answered before is answered for nobody.
        self.answer_probe(last(self, "server/discover"));
        if let Some((_, initialize)) = last(self, "initialize").filter(|_| self.modern) {
            self.bench.answer_error(
                &initialize,
                r#"{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}"#,
            );
            self.answer_probe(last(self, "server/discover"));
        } else if let Some((_, initialize)) = last(self, "initialize") {
            let revision = ["2025-11-25", "2025-03-26"][usize::from(generation.0.is_multiple_of(2))];
            self.bench.answer(&initialize, &format!(r#"{{"protocolVersion":"{revision}"}}"#));
        }
        if let Some((index, initialized)) = last(self, "notifications/initialized")
            && self.returned.insert(index)
        {
            self.bench.sent(&initialized, Ok(Delivery::HandedOver));
        }
    }

    fn answer_probe(&mut self, probe: Option<(usize, Sent)>) {
        match probe {
            Some((_, probe)) if self.modern => {
                self.bench.answer(&probe, r#"{"supportedVersions":["2026-07-28"]}"#);
            }
            Some((_, probe)) => self.bench.answer_error(&probe, r#"{"code":-32601,"message":"m"}"#),
            None => {}
        }
    }

    fn send_returns(&mut self, which: Pick, how: Returning) -> Reach {
        let out: Vec<_> = (0..self.bench.wire.len()).filter(|index| !self.returned.contains(index)).collect();
        let Some(index) = which.of(&out).copied() else { return Reach::Only(None) };
        self.returned.insert(index);
        let sent = self.bench.wire[index].clone();
        let id = match sent.receipt.what {
            What::Request(RequestId(id)) => Some(id),
            What::Initialized | What::Control => None,
        };
        if let Some(id) = id {
            self.weigh(id, how);
        }
        let result = match how {
            Returning::HandedOver => Ok(Delivery::HandedOver),
            Returning::Accepted => Ok(Delivery::Accepted),
            Returning::NotSent(kind) => Err(SendError::NotSent(failure(kind))),
            Returning::Truncated(kind) => Err(SendError::Truncated(failure(kind))),
            Returning::Unknown(kind) => Err(SendError::Unknown(failure(kind))),
            Returning::Refused(status, had_session, body) => {
                let body = String::from_utf8(body.bytes(id.unwrap_or_default())).unwrap();
                Err(SendError::Refused(Refusal { had_session, ..refusal(status, &body) }))
            }
        };
        self.bench.sent(&sent, result);
        let connection_is_over = match how {
            Returning::NotSent(kind) | Returning::Truncated(kind) | Returning::Unknown(kind) => {
                kind == FailureKind::Closed
            }
            Returning::Refused(status, had_session, _) => status == 404 && had_session,
            Returning::HandedOver | Returning::Accepted => false,
        };
        if connection_is_over || sent.receipt.what == What::Initialized {
            Reach::Any
        } else {
            reach_of(&sent)
        }
    }

    /// What the end of a `send` says of its attempt (contract, section 3).
    fn weigh(&mut self, id: u64, how: Returning) {
        let refused = |status, had_session, body| match (status, body) {
            (_, Body::Answer | Body::CutAnswer) => false,
            (401 | 405 | 307, _) => true,
            (404, _) => had_session,
            (400, body) => !matches!(body, Body::Page),
            _ => false,
        };
        let end = match how {
            Returning::HandedOver | Returning::Accepted => return,
            Returning::NotSent(_) | Returning::Truncated(_) => End::Withheld,
            Returning::Refused(status, had_session, body) if refused(status, had_session, body) => {
                End::Refused
            }
            Returning::Refused(_, _, Body::Answer) => {
                self.answered.insert(id);
                End::Doubt
            }
            Returning::Unknown(_) | Returning::Refused(..) => End::Doubt,
        };
        self.end(id, if self.heard.contains(&id) { End::Doubt } else { end });
    }

    /// Something comes for some request, on its connection or another, on its channel or none.
    fn server_says(
        &mut self,
        about: Pick,
        saying: Saying,
        whole: bool,
        elsewhere: Option<Pick>,
        on_channel: bool,
    ) -> Reach {
        let Some(sent) = self.pick_request(about) else { return Reach::Only(None) };
        let id = sent.id();
        let mut text = saying.bytes(id, &sent.method);
        if !whole {
            text.splice(0..0, *b"\xef\xbb\xbf ");
        }
        let alive: Vec<_> = self.alive.iter().copied().collect();
        let elsewhere = elsewhere.and_then(|pick| pick.of(&alive).copied());
        let generation = elsewhere.unwrap_or(sent.receipt.generation);
        let mut answers = None;
        // On another connection, nothing concerns it.
        if generation == sent.receipt.generation {
            let progress = || sent.call.is_some_and(|call| self.bench.made[&call].progress);
            if on_channel || matches!(saying, Saying::Progress) && progress() {
                self.heard.insert(id);
            }
            if saying.answers() {
                answers = sent.call.filter(|_| self.is_open_attempt(&sent));
                self.answered.insert(id);
            }
            // Only one of 2026-07-28 has headers.
            let modern = !sent.headers.is_empty();
            if matches!(saying, Saying::InputRequired) && modern {
                self.end(id, End::Suspended);
            } else if saying.ends(on_channel) {
                self.end(id, End::Doubt);
            }
        }
        self.bench.deliver_on(generation, on_channel.then_some(id), text);
        if let Some(call) = answers {
            assert!(self.bench.verdicts.contains_key(&call), "an answer that was not heard: {call:?}");
        }
        if generation == sent.receipt.generation { reach_of(&sent) } else { Reach::Only(None) }
    }

    /// Whether this is the attempt of a call that waits for nothing but its answer.
    fn is_open_attempt(&self, sent: &Sent) -> bool {
        let Some(call) = sent.call else { return false };
        let last = self.attempts(call).last().map(Sent::id);
        self.bench.is_pending(call) && last == Some(sent.id()) && !self.ends.contains_key(&sent.id())
    }

    fn receive(
        &mut self,
        generation: Generation,
        incoming: Result<Incoming, noreplay::session::verdict::Failure>,
    ) {
        self.bench.enter(|session, now| session.received(now, generation, incoming));
    }

    /// An attempt ended. Only the first word counts.
    fn end(&mut self, id: u64, end: End) {
        self.ends.entry(id).or_insert(end);
    }

    pub fn attempts(&self, call: CallId) -> impl DoubleEndedIterator<Item = &Sent> {
        self.bench.wire.iter().filter(move |sent| sent.call == Some(call))
    }

    fn requests(&self) -> impl Iterator<Item = &Sent> {
        self.bench.wire.iter().filter(|sent| matches!(sent.receipt.what, What::Request(_)))
    }

    fn pick_request(&self, which: Pick) -> Option<Sent> {
        which.of(&self.requests().collect::<Vec<_>>()).map(|sent| (*sent).clone())
    }

    fn pick_call(&self, which: Pick) -> Option<CallId> {
        which.of(&self.bench.made.keys().collect::<Vec<_>>()).map(|call| **call)
    }
}

/// Whom something that concerns a message concerns.
fn reach_of(sent: &Sent) -> Reach {
    if ["initialize", "server/discover"].contains(&sent.method.as_str()) {
        Reach::Any
    } else {
        Reach::Only(sent.call)
    }
}
