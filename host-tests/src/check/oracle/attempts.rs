//! P1: what allows one more attempt of the same call, and nothing else does.

use super::super::promise::Promise;
use super::Court;
use super::story::{At, CallStory};

/// How often a call may be continued because its server asks for that.
const CONTINUATIONS: u32 = 8;

impl Court<'_> {
    pub(super) fn attempts(&mut self, call: &CallStory<'_>) {
        let story = self.story;
        let number = call.call.number;
        let (mut resends, mut grants, mut continuations) = (1, story.grants(call), CONTINUATIONS);
        for (one, next) in story.attempts(call).zip(story.attempts(call).skip(1)) {
            let proof = one.proof().filter(|(at, _)| *at < next.handed);
            let state = &next.message.state;
            let asked = one.suspended().filter(|(at, state)| {
                *at < next.handed && story.modern && next.message.state.as_ref() == Some(state)
            });
            let same = *state == one.message.state;
            if continuations > 0 && asked.is_some() {
                // The server asked for just that, by its answer to the one before, and gets it once.
                continuations -= 1;
            } else if resends > 0 && same && proof.is_some_and(|(_, grade)| story.resends(grade)) {
                resends -= 1;
            } else if grants > 0 && state.is_none() && same && one.fell_before(next.handed) {
                grants -= 1;
            } else {
                self.broken(
                    Promise::P1,
                    format!("call {number} was handed over again, though nothing proves that it had not run"),
                );
                let between = |at: &At| one.handed < *at && *at < next.handed;
                let told = one.decisive().is_some_and(|(told, _)| told < next.handed);
                self.hold(told || !story.reconnecting.iter().any(between), Promise::P5, || {
                    format!("a reconnect sent call {number} again")
                });
            }
            let (at, time) = (next.handed, story.time(next.handed));
            let before = |other: Option<usize>| other.is_some_and(|other| story.time(other) < time);
            self.hold(!before(call.cancelled), Promise::P1, || {
                format!("call {number} was handed over again after it was cancelled")
            });
            self.hold(time <= call.deadline, Promise::P1, || {
                format!("call {number} was handed over again after its deadline")
            });
            self.hold(call.verdict.is_none_or(|(verdict, _)| verdict > at), Promise::P1, || {
                format!("call {number} was handed over again after its verdict")
            });
        }
    }
}
