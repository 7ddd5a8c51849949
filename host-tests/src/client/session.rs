//! A session in an instance.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use wasmtime::component::{Accessor, ResourceAny};

use super::{Client, ClientError};
use crate::bindings::exports::noreplay::mcp::client::GuestSession;
use crate::host::Host;
use crate::instance::drop_resource;
use crate::{CallId, Event, NotExecuted, Outcome, PendingCall, Query, ReadError, Server, Tool, ToolCall};

/// What a method of [`Session`] brings, or why the instance is gone.
pub trait Answer<T>: Future<Output = Result<T, ClientError>> + Send {}

impl<T, F: Future<Output = Result<T, ClientError>> + Send> Answer<T> for F {}

/// A session with one server, across reconnects. Cheap to clone; dropping the last clone closes it
/// without waiting.
///
/// Each method starts at once, in the order in which they are called: its future only waits. Dropping
/// that future gives the value up, and nothing else: a call goes on in the component, and stands in
/// [`pending`](Session::pending) until its end, and after that if its outcome is unknown.
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
    pub fn call_tool(&self, call: ToolCall) -> impl Answer<Result<Outcome, NotExecuted>> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_call_tool(store, resource, call).await })
        })
    }

    /// Lists the server's tools, all pages of them.
    pub fn list_tools(&self) -> impl Answer<Result<Vec<Tool>, ReadError>> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_list_tools(store, resource).await })
        })
    }

    /// Reads something else that the server has: JSON, or nothing, as the query says.
    pub fn read(&self, what: Query) -> impl Answer<Result<String, ReadError>> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_read(store, resource, what).await })
        })
    }

    /// Opens a fresh connection and sends nothing but the handshake.
    pub fn reconnect(&self) -> impl Answer<Result<Server, NotExecuted>> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_reconnect(store, resource).await })
        })
    }

    /// Learns the outcome of a call without sending it again, from an answer that came, or comes
    /// within `timeout`; else it is unknown as it was. None: the call has no verdict yet, is not
    /// remembered, or did not run.
    pub fn reconcile(&self, call: CallId, timeout: Duration) -> impl Answer<Option<Outcome>> + use<> {
        let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_reconcile(store, resource, call, timeout_ms).await })
        })
    }

    /// The calls whose outcome is not known: those that ended as unknown and are not reconciled, then
    /// those that have no verdict yet.
    pub fn pending(&self) -> impl Answer<Vec<PendingCall>> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_pending(store, resource).await })
        })
    }

    /// Waits for the next event. None once the session is closed and all were read. A dropped future
    /// loses the event that it would have brought.
    pub fn next_event(&self) -> impl Answer<Option<Event>> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_next_event(store, resource).await })
        })
    }

    /// Stops waiting for a call. False if it has its verdict already.
    pub fn cancel(&self, call: CallId) -> impl Answer<bool> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_cancel(store, resource, call).await })
        })
    }

    /// Ends the session.
    pub fn close(&self) -> impl Answer<()> + use<> {
        self.ask(move |store, session, resource| {
            Box::pin(async move { session.call_close(store, resource).await })
        })
    }

    fn ask<R, J>(&self, job: J) -> impl Answer<R> + use<R, J>
    where
        R: Send + 'static,
        J: for<'a> FnOnce(
                &'a Accessor<Host>,
                GuestSession<'a>,
                ResourceAny,
            ) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
    {
        let held = self.held.clone();
        let resource = held.resource;
        let borrows = held.borrows.clone();
        let answer = held.client.instance.ask(move |store, guest| {
            Box::pin(async move {
                let _borrow: OwnedRwLockReadGuard<()> = borrows.read_owned().await;
                job(store, guest.session(), resource).await
            })
        });
        async move {
            // Whoever waits holds the session.
            let _held = held;
            answer.await
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let resource = self.resource;
        let borrows = self.borrows.clone();
        self.client.instance.post(move |store, guest| {
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
