//! One test's own folder, server, proxy and client, and what it asserts of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host_tests::fault_proxy::{Cut, FaultProxy, Passed};
use host_tests::ledger::http::{Request, When};
use host_tests::{
    Cause, Client, Http, NotExecuted, Options, Outcome, Runtime, Session, ToolCall, ToolResult,
    UnknownOutcome,
};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::gate::Gate;
use super::server::{Peer, Server};
use crate::servers::Tool;

/// No call is meant to take so long; one that does is stuck.
const STUCK: Duration = Duration::from_secs(60);

pub(crate) type Verdict = Result<Outcome, NotExecuted>;

/// Which protocol a session speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    /// Revision 2025-11-25, or an older one if the server asks for it.
    Legacy,
    /// Revision 2026-07-28.
    Modern,
}

impl Era {
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Era::Legacy => "2025-11-25",
            Era::Modern => "2026-07-28",
        }
    }

    /// The messages of a handshake.
    pub(crate) fn handshake(self) -> &'static [&'static str] {
        match self {
            Era::Legacy => &["initialize", "notifications/initialized"],
            Era::Modern => &["server/discover"],
        }
    }
}

pub(crate) struct Bench {
    pub(crate) peer: Peer,
    pub(crate) era: Era,
    pub(crate) server: Server,
    pub(crate) proxy: FaultProxy,
    folder: PathBuf,
}

impl Bench {
    /// `None` where the server is missing.
    pub(crate) async fn new(peer: Peer, era: Era, name: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real_peers/http").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the test's folder");
        let server = peer.start(&folder, 0).await?;
        let proxy = FaultProxy::before(server.address).await.expect("a port");
        Some(Bench { peer, era, server, proxy, folder })
    }

    /// Cuts what the server says to the first request with this method.
    pub(crate) fn cut(&mut self, method: &str, cut: Cut) {
        self.proxy = self.proxy.clone().cut(When::method(method).nth(1), cut);
    }

    /// Puts a gate before the server, which is shut for answers to calls.
    pub(crate) async fn gate(&mut self) -> Gate {
        let gate = Gate::before(self.server.address).await.expect("a port");
        self.proxy = FaultProxy::before(gate.address).await.expect("a port");
        gate
    }

    /// Kills the server, and starts another on the same port.
    pub(crate) async fn restart(&mut self) {
        self.server.kill().await;
        let started = self.peer.start(&self.folder, self.server.address.port()).await;
        self.server = started.expect("it was there before");
    }

    pub(crate) fn url(&self) -> String {
        self.proxy.url(self.server.path)
    }

    pub(crate) async fn session(&self) -> Session {
        self.session_with(|_| ()).await
    }

    pub(crate) async fn session_with(&self, change: impl FnOnce(&mut Options)) -> Session {
        self.session_at(&self.url(), change).await
    }

    /// A session with the server at `url`, in an instance of its own.
    pub(crate) async fn session_at(&self, url: &str, change: impl FnOnce(&mut Options)) -> Session {
        let client = client(url);
        let mut options = client.default_options().await.expect("it lives");
        options.protocol = Some(self.era.revision().to_owned());
        change(&mut options);
        client.session(url, options).await.expect("it lives")
    }

    /// The effects that have happened.
    pub(crate) fn effects(&self) -> Vec<Value> {
        let ledger = fs::read_to_string(self.folder.join("ledger")).unwrap_or_default();
        ledger.lines().map(|line| serde_json::from_str(line).expect("an effect")).collect()
    }

    /// Waits for so many effects, of a server that keeps a ledger; more are wrong.
    #[track_caller]
    pub(crate) fn effects_are(&self, number: usize) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let end = Instant::now() + STUCK;
            while self.peer.keeps_a_ledger() && self.effects().len() != number {
                let effects = self.effects();
                assert!(effects.len() < number && Instant::now() < end, "{caller}: effects: {effects:#?}");
                sleep(Duration::from_millis(2)).await;
            }
        }
    }

    /// The client's messages with this method that were on the wire.
    pub(crate) fn sent(&self, method: &str) -> Vec<Request> {
        let requests = self.proxy.passed().into_iter().map(|passed| passed.request);
        requests.filter(|request| request.rpc().as_deref() == Some(method)).collect()
    }

    /// Waits until so many of these were on the wire.
    pub(crate) async fn sent_are(&self, method: &str, number: usize) -> Vec<Request> {
        let is_it = |passed: &&Passed| passed.request.rpc().as_deref() == Some(method);
        let sent = self.proxy.until(|passed| passed.iter().filter(is_it).count() >= number);
        timeout(STUCK, sent).await.unwrap_or_else(|_| panic!("{method} was not sent"));
        self.sent(method)
    }

    /// Asserts how many `tools/call` were on the wire.
    #[track_caller]
    pub(crate) fn assert_calls(&self, number: usize) {
        let calls = self.sent("tools/call");
        assert_eq!(calls.len(), number, "on the wire: {calls:#?}");
    }
}

fn client(url: &str) -> Client {
    let http = Http::to(url).expect("a URL");
    Runtime::built_http().expect("the component loads").client_over(http)
}

/// A call of this tool.
pub(crate) fn calling((tool, arguments): Tool) -> ToolCall {
    ToolCall::new(tool).arguments(arguments.to_string())
}

pub(crate) async fn call(session: &Session, tool: Tool) -> Verdict {
    made(session, calling(tool)).await
}

pub(crate) async fn made(session: &Session, call: ToolCall) -> Verdict {
    ended(session.call_tool(call)).await
}

/// What something brings that must end.
pub(crate) async fn ended<T, E: std::fmt::Debug>(wait: impl Future<Output = Result<T, E>>) -> T {
    timeout(STUCK, wait).await.expect("it ends").expect("the component does not trap")
}

#[track_caller]
pub(crate) fn ok(verdict: Verdict) -> ToolResult {
    match verdict {
        Ok(Outcome::Ok(result)) => result,
        other => panic!("not ok: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn tool_error(verdict: Verdict) -> ToolResult {
    match verdict {
        Ok(Outcome::ToolError(result)) => result,
        other => panic!("not a tool's error: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn unknown(verdict: Verdict) -> UnknownOutcome {
    match verdict {
        Ok(Outcome::UnknownOutcome(unknown)) => {
            assert!(!unknown.message.is_empty(), "{unknown:?}");
            assert_eq!(unknown.attempts, 1, "{unknown:?}");
            unknown
        }
        other => panic!("not unknown: {other:?}"),
    }
}

/// An outcome that is unknown because the connection or the answer was lost.
#[track_caller]
pub(crate) fn lost(verdict: Verdict) -> UnknownOutcome {
    let unknown = unknown(verdict);
    assert!(matches!(unknown.cause, Cause::Transport(_)), "{unknown:?}");
    unknown
}

#[track_caller]
pub(crate) fn not_executed(verdict: Verdict) -> NotExecuted {
    verdict.expect_err("not a proof that it did not run")
}

/// The text of a result's only block.
#[track_caller]
pub(crate) fn text_of(result: &ToolResult) -> String {
    let json: Value = serde_json::from_str(&result.json).expect("JSON");
    match json["content"].as_array().map(Vec::as_slice) {
        Some([block]) => block["text"].as_str().expect("a text block").to_owned(),
        _ => panic!("not one block: {json:#}"),
    }
}
