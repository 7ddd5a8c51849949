//! The contract check: does a component keep the contract's promises? Any component that exports the client
//! interface can be asked.
//!
//! It is driven through a transport that fails on command, against a server that keeps a ledger, in virtual
//! time. Into each of some [`scenarios`](scenario::scenarios) every fault is placed at every operation of the
//! transport, under every policy; beyond that go random walks from a seed. An oracle that knows what really
//! happened holds each verdict against it. A schedule that shows a broken promise is made as short as it can
//! be, and drawn.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::runtime::{Allocation, RuntimeError, RuntimeOptions};
use crate::{ClientError, Runtime};

mod catalogue;
mod choices;
mod drawing;
pub mod fault;
mod findings;
mod http;
mod minimise;
mod moment;
mod oracle;
mod placement;
pub mod policy;
mod promise;
pub mod refusal;
mod report;
mod run;
mod runner;
pub mod scenario;
pub mod schedule;
pub mod transport;
mod walk;
mod world;

pub use findings::{Broken, Cell, Cells};
pub use promise::Promise;

use findings::Findings;
use placement::Group;
use runner::{Runner, joined};
use walk::{LENGTH, Walks};

/// The seed if none is given.
pub const SEED: u64 = 20_261_130;

/// The most memory that an instance may use, in bytes: a leak shows.
const MEMORY: usize = 4 << 20;

/// How long an instance may run without returning to the host.
const LONGEST_RUN: Duration = Duration::from_secs(2);

/// How long a run may take, on the clock on the wall: a component that never rests would take for ever.
const LONGEST_LIFE: Duration = Duration::from_secs(5);

/// How many walks make one piece of work.
const WALKS: u64 = 20;

/// A check of one component.
pub struct Check {
    component: Vec<u8>,
    /// The same, composed with the HTTP transport.
    over_http: Option<Vec<u8>>,
    seed: u64,
    steps: u64,
    quick: bool,
    only: Option<Promise>,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many distinct placements were run.
    pub placements: u64,
    /// How many random steps.
    pub steps: u64,
    /// How long it took.
    pub took: Duration,
    /// The seed of the walks.
    pub seed: u64,
    /// The component's size in bytes.
    pub bytes: usize,
    /// The component's SHA-256, in hexadecimal.
    pub sha256: String,
    /// What became of every fault in every scenario.
    pub cells: Cells,
    /// The promises that are broken: none, if all is well.
    pub broken: Vec<Broken>,
}

/// Why a component cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be run.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// It does not even tell its defaults.
    #[error("the component does not tell its default options")]
    Defaults(#[source] ClientError),
    /// A thread cannot be started.
    #[error("cannot start a thread of the check")]
    Start(#[source] io::Error),
}

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// So many pieces of work are done.
    pub done: usize,
    /// Of so many.
    pub of: usize,
}

/// A piece of work.
enum Task {
    Group(Group),
    /// The same over HTTP.
    Http(http::Group),
    /// So many walks, from this seed on.
    Walks(u64, u64),
}

impl Check {
    /// A check of the component `component`.
    pub fn of(component: impl Into<Vec<u8>>) -> Check {
        Check {
            component: component.into(),
            over_http: None,
            seed: SEED,
            steps: 1_000_000,
            quick: false,
            only: None,
        }
    }

    /// Also over HTTP: `composed` is the component with the HTTP transport in it.
    #[must_use]
    pub fn over_http(self, composed: impl Into<Vec<u8>>) -> Check {
        Check { over_http: Some(composed.into()), ..self }
    }

    /// The seed of the first random walk; each further walk has the next one.
    #[must_use]
    pub fn seed(self, seed: u64) -> Check {
        Check { seed, ..self }
    }

    /// How many random steps to go.
    #[must_use]
    pub fn steps(self, steps: u64) -> Check {
        Check { steps, ..self }
    }

    /// Fewer revisions and policies, no pairs of faults, and a fiftieth of the random steps.
    #[must_use]
    pub fn quick(self) -> Check {
        Check { quick: true, steps: self.steps / 50, ..self }
    }

    /// Whether this promise is broken, and nothing else: the check ends with its first breach.
    #[must_use]
    pub fn only(self, promise: Promise) -> Check {
        Check { only: Some(promise), ..self }
    }

    /// Runs the check. `watch` is told how far it has come.
    ///
    /// # Errors
    ///
    /// The component cannot be run at all, or this program cannot run it.
    pub fn run(self, watch: &(dyn Fn(Progress) + Sync)) -> Result<Report, CheckError> {
        let begun = Instant::now();
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let options = |parts: u32| RuntimeOptions {
            allocation: Allocation::Pooling((u32::try_from(threads).unwrap_or(1) * 2 + 2) * parts),
            longest_run: LONGEST_RUN,
            longest_life: Some(LONGEST_LIFE),
            memory: MEMORY,
        };
        let runtime = Runtime::from_bytes(&self.component, options(1))?;
        // Two components in one, and what holds them together.
        let over_http = self.over_http.as_ref().map(|composed| Runtime::from_bytes(composed, options(4)));
        let over_http = over_http.transpose()?;
        let defaults =
            runner::defaults(&runtime).map_err(CheckError::Start)?.map_err(CheckError::Defaults)?;

        let tasks = self.tasks();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let findings = Findings::of(self.only);
        let walks = Walks::new();
        let work = || -> io::Result<()> {
            let runner = Runner::new(runtime.clone(), defaults.clone());
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if findings.are_enough() {
                    break;
                }
                match task {
                    Task::Group(group) => group.run(&runner, &findings)?,
                    Task::Http(group) => {
                        if let Some(over_http) = &over_http {
                            let each = |judged| findings.placed_over_http(judged);
                            group.run(over_http, &defaults, each, || findings.are_enough())?;
                        }
                    }
                    Task::Walks(from, count) => {
                        for seed in *from..from.saturating_add(*count) {
                            if findings.are_enough() {
                                break;
                            }
                            let schedule = walks.walk(seed);
                            let judged = runner.judge(&schedule)?;
                            findings.walked(&runner, seed, &schedule, &judged);
                        }
                    }
                }
                watch(Progress { done: done.fetch_add(1, Ordering::Relaxed) + 1, of: tasks.len() });
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| thread::Builder::new().spawn_scoped(scope, work))
                .collect::<io::Result<_>>()?;
            workers.into_iter().try_for_each(joined)
        })
        .map_err(CheckError::Start)?;

        let gathered = findings.into_inner();
        Ok(Report {
            placements: gathered.placements,
            steps: gathered.steps,
            took: begun.elapsed(),
            seed: self.seed,
            bytes: self.component.len(),
            sha256: Sha256::digest(&self.component).iter().map(|byte| format!("{byte:02x}")).collect(),
            cells: gathered.cells,
            broken: gathered.broken,
        })
    }

    fn tasks(&self) -> Vec<Task> {
        let scenarios = scenario::scenarios();
        let groups = Group::all(&scenarios, self.quick);
        let walks = self.steps.div_ceil(LENGTH as u64);
        let pieces = usize::try_from(walks.div_ceil(WALKS)).unwrap_or(usize::MAX);
        let mut walks = (0..walks)
            .step_by(WALKS as usize)
            .map(|walked| Task::Walks(self.seed.wrapping_add(walked), WALKS.min(walks - walked)));
        let over_http = if self.over_http.is_some() { http::Group::all(self.quick) } else { Vec::new() };
        // Walks between the groups, evenly: what only they find is found early too.
        let share = pieces.div_ceil(groups.len());
        let mut tasks = Vec::new();
        for group in groups {
            tasks.push(Task::Group(group));
            tasks.extend(walks.by_ref().take(share));
        }
        tasks.extend(over_http.into_iter().map(Task::Http));
        tasks
    }
}
