//! What happened in a run: one record of the caller, the wire and the server, in order.

use std::time::Duration;

use super::refusal::Grade;
use super::schedule::Call;
use crate::transport::{Delivery, SendError};
use crate::{ClientError, Event, Failure, NotExecuted, Outcome, PendingCall, ReadError, RpcError, Server};

/// Something that happened, and when.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Since the run began, in virtual time.
    pub(super) at: Duration,
    pub(super) moment: Moment,
}

/// A message, by its place among those handed over.
pub(super) type MessageIndex = usize;

/// A call's verdict, as the component gave it.
pub(super) type Verdict = Result<Outcome, NotExecuted>;

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Moment {
    /// The caller called.
    Called(Call),
    /// A call has its verdict.
    Verdict(u32, Verdict),
    /// The caller cancelled a call.
    Cancelled(u32),
    /// The caller asked to reconnect.
    Reconnecting,
    /// A reconnect ended.
    Reconnected(Result<Server, NotExecuted>),
    /// The caller closes the session.
    Closing,
    /// The session is closed.
    Closed,
    /// The caller asked for the tools.
    Listing,
    /// A list ended: so many tools.
    Listed(Result<usize, ReadError>),
    /// The caller asks what became of a call.
    Reconciling(u32),
    /// What is known of it now.
    Reconciled(u32, Option<Outcome>),
    /// The calls that the session says have no verdict, asked when there were so many moments.
    Pending(usize, Vec<PendingCall>),
    /// The calls that the session says are unknown.
    Unsettled(Vec<PendingCall>),
    /// An event of the session's.
    Event(Event),
    /// Something did not end.
    Hung(String),
    /// The instance is gone.
    Dead(ClientError),

    /// The client asks for a connection.
    Connecting(u32),
    /// It has one.
    Connected(u32),
    /// It gets none.
    ConnectFailed(u32, Failure),
    /// It does not wait for one any more.
    ConnectDropped(u32),
    /// A message was handed over.
    Handed(Message),
    /// Its `send` returned.
    Returned(MessageIndex, Result<Delivery, SendError>, Meaning),
    /// The client does not wait for its `send` any more.
    SendDropped(MessageIndex),
    /// The server executed it.
    Executed(MessageIndex),
    /// The client received something on a connection, on a request's own channel or on the shared one.
    Told(u32, Option<u64>, Told),
    /// The client abandoned a request.
    Abandoned(u32, u64),
    /// The client ended a connection in order.
    Ended(u32),
    /// The client let a connection go.
    Dropped(u32),
    /// Something waits on a connection that the client holds, and does not receive.
    Unread(u32),
    /// A fault was met.
    Fault(String),
}

/// A message that the client handed over.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) index: MessageIndex,
    pub(super) connection: u32,
    pub(super) request: Option<u64>,
    pub(super) kind: Kind,
    /// The state with which it continues a call.
    pub(super) state: Option<String>,
    /// What is wrong with it.
    pub(super) wrong: Vec<String>,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The question of what the server speaks.
    Discover,
    Initialize,
    Initialized,
    /// The call of this number.
    Call(u32),
    List,
    /// The question what has become of the task that the call of this number is.
    Task(u32),
    /// The cancel of that task.
    TaskCancel(u32),
    /// The cancel of this request.
    Cancel(u64),
    /// An answer to the server.
    Response,
    /// Anything else.
    Other(String),
}

/// What the end of a `send` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It went well, or nothing follows from how it did not.
    Nothing,
    /// The message was not executed.
    Proof(Grade),
    /// It was answered.
    Answer(Fate),
    /// Nobody can say what became of it.
    Unknown,
}

/// What the client was told on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// What became of a message.
    Of(MessageIndex, Fate),
    /// Something that concerns a message, and does not tell what became of it.
    Sign(MessageIndex),
    /// Something that concerns no message, and what.
    Noise(String),
    /// A request of the server's.
    Request,
    /// The connection is lost.
    Lost(Failure),
    /// The peer ended the connection.
    End,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A result.
    Result { json: String, is_error: bool },
    /// An error.
    Error(RpcError),
    /// A result that asks for input.
    InputRequired(String),
    /// The news that the call is a task, or that its task goes on: nothing is decided.
    Working,
    /// An answer that cannot be read: its first bytes.
    Unreadable(Vec<u8>),
    /// No answer will come.
    AnswerLost(Failure),
}
