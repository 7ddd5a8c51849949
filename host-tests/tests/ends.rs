//! Every wait ends: deadlines that follow one another, and a close in the midst of a reconnect that a
//! read has asked for too.

use std::time::Duration;

use host_tests::ledger::{LedgerServer, Step};
use host_tests::{Cause, Outcome, Runtime, Session, ToolCall};
use tokio::time::{Instant, timeout};

/// Longer than any deadline here.
const LONG: Duration = Duration::from_secs(3600);

async fn session(server: &LedgerServer) -> Session {
    let client = Runtime::built().expect("the component loads").client(server.clone());
    let options = client.default_options().await.expect("it lives");
    client.session("ledger", options).await.expect("it lives")
}

#[tokio::test(start_paused = true)]
async fn each_of_several_calls_in_a_row_ends_by_its_deadline() {
    let server = LedgerServer::new().always("tools/call", []);
    let session = session(&server).await;
    for _ in 0..3 {
        let start = Instant::now();
        let call = ToolCall::new("pay").timeout(Duration::from_secs(2));
        let verdict = timeout(LONG, session.call_tool(call)).await.expect("it ends").expect("it lives");
        let timed_out = |outcome: &Outcome| matches!(outcome, Outcome::UnknownOutcome(unknown) if unknown.cause == Cause::TimedOut);
        assert!(verdict.as_ref().is_ok_and(timed_out), "{verdict:?}");
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }
}

#[tokio::test(start_paused = true)]
async fn reconciling_without_patience_ends_at_once_also_after_a_deadline() {
    let server = LedgerServer::new().always("tools/call", []);
    let session = session(&server).await;
    let call = ToolCall::new("pay").timeout(Duration::from_secs(2));
    let verdict = session.call_tool(call).await.expect("it lives");
    let Ok(Outcome::UnknownOutcome(unknown)) = verdict else { panic!("not unknown: {verdict:?}") };
    let start = Instant::now();
    let reconciled = timeout(LONG, session.reconcile(unknown.call, Duration::ZERO)).await;
    assert_eq!(reconciled.expect("it ends").expect("it lives"), Some(Outcome::UnknownOutcome(unknown)));
    // The host's timer rounds up to a whole millisecond.
    assert!(start.elapsed() <= Duration::from_millis(1), "{:?}", start.elapsed());
}

/// A session on whose connection the list of tools is being waited for.
async fn listing() -> (LedgerServer, Session) {
    let server = LedgerServer::new().on("tools/list", 1, [Step::sleep(100), Step::Answer]);
    let session = session(&server).await;
    let verdict = session.call_tool(ToolCall::new("echo")).await.expect("it lives");
    assert!(matches!(verdict, Ok(Outcome::Ok(_))), "{verdict:?}");
    (server, session)
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_and_a_read_that_repeats_share_one_connection() {
    let (server, session) = listing().await;
    let listing = session.list_tools();
    session.reconnect().await.expect("it lives").expect("it connects");
    assert!(listing.await.expect("it lives").is_ok());
    assert_eq!(server.wire().connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_close_ends_a_reconnect_and_a_read_and_itself() {
    let (_, session) = listing().await;
    let (listing, reconnecting) = (session.list_tools(), session.reconnect());
    timeout(LONG, session.close()).await.expect("it ends").expect("it lives");
    assert!(timeout(LONG, listing).await.expect("it ends").expect("it lives").is_err());
    assert!(timeout(LONG, reconnecting).await.expect("it ends").expect("it lives").is_err());
}
