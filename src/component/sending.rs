//! A message that is with the transport, until the transport answers for it.

use alloc::rc::Rc;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::prelude::*;
use crate::protocol::message::Outgoing;
use crate::session::evidence::SendError;
use crate::session::{Delivery, Receipt};

use super::bindings::noreplay::mcp::transport::Connection;
use super::convert;

/// A `send` that is under way. Whoever drops it gives it up.
pub(super) struct Sending {
    pub(super) receipt: Receipt,
    send: Pin<Box<dyn Future<Output = Result<Delivery, SendError>>>>,
}

impl Sending {
    /// Takes a message, which is moved, and gone: it goes to the transport with the first poll.
    pub(super) fn new(receipt: Receipt, connection: Rc<Connection>, message: Outgoing) -> Self {
        let send = async move { connection.send(convert::outgoing(message)).await.map(convert::delivery) };
        Self { receipt, send: Box::pin(send) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Delivery, SendError>> {
        self.send.as_mut().poll(cx)
    }
}
