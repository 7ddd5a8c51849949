//! The shortest schedule that still shows the same: acts are taken out, many at first, one at last, for as
//! long as the promise stays broken.

use std::time::{Duration, Instant};

use super::schedule::{Act, Schedule};

/// How many schedules are tried at most.
const TRIES: usize = 600;

/// For how long at most: a component that never rests takes its time for each.
const PATIENCE: Duration = Duration::from_secs(10);

/// The schedule without whatever it does not need for `breaks`.
pub(super) fn minimise(mut schedule: Schedule, mut breaks: impl FnMut(&Schedule) -> bool) -> Schedule {
    let mut tries = 0;
    let begun = Instant::now();
    let mut still = |schedule: &Schedule| {
        tries += 1;
        tries <= TRIES && begun.elapsed() < PATIENCE && breaks(schedule)
    };
    let mut size = schedule.acts.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let before = schedule.acts.len();
        while at < schedule.acts.len() {
            let mut shorter = schedule.clone();
            shorter.acts.drain(at..(at + size).min(schedule.acts.len()));
            if still(&shorter) {
                schedule = shorter;
            } else {
                at += size;
            }
        }
        // Taking one out may make another needless.
        size = if size > 1 { size / 2 } else { usize::from(schedule.acts.len() < before) };
    }
    simplify(schedule, still)
}

/// The same acts, each as plain as it may be.
fn simplify(mut schedule: Schedule, mut still: impl FnMut(&Schedule) -> bool) -> Schedule {
    for at in 0..schedule.acts.len() {
        let Act::Call(call) = schedule.acts[at] else { continue };
        for plainer in [call.plain(), call.taking(0)] {
            let mut simpler = schedule.clone();
            simpler.acts[at] = Act::Call(plainer);
            if simpler != schedule && still(&simpler) {
                schedule = simpler;
                break;
            }
        }
    }
    schedule
}
