//! The promises (contract, section 1) on random walks: a caller with every policy, a transport that fails in
//! every way and a server that says anything, valid or not, to anybody. The orderings of two calls are
//! explored whole elsewhere; here the walks are long, and grants, channels and hostile input are in them.
//!
//! `fuzz/` goes on where this ends. A walk that breaks a promise is cut down to the steps that it takes.

mod harness;
mod model;

use std::cell::RefCell;
use std::collections::BTreeMap;

use model::seeds;
use model::step::Step;
use model::world::World;
use noreplay::session::verdict::{NotExecuted, Outcome, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// The same walks each time: what is new is for the fuzzer to find.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn on_any_walk_the_promises_hold() {
    let ends: RefCell<BTreeMap<&str, usize>> = RefCell::default();
    let steps = vec(any::<[u8; 4]>().prop_map(Step::of), 0..300);
    let walks = runner(8_000).run(&(any::<u8>(), steps), |(policies, steps)| {
        for verdict in World::walk(policies, steps).bench.verdicts.values() {
            *ends.borrow_mut().entry(in_short(verdict)).or_default() += 1;
        }
        Ok(())
    });
    walks.unwrap();
    // The walks lead everywhere.
    let ends = ends.into_inner();
    assert!(ends.len() == 7 && ends.values().all(|count| *count > 100), "{ends:?}");
}

/// What the fuzzer begins with: one walk for each way to an end.
#[test]
fn what_the_fuzzer_begins_with_is_sound() {
    let seeds = seeds("events");
    assert!(seeds.len() > 10);
    seeds.iter().for_each(|seed| World::walk_of(seed));
}

fn in_short(verdict: &Verdict) -> &'static str {
    match verdict {
        Ok(Outcome::UnknownOutcome(unknown)) if unknown.attempts > 1 => "unknown after several attempts",
        Ok(Outcome::UnknownOutcome(_)) => "unknown",
        Ok(Outcome::Ok(result) | Outcome::ToolError(result)) if result.attempts > 1 => {
            "known after several attempts"
        }
        Ok(_) => "known",
        Err(NotExecuted::NotSent(_)) => "not sent",
        Err(NotExecuted::Refused(_)) => "refused",
        Err(_) => "not executed",
    }
}
