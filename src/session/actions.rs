//! What a session asks for, and what it is told: the words between it and its shell.

use crate::prelude::*;
use crate::protocol::handshake::Server;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::message::Outgoing;

use super::Ticket;
use super::interaction::{AskId, Question};
use super::reads::Answer;
use super::verdict::{CallId, Failure, Generation, NotExecuted, Outcome, ReadError, Stage, Verdict};

/// What is to be done. Each is given out once.
#[derive(Debug)]
pub enum Action {
    /// Open a connection; tell [`connected`](super::Session::connected).
    Connect {
        /// Its number.
        generation: Generation,
    },
    /// Send a message; tell [`sent`](super::Session::sent).
    Send {
        /// The call whose message it is; none for the session's own.
        call: Option<CallId>,
        /// To be handed back with the result.
        receipt: Receipt,
        /// The message.
        message: Outgoing,
    },
    /// Stop waiting for an answer.
    Abandon {
        /// On this connection.
        generation: Generation,
        /// To this request.
        request: RequestId,
    },
    /// Let a connection go, also one that is still being opened.
    Disconnect {
        /// Its number.
        generation: Generation,
        /// Whether to end it in order first.
        orderly: bool,
    },
    /// Tell a caller.
    Resolve(Resolution),
    /// Ask the host; tell [`answered`](super::Session::answered).
    Ask {
        /// To be handed back with the answer.
        asked: AskId,
        /// The question.
        question: Question,
    },
    /// Stop asking: nobody waits for the answer any more.
    Withdraw {
        /// Which question.
        asked: AskId,
    },
}

/// Which message a `send` was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The connection it was sent on.
    pub generation: Generation,
    /// What it was.
    pub what: What,
}

/// The kinds of message that a session sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A request: a call, a read or the handshake's.
    Request(RequestId),
    /// The notification that ends the handshake.
    Initialized,
    /// An answer to the server, or a cancel.
    Control,
}

/// The end of something that a caller waits for.
#[derive(Debug, PartialEq, Eq)]
pub enum Resolution {
    /// A call's verdict: the only one.
    Call(CallId, Verdict),
    /// The end of a `reconnect`.
    Reconnect(Ticket, Result<Server, NotExecuted>),
    /// The end of a `read`.
    Read(Ticket, Result<Answer, ReadError>),
    /// The end of a `reconcile`; `None`: nothing is known of the call.
    Reconcile(Ticket, Option<Outcome>),
}

/// How far a sent message is known to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Passed on whole.
    HandedOver,
    /// Confirmed by the peer.
    Accepted,
}

/// What a transport received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// One message.
    Message {
        /// Its bytes.
        bytes: Vec<u8>,
        /// The request on whose own channel it came.
        channel: Option<RequestId>,
    },
    /// A message that was too large to keep.
    TooLarge {
        /// Its first bytes.
        head: Vec<u8>,
        /// Its last bytes.
        tail: Vec<u8>,
        /// Its size.
        size: Option<u64>,
        /// The request on whose own channel it came.
        channel: Option<RequestId>,
    },
    /// An answer that will not come.
    AnswerLost(RequestId, Failure),
    /// The peer closed in order.
    End,
}

/// A call whose outcome is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCall {
    /// The call.
    pub call: CallId,
    /// The caller's name for it.
    pub key: Option<String>,
    /// The tool.
    pub tool: String,
    /// How often it was handed over.
    pub attempts: u32,
    /// How far it is known to have come.
    pub stage: Stage,
    /// Whether it has ended as unknown.
    pub ended: bool,
}
