//! What happens beside the calls: a queue that nobody need read, bounded in number and bytes.

use alloc::collections::VecDeque;

use crate::prelude::*;
use crate::protocol::handshake::Server;

use super::verdict::{CallId, Failure};

/// Something that happened beside the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection is up and its handshake done.
    Connected(Server),
    /// The connection is lost.
    Disconnected(Failure),
    /// A call whose outcome was unknown is answered now.
    LateAnswer(CallId),
    /// A call whose caller went away before its verdict, and whose outcome is unknown.
    Unclaimed(CallId),
    /// Progress of a call.
    Progress(Progress),
    /// Another notification of the server's.
    Notification(Notification),
    /// No more news comes of what was subscribed to; why, unless the server ended it in order.
    Unsubscribed(Option<Failure>),
    /// Something odd.
    Diagnostic(Diagnostic),
    /// So many events were dropped.
    Dropped(u64),
}

/// Progress of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The call.
    pub call: CallId,
    /// The notification's `params`, verbatim.
    pub params: String,
}

/// A notification of the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Its method.
    pub method: String,
    /// Its `params`, verbatim.
    pub params: Option<String>,
}

/// Something odd, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What, in words.
    pub text: String,
    /// How often in a row.
    pub count: u32,
}

impl Event {
    /// About how many bytes it holds that somebody else chose.
    fn size(&self) -> usize {
        match self {
            Self::Connected(server) => {
                let Server { name, version, capabilities, instructions, protocol_version: _ } = server;
                let instructions = instructions.as_ref().map_or(0, String::len);
                name.len() + version.len() + capabilities.len() + instructions
            }
            Self::Progress(progress) => progress.params.len(),
            Self::Notification(Notification { method, params }) => {
                method.len() + params.as_ref().map_or(0, String::len)
            }
            Self::Diagnostic(diagnostic) => diagnostic.text.len(),
            Self::Disconnected(failure) | Self::Unsubscribed(Some(failure)) => {
                failure.detail.iter().map(String::len).sum()
            }
            Self::Unsubscribed(None) | Self::LateAnswer(_) | Self::Unclaimed(_) | Self::Dropped(_) => 0,
        }
    }
}

/// The queue.
#[derive(Debug)]
pub struct Events {
    queue: VecDeque<Event>,
    bytes: usize,
    dropped: u64,
    most: usize,
    most_bytes: usize,
}

impl Events {
    /// A queue of so many events and so many bytes.
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Self { queue: VecDeque::new(), bytes: 0, dropped: 0, most, most_bytes }
    }

    /// Adds an event; where that is too much, the oldest go and are counted.
    pub fn push(&mut self, event: Event) {
        self.bytes = self.bytes.saturating_add(event.size());
        self.queue.push_back(event);
        while self.queue.len() > self.most || self.bytes > self.most_bytes {
            let Some(oldest) = self.queue.pop_front() else {
                break;
            };
            self.bytes -= oldest.size();
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Adds a diagnostic; the same one again only counts.
    pub fn diagnose(&mut self, text: &str) {
        if let Some(Event::Diagnostic(last)) = self.queue.back_mut()
            && last.text == text
        {
            last.count = last.count.saturating_add(1);
            return;
        }
        self.push(Event::Diagnostic(Diagnostic { text: text.to_owned(), count: 1 }));
    }

    /// The next event. That some were dropped is told first: they were older.
    pub fn pop(&mut self) -> Option<Event> {
        if self.dropped > 0 {
            return Some(Event::Dropped(core::mem::take(&mut self.dropped)));
        }
        let event = self.queue.pop_front()?;
        self.bytes -= event.size();
        Some(event)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.dropped == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(bytes: usize) -> Event {
        Event::Notification(Notification { method: String::new(), params: Some("x".repeat(bytes)) })
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let mut events = Events::new(2, 100);
        (1..=5).for_each(|id| events.push(Event::LateAnswer(CallId(id))));
        assert_eq!(events.pop(), Some(Event::Dropped(3)));
        assert_eq!(events.pop(), Some(Event::LateAnswer(CallId(4))));
        assert_eq!(events.pop(), Some(Event::LateAnswer(CallId(5))));
        assert_eq!(events.pop(), None);
    }

    #[test]
    fn bytes_are_bounded_too() {
        let mut events = Events::new(100, 100);
        events.push(notification(60));
        events.push(notification(60));
        assert_eq!(events.pop(), Some(Event::Dropped(1)));
        assert_eq!(events.pop(), Some(notification(60)));
        events.push(notification(101));
        assert_eq!(events.pop(), Some(Event::Dropped(1)));
        assert!(events.is_empty());
        assert_eq!(events.bytes, 0);
        // As many as may be are no more than that.
        events.push(notification(60));
        events.push(notification(40));
        assert_eq!(events.pop(), Some(notification(60)));
    }

    #[test]
    fn the_same_diagnostic_in_a_row_is_one() {
        let mut events = Events::new(10, 1000);
        (0..1000).for_each(|_| events.diagnose("odd"));
        events.diagnose("other");
        events.diagnose("odd");
        for (text, count) in [("odd", 1000), ("other", 1), ("odd", 1)] {
            assert_eq!(events.pop(), Some(Event::Diagnostic(Diagnostic { text: text.into(), count })));
        }
    }
}
