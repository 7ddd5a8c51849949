//! The orderly end of a connection: `close` begins it, and `receive` tells when it is done.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::Fuse;

use crate::Failure;
use crate::transport::{BoxFuture, Incoming};

/// The end of a connection, once it has begun.
#[derive(Default)]
pub(super) struct Ending(Mutex<State>);

#[derive(Default)]
struct State {
    closing: Option<Fuse<BoxFuture<'static, ()>>>,
    /// Whoever receives, and does not know yet that the end has begun.
    receiver: Option<Waker>,
}

impl Ending {
    /// The connection is being closed.
    pub(super) fn begin(&self, closing: BoxFuture<'static, ()>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.closing = Some(closing.fuse());
        if let Some(receiver) = state.receiver.take() {
            receiver.wake();
        }
    }

    /// What is received, or the end once the connection is closed. A peer that closes first has no say in
    /// when that is.
    pub(super) async fn after(
        &self,
        mut receiving: BoxFuture<'static, Result<Incoming, Failure>>,
    ) -> Result<Incoming, Failure> {
        let mut over = None;
        poll_fn(|cx| {
            if over.is_none()
                && let Poll::Ready(received) = receiving.poll_unpin(cx)
            {
                if matches!(
                    received,
                    Ok(Incoming::Message(_) | Incoming::TooLarge(_) | Incoming::AnswerLost(_))
                ) {
                    return Poll::Ready(received);
                }
                over = Some(received);
            }
            match self.poll_closed(cx) {
                Some(Poll::Pending) => Poll::Pending,
                Some(Poll::Ready(())) => Poll::Ready(Ok(Incoming::End)),
                None => over.take().map_or(Poll::Pending, Poll::Ready),
            }
        })
        .await
    }

    /// Whether it is closed; none if that has not begun.
    fn poll_closed(&self, cx: &mut Context<'_>) -> Option<Poll<()>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closing.is_none() {
            state.receiver = Some(cx.waker().clone());
        }
        state.closing.as_mut().map(|closing| closing.poll_unpin(cx))
    }
}
