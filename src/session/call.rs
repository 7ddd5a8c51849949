//! One call, from the caller's hand to its verdict. The types carry the contract:
//!
//! - A [`Ready`] call has a message to send. [`Ready::hand_over`] consumes it: what remains is
//!   [`HandedOver`], which has none.
//! - A call comes back from there only by [`HandedOver::retry`], which consumes a [`Permit`]: proof
//!   that the attempt did not run, or a grant of the caller's.
//! - [`Doubt`], once there, stays: an attempt that may have run is never forgotten (promise P3).

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message::{self, Invocation, Outgoing};
use crate::protocol::revision::Revision;

use super::policy::{Permit, Spent};
use super::time::Instant;
use super::verdict::{Attempt, CallId, Cause, NotExecuted, Outcome, Stage, UnknownOutcome, Verdict};

/// A call without a verdict.
#[derive(Debug)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// The caller's name for it.
    pub key: Option<String>,
    /// The tool.
    pub tool: String,
    /// When it began.
    pub begun: Instant,
    /// When its time is up.
    pub deadline: Instant,
    /// How long it may take.
    pub timeout: Duration,
    /// What it used of the caller's policies.
    pub spent: Spent,
    /// How often it was handed over.
    pub attempts: u32,
    /// What an earlier attempt left behind: it may have run.
    pub doubt: Option<Doubt>,
    /// The requests of earlier attempts that may have run: an answer to one of them is an answer.
    pub earlier: Vec<RequestId>,
    /// Where it is.
    pub state: State,
}

/// Where a call is.
#[derive(Debug)]
pub enum State {
    /// Not in anybody's hands: it waits for a connection.
    Ready(Ready),
    /// With the transport, or beyond.
    HandedOver(HandedOver),
    /// Between two states, within one function.
    Moving,
}

/// A call that was not handed over, or whose last attempt is known not to have run or may be repeated.
#[derive(Debug)]
pub struct Ready(Invocation);

/// A call that may have been delivered.
#[derive(Debug)]
pub struct HandedOver {
    /// Its attempt.
    pub attempt: Attempt,
    /// How far it is known to have come.
    pub stage: Stage,
    /// What a permit would bring back; dropped as soon as no permit can come.
    kept: Option<Invocation>,
}

/// An earlier attempt that may have run.
#[derive(Debug)]
pub struct Doubt {
    /// How far it had come.
    pub stage: Stage,
    /// Why its outcome is unknown.
    pub cause: Cause,
}

/// How a call ends.
#[derive(Debug)]
pub enum Ending {
    /// An answer came.
    Answered(Outcome),
    /// Nobody can say whether its last attempt ran.
    Unknown(Cause),
    /// Its last attempt is known not to have run.
    Refuted(NotExecuted),
    /// It is given up: for the cause if an attempt of it may have run, else for the reason.
    GivenUp(Cause, NotExecuted),
}

impl Ready {
    /// A call that nobody has seen yet.
    pub fn new(invocation: Invocation) -> Self {
        Self(invocation)
    }

    /// Gives the message away. From here on the call may have run.
    pub fn hand_over(self, attempt: Attempt, revision: Revision, keep: bool) -> (Outgoing, HandedOver) {
        let message = message::tools_call(attempt.request, &self.0, revision);
        let kept = keep.then_some(self.0);
        (message, HandedOver { attempt, stage: Stage::HandingOver, kept })
    }
}

impl HandedOver {
    /// Notes that the call has come so far. It never goes back.
    pub fn reached(&mut self, stage: Stage) {
        self.stage = self.stage.max(stage);
    }

    /// No permit can come for this attempt any more: what it would bring back is let go.
    pub fn settle(&mut self) {
        self.kept = None;
    }

    /// Whether something of an answer came back.
    pub fn heard(&self) -> bool {
        self.stage >= Stage::Answering
    }

    /// Makes the call ready again, for one more attempt; as it is if nothing was kept for one.
    pub fn retry(mut self, _spent: Permit) -> Result<Ready, Self> {
        self.kept.take().map(Ready).ok_or(self)
    }
}

impl Call {
    /// How far the call is known to have come, all attempts taken together.
    pub fn stage(&self) -> Stage {
        let now = match &self.state {
            State::HandedOver(handed_over) => handed_over.stage,
            State::Ready(_) | State::Moving => Stage::Waiting,
        };
        self.doubt.as_ref().map_or(now, |doubt| doubt.stage.max(now))
    }

    /// The attempt that is out.
    pub fn attempt(&self) -> Option<Attempt> {
        match &self.state {
            State::HandedOver(handed_over) => Some(handed_over.attempt),
            State::Ready(_) | State::Moving => None,
        }
    }

    /// The id that the transport waits under.
    pub fn request(&self) -> Option<RequestId> {
        self.attempt().map(|attempt| attempt.request)
    }

    /// The verdict of a call that ends so.
    pub fn verdict(mut self, ending: Ending) -> Verdict {
        let stage = self.stage();
        let (stage, cause) = match (ending, self.doubt.take()) {
            (Ending::Answered(outcome), _) => return Ok(outcome),
            (Ending::Unknown(cause), _) => (stage, cause),
            (Ending::Refuted(_), Some(doubt)) => (doubt.stage, doubt.cause),
            (Ending::Refuted(reason), None) => return Err(reason),
            // Only an earlier attempt is in doubt, and what ended the call did not concern it.
            (Ending::GivenUp(..), Some(doubt)) if self.attempt().is_none() => (doubt.stage, doubt.cause),
            (Ending::GivenUp(_, reason), None) if stage == Stage::Waiting => return Err(reason),
            (Ending::GivenUp(cause, _), _) => (stage, cause),
        };
        let Self { id, key, tool, attempts, .. } = self;
        let message = UnknownOutcome::message(&tool, attempts, &cause);
        let unknown = UnknownOutcome { call: id, key, tool, attempts, stage, cause, message };
        Ok(Outcome::UnknownOutcome(unknown))
    }
}
