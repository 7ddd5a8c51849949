//! One instance of the component, and the sessions in it: calls run on in it also while nobody here waits for
//! anything.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::InstancePre;

use crate::Options;
use crate::bindings::McpClientPre;
use crate::bindings::exports::noreplay::mcp::client::Guest;
use crate::host::Host;
use crate::instance::Instance;
use crate::runtime::{Compiled, Exports, TrapError};

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
    instance: Instance<Guest>,
}

impl Exports for McpClientPre<Host> {
    const WORLD: &'static str = "noreplay:mcp/mcp-client";

    type Guest = Guest;

    fn of(instances: InstancePre<Host>) -> wasmtime::Result<McpClientPre<Host>> {
        McpClientPre::new(instances)
    }

    async fn instantiate(&self, store: &mut Store<Host>) -> wasmtime::Result<Guest> {
        Ok(self.instantiate_async(store).await?.noreplay_mcp_client().clone())
    }
}

impl Client {
    /// Starts the task in which a new instance lives.
    pub(crate) fn start(compiled: Arc<Compiled<McpClientPre<Host>>>, host: Host) -> Client {
        Client { instance: Instance::start(compiled, host) }
    }

    /// The strict defaults.
    ///
    /// # Errors
    ///
    /// The instance is gone.
    pub async fn default_options(&self) -> Result<Options, ClientError> {
        self.instance.ask(|store, guest| Box::pin(guest.call_default_options(store))).await
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
            .instance
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
        self.instance.ended().await
    }
}
