//! P2, P3, P6, P9: verdicts, held against what really happened.

use std::time::Duration;

use super::super::moment::{Fate, Verdict};
use super::super::promise::Promise;
use super::Court;
use super::story::{At, CallStory, Decisive};
use crate::transport::Delivery;
use crate::{Outcome, Stage, ToolResult, UnknownOutcome};

/// What a timer may be late.
const SLACK: Duration = Duration::from_millis(20);

impl Court<'_> {
    pub(super) fn verdict(&mut self, call: &CallStory<'_>) {
        let number = call.call.number;
        let Some((at, verdict)) = call.verdict else {
            return self.broken(Promise::P9, format!("call {number} has no verdict"));
        };
        let late = self.story.time(at) > call.deadline + SLACK;
        self.hold(!late, Promise::P9, || format!("call {number} ended after its deadline"));
        self.at_once(call, at);
        self.begins(call);
        self.awaits_send(call, at);
        self.answered(call, at, verdict);
        match verdict {
            Ok(Outcome::Ok(result)) => self.result(call, at, result, false),
            Ok(Outcome::ToolError(result)) => self.result(call, at, result, true),
            Ok(Outcome::UnknownOutcome(unknown)) => self.unknown(call, at, unknown),
            Err(reason) => {
                self.not_executed(call, at);
                self.reason(call, at, reason);
            }
        }
    }

    /// `ok` and `tool-error` only from the call's own answer.
    fn result(&mut self, call: &CallStory<'_>, at: At, result: &ToolResult, is_error: bool) {
        let number = call.call.number;
        self.known(call, at, result, is_error);
        let count = self.attempts_before(call, at);
        self.hold(result.attempts as usize == count, Promise::P10, || {
            format!("call {number} was handed over {count} times, and says {}", result.attempts)
        });
    }

    /// A result is one that was told of this very call.
    pub(super) fn known(&mut self, call: &CallStory<'_>, at: At, result: &ToolResult, is_error: bool) {
        let number = call.call.number;
        let is_it = |(told, fate): &(At, &Fate)| {
            *told < at
                && matches!(fate, Fate::Result { json, is_error: own } if *json == result.json && *own == is_error)
        };
        if self.story.sources(call).any(|source| source.fates.iter().any(is_it)) {
            return;
        }
        let others = self.story.messages.iter().any(|message| message.fates.iter().any(is_it));
        let (promise, why) = if others {
            (Promise::P6, "has the answer of another request")
        } else {
            (Promise::P2, "says what no answer said")
        };
        self.broken(promise, format!("call {number} {why}: {}", result.json));
    }

    /// What was told decides at once; no wait, and no other way.
    fn at_once(&mut self, call: &CallStory<'_>, at: At) {
        let story = self.story;
        let number = call.call.number;
        let Some(source) = story.last_source(call, at) else { return };
        let Some((told, decisive)) = source.decisive() else { return };
        if told > at || story.time(at) <= story.time(told) + SLACK {
            return;
        }
        let more = match decisive {
            Decisive::Answer(Fate::Result { .. }) => false,
            // As long as its connection lives.
            Decisive::Answer(Fate::Working) => {
                source.lost.is_none_or(|(lost, _)| story.time(at) <= story.time(lost) + SLACK)
            }
            // What befalls a question is the end: the call itself is never sent again for it.
            _ if source.is_question() => false,
            Decisive::Proof(grade) => story.resends(grade) || story.grants(call) > 0,
            Decisive::Answer(Fate::InputRequired(_)) => story.modern || story.grants(call) > 0,
            _ => story.grants(call) > 0,
        };
        self.hold(more, Promise::P9, || format!("call {number} waited on, though its end had been told"));
    }

    /// A call is handed over at once on a connection that takes messages: it waits for no other call.
    fn begins(&mut self, call: &CallStory<'_>) {
        let story = self.story;
        let Some(first) = story.attempts(call).next() else { return };
        let in_use =
            story.calls.values().flat_map(|other| story.attempts(other)).any(|other| {
                other.handed < call.begun && other.message.connection == first.message.connection
            });
        let waited = story.time(first.handed) > story.time(call.begun) + SLACK;
        self.hold(!in_use || !waited, Promise::P6, || {
            format!("call {} waited, though its connection was in use", call.call.number)
        });
    }

    /// What `send` says is waited for, as long as nothing else tells what became of the call.
    fn awaits_send(&mut self, call: &CallStory<'_>, at: At) {
        let story = self.story;
        for attempt in story.attempts(call) {
            let Some(given_up) = attempt.given_up else { continue };
            let ended = story.time(at) <= story.time(given_up);
            let decided = attempt.decisive().is_some_and(|(decided, _)| decided < given_up);
            self.hold(ended || decided, Promise::P10, || {
                format!("what the `send` of call {} would have said was not waited for", call.call.number)
            });
        }
    }

    /// An answer that came in time is the verdict.
    fn answered(&mut self, call: &CallStory<'_>, at: At, verdict: &Verdict) {
        let number = call.call.number;
        let Some((told, Decisive::Answer(Fate::Result { .. }))) =
            self.story.last_source(call, at).and_then(|source| source.decisive())
        else {
            return;
        };
        let known = matches!(verdict, Ok(Outcome::Ok(_) | Outcome::ToolError(_)));
        if told < at && !self.story.disturbed(call, told) {
            self.hold(known, Promise::P2, || {
                format!("call {number} was answered, and its verdict is another")
            });
        }
    }

    fn unknown(&mut self, call: &CallStory<'_>, at: At, unknown: &UnknownOutcome) {
        let story = self.story;
        let number = call.call.number;
        let count = self.attempts_before(call, at);
        self.hold(count > 0, Promise::P2, || {
            format!("call {number} was never handed over, and is called unknown")
        });
        self.hold(unknown.attempts as usize == count, Promise::P10, || {
            format!("call {number} was handed over {count} times, and says {}", unknown.attempts)
        });
        let named = unknown.tool == call.call.tool
            && unknown.key.as_deref() == Some(&call.call.key())
            && unknown.message.contains(call.call.tool);
        self.hold(named, Promise::P10, || format!("call {number} does not say which it is: {unknown:?}"));
        self.stage(call, at, unknown.stage);
        let refuted = count > 0
            && story.attempts(call).all(|attempt| {
                attempt.proof().is_some_and(|(proven, grade)| {
                    proven < at && story.accepts(grade) && !story.disturbed(call, proven)
                })
            });
        self.hold(!refuted, Promise::P2, || {
            format!("call {number} is proven not to have run, and is called unknown")
        });
        self.cause(call, at, &unknown.cause);
    }

    /// The stage is as far as the call is known to have come.
    fn stage(&mut self, call: &CallStory<'_>, at: At, stage: Stage) {
        let story = self.story;
        let number = call.call.number;
        let reached = |until: At| {
            let of_attempt = |attempt: &super::story::MessageStory<'_>| {
                // A question after a task tells that the call is one.
                let asked = attempt.is_question() && attempt.handed <= until;
                let mut reached = if asked { Stage::Answering as u8 } else { Stage::HandingOver as u8 };
                match attempt.returned {
                    Some((returned, Ok(Delivery::HandedOver), _)) if returned <= until => {
                        reached = reached.max(Stage::HandedOver as u8);
                    }
                    Some((returned, Ok(Delivery::Accepted), _)) if returned <= until => {
                        reached = reached.max(Stage::Accepted as u8);
                    }
                    _ => {}
                }
                if attempt.sign.is_some_and(|sign| sign <= until) {
                    reached = reached.max(Stage::Answering as u8);
                }
                let answered = |(told, fate): &(At, &Fate)| {
                    *told <= until && !matches!(fate, Fate::AnswerLost(_) | Fate::Working)
                };
                if attempt.fates.iter().any(answered) {
                    reached = reached.max(Stage::Answered as u8);
                }
                reached
            };
            story.sources(call).map(of_attempt).max().unwrap_or(Stage::Waiting as u8)
        };
        let most = reached(at);
        self.hold(stage as u8 <= most, Promise::P2, || {
            format!("call {number} did not come as far as {stage:?}")
        });
        let decided = story.last_attempt(call).and_then(|attempt| attempt.decisive());
        if let Some((told, _)) = decided
            && told < at
            && !story.disturbed(call, told)
        {
            let least = reached(told).min(most);
            // That a question was answered badly is no answer to the call.
            let least = if call.questions.is_empty() { least } else { least.min(Stage::Answering as u8) };
            self.hold(stage as u8 >= least, Promise::P3, || {
                format!("call {number} came further than {stage:?}")
            });
        }
    }

    /// `not-executed` only with no effect ever after, and by proof of the grade asked for.
    fn not_executed(&mut self, call: &CallStory<'_>, at: At) {
        let story = self.story;
        let number = call.call.number;
        for attempt in story.attempts(call) {
            self.hold(attempt.executed.is_empty(), Promise::P2, || {
                format!("call {number} is called not executed, and was executed")
            });
            let proof = attempt.proof().filter(|(proven, _)| *proven < at);
            let accepted = proof.is_some_and(|(_, grade)| story.accepts(grade));
            // Nobody even said that it had been refused: it went back by itself.
            let promise = if attempt.refused_before(at) { Promise::P2 } else { Promise::P3 };
            self.hold(accepted, promise, || format!("call {number} is called not executed without proof"));
        }
    }

    fn attempts_before(&self, call: &CallStory<'_>, at: At) -> usize {
        self.story.attempts(call).filter(|attempt| attempt.handed < at).count()
    }
}
