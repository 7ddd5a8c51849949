//! What is run: the caller's acts, under a policy, with faults at chosen operations.

use std::fmt;
use std::time::Duration;

use super::fault::{Fault, Noise, Words};
use super::policy::Policy;
use crate::FailureKind;

/// One run, from nothing to a verdict on every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What the caller and the peer do, in order.
    pub acts: Vec<Act>,
    /// The caller's policies.
    pub policy: Policy,
    /// The server.
    pub setting: Setting,
    /// Faults at operations that are counted over the whole run.
    pub faults: Vec<(Place, Fault)>,
}

/// What kind of server and transport it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The protocol revision that the server speaks.
    pub revision: &'static str,
    /// Whether the client is left to find that out; else its caller says so.
    pub probed: bool,
    /// Whether each answer comes on a channel of its request's own, as over HTTP.
    pub own_channels: bool,
    /// In what words failures are told.
    pub words: Words,
}

/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";

/// The revisions before it that a server may speak.
pub const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// One operation of the transport, counted from 1 over the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The nth connect.
    Connect(u32),
    /// The nth message that is handed over.
    Send(u32),
    /// The nth answer.
    Answer(u32),
}

/// Something that the caller, or the world, does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The caller calls a tool, and goes on.
    Call(Call),
    /// The caller waits for the verdict on the call of this number.
    Await(u32),
    /// The caller waits for everything that it began.
    AwaitAll,
    /// The caller cancels the call of this number.
    Cancel(u32),
    /// The caller reconnects, and goes on.
    Reconnect,
    /// The caller closes the session, and goes on.
    Close,
    /// The caller lists the tools, and goes on.
    List,
    /// The caller waits for this long to learn what became of the call of this number.
    Reconcile(u32, u32),
    /// So many milliseconds pass.
    Sleep(u32),
    /// The next operation of the fault's kind meets it.
    Break(Fault),
    /// The latest connection is lost.
    Lose(FailureKind),
    /// The peer ends the latest connection.
    End,
    /// The peer says something on the latest connection.
    Say(Noise),
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number: what tells it from all others of the run.
    pub number: u32,
    /// The tool.
    pub tool: &'static str,
    /// How long the tool takes, in milliseconds.
    pub takes: u32,
    /// Its deadline, in milliseconds.
    pub timeout: u32,
    /// Whether it asks for progress.
    pub progress: bool,
    /// Whether it carries an idempotency key.
    pub keyed: bool,
    /// How often the server suspends it, and asks for nothing but its own state back.
    pub suspended: u32,
    /// Whether it may become a task, where the revision has them: the server says where the task is so often
    /// before it is done, and then gives its result.
    pub task: u32,
}

impl Setting {
    /// Whether the server is one of the revision without a handshake.
    pub(super) fn is_modern(&self) -> bool {
        self.revision == MODERN
    }
}

impl Call {
    /// A call that is answered at once.
    pub(super) const fn new(number: u32) -> Call {
        let (takes, timeout, progress, keyed) = (0, 20_000, false, false);
        Call { number, tool: "pay", takes, timeout, progress, keyed, suspended: 0, task: 0 }
    }

    /// The same, which takes so many milliseconds.
    pub(super) const fn taking(self, takes: u32) -> Call {
        Call { takes, ..self }
    }

    /// The same, with this deadline.
    pub(super) const fn within(self, timeout: u32) -> Call {
        Call { timeout, ..self }
    }

    /// How long it may take.
    pub(super) fn time(&self) -> Duration {
        Duration::from_millis(self.timeout.into())
    }

    /// The same without anything that it does not need.
    pub(super) const fn plain(self) -> Call {
        let Call { takes, timeout, suspended, task, .. } = self;
        Call { takes, timeout, suspended, task, ..Call::new(self.number) }
    }

    /// Its arguments, as they must stand on the wire.
    pub(super) fn arguments(&self) -> String {
        let member = |name: &str, times| match times {
            0 => String::new(),
            times => format!(r#","{name}":{times}"#),
        };
        let (suspended, task) = (member("suspended", self.suspended), member("task", self.task));
        format!(
            r#"{{"number":{}, "takes":{}{suspended}{task},"exact":7960607143101464576}}"#,
            self.number, self.takes
        )
    }

    /// Its `_meta`, as it must stand on the wire.
    pub(super) fn meta(&self) -> Option<String> {
        self.keyed.then(|| format!(r#"{{"key" :"order-{}"}}"#, self.number))
    }

    /// The caller's own name for it.
    pub(super) fn key(&self) -> String {
        format!("call-{}", self.number)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Connect(n) => write!(f, "connect {n}"),
            Place::Send(n) => write!(f, "send {n}"),
            Place::Answer(n) => write!(f, "answer {n}"),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.revision)?;
        if self.probed && self.revision != MODERN {
            f.write_str(", found out")?;
        }
        if self.own_channels {
            f.write_str(", own channels")?;
        }
        match self.words {
            Words::Plain => Ok(()),
            Words::NothingHappened => f.write_str(", words of nothing"),
            Words::TryAgain => f.write_str(", words of again"),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Call(call) => write!(f, "call {}", call.number),
            Act::Await(number) => write!(f, "await {number}"),
            Act::AwaitAll => f.write_str("await all"),
            Act::Cancel(number) => write!(f, "cancel {number}"),
            Act::Reconnect => f.write_str("reconnect"),
            Act::Close => f.write_str("close"),
            Act::List => f.write_str("list"),
            Act::Reconcile(number, ms) => write!(f, "reconcile {number} within {ms} ms"),
            Act::Sleep(ms) => write!(f, "sleep {ms} ms"),
            Act::Break(fault) => write!(f, "fault next: {fault}"),
            Act::Lose(_) => f.write_str("lose the connection"),
            Act::End => f.write_str("end the connection"),
            Act::Say(noise) => write!(f, "the server says {noise}"),
        }
    }
}
