//! Sessions over HTTP.

use host_tests::ledger::http::{End, HttpLedger, Reply, Step};
use host_tests::{Cause, NotExecuted, Outcome, Session, ToolCall};
use tokio::time::timeout;

use crate::{LONG, server, with};

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

async fn call(session: &Session, call: ToolCall) -> Result<Outcome, NotExecuted> {
    timeout(LONG, session.call_tool(call)).await.expect("no hang").expect("the instance lives")
}

/// What became of a `pay` whose script is `steps`.
async fn paid(steps: impl Into<Vec<Step>>) -> (HttpLedger, Result<Outcome, NotExecuted>) {
    let server = server().await.on_tool("pay", 1, steps);
    let verdict = call(&with(&server).await, pay()).await;
    assert_eq!(server.violations(), [""; 0]);
    assert_eq!(server.traffic().calls("pay").len(), 1);
    (server, verdict)
}

#[tokio::test]
async fn a_session_connects_lists_calls_and_ends() {
    let server = server().await;
    let session = with(&server).await;
    let tools = session.list_tools().await.expect("the instance lives").expect("they are listed");
    assert!(tools.iter().any(|tool| tool.name == "pay"), "{tools:?}");
    let verdict = call(&session, pay()).await;
    assert!(matches!(&verdict, Ok(Outcome::Ok(result)) if result.json.contains("charged")), "{verdict:?}");
    let verdict = call(&session, ToolCall::new("fail")).await;
    assert!(matches!(verdict, Ok(Outcome::ToolError(_))), "{verdict:?}");
    session.close().await.expect("the instance lives");
    timeout(LONG, server.until(|traffic| !traffic.with("DELETE").is_empty())).await.expect("it is told");

    assert_eq!(server.ledger().count("pay"), 1);
    assert_eq!(server.violations(), [""; 0]);
    let traffic = server.traffic();
    for (_, request) in traffic.requests() {
        assert_eq!(request.header("x-api-key"), Some("hush"), "{request:?}");
    }
    let one_each = ["initialize", "notifications/initialized", "tools/list"];
    assert!(one_each.iter().all(|method| traffic.posts(method).len() == 1), "{traffic:?}");
    // The host's part of sending once: a fresh connection for each.
    assert_eq!(traffic.connections(), traffic.requests().count());
}

#[tokio::test]
async fn calls_overlap() {
    let server = server().await;
    let session = with(&server).await;
    let slow = session.call_tool(ToolCall::new("slow").arguments(r#"{"ms":1500}"#));
    let verdict = call(&session, pay()).await;
    assert!(matches!(verdict, Ok(Outcome::Ok(_))), "{verdict:?}");
    assert!(server.ledger().count("slow") <= 1);
    let slow = timeout(LONG, slow).await.expect("no hang").expect("the instance lives");
    assert!(matches!(slow, Ok(Outcome::Ok(_))), "{slow:?}");
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_is_unknown_at_once_and_made_once() {
    for end in [End::Close, End::Reset] {
        for steps in [vec![Step::Execute, Step::End(end)], vec![Step::Execute, Step::Open, Step::End(end)]] {
            let (server, verdict) = paid(steps).await;
            let Ok(Outcome::UnknownOutcome(unknown)) = &verdict else { panic!("{verdict:?}") };
            assert!(matches!(unknown.cause, Cause::Transport(_)), "{unknown:?}");
            assert_eq!(server.ledger().count("pay"), 1);
        }
    }
}

#[tokio::test]
async fn no_redirect_is_followed() {
    for status in [301, 302, 303, 307, 308] {
        let server = server().await;
        let elsewhere = server.elsewhere();
        let server = server.on_tool("pay", 1, [Step::Respond(Reply::redirect(status, &elsewhere))]);
        let verdict = call(&with(&server).await, pay()).await;
        assert!(matches!(verdict, Err(NotExecuted::Refused(_))), "{status}: {verdict:?}");
        let traffic = server.traffic();
        assert!(traffic.requests().all(|(_, request)| request.target == "/mcp"), "{traffic:?}");
        assert_eq!((traffic.calls("pay").len(), server.ledger().effects().len()), (1, 0));
    }
}
