//! Reading what the client sends.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::moment::{Fate, Kind};
use super::super::schedule::Call;
use crate::RpcError;

/// A message, read.
pub(super) struct Read {
    pub(super) kind: Kind,
    /// How long the tool takes, in milliseconds.
    pub(super) takes: u64,
    /// The progress token, as it was written.
    pub(super) token: Option<String>,
    /// From which tool on to list.
    pub(super) cursor: usize,
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
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    number: u32,
    takes: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "progressToken")]
    progress_token: Option<Box<RawValue>>,
}

/// Reads a message. What cannot be read is the audit's concern.
pub(super) fn message(bytes: &[u8]) -> Read {
    let Members { method, params } = serde_json::from_slice(bytes).unwrap_or_default();
    let kind = match method.as_deref() {
        None => Kind::Response,
        Some("initialize") => Kind::Initialize,
        Some("notifications/initialized") => Kind::Initialized,
        Some("tools/call") => Kind::Call(params.arguments.number),
        Some("tools/list") => Kind::List,
        Some("notifications/cancelled") => Kind::Cancel(params.request),
        Some(other) => Kind::Other(other.to_owned()),
    };
    Read {
        kind,
        takes: params.arguments.takes,
        token: params.meta.progress_token.map(|token| token.get().to_owned()),
        cursor: params.cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0),
    }
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

/// What a result of ours means.
pub(super) fn result(json: &str) -> Fate {
    Fate::Result { json: json.to_owned(), is_error: false }
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
