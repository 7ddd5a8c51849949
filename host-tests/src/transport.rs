//! The way to a server, as a host supplies it: what the WIT's `transport` interface asks of a host,
//! as Rust traits.
//!
//! An implementation owes what the WIT says, in short: each message is sent at most once, delivery is
//! reported as far as it is known and no further, and the loss of one answer drops no other.

use std::sync::Arc;

pub use futures::future::BoxFuture;

use crate::Failure;
use crate::bindings::noreplay::mcp::transport::Incoming as Told;
pub use crate::bindings::noreplay::mcp::transport::{
    Arrival, Delivery, LostAnswer, Outgoing, Oversized, SendError,
};

pub mod component;
pub mod stdio;

/// How many of its first bytes are kept of a message that is too large.
pub const HEAD: usize = 4096;

/// How many of its last bytes are kept of a message that is too large.
pub const TAIL: usize = 256;

/// What comes on a connection that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A message, whatever it holds.
    Message(Arrival),
    /// A message larger than is allowed. What follows it is intact.
    TooLarge(Oversized),
    /// The answer to one request will not come. Only this request is concerned.
    AnswerLost(LostAnswer),
    /// The peer closed in order; nothing follows.
    End,
}

impl From<Incoming> for Told {
    fn from(incoming: Incoming) -> Told {
        match incoming {
            Incoming::Message(arrival) => Told::Message(arrival),
            Incoming::TooLarge(oversized) => Told::TooLarge(oversized),
            Incoming::AnswerLost(lost) => Told::AnswerLost(lost),
            Incoming::End => Told::End,
        }
    }
}

/// Opens connections.
pub trait Transport: Send + Sync + 'static {
    /// Opens a fresh connection to the server that `endpoint` names; what it may name is the
    /// transport's policy. `max_message` is the size of the largest message to deliver, in bytes.
    ///
    /// # Errors
    ///
    /// No connection could be made, so that nothing was sent.
    fn connect(
        &self,
        endpoint: &str,
        max_message: u64,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>>;
}

/// One connection to one server.
///
/// Dropping it lets the connection go at once, whatever its futures do. Dropping a future gives up
/// what it stands for, and never leaves a torn message in front of the next one.
pub trait Connection: Send + Sync + 'static {
    /// Sends one message. Messages leave in the order of the calls, whatever the order in which the
    /// futures are polled.
    ///
    /// # Errors
    ///
    /// What is known of a message that was not sent, or not whole, or that may have arrived.
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>>;

    /// Waits for what comes next. Dropping the future loses nothing: the next call brings it.
    ///
    /// # Errors
    ///
    /// The connection is lost; nothing follows.
    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>>;

    /// Stops waiting for this request's answer.
    fn abandon(&self, request: u64);

    /// Ends the connection, and the session it carries, in order.
    fn close(&self) -> BoxFuture<'static, ()>;
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn connect(
        &self,
        endpoint: &str,
        max_message: u64,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        (**self).connect(endpoint, max_message)
    }
}
