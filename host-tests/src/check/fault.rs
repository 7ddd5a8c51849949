//! What can go wrong at one operation of the transport.

use std::fmt;
use std::time::Duration;

use super::refusal::Status;
use crate::{Failure, FailureKind};

/// One fault, of one kind of operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Of opening a connection.
    Connect(ConnectFault),
    /// Of handing a message over.
    Send(SendFault),
    /// Of the answer to a request.
    Answer(AnswerFault),
}

/// How opening a connection goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectFault {
    /// It fails at once.
    Fails(FailureKind),
    /// It fails after a while.
    FailsLate(FailureKind),
    /// It takes a while.
    Slow,
    /// It never ends.
    Hangs,
    /// It succeeds, and the connection is lost at once.
    LostAtOnce,
    /// It succeeds, and the peer ends the connection at once.
    EndsAtOnce,
}

/// How handing a message over goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendFault {
    /// Not one byte left.
    NotSent(FailureKind),
    /// The same, and the connection is lost with it.
    NotSentAndLost,
    /// Not one byte left, which is told after a while only.
    NotSentLate,
    /// A byte of the text at least was withheld.
    Truncated(FailureKind),
    /// The peer refuses it.
    Refused(Status),
    /// Something of an answer comes, then the peer refuses it.
    RefusedAfterProgress,
    /// Nobody can say whether it arrived.
    Unknown {
        /// The transport's word.
        kind: FailureKind,
        /// It did arrive.
        executed: bool,
    },
    /// The same, it arrived, and the connection is lost with it.
    UnknownAndLost,
    /// The same, and it arrives much later.
    UnknownPostponed,
    /// The answer comes first, then the transport fails.
    UnknownAfterAnswer,
    /// The transport never returns.
    Hangs {
        /// The message arrives all the same.
        executed: bool,
        /// And is answered.
        answered: bool,
    },
    /// The transport returns well, after a while; the answer may come before.
    ReturnsLate,
    /// The transport returns well, and the peer has confirmed that it has the message.
    Accepted,
    /// The transport returns well, and the message arrives nowhere.
    Nowhere {
        /// The peer has confirmed that it has it.
        accepted: bool,
    },
    /// The transport returns well, and the message arrives much later, whatever became of the connection.
    Postponed,
    /// The transport delivers it twice: its own fault.
    Twice,
    /// The transport delivers it twice, and says so.
    Duplicated,
}

/// How the answer to a request goes wrong. The request was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// The connection is lost.
    Lost(FailureKind),
    /// The peer ends the connection.
    End,
    /// The answer comes, and the connection is lost behind it.
    ThenLost,
    /// The answer comes, and the peer ends the connection behind it.
    ThenEnd,
    /// The transport says that this answer will not come.
    AnswerLost,
    /// Something of the answer comes, then the transport says that the rest will not.
    ProgressThenLost,
    /// Nothing comes.
    Silence,
    /// The answer comes much later.
    Late,
    /// The connection is lost, and the answer comes on the next one.
    OnNextConnection,
    /// It comes twice.
    Twice,
    /// It comes twice, and says something else the second time.
    TwiceDifferent,
    /// This line comes before it.
    After(Noise),
    /// Only this line comes.
    Only(Noise),
    /// The answer is cut in the middle.
    Cut,
    /// The answer is cut, and the connection is lost.
    CutAndLost,
    /// The answer bears this instead of the request's id.
    Id(OddId),
    /// On the channel of another request.
    WrongChannel,
    /// It is too large to be kept.
    Oversized(OversizedId),
    /// So many notifications come before it.
    Flood(u32),
    /// It comes in an array, with a notification.
    Batch,
    /// An error of this code.
    Error(i64),
    /// An error whose message names a lost session.
    SessionTerminated,
    /// An error whose `code` is no number.
    UnreadableError,
    /// An error without an id.
    NullIdError,
    /// A result with this oddity.
    Result(OddResult),
}

/// Lines that are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// A line that is no JSON.
    Text,
    /// An empty line.
    Empty,
    /// Bytes that are no UTF-8.
    Bytes,
    /// An empty object.
    Object,
    /// A request of the server's, with the id of ours.
    Request,
    /// Progress of a request that nobody made.
    Progress,
    /// An answer to a request that nobody made.
    Foreign,
    /// A notification that the tools have changed.
    ToolsChanged,
}

/// Ids that are not the request's, or not written as the client wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OddId {
    /// The number as a string: tolerated.
    String,
    /// Another number.
    Wrong,
    /// With a leading zero, as a string.
    Zero,
    /// With a fraction.
    Fraction,
    /// Null.
    Null,
    /// True.
    True,
    /// An object.
    Object,
    /// Nothing.
    Missing,
}

/// Where the ends that are kept of an oversized answer hold the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OversizedId {
    /// In its first bytes.
    Head,
    /// In its last bytes.
    Tail,
    /// Nowhere.
    Lost,
}

/// Results that are odd, and answers all the same; or that ask for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OddResult {
    /// `isError` is true.
    IsError,
    /// `isError` is true, in words that sound like a lost connection.
    IsErrorLost,
    /// `isError` is no boolean.
    IsErrorText,
    /// There is no content.
    NoContent,
    /// A block of an unknown type.
    Hologram,
    /// A structured result that does not fit.
    Structured,
    /// The result is null.
    Null,
    /// It asks for input.
    InputRequired,
}

/// After a while: longer than any tool takes, shorter than any usual deadline.
pub(super) const A_WHILE: Duration = Duration::from_secs(3);

/// Much later: after everything else.
pub(super) const MUCH_LATER: Duration = Duration::from_secs(90);

/// What transports and servers say in their own words. No word of it may change a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Words that say nothing.
    Plain,
    /// Words that sound as if nothing had happened.
    NothingHappened,
    /// Words that sound as if it could be done again.
    TryAgain,
}

impl Words {
    /// The three of them.
    pub const ALL: [Words; 3] = [Words::Plain, Words::NothingHappened, Words::TryAgain];

    /// What is said.
    pub(super) fn text(self) -> &'static str {
        match self {
            Words::Plain => "it went wrong",
            Words::NothingHappened => {
                "connect ECONNREFUSED: connection refused, not sent, tool not found, not executed"
            }
            Words::TryAgain => {
                "Session terminated: session expired, no valid session ID, connection closed, broken pipe, safe to retry"
            }
        }
    }

    /// A failure in these words, with a chain of causes of its own.
    pub(super) fn failure(self, kind: FailureKind, number: usize) -> Failure {
        Failure {
            kind,
            detail: vec![format!("fault {number}"), self.text().to_owned(), "os error 104".to_owned()],
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Connect(fault) => fault.fmt(f),
            Fault::Send(fault) => fault.fmt(f),
            Fault::Answer(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for ConnectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |kind: &FailureKind| crate::verdict::failure_kind(*kind);
        match self {
            ConnectFault::Fails(why) => write!(f, "connect fails: {}", kind(why)),
            ConnectFault::FailsLate(why) => write!(f, "connect fails late: {}", kind(why)),
            ConnectFault::Slow => f.write_str("connect is slow"),
            ConnectFault::Hangs => f.write_str("connect hangs"),
            ConnectFault::LostAtOnce => f.write_str("connected, lost at once"),
            ConnectFault::EndsAtOnce => f.write_str("connected, ended at once"),
        }
    }
}

impl fmt::Display for SendFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |kind: &FailureKind| crate::verdict::failure_kind(*kind);
        let text = match self {
            SendFault::NotSent(why) => return write!(f, "not sent: {}", kind(why)),
            SendFault::Truncated(why) => return write!(f, "truncated: {}", kind(why)),
            SendFault::Refused(status) => return status.fmt(f),
            SendFault::Unknown { kind: why, executed } => {
                let executed = if *executed { "executed" } else { "not executed" };
                return write!(f, "delivery unknown: {}, {executed}", kind(why));
            }
            SendFault::NotSentAndLost => "not sent, connection lost",
            SendFault::NotSentLate => "not sent, told late",
            SendFault::RefusedAfterProgress => "progress, then refused 401",
            SendFault::UnknownAndLost => "delivery unknown, executed, connection lost",
            SendFault::UnknownPostponed => "delivery unknown, executed much later",
            SendFault::UnknownAfterAnswer => "delivery unknown, after the answer",
            SendFault::Hangs { executed: false, .. } => "send never returns, not executed",
            SendFault::Hangs { answered: false, .. } => "send never returns, executed",
            SendFault::Hangs { .. } => "send never returns, answered",
            SendFault::ReturnsLate => "send returns late",
            SendFault::Accepted => "accepted",
            SendFault::Nowhere { accepted: false } => "delivered to nobody",
            SendFault::Nowhere { accepted: true } => "accepted, and nothing happens",
            SendFault::Postponed => "delivered much later",
            SendFault::Twice => "delivered twice",
            SendFault::Duplicated => "delivered twice, and told so",
        };
        f.write_str(text)
    }
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            AnswerFault::Lost(why) => {
                return write!(f, "connection lost: {}", crate::verdict::failure_kind(*why));
            }
            AnswerFault::After(noise) => return write!(f, "{noise} before the answer"),
            AnswerFault::Only(noise) => return write!(f, "{noise} and no answer"),
            AnswerFault::Id(id) => return write!(f, "answer with {id}"),
            AnswerFault::Flood(count) => return write!(f, "{count} notifications before the answer"),
            AnswerFault::Error(code) => return write!(f, "error {code}"),
            AnswerFault::Result(result) => return result.fmt(f),
            AnswerFault::End => "connection ended",
            AnswerFault::ThenLost => "answer, then connection lost",
            AnswerFault::ThenEnd => "answer, then connection ended",
            AnswerFault::AnswerLost => "answer lost",
            AnswerFault::ProgressThenLost => "progress, then answer lost",
            AnswerFault::Silence => "no answer",
            AnswerFault::Late => "answer much later",
            AnswerFault::OnNextConnection => "answer on the next connection",
            AnswerFault::Twice => "answer twice",
            AnswerFault::TwiceDifferent => "two answers that differ",
            AnswerFault::Cut => "answer cut",
            AnswerFault::CutAndLost => "answer cut, connection lost",
            AnswerFault::WrongChannel => "answer on another channel",
            AnswerFault::Oversized(OversizedId::Head) => "answer too large, id first",
            AnswerFault::Oversized(OversizedId::Tail) => "answer too large, id last",
            AnswerFault::Oversized(OversizedId::Lost) => "answer too large, id unknown",
            AnswerFault::Batch => "answer in an array",
            AnswerFault::SessionTerminated => "error: Session terminated",
            AnswerFault::UnreadableError => "error that cannot be read",
            AnswerFault::NullIdError => "error without an id",
        };
        f.write_str(text)
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Noise::Text => "a line of text",
            Noise::Empty => "an empty line",
            Noise::Bytes => "bytes that are no text",
            Noise::Object => "an empty object",
            Noise::Request => "the server's own request of the same id",
            Noise::Progress => "progress of nothing",
            Noise::Foreign => "an answer to nothing",
            Noise::ToolsChanged => "news that the tools changed",
        })
    }
}

impl fmt::Display for OddId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OddId::String => "its id as a string",
            OddId::Wrong => "another id",
            OddId::Zero => "its id and a leading zero",
            OddId::Fraction => "its id and a fraction",
            OddId::Null => "the id null",
            OddId::True => "the id true",
            OddId::Object => "an object as id",
            OddId::Missing => "no id",
        })
    }
}

impl fmt::Display for OddResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OddResult::IsError => "isError",
            OddResult::IsErrorLost => "isError: connection closed",
            OddResult::IsErrorText => "isError that is no boolean",
            OddResult::NoContent => "a result without content",
            OddResult::Hologram => "a block of an unknown type",
            OddResult::Structured => "a structured result",
            OddResult::Null => "the result null",
            OddResult::InputRequired => "input required",
        })
    }
}
