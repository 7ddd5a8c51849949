//! The real servers over HTTP: how each is started, where it is, and its tools.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::servers::{Tool, peers};

/// The time a server has until it listens; two cores may have much else to do.
const STARTING: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Peer {
    /// Ours, on the official Python SDK.
    Python,
    /// Ours, on the official Rust SDK.
    Rmcp,
    /// Ours, on the official TypeScript SDK. It has no sessions.
    TypeScript,
    /// `@modelcontextprotocol/server-everything`, which keeps no ledger.
    Everything,
    /// The same over the transport of 2024-11-05.
    EverythingSse,
}

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
}

impl Peer {
    /// The words that start it on this port, or nothing where what it needs is missing.
    fn command(self, port: u16) -> Option<Vec<PathBuf>> {
        let port = port.to_string();
        let node = |words: &[&str]| {
            let folder = peers().join("node");
            let file = |word: &&str| if word.starts_with('-') { word.into() } else { folder.join(word) };
            words.iter().map(file).collect::<Vec<PathBuf>>()
        };
        let mut words = match self {
            Peer::Python => {
                let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/python/server.py");
                vec![peers().join("python/bin/python"), script, "http".into()]
            }
            Peer::Rmcp => vec![env!("CARGO_BIN_EXE_peer-rmcp").into(), "http".into()],
            Peer::TypeScript => node(&["node", "server.mjs"]),
            Peer::Everything | Peer::EverythingSse => {
                node(&["node", "--import", "tell-port.mjs", "everything"])
            }
        };
        words.iter().all(|word| !word.is_absolute() || word.exists()).then_some(())?;
        words.push(match self {
            Peer::Python | Peer::Rmcp | Peer::TypeScript => port.into(),
            Peer::Everything => "streamableHttp".into(),
            Peer::EverythingSse => "sse".into(),
        });
        Some(words)
    }

    /// Starts it on this port, or on a free one if that is 0. Its ledger and its words go into `folder`.
    pub(crate) async fn start(self, folder: &Path, port: u16) -> Option<Server> {
        let words = self.command(port)?;
        let said = folder.join("stderr");
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env("LEDGER", folder.join("ledger"))
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&said).expect("a file for its stderr"))
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let port = match timeout(STARTING, listening(&mut lines)).await {
            Ok(Some(port)) => port,
            _ => panic!("{self:?} does not listen; it said: {:?}", std::fs::read_to_string(said)),
        };
        // What else it says must not block it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let path = if self == Peer::EverythingSse { "/sse" } else { "/mcp" };
        Some(Server { child, address: ([127, 0, 0, 1], port).into(), path })
    }

    pub(crate) fn keeps_a_ledger(self) -> bool {
        !matches!(self, Peer::Everything | Peer::EverythingSse)
    }

    /// A call that succeeds, and the text it gives.
    pub(crate) fn succeeds(self, number: u32) -> (Tool, String) {
        if self.keeps_a_ledger() {
            (("pay", json!({ "amount": number })), format!("paid {number}"))
        } else {
            (("echo", json!({ "message": number.to_string() })), format!("Echo: {number}"))
        }
    }

    /// A call whose answer has `isError`.
    pub(crate) fn fails(self) -> Tool {
        if self.keeps_a_ledger() {
            ("fail", json!({}))
        } else {
            ("get-sum", json!({ "a": "no number", "b": 2 }))
        }
    }

    /// A call that takes so long.
    pub(crate) fn takes(self, ms: u32) -> Tool {
        if self.keeps_a_ledger() {
            ("slow", json!({ "ms": ms }))
        } else {
            let arguments = json!({ "duration": f64::from(ms) / 1000.0, "steps": 1 });
            ("trigger-long-running-operation", arguments)
        }
    }
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Kills it, and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("killed");
    }
}

/// The port in the line in which a server tells where it listens: a URL, or words that end in the port.
async fn listening(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<u16> {
    while let Some(line) = lines.next_line().await.expect("its stdout") {
        let port = line.strip_prefix("listening on port ");
        let url = line.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/mcp"));
        if let Some(port) = port.or(url) {
            return Some(port.parse().expect("a port"));
        }
    }
    None
}
