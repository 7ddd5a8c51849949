//! Answers to calls: what they tell, in time or late.

use crate::prelude::*;
use crate::protocol::json::Raw;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::revision::Revision;
use crate::protocol::{task, tool_result};

use super::call::{Asked, HandedOver, State, Task};
use super::event::Event;
use super::inbound::Arrival;
use super::time::Instant;
use super::verdict::{Attempt, CallId, Cause, Outcome, RpcError, Stage, ToolResult, Undecodable};
use super::{Purpose, Session};

impl Session {
    pub(super) fn answer_to_call(
        &mut self,
        arrival: &Arrival<'_>,
        call: CallId,
        request: RequestId,
        body: Result<Raw<'_>, Raw<'_>>,
    ) {
        if self.is_poll(call, request) {
            return self.task_told(arrival, call, request, body);
        }
        let revision = self.revision(arrival.generation);
        let may_be_task = self.may_become_task(call, request, revision);
        let cause = match body {
            Ok(result) => match read_answer(result, may_be_task, revision) {
                Answer::Known(known) => {
                    return self.call_answered(call, |attempts| known.outcome(call, attempts));
                }
                Answer::Task(id) => {
                    let pause = task::pause(result);
                    return self.call_became_task(arrival.now, call, request, id, pause);
                }
                Answer::InputRequired(input, asked) => {
                    self.requests.remove(&request);
                    return self.call_suspended(arrival.now, call, request, input, asked);
                }
                Answer::Unknown => self.odd_answer(arrival, "a `resultType` that is unknown"),
            },
            Err(error) => self.error_cause(arrival, error),
        };
        // An attempt is answered once: nothing comes for it any more, also not late.
        self.requests.remove(&request);
        self.answer_leaves_unknown(arrival.now, call, request, cause);
    }

    /// Why an outcome is unknown whose answer is this error.
    pub(super) fn error_cause(&self, arrival: &Arrival<'_>, error: Raw<'_>) -> Cause {
        match RpcError::read(error) {
            Some(error) => Cause::AnsweredWithError(error),
            None => self.odd_answer(arrival, "an error that cannot be read"),
        }
    }

    /// Why an outcome is unknown whose answer cannot be read, for this reason.
    pub(super) fn odd_answer(&self, arrival: &Arrival<'_>, reason: &str) -> Cause {
        Cause::Undecodable(self.undecodable(reason.to_owned(), arrival.bytes))
    }

    /// An attempt was answered, but the answer does not tell what became of the call.
    pub(super) fn answer_leaves_unknown(
        &mut self,
        now: Instant,
        call: CallId,
        request: RequestId,
        cause: Cause,
    ) {
        match self.attempt_out(call) {
            Some(handed_over) if handed_over.attempt.request == request => {
                handed_over.reached(Stage::Answered);
                handed_over.task_ended();
                self.attempt_unknown(now, call, cause);
            }
            // The call goes on: what it does now is another attempt.
            _ => self.events.diagnose("an answer that leaves an earlier attempt in doubt as it was"),
        }
    }

    /// The attempt of a call that is out.
    pub(super) fn attempt_out(&mut self, call: CallId) -> Option<&mut HandedOver> {
        match &mut self.calls.get_mut(&call)?.state {
            State::HandedOver(handed_over) => Some(handed_over),
            State::Ready(_) | State::Suspended(_) | State::Moving => None,
        }
    }

    /// Something came back for an attempt, if it is one of a call and out.
    pub(super) fn heard(&mut self, attempt: Attempt) {
        if let Some(Purpose::Call(call)) = self.requests.get(&attempt.request).map(|out| out.purpose)
            && let Some(handed_over) = self.attempt_out(call).filter(|out| out.attempt == attempt)
        {
            handed_over.reached(Stage::Answering);
        }
    }

    /// Whether the answer to this request may be the news that its call is a task. An earlier attempt of a call
    /// that goes on asked for the same.
    fn may_become_task(&mut self, call: CallId, request: RequestId, revision: Option<Revision>) -> bool {
        match self.attempt_out(call).filter(|out| out.attempt.request == request) {
            Some(out) => out.may_become_task(),
            None => {
                let has_tasks = revision.is_some_and(|revision| revision.has_tasks() || revision.is_modern());
                has_tasks && self.calls.get(&call).is_some_and(|call| call.task)
            }
        }
    }

    /// An answer to a call that had ended as unknown.
    pub(super) fn answer_came_late(
        &mut self,
        arrival: &Arrival<'_>,
        call: CallId,
        request: RequestId,
        body: Result<Raw<'_>, Raw<'_>>,
    ) {
        self.requests.remove(&request);
        let may_be_task = self.unsettled.may_become_task(call);
        let revision = self.revision(arrival.generation);
        match body.map(|result| read_answer(result, may_be_task, revision)) {
            Ok(Answer::Known(known)) => {
                self.became_known(call, known);
            }
            Ok(Answer::Task(Some(id))) => {
                self.unsettled.set_task(call, Task::Known(id));
                self.late_answer_lost(call);
                self.want_link(arrival.now);
            }
            Ok(Answer::Task(None) | Answer::InputRequired(..) | Answer::Unknown) | Err(_) => {
                self.unsettled.set_task(call, Task::No);
                self.events.diagnose("a late answer that leaves its call's outcome unknown");
                self.nothing_to_reconcile(call, false);
            }
        }
    }

    /// What became of a call that had ended as unknown is known now.
    pub(super) fn became_known(&mut self, call: CallId, known: Known) {
        let attempts = self.unsettled.attempts(call).unwrap_or(1);
        let outcome = known.outcome(call, attempts);
        self.reconciled(call, &outcome);
        if self.unsettled.answer(call, outcome) {
            self.events.push(Event::LateAnswer(call));
        }
    }

    pub(super) fn undecodable(&self, reason: String, bytes: &[u8]) -> Undecodable {
        Undecodable::new(reason, bytes, self.options.limits.cause_bytes)
    }
}

/// An answer that tells what became of its call.
pub(super) struct Known {
    is_error: bool,
    json: String,
    warnings: Vec<String>,
}

/// What a result is.
pub(super) enum Answer {
    Known(Known),
    /// The call became a task, of this id; none if there is none that can be used.
    Task(Option<String>),
    /// It only asks for input: the whole of it, and what may continue the call.
    InputRequired(String, Option<Asked>),
    /// A kind of result that the revision does not have.
    Unknown,
}

pub(super) fn read_answer(result: Raw<'_>, may_be_task: bool, revision: Option<Revision>) -> Answer {
    let reading = tool_result::read(result);
    let modern = revision.is_some_and(Revision::is_modern);
    let task = if modern { reading.modern_task } else { reading.task };
    if let Some(id) = task.filter(|_| may_be_task) {
        return Answer::Task(id);
    }
    let json = result.get().to_owned();
    if reading.input_required {
        return Answer::InputRequired(json, Asked::read(result).filter(|_| modern));
    }
    if reading.unknown_type && modern {
        return Answer::Unknown;
    }
    Answer::Known(Known { is_error: reading.is_error, json, warnings: reading.warnings })
}

impl Known {
    pub(super) fn outcome(self, call: CallId, attempts: u32) -> Outcome {
        let Self { is_error, json, warnings } = self;
        let result = ToolResult { call, attempts, json, warnings };
        if is_error { Outcome::ToolError(result) } else { Outcome::Ok(result) }
    }
}
