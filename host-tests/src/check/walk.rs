//! Random walks: long schedules from a seed.

use super::catalogue;
use super::choices::Choices;
use super::fault::{Fault, Noise, Words};
use super::moment::Kind;
use super::policy::Policy;
use super::schedule::{Act, Call, MODERN, REVISIONS, Schedule, Setting};
use crate::FailureKind;

/// How many acts a walk has.
pub(super) const LENGTH: usize = 100;

/// What walks choose from.
pub(super) struct Walks {
    policies: Vec<Policy>,
    connects: Vec<Fault>,
    sends: Vec<Fault>,
    answers: Vec<Fault>,
}

impl Walks {
    pub(super) fn new() -> Walks {
        let kind = Kind::Call(1);
        let (connects, sends) = (catalogue::connects(), catalogue::sends(&kind));
        Walks { policies: Policy::all(), connects, sends, answers: catalogue::answers(&kind) }
    }

    /// The walk of this seed.
    pub(super) fn walk(&self, seed: u64) -> Schedule {
        let mut choices = Choices::new(seed);
        let setting = Setting {
            revision: choices.one_of(&[&REVISIONS[..], &[MODERN]].concat()),
            probed: choices.below(2) == 0,
            own_channels: choices.below(2) == 0,
            words: choices.one_of(&Words::ALL),
        };
        let policy = choices.one_of(&self.policies);
        let mut calls = 0;
        let acts = (0..LENGTH).map(|_| self.act(&mut choices, &mut calls)).collect();
        Schedule { acts, policy, setting, faults: Vec::new() }
    }

    fn act(&self, choices: &mut Choices, calls: &mut u32) -> Act {
        let one = |choices: &mut Choices, calls: u32| 1 + choices.below(calls.max(1) as usize) as u32;
        match choices.below(100) {
            0..40 => {
                *calls += 1;
                Act::Call(Call {
                    number: *calls,
                    tool: choices.one_of(&["pay", "pay", "hinted", "pay-later"]),
                    takes: choices.one_of(&[0, 0, 30, 300, 3_000]),
                    timeout: choices.one_of(&[20, 400, 5_000, 20_000]),
                    progress: choices.below(4) == 0,
                    keyed: choices.below(4) == 0,
                    suspended: choices.one_of(&[0, 0, 0, 1, 2, 20]),
                    task: choices.one_of(&[0, 0, 0, 1, 3, 30]),
                })
            }
            40..58 => Act::Break(match choices.below(8) {
                0..2 => choices.one_of(&self.connects),
                2..5 => choices.one_of(&self.sends),
                _ => choices.one_of(&self.answers),
            }),
            58..76 => Act::Sleep(choices.one_of(&[0, 5, 10, 100, 100, 1_000, 5_000])),
            76..80 => Act::AwaitAll,
            80..83 => Act::Await(one(choices, *calls)),
            83..88 => Act::Cancel(one(choices, *calls)),
            88..92 => Act::Reconnect,
            92..94 => Act::List,
            94..96 => Act::Reconcile(one(choices, *calls), choices.one_of(&[10, 1_000])),
            96 => Act::Lose(choices.one_of(&[FailureKind::ConnectionReset, FailureKind::Closed])),
            97 => Act::End,
            98 => Act::Say(choices.one_of(&[Noise::Text, Noise::Request, Noise::Foreign, Noise::Progress])),
            // Once closed, little happens: a rare act near the end only.
            _ if *calls > 35 => Act::Close,
            _ => Act::Sleep(1),
        }
    }
}
