//! The book of what befell the sockets: every request, and how each response and connection ended.

use std::time::Duration;

use serde::Deserialize;

use super::script::End;
use crate::ledger::Bytes;

/// A line of the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, since the server was started.
    pub at: Duration,
    /// On which TCP connection, from 1.
    pub connection: u32,
    /// What.
    pub what: What,
}

/// What can befall a TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It was made.
    Accepted,
    /// A request came, or the beginning of one.
    Came(Request),
    /// A response was ended, or given up.
    Answered {
        /// The number of the request, from 1.
        request: u32,
        /// The status, if one was written by rule.
        status: Option<u16>,
        /// How many bytes left, status line included.
        bytes: u64,
    },
    /// The client closed the connection, or broke it.
    Gone,
    /// That cancelled the request with this number: what was not yet done is not done.
    Cancelled(u32),
    /// The server ended the connection.
    Ended(End),
}

/// A request, as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its number on this server, from 1.
    pub number: u32,
    /// Its HTTP method; empty if not so much came.
    pub method: String,
    /// What it is for: path and query.
    pub target: String,
    /// Its headers, in order; the names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, without framing: what came of it.
    pub body: Vec<u8>,
    /// Whether all of it came, and was read.
    pub whole: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    method: Option<String>,
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    name: Option<String>,
}

impl Request {
    /// The value of the header `name`, which is in lower case: the first, if there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        Bytes::from(self.body.clone()).text().into_owned()
    }

    /// The JSON-RPC method of the message in it.
    pub fn rpc(&self) -> Option<String> {
        self.message().method
    }

    /// The tool that it calls.
    pub fn tool(&self) -> Option<String> {
        let message = self.message();
        message.params.name.filter(|_| message.method.as_deref() == Some("tools/call"))
    }

    fn message(&self) -> Message {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What befell the sockets, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub(super) entries: Vec<Entry>,
}

impl Traffic {
    /// All that happened.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Each request, with the line of the book that it is in.
    pub fn requests(&self) -> impl Iterator<Item = (&Entry, &Request)> {
        self.entries.iter().filter_map(|entry| match &entry.what {
            What::Came(request) => Some((entry, request)),
            _ => None,
        })
    }

    /// The requests with this HTTP method.
    pub fn with(&self, method: &str) -> Vec<&Request> {
        self.requests().map(|(_, request)| request).filter(|request| request.method == method).collect()
    }

    /// The requests whose message has this JSON-RPC method.
    pub fn posts(&self, method: &str) -> Vec<&Request> {
        let posts = self.with("POST").into_iter();
        posts.filter(|request| request.rpc().as_deref() == Some(method)).collect()
    }

    /// The requests that call this tool.
    pub fn calls(&self, tool: &str) -> Vec<&Request> {
        let posts = self.with("POST").into_iter();
        posts.filter(|request| request.tool().as_deref() == Some(tool)).collect()
    }

    /// The `last-event-id` of each GET that has one.
    pub fn resumed(&self) -> Vec<&str> {
        self.with("GET").into_iter().filter_map(|request| request.header("last-event-id")).collect()
    }

    /// When the request with this number came.
    pub fn came(&self, number: u32) -> Option<Duration> {
        self.requests().find(|(_, request)| request.number == number).map(|(entry, _)| entry.at)
    }

    /// When the response to the request with this number was ended or given up.
    pub fn answered(&self, number: u32) -> Option<Duration> {
        let is = |entry: &&Entry| matches!(entry.what, What::Answered { request, .. } if request == number);
        self.entries.iter().find(is).map(|entry| entry.at)
    }

    /// How many bytes left of the response to the request with this number.
    pub fn length(&self, number: u32) -> Option<u64> {
        self.entries.iter().find_map(|entry| match entry.what {
            What::Answered { request, bytes, .. } if request == number => Some(bytes),
            _ => None,
        })
    }

    /// The requests that their client cancelled by leaving.
    pub fn cancelled(&self) -> Vec<u32> {
        let cancelled = self.entries.iter().filter_map(|entry| match entry.what {
            What::Cancelled(request) => Some(request),
            _ => None,
        });
        cancelled.collect()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.entries.iter().filter(|entry| entry.what == What::Accepted).count()
    }
}
