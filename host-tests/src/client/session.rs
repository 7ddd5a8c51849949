//! A session in an instance.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use wasmtime::component::{Accessor, ResourceAny};

use super::{Client, ClientError};
use crate::bindings::exports::noreplay::mcp::client::GuestSession;
use crate::host::Host;
use crate::{
    CallId, Event, NotExecuted, Outcome, PendingCall, ReadError, Server, Tool, ToolCall, UnknownOutcome,
};

/// A session with one server, across reconnects. Cheap to clone; dropping the last clone closes it
/// without waiting.
///
/// Dropping the future of a method gives its value up, and nothing else: the call goes on in the
/// component, stands in [`pending`](Session::pending) until its end, and in
/// [`unsettled`](Session::unsettled) after that if its outcome is unknown.
///
/// Every method fails if the instance is gone ([`ClientError`]); that is never a verdict.
#[derive(Clone)]
pub struct Session {
    held: Arc<Held>,
}

/// The handle to the session in the instance.
struct Held {
    client: Client,
    resource: ResourceAny,
    /// Held for reading by each job that borrows the resource. It cannot be dropped before.
    borrows: Arc<RwLock<()>>,
}

impl Session {
    pub(super) fn new(client: Client, resource: ResourceAny) -> Session {
        let borrows = Arc::default();
        let held = Held { client, resource, borrows };
        Session { held: Arc::new(held) }
    }

    /// The instance in which the session is.
    pub fn client(&self) -> &Client {
        &self.held.client
    }

    /// Calls a tool, at most once.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn call_tool(&self, call: ToolCall) -> Result<Result<Outcome, NotExecuted>, ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_call_tool(store, resource, call).await })
        })
        .await
    }

    /// Lists the server's tools, all pages of them.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn list_tools(&self) -> Result<Result<Vec<Tool>, ReadError>, ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_list_tools(store, resource).await })
        })
        .await
    }

    /// Opens a fresh connection and sends nothing but the handshake.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn reconnect(&self) -> Result<Result<Server, NotExecuted>, ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_reconnect(store, resource).await })
        })
        .await
    }

    /// Learns the outcome of a call without sending it again, from an answer that came, or comes
    /// within `timeout`. None: still unknown.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn reconcile(&self, call: CallId, timeout: Duration) -> Result<Option<Outcome>, ClientError> {
        let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_reconcile(store, resource, call, timeout_ms).await })
        })
        .await
    }

    /// The calls that have no verdict yet.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn pending(&self) -> Result<Vec<PendingCall>, ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_pending(store, resource).await })
        })
        .await
    }

    /// The calls that ended as unknown and are not reconciled.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn unsettled(&self) -> Result<Vec<UnknownOutcome>, ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_unsettled(store, resource).await })
        })
        .await
    }

    /// Waits for the next event. None once the session is closed and all were read. A dropped future
    /// loses the event that it would have brought.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn next_event(&self) -> Result<Option<Event>, ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_next_event(store, resource).await })
        })
        .await
    }

    /// Stops waiting for a call. False if it has its verdict already.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn cancel(&self, call: CallId) -> Result<bool, ClientError> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_cancel(store, resource, call).await })
        })
        .await
    }

    /// Ends the session.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn close(&self) -> Result<(), ClientError> {
        self.ask(|store, session, resource| {
            Box::pin(async move { session.call_close(store, resource).await })
        })
        .await
    }

    async fn ask<R: Send + 'static>(
        &self,
        job: impl for<'a> FnOnce(
            &'a Accessor<Host>,
            GuestSession<'a>,
            ResourceAny,
        ) -> BoxFuture<'a, wasmtime::Result<R>>
        + Send
        + 'static,
    ) -> Result<R, ClientError> {
        let resource = self.held.resource;
        let borrows = self.held.borrows.clone();
        self.held
            .client
            .ask(move |store, guest| {
                Box::pin(async move {
                    let _borrow: OwnedRwLockReadGuard<()> = borrows.read_owned().await;
                    job(store, guest.session(), resource).await
                })
            })
            .await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let resource = self.resource;
        let borrows = self.borrows.clone();
        self.client.post(move |store, guest| {
            Box::pin(async move {
                // Calls whose futures were dropped go on in the component; closing ends them.
                if borrows.try_write().is_err() {
                    guest.session().call_close(store, resource).await?;
                }
                let _last = borrows.write().await;
                drop_resource(store, resource)
            })
        });
    }
}

/// Drops the session in the component, whose destructor cannot wait for anything: one poll is enough.
fn drop_resource(store: &Accessor<Host>, resource: ResourceAny) -> wasmtime::Result<()> {
    store
        .with(|store| resource.resource_drop_async(store).now_or_never())
        .unwrap_or_else(|| Err(wasmtime::Error::msg("the session's destructor blocks")))
}
