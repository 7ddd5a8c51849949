//! P3, P4, P9: everything ends, once; and what comes later is kept under its call.

use std::error::Error;
use std::time::Duration;

use super::super::moment::{Fate, Moment, Told};
use super::super::promise::Promise;
use super::Court;
use super::story::{At, CallStory};
use crate::{CallId, Event, Outcome, PendingCall, Stage};

impl Court<'_> {
    pub(super) fn ends(&mut self) {
        let story = self.story;
        let mut last_pending = None;
        for (at, entry) in story.log.iter().enumerate() {
            match &entry.moment {
                Moment::Hung(what) => self.broken(Promise::P9, format!("{what} does not end")),
                Moment::Unread(connection) => {
                    self.broken(
                        Promise::P9,
                        format!("connection {connection} is not received from any more"),
                    );
                }
                Moment::Dead(error) => {
                    self.broken(Promise::P9, format!("{error}: {}", first_cause(error)));
                }
                Moment::Pending(asked, pending) => {
                    last_pending = Some(pending);
                    pending.iter().for_each(|pending| self.pending(*asked, at, pending));
                }
                Moment::Reconciled(number, known) => self.reconciled(at, *number, known.as_ref()),
                Moment::Event(event) => self.event(at, event),
                _ => {}
            }
        }
        self.hold(last_pending.is_none_or(Vec::is_empty), Promise::P4, || {
            "calls are pending after everything ended".to_owned()
        });
        self.unsettled();
    }

    /// A call that is listed as pending has no verdict, and is not said to wait if it may have run.
    /// It was told between `asked` and `at`.
    fn pending(&mut self, asked: At, at: At, pending: &PendingCall) {
        let story = self.story;
        let of_key = |call: &&CallStory<'_>| Some(call.call.key()) == pending.key;
        let Some(call) = story.calls.values().find(of_key) else {
            return self.broken(Promise::P4, format!("a call is pending that nobody made: {pending:?}"));
        };
        let ended = call.verdict.is_some_and(|(verdict, _)| verdict < asked);
        self.hold(!ended, Promise::P4, || format!("call {} is pending after its verdict", call.call.number));
        let attempts: Vec<_> = story.attempts(call).filter(|attempt| attempt.handed < asked).collect();
        let most = story.attempts(call).filter(|attempt| attempt.handed < at).count();
        let right = (attempts.len()..=most).contains(&(pending.attempts as usize));
        self.hold(right, Promise::P10, || {
            format!("call {} was handed over {most} times: {pending:?}", call.call.number)
        });
        let refuted = attempts.iter().all(|attempt| {
            attempt.proof().is_some_and(|(proven, grade)| proven < at && story.accepts(grade))
        });
        self.hold(refuted || pending.stage != Stage::Waiting, Promise::P3, || {
            format!("call {} may have run, and is said to wait", call.call.number)
        });
    }

    /// What is known later is true, and nothing that came late is lost.
    fn reconciled(&mut self, at: At, number: u32, known: Option<&Outcome>) {
        let story = self.story;
        let Some(call) = story.calls.get(&number) else { return };
        match known {
            Some(Outcome::Ok(result)) => self.known(call, at, result, false),
            Some(Outcome::ToolError(result)) => self.known(call, at, result, true),
            Some(Outcome::UnknownOutcome(_)) | None => {
                // A call that ended well has nothing to be reconciled.
                let unknown = matches!(call.verdict, Some((_, Ok(Outcome::UnknownOutcome(_)))));
                let lost = unknown && !self.has_two_answers(call) && self.told_late(call, at);
                self.hold(!lost, Promise::P4, || format!("the late answer to call {number} is lost"));
                self.task_is_asked_for(call, at);
            }
        }
    }

    /// Whoever waited long enough for a task, and nothing went wrong meanwhile, has its result.
    fn task_is_asked_for(&mut self, call: &CallStory<'_>, at: At) {
        let (story, number) = (self.story, call.call.number);
        let begun = story.log[..at]
            .iter()
            .rposition(|entry| matches!(&entry.moment, Moment::Reconciling(other) if *other == number));
        let Some(begun) = begun else { return };
        let is_task = story
            .attempts(call)
            .any(|attempt| attempt.fates.iter().any(|(told, fate)| *told < begun && **fate == Fate::Working));
        let long = story.time(at) >= story.time(begun) + Duration::from_secs(5);
        let wrong = story.log[..at].iter().any(|entry| matches!(entry.moment, Moment::Fault(_)));
        let lost = story.log[begun..at]
            .iter()
            .any(|entry| matches!(entry.moment, Moment::Told(_, _, Told::Lost(_) | Told::End)));
        let closed = story.closing.is_some_and(|closing| closing < at);
        let asked = wrong || lost || closed || !story.policy.owned || !is_task || !long;
        self.hold(asked, Promise::P4, || format!("the task of call {number} was not asked for"));
    }

    /// Whether an answer came to this call before `at`, and to none of its attempts anything else.
    fn told_late(&self, call: &CallStory<'_>, at: At) -> bool {
        // What came at the very moment at which the wait ended may have come after it.
        let in_time = |told: At| self.story.time(told) < self.story.time(at);
        let answers = |fates: &[(At, &Fate)]| {
            // What came as its connection was let go did not come any more.
            let let_go = |told: At| {
                self.story.log[told..]
                    .iter()
                    .take_while(|entry| entry.at == self.story.time(told))
                    .any(|entry| matches!(entry.moment, Moment::Dropped(_) | Moment::Ended(_)))
            };
            let known = fates
                .iter()
                .any(|(told, fate)| in_time(*told) && matches!(fate, Fate::Result { .. }) && !let_go(*told));
            known && !fates.iter().any(|(_, fate)| !matches!(fate, Fate::Result { .. } | Fate::Unreadable(_)))
        };
        self.story.sources(call).any(|source| answers(&source.fates))
    }

    /// Whether the transport delivered an attempt twice, by its own fault: two answers need not agree.
    fn has_two_answers(&self, call: &CallStory<'_>) -> bool {
        self.story.attempts(call).any(|attempt| attempt.executed.len() > 1)
    }

    /// Every unknown outcome that nothing settled is kept, and no other.
    fn unsettled(&mut self) {
        let story = self.story;
        let listed = story.log.iter().enumerate().find_map(|(at, entry)| match &entry.moment {
            Moment::Unsettled(listed) => Some((at, listed)),
            _ => None,
        });
        let Some((at, listed)) = listed else { return };
        let mut expected = 0;
        for call in story.calls.values() {
            let Some((_, Ok(Outcome::UnknownOutcome(unknown)))) = call.verdict else { continue };
            expected += 1;
            if self.has_two_answers(call) {
                continue;
            }
            let settled = story.log[..at].iter().any(|entry| {
                matches!(&entry.moment, Moment::Reconciled(number, Some(Outcome::Ok(_) | Outcome::ToolError(_)))
                    if *number == call.call.number)
            }) || self.told_late(call, at);
            let kept = listed.iter().any(|kept| kept.call == unknown.call);
            if expected <= 32 {
                self.hold(kept != settled, Promise::P4, || {
                    format!(
                        "call {} is unknown, and {} to be",
                        call.call.number,
                        if kept { "still said" } else { "not said" }
                    )
                });
            }
        }
    }

    /// An event about a call is true.
    fn event(&mut self, at: At, event: &Event) {
        match event {
            Event::LateAnswer(id) => {
                let late = self.unknown_call(*id).is_some_and(|call| {
                    let result =
                        |(told, fate): &(At, &Fate)| *told < at && matches!(fate, Fate::Result { .. });
                    self.story.sources(call).any(|source| source.fates.iter().any(result))
                });
                self.hold(late, Promise::P4, || format!("no late answer came to the call of id {id}"));
            }
            Event::Unclaimed(id) => {
                self.broken(
                    Promise::P4,
                    format!("the call of id {id} has a caller, and is called unclaimed"),
                );
            }
            _ => {}
        }
    }

    fn unknown_call(&self, id: CallId) -> Option<&CallStory<'_>> {
        self.story.calls.values().find(|call| match call.verdict {
            Some((_, Ok(Outcome::UnknownOutcome(unknown)))) => unknown.call == id,
            _ => false,
        })
    }
}

/// Where a chain of causes begins.
fn first_cause<'a>(mut error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(source) = error.source() {
        error = source;
    }
    error
}
