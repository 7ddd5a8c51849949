//! The `noreplay` command, as a script uses it: that each verdict has its own exit status and the JSON
//! that is promised, that a session's calls overlap and each is answered once, and that wrong input is
//! told in one clear line, never by a panic.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host_tests::ledger::http::{End, HttpLedger, Step};
use host_tests::{COMPONENT, HTTP_TRANSPORT};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const NOREPLAY: &str = env!("CARGO_BIN_EXE_noreplay");

/// The ledger server, with these arguments, as `--stdio` takes it.
fn server(arguments: &str) -> String {
    format!("'{}' {arguments}", env!("CARGO_BIN_EXE_ledger-server"))
}

/// How a run of the command ended.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("it is UTF-8");
        let ran = Ran {
            status: output.status.code().expect("no signal ended it"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran
    }

    /// The lines of the output, each as JSON.
    fn lines(&self) -> Vec<Value> {
        let json = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        self.stdout.lines().map(json).collect()
    }

    /// The one line that answers `tag`.
    fn tagged(&self, tag: &str) -> Value {
        let mut lines = self.lines().into_iter().filter(|line| line["tag"] == tag);
        let line = lines.next().unwrap_or_else(|| panic!("nothing under {tag}: {}", self.stdout));
        assert_eq!(lines.next(), None, "{tag} is answered once");
        line
    }
}

fn noreplay(arguments: &[&str]) -> Ran {
    Ran::of(Command::new(NOREPLAY).args(arguments).output().expect("it starts"))
}

fn call(server: &str, arguments: &[&str]) -> Ran {
    noreplay(&[&["call", "--json", "--stdio", server], arguments].concat())
}

/// A session with a server that has these arguments.
fn session(server_arguments: &str, input: &[&str]) -> Ran {
    let mut session = Command::new(NOREPLAY)
        .args(["session", "--stdio", &server(server_arguments)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = session.stdin.take().expect("it has an input");
    for line in input {
        writeln!(stdin, "{line}").expect("it reads");
    }
    drop(stdin);
    Ran::of(session.wait_with_output().expect("it ends"))
}

#[test]
fn an_answer_is_ok_and_verbatim() {
    let ran = call(&server(""), &["--tool", "echo", "--args", r#"{"n":1915883588174806058}"#]);
    assert_eq!(
        ran.stdout,
        concat!(
            r#"{"verdict":"ok","call":1,"result":{"content":[{"text":"{\"n\":1915883588174806058}","#,
            r#""type":"text"}],"structuredContent":{"n":1915883588174806058}},"warnings":[]}"#,
            "\n"
        )
    );
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn an_error_of_the_tool_is_an_answer_too() {
    let ran = call(&server(""), &["--tool", "fail"]);
    let [line] = &ran.lines()[..] else { panic!("not one line: {}", ran.stdout) };
    assert_eq!((&line["verdict"], &line["result"]["isError"]), (&json!("tool-error"), &json!(true)));
    assert_eq!(ran.status, 1);
}

#[test]
fn a_call_whose_answer_is_lost_is_unknown_and_made_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let server = server(&format!("--ledger {} --on pay=execute,lose", ledger.display()));
    let ran = call(&server, &["--tool", "pay", "--args", r#"{"amount":5}"#]);

    let mut line = ran.lines().pop().expect("a line");
    let message = line.as_object_mut().and_then(|line| line.remove("message"));
    assert!(message.is_some_and(|message| message.as_str().is_some_and(|words| words.contains("pay"))));
    let detail = ["the server's process has ended", "exit status: 1"];
    let failure = json!({"kind": "closed", "detail": detail});
    let expected = json!({
        "verdict": "unknown-outcome", "call": 1, "attempts": 1, "stage": "handed-over",
        "cause": {"kind": "transport", "failure": failure},
    });
    assert_eq!(line, expected);
    assert_eq!(ran.status, 3);
    let effects = fs::read_to_string(ledger).expect("the ledger is written");
    assert_eq!(effects, "{\"tool\":\"pay\",\"arguments\":{\"amount\":5}}\n");
}

#[test]
fn an_error_answer_proves_nothing() {
    let ran = call(&server("--on pay=execute,error:-32601"), &["--tool", "pay"]);
    let line = ran.lines().pop().expect("a line");
    assert_eq!(line["verdict"], "unknown-outcome");
    let error = json!({"code": -32601, "message": "as told"});
    assert_eq!(line["cause"], json!({"kind": "answered-with-error", "error": error}));
    assert_eq!(ran.status, 3);
}

#[test]
fn a_call_without_a_server_is_not_executed() {
    let ran = call("/nowhere/no-such-server", &["--tool", "pay"]);
    let line = ran.lines().pop().expect("a line");
    assert_eq!(line["verdict"], "not-executed");
    assert_eq!(line["reason"]["kind"], "connect-failed");
    assert_eq!(line["reason"]["failure"]["kind"], "spawn-failed");
    assert_eq!(ran.status, 4);
}

#[test]
fn a_session_that_somebody_else_manages_does_not_connect_by_itself() {
    let ran = call(&server(""), &["--tool", "pay", "--ownership", "caller-managed"]);
    let line = ran.lines().pop().expect("a line");
    assert_eq!(line, json!({"verdict": "not-executed", "reason": {"kind": "not-connected"}}));
    assert_eq!(ran.status, 4);
}

#[test]
fn a_call_ends_in_time() {
    let start = Instant::now();
    let ran = call(&server("--on pay=execute"), &["--tool", "pay", "--timeout", "200ms"]);
    assert_eq!(ran.lines()[0]["cause"], json!({"kind": "timed-out"}));
    assert_eq!(ran.status, 3);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn a_call_that_the_user_interrupts_has_its_verdict_all_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    // The notification makes the server write its ledger while the call runs on.
    let server = server(&format!("--ledger {} --on pay=execute,notify:1", ledger.display()));
    let call = Command::new(NOREPLAY)
        .args(["call", "--json", "--tool", "pay", "--stdio", &server])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let start = Instant::now();
    while !ledger.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the call never ran");
        thread::sleep(Duration::from_millis(5));
    }
    let process = Pid::from_raw(call.id().cast_signed()).expect("a number");
    kill_process(process, Signal::INT).expect("it lives");
    let ran = Ran::of(call.wait_with_output().expect("it ends"));
    assert_eq!(ran.lines()[0]["cause"], json!({"kind": "cancelled"}));
    assert_eq!(ran.status, 3);
}

/// A server over HTTP, for as long as `use_it` runs.
fn over_http<R>(server: impl FnOnce(HttpLedger) -> HttpLedger, use_it: impl FnOnce(&HttpLedger) -> R) -> R {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("it starts");
    let server = server(runtime.block_on(HttpLedger::start()).expect("a port is free"));
    use_it(&server)
}

#[test]
fn a_server_may_be_a_url() {
    let server = |server: HttpLedger| server.authorization("Bearer hush", "Bearer");
    over_http(server, |server| {
        let url = server.url();
        let call =
            |rest: &[&str]| noreplay(&[&["call", "--json", "--tool", "pay", "--http", &url], rest].concat());
        let ran = call(&["--args", r#"{"amount":5}"#, "--header", "Authorization: Bearer hush"]);
        assert_eq!((&ran.lines()[0]["verdict"], ran.status), (&json!("ok"), 0), "{}", ran.stdout);
        assert_eq!(server.ledger().count("pay"), 1);

        let ran = call(&["--header", "Authorization: Bearer hushed"]);
        assert_eq!((&ran.lines()[0]["verdict"], ran.status), (&json!("not-executed"), 4), "{}", ran.stdout);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hushed"));
        assert_eq!(server.ledger().count("pay"), 1);
    });
}

#[test]
fn a_call_over_http_whose_answer_is_lost_is_unknown_and_made_once() {
    let lose = [Step::Execute, Step::End(End::Reset)];
    over_http(
        |server| server.on_tool("pay", 1, lose),
        |server| {
            let ran = noreplay(&["call", "--json", "--tool", "pay", "--http", &server.url()]);
            let line = ran.lines().pop().expect("a line");
            assert_eq!((&line["verdict"], ran.status), (&json!("unknown-outcome"), 3), "{line}");
            assert_eq!(line["cause"]["failure"]["kind"], "connection-reset", "{line}");
            assert_eq!((server.ledger().count("pay"), server.traffic().calls("pay").len()), (1, 1));
        },
    );
}

#[test]
fn text_is_for_reading() {
    let say =
        |arguments: &str, tool: &str| noreplay(&["call", "--stdio", &server(arguments), "--tool", tool]);
    let ok = say("", "pay");
    assert_eq!((ok.stdout.as_str(), ok.stderr.as_str(), ok.status), ("charged: {}\n", "", 0));
    let unknown = say("--on pay=execute,end", "pay");
    assert!(unknown.stdout.starts_with("unknown outcome: "), "{}", unknown.stdout);
    let tools = noreplay(&["tools", "--stdio", &server("")]);
    assert!(tools.stdout.starts_with("pay      Charges an amount\n"), "{}", tools.stdout);
    for text in [ok, unknown, tools] {
        assert!(!text.stdout.contains('\u{1b}'), "colours in a pipe: {}", text.stdout);
    }
}

#[test]
fn tools_are_listed_verbatim() {
    let ran = noreplay(&["tools", "--json", "--stdio", &server("")]);
    let [line] = &ran.lines()[..] else { panic!("not one line: {}", ran.stdout) };
    let names: Vec<_> = line["tools"].as_array().expect("a list").iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["pay", "slow", "fail", "balance", "echo", "big"]);
    assert_eq!(ran.status, 0);
    let ran = noreplay(&["tools", "--json", "--stdio", "/nowhere/no-such-server"]);
    assert_eq!(ran.lines()[0]["reason"]["kind"], "connect-failed");
    assert_eq!(ran.status, 2);
}

#[test]
fn wrong_usage_is_told_and_nothing_is_started() {
    let ok = server("");
    for (arguments, words) in [
        (&["call", "--tool", "pay"][..], "--stdio"),
        (&["call", "--stdio", &ok], "--tool"),
        (&["call", "--stdio", "", "--tool", "pay"], "no command"),
        (&["call", "--stdio", "'", "--tool", "pay"], "quote"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--args", "[1]"], "no JSON object"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--args", "null"], "no JSON object"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--args", "{"], "no JSON"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--meta", "1"], "no JSON object"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--timeout", "soon"], "--timeout"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--timeout", "1000days"], "49 days"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--grant", "pay"], "TOOL=N"),
        (&["call", "--stdio", &ok, "--tool", "pay", "--resend", "always"], "always"),
        (&["session"], "--stdio"),
        (&["tools", "--http", "localhost:8080"], "http://"),
        (&["tools", "--http", "http://a b/"], "no URL"),
        (&["tools", "--http", "http://localhost:99999/"], "port"),
        (&["tools", "--http", "http://me:hush@localhost/"], "credentials"),
        (&["tools", "--http", "http://localhost/", "--stdio", &ok], "cannot be used with"),
        (&["tools", "--stdio", &ok, "--header", "a: b"], "cannot be used with"),
        (&["tools", "--http", "http://localhost/", "--header", "a: b", "--header", "hush"], "number 2"),
        (&["tools", "--http", "http://localhost/", "--header", "a b: hush"], "name"),
        (&["tools", "--http", "http://localhost/", "--header", "a: hush\u{7f}"], "value"),
        (&["fly"], "fly"),
        (&["inspect", "--component", "/nowhere/component.wasm"], "/nowhere/component.wasm"),
        (&["inspect", "--component", "Cargo.toml"], "cannot compile"),
    ] {
        let ran = noreplay(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hush"), "a secret is told: {}", ran.stderr);
    }
}

#[test]
fn a_session_answers_each_command_in_the_form_that_is_promised() {
    let ran = session(
        "--on pay:2=execute,lose",
        &[
            r#"{"do":"call","tag":"a","tool":"pay","arguments":{"amount":5},"meta":{},"timeout-ms":60000}"#,
            r#"{"do":"await","tags":["a"]}"#,
            r#"{"do":"tools","tag":"t"}"#,
            r#"{"do":"await","tags":["t"]}"#,
            r#"{"do":"reconnect","tag":"r"}"#,
            r#"{"do":"await","tags":["r"]}"#,
            r#"{"do":"call","tag":"f","tool":"fail"}"#,
            r#"{"do":"await","tags":["f"]}"#,
            r#"{"do":"call","tag":"p","tool":"pay"}"#,
            r#"{"do":"await","tags":["p"]}"#,
            r#"{"do":"call","tag":"b","tool":"pay"}"#,
            r#"{"do":"await","tags":["b"]}"#,
            r#"{"do":"reconcile","tag":"s","of":"b"}"#,
            r#"{"do":"reconcile","tag":"u","of":"a"}"#,
            r#"{"do":"await","tags":["s","u"]}"#,
            r#"{"do":"close","tag":"c"}"#,
        ],
    );
    let content = json!([{"type": "text", "text": "charged: {\"amount\":5}"}]);
    let charged = json!({"content": content, "isError": false});
    let ok = json!({"tag": "a", "verdict": "ok", "call": 1, "result": charged, "warnings": []});
    assert_eq!(ran.tagged("a"), ok);
    assert_eq!(ran.tagged("t")["verdict"], "tools");
    let introduced = json!({"name": "ledger", "version": "0.3.0", "protocol-version": "2025-11-25"});
    assert_eq!(ran.tagged("r"), json!({"tag": "r", "verdict": "reconnected", "server": introduced}));
    assert_eq!(ran.tagged("f")["verdict"], "tool-error");
    // A fresh process: its first charge is the second of this session.
    assert_eq!(ran.tagged("p")["verdict"], "ok");
    assert_eq!(ran.tagged("b")["verdict"], "unknown-outcome");
    assert_eq!(ran.tagged("s"), json!({"tag": "s", "verdict": "still-unknown"}));
    let mut known = ok;
    known["tag"] = json!("u");
    assert_eq!(ran.tagged("u"), known, "what is known already is told again");
    assert_eq!(ran.tagged("c"), json!({"tag": "c", "verdict": "closed"}));
    assert_eq!((ran.status, ran.stderr.lines().count()), (0, 1), "{}", ran.stderr);
}

#[test]
fn calls_overlap_and_the_end_of_input_awaits_them() {
    let ran = session(
        "",
        &[
            r#"{"do":"call","tag":"slow","tool":"slow","arguments":{"ms":700}}"#,
            r#"{"do":"call","tag":"fast","tool":"echo"}"#,
        ],
    );
    let lines = ran.lines();
    let tags: Vec<_> = lines.iter().filter_map(|line| line["tag"].as_str()).collect();
    assert_eq!(tags, ["fast", "slow"]);
    assert_eq!(ran.tagged("slow")["verdict"], "ok");
    assert_eq!(ran.status, 0);
}

#[test]
fn a_late_answer_is_an_event_and_upgrades_the_verdict() {
    let ran = session(
        "",
        &[
            r#"{"do":"call","tag":"a","tool":"slow","arguments":{"ms":600},"timeout-ms":150}"#,
            r#"{"do":"reconcile","tag":"now","of":"a"}"#,
            r#"{"do":"reconcile","tag":"then","of":"a","timeout-ms":30000}"#,
            r#"{"do":"await","tags":["then"]}"#,
            r#"{"do":"reconcile","tag":"again","of":"a"}"#,
        ],
    );
    assert_eq!(ran.tagged("a")["cause"], json!({"kind": "timed-out"}));
    assert_eq!(ran.tagged("now")["verdict"], "still-unknown");
    for tag in ["then", "again"] {
        assert_eq!(ran.tagged(tag)["verdict"], "ok", "{tag}");
        assert_eq!(ran.tagged(tag)["result"]["content"][0]["text"], "done");
    }
    let lines = ran.lines();
    let events: Vec<_> = lines.iter().filter(|line| line["event"] == "late-answer").collect();
    let [event] = events[..] else { panic!("not one event: {}", ran.stdout) };
    assert_eq!((&event["call"], &event["verdict"]), (&ran.tagged("a")["call"], &json!("ok")));
    assert_eq!(event["result"], ran.tagged("then")["result"]);
    assert_eq!(ran.status, 0);
}

#[test]
fn a_cancelled_call_is_answered_under_its_own_tag() {
    let ran = session(
        "",
        &[
            r#"{"do":"call","tag":"a","tool":"slow","arguments":{"ms":50000}}"#,
            r#"{"do":"sleep","ms":300}"#,
            r#"{"do":"cancel","tag":"a"}"#,
        ],
    );
    assert_eq!(ran.tagged("a")["cause"], json!({"kind": "cancelled"}));
    assert_eq!(ran.status, 0);
}

#[test]
fn what_the_server_says_unasked_is_an_event() {
    let ran = session(
        "--on pay=say:banner,progress:3,notify:1,answer",
        &[r#"{"do":"call","tag":"a","tool":"pay","progress":true}"#],
    );
    let event = |name: &str| {
        let lines = ran.lines();
        let found = lines.iter().find(|line| line["event"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {}", ran.stdout)).clone()
    };
    assert_eq!(event("connected")["server"]["name"], "ledger");
    assert_eq!(event("progress")["params"]["progress"], 3);
    let notification = event("notification");
    assert_eq!(notification["method"], "notifications/message");
    assert_eq!(notification["params"]["data"], 1);
    assert!(event("diagnostic")["text"].is_string());
    assert_eq!(ran.tagged("a")["verdict"], "ok");
}

#[test]
fn a_wrong_line_is_told_and_the_session_goes_on() {
    let ran = session(
        "",
        &[
            "nonsense",
            "",
            r#"{"do":"fly","tag":"w"}"#,
            r#"{"do":"call","tag":"x","tool":"pay","arguments":[1]}"#,
            r#"{"do":"call","tag":"a","tool":"echo"}"#,
            r#"{"do":"call","tag":"a","tool":"echo"}"#,
            r#"{"do":"cancel","tag":"b"}"#,
            r#"{"do":"reconcile","tag":"c","of":"b"}"#,
            r#"{"do":"await","tags":["b"]}"#,
            r#"{"do":"call","tag":"last","tool":"echo"}"#,
        ],
    );
    let lines = ran.lines();
    let wrong: Vec<_> = lines.iter().filter(|line| line.get("error").is_some()).collect();
    let tags: Vec<_> = wrong.iter().map(|line| line["tag"].as_str()).collect();
    assert_eq!(tags, [None, Some("w"), Some("x"), Some("a"), Some("b"), Some("c"), None]);
    assert!(wrong[0]["error"].as_str().is_some_and(|words| words.starts_with("not JSON")), "{}", wrong[0]);
    let verdicts = lines.iter().filter(|line| line["verdict"] == "ok");
    assert_eq!(verdicts.count(), 2, "the good ones are answered: {}", ran.stdout);
    assert_eq!(ran.status, 2);
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut session = Command::new(NOREPLAY)
        .args(["session", "--stdio", &server("")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(session.stdout.take());
    let mut stdin = session.stdin.take().expect("it has an input");
    writeln!(stdin, r#"{{"do":"call","tag":"a","tool":"pay"}}"#).expect("it reads");
    drop(stdin);
    let ran = Ran::of(session.wait_with_output().expect("it ends"));
    assert_eq!((ran.status, ran.stderr.as_str()), (2, ""));
}

#[test]
fn the_demonstration_holds_and_fits_a_terminal() {
    let ran = noreplay(&["demo"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    for words in ["pay {\"amount\":5}", "unknown-outcome", "tools/call pay", "initialize", "holds 1 charge"] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }

    let coloured = Command::new(NOREPLAY).arg("demo").env("CLICOLOR_FORCE", "1").output();
    let coloured = Ran::of(coloured.expect("it starts"));
    assert_eq!(anstream::adapter::strip_str(&coloured.stdout).to_string(), ran.stdout);
    assert_ne!(coloured.stdout, ran.stdout);

    let ran = noreplay(&["demo", "--json"]);
    let lines = ran.lines();
    let verdicts: Vec<_> = lines.iter().map(|line| line["verdict"].as_str()).collect();
    assert_eq!(verdicts, [Some("unknown-outcome"), Some("ok"), None]);
    assert_eq!(lines[2], json!({"effects": 1}));
    assert_eq!(ran.status, 0);
}

#[test]
fn inspection_tells_what_the_component_is() {
    let ran = noreplay(&["inspect", "--json"]);
    let line = &ran.lines()[0];
    assert_eq!(
        line["imports"],
        json!([
            "noreplay:mcp/transport@0.3.0",
            "noreplay:mcp/types@0.3.0",
            "wasi:clocks/monotonic-clock@0.3.0"
        ])
    );
    assert_eq!(line["exports"], json!(["noreplay:mcp/client@0.3.0"]));
    assert_eq!(line["bytes"], COMPONENT.len());
    let gzip = line["gzip-bytes"].as_u64().expect("a number");
    assert!(gzip > 1_000 && gzip < COMPONENT.len() as u64);
    assert_eq!(line["sha256"].as_str().map(str::len), Some(64));

    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("component.wasm");
    fs::write(&file, COMPONENT).expect("it is written");
    let same = noreplay(&["inspect", "--json", "--component", &file.display().to_string()]);
    assert_eq!(same.stdout, ran.stdout);
    assert!(noreplay(&["inspect"]).stdout.contains("wasi:clocks/monotonic-clock@0.3.0"));

    // Any component will do.
    fs::write(&file, HTTP_TRANSPORT).expect("it is written");
    let other = noreplay(&["inspect", "--json", "--component", &file.display().to_string()]);
    assert_eq!(other.lines()[0]["exports"], json!(["noreplay:mcp/transport@0.3.0"]));
}

/// What the server does not have it says in words of its own; that is no verdict on any call.
#[test]
fn a_session_reads_what_a_server_has_beside_tools() {
    let ran = session(
        "",
        &[
            r#"{"do":"read","tag":"p","method":"ping"}"#,
            r#"{"do":"read","tag":"r","method":"resources/read","params":{"uri":"u"}}"#,
            r#"{"do":"read","tag":"n","method":"subscriptions/listen","params":{}}"#,
            r#"{"do":"await","tags":["p","r","n"]}"#,
        ],
    );
    assert_eq!(ran.tagged("p"), json!({"tag": "p", "verdict": "read", "result": {}}));
    let refused = ran.tagged("r");
    assert_eq!(
        (&refused["verdict"], &refused["reason"]["kind"]),
        (&json!("failed"), &json!("answered-with-error"))
    );
    // Before 2026-07-28 lists are told of unasked: there is nothing to be done.
    assert_eq!(ran.tagged("n"), json!({"tag": "n", "verdict": "read"}));
    assert_eq!(ran.status, 0);
}
