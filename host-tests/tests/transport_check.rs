//! The check of a transport: ours over stdio breaks no duty, and each of the transports below, which are ours
//! with one fault planted, is caught by the duty that it breaks.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::mem;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use host_tests::check::transport::stdio::ChildProcesses;
use host_tests::check::transport::{Check, Duty, Report};
use host_tests::transport::stdio::Stdio;
use host_tests::transport::{
    Arrival, BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError, Transport,
};
use host_tests::{Failure, Refusal};
use serde_json::Value;
use tokio::sync::Mutex;

const COMMAND: &str = env!("CARGO_BIN_EXE_noreplay");

/// A fault that is planted into the stdio transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    FailsToConnect,
    SendsTwice,
    RetriesOnAFreshConnection,
    SaysNotSentAfterSending,
    SaysTruncatedAfterSending,
    SaysHandedOverBeforeSending,
    SaysHandedOverWithoutSending,
    SaysAccepted,
    SaysRefused,
    LeavesInAnyOrder,
    AddsToWhatItSends,
    DropsAnAnswer,
    DeliversTwice,
    Reorders,
    SplitsAtLineSeparators,
    StopsAtSomethingTooLarge,
    SwallowsTheEnd,
    MakesTheEndUp,
    HangsInSend,
    HangsInClose,
    NeverLetsGo,
    KeepsAllThatComes,
    KeepsWhatIsGivenUp,
}

/// The stdio transport, with a fault.
struct Faulty {
    inner: Stdio,
    fault: Fault,
}

struct FaultyConnection {
    /// The stdio connection, and how to get another.
    inner: Arc<dyn Connection>,
    transport: Stdio,
    fault: Fault,
    /// What was given up.
    given_up: std::sync::Mutex<Vec<Outgoing>>,
    /// What was received already.
    kept: Arc<Mutex<VecDeque<Result<Incoming, Failure>>>>,
}

impl Transport for Faulty {
    fn connect(&self, endpoint: &str, max: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let (connecting, transport, fault) =
            (self.inner.connect(endpoint, max), self.inner.clone(), self.fault);
        Box::pin(async move {
            let inner = connecting.await?;
            if fault == Fault::FailsToConnect {
                return Err(Failure::closed("or so it says"));
            }
            let kept = Arc::default();
            match fault {
                Fault::KeepsAllThatComes => drop(tokio::spawn(keep(inner.clone(), Arc::clone(&kept)))),
                Fault::NeverLetsGo => mem::forget(inner.clone()),
                _ => {}
            }
            let given_up = std::sync::Mutex::default();
            Ok(Arc::new(FaultyConnection { inner, transport, fault, given_up, kept }) as Arc<dyn Connection>)
        })
    }
}

/// Receives all that comes, whether anybody wants it or not.
async fn keep(inner: Arc<dyn Connection>, kept: Arc<Mutex<VecDeque<Result<Incoming, Failure>>>>) {
    loop {
        let came = inner.receive().await;
        let over = matches!(came, Ok(Incoming::End) | Err(_));
        kept.lock().await.push_back(came);
        if over {
            return;
        }
    }
}

impl Connection for FaultyConnection {
    fn send(&self, mut message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let lost = || Failure::closed("or so it says");
        match self.fault {
            Fault::SendsTwice => {
                let sends = (self.inner.send(message.clone()), self.inner.send(message));
                Box::pin(async move { sends.0.await.and(sends.1.await) })
            }
            Fault::RetriesOnAFreshConnection => {
                let (first, transport) = (self.inner.send(message.clone()), self.transport.clone());
                Box::pin(async move {
                    let Err(error) = first.await else { return Ok(Delivery::HandedOver) };
                    let Ok(again) = transport.connect("", 1 << 20).await else { return Err(error) };
                    again.send(message).await
                })
            }
            Fault::SaysNotSentAfterSending => {
                let sending = self.inner.send(message);
                Box::pin(async move { Err(SendError::NotSent(sending.await.map_or(lost(), |_| lost()))) })
            }
            Fault::SaysTruncatedAfterSending => {
                let sending = self.inner.send(message);
                Box::pin(async move { Err(SendError::Truncated(sending.await.map_or(lost(), |_| lost()))) })
            }
            Fault::SaysHandedOverBeforeSending => {
                tokio::spawn(self.inner.send(message));
                Box::pin(async { Ok(Delivery::HandedOver) })
            }
            Fault::SaysHandedOverWithoutSending => Box::pin(async { Ok(Delivery::HandedOver) }),
            Fault::SaysAccepted => {
                let sending = self.inner.send(message);
                Box::pin(async move { sending.await.map(|_| Delivery::Accepted) })
            }
            Fault::SaysRefused => {
                drop(self.inner.send(message));
                let refusal = Refusal {
                    status: 403,
                    had_session: false,
                    retry_after: None,
                    www_authenticate: None,
                    body: Vec::new(),
                };
                Box::pin(async { Err(SendError::Refused(refusal)) })
            }
            Fault::KeepsWhatIsGivenUp => {
                self.given_up.lock().expect("nobody panics").push(message.clone());
                self.inner.send(message)
            }
            Fault::LeavesInAnyOrder => {
                let inner = self.inner.clone();
                let late =
                    Duration::from_millis(if message.request.is_some_and(|id| id % 2 == 0) { 20 } else { 0 });
                Box::pin(async move {
                    tokio::time::sleep(late).await;
                    inner.send(message).await
                })
            }
            Fault::AddsToWhatItSends => {
                message.message.push(b' ');
                self.inner.send(message)
            }
            Fault::HangsInSend => {
                drop(self.inner.send(message));
                Box::pin(std::future::pending())
            }
            _ => self.inner.send(message),
        }
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let (inner, fault, kept) = (self.inner.clone(), self.fault, self.kept.clone());
        Box::pin(async move {
            if fault == Fault::KeepsAllThatComes {
                loop {
                    let next = kept.lock().await.pop_front();
                    match next {
                        Some(Ok(Incoming::Message(arrival))) => return Ok(Incoming::Message(arrival)),
                        // The end stays.
                        Some(came) => {
                            kept.lock().await.push_back(came.clone());
                            return came;
                        }
                        None => tokio::time::sleep(Duration::from_millis(1)).await,
                    }
                }
            }
            let mut kept = kept.lock().await;
            if let Some(came) = kept.pop_front() {
                return came;
            }
            let came = inner.receive().await;
            let over = matches!(came, Ok(Incoming::End) | Err(_));
            match (fault, came) {
                (Fault::SwallowsTheEnd, _) if over => std::future::pending().await,
                (Fault::DropsAnAnswer, Ok(Incoming::Message(arrival))) if is(&arrival, 2) => {
                    inner.receive().await
                }
                (Fault::MakesTheEndUp, Ok(Incoming::Message(arrival))) if is(&arrival, 2) => {
                    Ok(Incoming::End)
                }
                (Fault::DeliversTwice, Ok(Incoming::Message(arrival))) => {
                    kept.push_back(Ok(Incoming::Message(arrival.clone())));
                    Ok(Incoming::Message(arrival))
                }
                (Fault::Reorders, Ok(Incoming::Message(arrival))) if is(&arrival, 1) => {
                    kept.push_back(Ok(Incoming::Message(arrival)));
                    inner.receive().await
                }
                (Fault::SplitsAtLineSeparators, Ok(Incoming::Message(arrival))) => {
                    let text = String::from_utf8_lossy(&arrival.message);
                    let parts = text.split('\u{2028}').map(|part| part.as_bytes().to_vec());
                    kept.extend(
                        parts.map(|message| Ok(Incoming::Message(Arrival { message, channel: None }))),
                    );
                    kept.pop_front().unwrap_or(Ok(Incoming::End))
                }
                (Fault::StopsAtSomethingTooLarge, Ok(Incoming::TooLarge(report))) => {
                    while !matches!(inner.receive().await, Ok(Incoming::End) | Err(_)) {}
                    Ok(Incoming::TooLarge(report))
                }
                (_, came) => came,
            }
        })
    }

    fn abandon(&self, request: u64) {
        self.inner.abandon(request);
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        match self.fault {
            Fault::HangsInClose => Box::pin(std::future::pending()),
            Fault::NeverLetsGo => Box::pin(async {}),
            _ => self.inner.close(),
        }
    }
}

/// Whether this is the message of this id.
fn is(arrival: &Arrival, id: u64) -> bool {
    arrival.message.starts_with(format!(r#"{{"jsonrpc":"2.0","id":{id},"#).as_bytes())
}

fn peers() -> ChildProcesses {
    ChildProcesses::played_by([COMMAND, "play-peer"])
}

/// What the check finds in the cases of `case`, which is a part of their names.
async fn found(fault: Fault, case: &'static str) -> BTreeSet<Duty> {
    let faulty = move |command: Vec<OsString>| Faulty { inner: Stdio::new(command), fault };
    let check = Check::of(peers(), faulty).steps(0).patience(Duration::from_secs(3));
    let report = check.only(move |checked| checked.name.contains(case)).run(&|_| {}).await.expect("it runs");
    assert!(!report.cases.is_empty(), "no case is called {case}");
    show(&report);
    report.broken.iter().map(|broken| broken.duty).collect()
}

fn show(report: &Report) {
    println!("{} cases in {:?}", report.cases.len(), report.took);
    for broken in &report.broken {
        println!("\n{} in: {}\n  {}", broken.duty, broken.case, broken.sequence.join("\n  "));
    }
}

/// Held while this process is weighed.
static WEIGHED: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn ours_over_stdio_owes_nothing() {
    let _weighed = WEIGHED.lock().await;
    let report = Check::of(peers(), Stdio::new).run(&|_| {}).await.expect("it runs");
    show(&report);
    assert!(report.cases.len() > 200, "{}", report.cases.len());
    assert!(report.broken.is_empty(), "{} duties are broken", report.broken.len());
}

/// A fault, the cases that are asked, and the one duty that they show to be broken.
const CAUGHT: [(Fault, &str, Duty); 23] = [
    (Fault::FailsToConnect, "a peer that reads, small", Duty::Connected),
    (Fault::SendsTwice, "a peer that reads, small", Duty::SentOnce),
    (Fault::RetriesOnAFreshConnection, "exits inside the message, 4194304", Duty::SentOnce),
    (Fault::SaysNotSentAfterSending, "a peer that reads, small", Duty::NotSent),
    (Fault::SaysTruncatedAfterSending, "a peer that reads, 65536", Duty::Truncated),
    (Fault::SaysHandedOverBeforeSending, "never reads, the connection is closed", Duty::HandedOver),
    (Fault::SaysHandedOverWithoutSending, "a peer that reads, small", Duty::HandedOver),
    (Fault::SaysAccepted, "a peer that reads, small", Duty::HandedOver),
    (Fault::SaysRefused, "a peer that reads, small", Duty::Refused),
    (Fault::LeavesInAnyOrder, "a peer that reads, many at once", Duty::Ordered),
    (Fault::AddsToWhatItSends, "a peer that stops writing and reads on, before an answer", Duty::Whole),
    (Fault::DropsAnAnswer, "answers many at once", Duty::Complete),
    (Fault::DeliversTwice, "answers many at once", Duty::Complete),
    (Fault::Reorders, "answers many at once", Duty::Ordered),
    (Fault::SplitsAtLineSeparators, "answers, U+2028", Duty::Whole),
    (Fault::StopsAtSomethingTooLarge, "answers too much, 1048577", Duty::OthersKept),
    (Fault::SwallowsTheEnd, "a peer that exits, at once", Duty::EndTold),
    (Fault::MakesTheEndUp, "a peer that answers two", Duty::EndTold),
    (Fault::HangsInSend, "a peer that is gone, small", Duty::NoHang),
    (Fault::HangsInClose, "a peer that reads, closed at once", Duty::NoHang),
    (Fault::NeverLetsGo, "a peer that lives on, dropped at once", Duty::NothingLeft),
    (Fault::KeepsAllThatComes, "a peer that floods", Duty::Bounded),
    (Fault::KeepsWhatIsGivenUp, "many sends are given up", Duty::Bounded),
];

#[tokio::test]
async fn each_planted_fault_is_caught_by_the_duty_that_it_breaks() {
    let _weighed = WEIGHED.lock().await;
    let runs = CAUGHT.map(|(fault, case, duty)| async move { (fault, duty, found(fault, case).await) });
    let runs = futures::future::join_all(runs).await;
    let missed: Vec<_> =
        runs.into_iter().filter(|(_, duty, found)| *found != BTreeSet::from([*duty])).collect();
    assert!(missed.is_empty(), "fault, what it breaks, what was found: {missed:#?}");
}

#[test]
fn the_command_checks_it_and_prints_json() {
    let arguments = ["check", "--transport", "stdio", "--steps", "160", "--seed", "7", "--json"];
    let output = Command::new(COMMAND).args(arguments).output().expect("it runs");
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["broken"], Value::Array(Vec::new()));
    assert_eq!((&json["seed"], &json["steps"]), (&Value::from(7), &Value::from(160)));
    assert!(json["placements"].as_u64().is_some_and(|placements| placements > 200), "{json}");
    assert_eq!(output.status.code(), Some(0));
}
