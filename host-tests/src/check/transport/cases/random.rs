//! Cases from a seed: both sides speak at once, in any shape and manner.

use crate::check::choices::Choices;
use crate::check::transport::case::{Case, Move};
use crate::check::transport::script::{Act, Manner};
use crate::check::transport::text::{Shape, Text};

/// How many random moves a case has, the peer's included.
pub(in crate::check::transport) const MOVES: u64 = 80;

/// The random case of this seed.
pub(in crate::check::transport) fn random(seed: u64) -> Case {
    let mut choices = Choices::new(seed);
    let text = |choices: &mut Choices, id| {
        let sizes = [70, 4_096, 65_530, 65_536, 65_545, 131_072, 300_000];
        let sized = Shape::Sized(choices.one_of(&sizes) + choices.below(8));
        Text { id, shape: choices.one_of(&[Shape::Small, Shape::Small, Shape::Separators, sized]) }
    };
    let mut script = Vec::new();
    let mut moves = Vec::new();
    for id in 1..=MOVES / 2 {
        let said = text(&mut choices, id);
        let pieces = Manner::Pieces(2 + choices.below(5));
        let manner = choices.one_of(&[Manner::Plain, Manner::Plain, Manner::CrLf, Manner::Bom, pieces]);
        script.push(Act::Say(said, manner));
        let sent = text(&mut choices, id);
        moves.push(match choices.below(10) {
            0 => Move::Disown(sent),
            1 => Move::Pause(1),
            2 => Move::Peek(1, 1),
            _ => Move::Send(sent),
        });
    }
    script.push(Act::TakeAll);
    moves.extend([Move::Receive(MOVES / 2), Move::Settle, Move::Close]);
    Case::new(format!("random, seed {seed}"), script, moves)
}
