//! `noreplay check`: does a component, or a transport, keep the contract?

use std::env;
use std::fs;
use std::io::{IsTerminal as _, stderr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use host_tests::check::transport::Check as CheckingTransport;
use host_tests::check::transport::http::Servers;
use host_tests::check::transport::peer::Peers;
use host_tests::check::transport::stdio::ChildProcesses;
use host_tests::check::{Check as Checking, Progress, Promise, SEED};
use host_tests::host::http::Http;
use host_tests::runtime::RuntimeError;
use host_tests::transport::Transport;
use host_tests::transport::component::ComponentTransport;
use host_tests::transport::stdio::Stdio;
use host_tests::{COMPONENT, HTTP_CLIENT};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{Exit, Failure, print};

mod summary;

use summary::Summary;

/// The arguments of `check`.
#[derive(Args)]
pub(crate) struct Check {
    /// The component [default: the built one]
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,

    /// Check this transport of the host's instead of a component: what it says of delivery against what
    /// its peers, which misbehave, really got
    #[arg(long, value_name = "KIND", conflicts_with_all = ["component", "report", "quick", "promise"])]
    transport: Option<Kind>,

    /// Write a page for people
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// The seed of all that is random
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,

    /// How many random steps to go
    #[arg(long, value_name = "N")]
    steps: Option<u64>,

    /// Fewer policies, revisions and steps
    #[arg(long)]
    quick: bool,

    /// Ask about this promise alone, and stop at its first breach
    #[arg(long, value_name = "P1..P10")]
    promise: Option<Promise>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The transports that come with the host.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Child processes
    Stdio,
    /// The HTTP transport component
    Http,
}

impl Check {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let bar = bar();
        let watch = |progress: Progress| {
            bar.set_length(progress.of as u64);
            bar.set_position(progress.done as u64);
        };
        let summary = match self.transport {
            None => self.component(&watch)?,
            Some(Kind::Stdio) => self.stdio(&watch).await?,
            Some(Kind::Http) => self.http(&watch).await?,
        };
        bar.finish_and_clear();
        print(&if self.json { summary.json() } else { summary.text() })?;
        Ok(if summary.broken.is_empty() { Exit::Ok } else { Exit::ToolError })
    }

    fn component(&self, watch: &(dyn Fn(Progress) + Sync)) -> Result<Summary, Failure> {
        let check = match &self.component {
            None => Checking::of(COMPONENT).over_http(HTTP_CLIENT),
            Some(path) => {
                let read = fs::read(path);
                Checking::of(read.map_err(|source| RuntimeError::Read { path: path.clone(), source })?)
            }
        };
        let check = check.seed(self.seed);
        let check = if self.quick { check.quick() } else { check };
        let check = match self.steps {
            Some(steps) => check.steps(steps),
            None => check,
        };
        let check = self.promise.iter().copied().fold(check, Checking::only);
        let report = check.run(watch)?;
        if let Some(path) = &self.report {
            let written = fs::write(path, report.html());
            written.map_err(|source| Failure::Report { path: path.clone(), source })?;
        }
        Ok(Summary::of_component(report))
    }

    async fn stdio(&self, watch: &(dyn Fn(Progress) + Sync)) -> Result<Summary, Failure> {
        // The peers are this very program.
        let program = env::current_exe().map_err(Failure::Start)?;
        let peers = ChildProcesses::played_by([program.into_os_string(), "play-peer".into()]);
        self.transport(CheckingTransport::of(peers, Stdio::new), watch).await
    }

    async fn http(&self, watch: &(dyn Fn(Progress) + Sync)) -> Result<Summary, Failure> {
        let transport = ComponentTransport::built_http(Http::default())?;
        // Each peer has an address of its own, which is all that the transport may reach.
        let to = |url: String| transport.over(Http::to(&url).unwrap_or_default());
        self.transport(CheckingTransport::of(Servers, to), watch).await
    }

    async fn transport<P: Peers, F, T>(
        &self,
        check: CheckingTransport<P, F>,
        watch: &(dyn Fn(Progress) + Sync),
    ) -> Result<Summary, Failure>
    where
        F: Fn(P::Address) -> T,
        T: Transport,
    {
        let check = check.seed(self.seed);
        let check = match self.steps {
            Some(steps) => check.steps(steps),
            None => check,
        };
        Ok(Summary::of_transport(check.run(watch).await?))
    }
}

/// A bar on a terminal, and nothing in a pipe.
fn bar() -> ProgressBar {
    let target =
        if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    match ProgressStyle::with_template("checking {bar:40} {percent:>3} %  {elapsed} of about {duration}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
