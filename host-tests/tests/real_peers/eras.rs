//! Traps that real servers set for a client that finds out what they speak. Each was measured, and is held to be
//! there, so that the client's test beside it means something.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bench::{ANY, Bench, text_of};
use crate::http::bench::{Bench as HttpBench, Era, call, ended, ok, text_of as text};
use crate::http::server::Peer;
use crate::servers::{Server, missing};

/// The first answer to these messages, sent as they are to a server of its own.
fn first_answer(server: Server, messages: &[Value]) -> Value {
    let command = server.command().expect("it is there");
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .env("LEDGER", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    for message in messages {
        writeln!(input, "{message}").expect("it reads");
    }
    let last = messages.last().expect("a message")["id"].clone();
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let answers = lines.map(|line| serde_json::from_str::<Value>(&line.expect("text")).expect("JSON"));
    let answer = answers.into_iter().find(|answer| answer["id"] == last).expect("an answer");
    child.kill().expect("killed");
    child.wait().expect("gone");
    answer
}

fn discover() -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } })
}

fn initialize() -> Value {
    let client = json!({ "name": "by-hand", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params })
}

/// server-everything executes a call that comes before any handshake: no call may be the question of what it speaks.
#[test]
fn no_call_is_sent_before_the_handshake_is_done() {
    let test = "no_call_is_sent_before_the_handshake_is_done";
    let Some(mut bench) = Bench::new(Server::Npm, test) else { return missing(Server::Npm, test) };
    let ((tool, arguments), said) = Server::Npm.succeeds(7);
    let early = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments } });
    let answer = first_answer(Server::Npm, &[discover(), early]);
    assert_eq!(answer["result"]["content"][0]["text"], said, "the trap is gone: {answer:#}");

    bench.watch();
    let run = bench.call((tool, arguments), &[ANY]);
    assert_eq!(text_of(run.verdict("ok")), said);
    let methods: Vec<String> =
        bench.wire().iter().filter_map(|it| it["method"].as_str().map(Into::into)).collect();
    assert_eq!(methods, ["server/discover", "initialize", "notifications/initialized", "tools/call"]);
}

/// The Python SDK's server is of the era of the first message that it got, over stdio, however late it answers.
#[test]
fn a_server_that_has_chosen_its_era_is_asked_again() {
    let test = "a_server_that_has_chosen_its_era_is_asked_again";
    let Some(mut bench) = Bench::new(Server::Python, test) else { return missing(Server::Python, test) };
    let answer = first_answer(Server::Python, &[discover(), initialize()]);
    assert_eq!(answer["error"]["code"], -32022, "the trap is gone: {answer:#}");

    // Its answer comes when the client has given up and has sent `initialize`.
    bench.fault("server/discover", "1", "delay:5000");
    let (tool, said) = bench.server.succeeds(7);
    let run = bench.call(tool, &[ANY]);
    assert_eq!(text_of(run.verdict("ok")), said);
    assert_eq!((bench.sent("server/discover").len(), bench.sent("initialize").len()), (2, 1));
    bench.assert_effects(1);
    bench.assert_calls(1);
}

/// Over HTTP these servers have both eras on one URL, at the same time.
#[tokio::test]
async fn one_url_serves_both_eras() {
    for (peer, name) in [(Peer::Python, "python"), (Peer::TypeScript, "typescript"), (Peer::Rmcp, "rmcp")] {
        let test = format!("one_url_serves_both_eras-{name}");
        let Some(bench) = HttpBench::new(peer, Era::Modern, &test).await else {
            missing(peer, &test);
            continue;
        };
        let modern = bench.session().await;
        let older = bench.session_with(|options| options.protocol = Some("2025-11-25".into())).await;
        let unasked = bench.session_with(|options| options.protocol = None).await;
        let mut number = 0;
        for _ in 0..2 {
            for (session, revision) in
                [(&modern, "2026-07-28"), (&older, "2025-11-25"), (&unasked, "2026-07-28")]
            {
                if number < 3 {
                    let server = ended(session.reconnect()).await.expect("connected");
                    assert_eq!(server.protocol_version, revision, "{peer:?}");
                }
                number += 1;
                let (tool, said) = peer.succeeds(number);
                assert_eq!(text(&ok(call(session, tool).await)), said, "{peer:?} {revision}");
            }
        }
        bench.effects_are(6).await;
        bench.assert_calls(6);
    }
}
