//! What servers ask of the host, on random walks: whatever the order of questions, answers, losses and deadlines,
//! no question is answered twice or left open for nobody, none is open without bound, and a suspended call is
//! continued at most once for each time that the server suspended it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use harness::{Bench, DISCOVERY, DONE, ms, rpc_error};
use noreplay::protocol::capabilities::Capabilities;
use noreplay::protocol::revision::Revision;
use noreplay::session::interaction::AskId;
use noreplay::session::policy::{Options, Protocol};
use noreplay::session::verdict::{CallId, Cause, FailureKind, Outcome};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

const ALL: &str = r#"{"elicitation":{},"roots":{},"sampling":{}}"#;

/// As many questions as may be open.
const MOST: usize = 16;

struct World {
    bench: Bench,
    modern: bool,
    /// How often each call may be sent: once, and once more for each time that its attempt was suspended.
    allowed: BTreeMap<CallId, usize>,
    /// The attempts that were answered.
    answered: BTreeSet<u64>,
    /// The questions that the host answered while they were open.
    told: Vec<AskId>,
    /// The server's requests so far: each has an id of its own.
    requests: u64,
    /// How long the wire was when the session was closed.
    closed: Option<usize>,
}

impl World {
    fn new(modern: bool) -> Self {
        let revision = if modern { Revision::LATEST } else { Revision::LATEST_LEGACY };
        let protocol = Protocol::Only(revision);
        let options = Options { protocol, capabilities: Capabilities::read(ALL), ..Options::default() };
        Self {
            bench: Bench::probing(options, Box::leak(Box::default())),
            modern,
            allowed: BTreeMap::new(),
            answered: BTreeSet::new(),
            told: Vec::new(),
            requests: 0,
            closed: None,
        }
    }

    fn pick<T: Copy>(from: &[T], which: u8) -> Option<T> {
        (!from.is_empty()).then(|| from[usize::from(which) % from.len()])
    }

    fn step(&mut self, [what, which, how]: [u8; 3]) {
        let calls: Vec<CallId> = self.allowed.keys().copied().collect();
        let call = Self::pick(&calls, which);
        match what % 16 {
            0 | 1 => {
                if let Ok(call) = self
                    .bench
                    .try_call(noreplay::session::ToolCall { name: "pay".into(), ..Default::default() })
                {
                    self.allowed.insert(call, 1);
                }
            }
            2 => self.answer_call(call, DONE.to_owned()),
            3 | 4 if self.modern => {
                let names: Vec<_> =
                    (0..=how % 6).map(|name| format!(r#""{name}":{{"method":"roots/list"}}"#)).collect();
                let result =
                    format!(r#"{{"resultType":"input_required","inputRequests":{{{}}}}}"#, names.join(","));
                self.answer_call(call, result);
            }
            3 | 4 => (0..=how / 32).for_each(|_| self.ask(call.filter(|_| how & 1 == 0))),
            5 => {
                let params = format!(r#"{{"requestId":{}}}"#, u64::from(which) % (self.requests + 1));
                let method = "notifications/cancelled";
                self.say(None, format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
            }
            6..=9 => self.answer_question(which, how),
            10 => {
                if !self.bench.connects.is_empty() {
                    self.bench.lose(FailureKind::ConnectionReset);
                }
            }
            11 => _ = self.bench.reconnect(),
            12 | 13 => self.come_up(),
            14 if how < 64 => _ = call.map(|call| self.bench.cancel(call)),
            14 if how < 70 => {
                self.bench.close();
                self.closed.get_or_insert(self.bench.wire.len());
            }
            _ => self.bench.advance(ms(u64::from(which) * 100)),
        }
        self.check();
    }

    /// Whatever was sent last on the newest connection is answered, if it is the handshake's.
    fn come_up(&mut self) {
        if self.bench.connects.is_empty() {
            return;
        }
        self.bench.connected(Ok(()));
        let generation = self.bench.generation();
        let of_connection = |sent: &&harness::Sent| sent.receipt.generation == generation;
        let Some(sent) = self.bench.wire.iter().rev().find(of_connection).cloned() else { return };
        match sent.method.as_str() {
            "server/discover" => self.bench.answer(&sent, DISCOVERY),
            "initialize" => {
                self.bench.answer(&sent, r#"{"protocolVersion":"2025-11-25"}"#);
                self.bench.advance(ms(2_000));
            }
            _ => {}
        }
    }

    fn say(&mut self, channel: Option<u64>, text: String) {
        if !self.bench.connects.is_empty() {
            let generation = self.bench.generation();
            self.bench.deliver_on(generation, channel, text);
        }
    }

    fn ask(&mut self, call: Option<CallId>) {
        self.requests += 1;
        let channel = call.filter(|call| self.bench.times_sent(*call) > 0);
        let channel = channel.map(|call| self.bench.last_of(call).id());
        let id = self.requests;
        self.say(channel, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create"}}"#));
    }

    fn answer_call(&mut self, call: Option<CallId>, result: String) {
        let Some(call) = call.filter(|call| self.bench.times_sent(*call) > 0) else { return };
        let sent = self.bench.last_of(call);
        // It is no answer before it is one to the attempt that is out.
        if self.answered.insert(sent.id()) && self.bench.is_pending(call) && result != DONE {
            *self.allowed.get_mut(&call).unwrap() += 1;
        }
        self.bench.answer(&sent, &result);
    }

    fn answer_question(&mut self, which: u8, how: u8) {
        let asked: Vec<AskId> = self.bench.asked.iter().map(|(asked, _)| *asked).collect();
        let Some(asked) = Self::pick(&asked, which) else { return };
        let open = !self.bench.withdrawn.contains(&asked) && !self.told.contains(&asked);
        let mark = self.bench.wire.len();
        let answer = match how % 8 {
            0 => Err(rpc_error(-1, "no")),
            1 => Ok("nonsense".to_owned()),
            _ => Ok("{}".to_owned()),
        };
        if open {
            self.told.push(asked);
        }
        self.bench.enter(|session, now| session.answered(now, asked, answer));
        if !open {
            assert_eq!(self.bench.wire.len(), mark, "an answer to nobody's question went somewhere");
        }
    }

    fn check(&self) {
        let bench = &self.bench;
        for asked in &bench.withdrawn {
            let known = self.told.iter().position(|told| told == asked);
            assert_eq!(known, None, "withdrawn after it was answered");
        }
        let open = |asked: &AskId| !bench.withdrawn.contains(asked) && !self.told.contains(asked);
        let open: Vec<_> = bench.asked.iter().filter(|(asked, _)| open(asked)).collect();
        assert!(open.len() <= MOST, "{} questions are open", open.len());
        for (_, question) in &open {
            let ended = question.call.is_some_and(|call| bench.verdicts.contains_key(&call));
            assert!(!ended, "a question is open for a call that has ended");
        }
        for (call, allowed) in &self.allowed {
            assert!(bench.times_sent(*call) <= *allowed, "{call:?} was sent again");
        }
        let mut answers = BTreeSet::new();
        for sent in bench.wire.iter().filter(|sent| sent.method.is_empty()) {
            let (id, _) = sent.text.split_once(",\"result\"").or(sent.text.split_once(",\"error\"")).unwrap();
            assert!(answers.insert(id), "answered twice: {id}");
        }
        if let Some(mark) = self.closed {
            assert_eq!(bench.wire.len(), mark, "sent after close");
            assert_eq!(open.len(), 0, "open after close");
        }
    }

    /// Everything ends: the host never answers again.
    fn end(&mut self) {
        self.bench.advance(ms(600_000));
        self.check();
        for call in self.allowed.keys() {
            assert!(self.bench.verdicts.contains_key(call), "{call:?} has no verdict");
        }
    }
}

#[test]
fn on_any_walk_questions_are_bounded_and_continuations_are_no_replays() {
    let (continued, suspended, withdrawn, full) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config {
        cases: 5_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    });
    let count = |cell: &Cell<usize>, more: usize| cell.set(cell.get() + more);
    let walks = runner.run(&(any::<bool>(), vec(any::<[u8; 3]>(), 0..150)), |(modern, steps)| {
        let mut world = World::new(modern);
        for step in [[11, 0, 0], [12, 0, 0], [0, 0, 0]].into_iter().chain(steps) {
            world.step(step);
        }
        world.end();
        let bench = &world.bench;
        let is_continued = |call: &&CallId| bench.times_sent(**call) > 1;
        count(&continued, world.allowed.keys().filter(is_continued).count());
        let is_suspended = |verdict: &&noreplay::session::verdict::Verdict| {
            matches!(verdict, Ok(Outcome::UnknownOutcome(it)) if matches!(it.cause, Cause::InputRequired(_)))
        };
        count(&suspended, bench.verdicts.values().filter(is_suspended).count());
        count(&withdrawn, bench.withdrawn.len());
        count(&full, bench.wire.iter().filter(|sent| sent.text.contains("as many questions")).count());
        Ok(())
    });
    walks.unwrap();
    // The walks lead everywhere.
    let seen = [continued, suspended, withdrawn, full].map(Cell::into_inner);
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}
