//! The `noreplay` command against servers on what others wrote: the official Python and Rust SDKs,
//! and npm's server-everything. Straight, and through a relay that makes one thing go wrong.
//!
//! This proves the contract end to end: the right verdict and exit status, one effect in the
//! server's ledger, one `tools/call` on the wire. The tests install the servers, once, by
//! `peers/install`.

mod bench;
mod conformance;
mod eras;
mod http;
mod matrix;
mod servers;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::bench::{ANY, Bench, after, call, text_of, timed};
use crate::servers::{Server, missing};

/// One test for each scenario and server: `scenario::server`.
macro_rules! scenarios {
    ($($scenario:ident: $($name:ident $server:ident),+;)+) => {
        $(mod $scenario {
            $(#[test]
            fn $name() {
                let test = concat!(stringify!($scenario), "-", stringify!($name));
                let server = crate::Server::$server;
                match crate::Bench::new(server, test) {
                    Some(bench) => super::$scenario(bench),
                    None => crate::missing(server, test),
                }
            }
            )+
        })+
    };
}

// Where npm is not named, server-everything has no tool that does what the scenario needs.
scenarios! {
    success_is_ok: python Python, npm Npm, rmcp Rmcp;
    failed_tool_is_tool_error: python Python, npm Npm, rmcp Rmcp;
    bad_arguments_are_what_the_server_says: python Python, npm Npm, rmcp Rmcp;
    what_the_server_speaks_is_found_out: python Python, npm Npm, rmcp Rmcp, typescript TypeScript;
    modern_session_is_one_question: python Python, rmcp Rmcp, typescript TypeScript;
    unknown_tool_is_what_the_server_says: python Python, npm Npm, rmcp Rmcp, typescript TypeScript;
    json_rpc_error_after_the_effect_is_unknown: python Python, rmcp Rmcp;
    tools_and_their_hints_are_passed_on: python Python, npm Npm, rmcp Rmcp;
    large_answer_is_ok: python Python, rmcp Rmcp;
    oversized_answer_is_unknown_and_costs_no_other_call: python Python, rmcp Rmcp;

    handshake_that_dies_is_not_executed: python Python, npm Npm, rmcp Rmcp;
    handshake_never_answered_is_not_executed: python Python, npm Npm, rmcp Rmcp;

    server_killed_before_it_got_the_call: python Python, npm Npm, rmcp Rmcp;
    server_killed_after_the_effect: python Python, npm Npm, rmcp Rmcp;
    server_that_ends_itself_after_the_effect: python Python, rmcp Rmcp;
    stream_closed_before_the_answer: python Python, npm Npm, rmcp Rmcp;
    answer_cut_short: python Python, npm Npm, rmcp Rmcp;
    answer_cut_by_its_last_byte: python Python, npm Npm, rmcp Rmcp;
    answer_without_its_line_end: python Python, npm Npm, rmcp Rmcp;
    answer_dropped: python Python, npm Npm, rmcp Rmcp;
    hinted_tool_is_sent_once_too: python Python, rmcp Rmcp;

    slow_call_times_out: python Python, npm Npm, rmcp Rmcp;
    caller_cancels: python Python, npm Npm, rmcp Rmcp;
    late_answer_makes_it_known: python Python, npm Npm, rmcp Rmcp;
    task_is_fetched_after_the_deadline: npm Npm;
    duplicate_answer_is_one_verdict: python Python, npm Npm, rmcp Rmcp;
    garbage_before_the_answer_is_skipped: python Python, npm Npm, rmcp Rmcp;

    overlapping_calls_each_get_their_answer: python Python, npm Npm, rmcp Rmcp;
    delayed_answer_is_overtaken: python Python, npm Npm, rmcp Rmcp;
    three_calls_in_flight_at_the_servers_death: python Python, npm Npm, rmcp Rmcp;

    next_call_recovers_and_the_lost_one_is_not_sent_again: python Python, npm Npm, rmcp Rmcp;
    reconnect_sends_the_handshake_and_nothing_else: python Python, npm Npm, rmcp Rmcp;
    caller_managed_session_waits_for_its_caller: python Python, npm Npm, rmcp Rmcp;
    handshake_is_repeated_and_the_call_sent_once: python Python, npm Npm, rmcp Rmcp;
}

// Answers

fn success_is_ok(bench: Bench) {
    let (tool, text) = bench.server.succeeds(5);
    let run = bench.call(tool, &[]);
    assert_eq!(text_of(run.verdict("ok")), text);
    bench.assert_effects(1);
}

fn failed_tool_is_tool_error(mut bench: Bench) {
    bench.watch();
    let run = bench.call(bench.server.fails(), &[]);
    let line = run.verdict("tool-error");
    assert_eq!(line["result"]["isError"], true, "{line:#}");
    assert!(!text_of(line).is_empty(), "{line:#}");
    bench.assert_effects(1);
    bench.assert_calls(1);
}

fn bad_arguments_are_what_the_server_says(bench: Bench) {
    let ((tool, _), _) = bench.server.succeeds(1);
    bench.call((tool, json!({})), &[]).verdict("tool-error");
    bench.assert_effects(0);
}

/// server-everything speaks what begins with `initialize`, the others both.
fn what_the_server_speaks_is_found_out(mut bench: Bench) {
    bench.watch();
    let (tool, text) = bench.server.succeeds(5);
    let run = bench.call(tool, &[ANY]);
    assert_eq!(text_of(run.verdict("ok")), text);
    bench.assert_effects(1);
    bench.assert_calls(1);
    let older = matches!(bench.server, Server::Npm);
    assert!(!bench.sent("server/discover").is_empty());
    assert!(!older || bench.sent("initialize").len() == 1);
}

fn modern_session_is_one_question(mut bench: Bench) {
    bench.watch();
    let (tool, _) = bench.server.succeeds(5);
    let commands = [call("a", tool.clone()), call("b", tool)];
    let run = bench.session(&commands, &["--protocol", "2026-07-28"]);
    run.of("a", "ok");
    run.of("b", "ok");
    bench.assert_effects(2);
    assert_eq!((bench.sent("server/discover").len(), bench.sent("initialize").len()), (1, 0));
}

/// Two servers say so by an `isError` result and two by a JSON-RPC error, which proves nothing.
fn unknown_tool_is_what_the_server_says(bench: Bench) {
    let run = bench.call(("no-such-tool", json!({})), &[]);
    match bench.server {
        Server::Python | Server::Npm => drop(run.verdict("tool-error").clone()),
        Server::Rmcp | Server::TypeScript => {
            let line = run.verdict("unknown-outcome");
            assert_eq!(line["cause"]["kind"], "answered-with-error", "{line:#}");
            assert_eq!(line["cause"]["error"]["code"], -32602, "{line:#}");
        }
    }
}

fn json_rpc_error_after_the_effect_is_unknown(mut bench: Bench) {
    bench.watch();
    // Each of them is by its normative meaning a refusal.
    let codes = [-32700, -32600, -32601, -32602, 404];
    let mut commands = Vec::new();
    for code in codes {
        let tag = code.to_string();
        commands.push(call(&tag, ("rpc_fail", json!({ "code": code }))));
    }
    let run = bench.session(&commands, &[]);
    for code in codes {
        let line = run.of(&code.to_string(), "unknown-outcome");
        assert_eq!(line["cause"]["kind"], "answered-with-error", "{line:#}");
        let error = &line["cause"]["error"];
        assert_eq!(error["code"], code, "{line:#}");
        assert_eq!(error["message"], "refused after the effect", "{line:#}");
        assert_eq!(error["data"], json!({ "effect": true }), "{line:#}");
    }
    bench.assert_effects(codes.len());
    bench.assert_calls(codes.len());
    assert_eq!(bench.sent("initialize").len(), 1);
}

fn tools_and_their_hints_are_passed_on(bench: Bench) {
    let run = bench.session(&[json!({ "do": "tools", "tag": "t" })], &[]);
    let line = run.of("t", "tools");
    let tools = line["tools"].as_array().expect("a list");
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    let ((name, _), _) = bench.server.succeeds(1);
    assert!(named(name).is_some(), "{line:#}");
    if bench.server.keeps_a_ledger() {
        let hints = &named("pay_hinted").expect("listed")["annotations"];
        assert_eq!(hints["readOnlyHint"], true, "{line:#}");
        assert_eq!(hints["idempotentHint"], true, "{line:#}");
    }
}

fn large_answer_is_ok(bench: Bench) {
    let size = 4 << 20;
    let run = bench.call(("big", json!({ "bytes": size })), &[]);
    let text = text_of(run.verdict("ok"));
    assert_eq!(text.len(), size);
    assert!(text.bytes().all(|byte| byte == b'x'));
}

fn oversized_answer_is_unknown_and_costs_no_other_call(mut bench: Bench) {
    bench.watch();
    let commands = [
        call("large", ("big", json!({ "bytes": 200_000 }))),
        after(&["large"]),
        call("next", ("big", json!({ "bytes": 10 }))),
    ];
    let run = bench.session(&commands, &["--max-message", "100000"]);
    run.of("large", "unknown-outcome");
    assert_eq!(text_of(run.of("next", "ok")), "xxxxxxxxxx");
    run.assert_at_once();
    bench.assert_calls(2);
}

// Before the call was handed over

fn handshake_that_dies_is_not_executed(mut bench: Bench) {
    bench.fault("initialize", "every", "kill-before");
    let (tool, _) = bench.server.succeeds(1);
    let run = bench.call(tool, &[]);
    let line = run.verdict("not-executed");
    assert_eq!(line["reason"]["kind"], "handshake-failed", "{line:#}");
    run.assert_at_once();
    bench.assert_effects(0);
    bench.assert_calls(0);
}

fn handshake_never_answered_is_not_executed(mut bench: Bench) {
    bench.fault("initialize", "every", "drop-answer");
    let (tool, _) = bench.server.succeeds(1);
    let run = bench.call(tool, &["--timeout", "2s"]);
    run.verdict("not-executed");
    bench.assert_effects(0);
    bench.assert_calls(0);
    // The protocol forbids to cancel `initialize`.
    assert_eq!(bench.sent("notifications/cancelled").len(), 0);
}

// The answer is lost

/// One call, one fault: an unknown outcome by the transport's word, at once, and one `tools/call`.
fn lost(bench: &mut Bench, fault: &str) {
    unknown(bench, fault, "transport");
}

/// The same for any kind of cause.
fn unknown(bench: &mut Bench, fault: &str, cause: &str) {
    bench.fault("tools/call", "1", fault);
    let (tool, _) = bench.server.succeeds(1);
    let run = bench.call(tool, &[]);
    let line = run.verdict("unknown-outcome");
    assert_eq!(line["cause"]["kind"], cause, "{line:#}");
    run.assert_at_once();
    bench.assert_calls(1);
}

fn server_killed_before_it_got_the_call(mut bench: Bench) {
    lost(&mut bench, "kill-before");
    bench.assert_effects(0);
}

fn server_killed_after_the_effect(mut bench: Bench) {
    lost(&mut bench, "kill-after-answer-read");
    bench.assert_effects(1);
}

fn server_that_ends_itself_after_the_effect(mut bench: Bench) {
    bench.watch();
    let run = bench.call(("die", json!({})), &[]);
    let line = run.verdict("unknown-outcome");
    assert_eq!(line["cause"]["kind"], "transport", "{line:#}");
    run.assert_at_once();
    bench.assert_effects(1);
    bench.assert_calls(1);
}

/// The effect happens, if it does, when the client has long given up.
fn stream_closed_before_the_answer(mut bench: Bench) {
    lost(&mut bench, "close-after-request");
    assert!(bench.effects().len() <= 1);
}

/// What is left of the answer tells whose it is, where the server writes the id first.
fn answer_cut_short(mut bench: Bench) {
    let cause = if bench.server.writes_the_id_last() { "transport" } else { "undecodable" };
    unknown(&mut bench, "cut-answer:30", cause);
    bench.assert_effects(1);
}

/// The line end and the closing brace are missing.
fn answer_cut_by_its_last_byte(mut bench: Bench) {
    unknown(&mut bench, "cut-answer:-2", "undecodable");
    bench.assert_effects(1);
}

/// Only the line end is missing: the answer may count, but it was never *not executed*.
fn answer_without_its_line_end(mut bench: Bench) {
    bench.fault("tools/call", "1", "cut-answer:-1");
    let (tool, _) = bench.server.succeeds(1);
    let run = bench.call(tool, &[]);
    match run.status {
        Some(0) => run.verdict("ok"),
        _ => run.verdict("unknown-outcome"),
    };
    run.assert_at_once();
    bench.assert_effects(1);
    bench.assert_calls(1);
}

/// Only the deadline tells of the loss. The connection lives, and the next call goes over it.
fn answer_dropped(mut bench: Bench) {
    bench.fault("tools/call", "1", "drop-answer");
    let (first, _) = bench.server.succeeds(1);
    let (second, text) = bench.server.succeeds(2);
    let commands = [
        json!({ "do": "tools", "tag": "connected" }),
        after(&["connected"]),
        timed("lost", first, 500),
        after(&["lost"]),
        call("next", second),
    ];
    let run = bench.session(&commands, &[]);
    let line = run.of("lost", "unknown-outcome");
    assert_eq!(line["cause"]["kind"], "timed-out", "{line:#}");
    assert_eq!(text_of(run.of("next", "ok")), text);
    bench.assert_effects(2);
    bench.assert_calls(2);
    assert_cancelled_once(&bench);
    assert_eq!(bench.sent("initialize").len(), 1);
}

/// The tool says of itself that it is read-only and idempotent, and the client has read it.
fn hinted_tool_is_sent_once_too(mut bench: Bench) {
    bench.fault("tools/call", "1", "kill-after-answer-read");
    let commands = [
        json!({ "do": "tools", "tag": "t" }),
        after(&["t"]),
        call("lost", ("pay_hinted", json!({ "amount": 1 }))),
        after(&["lost"]),
        json!({ "do": "reconnect", "tag": "r" }),
    ];
    let run = bench.session(&commands, &[]);
    run.of("t", "tools");
    run.of("lost", "unknown-outcome");
    run.of("r", "reconnected");
    bench.assert_effects(1);
    bench.assert_calls(1);
}

// Time

fn slow_call_times_out(mut bench: Bench) {
    bench.watch();
    let commands = [
        json!({ "do": "tools", "tag": "connected" }),
        after(&["connected"]),
        timed("slow", bench.server.takes(4_000), 500),
    ];
    let run = bench.session(&commands, &[]);
    let line = run.of("slow", "unknown-outcome");
    assert_eq!(line["cause"]["kind"], "timed-out", "{line:#}");
    bench.assert_calls(1);
    assert_cancelled_once(&bench);
}

fn caller_cancels(mut bench: Bench) {
    bench.watch();
    let commands = [
        json!({ "do": "tools", "tag": "connected" }),
        after(&["connected"]),
        call("slow", bench.server.takes(4_000)),
        json!({ "do": "sleep", "ms": 300 }),
        json!({ "do": "cancel", "tag": "slow" }),
    ];
    let run = bench.session(&commands, &[]);
    let line = run.of("slow", "unknown-outcome");
    assert_eq!(line["cause"]["kind"], "cancelled", "{line:#}");
    bench.assert_calls(1);
    assert_cancelled_once(&bench);
}

fn late_answer_makes_it_known(mut bench: Bench) {
    bench.fault("tools/call", "1", "delay:1500");
    let (tool, text) = bench.server.succeeds(1);
    let commands = [
        json!({ "do": "tools", "tag": "connected" }),
        after(&["connected"]),
        timed("late", tool, 500),
        after(&["late"]),
        json!({ "do": "reconcile", "tag": "now", "of": "late", "timeout-ms": 20_000 }),
    ];
    let run = bench.session(&commands, &[]);
    let line = run.of("late", "unknown-outcome");
    assert_eq!(line["cause"]["kind"], "timed-out", "{line:#}");
    assert_eq!(text_of(run.of("now", "ok")), text);
    bench.assert_effects(1);
    bench.assert_calls(1);
    assert_cancelled_once(&bench);
}

/// Only this server has tasks: its research takes four seconds.
fn task_is_fetched_after_the_deadline(mut bench: Bench) {
    bench.watch();
    let commands = [
        json!({ "do": "tools", "tag": "connected" }),
        after(&["connected"]),
        json!({
            "do": "call", "tag": "task", "tool": "simulate-research-query",
            "arguments": { "topic": "replays" }, "task-ttl-ms": 60_000, "timeout-ms": 1_000,
        }),
        after(&["task"]),
        json!({ "do": "reconcile", "tag": "now", "of": "task", "timeout-ms": 20_000 }),
    ];
    let run = bench.session(&commands, &[]);
    let line = run.of("task", "unknown-outcome");
    assert_eq!(
        (&line["cause"]["kind"], &line["stage"]),
        (&json!("timed-out"), &json!("answering")),
        "{line:#}"
    );
    assert!(text_of(run.of("now", "ok")).contains("replays"));
    bench.assert_calls(1);
}

fn duplicate_answer_is_one_verdict(mut bench: Bench) {
    bench.fault("tools/call", "1", "duplicate-answer");
    let (first, first_text) = bench.server.succeeds(1);
    let (second, second_text) = bench.server.succeeds(2);
    let commands = [call("a", first), after(&["a"]), call("b", second)];
    let run = bench.session(&commands, &[]);
    assert_eq!(text_of(run.of("a", "ok")), first_text);
    assert_eq!(text_of(run.of("b", "ok")), second_text);
    bench.assert_effects(2);
    bench.assert_calls(2);
}

fn garbage_before_the_answer_is_skipped(mut bench: Bench) {
    bench.fault("tools/call", "1", "garbage");
    let (tool, text) = bench.server.succeeds(1);
    let run = bench.call(tool, &[]);
    assert_eq!(text_of(run.verdict("ok")), text);
    bench.assert_effects(1);
    bench.assert_calls(1);
}

// Several calls

fn overlapping_calls_each_get_their_answer(mut bench: Bench) {
    bench.watch();
    let (quick, text) = bench.server.succeeds(7);
    let commands = [
        json!({ "do": "tools", "tag": "connected" }),
        after(&["connected"]),
        call("slowest", bench.server.takes(2_000)),
        call("slow", bench.server.takes(1_000)),
        call("quick", quick),
    ];
    let run = bench.session(&commands, &[]);
    assert_eq!(run.order(), ["connected", "quick", "slow", "slowest"]);
    assert_eq!(text_of(run.of("quick", "ok")), text);
    let (slow, slowest) = (run.of("slow", "ok"), run.of("slowest", "ok"));
    assert_ne!(text_of(slow), text_of(slowest));
    bench.assert_effects(3);
    bench.assert_calls(3);
}

fn delayed_answer_is_overtaken(mut bench: Bench) {
    bench.fault("tools/call", "1", "delay:1000");
    let (first, first_text) = bench.server.succeeds(1);
    let (second, second_text) = bench.server.succeeds(2);
    let commands = [call("first", first), call("second", second)];
    let run = bench.session(&commands, &[]);
    assert_eq!(run.order(), ["second", "first"]);
    assert_eq!(text_of(run.of("first", "ok")), first_text);
    assert_eq!(text_of(run.of("second", "ok")), second_text);
    bench.assert_effects(2);
    bench.assert_calls(2);
}

fn three_calls_in_flight_at_the_servers_death(mut bench: Bench) {
    bench.fault("tools/call", "3", "kill-before");
    let tags = ["a", "b", "c"];
    let commands = tags.map(|tag| call(tag, bench.server.takes(59_000)));
    let run = bench.session(&commands, &[]);
    let mut calls = BTreeSet::new();
    for tag in tags {
        let line = run.of(tag, "unknown-outcome");
        assert_eq!(line["cause"]["kind"], "transport", "{line:#}");
        calls.insert(line["call"].as_u64());
    }
    assert_eq!(calls.len(), 3, "{run:#?}");
    run.assert_at_once();
    bench.assert_effects(0);
    bench.assert_calls(3);
}

// After a loss

fn next_call_recovers_and_the_lost_one_is_not_sent_again(mut bench: Bench) {
    bench.fault("tools/call", "1", "kill-after-answer-read");
    let (first, _) = bench.server.succeeds(1);
    let (second, text) = bench.server.succeeds(2);
    let commands = [call("lost", first), after(&["lost"]), call("next", second)];
    let run = bench.session(&commands, &[]);
    run.of("lost", "unknown-outcome");
    assert_eq!(text_of(run.of("next", "ok")), text);

    bench.assert_effects(2);
    bench.assert_calls(2);
    let calls = bench.sent("tools/call");
    let (_, first_arguments) = bench.server.succeeds(1).0;
    assert_eq!(calls[0]["params"]["arguments"], first_arguments);
    assert_ne!(calls[0]["params"]["arguments"], calls[1]["params"]["arguments"]);
    assert_eq!(bench.sent("initialize").len(), 2);
    assert_ids_are_used_once(&bench);
}

fn reconnect_sends_the_handshake_and_nothing_else(mut bench: Bench) {
    bench.fault("tools/call", "1", "kill-after-answer-read");
    let (tool, _) = bench.server.succeeds(1);
    let commands = [
        call("lost", tool),
        after(&["lost"]),
        json!({ "do": "reconnect", "tag": "r" }),
        after(&["r"]),
        json!({ "do": "reconcile", "tag": "now", "of": "lost", "timeout-ms": 500 }),
    ];
    let run = bench.session(&commands, &[]);
    run.of("lost", "unknown-outcome");
    let line = run.of("r", "reconnected");
    assert!(line["server"]["name"].is_string(), "{line:#}");
    run.of("now", "still-unknown");
    bench.assert_effects(1);
    bench.assert_calls(1);
    assert_eq!(bench.sent("initialize").len(), 2);
    assert_ids_are_used_once(&bench);
}

fn caller_managed_session_waits_for_its_caller(mut bench: Bench) {
    bench.fault("tools/call", "1", "kill-after-answer-read");
    let (first, _) = bench.server.succeeds(1);
    let (second, _) = bench.server.succeeds(2);
    let (third, text) = bench.server.succeeds(3);
    let commands = [
        json!({ "do": "reconnect", "tag": "r1" }),
        after(&["r1"]),
        call("lost", first),
        after(&["lost"]),
        call("refused", second),
        after(&["refused"]),
        json!({ "do": "reconnect", "tag": "r2" }),
        after(&["r2"]),
        call("next", third),
    ];
    let run = bench.session(&commands, &["--ownership", "caller-managed"]);
    run.of("lost", "unknown-outcome");
    let line = run.of("refused", "not-executed");
    assert_eq!(line["reason"]["kind"], "not-connected", "{line:#}");
    assert_eq!(text_of(run.of("next", "ok")), text);
    bench.assert_effects(2);
    bench.assert_calls(2);
    assert_eq!(bench.sent("initialize").len(), 2);
}

/// A handshake has no side effects: it may be repeated, and the call waits for it.
fn handshake_is_repeated_and_the_call_sent_once(mut bench: Bench) {
    bench.fault("initialize", "1", "kill-before");
    let (tool, text) = bench.server.succeeds(1);
    let commands = [json!({ "do": "reconnect", "tag": "r" }), after(&["r"]), call("next", tool)];
    let run = bench.session(&commands, &[]);
    assert_eq!(text_of(run.of("next", "ok")), text);
    bench.assert_effects(1);
    bench.assert_calls(1);
}

/// The one call that was given up was cancelled once, by its own id.
#[track_caller]
fn assert_cancelled_once(bench: &Bench) {
    let cancels = bench.sent("notifications/cancelled");
    let [cancel] = &cancels[..] else { panic!("not one cancel: {cancels:#?}") };
    assert_eq!(cancel["params"]["requestId"], bench.sent("tools/call")[0]["id"]);
}

/// No request id was used twice, over all connections.
#[track_caller]
fn assert_ids_are_used_once(bench: &Bench) {
    let mut seen = BTreeSet::new();
    for method in ["initialize", "tools/call", "tools/list"] {
        for request in bench.sent(method) {
            let id: &Value = &request["id"];
            assert!(seen.insert(id.to_string()), "{id} again: {request:#}");
        }
    }
}
