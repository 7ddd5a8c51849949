//! A lost answer is asked for by GET, where the server offers that, and never by a second POST. And group C: when
//! that ends.

use std::time::Duration;

use host_tests::ledger::http::{End, Event, HttpLedger, Step};
use host_tests::{Cause, Outcome, ToolCall};

use crate::{LONG, Paid, call, ended, lost, ok, open, over, paid_at, pay, server, unknown, until};

/// A server that keeps events, and has clients wait so many milliseconds before they resume.
async fn resumable(retry: u64) -> HttpLedger {
    server().await.resumable(Some(retry))
}

/// Waits until the client has asked for the server's own stream. From then on, each GET is a resumption.
async fn listened(server: &HttpLedger) {
    until(server, |traffic| !traffic.with("GET").is_empty()).await;
}

/// Pays once the GET for the server's own stream is over: the numbers of GETs in rules count.
async fn paid_resuming(server: HttpLedger, steps: impl Into<Vec<Step>>) -> Paid {
    let server = server.on_tool("pay", 1, steps);
    let session = open(&server).await;
    listened(&server).await;
    let verdict = call(&session, pay()).await;
    Paid { server, session, verdict }
}

/// An answer that is lost after the event at the stream's beginning is fetched, not earlier than the server asks
/// for; the tool ran once.
#[tokio::test]
async fn an_answer_that_was_lost_is_fetched_when_the_server_has_it_and_the_call_is_posted_once() {
    const RETRY: u64 = 250;
    for end in [End::Close, End::Reset] {
        let lost = [Step::Open, Step::sleep(20), Step::End(end), Step::Execute, Step::Answer];
        let paid = paid_resuming(resumable(RETRY).await, lost).await;
        ok(&paid.once(1).verdict);
        let traffic = paid.server.traffic();
        assert_eq!(traffic.resumed().len(), 1);
        let (post, get) = (traffic.calls("pay")[0].number, traffic.with("GET")[1].number);
        let pause = traffic.came(get).zip(traffic.answered(post)).map(|(came, ended)| came - ended);
        assert!(pause >= Some(Duration::from_millis(RETRY)), "{pause:?}");
        paid.goes_on().await;
    }
}

/// It may break several times in a row, in several ways.
#[tokio::test]
async fn a_stream_that_breaks_again_and_again_is_resumed_again_and_again() {
    let server = resumable(1)
        .await
        .on_http("GET", 2, [Step::stream(), Step::End(End::Close)])
        .on_http("GET", 3, [Step::End(End::Reset)])
        .on_http("GET", 4, [Step::status(503)])
        .on_http("GET", 5, [Step::stream(), Step::body("data: {\"jsonrpc\""), Step::End(End::Close)]);
    let lost = [Step::Open, Step::End(End::Close), Step::Execute, Step::Answer];
    let paid = paid_resuming(server, lost).await;
    ok(&paid.once(1).verdict);
    let resumed = paid.server.traffic().resumed().into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((resumed.len(), resumed.iter().all(|id| *id == resumed[0])), (5, true), "{resumed:?}");
    paid.goes_on().await;
}

/// An answer that is cut anywhere, in its event or before it, is fetched whole.
#[tokio::test]
async fn an_answer_that_is_cut_anywhere_is_fetched_whole() {
    let whole = [Step::Open, Step::Execute, Step::Answer];
    let paid = paid_resuming(resumable(1).await, whole.clone()).await;
    let length = {
        let post = paid.server.traffic().calls("pay")[0].number;
        until(&paid.server, |traffic| traffic.length(post).is_some()).await;
        paid.server.traffic().length(post).expect("it is there")
    };
    let json = ok(&paid.once(1).verdict).json.clone();
    // Behind the event at the stream's beginning: in the last one, which is a little longer than its result.
    let begins = length - json.len() as u64 - 60;
    for cut in (begins..length).step_by(17) {
        let steps = [vec![Step::Limit(cut, End::Close)], whole.to_vec()].concat();
        let paid = paid_resuming(resumable(1).await, steps).await;
        let result = ok(&paid.once(1).verdict);
        assert_eq!((&result.json, result.attempts), (&json, 1), "{cut} of {length}");
    }
}

/// A call whose answer is fetched has its deadline still, and a late answer is fetched too.
#[tokio::test]
async fn a_resumption_goes_on_after_the_deadline_and_brings_a_late_answer() {
    let lost = [Step::Open, Step::End(End::Close), Step::Execute, Step::Answer];
    let server = resumable(400).await.on_tool("pay", 1, lost);
    let session = open(&server).await;
    let verdict = call(&session, pay().timeout(Duration::from_millis(100))).await;
    assert_eq!(unknown(&verdict).cause, Cause::TimedOut);
    let known = session.reconcile(unknown(&verdict).call, LONG).await.expect("the instance lives");
    assert!(matches!(known, Some(Outcome::Ok(_))), "{known:?}");
    Paid { server, session, verdict }.once(1);
}

/// What cannot be resumed is unknown at once: the server gave no id, or has no stream for GET.
#[tokio::test]
async fn what_cannot_be_resumed_is_unknown_at_once() {
    let no_id = [Step::Execute, Step::Event(Event::data("")), Step::End(End::Close)];
    let paid = paid_resuming(resumable(1).await, no_id).await;
    lost(&paid.once(1).verdict);
    assert_eq!(paid.server.traffic().resumed(), [""; 0]);
}

/// From 2026-07-28 on nothing is resumed, whatever ids the server gives.
#[tokio::test]
async fn in_the_stateless_revision_no_get_is_ever_sent() {
    let primed = [Step::Execute, Step::Event(Event::priming("e1").retry(1)), Step::End(End::Close)];
    let paid = paid_at(resumable(1).await.modern(), primed).await;
    lost(&paid.once(1).verdict);
    paid.goes_on().await;
    paid.session.close().await.expect("the instance lives");
    let traffic = paid.server.traffic();
    assert_eq!((traffic.with("GET").len(), traffic.with("DELETE").len()), (0, 0));
}

/// B048, python-sdk#2393, #3257 and #3356: a stream that ended in order reset the count of tries, and there was no
/// end of them.
#[tokio::test]
async fn a_stream_that_brings_nothing_new_is_given_up() {
    let nothing = [Step::Event(Event::priming("e1").retry(1)), Step::Finish];
    let server = server().await.on_http("GET", 1, [Step::status(405)]).always_http("GET", nothing.clone());
    let paid = paid_resuming(server, [vec![Step::Execute], nothing.to_vec()].concat()).await;
    lost(&paid.once(1).verdict);
    let resumed = paid.server.traffic().resumed().len();
    assert!((2..10).contains(&resumed), "{resumed}");
    paid.goes_on().await;
    assert_eq!(paid.server.traffic().resumed().len(), resumed);
}

/// B050, typescript-sdk#1191: a stream was resumed although its answer had come.
#[tokio::test]
async fn after_the_answer_nothing_is_resumed() {
    let primed = || Step::Event(Event::priming("e1").retry(1));
    for end in [Step::Finish, Step::End(End::Close), Step::End(End::Reset)] {
        // Time for the answer to be read: a reset may overtake it.
        let steps = [primed(), Step::Execute, Step::Answer, Step::sleep(30), end];
        let paid = paid_resuming(server().await, steps).await;
        ok(&paid.once(1).verdict);
        let post = paid.server.traffic().calls("pay")[0].number;
        until(&paid.server, |traffic| traffic.answered(post).is_some()).await;
        // Long enough for a resumption that would come after a millisecond.
        ok(&call(&paid.session, ToolCall::new("slow").arguments(r#"{"ms":100}"#)).await);
        assert_eq!(paid.server.traffic().resumed(), [""; 0]);
    }
}

/// B051, n8n-io/n8n#17821 and hkr04/cpp-mcp#4: no end of GETs to what is no MCP server.
#[tokio::test]
async fn a_get_that_the_server_does_not_know_is_not_sent_again() {
    for status in [400, 404, 405, 501, 505] {
        let server = server().await.on_http("GET", 1, [Step::status(405)]);
        let server = server.always_http("GET", [Step::status(status)]);
        let primed = [Step::Execute, Step::Event(Event::priming("e1").retry(1)), Step::Finish];
        let paid = paid_resuming(server, primed).await;
        let failure = paid.once(1).lost();
        assert!(failure.detail.iter().any(|words| words.contains(&status.to_string())), "{failure:?}");
        ok(&call(&paid.session, ToolCall::new("slow").arguments(r#"{"ms":50}"#)).await);
        assert_eq!(paid.server.traffic().resumed(), ["e1"], "{status}");
        paid.goes_on().await;
    }
}

/// B044, odysseus-dev/odysseus#6150 and cline: what its user had closed came to life again. Nothing is resumed
/// after the session was closed, in the middle of the pause before it.
#[tokio::test]
async fn nothing_is_resumed_after_the_end() {
    let server = server().await;
    let primed = [Step::Execute, Step::Event(Event::priming("e1").retry(200)), Step::Finish];
    let server = server.on_tool("pay", 1, primed);
    let session = open(&server).await;
    let waiting = session.call_tool(pay());
    until(&server, |traffic| {
        let calls = traffic.calls("pay");
        calls.first().is_some_and(|call| traffic.answered(call.number).is_some())
    })
    .await;
    session.close().await.expect("the instance lives");
    let verdict = ended(waiting).await;
    assert_eq!(unknown(&verdict).cause, Cause::Closed);

    // Another session of the same instance lives on, for longer than the pause.
    let other = session.client().session(server.url(), options(&session).await).await.expect("it lives");
    ok(&call(&other, ToolCall::new("slow").arguments(r#"{"ms":400}"#)).await);
    assert_eq!(server.traffic().resumed(), [""; 0]);
    Paid { server, session, verdict }.once(1);
}

async fn options(session: &host_tests::Session) -> host_tests::Options {
    session.client().default_options().await.expect("the instance lives")
}

/// B051: and none once whoever had the client has dropped it.
#[tokio::test]
async fn nothing_is_resumed_once_the_instance_is_gone() {
    let server = resumable(200).await.on_tool("pay", 1, [Step::Open, Step::End(End::Close), Step::Execute]);
    let http = host_tests::Http::to(&server.url()).expect("it is a URL");
    let session = over(http, &server.url(), |_| {}).await;
    let waiting = session.call_tool(pay());
    until(&server, |traffic| {
        let calls = traffic.calls("pay");
        calls.first().is_some_and(|call| traffic.answered(call.number).is_some())
    })
    .await;
    drop(waiting);
    drop(session);
    // Meanwhile somebody else does something that takes longer than the pause.
    let other = open(&server).await;
    ok(&call(&other, ToolCall::new("slow").arguments(r#"{"ms":400}"#)).await);
    assert_eq!(server.traffic().resumed(), [""; 0]);
    assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (1, 1));
}
