//! The engine and the compiled component, from which instances are made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::bindings::McpClientPre;
use crate::client::Client;
use crate::host::Host;
use crate::host::http::Http;
use crate::host::interaction::{Interaction, Nobody};
use crate::transport::Transport;

mod compiled;
mod surface;
mod trap;
mod watchdog;

pub(crate) use compiled::{Compiled, Exports};
pub use surface::Surface;
pub use trap::TrapError;
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
    /// It does not fit its world.
    #[error("the component does not fit the world {world}")]
    World {
        /// The world.
        world: &'static str,
        /// Why.
        source: TrapError,
    },
}

/// A compiled component, ready to be instantiated. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    compiled: Arc<Compiled<McpClientPre<Host>>>,
    interaction: Arc<dyn Interaction>,
}

impl Runtime {
    /// The component that this crate's build made, compiled once for the whole process.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn built() -> Result<Runtime, RuntimeError> {
        static BUILT: OnceLock<Runtime> = OnceLock::new();
        once(&BUILT, crate::COMPONENT)
    }

    /// The component that this crate's build made, composed with the HTTP transport: it needs no
    /// transport of the host's. Compiled once for the whole process.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn built_http() -> Result<Runtime, RuntimeError> {
        static BUILT: OnceLock<Runtime> = OnceLock::new();
        once(&BUILT, crate::HTTP_CLIENT)
    }

    /// The component of the world `mcp-client-interactive` that this crate's build made: say by
    /// [`answered_by`](Runtime::answered_by) who answers what servers ask. Compiled once for the whole process.
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn built_interactive() -> Result<Runtime, RuntimeError> {
        static BUILT: OnceLock<Runtime> = OnceLock::new();
        once(&BUILT, crate::INTERACTIVE)
    }

    /// The same, composed with the HTTP transport as in [`built_http`](Runtime::built_http).
    ///
    /// # Errors
    ///
    /// It does not compile, or does not fit the world.
    pub fn built_interactive_http() -> Result<Runtime, RuntimeError> {
        static BUILT: OnceLock<Runtime> = OnceLock::new();
        once(&BUILT, crate::INTERACTIVE_HTTP_CLIENT)
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
        let compiled = Arc::new(Compiled::from_bytes(bytes, options)?);
        Ok(Runtime { compiled, interaction: Arc::new(Nobody) })
    }

    /// The same component, for instances whose servers' questions `interaction` answers, if it is one of the world
    /// `mcp-client-interactive`. Otherwise nobody does, and all of them are refused.
    #[must_use]
    pub fn answered_by(self, interaction: impl Interaction) -> Runtime {
        Runtime { interaction: Arc::new(interaction), ..self }
    }

    /// A new instance, which reaches servers by `transport`.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime: the instance runs in a task of its own.
    pub fn client(&self, transport: impl Transport) -> Client {
        self.start(Host::new(Arc::new(transport), self.compiled.limits()))
    }

    /// A new instance of a component that has its transport in it, as [`built_http`](Runtime::built_http)
    /// has: it reaches servers by `http`, and an endpoint is a URL.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime: the instance runs in a task of its own.
    pub fn client_over(&self, http: Http) -> Client {
        self.start(Host::over(http, self.compiled.limits()))
    }

    fn start(&self, host: Host) -> Client {
        Client::start(self.compiled.clone(), host.answered_by(self.interaction.clone()))
    }

    /// What the component imports and exports.
    pub fn surface(&self) -> Surface {
        self.compiled.surface()
    }
}

fn once(cell: &'static OnceLock<Runtime>, component: &[u8]) -> Result<Runtime, RuntimeError> {
    if let Some(runtime) = cell.get() {
        return Ok(runtime.clone());
    }
    let runtime = Runtime::from_bytes(component, RuntimeOptions::default())?;
    Ok(cell.get_or_init(|| runtime).clone())
}
