//! A transport that is a component of its own, driven as the client drives it: for whoever asks it directly, the
//! contract check above all.
//!
//! Its connections live in one instance, so that what it knows of a server serves the next connection too.
//! A connection that is dropped while it sends or receives lets go at once only together with its
//! instance, since a host cannot cancel what it asked a component for. So the instance serves those that it has
//! to their end, and the next connection gets a fresh one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::{BoxFuture, Connection, Transport};
use crate::bindings::http::TransportPre;
use crate::bindings::http::exports::noreplay::mcp::transport::Guest;
use crate::host::Host;
use crate::host::http::Http;
use crate::instance::Instance;
use crate::runtime::{Compiled, Exports, RuntimeError, RuntimeOptions};
use crate::{ClientError, Failure, FailureKind};

mod connection;
mod words;

use connection::ComponentConnection;

/// A transport that is a component. Cheap to clone.
#[derive(Clone)]
pub struct ComponentTransport {
    compiled: Arc<Compiled<TransportPre<Host>>>,
    http: Http,
    current: Current,
}

/// The instance that the next connection will live in.
#[derive(Clone, Default)]
struct Current(Arc<Mutex<Option<Instance<Guest>>>>);

impl ComponentTransport {
    /// The HTTP transport that this crate's build made, compiled once for the whole process. It reaches
    /// servers by `http`.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn built_http(http: Http) -> Result<ComponentTransport, RuntimeError> {
        static BUILT: OnceLock<Arc<Compiled<TransportPre<Host>>>> = OnceLock::new();
        let compiled = match BUILT.get() {
            Some(compiled) => compiled.clone(),
            None => {
                let compiled = Compiled::from_bytes(crate::HTTP_TRANSPORT, RuntimeOptions::default())?;
                BUILT.get_or_init(|| Arc::new(compiled)).clone()
            }
        };
        Ok(ComponentTransport { compiled, http, current: Current::default() })
    }

    /// The component `bytes`. It reaches servers by `http`.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn from_bytes(
        bytes: &[u8],
        options: RuntimeOptions,
        http: Http,
    ) -> Result<ComponentTransport, RuntimeError> {
        let compiled = Arc::new(Compiled::from_bytes(bytes, options)?);
        Ok(ComponentTransport { compiled, http, current: Current::default() })
    }

    /// The same component in instances of its own, which reach servers by `http`.
    #[must_use]
    pub fn over(&self, http: Http) -> ComponentTransport {
        ComponentTransport { compiled: self.compiled.clone(), http, current: Current::default() }
    }
}

impl Transport for ComponentTransport {
    fn connect(
        &self,
        endpoint: &str,
        max_message: u64,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let (transport, endpoint) = (self.clone(), endpoint.to_owned());
        Box::pin(async move {
            let start = || {
                let host = Host::over(transport.http.clone(), transport.compiled.limits());
                Instance::start(transport.compiled.clone(), host)
            };
            let instance = transport.current.get_or(start);
            let connection =
                ComponentConnection::open(instance, &transport.current, endpoint, max_message).await?;
            Ok(Arc::new(connection) as Arc<dyn Connection>)
        })
    }
}

impl Current {
    fn get_or(&self, start: impl FnOnce() -> Instance<Guest>) -> Instance<Guest> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|instance| instance.is_gone());
        current.get_or_insert_with(start).clone()
    }

    /// Lets no further connection into this instance.
    fn retire(&self, instance: &Instance<Guest>) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|current| current.is(instance));
    }
}

impl Exports for TransportPre<Host> {
    const WORLD: &'static str = "noreplay:http/http-transport";

    type Guest = Guest;

    fn of(instances: InstancePre<Host>) -> wasmtime::Result<TransportPre<Host>> {
        TransportPre::new(instances)
    }

    async fn instantiate(&self, store: &mut Store<Host>) -> wasmtime::Result<Guest> {
        Ok(self.instantiate_async(store).await?.noreplay_mcp_transport().clone())
    }
}

/// The instance is gone. What is known of its connections went with it.
fn gone(error: &ClientError) -> Failure {
    Failure::caused(FailureKind::Other, "the transport is gone", error)
}
