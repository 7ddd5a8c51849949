//! The contract check of a transport: does it keep what the contract's section 8 asks for? Any implementation
//! of [`Transport`] can be asked, over whatever the check has [`peers`](peer::Peers) for: child processes and
//! servers over HTTP.
//!
//! Each [`Case`] is a peer that plays a script, and what is done with the connection to it meanwhile. The peer
//! keeps its own record of what it got and did. An oracle holds what the transport said, by the results of
//! `send` and `receive`, against that record.
//!
//! ```no_run
//! use host_tests::check::transport::{Check, stdio::ChildProcesses};
//! use host_tests::transport::stdio::Stdio;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The command plays the peers: each is one more process of it.
//! let peers = ChildProcesses::played_by(["noreplay", "play-peer"]);
//! // Put yours in the place of `Stdio`. It is to start the command that it is given.
//! let report = Check::of(peers, |command| Stdio::new(command)).run(&|_| {}).await?;
//! for broken in &report.broken {
//!     println!("{} in: {}\n  {}", broken.duty, broken.case, broken.sequence.join("\n  "));
//! }
//! assert!(report.broken.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! A transport over HTTP is checked by `Check::of(http::Servers, |url| ..)`: the servers live in this process.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};

use crate::transport::Transport;

pub mod case;
mod cases;
mod drawing;
mod drive;
mod duty;
pub mod http;
mod log;
mod oracle;
pub mod peer;
pub mod script;
pub mod stdio;
pub mod text;
mod weight;

pub use duty::Duty;

use case::Case;
use duty::Breach;
use oracle::Kind;
use peer::{Peer as _, Peers};

use super::{Progress, SEED};

/// The size of the largest message, in bytes, that a transport is asked to deliver.
const MAX_MESSAGE: u64 = 1 << 20;

/// The protocol revision that a transport is told.
const REVISION: &str = "2025-11-25";

/// How many cases run at once. Most of them wait.
const AT_ONCE: usize = 16;

/// A check of one transport.
pub struct Check<P, F> {
    peers: P,
    transport: F,
    seed: u64,
    random: u64,
    patience: Duration,
    wanted: Box<dyn Fn(&Case) -> bool + Send + Sync>,
}

/// What a check of a transport found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Every case that was run.
    pub cases: Vec<Checked>,
    /// How many random moves there were.
    pub steps: u64,
    /// How long it took.
    pub took: Duration,
    /// The seed of the random cases.
    pub seed: u64,
    /// The duties that are broken, each once: none, if all is well.
    pub broken: Vec<Broken>,
}

/// A case that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its name.
    pub case: String,
    /// The duties that it shows to be broken.
    pub broken: BTreeSet<Duty>,
    /// What happened.
    pub sequence: Vec<String>,
}

/// A duty that a transport breaks, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The duty.
    pub duty: Duty,
    /// What was done or said against it.
    pub why: String,
    /// The first case that shows it.
    pub case: String,
    /// What happened in it.
    pub sequence: Vec<String>,
}

/// Why a transport cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A peer cannot be made ready.
    #[error("cannot make a peer ready for: {case}")]
    Peer {
        /// The case it is for.
        case: String,
        /// Why.
        source: io::Error,
    },
    /// What a peer recorded cannot be read.
    #[error("cannot read the peer's record of: {case}")]
    Record {
        /// The case it is of.
        case: String,
        /// Why.
        source: io::Error,
    },
}

impl<P, F, T> Check<P, F>
where
    P: Peers,
    F: Fn(P::Address) -> T,
    T: Transport,
{
    /// A check of the transports that `transport` makes, each for a peer that it is told how to find.
    pub fn of(peers: P, transport: F) -> Check<P, F> {
        Check {
            peers,
            transport,
            seed: SEED,
            random: 16,
            patience: Duration::from_secs(10),
            wanted: Box::new(|_| true),
        }
    }

    /// The seed of the first random case; each further one has the next one.
    #[must_use]
    pub fn seed(self, seed: u64) -> Check<P, F> {
        Check { seed, ..self }
    }

    /// How many random moves to make, at least.
    #[must_use]
    pub fn steps(self, steps: u64) -> Check<P, F> {
        Check { random: steps.div_ceil(cases::MOVES), ..self }
    }

    /// How long to wait for what should end, before it hangs: 10 s, unless said otherwise.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Check<P, F> {
        Check { patience, ..self }
    }

    /// Runs only these cases.
    #[must_use]
    pub fn only(self, wanted: impl Fn(&Case) -> bool + Send + Sync + 'static) -> Check<P, F> {
        Check { wanted: Box::new(wanted), ..self }
    }

    /// Runs the check. `watch` is told how far it has come.
    ///
    /// # Errors
    ///
    /// The peers cannot play, or not be watched.
    pub async fn run(self, watch: &(dyn Fn(Progress) + Sync)) -> Result<Report, CheckError> {
        let begun = Instant::now();
        let seeds = (0..self.random).map(|number| self.seed.wrapping_add(number));
        let mut cases: Vec<_> = cases::cases().into_iter().chain(seeds.flat_map(cases::random)).collect();
        cases.retain(|case| case.script.0.iter().all(|act| self.peers.plays(act)) && (self.wanted)(case));
        // Those that weigh this process come last, one by one.
        let (alone, crowd): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.alone);

        let mut found = Vec::new();
        let done = |found: &[_]| watch(Progress { done: found.len(), of: cases.len() });
        let mut running = stream::iter(crowd.into_iter().map(|case| self.check(case))).buffered(AT_ONCE);
        while let Some(checked) = running.next().await {
            found.push(checked?);
            done(&found);
        }
        for case in alone {
            found.push(self.check(case).await?);
            done(&found);
        }
        Ok(self.report(found, begun))
    }

    /// Runs one case, and judges it.
    async fn check(&self, case: &Case) -> Result<(Checked, Vec<Breach>), CheckError> {
        let name = || case.name.clone();
        let peer =
            self.peers.start(&case.script).map_err(|source| CheckError::Peer { case: name(), source })?;
        let transport = (self.transport)(peer.address());
        let record = drive::drive(case, &peer, &transport, self.patience)
            .await
            .map_err(|source| CheckError::Record { case: name(), source })?;
        let kind = Kind { room: self.peers.room(), own_channels: self.peers.own_channels() };
        let breaches = oracle::judge(case, &record, kind);
        let broken = breaches.iter().map(|breach| breach.duty).collect();
        Ok((Checked { case: name(), broken, sequence: drawing::draw(case, &record) }, breaches))
    }

    fn report(&self, found: Vec<(Checked, Vec<Breach>)>, begun: Instant) -> Report {
        let mut seen = BTreeSet::new();
        let mut broken = Vec::new();
        for (checked, breaches) in &found {
            for Breach { duty, why } in breaches.iter().filter(|breach| seen.insert(breach.duty)) {
                let mut sequence = checked.sequence.clone();
                sequence.push(format!("=> {duty} ({}) is broken: {why}", duty.words()));
                broken.push(Broken { duty: *duty, why: why.clone(), case: checked.case.clone(), sequence });
            }
        }
        Report {
            cases: found.into_iter().map(|(checked, _)| checked).collect(),
            steps: self.random * cases::MOVES,
            took: begun.elapsed(),
            seed: self.seed,
            broken,
        }
    }
}
