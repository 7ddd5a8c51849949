//! The ledger server as a process of its own, over standard input and output: a server to try the
//! `noreplay` command on, and one that fails when it is told to.
//!
//! ```text
//! noreplay call --tool pay --args '{"amount":5}' --stdio 'ledger-server --on pay:1=execute,lose'
//! ```

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use host_tests::ledger::{LedgerServer, Rule};
use host_tests::transport::{Connection, Incoming, Outgoing, Transport};
use host_tests::verdict::Object;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};

mod script;

/// An MCP server whose tools are `pay`, `slow`, `fail`, `balance`, `echo` and `big`.
#[derive(Parser)]
struct Arguments {
    /// What to do with the Nth call of TOOL, or with every call
    #[arg(long, value_name = "TOOL[:N]=STEP[,STEP..]", value_parser = script::rule, long_help = script::HELP)]
    on: Vec<Rule>,

    /// Append each effect of a tool to FILE, a JSON line each
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let serving = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let served = runtime.block_on(serve(arguments));
        runtime.shutdown_background();
        served
    });
    match serving {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ledger-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until either side ends; a lost connection is an error.
async fn serve(arguments: Arguments) -> io::Result<()> {
    let rules = arguments.on.into_iter();
    let server = rules.fold(LedgerServer::new(), LedgerServer::rule);
    let connection =
        server.connect("", u64::MAX).await.map_err(|failure| io::Error::other(failure.detail.join(": ")))?;
    let mut book = Book { server, file: arguments.ledger, written: 0 };
    let served = tokio::select! {
        served = read(connection.clone()) => served,
        served = write(connection, &mut book) => served,
    };
    book.write()?;
    served
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    method: String,
    id: Option<u64>,
}

/// Hands each line of the input over.
async fn read(connection: Arc<dyn Connection>) -> io::Result<()> {
    let mut input = BufReader::new(tokio::io::stdin());
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        let message = line.trim_ascii_end().to_vec();
        let Message { method, id } = serde_json::from_slice(&message).unwrap_or_default();
        let outgoing = Outgoing { message, method, request: id, protocol_version: None, headers: Vec::new() };
        // How a `send` ends is the client's concern, which is in another process.
        drop(connection.send(outgoing));
    }
}

/// Writes each message that comes, after the effects that came before it.
async fn write(connection: Arc<dyn Connection>, book: &mut Book) -> io::Result<()> {
    loop {
        let incoming = connection.receive().await;
        book.write()?;
        match incoming {
            Ok(Incoming::Message(arrival)) => {
                let mut out = io::stdout().lock();
                out.write_all(&arrival.message)?;
                out.write_all(b"\n")?;
                out.flush()?;
            }
            Ok(Incoming::TooLarge(_) | Incoming::AnswerLost(_)) => {}
            Ok(Incoming::End) => return Ok(()),
            Err(failure) => return Err(io::Error::other(failure.detail.join(": "))),
        }
    }
}

/// The file that the effects are written to.
struct Book {
    server: LedgerServer,
    file: Option<PathBuf>,
    written: usize,
}

impl Book {
    fn write(&mut self) -> io::Result<()> {
        let Some(path) = &self.file else {
            return Ok(());
        };
        let ledger = self.server.ledger();
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        for effect in &ledger.effects()[self.written..] {
            let line = Object::new().text("tool", &effect.tool);
            let line = match &effect.arguments {
                Some(arguments) => line.json("arguments", arguments),
                None => line,
            };
            writeln!(file, "{line}")?;
        }
        self.written = ledger.effects().len();
        Ok(())
    }
}
