//! The messages we send.

use crate::prelude::*;

use super::json::{Object, on_one_line, push_string};
use super::jsonrpc::RequestId;
use super::revision::Revision;

/// A message on its way to the transport.
///
/// There is one of each, and it can only be moved: whoever handed it over cannot send it again.
#[derive(Debug)]
pub struct Outgoing {
    /// The JSON-RPC message, on one line.
    pub bytes: Vec<u8>,
    /// Its method; empty for a response.
    pub method: &'static str,
    /// Its id, if it is a request.
    pub request: Option<RequestId>,
    /// The revision in force, once it is negotiated.
    pub revision: Option<Revision>,
}

/// What a `tools/call` carries, checked.
#[derive(Debug)]
pub struct Invocation {
    /// The tool's name.
    pub tool: String,
    /// `arguments`; `None` leaves the member out.
    pub arguments: Option<Object>,
    /// The caller's `_meta`.
    pub meta: Option<Object>,
    /// Whether to ask for progress.
    pub progress: bool,
}

/// A `tools/call` request.
pub fn tools_call(id: RequestId, call: &Invocation, revision: Revision) -> Outgoing {
    let size = |object: &Option<Object>| object.as_ref().map_or(0, |object| object.as_str().len());
    let mut out = request("tools/call", id, 128 + call.tool.len() + size(&call.arguments) + size(&call.meta));
    push(&mut out, ",\"params\":{\"name\":");
    push_string(&mut out, &call.tool);
    if let Some(arguments) = &call.arguments {
        push(&mut out, ",\"arguments\":");
        push(&mut out, arguments.as_str());
    }
    push_meta(&mut out, id, call);
    push(&mut out, "}}");
    Outgoing { bytes: out, method: "tools/call", request: Some(id), revision: Some(revision) }
}

/// The caller's `_meta`, byte for byte; a progress token goes in front of its members.
fn push_meta(out: &mut Vec<u8>, id: RequestId, call: &Invocation) {
    match (&call.meta, call.progress) {
        (None, false) => {}
        (Some(meta), false) => {
            push(out, ",\"_meta\":");
            push(out, meta.as_str());
        }
        (meta, true) => {
            push(out, ",\"_meta\":{\"progressToken\":");
            push(out, &id.to_string());
            let members = meta.as_ref().map_or("", Object::members);
            if !members.is_empty() {
                push(out, ",");
                push(out, members);
            }
            push(out, "}");
        }
    }
}

/// A `tools/list` request for one page.
pub fn tools_list(id: RequestId, cursor: Option<&str>, revision: Revision) -> Outgoing {
    let mut out = request("tools/list", id, 128);
    if let Some(cursor) = cursor {
        push(&mut out, ",\"params\":{\"cursor\":");
        push_string(&mut out, cursor);
        push(&mut out, "}");
    }
    push(&mut out, "}");
    Outgoing { bytes: out, method: "tools/list", request: Some(id), revision: Some(revision) }
}

/// A `notifications/cancelled` for a request of ours.
pub fn cancelled(id: RequestId, reason: &str, revision: Revision) -> Outgoing {
    let mut out = notification("notifications/cancelled");
    push(&mut out, ",\"params\":{\"requestId\":");
    push(&mut out, &id.to_string());
    push(&mut out, ",\"reason\":");
    push_string(&mut out, reason);
    push(&mut out, "}}");
    Outgoing { bytes: out, method: "notifications/cancelled", request: None, revision: Some(revision) }
}

/// The notification that ends a handshake.
pub fn initialized(revision: Revision) -> Outgoing {
    let mut out = notification("notifications/initialized");
    push(&mut out, "}");
    Outgoing { bytes: out, method: "notifications/initialized", request: None, revision: Some(revision) }
}

/// The answer to a server's request: `{}` to `ping`, a refusal to anything else. `id` is its id as
/// it came.
pub fn answer(id: &str, method: &str, revision: Option<Revision>) -> Outgoing {
    let mut out = Vec::with_capacity(128);
    push(&mut out, "{\"jsonrpc\":\"2.0\",\"id\":");
    push(&mut out, &on_one_line(id));
    if method == "ping" {
        push(&mut out, ",\"result\":{}}");
    } else {
        push(&mut out, ",\"error\":{\"code\":-32601,\"message\":\"not supported by this client\"}}");
    }
    Outgoing { bytes: out, method: "", request: None, revision }
}

/// A request without params, its last brace open.
pub(super) fn request(method: &str, id: RequestId, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    push(&mut out, "{\"jsonrpc\":\"2.0\",\"id\":");
    push(&mut out, &id.to_string());
    push(&mut out, ",\"method\":\"");
    push(&mut out, method);
    push(&mut out, "\"");
    out
}

fn notification(method: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    push(&mut out, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    push(&mut out, method);
    push(&mut out, "\"");
    out
}

pub(super) fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(outgoing: Outgoing) -> String {
        String::from_utf8(outgoing.bytes).unwrap()
    }

    fn call(arguments: Option<&str>, meta: Option<&str>, progress: bool) -> String {
        let object = |text: &str| Object::parse(text.to_owned()).unwrap();
        let call = Invocation {
            tool: "pay \"me\"".to_owned(),
            arguments: arguments.map(object),
            meta: meta.map(object),
            progress,
        };
        text(tools_call(RequestId(7), &call, Revision::LATEST))
    }

    #[test]
    fn a_call_says_what_its_caller_said_byte_for_byte() {
        let head = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay \"me\"""#;
        assert_eq!(call(None, None, false), format!("{head}}}}}"));
        for arguments in ["{}", r#"{"a":null}"#, r#"{"n":7960607143101464576, "z":-0, "e":1e400}"#] {
            assert_eq!(call(Some(arguments), None, false), format!("{head},\"arguments\":{arguments}}}}}"));
        }
        let meta = r#"{"key" : "k-1"}"#;
        assert_eq!(call(None, Some(meta), false), format!("{head},\"_meta\":{meta}}}}}"));
    }

    #[test]
    fn a_progress_token_joins_the_meta_of_the_caller() {
        assert!(call(None, None, true).ends_with(r#","_meta":{"progressToken":7}}}"#));
        assert!(call(None, Some("{ }"), true).ends_with(r#","_meta":{"progressToken":7}}}"#));
        assert!(call(None, Some(r#"{"k":1}"#), true).ends_with(r#","_meta":{"progressToken":7,"k":1}}}"#));
    }

    #[test]
    fn the_others_are_valid_json_on_one_line() {
        for outgoing in [
            tools_list(RequestId(1), None, Revision::LATEST),
            tools_list(RequestId(1), Some("a\n\"b"), Revision::LATEST),
            cancelled(RequestId(1), "deadline", Revision::LATEST),
            initialized(Revision::LATEST),
            answer("\"s1\"", "ping", None),
            answer("{\n}", "roots/list", None),
        ] {
            let text = text(outgoing);
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
}
