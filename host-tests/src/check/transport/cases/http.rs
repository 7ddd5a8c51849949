//! Requests to servers over HTTP, each met in a way of its own.

use crate::check::choices::Choices;
use crate::check::transport::MAX_MESSAGE;
use crate::check::transport::case::{Case, Move};
use crate::check::transport::http::{Fate, Meeting};
use crate::check::transport::script::Act;
use crate::check::transport::text::{Shape, Text};
use crate::ledger::http::{End, Form, LineEnd};

const LARGEST: usize = MAX_MESSAGE as usize;

/// How many requests a random case has.
const REQUESTS: u64 = super::MOVES / 2;

/// Ids of requests are so far apart: between them are those of what comes with answers.
const APART: u64 = 10;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for meeting in meetings() {
        cases.push(one(meeting, Shape::Small));
    }
    let large = [Shape::Separators, Shape::Sized(65_536), Shape::Sized(900_000), Shape::Sized(LARGEST)];
    let ways = [
        Meeting::Json,
        Meeting::JsonInPieces(1_000),
        Meeting::Events(LineEnd::Lf),
        Meeting::EventsInPieces(LineEnd::CrLf, 1_000),
    ];
    for meeting in ways {
        cases.extend(large.map(|shape| one(meeting, shape)));
        cases.push(one(meeting, Shape::Sized(LARGEST + 70_000)));
    }
    for bytes in [0, 1, 60] {
        for end in [End::Close, End::Reset] {
            cases.push(one(Meeting::CutsRequest(bytes, end), Shape::Sized(200)));
        }
    }
    for (end, bytes) in [(End::Close, 100_000), (End::Reset, 100_000)] {
        cases.push(one(Meeting::CutsRequest(bytes, end), Shape::Sized(8 << 20)));
    }
    cases.extend(waiting());
    cases.push(at_once("at once", meetings()));
    cases
}

/// The ways to meet a request that fit any.
fn meetings() -> Vec<Meeting> {
    let mut all = vec![
        Meeting::Json,
        Meeting::JsonInPieces(1),
        Meeting::Slow(60),
        Meeting::EventsBehind(5),
        Meeting::Resumes,
        Meeting::Unresumable,
        Meeting::Compresses,
        Meeting::Mistypes,
    ];
    for line_end in [LineEnd::Cr, LineEnd::Lf, LineEnd::CrLf] {
        all.extend([Meeting::Events(line_end), Meeting::EventsInPieces(line_end, 1)]);
    }
    all.extend([200, 202, 204].map(Meeting::Accepts));
    all.extend([400, 401, 403, 404, 405, 413, 421, 425, 429, 500, 502, 503, 504].map(Meeting::Refuses));
    all.extend([301, 302, 303, 307, 308].map(Meeting::Redirects));
    for end in [End::Close, End::Reset] {
        all.extend([Meeting::CutsBefore(end), Meeting::CutsHead(end)]);
        all.extend([Form::Json, Form::Events].map(|form| Meeting::CutsAnswer(form, end)));
    }
    // A reset may take with it what was sent before.
    all.push(Meeting::Unended(End::Close));
    all
}

fn text(number: u64, shape: Shape) -> Text {
    Text { id: number * APART, shape }
}

/// One request that is met so, and another that is answered.
fn one(meeting: Meeting, shape: Shape) -> Case {
    let (first, next) = (text(1, shape), text(2, Shape::Small));
    let script = [Act::Meet(first, meeting), Act::Meet(next, Meeting::Json)];
    let moves = [
        Move::Send(first),
        Move::Settle,
        Move::Receive(meeting.comes()),
        Move::Send(next),
        Move::Settle,
        Move::Receive(meeting.comes() + 1),
        Move::Close,
    ];
    Case::new(format!("a server that {meeting}, {shape}"), script, moves)
}

/// Requests that are all sent at once.
fn at_once(name: &str, meetings: Vec<Meeting>) -> Case {
    let texts = (1..).map(|number| text(number, Shape::Small));
    let script: Vec<_> = texts.zip(&meetings).map(|(text, meeting)| Act::Meet(text, *meeting)).collect();
    let sends = script.iter().filter_map(|act| match act {
        Act::Meet(text, _) => Some(Move::Send(*text)),
        _ => None,
    });
    let mut moves: Vec<_> = sends.collect();
    let comes = meetings.iter().map(|meeting| meeting.comes()).sum();
    moves.extend([Move::Receive(comes), Move::Settle, Move::Close]);
    Case::new(format!("a server that is asked {name}"), script, moves)
}

/// A request that is not answered, and what is done meanwhile.
fn waiting() -> Vec<Case> {
    let (first, next) = (text(1, Shape::Small), text(2, Shape::Small));
    let script = [Act::Meet(first, Meeting::Silent), Act::Meet(next, Meeting::Json)];
    let begin = [Move::Send(first), Move::Pause(40)];
    let answered = [Move::Send(next), Move::Receive(1)];
    let moments = [
        ("another is answered", [&answered[..], &[Move::Close, Move::Settle]].concat()),
        (
            "it is abandoned",
            [&[Move::Abandon(first.id), Move::Settle], &answered[..], &[Move::Close]].concat(),
        ),
        ("the send is given up", [&[Move::GiveUp], &answered[..], &[Move::Settle, Move::Close]].concat()),
        ("the connection is closed", vec![Move::Close, Move::Settle]),
        (
            "the connection is closed while something is waited for",
            vec![Move::Listen, Move::Close, Move::Settle],
        ),
        ("the connection is dropped", vec![Move::Drop, Move::Settle]),
    ];
    let mut cases: Vec<_> = moments
        .into_iter()
        .map(|(moment, moves)| {
            let moves = [&begin[..], &moves].concat();
            Case::new(format!("a server that never answers, {moment}"), script.clone(), moves)
        })
        .collect();
    let disowned = [Move::Disown(first), Move::Send(next), Move::Settle, Move::Receive(1), Move::Close];
    cases.push(Case::new(
        "a server that never answers, a send is given up before it began",
        script,
        disowned,
    ));
    cases
}

/// The random case of this seed.
pub(super) fn random(seed: u64) -> Case {
    let mut choices = Choices::new(seed);
    let all: Vec<_> = meetings().into_iter().filter(|meeting| meeting.fate() != Fate::Waits).collect();
    let meetings = (0..REQUESTS).map(|_| choices.one_of(&all)).collect();
    at_once(&format!("at random, seed {seed}"), meetings)
}
