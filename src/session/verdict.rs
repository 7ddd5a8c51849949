//! What a call can come to, and why (contract, section 2).

use crate::prelude::*;
use crate::protocol::json::{self, Raw};
use crate::protocol::jsonrpc::{RequestId, decimal};
use crate::table::key;
use crate::text::{cut, text};

use super::evidence::SendError;

/// Names one call for the life of the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

key!(CallId);

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub kind: FailureKind,
    /// For people, outermost first.
    pub detail: Vec<String>,
}

impl Failure {
    /// A failure with one line of detail.
    pub fn new(kind: FailureKind, detail: &str) -> Self {
        Self { kind, detail: vec![detail.to_owned()] }
    }

    /// What it is, in words, with the outermost of those that came with it.
    fn words(&self) -> String {
        let kind = self.kind.words();
        match self.detail.first() {
            Some(detail) => text!("{} ({})", kind, detail),
            None => kind.to_owned(),
        }
    }
}

/// The kinds of failure that a program can tell apart. The WIT documents each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The server's name does not resolve.
    NameNotResolved,
    /// Nobody listens at the address.
    ConnectionRefused,
    /// The process could not be started.
    SpawnFailed,
    /// The TLS handshake failed.
    TlsFailed,
    /// The connection was reset.
    ConnectionReset,
    /// The connection is closed: nothing can be sent on it any more.
    Closed,
    /// Time ran out.
    TimedOut,
    /// Forbidden by policy.
    AccessDenied,
    /// Larger than allowed.
    MessageTooLarge,
    /// Not what the protocol asks for.
    Malformed,
    /// Given up by the caller.
    Cancelled,
    /// A limit of the caller's is reached.
    Busy,
    /// The transport put the message on the wire more than once.
    Duplicated,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// What it is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NameNotResolved => "the server's name does not resolve",
            Self::ConnectionRefused => "the connection was refused",
            Self::SpawnFailed => "the server could not be started",
            Self::TlsFailed => "the TLS handshake failed",
            Self::ConnectionReset => "the connection was reset",
            Self::Closed => "the connection was closed",
            Self::TimedOut => "the transport ran out of time",
            Self::AccessDenied => "access was denied",
            Self::MessageTooLarge => "a message was too large",
            Self::Malformed => "the transport received something malformed",
            Self::Cancelled => "it was cancelled",
            Self::Busy => "a limit was reached",
            Self::Duplicated => "the transport sent the message more than once",
            Self::Other => "the transport failed",
        }
    }
}

/// A refusal that the peer answered the message with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The request carried a session id.
    pub had_session: bool,
    /// When to come again, as the peer says it.
    pub retry_after: Option<String>,
    /// The challenge.
    pub www_authenticate: Option<String>,
    /// What the transport kept of the body.
    pub body: Vec<u8>,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// Its code.
    pub code: i64,
    /// Its message.
    pub message: String,
    /// Its data, verbatim.
    pub data: Option<String>,
}

/// How far a call is known to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not yet given to the transport.
    Waiting,
    /// Given to the transport, which has not returned.
    HandingOver,
    /// Taken by the transport whole.
    HandedOver,
    /// Confirmed by the peer.
    Accepted,
    /// Something of it came back.
    Answering,
    /// An answer came.
    Answered,
}

/// Why an outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The transport failed or the connection was lost.
    Transport(Failure),
    /// The peer refused, which is no proof, or not accepted as one.
    Refused(Refusal),
    /// The server answered with a JSON-RPC error.
    AnsweredWithError(RpcError),
    /// An answer that cannot be read.
    Undecodable(Undecodable),
    /// The server asks for input; its whole result.
    InputRequired(String),
    /// The task that the server made of it was ended; the server's last word on it.
    TaskEnded(String),
    /// The deadline passed.
    TimedOut,
    /// The caller cancelled.
    Cancelled,
    /// The connection was replaced.
    SessionReplaced,
    /// The session was closed.
    Closed,
}

/// An answer that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// What is wrong with it.
    pub reason: String,
    /// Its first bytes.
    pub head: Vec<u8>,
}

/// The tool did not run, and why that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExecuted {
    /// The call itself is wrong.
    InvalidCall(String),
    /// No connection, and the session may not make one.
    NotConnected,
    /// No connection could be made.
    ConnectFailed(Failure),
    /// The handshake did not complete.
    HandshakeFailed(HandshakeFailure),
    /// Not sent, or not whole.
    NotSent(Failure),
    /// The peer refused it.
    Refused(Refusal),
    /// The session is closed.
    Closed,
}

/// A handshake that did not lead to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeFailure {
    /// What went wrong.
    pub reason: String,
    /// The server's error.
    pub error: Option<RpcError>,
    /// The transport's failure.
    pub failure: Option<Failure>,
    /// The peer's refusal of the request.
    pub refusal: Option<Refusal>,
}

impl HandshakeFailure {
    /// One of which there is no more to say than this.
    pub fn new(reason: &str) -> Self {
        Self { reason: reason.to_owned(), error: None, failure: None, refusal: None }
    }

    /// One that the transport's failure caused.
    pub(super) fn by(failure: Failure, reason: &str) -> Self {
        Self { failure: Some(failure), ..Self::new(reason) }
    }

    /// One whose message could not be sent, or was refused.
    pub(super) fn of_send(error: SendError) -> Self {
        match error {
            SendError::NotSent(failure) | SendError::Truncated(failure) | SendError::Unknown(failure) => {
                Self::by(failure, "its message could not be sent")
            }
            SendError::Refused(refusal) => {
                let reason = text!("its message was refused with status {}", refusal.status);
                Self { refusal: Some(refusal), ..Self::new(&reason) }
            }
        }
    }
}

/// A server's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call.
    pub call: CallId,
    /// How often it was handed over.
    pub attempts: u32,
    /// The `result`, verbatim.
    pub json: String,
    /// What is odd about it.
    pub warnings: Vec<String>,
}

/// A call of which nobody here can say whether it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOutcome {
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
    /// What ended the wait.
    pub cause: Cause,
    /// A sentence for a model or a person.
    pub message: String,
}

/// What became of a call that may have reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered, no error of the tool's.
    Ok(ToolResult),
    /// Answered with `isError: true`.
    ToolError(ToolResult),
    /// Nobody can say.
    UnknownOutcome(UnknownOutcome),
}

/// A call's one verdict.
pub type Verdict = Result<Outcome, NotExecuted>;

/// Why a read brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The read itself is wrong.
    InvalidRead(String),
    /// No connection, and the session may not make one.
    NotConnected,
    /// No connection could be made.
    ConnectFailed(Failure),
    /// The handshake did not complete.
    HandshakeFailed(HandshakeFailure),
    /// The transport failed or the connection was lost.
    Transport(Failure),
    /// The peer refused.
    Refused(Refusal),
    /// The server answered with a JSON-RPC error.
    AnsweredWithError(RpcError),
    /// An answer that cannot be read.
    Undecodable(Undecodable),
    /// The server asks for input; its whole result.
    InputRequired(String),
    /// The pages do not end.
    Endless(String),
    /// Time ran out.
    TimedOut,
    /// The session is closed.
    Closed,
}

impl UnknownOutcome {
    /// Its sentence: what may have happened, what was not done, what to do.
    pub(super) fn message(tool: &str, attempts: u32, cause: &Cause) -> String {
        let attempts = match attempts {
            1 => "Nothing was sent again".to_owned(),
            n => text!(
                "It was sent {} times, as the caller's policy or the server asked, and not again after that",
                n
            ),
        };
        let cause = cause.words();
        text!(
            "The tool `{}` may have run: {}. {}. Check the state before calling it again.",
            tool,
            &cause,
            &attempts
        )
    }

    /// A copy that keeps no more than so many bytes of what the peer and the transport said.
    pub(super) fn trimmed(&self, bytes: usize) -> Self {
        let mut copy = self.clone();
        match &mut copy.cause {
            Cause::AnsweredWithError(error) => {
                error.data = error.data.take().filter(|data| data.len() <= bytes);
                error.message = cut(&error.message, bytes).to_owned();
            }
            Cause::InputRequired(json) | Cause::TaskEnded(json) if json.len() > bytes => json.clear(),
            Cause::Refused(refusal) => refusal.body.truncate(bytes),
            // The outermost words, as far as they fit.
            Cause::Transport(failure) => {
                let mut left = bytes;
                let fits = failure.detail.iter().take_while(|text| {
                    let fits = text.len() <= left;
                    left = left.saturating_sub(text.len());
                    fits
                });
                let fits = fits.count();
                failure.detail.truncate(fits);
            }
            _ => {}
        }
        copy
    }
}

impl Cause {
    /// What it is, in the middle of a sentence.
    fn words(&self) -> String {
        let words = match self {
            Self::Transport(failure) => return text!("{} before an answer arrived", &failure.words()),
            Self::Refused(refusal) => {
                return text!("its request was refused with status {}, which proves nothing", refusal.status);
            }
            Self::AnsweredWithError(error) => {
                return text!(
                    "the server answered with the error {}, which says nothing about effects",
                    error.code
                );
            }
            Self::Undecodable(undecodable) => {
                return text!("its answer cannot be read ({})", &undecodable.reason);
            }
            Self::InputRequired(_) => "the server suspended it and asks for input",
            Self::TaskEnded(_) => "the server ended the task that it had made of it",
            Self::TimedOut => "no answer arrived in time",
            Self::Cancelled => "it was cancelled after it had been handed over",
            Self::SessionReplaced => "its connection was replaced before an answer arrived",
            Self::Closed => "the session was closed before an answer arrived",
        };
        words.to_owned()
    }
}

impl RpcError {
    /// What an error object says, in words.
    pub(super) fn words(error: Raw<'_>) -> String {
        match Self::read(error) {
            Some(error) => text!("the server answered with the error {}: {}", error.code, &error.message),
            None => "the server answered with an error that cannot be read".to_owned(),
        }
    }

    /// Reads an error object; `None` if it is none.
    pub(super) fn read(error: Raw<'_>) -> Option<Self> {
        let (mut code, mut message, mut data) = (None, None, None);
        let object = json::members(error.get(), &mut |name, value| match name {
            "code" => code = integer(value.get()),
            // A message that is no string is kept as it stands, rather than lost.
            "message" => message = Some(json::string(value).unwrap_or_else(|| value.get().to_owned())),
            "data" => data = Some(value.get().to_owned()),
            _ => {}
        });
        object.ok()?;
        Some(Self { code: code?, message: message.unwrap_or_default(), data })
    }
}

/// A whole number as JSON writes it.
fn integer(json: &str) -> Option<i64> {
    match json.strip_prefix('-') {
        Some(size) => 0_i64.checked_sub_unsigned(decimal(size)?.0),
        None => i64::try_from(decimal(json)?.0).ok(),
    }
}

impl Undecodable {
    /// Keeps no more than `limit` of the bytes.
    pub(super) fn new(reason: String, bytes: &[u8], limit: usize) -> Self {
        Self { reason, head: bytes[..bytes.len().min(limit)].to_vec() }
    }
}

/// The connection that something belongs to, counted from one. A session's connections rise strictly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

key!(Generation);

/// An attempt: the id under which a call, or a read, was handed over, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its connection.
    pub generation: Generation,
    /// Its id there.
    pub request: RequestId,
}
