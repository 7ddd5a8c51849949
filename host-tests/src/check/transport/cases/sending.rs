//! What is sent, to peers that read it, or some of it, or nothing.

use super::BIG;
use crate::check::transport::case::{Case, Move, Sign};
use crate::check::transport::script::{Act, Manner, Script};
use crate::check::transport::text::{Shape, Text};

/// What is sent, by size around the 64 KiB of a pipe and of most buffers.
const SHAPES: [Shape; 7] = [
    Shape::Small,
    Shape::Separators,
    Shape::Sized(65_535),
    Shape::Sized(65_536),
    Shape::Sized(65_537),
    Shape::Sized(900_000),
    BIG,
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        cases.push(one("a peer that reads", Script::reads().0, shape, Move::Close));
        let slow = [Act::TakeBytes(1), Act::Pause(20), Act::TakeBytes(65_000), Act::Pause(20), Act::TakeAll];
        cases.push(one("a peer that reads slowly", slow, shape, Move::Close));
        let exits = [Act::Pause(50), Act::Exit(1)];
        cases.push(one("a peer that exits before it reads", exits, shape, Move::Drain));
        let exits = [Act::TakeBytes(20), Act::Exit(1)];
        cases.push(one("a peer that exits inside the message", exits, shape, Move::Drain));
        let text = Text { id: 1, shape };
        // What lies between is full of the text when the peer takes it: its end cannot follow.
        let takes = [Act::Pause(50), Act::Snatch(text.request().len() as u64), Act::Exit(1)];
        cases.push(one("a peer that takes the text and no more", takes, shape, Move::Drain));
        let deaf = [Act::StopReading, Act::Pause(60), Act::Exit(1)];
        cases.push(after("a peer that reads nothing any more", deaf, Sign::StoppedReading, shape));
        cases.push(after("a peer that is gone", [Act::Exit(0)], Sign::Gone, shape));
    }
    cases.extend(several());
    cases.extend(stuck());
    cases
}

fn request(id: u64, shape: Shape) -> Move {
    Move::Send(Text { id, shape })
}

fn small(id: u64) -> Move {
    request(id, Shape::Small)
}

/// One message, and then.
fn one(peer: &str, script: impl Into<Vec<Act>>, shape: Shape, then: Move) -> Case {
    Case::new(format!("{peer}, {shape}"), script, [request(1, shape), Move::Settle, then])
}

/// One message, once the peer came so far.
fn after(peer: &str, script: impl Into<Vec<Act>>, sign: Sign, shape: Shape) -> Case {
    let moves = [Move::Watch(sign), request(1, shape), Move::Settle, small(2), Move::Settle, Move::Drain];
    Case::new(format!("{peer}, {shape}"), script, moves)
}

/// Several messages at once.
fn several() -> Vec<Case> {
    let mut crowd: Vec<_> = (1..=60).map(small).collect();
    crowd.insert(20, request(100, BIG));
    crowd.extend([Move::Settle, Move::Close]);
    let behind = [request(1, BIG), small(2), Move::Settle, Move::Drain];
    let answer = Act::Say(Text { id: 9, shape: Shape::Small }, Manner::Plain);
    vec![
        Case::new("a peer that reads, many at once", Script::reads().0, crowd.clone()),
        Case::new("a peer that reads late, many at once", [Act::Pause(100), Act::TakeAll], crowd),
        Case::new(
            "a peer that exits inside a message, another behind",
            [Act::TakeBytes(100_000), Act::Exit(1)],
            behind,
        ),
        Case::new(
            "a peer that exits between messages, the second big",
            [Act::Take(1), Act::Exit(0)],
            [small(1), request(2, BIG), Move::Settle, Move::Drain],
        ),
        Case::new(
            "a peer that reads nothing any more inside a message, and answers",
            [Act::TakeBytes(100_000), Act::StopReading, Act::Pause(50), answer, Act::Exit(0)],
            [request(1, BIG), small(2), Move::Settle, Move::Drain],
        ),
    ]
}

/// A message that the peer does not read is given up, or its connection is.
fn stuck() -> Vec<Case> {
    let late = [Act::Pause(150), Act::TakeAll];
    let never = [Act::Pause(300), Act::Exit(0)];
    let begin = [request(1, BIG), small(2), Move::Pause(50)];
    let mut cases = Vec::new();
    for (peer, script) in
        [("a peer that reads late", late.to_vec()), ("a peer that never reads", never.to_vec())]
    {
        for (moment, then) in [
            ("the send is given up", vec![Move::GiveUp, small(3), Move::Settle, Move::Close]),
            ("the connection is closed", vec![Move::Close, Move::Settle]),
            ("the connection is dropped", vec![Move::Drop, Move::Settle]),
        ] {
            let moves = [begin.to_vec(), then].concat();
            cases.push(Case::new(format!("{peer}, {moment} inside a message"), script.clone(), moves));
        }
    }
    let disowned = Move::Disown(Text { id: 3, shape: Shape::Small });
    cases.push(Case::new(
        "a peer that reads late, a send is given up before it began",
        late,
        [request(1, BIG), disowned, small(4), Move::Settle, Move::Close],
    ));
    cases.push(Case::new(
        "a peer that never reads and lives on, the connection is dropped",
        [Act::Linger],
        [request(1, BIG), small(2), Move::Pause(50), Move::Drop, Move::Settle],
    ));
    cases
}
