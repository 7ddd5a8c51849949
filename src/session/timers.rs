//! Who is to be told when.

use crate::prelude::*;

use super::Ticket;
use super::time::Instant;
use super::verdict::CallId;

/// Who is told that its time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Call(CallId),
    Read(Ticket),
    Reconcile(Ticket),
    /// The task that a call became is to be asked for again.
    Poll(CallId),
}

/// All timers, in order of their time.
#[derive(Debug, Default)]
pub(super) struct Timers(Vec<(Instant, Timer)>);

impl Timers {
    pub(super) fn insert(&mut self, at: Instant, timer: Timer) {
        if let Err(place) = self.0.binary_search(&(at, timer)) {
            self.0.insert(place, (at, timer));
        }
    }

    pub(super) fn remove(&mut self, at: Instant, timer: Timer) {
        if let Ok(place) = self.0.binary_search(&(at, timer)) {
            self.0.remove(place);
        }
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes out the next one that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let due = self.next()? <= now;
        due.then(|| self.0.remove(0).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_due_in_order() {
        let (early, late) = (Instant::from_nanos(1), Instant::from_nanos(2));
        let timers = [Timer::Call(CallId(1)), Timer::Call(CallId(2)), Timer::Read(Ticket(1))];
        let mut all = Timers::default();
        for (at, timer) in [(late, timers[0]), (early, timers[1]), (early, timers[2]), (early, timers[2])] {
            all.insert(at, timer);
        }
        all.remove(late, timers[1]);
        assert_eq!((all.next(), all.take_due(Instant::from_nanos(0))), (Some(early), None));
        assert_eq!(
            (all.take_due(early), all.take_due(early), all.take_due(early)),
            (Some(timers[1]), Some(timers[2]), None)
        );
        all.remove(late, timers[0]);
        assert_eq!(all.next(), None);
    }
}
