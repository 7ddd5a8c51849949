//! One instance of a component, in a task of its own.
//!
//! The task drives the instance for as long as somebody holds a handle to it: what runs in it runs on, timers
//! fire and connections are read also while nobody here waits for anything. Everything else is a handle that
//! sends the task a job.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use wasmtime::component::{Accessor, ResourceAny};

use crate::ClientError;
use crate::host::Host;
use crate::runtime::{Compiled, Exports};

mod actor;

/// A handle to an instance that exports `G`. Cheap to clone; the instance ends with the last clone.
pub(crate) struct Instance<G> {
    jobs: mpsc::UnboundedSender<Job<G>>,
    /// Why the instance is gone, once it is.
    fate: watch::Receiver<Option<ClientError>>,
}

impl<G> Clone for Instance<G> {
    fn clone(&self) -> Instance<G> {
        Instance { jobs: self.jobs.clone(), fate: self.fate.clone() }
    }
}

/// Something to do in the instance.
type Job<G> =
    Box<dyn for<'a> FnOnce(&'a Accessor<Host>, &'a G) -> BoxFuture<'a, wasmtime::Result<()>> + Send>;

impl<G: Send + Sync + 'static> Instance<G> {
    /// Starts the task in which a new instance lives.
    pub(crate) fn start<E: Exports<Guest = G>>(compiled: Arc<Compiled<E>>, host: Host) -> Instance<G> {
        let (jobs, received) = mpsc::unbounded_channel();
        let (tell, fate) = watch::channel(None);
        tokio::spawn(actor::run(compiled, host, received, tell));
        Instance { jobs, fate }
    }

    /// Whether the instance is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.jobs.is_closed()
    }

    /// Whether both are handles to the same instance.
    pub(crate) fn is(&self, other: &Instance<G>) -> bool {
        self.jobs.same_channel(&other.jobs)
    }

    /// Waits until the instance is gone and tells why.
    pub(crate) async fn ended(&self) -> ClientError {
        told(self.fate.clone()).await
    }

    /// Starts `job` in the instance, behind all earlier ones, and waits for what it brings. Giving up
    /// the wait does not give up the job; and the wait keeps no instance alive that nobody holds.
    pub(crate) fn ask<R, J>(
        &self,
        job: J,
    ) -> impl Future<Output = Result<R, ClientError>> + Send + use<G, R, J>
    where
        R: Send + 'static,
        J: for<'a> FnOnce(&'a Accessor<Host>, &'a G) -> BoxFuture<'a, wasmtime::Result<R>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        self.post(|store, guest| {
            let job = job(store, guest);
            Box::pin(async move {
                // Nobody may be waiting any more.
                let _ = answer.send(job.await?);
                Ok(())
            })
        });
        let fate = self.fate.clone();
        async move {
            match answered.await {
                Ok(value) => Ok(value),
                Err(_) => Err(told(fate).await),
            }
        }
    }

    /// Runs `job` in the instance, if that still exists.
    pub(crate) fn post(
        &self,
        job: impl for<'a> FnOnce(&'a Accessor<Host>, &'a G) -> BoxFuture<'a, wasmtime::Result<()>>
        + Send
        + 'static,
    ) {
        // If it does not, the job's own channel closes, and whoever waits learns the fate.
        let _ = self.jobs.send(Box::new(job));
    }
}

/// Why the instance is gone, once it is.
async fn told(mut fate: watch::Receiver<Option<ClientError>>) -> ClientError {
    match fate.wait_for(Option::is_some).await {
        Ok(fate) => fate.clone().unwrap_or(ClientError::Ended),
        Err(_) => ClientError::Ended,
    }
}

/// Drops what the host holds of a resource. Its destructor cannot wait for anything: one poll is enough.
pub(crate) fn drop_resource(store: &Accessor<Host>, resource: ResourceAny) -> wasmtime::Result<()> {
    store
        .with(|store| resource.resource_drop_async(store).now_or_never())
        .unwrap_or_else(|| Err(wasmtime::Error::msg("a destructor of the component's blocks")))
}
