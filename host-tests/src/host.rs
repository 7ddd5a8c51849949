//! What the component imports, answered: its transport, by whatever implements
//! [`Transport`], and its clock (see `clock`); or, where it has its transport in it, HTTP. An
//! [`Interaction`] answers what servers ask, where the component imports that.
//!
//! [`Runtime`](crate::Runtime) does this for the component on its own. A component that is composed
//! with it is linked by [`add_to_linker`].

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::StoreLimits;
use wasmtime::component::{Accessor, HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::bindings::McpClient;
use crate::bindings::http::noreplay::http::credentials;
use crate::bindings::interaction::noreplay::mcp::interaction as questions;
use crate::bindings::noreplay::mcp::{transport as wit, types};
use crate::transport::{BoxFuture, Connection, Delivery, Outgoing, SendError, Transport};
use crate::{Failure, FailureKind};

mod held;
pub mod http;
pub mod interaction;

pub use held::HeldConnection;

use http::{Hooks, Http};
use interaction::{Interaction, Nobody};

/// What a store holds beside the component.
pub struct Host {
    transport: Arc<dyn Transport>,
    interaction: Arc<dyn Interaction>,
    http: Hooks,
    http_limits: WasiHttpCtx,
    /// Connections, requests and responses.
    resources: ResourceTable,
    /// The bound on the component's memory, for [`Store::limiter`](wasmtime::Store::limiter).
    pub limits: StoreLimits,
    /// The clock's zero.
    pub(crate) origin: Instant,
}

/// Supplies a transport, HTTP, a clock and answers to questions to whatever is instantiated by `linker`.
///
/// # Errors
///
/// The linker has one of them already.
pub fn add_to_linker(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    McpClient::add_to_linker::<_, Imports>(linker, |host| host)?;
    questions::add_to_linker::<_, Imports>(linker, |host| host)?;
    credentials::add_to_linker::<_, Imports>(linker, |host| host)?;
    wasmtime_wasi_http::p3::add_to_linker(linker)
}

impl Host {
    /// A host whose clock starts now. Servers are reached by `transport`; HTTP is not allowed.
    pub fn new(transport: Arc<dyn Transport>, limits: StoreLimits) -> Host {
        Host {
            transport,
            interaction: Arc::new(Nobody),
            http: Hooks(Http::default()),
            http_limits: WasiHttpCtx::new(),
            resources: ResourceTable::new(),
            limits,
            origin: Instant::now(),
        }
    }

    /// A host for a component that has its transport in it. Servers are reached by `http`.
    pub fn over(http: Http, limits: StoreLimits) -> Host {
        Host { http: Hooks(http), ..Host::new(Arc::new(Nowhere), limits) }
    }

    /// The same, where `interaction` answers what servers ask. Otherwise nobody does.
    #[must_use]
    pub fn answered_by(self, interaction: Arc<dyn Interaction>) -> Host {
        Host { interaction, ..self }
    }

    fn connection(&self, handle: &Resource<HeldConnection>) -> wasmtime::Result<&HeldConnection> {
        Ok(self.resources.get(handle)?)
    }
}

/// Lets host functions reach [`Host`] in a store.
pub(crate) struct Imports;

impl HasData for Imports {
    type Data<'a> = &'a mut Host;
}

impl WasiHttpView for Host {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.http, table: &mut self.resources, ctx: &mut self.http_limits }
    }
}

/// The transport of a host that has none.
struct Nowhere;

impl Transport for Nowhere {
    fn connect(&self, _: &str, _: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let failure = Failure::new(FailureKind::AccessDenied, "the host has no transport");
        Box::pin(async { Err(failure) })
    }
}

impl types::Host for Host {}

impl wit::Host for Host {}

impl wit::HostConnection for Host {
    fn new(&mut self, endpoint: String, max_message: u64) -> wasmtime::Result<Resource<HeldConnection>> {
        let opening = self.transport.connect(&endpoint, max_message);
        Ok(self.resources.push(HeldConnection::new(opening))?)
    }

    fn abandon(&mut self, handle: Resource<HeldConnection>, request: u64) -> wasmtime::Result<()> {
        self.connection(&handle)?.abandon(request);
        Ok(())
    }

    fn close(&mut self, handle: Resource<HeldConnection>) -> wasmtime::Result<()> {
        self.connection(&handle)?.close();
        Ok(())
    }

    fn drop(&mut self, handle: Resource<HeldConnection>) -> wasmtime::Result<()> {
        self.resources.delete(handle)?;
        Ok(())
    }
}

/// Calls a method of the connection `handle`.
///
/// The method itself runs at once, before what it returns is awaited: so messages leave in the order
/// of the calls.
fn on_connection<T: 'static, R>(
    accessor: &Accessor<T, Imports>,
    handle: &Resource<HeldConnection>,
    method: impl FnOnce(&HeldConnection) -> R,
) -> wasmtime::Result<R> {
    accessor.with(|mut store| Ok(method(store.get().connection(handle)?)))
}

impl<T: 'static> wit::HostConnectionWithStore<T> for Imports {
    async fn send(
        accessor: &Accessor<T, Self>,
        handle: Resource<HeldConnection>,
        message: Outgoing,
    ) -> wasmtime::Result<Result<Delivery, SendError>> {
        let sending = on_connection(accessor, &handle, |held| held.send(message))?;
        Ok(sending.await)
    }

    async fn receive(
        accessor: &Accessor<T, Self>,
        handle: Resource<HeldConnection>,
    ) -> wasmtime::Result<Result<wit::Incoming, Failure>> {
        let receiving = on_connection(accessor, &handle, HeldConnection::receive)?;
        Ok(receiving.await)
    }
}
