//! The client as the part of another component. An agent, itself a component, is composed with it, and
//! is its only caller; the host supplies a transport and a clock, and sees of the client nothing but
//! what it sends. So these tests prove what holds where no host is there to help: the founding
//! scenario; and that an agent which drops a call's future, by which the component model cancels the
//! client's task, learns the truth about that call, disturbs no other, and leaves nothing behind.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use host_tests::ledger::http::{self, HttpLedger};
use host_tests::ledger::{ConnectStep, LedgerServer, Rule, Step, Tool, What, When, closed};
use host_tests::runtime::Surface;
use tokio::time::sleep;

mod agent;

use agent::{Agent, Errand, Event, Verdict, walk_out, with_agent, with_agent_over_http};

/// Calls `tool`, and waits for as long as it takes.
fn errand(tool: &str, arguments: &str) -> Errand {
    Errand { tool: tool.to_owned(), arguments: arguments.to_owned(), patience_ms: None }
}

fn pay() -> Errand {
    errand("pay", r#"{"amount":5}"#)
}

fn echo(text: &str) -> Errand {
    errand("echo", &format!(r#"{{"text":"{text}"}}"#))
}

/// Waits for a second, and then gives the call up.
fn impatient(errand: Errand) -> Errand {
    Errand { patience_ms: Some(1000), ..errand }
}

#[track_caller]
fn assert_ok(verdict: Option<Verdict>, words: &str) {
    assert!(matches!(&verdict, Some(Verdict::Ok(json)) if json.contains(words)), "{verdict:?}");
}

/// The next event about a call.
async fn next_about_a_call(agent: &Agent<'_>) -> Option<Event> {
    loop {
        match agent.next_event(10_000).await {
            Some(Event::Other(_)) => {}
            event => return event,
        }
    }
}

/// The call that was given up and may have run: the event, and the list, name the same one.
async fn unclaimed(agent: &Agent<'_>) -> u64 {
    let event = next_about_a_call(agent).await;
    let Some(Event::Unclaimed(call)) = event else { panic!("{event:?}") };
    let unsettled = agent.unsettled().await;
    let [unknown] = &unsettled[..] else { panic!("{unsettled:?}") };
    assert_eq!((unknown.call, unknown.tool.as_str()), (call, "pay"));
    assert!(unknown.message.contains("`pay` may have run"), "{}", unknown.message);
    call
}

fn imports(component: &[u8]) -> Vec<String> {
    Surface::of_bytes(component).expect("it is a component").imports
}

/// What the two import together is what the client imports alone.
#[test]
fn an_agent_with_a_client_needs_a_transport_and_a_clock() {
    let transport = ["noreplay:mcp/transport@0.3.0", "noreplay:mcp/types@0.3.0"];
    let clock = ["wasi:clocks/monotonic-clock@0.3.0", "wasi:clocks/types@0.3.0"];
    assert_eq!(imports(agent::AGENT), [transport, clock].concat());
}

/// An agent that has the client and its transport in it is a component like any other that speaks HTTP.
#[test]
fn an_agent_with_a_client_and_its_transport_needs_http_and_a_clock() {
    let ours = ["noreplay:http/credentials@0.3.0", "noreplay:mcp/types@0.3.0"];
    let clock = ["wasi:clocks/monotonic-clock@0.3.0", "wasi:clocks/types@0.3.0"];
    let http = ["wasi:http/client@0.3.0", "wasi:http/types@0.3.0"];
    assert_eq!(imports(agent::HTTP_AGENT), [ours, clock, http].concat());
}

/// The charge is committed, the answer is lost: one effect, one message, and nobody claims to know. The
/// next call reconnects by itself.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_unknown_to_a_component_too() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::Lose(closed())]);
    with_agent(&server, async |agent| {
        let verdict = agent.call(pay()).await;
        let Some(Verdict::UnknownOutcome(unknown)) = verdict else { panic!("{verdict:?}") };
        assert!(unknown.message.contains("`pay` may have run"), "{}", unknown.message);
        assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));

        assert_ok(agent.call(echo("hi")).await, "hi");
        assert_eq!(server.wire().methods(2), ["initialize", "notifications/initialized", "tools/call"]);
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// Given up while the connection is made: the call never ran, so that there is nothing to tell. The
/// connection that it asked for serves the next call.
#[tokio::test(start_paused = true)]
async fn a_call_given_up_before_the_hand_over_is_never_sent() {
    let server = LedgerServer::new().on_connect(1, [ConnectStep::Sleep(Duration::from_secs(10))]);
    with_agent(&server, async |agent| {
        assert_eq!(agent.call(impatient(pay())).await, None);
        assert_eq!((agent.pending().await, agent.unsettled().await), (0, vec![]));
        assert_ok(agent.call(echo("hi")).await, "hi");
        assert!(matches!(agent.next_event(0).await, Some(Event::Other(_))), "connected");
        assert_eq!(agent.next_event(10_000).await, None);
    })
    .await;
    assert_eq!(
        server.wire().methods(1),
        ["server/discover", "initialize", "notifications/initialized", "tools/call"]
    );
    assert_eq!((server.ledger().effects().len(), server.wire().calls("pay")), (0, 0));
}

/// Given up after the hand-over, among others from the same task: it may have run, the server is told
/// once that nobody waits, and each of the others gets its own answer.
#[tokio::test(start_paused = true)]
async fn a_call_given_up_after_the_hand_over_may_have_run() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute]);
    with_agent(&server, async |agent| {
        let slow = errand("slow", r#"{"ms":5000}"#);
        let [given_up, slow, a, b] = agent.run([impatient(pay()), slow, echo("a"), echo("b")]).await;
        assert_eq!(given_up, None);
        assert_ok(slow, "done");
        assert_ok(a, r#""a""#);
        assert_ok(b, r#""b""#);
        unclaimed(agent).await;
        assert_eq!(agent.pending().await, 0);
        assert_ok(agent.call(echo("c")).await, r#""c""#);
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    assert_eq!((server.wire().count("notifications/cancelled"), server.wire().connects()), (1, 1));
}

/// The same where each call is a task of its own, and another already waits for the event. The task that
/// is cancelled is the one that the session's own work began in.
#[tokio::test(start_paused = true)]
async fn a_call_given_up_disturbs_no_other_task() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute]);
    with_agent(&server, async |agent| {
        let (given_up, call, slow, a) = futures::join!(
            agent.call(impatient(pay())),
            unclaimed(agent),
            agent.call(errand("slow", r#"{"ms":5000}"#)),
            agent.call(echo("a")),
        );
        assert_eq!(given_up, None);
        assert_ok(slow, "done");
        assert_ok(a, r#""a""#);
        assert_eq!(agent.unsettled().await[0].call, call);
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    assert_eq!((server.wire().count("notifications/cancelled"), server.wire().connects()), (1, 1));
}

/// Given up while the transport has not yet said what became of the message: it may have run, and that
/// `send` is given up with it.
#[tokio::test(start_paused = true)]
async fn a_call_given_up_while_its_send_hangs_may_have_run() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute, Step::HangSend]);
    with_agent(&server, async |agent| {
        let [given_up, a] = agent.run([impatient(pay()), echo("a")]).await;
        assert_eq!(given_up, None);
        assert_ok(a, r#""a""#);
        unclaimed(agent).await;
        assert_ok(agent.call(echo("b")).await, r#""b""#);
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    assert_eq!((server.wire().count("notifications/cancelled"), server.wire().connects()), (1, 1));
}

/// The answer to a call that was given up is kept for whoever asks.
#[tokio::test(start_paused = true)]
async fn a_call_given_up_is_reconciled_by_its_late_answer() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute, Step::sleep(5000), Step::Answer]);
    with_agent(&server, async |agent| {
        assert_eq!(agent.call(impatient(pay())).await, None);
        let call = unclaimed(agent).await;
        assert_eq!(agent.reconcile(call, 1000).await, None);
        assert_ok(agent.reconcile(call, 60_000).await, "charged");
        assert_eq!(next_about_a_call(agent).await, Some(Event::LateAnswer(call)));
        assert_eq!(agent.unsettled().await, []);
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// Loses the connection in the instant in which it is woken, and not only when a task has its turn.
struct Lose(LedgerServer);

impl Wake for Lose {
    fn wake(self: Arc<Self>) {
        self.0.lose(closed());
    }
}

/// Calls `pay`, whose connection is lost in the very instant in which patience ends; the agent sees its
/// patience end first.
async fn give_up_as_it_ends(agent: &Agent<'_>, server: &LedgerServer) {
    // Registered before the agent's own timer, and fires before it.
    let mut second = pin!(sleep(Duration::from_secs(1)));
    let lose = Waker::from(Arc::new(Lose(server.clone())));
    assert!(second.as_mut().poll(&mut Context::from_waker(&lose)).is_pending());
    assert_eq!(agent.call(impatient(pay())).await, None);
}

/// The client knows how the call ended, and its task was cancelled before it could say so.
#[tokio::test(start_paused = true)]
async fn a_call_given_up_as_it_ends_is_told() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute]);
    with_agent(&server, async |agent| {
        // The session's own work belongs to this call's task, so that it goes on beside that of the next.
        assert_ok(agent.call(echo("hi")).await, "hi");
        give_up_as_it_ends(agent, &server).await;
        unclaimed(agent).await;
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    assert_eq!(server.wire().count("notifications/cancelled"), 0);
}

/// The client's task has returned the verdict, and the agent drops it unread: no event can tell, for the
/// client cannot know. But the call is not forgotten.
#[tokio::test(start_paused = true)]
async fn a_verdict_dropped_unread_is_still_listed() {
    let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute]);
    with_agent(&server, async |agent| {
        give_up_as_it_ends(agent, &server).await;
        assert_eq!(next_about_a_call(agent).await, None);
        let unsettled = agent.unsettled().await;
        assert!(matches!(&unsettled[..], [unknown] if unknown.tool == "pay"), "{unsettled:?}");
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
}

/// The session that is dropped ends its connection in order, and lets it go.
#[tokio::test(start_paused = true)]
async fn dropping_the_session_ends_its_connection_in_order() {
    let server = LedgerServer::new();
    with_agent(&server, async |agent| assert_ok(agent.call(echo("hi")).await, "hi")).await;
    let wire = server.wire();
    let end: Vec<_> = wire.entries().iter().rev().map(|entry| &entry.what).take(2).collect();
    assert_eq!(end, [&What::Dropped, &What::Closed]);
    assert_eq!(wire.closes(), 1);
}

/// The call and its session are dropped in the same turn: wherever the call is at that time, the
/// connection does not outlive the session.
#[tokio::test(start_paused = true)]
async fn a_session_dropped_with_its_call_leaves_no_connection() {
    let connecting = LedgerServer::new().on_connect(1, [ConnectStep::Hang]);
    assert_eq!(walk_out(&connecting, impatient(pay())).await, None);
    assert_eq!(connecting.wire().handed().count(), 0);

    let in_flight = LedgerServer::new().on_tool("pay", 1, [Step::Execute]);
    let sending = LedgerServer::new().on_tool("pay", 1, [Step::Execute, Step::HangSend]);
    let closing = LedgerServer::new().on_tool("pay", 1, [Step::Execute]).close_hangs();
    for server in [in_flight, sending, closing] {
        assert_eq!(walk_out(&server, impatient(pay())).await, None);
        assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
        assert_eq!(server.wire().closes(), 1);
    }
}

/// An agent that gives up over and over again: nothing is kept for whom nobody waits.
#[tokio::test(start_paused = true)]
async fn what_is_given_up_is_not_kept() {
    let big = Tool::new("big", &"x".repeat(50_000));
    let server = LedgerServer::new()
        .listing([big, Tool::new("pay", ""), Tool::new("echo", "")])
        .always("tools/list", [Step::sleep(1500), Step::Answer])
        .rule(Rule::new(When::tool("pay"), [Step::Execute]));
    with_agent(&server, async |agent| {
        for _ in 0..20_000 {
            while agent.next_event(1).await.is_some() {}
        }
        for _ in 0..60 {
            assert_eq!(agent.list_tools(1000).await, None);
        }
        for _ in 0..1000 {
            assert_eq!(agent.call(impatient(pay())).await, None);
        }
        assert_eq!((agent.pending().await, agent.unsettled().await.len()), (0, 256));
        assert_ok(agent.call(echo("hi")).await, "hi");
    })
    .await;
}

/// The founding scenario, where agent, client and transport are components, and the server is on a socket.
#[tokio::test]
async fn a_lost_answer_is_unknown_over_http_too() {
    let server = HttpLedger::start().await.expect("a port is free");
    let server = server.on_tool("pay", 1, [http::Step::Execute, http::Step::End(http::End::Reset)]);
    with_agent_over_http(&server, async |agent| {
        let slow = errand("slow", r#"{"ms":200}"#);
        let [paid, slow, a] = agent.run([pay(), slow, echo("a")]).await;
        let Some(Verdict::UnknownOutcome(unknown)) = paid else { panic!("{paid:?}") };
        assert!(unknown.message.contains("`pay` may have run"), "{}", unknown.message);
        assert_ok(slow, "done");
        assert_ok(a, r#""a""#);
        assert_eq!(agent.call(impatient(errand("slow", r#"{"ms":60000}"#))).await, None);
        assert_ok(agent.call(pay()).await, "charged");
    })
    .await;
    assert_eq!((server.ledger().count("pay"), server.traffic().calls("pay").len()), (2, 2));
}
