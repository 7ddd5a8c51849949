//! An MCP server in the same process that records what really happened, and fails on command.
//!
//! It keeps two books. The [`Ledger`] holds the effects of tools: what a replayed call would show
//! twice. The [`Wire`] holds every message that was handed to it, and everything else that befell its
//! connections. A script ([`Step`]) says what it does instead of answering well.
//!
//! Whatever can happen at once happens within the `send` that hands a message over; the rest runs on
//! tokio's clock. So it is fit for paused time and for tens of thousands of short runs.
//!
//! ```
//! use std::time::Duration;
//! use host_tests::ledger::{LedgerServer, Step, closed};
//!
//! let server = LedgerServer::new()
//!     // The second call of any tool runs, and its answer is lost with the connection.
//!     .on("tools/call", 2, [Step::Execute, Step::Lose(closed())])
//!     // The first `pay` is answered late.
//!     .on_tool("pay", 1, [Step::Execute, Step::Sleep(Duration::from_secs(90)), Step::Answer]);
//! assert!(server.ledger().effects().is_empty());
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::transport::{Arrival, BoxFuture, Connection, Incoming, Transport};

mod armed;
mod audit;
mod books;
mod connection;
pub mod http;
mod play;
mod protocol;
mod script;
mod tools;

pub use books::{Bytes, Effect, Entry, Handed, Ledger, What, Wire};
pub use script::{Channel, ConnectStep, Rule, Step, When, closed, reset};
pub use tools::{Tool, tools};

pub(crate) use audit::Audit;
use connection::{LedgerConnection, Line};
use script::Armed;

/// The server. Cheap to clone; all clones are one server.
#[derive(Clone)]
pub struct LedgerServer {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    origin: Instant,
    state: Mutex<State>,
    /// Something was written into a book.
    news: Notify,
}

struct State {
    manners: Manners,
    rules: Vec<Armed>,
    connect_rules: Vec<(u32, Vec<ConnectStep>)>,
    connects: u32,
    lines: Vec<Weak<Line>>,
    book: Vec<Entry>,
    violations: Vec<String>,
}

/// How the server behaves where no rule says otherwise.
#[derive(Clone)]
struct Manners {
    /// The protocol revisions that it speaks, oldest first.
    revisions: Vec<String>,
    tools: Vec<Tool>,
    /// How many tools it lists on one page.
    page: usize,
    /// Whether each answer comes on its request's own channel, as over HTTP.
    own_channels: bool,
    /// Whether sessions are initialised before the client has them.
    initialised: bool,
    /// Whether `close` never returns.
    close_hangs: bool,
}

impl Default for LedgerServer {
    fn default() -> LedgerServer {
        LedgerServer::new()
    }
}

/// What the server is told before it is used.
impl LedgerServer {
    /// A server that speaks every revision from 2024-11-05 to 2025-11-25, has the tools [`tools`], and
    /// does everything right.
    pub fn new() -> LedgerServer {
        let manners = Manners {
            revisions: protocol::REVISIONS.map(str::to_owned).to_vec(),
            tools: tools(),
            page: usize::MAX,
            own_channels: false,
            initialised: false,
            close_hangs: false,
        };
        let state = State {
            manners,
            rules: Vec::new(),
            connect_rules: Vec::new(),
            connects: 0,
            lines: Vec::new(),
            book: Vec::new(),
            violations: Vec::new(),
        };
        let shared = Shared { origin: Instant::now(), state: Mutex::new(state), news: Notify::new() };
        LedgerServer { shared: Arc::new(shared) }
    }

    /// What to do with the `nth` message (from 1; over all connections) whose method is `method`.
    #[must_use]
    pub fn on(self, method: &str, nth: u32, steps: impl Into<Vec<Step>>) -> LedgerServer {
        self.rule(Rule::new(When::method(method).nth(nth), steps))
    }

    /// What to do with the `nth` call (from 1; over all connections) of the tool `tool`.
    #[must_use]
    pub fn on_tool(self, tool: &str, nth: u32, steps: impl Into<Vec<Step>>) -> LedgerServer {
        self.rule(Rule::new(When::tool(tool).nth(nth), steps))
    }

    /// What to do with every message whose method is `method`.
    #[must_use]
    pub fn always(self, method: &str, steps: impl Into<Vec<Step>>) -> LedgerServer {
        self.rule(Rule::new(When::method(method), steps))
    }

    /// Adds a rule. Of several that fit a message, the first counts.
    #[must_use]
    pub fn rule(self, rule: Rule) -> LedgerServer {
        self.shared.state().rules.push(rule.into());
        self
    }

    /// What to do at the `nth` connect (from 1).
    #[must_use]
    pub fn on_connect(self, nth: u32, steps: impl Into<Vec<ConnectStep>>) -> LedgerServer {
        let rule = (nth, steps.into());
        self.shared.state().connect_rules.push(rule);
        self
    }

    /// The protocol revisions that it speaks, oldest first.
    #[must_use]
    pub fn revisions(self, revisions: &[&str]) -> LedgerServer {
        self.manners(|manners| {
            manners.revisions = revisions.iter().map(|&name| name.to_owned()).collect();
        })
    }

    /// The tools that it lists. It runs those of [`tools`] only.
    #[must_use]
    pub fn listing(self, tools: impl Into<Vec<Tool>>) -> LedgerServer {
        self.manners(|manners| manners.tools = tools.into())
    }

    /// The `annotations` of the tool `tool`, a JSON object.
    #[must_use]
    pub fn annotations(self, tool: &str, json: &str) -> LedgerServer {
        self.manners(|manners| {
            for listed in manners.tools.iter_mut().filter(|listed| listed.name == tool) {
                listed.annotations = Some(json.to_owned());
            }
        })
    }

    /// How many tools it lists on one page; at least one.
    #[must_use]
    pub fn page_size(self, tools: usize) -> LedgerServer {
        self.manners(|manners| manners.page = tools.max(1))
    }

    /// Each answer comes on its request's own channel, as over HTTP. An abandoned request's channel is
    /// closed.
    #[must_use]
    pub fn own_channels(self) -> LedgerServer {
        self.manners(|manners| manners.own_channels = true)
    }

    /// Sessions are initialised before the client has them, so that it owes no handshake.
    #[must_use]
    pub fn initialised(self) -> LedgerServer {
        self.manners(|manners| manners.initialised = true)
    }

    /// `close` never returns.
    #[must_use]
    pub fn close_hangs(self) -> LedgerServer {
        self.manners(|manners| manners.close_hangs = true)
    }

    fn manners(self, change: impl FnOnce(&mut Manners)) -> LedgerServer {
        change(&mut self.shared.state().manners);
        self
    }
}

/// What the server tells.
impl LedgerServer {
    /// The effects so far.
    pub fn ledger(&self) -> Ledger {
        Ledger::of(&self.shared.state().book)
    }

    /// What befell its connections so far.
    pub fn wire(&self) -> Wire {
        Wire::of(&self.shared.state().book)
    }

    /// What a client must never do and did, in words: messages that are no JSON or not what they are
    /// said to be, ids that do not rise, requests before the handshake, a second cancel, and the like.
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Waits until `condition` holds for what befell the connections.
    pub async fn until(&self, condition: impl Fn(&Wire) -> bool) {
        loop {
            let news = self.shared.news.notified();
            if condition(&self.wire()) {
                return;
            }
            news.await;
        }
    }
}

/// What the server does of itself, on its latest connection. Nothing, if that is gone.
impl LedgerServer {
    /// Says `message`, on the channel that all requests share.
    pub fn say(&self, message: impl Into<Vec<u8>>) {
        let arrival = Arrival { message: message.into(), channel: None };
        if let Some(line) = self.latest() {
            self.shared.deliver(&line, Incoming::Message(arrival));
        }
    }

    /// Loses the connection. What was said before still arrives.
    pub fn lose(&self, failure: Failure) {
        if let Some(line) = self.latest() {
            self.shared.lose(&line, failure);
        }
    }

    /// Ends the connection in order.
    pub fn end(&self) {
        if let Some(line) = self.latest() {
            self.shared.end(&line);
        }
    }

    fn latest(&self) -> Option<Arc<Line>> {
        self.shared.state().lines.last().and_then(Weak::upgrade)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes into the book.
    fn note(&self, connection: u32, what: What) {
        let at = self.origin.elapsed();
        let entry = Entry { at, connection, what };
        self.state().book.push(entry);
        self.news.notify_waiters();
    }

    fn deliver(&self, line: &Line, incoming: Incoming) {
        let what = What::said(&incoming);
        if line.push(incoming) {
            self.note(line.number, what);
        }
    }

    fn lose(&self, line: &Line, failure: Failure) {
        if line.finish(Err(failure.clone())) {
            self.note(line.number, What::Lost(failure));
        }
    }

    fn end(&self, line: &Line) {
        if line.finish(Ok(())) {
            self.note(line.number, What::Ended);
        }
    }
}

impl Transport for LedgerServer {
    fn connect(
        &self,
        _endpoint: &str,
        max_message: u64,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let shared = self.shared.clone();
        let (number, steps) = {
            let mut state = shared.state();
            state.connects += 1;
            let number = state.connects;
            let rule = state.connect_rules.iter().find(|(nth, _)| *nth == number);
            (number, rule.map(|(_, steps)| steps.clone()))
        };
        shared.note(number, What::Connecting);
        Box::pin(async move {
            for step in steps.unwrap_or_default() {
                match step {
                    ConnectStep::Sleep(time) => sleep(time).await,
                    ConnectStep::Hang => std::future::pending().await,
                    ConnectStep::Refuse(failure) => {
                        shared.note(number, What::Refused(failure.clone()));
                        return Err(failure);
                    }
                }
            }
            let line = Arc::new(Line::new(number, max_message));
            shared.state().lines.push(Arc::downgrade(&line));
            shared.note(number, What::Connected);
            Ok(Arc::new(LedgerConnection::new(shared, line)) as Arc<dyn Connection>)
        })
    }
}
