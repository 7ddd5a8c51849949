//! The calls that ended as unknown: what is known of them, and the answers that came late.

use crate::prelude::*;
use crate::protocol::jsonrpc::RequestId;
use crate::table::Table;

use super::call::Task;
use super::verdict::{CallId, Outcome, UnknownOutcome};

/// A call that ended as unknown.
#[derive(Debug)]
struct Entry {
    unknown: UnknownOutcome,
    /// The requests whose answers would settle it.
    awaited: Vec<RequestId>,
    task: Task,
    late: Option<Outcome>,
}

/// The latest of them, bounded in number; late answers in bytes as well.
#[derive(Debug)]
pub struct Unsettled {
    entries: Table<CallId, Entry>,
    /// The calls whose late answers are kept, oldest first.
    answered: Vec<CallId>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
    /// The most bytes of what a peer sent that one unknown outcome keeps here.
    most_cause: usize,
}

impl Unsettled {
    /// Room for so many calls and so many bytes of answers.
    pub fn new(most: usize, most_bytes: usize, most_cause: usize) -> Self {
        let (entries, answered) = (Table::default(), Vec::new());
        Self { entries, answered, bytes: 0, most, most_bytes, most_cause }
    }

    /// A call ended as unknown; answers to these requests would still settle it. Returns the call that
    /// was forgotten for it, with its requests.
    pub fn add(
        &mut self,
        unknown: &UnknownOutcome,
        awaited: Vec<RequestId>,
        task: Task,
    ) -> Option<Forgotten> {
        let entry = Entry { unknown: unknown.trimmed(self.most_cause), awaited, task, late: None };
        self.entries.insert(unknown.call, entry);
        if self.entries.len() <= self.most {
            return None;
        }
        let oldest = self.entries.first()?;
        self.forget(oldest)
    }

    /// An answer came for a call that had ended as unknown. False if the call is not remembered, has
    /// one already, or there is no room.
    pub fn answer(&mut self, call: CallId, outcome: Outcome) -> bool {
        let size = size(&outcome);
        let Some(entry) = self.entries.get_mut(&call) else {
            return false;
        };
        if entry.late.is_some() || size > self.most_bytes {
            return false;
        }
        entry.late = Some(outcome);
        self.answered.push(call);
        self.bytes += size;
        while self.bytes > self.most_bytes {
            // Its answer has come: no request of it is awaited any more.
            let Some(oldest) = self.answered.first().copied() else {
                break;
            };
            self.forget(oldest);
        }
        true
    }

    /// The late answer to a call.
    pub fn late(&self, call: CallId) -> Option<&Outcome> {
        self.entries.get(&call)?.late.as_ref()
    }

    /// What is known of a call now.
    pub fn outcome(&self, call: CallId) -> Option<Outcome> {
        let Entry { unknown, late, .. } = self.entries.get(&call)?;
        Some(late.clone().unwrap_or_else(|| Outcome::UnknownOutcome(unknown.clone())))
    }

    /// The id under which the result of a call can be asked for.
    pub fn task(&self, call: CallId) -> Option<&str> {
        match &self.entries.get(&call)?.task {
            Task::Known(id) => Some(id),
            Task::No | Task::Asked => None,
        }
    }

    /// Whether a late answer to a call may be the news that it is a task.
    pub fn may_become_task(&self, call: CallId) -> bool {
        self.entries.get(&call).is_some_and(|entry| entry.task == Task::Asked)
    }

    /// What is known of the task that a call may be.
    pub fn set_task(&mut self, call: CallId, task: Task) {
        if let Some(entry) = self.entries.get_mut(&call) {
            entry.task = task;
        }
    }

    /// The attempts that a remembered call had; `None` if it is not remembered.
    pub fn attempts(&self, call: CallId) -> Option<u32> {
        self.entries.get(&call).map(|entry| entry.unknown.attempts)
    }

    /// The calls whose outcome is still unknown, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &UnknownOutcome> {
        self.entries.values().filter(|entry| entry.late.is_none()).map(|entry| &entry.unknown)
    }

    fn forget(&mut self, call: CallId) -> Option<Forgotten> {
        let Entry { awaited, late, .. } = *self.entries.remove(&call)?;
        if let Some(outcome) = late {
            self.bytes -= size(&outcome);
            self.answered.retain(|answered| *answered != call);
        }
        Some(Forgotten { call, awaited })
    }
}

/// A call that is not remembered any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The call.
    pub call: CallId,
    /// The requests that nobody awaits any more.
    pub awaited: Vec<RequestId>,
}

fn size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Ok(result) | Outcome::ToolError(result) => result.json.len(),
        Outcome::UnknownOutcome(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Cause, RpcError, Stage, ToolResult};
    use super::*;

    fn unknown(id: u64) -> UnknownOutcome {
        UnknownOutcome {
            call: CallId(id),
            key: None,
            tool: "pay".into(),
            attempts: 1,
            stage: Stage::HandedOver,
            cause: Cause::TimedOut,
            message: String::new(),
        }
    }

    fn answer(id: u64, bytes: usize) -> Outcome {
        let json = "x".repeat(bytes);
        Outcome::Ok(ToolResult { call: CallId(id), attempts: 1, json, warnings: Vec::new() })
    }

    #[test]
    fn a_late_answer_settles_its_call_once() {
        let mut unsettled = Unsettled::new(4, 100, 10);
        assert_eq!(unsettled.add(&unknown(1), Vec::new(), Task::No), None);
        assert!(!unsettled.answer(CallId(2), answer(2, 1)));
        assert!(unsettled.answer(CallId(1), answer(1, 1)));
        assert!(!unsettled.answer(CallId(1), answer(1, 2)));
        assert_eq!(unsettled.late(CallId(1)), Some(&answer(1, 1)));
        assert_eq!(unsettled.iter().count(), 0);
    }

    #[test]
    fn number_and_bytes_are_bounded_and_the_oldest_go() {
        let mut unsettled = Unsettled::new(2, 100, 10);
        assert_eq!(unsettled.add(&unknown(1), Vec::new(), Task::No), None);
        assert_eq!(unsettled.add(&unknown(2), Vec::new(), Task::No), None);
        let forgotten = unsettled.add(&unknown(3), Vec::new(), Task::No).map(|forgotten| forgotten.call);
        assert_eq!(forgotten, Some(CallId(1)));
        assert!(unsettled.answer(CallId(2), answer(2, 60)));
        assert!(unsettled.answer(CallId(3), answer(3, 60)));
        assert_eq!(unsettled.late(CallId(2)), None);
        assert!(unsettled.late(CallId(3)).is_some());
        assert!(!unsettled.answer(CallId(3), answer(3, 101)));
        assert_eq!(unsettled.bytes, 60);
    }

    #[test]
    fn as_many_bytes_as_may_be_are_kept_and_no_more() {
        let mut unsettled = Unsettled::new(4, 100, 10);
        (1..=4).for_each(|id| _ = unsettled.add(&unknown(id), Vec::new(), Task::No));
        assert!(!unsettled.answer(CallId(1), answer(1, 101)), "it would take all others' room and more");
        assert!(unsettled.answer(CallId(1), answer(1, 100)));
        assert!(unsettled.answer(CallId(2), answer(2, 60)));
        assert_eq!(unsettled.late(CallId(1)), None);
        assert!(unsettled.answer(CallId(3), answer(3, 40)));
        assert!(unsettled.late(CallId(2)).is_some() && unsettled.late(CallId(3)).is_some());
    }

    #[test]
    fn only_a_call_that_asked_for_it_may_become_a_task() {
        let mut unsettled = Unsettled::new(4, 100, 10);
        for (id, task, may) in
            [(1, Task::No, false), (2, Task::Asked, true), (3, Task::Known("t".into()), false)]
        {
            unsettled.add(&unknown(id), Vec::new(), task);
            assert_eq!(unsettled.may_become_task(CallId(id)), may, "{id}");
        }
        assert!(!unsettled.may_become_task(CallId(9)));
    }

    #[test]
    fn what_a_peer_sent_is_not_kept_at_length() {
        let mut unsettled = Unsettled::new(4, 100, 10);
        let error = RpcError { code: 1, message: "m".into(), data: Some("x".repeat(11)) };
        unsettled.add(
            &UnknownOutcome { cause: Cause::AnsweredWithError(error), ..unknown(1) },
            Vec::new(),
            Task::No,
        );
        unsettled.add(
            &UnknownOutcome { cause: Cause::InputRequired("x".repeat(11)), ..unknown(2) },
            Vec::new(),
            Task::No,
        );
        let causes: Vec<_> = unsettled.iter().map(|unknown| unknown.cause.clone()).collect();
        assert!(matches!(&causes[0], Cause::AnsweredWithError(error) if error.data.is_none()));
        assert_eq!(causes[1], Cause::InputRequired(String::new()));
        // Just as much as may be is kept.
        let fits = Cause::InputRequired("x".repeat(10));
        unsettled.add(&UnknownOutcome { cause: fits.clone(), ..unknown(3) }, Vec::new(), Task::No);
        assert_eq!(unsettled.iter().last().map(|unknown| &unknown.cause), Some(&fits));
    }
}
