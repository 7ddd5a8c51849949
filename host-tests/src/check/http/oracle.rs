//! What really happened, held against what the component said.

use std::time::Duration;

use http::Method;

use super::case::{Case, Record, Verdict};
use super::fault::{Fault, Knows};
use super::server::Seen;
use crate::check::policy::CAP;
use crate::check::promise::{Breach, Promise};
use crate::{Cause, NotExecuted, Outcome, Resend};

/// What a timer may be late.
const SLACK: Duration = Duration::from_millis(50);

/// What a call came to, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Answered,
    NotExecuted,
    Unknown,
}

/// The breaches that a run shows.
pub(super) fn judge(case: &Case, record: &Record) -> Vec<Breach> {
    let mut court = Court { case, record, breaches: Vec::new() };
    for trouble in &record.trouble {
        court.broken(Promise::P9, trouble.clone());
    }
    court.wire();
    for &number in &record.calls {
        match record.verdicts.get(&number) {
            Some(verdict) => court.call(number, verdict),
            None => court.broken(Promise::P9, format!("call {number} has no verdict")),
        }
    }
    court.breaches
}

struct Court<'a> {
    case: &'a Case,
    record: &'a Record,
    breaches: Vec<Breach>,
}

impl Court<'_> {
    fn broken(&mut self, promise: Promise, why: String) {
        self.breaches.push(Breach { promise, why });
    }

    fn hold(&mut self, holds: bool, promise: Promise, why: impl FnOnce() -> String) {
        if !holds {
            self.broken(promise, why());
        }
    }

    /// What was sent, when and where.
    fn wire(&mut self) {
        let mut last = 0;
        for (number, seen) in self.record.requests.iter().enumerate() {
            self.hold(seen.path == "/mcp", Promise::P5, || format!("request {number} followed a redirect"));
            if let Some(id) = seen.id.filter(|_| seen.method == Method::POST && seen.rpc.is_some()) {
                self.hold(id > last, Promise::P6, || format!("the request id {id} does not rise"));
                last = last.max(id);
            }
            for wrong in &seen.wrong {
                self.broken(Promise::P5, format!("request {number}: {wrong}"));
            }
            let after_close = number >= self.record.closed && seen.method != Method::DELETE;
            self.hold(!after_close, Promise::P5, || format!("request {number} was sent after close"));
        }
        for &(before, after) in &self.record.reconnects {
            for (number, seen) in self.record.requests.iter().enumerate().take(after).skip(before) {
                let handshake = matches!(
                    seen.rpc.as_deref(),
                    None | Some("initialize" | "notifications/initialized" | "server/discover")
                );
                self.hold(handshake, Promise::P5, || {
                    format!("request {number}, {:?}, was sent by a reconnect", seen.rpc)
                });
            }
        }
    }

    /// The requests by which a call was sent.
    fn attempts(&self, call: u32) -> Vec<(usize, &Seen)> {
        // What was cut had its number cut off; the fault says whose it was by what it did not let through.
        let of_call = |(_, seen): &(usize, &Seen)| seen.call == Some(call);
        self.record.requests.iter().enumerate().filter(of_call).collect()
    }

    fn knows(&self, seen: &Seen) -> Option<Knows> {
        let resumes = self.case.setting.resumes();
        seen.fault.map(|fault| fault.knows(resumes, seen.session.is_some()))
    }

    fn call(&mut self, number: u32, verdict: &Verdict) {
        let attempts: Vec<_> =
            self.attempts(number).into_iter().map(|(index, seen)| (index, seen.clone())).collect();
        let effects = self.record.effects.get(&number).cloned().unwrap_or_default();
        self.hold(effects.len() <= 1, Promise::P1, || {
            format!("call {number} had its effect {} times", effects.len())
        });
        self.hold(verdict.ended <= verdict.begun + CAP + SLACK, Promise::P9, || {
            format!("call {number} ended after its deadline")
        });
        for (_, seen) in attempts.iter().rev().skip(1) {
            let proven = match self.knows(seen) {
                Some(Knows::Certain) => self.case.policy.resend != Resend::Never,
                Some(Knows::Refusal) => self.case.policy.resend == Resend::Refused,
                // A session that the server had forgotten: it says so, and ran nothing.
                None => seen.session.is_some() && self.case.policy.resend == Resend::Refused,
                _ => false,
            };
            self.hold(proven, Promise::P1, || format!("call {number} was sent again after {:?}", seen.fault));
        }
        self.hold(attempts.len() <= 2, Promise::P1, || {
            format!("call {number} was sent {} times", attempts.len())
        });
        let class = match &verdict.verdict {
            Ok(Outcome::Ok(result) | Outcome::ToolError(result)) => {
                let by = |index: &usize| result.json.contains(&format!("done by request {index}\""));
                let own = effects.iter().any(by) || result.json.contains("\"isError\":true");
                self.hold(own && effects.len() == 1, Promise::P2, || {
                    format!("call {number} is answered, and that is no answer of its own: {}", result.json)
                });
                Class::Answered
            }
            Ok(Outcome::UnknownOutcome(unknown)) => {
                if let (Cause::Refused(refusal), Some((_, seen))) = (&unknown.cause, attempts.last()) {
                    self.refusal(number, refusal, seen);
                }
                Class::Unknown
            }
            Err(reason) => {
                self.hold(effects.is_empty(), Promise::P2, || {
                    format!("call {number} is not executed, it says, and it was: {reason:?}")
                });
                if let (NotExecuted::Refused(refusal), Some((_, seen))) = (reason, attempts.last()) {
                    self.refusal(number, refusal, seen);
                }
                Class::NotExecuted
            }
        };
        self.expected(number, class, verdict);
    }

    /// A refusal is passed on whole.
    fn refusal(&mut self, number: u32, refusal: &crate::Refusal, seen: &Seen) {
        let Some(Fault::Status(status, ..)) = seen.fault else { return };
        let challenge = matches!(status, 401 | 403);
        let later = matches!(status, 429 | 503);
        let whole = refusal.status == status
            && refusal.www_authenticate.is_some() == challenge
            && refusal.retry_after.is_some() == later;
        self.hold(whole, Promise::P10, || format!("call {number}: the refusal is not whole: {refusal:?}"));
    }

    /// Where a call's own request is all that went wrong, there is one right verdict.
    fn expected(&mut self, number: u32, class: Class, verdict: &Verdict) {
        let [(place, fault)] = self.case.faults[..] else { return };
        let Some(seen) = self.record.requests.get(place).cloned() else { return };
        let of_call = seen.rpc.as_deref() == Some("tools/call") || self.is_cut_call(place, &seen);
        if !of_call {
            return;
        }
        let policy = &self.case.policy;
        let hit = seen.call.map_or(self.record.calls.len() == 1, |call| call == number);
        let ends_session = matches!(fault, Fault::Status(404, ..)) && seen.session.is_some();
        if !hit {
            // What befalls one call changes no other's verdict; a session that ends is another matter.
            let apart = ends_session || class == Class::Answered || seen.call.is_none();
            return self.hold(apart, Promise::P6, || {
                format!("call {number} suffers from what befell another: {:?}", verdict.verdict)
            });
        }
        let right = match self.knows(&seen).unwrap_or(Knows::Nothing) {
            Knows::Answer => Class::Answered,
            Knows::Certain if policy.resend != Resend::Never => Class::Answered,
            Knows::Certain => Class::NotExecuted,
            Knows::Refusal if policy.resend == Resend::Refused => Class::Answered,
            Knows::Refusal if policy.accept_refusals => Class::NotExecuted,
            Knows::Refusal | Knows::Nothing => Class::Unknown,
        };
        self.hold(class == right, Promise::P2, || {
            format!("call {number} is {right:?}, and it says {:?}", verdict.verdict)
        });
        // With its connection a call's late answer goes too; and without sessions, leaving it is to cancel it.
        let kept = self.record.reconnects.is_empty() && !self.case.setting.is_stateless();
        if fault == Fault::Late && kept {
            let known = matches!(self.record.reconciled.get(&number), Some(Some(Outcome::Ok(_))));
            self.hold(known, Promise::P4, || format!("the late answer to call {number} is lost"));
        }
    }

    /// A request of which nothing could be read: a call's, if it is no part of a handshake.
    fn is_cut_call(&self, place: usize, seen: &Seen) -> bool {
        let last_of_handshake =
            if self.case.setting.is_stateless() { "server/discover" } else { "notifications/initialized" };
        seen.method == Method::POST
            && !seen.whole
            && matches!(seen.fault, Some(Fault::Unreached(_) | Fault::Cut(_)))
            && self.record.requests[..place]
                .iter()
                .any(|earlier| earlier.rpc.as_deref() == Some(last_of_handshake))
            && self.record.calls.len() == 1
            && !self.case.scenario.acts.contains(&super::case::Act::List)
    }
}
