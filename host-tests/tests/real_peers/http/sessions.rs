//! Sessions that end, and others in their place.

use host_tests::{NotExecuted, Resend};

use super::bench::{Bench, call, ended, not_executed, ok, text_of};
use super::raw;

/// Ends the client's session at the server, as an operator or a timeout might.
async fn end_session(bench: &Bench) {
    let calls = bench.sent("tools/call");
    let id = calls.last().and_then(|call| call.header("mcp-session-id")).expect("a session");
    raw::end_session(&bench.server, id).await;
}

pub(super) async fn reconnect_sends_the_handshake_and_nothing_else(bench: Bench) {
    let session = bench.session().await;
    let (tool, text) = bench.peer.succeeds(1);
    assert_eq!(text_of(&ok(call(&session, tool).await)), text);
    let before = bench.proxy.passed().len();
    ended(session.reconnect()).await.expect("connected");
    let passed = bench.proxy.passed();
    let sent: Vec<String> = passed[before..].iter().filter_map(|passed| passed.request.rpc()).collect();
    assert_eq!(sent, bench.era.handshake());
    let (tool, text) = bench.peer.succeeds(2);
    assert_eq!(text_of(&ok(call(&session, tool).await)), text);
    bench.effects_are(2).await;
    bench.assert_calls(2);
}

/// By the strict defaults the refusal is proof, and is told; nothing is sent again.
pub(super) async fn ended_session_is_refused_and_the_next_call_begins_another(bench: Bench) {
    let session = bench.session().await;
    ok(call(&session, bench.peer.succeeds(1).0).await);
    end_session(&bench).await;
    let reason = not_executed(call(&session, bench.peer.succeeds(2).0).await);
    let NotExecuted::Refused(refusal) = &reason else { panic!("{reason:?}") };
    assert_eq!((refusal.status, refusal.had_session), (404, true), "{refusal:?}");
    let (tool, text) = bench.peer.succeeds(3);
    assert_eq!(text_of(&ok(call(&session, tool).await)), text);
    bench.effects_are(2).await;
    bench.assert_calls(3);
    assert_eq!(bench.sent("initialize").len(), 2);
}

/// With `resend: refused` the same call is sent once more, in a fresh session.
pub(super) async fn ended_session_is_replaced_by_policy(bench: Bench) {
    let session = bench.session_with(|options| options.resend = Resend::Refused).await;
    ok(call(&session, bench.peer.succeeds(1).0).await);
    end_session(&bench).await;
    let (tool, text) = bench.peer.succeeds(2);
    let result = ok(call(&session, tool).await);
    assert_eq!((text_of(&result), result.attempts), (text, 2));
    bench.effects_are(2).await;
    bench.assert_calls(3);
    assert_eq!(bench.sent("initialize").len(), 2);
}

/// A server that keeps sessions has forgotten this one; one that keeps none does not care.
pub(super) async fn restarted_server_is_found_again_by_policy(mut bench: Bench) {
    let session = bench.session_with(|options| options.resend = Resend::Refused).await;
    ok(call(&session, bench.peer.succeeds(1).0).await);
    bench.restart().await;
    let (tool, text) = bench.peer.succeeds(2);
    assert_eq!(text_of(&ok(call(&session, tool).await)), text);
    bench.effects_are(2).await;
}

/// It says so by 400, against the protocol: a refusal, but no word on the session. Its owner must say that it
/// is over.
pub(super) async fn session_that_ended_with_400_is_refused(bench: Bench) {
    let session = bench.session_with(|options| options.resend = Resend::Refused).await;
    ok(call(&session, bench.peer.succeeds(1).0).await);
    end_session(&bench).await;
    let reason = not_executed(call(&session, bench.peer.succeeds(2).0).await);
    let NotExecuted::Refused(refusal) = &reason else { panic!("{reason:?}") };
    assert_eq!((refusal.status, refusal.had_session), (400, true), "{refusal:?}");
    ended(session.reconnect()).await.expect("connected");
    let (tool, text) = bench.peer.succeeds(3);
    assert_eq!(text_of(&ok(call(&session, tool).await)), text);
}
