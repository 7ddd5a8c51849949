//! A connection to the server.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use tokio::sync::{Notify, oneshot};

use super::play::{self, Request};
use super::{Audit, Shared, What};
use crate::transport::{
    BoxFuture, Connection, Delivery, HEAD, Incoming, Outgoing, Oversized, SendError, TAIL,
};
use crate::{Failure, FailureKind};

/// The way from the server to the client.
pub(super) struct Line {
    /// The connection's number, from 1.
    pub(super) number: u32,
    /// The size of the largest message to deliver, in bytes.
    max_message: u64,
    inbox: Mutex<Inbox>,
    arrived: Notify,
}

#[derive(Default)]
struct Inbox {
    queue: VecDeque<Incoming>,
    /// How the line ended: in order, or not. What is in the queue comes first.
    end: Option<Result<(), Failure>>,
    /// Requests whose own channels the client closed.
    abandoned: BTreeSet<u64>,
}

impl Line {
    pub(super) fn new(number: u32, max_message: u64) -> Line {
        Line { number, max_message, inbox: Mutex::default(), arrived: Notify::new() }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `incoming` will reach the client.
    pub(super) fn push(&self, incoming: Incoming) -> bool {
        let incoming = self.fit(incoming);
        let mut inbox = self.inbox();
        let channel = match &incoming {
            Incoming::Message(arrival) => arrival.channel,
            Incoming::TooLarge(oversized) => oversized.channel,
            Incoming::AnswerLost(lost) => Some(lost.request),
            Incoming::End => None,
        };
        if inbox.end.is_some() || channel.is_some_and(|own| inbox.abandoned.contains(&own)) {
            return false;
        }
        inbox.queue.push_back(incoming);
        drop(inbox);
        self.arrived.notify_one();
        true
    }

    /// A transport skips what is larger than the client takes.
    fn fit(&self, incoming: Incoming) -> Incoming {
        match incoming {
            Incoming::Message(mut arrival) if arrival.message.len() as u64 > self.max_message => {
                let size = arrival.message.len();
                let tail = arrival.message[size.saturating_sub(TAIL)..].to_vec();
                arrival.message.truncate(HEAD);
                Incoming::TooLarge(Oversized {
                    head: arrival.message,
                    tail,
                    size: Some(size as u64),
                    channel: arrival.channel,
                })
            }
            other => other,
        }
    }

    /// Ends the line, in order or not. False if it had ended before.
    pub(super) fn finish(&self, end: Result<(), Failure>) -> bool {
        let mut inbox = self.inbox();
        if inbox.end.is_some() {
            return false;
        }
        inbox.end = Some(end);
        drop(inbox);
        self.arrived.notify_one();
        true
    }

    /// Why nothing can be sent any more.
    fn gone(&self) -> Option<Failure> {
        match &self.inbox().end {
            None => None,
            Some(Ok(())) => Some(Failure::closed("the peer has ended the connection")),
            Some(Err(failure)) => Some(failure.clone()),
        }
    }

    async fn next(&self) -> Result<Incoming, Failure> {
        loop {
            {
                let mut inbox = self.inbox();
                if let Some(incoming) = inbox.queue.pop_front() {
                    return Ok(incoming);
                }
                match &inbox.end {
                    Some(Ok(())) => return Ok(Incoming::End),
                    Some(Err(failure)) => return Err(failure.clone()),
                    None => {}
                }
            }
            self.arrived.notified().await;
        }
    }
}

/// The client's end of a connection.
pub(super) struct LedgerConnection {
    server: Arc<Shared>,
    line: Arc<Line>,
    audit: Mutex<Audit>,
}

impl LedgerConnection {
    pub(super) fn new(server: Arc<Shared>, line: Arc<Line>) -> LedgerConnection {
        let initialised = server.state().manners.initialised;
        LedgerConnection { server, line, audit: Mutex::new(Audit::new(initialised)) }
    }

    fn audit(&self) -> MutexGuard<'_, Audit> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: What) {
        self.server.note(self.line.number, what);
    }
}

impl Connection for LedgerConnection {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let found = self.audit().message(&message);
        self.server.state().violations.extend(found);

        let gone = self.line.gone();
        let request = Request::read(&message);
        self.note(What::Handed(request.handed(message, gone.is_some())));
        if let Some(Failure { detail, .. }) = gone {
            let kind = FailureKind::Closed;
            let failure = Failure { kind, detail };
            return Box::pin(async { Err(SendError::NotSent(failure)) });
        }

        let (decide, decided) = oneshot::channel();
        let steps = play::steps(&self.server, &request);
        let play = play::play(self.server.clone(), self.line.clone(), request, steps, decide);
        let mut play = Box::pin(play);
        // What can happen at once happens now; the rest on the clock.
        if play.as_mut().now_or_never().is_none() {
            tokio::spawn(play);
        }
        Box::pin(async {
            match decided.await {
                Ok(result) => result,
                // The script never decides.
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let line = self.line.clone();
        Box::pin(async move { line.next().await })
    }

    fn abandon(&self, request: u64) {
        if self.server.state().manners.own_channels {
            self.line.inbox().abandoned.insert(request);
        }
        self.note(What::Abandoned(request));
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.audit().close();
        self.note(What::Closed);
        let hangs = self.server.state().manners.close_hangs;
        self.line.finish(Ok(()));
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Drop for LedgerConnection {
    fn drop(&mut self) {
        self.line.finish(Err(Failure::closed("the client let the connection go")));
        self.note(What::Dropped);
    }
}
