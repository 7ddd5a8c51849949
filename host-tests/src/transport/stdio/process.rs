//! A child process and its process group: when it exits, and how it is ended.
//!
//! The process is reaped only after its group was killed for the last time. Until then its number, and
//! so the group's, cannot be given to anybody else.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio as Pipe};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::transport::BoxFuture;

/// How long a process may take to exit once its input is closed, and once it was asked to terminate.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the rest of the group may live on once the process exited by itself.
const AFTERLIFE: Duration = Duration::from_secs(1);

/// Starts `command` and a task that watches over it.
pub(super) fn spawn(command: &[OsString]) -> io::Result<(Process, ChildStdin, ChildStdout)> {
    let [program, arguments @ ..] = command else {
        let words = "there is no command to start";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    };
    // Listening starts before the process does, so that no exit is missed.
    let exits = signal(SignalKind::child())?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Pipe::piped())
        .stdout(Pipe::piped())
        .process_group(0)
        .spawn()?;
    let missing = || io::Error::other("the process has no pipe");
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(id.cast_signed()))
        .ok_or_else(|| io::Error::other("the process has no number"))?;
    let (tell_exit, exit) = watch::channel(None);
    let (order, orders) = watch::channel(Order::Live);
    let (tell_end, ended) = watch::channel(false);
    let keeper =
        Keeper { group: Group { leader: group }, child, exits, exit: tell_exit, orders, _ended: tell_end };
    tokio::spawn(keeper.keep());
    let process = Process { exit, order, ended };
    Ok((process, stdin, stdout))
}

/// A running process. Dropping it kills its group.
pub(super) struct Process {
    exit: watch::Receiver<Option<ExitStatus>>,
    order: watch::Sender<Order>,
    /// Closes once the process and its group are gone.
    ended: watch::Receiver<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Go on.
    Live,
    /// Exit: the input is closed.
    Exit,
    /// Be killed.
    Die,
}

impl Process {
    /// How the process exited, once it has.
    pub(super) fn exit(&self) -> watch::Receiver<Option<ExitStatus>> {
        self.exit.clone()
    }

    /// Ends the process in order: it may exit by itself, is asked to, is killed. Ends once it is gone,
    /// and goes on if the future is dropped.
    pub(super) fn close(&self) -> BoxFuture<'static, ()> {
        self.order.send_if_modified(|order| {
            let live = *order == Order::Live;
            if live {
                *order = Order::Exit;
            }
            live
        });
        let mut ended = self.ended.clone();
        Box::pin(async move {
            // Nothing is ever sent: it ends by the sender's.
            while ended.changed().await.is_ok() {}
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.order.send_if_modified(|order| {
            // A process that was told to exit has its time for it.
            let live = *order == Order::Live;
            if live {
                *order = Order::Die;
            }
            live
        });
    }
}

/// The process group, killed when this is dropped.
struct Group {
    leader: Pid,
}

impl Group {
    fn signal(&self, signal: Signal) {
        // It fails only if nobody is left in the group.
        let _ = kill_process_group(self.leader, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// The task that watches over a process. Fields are dropped in this order: the group is killed before
/// the process is reaped, also where the whole runtime ends.
struct Keeper {
    group: Group,
    child: Child,
    exits: Signals,
    exit: watch::Sender<Option<ExitStatus>>,
    orders: watch::Receiver<Order>,
    _ended: watch::Sender<bool>,
}

impl Keeper {
    async fn keep(mut self) {
        let order = tokio::select! {
            biased;
            () = exited(self.group.leader, &mut self.exits, &self.exit) => None,
            order = ordered(&mut self.orders) => Some(order),
        };
        match order {
            // Whoever reads the output may want to hear the rest of the group out.
            None => {
                let _ = timeout(AFTERLIFE, ordered(&mut self.orders)).await;
            }
            Some(Order::Exit) => {
                for signal in [None, Some(Signal::TERM)] {
                    if let Some(signal) = signal {
                        self.group.signal(signal);
                    }
                    let exited = exited(self.group.leader, &mut self.exits, &self.exit);
                    if timeout(PATIENCE, exited).await.is_ok() {
                        break;
                    }
                }
            }
            Some(_) => {}
        }
        let Keeper { group, mut child, exits: _exits, exit, _ended, .. } = self;
        drop(group);
        if let Ok(status) = child.wait().await {
            exit.send_if_modified(|exit| {
                let unknown = exit.is_none();
                exit.get_or_insert(status);
                unknown
            });
        }
    }
}

/// Waits until the process is ordered to do anything but live.
async fn ordered(orders: &mut watch::Receiver<Order>) -> Order {
    match orders.wait_for(|order| *order != Order::Live).await {
        Ok(order) => *order,
        Err(_) => Order::Die,
    }
}

/// Waits until the process exited, and tells how. It is not reaped.
async fn exited(process: Pid, exits: &mut Signals, exit: &watch::Sender<Option<ExitStatus>>) {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(process), options) {
            Ok(Some(status)) => {
                exit.send_replace(Some(exit_status(&status)));
                return;
            }
            Ok(None) => {}
            // Somebody else reaped it: it is gone all the same.
            Err(_) => return,
        }
        if exits.recv().await.is_none() {
            // No signal will tell any more; look now and then.
            sleep(Duration::from_millis(100)).await;
        }
    }
}

fn exit_status(status: &WaitIdStatus) -> ExitStatus {
    let raw = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) => signal,
        (None, None) => 0,
    };
    ExitStatus::from_raw(raw)
}
