//! One call, from the caller's hand to its verdict. The types carry the contract:
//!
//! - A [`Ready`] call has a message to send. [`Ready::hand_over`] consumes it: what remains is
//!   [`HandedOver`], which has none.
//! - A call comes back from there only by [`HandedOver::retry`], which consumes a [`Permit`]: proof
//!   that the attempt did not run, or a grant of the caller's.
//! - Or by [`HandedOver::go_on`], which consumes what the server [`Asked`] for in its answer to that attempt.
//! - Or, once what the server asked for is gathered, by [`Suspended::go_on`], which consumes all of it.
//! - [`Doubt`], once there, stays: an attempt that may have run is never forgotten (promise P3).

use core::time::Duration;

use crate::host::Hosted;
use crate::prelude::*;
use crate::protocol::json::{self, Object, Raw};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message::{self, Dialect, Invocation, Outgoing};

use crate::text::text;

use super::inputs::Inputs;
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
    /// Whether its caller asked for progress.
    pub progress: bool,
    /// Whether its caller asked for a task.
    pub task: bool,
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
    /// Why an earlier attempt did not run.
    pub refuted: Option<NotExecuted>,
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
    /// Answered by a question, whose answer it waits for.
    Suspended(Suspended),
    /// Between two states, within one function.
    Moving,
}

/// A call that was not handed over, or whose last attempt is known not to have run or may be repeated.
#[derive(Debug)]
pub struct Ready(Box<Invocation>);

/// A call that may have been delivered.
#[derive(Debug)]
pub struct HandedOver {
    /// Its attempt.
    pub attempt: Attempt,
    /// How far it is known to have come.
    pub stage: Stage,
    /// What a permit would bring back; dropped as soon as no permit can come.
    kept: Option<Box<Invocation>>,
    /// Whether it asked to be run as a task, and the task's id once that is known.
    task: Task,
    /// Whether its task is being asked for, over and over.
    pub poll: Poll,
}

/// Where asking for a task, over and over, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Nowhere.
    No,
    /// It is due then; no question is out.
    Due(Instant),
    /// The question is out.
    Out,
}

/// A call that the server suspended until it has what it asked for. Before that there is nothing to send.
#[derive(Debug)]
pub struct Suspended(Hosted<(Box<Invocation>, Inputs)>);

/// What is known of the task that a call may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// None was asked for.
    No,
    /// The server may make it one.
    Asked,
    /// It is one, of this id: its result can be asked for, over and over.
    Known(String),
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
        Self(Box::new(invocation))
    }

    /// Gives the message away. From here on the call may have run.
    pub fn hand_over(
        self,
        attempt: Attempt,
        dialect: Dialect<'_>,
        tool: Option<&str>,
        keep: bool,
    ) -> (Outgoing, HandedOver) {
        let message = message::tools_call(attempt.request, &self.0, dialect, tool);
        let has_tasks = dialect.revision.has_tasks() || dialect.revision.is_modern();
        let task = if self.0.task.is_some() && has_tasks { Task::Asked } else { Task::No };
        let kept = keep.then_some(self.0);
        (message, HandedOver { attempt, stage: Stage::HandingOver, kept, task, poll: Poll::No })
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

    /// The server runs the call as a task, whose result is asked for by other requests. The call itself
    /// is never sent again.
    pub fn became_task(&mut self, id: String) {
        self.reached(Stage::Answering);
        self.settle();
        self.task = Task::Known(id);
    }

    /// What is known of its task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task, if it became one, has no result that would settle the call. That it is one may still be told.
    pub fn task_ended(&mut self) {
        if let Task::Known(_) = self.task {
            self.task = Task::No;
        }
    }

    /// Whether an answer to it may be the news that it is a task.
    pub fn may_become_task(&self) -> bool {
        self.task == Task::Asked
    }

    /// Whether something of an answer came back.
    pub fn heard(&self) -> bool {
        self.stage >= Stage::Answering
    }

    /// Makes the call ready to go on as the server asked; as it is if nothing was kept of it. The next attempt
    /// is no replay: the server answered this one, and asked for just that.
    pub fn go_on(mut self, asked: Asked) -> Result<Ready, Self> {
        match self.kept.take() {
            Some(mut invocation) => {
                invocation.continuation = Some(asked.0);
                Ok(Ready(invocation))
            }
            None => Err(self),
        }
    }

    /// Suspends the call, as the server did; leaves it as it is if nothing was kept of it.
    pub(super) fn suspend(mut self, inputs: Inputs) -> Result<Suspended, Self> {
        let kept = self.kept.take();
        let suspended = kept.and_then(|invocation| Hosted::new(|| (invocation, inputs)));
        suspended.map(Suspended).ok_or(self)
    }

    /// Makes the call ready again, for one more attempt; as it is if nothing was kept for one.
    pub fn retry(mut self, _spent: Permit) -> Result<Ready, Self> {
        self.kept.take().map(Ready).ok_or(self)
    }
}

impl Suspended {
    /// What it waits for.
    pub(super) fn inputs(&mut self) -> &mut Inputs {
        &mut self.0.1
    }

    /// Makes the call ready to go on with what the server asked for; as it is if something of that is missing.
    /// As with [`HandedOver::go_on`], the next attempt is no replay.
    pub fn go_on(self) -> Result<Ready, Self> {
        let Some(continuation) = self.0.1.continuation() else {
            return Err(self);
        };
        let (mut invocation, _) = self.0.into_inner();
        invocation.continuation = Some(continuation);
        Ok(Ready(invocation))
    }
}

/// What a server that suspended a call asks for: the state that it gave, and nothing else. It is read from
/// the answer to an attempt, and used once.
#[derive(Debug)]
pub struct Asked(Object);

impl Asked {
    /// What goes back.
    pub fn into_object(self) -> Object {
        self.0
    }

    /// Reads a result that asks for input; none if it asks for what a caller must give.
    pub fn read(result: Raw<'_>) -> Option<Self> {
        let (mut state, mut requests) = (None, false);
        let object = json::members(result.get(), &mut |name, value| match name {
            "requestState" if value.get().starts_with('"') => state = Some(value.get()),
            "inputRequests" => requests |= !matches!(value.get(), "null" | "{}"),
            _ => {}
        });
        object.ok()?;
        let state = state.filter(|_| !requests)?;
        // The state goes back as it stands, whatever is in it.
        Some(Self(Object::new(text!("{}\"requestState\":{}{}", "{", state, "}"))))
    }
}

impl Call {
    /// Whether its next message continues what the server suspended, or its last one did.
    pub fn is_continuation(&self) -> bool {
        let invocation = match &self.state {
            State::Ready(ready) => Some(&ready.0),
            State::HandedOver(handed_over) => handed_over.kept.as_ref(),
            State::Suspended(_) | State::Moving => None,
        };
        invocation.is_some_and(|invocation| invocation.continuation.is_some())
    }

    /// How far the call is known to have come, all attempts taken together.
    pub fn stage(&self) -> Stage {
        let now = match &self.state {
            State::HandedOver(handed_over) => handed_over.stage,
            State::Suspended(_) => Stage::Answered,
            State::Ready(_) | State::Moving => Stage::Waiting,
        };
        self.doubt.as_ref().map_or(now, |doubt| doubt.stage.max(now))
    }

    /// The attempt that is out.
    pub fn attempt(&self) -> Option<Attempt> {
        match &self.state {
            State::HandedOver(handed_over) => Some(handed_over.attempt),
            State::Ready(_) | State::Suspended(_) | State::Moving => None,
        }
    }

    /// What is known of its task.
    pub fn task(&self) -> Task {
        match &self.state {
            State::HandedOver(handed_over) => handed_over.task.clone(),
            State::Ready(_) | State::Suspended(_) | State::Moving => Task::No,
        }
    }

    /// Where asking for its task is.
    pub fn poll(&self) -> Poll {
        match &self.state {
            State::HandedOver(handed_over) => handed_over.poll,
            State::Ready(_) | State::Suspended(_) | State::Moving => Poll::No,
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
            (Ending::GivenUp(_, reason), None) if stage == Stage::Waiting => {
                return Err(given_up(self.refuted, reason));
            }
            (Ending::GivenUp(cause, _), _) => (stage, cause),
        };
        let Self { id, key, tool, attempts, .. } = self;
        let message = UnknownOutcome::message(&tool, attempts, &cause);
        let unknown = UnknownOutcome { call: id, key, tool, attempts, stage, cause, message };
        Ok(Outcome::UnknownOutcome(unknown))
    }
}

/// Why a call that waits did not run: what proved it of an earlier attempt, else what ended the wait.
fn given_up(refuted: Option<NotExecuted>, reason: NotExecuted) -> NotExecuted {
    match (refuted, reason) {
        (Some(NotExecuted::NotSent(mut failure)), NotExecuted::NotSent(last)) => {
            failure.detail.extend(last.detail);
            NotExecuted::NotSent(failure)
        }
        (Some(refuted), _) => refuted,
        (None, reason) => reason,
    }
}
