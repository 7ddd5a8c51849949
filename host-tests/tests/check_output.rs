//! B098: an answer that does not fit what its tool said of it is an answer, with a warning of the command's, and
//! the call is made once.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use host_tests::ledger::http::{HttpLedger, Step};
use serde_json::{Value, json};

/// A server whose tool `pay` says this of its answers.
async fn server(output_schema: Value) -> HttpLedger {
    let tool = json!({ "name": "pay", "inputSchema": { "type": "object" }, "outputSchema": output_schema });
    let fail =
        json!({ "name": "fail", "inputSchema": { "type": "object" }, "outputSchema": { "type": "object" } });
    let list = format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{{"tools":[{tool},{fail}]}}}}"#);
    HttpLedger::start().await.expect("a port").always("tools/list", [Step::say(list)])
}

async fn noreplay(form: &str, server: &HttpLedger, flags: &[&str], input: &str) -> (i32, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_noreplay"));
    command.args([form, "--protocol", "2025-11-25", "--http", &server.url()]).args(flags);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let input = input.to_owned();
    let run = move || -> std::io::Result<Output> {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        child.wait_with_output()
    };
    let output = tokio::task::spawn_blocking(run).await.expect("no panic").expect("it runs");
    let lines = String::from_utf8(output.stdout).expect("text");
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (output.status.code().expect("no signal"), lines)
}

async fn pay(server: &HttpLedger, flags: &[&str]) -> Value {
    let call = ["--json", "--tool", "pay", "--args", r#"{"amount":5}"#];
    let (status, lines) = noreplay("call", server, &[&call, flags].concat(), "").await;
    let [line] = &lines[..] else { panic!("not one line: {lines:#?}") };
    assert_eq!((status, &line["verdict"]), (0, &json!("ok")), "{line:#}");
    assert_eq!((server.ledger().count("pay"), server.traffic().calls("pay").len()), (1, 1));
    line.clone()
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_ok_with_a_warning() {
    let schema = json!({ "type": "object", "required": ["receipt"] });
    let line = pay(&server(schema.clone()).await, &["--check-output"]).await;
    let warnings = line["warnings"].as_array().expect("a list");
    let [warning] = &warnings[..] else { panic!("not one: {line:#}") };
    assert!(warning.as_str().is_some_and(|words| words.contains("outputSchema")), "{line:#}");

    // Nobody asked for it.
    let server = server(schema).await;
    assert_eq!(pay(&server, &[]).await["warnings"], json!([]));
    assert_eq!(server.traffic().posts("tools/list").len(), 0);
}

#[tokio::test]
async fn a_list_that_cannot_be_had_costs_no_call() {
    let error = r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"no"}}"#;
    let server = HttpLedger::start().await.expect("a port").always("tools/list", [Step::say(error)]);
    let line = pay(&server, &["--check-output"]).await;
    assert!(line["warnings"][0].as_str().is_some_and(|words| words.contains("no list")), "{line:#}");
}

#[tokio::test]
async fn what_a_schema_refers_to_is_not_fetched() {
    let elsewhere = HttpLedger::start().await.expect("a port");
    let server = server(json!({ "$ref": elsewhere.url() })).await;
    let line = pay(&server, &["--check-output"]).await;
    assert!(line["warnings"][0].as_str().is_some_and(|words| words.contains("cannot be used")), "{line:#}");
    assert_eq!(elsewhere.traffic().requests().count(), 0);
}

#[tokio::test]
async fn a_session_that_listed_the_tools_is_warned_too() {
    let schema = json!({ "type": "object", "required": ["receipt"] });
    let call = |tag: &str, tool: &str| format!("{}\n", json!({ "do": "call", "tag": tag, "tool": tool }));
    let listing = "{\"do\":\"tools\",\"tag\":\"t\"}\n{\"do\":\"await\",\"tags\":[\"t\"]}\n";
    for (flags, listing, warned) in
        [(&["--check-output"][..], "", true), (&[], listing, true), (&[], "", false)]
    {
        let server = server(schema.clone()).await;
        let input = format!("{listing}{}{}", call("a", "pay"), call("b", "fail"));
        let (_, lines) = noreplay("session", &server, flags, &input).await;
        let of = |tag: &str| lines.iter().find(|line| line["tag"] == tag).expect("it is answered");
        assert_eq!((&of("a")["verdict"], &of("b")["verdict"]), (&json!("ok"), &json!("tool-error")));
        assert_eq!(!of("a")["warnings"].as_array().expect("a list").is_empty(), warned, "{lines:#?}");
        // A failure need not look like an answer.
        assert_eq!(of("b")["warnings"], json!([]));
        assert_eq!(server.ledger().count("pay"), 1);
    }
}
