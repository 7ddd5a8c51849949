//! What the component imports, answered: its transport, by whatever implements
//! [`Transport`], and its clock (see `clock`).
//!
//! [`Runtime`](crate::Runtime) does this for the component on its own. A component that is composed
//! with it is linked by [`add_to_linker`].

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::StoreLimits;
use wasmtime::component::{Accessor, HasData, Linker, Resource, ResourceTable};

use crate::Failure;
use crate::bindings::McpClient;
use crate::bindings::noreplay::mcp::{transport as wit, types};
use crate::transport::{Connection, Delivery, Incoming, Outgoing, SendError, Transport};

/// A connection that the component holds a handle to.
pub struct HeldConnection(Arc<dyn Connection>);

/// What a store holds beside the component.
pub struct Host {
    transport: Arc<dyn Transport>,
    connections: ResourceTable,
    /// The bound on the component's memory, for [`Store::limiter`](wasmtime::Store::limiter).
    pub limits: StoreLimits,
    /// The clock's zero.
    pub(crate) origin: Instant,
}

/// Supplies a transport and a clock to whatever is instantiated by `linker`.
///
/// # Errors
///
/// The linker has one of them already.
pub fn add_to_linker(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    McpClient::add_to_linker::<_, Imports>(linker, |host| host)
}

impl Host {
    /// A host whose clock starts now.
    pub fn new(transport: Arc<dyn Transport>, limits: StoreLimits) -> Host {
        Host { transport, connections: ResourceTable::new(), limits, origin: Instant::now() }
    }

    fn connection(&self, handle: &Resource<HeldConnection>) -> wasmtime::Result<&dyn Connection> {
        Ok(&*self.connections.get(handle)?.0)
    }
}

/// Lets host functions reach [`Host`] in a store.
pub(crate) struct Imports;

impl HasData for Imports {
    type Data<'a> = &'a mut Host;
}

impl types::Host for Host {}

impl wit::Host for Host {}

impl<T: 'static> wit::HostWithStore<T> for Imports {
    async fn connect(
        accessor: &Accessor<T, Self>,
        endpoint: String,
        max_message: u64,
    ) -> wasmtime::Result<Result<Resource<HeldConnection>, Failure>> {
        let connecting = accessor.with(|mut store| store.get().transport.connect(&endpoint, max_message));
        let connection = match connecting.await {
            Ok(connection) => HeldConnection(connection),
            Err(failure) => return Ok(Err(failure)),
        };
        let handle = accessor.with(|mut store| store.get().connections.push(connection))?;
        Ok(Ok(handle))
    }
}

impl wit::HostConnection for Host {
    fn abandon(&mut self, handle: Resource<HeldConnection>, request: u64) -> wasmtime::Result<()> {
        self.connection(&handle)?.abandon(request);
        Ok(())
    }

    fn drop(&mut self, handle: Resource<HeldConnection>) -> wasmtime::Result<()> {
        self.connections.delete(handle)?;
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
    method: impl FnOnce(&dyn Connection) -> R,
) -> wasmtime::Result<R> {
    accessor.with(|mut store| Ok(method(store.get().connection(handle)?)))
}

impl<T: 'static> wit::HostConnectionWithStore<T> for Imports {
    async fn send(
        accessor: &Accessor<T, Self>,
        handle: Resource<HeldConnection>,
        message: Outgoing,
    ) -> wasmtime::Result<Result<Delivery, SendError>> {
        let sending = on_connection(accessor, &handle, |connection| connection.send(message))?;
        Ok(sending.await)
    }

    async fn receive(
        accessor: &Accessor<T, Self>,
        handle: Resource<HeldConnection>,
    ) -> wasmtime::Result<Result<Incoming, Failure>> {
        let receiving = on_connection(accessor, &handle, |connection| connection.receive())?;
        Ok(receiving.await)
    }

    async fn close(accessor: &Accessor<T, Self>, handle: Resource<HeldConnection>) -> wasmtime::Result<()> {
        let closing = on_connection(accessor, &handle, |connection| connection.close())?;
        closing.await;
        Ok(())
    }
}
