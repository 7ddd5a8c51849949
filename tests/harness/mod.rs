//! A session under test, with a caller, a clock and a transport in the test's hand. Everything that the
//! session wants done is carried out at once or written down.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(unreachable_pub, reason = "a module of test binaries")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

use std::collections::BTreeMap;
use std::time::Duration;

use noreplay::protocol::handshake::Server;
use noreplay::protocol::jsonrpc::RequestId;
use noreplay::protocol::list::{Entry, Listing};
use noreplay::protocol::revision::Revision;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::interaction::{AskId, Question};
use noreplay::session::policy::{Options, Protocol};
use noreplay::session::reads::{Answer, Read};
use noreplay::session::time::Instant;
use noreplay::session::verdict::{
    CallId, Cause, Failure, FailureKind, Generation, NotExecuted, Outcome, ReadError, Refusal, RpcError,
    Stage, ToolResult, UnknownOutcome, Verdict,
};
use noreplay::session::{
    Action, Delivery, Ids, Incoming, Receipt, Resolution, Session, Ticket, ToolCall, What,
};

/// A message that the session gave away.
#[derive(Clone, Debug)]
pub struct Sent {
    pub receipt: Receipt,
    pub call: Option<CallId>,
    pub method: String,
    pub text: String,
    pub headers: Vec<(String, String)>,
}

impl Sent {
    /// The request's id on the wire.
    pub fn id(&self) -> u64 {
        match self.receipt.what {
            What::Request(request) => request.0,
            What::Initialized | What::Control => panic!("no request: {self:?}"),
        }
    }
}

/// The session, and what it did.
pub struct Bench {
    pub session: Session,
    pub now: Instant,
    /// Every message, in order.
    pub wire: Vec<Sent>,
    pub connects: Vec<Generation>,
    /// The connections let go of, and whether in order.
    pub disconnects: Vec<(Generation, bool)>,
    /// The requests that the transport was told to stop waiting for.
    pub abandoned: Vec<u64>,
    /// What each call was begun with.
    pub made: BTreeMap<CallId, ToolCall>,
    pub verdicts: BTreeMap<CallId, Verdict>,
    pub resolutions: Vec<Resolution>,
    /// What the host was asked, in order, and what it need not answer any more.
    pub asked: Vec<(AskId, Question)>,
    pub withdrawn: Vec<AskId>,
    /// The lists that were read, and the reads that failed.
    pub lists: Vec<(Ticket, Result<Vec<Entry>, ReadError>)>,
}

impl Bench {
    pub fn new(options: Options) -> Self {
        Self::with_ids(options, Box::leak(Box::default()))
    }

    pub fn with_ids(mut options: Options, ids: &'static Ids) -> Self {
        // What is no matter of the era begins with `initialize`, as it did before there were two.
        if options.protocol == Protocol::Any {
            options.protocol = Protocol::Only(Revision::LATEST_LEGACY);
        }
        Self::probing(options, ids)
    }

    /// One that finds out which era the server is of, unless its options say.
    pub fn probing(options: Options, ids: &'static Ids) -> Self {
        Self {
            session: Session::new(options, ids),
            now: Instant::from_nanos(1),
            wire: Vec::new(),
            connects: Vec::new(),
            disconnects: Vec::new(),
            abandoned: Vec::new(),
            made: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            resolutions: Vec::new(),
            asked: Vec::new(),
            withdrawn: Vec::new(),
            lists: Vec::new(),
        }
    }

    /// A session whose connection is up.
    pub fn up(options: Options) -> Self {
        let mut bench = Self::new(options);
        bench.reconnect();
        bench.handshake();
        bench.resolutions.clear();
        bench
    }

    /// Enters the session, then does what it asks for.
    pub fn enter<T>(&mut self, step: impl FnOnce(&mut Session, Instant) -> T) -> T {
        let result = step(&mut self.session, self.now);
        while let Some(action) = self.session.poll_action() {
            match action {
                Action::Connect { generation } => self.connects.push(generation),
                Action::Send { call, receipt, message } => {
                    let text = String::from_utf8(message.bytes).unwrap();
                    assert!(!text.contains('\n'), "{text}");
                    self.wire.push(Sent {
                        receipt,
                        call,
                        method: message.method.to_owned(),
                        text,
                        headers: message.headers,
                    });
                }
                Action::Abandon { request, .. } => self.abandoned.push(request.0),
                Action::Disconnect { generation, orderly } => self.disconnects.push((generation, orderly)),
                Action::Resolve(Resolution::Call(call, verdict)) => {
                    let earlier = self.verdicts.insert(call, verdict);
                    assert!(earlier.is_none(), "a second verdict, after {earlier:?}");
                }
                Action::Resolve(resolution) => {
                    if let Resolution::Read(ticket, read) = &resolution {
                        match read {
                            Ok(Answer::List(entries)) => self.lists.push((*ticket, Ok(entries.clone()))),
                            Ok(Answer::Json(_)) => {}
                            Err(error) => self.lists.push((*ticket, Err(error.clone()))),
                        }
                    }
                    self.resolutions.push(resolution);
                }
                Action::Ask { asked, question } => self.asked.push((asked, question)),
                Action::Withdraw { asked } => {
                    assert!(!self.withdrawn.contains(&asked), "withdrawn twice: {asked:?}");
                    assert!(self.asked.iter().any(|(known, _)| *known == asked), "never asked: {asked:?}");
                    self.withdrawn.push(asked);
                }
            }
        }
        result
    }

    pub fn reconnect(&mut self) -> Ticket {
        self.enter(|session, now| session.reconnect(now))
    }

    pub fn close(&mut self) {
        self.enter(|session, _| session.close());
    }

    pub fn cancel(&mut self, call: CallId) -> bool {
        self.enter(|session, _| session.cancel(call))
    }

    pub fn list_tools(&mut self) -> Ticket {
        self.read(Read::List(Listing::Tools))
    }

    pub fn read(&mut self, read: Read) -> Ticket {
        self.enter(|session, now| session.read(now, read))
    }

    pub fn reconcile(&mut self, call: CallId, timeout: Duration) -> Ticket {
        self.enter(|session, now| session.reconcile(now, call, timeout))
    }

    /// The connection that is being opened comes up, or not.
    pub fn connected(&mut self, result: Result<(), Failure>) {
        let generation = self.generation();
        self.enter(|session, now| session.connected(now, generation, result));
    }

    /// Lets the connection that is being opened come up, with the newest revision.
    pub fn handshake(&mut self) {
        self.handshake_of("2025-11-25");
    }

    pub fn handshake_of(&mut self, revision: &str) {
        let generation = *self.connects.last().unwrap();
        self.enter(|session, now| session.connected(now, generation, Ok(())));
        let initialize = self.wire.last().unwrap().clone();
        assert_eq!(initialize.method, "initialize");
        self.sent(&initialize, Ok(Delivery::HandedOver));
        let result = format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}"#
        );
        self.answer(&initialize, &result);
        let initialized = self.wire.last().unwrap().clone();
        assert_eq!(initialized.method, "notifications/initialized");
        self.sent(&initialized, Ok(Delivery::HandedOver));
    }

    /// Begins a call that is not refused at once. It has a name, which must be in its verdict.
    pub fn call(&mut self, tool: &str) -> CallId {
        self.call_with(ToolCall { name: tool.to_owned(), ..ToolCall::default() })
    }

    /// The same, with more to say.
    pub fn call_with(&mut self, call: ToolCall) -> CallId {
        let key = Some(format!("key-{}", self.made.len()));
        self.try_call(ToolCall { key, ..call }).unwrap()
    }

    pub fn try_call(&mut self, call: ToolCall) -> Result<CallId, NotExecuted> {
        let id = self.enter(|session, now| session.call(now, call.clone()))?;
        self.made.insert(id, call);
        Ok(id)
    }

    /// Begins a call of `pay`, and lets the transport take its message.
    pub fn pay(&mut self) -> (CallId, Sent) {
        self.handed_over("pay")
    }

    /// Begins a call, and lets the transport take its message.
    pub fn handed_over(&mut self, tool: &str) -> (CallId, Sent) {
        let call = self.call(tool);
        let sent = self.last_of(call);
        self.sent(&sent, Ok(Delivery::HandedOver));
        (call, sent)
    }

    /// The last message of a call.
    pub fn last_of(&self, call: CallId) -> Sent {
        self.wire.iter().rev().find(|sent| sent.call == Some(call)).expect("it was given away").clone()
    }

    /// How often a call was given away.
    pub fn times_sent(&self, call: CallId) -> usize {
        self.wire.iter().filter(|sent| sent.call == Some(call)).count()
    }

    pub fn count(&self, method: &str) -> usize {
        self.wire.iter().filter(|sent| sent.method == method).count()
    }

    pub fn sent(&mut self, sent: &Sent, result: Result<Delivery, SendError>) {
        self.enter(|session, now| session.sent(now, sent.receipt, result));
    }

    /// The current connection.
    pub fn generation(&self) -> Generation {
        *self.connects.last().unwrap()
    }

    /// A message comes on the current connection.
    pub fn deliver(&mut self, text: impl AsRef<[u8]>) {
        let generation = self.generation();
        self.deliver_on(generation, None, text);
    }

    pub fn deliver_on(&mut self, generation: Generation, channel: Option<u64>, text: impl AsRef<[u8]>) {
        let channel = channel.map(RequestId);
        let incoming = Incoming::Message { bytes: text.as_ref().to_vec(), channel };
        self.enter(|session, now| session.received(now, generation, Ok(incoming)));
    }

    /// The answer to a request, on its connection.
    pub fn answer(&mut self, sent: &Sent, result: &str) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, sent.id());
        self.deliver_on(sent.receipt.generation, None, text);
    }

    /// A JSON-RPC error is the answer to a request, on its connection.
    pub fn answer_error(&mut self, sent: &Sent, error: &str) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, sent.id());
        self.deliver_on(sent.receipt.generation, None, text);
    }

    /// The transport says that the answer to a request will not come.
    pub fn lose_answer(&mut self, sent: &Sent, failure: Failure) {
        let (generation, request) = (sent.receipt.generation, RequestId(sent.id()));
        let incoming = Incoming::AnswerLost(request, failure);
        self.enter(|session, now| session.received(now, generation, Ok(incoming)));
    }

    pub fn receive(&mut self, incoming: Result<Incoming, Failure>) {
        let generation = self.generation();
        self.enter(|session, now| session.received(now, generation, incoming));
    }

    /// The current connection is lost.
    pub fn lose(&mut self, kind: FailureKind) {
        self.receive(Err(failure(kind)));
    }

    /// Time passes, deadline by deadline.
    pub fn advance(&mut self, duration: Duration) {
        let end = self.now + duration;
        while let Some(next) = self.session.next_deadline().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.enter(|session, now| session.tick(now));
        }
        self.now = end;
    }

    /// A call's verdict, which is there.
    pub fn verdict(&self, call: CallId) -> &Verdict {
        self.verdicts.get(&call).unwrap_or_else(|| panic!("no verdict of {call:?}"))
    }

    /// The unknown outcome that a call ended with.
    pub fn unknown(&self, call: CallId) -> &UnknownOutcome {
        match self.verdict(call) {
            Ok(Outcome::UnknownOutcome(unknown)) => unknown,
            other => panic!("not unknown: {other:?}"),
        }
    }

    pub fn cause(&self, call: CallId) -> &Cause {
        &self.unknown(call).cause
    }

    /// The result that a call ended with.
    pub fn ok(&self, call: CallId) -> &str {
        match self.verdict(call) {
            Ok(Outcome::Ok(result)) => &result.json,
            other => panic!("not ok: {other:?}"),
        }
    }

    pub fn warnings(&self, call: CallId) -> &[String] {
        match self.verdict(call) {
            Ok(Outcome::Ok(result) | Outcome::ToolError(result)) => &result.warnings,
            other => panic!("not answered: {other:?}"),
        }
    }

    pub fn not_executed(&self, call: CallId) -> &NotExecuted {
        match self.verdict(call) {
            Err(reason) => reason,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// The call was given away once, and its whole verdict is: unknown, for this cause.
    #[track_caller]
    pub fn assert_unknown(&self, call: CallId, stage: Stage, cause: Cause) {
        self.assert_unknown_after(1, call, stage, cause);
    }

    /// The same, after so many attempts.
    #[track_caller]
    pub fn assert_unknown_after(&self, attempts: u32, call: CallId, stage: Stage, cause: Cause) {
        let ToolCall { name, key, .. } = self.made[&call].clone();
        let message = self.unknown(call).message.clone();
        let expected = UnknownOutcome { call, key, tool: name, attempts, stage, cause, message };
        assert_eq!(*self.verdict(call), Ok(Outcome::UnknownOutcome(expected)));
        self.assert_sent(attempts, call);
    }

    /// The call was given away once, and its whole verdict is: answered with this.
    #[track_caller]
    pub fn assert_ok(&self, call: CallId, json: &str) {
        let (json, warnings) = (json.to_owned(), Vec::new());
        let expected = ToolResult { call, attempts: 1, json, warnings };
        assert_eq!(*self.verdict(call), Ok(Outcome::Ok(expected)));
        self.assert_sent(1, call);
    }

    /// The call was given away so many times, and did not run.
    #[track_caller]
    pub fn assert_not_executed(&self, attempts: u32, call: CallId, reason: NotExecuted) {
        assert_eq!(*self.verdict(call), Err(reason));
        self.assert_sent(attempts, call);
    }

    #[track_caller]
    pub fn assert_sent(&self, attempts: u32, call: CallId) {
        assert_eq!(self.times_sent(call), attempts as usize, "times that {call:?} was given away");
    }

    /// The call has no verdict, and was given away once.
    #[track_caller]
    pub fn assert_pending(&self, call: CallId) {
        assert!(self.is_pending(call), "{:?}", self.verdicts.get(&call));
        self.assert_sent(1, call);
    }

    /// How a `reconnect` ended; `None` if it has not.
    pub fn reconnected(&self, ticket: Ticket) -> Option<&Result<Server, NotExecuted>> {
        self.end_of(|end| match end {
            Resolution::Reconnect(of, result) if *of == ticket => Some(result),
            _ => None,
        })
    }

    /// How a `read` ended; `None` if it has not.
    pub fn read_end(&self, ticket: Ticket) -> Option<&Result<Answer, ReadError>> {
        self.end_of(|end| match end {
            Resolution::Read(of, result) if *of == ticket => Some(result),
            _ => None,
        })
    }

    /// How a list ended; `None` if it has not.
    pub fn tools(&self, ticket: Ticket) -> Option<&Result<Vec<Entry>, ReadError>> {
        self.lists.iter().find(|(of, _)| *of == ticket).map(|(_, list)| list)
    }

    /// Whoever waits is told what is known, which is as little as before.
    pub fn assert_still_unknown(&self, ticket: Ticket) {
        let told = self.reconciled(ticket);
        assert!(matches!(told, Some(Some(Outcome::UnknownOutcome(_)))), "{told:?}");
    }

    /// How a `reconcile` ended; `None` if it has not.
    pub fn reconciled(&self, ticket: Ticket) -> Option<&Option<Outcome>> {
        self.end_of(|end| match end {
            Resolution::Reconcile(of, outcome) if *of == ticket => Some(outcome),
            _ => None,
        })
    }

    /// The one end that `of` picks.
    fn end_of<'a, T>(&'a self, of: impl FnMut(&'a Resolution) -> Option<T>) -> Option<T> {
        let mut ends = self.resolutions.iter().filter_map(of);
        let end = ends.next();
        assert!(ends.next().is_none(), "a second end: {:?}", self.resolutions);
        end
    }

    /// The methods of what was sent since `wire` was so long.
    pub fn sent_since(&self, mark: usize) -> Vec<&str> {
        self.wire[mark..].iter().map(|sent| sent.method.as_str()).collect()
    }

    pub fn is_pending(&self, call: CallId) -> bool {
        !self.verdicts.contains_key(&call)
            && self.session.pending().iter().any(|pending| pending.call == call)
    }

    /// The events so far, without those of the connection itself.
    pub fn events(&mut self) -> Vec<Event> {
        let events = std::iter::from_fn(|| self.session.poll_event());
        events.filter(|event| !matches!(event, Event::Connected(_) | Event::Disconnected(_))).collect()
    }
}

/// What a server of 2026-07-28 says it speaks.
pub const DISCOVERY: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"hi","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}"#;

/// What an older server answers what it does not know.
pub const NOT_FOUND: &str = r#"{"code":-32601,"message":"Method not found"}"#;

/// A session with a server of 2026-07-28.
pub fn modern(options: Options) -> Bench {
    let mut bench = Bench::probing(options, Box::leak(Box::default()));
    bench.reconnect();
    discover(&mut bench);
    bench.resolutions.clear();
    bench
}

pub fn last(bench: &Bench, method: &str) -> Sent {
    let last = bench.wire.last().expect("something was sent").clone();
    assert_eq!(last.method, method);
    last
}

/// The connection that is being opened comes up, and the server knows the probe.
pub fn discover(bench: &mut Bench) {
    bench.connected(Ok(()));
    let probe = last(bench, "server/discover");
    bench.sent(&probe, Ok(Delivery::HandedOver));
    bench.answer(&probe, DISCOVERY);
}

/// The server answers `initialize`, and is up.
pub fn initialize(bench: &mut Bench, revision: &str) {
    let initialize = last(bench, "initialize");
    bench.answer(&initialize, &format!(r#"{{"protocolVersion":"{revision}"}}"#));
    let initialized = last(bench, "notifications/initialized");
    bench.sent(&initialized, Ok(Delivery::HandedOver));
}

/// What a tool that did its work answers.
pub const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

pub fn failure(kind: FailureKind) -> Failure {
    Failure { kind, detail: vec!["outer".to_owned(), "inner".to_owned()] }
}

/// A refusal by an HTTP status, of a request that belonged to a session.
pub fn refusal(status: u16, body: &str) -> Refusal {
    Refusal { status, had_session: true, retry_after: None, www_authenticate: None, body: body.into() }
}

pub fn rpc_error(code: i64, message: &str) -> RpcError {
    RpcError { code, message: message.to_owned(), data: None }
}

/// What a connection is lost with that the server ended in order.
pub fn ended() -> Failure {
    Failure::new(FailureKind::Closed, "the server ended the connection")
}

/// The events, as far as they are diagnostics: each text, and how often in a row.
pub fn diagnostics(events: &[Event]) -> Vec<(&str, u32)> {
    let mut diagnostics = Vec::new();
    for event in events {
        if let Event::Diagnostic(diagnostic) = event {
            diagnostics.push((diagnostic.text.as_str(), diagnostic.count));
        }
    }
    diagnostics
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
