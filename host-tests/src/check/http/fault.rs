//! What can go wrong at one HTTP request.

mod words;

/// One fault, at one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nobody is reached.
    Unreached(Why),
    /// The connection ends when so much of the message was taken.
    Cut(Taken),
    /// The whole message was taken, then the connection fails. Whether it ran, nobody says.
    Breaks(Why, bool),
    /// The same, and nothing fails: no response ever comes.
    Hangs(bool),
    /// The response comes after a while.
    Slow,
    /// The response comes when nobody waits for it any more.
    Late,
    /// The message is refused with this status, or so it says.
    Status(u16, Body, bool),
    /// The message runs, and this comes instead of its answer.
    Content(Content),
    /// The message runs, and the event stream of its response is this.
    Events(Events),
}

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Name,
    Refused,
    Denied,
    Certificate,
    Limit,
    ConnectTimeout,
    Terminated,
    ReadTimeout,
    Tls,
    Protocol,
    Internal,
}

/// How much of a message was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Nothing,
    Some,
    AllButTheLast,
}

/// The body of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Empty,
    Text,
    NullId,
    /// An error with the request's own id: an answer.
    OurError,
    /// A result with the request's own id: an answer.
    OurResult,
    /// Such a result, cut.
    Cut,
    /// Never the whole of it.
    Endless,
}

/// What comes instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Status202,
    Status204,
    Empty,
    WrongType,
    NoType,
    Compressed,
    Cut,
    CutAndBroken,
    Hangs,
    TooLarge,
    WrongId,
    NullIdError,
    Error(i64),
    IsError,
    /// The answer, and the connection breaks where the response should end.
    BrokenBehind,
}

/// What an event stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    /// Nothing.
    Nothing,
    /// A comment.
    Comment,
    /// An event with an id and no data, then nothing: it can be resumed.
    Priming,
    /// The same, for ever.
    PrimingForEver,
    /// A notification, without an id.
    Notification,
    /// A half of the event with the answer.
    Half,
    /// The answer's event, of which the empty line is missing.
    Unterminated,
    /// Data that is no JSON.
    Garbage,
    /// The answer to another request.
    Foreign,
    /// The answer, twice.
    Twice,
    /// Many notifications, then the answer.
    Flood,
    /// The answer, in pieces of one byte, with CRLF.
    Pieces,
    /// The answer, and then the stream stays open.
    StaysOpen,
    /// The answer, and then the stream breaks.
    BrokenBehind,
    /// Data that is too large.
    TooLarge,
    /// Nothing, and it stays open.
    Silence,
}

/// What is known after a fault, where nothing else goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knows {
    /// It is answered.
    Answer,
    /// It has not run: evidence of grade A.
    Certain,
    /// It has not run: evidence of grade B.
    Refusal,
    /// Nothing.
    Nothing,
}

impl Fault {
    /// Whether a call that meets it runs.
    pub(super) fn executes(self) -> bool {
        match self {
            Fault::Unreached(_) | Fault::Cut(_) => false,
            Fault::Breaks(_, executed) | Fault::Hangs(executed) | Fault::Status(_, _, executed) => executed,
            Fault::Slow | Fault::Late | Fault::Content(_) | Fault::Events(_) => true,
        }
    }

    /// What is known of a call that meets it. `resumable`: its event stream has ids.
    pub(super) fn knows(self, resumable: bool, has_session: bool) -> Knows {
        match self {
            Fault::Unreached(Why::ConnectTimeout) | Fault::Cut(_) | Fault::Unreached(_) => Knows::Certain,
            Fault::Breaks(..) | Fault::Hangs(_) | Fault::Late => Knows::Nothing,
            Fault::Slow => Knows::Answer,
            Fault::Status(status, body, _) => of_status(status, body, has_session),
            Fault::Content(content) => match content {
                Content::IsError | Content::BrokenBehind => Knows::Answer,
                _ => Knows::Nothing,
            },
            Fault::Events(events) => match events {
                Events::Priming if resumable => Knows::Answer,
                Events::Unterminated
                | Events::Twice
                | Events::Flood
                | Events::Pieces
                | Events::StaysOpen
                | Events::BrokenBehind => Knows::Answer,
                _ => Knows::Nothing,
            },
        }
    }

    /// Every fault of a call's own request.
    pub(super) fn of_call() -> Vec<Fault> {
        let mut faults = Fault::of_any();
        faults.extend(
            [
                Content::Status202,
                Content::Status204,
                Content::Empty,
                Content::WrongType,
                Content::NoType,
                Content::Compressed,
                Content::Cut,
                Content::CutAndBroken,
                Content::Hangs,
                Content::TooLarge,
                Content::WrongId,
                Content::NullIdError,
                Content::Error(-32601),
                Content::Error(-32022),
                Content::Error(-32000),
                Content::IsError,
                Content::BrokenBehind,
            ]
            .map(Fault::Content),
        );
        faults.extend(Fault::of_stream());
        faults
    }

    /// Every refusal, and whatever looks like one.
    pub(super) fn table() -> Vec<Fault> {
        let mut faults = Vec::new();
        for status in [
            300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414,
            415, 417, 418, 421, 422, 423, 424, 425, 426, 429, 431, 451, 500, 501, 502, 503, 504, 505, 520,
            599,
        ] {
            for body in [
                Body::Empty,
                Body::Text,
                Body::NullId,
                Body::OurError,
                Body::OurResult,
                Body::Cut,
                Body::Endless,
            ] {
                let fault = |executed| Fault::Status(status, body, executed);
                // A server that refuses by a status that means so has not run it; others may have.
                match fault(false).knows(false, true) {
                    Knows::Certain | Knows::Refusal => faults.push(fault(false)),
                    Knows::Answer => faults.push(fault(true)),
                    Knows::Nothing => faults.extend([fault(false), fault(true)]),
                }
            }
        }
        faults
    }

    /// A refusal of each grade.
    pub(super) fn refusals() -> Vec<Fault> {
        let empty = |status| Fault::Status(status, Body::Empty, false);
        let mut faults: Vec<Fault> = [307, 400, 401, 403, 404, 405, 425, 429, 500, 503].map(empty).into();
        for body in [Body::OurError, Body::OurResult, Body::Cut] {
            faults.push(Fault::Status(404, body, true));
        }
        faults.push(Fault::Status(404, Body::NullId, false));
        faults.push(Fault::Status(503, Body::Text, true));
        faults
    }

    /// What an event stream may hold.
    pub(super) fn of_stream() -> Vec<Fault> {
        [
            Events::Nothing,
            Events::Comment,
            Events::Priming,
            Events::PrimingForEver,
            Events::Notification,
            Events::Half,
            Events::Unterminated,
            Events::Garbage,
            Events::Foreign,
            Events::Twice,
            Events::Flood,
            Events::Pieces,
            Events::StaysOpen,
            Events::BrokenBehind,
            Events::TooLarge,
            Events::Silence,
        ]
        .map(Fault::Events)
        .into()
    }

    /// The faults of any request.
    pub(super) fn of_any() -> Vec<Fault> {
        let mut faults: Vec<Fault> =
            [Why::Name, Why::Refused, Why::Denied, Why::Certificate, Why::Limit, Why::ConnectTimeout]
                .map(Fault::Unreached)
                .into();
        faults.extend([Taken::Nothing, Taken::Some, Taken::AllButTheLast].map(Fault::Cut));
        for why in [Why::Terminated, Why::ReadTimeout, Why::Tls, Why::Protocol, Why::Internal] {
            faults.extend([true, false].map(|executed| Fault::Breaks(why, executed)));
        }
        faults.extend([Fault::Hangs(true), Fault::Hangs(false), Fault::Slow, Fault::Late]);
        faults
    }

    /// The faults that are placed at every request, whatever it is.
    pub(super) fn of_every_request() -> Vec<Fault> {
        let mut faults = Fault::of_any();
        for status in [202, 204, 307, 400, 401, 404, 405, 429, 500, 503] {
            faults.extend([Body::Empty, Body::NullId].map(|body| Fault::Status(status, body, false)));
        }
        faults.extend(
            [Content::Cut, Content::WrongType, Content::Hangs, Content::Error(-32601)].map(Fault::Content),
        );
        faults.extend([Events::Nothing, Events::Garbage, Events::Silence].map(Fault::Events));
        faults
    }

    /// A few of each kind, for pairs.
    pub(super) fn few() -> Vec<Fault> {
        vec![
            Fault::Unreached(Why::Refused),
            Fault::Cut(Taken::AllButTheLast),
            Fault::Breaks(Why::Terminated, true),
            Fault::Hangs(true),
            Fault::Late,
            Fault::Status(401, Body::Empty, false),
            Fault::Status(404, Body::NullId, false),
            Fault::Status(405, Body::Empty, false),
            Fault::Status(503, Body::Text, true),
            Fault::Content(Content::Status202),
            Fault::Content(Content::CutAndBroken),
            Fault::Events(Events::Priming),
            Fault::Events(Events::Notification),
            Fault::Events(Events::Half),
        ]
    }
}

/// The contract's table, as it stands there: kept apart from the one in the component, which it checks.
fn of_status(status: u16, body: Body, has_session: bool) -> Knows {
    if matches!(body, Body::OurResult) {
        return Knows::Answer;
    }
    if matches!(body, Body::OurError | Body::Cut) {
        return Knows::Nothing;
    }
    let is_empty = matches!(body, Body::Empty);
    match status {
        421 | 425 | 401 | 403 | 300..=399 => Knows::Refusal,
        404 if has_session => Knows::Refusal,
        400 if is_empty || body == Body::NullId => Knows::Refusal,
        405 | 406 | 411 | 413 | 414 | 415 | 417 | 426 | 431 | 501 | 505 => Knows::Refusal,
        _ => Knows::Nothing,
    }
}
