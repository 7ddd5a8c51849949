//! Tasks: a call whose result the server keeps, to be asked for under the task's id. Asking is a read: it may
//! be repeated, also on another connection, and runs nothing.
//!
//! Revision 2025-11-25 has `tasks/result`, which waits until there is one. The extension of 2026-07-28 has
//! `tasks/get`, which tells where the task is: it is asked again and again, with pauses.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::json::Raw;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;
use crate::protocol::task::{self, Task as Told};

use super::answers::{Answer, read_answer};
use super::call::{Poll, Task};
use super::inbound::Arrival;
use super::time::Instant;
use super::timers::Timer;
use super::verdict::{CallId, Cause, Generation, RpcError};
use super::{Action, Awaited, Purpose, Queued, Receipt, Session, What};

/// How long to wait before a task is asked for again, if the server does not say, and in any case.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

fn pause(millis: Option<u64>) -> Duration {
    millis.map_or(PAUSE, Duration::from_millis).clamp(SHORTEST, LONGEST)
}

impl Session {
    /// The answer to a call is that it is a task now. Its result is asked for: at once, or after the pause
    /// that the server wants, in milliseconds.
    pub(super) fn call_became_task(
        &mut self,
        now: Instant,
        call: CallId,
        request: RequestId,
        id: Option<String>,
        millis: Option<u64>,
    ) {
        self.requests.remove(&request);
        let Some(id) = id else {
            let cause = Cause::Undecodable(self.undecodable("a task without an id".to_owned(), &[]));
            return self.answer_leaves_unknown(now, call, request, cause);
        };
        let Some(handed_over) = self.attempt_out(call).filter(|out| out.attempt.request == request) else {
            // The call goes on: what it does now is another attempt.
            return self.events.diagnose("an earlier attempt of a call is a task");
        };
        let generation = handed_over.attempt.generation;
        handed_over.became_task(id.clone());
        if self.is_modern(generation) {
            return self.poll_later(now, call, millis);
        }
        let fetch = self.ids.request();
        if let Some(handed_over) = self.attempt_out(call) {
            handed_over.attempt.request = fetch;
        }
        if let Some(action) = self.ask_for_result(generation, fetch, &id, Purpose::Call(call)) {
            self.actions.push(action);
        }
    }

    /// The task of a call that is out is asked for after a pause.
    fn poll_later(&mut self, now: Instant, call: CallId, millis: Option<u64>) {
        let at = now + pause(millis);
        if let Some(handed_over) = self.attempt_out(call) {
            handed_over.poll = Poll::Due(at);
            self.timers.insert(at, Timer::Poll(call));
        }
    }

    /// The calls whose task is to be asked for again, on this connection. No request of theirs is out, but what
    /// befalls the connection befalls them.
    pub(super) fn paused_on(&self, generation: Generation) -> Vec<CallId> {
        let paused = self.calls.values().filter(|call| {
            matches!(call.poll(), Poll::Due(_))
                && call.attempt().is_some_and(|attempt| attempt.generation == generation)
        });
        paused.map(|call| call.id).collect()
    }

    /// It is time to ask for a task again.
    pub(super) fn poll_task(&mut self, now: Instant, call: CallId) {
        // Given now, so that ids leave in the order in which they rise.
        let request = self.ids.request();
        if let Some(handed_over) = self.attempt_out(call) {
            let generation = handed_over.attempt.generation;
            if let (Poll::Due(_), Task::Known(id)) = (handed_over.poll, handed_over.task().clone()) {
                handed_over.attempt.request = request;
                handed_over.poll = Poll::Out;
                let asked = self.ask_for_result(generation, request, &id, Purpose::Call(call));
                self.actions.extend(asked);
            }
        } else if self.unsettled.task(call).is_some()
            && !self.is_fetched(call)
            && !self.waiting_for(call).is_empty()
        {
            self.queue.push(Queued::Fetch(call));
            self.want_link(now);
        }
    }

    /// Whether this request asks where the task of a call that is out is.
    pub(super) fn is_poll(&mut self, call: CallId, request: RequestId) -> bool {
        self.attempt_out(call).is_some_and(|out| out.attempt.request == request && out.poll == Poll::Out)
    }

    /// The server tells where the task of a call that is out is.
    pub(super) fn task_told(
        &mut self,
        arrival: &Arrival<'_>,
        call: CallId,
        request: RequestId,
        body: Result<Raw<'_>, Raw<'_>>,
    ) {
        self.requests.remove(&request);
        let now = arrival.now;
        let json = || body.map_or_else(|_| String::new(), |result| result.get().to_owned());
        let cause = match body.map(task::read) {
            Ok(Some(Told::Working(millis))) => return self.poll_later(now, call, millis),
            Ok(Some(Told::Completed(result))) => {
                match read_answer(result, false, self.revision(arrival.generation)) {
                    Answer::Known(known) => {
                        return self.call_answered(call, |attempts| known.outcome(call, attempts));
                    }
                    _ => self.odd_answer(arrival, "a task whose result is none"),
                }
            }
            Ok(Some(Told::Failed(error))) => match RpcError::read(error) {
                Some(error) => Cause::AnsweredWithError(error),
                None => self.odd_answer(arrival, "a task whose error cannot be read"),
            },
            Ok(Some(Told::Cancelled)) => Cause::TaskEnded(json()),
            // It goes on once somebody gives what it asks for: it can be asked for later.
            Ok(Some(Told::InputRequired(_))) => {
                return self.attempt_unknown(now, call, Cause::InputRequired(json()));
            }
            Ok(None) => self.odd_answer(arrival, "it does not tell where the task is"),
            // That it could not be asked for says nothing of the task.
            Err(error) => {
                let cause = self.error_cause(arrival, error);
                return self.attempt_unknown(now, call, cause);
            }
        };
        self.answer_leaves_unknown(now, call, request, cause);
    }

    /// The server tells where the task of a call is that ended as unknown.
    pub(super) fn fetched(&mut self, arrival: &Arrival<'_>, call: CallId, body: Result<Raw<'_>, Raw<'_>>) {
        match body.map(task::read) {
            Ok(Some(Told::Working(millis) | Told::InputRequired(millis))) => {
                self.timers.insert(arrival.now + pause(millis), Timer::Poll(call));
                return;
            }
            Ok(Some(Told::Completed(result))) => {
                if let Answer::Known(known) = read_answer(result, false, self.revision(arrival.generation)) {
                    return self.became_known(call, known);
                }
            }
            Ok(_) => {}
            Err(_) => {
                self.late_answer_lost(call);
                return self.want_link(arrival.now);
            }
        }
        self.unsettled.set_task(call, Task::No);
        self.events.diagnose("a task that leaves its call's outcome unknown");
        self.nothing_to_reconcile(call, false);
    }

    fn ask_for_result(
        &mut self,
        generation: Generation,
        request: RequestId,
        task: &str,
        purpose: Purpose,
    ) -> Option<Action> {
        let revision = self.revision(generation)?;
        let method = if revision.is_modern() { "tasks/get" } else { "tasks/result" };
        self.requests.insert(request, Awaited { generation, purpose });
        let message = message::of_task(method, request, task, self.dialect(revision));
        let receipt = Receipt { generation, what: What::Request(request) };
        Some(Action::Send { call: None, receipt, message })
    }

    /// Asks for the result of a call that ended as unknown, if anybody waits for it still.
    pub(super) fn send_fetch(&mut self, generation: Generation, call: CallId) -> Option<Action> {
        let task = self.unsettled.task(call)?.to_owned();
        if self.waiting_for(call).is_empty() {
            return None;
        }
        let request = self.ids.request();
        self.ask_for_result(generation, request, &task, Purpose::Fetch(call))
    }

    /// Sees to it that the result of a call is asked for, if it is a task. Whoever has waited for as many
    /// requests as the recovery policy allows is told that it is still unknown.
    pub(super) fn fetch(&mut self, call: CallId) {
        if self.unsettled.task(call).is_none() || self.is_fetched(call) {
            return;
        }
        let most = self.options.recovery.attempts;
        for ticket in self.waiting_for(call) {
            match self.reconciles.get_mut(&ticket) {
                Some(waiting) if waiting.tries < most => waiting.tries += 1,
                _ => self.end_reconcile(ticket, None),
            }
        }
        if !self.waiting_for(call).is_empty() {
            self.queue.push(Queued::Fetch(call));
        }
    }

    /// Whether the result of a call is being asked for.
    fn is_fetched(&self, call: CallId) -> bool {
        self.queue.contains(&Queued::Fetch(call))
            || self.requests.values().any(|out| out.purpose == Purpose::Fetch(call))
    }

    /// Tells the server, once, that nobody wants a task any more.
    pub(super) fn cancel_task(&mut self, generation: Generation, task: &str) {
        let Some(revision) = self.revision(generation) else {
            return;
        };
        let request = self.ids.request();
        self.requests.insert(request, Awaited { generation, purpose: Purpose::Nothing });
        let message = message::of_task("tasks/cancel", request, task, self.dialect(revision));
        self.control(generation, message);
    }
}
