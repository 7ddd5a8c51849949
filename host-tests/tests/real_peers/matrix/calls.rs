//! Calls: answered, lost, late, cancelled, several at once.

use std::time::Duration;

use futures::{FutureExt as _, join};
use host_tests::fault_proxy::{Cut, FaultProxy, Passed};
use host_tests::ledger::http::{End, When};
use host_tests::{Cause, Event, NotExecuted, Outcome, Stage, ToolCall, ToolResult};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Tried;
use super::bench::{Bench, Wire, ended, made};
use super::rows::Way;
use crate::http::gate::Gate;
use crate::servers::{Server, Tool};

/// How long a call may take that is to be given up. The server has much else to do.
const SHORT: Duration = Duration::from_secs(1);

type Verdict = Result<Outcome, NotExecuted>;

fn calling((tool, arguments): Tool) -> ToolCall {
    ToolCall::new(tool).arguments(arguments.to_string())
}

/// The answer, if it is one without an error.
fn ok(verdict: Verdict) -> Result<ToolResult, String> {
    match verdict {
        Ok(Outcome::Ok(result)) if result.attempts == 1 => Ok(result),
        other => Err(format!("not ok: {other:?}")),
    }
}

/// The texts of an answer.
fn text(result: &ToolResult) -> String {
    let json: Value = serde_json::from_str(&result.json).unwrap_or_default();
    let blocks = json["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

fn is_equal<T: PartialEq + std::fmt::Debug>(got: T, expected: T) -> Tried {
    if got == expected { Ok(()) } else { Err(format!("{got:?}, not {expected:?}")) }
}

impl Bench {
    /// A call that takes a minute, and says that it has begun.
    fn endless(&self) -> ToolCall {
        match self.row.server {
            Server::Npm => {
                calling(("trigger-long-running-operation", json!({ "duration": 60, "steps": 200 })))
            }
            _ => calling(("wait", json!({ "ms": 60_000 }))),
        }
        .progress()
    }

    fn takes(&self, ms: u32) -> ToolCall {
        calling(self.row.server.takes(ms))
    }

    /// A call that takes a second. What comes before its answer may be an event's id, or progress.
    fn tells(&self) -> ToolCall {
        match self.row.server {
            Server::Npm => {
                let arguments = json!({ "duration": 1, "steps": 5 });
                calling(("trigger-long-running-operation", arguments)).progress()
            }
            _ => self.takes(1_000),
        }
    }

    /// How often the call of this number had its effect, as far as the server keeps a ledger.
    fn paid(&self, number: u32) -> usize {
        self.effects(|effect| effect["tool"] == "pay" && effect["arguments"]["amount"] == number)
    }

    /// One effect, and it stays one.
    async fn one_effect(&self, number: u32) -> Tried {
        if !self.row.server.keeps_a_ledger() {
            return Ok(());
        }
        self.until(|| self.paid(number) > 0).await;
        is_equal(self.paid(number), 1)
    }

    pub(super) async fn lost(&mut self) -> Tried {
        let number = self.number();
        let session = self.session.clone();
        let verdict = match self.row.way {
            // Its answers come on a stream that all requests share: the server dies.
            Way::Sse => {
                let mut calling = std::pin::pin!(made(&session, self.endless()));
                let proxy = match &self.wire {
                    Wire::Http { proxy, .. } => proxy.clone(),
                    Wire::Stdio(_) => return Err("no HTTP".into()),
                };
                let is_sent = async {
                    let is_call = |it: &Passed| it.request.rpc().as_deref() == Some("tools/call");
                    proxy.until(|passed| passed.iter().any(is_call)).await;
                };
                assert!(calling.as_mut().now_or_never().is_none(), "it takes a minute");
                let (verdict, ()) = join!(calling, self.restart(is_sent));
                verdict
            }
            Way::Stdio | Way::Http => made(&session, calling(self.row.server.succeeds(number).0)).await,
        };
        match verdict {
            Ok(Outcome::UnknownOutcome(unknown)) if matches!(unknown.cause, Cause::Transport(_)) => {}
            other => return Err(format!("not lost: {other:?}")),
        }
        // It goes on, and sends nothing again.
        ended(session.reconnect()).await.map_err(|error| format!("no second connection: {error:?}"))?;
        if self.row.way != Way::Sse {
            self.one_effect(number).await?;
        }
        is_equal(self.sent("tools/call"), 1)
    }

    pub(super) async fn late(&mut self) -> Tried {
        let number = self.number();
        let (tool, text_of_it) = self.row.server.succeeds(number);
        let (session, gate) = match &self.wire {
            // The relay delays the answer to the second call.
            Wire::Stdio(_) => (self.session.clone(), None),
            Wire::Http { server, .. } => {
                // Its answers come on the one stream that was asked for by GET.
                let of_answers: &[u8] =
                    if self.row.way == Way::Sse { b"GET /sse" } else { b"\"tools/call\"" };
                let gate = Gate::on(server.address, of_answers).await.map_err(|error| error.to_string())?;
                let url = format!("http://{}{}", gate.address, server.path);
                (self.another(&url).await, Some(gate))
            }
        };
        ended(session.reconnect()).await.map_err(|error| format!("no connection: {error:?}"))?;
        if let Some(gate) = &gate {
            gate.shut();
        }
        let unknown = match made(&session, calling(tool).timeout(SHORT)).await {
            Ok(Outcome::UnknownOutcome(unknown)) if unknown.cause == Cause::TimedOut => unknown,
            other => return Err(format!("not late: {other:?}")),
        };
        self.one_effect(number).await?;
        if let Some(gate) = &gate {
            gate.open();
        }
        let known = ended(session.reconcile(unknown.call, Duration::from_secs(30))).await;
        let result = ok(Ok(known.ok_or("it is not remembered")?))?;
        is_equal(text(&result), text_of_it)?;
        self.one_effect(number).await
    }

    pub(super) async fn ok(&mut self) -> Tried {
        let number = self.number();
        let before = self.sent("tools/call");
        let (tool, text_of_it) = self.row.server.succeeds(number);
        let result = ok(made(&self.session, calling(tool)).await)?;
        is_equal(text(&result), text_of_it)?;
        self.one_effect(number).await?;
        is_equal(self.sent("tools/call") - before, 1)
    }

    pub(super) async fn tool_error(&mut self) -> Tried {
        match made(&self.session, calling(self.row.server.fails())).await {
            Ok(Outcome::ToolError(result)) if !text(&result).is_empty() => Ok(()),
            other => Err(format!("no tool's error: {other:?}")),
        }
    }

    pub(super) async fn overlap(&mut self) -> Tried {
        let number = self.number();
        let (quick, text_of_it) = self.row.server.succeeds(number);
        let slow = self.session.call_tool(self.takes(1_500));
        let mut slow = std::pin::pin!(slow);
        let quick = tokio::select! {
            quick = made(&self.session, calling(quick)) => ok(quick)?,
            slow = &mut slow => return Err(format!("the slow one was first: {slow:?}")),
        };
        is_equal(text(&quick), text_of_it)?;
        ok(ended(slow).await).map(drop)
    }

    pub(super) async fn large(&mut self) -> Tried {
        let bytes = 2 << 20;
        let (call, more) = match self.row.server {
            Server::Npm => (calling(("echo", json!({ "message": "x".repeat(bytes) }))), "Echo: ".len()),
            _ => (calling(("big", json!({ "bytes": bytes }))), 0),
        };
        is_equal(text(&ok(made(&self.session, call).await)?).len(), bytes + more)
    }

    pub(super) async fn cancel(&mut self) -> Tried {
        let before = self.sent("notifications/cancelled");
        let session = self.session.clone();
        let (verdict, cancelled) = join!(made(&session, self.endless()), self.cancel_once_begun());
        cancelled?;
        match verdict {
            Ok(Outcome::UnknownOutcome(unknown)) if unknown.cause == Cause::Cancelled => {}
            other => return Err(format!("not cancelled: {other:?}")),
        }
        // In 2026-07-28 over HTTP the end of its stream says so.
        let told = usize::from(!(self.row.is_modern() && self.row.way == Way::Http));
        self.until(|| self.sent("notifications/cancelled") - before >= told).await;
        is_equal(self.sent("notifications/cancelled") - before, told)
    }

    async fn cancel_once_begun(&self) -> Tried {
        if !self.event(|event| matches!(event, Event::Progress(_))).await {
            return Err("it does not begin".into());
        }
        for pending in ended(self.session.pending()).await {
            if !pending.ended {
                is_equal(ended(self.session.cancel(pending.call)).await, true)?;
            }
        }
        Ok(())
    }

    /// The call that was cancelled above.
    pub(super) async fn stops(&mut self) -> Tried {
        let is_told = self.until(|| self.effects(|effect| effect["tool"] == "cancelled") > 0).await;
        if is_told { Ok(()) } else { Err("it did not record that it was cancelled".into()) }
    }

    pub(super) async fn task(&mut self) -> Tried {
        let capabilities: Value = serde_json::from_str(&self.introduced.capabilities).unwrap_or_default();
        let extension = &capabilities["extensions"]["io.modelcontextprotocol/tasks"];
        let has = if self.row.is_modern() { extension } else { &capabilities["tasks"] };
        if has.is_null() {
            return Err("it declares no tasks".into());
        }
        let (call, said) = match self.row.server {
            Server::Npm => (calling(("simulate-research-query", json!({ "topic": "replays" }))), "replays"),
            _ => (self.takes(2_500), "waited 2500 ms"),
        };
        let call = call.task(Duration::from_secs(60)).timeout(SHORT);
        let unknown = match made(&self.session, call).await {
            Ok(Outcome::UnknownOutcome(unknown)) if unknown.stage == Stage::Answering => unknown,
            other => return Err(format!("no task: {other:?}")),
        };
        let known = ended(self.session.reconcile(unknown.call, Duration::from_secs(30))).await;
        let result = ok(Ok(known.ok_or("it is not remembered")?))?;
        if !text(&result).contains(said) {
            return Err(format!("another answer: {result:?}"));
        }
        let effects = self.effects(|effect| effect["arguments"]["ms"] == 2_500);
        is_equal(effects, usize::from(self.row.server.keeps_a_ledger()))
    }

    /// The stream breaks behind what comes while the tool still runs.
    pub(super) async fn resume(&mut self) -> Tried {
        let Wire::Http { proxy, .. } = &self.wire else { return Err("no HTTP".into()) };
        let proxy = proxy.clone();
        let calls = self.sent("tools/call");
        let (first, beginning) = join!(made(&self.session, self.tells()), beginning(&proxy, calls));
        ok(first)?;
        if beginning == 0 {
            return Err("nothing comes before the answer: nothing to resume".into());
        }
        let proxy = proxy.cut(When::method("tools/call").nth(1), Cut::Response(beginning, End::Reset));
        let before = self.sent("tools/call");
        let verdict = made(&self.session, self.tells()).await;
        is_equal(self.sent("tools/call") - before, 1)?;
        let is_cut = proxy.passed().iter().any(|passed| passed.cut && passed.response == beginning);
        match verdict {
            Ok(Outcome::UnknownOutcome(unknown))
                if matches!(unknown.cause, Cause::Transport(_)) && is_cut =>
            {
                Err("its stream broke, and there was nothing to resume".into())
            }
            verdict => ok(verdict).and_then(|_| is_equal(is_cut, true)),
        }
    }
}

/// How many bytes of the response to the next call come before it is done. So many were made before.
async fn beginning(proxy: &FaultProxy, calls: usize) -> u64 {
    let is_call = |it: &&Passed| it.request.rpc().as_deref() == Some("tools/call");
    proxy.until(|passed| passed.iter().filter(is_call).count() > calls).await;
    sleep(Duration::from_millis(350)).await;
    proxy.passed().iter().rfind(is_call).map_or(0, |call| call.response)
}
