//! How a server over HTTP meets one request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::check::transport::text::{Shape, Text};
use crate::ledger::http::{End, Event, Form, LineEnd, Pieces, Reply, Step};

/// What a server does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meeting {
    /// Answers as JSON.
    Json,
    /// Answers as JSON, in pieces of so many bytes.
    JsonInPieces(usize),
    /// Answers as JSON, so many milliseconds later.
    Slow(u64),
    /// Answers in an event stream with these line ends.
    Events(LineEnd),
    /// Answers in an event stream, in pieces of so many bytes.
    EventsInPieces(LineEnd, usize),
    /// Says so many other messages in an event stream, and then the answer. Their ids follow the answer's.
    EventsBehind(u64),
    /// Answers in an event stream, whose end then is missing.
    Unended(End),
    /// Breaks an event stream off, and answers once it is resumed.
    Resumes,
    /// Breaks an event stream off, and does not let it be resumed.
    Unresumable,
    /// Never answers.
    Silent,
    /// Refuses it with this status.
    Refuses(u16),
    /// Answers with this status, one of 3xx, and a place that would take the message.
    Redirects(u16),
    /// Answers with this status, one of 2xx, and nothing else.
    Accepts(u16),
    /// Answers with something compressed, which nobody asked for.
    Compresses,
    /// Answers with a page for people.
    Mistypes,
    /// Reads the head and so many bytes of the text, and ends the connection. Only the first request of all
    /// can be met so.
    CutsRequest(u64, End),
    /// Reads it, and ends the connection.
    CutsBefore(End),
    /// Ends the connection inside the response's head.
    CutsHead(End),
    /// Ends the connection inside the answer.
    CutsAnswer(Form, End),
}

/// What becomes of a request that is met so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check::transport) enum Fate {
    /// It is answered.
    Answered,
    /// It is refused, with this status.
    Refused(u16),
    /// A response comes to it, and no answer.
    Lost,
    /// No response comes to it: `send` tells.
    Unanswered,
    /// Nothing comes, for ever.
    Waits,
}

impl Meeting {
    pub(in crate::check::transport) fn fate(self) -> Fate {
        match self {
            Meeting::Json
            | Meeting::JsonInPieces(_)
            | Meeting::Slow(_)
            | Meeting::Events(_)
            | Meeting::EventsInPieces(..)
            | Meeting::EventsBehind(_)
            | Meeting::Unended(_)
            | Meeting::Resumes => Fate::Answered,
            Meeting::Refuses(status) | Meeting::Redirects(status) => Fate::Refused(status),
            Meeting::Unresumable
            | Meeting::Accepts(_)
            | Meeting::Compresses
            | Meeting::Mistypes
            | Meeting::CutsAnswer(..) => Fate::Lost,
            Meeting::CutsRequest(..) | Meeting::CutsBefore(_) | Meeting::CutsHead(_) => Fate::Unanswered,
            Meeting::Silent => Fate::Waits,
        }
    }

    /// What is said whole on the response to `text`, in order.
    pub(in crate::check::transport) fn says(self, text: Text) -> Vec<Text> {
        match self.fate() {
            Fate::Answered => {
                let others = if let Meeting::EventsBehind(count) = self { count } else { 0 };
                let others = (1..=others).map(|more| Text { id: text.id + more, shape: Shape::Small });
                others.chain([text]).collect()
            }
            Fate::Refused(_) | Fate::Lost | Fate::Unanswered | Fate::Waits => Vec::new(),
        }
    }

    /// What is said of the answer to `text`, if not all.
    pub(in crate::check::transport) fn torn(self, text: Text) -> Option<Vec<u8>> {
        let mut answer = text.answer();
        answer.truncate(answer.len() / 2);
        matches!(self, Meeting::CutsAnswer(..)).then_some(answer)
    }

    /// How much comes of it by `receive`; none if that cannot be said.
    pub(in crate::check::transport) fn comes(self) -> u64 {
        match (self.fate(), self) {
            (Fate::Answered, Meeting::EventsBehind(others)) => others + 1,
            (Fate::Answered | Fate::Lost, _) => 1,
            (Fate::Refused(_) | Fate::Unanswered | Fate::Waits, _) => 0,
        }
    }

    /// What the server does. `elsewhere` is another place on it.
    pub(super) fn steps(self, text: Text, elsewhere: &str) -> Vec<Step> {
        let answer = text.answer();
        let say = Step::Say(answer.clone());
        let events = Step::As(Form::Events);
        match self {
            Meeting::Json => vec![Step::As(Form::Json), say],
            Meeting::JsonInPieces(bytes) => {
                vec![Step::As(Form::Json), Step::Pieces(Pieces::of(bytes)), say]
            }
            Meeting::Slow(time) => vec![Step::As(Form::Json), Step::sleep(time), say],
            Meeting::Events(line_end) => vec![events, Step::LineEnds(line_end), say],
            Meeting::EventsInPieces(line_end, bytes) => {
                vec![events, Step::LineEnds(line_end), Step::Pieces(Pieces::of(bytes)), say]
            }
            Meeting::EventsBehind(_) => {
                let said = self.says(text).into_iter().map(|text| Step::Say(text.answer()));
                [events].into_iter().chain(said).collect()
            }
            Meeting::Unended(end) => vec![Step::Event(Event::data(answer)), Step::End(end)],
            // The answer waits in the event store.
            Meeting::Resumes => vec![Step::Open, Step::End(End::Close), say],
            Meeting::Unresumable => {
                vec![Step::Event(Event::priming("unknown").retry(0)), Step::End(End::Close)]
            }
            Meeting::Silent => Vec::new(),
            Meeting::Refuses(status) => {
                vec![Step::Respond(Reply::json("{}").with_status(status))]
            }
            Meeting::Redirects(status) => vec![Step::Respond(Reply::redirect(status, elsewhere))],
            Meeting::Accepts(status) => vec![Step::status(status)],
            Meeting::Compresses => vec![Step::Respond(Reply::gzip())],
            Meeting::Mistypes => {
                let page = Reply::status(200).header("content-type", "text/html");
                vec![Step::Respond(page.body("<p>It works!</p>"))]
            }
            Meeting::CutsRequest(..) => Vec::new(),
            Meeting::CutsBefore(end) => vec![Step::End(end)],
            Meeting::CutsHead(end) => vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-ty"), Step::End(end)],
            Meeting::CutsAnswer(form, end) => {
                let half = self.torn(text).unwrap_or_default();
                let (head, half) = match form {
                    Form::Json => (Step::Head(Reply::json("")), half),
                    Form::Events => (Step::stream(), [b"data: ", &half[..]].concat()),
                };
                vec![head, Step::Body(half), Step::End(end)]
            }
        }
    }
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |end: &End| match end {
            End::Close => "closes",
            End::Reset => "resets",
            End::Hang => "leaves",
        };
        match self {
            Meeting::Json => f.write_str("answers as JSON"),
            Meeting::JsonInPieces(bytes) => write!(f, "answers as JSON in pieces of {bytes}"),
            Meeting::Slow(time) => write!(f, "answers {time} ms later"),
            Meeting::Events(line_end) => write!(f, "answers in events ({line_end:?})"),
            Meeting::EventsInPieces(line_end, bytes) => {
                write!(f, "answers in events ({line_end:?}) in pieces of {bytes}")
            }
            Meeting::EventsBehind(others) => write!(f, "answers in events behind {others} others"),
            Meeting::Unended(end) => write!(f, "answers in events and {} before their end", ends(end)),
            Meeting::Resumes => f.write_str("breaks off and answers when resumed"),
            Meeting::Unresumable => f.write_str("breaks off and cannot be resumed"),
            Meeting::Silent => f.write_str("never answers"),
            Meeting::Refuses(status) => write!(f, "refuses with {status}"),
            Meeting::Redirects(status) => write!(f, "redirects with {status}"),
            Meeting::Accepts(status) => write!(f, "accepts with {status} and no answer"),
            Meeting::Compresses => f.write_str("answers compressed"),
            Meeting::Mistypes => f.write_str("answers with a page"),
            Meeting::CutsRequest(bytes, end) => {
                write!(f, "takes {bytes} bytes of the text and {}", ends(end))
            }
            Meeting::CutsBefore(end) => write!(f, "{} before the response", ends(end)),
            Meeting::CutsHead(end) => write!(f, "{} inside the head", ends(end)),
            Meeting::CutsAnswer(form, end) => write!(f, "{} inside the answer ({form:?})", ends(end)),
        }
    }
}
