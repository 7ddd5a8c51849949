//! The ledger server on a real socket, over Streamable HTTP, and failing on command down to the byte.
//!
//! It has the tools and the books of a [`LedgerServer`], and a third book: the [`Traffic`] of its sockets,
//! every request in it. It speaks HTTP/1.1 by hand, since a script may cut anything anywhere.
//!
//! ```
//! use host_tests::ledger::http::{End, HttpLedger, Reply, Step};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = HttpLedger::start()
//!     .await?
//!     // The first `pay` runs, and 40 bytes of its response leave.
//!     .on_tool("pay", 1, [Step::Limit(40, End::Reset), Step::Execute, Step::Answer])
//!     // The second is refused before it runs.
//!     .on_tool("pay", 2, [Step::Respond(Reply::status(503).header("retry-after", "1"))]);
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert!(server.ledger().effects().is_empty());
//! # Ok(())
//! # }
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Ledger, LedgerServer, Tool, Wire};

mod audit;
mod decide;
pub(crate) mod input;
mod modern;
pub(crate) mod output;
mod play;
mod reply;
pub(crate) mod script;
mod serve;
mod sessions;
mod shared;
mod traffic;

pub use reply::{Event, Form, LineEnd, Pieces, Reply};
pub use script::{End, Intake, Rule, Step, When};
pub use traffic::{Entry, Request, Traffic, What};

use script::arm;
use sessions::Session;
use shared::{Authorization, Manners, Shared, Store};

/// The revisions that it speaks if not told otherwise.
const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// The server. Cheap to clone; all clones are one server, which ends with the last of them.
#[derive(Clone)]
pub struct HttpLedger {
    shared: Arc<Shared>,
    running: Arc<Running>,
}

/// The task that takes connections.
struct Running {
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

impl Running {
    fn stop(&self) {
        self.accepting.abort();
        self.shared.tasks().abort_all();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the server is told.
impl HttpLedger {
    /// Starts a server on a free port of this machine. It speaks 2025-03-26 to 2025-11-25 with sessions,
    /// answers in event streams without ids, has no stream for GET, and does everything right.
    ///
    /// # Errors
    ///
    /// There is no port to listen on.
    pub async fn start() -> io::Result<HttpLedger> {
        HttpLedger::start_at_once()
    }

    /// The same. Something must run that polls tasks.
    pub(crate) fn start_at_once() -> io::Result<HttpLedger> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let shared = Arc::new(Shared {
            ledger: LedgerServer::new().revisions(&REVISIONS),
            address: listener.local_addr()?,
            state: Mutex::default(),
            stateless: Arc::new(Session::new(String::new(), "")),
            tasks: Mutex::default(),
            news: Notify::new(),
        });
        let accepting = tokio::spawn(serve::serve(shared.clone(), listener)).abort_handle();
        Ok(HttpLedger { shared: shared.clone(), running: Arc::new(Running { shared, accepting }) })
    }

    /// What to do with the `nth` message (from 1; over all connections) whose JSON-RPC method is `method`.
    /// A message that the server's own checks refuse is none: one of an ended session, for example.
    #[must_use]
    pub fn on(self, method: &str, nth: u32, steps: impl Into<Vec<Step>>) -> HttpLedger {
        self.rule(Rule::new(When::method(method).nth(nth), steps))
    }

    /// The same, for the `nth` call of the tool `tool`.
    #[must_use]
    pub fn on_tool(self, tool: &str, nth: u32, steps: impl Into<Vec<Step>>) -> HttpLedger {
        self.rule(Rule::new(When::tool(tool).nth(nth), steps))
    }

    /// The same, for every message with this method.
    #[must_use]
    pub fn always(self, method: &str, steps: impl Into<Vec<Step>>) -> HttpLedger {
        self.rule(Rule::new(When::method(method), steps))
    }

    /// What to do with the `nth` request (from 1) whose HTTP method is `http`. Nothing else is checked.
    #[must_use]
    pub fn on_http(self, http: &str, nth: u32, steps: impl Into<Vec<Step>>) -> HttpLedger {
        self.rule(Rule::new(When::http(http).nth(nth), steps))
    }

    /// The same, for every request with this HTTP method.
    #[must_use]
    pub fn always_http(self, http: &str, steps: impl Into<Vec<Step>>) -> HttpLedger {
        self.rule(Rule::new(When::http(http), steps))
    }

    /// Adds a rule. Of several that fit a request, the first counts; but one that asks for no more than an
    /// HTTP method comes before all that read the message.
    #[must_use]
    pub fn rule(self, rule: Rule) -> HttpLedger {
        let reads_message = rule.when.reads_message();
        let armed = arm(rule.when, rule.steps);
        if reads_message {
            self.shared.state().rules.push(armed);
        } else {
            self.shared.state().http_rules.push(armed);
        }
        self
    }

    /// What to do with the `nth` request (from 1; of all methods) while it is read.
    #[must_use]
    pub fn on_request(self, nth: u32, intake: Intake) -> HttpLedger {
        self.shared.state().intakes.push((nth, intake));
        self
    }

    /// Ends the `nth` connection (from 1) as soon as it is made.
    #[must_use]
    pub fn on_connection(self, nth: u32, end: End) -> HttpLedger {
        self.shared.state().ends.push((nth, end));
        self
    }

    /// The protocol revisions that it speaks, oldest first. 2026-07-28 among them is the stateless one.
    #[must_use]
    pub fn revisions(self, revisions: &[&str]) -> HttpLedger {
        let legacy: Vec<&str> = revisions.iter().copied().filter(|&name| name != modern::REVISION).collect();
        let modern = legacy.len() < revisions.len();
        let _ = self.shared.ledger.clone().revisions(&legacy);
        self.manners(|manners| manners.modern = modern)
    }

    /// It speaks 2026-07-28 only: no handshake, no sessions, and headers that must agree with the message.
    #[must_use]
    pub fn modern(self) -> HttpLedger {
        self.revisions(&[modern::REVISION])
    }

    /// It speaks the transport of 2024-11-05: a GET gets a stream, which begins with the `endpoint` for
    /// messages, and all answers come on it. Steps that say something answer there too; those that end or
    /// make a response concern the POST.
    #[must_use]
    pub fn http_sse(self) -> HttpLedger {
        self.revisions(&["2024-11-05"]).manners(|manners| manners.http_sse = true)
    }

    /// Answers come in this form.
    #[must_use]
    pub fn answers(self, form: Form) -> HttpLedger {
        self.manners(|manners| manners.form = form)
    }

    /// Lines of event streams end so.
    #[must_use]
    pub fn line_ends(self, line_end: LineEnd) -> HttpLedger {
        self.manners(|manners| manners.line_end = Some(line_end))
    }

    /// It gives out no session ids.
    #[must_use]
    pub fn sessionless(self) -> HttpLedger {
        self.manners(|manners| manners.sessions = false)
    }

    /// It keeps events: each stream begins with an id and no data, and `retry` if given, each event has an
    /// id, and a GET with `last-event-id` gets what followed. That stream stays open after the answer.
    #[must_use]
    pub fn resumable(self, retry: Option<u64>) -> HttpLedger {
        self.manners(|manners| manners.store = Some(Store { retry }))
    }

    /// A GET without `last-event-id` gets the stream that all requests of the session share.
    #[must_use]
    pub fn shared_stream(self) -> HttpLedger {
        self.manners(|manners| manners.shared_stream = true)
    }

    /// Every request whose `authorization` is not this one gets 401, with this challenge. May be called
    /// again on a running server: credentials expire.
    #[must_use]
    pub fn authorization(self, value: &str, challenge: &str) -> HttpLedger {
        let authorization = Authorization { value: value.to_owned(), challenge: challenge.to_owned() };
        self.manners(|manners| manners.authorization = Some(authorization))
    }

    /// The tools that it lists. It runs those of [`tools`](super::tools) only. A property of an input schema
    /// with `x-mcp-header` asks for a header in the stateless revision.
    #[must_use]
    pub fn listing(self, tools: impl Into<Vec<Tool>>) -> HttpLedger {
        let _ = self.shared.ledger.clone().listing(tools);
        self
    }

    /// How many tools it lists on one page; at least one.
    #[must_use]
    pub fn page_size(self, tools: usize) -> HttpLedger {
        let _ = self.shared.ledger.clone().page_size(tools);
        self
    }

    fn manners(self, change: impl FnOnce(&mut Manners)) -> HttpLedger {
        change(&mut self.shared.state().manners);
        self
    }
}

/// What the server tells.
impl HttpLedger {
    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.shared.address)
    }

    /// Another place on it, which does and records the same: for redirects.
    pub fn elsewhere(&self) -> String {
        format!("http://{}/elsewhere", self.shared.address)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The effects so far.
    pub fn ledger(&self) -> Ledger {
        self.shared.ledger.ledger()
    }

    /// The messages that came so far, as [`Handed`](super::Handed): those that a server of this kind reads.
    /// Connections are TCP's.
    pub fn wire(&self) -> Wire {
        self.shared.ledger.wire()
    }

    /// What befell the sockets so far.
    pub fn traffic(&self) -> Traffic {
        Traffic { entries: self.shared.state().book.clone() }
    }

    /// What a client must never do and did, in words.
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Waits until `condition` holds for what befell the sockets.
    pub async fn until(&self, condition: impl Fn(&Traffic) -> bool) {
        loop {
            let news = self.shared.news.notified();
            if condition(&self.traffic()) {
                return;
            }
            news.await;
        }
    }

    /// Waits until `condition` holds for the effects.
    pub async fn until_effects(&self, condition: impl Fn(&Ledger) -> bool) {
        self.shared.ledger.until(|_| condition(&self.ledger())).await;
    }
}

/// What the server does of itself.
impl HttpLedger {
    /// Says `message` on the stream that all requests of the latest session share.
    pub fn say(&self, message: impl AsRef<[u8]>) {
        let latest = self.shared.state().sessions.last().cloned();
        let session = latest.unwrap_or_else(|| self.shared.stateless.clone());
        session.say(sessions::SHARED, message.as_ref());
        self.shared.news.notify_waiters();
    }

    /// Ends the streams that requests share, of all sessions.
    pub fn end_shared(&self, end: End) {
        self.shared.end_shared(end);
    }

    /// Ends all sessions: what comes in one of them gets 404.
    pub fn end_sessions(&self) {
        self.shared.state().sessions.iter().for_each(|session| session.end());
        self.shared.news.notify_waiters();
    }

    /// Dies: it takes no connection any more, and all that there are break.
    pub fn stop(&self) {
        self.running.stop();
    }
}
