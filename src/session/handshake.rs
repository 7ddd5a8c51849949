//! The handshake on a fresh connection: of which era the server is, and which revision is agreed on.
//!
//! A server of 2026-07-28 knows `server/discover`, an older one wants `initialize`. Which of the two it is
//! nobody knows before it was asked, and the question must have no effect: some older servers execute a
//! `tools/call` that comes before `initialize`. So `server/discover` asks, and nothing else goes out before
//! the handshake is done. What a server was found to be is remembered until it proves wrong.

use core::time::Duration;

use crate::protocol::handshake::{self, Server, Spoken};
use crate::protocol::json::{self, Raw};
use crate::protocol::jsonrpc::{self, Message, RequestId};
use crate::protocol::message;
use crate::protocol::revision::Revision;
use crate::text::text;

use super::event::Event;
use super::evidence::SendError;
use super::link::Link;
use super::policy::{Ownership, Protocol};
use super::recovery::ConnectError;
use super::time::Instant;
use super::verdict::{Failure, Generation, HandshakeFailure, NotExecuted, RpcError};
use super::{Action, Awaited, Purpose, Receipt, Resolution, Session, What};

/// How long calls wait for a transport that does not return from sending `notifications/initialized`:
/// the server has answered, so that it is a matter of order only, and a call bears its own risk.
const INITIALIZED: Duration = Duration::from_secs(2);

/// How long a server that may be an older one has to answer a probe that it may not know.
const PROBE: Duration = Duration::from_secs(3);

/// How often a server is asked for what it speaks on one connection: once more, if it says so.
const PROBES: u32 = 2;

/// The error of a server that does not speak the revision that it was addressed in.
const UNSUPPORTED_VERSION: i64 = -32022;

/// What a server was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Unknown,
    /// It begins with `initialize`.
    Legacy,
    /// Each request speaks for itself.
    Modern,
}

impl Session {
    /// Whether this client speaks what its caller wants it to.
    pub(super) fn may_speak(&self) -> Result<(), NotExecuted> {
        let Protocol::Unknown(name) = &self.options.protocol else {
            return Ok(());
        };
        let reason = text!("this client does not speak the protocol revision `{}`", name);
        Err(NotExecuted::HandshakeFailed(HandshakeFailure::new(&reason)))
    }

    /// A connection is up: says the first word on it.
    pub(super) fn begin_handshake(&mut self, now: Instant, generation: Generation, until: Instant) {
        if let Some(initialised) = self.options.initialised {
            let revision = initialised.revision;
            self.introduce(generation, revision, Server::unintroduced(revision));
            return self.up(now, generation);
        }
        match self.options.protocol {
            Protocol::Only(revision) if !revision.is_modern() => {
                self.send_initialize(generation, until, revision);
            }
            Protocol::Any if self.era == Era::Legacy || self.probe_ended => {
                self.send_initialize(generation, until, Revision::LATEST_LEGACY);
            }
            _ => self.send_discover(now, generation, until),
        }
    }

    fn handshake_request(&mut self, generation: Generation) -> RequestId {
        let request = self.ids.request();
        self.requests.insert(request, Awaited { generation, purpose: Purpose::Handshake });
        request
    }

    fn send_initialize(&mut self, generation: Generation, until: Instant, offer: Revision) {
        let request = self.handshake_request(generation);
        self.link = Link::Initializing { generation, until };
        if let Some(connection) = self.connections.get_mut(&generation) {
            connection.offered = Some(offer);
        }
        let message = handshake::initialize(request, self.options.dialect(offer, None));
        self.send(Receipt { generation, what: What::Request(request) }, message);
    }

    fn send_discover(&mut self, now: Instant, generation: Generation, whole: Instant) {
        let request = self.handshake_request(generation);
        let until = match self.options.protocol {
            // `initialize` needs its time too, if it comes after this.
            Protocol::Any if !self.was_offered(generation) => now + PROBE.min((whole - now) / 2),
            _ => whole,
        };
        self.link = Link::Probing { generation, request, until, whole };
        if let Some(connection) = self.connections.get_mut(&generation) {
            connection.probes += 1;
        }
        let message = message::discover(request, self.options.dialect(Revision::LATEST, None));
        self.send(Receipt { generation, what: What::Request(request) }, message);
    }

    /// The answer to `server/discover` or `initialize` came.
    pub(super) fn handshake_answered(
        &mut self,
        now: Instant,
        generation: Generation,
        answer: Result<Raw<'_>, Raw<'_>>,
    ) {
        if self.link.generation() != Some(generation) {
            return;
        }
        match (answer.map_err(RpcError::read), &self.link) {
            (Err(None), _) => self.unanswered(now, "is an error that cannot be read", None),
            (Err(Some(error)), Link::Probing { .. }) => self.discover_denied(now, generation, error),
            (Err(Some(error)), Link::Initializing { until, .. }) => {
                self.initialize_denied(now, generation, *until, error);
            }
            (Ok(result), Link::Probing { .. }) => match handshake::read_discovery(result) {
                Some((spoken, server)) if spoken.modern => {
                    self.introduce(generation, Revision::LATEST, server);
                    self.up(now, generation);
                }
                Some((spoken, _)) => {
                    let nothing = "the server speaks no protocol revision that this client does";
                    self.agree(now, &spoken, HandshakeFailure::new(nothing));
                }
                // An older server that answers whatever it is asked.
                None => self.unanswered(now, "says nothing of revisions", None),
            },
            (Ok(result), Link::Initializing { until, .. }) => match handshake::read(result) {
                Ok((revision, server)) => {
                    self.link = Link::Initialized { generation, until: (*until).min(now + INITIALIZED) };
                    self.introduce(generation, revision, server);
                    let message = message::initialized(self.dialect(revision));
                    self.send(Receipt { generation, what: What::Initialized }, message);
                }
                Err(error) => self.handshake_failed(now, HandshakeFailure::new(&error.words())),
            },
            _ => {}
        }
    }

    /// No answer to `server/discover` or `initialize` came, or none that tells anything.
    pub(super) fn unanswered(&mut self, now: Instant, what: &str, failure: Option<Failure>) {
        let (method, in_time) = match self.link {
            Link::Probing { whole, .. } => ("server/discover", now < whole),
            _ => ("initialize", false),
        };
        let reason = text!("the answer to `{}` {}", method, what);
        let failure = HandshakeFailure { failure, ..HandshakeFailure::new(&reason) };
        if in_time { self.fall_back(now, failure) } else { self.handshake_failed(now, failure) }
    }

    /// The server answered the probe with an error: one that only 2026-07-28 has, or any other.
    fn discover_denied(&mut self, now: Instant, generation: Generation, error: RpcError) {
        let failure = HandshakeFailure::denied(error);
        let Some(error) = failure.error.as_ref().filter(|error| is_modern(error.code)) else {
            return self.fall_back(now, failure);
        };
        let spoken = Spoken::in_error(error.data.as_deref());
        let asked = self.connections.get(&generation).map_or(PROBES, |up| up.probes);
        match self.link {
            // It names just what it refuses; asked once more it may take it.
            Link::Probing { whole, .. } if spoken.modern && asked < PROBES => {
                self.send_discover(now, generation, whole);
            }
            _ => self.agree(now, &spoken, failure),
        }
    }

    /// The server is no older one: what it speaks beside 2026-07-28 is spoken, or nothing.
    fn agree(&mut self, now: Instant, spoken: &Spoken, failure: HandshakeFailure) {
        match (&self.link, spoken.legacy, &self.options.protocol) {
            (Link::Probing { generation, whole, .. }, Some(revision), Protocol::Any) => {
                self.send_initialize(*generation, *whole, revision);
            }
            _ => self.handshake_failed(now, failure),
        }
    }

    /// The server does not know the probe, or keeps silent: an older one. It gets `initialize`, on the same
    /// connection, unless its caller wants nothing older.
    pub(super) fn fall_back(&mut self, now: Instant, failure: HandshakeFailure) {
        let Link::Probing { generation, request, whole, .. } = self.link else {
            return;
        };
        self.forget_request(request);
        match self.options.protocol {
            // Once: one that has denied `initialize` already is none of those.
            Protocol::Any if !self.was_offered(generation) => {
                self.send_initialize(generation, whole, Revision::LATEST_LEGACY)
            }
            _ => self.handshake_failed(now, failure),
        }
    }

    /// Whether `initialize` was sent on a connection.
    fn was_offered(&self, generation: Generation) -> bool {
        self.connections.get(&generation).is_some_and(|up| up.offered.is_some())
    }

    /// The `send` of `server/discover` or `initialize` failed.
    pub(super) fn handshake_send_failed(&mut self, now: Instant, generation: Generation, error: SendError) {
        if self.link.generation() != Some(generation) {
            return;
        }
        match (error, &self.link) {
            // Over HTTP, the first message is what connects.
            (SendError::NotSent(failure), _) => self.try_ended(now, ConnectError::Failed(failure)),
            (SendError::Refused(refusal), Link::Probing { .. }) => {
                // Whatever id it bears: a server that does not know a request cannot repeat its id.
                let mut told = None;
                jsonrpc::read(&refusal.body, &mut |message| {
                    if let Ok(Message::Response { body: Err(error), .. }) = message {
                        told = RpcError::read(error).filter(|error| is_modern(error.code));
                    }
                });
                let status = refusal.status;
                let failure = HandshakeFailure::of_send(SendError::Refused(refusal));
                match (told, status) {
                    (Some(error), _) => self.discover_denied(now, generation, error),
                    // These say nothing of what the server knows.
                    (None, 401 | 403 | 407 | 429 | 503) => self.handshake_failed(now, failure),
                    (None, _) => self.fall_back(now, failure),
                }
            }
            (error, Link::Probing { .. }) => {
                self.actions.push(Action::Disconnect { generation, orderly: false });
                self.handshake_lost(now, generation, HandshakeFailure::of_send(error));
            }
            (error, _) => self.handshake_failed(now, HandshakeFailure::of_send(error)),
        }
    }

    /// A connection is gone before its handshake was done. Some older servers end at a word that they do not
    /// know: such a one gets a fresh connection, which begins with `initialize`, and this try does not count.
    pub(super) fn handshake_lost(&mut self, now: Instant, generation: Generation, failure: HandshakeFailure) {
        let link = core::mem::replace(&mut self.link, Link::Down);
        self.forget_connection(generation);
        let (Link::Probing { whole, .. }, Protocol::Any, Era::Unknown, false) =
            (link, &self.options.protocol, self.era, self.probe_ended)
        else {
            self.era = Era::Unknown;
            return self.try_failed(now, ConnectError::Handshake(failure));
        };
        if self.options.ownership == Ownership::Owned && self.is_wanted() {
            self.connect(now);
            if let Link::Connecting { until, .. } = &mut self.link {
                *until = whole;
            }
        } else {
            // Its owner decides on another try.
            self.try_failed(now, ConnectError::Handshake(failure));
        }
        self.probe_ended = true;
    }

    /// The server answered `initialize` with an error. It may have become one of 2026-07-28, or name an older
    /// revision that it speaks.
    fn initialize_denied(&mut self, now: Instant, generation: Generation, until: Instant, error: RpcError) {
        let failure = HandshakeFailure::denied(error);
        if self.options.protocol == Protocol::Any
            && let (Some(connection), Some(error)) = (self.connections.get(&generation), &failure.error)
        {
            let spoken = Spoken::in_error(error.data.as_deref());
            // One of 2026-07-28 that was too slow for the probe: what it was asked first, it is for good.
            let asks = match error.code {
                UNSUPPORTED_VERSION => PROBES,
                -32601 => 1,
                _ => 0,
            };
            if connection.probes < asks {
                self.era = Era::Unknown;
                return self.send_discover(now, generation, until);
            }
            if let Some(revision) = spoken.legacy.filter(|older| Some(*older) < connection.offered) {
                return self.send_initialize(generation, until, revision);
            }
        }
        self.handshake_failed(now, failure);
    }

    fn introduce(&mut self, generation: Generation, revision: Revision, server: Server) {
        if let Some(connection) = self.connections.get_mut(&generation) {
            connection.revision = Some(revision);
            // A server that declares nothing has forgotten to, or somebody else has asked it.
            let mut declared = 0;
            if json::members(&server.capabilities, &mut |_, _| declared += 1).is_ok() {
                let tools = json::member(&server.capabilities, "tools");
                connection.no_tools = declared > 0 && tools.is_none();
                let tells = tools.and_then(|tools| json::member(tools.get(), "listChanged"));
                connection.tells_of_tools = tells.is_some_and(|tells| tells.get() == "true");
            }
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
        self.probe_ended = false;
        self.lists.forget();
        if let Some(revision) = self.revision(generation) {
            self.era = if revision.is_modern() { Era::Modern } else { Era::Legacy };
        }
        for ticket in core::mem::take(&mut self.reconnects) {
            self.resolve(Resolution::Reconnect(ticket, Ok(server.clone())));
        }
        self.events.push(Event::Connected(server));
    }

    pub(super) fn handshake_failed(&mut self, now: Instant, failure: HandshakeFailure) {
        // What the server is may have changed.
        self.era = Era::Unknown;
        self.try_ended(now, ConnectError::Handshake(failure));
    }
}

/// Whether only a server of 2026-07-28 answers with this error.
fn is_modern(code: i64) -> bool {
    (UNSUPPORTED_VERSION..=-32020).contains(&code)
}

impl HandshakeFailure {
    /// One that the server's error caused.
    fn denied(error: RpcError) -> Self {
        let reason = text!("the server refused it: {} ({})", &error.message, error.code);
        Self { error: Some(error), ..Self::new(&reason) }
    }
}
