//! One run: what the caller does, under a policy, against a server, with faults at chosen requests.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::fault::Fault;
use super::server::{Seen, Server, URL};
use crate::check::fault::Words;
use crate::check::policy::Policy;
use crate::check::schedule;
use crate::{CallId, Client, ClientError, NotExecuted, Options, Outcome, Session, ToolCall};

/// Longer than anything but a hang, in virtual time.
const FOR_EVER: Duration = Duration::from_secs(3_600);

/// Longer than anything is put off by a fault.
const ALL_OVER: Duration = Duration::from_secs(150);

/// How a server answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// As JSON.
    Json,
    /// As an event without an id.
    Events,
    /// As an event with an id, behind one without data: a stream that breaks can be resumed.
    Resumable,
}

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) revision: &'static str,
    /// Whether the client is left to find that out.
    pub(super) probed: bool,
    pub(super) answers: Answers,
    /// Whether it gives out session ids.
    pub(super) session: bool,
    /// Whether it has a stream of its own.
    pub(super) listens: bool,
}

/// Something that the caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Call(u32),
    List,
    Reconnect,
    AwaitAll,
}

/// What a caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) acts: &'static [Act],
    /// Whether the whole table of refusals is placed into it.
    pub(super) table: bool,
}

pub(super) const SCENARIOS: [Scenario; 5] = [
    Scenario { name: "HTTP: one call", acts: &[Act::Call(1), Act::AwaitAll], table: true },
    Scenario {
        name: "HTTP: two calls at once",
        acts: &[Act::Call(1), Act::Call(2), Act::AwaitAll],
        table: false,
    },
    Scenario {
        name: "HTTP: a call, and another",
        acts: &[Act::Call(1), Act::AwaitAll, Act::Call(2), Act::AwaitAll],
        table: false,
    },
    Scenario {
        name: "HTTP: reconnect between calls",
        acts: &[Act::Call(1), Act::AwaitAll, Act::Reconnect, Act::AwaitAll, Act::Call(2), Act::AwaitAll],
        table: false,
    },
    Scenario {
        name: "HTTP: list, then call",
        acts: &[Act::List, Act::AwaitAll, Act::Call(1), Act::AwaitAll],
        table: false,
    },
];

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) scenario: Scenario,
    pub(super) setting: Setting,
    pub(super) policy: Policy,
    pub(super) faults: Vec<(usize, Fault)>,
}

/// A verdict, and when.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) begun: Duration,
    pub(super) ended: Duration,
    pub(super) verdict: Result<Outcome, NotExecuted>,
}

/// What a run brought.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) requests: Vec<Seen>,
    pub(super) effects: BTreeMap<u32, Vec<usize>>,
    pub(super) calls: Vec<u32>,
    pub(super) verdicts: BTreeMap<u32, Verdict>,
    /// What is known of the calls that ended as unknown, when all is over.
    pub(super) reconciled: BTreeMap<u32, Option<Outcome>>,
    /// How many requests there were when a reconnect began, and when it ended.
    pub(super) reconnects: Vec<(usize, usize)>,
    /// How many requests there were when the session was closed.
    pub(super) closed: usize,
    /// What did not end, or killed the instance.
    pub(super) trouble: Vec<String>,
}

/// Runs a case. `options` are the component's own defaults.
pub(super) async fn run(client: Client, server: Server, options: &Options, case: &Case) -> Record {
    let mut options = options.clone();
    let Setting { revision, probed, .. } = case.setting;
    let setting = schedule::Setting { revision, probed, own_channels: true, words: Words::Plain };
    case.policy.apply(setting, &mut options);
    let mut record = Record::default();
    match client.session(URL, options).await {
        Ok(session) => {
            let mut caller = Caller { server, session, record, running: Vec::new() };
            for act in case.scenario.acts {
                caller.act(*act).await;
            }
            caller.finish().await
        }
        Err(error) => {
            record.trouble.push(format!("the instance is gone: {error}"));
            record
        }
    }
}

struct Caller {
    server: Server,
    session: Session,
    record: Record,
    running: Vec<JoinHandle<Done>>,
}

/// Something that the caller waited for.
enum Done {
    Call(u32, Box<Verdict>),
    Reconnect(usize, usize),
    List,
    Trouble(String),
}

impl Caller {
    async fn act(&mut self, act: Act) {
        let server = self.server.clone();
        match act {
            Act::Call(number) => {
                self.record.calls.push(number);
                let begun = server.now();
                let call = ToolCall::new("pay").arguments(format!("{{\"n\":{number}}}"));
                let calling = self.session.call_tool(call);
                self.watch(format!("call {number}"), calling, move |verdict| {
                    Done::Call(number, Box::new(Verdict { begun, ended: server.now(), verdict }))
                });
            }
            Act::List => {
                let listing = self.session.list_tools();
                self.watch("list-tools".to_owned(), listing, |_| Done::List);
            }
            Act::Reconnect => {
                let before = server.requests().len();
                let reconnecting = self.session.reconnect();
                self.watch("reconnect".to_owned(), reconnecting, move |_| {
                    Done::Reconnect(before, server.requests().len())
                });
            }
            Act::AwaitAll => {
                for done in join_all(self.running.drain(..)).await {
                    match done {
                        Ok(Done::Call(number, verdict)) => _ = self.record.verdicts.insert(number, *verdict),
                        Ok(Done::Reconnect(before, after)) => self.record.reconnects.push((before, after)),
                        Ok(Done::List) => {}
                        Ok(Done::Trouble(trouble)) => self.record.trouble.push(trouble),
                        Err(error) => self.record.trouble.push(error.to_string()),
                    }
                }
            }
        }
    }

    fn watch<R: Send + 'static>(
        &mut self,
        what: String,
        answer: impl Future<Output = Result<R, ClientError>> + Send + 'static,
        done: impl FnOnce(R) -> Done + Send + 'static,
    ) {
        self.running.push(tokio::spawn(async move {
            match timeout(FOR_EVER, answer).await {
                Ok(Ok(value)) => done(value),
                Ok(Err(error)) => Done::Trouble(format!("{what}: {error}: {:?}", error)),
                Err(_) => Done::Trouble(format!("{what} never ended")),
            }
        }));
    }

    /// Waits for whatever comes late, asks what is known now, and ends the session.
    async fn finish(mut self) -> Record {
        sleep(ALL_OVER).await;
        for (number, call) in self.unknown() {
            match timeout(FOR_EVER, self.session.reconcile(call, Duration::ZERO)).await {
                Ok(Ok(known)) => _ = self.record.reconciled.insert(number, known),
                other => self.record.trouble.push(format!("reconcile {number}: {other:?}")),
            }
        }
        self.record.closed = self.server.requests().len();
        if timeout(FOR_EVER, self.session.close()).await.is_err() {
            self.record.trouble.push("close never ended".to_owned());
        }
        sleep(ALL_OVER).await;
        self.record.requests = self.server.requests();
        self.record.effects = self.server.effects();
        self.record
    }

    fn unknown(&self) -> Vec<(u32, CallId)> {
        let unknown = |(number, verdict): (&u32, &Verdict)| match &verdict.verdict {
            Ok(Outcome::UnknownOutcome(unknown)) => Some((*number, unknown.call)),
            _ => None,
        };
        self.record.verdicts.iter().filter_map(unknown).collect()
    }
}

impl Setting {
    /// Whether it is of the revision without sessions, and without streams that resume.
    pub(super) fn is_stateless(&self) -> bool {
        self.revision == schedule::MODERN
    }

    /// Whether a stream that breaks is resumed.
    pub(super) fn resumes(&self) -> bool {
        self.answers == Answers::Resumable && !self.is_stateless()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.revision)?;
        f.write_str(if self.probed { ", to be found out" } else { "" })?;
        f.write_str(match self.answers {
            Answers::Json => ", JSON",
            Answers::Events => ", events",
            Answers::Resumable => ", events with ids",
        })?;
        f.write_str(if self.session { ", sessions" } else { "" })?;
        f.write_str(if self.listens { ", a stream of its own" } else { "" })
    }
}
