//! The handshake of the revisions up to 2025-11-25: `initialize` and its answer.

use thiserror::Error;

use crate::prelude::*;
use crate::text::cut;

use super::json::{self, JsonError, Raw, push_string};
use super::jsonrpc::RequestId;
use super::message::{Outgoing, push, request};
use super::revision::Revision;

/// What the client says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The server as it introduced itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name; empty if it gave none.
    pub name: String,
    /// Its version; empty if it gave none.
    pub version: String,
    /// The revision agreed on.
    pub protocol_version: &'static str,
    /// Its `capabilities`, verbatim.
    pub capabilities: String,
    /// Its instructions.
    pub instructions: Option<String>,
}

impl Server {
    /// The server of a session that somebody else initialised: all that is known is the revision.
    pub fn unintroduced(revision: Revision) -> Self {
        Self {
            name: String::new(),
            version: String::new(),
            protocol_version: revision.as_str(),
            capabilities: "{}".to_owned(),
            instructions: None,
        }
    }
}

/// Why an answer to `initialize` makes no session.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// It is not the result that the revision asks for.
    #[error("the answer to `initialize` cannot be read: {0}")]
    Unreadable(#[from] JsonError),
    /// It names no revision.
    #[error("the answer to `initialize` names no protocol revision")]
    NoRevision,
    /// The server speaks a revision that this client does not.
    #[error(
        "the server speaks the protocol revision `{found}`; this client speaks {} to {}",
        Revision::OLDEST,
        Revision::LATEST
    )]
    UnknownRevision {
        /// What it speaks, cut to a reasonable length.
        found: String,
    },
}

/// The `initialize` request, which offers the newest revision and no capability.
pub fn initialize(id: RequestId, client: &Implementation) -> Outgoing {
    let mut out = request("initialize", id, 256);
    push(&mut out, ",\"params\":{\"protocolVersion\":\"");
    push(&mut out, Revision::LATEST.as_str());
    push(&mut out, "\",\"capabilities\":{},\"clientInfo\":{\"name\":");
    push_string(&mut out, &client.name);
    push(&mut out, ",\"version\":");
    push_string(&mut out, &client.version);
    push(&mut out, "}}}");
    Outgoing { bytes: out, method: "initialize", request: Some(id), revision: None }
}

/// Reads the result of `initialize`: the revision agreed on, and whom it is spoken with. Only the revision must be there: a server that forgets to
/// introduce itself can still be called.
///
/// # Errors
///
/// [`HandshakeError`] if the result cannot be read, or names a revision that this client does not
/// speak.
pub fn read(result: Raw<'_>) -> Result<(Revision, Server), HandshakeError> {
    let (mut revision, mut capabilities, mut info, mut instructions) = (None, None, None, None);
    json::members(result.get(), &mut |name, value| match name {
        "protocolVersion" => revision = json::string(value),
        "capabilities" => capabilities = Some(value),
        "serverInfo" => info = Some(value),
        "instructions" => instructions = json::string(value),
        _ => {}
    })?;
    let found = revision.ok_or(HandshakeError::NoRevision)?;
    let Some(revision) = Revision::parse(&found) else {
        let found = cut(&found, 64).to_owned();
        return Err(HandshakeError::UnknownRevision { found });
    };
    let mut server = Server { instructions, ..Server::unintroduced(revision) };
    if let Some(capabilities) = capabilities {
        server.capabilities = capabilities.get().to_owned();
    }
    if let Some(info) = info {
        // What is no object introduces nobody.
        let _ = json::members(info.get(), &mut |name, value| match name {
            "name" => server.name = json::string(value).unwrap_or_default(),
            "version" => server.version = json::string(value).unwrap_or_default(),
            _ => {}
        });
    }
    Ok((revision, server))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<(Revision, Server), HandshakeError> {
        read(Raw::parse(json).unwrap())
    }

    #[test]
    fn every_known_revision_is_taken() {
        for revision in Revision::ALL {
            let json = format!(
                r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},"instructions":"hi"}}"#
            );
            let (agreed, server) = of(&json).unwrap();
            assert_eq!((agreed, server.protocol_version), (revision, revision.as_str()));
            assert_eq!((server.name.as_str(), server.version.as_str()), ("s", "1"));
            assert_eq!(server.capabilities, r#"{"tools":{}}"#);
            assert_eq!(server.instructions.as_deref(), Some("hi"));
        }
    }

    #[test]
    fn a_poor_introduction_is_enough() {
        for json in [
            r#"{"protocolVersion":"2025-06-18"}"#,
            r#"{"protocolVersion":"2025-06-18","capabilities":null,"serverInfo":null,"instructions":null}"#,
            r#"{"protocolVersion":"2025-06-18","serverInfo":7,"instructions":7}"#,
        ] {
            let (_, server) = of(json).unwrap();
            assert_eq!((server.name.as_str(), server.instructions), ("", None), "{json}");
        }
    }

    #[test]
    fn an_unknown_revision_or_none_is_no_session() {
        assert!(matches!(
            of(r#"{"protocolVersion":"2023-01-01"}"#),
            Err(HandshakeError::UnknownRevision { .. })
        ));
        for json in ["null", "[]", "7"] {
            assert!(matches!(of(json), Err(HandshakeError::Unreadable(_))), "{json}");
        }
        for json in ["{}", r#"{"protocolVersion":7}"#] {
            assert!(matches!(of(json), Err(HandshakeError::NoRevision)), "{json}");
        }
    }

    #[test]
    fn initialize_offers_the_newest() {
        let client = Implementation { name: "a \"b\"".to_owned(), version: "1".to_owned() };
        let text = String::from_utf8(initialize(RequestId(1), &client).bytes).unwrap();
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a \"b\"","version":"1"}}}"#
        );
    }
}
