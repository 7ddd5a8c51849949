//! Group B of the public reports: hangs and lost answers. Each input is one after which some client waited
//! for ever, or waited for its timeout, or dropped an answer it had. Here a call is told at once what is
//! known at once, each call by itself, and what came is not lost.

mod harness;

use harness::{Bench, DONE, ended, failure, ms, refusal};
use noreplay::protocol::jsonrpc::RequestId;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Options, Ownership};
use noreplay::session::verdict::{Cause, FailureKind, NotExecuted, Outcome, ReadError, Stage, Undecodable};
use noreplay::session::{Delivery, Incoming, ToolCall, What};

/// B022, python-sdk#1577: the server died during the call, and the caller waited for ever.
#[test]
fn the_end_of_the_connection_ends_its_calls_at_once() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    let before = bench.now;
    bench.receive(Ok(Incoming::End));
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(ended()));
    assert_eq!(bench.now, before);
}

/// B023, python-sdk#1811, #1940, #2028, and B024, the TypeScript SDK: a stream that ended without the answer
/// went unnoticed, and the call timed out a minute later.
#[test]
fn an_answer_stream_that_ends_ends_its_call_at_once() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.sent(&sent, Ok(Delivery::Accepted));
    bench.lose_answer(&sent, failure(FailureKind::Closed));
    bench.assert_unknown(call, Stage::Accepted, Cause::Transport(failure(FailureKind::Closed)));
    assert_eq!((bench.now.as_nanos(), bench.disconnects.len()), (1, 0), "the connection is fine");
}

/// B026, anthropics/claude-code#55992 and #69593: what was in flight when a shared stream dropped was
/// forgotten.
#[test]
fn each_call_in_flight_is_told_of_the_loss_once() {
    let mut bench = Bench::up(Options::default());
    let ((first, _), (second, _)) = (bench.pay(), bench.handed_over("ship"));
    // A second verdict of either would fail in the harness.
    bench.lose(FailureKind::ConnectionReset);
    bench.lose(FailureKind::Closed);
    for call in [first, second] {
        let cause = Cause::Transport(failure(FailureKind::ConnectionReset));
        bench.assert_unknown(call, Stage::HandedOver, cause);
    }
    assert!(bench.session.pending().is_empty());
}

/// B027, openai/codex#39149, #35486, #22571: a dead service stayed "ready", and later calls entered it and
/// never returned.
#[test]
fn a_dead_connection_takes_no_more_calls() {
    let options = Options { ownership: Ownership::CallerManaged, ..Options::default() };
    let mut bench = Bench::up(options);
    bench.receive(Ok(Incoming::End));
    let refused = bench.try_call(ToolCall { name: "pay".to_owned(), ..ToolCall::default() });
    assert_eq!(refused, Err(NotExecuted::NotConnected));
    let ticket = bench.reconnect();
    bench.handshake();
    assert!(matches!(bench.reconnected(ticket), Some(Ok(_))));
    let (call, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);

    // A session that may connect does so, and calls nothing before it has.
    let mut bench = Bench::up(Options::default());
    bench.receive(Ok(Incoming::End));
    let call = bench.call("pay");
    bench.assert_sent(0, call);
    bench.handshake();
    assert_eq!(bench.last_of(call).receipt.generation, bench.generation());
    bench.assert_pending(call);
}

/// B029, python-sdk#2678 and #2821: an answer that was in the pipe already was dropped at its end. That the
/// transport delivers an unterminated last line whole is its own duty; a torn one says so.
#[test]
fn an_answer_that_came_with_the_end_counts() {
    let mut bench = Bench::up(Options::default());
    let ((whole, sent), (torn, cut)) = (bench.pay(), bench.pay());
    bench.answer(&sent, DONE);
    let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"te"#, cut.id());
    bench.deliver(&line);
    bench.receive(Ok(Incoming::End));
    bench.assert_ok(whole, DONE);
    let reason = match bench.cause(torn) {
        Cause::Undecodable(undecodable) => undecodable.reason.clone(),
        other => panic!("{other:?}"),
    };
    let cause = Cause::Undecodable(Undecodable { reason, head: line.into_bytes() });
    bench.assert_unknown(torn, Stage::Answered, cause);
}

/// B030, strands harness-sdk#1221: an answer after the timeout corrupted the connection.
#[test]
fn a_late_answer_is_kept_and_disturbs_nobody() {
    let mut bench = Bench::up(Options::default());
    let (late, sent) = bench.pay();
    bench.advance(ms(60_000));
    bench.assert_unknown(late, Stage::HandedOver, Cause::TimedOut);
    bench.events();
    bench.answer(&sent, DONE);
    assert_eq!(bench.events(), [Event::LateAnswer(late)]);

    let (next, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.assert_ok(next, DONE);
    bench.assert_unknown(late, Stage::HandedOver, Cause::TimedOut);
    let ticket = bench.reconcile(late, ms(0));
    let Some(Some(Outcome::Ok(result))) = bench.reconciled(ticket) else {
        panic!("{:?}", bench.reconciled(ticket))
    };
    assert_eq!((result.call, result.json.as_str(), result.attempts), (late, DONE, 1));
}

/// B031, esengine/DeepSeek-Reasonix#239: `send` itself hung, beyond any timeout.
#[test]
fn a_send_that_never_returns_does_not_hold_its_call() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.advance(ms(60_000));
    bench.assert_unknown(call, Stage::HandingOver, Cause::TimedOut);
    for late in [Ok(Delivery::HandedOver), Err(SendError::NotSent(failure(FailureKind::TimedOut)))] {
        bench.sent(&sent, late);
        bench.assert_unknown(call, Stage::HandingOver, Cause::TimedOut);
    }
}

/// B032, joshrotenberg/tower-mcp#999: a `notifications/initialized` that did not return froze everything.
#[test]
fn a_stalled_end_of_the_handshake_holds_calls_for_a_moment_only() {
    let mut bench = Bench::new(Options::default());
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let initialize = bench.wire[0].clone();
    bench.answer(&initialize, r#"{"protocolVersion":"2025-11-25"}"#);
    assert_eq!(bench.wire[1].receipt.what, What::Initialized);
    bench.advance(ms(1_999));
    bench.assert_sent(0, call);
    bench.advance(ms(1));
    let sent = bench.last_of(call);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
}

/// B034, rmcp: a body that does not parse was "accepted", and the call waited for ever.
#[test]
fn half_an_answer_is_told_at_once_with_its_first_bytes() {
    let mut options = Options::default();
    options.limits.cause_bytes = 16;
    let mut bench = Bench::up(options);
    let (call, sent) = bench.pay();
    let half = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"con"#, sent.id());
    bench.deliver_on(sent.receipt.generation, Some(sent.id()), &half);
    let Cause::Undecodable(Undecodable { reason, head }) = bench.cause(call).clone() else {
        panic!("{:?}", bench.cause(call))
    };
    assert_eq!(head, half.as_bytes()[..16]);
    assert!(reason.contains("cut off"), "{reason}");
    bench.assert_unknown(call, Stage::Answered, Cause::Undecodable(Undecodable { reason, head }));
}

/// B036, BaseIntelligence/bounty-challenge#17389: `close` left its waiters for half a minute.
#[test]
fn close_tells_everybody_at_once() {
    let mut bench = Bench::up(Options::default());
    let (handed_over, _) = bench.pay();
    let handing_over = bench.call("pay");
    let list = bench.list_tools();
    let (mark, before) = (bench.wire.len(), bench.now);
    assert!(bench.session.is_open());
    bench.close();
    assert!(!bench.session.is_open());
    bench.assert_unknown(handed_over, Stage::HandedOver, Cause::Closed);
    bench.assert_unknown(handing_over, Stage::HandingOver, Cause::Closed);
    assert_eq!(bench.tools(list), Some(&Err(ReadError::Closed)));
    assert_eq!(bench.now, before);

    let refused = bench.try_call(ToolCall { name: "pay".to_owned(), ..ToolCall::default() });
    assert_eq!(refused, Err(NotExecuted::Closed));
    let ticket = bench.reconnect();
    assert_eq!(bench.reconnected(ticket), Some(&Err(NotExecuted::Closed)));
    bench.advance(ms(3_600_000));
    assert_eq!((bench.wire.len(), bench.connects.len()), (mark, 1), "nothing is sent after it");
}

/// B038, OpenHands/software-agent-sdk#3928: one 503 made a hundred tools unusable for good.
#[test]
fn one_busy_moment_of_the_server_is_no_state() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Refused(refusal(503, "busy"))));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Refused(refusal(503, "busy")));

    let (next, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.assert_ok(next, DONE);
    let list = bench.list_tools();
    let page = bench.wire.last().unwrap().clone();
    bench.answer(&page, r#"{"tools":[]}"#);
    assert_eq!(bench.tools(list), Some(&Ok(Vec::new())));
    assert_eq!((bench.connects.len(), bench.disconnects.len()), (1, 0));
}

/// B039, the Go SDK's `fail`: one malformed event, or one lost answer, killed every other call.
#[test]
fn what_befalls_one_channel_is_no_matter_of_another() {
    let mut bench = Bench::up(Options::default());
    let calls: Vec<_> = (0..4).map(|_| bench.pay()).collect();
    let channel = |index: usize| Some(calls[index].1.id());
    let generation = bench.generation();
    bench.deliver_on(generation, channel(0), "{");
    bench.lose_answer(&calls[1].1, failure(FailureKind::ConnectionReset));
    let too_large = Incoming::TooLarge {
        head: b"{".to_vec(),
        tail: b"}".to_vec(),
        size: None,
        channel: channel(2).map(RequestId),
    };
    bench.receive(Ok(too_large));
    assert!(matches!(bench.cause(calls[0].0), Cause::Undecodable(_)));
    assert!(matches!(bench.cause(calls[1].0), Cause::Transport(_)));
    assert!(matches!(bench.cause(calls[2].0), Cause::Undecodable(_)));
    bench.assert_pending(calls[3].0);
    bench.answer(&calls[3].1, DONE);
    bench.assert_ok(calls[3].0, DONE);
}
