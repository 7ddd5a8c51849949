//! The other side of a transport: who plays the scripts, and keeps a record that no transport can touch.
//!
//! There is one implementation a kind of transport: [`stdio`](super::stdio) has child processes, and
//! [`http`](super::http) servers in this process, whose address is a URL.

use std::fmt;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::script::{Act, Script};

/// Starts peers of one kind.
pub trait Peers {
    /// How a transport finds a peer.
    type Address;
    /// A peer.
    type Peer: Peer<Address = Self::Address>;

    /// Gets a peer ready that plays `script` on each connection to it.
    ///
    /// # Errors
    ///
    /// There is no room for its record, or no way to listen.
    fn start(&self, script: &Script) -> io::Result<Self::Peer>;

    /// Whether peers of this kind can do this. Cases that ask for more are left out.
    fn plays(&self, act: &Act) -> bool;

    /// The most bytes that can have left without a peer having read them.
    fn room(&self) -> u64;

    /// Whether each request has a channel of its own, between which there is no order.
    fn own_channels(&self) -> bool;
}

/// A peer, and its record. Dropping it throws the record away.
pub trait Peer: Send + Sync {
    /// How a transport finds it.
    type Address;

    /// How a transport finds it.
    fn address(&self) -> Self::Address;

    /// The endpoint that `connect` is given.
    fn endpoint(&self) -> String;

    /// What it did so far, on all connections to it, in order.
    ///
    /// # Errors
    ///
    /// The record cannot be read.
    fn deeds(&self) -> io::Result<Vec<Deed>>;

    /// What it received so far, on all connections to it, in order.
    ///
    /// # Errors
    ///
    /// The record cannot be read.
    fn received(&self) -> io::Result<Vec<Received>>;

    /// How many connections to it are still held on the other side: processes that live, for example.
    ///
    /// # Errors
    ///
    /// The record cannot be read.
    fn remains(&self) -> io::Result<usize>;
}

/// Something that a peer did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// When.
    pub at: Stamp,
    /// What.
    pub did: Did,
}

/// What a peer did. That it stops writing or exits is recorded before, all else once it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Did {
    /// A connection was made.
    Start,
    /// It read so many bytes.
    Take(u64),
    /// It read that nothing more comes.
    ReadEnd,
    /// It said so many answers of this act of its script: all so far.
    Say(usize, u64),
    /// It stopped reading.
    StopReading,
    /// It stopped writing.
    StopWriting,
    /// It exited, or crashed: with this status, in words.
    Exit(String),
    /// It could not say something, for this reason.
    Fail(String),
    /// It answered this request with this HTTP status.
    Respond(u64, u16),
}

/// What a peer received: a message, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// On which of the connections to it.
    pub connection: usize,
    /// The bytes, without framing.
    pub text: Vec<u8>,
    /// Whether it was ended.
    pub ended: bool,
}

/// A time that two processes agree on: microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp(pub u64);

impl Stamp {
    /// This moment.
    pub fn now() -> Stamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Stamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    /// The milliseconds from `earlier` to this.
    pub fn millis_since(self, earlier: Stamp) -> u64 {
        self.0.saturating_sub(earlier.0) / 1_000
    }
}

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Did::Start => f.write_str("is there"),
            Did::Take(bytes) => write!(f, "takes {bytes} bytes"),
            Did::ReadEnd => f.write_str("sees that nothing more comes"),
            Did::Say(act, count) => write!(f, "has said {count} of its act {}", act + 1),
            Did::StopReading => f.write_str("stops reading"),
            Did::StopWriting => f.write_str("stops writing"),
            Did::Exit(status) => write!(f, "exits: {status}"),
            Did::Fail(why) => write!(f, "fails: {why}"),
            Did::Respond(request, status) => write!(f, "responds to request {request} with {status}"),
        }
    }
}
