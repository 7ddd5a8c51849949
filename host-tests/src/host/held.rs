//! A connection that the component holds a handle to: the [`Connection`] of a host's transport, from the
//! moment at which it begins to open to the end that `close` begins.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::Fuse;

use crate::bindings::noreplay::mcp::transport::Incoming as Told;
use crate::transport::{BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError};
use crate::{Failure, FailureKind};

type Opening = BoxFuture<'static, Result<Arc<dyn Connection>, Failure>>;
type Received = Result<Told, Failure>;

/// A connection that the component holds a handle to.
pub struct HeldConnection(Arc<Mutex<State>>);

enum State {
    Opening(Opening),
    Open(Arc<dyn Connection>, Ending),
    /// None could be made.
    Failed,
}

/// The orderly end of a connection, once it has begun.
#[derive(Default)]
struct Ending {
    closing: Option<Fuse<BoxFuture<'static, ()>>>,
    /// Whoever receives, and does not know yet that the end has begun.
    receiver: Option<Waker>,
}

impl HeldConnection {
    pub(super) fn new(opening: Opening) -> HeldConnection {
        HeldConnection(Arc::new(Mutex::new(State::Opening(opening))))
    }

    fn open(&self) -> Option<Arc<dyn Connection>> {
        match &*lock(&self.0) {
            State::Open(connection, _) => Some(connection.clone()),
            State::Opening(_) | State::Failed => None,
        }
    }

    pub(super) fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        match self.open() {
            Some(connection) => connection.send(message),
            None => Box::pin(async { Err(SendError::NotSent(not_open())) }),
        }
    }

    pub(super) fn abandon(&self, request: u64) {
        if let Some(connection) = self.open() {
            connection.abandon(request);
        }
    }

    /// Begins the end.
    pub(super) fn close(&self) {
        if let State::Open(connection, ending) = &mut *lock(&self.0) {
            ending.closing = Some(connection.close().fuse());
            if let Some(receiver) = ending.receiver.take() {
                receiver.wake();
            }
        }
    }

    pub(super) fn receive(&self) -> BoxFuture<'static, Received> {
        let state = self.0.clone();
        match self.open() {
            Some(connection) => {
                let receiving = connection.receive();
                Box::pin(or_end(state, receiving))
            }
            None => Box::pin(poll_fn(move |cx| lock(&state).poll_open(cx))),
        }
    }
}

impl State {
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Received> {
        let State::Opening(opening) = self else {
            return Poll::Ready(Err(not_open()));
        };
        let (state, received) = match opening.poll_unpin(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(connection)) => (State::Open(connection, Ending::default()), Ok(Told::Opened)),
            Poll::Ready(Err(failure)) => (State::Failed, Err(failure)),
        };
        *self = state;
        Poll::Ready(received)
    }

    /// Whether it is closed; none if that has not begun.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Option<Poll<()>> {
        let State::Open(_, ending) = self else { return None };
        if ending.closing.is_none() {
            ending.receiver = Some(cx.waker().clone());
        }
        ending.closing.as_mut().map(|closing| closing.poll_unpin(cx))
    }
}

/// What is received, or the end once the connection is closed. A peer that closes first has no say in when
/// that is.
async fn or_end(
    state: Arc<Mutex<State>>,
    mut receiving: BoxFuture<'static, Result<Incoming, Failure>>,
) -> Received {
    let mut over = None;
    poll_fn(|cx| {
        if over.is_none()
            && let Poll::Ready(received) = receiving.poll_unpin(cx)
        {
            let is_over = matches!(received, Ok(Incoming::End) | Err(_));
            let received = received.map(Told::from);
            if !is_over {
                return Poll::Ready(received);
            }
            over = Some(received);
        }
        match lock(&state).poll_closed(cx) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(())) => Poll::Ready(Ok(Told::End)),
            None => over.take().map_or(Poll::Pending, Poll::Ready),
        }
    })
    .await
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_open() -> Failure {
    Failure { kind: FailureKind::Closed, detail: vec!["the connection is not open".to_owned()] }
}
