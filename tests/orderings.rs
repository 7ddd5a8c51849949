//! Every ordering of events around two concurrent calls: the caller's (call, call, and one reconnect,
//! close, cancel or deadline at any point), the transport's (connect, take a message, return from
//! `send`, fail once in one of its ways) and the server's (execute, answer). None is sampled: at each
//! step every event that can come next comes next, in a run of its own.
//!
//! A run is held against what really happened (contract, P1 to P6 and P9): the world below knows which
//! message was executed, and which can be executed yet.
#![allow(clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use std::collections::{BTreeMap, BTreeSet};

use harness::{Bench, Sent, failure, ms};
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Options, Ownership, Resend};
use noreplay::session::verdict::{CallId, Cause, FailureKind, Generation, NotExecuted, Outcome, Refusal};
use noreplay::session::{Delivery, Resolution, ToolCall, What};

/// What the caller does, once, at any point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    None,
    Reconnect,
    Close,
    CancelFirst,
    DeadlineOfFirst,
}

/// What goes wrong, once, at any point, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The connection is lost.
    Lost,
    /// A `send` says that nothing left, because the connection is closed.
    NotSentClosed,
    /// A `send` says that nothing left, for a reason of that message's own.
    NotSent,
    /// A `send` says that a part of the text was withheld.
    Truncated,
    /// A `send` says that the message may have arrived.
    Unknown,
    /// A `send` says that the server refused, before it executed: the session is over.
    Refused,
    /// The connection cannot be opened.
    ConnectFails,
}

/// One thing that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Call(usize),
    Disturb,
    Connected(Generation),
    ConnectFails(Generation),
    /// A `send` returns well.
    Return(usize),
    /// A `send` returns with the fault.
    Fail(usize),
    Execute(usize),
    Answer(usize),
    Lose(Generation),
}

/// A message in the hands of the transport.
struct InFlight {
    sent: Sent,
    returned: bool,
    /// The server has read it, and done what it says.
    executed: bool,
    answered: bool,
    /// The transport has said that it will not arrive.
    withheld: bool,
}

struct World {
    bench: Bench,
    disturbance: Disturbance,
    fault: Fault,
    calls: [Option<CallId>; 2],
    disturbed: bool,
    failed: bool,
    closed: bool,
    /// Connects that wait for their end.
    connecting: Vec<Generation>,
    /// Connections that are up.
    alive: Vec<Generation>,
    messages: Vec<InFlight>,
    effects: BTreeMap<CallId, usize>,
    /// The calls whose verdict was looked at when it was given.
    judged: BTreeSet<CallId>,
    seen: (usize, usize, usize),
    /// Its owner alone connects.
    managed: bool,
    /// It had a connection from the start.
    warm: bool,
    trace: Vec<Step>,
}

impl World {
    fn new(options: Options, disturbance: Disturbance, fault: Fault, warm: bool) -> Self {
        let managed = options.ownership == Ownership::CallerManaged;
        let bench = if warm { Bench::up(options) } else { Bench::new(options) };
        let mut world = Self {
            alive: bench.connects.clone(),
            seen: (bench.connects.len(), bench.disconnects.len(), bench.wire.len()),
            bench,
            disturbance,
            fault,
            calls: [None, None],
            disturbed: disturbance == Disturbance::None,
            failed: fault == Fault::None,
            closed: false,
            connecting: Vec::new(),
            messages: Vec::new(),
            effects: BTreeMap::new(),
            judged: BTreeSet::new(),
            managed,
            warm,
            trace: Vec::new(),
        };
        world.look();
        world
    }

    /// Takes in what the session did.
    fn look(&mut self) {
        let (connects, disconnects, wire) = self.seen;
        self.connecting.extend(&self.bench.connects[connects..]);
        for (generation, _) in &self.bench.disconnects[disconnects..] {
            self.connecting.retain(|connecting| connecting != generation);
            self.alive.retain(|alive| alive != generation);
        }
        for sent in &self.bench.wire[wire..] {
            assert!(!self.closed, "sent after close: {sent:?}\n{:?}", self.trace);
            assert!(
                self.alive.contains(&sent.receipt.generation),
                "sent nowhere: {sent:?}\n{:?}",
                self.trace
            );
            // When `send` returns is a choice for calls, and for the end of the handshake; the server
            // executes nothing but calls.
            let plain = sent.call.is_none();
            self.messages.push(InFlight {
                sent: sent.clone(),
                returned: plain && sent.receipt.what != What::Initialized,
                executed: plain,
                answered: false,
                withheld: false,
            });
        }
        self.seen = (self.bench.connects.len(), self.bench.disconnects.len(), self.bench.wire.len());
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        // The calls are alike, so that their order of begin is no choice.
        match self.calls {
            [None, _] => steps.push(Step::Call(0)),
            [Some(_), None] => steps.push(Step::Call(1)),
            _ => {}
        }
        if !self.disturbed && (self.calls[0].is_some() || self.disturbance == Disturbance::Reconnect) {
            steps.push(Step::Disturb);
        }
        for generation in &self.connecting {
            steps.push(Step::Connected(*generation));
            if !self.failed && self.fault == Fault::ConnectFails {
                steps.push(Step::ConnectFails(*generation));
            }
        }
        if !self.failed && self.fault == Fault::Lost {
            steps.extend(self.alive.iter().map(|generation| Step::Lose(*generation)));
        }
        for (index, message) in self.messages.iter().enumerate() {
            self.steps_of(index, message, &mut steps);
        }
        steps
    }

    fn steps_of(&self, index: usize, message: &InFlight, steps: &mut Vec<Step>) {
        let alive = self.alive.contains(&message.sent.receipt.generation);
        // What the session has let go of returns to nobody. What it has given away can be executed
        // all the same, whatever became of the connection.
        if alive && !message.returned {
            steps.push(Step::Return(index));
            let may_fail = match self.fault {
                Fault::NotSentClosed | Fault::NotSent | Fault::Truncated | Fault::Refused => {
                    !message.executed
                }
                Fault::Unknown => true,
                Fault::None | Fault::Lost | Fault::ConnectFails => false,
            };
            if !self.failed && may_fail && message.sent.call.is_some() {
                steps.push(Step::Fail(index));
            }
        }
        let is_request = matches!(message.sent.receipt.what, What::Request(_));
        if is_request && !message.executed && !message.withheld {
            steps.push(Step::Execute(index));
        }
        if is_request && alive && message.executed && !message.answered {
            steps.push(Step::Answer(index));
        }
    }

    fn take(&mut self, step: Step) {
        self.trace.push(step);
        match step {
            Step::Call(index) => {
                let timeout =
                    (index == 0 && self.disturbance == Disturbance::DeadlineOfFirst).then(|| ms(1000));
                let name = ["first", "second"][index].to_owned();
                let call = ToolCall { name, timeout, ..ToolCall::default() };
                match self.bench.try_call(call) {
                    Ok(call) => self.calls[index] = Some(call),
                    Err(reason) => {
                        let expected = match reason {
                            NotExecuted::Closed => self.closed,
                            NotExecuted::NotConnected => self.managed,
                            _ => false,
                        };
                        assert!(expected, "{reason:?}\n{:?}", self.trace);
                        // It has its verdict: a call id of its own, above all others.
                        let call = CallId(1_000 + index as u64);
                        self.bench.verdicts.insert(call, Err(reason));
                        self.calls[index] = Some(call);
                    }
                }
            }
            Step::Disturb => self.disturb(),
            Step::Connected(generation) => {
                self.connecting.retain(|connecting| *connecting != generation);
                self.alive.push(generation);
                self.bench.enter(|session, now| session.connected(now, generation, Ok(())));
            }
            Step::ConnectFails(generation) => {
                self.failed = true;
                self.connecting.retain(|connecting| *connecting != generation);
                let failure = failure(FailureKind::ConnectionRefused);
                self.bench.enter(|session, now| session.connected(now, generation, Err(failure)));
                // The pause before the next try.
                self.bench.advance(ms(100));
            }
            Step::Return(index) => {
                self.messages[index].returned = true;
                let sent = self.messages[index].sent.clone();
                self.bench.sent(&sent, Ok(Delivery::HandedOver));
            }
            Step::Fail(index) => self.fail(index),
            Step::Execute(index) => {
                self.messages[index].executed = true;
                if let Some(call) = self.messages[index].sent.call {
                    *self.effects.entry(call).or_default() += 1;
                }
            }
            Step::Answer(index) => self.answer(index),
            Step::Lose(generation) => {
                self.failed = true;
                let lost = Err(failure(FailureKind::ConnectionReset));
                self.bench.enter(|session, now| session.received(now, generation, lost));
            }
        }
        self.look();
        self.check_now();
    }

    fn disturb(&mut self) {
        self.disturbed = true;
        match (self.disturbance, self.calls[0]) {
            (Disturbance::Reconnect, _) => _ = self.bench.reconnect(),
            (Disturbance::Close, _) => {
                self.closed = true;
                self.bench.enter(|session, _| session.close());
            }
            (Disturbance::CancelFirst, Some(call)) => {
                self.bench.enter(|session, _| session.cancel(call));
            }
            (Disturbance::DeadlineOfFirst, _) => self.bench.advance(ms(1000)),
            (Disturbance::None | Disturbance::CancelFirst, _) => {}
        }
    }

    fn fail(&mut self, index: usize) {
        self.failed = true;
        self.messages[index].returned = true;
        let error = match self.fault {
            Fault::NotSentClosed => SendError::NotSent(failure(FailureKind::Closed)),
            Fault::NotSent => SendError::NotSent(failure(FailureKind::Other)),
            Fault::Truncated => SendError::Truncated(failure(FailureKind::ConnectionReset)),
            Fault::Unknown => SendError::Unknown(failure(FailureKind::ConnectionReset)),
            Fault::Refused => SendError::Refused(Refusal {
                status: 404,
                had_session: true,
                retry_after: None,
                www_authenticate: None,
                body: Vec::new(),
            }),
            Fault::None | Fault::Lost | Fault::ConnectFails => unreachable!("not of a send"),
        };
        self.messages[index].withheld = self.fault != Fault::Unknown;
        let sent = self.messages[index].sent.clone();
        self.bench.sent(&sent, Err(error));
    }

    fn answer(&mut self, index: usize) {
        self.messages[index].answered = true;
        let sent = self.messages[index].sent.clone();
        let result = match sent.method.as_str() {
            "initialize" => r#"{"protocolVersion":"2025-11-25"}"#.to_owned(),
            _ => format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, sent.id()),
        };
        self.bench.answer(&sent, &result);
    }

    /// What holds at every moment.
    fn check_now(&mut self) {
        let trace = &self.trace;
        for call in self.calls.into_iter().flatten() {
            let messages = || self.messages.iter().filter(move |message| message.sent.call == Some(call));
            // P1: whatever was given away and not proven unexecuted is the only one.
            let may_run = messages().filter(|message| !message.withheld).count();
            assert!(may_run <= 1, "{call:?} was given away again\n{trace:?}");
            assert!(messages().count() <= 2, "{call:?} was sent more than twice\n{trace:?}");
            assert!(self.effects.get(&call).copied().unwrap_or(0) <= 1, "a second effect\n{trace:?}");
            match self.bench.verdicts.get(&call) {
                // P2: only from the call's own answer.
                Some(Ok(Outcome::Ok(result))) => {
                    let own = messages().any(|message| {
                        message.answered
                            && result.json.contains(&format!(r#""text":"{}""#, message.sent.id()))
                    });
                    assert!(own, "{call:?} is ok without its answer: {result:?}\n{trace:?}");
                }
                // P2, P3: it did not run, and never will.
                Some(Err(reason)) => assert!(may_run == 0, "{call:?} may run: {reason:?}\n{trace:?}"),
                // P2: nor is a call called unknown that is proven not to have run. (A transport that says
                // so only after the caller gave up says it to nobody.)
                Some(Ok(Outcome::UnknownOutcome(unknown))) if !self.judged.contains(&call) => {
                    assert!(may_run == 1, "{call:?} cannot have run: {unknown:?}\n{trace:?}");
                }
                Some(Ok(Outcome::UnknownOutcome(_))) => {}
                Some(Ok(Outcome::ToolError(_))) => panic!("nobody said so\n{trace:?}"),
                // P9: and it has an end to come.
                None => assert!(self.bench.session.next_deadline().is_some(), "no end\n{trace:?}"),
            }
        }
        let judged = self.calls.into_iter().flatten().filter(|call| self.bench.verdicts.contains_key(call));
        self.judged.extend(judged);
    }

    /// What holds once nothing can happen any more but that time passes.
    fn check_at_end(&mut self) {
        self.bench.advance(ms(3_600_000));
        self.look();
        self.check_now();
        let trace = &self.trace;
        assert!(self.bench.session.pending().is_empty(), "something is left\n{trace:?}");
        let [first, second] = self.calls.map(|call| call.expect("both were made"));
        let verdict = |call| &self.bench.verdicts[&call];
        // P6: what befell the first call is no matter of the second.
        let only_first_is_concerned = self.fault == Fault::None
            && matches!(
                self.disturbance,
                Disturbance::None | Disturbance::CancelFirst | Disturbance::DeadlineOfFirst
            );
        if only_first_is_concerned {
            let expected = match verdict(second) {
                Ok(Outcome::Ok(_)) => self.warm || !self.managed,
                Err(NotExecuted::NotConnected) => !self.warm && self.managed,
                _ => false,
            };
            assert!(expected, "{:?}\n{trace:?}", verdict(second));
        }
        for call in [first, second] {
            if let Ok(Outcome::UnknownOutcome(unknown)) = verdict(call) {
                let truthful = match &unknown.cause {
                    Cause::SessionReplaced => self.disturbance == Disturbance::Reconnect,
                    Cause::Closed => self.disturbance == Disturbance::Close,
                    Cause::Cancelled => self.disturbance == Disturbance::CancelFirst && call == first,
                    Cause::TimedOut => call == first || self.fault != Fault::None,
                    Cause::Transport(_) => matches!(self.fault, Fault::Lost | Fault::Unknown),
                    Cause::Refused(_)
                    | Cause::AnsweredWithError(_)
                    | Cause::Undecodable(_)
                    | Cause::InputRequired(_)
                    | Cause::TaskEnded(_) => false,
                };
                assert!(truthful, "{:?}\n{trace:?}", unknown.cause);
            }
        }
        if self.managed {
            let asked = usize::from(self.warm) + usize::from(self.disturbance == Disturbance::Reconnect);
            assert_eq!(self.bench.connects.len(), asked, "connected unasked\n{trace:?}");
        }
        // P4, for the reconnect: one end.
        let ends = self.bench.resolutions.iter();
        let ends = ends.filter(|end| matches!(end, Resolution::Reconnect(..))).count();
        let expected = usize::from(self.disturbance == Disturbance::Reconnect);
        assert_eq!(ends, expected, "{trace:?}");
    }
}

/// Runs every ordering of one scenario, and returns how many there are.
fn explore(options: &Options, disturbance: Disturbance, fault: Fault, warm: bool) -> u64 {
    // The choice made at each step, and how many there were.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut runs = 0;
    loop {
        let mut world = World::new(options.clone(), disturbance, fault, warm);
        let mut depth = 0;
        loop {
            let steps = world.steps();
            if steps.is_empty() {
                break;
            }
            if depth == path.len() {
                path.push((0, steps.len()));
            }
            world.take(steps[path[depth].0]);
            depth += 1;
        }
        world.check_at_end();
        runs += 1;
        // The next path: the last choice that has another one left.
        while path.last().is_some_and(|(choice, of)| choice + 1 == *of) {
            path.pop();
        }
        match path.last_mut() {
            Some((choice, _)) => *choice += 1,
            None => return runs,
        }
    }
}

const DISTURBANCES: [Disturbance; 5] = [
    Disturbance::None,
    Disturbance::Reconnect,
    Disturbance::Close,
    Disturbance::CancelFirst,
    Disturbance::DeadlineOfFirst,
];

const FAULTS: [Fault; 8] = [
    Fault::None,
    Fault::Lost,
    Fault::NotSentClosed,
    Fault::NotSent,
    Fault::Truncated,
    Fault::Unknown,
    Fault::Refused,
    Fault::ConnectFails,
];

/// Every disturbance with every fault, from a connection that is up and from none.
fn explore_all(name: &str, options: &Options) {
    let mut runs = 0;
    for disturbance in DISTURBANCES {
        for fault in FAULTS {
            runs += explore(options, disturbance, fault, true);
            runs += explore(options, disturbance, fault, false);
        }
    }
    println!("{name}: {runs} orderings");
}

#[test]
fn owned_with_the_strict_defaults() {
    explore_all("owned, resend after proof", &Options::default());
}

#[test]
fn owned_without_any_resend() {
    explore_all("owned, no resend", &Options { resend: Resend::Never, ..Options::default() });
}

#[test]
fn owned_with_resends_after_refusals() {
    explore_all("owned, resend after refusals", &Options { resend: Resend::Refused, ..Options::default() });
}

#[test]
fn caller_managed() {
    let options = Options { ownership: Ownership::CallerManaged, ..Options::default() };
    explore_all("caller-managed", &options);
}
