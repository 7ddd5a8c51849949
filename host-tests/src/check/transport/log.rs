//! What happened in a run, as the caller of the transport saw it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::case::Sign;
use super::peer::{Deed, Received, Stamp};
use super::text::Text;
use crate::Failure;
use crate::transport::{Delivery, Incoming, SendError};

/// A run: what the check saw, and what the peer did.
pub(super) struct Record {
    pub(super) entries: Vec<Entry>,
    pub(super) deeds: Vec<Deed>,
    pub(super) received: Vec<Received>,
}

/// Something that happened, and when.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: Stamp,
    pub(super) event: Event,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Connecting,
    Connected,
    NotConnected(Failure),
    Sending(Text),
    Disowned(Text),
    Sent(Text, Result<Delivery, SendError>),
    GaveUp(Text),
    Receiving,
    Came(Result<Incoming, Failure>),
    /// The peer was seen to have come so far.
    Saw(Sign),
    /// The peer could say all that it has to say, or could not.
    Stalled {
        all: bool,
    },
    /// This process has grown by so many bytes.
    Grew(u64),
    Abandoned(u64),
    Closing,
    Closed,
    Dropped,
    /// This did not end.
    Hung(Operation),
    /// So many of the peer's processes are left.
    Left(usize),
}

/// Something that should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Connect,
    Send(Text),
    Receive,
    Close,
    /// The peer, which waits for what does not come.
    Peer,
}

/// A log that grows while it is read.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Entry>>>);

impl Log {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, event: Event) {
        self.entries().push(Entry { at: Stamp::now(), event });
    }

    /// All of it so far, which is then no longer in it.
    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.entries())
    }
}

impl Event {
    /// Whether it is the end of the connection, as the transport tells it.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Event::Came(Ok(Incoming::End) | Err(_)))
    }

    /// Whether the check ends the connection.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Event::Closing | Event::Dropped)
    }
}
