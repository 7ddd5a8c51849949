//! How the peer ends the connection, and when.

use crate::check::transport::case::{Case, Move, Sign};
use crate::check::transport::script::{Act, Manner};
use crate::check::transport::text::{Shape, Text};

pub(super) fn cases() -> Vec<Case> {
    let ends = [
        ("exits", vec![Act::Exit(0)]),
        ("exits with 3", vec![Act::Exit(3)]),
        ("crashes", vec![Act::Crash]),
        ("stops writing and reads on", vec![Act::StopWriting, Act::TakeAll]),
        ("stops writing and lives on", vec![Act::StopWriting, Act::Linger]),
        ("exits and leaves a child", vec![Act::LeaveChild, Act::Exit(0)]),
        ("crashes and leaves a child", vec![Act::LeaveChild, Act::Crash]),
    ];
    let mut cases = Vec::new();
    for (end, acts) in ends {
        let ended = match acts.last() {
            Some(Act::TakeAll | Act::Linger) => Sign::StoppedWriting,
            _ => Sign::Exits,
        };
        let text = |id, shape| Text { id, shape };
        let small = Act::Say(text(1, Shape::Small), Manner::Plain);
        let last = |shape| Act::Say(text(2, shape), Manner::Unended);
        let moments = [
            ("at once", vec![], vec![Move::Drain]),
            ("while it is waited for", vec![Act::Pause(80)], vec![Move::Drain]),
            ("unseen", vec![small.clone()], vec![Move::Watch(ended), Move::Drain]),
            (
                "behind a last message without an end",
                vec![small.clone(), last(Shape::Small)],
                vec![Move::Drain],
            ),
            (
                "behind a last message of 64 KiB without an end",
                vec![small.clone(), last(Shape::Sized(65_536))],
                vec![Move::Drain],
            ),
            (
                "inside a message",
                vec![small, Act::Cut(text(2, Shape::Sized(70_000)), 66_000)],
                vec![Move::Drain],
            ),
            ("behind many messages", vec![Act::SayMany(1, 300, Shape::Sized(2_000))], vec![Move::Drain]),
            (
                "before an answer",
                vec![Act::Take(1)],
                vec![
                    Move::Send(text(1, Shape::Small)),
                    Move::Drain,
                    Move::Send(text(2, Shape::Small)),
                    Move::Settle,
                ],
            ),
        ];
        for (moment, before, moves) in moments {
            let script = [before, acts.clone()].concat();
            cases.push(Case::new(format!("a peer that {end}, {moment}"), script, moves));
        }
    }
    cases
}
