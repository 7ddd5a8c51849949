//! A component, compiled and linked against the host, whatever it exports.

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreLimits,
    StoreLimitsBuilder,
};

use super::watchdog::{self, Watchdog};
use super::{Allocation, RuntimeError, RuntimeOptions, Surface};
use crate::host::{self, Host};

/// What components of one kind export.
pub(crate) trait Exports: Sized + Send + Sync + 'static {
    /// The world that they fit, by its name.
    const WORLD: &'static str;

    /// What an instance exports.
    type Guest: Send + Sync + 'static;

    /// The exports of a component that is linked already.
    ///
    /// # Errors
    ///
    /// It lacks one of them.
    fn of(instances: InstancePre<Host>) -> wasmtime::Result<Self>;

    /// Makes an instance.
    fn instantiate(
        &self,
        store: &mut Store<Host>,
    ) -> impl Future<Output = wasmtime::Result<Self::Guest>> + Send;
}

/// A compiled component that exports `E`.
pub(crate) struct Compiled<E> {
    component: Component,
    exports: E,
    options: RuntimeOptions,
}

impl<E: Exports> Compiled<E> {
    /// Compiles the component `bytes`.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit its world.
    pub(crate) fn from_bytes(bytes: &[u8], options: RuntimeOptions) -> Result<Compiled<E>, RuntimeError> {
        let engine = Engine::new(&config(&options)).map_err(|error| RuntimeError::Engine(error.into()))?;
        let component =
            Component::new(&engine, bytes).map_err(|error| RuntimeError::Compile(error.into()))?;
        let exports = link(&component)
            .map_err(|error| RuntimeError::World { world: E::WORLD, source: error.into() })?;
        watchdog::start_ticking(&engine);
        Ok(Compiled { component, exports, options })
    }

    /// What the component imports and exports.
    pub(crate) fn surface(&self) -> Surface {
        Surface::of(&self.component)
    }

    fn engine(&self) -> &Engine {
        self.component.engine()
    }

    /// The bounds on one instance.
    pub(crate) fn limits(&self) -> StoreLimits {
        StoreLimitsBuilder::new().memory_size(self.options.memory).build()
    }

    /// A store for one instance, and the guard of its runs.
    pub(crate) fn store(&self, host: Host) -> (Store<Host>, Watchdog) {
        let mut store = Store::new(self.engine(), host);
        store.limiter(|host| &mut host.limits);
        let watchdog = Watchdog::over(&mut store, self.options.longest_run, self.options.longest_life);
        (store, watchdog)
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<Host>) -> wasmtime::Result<E::Guest> {
        self.exports.instantiate(store).await
    }
}

/// How much of a pooled memory or table is kept for the next instance, in bytes: all that a short life uses.
const KEPT: usize = 2 << 20;

/// Of how many components, at most, a pooled instance may be composed: the client, and its transport.
const COMPOSED: u32 = 2;

fn config(options: &RuntimeOptions) -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    if let Allocation::Pooling(instances) = options.allocation {
        let memories = instances.saturating_mul(COMPOSED);
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(instances)
            .total_core_instances(memories.saturating_mul(8))
            .total_memories(memories)
            .total_tables(memories.saturating_mul(8))
            .max_memory_size(options.memory)
            // A slot keeps its pages from one instance to the next: they are cleared, and not given back.
            .linear_memory_keep_resident(KEPT)
            .table_keep_resident(KEPT)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn link<E: Exports>(component: &Component) -> wasmtime::Result<E> {
    let mut linker = Linker::new(component.engine());
    host::add_to_linker(&mut linker)?;
    E::of(linker.instantiate_pre(component)?)
}
