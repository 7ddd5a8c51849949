//! Runs schedules, one after the other, each from nothing.

use std::io;
use std::thread;

use super::moment::Entry;
use super::oracle;
use super::promise::{Breach, Promise};
use super::run::{Record, run};
use super::schedule::Schedule;
use super::world::World;
use crate::{ClientError, Options, Runtime};

/// What a thread of the check needs.
pub(super) struct Runner {
    runtime: Runtime,
    options: Options,
}

/// A run, and what it shows.
pub(super) struct Judged {
    pub(super) record: Record,
    pub(super) breaches: Vec<Breach>,
}

impl Judged {
    pub(super) fn log(&self) -> &[Entry] {
        &self.record.log
    }
}

impl Runner {
    pub(super) fn new(runtime: Runtime, options: Options) -> Runner {
        Runner { runtime, options }
    }

    /// Runs a schedule, and judges it.
    pub(super) fn judge(&self, schedule: &Schedule) -> io::Result<Judged> {
        let record = in_virtual_time(run(&self.runtime, &self.options, schedule))?;
        let breaches = oracle::judge(schedule, &record.log);
        Ok(Judged { record, breaches })
    }

    /// Whether this schedule breaks this promise.
    pub(super) fn breaks(&self, schedule: &Schedule, promise: Promise) -> bool {
        let broken = |judged: Judged| judged.breaches.iter().any(|breach| breach.promise == promise);
        self.judge(schedule).is_ok_and(broken)
    }
}

/// What a component says its defaults are.
pub(super) fn defaults(runtime: &Runtime) -> io::Result<Result<Options, ClientError>> {
    let ask = || in_virtual_time(async { runtime.client(World::idle()).default_options().await });
    // In a thread of its own: the caller may be in a tokio runtime already.
    thread::scope(|scope| joined(scope.spawn(ask)))
}

/// What a thread brings; its panic is ours.
pub(super) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs `future` on a clock of its own, which jumps to the next alarm whenever nothing is left to do.
pub(super) fn in_virtual_time<F: Future>(future: F) -> io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(future))
}
