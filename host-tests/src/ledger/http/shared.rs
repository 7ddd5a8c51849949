//! What the connections of a server share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::output::Response;
use super::reply::{Form, LineEnd};
use super::script::{Armed, End, Intake, Step};
use super::sessions::Session;
use super::traffic::{Entry, What};
use crate::ledger::LedgerServer;

pub(super) struct Shared {
    /// The tools, what they did, and the messages that came.
    pub(super) ledger: LedgerServer,
    pub(super) address: SocketAddr,
    pub(super) state: Mutex<State>,
    /// The session of requests that have none.
    pub(super) stateless: Arc<Session>,
    /// The connections, and the plays that outlive them.
    pub(super) tasks: Mutex<JoinSet<()>>,
    /// Something was written into a book, or said on a stream.
    pub(super) news: Notify,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) manners: Manners,
    /// Rules for messages, and for requests whatever they carry.
    pub(super) rules: Vec<Armed<Vec<Step>>>,
    pub(super) http_rules: Vec<Armed<Vec<Step>>>,
    pub(super) intakes: Vec<(u32, Intake)>,
    pub(super) ends: Vec<(u32, End)>,
    pub(super) requests: u32,
    pub(super) sessions: Vec<Arc<Session>>,
    pub(super) book: Vec<Entry>,
    pub(super) violations: Vec<String>,
}

/// How the server behaves where no rule says otherwise.
#[derive(Clone)]
pub(super) struct Manners {
    pub(super) form: Form,
    pub(super) line_end: Option<LineEnd>,
    /// Whether it gives out session ids.
    pub(super) sessions: bool,
    pub(super) store: Option<Store>,
    /// Whether a GET gets a stream.
    pub(super) shared_stream: bool,
    pub(super) authorization: Option<Authorization>,
    /// Whether it speaks the stateless revision.
    pub(super) modern: bool,
    /// Whether it speaks the transport of 2024-11-05.
    pub(super) http_sse: bool,
}

impl Default for Manners {
    fn default() -> Manners {
        Manners {
            form: Form::Events,
            line_end: None,
            sessions: true,
            store: None,
            shared_stream: false,
            authorization: None,
            modern: false,
            http_sse: false,
        }
    }
}

/// How it keeps events.
#[derive(Clone, Copy)]
pub(super) struct Store {
    /// What it says in `retry` at the beginning of a stream, in milliseconds.
    pub(super) retry: Option<u64>,
}

#[derive(Clone)]
pub(super) struct Authorization {
    pub(super) value: String,
    pub(super) challenge: String,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs something that ends with the server.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Writes into the book.
    pub(super) fn note(&self, connection: u32, what: What) {
        let at = self.ledger.shared.origin.elapsed();
        self.state().book.push(Entry { at, connection, what });
        self.news.notify_waiters();
    }

    pub(super) fn answered(&self, connection: u32, request: u32, response: &Response<'_>) {
        let (status, bytes) = response.summary();
        self.note(connection, What::Answered { request, status, bytes });
    }

    pub(super) fn violation(&self, words: String) {
        self.violations(vec![words]);
    }

    pub(super) fn violations(&self, words: Vec<String>) {
        self.state().violations.extend(words);
    }

    /// The number of the request that begins now, and what to do while it is read.
    pub(super) fn next_request(&self) -> (u32, Option<Intake>) {
        let mut state = self.state();
        state.requests += 1;
        let number = state.requests;
        let intake = state.intakes.iter().find(|(nth, _)| *nth == number);
        (number, intake.map(|(_, intake)| intake.clone()))
    }

    pub(super) fn store(&self) -> Option<Store> {
        self.state().manners.store
    }

    pub(super) fn end_shared(&self, end: End) {
        self.state().sessions.iter().for_each(|session| session.end_shared(end));
        self.stateless.end_shared(end);
        self.news.notify_waiters();
    }

    /// Where the messages of a session over HTTP+SSE go: a URI relative to the stream's.
    pub(super) fn endpoint(&self, session: &Session) -> String {
        format!("/messages?session={}", session.id)
    }

    /// The parameters of a tool that are to be in headers, and the names of those.
    pub(super) fn parameter_headers(&self, tool: &str) -> BTreeMap<String, String> {
        let ledger = self.ledger.shared.state();
        let tool = ledger.manners.tools.iter().find(|listed| listed.name == tool);
        let schema: Value =
            tool.and_then(|tool| serde_json::from_str(&tool.input_schema).ok()).unwrap_or_default();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let named = properties.into_iter().filter_map(|(property, schema)| {
            let header = schema["x-mcp-header"].as_str()?.to_owned();
            Some((property, header))
        });
        named.collect()
    }
}
