//! The cases from public reports, over HTTP: the built component, client and transport in one, on real sockets
//! against a server that fails by script. Each case proves three things: the verdict, that the call was posted
//! once, and what the tool did. What the core does with the same cases alone, `tests/cases_*.rs` prove.
//!
//! A case number stands in the comment of its test. A file is a group of them, or one promise of the transport.

use std::time::Duration;

use host_tests::ledger::http::{HttpLedger, Step, Traffic};
use host_tests::{
    Cause, Event, Failure, Http, NotExecuted, Options, Outcome, Refusal, Runtime, Session, ToolCall,
    ToolResult, UnknownOutcome,
};
use tokio::time::timeout;

mod bytes;
mod credentials;
mod eras;
mod expiry;
mod framing;
mod hangs;
mod http_sse;
mod ids;
mod resumption;
mod safety;
mod sessions;
mod traffic;

/// Far more than anything here takes, and less than the deadline of a call that names none: what is waited for
/// so long comes of itself, and not because time ran out.
const LONG: Duration = Duration::from_secs(30);

type Verdict = Result<Outcome, NotExecuted>;

async fn server() -> HttpLedger {
    HttpLedger::start().await.expect("a port is free")
}

fn built() -> Runtime {
    Runtime::built_http().expect("the built component runs")
}

/// A session with `server` that is connected.
async fn open(server: &HttpLedger) -> Session {
    open_with(server, |_| {}).await
}

async fn open_with(server: &HttpLedger, policies: impl FnOnce(&mut Options)) -> Session {
    let session = over(Http::to(&server.url()).expect("it is a URL"), &server.url(), policies).await;
    let connected = timeout(LONG, session.reconnect()).await.expect("no hang").expect("the instance lives");
    connected.expect("it connects");
    session
}

/// A session in an instance of its own, which may reach what `http` says. It has not connected.
async fn over(http: Http, url: &str, policies: impl FnOnce(&mut Options)) -> Session {
    let client = built().client_over(http);
    let mut options = client.default_options().await.expect("the instance lives");
    options.recovery.backoff_ms = 1;
    policies(&mut options);
    client.session(url, options).await.expect("the instance lives")
}

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

async fn call(session: &Session, call: ToolCall) -> Verdict {
    ended(session.call_tool(call)).await
}

async fn ended(call: impl host_tests::client::Answer<Verdict>) -> Verdict {
    timeout(LONG, call).await.expect("no hang").expect("the instance lives")
}

/// Waits until `condition` holds for what befell the sockets.
async fn until(server: &HttpLedger, condition: impl Fn(&Traffic) -> bool) {
    timeout(LONG, server.until(condition)).await.expect("it comes to that");
}

/// What became of a call of `pay`.
struct Paid {
    server: HttpLedger,
    session: Session,
    verdict: Verdict,
}

/// Pays once, at a server of the usual kind whose script for it is `steps`.
async fn paid(steps: impl Into<Vec<Step>>) -> Paid {
    paid_at(server().await, steps).await
}

async fn paid_at(server: HttpLedger, steps: impl Into<Vec<Step>>) -> Paid {
    paid_with(server, |_| {}, pay(), steps).await
}

async fn paid_with(
    server: HttpLedger,
    policies: impl FnOnce(&mut Options),
    call_of_pay: ToolCall,
    steps: impl Into<Vec<Step>>,
) -> Paid {
    let server = server.on_tool("pay", 1, steps);
    let session = open_with(&server, policies).await;
    let verdict = call(&session, call_of_pay).await;
    Paid { server, session, verdict }
}

impl Paid {
    /// It was posted once, ran so often, and the client kept the rules.
    #[track_caller]
    fn once(&self, effects: usize) -> &Paid {
        assert_eq!(self.server.traffic().calls("pay").len(), 1, "{:?}", self.verdict);
        assert_eq!(self.server.ledger().count("pay"), effects, "{:?}", self.verdict);
        assert_eq!(self.server.violations(), [""; 0]);
        self
    }

    #[track_caller]
    fn unknown(&self) -> &UnknownOutcome {
        unknown(&self.verdict)
    }

    #[track_caller]
    fn lost(&self) -> &Failure {
        lost(&self.verdict)
    }

    #[track_caller]
    fn refused(&self) -> &Refusal {
        refused(&self.verdict)
    }

    /// The session is as good as before: the next call runs in it.
    async fn goes_on(&self) -> &Paid {
        let (runs, opened) = (self.server.ledger().count("pay"), self.opened());
        ok(&call(&self.session, pay()).await);
        assert_eq!((self.server.ledger().count("pay"), self.opened()), (runs + 1, opened));
        self
    }

    /// How often a session was begun.
    fn opened(&self) -> usize {
        self.server.traffic().posts("initialize").len()
    }
}

#[track_caller]
fn ok(verdict: &Verdict) -> &ToolResult {
    match verdict {
        Ok(Outcome::Ok(result)) => result,
        other => panic!("not ok: {other:?}"),
    }
}

#[track_caller]
fn unknown(verdict: &Verdict) -> &UnknownOutcome {
    match verdict {
        Ok(Outcome::UnknownOutcome(unknown)) => unknown,
        other => panic!("not unknown: {other:?}"),
    }
}

/// The failure for which an outcome is unknown.
#[track_caller]
fn lost(verdict: &Verdict) -> &Failure {
    match &unknown(verdict).cause {
        Cause::Transport(failure) => failure,
        other => panic!("not lost: {other:?}"),
    }
}

/// The refusal that proves that a call did not run.
#[track_caller]
fn refused(verdict: &Verdict) -> &Refusal {
    match verdict {
        Err(NotExecuted::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// Ends the session. Returns all that it told beside the calls.
async fn told(session: &Session) -> Vec<Event> {
    timeout(LONG, session.close()).await.expect("no hang").expect("the instance lives");
    let mut events = Vec::new();
    while let Some(event) = timeout(LONG, session.next_event()).await.expect("no hang").expect("it lives") {
        events.push(event);
    }
    events
}

/// The oddities among what a session told.
fn oddities(events: &[Event]) -> Vec<&str> {
    let odd = events.iter().filter_map(|event| match event {
        Event::Diagnostic(odd) => Some(odd.text.as_str()),
        _ => None,
    });
    odd.collect()
}
