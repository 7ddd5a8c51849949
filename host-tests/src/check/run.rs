//! One run: the component is driven along a schedule, in virtual time, until every call has its verdict
//! and nothing can happen any more.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::moment::{Entry, MessageIndex, Moment};
use super::schedule::{Act, Call, Schedule};
use super::world::{World, answer};
use crate::{CallId, ClientError, Options, Outcome, PendingCall, Runtime, Session, ToolCall};

/// Longer than anything but a hang, in virtual time.
const FOR_EVER: Duration = Duration::from_secs(3_600);

/// Longer than anything is put off by a fault.
const ALL_OVER: Duration = Duration::from_secs(150);

/// What a run brought.
pub(super) struct Record {
    pub(super) log: Vec<Entry>,
    /// Which message each answer was to.
    pub(super) answered: Vec<MessageIndex>,
}

/// Runs a schedule. `options` are the component's own defaults.
pub(super) async fn run(runtime: &Runtime, options: &Options, schedule: &Schedule) -> Record {
    let world = World::new(schedule);
    let client = runtime.client(world.clone());
    let mut options = options.clone();
    schedule.policy.apply(schedule.setting, &mut options);
    match client.session("world", options).await {
        Ok(session) => {
            let mut caller =
                Caller { world: world.clone(), session, running: Vec::new(), calls: BTreeMap::new() };
            if !schedule.policy.owned {
                caller.act(&Act::Reconnect).await;
                caller.act(&Act::AwaitAll).await;
            }
            for act in &schedule.acts {
                caller.act(act).await;
            }
            caller.finish().await;
        }
        Err(error) => world.note(Moment::Dead(error)),
    }
    let (log, answered) = world.take_record();
    Record { log, answered }
}

/// The caller: what it does, it notes.
struct Caller {
    world: World,
    session: Session,
    running: Vec<JoinHandle<()>>,
    calls: BTreeMap<u32, JoinHandle<()>>,
}

impl Caller {
    async fn act(&mut self, act: &Act) {
        match act {
            Act::Call(call) => self.call(*call),
            Act::Await(number) => {
                if let Some(call) = self.calls.remove(number) {
                    _ = call.await;
                }
            }
            Act::AwaitAll => self.await_all().await,
            Act::Cancel(number) => self.cancel(*number).await,
            Act::Reconnect => {
                self.world.note(Moment::Reconnecting);
                let answer = self.session.reconnect();
                self.watch("reconnect", answer, Moment::Reconnected);
            }
            Act::Close => self.close(),
            Act::List => {
                self.world.note(Moment::Listing);
                let answer = self.session.list_tools();
                self.watch("list-tools", answer, |tools| Moment::Listed(tools.map(|tools| tools.len())));
            }
            Act::Reconcile(number, ms) => {
                if let Some(call) = self.id(*number).await {
                    self.reconcile(*number, call, Duration::from_millis((*ms).into())).await;
                }
            }
            Act::Sleep(ms) => sleep(Duration::from_millis((*ms).into())).await,
            Act::Break(fault) => self.world.arm(fault.clone()),
            Act::Lose(kind) => self.world.finish(Err(self.world.failure(*kind))),
            Act::End => self.world.finish(Ok(())),
            Act::Say(noise) => {
                let (bytes, told) = answer::line_of(*noise, 1);
                self.world.say(bytes, told);
            }
        }
    }

    fn call(&mut self, call: Call) {
        self.world.called(call);
        let number = call.number;
        let calling = self.session.call_tool(ToolCall {
            name: call.tool.to_owned(),
            key: Some(call.key()),
            arguments: call.arguments(),
            meta: call.meta().unwrap_or_default(),
            continuation: String::new(),
            progress: call.progress,
            task_ttl_ms: if call.task > 0 { 60_000 } else { 0 },
            timeout_ms: Some(call.timeout),
        });
        let what = format!("call {number}");
        let task =
            watched(self.world.clone(), what, calling, move |verdict| Moment::Verdict(number, verdict));
        self.calls.insert(number, tokio::spawn(task));
    }

    async fn cancel(&mut self, number: u32) {
        if let Some(call) = self.id(number).await {
            self.world.note(Moment::Cancelled(number));
            let answer = self.session.cancel(call);
            // What it says is told by the verdict.
            self.ask("cancel", answer).await;
        }
    }

    fn close(&mut self) {
        self.world.note(Moment::Closing);
        let answer = self.session.close();
        self.watch("close", answer, |()| Moment::Closed);
    }

    async fn reconcile(&self, number: u32, call: CallId, time: Duration) {
        self.world.note(Moment::Reconciling(number));
        let answer = self.session.reconcile(call, time);
        if let Some(known) = self.ask("reconcile", answer).await {
            self.world.note(Moment::Reconciled(number, known));
        }
    }

    /// The session's own id of a call: it stands in its lists.
    async fn id(&self, number: u32) -> Option<CallId> {
        let key = Call::new(number).key();
        let is_it = |own: &Option<String>| own.as_deref() == Some(key.as_str());
        let pending = self.pending().await?;
        pending.iter().find(|pending| is_it(&pending.key)).map(|pending| pending.call)
    }

    /// The calls whose outcome the session says is not known.
    async fn pending(&self) -> Option<Vec<PendingCall>> {
        let asked = self.world.moments();
        let pending = self.ask("pending", self.session.pending()).await?;
        let open = pending.iter().filter(|pending| !pending.ended).cloned().collect();
        self.world.note(Moment::Pending(asked, open));
        Some(pending)
    }

    async fn await_all(&mut self) {
        let calls = std::mem::take(&mut self.calls).into_values();
        join_all(calls.chain(self.running.drain(..))).await;
    }

    /// Waits for every verdict, for whatever is known later, and for silence after the end.
    async fn finish(mut self) {
        self.await_all().await;
        let unknown = self.unknown();
        join_all(unknown.into_iter().map(|(number, call)| self.reconcile(number, call, ALL_OVER))).await;
        sleep(ALL_OVER).await;
        self.world.note_unread();
        if let Some(mut pending) = self.pending().await {
            pending.retain(|pending| pending.ended);
            self.world.note(Moment::Unsettled(pending));
        }
        self.close();
        self.await_all().await;
        while let Some(Some(event)) = self.ask("next-event", self.session.next_event()).await {
            self.world.note(Moment::Event(event));
        }
        sleep(ALL_OVER).await;
    }

    /// The calls whose outcome is unknown, by the verdicts given so far.
    fn unknown(&self) -> Vec<(u32, CallId)> {
        self.world.verdicts(|number, verdict| match verdict {
            Ok(Outcome::UnknownOutcome(unknown)) => Some((number, unknown.call)),
            _ => None,
        })
    }

    /// Waits beside everything else.
    fn watch<R: Send + 'static>(
        &mut self,
        what: &str,
        answer: impl Future<Output = Result<R, ClientError>> + Send + 'static,
        moment: impl FnOnce(R) -> Moment + Send + 'static,
    ) {
        self.running.push(tokio::spawn(watched(self.world.clone(), what.to_owned(), answer, moment)));
    }

    /// Waits for something that takes no time of its own, or ends by itself.
    async fn ask<R>(&self, what: &str, answer: impl Future<Output = Result<R, ClientError>>) -> Option<R> {
        match timeout(FOR_EVER, answer).await {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => self.world.note(Moment::Dead(error)),
            Err(_) => self.world.note(Moment::Hung(what.to_owned())),
        }
        None
    }
}

/// Waits for an answer, and notes it, or that none came.
async fn watched<R>(
    world: World,
    what: String,
    answer: impl Future<Output = Result<R, ClientError>>,
    moment: impl FnOnce(R) -> Moment,
) {
    match timeout(FOR_EVER, answer).await {
        Ok(Ok(value)) => world.note(moment(value)),
        Ok(Err(error)) => world.note(Moment::Dead(error)),
        Err(_) => world.note(Moment::Hung(what)),
    }
}
