//! What a client must never do on a connection, noticed.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transport::Outgoing;

/// The revision that has no handshake but a question.
const MODERN: &str = "2026-07-28";

/// What was seen of a connection so far.
pub(crate) struct Audit {
    initialised: bool,
    last_request: Option<u64>,
    initialize: Option<u64>,
    /// Whether it asked what the server speaks: the handshake of 2026-07-28.
    discovered: bool,
    cancelled: BTreeSet<u64>,
    closed: bool,
}

#[derive(Deserialize)]
struct Message<'a> {
    method: Option<String>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Cancelled {
    #[serde(rename = "requestId")]
    request: u64,
}

impl Audit {
    /// For a connection whose session is `initialised` already, or not.
    pub(crate) fn new(initialised: bool) -> Audit {
        let (last_request, initialize, cancelled) = (None, None, BTreeSet::new());
        Audit { initialised, last_request, initialize, discovered: false, cancelled, closed: false }
    }

    /// The client asked to end the connection.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// What is wrong with a message that is handed over now.
    pub(crate) fn message(&mut self, outgoing: &Outgoing) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |right: bool, wrong: &str| {
            if !right {
                let text = String::from_utf8_lossy(&outgoing.message);
                found.push(format!("{wrong}: {text}"));
            }
        };
        check(!self.closed, "sent after close");
        check(
            !outgoing.message.contains(&b'\n') && !outgoing.message.contains(&b'\r'),
            "a line break in a message",
        );
        let Ok(message) = serde_json::from_slice::<Message<'_>>(&outgoing.message) else {
            check(false, "a message that is no JSON-RPC");
            return found;
        };
        let method = message.method.as_deref().unwrap_or_default();
        check(outgoing.method == method, "not the method it is said to have");
        if message.method.is_none() {
            check(outgoing.request.is_none(), "a response that is said to be a request");
            return found;
        }
        let id = message.id.map(RawValue::get);
        let said = outgoing.request.map(|id| id.to_string());
        check(id == said.as_deref(), "not the id it is said to have");

        match outgoing.request {
            Some(request) => {
                check(self.last_request < Some(request), "an id that does not rise");
                self.last_request = Some(request);
                let early = ["initialize", "server/discover", "ping"].contains(&method);
                let modern = self.discovered && outgoing.protocol_version.as_deref() == Some(MODERN);
                check(self.initialised || modern || early, "a request before the handshake");
                self.discovered |= method == "server/discover";
                if method == "initialize" {
                    self.initialize = Some(request);
                }
            }
            None if method == "notifications/initialized" => {
                check(!self.initialised, "a second handshake");
                self.initialised = true;
            }
            None if method == "notifications/cancelled" => {
                let params = message.params.map_or("null", RawValue::get);
                match serde_json::from_str::<Cancelled>(params) {
                    Ok(Cancelled { request }) => {
                        check(self.cancelled.insert(request), "a second cancel");
                        check(self.initialize != Some(request), "a cancel of initialize");
                        check(self.last_request >= Some(request), "a cancel of nothing");
                    }
                    Err(_) => check(false, "a cancel without a request"),
                }
            }
            None => {}
        }
        found
    }
}
