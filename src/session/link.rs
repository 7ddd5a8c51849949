//! The link to the server: connect, handshake, lose, replace.
//!
//! New messages go to one connection at most, the current one. A connection that turned out to take
//! no more messages, while answers may still come on it, *lingers* until its calls have theirs.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::handshake::{self, Server};
use crate::protocol::json::Raw;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;
use crate::protocol::revision::Revision;
use crate::table::Table;
use crate::text::text;

use super::event::Event;
use super::policy::Ownership;
use super::recovery::{ConnectError, Next};
use super::time::Instant;
use super::verdict::{
    Cause, Failure, FailureKind, Generation, HandshakeFailure, NotExecuted, ReadError, RpcError,
};
use super::{Action, Awaited, Purpose, Queued, Receipt, Resolution, Session, Ticket, What};

/// How long calls wait for a transport that does not return from sending `notifications/initialized`:
/// the server has answered, so that it is a matter of order only, and a call bears its own risk.
const INITIALIZED: Duration = Duration::from_secs(2);

/// Where new messages go.
#[derive(Debug)]
pub(super) enum Link {
    /// Nowhere.
    Down,
    /// Nowhere, until the next try.
    Pausing { until: Instant },
    /// A connection is being opened.
    Connecting { generation: Generation, until: Instant },
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
            | Self::Initializing { until, .. }
            | Self::Initialized { until, .. } => Some(*until),
        }
    }

    pub(super) fn generation(&self) -> Option<Generation> {
        match self {
            Self::Down | Self::Pausing { .. } => None,
            Self::Connecting { generation, .. }
            | Self::Initializing { generation, .. }
            | Self::Initialized { generation, .. }
            | Self::Up { generation } => Some(*generation),
        }
    }
}

/// A connection that is up.
#[derive(Debug, Default)]
pub(super) struct Connection {
    revision: Option<Revision>,
    server: Option<Server>,
    /// Messages of the session's own that are on their way.
    pub(super) controls: usize,
}

impl Connection {
    /// The revision agreed on, once it is.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.revision
    }
}

impl Session {
    /// Whether the session may connect by itself now.
    pub(super) fn may_connect(&self, now: Instant) -> Result<(), NotExecuted> {
        match self.options.ownership {
            Ownership::CallerManaged => Err(NotExecuted::NotConnected),
            Ownership::Owned => match self.tries.resting(now) {
                Some(error) => Err(error.into_reason()),
                None => Ok(()),
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

    fn connect(&mut self, now: Instant) {
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
                Purpose::Late(call) | Purpose::Fetch(call) => self.late_answer_lost(call),
                Purpose::Initialize | Purpose::Nothing => {}
            }
        }
        for ticket in reads {
            let failure = Failure::new(FailureKind::Closed, "the connection was replaced");
            self.read_failed(now, ticket, ReadError::Transport(failure));
        }
    }

    pub(super) fn drop_connections(&mut self) {
        let mut generations: Vec<_> = self.connections.keys().collect();
        if let Link::Connecting { generation, .. } = self.link {
            generations.push(generation);
        }
        self.connections = Table::default();
        self.actions.retain(|action| !matches!(action, Action::Send { .. }));
        self.link = Link::Down;
        for generation in generations {
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
        if let Some(initialised) = self.options.initialised {
            let revision = initialised.revision;
            self.introduce(generation, revision, Server::unintroduced(revision));
            self.up(now, generation);
            return;
        }
        let request = self.ids.request();
        self.requests.insert(request, Awaited { generation, purpose: Purpose::Initialize });
        self.link = Link::Initializing { generation, until };
        let message = handshake::initialize(request, &self.options.client);
        self.send(Receipt { generation, what: What::Request(request) }, message);
    }

    /// The answer to `initialize` came.
    pub(super) fn initialize_answered(
        &mut self,
        now: Instant,
        generation: Generation,
        answer: Result<Raw<'_>, Raw<'_>>,
    ) {
        let Link::Initializing { generation: current, until } = self.link else {
            return;
        };
        if generation != current {
            return;
        }
        let failure = |reason: &str, error| HandshakeFailure { error, ..HandshakeFailure::new(reason) };
        let (revision, server) = match answer {
            Ok(result) => match handshake::read(result) {
                Ok(agreed) => agreed,
                Err(error) => return self.handshake_failed(now, failure(&error.words(), None)),
            },
            Err(error) => {
                let error = RpcError::read(error);
                let reason = match &error {
                    Some(error) => {
                        text!("the server refused it: {} ({})", &error.message, error.code)
                    }
                    None => "the server answered with an error that cannot be read".to_owned(),
                };
                return self.handshake_failed(now, failure(&reason, error));
            }
        };
        self.introduce(generation, revision, server);
        self.link = Link::Initialized { generation, until: until.min(now + INITIALIZED) };
        self.send(Receipt { generation, what: What::Initialized }, message::initialized(revision));
    }

    fn introduce(&mut self, generation: Generation, revision: Revision, server: Server) {
        if let Some(connection) = self.connections.get_mut(&generation) {
            connection.revision = Some(revision);
            connection.server = Some(server);
        }
    }

    /// The handshake is done. What waited too long for it is not sent any more, whether or not its alarm
    /// was heard already.
    pub(super) fn up(&mut self, now: Instant, generation: Generation) {
        self.tick_timers(now);
        let Some(server) = self.connections.get(&generation).and_then(|up| up.server.clone()) else {
            return;
        };
        self.link = Link::Up { generation };
        self.tries.succeeded();
        for ticket in core::mem::take(&mut self.reconnects) {
            self.resolve(Resolution::Reconnect(ticket, Ok(server.clone())));
        }
        self.events.push(Event::Connected(server));
    }

    pub(super) fn handshake_failed(&mut self, now: Instant, failure: HandshakeFailure) {
        self.try_ended(now, ConnectError::Handshake(failure));
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
    fn try_failed(&mut self, now: Instant, error: ConnectError) {
        // Whoever manages the connection also decides on another try.
        let once = self.options.ownership == Ownership::CallerManaged;
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

    fn is_wanted(&self) -> bool {
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
            Link::Initializing { .. } => self.handshake_failed(
                now,
                HandshakeFailure::by(
                    timed_out("the handshake"),
                    "the server did not answer `initialize` in time",
                ),
            ),
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
                out.generation == generation && !matches!(out.purpose, Purpose::Late(_) | Purpose::Nothing)
            })
        };
        let is_idle = |generation: &Generation| Some(*generation) != current && !owes(*generation);
        let idle: Vec<_> = self.connections.keys().filter(is_idle).collect();
        for generation in idle {
            self.forget_connection(generation);
            self.disconnect(generation);
        }
    }

    /// A connection is gone, and with it whatever was awaited late on it.
    fn forget_connection(&mut self, generation: Generation) -> Vec<(RequestId, Box<Awaited>)> {
        self.connections.remove(&generation);
        self.actions.retain(
            |action| !matches!(action, Action::Send { receipt, .. } if receipt.generation == generation),
        );
        let gone = self.requests.take_if(|out| out.generation == generation);
        for (_, out) in &gone {
            if let Purpose::Late(call) | Purpose::Fetch(call) = out.purpose {
                self.late_answer_lost(call);
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
        if matches!(self.link, Link::Initializing { .. } | Link::Initialized { .. })
            && self.link.generation() == Some(generation)
        {
            self.link = Link::Down;
            self.forget_connection(generation);
            let failure = HandshakeFailure::by(failure, "the connection was lost");
            self.try_failed(now, ConnectError::Handshake(failure));
            return;
        }
        if self.link.generation() == Some(generation) {
            self.link = Link::Down;
        }
        let in_flight = self.forget_connection(generation);
        self.events.push(Event::Disconnected(failure.clone()));
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
                | Purpose::Fetch(_)
                | Purpose::Initialize
                | Purpose::Nothing => {}
            }
        }
        self.want_link(now);
    }
}
