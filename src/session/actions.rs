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

impl Resolution {
    /// Whether the server answered what was asked of it.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Call(_, verdict) => matches!(verdict, Ok(Outcome::Ok(_) | Outcome::ToolError(_))),
            Self::Read(_, read) => read.is_ok(),
            Self::Reconnect(..) | Self::Reconcile(..) => false,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::verdict::{Cause, ToolResult, UnknownOutcome};
    use super::*;

    #[test]
    fn an_answer_is_what_the_server_said_itself() {
        let (call, ticket) = (CallId(1), Ticket(1));
        let result = || ToolResult { call, attempts: 1, json: String::new(), warnings: Vec::new() };
        let unknown = UnknownOutcome {
            call,
            key: None,
            tool: "pay".to_owned(),
            attempts: 1,
            stage: Stage::HandedOver,
            cause: Cause::TimedOut,
            message: String::new(),
        };
        for (end, is_answer) in [
            (Resolution::Call(call, Ok(Outcome::Ok(result()))), true),
            (Resolution::Call(call, Ok(Outcome::ToolError(result()))), true),
            (Resolution::Call(call, Ok(Outcome::UnknownOutcome(unknown))), false),
            (Resolution::Call(call, Err(NotExecuted::Closed)), false),
            (Resolution::Read(ticket, Ok(Answer::Json(String::new()))), true),
            (Resolution::Read(ticket, Err(ReadError::TimedOut)), false),
            (Resolution::Reconnect(ticket, Err(NotExecuted::Closed)), false),
            (Resolution::Reconcile(ticket, None), false),
        ] {
            assert_eq!(end.is_answer(), is_answer, "{end:?}");
        }
    }
}
