//! A thousand calls in flight at a server that takes its time: each costs about what one costs alone, and not
//! a thousand times as much because every other one is looked at for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use host_tests::transport::{
    Arrival, BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError, Transport,
};
use host_tests::{Failure, Outcome, Runtime, Session, ToolCall};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

/// How many messages the way to the server holds. The `send` of one more waits.
const ROOM: usize = 50;

const CALLS: usize = 4_000;

/// How many times as much a call may cost among a thousand. It was over 20 where each looked at all others.
const AT_MOST: u32 = 8;

/// The way to a server that answers each message in turn.
struct Narrow;

impl Transport for Narrow {
    fn connect(&self, _: &str, _: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let (to_server, mut requests) = unbounded_channel::<Vec<u8>>();
        let (answer, answers) = unbounded_channel();
        let room = Arc::new(Semaphore::new(ROOM));
        let way = Way { room: room.clone(), to_server, answers: Arc::new(Mutex::new(answers)) };
        tokio::spawn(async move {
            while let Some(request) = requests.recv().await {
                room.add_permits(1);
                answer.send(answer_to(&request)).unwrap_or_default();
                tokio::task::yield_now().await;
            }
        });
        Box::pin(async { Ok(Arc::new(way) as Arc<dyn Connection>) })
    }
}

/// The answer to a request; nothing to what is none.
fn answer_to(request: &[u8]) -> Vec<u8> {
    let request: Value = serde_json::from_slice(request).expect("it is JSON");
    let Some(id) = request.get("id") else { return Vec::new() };
    match request["method"].as_str() {
        Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        }}),
        Some("tools/call") => json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
    }
    .to_string()
    .into_bytes()
}

struct Way {
    room: Arc<Semaphore>,
    to_server: UnboundedSender<Vec<u8>>,
    answers: Arc<Mutex<UnboundedReceiver<Vec<u8>>>>,
}

impl Connection for Way {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let (room, to_server) = (self.room.clone(), self.to_server.clone());
        Box::pin(async move {
            room.acquire().await.expect("it stays open").forget();
            to_server.send(message.message).expect("the server is there");
            Ok(Delivery::HandedOver)
        })
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let answers = self.answers.clone();
        Box::pin(async move {
            loop {
                match answers.lock().await.recv().await {
                    Some(answer) if answer.is_empty() => {}
                    Some(message) => return Ok(Incoming::Message(Arrival { message, channel: None })),
                    None => return Ok(Incoming::End),
                }
            }
        })
    }

    fn abandon(&self, _: u64) {}

    fn close(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

/// How long a call takes where so many are in flight at any time.
async fn cost(session: &Session, in_flight: usize) -> Duration {
    let mut calls = JoinSet::new();
    let begin = Instant::now();
    for _ in 0..CALLS {
        if calls.len() >= in_flight {
            calls.join_next().await.expect("there is one").expect("nobody panics");
        }
        let call = session.call_tool(ToolCall::new("pay"));
        calls.spawn(async { assert!(matches!(call.await, Ok(Ok(Outcome::Ok(_))))) });
    }
    while let Some(done) = calls.join_next().await {
        done.expect("nobody panics");
    }
    begin.elapsed() / CALLS as u32
}

#[tokio::test]
async fn a_thousand_calls_in_flight_cost_no_thousand_each() {
    let client = Runtime::built().expect("the component").client(Narrow);
    let options = client.default_options().await.expect("the options");
    let session = client.session("narrow", options).await.expect("a session");
    cost(&session, 1).await;
    let alone = cost(&session, 1).await;
    let among = cost(&session, 1_000).await;
    eprintln!("{alone:?} alone, {among:?} among a thousand");
    assert!(among < alone * AT_MOST, "{among:?} among a thousand, and {alone:?} alone");
}
