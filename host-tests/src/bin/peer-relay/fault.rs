//! Which request the fault befalls, and which line is its answer.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    KillBefore,
    KillAfterAnswerRead,
    CloseAfterRequest,
    DropAnswer,
    CutAnswer(isize),
    Delay(Duration),
    DuplicateAnswer,
    Garbage,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Nth {
    Only(usize),
    Every,
}

/// The fault, and the requests it is meant for.
pub(crate) struct Plan {
    pub(crate) method: String,
    pub(crate) nth: Nth,
    pub(crate) fault: Fault,
}

/// What a line is, whichever side sent it.
#[derive(Deserialize)]
struct Head {
    id: Option<Value>,
    method: Option<String>,
}

/// Follows the requests, and says which lines a fault is for.
pub(crate) struct Trigger {
    /// Each with how many requests with its method were seen.
    plans: Vec<(Plan, usize)>,
    /// The ids of faulted requests that have no answer yet.
    waiting: Vec<(Value, Fault)>,
}

impl Trigger {
    /// `earlier`: what earlier relays of the same log have passed.
    pub(crate) fn new(plans: Vec<Plan>, earlier: &[u8]) -> Self {
        let plans = plans.into_iter().map(|plan| (plan, 0)).collect();
        let mut trigger = Trigger { plans, waiting: Vec::new() };
        for line in earlier.split(|&byte| byte == b'\n') {
            trigger.request(line);
        }
        trigger.waiting.clear();
        trigger
    }

    /// The fault of this line of the client, if it is a request meant: the first that was planned.
    pub(crate) fn request(&mut self, line: &[u8]) -> Option<Fault> {
        if self.plans.is_empty() {
            return None;
        }
        let head: Head = serde_json::from_slice(line).ok()?;
        let mut fault = None;
        for (plan, seen) in &mut self.plans {
            if head.method.as_deref() != Some(&plan.method) {
                continue;
            }
            *seen += 1;
            if plan.nth == Nth::Every || plan.nth == Nth::Only(*seen) {
                fault = fault.or(Some(plan.fault));
            }
        }
        self.waiting.extend(head.id.zip(fault));
        fault
    }

    /// The fault of this line of the server, if it is the answer to a request meant.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Option<Fault> {
        if self.waiting.is_empty() {
            return None;
        }
        let head: Head = serde_json::from_slice(line).ok()?;
        if head.method.is_some() {
            return None;
        }
        let id = head.id?;
        let at = self.waiting.iter().position(|(waiting, _)| *waiting == id)?;
        Some(self.waiting.swap_remove(at).1)
    }
}

/// The first `bytes` of the line; if negative, all but the last so many.
pub(crate) fn cut(line: &[u8], bytes: isize) -> &[u8] {
    let keep = if bytes < 0 {
        line.len().saturating_sub(bytes.unsigned_abs())
    } else {
        line.len().min(bytes.unsigned_abs())
    };
    &line[..keep]
}
