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

/// Follows the requests, and says which line the fault is for.
pub(crate) struct Trigger {
    plan: Option<Plan>,
    seen: usize,
    /// The ids of faulted requests that have no answer yet.
    waiting: Vec<Value>,
}

impl Trigger {
    /// `earlier`: what earlier relays of the same log have passed.
    pub(crate) fn new(plan: Option<Plan>, earlier: &[u8]) -> Self {
        let mut trigger = Trigger { plan, seen: 0, waiting: Vec::new() };
        for line in earlier.split(|&byte| byte == b'\n') {
            trigger.request(line);
        }
        trigger.waiting.clear();
        trigger
    }

    /// The fault of this line of the client, if it is the request meant.
    pub(crate) fn request(&mut self, line: &[u8]) -> Option<Fault> {
        let plan = self.plan.as_ref()?;
        let head: Head = serde_json::from_slice(line).ok()?;
        if head.method.as_deref() != Some(&plan.method) {
            return None;
        }
        self.seen += 1;
        if plan.nth != Nth::Every && plan.nth != Nth::Only(self.seen) {
            return None;
        }
        self.waiting.extend(head.id);
        Some(plan.fault)
    }

    /// The fault of this line of the server, if it is the answer to a request meant.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Option<Fault> {
        let plan = self.plan.as_ref()?;
        let head: Head = serde_json::from_slice(line).ok()?;
        if head.method.is_some() {
            return None;
        }
        let id = head.id?;
        let at = self.waiting.iter().position(|waiting| *waiting == id)?;
        self.waiting.swap_remove(at);
        Some(plan.fault)
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
