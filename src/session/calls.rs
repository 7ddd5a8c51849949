//! Calls: hand over, end.

use crate::prelude::*;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;

use super::begin::TOO_LATE;
use super::call::{Asked, Call, Doubt, Ending, Poll, State, Task};
use super::event::Event;
use super::evidence::{Evidence, Proof, SendError, weigh};
use super::link::Link;
use super::policy::Resend;
use super::time::Instant;
use super::verdict::{
    Attempt, CallId, Cause, Failure, FailureKind, Generation, NotExecuted, Outcome, Stage, Verdict,
};
use super::{Action, Awaited, Delivery, Purpose, Queued, Receipt, Resolution, Session, Timer, What};

impl Session {
    /// Stops waiting for a call. False if it has its verdict.
    pub fn cancel(&mut self, call: CallId) -> bool {
        self.give_up(call, Cause::Cancelled, FailureKind::Cancelled, "cancelled before it was sent")
    }

    pub(super) fn call_timed_out(&mut self, _now: Instant, call: CallId) {
        self.give_up(call, Cause::TimedOut, FailureKind::TimedOut, TOO_LATE);
    }

    fn give_up(&mut self, call: CallId, cause: Cause, kind: FailureKind, detail: &str) -> bool {
        let Some(call) = self.calls.remove(&call) else {
            return false;
        };
        if let Some(attempt) = call.attempt() {
            match call.task() {
                Task::Known(task) if kind == FailureKind::Cancelled => {
                    self.cancel_task(attempt.generation, &task);
                }
                // What asks for it may still be answered, and runs nothing.
                Task::Known(_) if call.poll() != Poll::No => {}
                _ if kind == FailureKind::Cancelled => self.stop_waiting(attempt, "cancelled"),
                _ => self.stop_waiting(attempt, "deadline"),
            }
        }
        let mut failure = Failure::new(kind, detail);
        failure.detail.extend(self.tries.words());
        self.end(*call, Ending::GivenUp(cause, NotExecuted::NotSent(failure)));
        true
    }

    /// Tells the server, once, that nobody waits for this request any more, and the transport too.
    pub(super) fn stop_waiting(&mut self, attempt: Attempt, reason: &str) {
        let Attempt { generation, request } = attempt;
        let Some(revision) = self.revision(generation) else {
            return;
        };
        let message = message::cancelled(request, reason, self.dialect(revision));
        self.control(generation, message);
        // Over HTTP it is the end of its stream that tells.
        if revision.is_modern() {
            self.actions.push(Action::Abandon { generation, request });
        }
    }

    /// Nobody waits for the answer to a request any more.
    pub(super) fn forget_request(&mut self, request: RequestId) {
        if let Some(out) = self.requests.remove(&request) {
            self.actions.push(Action::Abandon { generation: out.generation, request });
        }
    }

    /// Gives a call's message away.
    pub(super) fn hand_over(&mut self, generation: Generation, id: CallId) -> Option<Action> {
        let revision = self.revision(generation)?;
        let no_tools = self.connections.get(&generation).is_some_and(|connection| connection.no_tools);
        let call = self.calls.get_mut(&id)?;
        let refused = if !revision.is_modern() && call.is_continuation() {
            Some("the server speaks a protocol revision without continuations")
        } else if no_tools && self.options.rely_on_lists {
            Some("the server says that it has no tools")
        } else {
            None
        };
        if let Some(reason) = refused {
            self.call_cannot_connect(id, NotExecuted::InvalidCall(reason.to_owned()));
            return self.poll_action();
        }
        let State::Ready(ready) = core::mem::replace(&mut call.state, State::Moving) else {
            return None;
        };
        let request = self.ids.request();
        let attempt = Attempt { generation, request };
        // What no policy can bring back need not be kept.
        let keep = self.options.resend != Resend::Never
            || self.options.granted(&call.tool) > 0
            || revision.is_modern();
        let tool = self.marked.iter().find(|(tool, _)| *tool == call.tool);
        let tool = tool.map(|(_, entry)| entry.as_str());
        let dialect = self.options.dialect(revision, self.log_level);
        let (message, handed_over) = ready.hand_over(attempt, dialect, tool, keep);
        call.state = State::HandedOver(handed_over);
        call.attempts += 1;
        self.requests.insert(request, Awaited { generation, purpose: Purpose::Call(id) });
        let receipt = Receipt { generation, what: What::Request(request) };
        Some(Action::Send { call: Some(id), receipt, message })
    }

    /// A call's `send` returned.
    pub(super) fn call_sent(
        &mut self,
        now: Instant,
        id: CallId,
        attempt: Attempt,
        result: Result<Delivery, SendError>,
    ) {
        let granted = self.calls.get(&id).map_or(0, |call| self.options.granted(&call.tool));
        // Any answer to a modern call may ask for its continuation.
        let modern = self.is_modern(attempt.generation);
        let Some(State::HandedOver(handed_over)) = self.calls.get_mut(&id).map(|call| &mut call.state) else {
            return;
        };
        // The result of an earlier attempt's `send`, which was given up.
        if handed_over.attempt != attempt {
            return;
        }
        let error = match result {
            Ok(delivery) => {
                handed_over.reached(match delivery {
                    Delivery::HandedOver => Stage::HandedOver,
                    Delivery::Accepted => Stage::Accepted,
                });
                if granted == 0 && !modern {
                    handed_over.settle();
                }
                return;
            }
            Err(error) => error,
        };
        let heard = handed_over.heard();
        self.note_send_error(now, attempt.generation, &error);
        match weigh(error, attempt.request, heard) {
            Evidence::Proof(proof) => self.attempt_refuted(now, id, proof),
            Evidence::Answer(body) => {
                self.arrived(now, attempt.generation, body, Some(attempt.request));
            }
            Evidence::Nothing(error) => {
                let cause = match error {
                    SendError::Refused(refusal) => Cause::Refused(refusal),
                    SendError::NotSent(failure)
                    | SendError::Truncated(failure)
                    | SendError::Unknown(failure) => Cause::Transport(failure),
                };
                self.attempt_unknown(now, id, cause);
            }
        }
    }

    /// A call's attempt is proven not to have run.
    fn attempt_refuted(&mut self, now: Instant, id: CallId, proof: Proof) {
        let Some(mut call) = self.calls.remove(&id) else {
            return;
        };
        if let Some(request) = call.request() {
            self.requests.remove(&request);
        }
        let accepted = self.options.accepts(&proof);
        let may_go_on = now < call.deadline && self.may_have_link(now);
        let permit = may_go_on.then(|| self.options.permit_resend(&proof, &mut call.spent)).flatten();
        let reason = proof.into_reason();
        // A refusal that the caller does not accept leaves a doubt behind.
        let refused = match &reason {
            NotExecuted::Refused(refusal) if !accepted => Some(Cause::Refused(refusal.clone())),
            _ => None,
        };
        if let Some(permit) = permit
            && let State::HandedOver(handed_over) = core::mem::replace(&mut call.state, State::Moving)
        {
            let stage = handed_over.stage;
            match handed_over.retry(permit) {
                Ok(ready) => {
                    if let (Some(cause), None) = (refused, &call.doubt) {
                        call.doubt = Some(Doubt { stage, cause });
                    }
                    call.refuted = Some(reason);
                    call.state = State::Ready(ready);
                    self.calls.insert(id, *call);
                    self.queue.insert(0, Queued::Call(id));
                    self.want_link(now);
                    return;
                }
                Err(handed_over) => call.state = State::HandedOver(handed_over),
            }
        }
        let ending = match refused {
            Some(cause) if call.doubt.is_none() => Ending::Unknown(cause),
            _ => Ending::Refuted(reason),
        };
        self.end(*call, ending);
    }

    /// Nobody can say whether a call's attempt ran.
    pub(super) fn attempt_unknown(&mut self, now: Instant, id: CallId, cause: Cause) {
        let Some(mut call) = self.calls.remove(&id) else {
            return;
        };
        // What continues a call is given once: no grant is for a second time.
        let may_go_on = now < call.deadline && !call.is_continuation() && self.may_have_link(now);
        let permit = may_go_on.then(|| self.options.permit_replay(&call.tool, &mut call.spent)).flatten();
        // How far any attempt came: an earlier one may have come further.
        let stage = call.stage();
        if let Some(permit) = permit
            && let State::HandedOver(handed_over) = core::mem::replace(&mut call.state, State::Moving)
        {
            let request = handed_over.attempt.request;
            match handed_over.retry(permit) {
                Ok(ready) => {
                    call.doubt = Some(Doubt { stage, cause });
                    call.earlier.push(request);
                    call.state = State::Ready(ready);
                    self.calls.insert(id, *call);
                    self.queue.push(Queued::Call(id));
                    self.want_link(now);
                    return;
                }
                Err(handed_over) => call.state = State::HandedOver(handed_over),
            }
        }
        self.end(*call, Ending::Unknown(cause));
    }

    /// The server suspended a call. What it asked for is sent, if that is only the state that it gave.
    pub(super) fn call_suspended(
        &mut self,
        now: Instant,
        id: CallId,
        request: RequestId,
        json: String,
        asked: Option<Asked>,
    ) {
        let may_go_on = self.is_current(id, request) && self.may_have_link(now);
        if may_go_on
            && let Some(asked) = asked
            && let Some(call) = self.calls.get_mut(&id)
            && now < call.deadline
            && call.spent.continues()
            && let State::HandedOver(handed_over) = core::mem::replace(&mut call.state, State::Moving)
        {
            match handed_over.go_on(asked) {
                Ok(ready) => {
                    // It began, whatever becomes of the rest.
                    call.doubt = Some(Doubt { stage: Stage::Answered, cause: Cause::InputRequired(json) });
                    call.state = State::Ready(ready);
                    self.queue.insert(0, Queued::Call(id));
                    return self.want_link(now);
                }
                Err(handed_over) => call.state = State::HandedOver(handed_over),
            }
        }
        if may_go_on && self.ask_for_inputs(now, id, &json) {
            return;
        }
        self.answer_leaves_unknown(now, id, request, Cause::InputRequired(json));
    }

    /// Whether this request is the attempt of the call that is out, and not an earlier one.
    pub(super) fn is_current(&self, call: CallId, request: RequestId) -> bool {
        self.calls.get(&call).and_then(|call| call.request()) == Some(request)
    }

    /// The connection that a call was in flight on is replaced.
    pub(super) fn attempt_replaced(&mut self, id: CallId) {
        if let Some(call) = self.calls.remove(&id) {
            self.end(*call, Ending::Unknown(Cause::SessionReplaced));
        }
    }

    /// A call's answer came.
    pub(super) fn call_answered(&mut self, id: CallId, answer: impl FnOnce(u32) -> Outcome) {
        let Some(mut call) = self.calls.remove(&id) else {
            return;
        };
        if let State::HandedOver(handed_over) = &mut call.state {
            handed_over.reached(Stage::Answered);
        }
        let outcome = answer(call.attempts);
        self.end(*call, Ending::Answered(outcome));
    }

    /// A call that is no longer held cannot get the connection it waits for.
    pub(super) fn call_cannot_connect(&mut self, id: CallId, reason: NotExecuted) {
        if let Some(call) = self.calls.remove(&id) {
            self.end(*call, Ending::Refuted(reason));
        }
    }

    pub(super) fn close_calls(&mut self) {
        for (_, call) in self.calls.take() {
            self.end(*call, Ending::GivenUp(Cause::Closed, NotExecuted::Closed));
        }
    }

    /// Ends a call, which is out of `calls` already: its one verdict is given, and what may still come
    /// for it is noted.
    pub(super) fn end(&mut self, call: Call, ending: Ending) {
        let id = call.id;
        self.withdraw_of(id);
        self.timers.remove(call.deadline, Timer::Call(id));
        if matches!(call.state, State::Ready(_)) {
            self.queue.retain(|queued| *queued != Queued::Call(id));
        }
        let (task, poll) = (call.task(), call.poll());
        let mut requests = call.earlier.clone();
        if let Poll::Due(at) = poll {
            self.timers.remove(at, Timer::Poll(id));
        }
        let last = call.request();
        requests.extend(last);
        let verdict = call.verdict(ending);
        if let Ok(outcome @ (Outcome::Ok(_) | Outcome::ToolError(_))) = &verdict {
            self.reconciled(id, outcome);
        }
        self.await_late(id, &verdict, requests, task);
        // Its answer tells where the task is.
        if let Some(out) = last.filter(|_| poll == Poll::Out).and_then(|last| self.requests.get_mut(&last)) {
            out.purpose = Purpose::LateTask(id);
        }
        self.resolve(Resolution::Call(id, verdict));
        self.sweep_connections();
    }

    /// What is left to await of a call that ended.
    fn await_late(&mut self, id: CallId, verdict: &Verdict, requests: Vec<RequestId>, task: Task) {
        let Ok(Outcome::UnknownOutcome(unknown)) = verdict else {
            for request in requests {
                self.requests.remove(&request);
            }
            self.nothing_to_reconcile(id, verdict.is_err());
            return;
        };
        let mut awaited = Vec::new();
        for request in requests {
            if let Some(out) = self.requests.get_mut(&request) {
                out.purpose = Purpose::Late(id);
                awaited.push(request);
            }
        }
        let none_to_come = awaited.is_empty();
        if let Some(forgotten) = self.unsettled.add(unknown, awaited, task) {
            for request in &forgotten.awaited {
                self.forget_request(*request);
            }
            self.nothing_to_reconcile(forgotten.call, true);
        }
        if none_to_come {
            self.late_answer_lost(id);
        }
    }

    /// A call whose caller went away before it took the verdict is cancelled; an event tells if it may
    /// have run.
    pub fn abandon(&mut self, id: CallId) {
        if self.cancel(id) {
            // Nobody takes it.
            self.actions.retain(
                |action| !matches!(action, Action::Resolve(Resolution::Call(call, _)) if *call == id),
            );
        }
        if self.unsettled.attempts(id).is_some() {
            self.events.push(Event::Unclaimed(id));
        }
    }

    /// Whether a call that is ready may get a connection.
    fn may_have_link(&self, now: Instant) -> bool {
        !matches!(self.link, Link::Down) || self.may_connect(now).is_ok()
    }
}
