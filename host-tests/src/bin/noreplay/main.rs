//! The `noreplay` command: the component by hand, and from scripts in any language.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::AutoStream;
use clap::{Parser, Subcommand};
use host_tests::check::{CheckError, transport};
use host_tests::host::http::UrlError;
use host_tests::runtime::RuntimeError;
use host_tests::{ClientError, NotExecuted, Outcome};
use tokio::task::JoinError;

mod advice;
mod call;
mod check;
mod conformance;
mod demo;
mod inspect;
mod play_peer;
mod session;
mod style;
mod target;
mod text;
mod tools;
mod wait;

/// Calls MCP tools, and never repeats a call whose outcome it does not know.
#[derive(Parser)]
#[command(version, after_help = EXIT_STATUS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  ok
  1  tool-error: the tool answered, and reports an error; check: the contract is broken
  2  wrong usage, or a failure of this program's own
  3  unknown-outcome: the tool may have run
  4  not-executed: the tool has not run";

#[derive(Subcommand)]
enum Command {
    /// Shows what happens to a charge whose answer is lost
    Demo(demo::Demo),
    /// Lists a server's tools
    Tools(tools::Tools),
    /// Calls a tool once
    Call(call::Call),
    /// Runs a session from JSON lines on standard input
    Session(session::Session),
    /// Holds a component, or a transport, against the contract
    Check(check::Check),
    /// Shows what the component imports, exports and weighs
    Inspect(inspect::Inspect),
    /// Is the client that MCP's conformance suite tests
    #[command(hide = true)]
    Conformance(conformance::Conformance),
    /// Is a peer of `check --transport stdio`
    #[command(hide = true)]
    PlayPeer(play_peer::PlayPeer),
}

/// How a command ended, where nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Ok = 0,
    ToolError = 1,
    Failure = 2,
    Unknown = 3,
    NotExecuted = 4,
}

impl Exit {
    /// What the verdict on a call says.
    fn of(verdict: &Result<Outcome, NotExecuted>) -> Exit {
        match verdict {
            Ok(Outcome::Ok(_)) => Exit::Ok,
            Ok(Outcome::ToolError(_)) => Exit::ToolError,
            Ok(Outcome::UnknownOutcome(_)) => Exit::Unknown,
            Err(_) => Exit::NotExecuted,
        }
    }
}

/// A failure of this program's own.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    CheckTransport(#[from] transport::CheckError),
    #[error("cannot play a peer")]
    Play(#[source] io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("--http cannot be used")]
    Url(#[source] UrlError),
    #[error("--header cannot be used, number {number} of them: {why}")]
    Header { number: usize, why: String },
    #[error("cannot start")]
    Start(#[source] io::Error),
    #[error("cannot read standard input")]
    Input(#[source] io::Error),
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
    #[error("cannot write the report {}", path.display())]
    Report { path: PathBuf, source: io::Error },
    #[error("a task of this program failed")]
    Task(#[from] JoinError),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(failure) => {
            complain(&failure);
            ExitCode::from(Exit::Failure as u8)
        }
    }
}

fn run(command: Command) -> Result<Exit, Failure> {
    // One thread: what is started first happens first.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Start)?;
    let result = runtime.block_on(async {
        match command {
            Command::Demo(demo) => demo.run().await,
            Command::Tools(tools) => tools.run().await,
            Command::Call(call) => call.run().await,
            Command::Session(session) => session.run().await,
            Command::Check(check) => check.run().await,
            Command::Inspect(inspect) => inspect.run(),
            Command::Conformance(conformance) => conformance.run().await,
            Command::PlayPeer(peer) => peer.run(),
        }
    });
    // Standard input may still be waited for, in a thread that cannot be told to stop.
    runtime.shutdown_background();
    result
}

/// Says on standard error what failed and why. A reader that went away is no reason to speak.
fn complain(failure: &Failure) {
    if let Failure::Output(error) = failure
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        return;
    }
    let causes = std::iter::successors(failure.source(), |&error: &&(dyn Error + 'static)| error.source());
    let words: Vec<String> =
        std::iter::once(failure.to_string()).chain(causes.map(ToString::to_string)).collect();
    // There is nowhere left to report that this failed.
    let _ = writeln!(io::stderr(), "noreplay: {}", words.join(": "));
}

/// Writes one line, or several, to standard output, at once and whole. Styles are left out where it
/// is no terminal or colours are not wanted.
fn print(text: &str) -> Result<(), Failure> {
    let write = || {
        let mut out = AutoStream::auto(io::stdout().lock());
        writeln!(out, "{text}")?;
        out.flush()
    };
    write().map_err(Failure::Output)
}
