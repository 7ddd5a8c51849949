//! The oracle: it knows what really happened, and holds against it what the component did and said.

use super::moment::Entry;
use super::promise::{Breach, Promise};
use super::schedule::Schedule;

mod attempts;
mod ends;
mod reasons;
mod story;
mod verdicts;
mod wire;

use story::Story;

pub(super) use story::signature;

/// Every promise that this run shows to be broken.
pub(super) fn judge(schedule: &Schedule, log: &[Entry]) -> Vec<Breach> {
    let story = Story::of(schedule, log);
    let mut court = Court { story: &story, breaches: Vec::new() };
    court.ends();
    court.wire();
    for call in story.calls.values() {
        court.attempts(call);
        court.verdict(call);
    }
    court.breaches
}

/// Where breaches are found.
struct Court<'a> {
    story: &'a Story<'a>,
    breaches: Vec<Breach>,
}

impl Court<'_> {
    /// It must hold that `right`.
    fn hold(&mut self, right: bool, promise: Promise, why: impl FnOnce() -> String) {
        if !right {
            self.breaches.push(Breach { promise, why: why() });
        }
    }

    fn broken(&mut self, promise: Promise, why: impl Into<String>) {
        self.breaches.push(Breach { promise, why: why.into() });
    }
}
