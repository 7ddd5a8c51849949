//! A long life: one instance, 100 calls in flight at any time, 10,000 rounds of ten calls each with random
//! faults from one seed, in virtual time. What really happened is known; each verdict is held against it. No call hangs,
//! none has two effects, no verdict is wrong, and the instance never needs more than a few MiB of memory:
//! a leak of a few bytes a call would end it.
//!
//! `SOAK_SEED` sets another seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fastrand::Rng;
use host_tests::runtime::{Allocation, RuntimeOptions};
use host_tests::transport::{
    Arrival, BoxFuture, Connection, Delivery, Incoming, LostAnswer, Outgoing, Oversized, SendError, Transport,
};
use host_tests::{
    COMPONENT, Failure, FailureKind, NotExecuted, Outcome, Refusal, Runtime, Session, ToolCall, ToolResult,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const ROUNDS: usize = 10_000;
const IN_FLIGHT: usize = 100;
const MEMORY: usize = 6 << 20;

/// The seed if none is set.
const SEED: u64 = 20_261_130;

/// What really happened.
struct World {
    rng: Rng,
    /// How often the call of this number ran.
    effects: BTreeMap<u64, u32>,
}

#[derive(Clone)]
struct Chaos(Arc<Mutex<World>>);

impl Chaos {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("nobody panics with it")
    }

    fn chance(&self, percent: u32) -> bool {
        self.world().rng.u32(0..100) < percent
    }

    fn execute(&self, number: u64) {
        *self.world().effects.entry(number).or_default() += 1;
    }

    fn effects(&self, number: u64) -> u32 {
        self.world().effects.get(&number).copied().unwrap_or(0)
    }
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, detail: vec!["chaos".to_owned()] }
}

impl Transport for Chaos {
    fn connect(&self, _: &str, _: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let (refused, slow) = (self.chance(5), self.chance(5));
        let (said, saying) = unbounded_channel();
        let wire = Wire { chaos: self.clone(), say: said, hear: Arc::new(tokio::sync::Mutex::new(saying)) };
        Box::pin(async move {
            if slow {
                sleep(Duration::from_millis(100)).await;
            }
            if refused {
                return Err(failure(FailureKind::ConnectionRefused));
            }
            Ok(Arc::new(wire) as Arc<dyn Connection>)
        })
    }
}

type Heard = Result<Incoming, Failure>;

/// One connection.
struct Wire {
    chaos: Chaos,
    say: UnboundedSender<Heard>,
    hear: Arc<tokio::sync::Mutex<UnboundedReceiver<Heard>>>,
}

impl Connection for Wire {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let message: Value = serde_json::from_slice(&message.message).expect("it is JSON");
        match message["method"].as_str() {
            Some("initialize") => {
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
                self.say(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string());
                Box::pin(async { Ok(Delivery::HandedOver) })
            }
            Some("tools/call") => self.call(&message),
            _ => Box::pin(async { Ok(Delivery::HandedOver) }),
        }
    }

    fn receive(&self) -> BoxFuture<'static, Heard> {
        let hear = Arc::clone(&self.hear);
        Box::pin(async move {
            match hear.lock().await.recv().await {
                Some(heard) => heard,
                None => std::future::pending().await,
            }
        })
    }

    fn abandon(&self, _: u64) {}

    fn close(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

impl Wire {
    fn say(&self, text: String) {
        say(&self.say, text);
    }

    /// What becomes of one call: drawn anew for each.
    fn call(&self, message: &Value) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let id = message["id"].as_u64().expect("our ids are numbers");
        let number = message["params"]["arguments"]["number"].as_u64().expect("it was given");
        let (chaos, voice) = (self.chaos.clone(), self.say.clone());
        let pause = Duration::from_millis(chaos.world().rng.u64(0..60));
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"number":{number}}}}}"#);
        let fate = chaos.world().rng.u32(0..100);
        let run = move || {
            chaos.execute(number);
            chaos
        };
        match fate {
            // Nothing left, or not whole; it does not run.
            0..3 => return ready(Err(SendError::NotSent(failure(FailureKind::Other)))),
            3..4 => return ready(Err(SendError::NotSent(failure(FailureKind::Closed)))),
            4..8 => return ready(Err(SendError::Truncated(failure(FailureKind::ConnectionReset)))),
            8..11 => return ready(Err(refused(401))),
            // It may have arrived: it did, or did not.
            11..13 => return ready(Err(SendError::Unknown(failure(FailureKind::ConnectionReset)))),
            13..15 => {
                run();
                return ready(Err(SendError::Unknown(failure(FailureKind::Closed))));
            }
            15..18 => {
                run();
                return ready(Err(refused(503)));
            }
            18..20 => {
                run();
                return Box::pin(std::future::pending());
            }
            _ => {}
        }
        tokio::spawn(async move {
            sleep(pause).await;
            let chaos = run();
            match fate {
                20..23 => drop(voice.send(Ok(lost(id)))),
                23..26 => say(&voice, format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601}}}}"#)),
                26..28 => say(&voice, answer[..answer.len() - 3].to_owned()),
                28..30 => {
                    say(&voice, format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id + 1_000_000))
                }
                30..32 => drop(voice.send(Ok(too_large(&answer)))),
                // Never, or long after the deadline.
                32..34 => {}
                34..37 => {
                    sleep(Duration::from_secs(2)).await;
                    say(&voice, answer);
                }
                // With the connection, and all that is in flight on it.
                37 if chaos.chance(10) => drop(voice.send(Err(failure(FailureKind::ConnectionReset)))),
                37 if chaos.chance(10) => drop(voice.send(Ok(Incoming::End))),
                _ => {
                    if chaos.chance(10) {
                        say(&voice, "Server v1 started".to_owned());
                        say(
                            &voice,
                            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#.to_owned(),
                        );
                        say(&voice, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
                    }
                    if chaos.chance(5) {
                        say(&voice, answer.clone());
                    }
                    say(&voice, answer);
                }
            }
        });
        ready(Ok(Delivery::HandedOver))
    }
}

fn ready(result: Result<Delivery, SendError>) -> BoxFuture<'static, Result<Delivery, SendError>> {
    Box::pin(async { result })
}

fn say(voice: &UnboundedSender<Heard>, text: String) {
    // The connection may be gone.
    let _ = voice.send(Ok(Incoming::Message(Arrival { message: text.into_bytes(), channel: None })));
}

fn lost(request: u64) -> Incoming {
    Incoming::AnswerLost(LostAnswer { request, failure: failure(FailureKind::ConnectionReset) })
}

fn too_large(answer: &str) -> Incoming {
    let head = answer.as_bytes()[..answer.len() / 2].to_vec();
    Incoming::TooLarge(Oversized { head, tail: Vec::new(), size: None, channel: None })
}

fn refused(status: u16) -> SendError {
    SendError::Refused(Refusal {
        status,
        had_session: false,
        retry_after: None,
        www_authenticate: None,
        body: Vec::new(),
    })
}

/// What the verdicts came to.
#[derive(Debug, Default)]
struct Tally {
    calls: u64,
    ok: u64,
    unknown: u64,
    /// Unknown, though it ran: what a client that retries would have done twice.
    unknown_and_ran: u64,
    reconciled: u64,
    not_executed: u64,
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_rounds_of_random_faults() {
    let seed = std::env::var("SOAK_SEED").ok().map_or(SEED, |seed| seed.parse().expect("a number"));
    println!("seed {seed}");
    let chaos = Chaos(Arc::new(Mutex::new(World { rng: Rng::with_seed(seed), effects: BTreeMap::new() })));
    let options =
        RuntimeOptions { allocation: Allocation::OnDemand, memory: MEMORY, ..RuntimeOptions::default() };
    let client = Runtime::from_bytes(COMPONENT, options).expect("it loads").client(chaos.clone());
    let mut options = client.default_options().await.expect("it lives");
    options.recovery.seed = Some(seed);
    options.recovery.circuit_ms = 50;
    let session = client.session("chaos", options).await.expect("it lives");

    let mut tally = Tally::default();
    let mut never = BTreeSet::new();
    let mut running = JoinSet::new();
    for _ in 0..ROUNDS {
        while running.len() < IN_FLIGHT {
            tally.calls += 1;
            running.spawn(call(session.clone(), tally.calls, chaos.world().rng.u64(20..400)));
        }
        disturb(&chaos, &session).await;
        for _ in 0..IN_FLIGHT / 10 {
            let ended = timeout(Duration::from_secs(60), running.join_next()).await.expect("no call hangs");
            let (number, verdict) = ended.expect("some are running").expect("no task panics");
            judge(&chaos, &session, number, verdict, &mut tally, &mut never).await;
        }
    }
    while let Some(ended) = running.join_next().await {
        let (number, verdict) = ended.expect("no task panics");
        judge(&chaos, &session, number, verdict, &mut tally, &mut never).await;
    }
    assert!(session.pending().await.expect("it lives").iter().all(|pending| pending.ended));
    session.close().await.expect("it lives");

    // Whatever still runs at the server does so now.
    sleep(Duration::from_secs(600)).await;
    for number in never {
        assert_eq!(chaos.effects(number), 0, "call {number} was not executed, and ran");
    }
    assert!(chaos.world().effects.values().all(|effects| *effects == 1), "an effect was repeated");
    println!("{tally:?}");
    assert!(tally.ok > 0 && tally.unknown_and_ran > 0 && tally.not_executed > 0 && tally.reconciled > 0);
}

async fn call(session: Session, number: u64, deadline: u64) -> (u64, Result<Outcome, NotExecuted>) {
    let call = ToolCall::new("count").arguments(format!(r#"{{"number":{number}}}"#));
    let verdict = session.call_tool(call.timeout(Duration::from_millis(deadline))).await;
    (number, verdict.expect("the component does not trap"))
}

/// The caller, too, does things at any time.
async fn disturb(chaos: &Chaos, session: &Session) {
    if chaos.chance(1) {
        let _ = session.reconnect().await.expect("it lives");
    }
    if chaos.chance(5) {
        let mut pending = session.pending().await.expect("it lives");
        pending.retain(|pending| !pending.ended);
        let chosen = chaos.world().rng.choice(pending);
        if let Some(pending) = chosen {
            session.cancel(pending.call).await.expect("it lives");
        }
    }
}

async fn judge(
    chaos: &Chaos,
    session: &Session,
    number: u64,
    verdict: Result<Outcome, NotExecuted>,
    tally: &mut Tally,
    never: &mut BTreeSet<u64>,
) {
    match verdict {
        Ok(Outcome::Ok(result)) => {
            tally.ok += 1;
            assert_own(chaos, number, &result);
        }
        Ok(Outcome::ToolError(result)) => panic!("nobody said so: {result:?}"),
        Ok(Outcome::UnknownOutcome(unknown)) => {
            tally.unknown += 1;
            tally.unknown_and_ran += u64::from(chaos.effects(number) > 0);
            if !chaos.chance(2) {
                return;
            }
            let known = session.reconcile(unknown.call, Duration::from_secs(3)).await.expect("it lives");
            if let Some(Outcome::Ok(result)) = known {
                tally.reconciled += 1;
                assert_own(chaos, number, &result);
            }
        }
        Err(_) => {
            tally.not_executed += 1;
            never.insert(number);
        }
    }
}

/// An answer is the call's own, and its call ran.
fn assert_own(chaos: &Chaos, number: u64, result: &ToolResult) {
    assert!(result.json.contains(&format!(r#""number":{number}}}"#)), "{number}: {result:?}");
    assert_eq!(chaos.effects(number), 1, "{number}: {result:?}");
}
