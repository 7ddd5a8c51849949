//! What is written to the process: whole lines, in the order of the calls, each at most once.
//!
//! One task writes. A line that was begun is finished whatever becomes of its `send`, so that none is
//! ever torn in front of another; a line whose `send` was given up before is not written at all.
//! Once a write fails, nothing is written any more: the next line would follow a torn one.

use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::{Notify, oneshot, watch};

use super::reader::exited;
use crate::failure::kind_on_connection;
use crate::transport::{BoxFuture, Delivery, SendError};
use crate::{Failure, FailureKind};

/// The most lines that wait to be written.
const WAITING: usize = 4096;

/// Hands lines to the task that writes them, which ends with it.
pub(super) struct Writer {
    queue: Arc<Queue>,
}

struct Queue {
    lines: Mutex<VecDeque<Line>>,
    added: Notify,
    /// Why nothing more will be written, once that is so.
    over: watch::Sender<Option<Failure>>,
}

struct Line {
    /// The message and its line end.
    bytes: Vec<u8>,
    done: oneshot::Sender<Result<Delivery, SendError>>,
}

impl Writer {
    /// Starts the task that writes to `stdin` until the process exits.
    pub(super) fn start(stdin: ChildStdin, exit: watch::Receiver<Option<ExitStatus>>) -> Writer {
        let queue =
            Arc::new(Queue { lines: Mutex::default(), added: Notify::new(), over: watch::Sender::new(None) });
        tokio::spawn(write(stdin, queue.clone(), exit));
        Writer { queue }
    }

    /// Writes `message` as a line, behind all lines of earlier calls.
    pub(super) fn send(&self, mut message: Vec<u8>) -> BoxFuture<'static, Result<Delivery, SendError>> {
        if message.contains(&b'\n') {
            let failure = Failure::new(FailureKind::Malformed, "a line break in a message");
            return Box::pin(async { Err(SendError::NotSent(failure)) });
        }
        message.push(b'\n');
        let (done, result) = oneshot::channel();
        let line = Line { bytes: message, done };
        if let Err(failure) = self.queue.push(line) {
            return Box::pin(async { Err(SendError::NotSent(failure)) });
        }
        Box::pin(async {
            // The task answers every line, unless the whole runtime ends while it writes.
            result.await.unwrap_or_else(|_| {
                let failure = Failure::closed("the task that writes was ended");
                Err(SendError::Unknown(failure))
            })
        })
    }

    /// Writes nothing more: what waits was not sent, what was begun stays as far as it came.
    pub(super) fn stop(&self) {
        self.queue.end(Failure::closed("the connection was closed"));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Queue {
    fn lines(&self) -> MutexGuard<'_, VecDeque<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: Line) -> Result<(), Failure> {
        let mut lines = self.lines();
        if let Some(failure) = &*self.over.borrow() {
            return Err(failure.clone());
        }
        // What was given up must not pile up behind a server that does not read.
        lines.retain(|line| !line.done.is_closed());
        if lines.len() >= WAITING {
            let words = "too many messages wait to be written";
            return Err(Failure::new(FailureKind::Busy, words));
        }
        lines.push_back(line);
        self.added.notify_one();
        Ok(())
    }

    /// The next line that is still wanted.
    async fn next(&self) -> Line {
        loop {
            let next = self.lines().pop_front();
            match next {
                Some(line) if line.done.is_closed() => {}
                Some(line) => return line,
                None => self.added.notified().await,
            }
        }
    }

    /// Nothing more is written, and what waits was not sent.
    fn end(&self, failure: Failure) {
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            over.get_or_insert(failure.clone());
            first
        });
        for line in std::mem::take(&mut *self.lines()) {
            // Nobody may be waiting any more.
            let _ = line.done.send(Err(SendError::NotSent(failure.clone())));
        }
    }
}

/// Writes each line as it comes, until the connection or the process is over or a write fails.
async fn write(mut stdin: ChildStdin, queue: Arc<Queue>, exit: watch::Receiver<Option<ExitStatus>>) {
    let mut stop = Stop { over: queue.over.subscribe(), exit };
    let failure = loop {
        let line = tokio::select! {
            biased;
            failure = stop.come() => break failure,
            line = queue.next() => line,
        };
        let (written, failure) = write_line(&mut stdin, &line.bytes, &mut stop).await;
        let result = match &failure {
            None => Ok(Delivery::HandedOver),
            Some(failure) => Err(undelivered(written, &line.bytes, failure.clone())),
        };
        let _ = line.done.send(result);
        if let Some(failure) = failure {
            break failure;
        }
    };
    queue.end(failure);
}

/// Writes `line`. Tells how many bytes of it were written, and why not all.
async fn write_line(stdin: &mut ChildStdin, line: &[u8], stop: &mut Stop) -> (usize, Option<Failure>) {
    let mut written = 0;
    while written < line.len() {
        // A write that is given up here has written nothing.
        let result = tokio::select! {
            biased;
            result = stdin.write(&line[written..]) => result,
            failure = stop.come() => return (written, Some(failure)),
        };
        match result {
            Ok(0) => return (written, Some(failed(&io::ErrorKind::WriteZero.into()))),
            Ok(bytes) => written += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(failed(&error))),
        }
    }
    (written, None)
}

/// What is known of a line of which only the first `written` bytes were written.
///
/// Its last byte is the line end, which proves nothing: servers execute a last line without it.
fn undelivered(written: usize, line: &[u8], failure: Failure) -> SendError {
    if written == 0 {
        SendError::NotSent(failure)
    } else if written < line.len() - 1 {
        SendError::Truncated(failure)
    } else {
        SendError::Unknown(failure)
    }
}

fn failed(error: &io::Error) -> Failure {
    let kind = kind_on_connection(error);
    Failure::caused(kind, "cannot write to the server's input", error)
}

/// What ends the writing: the connection's end, or the process's.
struct Stop {
    over: watch::Receiver<Option<Failure>>,
    exit: watch::Receiver<Option<ExitStatus>>,
}

impl Stop {
    /// Waits for it.
    async fn come(&mut self) -> Failure {
        let over = async {
            match self.over.wait_for(Option::is_some).await {
                Ok(failure) => failure.clone(),
                Err(_) => None,
            }
        };
        let exit = async {
            match self.exit.wait_for(Option::is_some).await {
                Ok(status) => status.map(exited),
                Err(_) => None,
            }
        };
        let failure = tokio::select! {
            failure = over => failure,
            failure = exit => failure,
        };
        failure.unwrap_or_else(|| Failure::closed("the connection is gone"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_byte_of_the_text_proves_anything() {
        let line = b"{\"id\":1}\n";
        let failure = || Failure::closed("test");
        for written in 0..line.len() {
            let expected = match written {
                0 => SendError::NotSent(failure()),
                8 => SendError::Unknown(failure()),
                _ => SendError::Truncated(failure()),
            };
            assert_eq!(undelivered(written, line, failure()), expected, "{written} bytes");
        }
    }
}
