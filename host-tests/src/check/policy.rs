//! The caller's policies under which scenarios run.

use std::fmt;
use std::time::Duration;

use super::schedule::Setting;
use crate::{Grant, Initialised, Options, Ownership, Resend};

/// The largest message that a session takes here, in bytes.
pub(super) const MESSAGE: u64 = 1 << 16;

/// The most raw bytes kept in a cause.
pub(super) const CAUSE: u32 = 256;

/// How long connecting and the handshake may take, in milliseconds.
pub(super) const CONNECT: u32 = 8_000;

/// The most calls in flight.
pub(super) const IN_FLIGHT: u32 = 64;

/// The first request id of a session that somebody else initialised.
const FIRST_REQUEST: u64 = 500;

/// The most time that a call has, however often it is extended.
pub(super) const CAP: Duration = Duration::from_secs(50);

/// A set of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether the session connects by itself.
    pub owned: bool,
    /// When the same call may be handed over once more.
    pub resend: Resend,
    /// Whether evidence of grade B counts as proof.
    pub accept_refusals: bool,
    /// How many further attempts a call of `pay` may have.
    pub grants: u32,
    /// Whether progress gives a call as much time again.
    pub progress_extends: bool,
    /// Whether sessions are initialised by somebody else.
    pub initialised: bool,
}

impl Policy {
    /// The strict defaults.
    pub const STRICT: Policy = Policy {
        owned: true,
        resend: Resend::Proven,
        accept_refusals: true,
        grants: 0,
        progress_extends: false,
        initialised: false,
    };

    /// Every set of policies under which every scenario runs.
    pub fn all() -> Vec<Policy> {
        let mut all = Vec::new();
        for resend in [Resend::Proven, Resend::Never, Resend::Refused] {
            for accept_refusals in [true, false] {
                all.push(Policy { resend, accept_refusals, ..Policy::STRICT });
            }
        }
        all.extend([
            Policy { grants: 1, ..Policy::STRICT },
            Policy { grants: 1, resend: Resend::Never, accept_refusals: false, ..Policy::STRICT },
            Policy { owned: false, ..Policy::STRICT },
            Policy { owned: false, resend: Resend::Refused, ..Policy::STRICT },
            Policy { owned: false, initialised: true, ..Policy::STRICT },
            Policy { progress_extends: true, ..Policy::STRICT },
        ]);
        all
    }

    /// Sets the session's options accordingly.
    pub(super) fn apply(&self, Setting { revision, probed, .. }: Setting, options: &mut Options) {
        options.protocol = (!probed).then(|| revision.to_owned());
        options.ownership = if self.owned { Ownership::Owned } else { Ownership::CallerManaged };
        options.resend = self.resend;
        options.accept_refusals = self.accept_refusals;
        options.grants = match self.grants {
            0 => Vec::new(),
            // There are no wildcards: no tool here is called `*`.
            attempts => ["pay", "*"].map(|tool| Grant { tool: tool.to_owned(), attempts }).into(),
        };
        options.initialised = self
            .initialised
            .then(|| Initialised { protocol_version: revision.to_owned(), first_request: FIRST_REQUEST });
        options.recovery.seed = Some(7);
        options.timing.connect_ms = CONNECT;
        options.timing.progress_extends = self.progress_extends;
        options.timing.cap_ms = CAP.as_millis() as u32;
        options.limits.message_bytes = MESSAGE;
        options.limits.cause_bytes = CAUSE;
        options.limits.in_flight = IN_FLIGHT;
        options.limits.events = 64;
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.owned { "owned" } else { "caller-managed" })?;
        f.write_str(match self.resend {
            Resend::Never => ", resend never",
            Resend::Proven => ", resend proven",
            Resend::Refused => ", resend refused",
        })?;
        if !self.accept_refusals {
            f.write_str(", refusals not accepted")?;
        }
        if self.grants > 0 {
            write!(f, ", {} granted", self.grants)?;
        }
        if self.progress_extends {
            f.write_str(", progress extends")?;
        }
        if self.initialised { f.write_str(", initialised") } else { Ok(()) }
    }
}
