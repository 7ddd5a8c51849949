//! The two books: what tools did, and what befell the connections.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::Failure;
use crate::transport::Incoming;

/// How much of a message of the server's is written into the book, in bytes.
const HEAD: usize = 1024;

/// Something that a tool did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The tool.
    pub tool: String,
    /// The call's `arguments`, as they were written; none if there were none.
    pub arguments: Option<String>,
    /// The request's id.
    pub request: Option<u64>,
    /// The connection that it came on, from 1.
    pub connection: u32,
}

/// The effects of tools, in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    effects: Vec<Effect>,
}

impl Ledger {
    pub(super) fn of(book: &[Entry]) -> Ledger {
        let effects = book.iter().filter_map(|entry| match &entry.what {
            What::Executed(effect) => Some(effect.clone()),
            _ => None,
        });
        Ledger { effects: effects.collect() }
    }

    /// All effects.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// How often the tool `tool` had its effect.
    pub fn count(&self, tool: &str) -> usize {
        let of_tool = |effect: &&Effect| effect.tool == tool;
        self.effects.iter().filter(of_tool).count()
    }
}

/// A line of the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, since the server was made.
    pub at: Duration,
    /// On which connection, from 1.
    pub connection: u32,
    /// What.
    pub what: What,
}

/// What can befall a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The client asked for a connection.
    Connecting,
    /// It has one.
    Connected,
    /// It gets none.
    Refused(Failure),
    /// The client handed a message over.
    Handed(Handed),
    /// A tool had its effect.
    Executed(Effect),
    /// The server said something that is whole: its first bytes, at most 1 KiB.
    Said(Bytes),
    /// The server said something too large.
    TooLarge,
    /// The transport reported that this request will not be answered.
    AnswerLost(u64),
    /// The connection was lost.
    Lost(Failure),
    /// The server ended the connection in order.
    Ended,
    /// The client abandoned this request.
    Abandoned(u64),
    /// The client asked to end the connection in order.
    Closed,
    /// The client let the connection go.
    Dropped,
}

impl What {
    pub(super) fn said(incoming: &Incoming) -> What {
        match incoming {
            Incoming::Message(arrival) => {
                let head = &arrival.message[..arrival.message.len().min(HEAD)];
                What::Said(Bytes(head.into()))
            }
            Incoming::TooLarge(_) => What::TooLarge,
            Incoming::AnswerLost(lost) => What::AnswerLost(lost.request),
            Incoming::End => What::Ended,
        }
    }
}

/// A message that a client handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Its method; empty for a response.
    pub method: String,
    /// The request's id; none for a notification or a response.
    pub request: Option<u64>,
    /// The tool that it calls.
    pub tool: Option<String>,
    /// The protocol revision that the client says is in force.
    pub protocol_version: Option<String>,
    /// The headers that the client asks for.
    pub headers: Vec<(String, String)>,
    /// The message itself.
    pub bytes: Bytes,
    /// Whether the connection was lost before, so that not one byte left.
    pub too_late: bool,
}

/// Bytes that are most likely text, and are shown as such.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(Arc<[u8]>);

impl Bytes {
    /// The bytes as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes.into())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// What befell the connections, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    entries: Vec<Entry>,
}

impl Wire {
    pub(super) fn of(book: &[Entry]) -> Wire {
        Wire { entries: book.to_vec() }
    }

    /// All that happened, effects included.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Each message that was handed over, with the number of its connection.
    pub fn handed(&self) -> impl Iterator<Item = (u32, &Handed)> {
        self.entries.iter().filter_map(|entry| match &entry.what {
            What::Handed(handed) => Some((entry.connection, handed)),
            _ => None,
        })
    }

    /// How many messages with this method were handed over.
    pub fn count(&self, method: &str) -> usize {
        self.handed().filter(|(_, handed)| handed.method == method).count()
    }

    /// How many calls of this tool were handed over.
    pub fn calls(&self, tool: &str) -> usize {
        self.handed().filter(|(_, handed)| handed.tool.as_deref() == Some(tool)).count()
    }

    /// The methods of the messages that were handed over on one connection.
    pub fn methods(&self, connection: u32) -> Vec<&str> {
        self.handed()
            .filter(|(number, _)| *number == connection)
            .map(|(_, handed)| handed.method.as_str())
            .collect()
    }

    /// How many connections were asked for.
    pub fn connects(&self) -> usize {
        self.times(|what| matches!(what, What::Connecting))
    }

    /// How many connections the client ended in order.
    pub fn closes(&self) -> usize {
        self.times(|what| matches!(what, What::Closed))
    }

    /// The requests that were abandoned.
    pub fn abandoned(&self) -> Vec<u64> {
        self.entries
            .iter()
            .filter_map(|entry| match entry.what {
                What::Abandoned(request) => Some(request),
                _ => None,
            })
            .collect()
    }

    fn times(&self, is: impl Fn(&What) -> bool) -> usize {
        self.entries.iter().filter(|entry| is(&entry.what)).count()
    }
}
