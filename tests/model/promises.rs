//! What must hold after each step, whatever came before: the promises of the contract's section 1.
//! That a call has one verdict (P4) is the harness's to see.

use noreplay::session::policy::Resend;
use noreplay::session::verdict::{CallId, Outcome, ToolResult, Verdict};
use noreplay::session::{Resolution, What};

use super::world::{EVENTS, End, GRANTED, IN_FLIGHT, Reach, World};
use crate::harness::Sent;

impl World {
    /// Holds what the session did against what was done to it.
    pub fn look(&mut self, reach: &Reach) {
        self.look_at_connections();
        for index in self.seen.wire..self.bench.wire.len() {
            let sent = self.bench.wire[index].clone();
            self.look_at_message(&sent);
        }
        self.seen.wire = self.bench.wire.len();
        self.look_at_pending();
        self.look_at_verdicts(reach);
        self.look_at_resolutions();
        assert!(self.bench.session.unsettled().len() <= EVENTS);
    }

    fn look_at_connections(&mut self) {
        self.alive.extend(&self.bench.connects[self.seen.connects..]);
        self.seen.connects = self.bench.connects.len();
        for (generation, _) in &self.bench.disconnects[self.seen.disconnects..] {
            self.alive.remove(generation);
        }
        self.seen.disconnects = self.bench.disconnects.len();
        // P9: one that takes calls, and those that owe an answer.
        let most = 1 + IN_FLIGHT * (1 + GRANTED as usize);
        assert!(self.alive.len() <= most, "{} connections\n{:?}", self.alive.len(), self.trace);
    }

    fn look_at_message(&mut self, sent: &Sent) {
        let trace = &self.trace;
        assert!(!self.closed, "sent after close: {sent:?}\n{trace:?}");
        if let What::Request(request) = sent.receipt.what {
            assert!(request.0 > self.seen.request, "ids rise: {sent:?}\n{trace:?}");
            self.seen.request = request.0;
        }
        let Some(call) = sent.call else { return };
        // P6: on the newest connection, once its handshake is done.
        let generation = sent.receipt.generation;
        assert_eq!(self.bench.connects.last(), Some(&generation), "{sent:?}\n{trace:?}");
        let mut before = self.bench.wire.iter().take_while(|other| other.receipt != sent.receipt);
        // Only messages of 2026-07-28 have headers.
        let modern = !sent.headers.is_empty();
        let shook_hands = |other: &Sent| match modern {
            true => other.method == "server/discover",
            false => other.receipt.what == What::Initialized,
        };
        let done = before.any(|other| other.receipt.generation == generation && shook_hands(other));
        assert!(done, "sent before the handshake's end: {sent:?}\n{trace:?}");
        let ended = self.seen.verdicts.contains(&call) || self.abandoned.contains(&call);
        assert!(!ended, "sent after its verdict: {sent:?}\n{trace:?}");
        self.look_at_attempt(call, sent);
    }

    /// P1: there is no attempt beside one that is out, and none after it without proof or a grant.
    fn look_at_attempt(&self, call: CallId, sent: &Sent) {
        let trace = &self.trace;
        let (mut resends, mut replays, mut continuations) = (0, 0, 0);
        // A continuation bears the state of the attempt before it, and is not replayed.
        if let Some(last) = self.attempts(call).take_while(|earlier| earlier.id() < sent.id()).last() {
            let end = self.ends.get(&last.id());
            let state = match end {
                Some(End::Suspended) => Some(format!("s{}", last.id())),
                _ => state(last),
            };
            assert_eq!(state, self::state(sent), "{sent:?}\n{trace:?}");
            assert!(
                state.is_none() || end != Some(&End::Doubt),
                "a continuation, again: {sent:?}\n{trace:?}"
            );
        }
        for earlier in self.attempts(call).map(Sent::id).take_while(|id| *id < sent.id()) {
            match (self.ends.get(&earlier), self.options.resend) {
                (None, _) => panic!("{earlier} is out, and again: {sent:?}\n{trace:?}"),
                (Some(End::Withheld), Resend::Proven | Resend::Refused)
                | (Some(End::Refused), Resend::Refused) => resends += 1,
                (Some(End::Suspended), _) => continuations += 1,
                (Some(_), _) => replays += 1,
            }
        }
        let granted = if self.bench.made[&call].name == "granted" { GRANTED } else { 0 };
        assert!(replays <= granted, "replayed: {sent:?}\n{trace:?}");
        assert!(continuations <= 8, "continued {continuations} times: {sent:?}\n{trace:?}");
        assert!(resends <= 1, "resent {resends} times: {sent:?}\n{trace:?}");
    }

    fn look_at_pending(&mut self) {
        let pending = self.bench.session.pending();
        assert!(pending.len() <= IN_FLIGHT, "{pending:?}");
        for pending in pending {
            let call = pending.call;
            // P3: one way.
            let last = self.stages.insert(call, pending.stage).unwrap_or(pending.stage);
            let refuted = self.attempts(call).any(|sent| self.refuted(sent.id()));
            assert!(pending.stage >= last || refuted, "{pending:?} was at {last:?}\n{:?}", self.trace);
            // P9: it has an end, which is not over.
            assert!(self.bench.session.next_deadline().is_some());
            assert!(self.bench.now < self.due[&call], "{pending:?} is overdue\n{:?}", self.trace);
            // What is known at once is told at once: nothing but a deadline is waited for without need.
            let last = self.attempts(call).last().and_then(|sent| self.ends.get(&sent.id()));
            let told = last != Some(&End::Doubt) || pending.tool == "granted";
            assert!(told, "{pending:?} waits for nothing\n{:?}", self.trace);
        }
    }

    fn look_at_verdicts(&mut self, reach: &Reach) {
        let new: Vec<_> =
            self.bench.verdicts.keys().filter(|call| !self.seen.verdicts.contains(call)).collect();
        for call in &new {
            self.look_at_verdict(**call, &self.bench.verdicts[call]);
            // P6: what befalls one call changes no other's verdict.
            let reached = match reach {
                Reach::Any => true,
                Reach::Only(only) => *only == Some(**call),
            };
            assert!(reached, "{call:?} is not {reach:?}\n{:?}", self.trace);
        }
        let new: Vec<_> = new.into_iter().copied().collect();
        self.seen.verdicts.extend(new);
    }

    /// P2: truth.
    fn look_at_verdict(&self, call: CallId, verdict: &Verdict) {
        let trace = &self.trace;
        let mut ids = self.attempts(call).map(Sent::id);
        match verdict {
            Ok(Outcome::Ok(result) | Outcome::ToolError(result)) => self.look_at_result(call, result),
            Ok(Outcome::UnknownOutcome(unknown)) => {
                assert_eq!(unknown.attempts as usize, self.attempts(call).count(), "{unknown:?}\n{trace:?}");
                assert!(ids.any(|id| !self.refuted(id)), "known not to have run: {unknown:?}\n{trace:?}");
            }
            Err(reason) => {
                assert!(ids.all(|id| self.refuted(id)), "{reason:?} of what may have run\n{trace:?}");
            }
        }
    }

    /// A result comes from an answer to an attempt.
    fn look_at_result(&self, call: CallId, result: &ToolResult) {
        let answered = self.attempts(call).any(|sent| self.answered.contains(&sent.id()));
        assert!(answered && result.call == call, "{result:?} of {call:?}\n{:?}", self.trace);
    }

    /// Whether an attempt is proven not to have run, by the grade that the policy asks for.
    fn refuted(&self, id: u64) -> bool {
        match self.ends.get(&id) {
            Some(End::Withheld) => true,
            Some(End::Refused) => self.options.accept_refusals,
            Some(End::Doubt | End::Suspended) | None => false,
        }
    }

    fn look_at_resolutions(&mut self) {
        for resolution in &self.bench.resolutions[self.seen.resolutions..] {
            let ticket = match resolution {
                Resolution::Call(..) => panic!("the harness keeps these"),
                Resolution::Reconnect(ticket, _) | Resolution::Read(ticket, _) => ticket,
                Resolution::Reconcile(ticket, outcome) => {
                    match outcome {
                        None => {}
                        Some(Outcome::Ok(result) | Outcome::ToolError(result)) => {
                            self.look_at_result(result.call, result);
                        }
                        Some(Outcome::UnknownOutcome(unknown)) => {
                            let verdict = self.bench.verdicts.get(&unknown.call);
                            let unknown_so_far =
                                matches!(verdict, None | Some(Ok(Outcome::UnknownOutcome(_))));
                            assert!(unknown_so_far, "{unknown:?} after {verdict:?}\n{:?}", self.trace);
                        }
                    }
                    ticket
                }
            };
            assert!(self.tickets.remove(ticket), "a second end of {ticket:?}\n{:?}", self.trace);
        }
        self.seen.resolutions = self.bench.resolutions.len();
        // P9: reconnects, reads and reconciles.
        assert!(self.tickets.len() <= 3 * IN_FLIGHT, "{:?}", self.tickets);
    }

    /// What holds once everything came to its end.
    pub fn look_back(&mut self) {
        let pending = self.bench.session.pending();
        assert!(pending.is_empty() && self.tickets.is_empty(), "no end: {pending:?}, {:?}", self.tickets);
        assert_eq!(self.bench.verdicts.len() + self.abandoned.len(), self.bench.made.len());
        // P9: nothing grows. All that a session keeps shows here.
        let kept = format!("{:?}", self.bench.session).len();
        assert!(kept < 64 << 10, "{kept} bytes of it are left");
    }
}

/// The state with which a message continues a call.
fn state(sent: &Sent) -> Option<String> {
    let (_, state) = sent.text.split_once(r#""requestState":""#)?;
    state.split_once('"').map(|(state, _)| state.to_owned())
}
