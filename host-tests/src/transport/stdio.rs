//! A server as a child process: one JSON-RPC message a line, in on its standard input, out on its
//! standard output.
//!
//! What the process writes is delivered whole, also what it wrote just before it exited. That it
//! exited is noticed at once, even while one of its own children keeps its output open. Its standard
//! error is ours.
//!
//! The process leads a process group of its own, which is ended as a whole: in order by
//! [`close`](crate::transport::Connection::close), at once where the connection is dropped.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use tokio::sync::Mutex;

use super::{BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError, Transport};
use crate::{Failure, FailureKind};

mod lines;
mod process;
mod reader;
mod writer;

use process::Process;
use reader::Reader;
use writer::Writer;

/// Starts a fresh process for each connection. The endpoint is not looked at: the command is all that
/// may be reached.
#[derive(Clone, Debug)]
pub struct Stdio {
    command: Vec<OsString>,
}

impl Stdio {
    /// Starts `command`: a program, found by `PATH`, and its arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>) -> Stdio {
        Stdio { command: command.into_iter().map(Into::into).collect() }
    }

    fn open(&self, max_message: u64) -> Result<StdioConnection, Failure> {
        let (process, stdin, stdout) =
            process::spawn(&self.command).map_err(|error| self.not_started(&error))?;
        let reader = Reader::new(stdout, process.exit(), max_message);
        Ok(StdioConnection {
            writer: Writer::start(stdin, process.exit()),
            reader: Arc::new(Mutex::new(reader)),
            process,
        })
    }

    fn not_started(&self, error: &io::Error) -> Failure {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => FailureKind::AccessDenied,
            _ => FailureKind::SpawnFailed,
        };
        let program = self.command.first().cloned().unwrap_or_default();
        let attempt = format!("cannot start {}", program.display());
        Failure::caused(kind, attempt, error)
    }
}

impl Transport for Stdio {
    fn connect(
        &self,
        _endpoint: &str,
        max_message: u64,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let transport = self.clone();
        Box::pin(async move {
            let connection = transport.open(max_message)?;
            Ok(Arc::new(connection) as Arc<dyn Connection>)
        })
    }
}

/// A running process. Dropping it drops `process`, which ends the process group.
struct StdioConnection {
    writer: Writer,
    reader: Arc<Mutex<Reader>>,
    process: Process,
}

impl Connection for StdioConnection {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        self.writer.send(message.message)
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let reader = self.reader.clone();
        Box::pin(async move { reader.lock().await.next().await })
    }

    fn abandon(&self, _request: u64) {
        // Requests share the one channel; there is nothing to close.
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.writer.stop();
        self.process.close()
    }
}
