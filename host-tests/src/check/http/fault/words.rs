//! Faults, in words.

use std::fmt;

use super::{Body, Content, Events, Fault, Taken, Why};

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ran = |executed: &bool| if *executed { "it ran" } else { "it did not run" };
        match self {
            Fault::Unreached(why) => write!(f, "HTTP: nobody is reached: {}", why.words()),
            Fault::Cut(taken) => write!(f, "HTTP: cut when the server had {}", taken.words()),
            Fault::Breaks(why, executed) => {
                write!(f, "HTTP: no response: {}, {}", why.words(), ran(executed))
            }
            Fault::Hangs(executed) => write!(f, "HTTP: no response ever, {}", ran(executed)),
            Fault::Slow => f.write_str("HTTP: a slow response"),
            Fault::Late => f.write_str("HTTP: a response much later"),
            Fault::Status(status, body, executed) => {
                write!(f, "HTTP: status {status} with {}, {}", body.words(), ran(executed))
            }
            Fault::Content(content) => write!(f, "HTTP: {}", content.words()),
            Fault::Events(events) => write!(f, "HTTP: an event stream: {}", events.words()),
        }
    }
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Why::Name => "its name does not resolve",
            Why::Refused => "connection refused",
            Why::Denied => "the host denies it",
            Why::Certificate => "its certificate is wrong",
            Why::Limit => "too many connections",
            Why::ConnectTimeout => "connecting takes too long",
            Why::Terminated => "the connection ends",
            Why::ReadTimeout => "reading takes too long",
            Why::Tls => "TLS fails",
            Why::Protocol => "it is no HTTP",
            Why::Internal => "the host fails",
        }
    }
}

impl Taken {
    fn words(self) -> &'static str {
        match self {
            Taken::Nothing => "nothing",
            Taken::Some => "a part",
            Taken::AllButTheLast => "all but the end",
        }
    }
}

impl Body {
    fn words(self) -> &'static str {
        match self {
            Body::Empty => "no body",
            Body::Text => "a text",
            Body::NullId => "an error for nobody",
            Body::OurError => "an error for the request",
            Body::OurResult => "the result",
            Body::Cut => "the result, cut",
            Body::Endless => "a body without an end",
        }
    }
}

impl Content {
    fn words(self) -> String {
        let words = match self {
            Content::Status202 => "202",
            Content::Status204 => "204",
            Content::Empty => "an empty answer",
            Content::WrongType => "an answer of another type",
            Content::NoType => "an answer without a type",
            Content::Compressed => "a compressed answer",
            Content::Cut => "a cut answer",
            Content::CutAndBroken => "an answer that breaks off",
            Content::Hangs => "an answer that never ends",
            Content::TooLarge => "an answer that is too large",
            Content::WrongId => "an answer with another id",
            Content::NullIdError => "an error without an id",
            Content::Error(code) => return format!("the error {code}"),
            Content::IsError => "isError",
            Content::BrokenBehind => "an answer, and no end of the response",
        };
        words.to_owned()
    }
}

impl Events {
    fn words(self) -> &'static str {
        match self {
            Events::Nothing => "nothing",
            Events::Comment => "a comment",
            Events::Priming => "an id, and its end",
            Events::PrimingForEver => "the same id, and its end, each time",
            Events::Notification => "a notification, and its end",
            Events::Half => "half an answer",
            Events::Unterminated => "an answer without an empty line",
            Events::Garbage => "no JSON",
            Events::Foreign => "an answer to another request",
            Events::Twice => "the answer twice",
            Events::Flood => "many notifications, then the answer",
            Events::Pieces => "the answer byte by byte",
            Events::StaysOpen => "the answer, and no end",
            Events::BrokenBehind => "the answer, then it breaks",
            Events::TooLarge => "too much data",
            Events::Silence => "silence",
        }
    }
}
