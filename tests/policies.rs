//! The caller's policies (contract, section 4), row by row, and that the default of each is the strict one.

mod harness;

use std::time::Duration;

use harness::{Bench, DONE, Sent, failure, ms, refusal, rpc_error};
use noreplay::protocol::revision::Revision;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Grant, Initialised, Options, Ownership, Resend};
use noreplay::session::verdict::{
    CallId, Cause, Failure, FailureKind, Generation, NotExecuted, Outcome, ReadError, Stage,
};
use noreplay::session::{Delivery, Incoming, ToolCall};

fn resend(resend: Resend) -> Options {
    Options { resend, ..Options::default() }
}

/// Calls of `pay` may be tried so often more.
fn granted(attempts: u32) -> Options {
    Options { grants: vec![Grant { tool: "pay".to_owned(), attempts }], ..Options::default() }
}

fn managed() -> Options {
    Options { ownership: Ownership::CallerManaged, ..Options::default() }
}

fn pay() -> ToolCall {
    ToolCall { name: "pay".to_owned(), ..ToolCall::default() }
}

fn within(timeout: Duration) -> ToolCall {
    ToolCall { timeout: Some(timeout), ..pay() }
}

fn not_sent(kind: FailureKind) -> SendError {
    SendError::NotSent(failure(kind))
}

/// Lets the last attempt of a call fail.
fn fail(bench: &mut Bench, call: CallId, error: SendError) {
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(error));
}

/// Answers the last attempt of a call.
fn answer(bench: &mut Bench, call: CallId) {
    let sent = bench.last_of(call);
    bench.answer(&sent, DONE);
}

fn unknown(kind: FailureKind) -> SendError {
    SendError::Unknown(failure(kind))
}

#[test]
fn the_defaults_are_the_strict_ones() {
    let options = Options::default();
    assert_eq!(options.ownership, Ownership::Owned);
    assert_eq!(options.initialised, None);
    assert_eq!(options.resend, Resend::Proven);
    assert!(options.accept_refusals);
    assert_eq!(options.grants, []);
    assert_eq!(options.timing.call, Duration::from_secs(60));
    assert!(!options.timing.progress_extends);
    assert_eq!(options.timing.cap, Duration::from_secs(600));
    assert_eq!(options.limits.message_bytes, 16 << 20);
    assert_eq!(options.limits.in_flight, 1024);
    assert_eq!(options.limits.events, 256);
    assert_eq!(options.limits.cause_bytes, 4 << 10);
}

/// Which evidence lets a call be handed over once more.
#[test]
fn a_resend_needs_evidence_of_the_grade_that_the_policy_asks_for() {
    let grade_a = [not_sent(FailureKind::Other), SendError::Truncated(failure(FailureKind::Other))];
    let grade_b = [401, 403, 405, 421, 425, 307].map(|status| SendError::Refused(refusal(status, "")));
    let no_proof = [429, 503, 500].map(|status| SendError::Refused(refusal(status, "")));
    let no_proof = no_proof.into_iter().chain([unknown(FailureKind::Closed), unknown(FailureKind::Other)]);
    let cases = grade_a.into_iter().map(|error| (error, [1, 2, 2]));
    let cases = cases.chain(grade_b.into_iter().map(|error| (error, [1, 1, 2])));
    let cases = cases.chain(no_proof.map(|error| (error, [1, 1, 1])));
    for (error, attempts) in cases {
        for (policy, attempts) in [Resend::Never, Resend::Proven, Resend::Refused].into_iter().zip(attempts) {
            let mut bench = Bench::up(resend(policy));
            let call = bench.call("pay");
            let first = bench.last_of(call);
            fail(&mut bench, call, error.clone());
            bench.assert_sent(attempts, call);
            if attempts == 1 {
                assert!(bench.verdicts.contains_key(&call), "{error:?} {policy:?}");
                continue;
            }
            assert!(bench.last_of(call).id() > first.id(), "a new id");
            answer(&mut bench, call);
            let Ok(Outcome::Ok(result)) = bench.verdict(call) else { panic!("{:?}", bench.verdict(call)) };
            assert_eq!(result.attempts, 2);
        }
    }
}

#[test]
fn a_call_is_resent_once_at_most() {
    let reason = |error: &SendError| match error.clone() {
        SendError::Refused(refusal) => NotExecuted::Refused(refusal),
        SendError::NotSent(failure) | SendError::Truncated(failure) | SendError::Unknown(failure) => {
            NotExecuted::NotSent(failure)
        }
    };
    let errors = [not_sent(FailureKind::Busy), SendError::Refused(refusal(401, "again"))];
    for first in &errors {
        for second in &errors {
            let mut bench = Bench::up(resend(Resend::Refused));
            let call = bench.call("pay");
            fail(&mut bench, call, first.clone());
            fail(&mut bench, call, second.clone());
            bench.advance(ms(3_600_000));
            bench.assert_not_executed(2, call, reason(second));
        }
    }
}

/// A 404 of the session: the resend goes to a fresh one. A 401: to the same, with what the transport has.
#[test]
fn a_resend_goes_where_it_can_be_taken() {
    let mut bench = Bench::up(resend(Resend::Refused));
    let call = bench.call("pay");
    fail(&mut bench, call, SendError::Refused(refusal(401, "")));
    assert_eq!(bench.last_of(call).receipt.generation, Generation(1));
    fail(&mut bench, call, SendError::Refused(refusal(404, "")));
    bench.assert_not_executed(2, call, NotExecuted::Refused(refusal(404, "")));

    for error in [SendError::Refused(refusal(404, "")), not_sent(FailureKind::Closed)] {
        let mut bench = Bench::up(resend(Resend::Refused));
        let call = bench.call("pay");
        fail(&mut bench, call, error);
        bench.assert_sent(1, call);
        bench.handshake();
        assert_eq!(bench.last_of(call).receipt.generation, Generation(2));
        bench.assert_sent(2, call);
        answer(&mut bench, call);
        assert!(matches!(bench.verdict(call), Ok(Outcome::Ok(_))));
    }
}

#[test]
fn nothing_is_resent_after_the_caller_gave_up() {
    // Cancelled while `send` is under way: what it says then is said to nobody.
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    bench.cancel(call);
    fail(&mut bench, call, not_sent(FailureKind::Other));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Cancelled);

    // Cancelled, or out of time, while the resend waits for a connection.
    for by_caller in [true, false] {
        let mut bench = Bench::up(Options::default());
        let call = bench.call("pay");
        fail(&mut bench, call, not_sent(FailureKind::Closed));
        let given_up = if by_caller {
            bench.cancel(call);
            bench.handshake();
            "cancelled before it was sent"
        } else {
            bench.advance(ms(15_000));
            bench.connected(Ok(()));
            bench.advance(ms(45_000));
            "the deadline passed before it was sent"
        };
        bench.assert_sent(1, call);
        // P10: what proves that it did not run is kept.
        let NotExecuted::NotSent(told) = bench.not_executed(call) else { panic!() };
        assert_eq!((told.kind, &told.detail[..2]), (FailureKind::Closed, &failure(told.kind).detail[..]));
        assert_eq!(told.detail[2], given_up);
    }
}

/// P10: a refusal is kept whole, whatever ends the wait for the attempt that it permits.
#[test]
fn what_proved_the_first_attempt_not_to_have_run_is_kept() {
    for end in ["cancel", "close", "deadline"] {
        let mut bench = Bench::up(resend(Resend::Refused));
        let call = bench.call("pay");
        fail(&mut bench, call, SendError::Refused(refusal(404, "the session is over")));
        match end {
            "cancel" => _ = bench.cancel(call),
            "close" => bench.close(),
            _ => {
                bench.advance(ms(15_000));
                bench.connected(Ok(()));
                bench.advance(ms(45_000));
            }
        }
        bench.assert_not_executed(1, call, NotExecuted::Refused(refusal(404, "the session is over")));
    }
}

/// The deadline counts by the clock, whether or not its alarm was heard already.
#[test]
fn nothing_is_resent_after_the_deadline() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    bench.now = bench.now + ms(60_000);
    fail(&mut bench, call, not_sent(FailureKind::Other));
    bench.assert_not_executed(1, call, NotExecuted::NotSent(failure(FailureKind::Other)));

    // Its connection comes up when its time is over.
    let mut bench = Bench::up(Options::default());
    let call = bench.call_with(within(ms(100)));
    fail(&mut bench, call, not_sent(FailureKind::Closed));
    bench.now = bench.now + ms(100);
    bench.handshake();
    bench.assert_sent(1, call);
    let mut told = failure(FailureKind::Closed);
    told.detail.push("the deadline passed before it was sent".to_owned());
    bench.assert_not_executed(1, call, NotExecuted::NotSent(told));
}

/// A refusal that the caller does not take for proof is an unknown outcome, which keeps it whole.
#[test]
fn a_refusal_counts_as_proof_only_if_the_caller_accepts_it() {
    for status in [401, 403, 404, 400, 405, 413, 421, 425, 302] {
        for accept_refusals in [true, false] {
            let mut bench = Bench::up(Options { accept_refusals, ..Options::default() });
            let call = bench.call("pay");
            fail(&mut bench, call, SendError::Refused(refusal(status, "")));
            let refusal = refusal(status, "");
            if accept_refusals {
                bench.assert_not_executed(1, call, NotExecuted::Refused(refusal));
            } else {
                bench.assert_unknown(call, Stage::HandingOver, Cause::Refused(refusal));
            }
        }
    }
    // What is certain needs no acceptance.
    let mut bench = Bench::up(Options { accept_refusals: false, ..resend(Resend::Never) });
    let call = bench.call("pay");
    fail(&mut bench, call, not_sent(FailureKind::Other));
    bench.assert_not_executed(1, call, NotExecuted::NotSent(failure(FailureKind::Other)));
}

/// Whoever has a call resent after a refusal that proves nothing to him is left in doubt by it.
#[test]
fn a_refusal_that_is_not_accepted_stays_in_doubt_after_the_resend() {
    let mut bench = Bench::up(Options { accept_refusals: false, ..resend(Resend::Refused) });
    let call = bench.call("pay");
    fail(&mut bench, call, SendError::Refused(refusal(401, "first")));
    fail(&mut bench, call, not_sent(FailureKind::Other));
    bench.assert_unknown_after(2, call, Stage::HandingOver, Cause::Refused(refusal(401, "first")));
}

#[test]
fn a_grant_is_for_one_tool_by_its_exact_name() {
    let grants = ["*", "", "Pay", "pay ", "pa", "payment", "^pay$"]
        .map(|tool| Grant { tool: tool.to_owned(), attempts: 9 });
    let mut bench = Bench::up(Options { grants: grants.to_vec(), ..Options::default() });
    let (call, _) = bench.pay();
    bench.lose(FailureKind::ConnectionReset);
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(failure(FailureKind::ConnectionReset)));
    assert_eq!(bench.connects.len(), 1);
}

/// The two policies are two: one is about proof, the other about the lack of it.
#[test]
fn a_grant_holds_where_nothing_is_resent() {
    let mut bench = Bench::up(Options { resend: Resend::Never, ..granted(1) });
    let call = bench.call("pay");
    fail(&mut bench, call, unknown(FailureKind::Other));
    bench.assert_sent(2, call);
    fail(&mut bench, call, not_sent(FailureKind::Other));
    bench.assert_unknown_after(2, call, Stage::HandingOver, Cause::Transport(failure(FailureKind::Other)));
}

#[test]
fn granted_attempts_are_counted_and_each_has_an_id_of_its_own() {
    let mut bench = Bench::up(granted(2));
    let call = bench.call("pay");
    let mut ids = vec![bench.last_of(call).id()];
    for _ in 0..2 {
        let sent = bench.last_of(call);
        bench.sent(&sent, Ok(Delivery::HandedOver));
        bench.lose(FailureKind::ConnectionReset);
        bench.handshake();
        ids.push(bench.last_of(call).id());
    }
    assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
    assert_eq!(bench.session.pending()[0].attempts, 3);
    bench.lose(FailureKind::Closed);
    bench.advance(ms(3_600_000));
    // The last attempt's `send` had not returned, but an earlier one was handed over.
    let cause = Cause::Transport(failure(FailureKind::Closed));
    bench.assert_unknown_after(3, call, Stage::HandedOver, cause);
    let message = bench.unknown(call).message.clone();
    assert!(message.contains("It was sent 3 times, as the caller's policy or the server asked"), "{message}");

    // Answered, it says so too.
    let mut bench = Bench::up(granted(1));
    let call = bench.call("pay");
    fail(&mut bench, call, unknown(FailureKind::Other));
    answer(&mut bench, call);
    let Ok(Outcome::Ok(result)) = bench.verdict(call) else { panic!("{:?}", bench.verdict(call)) };
    assert_eq!((result.attempts, bench.times_sent(call)), (2, 2));
}

/// P3: an attempt that may have run is not forgotten because a later one provably did not.
#[test]
fn doubt_is_never_forgotten() {
    // Proven not sent; not connected; given up while waiting for a connection: all after the doubt.
    for end in ["not sent", "refused", "refused and not accepted", "no connection", "cancel", "deadline"] {
        let accept_refusals = end != "refused and not accepted";
        let mut bench = Bench::up(Options { accept_refusals, ..granted(1) });
        let (call, _) = bench.pay();
        bench.lose(FailureKind::ConnectionReset);
        match end {
            "not sent" | "refused" | "refused and not accepted" => {
                bench.handshake();
                let refused = SendError::Refused(refusal(401, ""));
                let error = if end == "not sent" { not_sent(FailureKind::Other) } else { refused };
                fail(&mut bench, call, error);
                if end == "not sent" {
                    // After proof it is sent once more: that is no replay.
                    fail(&mut bench, call, not_sent(FailureKind::Other));
                }
            }
            "no connection" => {
                for _ in 0..3 {
                    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
                    bench.advance(ms(5_000));
                }
            }
            "cancel" => assert!(bench.cancel(call)),
            _ => bench.advance(ms(60_000)),
        }
        let attempts = match end {
            "not sent" => 3,
            "refused" | "refused and not accepted" => 2,
            _ => 1,
        };
        let cause = Cause::Transport(failure(FailureKind::ConnectionReset));
        bench.assert_unknown_after(attempts, call, Stage::HandedOver, cause);
    }
}

/// While its granted attempt is out, that is the one that a cancel or the deadline is about.
#[test]
fn a_granted_attempt_that_is_given_up_has_a_cause_of_its_own() {
    for (by_caller, cause) in [(true, Cause::Cancelled), (false, Cause::TimedOut)] {
        let mut bench = Bench::up(granted(1));
        let (call, _) = bench.pay();
        bench.lose(FailureKind::ConnectionReset);
        bench.handshake();
        if by_caller {
            bench.cancel(call);
        } else {
            bench.advance(ms(60_000));
        }
        bench.assert_unknown_after(2, call, Stage::HandedOver, cause);
    }
}

/// P3: how far a call came is never taken back by an attempt that came less far.
#[test]
fn a_stage_never_goes_back() {
    let mut bench = Bench::up(granted(2));
    let call = bench.call_with(ToolCall { progress: true, ..pay() });
    let sent = bench.last_of(call);
    bench.deliver(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{}}}}}"#,
        sent.id()
    ));
    for _ in 0..2 {
        bench.lose(FailureKind::ConnectionReset);
        assert_eq!(bench.session.pending()[0].stage, Stage::Answering);
        bench.handshake();
    }
    bench.lose(FailureKind::Closed);
    bench.assert_unknown_after(3, call, Stage::Answering, Cause::Transport(failure(FailureKind::Closed)));
}

#[test]
fn no_grant_outlives_the_callers_own_word() {
    for word in ["cancel", "close", "reconnect", "deadline"] {
        let mut bench = Bench::up(granted(9));
        let (call, sent) = bench.pay();
        let cause = match word {
            "cancel" => {
                bench.cancel(call);
                Cause::Cancelled
            }
            "close" => {
                bench.close();
                Cause::Closed
            }
            "reconnect" => {
                bench.reconnect();
                bench.handshake();
                Cause::SessionReplaced
            }
            _ => {
                bench.advance(ms(60_000));
                Cause::TimedOut
            }
        };
        bench.assert_unknown(call, Stage::HandedOver, cause.clone());
        // What fails later is a matter of the past.
        bench.sent(&sent, Err(unknown(FailureKind::Other)));
        bench.lose_answer(&sent, failure(FailureKind::Other));
        bench.lose(FailureKind::Closed);
        bench.advance(ms(3_600_000));
        bench.assert_unknown(call, Stage::HandedOver, cause);
    }
    // The deadline counts by the clock.
    let mut bench = Bench::up(granted(9));
    let (call, _) = bench.pay();
    bench.now = bench.now + ms(60_000);
    bench.lose(FailureKind::Other);
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(failure(FailureKind::Other)));
}

/// While the granted attempt is out, what comes of the earlier one is about the earlier one.
fn in_doubt(attempts: u32) -> (Bench, CallId, Sent) {
    let mut bench = Bench::up(granted(attempts));
    let call = bench.call("pay");
    let earlier = bench.last_of(call);
    fail(&mut bench, call, unknown(FailureKind::TimedOut));
    bench.assert_sent(2, call);
    bench.events();
    (bench, call, earlier)
}

#[test]
fn an_answer_to_an_earlier_attempt_is_an_answer() {
    let (mut bench, call, earlier) = in_doubt(1);
    bench.answer(&earlier, DONE);
    let Ok(Outcome::Ok(result)) = bench.verdict(call) else { panic!("{:?}", bench.verdict(call)) };
    assert_eq!((result.attempts, result.json.as_str()), (2, DONE));
}

#[test]
fn what_says_nothing_of_an_earlier_attempt_moves_no_later_one() {
    for grants in [1, 9] {
        for what in ["error", "unreadable", "lost", "input"] {
            let (mut bench, call, earlier) = in_doubt(grants);
            let id = earlier.id();
            match what {
                "error" => bench.answer_error(&earlier, r#"{"code":-32603,"message":"m"}"#),
                "unreadable" => bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"#)),
                "lost" => bench.lose_answer(&earlier, failure(FailureKind::Other)),
                _ => bench.answer(&earlier, r#"{"resultType":"input_required"}"#),
            }
            // Not a third attempt beside the second, nor the end of it.
            bench.assert_sent(2, call);
            assert!(bench.is_pending(call), "{what}: {:?}", bench.verdicts);
            assert_eq!(bench.session.pending()[0].stage, Stage::HandingOver, "{what}");
            answer(&mut bench, call);
            assert!(matches!(bench.verdict(call), Ok(Outcome::Ok(_))), "{what}");
        }
    }
}

/// The connection of the earlier attempt may linger, and be lost when the later one is out elsewhere.
#[test]
fn the_loss_of_an_earlier_attempts_connection_moves_no_later_one() {
    let mut bench = Bench::up(granted(1));
    let (other, _) = bench.pay();
    let call = bench.call("pay");
    fail(&mut bench, call, unknown(FailureKind::Closed));
    bench.handshake();
    bench.assert_sent(2, call);
    let lost = Err(failure(FailureKind::ConnectionReset));
    bench.enter(|session, now| session.received(now, Generation(1), lost));
    assert!(bench.is_pending(call), "{:?}", bench.verdicts);
    bench.assert_sent(2, other);
    answer(&mut bench, call);
    assert!(matches!(bench.verdict(call), Ok(Outcome::Ok(_))));
}

#[test]
fn an_error_answers_an_attempt_once() {
    let mut bench = Bench::up(granted(9));
    let call = bench.call("pay");
    let first = bench.last_of(call);
    for _ in 0..5 {
        bench.answer_error(&first, r#"{"code":-32603,"message":"m"}"#);
        bench.assert_sent(2, call);
    }
}

/// The verdict is about the attempt that was answered last; the earlier one may be answered yet.
#[test]
fn a_late_answer_to_an_earlier_attempt_is_kept() {
    let (mut bench, call, earlier) = in_doubt(1);
    let later = bench.last_of(call);
    bench.answer_error(&later, r#"{"code":-32603,"message":"m"}"#);
    let cause = Cause::AnsweredWithError(rpc_error(-32603, "m"));
    bench.assert_unknown_after(2, call, Stage::Answered, cause);
    bench.events();
    bench.answer(&earlier, DONE);
    assert_eq!(bench.events(), [Event::LateAnswer(call)]);
}

/// A call that waits for its granted attempt is in flight nowhere: a reconnect replaces no attempt of it, and
/// gives it the connection that it waits for.
#[test]
fn a_call_that_waits_for_its_granted_attempt_is_not_replaced() {
    let mut bench = Bench::up(granted(1));
    let (replaced, _) = bench.pay();
    let waiting = bench.call("pay");
    // It says that the connection takes no more, while answers may come: the connection lingers.
    fail(&mut bench, waiting, unknown(FailureKind::Closed));
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    bench.reconnect();
    bench.assert_unknown(replaced, Stage::HandedOver, Cause::SessionReplaced);
    bench.assert_pending(waiting);
    bench.handshake();
    bench.assert_sent(2, waiting);
    bench.lose(FailureKind::ConnectionReset);
    let cause = Cause::Transport(failure(FailureKind::ConnectionReset));
    bench.assert_unknown_after(2, waiting, Stage::HandingOver, cause);
}

/// Nobody takes its verdict, so that an event tells of it where it may have run.
#[test]
fn a_call_whose_caller_went_away_is_cancelled() {
    let abandon = |bench: &mut Bench, call| bench.enter(|session, _| session.abandon(call));
    let mut bench = Bench::up(Options::default());
    let (handed_over, sent) = bench.pay();
    let (other, _) = bench.pay();
    bench.events();
    abandon(&mut bench, handed_over);
    let cancel = format!(r#""requestId":{},"#, sent.id());
    assert!(bench.wire.last().unwrap().text.contains(&cancel), "{:?}", bench.wire.last());
    assert_eq!((bench.verdicts.len(), bench.events()), (0, vec![Event::Unclaimed(handed_over)]));
    let unsettled: Vec<_> = bench.session.unsettled().into_iter().map(|unknown| unknown.call).collect();
    assert_eq!(unsettled, [handed_over]);
    bench.assert_pending(other);

    // It had its verdict already: the caller may not have it.
    bench.cancel(other);
    bench.events();
    abandon(&mut bench, other);
    assert_eq!(bench.events(), [Event::Unclaimed(other)]);

    let mut bench = Bench::new(Options::default());
    let waiting = bench.call("pay");
    abandon(&mut bench, waiting);
    assert_eq!((bench.verdicts.len(), bench.events(), bench.session.pending().len()), (0, vec![], 0));
}

#[test]
fn a_session_that_its_caller_manages_never_connects() {
    let mut bench = Bench::new(managed());
    let refused = |bench: &mut Bench| {
        assert_eq!(bench.try_call(pay()), Err(NotExecuted::NotConnected));
        let list = bench.list_tools();
        assert_eq!(bench.tools(list), Some(&Err(ReadError::NotConnected)));
        bench.advance(ms(3_600_000));
    };
    refused(&mut bench);
    assert_eq!(bench.connects.len(), 0);

    let losses: [fn(&mut Bench); 4] = [
        |bench| bench.lose(FailureKind::ConnectionReset),
        |bench| bench.receive(Ok(Incoming::End)),
        |bench| {
            let call = bench.call("pay");
            fail(bench, call, not_sent(FailureKind::Closed));
            bench.assert_not_executed(1, call, NotExecuted::NotSent(failure(FailureKind::Closed)));
        },
        |bench| {
            let call = bench.call("pay");
            fail(bench, call, SendError::Refused(refusal(404, "")));
            bench.assert_not_executed(1, call, NotExecuted::Refused(refusal(404, "")));
        },
    ];
    for (index, lose) in losses.into_iter().enumerate() {
        bench.reconnect();
        bench.handshake();
        lose(&mut bench);
        refused(&mut bench);
        assert_eq!(bench.connects.len(), index + 1, "one for each word of the owner's");
    }
    assert!(bench.disconnects.iter().all(|(_, orderly)| !orderly), "{:?}", bench.disconnects);

    // One try for each word, too: whether there is another is for the owner to say.
    let ticket = bench.reconnect();
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    bench.advance(ms(3_600_000));
    let failed = Err(NotExecuted::ConnectFailed(failure(FailureKind::ConnectionRefused)));
    assert_eq!((bench.reconnected(ticket), bench.connects.len()), (Some(&failed), 5));
}

#[test]
fn a_session_that_is_initialised_already_is_used_as_it_is() {
    for ownership in [Ownership::Owned, Ownership::CallerManaged] {
        let initialised = Some(Initialised { revision: Revision::V2024_11_05, first_request: 50 });
        let mut bench = Bench::new(Options { ownership, initialised, ..Options::default() });
        let ticket = bench.reconnect();
        bench.connected(Ok(()));
        assert_eq!(bench.reconnected(ticket).unwrap().as_ref().unwrap().protocol_version, "2024-11-05");
        let (call, sent) = bench.pay();
        assert_eq!(sent.id(), 50);
        bench.answer(&sent, DONE);
        bench.assert_ok(call, DONE);
        bench.reconnect();
        bench.connected(Ok(()));
        let (_, sent) = bench.pay();
        assert_eq!(sent.id(), 51, "ids rise on");
        bench.close();
        assert!(bench.wire.iter().all(|sent| sent.method == "tools/call"), "{:?}", bench.wire);
        assert_eq!(bench.disconnects, [(Generation(1), false), (Generation(2), false)]);
    }
}

#[test]
fn a_call_has_its_own_time_or_the_sessions_up_to_the_cap() {
    let mut options = Options::default();
    options.timing.call = ms(2_000);
    options.timing.cap = ms(9_000);
    for (asked, given) in [(None, 2_000), (Some(500), 500), (Some(8_999), 8_999), (Some(3_600_000), 9_000)] {
        let mut bench = Bench::up(options.clone());
        let call = bench.call_with(ToolCall { timeout: asked.map(ms), ..pay() });
        let sent = bench.last_of(call);
        bench.sent(&sent, Ok(Delivery::HandedOver));
        bench.advance(ms(given - 1));
        bench.assert_pending(call);
        bench.advance(ms(1));
        bench.assert_unknown(call, Stage::HandedOver, Cause::TimedOut);
    }
}

/// The time of a call runs while it waits for a connection, too.
#[test]
fn waiting_for_a_connection_is_part_of_the_time() {
    let mut bench = Bench::new(Options::default());
    let call = bench.call_with(within(ms(1_000)));
    bench.advance(ms(999));
    assert!(bench.is_pending(call));
    bench.advance(ms(1));
    let NotExecuted::NotSent(late) = bench.not_executed(call) else { panic!() };
    assert_eq!(late.kind, FailureKind::TimedOut);
    bench.handshake();
    bench.assert_sent(0, call);
}

/// A call without time is over before it is handed over, so that it did not run.
#[test]
fn a_call_without_time_is_not_handed_over() {
    let mut options = Options::default();
    let mut without_cap = options.clone();
    without_cap.timing.cap = ms(0);
    options.timing.call = ms(0);
    for (options, timeout) in
        [(Options::default(), Some(ms(0))), (options, None), (without_cap, Some(ms(1_000)))]
    {
        let mut bench = Bench::up(options);
        let mark = bench.wire.len();
        let told = Failure::new(FailureKind::TimedOut, "the deadline passed before it was sent");
        let refused = bench.try_call(ToolCall { timeout, ..pay() });
        assert_eq!(refused, Err(NotExecuted::NotSent(told)));
        assert_eq!(bench.wire.len(), mark);
    }
}

#[test]
fn no_more_is_in_flight_than_the_caller_allows() {
    let mut options = Options::default();
    options.limits.in_flight = 3;
    let mut bench = Bench::up(options);
    let ((first, sent), _) = (bench.pay(), bench.pay());
    bench.list_tools();
    let mark = bench.wire.len();
    let refused = bench.try_call(pay());
    assert!(
        matches!(&refused, Err(NotExecuted::NotSent(busy)) if busy.kind == FailureKind::Busy),
        "{refused:?}"
    );
    let list = bench.list_tools();
    let told = bench.tools(list);
    assert!(matches!(told, Some(Err(ReadError::Transport(busy))) if busy.kind == FailureKind::Busy));
    assert_eq!(bench.wire.len(), mark);
    bench.answer(&sent, DONE);
    bench.assert_ok(first, DONE);
    bench.call("pay");
}

/// Nor are there more who wait for a connection, or for news of a call: neither holds up a call.
#[test]
fn no_more_wait_than_the_caller_allows() {
    let mut options = Options::default();
    options.limits.in_flight = 2;
    let mut bench = Bench::up(options);
    let (call, sent) = bench.pay();
    let waiting: Vec<_> = (0..3).map(|_| bench.reconcile(call, ms(1_000))).collect();
    let told: Vec<_> = waiting.iter().map(|ticket| bench.reconciled(*ticket).cloned()).collect();
    assert_eq!(told, [None, None, Some(None)]);
    bench.answer(&sent, DONE);
    assert!(waiting[..2].iter().all(|ticket| matches!(bench.reconciled(*ticket), Some(Some(_)))));

    let waiting: Vec<_> = (0..3).map(|_| bench.reconnect()).collect();
    let [None, None, Some(Err(NotExecuted::NotSent(busy)))] =
        [0, 1, 2].map(|index| bench.reconnected(waiting[index]))
    else {
        panic!("{:?}", bench.resolutions)
    };
    assert_eq!(busy.kind, FailureKind::Busy);
    bench.handshake();
    assert!(waiting[..2].iter().all(|ticket| matches!(bench.reconnected(*ticket), Some(Ok(_)))));
    bench.call("pay");
}

#[test]
fn a_call_that_is_wrong_is_refused_before_it_is_anything() {
    let mut options = Options::default();
    options.limits.message_bytes = 200;
    let mut bench = Bench::up(options);
    let mark = bench.wire.len();
    let text = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - r#"{"a":""}"#.len()));
    let large = text(201);
    for call in [
        ToolCall { arguments: Some("7".to_owned()), ..pay() },
        ToolCall { meta: Some("[]".to_owned()), ..pay() },
        ToolCall { arguments: Some(large.clone()), ..pay() },
        ToolCall { meta: Some(large), ..pay() },
        ToolCall { key: Some("k".repeat(257)), ..pay() },
        // It would stand twice.
        ToolCall { meta: Some(r#"{"progressToken":"mine"}"#.to_owned()), progress: true, ..pay() },
        ToolCall { meta: Some(r#"{"k":1,"progress\u0054oken":7}"#.to_owned()), progress: true, ..pay() },
    ] {
        let refused = bench.try_call(call);
        assert!(matches!(refused, Err(NotExecuted::InvalidCall(_))), "{refused:?}");
    }
    // As large as may be is not too large.
    let (arguments, meta) = (Some(text(200)), Some(text(200)));
    let named = ToolCall { key: Some("k".repeat(256)), arguments, meta, ..pay() };
    let call = bench.try_call(named.clone()).unwrap();
    answer(&mut bench, call);
    assert!(matches!(bench.try_call(named), Err(NotExecuted::InvalidCall(_))), "a name is used once");
    assert_eq!(bench.wire.len(), mark + 1);
}
