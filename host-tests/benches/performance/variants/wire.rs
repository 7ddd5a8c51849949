//! The transport of the component: a stream, one message a line.

use std::sync::Arc;

use host_tests::transport::{
    Arrival, BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError, Transport,
};
use host_tests::{Failure, FailureKind};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Mutex;

use crate::echo::BUFFER;

/// Reaches one server of its own by each connection.
pub(crate) struct Wire;

impl Transport for Wire {
    fn connect(&self, _: &str, _: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let (read, write) = tokio::io::split(super::server());
        let line = Line {
            read: Arc::new(Mutex::new(BufReader::with_capacity(BUFFER, read))),
            write: Arc::new(Mutex::new(write)),
        };
        Box::pin(async { Ok(Arc::new(line) as Arc<dyn Connection>) })
    }
}

struct Line {
    read: Arc<Mutex<BufReader<ReadHalf<DuplexStream>>>>,
    write: Arc<Mutex<WriteHalf<DuplexStream>>>,
}

impl Connection for Line {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let write = self.write.clone();
        Box::pin(async move {
            let mut line = message.message;
            line.push(b'\n');
            let written = write.lock().await.write_all(&line).await;
            written.map(|()| Delivery::HandedOver).map_err(|_| SendError::Unknown(gone()))
        })
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let read = self.read.clone();
        Box::pin(async move {
            let mut message = Vec::new();
            match read.lock().await.read_until(b'\n', &mut message).await {
                Ok(0) => return Ok(Incoming::End),
                Ok(_) => {}
                Err(_) => return Err(gone()),
            }
            message.pop();
            Ok(Incoming::Message(Arrival { message, channel: None }))
        })
    }

    fn abandon(&self, _: u64) {}

    fn close(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

fn gone() -> Failure {
    Failure { kind: FailureKind::Closed, detail: Vec::new() }
}
