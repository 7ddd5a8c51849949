//! The messages we send.

use crate::prelude::*;
use crate::text::text;

use super::capabilities::Capabilities;
use super::handshake::Implementation;
use super::header;
use super::json::{Object, on_one_line, push_string};
use super::jsonrpc::RequestId;
use super::list::Listing;
use super::param_headers;
use super::query::LogLevel;
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
    /// The headers that the revision asks for, for transports that have them.
    pub headers: Vec<(String, String)>,
}

/// How a message is put: what differs by revision, and who speaks.
#[derive(Clone, Copy, Debug)]
pub struct Dialect<'a> {
    /// The revision in force.
    pub revision: Revision,
    /// What the client says it is.
    pub client: &'a Implementation,
    /// What it declares that a server may ask of it.
    pub capabilities: &'a Capabilities,
    /// How much the server is to log, where each request says so.
    pub log_level: Option<LogLevel>,
    /// Whether the server may make a task of this request, where each request says so.
    pub tasks: bool,
}

impl Dialect<'_> {
    /// What the client declares: what its host answers, and that it follows tasks.
    fn push_capabilities(self, out: &mut Vec<u8>) {
        if !self.tasks {
            return push(out, self.capabilities.as_str());
        }
        push(out, "{");
        push(out, TASKS);
        let members = self.capabilities.members();
        if !members.is_empty() {
            push(out, ",");
            push(out, members);
        }
        push(out, "}");
    }

    /// A finished message.
    pub(super) fn outgoing(
        self,
        bytes: Vec<u8>,
        method: &'static str,
        request: Option<RequestId>,
    ) -> Outgoing {
        let mut headers = Vec::new();
        if self.revision.is_modern() {
            headers.push(("Mcp-Method".to_owned(), method.to_owned()));
        }
        Outgoing { bytes, method, request, revision: Some(self.revision), headers }
    }
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
    /// Asks for a task whose result is kept for so many milliseconds, where the revision has tasks.
    pub task: Option<u64>,
    /// The members that continue a call which the server suspended.
    pub continuation: Option<Object>,
}

/// The `params` of a request, as they are written: left out if there are none.
pub(super) struct Params {
    out: Vec<u8>,
    open: bool,
}

impl Params {
    pub(super) fn of(out: Vec<u8>) -> Self {
        Self { out, open: false }
    }

    /// Begins the next member, whose value is to follow.
    fn member(&mut self, name: &str) -> &mut Vec<u8> {
        self.separate();
        push_name(&mut self.out, name);
        &mut self.out
    }

    /// Members that are written already.
    pub(super) fn members(&mut self, members: &[u8]) {
        if !members.is_empty() {
            self.separate();
            self.out.extend_from_slice(members);
        }
    }

    fn separate(&mut self) {
        push(&mut self.out, if self.open { "," } else { ",\"params\":{" });
        self.open = true;
    }

    /// What a modern request says of itself, a progress token, and the caller's own `_meta`, byte for byte.
    pub(super) fn meta(&mut self, dialect: Dialect<'_>, progress: Option<RequestId>, meta: Option<&Object>) {
        let modern = dialect.revision.is_modern();
        if !modern && progress.is_none() {
            if let Some(meta) = meta {
                push(self.member("_meta"), meta.as_str());
            }
            return;
        }
        let out = self.member("_meta");
        let mut next = "{";
        if modern {
            push(out, "{");
            push_name(out, VERSION);
            push_string(out, dialect.revision.as_str());
            push(out, ",");
            push_name(out, CAPABILITIES);
            dialect.push_capabilities(out);
            push(out, ",");
            push_name(out, CLIENT);
            dialect.client.push(out);
            if let Some(level) = dialect.log_level {
                push(out, ",");
                push_name(out, LOG_LEVEL);
                push_string(out, level.as_str());
            }
            next = ",";
        }
        if let Some(token) = progress {
            push(out, next);
            push(out, "\"progressToken\":");
            push(out, &text!("{}", token.0));
            next = ",";
        }
        if let Some(members) = meta.map(Object::members).filter(|members| !members.is_empty()) {
            push(out, next);
            push(out, members);
        }
        push(out, "}");
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        push(&mut self.out, if self.open { "}}" } else { "}" });
        self.out
    }
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The members of `_meta` that only the client itself may write.
pub const OWN_META: [&str; 4] = [VERSION, CAPABILITIES, CLIENT, LOG_LEVEL];

/// The capability of a client that can follow tasks.
const TASKS: &str = "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}";

/// A `tools/call` request. `tool` is the tool's whole entry, if it wants arguments as headers too.
pub fn tools_call(id: RequestId, call: &Invocation, dialect: Dialect<'_>, tool: Option<&str>) -> Outgoing {
    let size = |object: &Option<Object>| object.as_ref().map_or(0, |object| object.as_str().len());
    let sizes = size(&call.arguments) + size(&call.meta) + size(&call.continuation);
    let mut params = Params::of(request("tools/call", id, 384 + call.tool.len() + sizes));
    push_string(params.member("name"), &call.tool);
    if let Some(arguments) = &call.arguments {
        push(params.member("arguments"), arguments.as_str());
    }
    if let Some(ttl) = call.task.filter(|_| dialect.revision.has_tasks()) {
        let out = params.member("task");
        push(out, "{\"ttl\":");
        push(out, &text!("{}", ttl));
        push(out, "}");
    }
    if let Some(continuation) = &call.continuation {
        params.separate();
        push(&mut params.out, continuation.members());
    }
    let dialect = Dialect { tasks: call.task.is_some(), ..dialect };
    params.meta(dialect, call.progress.then_some(id), call.meta.as_ref());
    let mut message = dialect.outgoing(params.end(), "tools/call", Some(id));
    if dialect.revision.is_modern() {
        message.headers.push(("Mcp-Name".to_owned(), header::value(&call.tool)));
        let arguments = Some(call.arguments.as_ref().map_or("", Object::as_str));
        if let Some(Ok(mut wanted)) = tool.map(|tool| param_headers::of_tool(tool, arguments)) {
            message.headers.append(&mut wanted);
        }
    }
    message
}

/// A request for one page of a list.
pub fn list(id: RequestId, listing: Listing, cursor: Option<&str>, dialect: Dialect<'_>) -> Outgoing {
    let mut params = Params::of(request(listing.method(), id, 384));
    if let Some(cursor) = cursor {
        push_string(params.member("cursor"), cursor);
    }
    params.meta(dialect, None, None);
    dialect.outgoing(params.end(), listing.method(), Some(id))
}

/// The `server/discover` request: what a server of 2026-07-28 knows, and an older one does not.
pub fn discover(id: RequestId, dialect: Dialect<'_>) -> Outgoing {
    let mut params = Params::of(request("server/discover", id, 384));
    params.meta(dialect, None, None);
    dialect.outgoing(params.end(), "server/discover", Some(id))
}

/// A request about a task: what has become of it, or that it be cancelled.
pub fn of_task(method: &'static str, id: RequestId, task: &str, dialect: Dialect<'_>) -> Outgoing {
    let mut params = Params::of(request(method, id, 384 + task.len()));
    push_string(params.member("taskId"), task);
    params.meta(Dialect { tasks: true, ..dialect }, None, None);
    let mut message = dialect.outgoing(params.end(), method, Some(id));
    if dialect.revision.is_modern() {
        message.headers.push(("Mcp-Name".to_owned(), header::value(task)));
    }
    message
}

/// A `notifications/cancelled` for a request of ours.
pub fn cancelled(id: RequestId, reason: &str, dialect: Dialect<'_>) -> Outgoing {
    let mut params = Params::of(notification("notifications/cancelled"));
    push(params.member("requestId"), &text!("{}", id.0));
    push_string(params.member("reason"), reason);
    dialect.outgoing(params.end(), "notifications/cancelled", None)
}

/// The notification that ends a handshake.
pub fn initialized(dialect: Dialect<'_>) -> Outgoing {
    let params = Params::of(notification("notifications/initialized"));
    dialect.outgoing(params.end(), "notifications/initialized", None)
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
    Outgoing { bytes: out, method: "", request: None, revision, headers: Vec::new() }
}

/// A request without params, its last brace open.
pub(super) fn request(method: &str, id: RequestId, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    push(&mut out, "{\"jsonrpc\":\"2.0\",\"id\":");
    push(&mut out, &text!("{}", id.0));
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

/// The name of a member, which needs no escapes.
fn push_name(out: &mut Vec<u8>, name: &str) {
    push(out, "\"");
    push(out, name);
    push(out, "\":");
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
            task: None,
            continuation: None,
        };
        text(tools_call(RequestId(7), &call, of(Revision::LATEST_LEGACY), None))
    }

    fn of(revision: Revision) -> Dialect<'static> {
        static CLIENT: Implementation = Implementation { name: String::new(), version: String::new() };
        let capabilities = &Capabilities::NONE;
        Dialect { revision, client: &CLIENT, capabilities, log_level: None, tasks: false }
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
        let [old, new] = [Revision::LATEST_LEGACY, Revision::LATEST].map(of);
        for outgoing in [
            list(RequestId(1), Listing::Tools, None, old),
            list(RequestId(1), Listing::Resources, Some("a\n\"b"), old),
            list(RequestId(1), Listing::ResourceTemplates, None, new),
            list(RequestId(1), Listing::Prompts, Some("a\n\"b"), new),
            discover(RequestId(1), new),
            of_task("tasks/result", RequestId(1), "a\n\"b", old),
            of_task("tasks/get", RequestId(1), "a\n\"b", new),
            cancelled(RequestId(1), "deadline", old),
            cancelled(RequestId(1), "deadline", new),
            initialized(old),
            answer("\"s1\"", "ping", None),
            answer("{\n}", "roots/list", None),
        ] {
            let text = text(outgoing);
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }

    /// 2026-07-28: that the client can follow a task is said of the call that may become one, and of what
    /// concerns a task.
    #[test]
    fn only_who_follows_tasks_says_so() {
        let new = of(Revision::LATEST);
        let call = |task| Invocation {
            tool: "t".to_owned(),
            arguments: None,
            meta: None,
            progress: false,
            task,
            continuation: None,
        };
        let of_call = |task| text(tools_call(RequestId(7), &call(task), new, None));
        assert!(
            of_call(Some(1)).contains(&format!("\"io.modelcontextprotocol/clientCapabilities\":{{{TASKS}}}"))
        );
        assert!(of_call(None).contains("\"io.modelcontextprotocol/clientCapabilities\":{}"));
        let capabilities = &Capabilities::read(r#"{"roots":{"a":1}}"#);
        let both = text(tools_call(RequestId(7), &call(Some(1)), Dialect { capabilities, ..new }, None));
        assert!(both.contains(&format!("Capabilities\":{{{TASKS},\"roots\":{{\"a\":1}}}}")), "{both}");
        let get = of_task("tasks/get", RequestId(7), "t-1", new);
        assert!(get.headers.contains(&("Mcp-Name".to_owned(), "t-1".to_owned())));
        assert!(text(get).contains(TASKS));
    }

    /// 2026-07-28: each request says what it is, and its headers say the same.
    #[test]
    fn a_modern_call_speaks_for_itself() {
        let client = Implementation { name: "c".to_owned(), version: "1".to_owned() };
        let object = |text: &str| Object::parse(text.to_owned()).unwrap();
        let call = Invocation {
            tool: "p\u{e9}".to_owned(),
            arguments: Some(object(r#"{"a": 1}"#)),
            meta: Some(object(r#"{ "key":"k", "n":1e400}"#)),
            progress: true,
            task: None,
            continuation: Some(object(r#"{"requestState":"s\u0041"}"#)),
        };
        let capabilities = &Capabilities::read(r#"{"roots":{}}"#);
        let log_level = Some(LogLevel::Info);
        let dialect = Dialect { client: &client, capabilities, log_level, ..of(Revision::LATEST) };
        let message = tools_call(RequestId(7), &call, dialect, None);
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [named("Mcp-Method", "tools/call"), named("Mcp-Name", "=?base64?cMOp?=")];
        assert_eq!(
            (message.headers.as_slice(), message.revision),
            (&headers[..], Some(Revision::V2026_07_28))
        );
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;
        let logging = r#","io.modelcontextprotocol/logLevel":"info""#;
        assert_eq!(
            text(message),
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"pé","arguments":{{"a": 1}},"requestState":"s\u0041",{meta}{logging},"progressToken":7,"key":"k", "n":1e400}}}}}}"#
            )
        );
        assert_eq!(
            text(discover(RequestId(1), Dialect { log_level: None, ..dialect })),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{meta}}}}}}}"#)
        );
    }
}
