//! Group B: answers that are lost, which is learned at once and not when a deadline passes, and hurts nobody
//! else.

use std::time::Duration;

use host_tests::ledger::http::{End, Event, Reply, Step};
use host_tests::{Cause, Event as Told, FailureKind, Outcome, Stage, ToolCall};

use crate::{
    LONG, Paid, call, ended, lost, ok, open, open_with, paid, paid_at, paid_with, pay, server, unknown, until,
};

/// Half of an answer.
const HALF: &str = r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","te"#;

/// B019, modelcontextprotocol#2575: 2026-07-28 has a request issued again after its stream broke. For a call
/// that is the caller's to decide.
#[tokio::test]
async fn a_modern_stream_that_ends_after_progress_is_unknown_and_nothing_is_sent_again() {
    let steps = [Step::Execute, Step::Progress(1), Step::Finish];
    let paid = paid_with(server().await.modern(), |_| {}, pay().progress(), steps).await;
    let unknown = paid.once(1).unknown();
    assert_eq!((unknown.stage, lost(&paid.verdict).kind), (Stage::Answering, FailureKind::Closed));
    assert_eq!(paid.server.traffic().with("GET").len(), 0);
    paid.goes_on().await;
}

/// B019: a read has no effect, and is issued again.
#[tokio::test]
async fn a_list_whose_stream_ends_is_asked_for_again() {
    for modern in [true, false] {
        let server = server().await.on("tools/list", 1, [Step::Open, Step::Finish]);
        let server = if modern { server.modern() } else { server };
        let session = open(&server).await;
        let tools = session.list_tools().await.expect("the instance lives").expect("they are listed");
        assert!(tools.iter().any(|tool| tool.name == "pay"), "{tools:?}");
        assert_eq!(server.traffic().posts("tools/list").len(), 2);
    }
}

/// B022, python-sdk#1577: the server died during the call, and the caller waited for ever. B023, python-sdk#1811,
/// #1940 and #2028, and B024, the TypeScript SDK: a stream that ends without the answer said nothing.
#[tokio::test]
async fn an_answer_that_will_not_come_is_known_at_once() {
    let comment = || vec![Step::stream(), Step::body(": hi\n\n")];
    let mut endings = vec![];
    for end in [End::Close, End::Reset] {
        endings.push(vec![Step::End(end)]);
        endings.push([comment(), vec![Step::End(end)]].concat());
        endings.push(vec![Step::Open, Step::End(end)]);
        endings.push(vec![Step::Head(Reply::json("")), Step::End(end)]);
    }
    endings.push(comment());
    for ending in endings {
        let paid = paid([vec![Step::Execute], ending.clone()].concat()).await;
        let failure = paid.once(1).lost();
        let kinds = [FailureKind::Closed, FailureKind::ConnectionReset, FailureKind::Malformed];
        assert!(kinds.contains(&failure.kind), "{ending:?}: {failure:?}");
        assert_eq!(paid.server.traffic().resumed(), [""; 0], "there is nothing to resume");
        paid.goes_on().await;
    }
}

/// B022: a server that is gone altogether.
#[tokio::test]
async fn a_server_that_dies_is_known_at_once_and_later_calls_are_not_sent() {
    let server = server().await.on_tool("pay", 1, [Step::Execute, Step::End(End::Hang)]);
    let session = open_with(&server, |options| options.recovery.attempts = 1).await;
    let lost_call = session.call_tool(pay());
    until(&server, |traffic| !traffic.calls("pay").is_empty()).await;
    server.stop();
    lost(&ended(lost_call).await);
    let verdict = call(&session, pay()).await;
    assert!(matches!(verdict, Err(host_tests::NotExecuted::NotSent(_))), "{verdict:?}");
    assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (1, 1));
}

/// B031, esengine/DeepSeek-Reasonix#239: a request whose headers never come hung beyond any timeout. When they
/// come all the same, that is a late answer, and no second verdict.
#[tokio::test]
async fn headers_that_never_come_are_a_timeout_and_that_they_come_late_is_kept() {
    let server = server().await;
    let server = server.on_tool("pay", 1, [Step::Execute, Step::sleep(500), Step::Answer]);
    let session = open(&server).await;
    let verdict = call(&session, pay().timeout(Duration::from_millis(150))).await;
    let timed_out = unknown(&verdict);
    assert_eq!((timed_out.cause.clone(), timed_out.stage), (Cause::TimedOut, Stage::HandingOver));

    let known = session.reconcile(timed_out.call, LONG).await.expect("the instance lives");
    assert!(matches!(known, Some(Outcome::Ok(_))), "{known:?}");
    let paid = Paid { server, session, verdict };
    paid.once(1).goes_on().await;
}

/// B031: and where they never come at all.
#[tokio::test]
async fn a_server_that_never_answers_hurts_one_call() {
    let hang = [Step::Execute, Step::End(End::Hang)];
    let paid = paid_with(server().await, |_| {}, pay().timeout(Duration::from_millis(150)), hang).await;
    assert_eq!(paid.once(1).unknown().cause, Cause::TimedOut);
    paid.goes_on().await;
}

/// B034, rmcp: a body that does not parse was "accepted", and the call waited for ever.
#[tokio::test]
async fn half_an_answer_is_undecodable_and_its_bytes_are_kept() {
    let paid = paid([Step::Execute, Step::Respond(Reply::json(HALF))]).await;
    let Cause::Undecodable(undecodable) = &paid.once(1).unknown().cause else { panic!("{:?}", paid.verdict) };
    let head = String::from_utf8_lossy(&undecodable.head);
    assert!(head.starts_with(r#"{"jsonrpc":"2.0""#) && head.ends_with(r#""te"#), "{head}");
    paid.goes_on().await;
}

/// B034: where the connection ends in the middle, what came of it is told too.
#[tokio::test]
async fn an_answer_that_breaks_off_says_how_it_began() {
    for end in [End::Close, End::Reset] {
        let steps =
            [Step::Execute, Step::Head(Reply::json("")), Step::body(HALF), Step::sleep(50), Step::End(end)];
        let paid = paid(steps).await;
        let failure = paid.once(1).lost();
        assert!(failure.detail.iter().any(|words| words.contains(r#"{"jsonrpc":"2.0""#)), "{failure:?}");
        paid.goes_on().await;
    }
}

/// B038, OpenHands/software-agent-sdk#3928: one 503 made a hundred tools unusable for good.
#[tokio::test]
async fn one_503_hurts_one_call() {
    let busy = Reply::status(503).header("retry-after", "1");
    let paid = paid([Step::Respond(busy)]).await;
    let Cause::Refused(refusal) = &paid.once(0).unknown().cause else { panic!("{:?}", paid.verdict) };
    assert_eq!((refusal.status, refusal.retry_after.as_deref()), (503, Some("1")));
    paid.goes_on().await;
}

/// B039, the Go SDK's `fail`: one malformed event, or one lost answer, killed every other call.
#[tokio::test]
async fn a_malformed_event_hurts_only_its_call() {
    let server = server().await;
    let slow = [Step::Open, Step::Execute, Step::sleep(400), Step::Answer];
    let malformed = [Step::Execute, Step::Event(Event::data("{")), Step::End(End::Hang)];
    let server = server.on_tool("slow", 1, slow).on_tool("pay", 1, malformed);
    let session = open(&server).await;
    let slow = session.call_tool(ToolCall::new("slow"));
    until(&server, |traffic| !traffic.calls("slow").is_empty()).await;
    let verdict = call(&session, pay()).await;
    assert!(matches!(unknown(&verdict).cause, Cause::Undecodable(_)), "{verdict:?}");
    let paid = Paid { server, session, verdict };
    paid.once(1);
    ok(&ended(slow).await);
    paid.goes_on().await;
}

/// B039: a stream that cannot be resumed either; here the server has none for GET.
#[tokio::test]
async fn a_failed_resumption_hurts_only_its_call() {
    let server = server().await;
    let slow = [Step::Open, Step::Execute, Step::sleep(400), Step::Answer];
    let broken = [Step::Execute, Step::Event(Event::priming("e1").retry(1)), Step::End(End::Reset)];
    let server = server.on_tool("slow", 1, slow).on_tool("pay", 1, broken);
    let session = open(&server).await;
    let slow = session.call_tool(ToolCall::new("slow"));
    until(&server, |traffic| !traffic.calls("slow").is_empty()).await;
    let verdict = call(&session, pay()).await;
    lost(&verdict);
    ok(&ended(slow).await);
    assert_eq!(server.traffic().resumed(), ["e1"]);
    let paid = Paid { server, session, verdict };
    paid.once(1).goes_on().await;
    let told = crate::told(&paid.session).await;
    assert!(!told.iter().any(|event| matches!(event, Told::Disconnected(_))), "{told:?}");
}

/// B036, BaseIntelligence/bounty-challenge#17389: `close` left its waiters for half a minute.
#[tokio::test]
async fn close_ends_a_call_at_once() {
    let server = server().await.on_tool("pay", 1, [Step::Execute, Step::End(End::Hang)]);
    let session = open(&server).await;
    let waiting = session.call_tool(pay());
    until(&server, |traffic| !traffic.calls("pay").is_empty()).await;
    let closing = session.close();
    let verdict = ended(waiting).await;
    assert_eq!(unknown(&verdict).cause, Cause::Closed);
    closing.await.expect("the instance lives");
    let paid = Paid { server, session, verdict };
    paid.once(1);
}

/// B029, python-sdk#2678 and #2821: an answer that comes together with the end of its connection counts.
#[tokio::test]
async fn an_answer_that_ends_with_its_connection_is_an_answer() {
    let steps = [Step::Execute, Step::Respond(Reply::json("$answer").until_close())];
    let paid = paid_at(server().await, steps).await;
    ok(&paid.once(1).verdict);
    paid.goes_on().await;
}
