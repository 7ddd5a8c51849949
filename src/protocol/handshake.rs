//! What client and server first say to each other: `initialize` and its answer up to 2025-11-25, then
//! `server/discover`.

use thiserror::Error;

use crate::prelude::*;
use crate::text::{cut, text};

use super::json::{self, JsonError, Raw, push_string};
use super::jsonrpc::RequestId;
use super::message::{Dialect, Outgoing, push, request};
use super::revision::Revision;

/// What the client says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Implementation {
    /// Writes it as JSON.
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        push(out, "{\"name\":");
        push_string(out, &self.name);
        push(out, ",\"version\":");
        push_string(out, &self.version);
        push(out, "}");
    }
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

    /// Takes in what it says of its software. What is no object introduces nobody.
    fn introduce(&mut self, info: Raw<'_>) {
        let _ = json::members(info.get(), &mut |name, value| match name {
            "name" => self.name = json::string(value).unwrap_or_default(),
            "version" => self.version = json::string(value).unwrap_or_default(),
            _ => {}
        });
    }
}

/// Why an answer to `initialize` makes no session.
#[derive(Debug, Error)]
#[error("{}", self.words())]
pub enum HandshakeError {
    /// It is not the result that the revision asks for.
    Unreadable(#[from] JsonError),
    /// It names no revision.
    NoRevision,
    /// The server speaks a revision that this client does not.
    UnknownRevision {
        /// What it speaks, cut to a reasonable length.
        found: String,
    },
}

impl HandshakeError {
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Unreadable(error) => text!("the answer to `initialize` cannot be read: {}", &error.words()),
            Self::NoRevision => "the answer to `initialize` names no protocol revision".to_owned(),
            Self::UnknownRevision { found } => {
                let (oldest, latest) = (Revision::OLDEST.as_str(), Revision::LATEST_LEGACY.as_str());
                text!(
                    "the server speaks the protocol revision `{}`; by `initialize` this client speaks {} to {}",
                    found,
                    oldest,
                    latest
                )
            }
        }
    }
}

/// The `initialize` request, which offers the dialect's revision.
pub fn initialize(id: RequestId, offer: Dialect<'_>) -> Outgoing {
    let mut out = request("initialize", id, 256);
    push(&mut out, ",\"params\":{\"protocolVersion\":\"");
    push(&mut out, offer.revision.as_str());
    push(&mut out, "\",\"capabilities\":");
    push(&mut out, offer.capabilities.as_str());
    push(&mut out, ",\"clientInfo\":");
    offer.client.push(&mut out);
    push(&mut out, "}}");
    Outgoing { bytes: out, method: "initialize", request: Some(id), revision: None, headers: Vec::new() }
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
    let Some(revision) = Revision::parse(&found).filter(|revision| !revision.is_modern()) else {
        let found = cut(&found, 64).to_owned();
        return Err(HandshakeError::UnknownRevision { found });
    };
    let mut server = Server { instructions, ..Server::unintroduced(revision) };
    if let Some(capabilities) = capabilities {
        server.capabilities = capabilities.get().to_owned();
    }
    if let Some(info) = info {
        server.introduce(info);
    }
    Ok((revision, server))
}

/// The revisions that a server says it speaks.
#[derive(Debug, Default)]
pub struct Spoken {
    /// The newest of those that begin with `initialize` and that this client speaks too.
    pub legacy: Option<Revision>,
    /// Whether the newest that this client speaks is one of them.
    pub modern: bool,
}

impl Spoken {
    /// Reads a list of names. What is none names nothing.
    fn read(list: Raw<'_>) -> Option<Self> {
        let mut spoken = Self::default();
        let list = json::elements(list.get(), &mut |name| match json::string(name)
            .and_then(|name| Revision::parse(&name))
        {
            Some(revision) if revision.is_modern() => spoken.modern = true,
            revision => spoken.legacy = spoken.legacy.max(revision),
        });
        list.ok().map(|()| spoken)
    }

    /// Those that the `data` of an error about the revision names.
    pub fn in_error(data: Option<&str>) -> Self {
        let supported = data.and_then(|data| json::member(data, "supported"));
        supported.and_then(Self::read).unwrap_or_default()
    }
}

/// Reads the result of `server/discover`; none if it is something else.
pub fn read_discovery(result: Raw<'_>) -> Option<(Spoken, Server)> {
    let mut spoken = None;
    let mut server = Server::unintroduced(Revision::LATEST);
    let object = json::members(result.get(), &mut |name, value| match name {
        "supportedVersions" => spoken = Spoken::read(value),
        "capabilities" => server.capabilities = value.get().to_owned(),
        "instructions" => server.instructions = json::string(value),
        "serverInfo" => server.introduce(value),
        "_meta" => {
            if let Some(info) = json::member(value.get(), "io.modelcontextprotocol/serverInfo") {
                server.introduce(info);
            }
        }
        _ => {}
    });
    object.ok()?;
    Some((spoken?, server))
}

#[cfg(test)]
mod tests {
    use super::super::capabilities::Capabilities;
    use super::*;

    fn of(json: &str) -> Result<(Revision, Server), HandshakeError> {
        read(Raw::parse(json).unwrap())
    }

    #[test]
    fn every_known_revision_is_taken() {
        for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
            let json = format!(
                r#"{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},"instructions":"hi"}}"#,
                revision.as_str()
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
        for json in [r#"{"protocolVersion":"2023-01-01"}"#, r#"{"protocolVersion":"2026-07-28"}"#] {
            assert!(matches!(of(json), Err(HandshakeError::UnknownRevision { .. })), "{json}");
        }
        for json in ["null", "[]", "7"] {
            assert!(matches!(of(json), Err(HandshakeError::Unreadable(_))), "{json}");
        }
        for json in ["{}", r#"{"protocolVersion":7}"#] {
            assert!(matches!(of(json), Err(HandshakeError::NoRevision)), "{json}");
        }
    }

    #[test]
    fn a_discovery_names_what_the_server_speaks() {
        let discovery = |json: &str| read_discovery(Raw::parse(json).unwrap());
        let (spoken, server) = discovery(
            r#"{"supportedVersions":["2026-07-28","2025-03-26","2025-06-18","x",7],"capabilities":{"tools":{}},"instructions":"hi","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#,
        )
        .unwrap();
        assert!(spoken.modern);
        assert_eq!(spoken.legacy, Some(Revision::V2025_06_18));
        assert_eq!((server.name.as_str(), server.version.as_str()), ("s", "1"));
        assert_eq!(
            (server.protocol_version, server.capabilities.as_str()),
            ("2026-07-28", r#"{"tools":{}}"#)
        );
        assert_eq!(server.instructions.as_deref(), Some("hi"));
        for json in
            ["{}", "7", r#"{"supportedVersions":"2026-07-28"}"#, r#"{"protocolVersion":"2026-07-28"}"#]
        {
            assert!(discovery(json).is_none(), "{json}");
        }
        let spoken = Spoken::in_error(Some(r#"{"supported":["2025-11-25"],"requested":"2026-07-28"}"#));
        assert_eq!((spoken.modern, spoken.legacy), (false, Some(Revision::V2025_11_25)));
        for data in [None, Some("7"), Some(r#"{"supported":7}"#)] {
            let spoken = Spoken::in_error(data);
            assert_eq!((spoken.modern, spoken.legacy), (false, None));
        }
    }

    #[test]
    fn initialize_offers_a_revision() {
        let client = Implementation { name: "a \"b\"".to_owned(), version: "1".to_owned() };
        let capabilities = &Capabilities::read(r#"{"roots":{}}"#);
        let offer = Dialect {
            revision: Revision::LATEST_LEGACY,
            client: &client,
            capabilities,
            log_level: None,
            tasks: false,
        };
        let text = String::from_utf8(initialize(RequestId(1), offer).bytes).unwrap();
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"a \"b\"","version":"1"}}}"#
        );
    }
}
