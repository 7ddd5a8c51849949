//! The rows: server by transport by revision.

use std::fmt;

use crate::http::server::Peer;
use crate::servers::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
    /// HTTP+SSE, the transport of 2024-11-05.
    Sse,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) server: Server,
    pub(crate) way: Way,
    pub(crate) revision: &'static str,
}

/// Every released revision.
pub(crate) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for server in [Server::Python, Server::TypeScript, Server::Npm, Server::Rmcp] {
        for way in [Way::Stdio, Way::Http, Way::Sse] {
            let revisions = REVISIONS.into_iter().filter(|revision| has(server, way, revision));
            rows.extend(revisions.map(|revision| Row { server, way, revision }));
        }
    }
    rows
}

/// Whether the server speaks the revision over the transport, and the revision has it.
fn has(server: Server, way: Way, revision: &str) -> bool {
    let speaks = server != Server::Npm || revision != MODERN;
    speaks
        && match way {
            Way::Stdio => true,
            Way::Http => revision != "2024-11-05",
            Way::Sse => server == Server::Npm && revision == "2024-11-05",
        }
}

impl Row {
    pub(crate) fn is_modern(self) -> bool {
        self.revision == MODERN
    }

    /// The same server over HTTP.
    pub(crate) fn peer(self) -> Peer {
        match (self.server, self.way) {
            (Server::Python, _) => Peer::Python,
            (Server::TypeScript, _) => Peer::TypeScript,
            (Server::Rmcp, _) => Peer::Rmcp,
            (Server::Npm, Way::Sse) => Peer::EverythingSse,
            (Server::Npm, _) => Peer::Everything,
        }
    }

    /// What the server is made of, as it is pinned.
    pub(crate) fn made_of(self) -> String {
        let python = include_str!("../../../peers/python/requirements.txt");
        let node = include_str!("../../../peers/node/package.json");
        let rust = include_str!("../../../Cargo.toml");
        let (name, pinned) = match self.server {
            Server::Python => ("`mcp` (Python)", version(python, "\nmcp==")),
            Server::TypeScript => {
                ("`server` (TypeScript)", version(node, "modelcontextprotocol/server\": \""))
            }
            Server::Npm => ("`server-everything`", version(node, "server-everything\": \"")),
            Server::Rmcp => ("`rmcp` (Rust)", version(rust, "rmcp = { version = \"=")),
        };
        format!("{name} {pinned}")
    }
}

/// The version that stands behind `name`.
fn version<'a>(pins: &'a str, name: &str) -> &'a str {
    let (_, pinned) = pins.split_once(name).expect("it is pinned");
    pinned.split(['"', '\n']).next().expect("a version")
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Stdio => "stdio",
            Way::Http => "HTTP",
            Way::Sse => "HTTP+SSE",
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {}", self.server, self.way, self.revision)
    }
}

#[test]
fn every_released_revision_is_spoken_with_every_kind_of_server_that_has_it() {
    for server in [Server::Python, Server::TypeScript, Server::Rmcp] {
        let spoken = all().into_iter().filter(|row| row.server == server && row.way == Way::Stdio);
        assert_eq!(spoken.map(|row| row.revision).collect::<Vec<_>>(), REVISIONS);
    }
}
