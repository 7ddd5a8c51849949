//! The engine and the compiled component, from which instances are made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::component::{Component, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreLimitsBuilder,
};

use crate::bindings::{McpClient, McpClientPre};
use crate::client::Client;
use crate::host::{self, Host};
use crate::transport::Transport;

mod trap;
mod watchdog;

pub use trap::TrapError;
pub(crate) use watchdog::Watchdog;
pub use watchdog::{Outlived, Overrun};

/// What an instance may use of the host.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// How instances are allocated.
    pub allocation: Allocation,
    /// How long the component may run without returning to the host. It traps after that.
    pub longest_run: Duration,
    /// How long the instance may live. The component traps when it runs after that.
    pub longest_life: Option<Duration>,
    /// The largest memory of an instance, in bytes. Growing beyond it fails in the component.
    pub memory: usize,
}

impl Default for RuntimeOptions {
    /// On demand; 10 s a run, in a life without end; 512 MiB.
    fn default() -> RuntimeOptions {
        RuntimeOptions {
            allocation: Allocation::OnDemand,
            longest_run: Duration::from_secs(10),
            longest_life: None,
            memory: 512 << 20,
        }
    }
}

/// How instances are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Each when it is needed.
    OnDemand,
    /// From a pool with room for this many at a time: faster, and the pool's address space is
    /// reserved from the start.
    Pooling(u32),
}

/// A component that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Its file cannot be read.
    #[error("cannot read the component {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The engine does not start with these options.
    #[error("cannot start the engine")]
    Engine(#[source] TrapError),
    /// It is no component, or one that this engine does not compile.
    #[error("cannot compile the component")]
    Compile(#[source] TrapError),
    /// It does not fit the world `mcp-client`.
    #[error("the component does not fit the world noreplay:mcp/mcp-client")]
    World(#[source] TrapError),
}

/// A compiled component, ready to be instantiated. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    component: Component,
    instances: McpClientPre<Host>,
    options: RuntimeOptions,
}

impl Runtime {
    /// The component that this crate's build made, compiled once for the whole process.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn built() -> Result<Runtime, RuntimeError> {
        static BUILT: OnceLock<Runtime> = OnceLock::new();
        if let Some(runtime) = BUILT.get() {
            return Ok(runtime.clone());
        }
        let runtime = Runtime::from_bytes(crate::COMPONENT, RuntimeOptions::default())?;
        Ok(BUILT.get_or_init(|| runtime).clone())
    }

    /// The component in the file `path`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or [`Runtime::from_bytes`] fails.
    pub fn from_file(path: impl AsRef<Path>, options: RuntimeOptions) -> Result<Runtime, RuntimeError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| RuntimeError::Read { path: path.to_owned(), source })?;
        Runtime::from_bytes(&bytes, options)
    }

    /// The component `bytes`.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn from_bytes(bytes: &[u8], options: RuntimeOptions) -> Result<Runtime, RuntimeError> {
        let engine = Engine::new(&config(&options)).map_err(|error| RuntimeError::Engine(error.into()))?;
        let component =
            Component::new(&engine, bytes).map_err(|error| RuntimeError::Compile(error.into()))?;
        let instances = link(&component).map_err(|error| RuntimeError::World(error.into()))?;
        watchdog::start_ticking(&engine);
        Ok(Runtime { shared: Arc::new(Shared { component, instances, options }) })
    }

    /// A new instance, which reaches servers by `transport`.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime: the instance runs in a task of its own.
    pub fn client(&self, transport: impl Transport) -> Client {
        Client::start(self.clone(), Arc::new(transport))
    }

    /// What the component imports, sorted.
    pub fn imports(&self) -> Vec<String> {
        let engine = self.engine();
        let component = self.shared.component.component_type();
        names(component.imports(engine).map(|(name, _)| name))
    }

    /// What the component exports, sorted.
    pub fn exports(&self) -> Vec<String> {
        let engine = self.engine();
        let component = self.shared.component.component_type();
        names(component.exports(engine).map(|(name, _)| name))
    }

    fn engine(&self) -> &Engine {
        self.shared.component.engine()
    }

    /// A store for one instance, and the guard of its runs.
    pub(crate) fn store(&self, transport: Arc<dyn Transport>) -> (Store<Host>, Watchdog) {
        let options = &self.shared.options;
        let limits = StoreLimitsBuilder::new().memory_size(options.memory).build();
        let mut store = Store::new(self.engine(), Host::new(transport, limits));
        store.limiter(|host| &mut host.limits);
        let watchdog = Watchdog::over(&mut store, options.longest_run, options.longest_life);
        (store, watchdog)
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<Host>) -> wasmtime::Result<McpClient> {
        self.shared.instances.instantiate_async(store).await
    }
}

/// How much of a pooled memory or table is kept for the next instance, in bytes: all that a short life uses.
const KEPT: usize = 2 << 20;

fn config(options: &RuntimeOptions) -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    if let Allocation::Pooling(instances) = options.allocation {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(instances)
            .total_core_instances(instances.saturating_mul(8))
            .total_memories(instances)
            .total_tables(instances.saturating_mul(8))
            .max_memory_size(options.memory)
            // A slot keeps its pages from one instance to the next: they are cleared, and not given back.
            .linear_memory_keep_resident(KEPT)
            .table_keep_resident(KEPT)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn link(component: &Component) -> wasmtime::Result<McpClientPre<Host>> {
    let mut linker = Linker::new(component.engine());
    host::add_to_linker(&mut linker)?;
    McpClientPre::new(linker.instantiate_pre(component)?)
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}
