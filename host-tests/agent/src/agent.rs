//! The exported agent: a session, and the impatience to drop a call's future.

use std::pin::pin;

use futures::future::{Either, join_all, select};

use super::bindings::exports::noreplay::agent::errands::{
    Errand, Event, Guest, GuestAgent, Unknown, Verdict,
};
use super::bindings::noreplay::mcp::client::{Outcome, Session, ToolCall, default_options};
use super::bindings::wasi::clocks::monotonic_clock;
use super::words;

/// The component.
pub(super) struct Component;

impl Guest for Component {
    type Agent = Agent;

    async fn walk_out(endpoint: String, errand: Errand) -> Option<Verdict> {
        Agent::new(endpoint).run_one(errand).await
    }
}

/// The exported resource.
pub(super) struct Agent(Session);

impl GuestAgent for Agent {
    fn new(endpoint: String) -> Self {
        Self(Session::new(&endpoint, &default_options()))
    }

    async fn run(&self, errands: Vec<Errand>) -> Vec<Option<Verdict>> {
        join_all(errands.into_iter().map(|errand| self.run_one(errand))).await
    }

    async fn list_tools(&self, patience_ms: u32) -> Option<u32> {
        let tools = within(Some(patience_ms), self.0.list_tools()).await?.ok()?;
        u32::try_from(tools.len()).ok()
    }

    async fn next_event(&self, patience_ms: u32) -> Option<Event> {
        within(Some(patience_ms), self.0.next_event()).await.flatten().map(words::event)
    }

    async fn reconcile(&self, call: u64, timeout_ms: u32) -> Option<Verdict> {
        let outcome = self.0.reconcile(call, timeout_ms).await?;
        (!matches!(outcome, Outcome::UnknownOutcome(_))).then(|| words::outcome(outcome))
    }

    fn pending(&self) -> u32 {
        let open = self.0.pending().into_iter().filter(|pending| !pending.ended);
        u32::try_from(open.count()).unwrap_or(u32::MAX)
    }

    async fn unsettled(&self) -> Vec<Unknown> {
        let mut unsettled = Vec::new();
        for pending in self.0.pending().into_iter().filter(|pending| pending.ended) {
            let outcome = self.0.reconcile(pending.call, 0).await;
            unsettled.extend(outcome.and_then(words::still_unknown));
        }
        unsettled
    }
}

impl Agent {
    async fn run_one(&self, errand: Errand) -> Option<Verdict> {
        let call = ToolCall {
            name: errand.tool,
            key: None,
            arguments: errand.arguments,
            meta: String::new(),
            continuation: String::new(),
            progress: false,
            task_ttl_ms: 0,
            timeout_ms: None,
        };
        within(errand.patience_ms, self.0.call_tool(call)).await.map(words::verdict)
    }
}

/// What `future` brings. None if patience runs out first: then the future is dropped.
async fn within<T>(patience_ms: Option<u32>, future: impl Future<Output = T>) -> Option<T> {
    let Some(ms) = patience_ms else { return Some(future.await) };
    let patience = monotonic_clock::wait_for(u64::from(ms) * 1_000_000);
    match select(pin!(future), pin!(patience)).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(((), _)) => None,
    }
}
