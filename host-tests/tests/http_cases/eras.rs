//! B125: of which era a server is, asked over HTTP, whatever it makes of the question.

use host_tests::ledger::http::{End, HttpLedger, Reply, Step};
use host_tests::{HandshakeFailure, Http, NotExecuted};

use crate::{Paid, call, ok, over, pay, server};

/// The JSON-RPC methods that came until the first call ended, in order. The GET is none.
async fn met(server: HttpLedger) -> (Paid, Vec<String>) {
    let http = Http::to(&server.url()).expect("it is a URL");
    let session = over(http, &server.url(), |options| {
        options.recovery.attempts = 1;
        // Half of it is for the question.
        options.timing.connect_ms = 2_000;
    })
    .await;
    let verdict = call(&session, pay()).await;
    let methods = server.traffic().requests().filter_map(|(_, request)| request.rpc()).collect();
    (Paid { server, session, verdict }, methods)
}

const FALLEN_BACK: [&str; 4] = ["server/discover", "initialize", "notifications/initialized", "tools/call"];

fn error(status: u16, id: &str, code: i64) -> Step {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#);
    Step::Respond(Reply::json(body).with_status(status))
}

/// B125, go-sdk, rust-sdk: a server of before 2026-07-28 met a probe that it does not know. It gets `initialize`,
/// once, and the answer that it gave is forgotten.
#[tokio::test]
async fn whatever_an_older_server_makes_of_the_probe_it_gets_initialize_once() {
    let text = Reply::status(400).header("content-type", "text/plain").body("what?");
    let probed = [
        vec![Step::Respond(text)],
        vec![Step::status(404)],
        vec![Step::status(405)],
        vec![Step::status(500)],
        vec![Step::status(202)],
        vec![Step::status(200)],
        vec![error(200, "$id", -32601)],
        vec![error(404, "$id", -32601)],
        // Older servers say so of a session that they do not know.
        vec![error(400, "$id", -32001)],
        vec![error(404, "null", -32001)],
        vec![error(400, "null", -32600)],
        vec![Step::say(r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#)],
        vec![Step::Respond(Reply::json("what?"))],
        vec![Step::Open, Step::Finish],
        // It says nothing at all.
        vec![Step::End(End::Hang)],
    ];
    for steps in probed {
        let discovers = format!("{steps:?}");
        let (paid, methods) = met(discovering(steps).await).await;
        ok(&paid.once(1).verdict);
        assert_eq!(methods, FALLEN_BACK, "{discovers}");
        // What it is is remembered.
        paid.session.reconnect().await.expect("the instance lives").expect("it connects");
        assert_eq!(paid.server.traffic().posts("server/discover").len(), 1, "{discovers}");
    }
}

/// A server of the older kind, which does `steps` when it is asked what it speaks.
async fn discovering(steps: Vec<Step>) -> HttpLedger {
    // Of the newer kind too: else its own checks come before all rules.
    let both = server().await.revisions(&["2025-11-25", "2026-07-28"]);
    both.always("server/discover", steps)
}

/// B125: one that ends the connection on it gets a fresh one, which begins with `initialize`.
#[tokio::test]
async fn a_server_that_breaks_the_connection_on_the_probe_gets_initialize_too() {
    for end in [End::Close, End::Reset] {
        let (paid, methods) = met(discovering(vec![Step::End(end)]).await).await;
        ok(&paid.once(1).verdict);
        assert_eq!(methods, FALLEN_BACK);
    }
}

/// B125: an error that only a modern server has is no reason to fall back.
#[tokio::test]
async fn an_error_of_a_modern_server_is_no_reason_to_fall_back() {
    for code in [-32020, -32021, -32022] {
        for status in [200, 400] {
            for id in ["$id", "null"] {
                let (paid, methods) = met(discovering(vec![error(status, id, code)]).await).await;
                let Err(NotExecuted::HandshakeFailed(HandshakeFailure { error, .. })) = &paid.verdict else {
                    panic!("{:?}", paid.verdict)
                };
                assert_eq!(error.as_ref().map(|error| error.code), Some(code));
                assert_eq!(methods, ["server/discover"], "{code} {status} {id}");
            }
        }
    }
}

/// B125: nor is a refusal that speaks of who asks, or of the time.
#[tokio::test]
async fn a_refusal_that_says_nothing_of_the_server_is_no_reason_to_fall_back() {
    for status in [401, 403, 429, 503] {
        let (paid, methods) = met(discovering(vec![Step::status(status)]).await).await;
        let Err(NotExecuted::HandshakeFailed(HandshakeFailure { refusal, .. })) = &paid.verdict else {
            panic!("{:?}", paid.verdict)
        };
        assert_eq!(refusal.as_ref().map(|refusal| refusal.status), Some(status));
        assert_eq!(methods, ["server/discover"]);
    }
}

/// B124: a server that speaks both is spoken to in the newer revision, without a session.
#[tokio::test]
async fn a_server_of_both_kinds_is_spoken_to_in_the_newer_one() {
    let (paid, methods) = met(server().await.revisions(&["2025-11-25", "2026-07-28"])).await;
    ok(&paid.once(1).verdict);
    assert_eq!(methods, ["server/discover", "tools/call"]);
    let traffic = paid.server.traffic();
    assert!(traffic.requests().all(|(_, request)| request.header("mcp-session-id").is_none()), "{traffic:?}");
}

/// B123, googleapis/mcp-toolbox#3834: no call goes out before a handshake is done.
#[tokio::test]
async fn nothing_is_called_where_no_handshake_was_done() {
    for step in [Step::status(500), error(200, "$id", -32601), Step::Respond(Reply::json("{}"))] {
        let server = server().await.always("initialize", [step]);
        let (paid, _) = met(server).await;
        assert!(matches!(paid.verdict, Err(NotExecuted::HandshakeFailed(_))), "{:?}", paid.verdict);
        assert_eq!((paid.server.traffic().calls("pay").len(), paid.server.ledger().count("pay")), (0, 0));
    }
}

/// B032, joshrotenberg/tower-mcp#999: a `notifications/initialized` that is not answered froze everything.
#[tokio::test]
async fn a_notification_that_is_not_answered_holds_calls_up_for_a_moment_only() {
    let server = server().await.on("notifications/initialized", 1, [Step::End(End::Hang)]);
    let (paid, _) = met(server).await;
    ok(&paid.once(1).verdict);
}
