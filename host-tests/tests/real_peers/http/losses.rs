//! Calls that are given up, and servers that die.

use std::time::Duration;

use futures::join;
use host_tests::{Cause, NotExecuted, Session};
use serde_json::{Value, json};

use super::bench::{Bench, Era, call, calling, ended, lost, made, not_executed, ok, text_of, unknown};

/// The one call that was given up is cancelled once, by its own id; in the modern era by the end of its own
/// connection, and not by a message.
async fn cancelled_once(bench: &Bench) {
    if bench.era == Era::Modern {
        return assert_eq!(bench.sent("notifications/cancelled"), []);
    }
    let cancels = bench.sent_are("notifications/cancelled", 1).await;
    let [cancel] = &cancels[..] else { panic!("not one cancel: {cancels:#?}") };
    let cancel: Value = serde_json::from_str(&cancel.text()).expect("JSON");
    assert_eq!(cancel["params"]["requestId"].as_u64(), bench.sent("tools/call")[0].id());
}

async fn cancel_all(session: &Session) {
    for pending in ended(session.pending()).await {
        assert!(ended(session.cancel(pending.call)).await, "{pending:?}");
    }
}

pub(super) async fn cancelled_call_is_unknown(bench: Bench) {
    let session = bench.session().await;
    let give_up = async {
        bench.sent_are("tools/call", 1).await;
        cancel_all(&session).await;
    };
    let (verdict, ()) = join!(call(&session, bench.peer.takes(60_000)), give_up);
    let unknown = unknown(verdict);
    assert_eq!(unknown.cause, Cause::Cancelled, "{unknown:?}");
    ended(session.list_tools()).await.expect("the session lives");
    cancelled_once(&bench).await;
    bench.assert_calls(1);
}

/// The server has answered long before the deadline; its answer was held back on the way.
pub(super) async fn late_answer_makes_it_known(mut bench: Bench) {
    let gate = bench.gate().await;
    let session = bench.session().await;
    ended(session.reconnect()).await.expect("connected");
    let (tool, text) = bench.peer.succeeds(1);
    let unknown = unknown(made(&session, calling(tool).timeout(Duration::from_millis(300))).await);
    assert_eq!(unknown.cause, Cause::TimedOut, "{unknown:?}");
    bench.effects_are(1).await;
    gate.open();
    let known = ended(session.reconcile(unknown.call, Duration::from_secs(20))).await;
    assert_eq!(text_of(&ok(Ok(known.expect("it is remembered")))), text);
    bench.effects_are(1).await;
    bench.assert_calls(1);
    cancelled_once(&bench).await;
}

/// It ends itself after the effect; where there is no such tool it is killed with the call in flight.
pub(super) async fn server_that_dies_leaves_it_unknown(mut bench: Bench) {
    let session = bench.session().await;
    if bench.peer.keeps_a_ledger() {
        lost(call(&session, ("die", json!({}))).await);
    } else {
        let calling = session.call_tool(calling(bench.peer.takes(60_000)));
        bench.sent_are("tools/call", 1).await;
        bench.server.kill().await;
        lost(ended(calling).await);
    }
    bench.effects_are(1).await;
    bench.assert_calls(1);
}

/// Nobody listens where it was, which is proof enough.
pub(super) async fn server_that_is_gone_did_not_execute(mut bench: Bench) {
    // Without the proxy, which would listen.
    let session = bench.session_at(&bench.server.url(), |_| ()).await;
    let (tool, _) = bench.peer.succeeds(1);
    ok(call(&session, tool.clone()).await);
    bench.server.kill().await;
    let reason = not_executed(call(&session, tool).await);
    assert!(matches!(reason, NotExecuted::ConnectFailed(_) | NotExecuted::NotSent(_)), "{reason:?}");
    bench.effects_are(1).await;
}
