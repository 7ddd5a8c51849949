//! What a transport owes, and how it is broken.

use std::fmt;

/// Something that a transport owes: the contract's section 8, and what `wit/transport.wit` says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Duty {
    /// A connection to a peer that is there is opened.
    Connected,
    /// Each message is sent at most once: on no second connection, and not in part before.
    SentOnce,
    /// `not-sent` is said of nothing of which a byte left.
    NotSent,
    /// `truncated` is said of nothing whose text left whole.
    Truncated,
    /// `refused` is said of what the peer refused, and of nothing else.
    Refused,
    /// `handed-over` is said of nothing that is still here, `accepted` of nothing that nobody confirmed.
    HandedOver,
    /// Messages are neither split nor merged nor changed, in either direction.
    Whole,
    /// Each message of the peer's is delivered, and once.
    Complete,
    /// Messages keep their order, in either direction.
    Ordered,
    /// The loss of one message drops no other.
    OthersKept,
    /// That an answer will not come is told, at once.
    LossTold,
    /// What comes on a request's own channel is said to come there.
    Attributed,
    /// The end is told at once, after all that came before it, and is not made up.
    EndTold,
    /// Every operation ends.
    NoHang,
    /// Once a connection is closed or dropped, nothing is left of it.
    NothingLeft,
    /// Memory is bounded, whatever the peer writes and whoever receives.
    Bounded,
}

impl Duty {
    /// All of them.
    pub const ALL: [Duty; 16] = [
        Duty::Connected,
        Duty::SentOnce,
        Duty::NotSent,
        Duty::Truncated,
        Duty::Refused,
        Duty::HandedOver,
        Duty::Whole,
        Duty::Complete,
        Duty::Ordered,
        Duty::OthersKept,
        Duty::LossTold,
        Duty::Attributed,
        Duty::EndTold,
        Duty::NoHang,
        Duty::NothingLeft,
        Duty::Bounded,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Duty::Connected => "connected",
            Duty::SentOnce => "sent-once",
            Duty::NotSent => "not-sent",
            Duty::Truncated => "truncated",
            Duty::Refused => "refused",
            Duty::HandedOver => "handed-over",
            Duty::Whole => "whole",
            Duty::Complete => "complete",
            Duty::Ordered => "ordered",
            Duty::OthersKept => "others-kept",
            Duty::LossTold => "loss-told",
            Duty::Attributed => "attributed",
            Duty::EndTold => "end-told",
            Duty::NoHang => "no-hang",
            Duty::NothingLeft => "nothing-left",
            Duty::Bounded => "bounded",
        }
    }

    /// What it says, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Duty::Connected => "a peer that is there is reached",
            Duty::SentOnce => "each message is sent at most once",
            Duty::NotSent => "what was not sent has not left",
            Duty::Truncated => "what was truncated has not left whole",
            Duty::Refused => "what was refused, and no more, is told so",
            Duty::HandedOver => "what was handed over has left",
            Duty::Whole => "messages stay whole and unchanged",
            Duty::Complete => "each message is delivered once",
            Duty::Ordered => "messages keep their order",
            Duty::OthersKept => "the loss of one drops no other",
            Duty::LossTold => "the loss of an answer is told",
            Duty::Attributed => "an answer is told with its channel",
            Duty::EndTold => "the end is told, at once, and last",
            Duty::NoHang => "every operation ends",
            Duty::NothingLeft => "nothing is left after close or drop",
            Duty::Bounded => "memory is bounded",
        }
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A duty that a run shows to be broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    /// The duty.
    pub(super) duty: Duty,
    /// What was done, or said, against it.
    pub(super) why: String,
}
