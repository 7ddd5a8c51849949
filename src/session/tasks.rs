//! Tasks (2025-11-25): a call whose result the server keeps, to be asked for under the task's id. Asking is
//! a read: it may be repeated, also on another connection, and runs nothing.

use crate::prelude::*;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message;

use super::time::Instant;
use super::verdict::{CallId, Cause, Generation};
use super::{Action, Awaited, Purpose, Queued, Receipt, Session, What};

impl Session {
    /// The answer to a call is that it is a task now. Its result is asked for at once.
    pub(super) fn call_became_task(
        &mut self,
        now: Instant,
        call: CallId,
        request: RequestId,
        id: Option<String>,
    ) {
        self.requests.remove(&request);
        let Some(id) = id else {
            let cause = Cause::Undecodable(self.undecodable("a task without an id".to_owned(), &[]));
            return self.answer_leaves_unknown(now, call, request, cause);
        };
        let fetch = self.ids.request();
        let Some(handed_over) = self.attempt_out(call).filter(|out| out.attempt.request == request) else {
            return;
        };
        let generation = handed_over.attempt.generation;
        handed_over.became_task(id.clone(), fetch);
        if let Some(action) = self.ask_for_result(generation, fetch, &id, Purpose::Call(call)) {
            self.actions.push(action);
        }
    }

    fn ask_for_result(
        &mut self,
        generation: Generation,
        request: RequestId,
        task: &str,
        purpose: Purpose,
    ) -> Option<Action> {
        let revision = self.revision(generation)?;
        self.requests.insert(request, Awaited { generation, purpose });
        let message = message::of_task("tasks/result", request, task, self.dialect(revision));
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
