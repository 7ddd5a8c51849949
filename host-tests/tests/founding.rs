//! The founding scenarios, through the component in wasmtime, against a server that keeps a ledger: what
//! really happened stands there, what was sent stands in the wire log, and the verdict must be true of
//! both.

use std::time::Duration;

use host_tests::ledger::{ConnectStep, LedgerServer, Step, closed, reset};
use host_tests::transport::SendError;
use host_tests::{
    CallId, Cause, Failure, FailureKind, NotExecuted, Outcome, Runtime, Session, Stage, ToolCall, ToolResult,
    UnknownOutcome,
};
use tokio::time::{Instant, sleep, timeout};

/// A session with this server, by the strict defaults.
async fn session(server: &LedgerServer) -> Session {
    let client = Runtime::built().expect("the component loads").client(server.clone());
    let options = client.default_options().await.expect("it lives");
    client.session("ledger", options).await.expect("it lives")
}

async fn call(session: &Session, call: ToolCall) -> Result<Outcome, NotExecuted> {
    let verdict = timeout(Duration::from_secs(3600), session.call_tool(call)).await;
    verdict.expect("every call ends").expect("the component does not trap")
}

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

fn unknown(verdict: Result<Outcome, NotExecuted>) -> UnknownOutcome {
    match verdict {
        Ok(Outcome::UnknownOutcome(unknown)) => unknown,
        other => panic!("not unknown: {other:?}"),
    }
}

fn ok(verdict: Result<Outcome, NotExecuted>) -> ToolResult {
    match verdict {
        Ok(Outcome::Ok(result)) => result,
        other => panic!("not ok: {other:?}"),
    }
}

/// A failure with a chain of causes, which must come back whole.
fn chain() -> Failure {
    Failure {
        kind: FailureKind::ConnectionReset,
        detail: vec!["reading".to_owned(), "reset by peer".to_owned(), "os error 104".to_owned()],
    }
}

/// (a), (b): the charge is committed, the connection closes, the answer is lost.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_unknown_and_a_distinct_call_recovers() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::Lose(chain())]);
    let session = session(&server).await;

    let first = unknown(call(&session, pay().key("order-1")).await);
    assert_eq!(first.cause, Cause::Transport(chain()));
    assert_eq!((first.stage, first.attempts), (Stage::HandedOver, 1));
    assert_eq!((first.tool.as_str(), first.key.as_deref()), ("pay", Some("order-1")));
    for words in ["`pay` may have run", "reset", "Nothing was sent again", "Check the state before"] {
        assert!(first.message.contains(words), "{}", first.message);
    }
    assert_eq!(server.ledger().effects().len(), 1);
    assert_eq!(server.wire().count("tools/call"), 1);

    let second = ok(call(&session, ToolCall::new("echo").arguments(r#"{"text":"hi"}"#)).await);
    assert!(second.json.contains("hi"), "{}", second.json);
    assert_eq!(server.ledger().count("pay"), 1);
    assert_eq!(server.wire().calls("pay"), 1);
    let recovery = ["initialize", "notifications/initialized", "tools/call"];
    assert_eq!(server.wire().methods(2), recovery);
}

/// (c): the server says that the session is over, after the effect. Its words decide nothing.
#[tokio::test(start_paused = true)]
async fn a_session_terminated_error_is_no_invitation() {
    let server = LedgerServer::new().on(
        "tools/call",
        1,
        [Step::Execute, Step::error(-32600, "Session terminated"), Step::Lose(closed())],
    );
    let session = session(&server).await;
    let first = unknown(call(&session, pay()).await);
    let Cause::AnsweredWithError(error) = &first.cause else { panic!("{first:?}") };
    assert_eq!((error.code, error.message.as_str()), (-32600, "Session terminated"));
    assert_eq!(first.stage, Stage::Answered);
    ok(call(&session, ToolCall::new("echo")).await);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// (d): hints authorise nothing.
#[tokio::test(start_paused = true)]
async fn hints_authorise_nothing() {
    let server = LedgerServer::new().annotations("pay", r#"{"readOnlyHint":true,"idempotentHint":true}"#).on(
        "tools/call",
        1,
        [Step::Execute, Step::Lose(closed())],
    );
    let session = session(&server).await;
    let tools = session.list_tools().await.unwrap().unwrap();
    let pay_tool = tools.iter().find(|tool| tool.name == "pay").unwrap();
    assert!(pay_tool.json.contains(r#""idempotentHint":true"#), "{}", pay_tool.json);

    unknown(call(&session, pay()).await);
    ok(call(&session, ToolCall::new("echo")).await);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// (e): a deadline after the hand-over; the server is told once, and the late answer is kept.
#[tokio::test(start_paused = true)]
async fn a_deadline_after_the_hand_over_is_unknown() {
    let server = LedgerServer::new().on(
        "tools/call",
        1,
        [Step::Execute, Step::Sleep(Duration::from_secs(5)), Step::Answer],
    );
    let session = session(&server).await;
    let begun = Instant::now();
    let first = unknown(call(&session, pay().timeout(Duration::from_secs(2))).await);
    assert_eq!(begun.elapsed().as_secs(), 2);
    assert_eq!((first.cause, first.stage), (Cause::TimedOut, Stage::HandedOver));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(server.wire().count("notifications/cancelled"), 1);
    assert!(matches!(&session.pending().await.unwrap()[..], [pending] if pending.ended));

    let known = session.reconcile(first.call, Duration::from_secs(60)).await.unwrap();
    assert!(matches!(known, Some(Outcome::Ok(_))), "{known:?}");
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    assert_eq!(session.pending().await.unwrap(), []);
}

/// (f): a JSON-RPC error after the effect, whatever its code.
#[tokio::test(start_paused = true)]
async fn no_error_code_proves_anything() {
    for code in [-32700, -32600, -32601, -32602, -32603, -32000, -32042, 404] {
        let server =
            LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::error(code, "never ran, honest")]);
        let session = session(&server).await;
        let first = unknown(call(&session, pay()).await);
        assert!(matches!(&first.cause, Cause::AnsweredWithError(error) if error.code == code), "{first:?}");
        assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    }
}

/// (g): no connection, no call.
#[tokio::test(start_paused = true)]
async fn what_could_not_connect_did_not_run() {
    let refused = Failure { kind: FailureKind::ConnectionRefused, ..chain() };
    let refuse = |server: LedgerServer, nth| server.on_connect(nth, [ConnectStep::Refuse(refused.clone())]);
    let server = (1..=3).fold(LedgerServer::new(), refuse);
    let session = session(&server).await;
    let verdict = call(&session, pay()).await;
    assert_eq!(verdict, Err(NotExecuted::ConnectFailed(refused)));
    assert_eq!((server.ledger().effects().len(), server.wire().count("tools/call")), (0, 0));
    assert_eq!(server.wire().connects(), 3);
}

/// (h): what the server answers passes through untouched.
#[tokio::test(start_paused = true)]
async fn ordinary_answers_pass_through_verbatim() {
    let result = r#"{"content":[{"type":"text","text":"\ud83d é"}],"structuredContent":{"n":1915883588174806058,"x":1.0,"z":-0,"e":1e400}}"#;
    let server = LedgerServer::new().on_tool("echo", 1, [Step::AnswerWith(result.to_owned())]);
    let session = session(&server).await;
    let first = ok(call(&session, ToolCall::new("echo")).await);
    assert_eq!(first.json, result);
    assert_eq!((first.attempts, first.warnings.len()), (1, 0));

    let failed = call(&session, ToolCall::new("fail")).await;
    assert!(
        matches!(&failed, Ok(Outcome::ToolError(result)) if result.json.contains(r#""isError":true"#)),
        "{failed:?}"
    );
    assert_eq!(server.wire().connects(), 1);
}

/// (i): a list is read again after a loss; it has no effects.
#[tokio::test(start_paused = true)]
async fn a_list_is_read_again_after_a_loss() {
    let server = LedgerServer::new().page_size(2).on("tools/list", 2, [Step::Lose(reset())]);
    let session = session(&server).await;
    let tools = session.list_tools().await.unwrap().unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.dedup();
    assert!(names.len() == tools.len() && names.contains(&"pay"), "{names:?}");
    assert_eq!(server.wire().connects(), 2);
    assert_eq!(server.ledger().effects().len(), 0);
}

/// (j): cancelled before the hand-over: it did not run. After it: nobody knows.
#[tokio::test(start_paused = true)]
async fn a_cancel_tells_before_and_after_the_hand_over() {
    let server = LedgerServer::new().on_connect(1, [ConnectStep::Sleep(Duration::from_secs(10))]).on_tool(
        "pay",
        1,
        [Step::Execute],
    );
    let session = session(&server).await;

    let early = tokio::spawn({
        let session = session.clone();
        async move { call(&session, pay()).await }
    });
    let id = pending(&session, Stage::Waiting).await;
    assert!(session.cancel(id).await.unwrap());
    let verdict = early.await.unwrap();
    assert!(
        matches!(&verdict, Err(NotExecuted::NotSent(failure)) if failure.kind == FailureKind::Cancelled),
        "{verdict:?}"
    );
    assert!(!session.cancel(id).await.unwrap());

    let late = tokio::spawn({
        let session = session.clone();
        async move { call(&session, pay()).await }
    });
    let id = pending(&session, Stage::HandedOver).await;
    assert!(session.cancel(id).await.unwrap());
    let verdict = unknown(late.await.unwrap());
    assert_eq!((verdict.call, verdict.cause), (id, Cause::Cancelled));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(server.wire().count("notifications/cancelled"), 1);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// The one pending call, once it has come so far.
async fn pending(session: &Session, stage: Stage) -> CallId {
    for _ in 0..100_000 {
        if let [pending] = &session.pending().await.unwrap()[..]
            && pending.stage == stage
        {
            return pending.call;
        }
        sleep(Duration::from_millis(1)).await;
    }
    panic!("no pending call is {stage:?}")
}

/// (k): three in flight when the server dies: each is told, at once.
#[tokio::test(start_paused = true)]
async fn three_calls_in_flight_are_told_at_once() {
    let server = LedgerServer::new()
        .on_tool("pay", 1, [Step::Execute])
        .on_tool("pay", 2, [Step::Execute])
        .on_tool("pay", 3, [Step::Execute, Step::Sleep(Duration::from_secs(1)), Step::Lose(chain())]);
    let session = session(&server).await;
    let begun = Instant::now();
    let (a, b, c) = tokio::join!(call(&session, pay()), call(&session, pay()), call(&session, pay()));
    assert_eq!(begun.elapsed().as_secs(), 1);
    let mut ids: Vec<_> = [a, b, c]
        .map(|verdict| {
            let unknown = unknown(verdict);
            assert_eq!(unknown.cause, Cause::Transport(chain()));
            unknown.call
        })
        .into();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (3, 3));
}

/// Proof that nothing left allows one more attempt, on a fresh connection where the old one is closed.
#[tokio::test(start_paused = true)]
async fn what_provably_never_left_is_sent_once_more() {
    let server = LedgerServer::new().on(
        "tools/call",
        1,
        [Step::FailSend(SendError::NotSent(closed())), Step::Lose(closed())],
    );
    let session = session(&server).await;
    let result = ok(call(&session, pay()).await);
    assert_eq!(result.attempts, 2);
    assert_eq!((server.ledger().count("pay"), server.wire().connects()), (1, 2));
}

/// A `send` that never returns: the deadline ends the call all the same, and others go on.
#[tokio::test(start_paused = true)]
async fn a_send_that_never_returns_ends_by_the_deadline() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::HangSend]);
    let session = session(&server).await;
    let hung = tokio::spawn({
        let session = session.clone();
        async move { call(&session, pay().timeout(Duration::from_secs(2))).await }
    });
    pending(&session, Stage::HandingOver).await;
    ok(call(&session, ToolCall::new("echo")).await);
    let verdict = unknown(hung.await.unwrap());
    assert_eq!((verdict.cause, verdict.stage), (Cause::TimedOut, Stage::HandingOver));
    ok(call(&session, ToolCall::new("echo")).await);
}

/// Closing tells every call at once, sends nothing afterwards, and refuses the next.
#[tokio::test(start_paused = true)]
async fn closing_tells_every_call() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::Execute]);
    let session = session(&server).await;
    let in_flight = tokio::spawn({
        let session = session.clone();
        async move { call(&session, pay()).await }
    });
    pending(&session, Stage::HandedOver).await;
    let begun = Instant::now();
    session.close().await.unwrap();
    assert_eq!(unknown(in_flight.await.unwrap()).cause, Cause::Closed);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(call(&session, pay()).await, Err(NotExecuted::Closed));
    assert_eq!(server.wire().closes(), 1);
    assert_eq!(server.wire().count("notifications/cancelled"), 0);
}

/// A reconnect sends the handshake and nothing else.
#[tokio::test(start_paused = true)]
async fn a_reconnect_sends_nothing_but_the_handshake() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::Execute]);
    let session = session(&server).await;
    let in_flight = tokio::spawn({
        let session = session.clone();
        async move { call(&session, pay()).await }
    });
    pending(&session, Stage::HandedOver).await;
    let introduced = session.reconnect().await.unwrap().unwrap();
    assert_eq!(introduced.protocol_version, "2025-11-25");
    assert_eq!(unknown(in_flight.await.unwrap()).cause, Cause::SessionReplaced);
    assert_eq!(server.wire().methods(2), ["initialize", "notifications/initialized"]);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// A call that became a task before the connection was lost: its result is asked for under the task's id,
/// on a new connection, and the tool runs once.
#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_fetched_after_a_loss() {
    let task = r#"{"task":{"taskId":"t-1","status":"working","ttl":60000}}"#;
    let done = r#"{"content":[{"type":"text","text":"done"}]}"#;
    let server = LedgerServer::new()
        .on("tools/call", 1, [Step::Execute, Step::AnswerWith(task.to_owned())])
        .on("tasks/result", 1, [Step::Lose(reset())])
        .on("tasks/result", 2, [Step::sleep(500), Step::AnswerWith(done.to_owned())]);
    let session = session(&server).await;
    let lost = unknown(call(&session, pay().task(Duration::from_secs(60))).await);
    assert_eq!((lost.cause, lost.stage, lost.attempts), (Cause::Transport(reset()), Stage::Answering, 1));

    let known = session.reconcile(lost.call, Duration::from_secs(10)).await.unwrap();
    let Some(Outcome::Ok(result)) = known else { panic!("not known: {known:?}") };
    assert_eq!((result.json.as_str(), result.attempts), (done, 1));
    assert_eq!(session.pending().await.unwrap(), []);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    assert_eq!(server.wire().count("tasks/result"), 2);
    assert_eq!(server.violations(), Vec::<String>::new());
}
