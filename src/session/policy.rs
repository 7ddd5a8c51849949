//! The caller's policies (contract, section 4), strict by default.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::Implementation;
use crate::protocol::message::Dialect;
use crate::protocol::query::LogLevel;
use crate::protocol::revision::Revision;

use super::evidence::{Grade, Proof};

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The session connects, and reconnects on the next independent call.
    Owned,
    /// The session connects only when its owner says `reconnect`.
    CallerManaged,
}

/// When the same call may be handed over once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Never.
    Never,
    /// After evidence of grade A.
    Proven,
    /// Also after evidence of grade B.
    Refused,
}

/// Which revision to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The newest that the server speaks too.
    Any,
    /// This one.
    Only(Revision),
    /// One of this name, which this client does not know.
    Unknown(String),
}

/// A session that somebody else initialises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialised {
    /// The revision agreed on.
    pub revision: Revision,
    /// A request id above each one used before.
    pub first_request: u64,
}

/// The caller's word that calls of one tool may be repeated although their outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The tool's exact name.
    pub tool: String,
    /// How many further attempts one call may have.
    pub attempts: u32,
}

/// How a connection is recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// How often to try to connect, and how often to try a read. At least one.
    pub attempts: u32,
    /// The first pause between two tries.
    pub backoff: Duration,
    /// The longest pause.
    pub backoff_cap: Duration,
    /// How long a server is left alone once every try failed.
    pub circuit: Duration,
    /// Seed of the pauses' random part.
    pub seed: u64,
}

/// How long things may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A call that names no deadline, and a page of a read.
    pub call: Duration,
    /// Connecting and the handshake together.
    pub connect: Duration,
    /// Whether progress starts a call's time anew.
    pub progress_extends: bool,
    /// The longest a call may take.
    pub cap: Duration,
}

/// How much is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest message, in bytes.
    pub message_bytes: usize,
    /// Calls and reads without a verdict.
    pub in_flight: usize,
    /// Events, unknown outcomes and late answers.
    pub events: usize,
    /// Raw bytes in a cause.
    pub cause_bytes: usize,
}

/// A session's policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Who connects.
    pub ownership: Ownership,
    /// Set if somebody else initialises each connection.
    pub initialised: Option<Initialised>,
    /// Which revision to speak.
    pub protocol: Protocol,
    /// When the same call may be handed over once more.
    pub resend: Resend,
    /// Whether evidence of grade B counts as `not-executed`.
    pub accept_refusals: bool,
    /// Which tools may be called again although the outcome is unknown.
    pub grants: Vec<Grant>,
    /// Whether what the server says that it has is relied on.
    pub rely_on_lists: bool,
    /// How a connection is recovered.
    pub recovery: Recovery,
    /// How long things may take.
    pub timing: Timing,
    /// How much is kept.
    pub limits: Limits,
    /// What the client says it is.
    pub client: Implementation,
    /// What the host answers that servers ask.
    pub capabilities: Capabilities,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ownership: Ownership::Owned,
            initialised: None,
            protocol: Protocol::Any,
            resend: Resend::Proven,
            accept_refusals: true,
            grants: Vec::new(),
            rely_on_lists: true,
            recovery: Recovery {
                attempts: 3,
                backoff: Duration::from_millis(100),
                backoff_cap: Duration::from_secs(5),
                circuit: Duration::from_secs(5),
                seed: 0,
            },
            timing: Timing {
                call: Duration::from_secs(60),
                connect: Duration::from_secs(30),
                progress_extends: false,
                cap: Duration::from_secs(600),
            },
            limits: Limits { message_bytes: 16 << 20, in_flight: 1024, events: 256, cause_bytes: 4 << 10 },
            client: Implementation {
                name: "noreplay".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            capabilities: Capabilities::NONE,
        }
    }
}

/// Leave to hand the same call over once more. Only this module makes one, and it is spent when used:
/// a call that was handed over comes back for no other reason.
#[derive(Debug)]
pub struct Permit(());

/// What a call has used up of its caller's policies.
#[derive(Debug, Default)]
pub struct Spent {
    resends: u32,
    replays: u32,
    continuations: u32,
}

/// How often one call is continued because the server asks for it.
const CONTINUATIONS: u32 = 8;

impl Spent {
    /// Whether the call may be continued once more.
    pub fn continues(&mut self) -> bool {
        self.continuations += 1;
        self.continuations <= CONTINUATIONS
    }
}

impl Options {
    /// How messages are put in a revision.
    pub(super) fn dialect(&self, revision: Revision, log_level: Option<LogLevel>) -> Dialect<'_> {
        let capabilities = &self.capabilities;
        Dialect { revision, client: &self.client, capabilities, log_level, tasks: false }
    }

    /// Whether the earlier attempt, refuted by this proof, may be followed by one more.
    pub fn permit_resend(&self, proof: &Proof, spent: &mut Spent) -> Option<Permit> {
        let allowed = match self.resend {
            Resend::Never => false,
            Resend::Proven => proof.grade() == Grade::A,
            Resend::Refused => true,
        };
        if !allowed || spent.resends > 0 {
            return None;
        }
        spent.resends += 1;
        Some(Permit(()))
    }

    /// Whether the caller granted one more attempt although the earlier one may have run.
    pub fn permit_replay(&self, tool: &str, spent: &mut Spent) -> Option<Permit> {
        if spent.replays >= self.granted(tool) {
            return None;
        }
        spent.replays += 1;
        Some(Permit(()))
    }

    /// The further attempts granted to a tool.
    pub fn granted(&self, tool: &str) -> u32 {
        self.grants.iter().find(|grant| grant.tool == tool).map_or(0, |grant| grant.attempts)
    }

    /// Whether this proof counts as `not-executed`.
    pub fn accepts(&self, proof: &Proof) -> bool {
        self.accept_refusals || proof.grade() == Grade::A
    }
}
