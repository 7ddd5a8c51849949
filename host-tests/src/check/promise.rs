//! The contract's promises, and how one is broken.

use std::fmt;
use std::str::FromStr;

/// A promise of the contract's section 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// At most one attempt a call.
    P1,
    /// Truth.
    P2,
    /// One way.
    P3,
    /// Once.
    P4,
    /// Recovery is not replay.
    P5,
    /// Isolation.
    P6,
    /// Text never classifies.
    P7,
    /// Hints never authorise.
    P8,
    /// No hang, no growth.
    P9,
    /// Nothing lost.
    P10,
}

impl Promise {
    /// All of them.
    pub const ALL: [Promise; 10] = [
        Promise::P1,
        Promise::P2,
        Promise::P3,
        Promise::P4,
        Promise::P5,
        Promise::P6,
        Promise::P7,
        Promise::P8,
        Promise::P9,
        Promise::P10,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10"][self as usize]
    }

    /// What it says, in a few words.
    pub fn words(self) -> &'static str {
        [
            "at most one attempt a call",
            "truth",
            "one way",
            "once",
            "recovery is not replay",
            "isolation",
            "text never classifies",
            "hints never authorise",
            "no hang, no growth",
            "nothing lost",
        ][self as usize]
    }
}

impl FromStr for Promise {
    type Err = NoPromise;

    fn from_str(name: &str) -> Result<Promise, NoPromise> {
        Promise::ALL.into_iter().find(|promise| promise.name() == name).ok_or(NoPromise)
    }
}

/// A name that no promise bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the promises are P1 to P10")]
pub struct NoPromise;

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A promise that a run shows to be broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    /// The promise.
    pub(super) promise: Promise,
    /// What was done, or said, against it.
    pub(super) why: String,
}
