//! What a check found, in a form that all checks share.

use std::collections::BTreeSet;

use host_tests::check::transport::Duty;
use host_tests::check::{Promise, Report, transport};
use host_tests::verdict::Object;

use crate::style::{BAD, FAINT, GOOD, STRONG, styled};

/// What a check found.
pub(super) struct Summary {
    /// What is promised: its name, and in words.
    promises: Vec<(&'static str, &'static str)>,
    placements: u64,
    steps: u64,
    seconds: u64,
    seed: u64,
    /// What is broken.
    pub(super) broken: Vec<Broken>,
}

/// A promise that is broken.
pub(super) struct Broken {
    promise: &'static str,
    scenario: String,
    sequence: Vec<String>,
}

impl Summary {
    pub(super) fn of_component(report: Report) -> Summary {
        let broken = report.broken.into_iter().map(|broken| Broken {
            promise: broken.promise.name(),
            scenario: broken.scenario,
            sequence: broken.sequence,
        });
        Summary {
            promises: Promise::ALL.map(|promise| (promise.name(), promise.words())).into(),
            placements: report.placements,
            steps: report.steps,
            seconds: report.took.as_secs(),
            seed: report.seed,
            broken: broken.collect(),
        }
    }

    pub(super) fn of_transport(report: transport::Report) -> Summary {
        let broken = report.broken.into_iter().map(|broken| Broken {
            promise: broken.duty.name(),
            scenario: broken.case,
            sequence: broken.sequence,
        });
        Summary {
            promises: Duty::ALL.map(|duty| (duty.name(), duty.words())).into(),
            placements: report.cases.len() as u64,
            steps: report.steps,
            seconds: report.took.as_secs(),
            seed: report.seed,
            broken: broken.collect(),
        }
    }

    pub(super) fn json(&self) -> String {
        let broken = |broken: &Broken| {
            Object::new()
                .text("promise", broken.promise)
                .text("scenario", &broken.scenario)
                .value("sequence", &broken.sequence)
        };
        Object::new()
            .value("placements", &self.placements)
            .value("steps", &self.steps)
            .value("seconds", &self.seconds)
            .value("seed", &self.seed)
            .value("broken", &self.broken.iter().map(broken).collect::<Vec<_>>())
            .to_string()
    }

    pub(super) fn text(&self) -> String {
        let broken: BTreeSet<_> = self.broken.iter().map(|broken| broken.promise).collect();
        let names = self.promises.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let words = self.promises.iter().map(|(_, words)| words.len()).max().unwrap_or(0);
        let mut lines = Vec::new();
        for (name, meaning) in &self.promises {
            let kept = if broken.contains(name) { styled(BAD, "BROKEN") } else { styled(GOOD, "kept") };
            lines.push(format!("{name:<names$}  {meaning:<words$}  {kept}"));
        }
        for broken in &self.broken {
            lines.push(String::new());
            lines.push(styled(STRONG, &format!("{} in: {}", broken.promise, broken.scenario)));
            lines.extend(broken.sequence.iter().map(|line| format!("  {line}")));
        }
        lines.push(String::new());
        let Summary { placements, steps, seconds, seed, .. } = self;
        let numbers = format!("{placements} placements, {steps} random steps in {seconds} s; seed {seed}");
        lines.push(styled(FAINT, &numbers));
        lines.join("\n")
    }
}
