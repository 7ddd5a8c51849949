//! A call as its caller gives it: checked, and begun, or refused here and now.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::json::{self, Object};
use crate::protocol::message::{self, Invocation};
use crate::text::{cut, text};

use super::call::{Call, Ready, State};
use super::keys;
use super::link::Link;
use super::policy::Spent;
use super::time::Instant;
use super::verdict::{CallId, Failure, FailureKind, NotExecuted};
use super::{Queued, Session, Timer};

/// What a call is told that had no time to be sent.
pub(super) const TOO_LATE: &str = "the deadline passed before it was sent";

/// One tool invocation, as its caller gives it.
#[derive(Clone, Debug, Default)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The caller's own name for the call.
    pub key: Option<String>,
    /// A JSON object.
    pub arguments: Option<String>,
    /// A JSON object.
    pub meta: Option<String>,
    /// A JSON object: what continues a call that the server suspended.
    pub continuation: Option<String>,
    /// Whether to ask for progress.
    pub progress: bool,
    /// Asks for a task whose result the server keeps for so long.
    pub task: Option<Duration>,
    /// Hard limit on the whole call.
    pub timeout: Option<Duration>,
}

impl Session {
    /// Begins a call. It ends by [`Resolution::Call`](super::Resolution::Call).
    ///
    /// # Errors
    ///
    /// [`NotExecuted`] if it is refused here and now: the session is closed, the call is wrong, a
    /// limit is reached, or there is no connection and none will be made.
    pub fn call(&mut self, now: Instant, call: ToolCall) -> Result<CallId, NotExecuted> {
        if !self.open {
            return Err(NotExecuted::Closed);
        }
        let ToolCall { name, key, arguments, meta, continuation, progress, task, timeout } = call;
        let invocation = Invocation {
            arguments: self.object("arguments", arguments)?,
            meta: self.object("meta", meta)?,
            continuation: self.object("continuation", continuation)?,
            tool: name,
            progress,
            task: task.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
        };
        if let Some(meta) = &invocation.meta {
            if progress && meta.has(&["progressToken"]) {
                let reason = "`meta` has a `progressToken` already: that of `progress` would be a second";
                return Err(NotExecuted::InvalidCall(reason.to_owned()));
            }
            if meta.has(&message::OWN_META) {
                let reason = "`meta` has a member that tells of the client, which is the client's to write";
                return Err(NotExecuted::InvalidCall(reason.to_owned()));
            }
        }
        if invocation.continuation.as_ref().is_some_and(|object| !is_continuation(object)) {
            let reason = "`continuation` holds something else than `inputResponses` and `requestState`";
            return Err(NotExecuted::InvalidCall(reason.to_owned()));
        }
        if key.as_ref().is_some_and(|key| key.len() > keys::LONGEST) {
            let reason = text!("the key is longer than {} bytes", keys::LONGEST);
            return Err(NotExecuted::InvalidCall(reason));
        }
        let timing = &self.options.timing;
        let timeout = timeout.unwrap_or(timing.call);
        let deadline = now + timeout.min(timing.cap);
        if deadline <= now {
            return Err(NotExecuted::NotSent(Failure::new(FailureKind::TimedOut, TOO_LATE)));
        }
        if self.in_flight() >= self.options.limits.in_flight {
            let detail = &text!("{} calls are in flight, as many as may be", self.in_flight());
            return Err(NotExecuted::NotSent(Failure::new(FailureKind::Busy, detail)));
        }
        if matches!(self.link, Link::Up { .. }) && self.lists.lack(&invocation.tool, now) {
            let reason = text!("the server lists no tool `{}`", cut(&invocation.tool, 64));
            return Err(NotExecuted::InvalidCall(reason));
        }
        self.ensure_link(now)?;
        if let Some(key) = &key
            && !self.keys.claim(key)
        {
            return Err(NotExecuted::InvalidCall(text!("the key `{}` is used already", key)));
        }

        let id = self.ids.call();
        self.timers.insert(deadline, Timer::Call(id));
        let call = Call {
            id,
            key,
            tool: invocation.tool.clone(),
            progress,
            task: invocation.task.is_some(),
            begun: now,
            deadline,
            timeout,
            spent: Spent::default(),
            attempts: 0,
            doubt: None,
            refuted: None,
            earlier: Vec::new(),
            state: State::Ready(Ready::new(invocation)),
        };
        self.calls.insert(id, call);
        self.queue.push(Queued::Call(id));
        Ok(id)
    }

    pub(super) fn object(&self, member: &str, text: Option<String>) -> Result<Option<Object>, NotExecuted> {
        let Some(text) = text else { return Ok(None) };
        let limit = self.options.limits.message_bytes;
        if text.len() > limit {
            let reason = text!("`{}` is larger than the {} bytes allowed", member, limit);
            return Err(NotExecuted::InvalidCall(reason));
        }
        match Object::parse(text) {
            Ok(object) => Ok(Some(object)),
            Err(error) => Err(NotExecuted::InvalidCall(text!("`{}`: {}", member, &error.words()))),
        }
    }
}

/// Whether an object says how to continue a call, and nothing else.
fn is_continuation(object: &Object) -> bool {
    let (mut responses, mut states, mut sound) = (false, false, true);
    // It is an object.
    let _ = json::members(object.as_str(), &mut |name, _| {
        let twice = match name {
            "inputResponses" => core::mem::replace(&mut responses, true),
            "requestState" => core::mem::replace(&mut states, true),
            _ => true,
        };
        sound &= !twice;
    });
    sound && (responses || states)
}
