//! What becomes of a session at its server: begun once, ended at the end by whoever began it.

use host_tests::ledger::http::{End, Reply, Step};
use host_tests::{Cause, Initialised, Ownership};
use tokio::time::timeout;

use crate::{LONG, call, ended, ok, open, open_with, paid, pay, server, unknown, until};

/// The server is told that a session is over, once, and by its id.
#[tokio::test]
async fn a_session_is_ended_at_the_server_when_it_is_closed() {
    let server = server().await;
    let session = open(&server).await;
    ok(&call(&session, pay()).await);
    session.close().await.expect("the instance lives");
    until(&server, |traffic| !traffic.with("DELETE").is_empty()).await;
    let traffic = server.traffic();
    let ends = traffic.with("DELETE");
    assert_eq!((ends.len(), ends[0].header("mcp-session-id")), (1, Some("session-1")));
    assert_eq!(ends[0].header("mcp-protocol-version"), Some("2025-11-25"));
    assert!(matches!(call(&session, pay()).await, Err(host_tests::NotExecuted::Closed)));
    assert_eq!(server.ledger().count("pay"), 1);
}

/// A server that does not answer the DELETE, or has none, holds nobody up.
#[tokio::test]
async fn what_the_server_makes_of_the_end_is_its_own_affair() {
    for step in [Step::status(405), Step::status(404), Step::End(End::Reset), Step::End(End::Hang)] {
        let server = server().await.always_http("DELETE", [step]);
        let session = open(&server).await;
        timeout(LONG, session.close()).await.expect("no hang").expect("the instance lives");
        until(&server, |traffic| !traffic.with("DELETE").is_empty()).await;
        let again = session
            .client()
            .session(server.url(), session.client().default_options().await.expect("it lives"));
        ok(&call(&again.await.expect("it lives"), pay()).await);
        assert_eq!(server.traffic().with("DELETE").len(), 1);
    }
}

/// B047, microsoft/agent-framework#5206: a session that its caller manages is not ended, by a loss or by `close`.
#[tokio::test]
async fn a_session_that_its_caller_manages_is_not_ended() {
    let managed = |options: &mut host_tests::Options| options.ownership = Ownership::CallerManaged;
    let server = server().await;
    let session = open_with(&server, managed).await;
    ok(&call(&session, pay()).await);
    session.reconnect().await.expect("the instance lives").expect("it connects");
    session.close().await.expect("the instance lives");
    // Somebody else's session goes the whole way meanwhile.
    let other = open(&server).await;
    other.close().await.expect("the instance lives");
    until(&server, |traffic| !traffic.with("DELETE").is_empty()).await;
    let traffic = server.traffic();
    let ended: Vec<_> = traffic.with("DELETE").iter().map(|end| end.header("mcp-session-id")).collect();
    assert_eq!(ended, [Some("session-3")]);
}

/// B047: one that was initialised by somebody else gets no handshake and no end.
#[tokio::test]
async fn a_session_that_was_initialised_gets_calls_and_nothing_else() {
    let server = server().await.sessionless();
    let initialised = Initialised { protocol_version: "2025-11-25".to_owned(), first_request: 1_000 };
    let session = open_with(&server, |options| options.initialised = Some(initialised)).await;
    ok(&call(&session, pay()).await);
    session.close().await.expect("the instance lives");
    let traffic = server.traffic();
    let requests: Vec<_> = traffic.requests().map(|(_, request)| (request.rpc(), request.id())).collect();
    assert_eq!(requests, [(Some("tools/call".to_owned()), Some(1_000))]);
    assert_eq!(server.ledger().count("pay"), 1);
}

/// 429 and 503 speak of one call, and not of the connection; when to come again is passed on.
#[tokio::test]
async fn a_server_that_is_busy_hurts_one_call() {
    for status in [429, 503] {
        let paid = paid([Step::Respond(Reply::status(status).header("retry-after", "7"))]).await;
        let Cause::Refused(refusal) = &paid.once(0).unknown().cause else { panic!("{:?}", paid.verdict) };
        assert_eq!((refusal.status, refusal.retry_after.as_deref()), (status, Some("7")));
        paid.goes_on().await;
    }
}

/// B052, rmcp: when a session was replaced, the calls in flight got an error that no server had sent. And the
/// session that is replaced is ended.
#[tokio::test]
async fn a_session_that_is_replaced_leaves_its_calls_unknown_and_is_ended() {
    let server = server().await.on_tool("pay", 1, [Step::Execute, Step::End(End::Hang)]);
    let session = open(&server).await;
    let paying = session.call_tool(pay());
    until(&server, |traffic| !traffic.calls("pay").is_empty()).await;
    session.reconnect().await.expect("the instance lives").expect("it connects");
    assert_eq!(unknown(&ended(paying).await).cause, Cause::SessionReplaced);
    until(&server, |traffic| !traffic.with("DELETE").is_empty()).await;
    assert_eq!(server.traffic().with("DELETE")[0].header("mcp-session-id"), Some("session-1"));
    assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (1, 1));
    ok(&call(&session, pay()).await);
}

/// B040, mastra-ai/mastra#20526 and #20530: calls that failed together began a session each.
#[tokio::test]
async fn many_calls_that_find_no_session_begin_one() {
    let server = server().await;
    let session = open(&server).await;
    server.end_sessions();
    assert_eq!(crate::refused(&call(&session, pay()).await).status, 404);
    let calls = (0..8).map(|_| ended(session.call_tool(pay())));
    futures::future::join_all(calls).await.iter().for_each(|verdict| _ = ok(verdict));
    assert_eq!(server.traffic().posts("initialize").len(), 2);
    assert_eq!(server.ledger().count("pay"), 8);
}
