//! A tool call, put together member by member.

use std::time::Duration;

use crate::ToolCall;

impl ToolCall {
    /// A call of the tool `name`, without arguments, under the session's own deadline.
    pub fn new(name: impl Into<String>) -> ToolCall {
        ToolCall {
            name: name.into(),
            key: None,
            arguments: String::new(),
            meta: String::new(),
            continuation: String::new(),
            progress: false,
            task_ttl_ms: 0,
            timeout_ms: None,
        }
    }

    /// The caller's own name for the call.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> ToolCall {
        ToolCall { key: Some(key.into()), ..self }
    }

    /// The arguments, a JSON object, sent byte for byte.
    #[must_use]
    pub fn arguments(self, json: impl Into<String>) -> ToolCall {
        ToolCall { arguments: json.into(), ..self }
    }

    /// The request's `_meta`, a JSON object, sent byte for byte.
    #[must_use]
    pub fn meta(self, json: impl Into<String>) -> ToolCall {
        ToolCall { meta: json.into(), ..self }
    }

    /// Continues a call that the server suspended: a JSON object with its `requestState` and the
    /// `inputResponses` to what it asked for.
    #[must_use]
    pub fn continuation(self, json: impl Into<String>) -> ToolCall {
        ToolCall { continuation: json.into(), ..self }
    }

    /// Asks the server for progress.
    #[must_use]
    pub fn progress(self) -> ToolCall {
        ToolCall { progress: true, ..self }
    }

    /// Asks the server to run it as a task, and to keep the result for `ttl`, in whole milliseconds.
    #[must_use]
    pub fn task(self, ttl: Duration) -> ToolCall {
        ToolCall { task_ttl_ms: u32::try_from(ttl.as_millis()).unwrap_or(u32::MAX), ..self }
    }

    /// The hard limit on the whole call, in whole milliseconds.
    #[must_use]
    pub fn timeout(self, limit: Duration) -> ToolCall {
        ToolCall { timeout_ms: Some(u32::try_from(limit.as_millis()).unwrap_or(u32::MAX)), ..self }
    }
}
