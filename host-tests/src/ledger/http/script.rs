//! What the server does instead of answering well: rules, made of small steps.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::armed;
use super::reply::{Event, Form, LineEnd, Pieces, Reply};

/// When a rule fits, and what is done then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which requests it fits.
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

/// Which requests a rule fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    /// Those with this HTTP method.
    pub http: String,
    /// Of them, those whose message has this JSON-RPC method; none: all.
    pub method: Option<String>,
    /// Of them, those that call this tool; none: all.
    pub tool: Option<String>,
    /// Of them, the one with this JSON-RPC id, a number; none: all.
    pub id: Option<u64>,
    /// Of those, the nth over all connections, from 1; none: all.
    pub nth: Option<u32>,
}

impl When {
    /// Every request with this HTTP method.
    pub fn http(method: &str) -> When {
        When { http: method.to_owned(), method: None, tool: None, id: None, nth: None }
    }

    /// Every message with this JSON-RPC method.
    pub fn method(method: &str) -> When {
        When { method: Some(method.to_owned()), ..When::http("POST") }
    }

    /// Every call of this tool.
    pub fn tool(tool: &str) -> When {
        When { tool: Some(tool.to_owned()), ..When::method("tools/call") }
    }

    /// The request with this JSON-RPC id.
    pub fn id(id: u64) -> When {
        When { id: Some(id), ..When::http("POST") }
    }

    /// Of those, the nth only, from 1.
    #[must_use]
    pub fn nth(self, nth: u32) -> When {
        When { nth: Some(nth), ..self }
    }

    /// Whether it asks for more than an HTTP method.
    pub(super) fn reads_message(&self) -> bool {
        self.method.is_some() || self.tool.is_some() || self.id.is_some()
    }

    /// Whether it fits but for its number.
    fn resembles(&self, looks: &Looks<'_>) -> bool {
        let fits = |wanted: &Option<String>, is| wanted.is_none() || wanted.as_deref() == is;
        self.http == looks.http
            && fits(&self.method, looks.method)
            && fits(&self.tool, looks.tool)
            && (self.id.is_none() || self.id == looks.id)
    }
}

/// What a request looks like.
#[derive(Clone, Copy, Default)]
pub(crate) struct Looks<'a> {
    pub(crate) http: &'a str,
    pub(crate) method: Option<&'a str>,
    pub(crate) tool: Option<&'a str>,
    pub(crate) id: Option<u64>,
}

/// One thing that the server does with a request.
///
/// What a step says is written at once. The response begins with the first step that says something; after
/// the last step it is ended in order, if it has begun. If nothing was said, a notification gets 202, and a
/// request gets nothing, for as long as the client waits.
///
/// Once the connection has ended, by [`End`](Step::End) or [`Limit`](Step::Limit), or the response by
/// [`Finish`](Step::Finish), the steps that are left are done all the same. What they say waits in the event
/// store, if the server keeps one.
///
/// In the texts of `AnswerWith`, `Say`, `SayShared`, `Body`, `Event`, `Torn` and `Raw`, `$id` stands for the
/// request's id, and `$answer` for the answer that the server gives of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Runs the tool that the message calls: this is where effects come from.
    Execute,
    /// Answers as the server answers of itself.
    Answer,
    /// Answers with this `result`.
    AnswerWith(String),
    /// Answers with a JSON-RPC error, and status 200.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
        /// Its data, a JSON text.
        data: Option<String>,
    },
    /// Says this where an answer would come, as one message.
    Say(Vec<u8>),
    /// Says this on the stream that all requests of the session share.
    SayShared(Vec<u8>),
    /// So many `notifications/message`, as events of the response.
    Notify(u32),
    /// One `notifications/progress` of the call, as an event, if it asked for progress.
    Progress(u32),
    /// The server's own request, with this id, a JSON text, as an event.
    ServerRequest {
        /// Its id.
        id: String,
        /// Its method.
        method: String,
    },
    /// Waits.
    Sleep(Duration),

    /// In this form from here on.
    As(Form),
    /// With these line ends in events from here on.
    LineEnds(LineEnd),
    /// The body in these pieces, from its first byte.
    Pieces(Pieces),
    /// Of the whole response, status line included, only so many bytes leave; then the connection ends.
    Limit(u64, End),

    /// Begins an event stream: the head, and what the server says at the beginning of a stream.
    Open,
    /// A whole response.
    Respond(Reply),
    /// The head of a response, without its body, which is to come in chunks.
    Head(Reply),
    /// Some of the body, verbatim.
    Body(Vec<u8>),
    /// An event, which is in no event store.
    Event(Event),
    /// A chunk that says that it is one byte longer than it is.
    Torn(Vec<u8>),
    /// Bytes on the connection, verbatim: the server frames nothing.
    Raw(Vec<u8>),
    /// Ends the response in order.
    Finish,
    /// Ends the connection, whatever the response still lacks.
    End(End),
    /// Ends the streams that requests share, of all sessions.
    EndShared(End),
    /// Does what the server does of itself, to a GET: tells what is in the event store and then what comes.
    Follow,
}

impl Step {
    /// [`Step::Say`], from text.
    pub fn say(message: impl Into<Vec<u8>>) -> Step {
        Step::Say(message.into())
    }

    /// [`Step::Body`], from text.
    pub fn body(bytes: impl Into<Vec<u8>>) -> Step {
        Step::Body(bytes.into())
    }

    /// [`Step::Raw`], from text.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Step {
        Step::Raw(bytes.into())
    }

    /// [`Step::Error`], without data.
    pub fn error(code: i64, message: impl Into<String>) -> Step {
        Step::Error { code, message: message.into(), data: None }
    }

    /// [`Step::Sleep`], in milliseconds.
    pub fn sleep(ms: u64) -> Step {
        Step::Sleep(Duration::from_millis(ms))
    }

    /// [`Step::Respond`], to a status without a body.
    pub fn status(status: u16) -> Step {
        Step::Respond(Reply::status(status))
    }

    /// The head of an event stream whose events are written by hand.
    pub fn stream() -> Step {
        Step::Head(Reply::events())
    }

    /// Whether it needs a response that is an event stream.
    pub(super) fn needs_events(&self) -> bool {
        matches!(
            self,
            Step::Notify(_) | Step::Progress(_) | Step::ServerRequest { .. } | Step::Open | Step::Event(_)
        )
    }

    /// Whether it decides what becomes of the response to a message whose answer comes elsewhere.
    pub(super) fn decides_response(&self) -> bool {
        matches!(
            self,
            Step::Respond(_) | Step::Head(_) | Step::Raw(_) | Step::End(_) | Step::Limit(..) | Step::Open
        )
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// In order: nothing more is written, and what comes is read in vain until the client closes too.
    Close,
    /// By a reset.
    Reset,
    /// Not at all: it stays open, and nothing is written or read.
    Hang,
}

/// What becomes of a request that is not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intake {
    pub(super) most: Most,
    pub(super) then: After,
}

/// How much is read of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Most {
    Bytes(u64),
    Head,
    Body(u64),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    End(End),
    Reply(Reply),
}

impl Intake {
    /// So many bytes are read, from the request's first, and the connection ends.
    pub fn bytes(bytes: u64, end: End) -> Intake {
        Intake { most: Most::Bytes(bytes), then: After::End(end) }
    }

    /// The head is read, and the connection ends. What came with the head in one packet counts as not read.
    pub fn head(end: End) -> Intake {
        Intake { most: Most::Head, then: After::End(end) }
    }

    /// The head is read and so many bytes behind it, and the connection ends.
    pub fn body(bytes: u64, end: End) -> Intake {
        Intake { most: Most::Body(bytes), then: After::End(end) }
    }

    /// The head is read; then this is said, and the connection closed.
    pub fn refuse(reply: Reply) -> Intake {
        Intake { most: Most::Head, then: After::Reply(reply) }
    }
}

/// What is done when a request fits, with a count of those that do.
pub(crate) type Armed<T> = armed::Armed<When, T>;

/// Does this with the requests that fit.
pub(crate) fn arm<T>(when: When, what: T) -> Armed<T> {
    let nth = when.nth;
    Armed::new(when, nth, what)
}

/// What to do with a request: the first that fits. Counts the request in all.
pub(crate) fn choose<T: Clone>(armed: &mut [Armed<T>], looks: Looks<'_>) -> Option<T> {
    armed::choose(armed, |when| when.resembles(&looks))
}
