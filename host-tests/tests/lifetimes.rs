//! Ends that nobody asked for, and loads that nobody reads: futures, sessions and instances dropped with
//! calls in flight, floods, limits. Through the component in wasmtime. A handed-over call never loses its
//! verdict silently, memory stays bounded, and other calls are unharmed.

use std::time::Duration;

use host_tests::ledger::{ConnectStep, LedgerServer, Step, What, closed};
use host_tests::runtime::{Allocation, RuntimeOptions};
use host_tests::transport::SendError;
use host_tests::{
    COMPONENT, Cause, Client, ClientError, Event, Failure, FailureKind, Initialised, NotExecuted, Options,
    Outcome, Ownership, Runtime, Session, Stage, ToolCall,
};
use tokio::time::{Instant, sleep, timeout};

fn client(server: &LedgerServer) -> Client {
    Runtime::built().expect("the component loads").client(server.clone())
}

async fn session(server: &LedgerServer) -> Session {
    session_with(server, |_| {}).await
}

async fn session_with(server: &LedgerServer, set: impl FnOnce(&mut Options)) -> Session {
    let client = client(server);
    let mut options = client.default_options().await.expect("it lives");
    set(&mut options);
    client.session("ledger", options).await.expect("it lives")
}

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

fn echo() -> ToolCall {
    ToolCall::new("echo")
}

async fn ms(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}

fn is_ok(verdict: Result<Result<Outcome, NotExecuted>, ClientError>) {
    assert!(matches!(verdict, Ok(Ok(Outcome::Ok(_)))), "{verdict:?}");
}

/// A host that drops the future gives up the value, not the call: it goes on to its end, and is listed
/// until then and after.
#[tokio::test(start_paused = true)]
async fn a_dropped_future_leaves_its_call_on_the_lists() {
    let server = LedgerServer::new().on_tool(
        "pay",
        1,
        [Step::Execute, Step::Sleep(Duration::from_secs(3)), Step::AnswerLost(closed())],
    );
    let session = session(&server).await;
    let given_up = timeout(Duration::from_secs(1), session.call_tool(pay().key("k"))).await;
    assert!(given_up.is_err());
    let pending = session.pending().await.unwrap();
    assert_eq!((pending[0].key.as_deref(), pending[0].stage), (Some("k"), Stage::HandedOver));
    is_ok(session.call_tool(echo()).await);
    ms(3000).await;
    let pending = session.pending().await.unwrap();
    assert!(matches!(&pending[..], [call] if call.ended && call.key.as_deref() == Some("k")), "{pending:?}");
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// Dropping the session ends its connection in order; another session of the same instance lives on, and
/// shares no id with it.
#[tokio::test(start_paused = true)]
async fn a_dropped_session_is_closed_and_others_live_on() {
    let server = LedgerServer::new();
    let client = client(&server);
    let options = client.default_options().await.unwrap();
    let (first, second) =
        (client.session("a", options.clone()).await.unwrap(), client.session("b", options).await.unwrap());
    is_ok(first.call_tool(echo()).await);
    is_ok(second.call_tool(echo()).await);
    drop(first);
    ms(1).await;
    assert_eq!(server.wire().closes(), 1);
    is_ok(second.call_tool(echo()).await);
    let mut ids: Vec<_> = server.wire().handed().filter_map(|(_, handed)| handed.request).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id was used twice");
}

/// Dropping the instance lets its connections go at once, whatever is in flight. `pending`, read before,
/// told which call may have run.
#[tokio::test(start_paused = true)]
async fn a_dropped_instance_lets_its_connections_go() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute]);
    let session = session(&server).await;
    let waiting = session.call_tool(pay());
    ms(10).await;
    let pending = session.pending().await.unwrap();
    assert_eq!((pending.len(), pending[0].stage), (1, Stage::HandedOver));
    drop(session);
    drop(waiting);
    ms(1).await;
    let wire = server.wire();
    assert!(wire.entries().iter().any(|entry| entry.what == What::Dropped));
    assert_eq!((server.ledger().count("pay"), wire.calls("pay")), (1, 1));
    // It had no time for manners, and nothing is sent by anybody any more.
    assert_eq!((wire.closes(), wire.count("notifications/cancelled")), (0, 0));
}

/// 100,000 notifications between a request and its answer, which nobody reads: the answer comes, the
/// instance's memory stays small, and what was dropped is counted.
#[tokio::test(start_paused = true)]
async fn a_flood_of_notifications_does_not_hide_the_answer() {
    let server =
        LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::Notify(100_000), Step::Answer]);
    let options =
        RuntimeOptions { allocation: Allocation::OnDemand, memory: 4 << 20, ..RuntimeOptions::default() };
    let client = Runtime::from_bytes(COMPONENT, options).unwrap().client(server.clone());
    let session = client.session("ledger", client.default_options().await.unwrap()).await.unwrap();
    is_ok(session.call_tool(pay()).await);
    let mut dropped = 0;
    let mut kept = 0;
    while let Ok(event) = timeout(Duration::from_millis(1), session.next_event()).await {
        match event.unwrap() {
            Some(Event::Dropped(count)) => dropped += count,
            Some(Event::Notification(_)) => kept += 1,
            _ => {}
        }
    }
    assert!(kept > 0 && kept <= 256 && dropped + kept >= 100_000, "{dropped} dropped, {kept} kept");
    is_ok(session.call_tool(echo()).await);
}

/// A server that never falls silent keeps no deadline from passing.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_falls_silent_stops_no_clock() {
    let mut steps = vec![Step::Execute];
    for _ in 0..500 {
        steps.extend([Step::Notify(200), Step::Sleep(Duration::from_millis(20))]);
    }
    let server = LedgerServer::new().on("tools/call", 1, steps);
    let session = session(&server).await;
    let begun = Instant::now();
    let verdict = session.call_tool(pay().timeout(Duration::from_secs(2))).await.unwrap();
    let Ok(Outcome::UnknownOutcome(unknown)) = verdict else { panic!("{verdict:?}") };
    assert_eq!(unknown.cause, Cause::TimedOut);
    assert_eq!(begun.elapsed().as_secs(), 2);
}

/// One call too many is refused here and now, and the others are unharmed.
#[tokio::test(start_paused = true)]
async fn a_call_beyond_the_limit_is_refused() {
    let server = LedgerServer::new()
        .always("tools/call", [Step::Execute, Step::Sleep(Duration::from_secs(1)), Step::Answer]);
    let session = session_with(&server, |options| options.limits.in_flight = 3).await;
    let running: Vec<_> = (0..3).map(|_| tokio::spawn(session.call_tool(pay()))).collect();
    ms(10).await;
    let refused = session.call_tool(pay()).await.unwrap();
    assert!(
        matches!(&refused, Err(NotExecuted::NotSent(failure)) if failure.kind == FailureKind::Busy),
        "{refused:?}"
    );
    for call in running {
        is_ok(call.await.unwrap());
    }
    is_ok(session.call_tool(pay()).await);
    assert_eq!(server.ledger().count("pay"), 4);
}

/// A transport that takes nothing any more: each call ends by its deadline, and the messages that pile up
/// are bounded.
#[tokio::test(start_paused = true)]
async fn a_transport_that_takes_nothing_ends_every_call() {
    let server = LedgerServer::new()
        .always("tools/call", [Step::HangSend])
        .always("notifications/cancelled", [Step::HangSend]);
    let session = session(&server).await;
    let calls: Vec<_> =
        (0..200).map(|_| tokio::spawn(session.call_tool(pay().timeout(Duration::from_secs(1))))).collect();
    for call in calls {
        let verdict = call.await.unwrap().unwrap();
        let Ok(Outcome::UnknownOutcome(unknown)) = verdict else { panic!("{verdict:?}") };
        assert_eq!((unknown.cause, unknown.stage), (Cause::TimedOut, Stage::HandingOver));
    }
    assert_eq!(server.wire().calls("pay"), 200);
    let cancels = server.wire().count("notifications/cancelled");
    assert!(cancels > 0 && cancels <= 64, "{cancels} messages pile up");
    session.close().await.unwrap();
}

/// A connection whose end never comes is let go after a while.
#[tokio::test(start_paused = true)]
async fn a_close_that_never_returns_is_given_up() {
    let server = LedgerServer::new().close_hangs();
    let session = session(&server).await;
    is_ok(session.call_tool(echo()).await);
    let begun = Instant::now();
    session.close().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 5);
}

/// A reconnect while calls wait for a connection that does not come: they wait for the new one, bounded by
/// their own deadlines.
#[tokio::test(start_paused = true)]
async fn calls_wait_for_a_reconnect_by_their_own_deadlines() {
    let slow = [ConnectStep::Sleep(Duration::from_secs(5))];
    let server = LedgerServer::new().on_connect(1, slow);
    let session = session(&server).await;
    let reconnect = tokio::spawn(session.reconnect());
    ms(1).await;
    let (short, long) = tokio::join!(
        session.call_tool(pay().timeout(Duration::from_secs(1))),
        session.call_tool(pay().timeout(Duration::from_secs(60))),
    );
    let short = short.unwrap();
    assert!(
        matches!(&short, Err(NotExecuted::NotSent(failure)) if failure.kind == FailureKind::TimedOut),
        "{short:?}"
    );
    is_ok(long);
    assert!(reconnect.await.unwrap().unwrap().is_ok());
    assert_eq!((server.wire().connects(), server.ledger().count("pay")), (1, 1));
}

/// A session that is initialised already gets no handshake, and is not ended.
#[tokio::test(start_paused = true)]
async fn a_session_handed_over_is_neither_begun_nor_ended() {
    let server = LedgerServer::new().initialised();
    let session = session_with(&server, |options| {
        options.ownership = Ownership::CallerManaged;
        options.initialised =
            Some(Initialised { protocol_version: "2025-06-18".to_owned(), first_request: 1_000 });
    })
    .await;
    assert_eq!(session.call_tool(pay()).await.unwrap(), Err(NotExecuted::NotConnected));
    session.reconnect().await.unwrap().unwrap();
    is_ok(session.call_tool(pay()).await);
    assert_eq!(server.wire().methods(1), ["tools/call"]);
    assert!(server.wire().handed().all(|(_, handed)| handed.request.is_none_or(|id| id >= 1_000)));
    session.close().await.unwrap();
    assert_eq!(server.wire().closes(), 0);
}

/// The transport's library sent the message twice, and says so: a breach of its contract, told as such.
#[tokio::test(start_paused = true)]
async fn a_transport_that_sent_twice_is_told_on() {
    let duplicated = Failure { kind: FailureKind::Duplicated, detail: vec!["sent twice".to_owned()] };
    let server = LedgerServer::new().on(
        "tools/call",
        1,
        [Step::Execute, Step::FailSend(SendError::Unknown(duplicated.clone())), Step::Answer],
    );
    let session = session(&server).await;
    let verdict = session.call_tool(pay()).await.unwrap();
    let Ok(Outcome::UnknownOutcome(unknown)) = verdict else { panic!("{verdict:?}") };
    assert_eq!(unknown.cause, Cause::Transport(duplicated));
}
