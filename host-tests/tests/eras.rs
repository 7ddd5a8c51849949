//! Both eras of MCP, through the component in wasmtime: what goes over the wire before a call does, and what
//! becomes of a call that the server suspends.

use std::time::Duration;

use host_tests::ledger::{LedgerServer, Step};
use host_tests::transport::SendError;
use host_tests::{Cause, FailureKind, NotExecuted, Options, Outcome, Refusal, Runtime, Session, ToolCall};
use tokio::time::{Instant, timeout};

const MODERN: &str = "2026-07-28";

fn modern() -> LedgerServer {
    LedgerServer::new().revisions(&[MODERN])
}

async fn session_with(server: &LedgerServer, change: impl FnOnce(&mut Options)) -> Session {
    let client = Runtime::built().expect("the component loads").client(server.clone());
    let mut options = client.default_options().await.expect("it lives");
    change(&mut options);
    client.session("ledger", options).await.expect("it lives")
}

async fn session(server: &LedgerServer) -> Session {
    session_with(server, |_| {}).await
}

async fn call(session: &Session, call: ToolCall) -> Result<Outcome, NotExecuted> {
    let verdict = timeout(Duration::from_secs(3600), session.call_tool(call)).await;
    verdict.expect("every call ends").expect("the component does not trap")
}

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_asked_and_then_called() {
    let server = modern();
    let session = session(&server).await;
    assert!(matches!(call(&session, pay()).await, Ok(Outcome::Ok(_))));
    assert_eq!(server.wire().methods(1), ["server/discover", "tools/call"]);
    server.lose(host_tests::ledger::reset());
    assert!(matches!(call(&session, pay()).await, Ok(Outcome::Ok(_))));
    assert_eq!(server.wire().methods(2), ["server/discover", "tools/call"]);
    assert_eq!(server.ledger().count("pay"), 2);
    assert_eq!(server.violations(), Vec::<String>::new());
}

/// It is remembered: the next connection begins with `initialize`.
#[tokio::test(start_paused = true)]
async fn an_older_server_is_asked_once() {
    for silent in [false, true] {
        let mut server = LedgerServer::new();
        if silent {
            server = server.always("server/discover", []);
        }
        let session = session(&server).await;
        let begun = Instant::now();
        assert!(matches!(call(&session, pay()).await, Ok(Outcome::Ok(_))));
        assert_eq!(begun.elapsed().as_secs(), if silent { 3 } else { 0 });
        let handshake = ["server/discover", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(server.wire().methods(1), handshake);
        server.lose(host_tests::ledger::reset());
        assert!(matches!(call(&session, pay()).await, Ok(Outcome::Ok(_))));
        assert_eq!(server.wire().methods(2), handshake[1..]);
        assert_eq!(server.violations(), Vec::<String>::new());
    }
}

/// -32001 was an error of the newer revision in its drafts, and is what older servers say of a session that they
/// do not know: it says nothing of a server.
#[tokio::test(start_paused = true)]
async fn an_error_that_servers_of_both_kinds_send_is_of_none() {
    for code in [-32000, -32001, -32002, -32003, -32004, -32601] {
        let error = Step::Error { code, message: "no".into(), data: None };
        let server = LedgerServer::new().always("server/discover", [error]);
        let session = session(&server).await;
        assert!(matches!(call(&session, pay()).await, Ok(Outcome::Ok(_))), "{code}");
        let handshake = ["server/discover", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(server.wire().methods(1), handshake, "{code}");
        assert_eq!(server.ledger().count("pay"), 1, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_caller_says_which_revision() {
    let server = LedgerServer::new();
    let pinned = |options: &mut Options| options.protocol = Some("2025-06-18".to_owned());
    let older = session_with(&server, pinned).await;
    assert!(matches!(call(&older, pay()).await, Ok(Outcome::Ok(_))));
    assert_eq!(server.wire().methods(1)[0], "initialize");

    let newer = session_with(&server, |options| options.protocol = Some(MODERN.to_owned())).await;
    let Err(NotExecuted::HandshakeFailed(failed)) = call(&newer, pay()).await else { panic!("it is older") };
    assert_eq!(failed.error.map(|error| error.code), Some(-32601));
    let unknown = session_with(&server, |options| options.protocol = Some("1".to_owned())).await;
    let Err(NotExecuted::HandshakeFailed(failed)) = call(&unknown, pay()).await else {
        panic!("nobody speaks it")
    };
    assert!(failed.reason.contains("`1`"), "{}", failed.reason);
}

/// P10: what the server said when it refused the handshake comes back whole, once no try is left.
#[tokio::test(start_paused = true)]
async fn a_refused_handshake_keeps_its_refusal() {
    let refusal = Refusal {
        status: 401,
        had_session: false,
        retry_after: None,
        www_authenticate: Some("Bearer".to_owned()),
        body: b"who?".to_vec(),
    };
    for method in ["server/discover", "initialize"] {
        let refused = Step::FailSend(SendError::Refused(refusal.clone()));
        let server = LedgerServer::new().always(method, [refused]);
        let session = session(&server).await;
        let Err(NotExecuted::HandshakeFailed(failed)) = call(&session, pay()).await else {
            panic!("{method}")
        };
        assert_eq!(failed.refusal, Some(refusal.clone()));
        assert_eq!(server.wire().count(method), 3);
        // Fresh credentials, or better times: the next try goes through.
        let refused = Step::FailSend(SendError::Refused(Refusal { status: 503, ..refusal.clone() }));
        let server = LedgerServer::new().on(method, 1, [refused]);
        let session = self::session(&server).await;
        assert!(matches!(call(&session, pay()).await, Ok(Outcome::Ok(_))), "{method}");
    }
}

/// Over HTTP the first message is what connects.
#[tokio::test(start_paused = true)]
async fn a_first_message_that_was_not_sent_is_no_connection() {
    let failure = host_tests::Failure { kind: FailureKind::ConnectionRefused, detail: vec!["no".to_owned()] };
    let not_sent = Step::FailSend(SendError::NotSent(failure.clone()));
    let server = LedgerServer::new().always("server/discover", [not_sent]);
    let session = session(&server).await;
    assert_eq!(call(&session, pay()).await, Err(NotExecuted::ConnectFailed(failure)));
}

/// The server suspends a call twice and wants its own state back, exactly; then it is asked for more.
#[tokio::test(start_paused = true)]
async fn a_suspended_call_goes_on_by_itself() {
    const STATE: &str = r#"{"resultType":"input_required","requestState":"s\u0041"}"#;
    const ASKS: &str = r#"{"resultType":"input_required","requestState":"t","inputRequests":{"a":{"method":"elicitation/create"}}}"#;
    let server = modern()
        .on("tools/call", 1, [Step::AnswerWith(STATE.to_owned())])
        .on("tools/call", 2, [Step::AnswerWith(STATE.to_owned())])
        .on("tools/call", 4, [Step::AnswerWith(ASKS.to_owned())]);
    let session = session(&server).await;
    let Ok(Outcome::Ok(result)) = call(&session, pay()).await else { panic!("it goes on") };
    assert_eq!(result.attempts, 3);
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 3));

    let Ok(Outcome::UnknownOutcome(unknown)) = call(&session, pay()).await else { panic!("it asks") };
    assert_eq!(unknown.cause, Cause::InputRequired(ASKS.to_owned()));
    let given = r#"{"inputResponses":{"a":{"action":"accept","content":{}}},"requestState":"t"}"#;
    assert!(matches!(call(&session, pay().continuation(given)).await, Ok(Outcome::Ok(_))));
    assert_eq!(server.ledger().count("pay"), 2);
    let wrong = call(&session, pay().continuation(r#"{"name":"echo"}"#)).await;
    assert!(matches!(wrong, Err(NotExecuted::InvalidCall(_))), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn a_suspended_call_that_is_lost_is_unknown() {
    let state = Step::AnswerWith(r#"{"resultType":"input_required","requestState":"s"}"#.to_owned());
    let server = modern().on("tools/call", 1, [state]).on(
        "tools/call",
        2,
        [Step::Execute, Step::Lose(host_tests::ledger::reset())],
    );
    let session = session(&server).await;
    let Ok(Outcome::UnknownOutcome(unknown)) = call(&session, pay()).await else { panic!("it was lost") };
    assert_eq!((unknown.attempts, server.wire().calls("pay")), (2, 2));
    assert!(matches!(unknown.cause, Cause::Transport(_)), "{unknown:?}");
    assert_eq!(server.ledger().count("pay"), 1);
}

/// Nobody waits for it any more: one notification, and over HTTP the end of its stream.
#[tokio::test(start_paused = true)]
async fn a_modern_cancel_abandons_the_request() {
    let server = modern();
    let session = session(&server).await;
    let slow = ToolCall::new("slow").arguments(r#"{"ms":5000}"#).timeout(Duration::from_secs(1));
    let Ok(Outcome::UnknownOutcome(unknown)) = call(&session, slow).await else { panic!("it is slow") };
    assert_eq!(unknown.cause, Cause::TimedOut);
    assert_eq!(server.wire().count("notifications/cancelled"), 1);
    assert_eq!(server.wire().abandoned().len(), 1);
}
