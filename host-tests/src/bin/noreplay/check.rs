//! `noreplay check`: does a component keep the contract?

use std::fs;
use std::io::{IsTerminal as _, stderr};
use std::path::PathBuf;

use clap::Args;
use host_tests::COMPONENT;
use host_tests::check::{Broken, Check as Checking, Promise, Report, SEED};
use host_tests::runtime::RuntimeError;
use host_tests::verdict::Object;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::style::{BAD, FAINT, GOOD, STRONG, styled};
use crate::{Exit, Failure, print};

/// The arguments of `check`.
#[derive(Args)]
pub(crate) struct Check {
    /// The component [default: the built one]
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,

    /// Write a page for people
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// The seed of the random walks
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

impl Check {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let component = match self.component {
            None => COMPONENT.to_vec(),
            Some(path) => fs::read(&path).map_err(|source| RuntimeError::Read { path, source })?,
        };
        let check = Checking::of(component).seed(self.seed);
        let check = if self.quick { check.quick() } else { check };
        let check = match self.steps {
            Some(steps) => check.steps(steps),
            None => check,
        };
        let check = self.promise.into_iter().fold(check, Checking::only);
        let bar = bar();
        let report = check.run(&|progress| {
            bar.set_length(progress.of as u64);
            bar.set_position(progress.done as u64);
        })?;
        bar.finish_and_clear();
        if let Some(path) = self.report {
            fs::write(&path, report.html()).map_err(|source| Failure::Report { path, source })?;
        }
        print(&if self.json { json(&report) } else { text(&report) })?;
        Ok(if report.broken.is_empty() { Exit::Ok } else { Exit::ToolError })
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

fn json(report: &Report) -> String {
    let broken = |broken: &Broken| {
        Object::new()
            .text("promise", broken.promise.name())
            .text("scenario", &broken.scenario)
            .value("sequence", &broken.sequence)
    };
    Object::new()
        .value("placements", &report.placements)
        .value("steps", &report.steps)
        .value("seconds", &report.took.as_secs())
        .value("seed", &report.seed)
        .value("broken", &report.broken.iter().map(broken).collect::<Vec<_>>())
        .to_string()
}

fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    for promise in Promise::ALL {
        let count = report.broken.iter().filter(|broken| broken.promise == promise).count();
        let verdict = if count == 0 { styled(GOOD, "kept") } else { styled(BAD, "BROKEN") };
        lines.push(format!("{:<4} {:<28} {verdict}", promise.name(), promise.words()));
    }
    for broken in &report.broken {
        lines.push(String::new());
        lines.push(styled(STRONG, &format!("{} in: {}", broken.promise, broken.scenario)));
        lines.extend(broken.sequence.iter().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    lines.push(styled(
        FAINT,
        &format!(
            "{} placements, {} random steps in {} s; seed {}",
            report.placements,
            report.steps,
            report.took.as_secs(),
            report.seed
        ),
    ));
    lines.join("\n")
}
