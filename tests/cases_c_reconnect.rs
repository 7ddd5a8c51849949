//! Group C of the public reports: races, loops and ownership around reconnects. One connection is opened at
//! a time, nothing of an old one touches a newer one, whoever does not own the connection leaves it alone,
//! and a session that was closed stays closed.

mod harness;

use harness::{Bench, DONE, failure, ms};
use noreplay::protocol::revision::Revision;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Initialised, Options, Ownership, Recovery};
use noreplay::session::verdict::{Cause, FailureKind, Generation, HandshakeFailure, NotExecuted, Stage};
use noreplay::session::{Incoming, ToolCall};

fn owned_by_the_caller() -> Options {
    Options { ownership: Ownership::CallerManaged, ..Options::default() }
}

/// B040, mastra-ai/mastra#20526 and #20530: two failing calls began two reconnects, one caller hung, and a
/// late error of the old transport killed the new one.
#[test]
fn calls_that_fail_together_cause_one_handshake() {
    let mut bench = Bench::up(Options::default());
    let ((first, of_first), (second, _)) = (bench.pay(), bench.pay());
    let old = bench.generation();
    bench.lose(FailureKind::ConnectionReset);
    for call in [first, second] {
        let cause = Cause::Transport(failure(FailureKind::ConnectionReset));
        bench.assert_unknown(call, Stage::HandedOver, cause);
    }

    let calls: Vec<_> = (0..3).map(|_| bench.call("pay")).collect();
    bench.handshake();
    assert_eq!((bench.connects.len(), bench.count("initialize")), (2, 2));

    // Whatever the old connection says is said to nobody.
    for stale in [Err(failure(FailureKind::ConnectionReset)), Ok(Incoming::End)] {
        bench.enter(|session, now| session.received(now, old, stale));
    }
    bench.answer(&of_first, DONE);
    bench.sent(&of_first, Err(SendError::NotSent(failure(FailureKind::Closed))));
    for call in calls {
        bench.assert_pending(call);
        let sent = bench.last_of(call);
        bench.answer(&sent, DONE);
        bench.assert_ok(call, DONE);
    }
    assert_eq!(bench.connects.len(), 2);
}

/// B041, NousResearch/hermes-agent#103211: a reconnect asked for during a dial was used up by the connection
/// that the dial made.
#[test]
fn a_reconnect_joins_the_one_under_way() {
    let mut bench = Bench::new(Options::default());
    let first = bench.reconnect();
    let second = bench.reconnect();
    bench.connected(Ok(()));
    let third = bench.reconnect();
    assert_eq!(bench.connects, [Generation(1)]);
    let initialize = bench.wire.last().unwrap().clone();
    bench.answer(&initialize, r#"{"protocolVersion":"2025-06-18"}"#);
    let fourth = bench.reconnect();
    assert_eq!(bench.reconnected(first), None);
    let initialized = bench.wire.last().unwrap().clone();
    bench.sent(&initialized, Ok(noreplay::session::Delivery::HandedOver));
    for ticket in [first, second, third, fourth] {
        let Some(Ok(server)) = bench.reconnected(ticket) else { panic!("{:?}", bench.resolutions) };
        assert_eq!(server.protocol_version, "2025-06-18");
    }
    assert_eq!((bench.connects.len(), bench.disconnects.len()), (1, 0), "one session, and it lives");
}

/// B042, openclaw/openclaw#66542: a call made while a reconnect ran did not wait for it.
#[test]
fn a_call_made_during_a_reconnect_waits_for_it() {
    let mut bench = Bench::up(Options::default());
    bench.reconnect();
    let call = bench.call("pay");
    let impatient =
        bench.call_with(ToolCall { name: "pay".to_owned(), timeout: Some(ms(500)), ..ToolCall::default() });
    bench.assert_sent(0, call);
    bench.advance(ms(500));
    match bench.not_executed(impatient) {
        NotExecuted::NotSent(failure) => assert_eq!(failure.kind, FailureKind::TimedOut),
        other => panic!("{other:?}"),
    }
    bench.handshake();
    assert_eq!(bench.last_of(call).receipt.generation, Generation(2));
    bench.assert_pending(call);
    bench.assert_sent(0, impatient);
}

/// B044, odysseus-dev/odysseus#6150 and cline: a reconnect revived a server that its user had disabled.
#[test]
fn close_ends_a_reconnect_wherever_it_is() {
    // At each of these points, and then the transport goes on as if nothing had happened.
    for point in ["connecting", "pausing", "initializing", "initialized"] {
        let mut bench = Bench::new(Options::default());
        let ticket = bench.reconnect();
        let call = bench.call("pay");
        match point {
            "connecting" => {}
            "pausing" => bench.connected(Err(failure(FailureKind::ConnectionRefused))),
            _ => bench.connected(Ok(())),
        }
        let initialize = bench.wire.last().cloned();
        if point == "initialized" {
            bench.answer(initialize.as_ref().unwrap(), r#"{"protocolVersion":"2025-11-25"}"#);
        }
        let (connects, mark) = (bench.connects.len(), bench.wire.len());
        bench.close();
        bench.assert_not_executed(0, call, NotExecuted::Closed);
        assert_eq!(bench.reconnected(ticket), Some(&Err(NotExecuted::Closed)), "{point}");

        bench.connected(Ok(()));
        if let Some(initialize) = initialize {
            bench.answer(&initialize, r#"{"protocolVersion":"2025-11-25"}"#);
        }
        bench.advance(ms(3_600_000));
        assert_eq!((bench.connects.len(), bench.wire.len()), (connects, mark), "{point}");
    }
}

/// B046, agentscope-ai/agentscope#2308: a transport for one use was used for the second connection.
#[test]
fn each_connection_is_a_fresh_one() {
    let mut bench = Bench::up(Options::default());
    for generation in 2..5 {
        bench.reconnect();
        bench.handshake();
        assert_eq!(bench.generation(), Generation(generation));
        assert_eq!(bench.disconnects.last(), Some(&(Generation(generation - 1), true)));
    }
}

/// B047, microsoft/agent-framework#5206: a session that the caller had supplied was thrown away.
#[test]
fn a_session_of_the_callers_is_left_to_the_caller() {
    let initialised = Some(Initialised { revision: Revision::V2025_06_18, first_request: 100 });
    let mut bench = Bench::new(Options { initialised, ..owned_by_the_caller() });
    bench.reconnect();
    bench.connected(Ok(()));
    let (call, sent) = bench.pay();
    assert_eq!((sent.id(), bench.wire.len()), (100, 1), "no handshake, and an id of its own");
    bench.lose(FailureKind::ConnectionReset);
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(failure(FailureKind::ConnectionReset)));

    let refused = bench.try_call(ToolCall { name: "pay".to_owned(), ..ToolCall::default() });
    assert_eq!(refused, Err(NotExecuted::NotConnected));
    bench.advance(ms(3_600_000));
    bench.close();
    assert_eq!((bench.connects.len(), bench.wire.len()), (1, 1));
    assert!(bench.disconnects.iter().all(|(_, orderly)| !orderly), "{:?}", bench.disconnects);
}

/// B051, n8n-io/n8n#17821 and hkr04/cpp-mcp#4: immortal reconnects to what is no MCP server, and after the
/// client was gone.
#[test]
fn a_server_that_is_none_is_not_tried_for_ever() {
    let recovery = Recovery { attempts: 4, ..Options::default().recovery };
    let mut bench = Bench::new(Options { recovery, ..Options::default() });
    let call = bench.call_with(ToolCall {
        name: "pay".to_owned(),
        timeout: Some(ms(600_000)),
        ..ToolCall::default()
    });
    for _ in 0..4 {
        bench.connected(Ok(()));
        bench.receive(Ok(Incoming::End));
        bench.advance(ms(5_000));
    }
    let reason = HandshakeFailure {
        failure: Some(harness::ended()),
        ..HandshakeFailure::new("the connection was lost")
    };
    bench.assert_not_executed(0, call, NotExecuted::HandshakeFailed(reason));
    bench.advance(ms(3_600_000));
    assert_eq!((bench.connects.len(), bench.count("initialize")), (4, 4));
}

/// B052, rmcp: when a session was replaced, the calls in flight got an error that no server had sent.
#[test]
fn calls_of_a_replaced_session_are_unknown_and_no_error_is_made_up() {
    let mut bench = Bench::up(Options::default());
    let (handed_over, sent) = bench.pay();
    let handing_over = bench.call("pay");
    bench.events();
    bench.reconnect();
    bench.assert_unknown(handed_over, Stage::HandedOver, Cause::SessionReplaced);
    bench.assert_unknown(handing_over, Stage::HandingOver, Cause::SessionReplaced);
    bench.handshake();
    bench.answer(&sent, DONE);
    bench.assert_unknown(handed_over, Stage::HandedOver, Cause::SessionReplaced);
    assert!(!bench.events().contains(&Event::LateAnswer(handed_over)));
}
