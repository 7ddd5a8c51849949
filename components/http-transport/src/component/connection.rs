//! The exported resource.

use std::future::poll_fn;
use std::rc::Rc;

use noreplay::session::evidence::SendError;
use noreplay::session::verdict::{Failure, FailureKind};

use crate::endpoint::{Endpoint, EndpointError};

use super::bindings::exports::noreplay::mcp::transport::{
    Delivery, Guest, GuestConnection, Incoming, Outgoing,
};
use super::bindings::wasi::http::types::Method;
use super::exchange;
use super::http::{self, within};
use super::known::Known;
use super::opening;
use super::shared::{Next, Shared, not_open};

/// How long the end of a session may take at the server.
const ENDING: u64 = 4_000_000_000;

/// The component.
pub(super) struct Component;

impl Guest for Component {
    type Connection = Connection;
}

/// The exported resource.
pub(super) enum Connection {
    To(Rc<Shared>),
    /// There is no way to such an endpoint.
    Nowhere(Failure),
}

impl GuestConnection for Connection {
    fn new(endpoint: String, max_message: u64) -> Self {
        match Endpoint::parse(&endpoint) {
            Ok(parsed) => Self::To(Shared::new(parsed, max_message, Known::of(&endpoint))),
            Err(error) => Self::Nowhere(unsound(&error)),
        }
    }

    async fn send(&self, message: Outgoing) -> Result<Delivery, SendError> {
        match self {
            Self::To(shared) => exchange::send(shared, message).await,
            Self::Nowhere(failure) => Err(SendError::NotSent(failure.clone())),
        }
    }

    async fn receive(&self) -> Result<Incoming, Failure> {
        let shared = match self {
            Self::To(shared) => shared,
            Self::Nowhere(failure) => return Err(failure.clone()),
        };
        if shared.begins() {
            let opened = opening::open(shared).await;
            shared.begun(opened.is_ok());
            return opened.map(|()| Incoming::Opened);
        }
        match poll_fn(|cx| shared.poll_next(cx)).await {
            Next::Incoming(incoming) => Ok(incoming),
            Next::Lost(failure) => Err(failure),
            Next::Closing => {
                shared.abandon_all();
                let _ = within(ENDING, end_session(shared)).await;
                shared.lose(not_open());
                Ok(Incoming::End)
            }
        }
    }

    fn abandon(&self, request: u64) {
        if let Self::To(shared) = self {
            shared.abandon(request);
        }
    }

    fn close(&self) {
        if let Self::To(shared) = self {
            shared.close();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Self::To(shared) = self {
            shared.abandon_all();
        }
    }
}

/// Tells the server that its session is over, if it gave one.
async fn end_session(shared: &Rc<Shared>) {
    let revision = shared.revision.borrow().clone();
    if shared.session.borrow().is_some()
        && let Ok(headers) = exchange::headers(shared, revision).await
    {
        // That it does not care is its own affair.
        let _ = http::send(Method::Delete, &shared.endpoint, headers, None).await;
    }
}

fn unsound(error: &EndpointError) -> Failure {
    let mut detail = vec!["the endpoint cannot be used".to_owned(), error.to_string()];
    detail.extend(std::error::Error::source(error).map(ToString::to_string));
    Failure { kind: FailureKind::Malformed, detail }
}
