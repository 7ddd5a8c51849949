//! The real servers: how each is started, and its tools that succeed, fail or take their time.

use std::fmt::Debug;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Server {
    /// Ours, on the official Python SDK.
    Python,
    /// `@modelcontextprotocol/server-everything`. It keeps no ledger.
    Npm,
    /// Ours, on the official Rust SDK.
    Rmcp,
    /// Ours, on the official TypeScript SDK.
    TypeScript,
}

/// A tool's name and arguments.
pub(crate) type Tool = (&'static str, Value);

impl Server {
    /// The words that start it, or nothing where what it needs is missing.
    pub(crate) fn command(self) -> Option<Vec<PathBuf>> {
        let words = match self {
            Server::Python => {
                let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/python/server.py");
                vec![peers().join("python/bin/python"), script, "stdio".into()]
            }
            Server::Npm => {
                let node = peers().join("node");
                vec![node.join("node"), node.join("everything"), "stdio".into()]
            }
            Server::Rmcp => vec![env!("CARGO_BIN_EXE_peer-rmcp").into(), "stdio".into()],
            Server::TypeScript => {
                let node = peers().join("node");
                vec![node.join("node"), node.join("server.mjs"), "stdio".into()]
            }
        };
        words.iter().all(|word| !word.is_absolute() || word.exists()).then_some(words)
    }

    pub(crate) fn keeps_a_ledger(self) -> bool {
        self != Server::Npm
    }

    /// Whether it writes an answer's `id` behind its `result`.
    pub(crate) fn writes_the_id_last(self) -> bool {
        matches!(self, Server::Npm | Server::TypeScript)
    }

    /// A call that succeeds, and the text it gives.
    pub(crate) fn succeeds(self, number: u32) -> (Tool, String) {
        match self {
            Server::Npm => {
                let tool = ("echo", json!({ "message": number.to_string() }));
                (tool, format!("Echo: {number}"))
            }
            _ => {
                let tool = ("pay", json!({ "amount": number }));
                (tool, format!("paid {number}"))
            }
        }
    }

    /// A call whose answer has `isError`.
    pub(crate) fn fails(self) -> Tool {
        match self {
            Server::Npm => ("get-sum", json!({ "a": "no number", "b": 2 })),
            _ => ("fail", json!({})),
        }
    }

    /// A call that takes so long.
    pub(crate) fn takes(self, ms: u32) -> Tool {
        match self {
            Server::Npm => {
                let duration = f64::from(ms) / 1000.0;
                let arguments = json!({ "duration": duration, "steps": 1 });
                ("trigger-long-running-operation", arguments)
            }
            _ => ("slow", json!({ "ms": ms })),
        }
    }
}

/// The folder of the installed servers. The first to ask installs them, if need be.
pub(crate) fn peers() -> &'static Path {
    static PEERS: OnceLock<PathBuf> = OnceLock::new();
    PEERS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers");
        let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/install");
        let status = Command::new(&install)
            .arg(&folder)
            .stdout(Stdio::null())
            .status()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", install.display()));
        // 3: Python or Node.js is missing. Who needs it finds its server missing.
        assert!(matches!(status.code(), Some(0 | 3)), "{} ended with {status}", install.display());
        folder
    })
}

/// Says that a test did not run; where CI sees to it that nothing is missing, that is a failure.
pub(crate) fn missing(server: impl Debug, test: &str) {
    let ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
    assert!(!ci, "the {server:?} server is missing: {test} cannot run");
    // Not by `eprintln!`: the harness would keep it to itself.
    let _ = writeln!(
        std::io::stderr(),
        "NOT TESTED: {test}: the {server:?} server is missing (see peers/install)"
    );
}
