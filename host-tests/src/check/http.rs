//! The contract over HTTP: the client, composed with the HTTP transport, against a server behind `wasi:http`
//! that fails on command. Everything is in this process, and in virtual time.
//!
//! Every fault is placed at every request of some scenarios, under several policies, against servers of every
//! manner. An oracle that knows which calls ran holds each verdict against it.

use std::io;
use std::sync::Arc;

use super::policy::Policy;
use super::promise::Breach;
use super::runner::in_virtual_time;
use super::schedule::MODERN;
use crate::host::http::Http;
use crate::{Options, Resend, Runtime};

mod case;
mod drawing;
mod fault;
mod oracle;
mod reply;
mod server;

use case::{Answers, Case, Record, SCENARIOS, Setting};
use fault::Fault;
use server::Server;

/// How many bytes of a request's body the host takes at a time: few, so that it can stop in the middle.
pub(super) const CHUNK: usize = 16;

/// The most requests of a case at which a fault is placed.
const REQUESTS: usize = 12;

/// Everything that is placed into one scenario, against one server and under one policy.
#[derive(Clone, Debug)]
pub(super) struct Group {
    base: Case,
    pairs: bool,
}

/// One placement: which case, in words, and what it shows.
pub(super) struct Judged {
    pub(super) scenario: &'static str,
    pub(super) fault: String,
    case: Case,
    record: Record,
    pub(super) breaches: Vec<Breach>,
}

impl Judged {
    /// The run, line by line.
    pub(super) fn draw(&self) -> Vec<String> {
        drawing::draw(&self.case, &self.record)
    }

    /// The verdicts on calls, in a word each.
    pub(super) fn verdicts(&self) -> Vec<String> {
        drawing::verdicts(&self.record)
    }

    /// The most effects that one call had.
    pub(super) fn effects(&self) -> u64 {
        self.record.effects.values().map(|by| by.len() as u64).max().unwrap_or(0)
    }
}

impl Group {
    /// All of them; a few if it must be quick.
    pub(super) fn all(quick: bool) -> Vec<Group> {
        let revisions: &[&str] =
            if quick { &["2025-11-25", MODERN] } else { &["2025-03-26", "2025-06-18", "2025-11-25", MODERN] };
        let mut groups = Vec::new();
        for policy in policies(quick) {
            let strict = policy == Policy::STRICT;
            // The revisions between differ in a header.
            let asked =
                revisions.iter().filter(|revision| strict || ["2025-11-25", MODERN].contains(revision));
            for &revision in asked {
                for answers in [Answers::Json, Answers::Events, Answers::Resumable] {
                    let session = revision != MODERN;
                    // The other manners go with one of these each, since they do not touch each other.
                    let listens = session && answers == Answers::Resumable;
                    let probed = answers == Answers::Events;
                    if answers == Answers::Resumable && !session {
                        continue;
                    }
                    let setting = Setting { revision, probed, answers, session, listens };
                    let sessionless = Setting { session: false, ..setting };
                    let settings = if session && answers == Answers::Json && !quick {
                        vec![setting, sessionless]
                    } else {
                        vec![setting]
                    };
                    for setting in settings {
                        for scenario in SCENARIOS {
                            let base = Case { scenario, setting, policy, faults: Vec::new() };
                            let pairs = !quick && strict && revision == "2025-11-25" && listens;
                            groups.push(Group { base, pairs });
                        }
                    }
                }
            }
        }
        groups
    }

    /// Runs all of it, and tells of each.
    pub(super) fn run(
        &self,
        runtime: &Runtime,
        options: &Options,
        mut each: impl FnMut(Judged),
        enough: impl Fn() -> bool,
    ) -> io::Result<()> {
        let good = judge(runtime, options, self.base.clone(), "no fault".to_owned())?;
        let requests = good.record.requests.clone();
        each(good);
        let mut place = |faults: Vec<(usize, Fault)>, name: String| -> io::Result<()> {
            if !enough() {
                each(judge(runtime, options, Case { faults, ..self.base.clone() }, name)?);
            }
            Ok(())
        };
        for (at, request) in requests.iter().enumerate().take(REQUESTS) {
            let strict = self.base.policy == Policy::STRICT;
            let faults = match request.rpc.as_deref() {
                // The policies differ in what becomes of calls.
                other if !strict && other != Some("tools/call") => continue,
                Some("tools/call") if self.base.scenario.table => [Fault::of_call(), Fault::table()].concat(),
                Some("tools/call") => [Fault::of_call(), Fault::refusals()].concat(),
                _ => Fault::of_every_request(),
            };
            for fault in faults {
                place(vec![(at, fault)], fault.to_string())?;
            }
        }
        if self.pairs {
            for at in 0..requests.len().min(REQUESTS) {
                for first in Fault::few() {
                    for second in Fault::few() {
                        place(vec![(at, first), (at + 1, second)], PAIRS.to_owned())?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The names of all scenarios.
pub(super) fn scenarios() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|scenario| scenario.name)
}

/// The names of all faults.
pub(super) fn faults() -> Vec<String> {
    let mut names: Vec<String> = Fault::of_call().iter().map(ToString::to_string).collect();
    for fault in [Fault::table(), Fault::refusals(), Fault::of_every_request()].concat() {
        let name = fault.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.push(PAIRS.to_owned());
    names
}

/// What two faults in a row are called.
pub(super) const PAIRS: &str = "HTTP: two in a row";

fn policies(quick: bool) -> Vec<Policy> {
    let mut policies = vec![Policy::STRICT];
    if !quick {
        policies.extend([
            Policy { resend: Resend::Never, ..Policy::STRICT },
            Policy { resend: Resend::Refused, ..Policy::STRICT },
            Policy { resend: Resend::Never, accept_refusals: false, ..Policy::STRICT },
        ]);
    }
    policies
}

fn judge(runtime: &Runtime, options: &Options, case: Case, fault: String) -> io::Result<Judged> {
    let http = Http::to(server::URL).map_err(io::Error::other)?;
    let record = in_virtual_time(async {
        let server = Server::new(case.setting, case.faults.clone());
        let client = runtime.client_over(http.answered_by(Arc::new(server.clone()), CHUNK));
        case::run(client, server, options, &case).await
    })?;
    let breaches = oracle::judge(&case, &record);
    Ok(Judged { scenario: case.scenario.name, fault, case, record, breaches })
}
