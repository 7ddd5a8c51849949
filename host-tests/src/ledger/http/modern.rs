//! The stateless revision, 2026-07-28: no handshake, and headers that must agree with the message.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Shared;
use super::reply::Reply;
use super::traffic::Request;
use crate::ledger::play;
use crate::ledger::protocol;

/// The revision.
pub(super) const REVISION: &str = "2026-07-28";

/// The requests that the server knows. `initialize` and `ping` are of other revisions.
const METHODS: [&str; 3] = ["server/discover", "tools/list", "tools/call"];

/// What a client says of itself in every request.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    method: String,
    params: Map<String, Value>,
}

/// Whether the message is of this revision: by what it says of itself, not by its headers.
pub(super) fn speaks(body: &[u8]) -> bool {
    let message: Message = serde_json::from_slice(body).unwrap_or_default();
    message.method == "server/discover"
        || message.params.get("_meta").is_some_and(|meta| meta.get(VERSION).is_some())
}

/// The refusal of a request that does not keep the rules, before anything is done.
pub(super) fn refusal(server: &Shared, request: &Request, method: &str, id: &str) -> Option<Reply> {
    let message: Message = serde_json::from_slice(&request.body).unwrap_or_default();
    let refuse = |code, words: &str, data: Option<Value>| {
        let data = data.map(|data| data.to_string());
        let body = protocol::error(id, code, words, data.as_deref());
        Some(Reply { status: 400, ..Reply::json(body) })
    };
    let meta = message.params.get("_meta");
    let Some(version) = meta.and_then(|meta| meta.get(VERSION)).and_then(Value::as_str) else {
        return refuse(INVALID_PARAMS, "the protocol version is missing", None);
    };
    if version != REVISION {
        let data = json!({"supported": [REVISION], "requested": version});
        return refuse(UNSUPPORTED_VERSION, "Unsupported protocol version", Some(data));
    }
    // A notification is not answered.
    if id != "null" && !METHODS.contains(&method) {
        let body = protocol::error(id, METHOD_NOT_FOUND, &format!("Method not found: {method}"), None);
        return Some(Reply { status: 404, ..Reply::json(body) });
    }
    if meta.is_none_or(|meta| meta.get(CAPABILITIES).is_none()) {
        return refuse(INVALID_PARAMS, "the client's capabilities are missing", None);
    }
    let mismatch = mismatch(server, request, &message)?;
    refuse(HEADER_MISMATCH, &mismatch, None)
}

/// The refusal of a request of another revision.
pub(super) fn unsupported(id: &str) -> Reply {
    let data = json!({"supported": [REVISION]}).to_string();
    let body = protocol::error(id, UNSUPPORTED_VERSION, "Unsupported protocol version", Some(&data));
    Reply { status: 400, ..Reply::json(body) }
}

/// The revision that an `initialize` asks for.
pub(super) fn asked_revision(body: &[u8]) -> Option<String> {
    let message: Message = serde_json::from_slice(body).unwrap_or_default();
    message.params.get("protocolVersion").and_then(Value::as_str).map(str::to_owned)
}

/// The first header that does not agree with the message.
fn mismatch(server: &Shared, request: &Request, message: &Message) -> Option<String> {
    let mut due = vec![
        ("mcp-protocol-version".to_owned(), Some(REVISION.to_owned())),
        ("mcp-method".to_owned(), Some(message.method.clone())),
    ];
    let member = |name: &str| message.params.get(name).and_then(Value::as_str).map(str::to_owned);
    match message.method.as_str() {
        "tools/call" | "prompts/get" => due.push(("mcp-name".to_owned(), member("name"))),
        "resources/read" => due.push(("mcp-name".to_owned(), member("uri"))),
        _ => {}
    }
    if message.method == "tools/call" {
        let empty = Map::new();
        let arguments = message.params.get("arguments").and_then(Value::as_object).unwrap_or(&empty);
        for (property, header) in server.parameter_headers(&member("name").unwrap_or_default()) {
            let value = arguments.get(&property).filter(|value| !value.is_null());
            let value = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            due.push((format!("mcp-param-{}", header.to_ascii_lowercase()), value));
        }
    }
    due.into_iter().find_map(|(name, due)| {
        let given = request.header(&name).map(decoded);
        (given != due).then(|| format!("{name} is {given:?}, and the message says {due:?}"))
    })
}

/// The value of a header, which may be in the protocol's base64 form.
fn decoded(value: &str) -> String {
    let coded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    coded.and_then(base64).unwrap_or_else(|| value.to_owned())
}

fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The answer that good manners ask for.
pub(super) fn answer(server: &Shared, request: &play::Request) -> Vec<u8> {
    let id = &request.id;
    let method = request.method.as_str();
    match method {
        "server/discover" => {
            let meta = json!({"io.modelcontextprotocol/serverInfo": {"name": "ledger", "version": env!("CARGO_PKG_VERSION")}});
            let result = json!({
                "resultType": "complete",
                "supportedVersions": [REVISION],
                "capabilities": {"tools": {"listChanged": true}},
                "ttlMs": 60_000,
                "cacheScope": "public",
                "_meta": meta,
            });
            protocol::success(id, result.to_string().as_bytes())
        }
        "tools/list" => complete(server, request, r#""ttlMs":60000,"cacheScope":"public","#),
        "tools/call" => complete(server, request, ""),
        _ => protocol::error(id, METHOD_NOT_FOUND, &format!("Method not found: {method}"), None),
    }
}

/// The answer of the other revisions, with the members that this one asks for. Its text stays as it is.
fn complete(server: &Shared, request: &play::Request, members: &str) -> Vec<u8> {
    let answer = protocol::answer(&server.ledger.shared, request);
    let head = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"#, request.id);
    match answer.strip_prefix(head.as_bytes()) {
        Some(rest) => {
            let mut complete = format!(r#"{head}"resultType":"complete",{members}"#).into_bytes();
            complete.extend_from_slice(rest);
            complete
        }
        None => answer,
    }
}

#[derive(Deserialize)]
struct Answer {
    error: Option<Code>,
}

#[derive(Deserialize)]
struct Code {
    code: i64,
}

/// The status of a response with this message: some errors have one of their own.
pub(super) fn status(message: &[u8]) -> u16 {
    let answer = serde_json::from_slice::<Answer>(message).ok();
    match answer.and_then(|answer| answer.error).map(|error| error.code) {
        Some(METHOD_NOT_FOUND) => 404,
        Some(-32700 | -32600 | INVALID_PARAMS | HEADER_MISMATCH | -32021 | UNSUPPORTED_VERSION) => 400,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coded_header_is_decoded() {
        assert_eq!(decoded("=?base64?w6TDtsO8?="), "äöü");
        assert_eq!(decoded("=?base64?IHBhZGRlZCA=?="), " padded ");
        assert_eq!(decoded("plain"), "plain");
        assert_eq!(decoded("=?base64?***?="), "=?base64?***?=");
    }
}
