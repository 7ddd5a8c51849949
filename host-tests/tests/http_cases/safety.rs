//! What a server or a URL could make a client do, and does not.

use host_tests::host::http::Origin;
use host_tests::ledger::http::{End, Reply, Step};
use host_tests::{FailureKind, HandshakeFailure, Http, NotExecuted, Resend};

use crate::{call, ok, over, paid, paid_with, pay, refused, server};

/// Section 3, row 10: a redirect is never followed with the POST, wherever it leads.
#[tokio::test]
async fn a_redirect_of_a_call_is_not_followed() {
    for status in [300, 301, 302, 303, 307, 308] {
        let other = server().await;
        for to in [other.url(), "/elsewhere".to_owned(), "//".to_owned()] {
            let server = server().await.on_tool("pay", 1, [Step::Respond(Reply::redirect(status, &to))]);
            // Also where the host allows it.
            let other_origin = Origin::of(&other.url()).expect("it is a URL");
            let http = Http::to(&server.url()).expect("it is a URL").and(other_origin);
            let session = over(http, &server.url(), |_| {}).await;
            assert_eq!(refused(&call(&session, pay()).await).status, status);
            let traffic = server.traffic();
            assert!(traffic.requests().all(|(_, request)| request.target == "/mcp"), "{traffic:?}");
            assert_eq!((traffic.calls("pay").len(), server.ledger().count("pay")), (1, 0));
        }
        assert_eq!(other.traffic().connections(), 0);
    }
}

/// Nor a redirect of anything else: of the handshake, a GET or a DELETE.
#[tokio::test]
async fn a_redirect_of_anything_else_is_not_followed() {
    let other = server().await;
    let redirect = || [Step::Respond(Reply::redirect(307, &other.url()))];
    let server = server().await.always_http("GET", redirect()).always_http("DELETE", redirect());
    let server =
        server.on("notifications/cancelled", 1, redirect()).on_tool("slow", 1, [Step::End(End::Hang)]);
    let both =
        Http::to(&server.url()).expect("it is a URL").and(Origin::of(&other.url()).expect("it is a URL"));
    let session = over(both.clone(), &server.url(), |_| {}).await;
    let slow = host_tests::ToolCall::new("slow").timeout(std::time::Duration::from_millis(50));
    crate::unknown(&call(&session, slow).await);
    session.close().await.expect("the instance lives");
    for (http, count) in [("GET", 1), ("DELETE", 1)] {
        crate::until(&server, |traffic| traffic.with(http).len() == count).await;
    }
    crate::until(&server, |traffic| traffic.posts("notifications/cancelled").len() == 1).await;

    let begins = crate::server().await.always("initialize", redirect());
    let session = over(both, &begins.url(), |options| options.recovery.attempts = 1).await;
    assert!(call(&session, pay()).await.is_err());
    assert_eq!(other.traffic().connections(), 0);
}

/// A redirect proves that the call did not run; a caller who has refused calls sent again has it sent to the same
/// place.
#[tokio::test]
async fn a_redirected_call_that_is_sent_again_goes_where_it_went_before() {
    let server = server().await;
    let redirect = Step::Respond(Reply::redirect(308, &server.elsewhere()));
    let paid = paid_with(server, |options| options.resend = Resend::Refused, pay(), [redirect]).await;
    assert_eq!(ok(&paid.verdict).attempts, 2);
    let traffic = paid.server.traffic();
    assert!(traffic.requests().all(|(_, request)| request.target == "/mcp"), "{traffic:?}");
    assert_eq!((traffic.calls("pay").len(), paid.server.ledger().count("pay")), (2, 1));
}

/// An origin that the host does not allow: nothing is sent, not even a connection made.
#[tokio::test]
async fn what_the_host_does_not_allow_is_not_reached() {
    let (server, other) = (server().await, server().await);
    let https = server.url().replace("http:", "https:");
    for allowed in [Http::default(), Http::to(&other.url()).expect("a URL"), Http::to(&https).expect("a URL")]
    {
        let session = over(allowed, &server.url(), |options| options.recovery.attempts = 1).await;
        let verdict = call(&session, pay()).await;
        let Err(NotExecuted::ConnectFailed(failure)) = &verdict else { panic!("{verdict:?}") };
        assert_eq!(failure.kind, FailureKind::AccessDenied);
    }
    assert_eq!((server.traffic().connections(), other.traffic().connections()), (0, 0));
}

/// A session's id that is no visible ASCII gets into no request: there is no session then.
#[tokio::test]
async fn a_session_id_that_is_no_sound_header_is_not_repeated() {
    let long = "x".repeat(5_000);
    for id in ["a b", "s\u{e9}", "", "a\tb", &long] {
        let reply = Reply::json("$answer").header("mcp-session-id", id);
        let server = server().await.sessionless().on("initialize", 1, [Step::Respond(reply)]);
        let session = crate::open(&server).await;
        ok(&call(&session, pay()).await);
        session.close().await.expect("the instance lives");
        let traffic = server.traffic();
        assert!(
            traffic.requests().all(|(_, request)| request.header("mcp-session-id").is_none()),
            "{traffic:?}"
        );
        assert_eq!((traffic.calls("pay").len(), server.ledger().count("pay")), (1, 1));
    }
}

/// Only the answer to `initialize` names the session.
#[tokio::test]
async fn a_session_id_that_comes_later_is_not_used() {
    let reply = Reply::json("$answer").header("mcp-session-id", "other");
    let paid = paid([Step::Execute, Step::Respond(reply)]).await;
    ok(&paid.once(1).verdict);
    paid.goes_on().await;
    let traffic = paid.server.traffic();
    let ids: Vec<_> = traffic.calls("pay").iter().map(|call| call.header("mcp-session-id")).collect();
    assert_eq!(ids, [Some("session-1"); 2]);
}

/// Control bytes in a header are no HTTP: the handshake fails, and no call is sent.
#[tokio::test]
async fn control_bytes_in_a_servers_header_end_the_handshake() {
    for id in ["a\u{1}b", "a\rx-evil: b", "a\0b", "a\u{1b}[0m", "a\u{7f}"] {
        let reply = Reply::json("$answer").header("mcp-session-id", id);
        let server = server().await.sessionless().always("initialize", [Step::Respond(reply)]);
        let http = Http::to(&server.url()).expect("it is a URL");
        let session = over(http, &server.url(), |options| options.recovery.attempts = 1).await;
        let verdict = call(&session, pay()).await;
        let sent = server.traffic();
        let mut all = sent.requests().flat_map(|(_, request)| &request.headers);
        assert!(all.all(|(name, _)| name != "x-evil" && name != "mcp-session-id"), "{sent:?}");
        assert!(
            matches!(&verdict, Err(NotExecuted::HandshakeFailed(HandshakeFailure { failure: Some(_), .. }))),
            "{id:?}: {verdict:?}"
        );
        assert_eq!((sent.calls("pay").len(), server.ledger().count("pay")), (0, 0));
    }
}

/// Two headers of that name make no id that anybody gave.
#[tokio::test]
async fn of_two_session_ids_none_is_used() {
    let reply = Reply::json("$answer").header("mcp-session-id", "a").header("mcp-session-id", "b");
    let server = server().await.sessionless().on("initialize", 1, [Step::Respond(reply)]);
    let session = crate::open(&server).await;
    ok(&call(&session, pay()).await);
    let traffic = server.traffic();
    assert!(traffic.requests().all(|(_, request)| request.header("mcp-session-id").is_none()), "{traffic:?}");
}

/// What a tool's name or its arguments hold stays in the body: it adds no header and no line.
#[tokio::test]
async fn nothing_of_a_call_gets_into_the_head_of_its_request() {
    let evil = "pay\r\nx-evil: 1\r\n\r\nPOST /mcp HTTP/1.1";
    for modern in [false, true] {
        let server = server().await;
        let server = if modern { server.modern() } else { server };
        let session = crate::open(&server).await;
        let verdict = call(&session, host_tests::ToolCall::new(evil)).await;
        crate::unknown(&verdict);
        let traffic = server.traffic();
        assert_eq!(traffic.calls(evil).len(), 1, "{traffic:?}");
        assert!(traffic.requests().all(|(_, request)| request.header("x-evil").is_none()), "{traffic:?}");
    }
}

/// A URL of the same server that holds a password is none: it would show wherever the URL does.
#[tokio::test]
async fn a_password_in_a_url_is_not_sent_nor_told() {
    let server = server().await;
    let url = server.url().replace("http://", "http://me:hush@");
    let http = Http::to(&server.url()).expect("it is a URL");
    let session = over(http, &url, |options| options.recovery.attempts = 1).await;
    let verdict = call(&session, pay()).await;
    let Err(NotExecuted::ConnectFailed(failure)) = &verdict else { panic!("{verdict:?}") };
    assert_eq!(failure.kind, FailureKind::Malformed);
    assert!(!format!("{verdict:?}").contains("hush"), "{verdict:?}");
    assert_eq!(server.traffic().connections(), 0);
}

/// 1xx before a response is no response: the call is answered by what follows.
#[tokio::test]
async fn an_interim_response_is_none() {
    let interim = Step::raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n$answer";
    let paid = paid([Step::Execute, interim, Step::raw(answer), Step::End(End::Close)]).await;
    ok(&paid.once(1).verdict);
}
