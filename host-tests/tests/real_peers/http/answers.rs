//! What a server answers is passed on.

use host_tests::{Cause, ToolCall};
use serde_json::{Value, json};

use super::bench::{Bench, call, calling, ended, made, ok, text_of, tool_error, unknown};

/// Of a server nothing is known but where it is.
pub(super) async fn era_is_found_out(bench: Bench) {
    let session = bench.session_with(|options| options.protocol = None).await;
    let server = ended(session.reconnect()).await.expect("connected");
    assert_eq!(server.protocol_version, bench.era.revision());
    let (tool, text) = bench.peer.succeeds(5);
    assert_eq!(text_of(&ok(call(&session, tool).await)), text);
    bench.effects_are(1).await;
    bench.assert_calls(1);
}

pub(super) async fn tools_are_listed(bench: Bench) {
    let session = bench.session().await;
    let tools = ended(session.list_tools()).await.expect("a list");
    let ((name, _), _) = bench.peer.succeeds(1);
    assert!(tools.iter().any(|tool| tool.name == name), "{tools:#?}");
    if bench.peer.keeps_a_ledger() {
        let hinted = tools.iter().find(|tool| tool.name == "pay_hinted").expect("listed");
        let entry: Value = serde_json::from_str(&hinted.json).expect("JSON");
        assert_eq!(entry["annotations"]["readOnlyHint"], true, "{entry:#}");
        assert_eq!(entry["annotations"]["idempotentHint"], true, "{entry:#}");
    }
    bench.assert_calls(0);
}

pub(super) async fn call_is_ok(bench: Bench) {
    let session = bench.session().await;
    let (tool, text) = bench.peer.succeeds(5);
    let result = ok(call(&session, tool).await);
    assert_eq!((text_of(&result), result.attempts), (text, 1));
    bench.effects_are(1).await;
    bench.assert_calls(1);
}

pub(super) async fn failed_tool_is_tool_error(bench: Bench) {
    let session = bench.session().await;
    let result = tool_error(call(&session, bench.peer.fails()).await);
    assert!(!text_of(&result).is_empty(), "{result:?}");
    bench.effects_are(1).await;
    bench.assert_calls(1);
}

pub(super) async fn json_rpc_error_after_the_effect_is_unknown(bench: Bench) {
    let session = bench.session().await;
    // Each of them is by its normative meaning a refusal.
    let codes = [-32700, -32600, -32601, -32602, -32020, -32022, 404];
    for code in codes {
        let unknown = unknown(call(&session, ("rpc_fail", json!({ "code": code }))).await);
        let Cause::AnsweredWithError(error) = &unknown.cause else { panic!("{code}: {unknown:?}") };
        assert_eq!((error.code, error.message.as_str()), (code, "refused after the effect"));
        assert_eq!(error.data.as_deref(), Some(r#"{"effect":true}"#), "{error:?}");
    }
    bench.effects_are(codes.len()).await;
    bench.assert_calls(codes.len());
    assert_eq!(bench.sent(bench.era.handshake()[0]).len(), 1);
}

pub(super) async fn overlapping_calls_each_get_their_answer(bench: Bench) {
    let session = bench.session().await;
    let (quick, text) = bench.peer.succeeds(7);
    let (slow, quick) = (session.call_tool(calling(bench.peer.takes(1_000))), made(&session, calling(quick)));
    let mut slow = std::pin::pin!(slow);
    let quick = tokio::select! {
        quick = quick => ok(quick),
        slow = &mut slow => panic!("the slow one was first: {slow:?}"),
    };
    assert_eq!(text_of(&quick), text);
    assert_ne!(text_of(&ok(ended(slow).await)), text);
    bench.effects_are(2).await;
    bench.assert_calls(2);
}

pub(super) async fn large_answer_is_ok(bench: Bench) {
    let session = bench.session().await;
    let size = 4 << 20;
    let call = ToolCall::new("big").arguments(json!({ "bytes": size }).to_string());
    let text = text_of(&ok(made(&session, call).await));
    assert_eq!(text.len(), size);
    assert!(text.bytes().all(|byte| byte == b'x'));
}
