//! One instance of the component, and the sessions in it.
//!
//! The instance lives in a task of its own, which drives it for as long as a [`Client`] or a
//! [`Session`] exists: calls run on in it, timers fire and connections are read also while nobody
//! here waits for anything. Everything else is a handle that sends the task a job.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use wasmtime::component::Accessor;

use crate::Options;
use crate::bindings::exports::noreplay::mcp::client::Guest;
use crate::host::Host;
use crate::runtime::{Runtime, TrapError};
use crate::transport::Transport;

mod actor;
mod session;

pub use session::{Answer, Session};

/// The instance is gone, and with it every session and every call in it. Calls that were in flight
/// may have run: this is no verdict.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// The component could not be instantiated.
    #[error("the component could not be instantiated")]
    Instantiation(#[source] TrapError),
    /// The component trapped.
    #[error("the component trapped")]
    Trapped(#[source] TrapError),
    /// The task that drove the component was ended from outside.
    #[error("the task that drove the component has ended")]
    Ended,
}

/// One instance of the component. Cheap to clone; the instance ends with the last clone and the last
/// [`Session`] of it.
#[derive(Clone)]
pub struct Client {
    jobs: mpsc::UnboundedSender<Job>,
    /// Why the instance is gone, once it is.
    fate: watch::Receiver<Option<ClientError>>,
}

/// Something to do in the instance.
type Job =
    Box<dyn for<'a> FnOnce(&'a Accessor<Host>, &'a Guest) -> BoxFuture<'a, wasmtime::Result<()>> + Send>;

impl Client {
    /// Starts the task in which a new instance lives.
    pub(crate) fn start(runtime: Runtime, transport: Arc<dyn Transport>) -> Client {
        let (jobs, received) = mpsc::unbounded_channel();
        let (tell, fate) = watch::channel(None);
        tokio::spawn(actor::run(runtime, transport, received, tell));
        Client { jobs, fate }
    }

    /// The strict defaults.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn default_options(&self) -> Result<Options, ClientError> {
        self.ask(|store, guest| Box::pin(guest.call_default_options(store))).await
    }

    /// A session with the server that `endpoint` names. It connects when it is first needed.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn session(
        &self,
        endpoint: impl Into<String>,
        options: Options,
    ) -> Result<Session, ClientError> {
        let endpoint = endpoint.into();
        let resource = self
            .ask(|store, guest| {
                Box::pin(async move {
                    let session = guest.session();
                    session.call_constructor(store, endpoint, options).await
                })
            })
            .await?;
        Ok(Session::new(self.clone(), resource))
    }

    /// Waits until the instance is gone and tells why.
    pub async fn ended(&self) -> ClientError {
        let mut fate = self.fate.clone();
        match fate.wait_for(Option::is_some).await {
            Ok(fate) => fate.clone().unwrap_or(ClientError::Ended),
            Err(_) => ClientError::Ended,
        }
    }

    /// Starts `job` in the instance, behind all earlier ones, and waits for what it brings. Giving up
    /// the wait does not give up the job.
    fn ask<R, J>(&self, job: J) -> impl Future<Output = Result<R, ClientError>> + Send + use<R, J>
    where
        R: Send + 'static,
        J: for<'a> FnOnce(&'a Accessor<Host>, &'a Guest) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send
            + 'static,
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
        let client = self.clone();
        async move {
            match answered.await {
                Ok(value) => Ok(value),
                Err(_) => Err(client.ended().await),
            }
        }
    }

    /// Runs `job` in the instance, if that still exists.
    fn post(
        &self,
        job: impl for<'a> FnOnce(&'a Accessor<Host>, &'a Guest) -> BoxFuture<'a, wasmtime::Result<()>>
        + Send
        + 'static,
    ) {
        // If it does not, the job's own channel closes, and whoever waits learns the fate.
        let _ = self.jobs.send(Box::new(job));
    }
}
