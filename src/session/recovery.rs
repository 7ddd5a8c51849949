//! How a connection is tried again: pauses that grow, and a rest once every try failed.

use core::time::Duration;

use crate::prelude::*;
use crate::text::text;

use super::policy::Recovery;
use super::time::Instant;
use super::verdict::{Failure, FailureKind, HandshakeFailure, NotExecuted};

/// Why a try to connect failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// No connection.
    Failed(Failure),
    /// A connection, but no session.
    Handshake(HandshakeFailure),
}

impl ConnectError {
    /// Whether another try may end differently: a server that answered the handshake, and a policy
    /// that forbids it, stay as they are. A refusal may pass, with fresh credentials for example.
    fn may_pass(&self) -> bool {
        match self {
            Self::Failed(failure) => failure.kind != FailureKind::AccessDenied,
            Self::Handshake(handshake) => handshake.failure.is_some() || handshake.refusal.is_some(),
        }
    }

    /// What it means for a call that waits.
    pub fn into_reason(self) -> NotExecuted {
        match self {
            Self::Failed(failure) => NotExecuted::ConnectFailed(failure),
            Self::Handshake(handshake) => NotExecuted::HandshakeFailed(handshake),
        }
    }

    /// For the failure of a call that waited for it in vain: what it was, outermost first.
    fn words(&self) -> Vec<String> {
        let (reason, failure) = match self {
            Self::Failed(failure) => (failure.kind.words(), Some(failure)),
            Self::Handshake(handshake) => (handshake.reason.as_str(), handshake.failure.as_ref()),
        };
        let mut words = vec![text!("the last try to connect failed: {}", reason)];
        words.extend(failure.into_iter().flat_map(|failure| failure.detail.iter().cloned()));
        words
    }

    /// The same, as told by a session that leaves the server alone.
    fn resting(mut self, rest: Duration) -> Self {
        let millis = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
        let note = text!("the server is left alone for another {} ms", millis);
        match &mut self {
            Self::Failed(failure) => failure.detail.insert(0, note),
            Self::Handshake(handshake) => handshake.reason = text!("{}; {}", &note, &handshake.reason),
        }
        self
    }
}

/// The state of recovery between two connections.
#[derive(Debug)]
pub struct Tries {
    policy: Recovery,
    failed: u32,
    random: u64,
    /// Until when the server is left alone.
    rest: Option<Instant>,
    /// Why the last try failed, until one succeeds.
    last: Option<ConnectError>,
}

/// What to do after a failed try.
#[derive(Debug)]
pub enum Next {
    /// Try again then.
    At(Instant),
    /// Tell those who wait.
    GiveUp(ConnectError),
}

impl Tries {
    /// No try made yet.
    pub fn new(policy: Recovery) -> Self {
        let random = policy.seed;
        Self { policy, failed: 0, random, rest: None, last: None }
    }

    /// A try failed.
    pub fn failed(&mut self, now: Instant, error: ConnectError, once: bool) -> Next {
        self.failed = self.failed.saturating_add(1);
        self.last = Some(error.clone());
        if once || self.failed >= self.policy.attempts || !error.may_pass() {
            self.failed = 0;
            self.rest = Some(now + self.policy.circuit);
            return Next::GiveUp(error);
        }
        Next::At(now + self.pause())
    }

    /// A try succeeded.
    pub fn succeeded(&mut self) {
        self.failed = 0;
        self.rest = None;
        self.last = None;
    }

    /// A new series of tries begins: at the caller's own wish, or since nobody waits for the old one.
    pub fn reset(&mut self) {
        self.succeeded();
    }

    /// Why there is no connection, in words; none if no try has failed.
    pub fn words(&self) -> Vec<String> {
        self.last.as_ref().map(ConnectError::words).unwrap_or_default()
    }

    /// Why the server is left alone now, if it is.
    pub fn resting(&self, now: Instant) -> Option<ConnectError> {
        let (until, error) = (self.rest?, self.last.as_ref()?);
        (until > now).then(|| error.clone().resting(until - now))
    }

    /// Between a half and the whole of a pause that doubles with each failed try, up to the cap.
    fn pause(&mut self) -> Duration {
        let doubled = 1_u32.checked_shl(self.failed.saturating_sub(1)).unwrap_or(u32::MAX);
        let full = self.policy.backoff.saturating_mul(doubled).min(self.policy.backoff_cap);
        let half = full / 2;
        let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_nanos(self.next_random() % spread)
    }

    /// A linear congruential generator: spread, not secrecy, is what it is for.
    fn next_random(&mut self) -> u64 {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        const STEP: u64 = 1_442_695_040_888_963_407;
        self.random = self.random.wrapping_mul(FACTOR).wrapping_add(STEP);
        // Its lower half repeats itself soonest.
        self.random.rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(attempts: u32) -> Recovery {
        Recovery {
            attempts,
            backoff: Duration::from_millis(100),
            backoff_cap: Duration::from_millis(450),
            circuit: Duration::from_secs(5),
            seed: 7,
        }
    }

    fn refused() -> ConnectError {
        ConnectError::Failed(Failure::new(FailureKind::ConnectionRefused, "no"))
    }

    #[test]
    fn pauses_double_up_to_the_cap_less_a_random_part() {
        let mut tries = Tries::new(policy(6));
        for full in [100, 200, 400, 450, 450] {
            let full = Duration::from_millis(full);
            let Next::At(at) = tries.failed(Instant::default(), refused(), false) else { panic!() };
            let pause = at - Instant::default();
            assert!(pause >= full / 2 && pause <= full, "{pause:?} of {full:?}");
        }
        assert!(matches!(tries.failed(Instant::default(), refused(), false), Next::GiveUp(_)));
    }

    #[test]
    fn the_random_part_follows_from_the_seed() {
        let pauses = |seed| {
            let mut tries = Tries::new(Recovery { seed, ..policy(9) });
            (0..5).map(|_| tries.pause()).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
        for seed in [0, 1, u64::MAX] {
            assert!(pauses(seed).windows(2).all(|pair| pair[0] != pair[1]), "{:?}", pauses(seed));
        }
    }

    #[test]
    fn once_every_try_failed_the_server_is_left_alone_for_a_while() {
        let mut tries = Tries::new(policy(1));
        let now = Instant::from_nanos(1);
        assert!(matches!(tries.failed(now, refused(), false), Next::GiveUp(_)));
        let Some(ConnectError::Failed(failure)) = tries.resting(now + Duration::from_secs(2)) else {
            panic!("it rests")
        };
        assert_eq!(failure.kind, FailureKind::ConnectionRefused);
        assert_eq!(failure.detail, ["the server is left alone for another 3000 ms", "no"]);
        assert_eq!(tries.resting(now + Duration::from_secs(5)), None);
        tries.reset();
        assert_eq!(tries.resting(now), None);
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        let mut tries = Tries::new(policy(9));
        for error in [
            ConnectError::Failed(Failure::new(FailureKind::AccessDenied, "no")),
            ConnectError::Handshake(HandshakeFailure::new("no")),
        ] {
            assert!(matches!(tries.failed(Instant::default(), error, false), Next::GiveUp(_)));
        }
        assert!(matches!(tries.failed(Instant::default(), refused(), true), Next::GiveUp(_)));
    }
}
