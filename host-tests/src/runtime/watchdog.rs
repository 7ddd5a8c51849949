//! A bound on how long the component may run without returning to the host.
//!
//! The engine's epoch ticks; at each tick that finds the component running, the store asks how long
//! this run has lasted. A run is one poll of the future that drives the store: the component only
//! ever runs within one.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wasmtime::{Engine, Store, UpdateDeadline};

/// How often running components are looked at.
const TICK: Duration = Duration::from_millis(20);

/// The component ran for too long without returning to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the component ran for more than {longest:?} without returning to the host")]
pub struct Overrun {
    /// How long it may run.
    pub longest: Duration,
}

/// The component still ran when its life should have been over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the component was still busy after {longest:?}")]
pub struct Outlived {
    /// How long it may live.
    pub longest: Duration,
}

/// Ticks for as long as the engine exists.
pub(crate) fn start_ticking(engine: &Engine) {
    let engine = engine.weak();
    thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    });
}

/// Knows since when the component of one store has been running.
#[derive(Clone)]
pub(crate) struct Watchdog {
    zero: Instant,
    /// When the present run began, in nanoseconds after `zero`.
    run: Arc<AtomicU64>,
}

impl Watchdog {
    /// Bounds every run in `store` by `longest`, and all of them by `life`.
    pub(crate) fn over<T>(store: &mut Store<T>, longest: Duration, life: Option<Duration>) -> Watchdog {
        let watchdog = Watchdog { zero: Instant::now(), run: Arc::default() };
        let watched = watchdog.clone();
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if watched.running_for() > longest {
                Err(Overrun { longest }.into())
            } else if let Some(longest) = life.filter(|life| watched.zero.elapsed() > *life) {
                Err(Outlived { longest }.into())
            } else {
                Ok(UpdateDeadline::Continue(1))
            }
        });
        watchdog
    }

    /// Drives `future`, each poll of which is a run.
    pub(crate) async fn watch<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            self.run.store(self.elapsed(), Ordering::Relaxed);
            future.as_mut().poll(context)
        })
        .await
    }

    fn running_for(&self) -> Duration {
        Duration::from_nanos(self.elapsed() - self.run.load(Ordering::Relaxed))
    }

    fn elapsed(&self) -> u64 {
        // 584 years fit.
        self.zero.elapsed().as_nanos() as u64
    }
}
