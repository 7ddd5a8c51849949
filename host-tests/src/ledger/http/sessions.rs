//! Sessions, and what was said on their streams.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::script::End;

/// A session. A stateless server has one, of which nobody is told.
pub(super) struct Session {
    /// What its clients call it.
    pub(super) id: String,
    state: Mutex<Streams>,
}

struct Streams {
    /// The revision that was agreed on.
    revision: String,
    ended: bool,
    /// The ids of the requests in it.
    ids: BTreeSet<String>,
    /// The first is shared by all requests; each request with an event store has one of its own.
    streams: Vec<Stream>,
}

#[derive(Default)]
struct Stream {
    /// The data of each event that was said on it.
    said: Vec<Vec<u8>>,
    /// Who follows it: the latest, by number.
    follower: u64,
    /// The follower is to leave it, so.
    end: Option<End>,
}

/// The number of the stream that all requests share.
pub(super) const SHARED: usize = 0;

/// What a follower of a stream finds.
pub(super) enum News {
    /// These events, by number.
    Events(Vec<(usize, Vec<u8>)>),
    /// Nothing so far.
    Nothing,
    /// The stream ends, so; in order, if not said how.
    Ended(Option<End>),
}

impl Session {
    pub(super) fn new(id: String, revision: &str) -> Session {
        let streams = vec![Stream::default()];
        let state = Streams { revision: revision.to_owned(), ended: false, ids: BTreeSet::new(), streams };
        Session { id, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, Streams> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn revision(&self) -> String {
        self.state().revision.clone()
    }

    /// Another revision is agreed on.
    pub(super) fn agree(&self, revision: &str) {
        self.state().revision = revision.to_owned();
    }

    /// Whether no request had this id so far. Now one has.
    pub(super) fn is_new(&self, id: &str) -> bool {
        self.state().ids.insert(id.to_owned())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    pub(super) fn end(&self) {
        self.state().ended = true;
    }

    /// A stream of its own, for a request.
    pub(super) fn open(&self) -> usize {
        let mut state = self.state();
        state.streams.push(Stream::default());
        state.streams.len() - 1
    }

    /// Says something on a stream. Returns the event's number in it.
    pub(super) fn say(&self, stream: usize, data: &[u8]) -> usize {
        let mut state = self.state();
        let Some(stream) = state.streams.get_mut(stream) else { return 0 };
        stream.said.push(data.to_vec());
        stream.said.len() - 1
    }

    /// The number of the next event on a stream; none if there is no such stream.
    pub(super) fn next(&self, stream: usize) -> Option<usize> {
        self.state().streams.get(stream).map(|stream| stream.said.len())
    }

    /// Begins to follow a stream. Whoever did so before stops. Returns the follower's number.
    pub(super) fn follow(&self, stream: usize) -> u64 {
        let mut state = self.state();
        let Some(stream) = state.streams.get_mut(stream) else { return 0 };
        stream.end = None;
        stream.follower += 1;
        stream.follower
    }

    /// Ends the stream that requests share.
    pub(super) fn end_shared(&self, end: End) {
        if let Some(stream) = self.state().streams.get_mut(SHARED) {
            stream.end = Some(end);
        }
    }

    /// What there is for a follower that has had all events before `from`.
    pub(super) fn news(&self, stream: usize, follower: u64, from: usize) -> News {
        let state = self.state();
        let Some(stream) = state.streams.get(stream) else { return News::Ended(None) };
        let events = stream.said.iter().enumerate().skip(from);
        let events: Vec<_> = events.map(|(number, data)| (number, data.clone())).collect();
        if !events.is_empty() {
            News::Events(events)
        } else if state.ended || stream.follower != follower {
            News::Ended(None)
        } else {
            stream.end.map_or(News::Nothing, |end| News::Ended(Some(end)))
        }
    }
}

/// The id of an event: its stream and its number.
pub(super) fn event_id(stream: usize, number: usize) -> String {
    format!("{stream}-{number}")
}

/// The stream and the number of the event with this id.
pub(super) fn event_of(id: &str) -> Option<(usize, usize)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
