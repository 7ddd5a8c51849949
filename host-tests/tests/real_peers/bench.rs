//! One test's own folder, server, relay and ledger, and the `noreplay` command run against them.

use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::servers::{Server, Tool};

/// No test is meant to take so long; a run that does is stuck.
const STUCK: Duration = Duration::from_secs(90);

/// The time a server has to be gone once the command has ended.
const GONE: Duration = Duration::from_secs(10);

pub(crate) struct Bench {
    pub(crate) server: Server,
    command: Vec<PathBuf>,
    folder: PathBuf,
}

/// What the `noreplay` command left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) took: Duration,
    #[expect(dead_code, reason = "shown when an assertion fails")]
    stderr: String,
}

/// No flag of the command: its session finds out what the server speaks.
pub(crate) const ANY: &str = "any revision";

impl Bench {
    /// `None` where the server is missing.
    pub(crate) fn new(server: Server, name: &str) -> Option<Self> {
        let command = server.command()?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real_peers").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the test's folder");
        Some(Bench { server, command, folder })
    }

    /// Puts the relay before the server, with the fault on the nth request with the method.
    pub(crate) fn fault(&mut self, method: &str, nth: &str, fault: &str) {
        self.relay(&["--on", method, "--nth", nth, "--fault", fault]);
    }

    /// Puts the relay before the server to watch the wire only.
    pub(crate) fn watch(&mut self) {
        self.relay(&[]);
    }

    fn relay(&mut self, fault: &[&str]) {
        let relay = env!("CARGO_BIN_EXE_peer-relay");
        let mut command = vec![relay.into(), "--log".into(), self.log()];
        command.extend(fault.iter().map(PathBuf::from));
        command.push("--".into());
        command.append(&mut self.command);
        self.command = command;
    }

    fn log(&self) -> PathBuf {
        self.folder.join("wire")
    }

    /// The effects that have happened.
    pub(crate) fn effects(&self) -> Vec<Value> {
        lines(&fs::read(self.folder.join("ledger")).unwrap_or_default())
    }

    /// Asserts the number of effects, of a server that keeps a ledger.
    pub(crate) fn assert_effects(&self, number: usize) {
        if self.server.keeps_a_ledger() {
            let effects = self.effects();
            assert_eq!(effects.len(), number, "effects: {effects:#?}");
        }
    }

    /// The client's messages that were on the wire, over all connections.
    pub(crate) fn wire(&self) -> Vec<Value> {
        lines(&fs::read(self.log()).expect("the relay's log"))
    }

    /// Those of them with this method.
    pub(crate) fn sent(&self, method: &str) -> Vec<Value> {
        let mut messages = self.wire();
        messages.retain(|message| message["method"] == method);
        messages
    }

    /// Asserts how many `tools/call` were on the wire.
    pub(crate) fn assert_calls(&self, number: usize) {
        let calls = self.sent("tools/call");
        assert_eq!(calls.len(), number, "on the wire: {calls:#?}");
    }

    /// `noreplay call --json`.
    pub(crate) fn call(&self, (tool, arguments): Tool, flags: &[&str]) -> Run {
        let arguments = arguments.to_string();
        let call = ["--json", "--tool", tool, "--args", arguments.as_str()];
        self.run("call", &[&call, flags].concat(), String::new())
    }

    /// `noreplay session`, fed with these commands.
    pub(crate) fn session(&self, commands: &[Value], flags: &[&str]) -> Run {
        let input = commands.iter().map(|command| format!("{command}\n")).collect();
        self.run("session", flags, input)
    }

    fn run(&self, form: &str, flags: &[&str], input: String) -> Run {
        let target: Vec<String> = self.command.iter().map(|word| quote(word)).collect();
        // Most of what is asked here is asked of the revisions that begin with `initialize`.
        let older = !flags.contains(&"--protocol") && !flags.contains(&ANY);
        let flags = flags.iter().filter(|flag| **flag != ANY);
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_noreplay"))
            .args([form, "--stdio", &target.join(" ")])
            .args(older.then_some(["--protocol", "2025-11-25"]).into_iter().flatten())
            .args(flags)
            .env("LEDGER", self.folder.join("ledger"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the noreplay command");
        let stdout = drain(child.stdout.take().expect("piped"));
        let stderr = drain(child.stderr.take().expect("piped"));
        let mut stdin = child.stdin.take().expect("piped");
        // A command that ends early does not read it all.
        thread::spawn(move || stdin.write_all(input.as_bytes()));

        let status = loop {
            match child.try_wait().expect("the command's status") {
                Some(status) => break status,
                None if started.elapsed() < STUCK => thread::sleep(Duration::from_millis(5)),
                None => {
                    child.kill().expect("killed");
                    let [stdout, stderr] = [stdout, stderr].map(text);
                    panic!("noreplay is stuck; its stdout:\n{stdout}\nits stderr:\n{stderr}");
                }
            }
        };
        let took = started.elapsed();
        let run =
            Run { status: status.code(), lines: lines(text(stdout).as_bytes()), took, stderr: text(stderr) };
        assert!(!matches!(run.status, None | Some(101)), "crashed: {run:#?}");
        run
    }
}

impl Run {
    /// The verdict line of `call`, after checking it and the exit status that goes with it.
    #[track_caller]
    pub(crate) fn verdict(&self, verdict: &str) -> &Value {
        let status = match verdict {
            "ok" => 0,
            "tool-error" => 1,
            "unknown-outcome" => 3,
            "not-executed" => 4,
            _ => panic!("no such verdict: {verdict}"),
        };
        let verdicts: Vec<&Value> = self.lines.iter().filter(|line| line["event"].is_null()).collect();
        let [line] = verdicts[..] else { panic!("not one verdict: {self:#?}") };
        assert_eq!(line["verdict"], verdict, "{self:#?}");
        assert_eq!(self.status, Some(status), "{self:#?}");
        well_formed(line);
        line
    }

    /// The verdict line of a session's command, which must be there exactly once.
    #[track_caller]
    pub(crate) fn of(&self, tag: &str, verdict: &str) -> &Value {
        let verdicts: Vec<&Value> = self.lines.iter().filter(|line| line["tag"] == tag).collect();
        let [line] = verdicts[..] else { panic!("not one verdict of {tag}: {self:#?}") };
        assert_eq!(line["verdict"], verdict, "{tag} in {self:#?}");
        well_formed(line);
        line
    }

    /// The tags in the order of their verdicts.
    pub(crate) fn order(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line["tag"].as_str()).collect()
    }

    /// Asserts that the verdict came from the fact and not from a deadline, which is a minute away.
    #[track_caller]
    pub(crate) fn assert_at_once(&self) {
        assert!(self.took < Duration::from_secs(30), "{self:#?}");
    }
}

/// What every unknown outcome and every refusal owes, whatever befell it.
#[track_caller]
fn well_formed(line: &Value) {
    match line["verdict"].as_str() {
        Some("unknown-outcome") => {
            assert_eq!(line["attempts"], 1, "{line:#}");
            assert!(line["call"].is_u64(), "{line:#}");
            assert!(line["stage"].is_string(), "{line:#}");
            assert!(line["cause"]["kind"].is_string(), "{line:#}");
            let message = line["message"].as_str();
            assert!(message.is_some_and(|words| !words.is_empty()), "{line:#}");
            assert!(line["result"].is_null(), "{line:#}");
        }
        Some("not-executed") => assert!(line["reason"]["kind"].is_string(), "{line:#}"),
        _ => {}
    }
}

/// The text of a result's only block.
#[track_caller]
pub(crate) fn text_of(line: &Value) -> &str {
    let content = line["result"]["content"].as_array().map(Vec::as_slice);
    match content {
        Some([block]) => block["text"].as_str().expect("a text block"),
        _ => panic!("not one block: {line:#}"),
    }
}

/// A session's call.
pub(crate) fn call(tag: &str, (tool, arguments): Tool) -> Value {
    timed(tag, (tool, arguments), 60_000)
}

/// A session's call with its own deadline.
pub(crate) fn timed(tag: &str, (tool, arguments): Tool, ms: u32) -> Value {
    json!({ "do": "call", "tag": tag, "tool": tool, "arguments": arguments, "timeout-ms": ms })
}

/// Holds the session's further commands until these have their verdicts.
pub(crate) fn after(tags: &[&str]) -> Value {
    json!({ "do": "await", "tags": tags })
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

fn drain(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (whole, drained) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = whole.send(bytes);
    });
    drained
}

/// The server's stderr is the command's: the end of it says that the server is gone too.
fn text(drained: Receiver<Vec<u8>>) -> String {
    let bytes = drained.recv_timeout(GONE).expect("a server outlived the noreplay command");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One shell word.
fn quote(word: &Path) -> String {
    let word = word.to_str().expect("UTF-8");
    format!("'{}'", word.replace('\'', r"'\''"))
}
