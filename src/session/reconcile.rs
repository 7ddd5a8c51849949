//! Learning the outcome of an unknown call without sending it again.

use core::time::Duration;

use crate::prelude::*;

use super::time::Instant;
use super::verdict::{CallId, Outcome};
use super::{Purpose, Queued, Resolution, Session, Ticket, Timer};

/// Somebody who waits for a call's outcome to become known.
#[derive(Debug)]
pub(super) struct Reconcile {
    call: CallId,
    deadline: Instant,
    /// How often the result was asked for, while this one waited.
    pub(super) tries: u32,
}

impl Session {
    /// Waits for the outcome of a call that ended as unknown, or has not ended. It ends by
    /// [`Resolution::Reconcile`]: at once if the outcome is known, or if nothing can come for it any
    /// more, or if as many wait as may.
    pub fn reconcile(&mut self, now: Instant, call: CallId, timeout: Duration) -> Ticket {
        let ticket = self.ticket();
        let known = self.unsettled.late(call).is_some();
        let full = self.reconciles.len() >= self.options.limits.in_flight;
        let may_come = self.may_be_answered(call) || self.unsettled.task(call).is_some();
        if known || !self.open || full || !may_come {
            self.resolve(Resolution::Reconcile(ticket, self.unsettled.outcome(call)));
            return ticket;
        }
        let deadline = now + timeout;
        self.timers.insert(deadline, Timer::Reconcile(ticket));
        self.reconciles.insert(ticket, Reconcile { call, deadline, tries: 0 });
        self.fetch(call);
        self.want_link(now);
        ticket
    }

    fn may_be_answered(&self, call: CallId) -> bool {
        let late = [Purpose::Late(call), Purpose::LateTask(call), Purpose::Fetch(call)];
        self.calls.contains(&call) || self.requests.values().any(|out| late.contains(&out.purpose))
    }

    /// A call's outcome is known now.
    pub(super) fn reconciled(&mut self, call: CallId, outcome: &Outcome) {
        for ticket in self.waiting_for(call) {
            self.end_reconcile(ticket, Some(outcome.clone()));
        }
    }

    /// If `certain`, or if no request of the call is awaited, its outcome stays unknown.
    pub(super) fn nothing_to_reconcile(&mut self, call: CallId, certain: bool) {
        if certain || !self.may_be_answered(call) {
            for ticket in self.waiting_for(call) {
                self.end_reconcile(ticket, None);
            }
        }
    }

    /// A late answer that was awaited will not come where it was awaited.
    pub(super) fn late_answer_lost(&mut self, call: CallId) {
        self.fetch(call);
        if !self.queue.contains(&Queued::Fetch(call)) {
            self.nothing_to_reconcile(call, false);
        }
    }

    pub(super) fn waiting_for(&self, call: CallId) -> Vec<Ticket> {
        let is_it = |ticket: &Ticket| self.reconciles.get(ticket).is_some_and(|waiting| waiting.call == call);
        self.reconciles.keys().filter(is_it).collect()
    }

    pub(super) fn end_reconcile(&mut self, ticket: Ticket, outcome: Option<Outcome>) {
        if let Some(reconcile) = self.reconciles.remove(&ticket) {
            self.timers.remove(reconcile.deadline, Timer::Reconcile(ticket));
            if self.waiting_for(reconcile.call).is_empty() {
                self.queue.retain(|queued| *queued != Queued::Fetch(reconcile.call));
            }
            let outcome = outcome.or_else(|| self.unsettled.outcome(reconcile.call));
            self.resolve(Resolution::Reconcile(ticket, outcome));
        }
    }

    pub(super) fn close_reconciles(&mut self) {
        let tickets: Vec<_> = self.reconciles.keys().collect();
        for ticket in tickets {
            self.end_reconcile(ticket, None);
        }
    }
}
