//! The engine's errors, as errors of Rust's.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// What the engine says: a trap of the component's, or why it cannot run. Keeps the engine's own
/// error, backtrace and causes included.
#[derive(Clone)]
pub struct TrapError(Arc<wasmtime::Error>);

impl TrapError {
    /// The engine's error.
    pub fn engine_error(&self) -> &wasmtime::Error {
        &self.0
    }

    /// The trap's code, if it is one of WebAssembly's own traps.
    pub fn trap(&self) -> Option<wasmtime::Trap> {
        self.0.downcast_ref().copied()
    }
}

impl From<wasmtime::Error> for TrapError {
    fn from(error: wasmtime::Error) -> TrapError {
        TrapError(Arc::new(error))
    }
}

impl fmt::Debug for TrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for TrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

impl Error for TrapError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
