//! What the peer says, and how.

use super::BIG;
use crate::check::transport::MAX_MESSAGE;
use crate::check::transport::case::{Case, Move};
use crate::check::transport::script::{Act, Manner, Script};
use crate::check::transport::text::{Shape, Text};

const LARGEST: usize = MAX_MESSAGE as usize;

const SHAPES: [Shape; 9] = [
    Shape::Small,
    Shape::Separators,
    Shape::NotUtf8,
    Shape::Prose,
    Shape::Sized(65_535),
    Shape::Sized(65_536),
    Shape::Sized(65_537),
    Shape::Sized(900_000),
    Shape::Sized(LARGEST),
];

const TOO_LARGE: [Shape; 3] = [Shape::Sized(LARGEST + 1), Shape::Sized(LARGEST + 70_000), BIG];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for manner in [Manner::Plain, Manner::CrLf, Manner::Bom, Manner::Pieces(7), Manner::Unended] {
        for shape in SHAPES {
            // With its mark, it would be too large.
            if manner == Manner::Bom && shape == Shape::Sized(LARGEST) {
                continue;
            }
            let between = [say(1, Shape::Small), Act::Say(Text { id: 2, shape }, manner)];
            let after = if manner == Manner::Unended { vec![] } else { vec![say(3, Shape::Small)] };
            let name = format!("a peer that answers{manner}, {shape}");
            cases.push(Case::new(name, [between.to_vec(), after].concat(), [Move::Drain]));
        }
    }
    for manner in [Manner::Plain, Manner::Pieces(7), Manner::Unended] {
        for shape in TOO_LARGE {
            let too_large = Act::Say(Text { id: 2, shape }, manner);
            let name = format!("a peer that answers too much{manner}, {shape}");
            let mut script = vec![say(1, Shape::Small), too_large];
            if manner != Manner::Unended {
                script.extend([say(3, Shape::Sized(65_536)), say(4, Shape::Small)]);
            }
            cases.push(Case::new(name, script, [Move::Drain]));
        }
    }
    cases.extend(conversations());
    cases
}

fn say(id: u64, shape: Shape) -> Act {
    Act::Say(Text { id, shape }, Manner::Plain)
}

fn request(id: u64) -> Move {
    Move::Send(Text { id, shape: Shape::Small })
}

fn conversations() -> Vec<Case> {
    let mut echo = Vec::new();
    let mut asks = Vec::new();
    for id in 1..=10 {
        echo.extend([Act::Take(1), say(id, Shape::Separators)]);
        asks.extend([request(id), Move::Receive(id)]);
    }
    asks.push(Move::Close);
    let pieces = (1..=10).map(|id| Act::Say(Text { id, shape: Shape::Separators }, Manner::Pieces(5)));
    let answers = [Act::Take(2), say(1, Shape::Small), say(2, Shape::Small), Act::TakeAll];
    let at_once = [Act::SayMany(10, 4, Shape::Sized(900_000)), Act::TakeAll];
    vec![
        Case::new("a peer that answers one by one", echo, asks),
        Case::new(
            "a peer that answers many at once",
            [Act::SayMany(1, 500, Shape::Separators)],
            [Move::Drain],
        ),
        Case::new(
            "a peer that answers in pieces, receives are given up",
            pieces.collect::<Vec<_>>(),
            [Move::Peek(3, 20), Move::Drain],
        ),
        Case::new(
            "a peer that answers two, one is abandoned",
            answers,
            [request(1), request(2), Move::Abandon(1), Move::Receive(2), Move::Close],
        ),
        Case::new(
            "a peer that writes before it reads, more than lies between",
            at_once,
            [Move::Send(Text { id: 1, shape: BIG }), Move::Receive(4), Move::Settle, Move::Close],
        ),
        Case::new("a peer that says nothing", Script::reads().0, [Move::Peek(5, 3), Move::Close]),
    ]
}
