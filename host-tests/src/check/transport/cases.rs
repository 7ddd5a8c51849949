//! All cases: what a peer does, by what is sent or said, by the moment at which something else happens.

use super::case::Case;
use super::text::Shape;

mod closing;
mod ending;
mod flooding;
mod http;
mod random;
mod receiving;
mod sending;

pub(super) use random::MOVES;

/// More than lies between two sides, whatever carries the messages.
const BIG: Shape = Shape::Sized(4 << 20);

/// Every case that is always run.
pub(super) fn cases() -> Vec<Case> {
    [
        sending::cases(),
        receiving::cases(),
        ending::cases(),
        closing::cases(),
        flooding::cases(),
        http::cases(),
    ]
    .concat()
}

/// The random cases of this seed: one for each kind of peers.
pub(super) fn random(seed: u64) -> [Case; 2] {
    [random::random(seed), http::random(seed)]
}
