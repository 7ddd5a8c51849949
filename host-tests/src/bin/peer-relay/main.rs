//! Stands between a client and a real server on stdio, and makes one thing go wrong, or several.
//!
//! ```text
//! peer-relay --log FILE [--on METHOD [--nth N|every] --fault FAULT]... -- SERVER ARG..
//! ```
//!
//! Every line of the client goes into FILE before anything else is done with it: a test counts there
//! what was on the wire. FILE is added to, and the count behind `--nth` starts from what is in it:
//! a client that reconnects, and so starts another relay, gets the fault once only.
//!
//! FAULT, of the Nth (first) request with METHOD or of every one (to kill also ends the relay):
//!
//! | fault | the relay |
//! |---|---|
//! | `kill-before` | kills the server without handing it the request |
//! | `kill-after-answer-read` | waits for the answer, so that the effect has happened, and kills |
//! | `close-after-request` | hands the request over and closes its stdout; kills at the answer |
//! | `drop-answer` | swallows the answer and goes on |
//! | `cut-answer:BYTES` | passes so many bytes of the line (negative: all but so many), and kills |
//! | `delay:MS` | passes the answer that much later; other lines overtake it |
//! | `duplicate-answer` | passes the answer twice |
//! | `garbage` | writes lines that are no messages, then the answer |
//!
//! The relay kills the server whenever it ends. A signal that ends the relay itself must go to its
//! process group, where the server is too.

mod fault;
mod options;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::process::{Stdio, exit};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, Stdout};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::fault::{Fault, Trigger};
use crate::options::Options;

/// How long a server has to end by itself once the client has closed its input.
const GRACE: Duration = Duration::from_secs(2);

/// What some servers write to stdout: prose, an empty line, invalid UTF-8, half a message.
const GARBAGE: &[u8] = b"Server listening\n\n\xff\xfe\n{\"jsonrpc\":\"2.0\",\n";

enum Event {
    FromClient(Vec<u8>),
    ClientEnded,
    FromServer(Vec<u8>),
    ServerEnded,
    /// A delayed line's time has come.
    Due(Vec<u8>),
    GraceOver,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let status = match Options::parse(std::env::args_os().skip(1)) {
        Ok(options) => relay(options).await,
        Err(usage) => Err(io::Error::other(usage)),
    };
    // Not by returning: the runtime would wait for the thread that reads stdin.
    exit(status.unwrap_or_else(|error| {
        eprintln!("peer-relay: {error}");
        2
    }))
}

/// Runs until either side has ended or the fault ends it all; returns the exit status.
async fn relay(options: Options) -> io::Result<i32> {
    let seen = fs::read(&options.log).unwrap_or_default();
    let trigger = Trigger::new(options.plans, &seen);
    let log = OpenOptions::new().append(true).create(true).open(options.log)?;
    let mut server = Command::new(&options.program)
        .args(options.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| {
            let program = options.program.display();
            io::Error::other(format!("cannot start {program}: {error}"))
        })?;

    let (events, inbox) = unbounded_channel();
    let pipe = |name| io::Error::other(format!("the server has no {name}"));
    let stdout = server.stdout.take().ok_or_else(|| pipe("stdout"))?;
    tokio::spawn(read(tokio::io::stdin(), events.clone(), Event::FromClient, Event::ClientEnded));
    tokio::spawn(read(stdout, events.clone(), Event::FromServer, Event::ServerEnded));

    let passed = pass(&mut server, trigger, log, events, inbox).await;
    server.kill().await?;
    match passed? {
        End::Faulted => Ok(1),
        End::ServerEnded => Ok(server.wait().await?.code().unwrap_or(1)),
    }
}

enum End {
    Faulted,
    ServerEnded,
}

/// Passes lines both ways. The caller kills the server after it, however it ends.
async fn pass(
    server: &mut Child,
    mut trigger: Trigger,
    mut log: File,
    events: UnboundedSender<Event>,
    mut inbox: UnboundedReceiver<Event>,
) -> io::Result<End> {
    let mut to_server = server.stdin.take();
    let mut to_client = tokio::io::stdout();
    while let Some(event) = inbox.recv().await {
        match event {
            Event::FromClient(line) => {
                log.write_all(&line)?;
                let fault = trigger.request(&line);
                if fault == Some(Fault::KillBefore) {
                    return Ok(End::Faulted);
                }
                if let Some(input) = &mut to_server {
                    // A server that is gone is told by its output's end.
                    let _ = input.write_all(&line).await;
                }
                if fault == Some(Fault::CloseAfterRequest) {
                    close_stdout()?;
                }
            }
            Event::FromServer(line) => match trigger.answer(&line) {
                None => write(&mut to_client, &line).await?,
                Some(Fault::DropAnswer) => {}
                Some(Fault::CutAnswer(bytes)) => {
                    write(&mut to_client, fault::cut(&line, bytes)).await?;
                    return Ok(End::Faulted);
                }
                Some(Fault::Delay(delay)) => later(delay, &events, Event::Due(line)),
                Some(Fault::DuplicateAnswer) => {
                    write(&mut to_client, &[&line[..], &line[..]].concat()).await?;
                }
                Some(Fault::Garbage) => {
                    write(&mut to_client, &[GARBAGE, &line[..]].concat()).await?;
                }
                Some(Fault::KillBefore | Fault::KillAfterAnswerRead | Fault::CloseAfterRequest) => {
                    return Ok(End::Faulted);
                }
            },
            Event::Due(line) => write(&mut to_client, &line).await?,
            Event::ClientEnded => {
                to_server = None;
                later(GRACE, &events, Event::GraceOver);
            }
            Event::ServerEnded => {
                // Let it end by itself, so that its own status is passed on.
                let _ = tokio::time::timeout(GRACE, server.wait()).await;
                return Ok(End::ServerEnded);
            }
            Event::GraceOver => return Ok(End::ServerEnded),
        }
    }
    Ok(End::ServerEnded)
}

/// Hands on each line with its line end; the last one as it is.
async fn read(
    from: impl AsyncRead + Unpin,
    events: UnboundedSender<Event>,
    line: fn(Vec<u8>) -> Event,
    end: Event,
) {
    let mut from = BufReader::new(from);
    loop {
        let mut bytes = Vec::new();
        match from.read_until(b'\n', &mut bytes).await {
            Ok(1..) => drop(events.send(line(bytes))),
            Ok(0) | Err(_) => break,
        }
    }
    let _ = events.send(end);
}

async fn write(to_client: &mut Stdout, bytes: &[u8]) -> io::Result<()> {
    to_client.write_all(bytes).await?;
    to_client.flush().await
}

fn later(delay: Duration, events: &UnboundedSender<Event>, event: Event) {
    let events = events.clone();
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        let _ = events.send(event);
    });
}

/// The client sees the end of the stream, while this process lives on.
fn close_stdout() -> io::Result<()> {
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nowhere)?)
}
