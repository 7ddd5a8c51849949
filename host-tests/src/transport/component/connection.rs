//! A connection in an instance of a transport.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio::sync::Mutex;
use wasmtime::component::{Accessor, ResourceAny};

use super::{Current, gone, words};
use crate::bindings::http::exports::noreplay::mcp::transport::{Guest, GuestConnection};
use crate::host::Host;
use crate::instance::{Instance, drop_resource};
use crate::transport::{BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError};
use crate::{ClientError, Failure, FailureKind};

/// A connection in an instance.
pub(super) struct ComponentConnection {
    held: Arc<Held>,
    inbox: Arc<Mutex<Inbox>>,
}

/// The handle to the connection in the instance. Nothing that waits holds it: it is let go with the connection.
struct Held {
    instance: Instance<Guest>,
    current: Current,
    resource: ResourceAny,
    /// Shared with each job that borrows the resource.
    borrows: Arc<()>,
}

/// What came.
#[derive(Default)]
struct Inbox {
    /// A `receive` that is under way, whoever began it.
    receiving: Option<BoxFuture<'static, Option<Received>>>,
    /// What came while the connection was closing, and nobody received.
    kept: VecDeque<Incoming>,
    /// Whether it is over.
    over: bool,
}

type Received = Result<Incoming, Failure>;

impl ComponentConnection {
    /// Opens a connection.
    pub(super) async fn open(
        instance: Instance<Guest>,
        current: &Current,
        endpoint: String,
        max_message: u64,
    ) -> Result<ComponentConnection, Failure> {
        let made = instance.ask(move |store, guest| {
            Box::pin(async move { guest.connection().call_constructor(store, endpoint, max_message).await })
        });
        let resource = made.await.map_err(|error| gone(&error))?;
        let held = Held { instance, current: current.clone(), resource, borrows: Arc::default() };
        let connection = ComponentConnection { held: Arc::new(held), inbox: Arc::default() };
        match connection.held.receive().await {
            None => Ok(connection),
            Some(Err(failure)) => Err(failure),
            Some(Ok(_)) => {
                let words = "the transport did not say that the connection is open";
                Err(Failure::new(FailureKind::Malformed, words))
            }
        }
    }
}

impl Held {
    /// Calls a method of the connection.
    fn ask<R, J>(&self, job: J) -> impl Future<Output = Result<R, ClientError>> + Send + use<R, J>
    where
        R: Send + 'static,
        J: for<'a> FnOnce(
                &'a Accessor<Host>,
                GuestConnection<'a>,
                ResourceAny,
            ) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
    {
        let (resource, borrow) = (self.resource, self.borrows.clone());
        self.instance.ask(move |store, guest| {
            let answer = job(store, guest.connection(), resource);
            Box::pin(async move {
                let answer = answer.await;
                drop(borrow);
                answer
            })
        })
    }

    /// Receives once. None: the connection is open.
    fn receive(&self) -> BoxFuture<'static, Option<Received>> {
        let received = self.ask(|store, connection, resource| {
            Box::pin(async move { connection.call_receive(store, resource).await })
        });
        Box::pin(async move {
            match received.await {
                Ok(received) => words::received(received),
                Err(error) => Some(Err(gone(&error))),
            }
        })
    }
}

impl Inbox {
    /// What comes next, of all that was not kept.
    async fn next(&mut self, held: &Weak<Held>) -> Received {
        let receiving = match &mut self.receiving {
            Some(receiving) => receiving,
            none => match held.upgrade() {
                Some(held) => none.insert(held.receive()),
                None => return Err(let_go()),
            },
        };
        let received = receiving.await;
        self.receiving = None;
        let received = received.unwrap_or_else(|| {
            let words = "the transport said more than once that the connection is open";
            Err(Failure::new(FailureKind::Malformed, words))
        });
        self.over |= matches!(received, Ok(Incoming::End) | Err(_));
        received
    }
}

impl Connection for ComponentConnection {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let message = words::outgoing(message);
        let sent = self.held.ask(|store, connection, resource| {
            Box::pin(async move { connection.call_send(store, resource, message).await })
        });
        Box::pin(async move {
            match sent.await {
                Ok(sent) => words::sent(sent),
                Err(error) => Err(SendError::Unknown(gone(&error))),
            }
        })
    }

    fn receive(&self) -> BoxFuture<'static, Received> {
        let (held, inbox) = (Arc::downgrade(&self.held), self.inbox.clone());
        Box::pin(async move {
            let mut inbox = inbox.lock().await;
            match inbox.kept.pop_front() {
                Some(kept) => Ok(kept),
                None => inbox.next(&held).await,
            }
        })
    }

    fn abandon(&self, request: u64) {
        // It is under way from here on; nobody need wait for it.
        drop(self.held.ask(move |store, connection, resource| {
            Box::pin(async move { connection.call_abandon(store, resource, request).await })
        }));
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        drop(self.held.ask(|store, connection, resource| {
            Box::pin(async move { connection.call_close(store, resource).await })
        }));
        let (held, inbox) = (Arc::downgrade(&self.held), self.inbox.clone());
        // It is `receive` that tells when all is done.
        Box::pin(async move {
            let mut inbox = inbox.lock().await;
            while !inbox.over {
                if let Ok(incoming) = inbox.next(&held).await {
                    inbox.kept.push_back(incoming);
                }
            }
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let resource = self.resource;
        if Arc::strong_count(&self.borrows) == 1 {
            self.instance.post(move |store, _| Box::pin(async move { drop_resource(store, resource) }));
        } else {
            self.current.retire(&self.instance);
        }
    }
}

fn let_go() -> Failure {
    Failure::closed("the connection was let go")
}
