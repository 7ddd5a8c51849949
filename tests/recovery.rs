//! Recovery and concurrency (contract, section 5), and that nothing grows without bound (P9). Recovery sends
//! the handshake and nothing else; what waits for it shares it; reads are begun anew, calls are not.
#![allow(clippy::unwrap_used, reason = "so a test fails")]

mod harness;

use std::time::Duration;

use harness::{Bench, DONE, Sent, diagnostics, failure, ms, refusal};
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Options, Ownership, Recovery, Resend};
use noreplay::session::verdict::{
    Cause, Failure, FailureKind, Generation, HandshakeFailure, NotExecuted, Outcome, ReadError, Stage,
};
use noreplay::session::{Delivery, Incoming, ToolCall};

const HELLO: &str = r#"{"protocolVersion":"2025-11-25"}"#;

fn pay() -> ToolCall {
    ToolCall { name: "pay".to_owned(), ..ToolCall::default() }
}

fn patient() -> ToolCall {
    ToolCall { timeout: Some(Duration::from_secs(600)), ..pay() }
}

fn tries(attempts: u32) -> Options {
    let recovery = Recovery {
        attempts,
        backoff: ms(100),
        backoff_cap: ms(450),
        circuit: ms(5_000),
        ..Options::default().recovery
    };
    Options { recovery, ..Options::default() }
}

/// Whatever finds the connection dead shares one connection and one handshake.
#[test]
fn one_connection_is_opened_whoever_waits_for_it() {
    let mut bench = Bench::up(Options::default());
    let in_flight: Vec<_> = (0..20).map(|_| bench.pay().0).collect();
    let lists: Vec<_> = (0..5).map(|_| bench.list_tools()).collect();
    bench.lose(FailureKind::ConnectionReset);
    for call in &in_flight {
        let cause = Cause::Transport(failure(FailureKind::ConnectionReset));
        bench.assert_unknown(*call, Stage::HandedOver, cause);
    }
    let calls: Vec<_> = (0..20).map(|_| bench.call("pay")).collect();
    let reconnect = bench.reconnect();
    assert_eq!(bench.connects, [Generation(1), Generation(2)]);
    bench.handshake();
    assert_eq!((bench.count("initialize"), bench.count("notifications/initialized")), (2, 2));
    assert!(matches!(bench.reconnected(reconnect), Some(Ok(_))));
    for call in calls {
        bench.assert_pending(call);
    }
    for list in lists {
        assert_eq!(bench.tools(list), None);
    }
    assert_eq!(bench.count("tools/list"), 10);
    assert_eq!(bench.connects.len(), 2);
}

/// A reconnect that the caller asks for is one connection too, whatever is in flight.
#[test]
fn a_reconnect_opens_one_connection_and_lets_go_of_one() {
    for ownership in [Ownership::Owned, Ownership::CallerManaged] {
        let mut bench = Bench::up(Options { ownership, ..Options::default() });
        let (call, _) = bench.pay();
        let list = bench.list_tools();
        bench.reconnect();
        bench.assert_unknown(call, Stage::HandedOver, Cause::SessionReplaced);
        assert_eq!(bench.connects, [Generation(1), Generation(2)]);
        assert_eq!(bench.disconnects, [(Generation(1), ownership == Ownership::Owned)]);
        // The read has no side effects: it goes on there.
        assert_eq!(bench.tools(list), None);
        bench.handshake();
        let page = bench.wire.last().unwrap().clone();
        bench.answer(&page, r#"{"tools":[]}"#);
        assert_eq!(bench.tools(list), Some(&Ok(Vec::new())));
    }
}

/// The pauses double up to the cap, each less a random part of a half at most.
#[test]
fn a_connection_is_tried_again_after_growing_pauses() {
    let mut bench = Bench::new(tries(6));
    let call = bench.call_with(patient());
    for (index, full) in [100, 200, 400, 450, 450].into_iter().enumerate() {
        bench.connected(Err(failure(FailureKind::ConnectionRefused)));
        assert_eq!(bench.connects.len(), index + 1);
        let pause = bench.session.next_deadline().unwrap() - bench.now;
        assert!(pause >= ms(full / 2) && pause <= ms(full), "{pause:?} of {full} ms");
        bench.advance(pause - Duration::from_nanos(1));
        assert_eq!(bench.connects.len(), index + 1);
        bench.advance(Duration::from_nanos(1));
        assert_eq!(bench.connects.len(), index + 2);
    }
    bench.connected(Err(failure(FailureKind::NameNotResolved)));
    bench.assert_not_executed(0, call, NotExecuted::ConnectFailed(failure(FailureKind::NameNotResolved)));
}

/// Once every try failed, calls are told at once, with what the last try said; then the server is tried anew.
#[test]
fn a_dead_server_is_left_alone_for_a_while() {
    let mut bench = Bench::new(tries(1));
    bench.call("pay");
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    bench.advance(ms(2_000));
    let mut told = failure(FailureKind::ConnectionRefused);
    told.detail.insert(0, "the server is left alone for another 3000 ms".to_owned());
    assert_eq!(bench.try_call(pay()), Err(NotExecuted::ConnectFailed(told.clone())));
    let list = bench.list_tools();
    assert_eq!(bench.tools(list), Some(&Err(ReadError::ConnectFailed(told))));
    assert_eq!(bench.connects.len(), 1);

    bench.advance(ms(3_000));
    bench.call("pay");
    assert_eq!(bench.connects.len(), 2);
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    // The caller's own word does not wait.
    let reconnect = bench.reconnect();
    bench.handshake();
    assert!(matches!(bench.reconnected(reconnect), Some(Ok(_))));
    bench.call("pay");
    assert_eq!(bench.connects.len(), 3);
}

/// A try that takes too long is given up, and what it brings afterwards is nobody's.
#[test]
fn a_connection_that_comes_too_late_is_thrown_away() {
    let mut options = tries(3);
    options.timing.connect = ms(1_000);
    let mut bench = Bench::new(options);
    let call = bench.call_with(patient());
    bench.advance(ms(1_100));
    assert_eq!(bench.connects, [Generation(1), Generation(2)]);
    assert_eq!(bench.disconnects, [(Generation(1), false)]);
    for late in [Ok(()), Err(failure(FailureKind::ConnectionRefused))] {
        bench.enter(|session, now| session.connected(now, Generation(1), late));
    }
    assert_eq!(bench.wire.len(), 0);
    assert_eq!(bench.connects.len(), 2);

    // The same of its handshake.
    bench.connected(Ok(()));
    let stale = bench.wire.last().unwrap().clone();
    bench.advance(ms(1_200));
    assert_eq!(bench.generation(), Generation(3));
    bench.connected(Ok(()));
    let mark = bench.wire.len();
    bench.answer(&stale, HELLO);
    bench.deliver_on(
        Generation(3),
        None,
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{HELLO}}}"#, stale.id()),
    );
    bench.sent(&stale, Err(SendError::NotSent(failure(FailureKind::Closed))));
    assert_eq!((bench.wire.len(), bench.connects.len()), (mark, 3));
    bench.assert_sent(0, call);

    // Each try has its time, and the last of them says what took it.
    bench.advance(ms(1_000));
    let failure = HandshakeFailure {
        failure: Some(Failure::new(FailureKind::TimedOut, "the handshake took too long")),
        ..HandshakeFailure::new("the answer to `initialize` did not come in time")
    };
    bench.assert_not_executed(0, call, NotExecuted::HandshakeFailed(failure));
}

#[test]
fn nothing_is_tried_that_nobody_waits_for() {
    let mut bench = Bench::new(tries(9));
    let call = bench.call("pay");
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    bench.cancel(call);
    bench.advance(ms(3_600_000));
    assert_eq!(bench.connects.len(), 1);
    assert_eq!(bench.session.next_deadline(), None);
}

/// Tries belong to those who wait for them: whoever comes later has all of them.
#[test]
fn tries_that_nobody_waits_for_any_more_do_not_count() {
    for pausing in [true, false] {
        let mut bench = Bench::new(tries(2));
        let call = bench.call("pay");
        if pausing {
            bench.connected(Err(failure(FailureKind::ConnectionRefused)));
            bench.cancel(call);
        } else {
            bench.cancel(call);
            bench.connected(Err(failure(FailureKind::ConnectionRefused)));
            assert_eq!(bench.session.next_deadline(), None, "no pause for nobody");
        }
        bench.advance(ms(3_600_000));
        let call = bench.call("pay");
        bench.connected(Err(failure(FailureKind::ConnectionRefused)));
        bench.advance(ms(100));
        assert_eq!(bench.connects.len(), 3, "its second try");
        bench.handshake();
        bench.assert_pending(call);
    }
}

#[test]
fn close_ends_the_pause_between_two_tries() {
    let mut bench = Bench::new(tries(9));
    let (call, list) = (bench.call("pay"), bench.list_tools());
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    bench.close();
    bench.assert_not_executed(0, call, NotExecuted::Closed);
    assert_eq!(bench.tools(list), Some(&Err(ReadError::Closed)));
    assert_eq!(bench.session.next_deadline(), None);
    bench.advance(ms(3_600_000));
    assert_eq!((bench.connects.len(), bench.wire.len()), (1, 0));
}

fn page(bench: &mut Bench, tools: &str, next: &str) {
    let list = bench.wire.last().unwrap().clone();
    assert_eq!(list.method, "tools/list");
    bench.answer(&list, &format!(r#"{{"tools":[{{"name":"{tools}"}}]{next}}}"#));
}

/// A cursor is good on its own connection only.
#[test]
fn a_list_is_begun_anew_on_a_new_connection() {
    let mut bench = Bench::up(Options::default());
    let list = bench.list_tools();
    page(&mut bench, "a", r#","nextCursor":"x""#);
    assert!(bench.wire.last().unwrap().text.contains(r#""cursor":"x""#));
    bench.lose(FailureKind::ConnectionReset);
    bench.handshake();
    assert!(!bench.wire.last().unwrap().text.contains("cursor"));
    // The same cursor again is no loop: it is another list.
    page(&mut bench, "a", r#","nextCursor":"x""#);
    page(&mut bench, "b", "");
    let tools = bench.tools(list).unwrap().as_ref().unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_read_is_tried_as_often_as_the_policy_says() {
    let mut bench = Bench::up(tries(3));
    let list = bench.list_tools();
    for _ in 0..2 {
        bench.lose(FailureKind::ConnectionReset);
        assert_eq!(bench.tools(list), None);
        bench.handshake();
    }
    bench.lose(FailureKind::Closed);
    let failed = Err(ReadError::Transport(failure(FailureKind::Closed)));
    assert_eq!((bench.tools(list), bench.count("tools/list")), (Some(&failed), 3));
    assert_eq!(bench.connects.len(), 3, "and nobody waits for another connection");
}

/// Whatever a list is made of counts: tools, and the cursors between them.
#[test]
fn a_list_is_bounded_in_bytes() {
    let mut options = Options::default();
    options.limits.message_bytes = 10_000;
    let long = "x".repeat(4_000);
    for (tool, next) in [(long.as_str(), ""), ("t", long.as_str())] {
        let mut bench = Bench::up(options.clone());
        let list = bench.list_tools();
        let mut pages = 0;
        while bench.tools(list).is_none() {
            pages += 1;
            page(&mut bench, tool, &format!(r#","nextCursor":"{pages}{next}""#));
        }
        let endless = Err(ReadError::Endless("the list is longer than 10000 bytes".to_owned()));
        assert_eq!((bench.tools(list), pages), (Some(&endless), 3));
    }
}

#[test]
fn a_read_ends_by_its_deadline() {
    let mut bench = Bench::up(Options::default());
    let list = bench.list_tools();
    let asked = bench.wire.last().unwrap().clone();
    bench.advance(ms(59_999));
    assert_eq!(bench.tools(list), None);
    bench.advance(ms(1));
    assert_eq!(bench.tools(list), Some(&Err(ReadError::TimedOut)));
    assert_eq!(bench.count("notifications/cancelled"), 1);
    bench.answer(&asked, r#"{"tools":[]}"#);
    bench.advance(ms(3_600_000));
    assert_eq!(bench.count("tools/list"), 1);
}

fn few_events(events: usize) -> Options {
    let mut options = Options::default();
    options.limits.events = events;
    options
}

#[test]
fn the_latest_late_answers_are_kept() {
    let mut bench = Bench::up(few_events(3));
    let calls: Vec<_> = (0..5).map(|_| bench.pay()).collect();
    for (call, _) in &calls {
        bench.cancel(*call);
    }
    let unsettled = |bench: &Bench| bench.session.unsettled().iter().map(|of| of.call).collect::<Vec<_>>();
    assert_eq!(unsettled(&bench), [calls[2].0, calls[3].0, calls[4].0]);
    bench.events();
    for (_, sent) in &calls {
        bench.answer(sent, DONE);
    }
    // The forgotten ones are told as answers that nobody awaits, and pushed out with the rest.
    let late = [2, 3, 4].map(|index: usize| Event::LateAnswer(calls[index].0));
    assert_eq!(bench.events(), [vec![Event::Dropped(1)], late.to_vec()].concat());
    assert_eq!(unsettled(&bench), []);
    for (index, (call, _)) in calls.iter().enumerate() {
        let ticket = bench.reconcile(*call, ms(1_000));
        let outcome = bench.reconciled(ticket).expect("told at once");
        assert_eq!(outcome.is_some(), index >= 2);
    }
}

#[test]
fn late_answers_are_bounded_in_bytes() {
    let mut options = few_events(100);
    options.limits.message_bytes = 1_000;
    let mut bench = Bench::up(options);
    let calls: Vec<_> = (0..4).map(|_| bench.pay()).collect();
    let result = format!(r#"{{"content":[],"x":"{}"}}"#, "x".repeat(400));
    for (call, sent) in &calls {
        bench.cancel(*call);
        bench.answer(sent, &result);
    }
    let kept: Vec<_> = calls
        .iter()
        .map(|(call, _)| {
            let ticket = bench.reconcile(*call, ms(0));
            bench.reconciled(ticket).unwrap().is_some()
        })
        .collect();
    assert_eq!(kept, [false, false, true, true]);
}

#[test]
fn reconcile_waits_for_a_late_answer_and_sends_nothing() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    // Also for a call that has not ended yet.
    let early = bench.reconcile(call, ms(600_000));
    bench.advance(ms(60_000));
    bench.assert_unknown(call, Stage::HandedOver, Cause::TimedOut);
    let mark = bench.wire.len();
    let late = bench.reconcile(call, ms(5_000));
    let short = bench.reconcile(call, ms(1_000));
    bench.advance(ms(1_000));
    assert_eq!((bench.reconciled(early), bench.reconciled(late)), (None, None));
    bench.assert_still_unknown(short);
    bench.answer(&sent, DONE);
    for ticket in [early, late] {
        let Some(Some(Outcome::Ok(result))) = bench.reconciled(ticket) else {
            panic!("{:?}", bench.reconciled(ticket))
        };
        assert_eq!((result.call, result.json.as_str(), result.attempts), (call, DONE, 1));
    }
    assert_eq!(bench.wire.len(), mark);
    bench.assert_sent(1, call);
}

/// Who waits for a call that has not ended gets its answer like the caller does.
#[test]
fn reconcile_hears_the_answer_of_a_call_in_flight() {
    for result in [DONE, r#"{"content":[],"isError":true}"#] {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        let ticket = bench.reconcile(call, ms(1_000));
        bench.answer(&sent, result);
        let told = bench.verdict(call).as_ref().unwrap();
        assert_eq!(bench.reconciled(ticket), Some(&Some(told.clone())));
    }
}

/// As soon as it is known that nothing can come, whoever waits is told.
#[test]
fn reconcile_does_not_wait_for_what_cannot_come() {
    for end in ["lost", "answer lost", "replaced", "closed", "error"] {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        bench.cancel(call);
        let ticket = bench.reconcile(call, ms(600_000));
        assert_eq!(bench.reconciled(ticket), None);
        match end {
            "lost" => bench.lose(FailureKind::ConnectionReset),
            "answer lost" => bench.lose_answer(&sent, failure(FailureKind::Closed)),
            "replaced" => _ = bench.reconnect(),
            "closed" => bench.close(),
            _ => bench.answer_error(&sent, r#"{"code":1,"message":"m"}"#),
        }
        bench.assert_still_unknown(ticket);
        let again = bench.reconcile(call, ms(600_000));
        bench.assert_still_unknown(again);
        bench.assert_unknown(call, Stage::HandedOver, Cause::Cancelled);
    }
}

#[test]
fn events_are_bounded_in_number_and_bytes_and_the_dropped_are_counted() {
    let mut options = few_events(4);
    options.limits.message_bytes = 10_000;
    let mut bench = Bench::up(options);
    bench.events();
    let notify = |bench: &mut Bench, size: usize| {
        let params = format!(r#"{{"x":"{}"}}"#, "x".repeat(size));
        bench.deliver(format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#));
    };
    (0..10).for_each(|_| notify(&mut bench, 10));
    let events = bench.events();
    assert_eq!((events.len(), &events[0]), (5, &Event::Dropped(6)));
    (0..3).for_each(|_| notify(&mut bench, 4_000));
    assert!(bench.session.has_event());
    let events = bench.events();
    assert_eq!((events.len(), &events[0]), (3, &Event::Dropped(1)));
    assert!(!bench.session.has_event());
    // That some were dropped is an event, also where none is left.
    let mut bench = Bench::up(few_events(0));
    bench.events();
    notify(&mut bench, 10);
    assert!(bench.session.has_event());
    assert_eq!(bench.events(), [Event::Dropped(1)]);
    assert!(!bench.session.has_event());
}

/// What no policy can send again is let go as soon as that is known.
#[test]
fn arguments_are_kept_no_longer_than_they_can_be_needed() {
    let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(100_000));
    let kept = |bench: &Bench| format!("{:?}", bench.session).len() > 100_000;
    for (resend, handing_over) in [(Resend::Never, false), (Resend::Proven, true)] {
        let mut bench = Bench::up(Options { resend, ..Options::default() });
        let call = bench.call_with(ToolCall { arguments: Some(long.clone()), ..pay() });
        assert_eq!(kept(&bench), handing_over);
        let sent = bench.last_of(call);
        bench.sent(&sent, Ok(Delivery::HandedOver));
        assert!(!kept(&bench));
        bench.assert_pending(call);
    }
}

/// A server that introduces itself at length, again and again.
#[test]
fn introductions_are_bounded_in_bytes() {
    let mut options = few_events(100);
    options.limits.message_bytes = 10_000;
    let long = "x".repeat(4_000);
    for member in ["name", "version", "instructions", "capabilities"] {
        let mut bench = Bench::new(options.clone());
        for _ in 0..5 {
            bench.reconnect();
            bench.connected(Ok(()));
            let initialize = bench.wire.last().unwrap().clone();
            // Each where it belongs, or where it is nothing.
            let told = format!(r#""{member}":"{long}""#);
            let hello = format!(r#"{{"protocolVersion":"2025-11-25","serverInfo":{{{told}}},{told}}}"#);
            bench.answer(&initialize, &hello);
            let initialized = bench.wire.last().unwrap().clone();
            bench.sent(&initialized, Ok(Delivery::HandedOver));
        }
        let events: Vec<_> = std::iter::from_fn(|| bench.session.poll_event()).collect();
        assert_eq!(events.len(), 3, "{member}");
        assert!(matches!(events[0], Event::Dropped(3)));
    }
}

/// A server that asks without reading gets no more answers than are on their way.
#[test]
fn answers_to_a_server_that_does_not_read_are_bounded() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let mark = bench.wire.len();
    let ping = |bench: &mut Bench| bench.deliver(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    (0..10_000).for_each(|_| ping(&mut bench));
    assert_eq!(bench.wire.len() - mark, 64);
    let events = bench.events();
    let flag = "the server does not take messages: an answer or a cancel was left out";
    assert_eq!(diagnostics(&events), [(flag, 10_000 - 64)]);

    // As it reads on, so it is answered on.
    let answers = bench.wire[mark..].to_vec();
    for answer in &answers[..2] {
        bench.sent(answer, Ok(Delivery::HandedOver));
    }
    (0..10).for_each(|_| ping(&mut bench));
    assert_eq!(bench.wire.len() - mark, 66);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
}

/// What is sent back of a server's request is its id: no reason to send back megabytes.
#[test]
fn an_answer_to_the_server_is_bounded_in_bytes() {
    let mut bench = Bench::up(Options::default());
    let mark = bench.wire.len();
    bench.events();
    let ping = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(id - 2));
    bench.deliver(ping(1025));
    assert_eq!(bench.wire.len(), mark);
    let events = bench.events();
    assert_eq!(diagnostics(&events), [("a request of the server's with too long an id", 1)]);
    bench.deliver(ping(1024));
    assert_eq!(bench.wire.len(), mark + 1);
}

#[test]
fn traffic_of_every_kind_between_request_and_answer_is_no_matter() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call_with(ToolCall { progress: true, ..pay() });
    let sent = bench.last_of(call);
    bench.sent(&sent, Ok(Delivery::HandedOver));
    for n in 0..25_000 {
        let token = sent.id();
        bench.deliver(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{n}}}}}"#
        ));
        bench
            .deliver(format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"n":{n}}}}}"#));
        bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, 1_000_000 + n));
        bench.deliver("garbage");
    }
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    assert!(bench.events().len() <= 257);
}

/// A connection that takes no more messages lingers until the calls on it have their answers.
#[test]
fn a_connection_that_takes_no_more_still_gives_its_answers() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let next = bench.call("pay");
    let refused = bench.last_of(next);
    bench.sent(&refused, Err(SendError::NotSent(failure(FailureKind::Closed))));
    assert_eq!((bench.generation(), bench.disconnects.len()), (Generation(2), 0));
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    assert_eq!(bench.disconnects, [(Generation(1), true)]);
    bench.handshake();
    bench.assert_sent(2, next);
    bench.enter(|session, now| session.received(now, Generation(1), Ok(Incoming::End)));
    assert!(bench.is_pending(next), "what the old one ends with is its own matter");
}

/// It is let go once it owes no answer that anybody waits for, whatever is in flight elsewhere.
#[test]
fn a_connection_that_lingers_goes_with_its_last_call() {
    for cancelled in [false, true] {
        let mut bench = Bench::up(Options::default());
        let (in_flight, sent) = bench.pay();
        let call = bench.call("pay");
        let last = bench.last_of(call);
        bench.sent(&last, Err(SendError::NotSent(failure(FailureKind::Closed))));
        bench.handshake();
        bench.assert_sent(2, call);
        assert_eq!(bench.disconnects, []);
        if cancelled {
            bench.cancel(in_flight);
        } else {
            bench.answer(&sent, DONE);
        }
        assert_eq!(bench.disconnects, [(sent.receipt.generation, true)]);
        assert!(bench.is_pending(call));
    }
}

/// A `send` is worth waiting for as long as its result can tell somebody something.
#[test]
fn a_send_that_nobody_waits_for_is_not_out() {
    let is_out = |bench: &Bench, sent: &Sent| bench.session.is_out(sent.receipt);
    let mut bench = Bench::new(Options::default());
    let list = bench.list_tools();
    bench.connected(Ok(()));
    let initialize = bench.wire[0].clone();
    assert!(is_out(&bench, &initialize));
    bench.handshake();
    let (initialized, page) = (bench.wire[1].clone(), bench.wire[2].clone());
    assert_eq!([&initialize, &initialized, &page].map(|sent| is_out(&bench, sent)), [false, true, true]);
    bench.answer(&page, r#"{"tools":[]}"#);
    assert!(bench.tools(list).is_some() && !is_out(&bench, &page));

    let ((answered, of_answered), (cancelled, of_cancelled)) = (bench.pay(), bench.pay());
    assert!(is_out(&bench, &of_answered) && is_out(&bench, &of_cancelled));
    bench.answer(&of_answered, DONE);
    bench.assert_ok(answered, DONE);
    bench.cancel(cancelled);
    let cancel = bench.wire.last().unwrap().clone();
    assert_eq!([&of_answered, &of_cancelled, &cancel].map(|sent| is_out(&bench, sent)), [false, false, true]);
    bench.lose(FailureKind::ConnectionReset);
    assert!(!is_out(&bench, &cancel) && !is_out(&bench, &initialized));
}

/// What was not given out yet is not given out on a connection that was let go; who is to be told is told.
#[test]
fn a_message_that_waits_to_be_taken_goes_with_its_connection() {
    for end in ["reconnect", "close", "lost"] {
        let mut bench = Bench::up(Options::default());
        let (call, _) = bench.pay();
        // Nobody asks for the session's actions yet.
        bench.session.cancel(call);
        match end {
            "reconnect" => _ = bench.reconnect(),
            "close" => bench.close(),
            _ => bench.lose(FailureKind::ConnectionReset),
        }
        bench.assert_unknown(call, Stage::HandedOver, Cause::Cancelled);
        assert_eq!(bench.count("notifications/cancelled"), 0, "{end}");
    }
}

/// A verdict has its cause whole; what the session remembers of it for later is bounded.
#[test]
fn what_is_remembered_of_an_unknown_outcome_is_bounded() {
    let mut options = Options::default();
    options.limits.cause_bytes = 10;
    let mut bench = Bench::up(options);
    let long = "x".repeat(100);
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Refused(refusal(503, &long))));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Refused(refusal(503, &long)));

    let (call, _) = bench.pay();
    let told = Failure { kind: FailureKind::Other, detail: vec!["outer".to_owned(), long.clone()] };
    bench.receive(Err(told.clone()));
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(told));

    let causes: Vec<_> = bench.session.unsettled().into_iter().map(|unknown| unknown.cause).collect();
    let outer = Failure::new(FailureKind::Other, "outer");
    assert_eq!(causes, [Cause::Refused(refusal(503, &long[..10])), Cause::Transport(outer)]);
}

/// P10: a call that ran out of time while it waited for a connection says what became of the tries.
#[test]
fn a_call_that_never_got_a_connection_says_why() {
    for by_caller in [true, false] {
        let mut bench = Bench::new(tries(9));
        let call = bench.call_with(ToolCall { timeout: Some(ms(50)), ..pay() });
        bench.connected(Err(failure(FailureKind::TlsFailed)));
        let (kind, words) = if by_caller {
            bench.cancel(call);
            (FailureKind::Cancelled, "cancelled before it was sent")
        } else {
            bench.advance(ms(50));
            (FailureKind::TimedOut, "the deadline passed before it was sent")
        };
        let detail = [words, "the last try to connect failed: the TLS handshake failed", "outer", "inner"];
        let told = Failure { kind, detail: detail.map(str::to_owned).to_vec() };
        bench.assert_not_executed(0, call, NotExecuted::NotSent(told));
    }
    // Tries of the past are past.
    let mut bench = Bench::new(tries(9));
    bench.call("pay");
    bench.connected(Err(failure(FailureKind::TlsFailed)));
    bench.advance(ms(100));
    bench.handshake();
    bench.lose(FailureKind::Closed);
    let call = bench.call("pay");
    bench.cancel(call);
    let told = Failure::new(FailureKind::Cancelled, "cancelled before it was sent");
    bench.assert_not_executed(0, call, NotExecuted::NotSent(told));
}

/// What a host reads before it abandons the instance: what ended as unknown, then what has no verdict yet.
#[test]
fn open_calls_are_all_that_may_have_run_or_may_yet() {
    let mut bench = Bench::up(Options::default());
    let (unknown, _) = bench.handed_over("pay");
    let (answered, sent) = bench.handed_over("pay");
    bench.answer(&sent, DONE);
    bench.lose(FailureKind::ConnectionReset);
    let waiting = bench.call("balance");
    let open: Vec<_> = bench.session.open_calls();
    let told: Vec<_> = open.iter().map(|of| (of.call, of.ended, of.stage, of.attempts)).collect();
    assert_eq!(told, [(unknown, true, Stage::HandedOver, 1), (waiting, false, Stage::Waiting, 0)]);
    assert_eq!(open[0].tool, "pay");
    assert!(open.iter().all(|of| of.call != answered));
}
