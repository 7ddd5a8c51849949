//! The connection is closed or dropped: whatever the peer does, that ends, and nothing is left.

use crate::check::transport::case::{Case, Move, Sign};
use crate::check::transport::script::{Act, Manner};
use crate::check::transport::text::{Shape, Text};

pub(super) fn cases() -> Vec<Case> {
    let many = Act::SayMany(1, 100, Shape::Sized(65_536));
    let peers = [
        ("reads", vec![Act::TakeAll]),
        (
            "answers at the end",
            vec![Act::TakeAll, Act::Say(Text { id: 1, shape: Shape::Small }, Manner::Plain)],
        ),
        ("lives on", vec![Act::Linger]),
        ("leaves a child", vec![Act::LeaveChild, Act::TakeAll]),
        ("leaves a child and lives on", vec![Act::LeaveChild, Act::Linger]),
        ("writes and is not heard", vec![many]),
        ("stopped reading", vec![Act::StopReading, Act::Linger]),
        ("stopped writing", vec![Act::StopWriting, Act::TakeAll]),
    ];
    let mut cases = Vec::new();
    for (peer, script) in peers {
        let unheard = matches!(script[0], Act::SayMany(..));
        for (moment, moves) in [
            ("closed at once", vec![Move::Close]),
            ("closed", vec![Move::Pause(60), Move::Close]),
            ("closed while something is waited for", vec![Move::Listen, Move::Pause(60), Move::Close]),
            ("dropped at once", vec![Move::Drop]),
            ("dropped", vec![Move::Pause(60), Move::Drop]),
            ("dropped while something is waited for", vec![Move::Listen, Move::Pause(60), Move::Drop]),
        ] {
            if unheard && matches!(moves[0], Move::Listen) {
                continue;
            }
            cases.push(Case::new(format!("a peer that {peer}, {moment}"), script.clone(), moves));
        }
    }
    let gone = [Move::Watch(Sign::Gone), Move::Close];
    cases.push(Case::new("a peer that is gone, closed", [Act::Exit(0)], gone));
    cases
}
