//! Learning the outcome of an unknown call without sending it again.

use core::time::Duration;

use crate::prelude::*;

use super::time::Instant;
use super::verdict::{CallId, Outcome};
use super::{Purpose, Resolution, Session, Ticket, Timer};

/// Somebody who waits for a call's outcome to become known.
#[derive(Debug)]
pub(super) struct Reconcile {
    call: CallId,
    deadline: Instant,
}

impl Session {
    /// Waits for the outcome of a call that ended as unknown, or has not ended. It ends by
    /// [`Resolution::Reconcile`]: at once if the outcome is known, or if nothing can come for it any
    /// more.
    pub fn reconcile(&mut self, now: Instant, call: CallId, timeout: Duration) -> Ticket {
        let ticket = self.ticket();
        let known = self.unsettled.late(call).cloned();
        if known.is_some() || !self.open || !self.may_be_answered(call) {
            self.resolve(Resolution::Reconcile(ticket, known));
            return ticket;
        }
        let deadline = now + timeout;
        self.timers.insert((deadline, Timer::Reconcile(ticket)), ());
        self.reconciles.insert(ticket, Reconcile { call, deadline });
        ticket
    }

    fn may_be_answered(&self, call: CallId) -> bool {
        self.calls.contains(&call) || self.requests.iter().any(|(_, out)| out.purpose == Purpose::Late(call))
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

    fn waiting_for(&self, call: CallId) -> Vec<Ticket> {
        let waiting = self.reconciles.iter().filter(|(_, waiting)| waiting.call == call);
        waiting.map(|(ticket, _)| *ticket).collect()
    }

    pub(super) fn end_reconcile(&mut self, ticket: Ticket, outcome: Option<Outcome>) {
        if let Some(reconcile) = self.reconciles.remove(&ticket) {
            self.timers.remove(&(reconcile.deadline, Timer::Reconcile(ticket)));
            self.resolve(Resolution::Reconcile(ticket, outcome));
        }
    }

    pub(super) fn close_reconciles(&mut self) {
        let tickets: Vec<_> = self.reconciles.iter().map(|(ticket, _)| *ticket).collect();
        for ticket in tickets {
            self.end_reconcile(ticket, None);
        }
    }
}
