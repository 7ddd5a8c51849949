//! What the server does instead of answering well: rules, made of small steps.

use std::time::Duration;

use super::armed;
use crate::transport::{Delivery, SendError};
use crate::{Failure, FailureKind};

/// When a rule fits, and what is done then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which messages it fits.
    pub when: When,
    /// What is done with them, in this order.
    pub steps: Vec<Step>,
}

impl Rule {
    /// A rule.
    pub fn new(when: When, steps: impl Into<Vec<Step>>) -> Rule {
        Rule { when, steps: steps.into() }
    }
}

/// Which messages a rule fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    /// Those with this method.
    pub method: String,
    /// Of them, those that call this tool; none: all.
    pub tool: Option<String>,
    /// Of those, the nth over all connections, from 1; none: all.
    pub nth: Option<u32>,
}

impl When {
    /// Every message with this method.
    pub fn method(method: &str) -> When {
        When { method: method.to_owned(), tool: None, nth: None }
    }

    /// Every call of this tool.
    pub fn tool(tool: &str) -> When {
        When { tool: Some(tool.to_owned()), ..When::method("tools/call") }
    }

    /// Of those, the nth only, from 1.
    #[must_use]
    pub fn nth(self, nth: u32) -> When {
        When { nth: Some(nth), ..self }
    }

    /// Whether it fits but for its number.
    fn resembles(&self, method: &str, tool: Option<&str>) -> bool {
        self.method == method && self.tool.as_deref().is_none_or(|own| Some(own) == tool)
    }
}

/// One thing that the server does with a message.
///
/// The message's `send` succeeds (`handed-over`) before the first step, unless one of the steps is
/// [`SendOk`](Step::SendOk), [`FailSend`](Step::FailSend) or [`HangSend`](Step::HangSend): then it
/// stays under way until that. Answering twice is two [`Answer`](Step::Answer)s; never answering is
/// none.
///
/// In the texts of `AnswerWith`, `Say`, `SayOn` and `TooLarge`, `$id` stands for the request's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The message's `send` succeeds.
    SendOk(Delivery),
    /// The message's `send` fails.
    FailSend(SendError),
    /// The message's `send` never returns.
    HangSend,
    /// Runs the tool that the message calls: this is where effects come from.
    Execute,
    /// Answers as the server answers of itself.
    Answer,
    /// Answers with this `result`.
    AnswerWith(String),
    /// Answers with a JSON-RPC error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
        /// Its data, a JSON text.
        data: Option<String>,
    },
    /// Says these bytes where an answer would come.
    Say(Vec<u8>),
    /// Says these bytes on a channel.
    SayOn(Channel, Vec<u8>),
    /// Says something too large, of which the transport keeps the ends, where an answer would come.
    TooLarge {
        /// Its first bytes.
        head: Vec<u8>,
        /// Its last bytes, if the transport knows them.
        tail: Vec<u8>,
        /// Its size in bytes, if the transport knows it.
        size: Option<u64>,
    },
    /// The transport reports that this request's answer will not come.
    AnswerLost(Failure),
    /// So many `notifications/message`.
    Notify(u32),
    /// One `notifications/progress` of the call, if it asked for progress.
    Progress(u32),
    /// The server's own request, with this id, a JSON text.
    ServerRequest {
        /// Its id.
        id: String,
        /// Its method.
        method: String,
    },
    /// Waits.
    Sleep(Duration),
    /// The connection is lost. What was said before still arrives.
    Lose(Failure),
    /// The connection ends in order.
    End,
}

impl Step {
    /// [`Step::Say`], from text.
    pub fn say(message: impl Into<Vec<u8>>) -> Step {
        Step::Say(message.into())
    }

    /// [`Step::Error`], without data.
    pub fn error(code: i64, message: impl Into<String>) -> Step {
        Step::Error { code, message: message.into(), data: None }
    }

    /// [`Step::Sleep`], in milliseconds.
    pub fn sleep(ms: u64) -> Step {
        Step::Sleep(Duration::from_millis(ms))
    }

    /// Whether the step decides what becomes of the message's `send`.
    pub(super) fn decides_send(&self) -> bool {
        matches!(self, Step::SendOk(_) | Step::FailSend(_) | Step::HangSend)
    }
}

/// On which channel something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The one that requests share.
    Shared,
    /// The request's own.
    Own,
    /// That of the request with this id.
    Of(u64),
}

/// One thing that happens while a client connects. After the last one, it is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectStep {
    /// It takes a while.
    Sleep(Duration),
    /// It fails.
    Refuse(Failure),
    /// It never ends.
    Hang,
}

/// The connection was closed.
pub fn closed() -> Failure {
    Failure::closed("the peer closed the connection")
}

/// The connection was reset.
pub fn reset() -> Failure {
    Failure::new(FailureKind::ConnectionReset, "the peer reset the connection")
}

/// A rule that counts the messages that it fits.
pub(super) type Armed = armed::Armed<When, Vec<Step>>;

impl From<Rule> for Armed {
    fn from(Rule { when, steps }: Rule) -> Armed {
        let nth = when.nth;
        Armed::new(when, nth, steps)
    }
}

/// The steps of the first rule that fits a message. Counts the message in all rules.
pub(super) fn choose(rules: &mut [Armed], method: &str, tool: Option<&str>) -> Option<Vec<Step>> {
    armed::choose(rules, |when| when.resembles(method, tool))
}
