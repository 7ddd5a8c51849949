//! The session: all protocol state and every verdict, without I/O, clock or async.
//!
//! Events and time go in by the methods of [`Session`]; what is to be done comes out of
//! [`Session::poll_action`]. A call is handed over at the very moment its [`Action::Send`] is taken:
//! before that it has not run, after that it may have.
//!
//! | module | one idea |
//! |---|---|
//! | [`call`] | a call from the caller's hand to its verdict; the types that forbid a replay |
//! | [`evidence`] | what proves that a call did not execute |
//! | [`verdict`] | what a call can come to, and why |
//! | [`policy`] | the caller's policies |
//! | `actions` | what a session asks for, and what it is told |
//! | `begin` | a call as its caller gives it |
//! | `calls` | hand over, end |
//! | `answers` | answers to calls, in time or late |
//! | `link` | connect, lose, replace |
//! | `handshake` | of which era a server is, and which revision is agreed on |
//! | `sent` | messages that were given out, and what became of them |
//! | `inbound` | what arrives, and whom it concerns |
//! | [`interaction`] | what the server asks of the host, and where the answer goes |
//! | `inputs` | what a suspended call waits for |
//! | [`reads`] | lists, resources, prompts and the like |
//! | `lists` | lists page by page, and while they are fresh |
//! | `news` | news that the caller asked for |
//! | `reconcile` | late answers |
//! | `tasks` | results that are asked for under a task's id |
//! | `timers` | who is to be told when |
//! | [`recovery`] | pauses between tries, and the rest after them |
//! | [`unsettled`], [`event`] | what is kept for whoever asks, bounded |

pub mod call;
pub mod event;
pub mod evidence;
pub mod interaction;
pub mod policy;
pub mod reads;
pub mod recovery;
pub mod time;
pub mod unsettled;
pub mod verdict;

mod actions;
mod answers;
mod begin;
mod calls;
mod handshake;
mod inbound;
mod inputs;
mod keys;
mod link;
mod lists;
mod news;
mod reconcile;
mod sent;
mod tasks;
mod timers;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::host::Hosted;
use crate::prelude::*;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message::Outgoing;
use crate::protocol::query::LogLevel;
use crate::table::{Table, key};

pub use actions::{Action, Delivery, Incoming, PendingCall, Receipt, Resolution, What};
pub use begin::ToolCall;
use call::Call;
use event::{Event, Events};
use handshake::Era;
use interaction::Questions;
use keys::Keys;
use link::{Connection, Link};
use lists::Lists;
use policy::Options;
use reads::Reading;
use reconcile::Reconcile;
use recovery::Tries;
use time::Instant;
use timers::{Timer, Timers};
use unsettled::Unsettled;
use verdict::{CallId, Generation, NotExecuted, UnknownOutcome};

/// The source of ids, shared by all sessions of a component: no id is given twice in its life.
#[derive(Debug, Default)]
pub struct Ids {
    call: AtomicU64,
    request: AtomicU64,
}

impl Ids {
    /// A source that has given none yet.
    pub const fn new() -> Self {
        Self { call: AtomicU64::new(0), request: AtomicU64::new(0) }
    }

    fn call(&self) -> CallId {
        CallId(self.call.fetch_add(1, Relaxed) + 1)
    }

    fn request(&self) -> RequestId {
        RequestId(self.request.fetch_add(1, Relaxed) + 1)
    }

    /// No request id below this one is given from now on.
    fn skip_requests(&self, first: u64) {
        self.request.fetch_max(first.saturating_sub(1), Relaxed);
    }
}

/// What a caller waits for, other than a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

key!(Ticket);

/// A request that is out.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    generation: Generation,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Call(CallId),
    /// The call has ended as unknown; an answer would settle it.
    Late(CallId),
    /// The same; the answer tells where its task is.
    LateTask(CallId),
    Read(Ticket),
    /// News comes for as long as there is no answer.
    Listening,
    /// The result of a task, whose call has ended as unknown.
    Fetch(CallId),
    /// `server/discover` or `initialize`: the link tells which.
    Handshake,
    /// Nobody waits for the answer.
    Nothing,
}

/// What waits for a connection, in the order it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queued {
    Call(CallId),
    Read(Ticket),
    Fetch(CallId),
}

/// One client's session with one server, across connections.
#[derive(Debug)]
pub struct Session {
    options: Options,
    ids: &'static Ids,
    open: bool,
    link: Link,
    /// Every connection that is up, the current one and those that only finish their calls.
    connections: Table<Generation, Connection>,
    generations: u64,
    tickets: u64,
    tries: Tries,
    era: Era,
    /// A connection ended on the probe: the next one begins with `initialize`.
    probe_ended: bool,
    /// Of the tools listed last, those that want arguments as headers: each name, and whole entry.
    marked: Vec<(String, String)>,
    lists: Lists,
    /// How much a server of 2026-07-28 is to log.
    log_level: Option<LogLevel>,
    calls: Table<CallId, Call>,
    reads: Table<Ticket, Reading>,
    reconnects: Vec<Ticket>,
    reconciles: Table<Ticket, Reconcile>,
    requests: Table<RequestId, Awaited>,
    queue: Vec<Queued>,
    timers: Timers,
    actions: Vec<Action>,
    /// None where there is nobody to ask.
    questions: Option<Hosted<Questions>>,
    keys: Keys,
    unsettled: Unsettled,
    events: Events,
}

impl Session {
    /// A session that has not connected yet.
    pub fn new(options: Options, ids: &'static Ids) -> Self {
        if let Some(initialised) = options.initialised {
            ids.skip_requests(initialised.first_request);
        }
        let limits = &options.limits;
        Self {
            ids,
            open: true,
            link: Link::Down,
            connections: Table::default(),
            generations: 0,
            tickets: 0,
            tries: Tries::new(options.recovery.clone()),
            era: Era::Unknown,
            probe_ended: false,
            marked: Vec::new(),
            lists: Lists::default(),
            log_level: None,
            calls: Table::default(),
            reads: Table::default(),
            reconnects: Vec::new(),
            reconciles: Table::default(),
            requests: Table::default(),
            queue: Vec::new(),
            timers: Timers::default(),
            actions: Vec::new(),
            questions: Hosted::new(Questions::default),
            keys: Keys::default(),
            unsettled: Unsettled::new(limits.events, limits.message_bytes, limits.cause_bytes),
            events: Events::new(limits.events, limits.message_bytes),
            options,
        }
        .with_capabilities()
    }

    /// What is to be done next. Whoever takes an [`Action::Send`] has been handed its message.
    pub fn poll_action(&mut self) -> Option<Action> {
        if !self.actions.is_empty() {
            return Some(self.actions.remove(0));
        }
        while let Link::Up { generation } = self.link {
            let next = self.queue.first().copied()?;
            self.queue.remove(0);
            let sent = match next {
                Queued::Call(call) => self.hand_over(generation, call),
                Queued::Read(ticket) => self.send_read(generation, ticket),
                Queued::Fetch(call) => self.send_fetch(generation, call),
            };
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    /// The next event beside the calls.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Whether an event waits.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether the session was not closed.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// When [`Session::tick`] is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        match (self.timers.next(), self.link.deadline()) {
            (Some(timer), Some(link)) => Some(link.min(timer)),
            (timer, link) => timer.or(link),
        }
    }

    /// Time has come so far.
    pub fn tick(&mut self, now: Instant) {
        self.tick_timers(now);
        self.tick_link(now);
    }

    /// Tells whoever is out of time so.
    fn tick_timers(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Call(call) => self.call_timed_out(now, call),
                Timer::Read(ticket) => self.read_timed_out(now, ticket),
                Timer::Reconcile(ticket) => self.end_reconcile(ticket, None),
                Timer::Poll(call) => self.poll_task(now, call),
            }
        }
    }

    /// The calls that have no verdict yet, in the order they were made.
    pub fn pending(&self) -> Vec<PendingCall> {
        let pending = |call: &Call| PendingCall {
            call: call.id,
            key: call.key.clone(),
            tool: call.tool.clone(),
            attempts: call.attempts,
            stage: call.stage(),
            ended: false,
        };
        self.calls.values().map(pending).collect()
    }

    /// The calls whose outcome is not known: those of [`Session::unsettled`], then those of
    /// [`Session::pending`].
    pub fn open_calls(&self) -> Vec<PendingCall> {
        let mut calls = Vec::new();
        for unknown in self.unsettled.iter() {
            calls.push(PendingCall {
                call: unknown.call,
                key: unknown.key.clone(),
                tool: unknown.tool.clone(),
                attempts: unknown.attempts,
                stage: unknown.stage,
                ended: true,
            });
        }
        calls.append(&mut self.pending());
        calls
    }

    /// The calls that ended as unknown and are not settled since, oldest first.
    pub fn unsettled(&self) -> Vec<UnknownOutcome> {
        self.unsettled.iter().cloned().collect()
    }

    /// Ends the session: every caller is told at once, and nothing is sent from now on.
    pub fn close(&mut self) {
        if !core::mem::replace(&mut self.open, false) {
            return;
        }
        self.actions.retain(|action| {
            !matches!(action, Action::Connect { .. } | Action::Send { .. } | Action::Abandon { .. })
        });
        self.queue.clear();
        self.drop_connections();
        self.close_calls();
        self.close_reads();
        for ticket in core::mem::take(&mut self.reconnects) {
            self.resolve(Resolution::Reconnect(ticket, Err(NotExecuted::Closed)));
        }
        self.close_reconciles();
        self.requests = Table::default();
        self.timers = Timers::default();
    }

    /// Sends a message of the session's own.
    fn send(&mut self, receipt: Receipt, message: Outgoing) {
        self.actions.push(Action::Send { call: None, receipt, message });
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    fn resolve(&mut self, resolution: Resolution) {
        self.actions.push(Action::Resolve(resolution));
    }

    /// Calls and reads without a verdict.
    fn in_flight(&self) -> usize {
        self.calls.len() + self.reads.len()
    }
}
