//! What the server says: the protocol's messages.

use serde::Serialize;
use serde_json::json;

use super::play::Request;
use super::{Shared, tools};

/// The revisions that begin with `initialize`, oldest first.
pub(super) const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision that begins with `server/discover`. The server speaks it if it is told to.
const MODERN: &str = "2026-07-28";

/// The code for a revision that the server does not speak.
const UNSUPPORTED_VERSION: i64 = -32022;
/// The code for a method that the server does not have.
const METHOD_NOT_FOUND: i64 = -32601;
/// The code for a tool or a cursor that the server does not have.
const INVALID_PARAMS: i64 = -32602;

/// The answer that good manners ask for.
pub(super) fn answer(server: &Shared, request: &Request) -> Vec<u8> {
    let id = &request.id;
    match request.method.as_str() {
        "initialize" => match initialize(server, request) {
            Some(result) => success(id, result.as_bytes()),
            None => {
                let data = json!({"supported": [MODERN]}).to_string();
                error(id, UNSUPPORTED_VERSION, "Unsupported protocol version", Some(&data))
            }
        },
        "server/discover" if is_modern(server) => success(id, discovery(server).as_bytes()),
        "ping" => success(id, b"{}"),
        "tools/list" => match list(server, request) {
            Some(page) => success(id, page.as_bytes()),
            None => error(id, INVALID_PARAMS, "no such cursor", None),
        },
        "tools/call" => {
            let tool = request.params.name.as_deref().unwrap_or_default();
            let arguments = request.params.arguments.as_deref();
            match tools::result(server, tool, arguments.map(|raw| raw.get())) {
                Some(result) => success(id, result.as_bytes()),
                None => error(id, INVALID_PARAMS, &format!("Unknown tool: {tool}"), None),
            }
        }
        method => {
            let message = format!("Method not found: {method}");
            error(id, METHOD_NOT_FOUND, &message, None)
        }
    }
}

/// The asked-for revision if the server speaks it, else its newest that begins so; none if it has none.
fn initialize(server: &Shared, request: &Request) -> Option<String> {
    let state = server.state();
    let revisions: Vec<_> = state.manners.revisions.iter().filter(|name| *name != MODERN).collect();
    let asked = request.params.protocol_version.as_ref();
    let agreed = asked.filter(|asked| revisions.contains(asked)).or(revisions.last().copied())?;
    let result = json!({
        "protocolVersion": agreed,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "ledger", "version": env!("CARGO_PKG_VERSION")},
    });
    Some(result.to_string())
}

fn is_modern(server: &Shared) -> bool {
    server.state().manners.revisions.iter().any(|name| name == MODERN)
}

/// What the server speaks, and who it is.
fn discovery(server: &Shared) -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": server.state().manners.revisions,
        "capabilities": {"tools": {}},
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {"name": "ledger", "version": env!("CARGO_PKG_VERSION")},
        },
        "ttlMs": 0,
        "cacheScope": "private",
    })
    .to_string()
}

/// A page of the tools; none if there is no such page. A cursor is the number of tools before it.
fn list(server: &Shared, request: &Request) -> Option<String> {
    let state = server.state();
    let manners = &state.manners;
    let start = match &request.params.cursor {
        None => 0,
        Some(cursor) => cursor.parse().ok()?,
    };
    let rest = manners.tools.get(start..)?;
    let page = &rest[..rest.len().min(manners.page)];
    let tools: Vec<String> = page.iter().map(tools::Tool::json).collect();
    let tools = tools.join(",");
    Some(if page.len() < rest.len() {
        let next = start + page.len();
        format!(r#"{{"tools":[{tools}],"nextCursor":"{next}"}}"#)
    } else {
        format!(r#"{{"tools":[{tools}]}}"#)
    })
}

/// A response with the JSON text `result`. It is put together as text, so that it passes through
/// byte for byte.
pub(super) fn success(id: &str, result: &[u8]) -> Vec<u8> {
    let mut message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).into_bytes();
    message.extend_from_slice(result);
    message.push(b'}');
    message
}

/// A response with an error; `data` is a JSON text.
pub(super) fn error(id: &str, code: i64, message: &str, data: Option<&str>) -> Vec<u8> {
    let message = text(message);
    let data = data.map_or(String::new(), |data| format!(r#","data":{data}"#));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#)
        .into_bytes()
}

/// A request of the server's own; `id` is a JSON text.
pub(super) fn request(id: &str, method: &str) -> Vec<u8> {
    let method = text(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{{}}}}"#).into_bytes()
}

/// The `number`th line of the server's log.
pub(super) fn log(number: u32) -> Vec<u8> {
    notification("notifications/message", &json!({"level": "info", "data": number}))
}

/// Progress of the call whose token is the JSON text `token`.
pub(super) fn progress(token: &str, progress: u32) -> Vec<u8> {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
    .into_bytes()
}

fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string().into_bytes()
}

/// `text` as a JSON text.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
