//! Tasks of 2026-07-28: the server decides, and is asked with pauses where the task is. Its call is sent once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use std::time::Duration;

use harness::*;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Grant, Options};
use noreplay::session::verdict::{CallId, Cause, FailureKind, Outcome, Stage};
use noreplay::session::{Delivery, ToolCall};

const TASK: &str =
    r#"{"resultType":"task","taskId":"t-1","status":"working","ttlMs":60000,"pollIntervalMs":500}"#;
const WORKING: &str = r#"{"resultType":"complete","taskId":"t-1","status":"working","pollIntervalMs":500}"#;

fn as_task() -> ToolCall {
    ToolCall { name: "pay".to_owned(), task: Some(Duration::from_secs(1)), ..ToolCall::default() }
}

fn completed(result: &str) -> String {
    format!(r#"{{"resultType":"complete","taskId":"t-1","status":"completed","result":{result}}}"#)
}

/// A call that is a task by now.
fn task_in(bench: &mut Bench) -> (CallId, Sent) {
    let call = bench.call_with(as_task());
    let sent = bench.last_of(call);
    bench.sent(&sent, Ok(Delivery::HandedOver));
    bench.answer(&sent, TASK);
    bench.assert_pending(call);
    (call, sent)
}

/// The next question, after its pause.
fn polled(bench: &mut Bench) -> Sent {
    let before = bench.count("tasks/get");
    bench.advance(ms(499));
    assert_eq!(bench.count("tasks/get"), before);
    bench.advance(ms(1));
    assert_eq!(bench.count("tasks/get"), before + 1);
    let sent = last(bench, "tasks/get");
    assert!(sent.text.contains(r#""params":{"taskId":"t-1","_meta""#), "{sent:?}");
    assert!(sent.headers.contains(&("Mcp-Name".to_owned(), "t-1".to_owned())), "{sent:?}");
    bench.sent(&sent, Ok(Delivery::HandedOver));
    sent
}

#[test]
fn the_result_of_a_task_is_the_answer_to_its_call() {
    let mut bench = modern(Options::default());
    let (call, sent) = task_in(&mut bench);
    assert!(sent.text.contains(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#), "{sent:?}");
    assert!(!sent.text.contains("ttl"), "{sent:?}");
    for _ in 0..3 {
        let poll = polled(&mut bench);
        bench.answer(&poll, WORKING);
        bench.assert_pending(call);
    }
    let poll = polled(&mut bench);
    bench.answer(&poll, &completed(DONE));
    bench.assert_ok(call, DONE);
    bench.assert_sent(1, call);
    // It is over.
    bench.advance(ms(3_600_000));
    assert_eq!((bench.count("tasks/get"), bench.count("notifications/cancelled")), (4, 0));

    let (call, _) = task_in(&mut bench);
    let poll = polled(&mut bench);
    bench.answer(&poll, &completed(r#"{"content":[],"isError":true}"#));
    assert!(matches!(bench.verdict(call), Ok(Outcome::ToolError(_))));
}

#[test]
fn only_a_call_that_says_so_becomes_a_task() {
    let mut bench = modern(Options::default());
    let (call, sent) = bench.pay();
    assert!(!sent.text.contains("tasks"), "{sent:?}");
    bench.answer(&sent, TASK);
    assert!(matches!(bench.cause(call), Cause::Undecodable(_)));
    bench.advance(ms(10_000));
    assert_eq!(bench.count("tasks/get"), 0);
    for id in ["7", r#""""#, "null", &format!("\"{}\"", "x".repeat(2_000))] {
        let call = bench.call_with(as_task());
        let sent = bench.last_of(call);
        bench.answer(&sent, &format!(r#"{{"resultType":"task","taskId":{id}}}"#));
        assert!(matches!(bench.cause(call), Cause::Undecodable(_)), "{id}");
    }
}

#[test]
fn a_task_that_ends_without_a_result_leaves_its_call_unknown() {
    let cancelled = r#"{"taskId":"t-1","status":"cancelled","statusMessage":"m"}"#;
    let mut bench = modern(Options::default());
    let (call, _) = task_in(&mut bench);
    let poll = polled(&mut bench);
    bench.answer(&poll, cancelled);
    bench.assert_unknown(call, Stage::Answered, Cause::TaskEnded(cancelled.to_owned()));

    let (call, _) = task_in(&mut bench);
    let poll = polled(&mut bench);
    bench.answer(&poll, r#"{"status":"failed","error":{"code":-32603,"message":"m"}}"#);
    bench.assert_unknown(call, Stage::Answered, Cause::AnsweredWithError(rpc_error(-32_603, "m")));

    for odd in [
        "7",
        "{}",
        // A result that does not say where the task is must not pass for the call's.
        DONE,
        r#"{"status":"completed"}"#,
        r#"{"status":"completed","result":{"resultType":"hologram"}}"#,
        r#"{"status":"failed","error":7}"#,
        r#"{"status":"unheard-of"}"#,
    ] {
        let (call, _) = task_in(&mut bench);
        let poll = polled(&mut bench);
        bench.answer(&poll, odd);
        assert!(matches!(bench.cause(call), Cause::Undecodable(_)), "{odd}");
        let ticket = bench.reconcile(call, ms(1_000));
        bench.assert_still_unknown(ticket);
    }
    bench.assert_sent(1, call);
}

/// Its caller may give what it asks for by other means: then `reconcile` finds the result.
#[test]
fn a_task_that_asks_for_input_can_be_asked_for_later() {
    let asks = r#"{"taskId":"t-1","status":"input_required","inputRequests":{"a":{}}}"#;
    let mut bench = modern(Options::default());
    let (call, _) = task_in(&mut bench);
    let poll = polled(&mut bench);
    bench.answer(&poll, asks);
    bench.assert_unknown(call, Stage::Answering, Cause::InputRequired(asks.to_owned()));

    let ticket = bench.reconcile(call, ms(10_000));
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, asks);
    bench.advance(ms(1_000));
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, &completed(DONE));
    assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(result))) if result.json == DONE));
    assert_eq!((bench.count("tasks/get"), bench.times_sent(call)), (3, 1));
    assert!(bench.events().contains(&Event::LateAnswer(call)));
}

#[test]
fn after_a_loss_reconcile_asks_until_there_is_a_result() {
    // While the question is out, and in a pause.
    for out in [true, false] {
        let mut bench = modern(Options::default());
        let (call, _) = task_in(&mut bench);
        if out {
            polled(&mut bench);
        }
        bench.lose(FailureKind::ConnectionReset);
        bench.assert_unknown(call, Stage::Answering, Cause::Transport(failure(FailureKind::ConnectionReset)));
        bench.advance(ms(60_000));
        let asked = bench.count("tasks/get");
        assert_eq!(asked, usize::from(out), "nobody waits");

        let ticket = bench.reconcile(call, ms(10_000));
        discover(&mut bench);
        for _ in 0..8 {
            let fetch = last(&bench, "tasks/get");
            bench.answer(&fetch, WORKING);
            bench.advance(ms(500));
        }
        let fetch = last(&bench, "tasks/get");
        bench.answer(&fetch, &completed(DONE));
        assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(result))) if result.json == DONE));
        assert_eq!(bench.count("tasks/get"), asked + 9);
        bench.assert_sent(1, call);
    }
}

#[test]
fn reconcile_gives_up_in_time() {
    let mut bench = modern(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::ConnectionReset);
    let ticket = bench.reconcile(call, ms(1_200));
    discover(&mut bench);
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, WORKING);
    bench.advance(ms(500));
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, WORKING);
    bench.advance(ms(1_000));
    bench.assert_still_unknown(ticket);
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, WORKING);
    let asked = bench.count("tasks/get");
    bench.advance(ms(60_000));
    assert_eq!(bench.count("tasks/get"), asked, "nobody waits any more");

    // An error says nothing of the task: it is asked for again, as often as the recovery policy allows.
    let ticket = bench.reconcile(call, ms(10_000));
    for _ in 0..3 {
        let fetch = last(&bench, "tasks/get");
        bench.answer_error(&fetch, r#"{"code":-32603,"message":"m"}"#);
    }
    bench.assert_still_unknown(ticket);
    assert_eq!(bench.count("tasks/get"), asked + 3);
    // A task that ended brings nothing more.
    let ticket = bench.reconcile(call, ms(10_000));
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, r#"{"status":"cancelled"}"#);
    bench.assert_still_unknown(ticket);
    let ticket = bench.reconcile(call, ms(10_000));
    bench.assert_still_unknown(ticket);
    assert_eq!(bench.count("tasks/get"), asked + 4);
    bench.assert_sent(1, call);
}

/// The deadline ends the wait and not the task; a cancel asks the server to end it, once.
#[test]
fn a_task_goes_on_after_the_deadline_and_not_after_a_cancel() {
    for out in [true, false] {
        let mut bench = modern(Options::default());
        let (call, _) = task_in(&mut bench);
        let mut poll = polled(&mut bench);
        if !out {
            bench.answer(&poll, WORKING);
        }
        while bench.is_pending(call) {
            bench.advance(ms(250));
            if !out && bench.wire.last().unwrap().id() > poll.id() {
                poll = last(&bench, "tasks/get");
                bench.answer(&poll, WORKING);
            }
        }
        bench.assert_unknown(call, Stage::Answering, Cause::TimedOut);
        assert_eq!((bench.count("notifications/cancelled"), bench.count("tasks/cancel")), (0, 0));
        if out {
            // The answer to the question that was out settles it.
            bench.answer(&poll, &completed(DONE));
            assert!(bench.events().contains(&Event::LateAnswer(call)));
        }
        let ticket = bench.reconcile(call, ms(10_000));
        if !out {
            let fetch = last(&bench, "tasks/get");
            bench.answer(&fetch, &completed(DONE));
        }
        assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))));
    }

    let mut bench = modern(Options::default());
    let (call, _) = task_in(&mut bench);
    assert!(bench.cancel(call));
    bench.assert_unknown(call, Stage::Answering, Cause::Cancelled);
    let cancel = last(&bench, "tasks/cancel");
    assert!(cancel.text.contains(r#""taskId":"t-1""#), "{cancel:?}");
    bench.advance(ms(60_000));
    assert_eq!((bench.count("tasks/cancel"), bench.count("tasks/get")), (1, 0));
}

/// What befalls the question is no proof about the call, which is never sent again for it.
#[test]
fn a_question_that_was_not_sent_proves_nothing() {
    for error in [
        SendError::NotSent(failure(FailureKind::Other)),
        SendError::Truncated(failure(FailureKind::Other)),
        SendError::Unknown(failure(FailureKind::Other)),
        SendError::Refused(refusal(405, "")),
    ] {
        let grants = vec![Grant { tool: "pay".to_owned(), attempts: 3 }];
        let mut bench = modern(Options { grants, ..Options::default() });
        let (call, _) = task_in(&mut bench);
        bench.advance(ms(500));
        let poll = last(&bench, "tasks/get");
        bench.sent(&poll, Err(error.clone()));
        assert!(matches!(bench.verdict(call), Ok(Outcome::UnknownOutcome(_))), "{error:?}");
        bench.assert_sent(1, call);
        let ticket = bench.reconcile(call, ms(10_000));
        let fetch = last(&bench, "tasks/get");
        bench.answer(&fetch, &completed(DONE));
        assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))), "{error:?}");
    }
}

#[test]
fn the_news_that_a_call_is_a_task_may_come_late() {
    let mut bench = modern(Options::default());
    let call = bench.call_with(ToolCall { timeout: Some(ms(1_000)), ..as_task() });
    let sent = bench.last_of(call);
    bench.advance(ms(1_000));
    bench.assert_unknown(call, Stage::HandingOver, Cause::TimedOut);
    let ticket = bench.reconcile(call, ms(10_000));
    bench.answer(&sent, TASK);
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, &completed(DONE));
    assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))));
    bench.assert_sent(1, call);
}

/// A server decides how often it is asked, within bounds; and close ends it.
#[test]
fn pauses_are_bounded() {
    for (interval, pause) in [("0", 100), ("50", 100), ("250", 250), ("99999999", 60_000), ("-1", 1_000)] {
        let mut bench = modern(Options::default());
        let call = bench.call_with(ToolCall { timeout: Some(ms(300_000)), ..as_task() });
        let sent = bench.last_of(call);
        bench
            .answer(&sent, &format!(r#"{{"resultType":"task","taskId":"t-1","pollIntervalMs":{interval}}}"#));
        bench.advance(ms(pause - 1));
        assert_eq!(bench.count("tasks/get"), 0, "{interval}");
        bench.advance(ms(1));
        assert_eq!(bench.count("tasks/get"), 1, "{interval}");
        bench.close();
        assert!(matches!(bench.cause(call), Cause::Closed));
        bench.advance(ms(600_000));
        assert_eq!(bench.count("tasks/get"), 1, "{interval}");
    }
}

/// Ids leave in the order in which they rise, whatever was sent in the pause.
#[test]
fn ids_rise_as_they_are_sent() {
    let mut bench = modern(Options::default());
    task_in(&mut bench);
    bench.advance(ms(250));
    let (other, _) = bench.pay();
    let poll = {
        bench.advance(ms(250));
        last(&bench, "tasks/get")
    };
    assert!(poll.id() > bench.last_of(other).id());
    let ids: Vec<_> = bench.wire.iter().map(Sent::id).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

/// A call in a pause is told when its connection is replaced, and keeps one that takes no more messages.
#[test]
fn a_pause_is_no_shelter() {
    let mut bench = modern(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.reconnect();
    bench.assert_unknown(call, Stage::Answering, Cause::SessionReplaced);
    discover(&mut bench);

    let (call, _) = task_in(&mut bench);
    let (_, sent) = bench.pay();
    bench.sent(&sent, Err(SendError::Unknown(failure(FailureKind::Closed))));
    assert_eq!(bench.disconnects.len(), 1, "only the first connection was let go");
    bench.assert_pending(call);
    let poll = polled(&mut bench);
    bench.sent(&poll, Err(SendError::NotSent(failure(FailureKind::Closed))));
    bench.assert_unknown(call, Stage::Answering, Cause::Transport(failure(FailureKind::Closed)));
    assert_eq!(bench.disconnects.len(), 2);
}

/// The loss of an earlier connection is no affair of a task that is asked for on another.
#[test]
fn a_pause_ends_with_its_own_connection_only() {
    let mut bench = modern(Options::default());
    let (lingering, first) = bench.pay();
    let (_, sent) = bench.pay();
    bench.sent(&sent, Err(SendError::Unknown(failure(FailureKind::Closed))));
    let call = bench.call_with(as_task());
    discover(&mut bench);
    let sent = bench.last_of(call);
    assert_ne!(sent.receipt.generation, first.receipt.generation);
    bench.answer(&sent, TASK);
    let reset = failure(FailureKind::ConnectionReset);
    bench.enter(|session, now| session.received(now, first.receipt.generation, Err(reset.clone())));
    bench.assert_unknown(lingering, Stage::HandedOver, Cause::Transport(reset));
    bench.assert_pending(call);
    let poll = polled(&mut bench);
    bench.answer(&poll, &completed(DONE));
    bench.assert_ok(call, DONE);
}

/// After the pause a task is asked for again only if somebody waits still, and only once.
#[test]
fn what_nobody_waits_for_after_the_pause_is_not_asked_for() {
    let mut bench = modern(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::ConnectionReset);
    let ticket = bench.reconcile(call, ms(200));
    discover(&mut bench);
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, WORKING);
    bench.advance(ms(200));
    bench.assert_still_unknown(ticket);
    bench.advance(ms(10_000));
    assert_eq!(bench.count("tasks/get"), 1, "nobody waits");

    let ticket = bench.reconcile(call, ms(10_000));
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, WORKING);
    bench.advance(ms(100));
    // Whoever comes in the pause asks at once.
    let other = bench.reconcile(call, ms(10_000));
    assert_eq!(bench.count("tasks/get"), 3);
    bench.advance(ms(2_000));
    assert_eq!(bench.count("tasks/get"), 3, "one question at a time");
    let fetch = last(&bench, "tasks/get");
    bench.answer(&fetch, &completed(DONE));
    for ticket in [ticket, other] {
        assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))));
    }
}
