//! Reading what the client sends.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::moment::{Fate, Kind};
use super::super::schedule::{Call, MODERN};
use crate::RpcError;
use crate::transport::Outgoing;

/// A message, read.
pub(super) struct Read {
    pub(super) kind: Kind,
    /// How long the tool takes, in milliseconds.
    pub(super) takes: u64,
    /// The progress token, as it was written.
    pub(super) token: Option<String>,
    /// From which tool on to list.
    pub(super) cursor: usize,
    /// How often the server suspends the call.
    pub(super) suspended: u32,
    /// How often the task that the call may become says that it goes on.
    pub(super) working: u32,
    /// The task that it asks for.
    pub(super) task: String,
    /// The state with which the call is continued.
    pub(super) state: Option<String>,
    /// The revision that it says it is in.
    pub(super) revision: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    method: Option<String>,
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    arguments: Arguments,
    cursor: Option<String>,
    #[serde(rename = "requestId")]
    request: u64,
    #[serde(rename = "requestState")]
    state: Option<String>,
    #[serde(rename = "taskId")]
    task: String,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    number: u32,
    takes: u64,
    suspended: u32,
    task: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "progressToken")]
    progress_token: Option<Box<RawValue>>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<String>,
}

/// Reads a message. What cannot be read is the audit's concern.
pub(super) fn message(bytes: &[u8]) -> Read {
    let Members { method, params } = serde_json::from_slice(bytes).unwrap_or_default();
    let kind = match method.as_deref() {
        None => Kind::Response,
        Some("server/discover") => Kind::Discover,
        Some("initialize") => Kind::Initialize,
        Some("notifications/initialized") => Kind::Initialized,
        Some("tools/call") => Kind::Call(params.arguments.number),
        Some("tools/list") => Kind::List,
        Some("tasks/get" | "tasks/result") => Kind::Task(call_of(&params.task)),
        Some("tasks/cancel") => Kind::TaskCancel(call_of(&params.task)),
        Some("notifications/cancelled") => Kind::Cancel(params.request),
        Some(other) => Kind::Other(other.to_owned()),
    };
    Read {
        kind,
        takes: params.arguments.takes,
        token: params.meta.progress_token.map(|token| token.get().to_owned()),
        suspended: params.arguments.suspended,
        working: params.arguments.task,
        task: params.task,
        state: params.state,
        revision: params.meta.revision,
        cursor: params.cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0),
    }
}

/// The number of the call that a task is: its id begins with it.
fn call_of(task: &str) -> u32 {
    task.split('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// What of a call does not stand in its message as the caller gave it.
pub(super) fn altered(bytes: &[u8], call: &Call) -> Option<String> {
    let stands = |text: &str| memmem::find(bytes, text.as_bytes()).is_some();
    if !stands(&call.arguments()) {
        return Some("not the arguments that the caller gave".to_owned());
    }
    let meta = call.meta()?;
    // A progress token may stand beside the caller's members.
    (!stands(&meta[1..])).then(|| "not the `_meta` that the caller gave".to_owned())
}

/// What a message of the revision without a handshake does not say of itself; or one of another does.
pub(super) fn unmarked(outgoing: &Outgoing, read: &Read) -> Option<&'static str> {
    let header = |name: &str| outgoing.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    if outgoing.protocol_version.as_deref() != Some(MODERN) {
        let plain = outgoing.headers.is_empty() && read.revision.is_none() && read.state.is_none();
        return (!plain).then_some("marks of another revision");
    }
    if header("Mcp-Method") != Some(&outgoing.method) {
        return Some("not the method in its headers");
    }
    let named = matches!(read.kind, Kind::Call(_) | Kind::Task(_) | Kind::TaskCancel(_));
    if named && header("Mcp-Name").is_none() {
        return Some("not what it is about in its headers");
    }
    let says = outgoing.request.is_none() || read.revision.as_deref() == Some(MODERN);
    (!says).then_some("not its revision in its `_meta`")
}

/// What a result of ours means.
pub(super) fn result(json: &str) -> Fate {
    #[derive(Deserialize)]
    struct Task<'a> {
        status: Option<String>,
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        #[serde(borrow)]
        task: Option<&'a RawValue>,
    }
    match serde_json::from_str::<Task<'_>>(json) {
        Ok(Task { status: Some(status), result: Some(result), .. }) if status == "completed" => {
            return Fate::Result { json: result.get().to_owned(), is_error: false };
        }
        Ok(Task { status: Some(_), .. } | Task { task: Some(_), .. }) => return Fate::Working,
        _ => {}
    }
    let json = json.to_owned();
    match self::state(&json) {
        Some(_) => Fate::InputRequired(json),
        None => Fate::Result { json, is_error: false },
    }
}

/// The state that a result wants back, if that is all it asks for.
pub(in super::super) fn state(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Asked {
        #[serde(rename = "resultType")]
        kind: String,
        #[serde(rename = "requestState")]
        state: String,
    }
    let asked: Asked = serde_json::from_str(json).ok()?;
    (asked.kind == "input_required").then_some(asked.state)
}

/// What a response with an error means.
pub(super) fn error(message: &[u8]) -> Fate {
    #[derive(Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        error: Error<'a>,
    }
    #[derive(Deserialize)]
    struct Error<'a> {
        code: i64,
        message: String,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    match serde_json::from_slice::<Response<'_>>(message) {
        Ok(Response { error: Error { code, message, data } }) => {
            let data = data.map(|data| data.get().to_owned());
            Fate::Error(RpcError { code, message, data })
        }
        Err(_) => Fate::Unreadable(message.to_vec()),
    }
}
