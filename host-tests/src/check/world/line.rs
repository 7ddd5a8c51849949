//! The way from the server to the client, on one connection.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::super::moment::Told;
use crate::Failure;
use crate::transport::{Arrival, Incoming};

/// One connection's way back.
pub(super) struct Line {
    /// The connection's number, from 1.
    pub(super) number: u32,
    inbox: Mutex<Inbox>,
    arrived: Notify,
}

#[derive(Default)]
struct Inbox {
    queue: VecDeque<(Incoming, Told)>,
    /// How the line ended. What is in the queue comes first.
    end: Option<Result<(), Failure>>,
}

impl Line {
    pub(super) fn new(number: u32) -> Line {
        Line { number, inbox: Mutex::default(), arrived: Notify::new() }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server says something, unless nobody hears it any more.
    pub(super) fn say(&self, message: Vec<u8>, channel: Option<u64>, told: Told) {
        self.push(Incoming::Message(Arrival { message, channel }), told);
    }

    /// Something comes in, unless the line has ended.
    pub(super) fn push(&self, incoming: Incoming, told: Told) {
        let mut inbox = self.inbox();
        if inbox.end.is_none() {
            inbox.queue.push_back((incoming, told));
            self.arrived.notify_one();
        }
    }

    /// Ends the line, in order or not, unless it has ended.
    pub(super) fn finish(&self, end: Result<(), Failure>) {
        let mut inbox = self.inbox();
        if inbox.end.is_none() {
            inbox.end = Some(end);
            self.arrived.notify_one();
        }
    }

    /// The client lets it go: whatever has come in is for nobody.
    pub(super) fn forget(&self) {
        self.inbox().queue.clear();
    }

    /// Whether something that came in was not taken.
    pub(super) fn is_unread(&self) -> bool {
        !self.inbox().queue.is_empty()
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_over(&self) -> bool {
        self.inbox().end.is_some()
    }

    /// What comes next.
    pub(super) async fn next(&self) -> (Result<Incoming, Failure>, Told) {
        loop {
            {
                let mut inbox = self.inbox();
                if let Some((incoming, told)) = inbox.queue.pop_front() {
                    return (Ok(incoming), told);
                }
                match &inbox.end {
                    Some(Ok(())) => return (Ok(Incoming::End), Told::End),
                    Some(Err(failure)) => return (Err(failure.clone()), Told::Lost(failure.clone())),
                    None => {}
                }
            }
            self.arrived.notified().await;
        }
    }
}
