//! Tasks (2025-11-25): a call whose result the server keeps under an id. Once the id is here, a loss is not
//! the end: `reconcile` asks for the result, and the call itself is never sent again.
#![allow(clippy::unwrap_used, reason = "so a test fails")]

mod harness;

use std::time::Duration;

use harness::*;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Grant, Options, Ownership};
use noreplay::session::verdict::{CallId, Cause, FailureKind, Outcome, Stage};
use noreplay::session::{Delivery, Incoming, ToolCall};

const TASK: &str = r#"{"task":{"taskId":"t-1","status":"working","ttl":60000}}"#;

fn as_task() -> ToolCall {
    ToolCall { name: "pay".to_owned(), task: Some(Duration::from_secs(60)), ..ToolCall::default() }
}

/// A call that is a task by now, and the request for its result.
fn task_in(bench: &mut Bench) -> (CallId, Sent) {
    let call = bench.call_with(as_task());
    let sent = bench.last_of(call);
    bench.sent(&sent, Ok(Delivery::HandedOver));
    bench.answer(&sent, TASK);
    let fetch = bench.wire.last().unwrap().clone();
    assert_eq!(fetch.method, "tasks/result");
    assert!(fetch.text.contains(r#""params":{"taskId":"t-1"}"#), "{}", fetch.text);
    bench.sent(&fetch, Ok(Delivery::HandedOver));
    (call, fetch)
}

/// The id of a request that is no call's.
fn cancel_id(text: &str) -> u64 {
    let message: serde_json::Value = serde_json::from_str(text).unwrap();
    message["id"].as_u64().unwrap()
}

/// The requests for a result, so far.
fn fetches(bench: &Bench) -> usize {
    bench.count("tasks/result")
}

#[test]
fn a_call_asks_for_a_task_where_the_revision_has_tasks() {
    for (revision, asks) in [("2025-11-25", true), ("2025-06-18", false), ("2024-11-05", false)] {
        let mut bench = Bench::new(Options::default());
        bench.reconnect();
        bench.handshake_of(revision);
        let call = bench.call_with(as_task());
        let text = bench.last_of(call).text;
        assert_eq!(text.contains(r#","task":{"ttl":60000}"#), asks, "{text}");
    }
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    assert!(!bench.last_of(call).text.contains("task"));
}

#[test]
fn the_result_of_a_task_is_the_answer_to_its_call() {
    let mut bench = Bench::up(Options::default());
    let (call, fetch) = task_in(&mut bench);
    bench.assert_pending(call);
    assert_eq!(bench.session.pending()[0].stage, Stage::Answering);
    bench.answer(&fetch, DONE);
    bench.assert_ok(call, DONE);
    bench.assert_sent(1, call);

    let (call, fetch) = task_in(&mut bench);
    bench.answer_error(&fetch, r#"{"code":-32603,"message":"m"}"#);
    bench.assert_unknown(call, Stage::Answered, Cause::AnsweredWithError(rpc_error(-32_603, "m")));
    assert_eq!(fetches(&bench), 2);
}

/// Whoever did not ask for a task is answered with what looks like one.
#[test]
fn a_task_that_nobody_asked_for_is_an_answer() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer(&sent, TASK);
    assert_eq!(bench.ok(call), TASK);
    assert_eq!(fetches(&bench), 0);
}

#[test]
fn a_task_without_an_id_leaves_the_call_unknown() {
    for task in [r#"{"task":{}}"#, r#"{"task":7}"#, r#"{"task":{"taskId":7}}"#, r#"{"task":{"taskId":""}}"#] {
        let mut bench = Bench::up(Options::default());
        let call = bench.call_with(as_task());
        let sent = bench.last_of(call);
        bench.sent(&sent, Ok(Delivery::HandedOver));
        bench.answer(&sent, task);
        assert!(matches!(bench.cause(call), Cause::Undecodable(_)), "{task}: {:?}", bench.cause(call));
        assert_eq!(fetches(&bench), 0);
    }
}

#[test]
fn after_a_loss_reconcile_asks_for_the_result_on_a_new_connection() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::ConnectionReset);
    bench.assert_unknown(call, Stage::Answering, Cause::Transport(failure(FailureKind::ConnectionReset)));
    assert_eq!(bench.connects.len(), 1, "nobody asked for a connection yet");

    let ticket = bench.reconcile(call, ms(10_000));
    let second = bench.reconcile(call, ms(10_000));
    bench.handshake();
    assert_eq!(fetches(&bench), 2, "one request for both");
    let fetch = bench.wire.last().unwrap().clone();
    bench.sent(&fetch, Ok(Delivery::HandedOver));
    assert_eq!(bench.reconciled(ticket), None);
    bench.answer(&fetch, DONE);
    for ticket in [ticket, second] {
        let Some(Some(Outcome::Ok(result))) = bench.reconciled(ticket) else { panic!("not known") };
        assert_eq!((result.call, result.json.as_str(), result.attempts), (call, DONE, 1));
    }
    bench.assert_sent(1, call);
    assert!(bench.session.unsettled().is_empty());
    // From now on it is known without a word.
    let again = bench.reconcile(call, ms(0));
    assert!(matches!(bench.reconciled(again), Some(Some(Outcome::Ok(_)))));
    assert_eq!(fetches(&bench), 2);
}

/// A request for a result is a read: it is repeated, and not for ever.
#[test]
fn a_request_for_a_result_is_repeated_within_the_recovery_policy() {
    for how in ["lost", "not sent", "answer lost", "replaced"] {
        let mut options = Options::default();
        options.recovery.attempts = 3;
        let mut bench = Bench::up(options);
        let (call, _) = task_in(&mut bench);
        bench.lose(FailureKind::Closed);
        let ticket = bench.reconcile(call, ms(600_000));
        for attempt in 1..=3 {
            assert_eq!(bench.reconciled(ticket), None, "{how}, {attempt}");
            if bench.connects.len() > bench.count("initialize") {
                bench.handshake();
            }
            let fetch = bench.wire.last().unwrap().clone();
            assert_eq!(fetch.method, "tasks/result", "{how}, {attempt}");
            match how {
                "lost" => bench.lose(FailureKind::Closed),
                "not sent" => bench.sent(&fetch, Err(SendError::NotSent(failure(FailureKind::Other)))),
                "answer lost" => bench.lose_answer(&fetch, failure(FailureKind::ConnectionReset)),
                _ => _ = bench.reconnect(),
            }
        }
        bench.assert_still_unknown(ticket);
        assert_eq!((fetches(&bench), bench.times_sent(call)), (4, 1), "{how}");
    }
}

/// "Not found" says nothing of what ran: a task may have expired.
#[test]
fn a_refused_request_for_a_result_leaves_the_call_unknown() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::Closed);
    let ticket = bench.reconcile(call, ms(600_000));
    bench.handshake();
    let fetch = bench.wire.last().unwrap().clone();
    bench.answer_error(&fetch, r#"{"code":-32602,"message":"no such task"}"#);
    bench.assert_still_unknown(ticket);
    bench.assert_unknown(call, Stage::Answering, Cause::Transport(failure(FailureKind::Closed)));
}

/// What befalls the request for the result is no evidence of the call: the server has that.
#[test]
fn a_request_for_a_result_that_is_not_sent_proves_nothing() {
    let closed = || failure(FailureKind::Other);
    for (error, cause) in [
        (SendError::NotSent(closed()), Cause::Transport(closed())),
        (SendError::Truncated(closed()), Cause::Transport(closed())),
        (SendError::Refused(refusal(404, "")), Cause::Refused(refusal(404, ""))),
    ] {
        let grants = vec![Grant { tool: "pay".to_owned(), attempts: 5 }];
        let mut bench = Bench::up(Options { grants, ..Options::default() });
        let call = bench.call_with(as_task());
        let sent = bench.last_of(call);
        bench.sent(&sent, Ok(Delivery::HandedOver));
        bench.answer(&sent, TASK);
        let fetch = bench.wire.last().unwrap().clone();
        bench.sent(&fetch, Err(error));
        bench.assert_unknown(call, Stage::Answering, cause);
        bench.assert_sent(1, call);
    }
}

/// Out of time, the call leaves its task alone: the result can be fetched later.
#[test]
fn a_deadline_stops_the_wait_and_not_the_task() {
    let mut bench = Bench::up(Options::default());
    let (call, fetch) = task_in(&mut bench);
    bench.advance(ms(60_000));
    bench.assert_unknown(call, Stage::Answering, Cause::TimedOut);
    let cancelled = bench.wire.last().unwrap();
    assert_eq!(cancelled.method, "notifications/cancelled");
    assert!(cancelled.text.contains(&format!(r#""requestId":{}"#, fetch.id())), "{}", cancelled.text);
    assert_eq!(bench.count("tasks/cancel"), 0);

    let ticket = bench.reconcile(call, ms(1_000));
    let fetch = bench.wire.last().unwrap().clone();
    assert_eq!(fetch.method, "tasks/result");
    bench.answer(&fetch, DONE);
    assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))));
}

#[test]
fn the_answer_to_the_first_request_for_a_result_counts_late_too() {
    let mut bench = Bench::up(Options::default());
    let (call, fetch) = task_in(&mut bench);
    bench.advance(ms(60_000));
    bench.answer(&fetch, DONE);
    let ticket = bench.reconcile(call, ms(0));
    assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))));
    assert_eq!(fetches(&bench), 1);
}

/// A caller who cancels means the task: that is told by `tasks/cancel`, once.
#[test]
fn a_cancel_cancels_the_task() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.cancel(call);
    bench.assert_unknown(call, Stage::Answering, Cause::Cancelled);
    let cancel = bench.wire.last().unwrap().clone();
    assert_eq!((cancel.method.as_str(), bench.count("tasks/cancel")), ("tasks/cancel", 1));
    assert!(cancel.text.contains(r#""params":{"taskId":"t-1"}"#), "{}", cancel.text);
    assert_eq!(bench.count("notifications/cancelled"), 0);
    bench.events();
    bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, cancel_id(&cancel.text)));
    assert_eq!(bench.events(), [], "its answer is no news");
}

/// The id may come after the call's own time.
#[test]
fn a_task_id_that_comes_late_is_as_good() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call_with(as_task());
    let sent = bench.last_of(call);
    bench.sent(&sent, Ok(Delivery::HandedOver));
    bench.advance(ms(60_000));
    let early = bench.reconcile(call, ms(600_000));
    bench.answer(&sent, TASK);
    assert_eq!((fetches(&bench), bench.reconciled(early)), (1, None));
    bench.lose(FailureKind::Closed);
    bench.handshake();
    let fetch = bench.wire.last().unwrap().clone();
    bench.answer(&fetch, DONE);
    assert!(matches!(bench.reconciled(early), Some(Some(Outcome::Ok(_)))));
    bench.assert_sent(1, call);
}

#[test]
fn who_manages_the_connection_also_decides_when_to_ask() {
    let mut bench = Bench::up(Options { ownership: Ownership::CallerManaged, ..Options::default() });
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::Closed);
    let ticket = bench.reconcile(call, ms(600_000));
    bench.assert_still_unknown(ticket);
    assert_eq!(bench.connects.len(), 1);
    bench.reconnect();
    bench.handshake();
    assert_eq!(fetches(&bench), 1, "a reconnect sends its handshake, and nothing else");
    let ticket = bench.reconcile(call, ms(600_000));
    let fetch = bench.wire.last().unwrap().clone();
    bench.answer(&fetch, DONE);
    assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(_)))));
}

/// Without a server to ask, whoever waits is told so.
#[test]
fn no_connection_means_still_unknown() {
    let mut options = Options::default();
    options.recovery.attempts = 1;
    let mut bench = Bench::up(options);
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::Closed);
    let ticket = bench.reconcile(call, ms(600_000));
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    bench.assert_still_unknown(ticket);
    // The server is left alone now.
    let ticket = bench.reconcile(call, ms(600_000));
    bench.assert_still_unknown(ticket);
}

#[test]
fn a_wait_that_ends_takes_its_request_along() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::Closed);
    let ticket = bench.reconcile(call, ms(50));
    bench.advance(ms(50));
    bench.assert_still_unknown(ticket);
    bench.handshake();
    assert_eq!(fetches(&bench), 1, "nobody waits for it");
    bench.close();
    assert_eq!(bench.session.pending(), []);
}

/// The ended connection gives what it has: an answer that came with the end counts.
#[test]
fn a_result_that_comes_with_the_end_counts() {
    let mut bench = Bench::up(Options::default());
    let (call, fetch) = task_in(&mut bench);
    bench.answer(&fetch, DONE);
    bench.receive(Ok(Incoming::End));
    bench.assert_ok(call, DONE);
}

#[test]
fn a_task_whose_result_is_an_error_is_not_asked_for_again() {
    let mut bench = Bench::up(Options::default());
    let (call, fetch) = task_in(&mut bench);
    bench.answer_error(&fetch, r#"{"code":-32603,"message":"it failed"}"#);
    assert!(matches!(bench.cause(call), Cause::AnsweredWithError(_)), "{:?}", bench.cause(call));
    let ticket = bench.reconcile(call, ms(1_000));
    bench.advance(ms(1_000));
    bench.assert_still_unknown(ticket);
    assert_eq!(fetches(&bench), 1);
}

/// What came first on the call's own channel was unreadable; then came the news that it is a task, which must
/// not pass for its result. (`noreplay check` found that it did.)
#[test]
fn the_news_that_it_is_a_task_is_no_result_after_garbage_either() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call_with(as_task());
    let sent = bench.last_of(call);
    bench.sent(&sent, Ok(Delivery::HandedOver));
    let (generation, channel) = (sent.receipt.generation, Some(sent.id()));
    bench.deliver_on(generation, channel, "Server v1 started");
    assert!(matches!(bench.cause(call), Cause::Undecodable(_)));
    let ticket = bench.reconcile(call, ms(1_000));
    bench.deliver_on(
        generation,
        channel,
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{TASK}}}"#, sent.id()),
    );
    assert_eq!(bench.reconciled(ticket), None, "it is not known yet");
    let fetch = bench.wire.last().unwrap().clone();
    assert_eq!(fetch.method, "tasks/result");
    bench.answer(&fetch, DONE);
    assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(result))) if result.json == DONE));
}

/// Whoever waits no longer for a result takes its question out of the queue, and nothing else.
#[test]
fn the_end_of_a_wait_is_no_end_of_what_else_waits() {
    let mut options = Options::default();
    options.timing.connect = ms(300_000);
    let mut bench = Bench::up(options);
    let (task, _) = task_in(&mut bench);
    bench.lose(FailureKind::ConnectionReset);
    let asked = fetches(&bench);
    let ticket = bench.reconcile(task, ms(1_000));
    let call = bench.call("pay");
    bench.advance(ms(1_000));
    bench.assert_still_unknown(ticket);
    bench.handshake();
    assert_eq!((fetches(&bench), bench.times_sent(call)), (asked, 1));
}

/// Something unreadable on the question's own channel is not the end of it: what comes behind is its answer, and
/// whoever waits asks once more. (`noreplay check` found that the answer was lost.)
#[test]
fn a_question_goes_on_after_garbage_on_its_channel() {
    for answered in [0, 1] {
        let mut bench = Bench::up(Options::default());
        let (call, _) = task_in(&mut bench);
        bench.lose(FailureKind::ConnectionReset);
        let ticket = bench.reconcile(call, ms(10_000));
        bench.handshake();
        let first = bench.wire.last().unwrap().clone();
        bench.deliver_on(first.receipt.generation, Some(first.id()), "Server v1 started");
        let second = bench.wire.last().unwrap().clone();
        assert!(second.method == "tasks/result" && second.id() > first.id(), "{second:?}");
        bench.answer([&first, &second][answered], DONE);
        assert!(matches!(bench.reconciled(ticket), Some(Some(Outcome::Ok(result))) if result.json == DONE));
        bench.assert_sent(1, call);
    }
    // It does not ask for ever.
    let mut bench = Bench::up(Options::default());
    let (call, _) = task_in(&mut bench);
    bench.lose(FailureKind::ConnectionReset);
    let asked = fetches(&bench);
    let ticket = bench.reconcile(call, ms(10_000));
    bench.handshake();
    while bench.reconciled(ticket).is_none() {
        let fetch = bench.wire.last().unwrap().clone();
        bench.deliver_on(fetch.receipt.generation, Some(fetch.id()), "Server v1 started");
    }
    bench.assert_still_unknown(ticket);
    assert_eq!(fetches(&bench), asked + 3);
}

/// The caller granted another attempt; then the first one turns out to be a task. That is no result either, and
/// the attempt that is out goes on. (`noreplay check` found that it was taken for one.)
#[test]
fn an_earlier_attempt_that_is_a_task_is_no_answer() {
    let grants = vec![Grant { tool: "pay".to_owned(), attempts: 1 }];
    let mut bench = Bench::up(Options { grants, ..Options::default() });
    let (call, first, second) = granted(&mut bench, as_task());
    let (generation, channel) = (first.receipt.generation, Some(first.id()));
    bench.deliver_on(
        generation,
        channel,
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{TASK}}}"#, first.id()),
    );
    assert!(bench.is_pending(call));
    bench.answer(&second, DONE);
    assert!(
        matches!(bench.verdict(call), Ok(Outcome::Ok(result)) if result.json == DONE && result.attempts == 2)
    );
}

/// A call with a task asked for or not, whose first attempt is in doubt, and the granted second one.
fn granted(bench: &mut Bench, call: ToolCall) -> (CallId, Sent, Sent) {
    let call = bench.call_with(call);
    let first = bench.last_of(call);
    bench.sent(&first, Ok(Delivery::HandedOver));
    bench.deliver_on(first.receipt.generation, Some(first.id()), "Server v1 started");
    let second = bench.last_of(call);
    assert!(second.id() > first.id());
    (call, first, second)
}

/// Neither once the attempt that is out has become a task itself; and what is no news of a task, because none
/// was asked for, is an answer.
#[test]
fn whether_an_earlier_attempt_may_be_a_task_is_a_matter_of_what_was_asked() {
    let grants = vec![Grant { tool: "pay".to_owned(), attempts: 1 }];
    let mut bench = Bench::up(Options { grants, ..Options::default() });
    let (call, first, second) = granted(&mut bench, as_task());
    bench.answer(&second, &TASK.replace("t-1", "t-2"));
    let fetch = last(&bench, "tasks/result");
    bench.answer(&first, TASK);
    assert!(bench.is_pending(call), "{:?}", bench.verdict(call));
    bench.answer(&fetch, DONE);
    assert_eq!(bench.ok(call), DONE);

    let (call, first, _) = granted(&mut bench, ToolCall { task: None, ..as_task() });
    bench.answer(&first, TASK);
    assert_eq!(bench.ok(call), TASK);
}
