//! What the check found, gathered from all of its threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::drawing::{draw, verdict_words};
use super::http;
use super::minimise::minimise;
use super::moment::Moment;
use super::promise::{Breach, Promise};
use super::runner::{Judged, Runner};
use super::schedule::Schedule;
use crate::ClientError;
use crate::runtime::{Outlived, Overrun};

/// A promise that the component breaks, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The promise.
    pub promise: Promise,
    /// What was done or said against it.
    pub why: String,
    /// The scenario, or the random walk, in which it was.
    pub scenario: String,
    /// The shortest sequence of events that shows it.
    pub sequence: Vec<String>,
}

/// What became of one fault in one scenario, wherever it was placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// How often it was placed.
    pub placements: u64,
    /// The verdicts on calls, and how many of each.
    pub verdicts: BTreeMap<String, u64>,
    /// The most effects that one call had.
    pub effects: u64,
    /// The promises that were broken.
    pub broken: BTreeSet<Promise>,
    /// One of the runs, drawn.
    pub sequence: Vec<String>,
}

/// The cells, by scenario and fault.
pub type Cells = BTreeMap<(String, String), Cell>;

/// Gathers.
pub(super) struct Findings {
    gathered: Mutex<Gathered>,
    /// The only promise that is asked about.
    only: Option<Promise>,
}

#[derive(Default)]
pub(super) struct Gathered {
    pub(super) placements: u64,
    pub(super) steps: u64,
    pub(super) cells: Cells,
    pub(super) broken: Vec<Broken>,
    seen: BTreeSet<(Promise, String)>,
    /// How many runs took all the time that they may.
    overruns: usize,
}

/// So many runs that take all their time are enough: a check of nothing else would not end.
const OVERRUNS: usize = 3;

impl Findings {
    pub(super) fn of(only: Option<Promise>) -> Findings {
        Findings { gathered: Mutex::default(), only }
    }

    /// Whether nothing more is asked.
    pub(super) fn are_enough(&self) -> bool {
        let gathered = self.gathered();
        gathered.overruns >= OVERRUNS || self.only.is_some() && !gathered.broken.is_empty()
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_inner(self) -> Gathered {
        self.gathered.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fault was placed into a scenario, and this is what came of it.
    pub(super) fn placed(
        &self,
        runner: &Runner,
        scenario: &str,
        fault: &str,
        schedule: &Schedule,
        judged: &Judged,
    ) {
        let (verdicts, effects) = outcome(judged);
        {
            let mut gathered = self.gathered();
            gathered.placements += 1;
            gathered.overruns += usize::from(overran(judged));
            let cell = gathered.cells.entry((scenario.to_owned(), fault.to_owned())).or_default();
            cell.placements += 1;
            for verdict in verdicts {
                *cell.verdicts.entry(verdict).or_default() += 1;
            }
            cell.effects = cell.effects.max(effects);
            let newly =
                judged.breaches.iter().filter(|breach| !cell.broken.contains(&breach.promise)).count() > 0;
            cell.broken.extend(judged.breaches.iter().map(|breach| breach.promise));
            if cell.sequence.is_empty() || newly {
                cell.sequence = draw(schedule, judged.log());
            }
        }
        for breach in &judged.breaches {
            self.broken(runner, scenario.to_owned(), schedule, judged, breach);
        }
    }

    /// The same over HTTP. What breaks a promise there is short already.
    pub(super) fn placed_over_http(&self, judged: http::Judged) {
        let scenario = judged.scenario;
        let mut gathered = self.gathered();
        gathered.placements += 1;
        let cell = gathered.cells.entry((scenario.to_owned(), judged.fault.clone())).or_default();
        cell.placements += 1;
        for verdict in judged.verdicts() {
            *cell.verdicts.entry(verdict).or_default() += 1;
        }
        cell.effects = cell.effects.max(judged.effects());
        let newly = judged.breaches.iter().filter(|breach| cell.broken.insert(breach.promise)).count() > 0;
        if cell.sequence.is_empty() || newly {
            cell.sequence = judged.draw();
        }
        for Breach { promise, why } in judged.breaches.clone() {
            let asked = self.only.is_none_or(|only| only == promise && gathered.broken.is_empty());
            if asked && gathered.seen.insert((promise, scenario.to_owned())) {
                let mut sequence = judged.draw();
                sequence.push(format!("=> {promise} ({}) is broken: {why}", promise.words()));
                gathered.broken.push(Broken { promise, why, scenario: scenario.to_owned(), sequence });
            }
        }
    }

    /// A random walk came to its end.
    pub(super) fn walked(&self, runner: &Runner, seed: u64, schedule: &Schedule, judged: &Judged) {
        {
            let mut gathered = self.gathered();
            gathered.steps += schedule.acts.len() as u64;
            gathered.overruns += usize::from(overran(judged));
        }
        for breach in &judged.breaches {
            self.broken(runner, format!("random walk, seed {seed}"), schedule, judged, breach);
        }
    }

    /// Keeps the first breach of each promise in each scenario, at its shortest.
    fn broken(
        &self,
        runner: &Runner,
        scenario: String,
        schedule: &Schedule,
        judged: &Judged,
        breach: &Breach,
    ) {
        if self.only.is_some_and(|only| only != breach.promise || !self.gathered().broken.is_empty()) {
            return;
        }
        // Of walks, one of each promise is enough.
        let key = if scenario.starts_with("random walk") { "random walk" } else { &scenario };
        if !self.gathered().seen.insert((breach.promise, key.to_owned())) {
            return;
        }
        let shortest = minimise(schedule.clone(), |schedule| runner.breaks(schedule, breach.promise));
        let shown = runner.judge(&shortest).ok();
        let shown_breach = shown
            .as_ref()
            .and_then(|shown| shown.breaches.iter().find(|shown| shown.promise == breach.promise));
        // What shows only beside a twin cannot be shown shorter.
        let (why, mut sequence) = match (&shown, shown_breach) {
            (Some(shown), Some(shorter)) => (shorter.why.clone(), draw(&shortest, shown.log())),
            _ => (breach.why.clone(), draw(schedule, judged.log())),
        };
        sequence.push(format!("=> {} ({}) is broken: {why}", breach.promise, breach.promise.words()));
        self.gathered().broken.push(Broken { promise: breach.promise, why, scenario, sequence });
    }
}

/// Whether the instance was ended because it never rested.
fn overran(judged: &Judged) -> bool {
    judged.log().iter().any(|entry| match &entry.moment {
        Moment::Dead(ClientError::Trapped(error)) => {
            let error = error.engine_error();
            error.is::<Overrun>() || error.is::<Outlived>()
        }
        _ => false,
    })
}

/// The verdicts of a run in words, and the most effects that one call had.
fn outcome(judged: &Judged) -> (Vec<String>, u64) {
    let mut verdicts = Vec::new();
    let mut calls: BTreeMap<usize, u32> = BTreeMap::new();
    let mut effects: BTreeMap<u32, u64> = BTreeMap::new();
    for entry in judged.log() {
        match &entry.moment {
            Moment::Verdict(_, verdict) => {
                let words = verdict_words(verdict);
                verdicts.push(words.split(", ").next().unwrap_or_default().to_owned());
            }
            Moment::Handed(message) => {
                if let super::moment::Kind::Call(number) = message.kind {
                    calls.insert(message.index, number);
                }
            }
            Moment::Executed(index) => {
                if let Some(number) = calls.get(index) {
                    *effects.entry(*number).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    (verdicts, effects.into_values().max().unwrap_or(0))
}
