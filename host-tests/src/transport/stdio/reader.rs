//! What the process writes, and how it ends.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::lines::{Line, Lines, TooLong};
use crate::failure::kind_on_connection;
use crate::transport::{Arrival, Incoming, Oversized};
use crate::{Failure, FailureKind};

/// How long the output may stay open and silent after the process exited, and how long the process
/// may live on after it closed its output.
const GRACE: Duration = Duration::from_millis(250);

/// The most that a pipe holds, in bytes. Once so much was read since the process exited, all that it
/// wrote itself was read.
const PIPE: usize = 1 << 20;

/// Reads the process's output.
pub(super) struct Reader {
    stdout: ChildStdout,
    exit: watch::Receiver<Option<ExitStatus>>,
    lines: Lines,
    /// What is left to read once the process exited.
    drain: Option<Drain>,
    /// How the output ended, once it has.
    end: Option<End>,
}

/// What is left to read once the process exited.
#[derive(Clone, Copy)]
struct Drain {
    /// Until when the output may stay open and silent.
    until: Instant,
    /// How much was read since, in bytes.
    read: usize,
}

/// What one read brought.
enum Step {
    Read(io::Result<usize>),
    Exited,
    Drained,
}

/// How the output ended.
enum End {
    /// It was closed.
    Closed,
    /// The process exited, and something else holds it open.
    Held(ExitStatus),
    /// It could not be read.
    Failed(Failure),
    /// As told before.
    Told(Result<Incoming, Failure>),
}

impl Reader {
    pub(super) fn new(
        stdout: ChildStdout,
        exit: watch::Receiver<Option<ExitStatus>>,
        max_message: u64,
    ) -> Reader {
        Reader { stdout, exit, lines: Lines::new(max_message), drain: None, end: None }
    }

    /// What comes next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Incoming, Failure> {
        loop {
            if let Some(line) = self.lines.next() {
                return Ok(incoming(line));
            }
            if self.end.is_some() {
                return self.finish().await;
            }
            self.end = self.read().await;
            if self.end.is_some()
                && let Some(line) = self.lines.last()
            {
                return Ok(incoming(line));
            }
        }
    }

    /// Reads once, or learns that nothing more will come.
    async fn read(&mut self) -> Option<End> {
        let until = self.drain.map(|drain| drain.until);
        let full = self.drain.is_some_and(|drain| drain.read > PIPE);
        let step = tokio::select! {
            biased;
            () = at(until.filter(|_| full)) => Step::Drained,
            read = self.stdout.read_buf(self.lines.room()) => Step::Read(read),
            _ = self.exit.wait_for(Option::is_some), if until.is_none() => Step::Exited,
            () = at(until) => Step::Drained,
        };
        match step {
            Step::Read(Ok(0)) => Some(End::Closed),
            Step::Read(Ok(bytes)) => {
                if let Some(drain) = &mut self.drain {
                    drain.read += bytes;
                }
                None
            }
            Step::Read(Err(error)) if error.kind() == io::ErrorKind::Interrupted => None,
            Step::Read(Err(error)) => {
                let kind = kind_on_connection(&error);
                let attempt = "cannot read the server's output";
                Some(End::Failed(Failure::caused(kind, attempt, &error)))
            }
            Step::Exited => {
                let until = Instant::now() + GRACE;
                self.drain = Some(Drain { until, read: 0 });
                None
            }
            Step::Drained => Some(match *self.exit.borrow() {
                Some(status) => End::Held(status),
                None => End::Closed,
            }),
        }
    }

    /// Tells how the output ended, after all that it held.
    async fn finish(&mut self) -> Result<Incoming, Failure> {
        let told = match self.end.take() {
            None | Some(End::Closed) => {
                let status = timeout(GRACE, self.exit.wait_for(Option::is_some)).await;
                match status.map(|status| status.map(|status| *status)) {
                    Ok(Ok(Some(status))) if !status.success() => Err(exited(status)),
                    _ => Ok(Incoming::End),
                }
            }
            Some(End::Held(status)) => {
                let mut failure = exited(status);
                let more = "something that it started keeps its output open";
                failure.detail.push(more.into());
                Err(failure)
            }
            Some(End::Failed(failure)) => Err(failure),
            Some(End::Told(told)) => told,
        };
        self.end = Some(End::Told(told.clone()));
        told
    }
}

/// Waits until `when`; for ever if there is no such time.
async fn at(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

fn incoming(line: Line) -> Incoming {
    let channel = None;
    match line {
        Line::Whole(message) => Incoming::Message(Arrival { message, channel }),
        Line::TooLong(TooLong { head, tail, size }) => {
            Incoming::TooLarge(Oversized { head, tail, size, channel })
        }
    }
}

/// The process exited, in the system's words for how.
pub(super) fn exited(status: ExitStatus) -> Failure {
    Failure {
        kind: FailureKind::Closed,
        detail: vec!["the server's process has ended".into(), status.to_string()],
    }
}
