//! The promises (contract, section 1) on random walks: a caller with every policy, a transport that fails in
//! every way and a server that says anything, valid or not, to anybody. The orderings of two calls are
//! explored whole elsewhere; here the walks are long, and grants, channels and hostile input are in them.
//!
//! The walk knows what it did to each attempt, so that what the session makes of it can be held against it.

mod harness;

use std::collections::{BTreeMap, BTreeSet};

use harness::{Bench, DONE, Sent, failure, ms, refusal};
use noreplay::protocol::jsonrpc::RequestId;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Grant, Options, Ownership, Resend};
use noreplay::session::verdict::{CallId, FailureKind, Generation, NotExecuted, Outcome, Stage};
use noreplay::session::{Delivery, Incoming, ToolCall, What};

/// Further attempts that calls of `granted` may have.
const GRANTED: u32 = 2;

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % sides
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        if of.is_empty() { None } else { Some(of[self.roll(of.len())].clone()) }
    }
}

struct Walk {
    bench: Bench,
    dice: Dice,
    options: Options,
    /// The messages seen so far.
    seen: usize,
    /// Connections that the transport has, up or being opened.
    alive: BTreeSet<Generation>,
    seen_connects: usize,
    seen_disconnects: usize,
    /// What ended each attempt first: whether it was proof that it did not run.
    ends: BTreeMap<u64, bool>,
    /// Attempts that something came back for.
    heard: BTreeSet<u64>,
    /// Attempts that were answered with a result.
    answered: BTreeSet<u64>,
    stages: BTreeMap<CallId, Stage>,
    given_up: BTreeSet<CallId>,
    closed: bool,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut options = Options {
            ownership: [Ownership::Owned, Ownership::Owned, Ownership::CallerManaged][dice.roll(3)],
            resend: [Resend::Never, Resend::Proven, Resend::Refused][dice.roll(3)],
            accept_refusals: dice.roll(2) == 0,
            grants: vec![Grant { tool: "granted".to_owned(), attempts: GRANTED }],
            ..Options::default()
        };
        options.limits.events = 16;
        options.timing.progress_extends = dice.roll(2) == 0;
        Self {
            bench: Bench::new(options.clone()),
            dice,
            options,
            seen: 0,
            alive: BTreeSet::new(),
            seen_connects: 0,
            seen_disconnects: 0,
            ends: BTreeMap::new(),
            heard: BTreeSet::new(),
            answered: BTreeSet::new(),
            stages: BTreeMap::new(),
            given_up: BTreeSet::new(),
            closed: false,
        }
    }

    fn attempts(&self, call: CallId) -> impl Iterator<Item = &Sent> {
        self.bench.wire.iter().filter(move |sent| sent.call == Some(call))
    }

    fn step(&mut self) {
        match self.dice.roll(32) {
            0..=5 => self.begin(),
            6..=10 => self.open(),
            11..=17 => self.send_returns(),
            18..=25 => self.server_speaks(),
            26 => self.lose(),
            27 => self.answer_lost(),
            28 => {
                if let Some(call) = self.pick_call() {
                    self.given_up.insert(call);
                    self.bench.cancel(call);
                }
            }
            29 => {
                let time = [1, 100, 2_000, 31_000][self.dice.roll(4)];
                self.bench.advance(ms(time));
            }
            30 => match self.dice.roll(3) {
                0 => _ = self.bench.reconnect(),
                1 => _ = self.bench.list_tools(),
                _ => {
                    if let Some(call) = self.pick_call() {
                        self.bench.reconcile(call, ms(1_000));
                    }
                }
            },
            _ => {
                if self.dice.roll(8) == 0 {
                    self.closed = true;
                    self.bench.close();
                }
            }
        }
        self.look();
    }

    fn begin(&mut self) {
        let name = ["pay", "granted"][self.dice.roll(2)].to_owned();
        let _ = self.bench.try_call(ToolCall { name, progress: true, ..ToolCall::default() });
    }

    fn pick_call(&mut self) -> Option<CallId> {
        let calls: Vec<_> = self.bench.made.keys().copied().collect();
        self.dice.pick(&calls)
    }

    fn open(&mut self) {
        let generations: Vec<_> = self.bench.connects.clone();
        let Some(generation) = generations.last().copied() else {
            self.bench.reconnect();
            return;
        };
        if !self.alive.contains(&generation) {
            self.bench.reconnect();
            return;
        }
        let fails = self.dice.roll(5) == 0;
        let result = if fails { Err(failure(FailureKind::ConnectionRefused)) } else { Ok(()) };
        self.bench.enter(|session, now| session.connected(now, generation, result));
        let handshake = self.bench.wire.iter().rev().find(|sent| sent.method == "initialize").cloned();
        if let Some(initialize) = handshake {
            self.bench.answer(&initialize, r#"{"protocolVersion":"2025-11-25"}"#);
        }
        let ends = self.bench.wire.iter().rev().find(|sent| sent.receipt.what == What::Initialized).cloned();
        if let Some(initialized) = ends {
            self.bench.sent(&initialized, Ok(Delivery::HandedOver));
        }
    }

    fn send_returns(&mut self) {
        let Some(sent) = self.dice.pick(&self.bench.wire) else { return };
        let kind = [FailureKind::Closed, FailureKind::Other][self.dice.roll(2)];
        let status = [401, 404, 405, 429, 500, 503][self.dice.roll(6)];
        let (result, withheld) = match self.dice.roll(8) {
            0 => (Err(SendError::NotSent(failure(kind))), true),
            1 => (Err(SendError::Truncated(failure(kind))), true),
            2 => (Err(SendError::Refused(refusal(status, ""))), matches!(status, 401 | 404 | 405)),
            3 => (Err(SendError::Unknown(failure(kind))), false),
            4 => (Ok(Delivery::Accepted), false),
            _ => (Ok(Delivery::HandedOver), false),
        };
        if let What::Request(RequestId(id)) = sent.receipt.what
            && result.is_err()
        {
            self.end(id, withheld && !self.heard.contains(&id));
        }
        self.bench.sent(&sent, result);
    }

    /// Something comes for some request, on its connection or another, on its channel or none.
    fn server_speaks(&mut self) {
        let requests: Vec<_> = self
            .bench
            .wire
            .iter()
            .filter(|sent| matches!(sent.receipt.what, What::Request(_)))
            .cloned()
            .collect();
        let Some(sent) = self.dice.pick(&requests) else { return };
        let id = sent.id();
        let own = self.dice.roll(6) > 0;
        let alive: Vec<_> = self.alive.iter().copied().collect();
        let elsewhere = self.dice.pick(&alive).unwrap_or(sent.receipt.generation);
        let generation = if own { sent.receipt.generation } else { elsewhere };
        let result = if sent.method == "tools/list" { r#"{"tools":[]}"# } else { DONE };
        let channel = (self.dice.roll(3) == 0).then_some(id);
        let kind = self.dice.roll(10);
        let line = match kind {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"m"}}}}"#),
            1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required"}}}}"#),
            2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"con"#),
            3 => r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#.to_owned(),
            4 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id}}}}}"#
            ),
            5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
            6 => "garbage".to_owned(),
            _ => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{result}}}"#),
        };
        // On another connection, nothing concerns it.
        if generation == sent.receipt.generation {
            if kind == 4 || channel.is_some() {
                self.heard.insert(id);
            }
            if matches!(kind, 0..=2 | 7..) || matches!(kind, 3 | 6) && channel.is_some() {
                self.end(id, false);
            }
            if kind >= 7 {
                self.answered.insert(id);
            }
        }
        self.bench.deliver_on(generation, channel, line);
    }

    fn lose(&mut self) {
        let alive: Vec<_> = self.alive.iter().copied().collect();
        let Some(generation) = self.dice.pick(&alive) else { return };
        self.end_attempts_on(generation);
        let end = if self.dice.roll(2) == 0 { Ok(Incoming::End) } else { Err(failure(FailureKind::Other)) };
        self.bench.enter(|session, now| session.received(now, generation, end));
    }

    fn answer_lost(&mut self) {
        let requests: Vec<_> = self
            .bench
            .wire
            .iter()
            .filter(|sent| matches!(sent.receipt.what, What::Request(_)))
            .cloned()
            .collect();
        if let Some(sent) = self.dice.pick(&requests) {
            self.end(sent.id(), false);
            self.bench.lose_answer(&sent, failure(FailureKind::Closed));
        }
    }

    fn end_attempts_on(&mut self, generation: Generation) {
        let on_it = self.bench.wire.iter().filter(|sent| sent.receipt.generation == generation);
        let requests = on_it.filter(|sent| matches!(sent.receipt.what, What::Request(_)));
        let ids: Vec<_> = requests.map(Sent::id).collect();
        ids.into_iter().for_each(|id| self.end(id, false));
    }

    /// An attempt ended. Only the first word counts.
    fn end(&mut self, id: u64, withheld: bool) {
        self.ends.entry(id).or_insert(withheld);
    }

    /// Whether it is proven that this attempt did not run.
    fn is_withheld(&self, id: u64) -> bool {
        self.ends.get(&id) == Some(&true)
    }

    /// Holds what the session did against what was done to it.
    fn look(&mut self) {
        self.alive.extend(&self.bench.connects[self.seen_connects..]);
        self.seen_connects = self.bench.connects.len();
        for (generation, _) in &self.bench.disconnects[self.seen_disconnects..] {
            self.alive.remove(generation);
        }
        self.seen_disconnects = self.bench.disconnects.len();

        for index in self.seen..self.bench.wire.len() {
            let sent = self.bench.wire[index].clone();
            assert!(!self.closed, "sent after close: {sent:?}");
            let Some(call) = sent.call else { continue };
            assert!(!self.given_up.contains(&call), "sent after it was given up: {sent:?}");
            // P1: there is no attempt beside one that is out.
            let earlier: Vec<_> =
                self.attempts(call).map(Sent::id).take_while(|earlier| *earlier < sent.id()).collect();
            assert!(earlier.iter().all(|id| self.ends.contains_key(id)), "{earlier:?}, and again: {sent:?}");
            let replays = earlier.iter().filter(|id| !self.is_withheld(**id)).count();
            let granted = if self.bench.made[&call].name == "granted" { GRANTED } else { 0 };
            assert!(replays <= granted as usize, "replayed: {sent:?} after {earlier:?}");
            let resends = earlier.len() - replays;
            assert!(resends <= usize::from(self.options.resend != Resend::Never), "{earlier:?}");
        }
        self.seen = self.bench.wire.len();

        // P3: one way.
        for pending in self.bench.session.pending() {
            let stage = self.stages.insert(pending.call, pending.stage).unwrap_or(Stage::Waiting);
            let refuted = self.attempts(pending.call).any(|sent| self.is_withheld(sent.id()));
            assert!(pending.stage >= stage || refuted, "{pending:?} was at {stage:?}");
            // P9: it has an end.
            assert!(self.bench.session.next_deadline().is_some());
        }
        // P2: truth. (P4, once, is the harness's.)
        for (call, verdict) in &self.bench.verdicts {
            let ids = || self.attempts(*call).map(Sent::id);
            match verdict {
                Ok(Outcome::Ok(result) | Outcome::ToolError(result)) => {
                    assert!(ids().any(|id| self.answered.contains(&id)), "{result:?}");
                }
                Ok(Outcome::UnknownOutcome(unknown)) => {
                    assert_eq!(unknown.attempts as usize, ids().count());
                    assert!(unknown.attempts > 0, "{unknown:?}");
                }
                Err(reason) => {
                    let may_have_run: Vec<_> = ids().filter(|id| !self.is_withheld(*id)).collect();
                    assert!(may_have_run.is_empty(), "{reason:?}, though {may_have_run:?}");
                }
            }
        }
        assert!(self.bench.session.unsettled().len() <= 16);
        let connected = self.alive.len();
        assert!(connected <= 64, "{connected} connections");
    }
}

#[test]
fn on_any_walk_the_promises_hold() {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..4_000 {
        let mut walk = Walk::new(seed);
        for _ in 0..120 {
            walk.step();
        }
        walk.bench.advance(ms(3_600_000));
        walk.look();
        assert!(walk.bench.session.pending().is_empty(), "something has no end");
        assert_eq!(walk.bench.verdicts.len(), walk.bench.made.len());
        for verdict in walk.bench.verdicts.values() {
            let end = match verdict {
                Ok(Outcome::UnknownOutcome(unknown)) if unknown.attempts > 1 => {
                    "unknown after several attempts"
                }
                Ok(Outcome::UnknownOutcome(_)) => "unknown",
                Ok(Outcome::Ok(result) | Outcome::ToolError(result)) if result.attempts > 1 => {
                    "known after several attempts"
                }
                Ok(_) => "known",
                Err(NotExecuted::NotSent(_)) => "not sent",
                Err(NotExecuted::Refused(_)) => "refused",
                Err(_) => "not executed",
            };
            *ends.entry(end).or_default() += 1;
        }
    }
    // The walks lead everywhere.
    assert!(ends.len() == 7 && ends.values().all(|count| *count > 100), "{ends:?}");
}
