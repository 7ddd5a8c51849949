//! More than anybody may keep.

use crate::check::transport::case::{Case, Move, Sign};
use crate::check::transport::script::Act;
use crate::check::transport::text::{Shape, Text};

/// How many messages a flood has, of 64 KiB: far more than is kept of what nobody receives.
const FLOOD: u64 = 500;

/// A message that does not end, in bytes.
const ENDLESS: u64 = 256 << 20;

/// How many messages of 1 MiB are given up, one after the other.
const GIVEN_UP: u64 = 256;

pub(super) fn cases() -> Vec<Case> {
    let flood = Act::SayMany(1, FLOOD, Shape::Sized(65_536));
    let large = |id| Move::Send(Text { id, shape: Shape::Sized(1 << 20) });
    let mut give_up = vec![Move::Weigh];
    give_up.extend((1..=GIVEN_UP).flat_map(|id| [large(id), Move::GiveUp]));
    give_up.extend([Move::Weigh, Move::Drop]);
    let weighed =
        |name, script: &[Act], moves: Vec<Move>| Case { alone: true, ..Case::new(name, script, moves) };
    vec![
        Case::new("a peer that floods and is not heard", [flood], [Move::Stall, Move::Drain]),
        weighed(
            "a peer that does not end a message",
            &[Act::Babble(ENDLESS), Act::StopReading, Act::Linger],
            vec![Move::Weigh, Move::Listen, Move::Watch(Sign::StoppedReading), Move::Weigh, Move::Drop],
        ),
        weighed("a peer that never reads, many sends are given up", &[Act::Linger], give_up),
    ]
}
