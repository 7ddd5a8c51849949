//! Group G of the public reports: the shape of a result. A call that was answered *was* answered: whatever is
//! odd about the answer is a warning, the answer itself is passed on verbatim, and no text in it is read.
#![allow(clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{Bench, DONE, rpc_error};
use noreplay::session::policy::Options;
use noreplay::session::verdict::{Cause, Outcome, Stage, ToolResult, Verdict};

/// The verdict of a call that gets this result, once given away. Its result is verbatim, or the test fails.
#[track_caller]
fn answered(result: &str) -> Verdict {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer(&sent, result);
    bench.assert_sent(1, call);
    let verdict = bench.verdict(call).clone();
    if let Ok(Outcome::Ok(answer) | Outcome::ToolError(answer)) = &verdict {
        let ToolResult { call: of, attempts, json, .. } = answer;
        assert_eq!((*of, *attempts, json.as_str()), (call, 1, result));
    }
    verdict
}

#[track_caller]
fn assert_ok(result: &str, warnings: &[&str]) {
    match answered(result) {
        Ok(Outcome::Ok(answer)) => assert_eq!(answer.warnings, warnings, "{result}"),
        other => panic!("{result}: {other:?}"),
    }
}

#[track_caller]
fn assert_tool_error(result: &str, warnings: &[&str]) {
    match answered(result) {
        Ok(Outcome::ToolError(answer)) => assert_eq!(answer.warnings, warnings, "{result}"),
        other => panic!("{result}: {other:?}"),
    }
}

/// B095, python-sdk#1796 and #1378: structured content without any content.
#[test]
fn structured_content_alone_is_an_answer() {
    assert_ok(r#"{"structuredContent":{"paid":true}}"#, &["the result has no `content`"]);
}

/// B096, ggml-org/llama.cpp#26410 and pi-mcp-adapter#146: structured content beside empty content.
#[test]
fn structured_content_beside_empty_content_is_kept() {
    assert_ok(r#"{"content":[],"structuredContent":{"paid":true},"_meta":{"x":[1.0]}}"#, &[]);
}

/// B098, claude-code#76257 and mastra-ai/mastra#22556: structured content that does not fit the tool's schema
/// was a failure, and invited another run.
#[test]
fn structured_content_of_any_shape_is_no_failure() {
    for structured in ["null", "7", "[1]", "\"text\"", r#"{"schema":"ignored"}"#] {
        assert_ok(&format!(r#"{{"content":[],"structuredContent":{structured}}}"#), &[]);
    }
}

/// B099, Gitlawb/zero#823, agentscope#2798, frontman#1545: a kind of block that nobody knows.
#[test]
fn blocks_of_any_kind_are_kept_in_order() {
    let block = |kind| format!(r#"{{"type":"{kind}","x":1.0}}"#);
    let blocks = ["text", "resource_link", "hologram", "audio", "image", "resource"].map(block).join(", ");
    assert_ok(
        &format!(r#"{{"content":[{blocks}]}}"#),
        &["content block 2 is of the unknown type `hologram`"],
    );
    assert_ok(r#"{"content":[{"text":"no type"}]}"#, &["content block 0 has no type"]);
}

/// B101, mito-ds/mito#2275 and crewAI: `isError` was lost.
#[test]
fn is_error_is_never_lost() {
    assert_tool_error(r#"{"isError":true,"content":[]}"#, &[]);
    assert_tool_error(r#"{"content":[{"type":"text","text":"done"}],"isError":true}"#, &[]);
    assert_tool_error(r#"{"is\u0045rror":true}"#, &["the result has no `content`"]);
    assert_tool_error(r#"{"content":"odd","isError":true}"#, &["`content` is not an array"]);
}

/// B101, the other way round: only `true` is an error, and what is odd is told.
#[test]
fn only_true_is_an_error_of_the_tools() {
    for plain in ["false", "null"] {
        assert_ok(&format!(r#"{{"content":[],"isError":{plain}}}"#), &[]);
    }
    for odd in ["\"true\"", "1", "[true]"] {
        assert_ok(&format!(r#"{{"content":[],"isError":{odd}}}"#), &["`isError` is not a boolean"]);
    }
}

/// A result of any kind is an answer (contract, section 2).
#[test]
fn a_result_that_is_no_object_is_an_answer_with_a_warning() {
    for result in ["null", "7", "[]", "\"done\""] {
        assert_ok(result, &["the result is not an object"]);
    }
}

/// B102, fr0ster/mcp-abap-adt#155: a tool's failure as a JSON-RPC error, of any code.
#[test]
fn an_error_answer_of_any_code_leaves_the_outcome_unknown() {
    for code in [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32022, -32042, 0, 1, 404, i64::MAX]
    {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        bench.answer_error(&sent, &format!(r#"{{"code":{code},"message":"unknown tool: not executed"}}"#));
        let cause = Cause::AnsweredWithError(rpc_error(code, "unknown tool: not executed"));
        bench.assert_unknown(call, Stage::Answered, cause);
    }
}

/// B102: nothing of an error is lost, whatever its shape.
#[test]
fn an_error_answer_is_kept_whole() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer_error(&sent, r#"{"data":{ "n":1.0 },"message":{"text":7},"code":-1}"#);
    let mut error = rpc_error(-1, r#"{"text":7}"#);
    error.data = Some(r#"{ "n":1.0 }"#.to_owned());
    bench.assert_unknown(call, Stage::Answered, Cause::AnsweredWithError(error));

    for odd in ["{}", "null", "\"boom\"", r#"{"code":"x"}"#, r#"{"code":1.5,"message":"m"}"#] {
        let (call, sent) = bench.pay();
        bench.answer_error(&sent, odd);
        let Cause::Undecodable(undecodable) = bench.cause(call).clone() else { panic!("{odd}") };
        assert_eq!(undecodable.reason, "an error that cannot be read");
        assert!(String::from_utf8(undecodable.head.clone()).unwrap().contains(odd), "{odd}");
        bench.assert_unknown(call, Stage::Answered, Cause::Undecodable(undecodable));
    }
}

/// B102, obra/superpowers-chrome#44: a failure told as plain text of a success.
#[test]
fn no_text_of_an_answer_is_read() {
    for text in ["Error: payment failed", "MCP error -32603", "connection closed", "session not found"] {
        assert_ok(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#), &[]);
    }
}

/// B104, the 2026-07-28 conformance suite: a call that is suspended has not ended, and is not called again.
#[test]
fn a_suspended_call_is_unknown_and_keeps_what_was_asked() {
    for result in [
        r#"{"resultType":"input_required","requestState":"s\u0041 1"}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}}"#,
    ] {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        bench.answer(&sent, result);
        bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result.to_owned()));
    }
    assert_ok(DONE, &[]);
    assert_ok(r#"{"content":[],"resultType":"complete"}"#, &[]);
    assert_ok(r#"{"content":[],"resultType":"task"}"#, &["`resultType` is unknown"]);
}
