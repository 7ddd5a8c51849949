//! Holds what the transport said against what the peer saw.

use super::case::Case;
use super::duty::{Breach, Duty};
use super::log::Record;

mod arrived;
mod ended;
mod lost;
mod sent;

/// What is known of the peers of this kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// The most bytes that can have left without a peer having read them.
    pub(super) room: u64,
    /// Whether each request has a channel of its own, between which there is no order.
    pub(super) own_channels: bool,
}

/// The duties that a run shows to be broken, each once.
pub(super) fn judge(case: &Case, record: &Record, kind: Kind) -> Vec<Breach> {
    let mut breaches = Breaches::default();
    // What explains others comes first.
    ended::end(record, &mut breaches);
    sent::judge(record, kind, &mut breaches);
    arrived::judge(case, record, kind, &mut breaches);
    lost::judge(case, record, &mut breaches);
    ended::rest(record, &mut breaches);
    breaches.0
}

/// Gathers breaches.
#[derive(Default)]
struct Breaches(Vec<Breach>);

impl Breaches {
    /// The first of each duty is told.
    fn add(&mut self, duty: Duty, why: impl Into<String>) {
        if !self.has(duty) {
            self.0.push(Breach { duty, why: why.into() });
        }
    }

    fn has(&self, duty: Duty) -> bool {
        self.0.iter().any(|breach| breach.duty == duty)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The beginning of a message, for a person.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
    let harmless: String = head
        .chars()
        .map(|char| match char {
            ' '..='~' => char.to_string(),
            odd => odd.escape_unicode().to_string(),
        })
        .collect();
    format!("`{harmless}` ({} bytes)", bytes.len())
}
