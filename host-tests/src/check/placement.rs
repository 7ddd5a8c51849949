//! Exhaustive placement: every fault at every operation of a scenario.

use std::io;

use super::catalogue;
use super::fault::{Fault, Words};
use super::findings::Findings;
use super::moment::{Kind, Moment};
use super::oracle::signature;
use super::policy::Policy;
use super::promise::{Breach, Promise};
use super::runner::{Judged, Runner};
use super::scenario::Scenario;
use super::schedule::{Act, MODERN, Place, REVISIONS, Schedule, Setting};

/// One scenario under one set of policies with one kind of server: all faults at all of its operations.
pub(super) struct Group {
    pub(super) scenario: Scenario,
    pub(super) policy: Policy,
    pub(super) setting: Setting,
    /// Whether each placement is run in other words too.
    reworded: bool,
    table: bool,
    pairs: bool,
    flood: bool,
}

/// Which policies a quick check asks about, those that differ most, and whether over channels of their own.
const QUICK: [(usize, bool); 5] = [(0, false), (5, true), (7, false), (8, true), (11, false)];

/// The policies under which pairs of faults are placed.
const PAIRED: [usize; 4] = [0, 4, 6, 9];

/// Under which policies a client finds out what its server speaks, and what that is.
const FOUND_OUT: [(usize, &str); 5] = [(0, MODERN), (0, "2025-11-25"), (4, MODERN), (6, MODERN), (8, MODERN)];

/// The name under which pairs of faults are told.
pub(super) const PAIRS: &str = "two faults";

impl Group {
    /// Every group: the strict policy with every revision, over a channel that requests share and over channels
    /// of their own; each other policy with two revisions, over one or the other. If `quick`, one revision each of a few policies.
    pub(super) fn all(scenarios: &[Scenario], quick: bool) -> Vec<Group> {
        // Scenario by scenario, so that each is seen early under every policy.
        scenarios.iter().flat_map(|scenario| Group::of(scenario, quick)).collect()
    }

    /// The groups of one scenario.
    fn of(scenario: &Scenario, quick: bool) -> Vec<Group> {
        let mut groups = Vec::new();
        for (index, policy) in Policy::all().into_iter().enumerate() {
            let strict = index == 0;
            for (number, revision) in REVISIONS.into_iter().rev().enumerate() {
                for own_channels in [false, true] {
                    let asked = if quick {
                        number == index % REVISIONS.len() && QUICK.contains(&(index, own_channels))
                    } else {
                        // Each policy with the newest revision and with one other.
                        let its = number == 0 || number == index % REVISIONS.len();
                        strict || its && own_channels == ((number + index) % 2 == 1)
                    };
                    if !asked || scenario.found_out {
                        continue;
                    }
                    let words = scenario.table || !quick;
                    groups.push(Group {
                        scenario: scenario.clone(),
                        policy,
                        setting: Setting { revision, probed: false, own_channels, words: Words::Plain },
                        reworded: strict && number < 2 && !own_channels && words,
                        table: scenario.table && number < 2 && !quick,
                        pairs: scenario.pairs && number == 0 && PAIRED.contains(&index) && !quick,
                        flood: scenario.flood && strict && number == 0,
                    });
                }
            }
        }
        // What a client makes of a server that it must find out about, of either era.
        for (index, revision) in FOUND_OUT {
            let policy = Policy::all()[index];
            let strict = index == 0;
            if quick && !strict {
                continue;
            }
            for own_channels in [false, true] {
                if !strict && own_channels == (index % 2 == 0)
                    || quick && own_channels == (revision == MODERN)
                {
                    continue;
                }
                groups.push(Group {
                    scenario: scenario.clone(),
                    policy,
                    setting: Setting { revision, probed: true, own_channels, words: Words::Plain },
                    reworded: false,
                    table: false,
                    pairs: scenario.name == "one call"
                        && strict
                        && own_channels
                        && revision == MODERN
                        && !quick,
                    flood: false,
                });
            }
        }
        groups
    }

    fn schedule(&self) -> Schedule {
        let (acts, faults) = (self.scenario.acts.clone(), Vec::new());
        Schedule { acts, policy: self.policy, setting: self.setting, faults }
    }

    /// Runs everything in this group.
    pub(super) fn run(&self, runner: &Runner, findings: &Findings) -> io::Result<()> {
        let plain = self.schedule();
        let base = self.place(runner, findings, &plain, "no fault")?;
        for (place, kind) in places(&base) {
            for fault in self.faults(place, &kind) {
                if findings.are_enough() {
                    return Ok(());
                }
                let schedule = Schedule { faults: vec![(place, fault.clone())], ..plain.clone() };
                self.place(runner, findings, &schedule, &fault.to_string())?;
            }
        }
        if self.pairs {
            self.place_pairs(runner, findings, &plain, &base)?;
        }
        Ok(())
    }

    fn faults(&self, place: Place, kind: &Kind) -> Vec<Fault> {
        match place {
            Place::Connect(_) => catalogue::connects(),
            Place::Answer(_) => {
                let mut faults = catalogue::answers(kind);
                faults.extend((self.flood && matches!(kind, Kind::Call(_))).then(catalogue::flood));
                faults
            }
            Place::Send(_) => {
                let mut faults = catalogue::sends(kind);
                if self.table && matches!(kind, Kind::Call(_)) {
                    let rest: Vec<_> =
                        catalogue::table().into_iter().filter(|fault| !faults.contains(fault)).collect();
                    faults.extend(rest);
                }
                faults
            }
        }
    }

    /// Every first fault, and at every operation after it every second one.
    fn place_pairs(
        &self,
        runner: &Runner,
        findings: &Findings,
        plain: &Schedule,
        base: &Judged,
    ) -> io::Result<()> {
        let faults = catalogue::pairing();
        for (first, _) in places(base) {
            for fault in &faults[family(first)] {
                if findings.are_enough() {
                    return Ok(());
                }
                let once = Schedule { faults: vec![(first, fault.clone())], ..plain.clone() };
                // Where the second may be is known once the first has happened.
                let seconds = places(&runner.judge(&once)?);
                for (second, _) in seconds.into_iter().filter(|(second, _)| *second != first) {
                    for other in &faults[family(second)] {
                        let mut twice = once.clone();
                        twice.faults.push((second, other.clone()));
                        self.place(runner, findings, &twice, PAIRS)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs one placement, and whatever must come to the same.
    fn place(
        &self,
        runner: &Runner,
        findings: &Findings,
        schedule: &Schedule,
        fault: &str,
    ) -> io::Result<Judged> {
        let name = self.scenario.name;
        let judged = runner.judge(schedule)?;
        findings.placed(runner, name, fault, schedule, &judged);
        if self.reworded && schedule.faults.len() == 1 {
            for words in [Words::NothingHappened, Words::TryAgain] {
                let setting = Setting { words, ..schedule.setting };
                let reworded = Schedule { setting, ..schedule.clone() };
                self.compare(runner, findings, &judged, &reworded, fault, Promise::P7)?;
            }
        }
        if let Some(acts) = &self.scenario.unhinted {
            let unhinted = Schedule { acts: Vec::<Act>::clone(acts), ..schedule.clone() };
            self.compare(runner, findings, &judged, &unhinted, fault, Promise::P8)?;
        }
        Ok(judged)
    }

    /// Runs a twin of a run, to which the same must happen.
    fn compare(
        &self,
        runner: &Runner,
        findings: &Findings,
        one: &Judged,
        twin: &Schedule,
        fault: &str,
        promise: Promise,
    ) -> io::Result<()> {
        let mut other = runner.judge(twin)?;
        let (said, said_otherwise) = (signature(one.log()), signature(other.log()));
        if said != said_otherwise {
            let differs = said_otherwise.iter().find(|line| !said.contains(line));
            let why = match promise {
                Promise::P7 => "other words of the transport's or the server's changed what happened",
                _ => "hints or a key changed what happened",
            };
            let why = format!("{why}: {}", differs.map_or("something is missing", String::as_str));
            other.breaches.push(Breach { promise, why });
        }
        findings.placed(runner, self.scenario.name, fault, twin, &other);
        Ok(())
    }
}

/// The operations of a run, and the message that each is about.
fn places(judged: &Judged) -> Vec<(Place, Kind)> {
    let mut places = Vec::new();
    let mut kinds = Vec::new();
    for entry in judged.log() {
        match &entry.moment {
            Moment::Connecting(number) => places.push((Place::Connect(*number), Kind::Response)),
            Moment::Handed(message) => {
                kinds.push(message.kind.clone());
                places.push((Place::Send(kinds.len() as u32), message.kind.clone()));
            }
            _ => {}
        }
    }
    for (number, index) in judged.record.answered.iter().enumerate() {
        let kind = kinds.get(*index).cloned().unwrap_or(Kind::Response);
        places.push((Place::Answer(number as u32 + 1), kind));
    }
    places
}

fn family(place: Place) -> usize {
    match place {
        Place::Connect(_) => 0,
        Place::Send(_) => 1,
        Place::Answer(_) => 2,
    }
}
