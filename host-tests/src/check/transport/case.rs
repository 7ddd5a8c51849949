//! One case: what a peer does, and what the check does with the connection to it meanwhile.

use super::script::{Act, Script};
use super::text::Text;

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name: what the peer does, what is sent or said, and when.
    pub name: String,
    /// What the peer does.
    pub script: Script,
    /// What the check does. Last of all it drops the connection, whatever they are.
    pub moves: Vec<Move>,
    /// Whether it must run by itself, since it weighs this process.
    pub(super) alone: bool,
}

/// Something that the check does with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Sends a request, and goes on.
    Send(Text),
    /// Calls `send`, and drops its future before it ever ran.
    Disown(Text),
    /// Drops the future of every `send` that is under way.
    GiveUp,
    /// Waits for every `send` that is under way.
    Settle,
    /// Receives until so much came in all, or the end.
    Receive(u64),
    /// Receives until the end, and once more.
    Drain,
    /// Receives until the end, and goes on.
    Listen,
    /// Begins to receive, and drops the future after so many milliseconds, so many times.
    Peek(u64, u32),
    /// Waits until the peer came so far.
    Watch(Sign),
    /// Waits until the peer has said all, or does not come on with it.
    Stall,
    /// Takes the weight of this process, for the next time.
    Weigh,
    /// Stops waiting for the answer to this request.
    Abandon(u64),
    /// Does nothing for so many milliseconds.
    Pause(u64),
    /// Closes the connection.
    Close,
    /// Drops the connection.
    Drop,
}

/// How far a peer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It reads nothing any more.
    StoppedReading,
    /// It writes nothing any more.
    StoppedWriting,
    /// It is about to exit.
    Exits,
    /// It is gone, and whatever it left behind.
    Gone,
}

impl Case {
    pub(super) fn new(
        name: impl Into<String>,
        script: impl Into<Vec<Act>>,
        moves: impl Into<Vec<Move>>,
    ) -> Case {
        Case { name: name.into(), script: Script(script.into()), moves: moves.into(), alone: false }
    }
}
