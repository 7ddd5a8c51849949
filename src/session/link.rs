//! The link to the server: connect, lose, replace.
//!
//! New messages go to one connection at most, the current one. A connection that turned out to take
//! no more messages, while answers may still come on it, *lingers* until its calls have theirs.

use crate::prelude::*;
use crate::protocol::handshake::Server;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message::Dialect;
use crate::protocol::revision::Revision;
use crate::table::Table;
use crate::text::text;

use super::call::Poll;
use super::event::Event;
use super::policy::Ownership;
use super::recovery::{ConnectError, Next};
use super::time::Instant;
use super::verdict::{Cause, Failure, FailureKind, Generation, HandshakeFailure, NotExecuted, ReadError};
use super::{Action, Awaited, Purpose, Queued, Resolution, Session, Ticket};

/// Where new messages go.
#[derive(Debug)]
pub(super) enum Link {
    /// Nowhere.
    Down,
    /// Nowhere, until the next try.
    Pausing { until: Instant },
    /// A connection is being opened.
    Connecting { generation: Generation, until: Instant },
    /// `server/discover` is out; all of the handshake may take until `whole`.
    Probing { generation: Generation, request: RequestId, until: Instant, whole: Instant },
    /// `initialize` is out.
    Initializing { generation: Generation, until: Instant },
    /// `notifications/initialized` is out.
    Initialized { generation: Generation, until: Instant },
    /// To this connection.
    Up { generation: Generation },
}

impl Link {
    /// When [`Session::tick`] is due for it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Down | Self::Up { .. } => None,
            Self::Pausing { until }
            | Self::Connecting { until, .. }
            | Self::Probing { until, .. }
            | Self::Initializing { until, .. }
            | Self::Initialized { until, .. } => Some(*until),
        }
    }

    pub(super) fn generation(&self) -> Option<Generation> {
        match self {
            Self::Down | Self::Pausing { .. } => None,
            Self::Connecting { generation, .. }
            | Self::Probing { generation, .. }
            | Self::Initializing { generation, .. }
            | Self::Initialized { generation, .. }
            | Self::Up { generation } => Some(*generation),
        }
    }
}

/// A connection that is up.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) revision: Option<Revision>,
    pub(super) server: Option<Server>,
    /// How often it was probed, and what `initialize` offered on it.
    pub(super) probes: u32,
    pub(super) offered: Option<Revision>,
    /// Messages of the session's own that are on their way.
    pub(super) controls: usize,
    /// The server says that it has no tools.
    pub(super) no_tools: bool,
    /// The server promised to tell when its list of tools changes.
    pub(super) tells_of_tools: bool,
    /// The resources of which it tells news (up to 2025-11-25).
    pub(super) subscribed: Vec<String>,
}

impl Session {
    /// The revision that is spoken on a connection, once one is agreed on.
    pub(super) fn revision(&self, generation: Generation) -> Option<Revision> {
        self.connections.get(&generation)?.revision
    }

    /// Whether each request on a connection speaks for itself (2026-07-28).
    pub(super) fn is_modern(&self, generation: Generation) -> bool {
        self.revision(generation).is_some_and(Revision::is_modern)
    }

    /// How messages are put in a revision.
    pub(super) fn dialect(&self, revision: Revision) -> Dialect<'_> {
        self.options.dialect(revision, self.log_level)
    }

    /// Whether the session may connect by itself now.
    pub(super) fn may_connect(&self, now: Instant) -> Result<(), NotExecuted> {
        match self.options.ownership {
            Ownership::CallerManaged => Err(NotExecuted::NotConnected),
            Ownership::Owned => match self.tries.resting(now) {
                Some(error) => Err(error.into_reason()),
                None => self.may_speak(),
            },
        }
    }

    /// Sees to it that there is a connection, or will be.
    pub(super) fn ensure_link(&mut self, now: Instant) -> Result<(), NotExecuted> {
        if matches!(self.link, Link::Down) {
            self.may_connect(now)?;
            self.connect(now);
        }
        Ok(())
    }

    /// Sees to it that what waits gets a connection, or is told that it does not.
    pub(super) fn want_link(&mut self, now: Instant) {
        if !self.queue.is_empty()
            && let Err(reason) = self.ensure_link(now)
        {
            self.fail_queue(&reason);
        }
    }

    pub(super) fn connect(&mut self, now: Instant) {
        self.generations += 1;
        let generation = Generation(self.generations);
        self.link = Link::Connecting { generation, until: now + self.options.timing.connect };
        self.actions.push(Action::Connect { generation });
    }

    /// Opens a fresh connection, at the caller's wish; joins one that is being opened. It ends by
    /// [`Resolution::Reconnect`].
    pub fn reconnect(&mut self, now: Instant) -> Ticket {
        let ticket = self.ticket();
        if !self.open {
            self.resolve(Resolution::Reconnect(ticket, Err(NotExecuted::Closed)));
            return ticket;
        }
        if let Err(reason) = self.may_speak() {
            self.resolve(Resolution::Reconnect(ticket, Err(reason)));
            return ticket;
        }
        if self.reconnects.len() >= self.options.limits.in_flight {
            let busy = Failure::new(FailureKind::Busy, "as many wait for a connection as may");
            self.resolve(Resolution::Reconnect(ticket, Err(NotExecuted::NotSent(busy))));
            return ticket;
        }
        self.reconnects.push(ticket);
        if !matches!(self.link, Link::Down | Link::Pausing { .. } | Link::Up { .. }) {
            return ticket;
        }
        self.tries.reset();
        self.drop_connections();
        // First this, so that whatever goes on waits for this connection, and asks for no other.
        self.connect(now);
        self.tell_replaced(now);
        ticket
    }

    /// Tells everything that was in flight that its connection was replaced.
    fn tell_replaced(&mut self, now: Instant) {
        let mut reads = Vec::new();
        for (request, out) in self.requests.take() {
            match out.purpose {
                Purpose::Call(call) if self.is_current(call, request) => self.attempt_replaced(call),
                // An earlier attempt of a call that goes on is left in doubt as it was.
                Purpose::Call(_) => {}
                Purpose::Read(ticket) => reads.push(ticket),
                Purpose::Late(call) | Purpose::LateTask(call) | Purpose::Fetch(call) => {
                    self.late_answer_lost(call);
                }
                Purpose::Listening => self.unsubscribed(Some(replaced())),
                Purpose::Handshake | Purpose::Nothing => {}
            }
        }
        let paused: Vec<_> = self
            .calls
            .values()
            .filter(|call| matches!(call.poll(), Poll::Due(_)))
            .map(|call| call.id)
            .collect();
        for call in paused {
            self.attempt_replaced(call);
        }
        for ticket in reads {
            let failure = replaced();
            self.read_failed(now, ticket, ReadError::Transport(failure));
        }
    }

    pub(super) fn drop_connections(&mut self) {
        let mut generations: Vec<_> = self.connections.keys().collect();
        if self.open && self.connections.values().any(|connection| !connection.subscribed.is_empty()) {
            self.unsubscribed(Some(replaced()));
        }
        if let Link::Connecting { generation, .. } = self.link {
            generations.push(generation);
        }
        self.connections = Table::default();
        self.actions.retain(|action| !matches!(action, Action::Send { .. }));
        self.link = Link::Down;
        for generation in generations {
            self.withdraw_on(generation);
            self.disconnect(generation);
        }
    }

    /// Lets go of a connection that works still.
    fn disconnect(&mut self, generation: Generation) {
        let orderly = self.options.ownership == Ownership::Owned && self.options.initialised.is_none();
        self.actions.push(Action::Disconnect { generation, orderly });
    }

    /// A connection was opened, or not.
    pub fn connected(&mut self, now: Instant, generation: Generation, result: Result<(), Failure>) {
        // Of a try that was given up: whoever gave it up has let the connection go.
        let Link::Connecting { generation: current, until } = self.link else {
            return;
        };
        if generation != current {
            return;
        }
        if let Err(failure) = result {
            self.link = Link::Down;
            self.try_failed(now, ConnectError::Failed(failure));
            return;
        }
        self.connections.insert(generation, Connection::default());
        self.begin_handshake(now, generation, until);
    }

    /// A try ended on a connection that was up, without a handshake.
    pub(super) fn try_ended(&mut self, now: Instant, error: ConnectError) {
        let Some(generation) = self.link.generation() else {
            return;
        };
        self.link = Link::Down;
        self.forget_connection(generation);
        self.actions.push(Action::Disconnect { generation, orderly: false });
        self.try_failed(now, error);
    }

    /// A try to connect failed; the link is down. Tries that nobody waits for any more do not count for
    /// whoever comes later.
    pub(super) fn try_failed(&mut self, now: Instant, error: ConnectError) {
        // Whoever manages the connection also decides on another try.
        let once = self.options.ownership == Ownership::CallerManaged;
        self.probe_ended = false;
        match self.tries.failed(now, error, once) {
            Next::At(until) if self.is_wanted() => self.link = Link::Pausing { until },
            Next::At(_) => self.tries.reset(),
            Next::GiveUp(error) => {
                let reason = error.into_reason();
                for ticket in core::mem::take(&mut self.reconnects) {
                    self.resolve(Resolution::Reconnect(ticket, Err(reason.clone())));
                }
                self.fail_queue(&reason);
            }
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        !self.queue.is_empty() || !self.reconnects.is_empty()
    }

    /// Tells all that waits for a connection that none comes.
    fn fail_queue(&mut self, reason: &NotExecuted) {
        for queued in core::mem::take(&mut self.queue) {
            match queued {
                Queued::Call(call) => self.call_cannot_connect(call, reason.clone()),
                Queued::Read(ticket) => self.read_cannot_connect(ticket, reason),
                Queued::Fetch(call) => self.nothing_to_reconcile(call, true),
            }
        }
    }

    pub(super) fn tick_link(&mut self, now: Instant) {
        if self.link.deadline().is_none_or(|until| until > now) {
            return;
        }
        let timed_out = |what: &str| Failure::new(FailureKind::TimedOut, &text!("{} took too long", what));
        match self.link {
            Link::Pausing { .. } => {
                self.link = Link::Down;
                if self.is_wanted() {
                    self.connect(now);
                } else {
                    self.tries.reset();
                }
            }
            Link::Connecting { generation, .. } => {
                self.link = Link::Down;
                self.actions.push(Action::Disconnect { generation, orderly: false });
                self.try_failed(now, ConnectError::Failed(timed_out("connecting")));
            }
            Link::Probing { .. } | Link::Initializing { .. } => {
                self.unanswered(now, "did not come in time", Some(timed_out("the handshake")));
            }
            Link::Initialized { generation, .. } => self.up(now, generation),
            Link::Down | Link::Up { .. } => {}
        }
    }

    /// Lets go of connections that take no more messages and owe no more answers.
    pub(super) fn sweep_connections(&mut self) {
        let current = self.link.generation();
        if self.connections.keys().all(|generation| Some(generation) == current) {
            return;
        }
        let owes = |generation: Generation| {
            self.requests.values().any(|out| {
                let owed = !matches!(
                    out.purpose,
                    Purpose::Late(_) | Purpose::LateTask(_) | Purpose::Listening | Purpose::Nothing
                );
                out.generation == generation && owed
            })
        };
        let is_idle = |generation: &Generation| {
            Some(*generation) != current && !owes(*generation) && self.paused_on(*generation).is_empty()
        };
        let idle: Vec<_> = self.connections.keys().filter(is_idle).collect();
        for generation in idle {
            self.forget_connection(generation);
            self.disconnect(generation);
        }
    }

    /// A connection is gone, and with it whatever was awaited late on it.
    pub(super) fn forget_connection(&mut self, generation: Generation) -> Vec<(RequestId, Box<Awaited>)> {
        let connection = self.connections.remove(&generation);
        let closed = || Failure::new(FailureKind::Closed, "the connection was let go or lost");
        if connection.is_some_and(|connection| !connection.subscribed.is_empty()) {
            self.unsubscribed(Some(closed()));
        }
        self.withdraw_on(generation);
        self.actions.retain(
            |action| !matches!(action, Action::Send { receipt, .. } if receipt.generation == generation),
        );
        let gone = self.requests.take_if(|out| out.generation == generation);
        for (_, out) in &gone {
            match out.purpose {
                Purpose::Late(call) | Purpose::LateTask(call) | Purpose::Fetch(call) => {
                    self.late_answer_lost(call);
                }
                Purpose::Listening => self.unsubscribed(Some(closed())),
                _ => {}
            }
        }
        gone
    }

    /// A connection is lost: everything in flight on it is told.
    pub(super) fn lost(&mut self, now: Instant, generation: Generation, failure: Failure) {
        if !self.connections.contains(&generation) {
            return;
        }
        self.actions.push(Action::Disconnect { generation, orderly: false });
        if self.link.generation() == Some(generation) {
            if !matches!(self.link, Link::Up { .. }) {
                let failure = HandshakeFailure::by(failure, "the connection was lost");
                return self.handshake_lost(now, generation, failure);
            }
            self.link = Link::Down;
        }
        let (paused, in_flight) = (self.paused_on(generation), self.forget_connection(generation));
        self.events.push(Event::Disconnected(failure.clone()));
        for call in paused {
            self.attempt_unknown(now, call, Cause::Transport(failure.clone()));
        }
        for (request, out) in in_flight {
            match out.purpose {
                // An earlier attempt of a call that goes on elsewhere is left in doubt as it was.
                Purpose::Call(call) if self.is_current(call, request) => {
                    self.attempt_unknown(now, call, Cause::Transport(failure.clone()));
                }
                Purpose::Read(ticket) => {
                    self.read_failed(now, ticket, ReadError::Transport(failure.clone()));
                }
                Purpose::Call(_)
                | Purpose::Late(_)
                | Purpose::LateTask(_)
                | Purpose::Fetch(_)
                | Purpose::Listening
                | Purpose::Handshake
                | Purpose::Nothing => {}
            }
        }
        self.want_link(now);
    }
}

fn replaced() -> Failure {
    Failure::new(FailureKind::Closed, "the connection was replaced")
}
