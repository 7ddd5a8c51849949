//! What a person sees while a call runs: a spinner, and the server's progress.

use std::time::Duration;

use host_tests::{Event, Session};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Deserialize;
use tokio::task::JoinHandle;

use crate::style::harmless;

/// How often the spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// A spinner on standard error; nothing where that is no terminal. It goes when this is dropped.
pub(crate) struct Waiting {
    bar: ProgressBar,
    events: JoinHandle<()>,
}

impl Waiting {
    /// Shows that `what` is waited for, and the progress that the session's server reports.
    pub(crate) fn new(session: &Session, what: String) -> Waiting {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.set_message(what.clone());
        bar.enable_steady_tick(TURN);
        let events = tokio::spawn(show(session.clone(), bar.clone(), what));
        Waiting { bar, events }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.events.abort();
        self.bar.finish_and_clear();
    }
}

/// A server's progress.
#[derive(Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// Reads all events, so that none piles up, and shows progress.
async fn show(session: Session, bar: ProgressBar, what: String) {
    while let Ok(Some(event)) = session.next_event().await {
        if let Event::Progress(progress) = event
            && let Ok(progress) = serde_json::from_str::<Progress>(&progress.params)
        {
            bar.set_message(format!("{what}: {}", progress.words()));
        }
    }
}

impl Progress {
    fn words(&self) -> String {
        let done = match self.total {
            Some(total) => format!("{} of {total}", self.progress),
            None => self.progress.to_string(),
        };
        match &self.message {
            Some(message) => format!("{done}, {}", harmless(message)),
            None => done,
        }
    }
}
