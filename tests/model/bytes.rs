//! A session that is told any bytes. What `serde_json` makes of them says which calls were answered.

use std::collections::BTreeMap;

use crate::harness::{Bench, Sent, ms};
use noreplay::protocol::revision::Revision;
use noreplay::session::policy::{Options, Protocol};
use noreplay::session::verdict::{CallId, Cause, Outcome, Verdict};
use noreplay::session::{ToolCall, What};
use serde::de::IgnoredAny;

use super::frame::{self, Answer};

/// The most bytes of one message.
const MESSAGE: usize = 4096;

/// Tells a session what some bytes say. The first of them says how it stands when the others come: which
/// revision, on whose channel, before or after the handshake, and whether each line is a message or all
/// are one.
pub fn tell(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    if let Ok(text) = str::from_utf8(bytes) {
        frame::compare(text);
    }
    let mut scene = Scene::new(*how);
    if how & 8 == 8 {
        scene.tell(bytes);
    } else {
        bytes.split(|byte| *byte == b'\n').for_each(|line| scene.tell(line));
    }
    scene.look_back();
}

/// A session in the middle of things.
struct Scene {
    bench: Bench,
    channel: Option<u64>,
    /// The calls, by the ids of their attempts.
    calls: BTreeMap<u64, CallId>,
    /// The answers so far, to whomever they were.
    answers: Vec<Answer>,
    seen: usize,
}

impl Scene {
    fn new(how: u8) -> Self {
        let mut options = Options::default();
        options.limits.message_bytes = MESSAGE;
        options.limits.events = 16;
        options.timing.progress_extends = true;
        let modern = how & 64 == 64;
        if modern {
            options.protocol = Protocol::Only(Revision::LATEST);
        }
        let mut bench = Bench::new(options);
        let call = |progress| ToolCall { name: "pay".to_owned(), progress, ..ToolCall::default() };
        let calls = [false, true, true].map(|progress| bench.try_call(call(progress)).unwrap());
        bench.list_tools();
        if how & 4 == 4 {
            bench.connected(Ok(()));
        } else {
            if modern {
                bench.connected(Ok(()));
                let probe = bench.wire[0].clone();
                bench.answer(&probe, r#"{"supportedVersions":["2026-07-28"]}"#);
            } else {
                bench.handshake_of(Revision::ALL[usize::from(how >> 4 & 3)].as_str());
            }
            // An answer to it would be late.
            bench.cancel(calls[0]);
        }
        let ids = bench.wire.iter().filter_map(|sent| Some((request(sent)?, sent.call?)));
        let calls: BTreeMap<_, _> = ids.collect();
        // That of a call, of what else is out, or of nothing.
        let channel = match how & 3 {
            0 => None,
            1 => Some(calls.keys().last().copied().unwrap_or(1)),
            2 => Some(
                bench.wire.iter().filter(|sent| sent.call.is_none()).filter_map(request).max().unwrap_or(1),
            ),
            _ => Some(99),
        };
        Self { seen: bench.wire.len(), bench, channel, calls, answers: Vec::new() }
    }

    fn tell(&mut self, message: &[u8]) {
        let pending: Vec<_> = self.bench.session.pending().into_iter().map(|pending| pending.call).collect();
        let generation = self.bench.generation();
        self.bench.deliver_on(generation, self.channel, message);
        let answers = if message.len() > MESSAGE { Vec::new() } else { frame::answers(message) };
        for answer in &answers {
            let Some(call) = self.calls.get(&answer.id).filter(|call| pending.contains(call)) else {
                continue;
            };
            if self.channel.is_none_or(|channel| channel == answer.id) {
                match self.bench.verdicts.get(call) {
                    Some(verdict) => self.look_at_answer(answer, verdict, answers.len() == 1),
                    // It goes on with the state that the server gave.
                    None => assert!(self.bench.times_sent(*call) > 1, "{answer:?}"),
                }
            }
        }
        self.answers.extend(answers);
        self.look();
    }

    /// A call was answered: its verdict says so, and says the same.
    fn look_at_answer(&self, answer: &Answer, verdict: &Verdict, alone: bool) {
        match (&answer.result, verdict) {
            (Ok(json), Ok(Outcome::Ok(result) | Outcome::ToolError(result))) => {
                assert!(result.json == *json || !alone, "{result:?} of {answer:?}");
            }
            (Ok(json), Ok(Outcome::UnknownOutcome(unknown))) if alone => {
                let unreadable = matches!(unknown.cause, Cause::Undecodable(_));
                assert!(unreadable || unknown.cause == Cause::InputRequired(json.clone()), "{unknown:?}");
            }
            (Err(_), Ok(Outcome::UnknownOutcome(unknown))) => {
                let error = matches!(unknown.cause, Cause::AnsweredWithError(_) | Cause::Undecodable(_));
                assert!(error || !alone, "{unknown:?} of {answer:?}");
            }
            (_, verdict) => assert!(!alone, "{verdict:?} of {answer:?}"),
        }
    }

    fn look(&mut self) {
        for sent in &self.bench.wire[self.seen..] {
            assert!(serde_json::from_str::<IgnoredAny>(&sent.text).is_ok(), "{sent:?}");
            // P1: no message of the server's sends a call again.
            // Save that of 2026-07-28 which gives it its state back.
            let first = sent.call.is_none_or(|call| self.bench.times_sent(call) == 1);
            let goes_on = !sent.headers.is_empty() && sent.text.contains("requestState");
            assert!(first || goes_on, "{sent:?}");
            self.calls.extend(request(sent).zip(sent.call));
        }
        self.seen = self.bench.wire.len();
        // P2: a result is that of an answer to the attempt.
        for (call, verdict) in &self.bench.verdicts {
            if let Ok(Outcome::Ok(result) | Outcome::ToolError(result)) = verdict {
                let said = |answer: &Answer| {
                    self.calls.get(&answer.id) == Some(call) && answer.result.as_ref() == Ok(&result.json)
                };
                assert!(self.answers.iter().any(said), "{result:?}, of {:?}", self.answers);
            }
        }
    }

    fn look_back(&mut self) {
        // P9: no more than that many answers to a server that does not read.
        let controls = self.bench.wire.iter().filter(|sent| sent.method.is_empty()).count();
        assert!(controls <= 64, "{controls}");
        let kept = format!("{:?}", self.bench.session).len();
        assert!(kept < 128 << 10, "{kept} bytes are kept");
        self.bench.advance(ms(3_600_000));
        assert!(self.bench.session.pending().is_empty());
        assert_eq!(self.bench.verdicts.len(), self.bench.made.len());
        assert_eq!(self.bench.resolutions.len(), 1, "{:?}", self.bench.resolutions);
    }
}

fn request(sent: &Sent) -> Option<u64> {
    match sent.receipt.what {
        What::Request(request) => Some(request.0),
        What::Initialized | What::Control => None,
    }
}
