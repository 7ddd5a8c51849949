//! What a peer does: acts, one after the other, whatever carries the messages.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::http::Meeting;
use super::text::{Shape, Text};

/// What a peer does on each connection to it. After its last act it exits in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script(pub Vec<Act>);

/// One thing that a peer does. A kind of peers that cannot do it says so by
/// [`plays`](super::peer::Peers::plays).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Reads until so many more messages have come whole, or nothing more comes.
    Take(u64),
    /// Reads so many bytes and no more.
    TakeBytes(u64),
    /// Reads so many bytes, and stops reading in the same breath.
    Snatch(u64),
    /// Reads until nothing more comes.
    TakeAll,
    /// Says an answer.
    Say(Text, Manner),
    /// Says so many answers at once, of this shape, the first of this id.
    SayMany(u64, u64, Shape),
    /// Says the first bytes of an answer, so many.
    Cut(Text, usize),
    /// Says so many bytes of one answer, which is not ended.
    Babble(u64),
    /// Does nothing for so many milliseconds.
    Pause(u64),
    /// Lets nobody send to it any more.
    StopReading,
    /// Lets nobody wait for it any more.
    StopWriting,
    /// Starts something that lives on, and keeps open what it writes to.
    LeaveChild,
    /// Exits with a status.
    Exit(u8),
    /// Is killed.
    Crash,
    /// Does nothing for ever, not even exit when nothing more comes.
    Linger,
    /// Meets this request so, whenever it comes: what servers over HTTP do.
    Meet(Text, Meeting),
}

/// How an answer is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Manner {
    /// As usual.
    Plain,
    /// With CR LF at its end.
    CrLf,
    /// Behind a byte order mark.
    Bom,
    /// Without anything at its end.
    Unended,
    /// In so many pieces.
    Pieces(usize),
}

impl Manner {
    /// The byte order mark.
    pub const BOM: &[u8] = b"\xef\xbb\xbf";
}

impl Script {
    /// A peer that does nothing but read.
    pub fn reads() -> Script {
        Script(vec![Act::TakeAll])
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, act) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{act}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Take(1) => f.write_str("takes a message"),
            Act::Take(count) => write!(f, "takes {count} messages"),
            Act::TakeBytes(count) => write!(f, "takes {count} bytes"),
            Act::Snatch(count) => write!(f, "takes {count} bytes and stops reading"),
            Act::TakeAll => f.write_str("takes all"),
            Act::Say(text, manner) => write!(f, "says answer {text}{manner}"),
            Act::SayMany(first, count, shape) => {
                write!(f, "says answers {first} to {} ({shape})", first + count.saturating_sub(1))
            }
            Act::Cut(text, bytes) => write!(f, "says the first {bytes} bytes of answer {text}"),
            Act::Babble(bytes) => write!(f, "says {bytes} bytes without an end"),
            Act::Pause(time) => write!(f, "waits {time} ms"),
            Act::StopReading => f.write_str("stops reading"),
            Act::StopWriting => f.write_str("stops writing"),
            Act::LeaveChild => f.write_str("leaves a child behind"),
            Act::Exit(status) => write!(f, "exits with {status}"),
            Act::Crash => f.write_str("crashes"),
            Act::Linger => f.write_str("lingers"),
            Act::Meet(text, meeting) => write!(f, "{meeting} {text}"),
        }
    }
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Manner::Plain => Ok(()),
            Manner::CrLf => f.write_str(" with CR LF"),
            Manner::Bom => f.write_str(" behind a BOM"),
            Manner::Unended => f.write_str(" without an end"),
            Manner::Pieces(pieces) => write!(f, " in {pieces} pieces"),
        }
    }
}
