//! Connections that are cut at every byte of a response: one effect each time, and every verdict true.

use futures::stream::{self, StreamExt as _};
use host_tests::fault_proxy::{Cut, FaultProxy, Passed};
use host_tests::ledger::http::{End, When};
use host_tests::{Outcome, Session};
use memchr::memmem;

use super::bench::{Bench, Verdict, call};
use super::raw::{Raw, is_whole};
use super::server::Peer;

/// How many sessions are under way at once: a session that waits for another try costs nothing.
const AT_ONCE: usize = 8;

/// The first amount that is paid. All have as many digits, so that all answers are as long.
const AMOUNT: u32 = 10_000;

/// What became of one session.
struct Cutting {
    /// So many bytes of the response arrived.
    bytes: usize,
    amount: u32,
    verdict: Verdict,
    /// So many `tools/call` were sent.
    calls: usize,
    _session: Session,
}

/// The response to a call, from a session by hand, and where what matters in it ends.
struct Response {
    length: usize,
    /// The first event id, if there is one: from there on the answer can be fetched.
    id_ends: Option<usize>,
    answer_ends: usize,
}

impl Response {
    async fn by_hand(bench: &Bench) -> Response {
        let raw = Raw::begin(&bench.server, bench.era).await;
        let ((name, arguments), _) = bench.peer.succeeds(AMOUNT);
        let response = raw.call(name, &arguments, is_whole).await;
        let id = memmem::find(&response, b"\nid: ");
        let event_ends = |at: usize| Some(at + memmem::find(&response[at..], b"\n\n")? + 2);
        let answer_ends = memchr::memrchr(b'}', &response).expect("an answer") + 1;
        let id_ends = id.and_then(event_ends).filter(|ends| *ends < answer_ends);
        Response { length: response.len(), id_ends, answer_ends }
    }

    /// Whether the call must be known, cut there. None: it may be.
    fn tells(&self, bytes: usize, peer: Peer) -> Option<bool> {
        let fetchable = self.id_ends.is_some_and(|ends| bytes >= ends);
        if bytes < self.answer_ends && !fetchable {
            return Some(false);
        }
        // What a reset overtakes never arrives. And this server keeps an answer only as long as the tool runs.
        let is_sure = end_at(bytes) == End::Close && (peer != Peer::Rmcp || bytes >= self.answer_ends);
        is_sure.then_some(true)
    }
}

/// How a connection that is cut there ends: mostly in order, since then every byte before it arrives.
fn end_at(bytes: usize) -> End {
    if bytes % 3 == 1 { End::Reset } else { End::Close }
}

/// One session whose connection is cut behind so many bytes of the first response to this method.
async fn cut(bench: &Bench, method: &str, bytes: usize, amount: u32) -> Cutting {
    let proxy = FaultProxy::before(bench.server.address).await.expect("a port");
    let proxy = proxy.cut(When::method(method).nth(1), Cut::Response(bytes as u64, end_at(bytes)));
    let url = proxy.url(bench.server.path);
    let session = bench.session_at(&url, |options| options.recovery.backoff_ms = 1).await;
    let verdict = call(&session, bench.peer.succeeds(amount).0).await;
    let passed = proxy.passed();
    let is_call = |it: &&Passed| it.request.rpc().as_deref() == Some("tools/call");
    let calls = passed.iter().filter(is_call).count();
    Cutting { bytes, amount, verdict, calls, _session: session }
}

/// Cuts the response to this method at each byte up to the last of `length`.
async fn at_every_byte(bench: &Bench, method: &str, length: usize, first: u32) -> Vec<Cutting> {
    let one = |(bytes, amount)| cut(bench, method, bytes, amount);
    stream::iter((0..=length).zip(first..)).map(one).buffer_unordered(AT_ONCE).collect().await
}

impl Cutting {
    #[track_caller]
    fn is_ok(&self) -> bool {
        match &self.verdict {
            Ok(Outcome::Ok(result)) => {
                assert_eq!(result.attempts, 1, "{self}");
                true
            }
            Ok(Outcome::UnknownOutcome(unknown)) => {
                assert_eq!(unknown.attempts, 1, "{self}");
                false
            }
            _ => panic!("{self}"),
        }
    }
}

impl std::fmt::Display for Cutting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cut at {}: {:?}", self.bytes, self.verdict)
    }
}

/// A handshake has no side effects: it is repeated until it succeeds, and the call is sent once.
pub(super) async fn at_every_byte_of_the_handshake(bench: Bench) {
    let raw = Raw::begin(&bench.server, bench.era).await;
    let mut amount = AMOUNT;
    for (method, length) in raw.handshake {
        for cutting in at_every_byte(&bench, method, length, amount).await {
            assert!(cutting.is_ok(), "{method} {cutting}");
            assert_eq!(cutting.calls, 1, "{method} {cutting}");
            amount = amount.max(cutting.amount + 1);
        }
    }
    one_effect_each(&bench, amount).await;
}

pub(super) async fn at_every_byte_of_the_answer(bench: Bench) {
    let response = Response::by_hand(&bench).await;
    let mut amount = AMOUNT;
    for cutting in at_every_byte(&bench, "tools/call", response.length, AMOUNT + 1).await {
        let is_ok = cutting.is_ok();
        assert_eq!(is_ok, response.tells(cutting.bytes, bench.peer).unwrap_or(is_ok), "{cutting}");
        assert_eq!(cutting.calls, 1, "{cutting}");
        amount = amount.max(cutting.amount);
    }
    one_effect_each(&bench, amount + 1).await;
}

/// Each amount up to `end` was paid, once.
async fn one_effect_each(bench: &Bench, end: u32) {
    let mut first = AMOUNT;
    bench.effects_are((end - first) as usize).await;
    let mut paid: Vec<u64> =
        bench.effects().iter().filter_map(|effect| effect["arguments"]["amount"].as_u64()).collect();
    paid.sort_unstable();
    for amount in paid {
        assert_eq!(amount, u64::from(first), "paid twice, or not at all");
        first += 1;
    }
}
