//! The world around the component: a transport that fails on command, a server that keeps a ledger, and
//! the record of everything that happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, sleep};

use super::fault::{A_WHILE, AnswerFault, ConnectFault, Fault, SendFault, Words};
use super::moment::{Entry, Message, MessageIndex, Moment, Told, Verdict};
use super::policy::Policy;
use super::schedule::{Call, Place, REVISIONS, Schedule, Setting};
use crate::Failure;
use crate::transport::{BoxFuture, Connection, Transport};

pub(super) mod answer;
mod connection;
mod course;
mod line;
pub(super) mod read;
mod server;

use connection::WorldConnection;
use line::Line;

/// The world. Cheap to clone; all clones are one world.
#[derive(Clone)]
pub(super) struct World(Arc<Shared>);

struct Shared {
    origin: Instant,
    setting: Setting,
    initialised: bool,
    state: Mutex<State>,
}

struct State {
    faults: Vec<(Place, Fault)>,
    /// Faults that the next operation of their kind meets.
    armed: Vec<Fault>,
    counted: Counted,
    calls: BTreeMap<u32, Call>,
    lines: Vec<Arc<Line>>,
    messages: usize,
    /// Answers that come on the next connection only.
    belated: Vec<(Vec<u8>, Told)>,
    /// Which message each answer is to.
    answered: Vec<MessageIndex>,
    /// How often each task was asked for.
    tasks: BTreeMap<String, u32>,
    log: Vec<Entry>,
}

/// How many operations of each kind there were.
#[derive(Default)]
struct Counted {
    connects: u32,
    sends: u32,
    answers: u32,
}

impl World {
    /// A world in which nothing happens.
    pub(super) fn idle() -> World {
        let setting =
            Setting { revision: REVISIONS[0], probed: true, own_channels: false, words: Words::Plain };
        let (acts, faults) = (Vec::new(), Vec::new());
        World::new(&Schedule { acts, policy: Policy::STRICT, setting, faults })
    }

    /// The world of a run, before anything happened.
    pub(super) fn new(schedule: &Schedule) -> World {
        let state = State {
            faults: schedule.faults.clone(),
            armed: Vec::new(),
            counted: Counted::default(),
            calls: BTreeMap::new(),
            lines: Vec::new(),
            messages: 0,
            belated: Vec::new(),
            answered: Vec::new(),
            tasks: BTreeMap::new(),
            log: Vec::new(),
        };
        World(Arc::new(Shared {
            origin: Instant::now(),
            setting: schedule.setting,
            initialised: schedule.policy.initialised,
            state: Mutex::new(state),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here leaves the state half changed.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn setting(&self) -> &Setting {
        &self.0.setting
    }

    /// Adds to the record.
    pub(super) fn note(&self, moment: Moment) {
        let at = self.0.origin.elapsed();
        self.state().log.push(Entry { at, moment });
    }

    /// How many moments there were so far.
    pub(super) fn moments(&self) -> usize {
        self.state().log.len()
    }

    /// The caller makes this call.
    pub(super) fn called(&self, call: Call) {
        self.state().calls.insert(call.number, call);
        self.note(Moment::Called(call));
    }

    /// The next operation of the fault's kind meets it.
    pub(super) fn arm(&self, fault: Fault) {
        self.state().armed.push(fault);
    }

    /// The latest connection is lost, or ended by the peer.
    pub(super) fn finish(&self, end: Result<(), Failure>) {
        if let Some(line) = self.latest() {
            line.finish(end);
        }
    }

    /// The server says something of its own accord.
    pub(super) fn say(&self, bytes: Vec<u8>, told: Told) {
        if let Some(line) = self.latest() {
            line.say(bytes, None, told);
        }
    }

    /// Notes what the client does not receive.
    pub(super) fn note_unread(&self) {
        let lines = self.state().lines.clone();
        for line in lines.iter().filter(|line| line.is_unread()) {
            self.note(Moment::Unread(line.number));
        }
    }

    fn latest(&self) -> Option<Arc<Line>> {
        self.state().lines.last().cloned()
    }

    /// A task is asked for: so often before.
    fn asked(&self, task: &str) -> u32 {
        let mut state = self.state();
        let asked = state.tasks.entry(task.to_owned()).or_default();
        *asked += 1;
        *asked - 1
    }

    /// A failure in the words of this world, with a chain that no other failure of the run has.
    pub(super) fn failure(&self, kind: crate::FailureKind) -> Failure {
        let number = self.state().log.len();
        self.setting().words.failure(kind, number)
    }

    /// What `pick` finds among the verdicts given so far.
    pub(super) fn verdicts<T>(&self, pick: impl Fn(u32, &Verdict) -> Option<T>) -> Vec<T> {
        let of_entry = |entry: &Entry| match &entry.moment {
            Moment::Verdict(number, verdict) => pick(*number, verdict),
            _ => None,
        };
        self.state().log.iter().filter_map(of_entry).collect()
    }

    /// The record, taken out: what happened, and which message each answer was to.
    pub(super) fn take_record(&self) -> (Vec<Entry>, Vec<MessageIndex>) {
        let state = &mut *self.state();
        (std::mem::take(&mut state.log), std::mem::take(&mut state.answered))
    }

    /// The fault that this operation meets.
    fn fault<T>(&self, place: Place, of_kind: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        let placed = state.faults.iter().find(|(at, _)| *at == place).map(|(_, fault)| fault.clone());
        let fault = placed.or_else(|| {
            let at = state.armed.iter().position(|fault| of_kind(fault).is_some())?;
            Some(state.armed.remove(at))
        })?;
        drop(state);
        let found = of_kind(&fault)?;
        self.note(Moment::Fault(fault.to_string()));
        Some(found)
    }

    /// The number of a connect, and its fault.
    fn connect_fault(&self) -> (u32, Option<ConnectFault>) {
        let number = {
            let counted = &mut self.state().counted;
            counted.connects += 1;
            counted.connects
        };
        let fault = self.fault(Place::Connect(number), |fault| match fault {
            Fault::Connect(fault) => Some(fault.clone()),
            _ => None,
        });
        (number, fault)
    }

    fn send_fault(&self) -> Option<SendFault> {
        let place = {
            let counted = &mut self.state().counted;
            counted.sends += 1;
            Place::Send(counted.sends)
        };
        self.fault(place, |fault| match fault {
            Fault::Send(fault) => Some(fault.clone()),
            _ => None,
        })
    }

    /// The fault of the answer to this message.
    fn answer_fault(&self, message: MessageIndex) -> Option<AnswerFault> {
        let place = {
            let state = &mut *self.state();
            state.answered.push(message);
            state.counted.answers += 1;
            Place::Answer(state.counted.answers)
        };
        self.fault(place, |fault| match fault {
            Fault::Answer(fault) => Some(fault.clone()),
            _ => None,
        })
    }

    /// A connection is up.
    fn open(&self, number: u32) -> Arc<Line> {
        let line = Arc::new(Line::new(number));
        let belated = {
            let mut state = self.state();
            state.lines.push(line.clone());
            std::mem::take(&mut state.belated)
        };
        self.note(Moment::Connected(number));
        for (bytes, told) in belated {
            line.say(bytes, None, told);
        }
        line
    }
}

/// Notes that something was given up, unless it came to its end.
struct Unfinished {
    world: World,
    note: Option<Moment>,
}

impl Unfinished {
    fn new(world: &World, note: Moment) -> Unfinished {
        Unfinished { world: world.clone(), note: Some(note) }
    }

    fn finish(mut self) {
        self.note = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(note) = self.note.take() {
            self.world.note(note);
        }
    }
}

impl Transport for World {
    fn connect(&self, _: &str, _: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let world = self.clone();
        let (number, fault) = world.connect_fault();
        world.note(Moment::Connecting(number));
        let unfinished = Unfinished::new(&world, Moment::ConnectDropped(number));
        Box::pin(async move {
            match &fault {
                Some(ConnectFault::Hangs) => std::future::pending().await,
                Some(ConnectFault::Slow | ConnectFault::FailsLate(_)) => sleep(A_WHILE).await,
                _ => {}
            }
            unfinished.finish();
            if let Some(ConnectFault::Fails(kind) | ConnectFault::FailsLate(kind)) = fault {
                let failure = world.failure(kind);
                world.note(Moment::ConnectFailed(number, failure.clone()));
                return Err(failure);
            }
            let line = world.open(number);
            match fault {
                Some(ConnectFault::LostAtOnce) => {
                    line.finish(Err(world.failure(crate::FailureKind::ConnectionReset)));
                }
                Some(ConnectFault::EndsAtOnce) => line.finish(Ok(())),
                _ => {}
            }
            Ok(Arc::new(WorldConnection::new(world, line)) as Arc<dyn Connection>)
        })
    }
}

impl World {
    /// Numbers a message that is handed over, and notes it.
    fn hand(&self, message: impl FnOnce(usize) -> Message) -> Message {
        let index = {
            let state = &mut *self.state();
            state.messages += 1;
            state.messages - 1
        };
        let message = message(index);
        self.note(Moment::Handed(message.clone()));
        message
    }
}
