//! Group D of the public reports: sessions that expired, and what an HTTP status says. The core sees a
//! status only where it refused a message; which ones prove something is a table (`session::evidence`).
//! Here is what becomes of the call and of the session, and that no text decides it.

mod harness;

use harness::{Bench, DONE, Sent, failure, refusal, rpc_error};
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Options, Ownership, Resend};
use noreplay::session::verdict::{
    CallId, Cause, Failure, FailureKind, Generation, NotExecuted, Outcome, Refusal, Stage,
};
use noreplay::session::{Delivery, ToolCall};

/// Begins a call that is answered by a refusal.
fn refused(bench: &mut Bench, refusal: &Refusal) -> CallId {
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Refused(refusal.clone())));
    call
}

fn strict() -> Options {
    Options { resend: Resend::Never, ..Options::default() }
}

/// B054, python-sdk#1676 and #3556, typescript-sdk#1708, rust-sdk#733: a stale session id was used for ever.
/// B055, stacklok/toolhive#4425: the 404 came as plain text.
#[test]
fn after_a_404_of_the_session_the_next_call_has_a_fresh_one() {
    for body in
        ["", "session not found", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"m"}}"#]
    {
        let mut bench = Bench::up(strict());
        let call = refused(&mut bench, &refusal(404, body));
        bench.assert_not_executed(1, call, NotExecuted::Refused(refusal(404, body)));

        let next = bench.call("pay");
        bench.assert_sent(0, next);
        bench.handshake();
        assert_eq!(bench.last_of(next).receipt.generation, Generation(2));
        bench.assert_pending(next);
    }
}

/// B054, of a session that its caller manages: the owner must act.
#[test]
fn after_a_404_the_owner_of_the_session_must_act() {
    let options = Options { ownership: Ownership::CallerManaged, ..Options::default() };
    let mut bench = Bench::up(options);
    let call = refused(&mut bench, &refusal(404, ""));
    bench.assert_not_executed(1, call, NotExecuted::Refused(refusal(404, "")));
    let next = bench.try_call(ToolCall { name: "pay".to_owned(), ..ToolCall::default() });
    assert_eq!(next, Err(NotExecuted::NotConnected));
    assert_eq!(bench.connects.len(), 1);
}

/// B054: a 404 ends the session for new calls. Those that are in flight may be answered yet.
#[test]
fn a_404_takes_no_answer_from_the_other_calls() {
    let mut bench = Bench::up(strict());
    let (other, sent) = bench.pay();
    refused(&mut bench, &refusal(404, ""));
    bench.assert_pending(other);
    bench.answer(&sent, DONE);
    bench.assert_ok(other, DONE);
    assert_eq!(bench.disconnects, [(Generation(1), true)]);
}

/// B058, cloudflare/agents#1923: the *code* 404 in an answer was taken for the status.
#[test]
fn an_error_code_of_404_is_no_status() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer_error(&sent, r#"{"code":404,"message":"Session not found"}"#);
    let cause = Cause::AnsweredWithError(rpc_error(404, "Session not found"));
    bench.assert_unknown(call, Stage::Answered, cause);
    assert_eq!((bench.connects.len(), bench.disconnects.len()), (1, 0));
}

/// B059, markmhendrickson/neotoma#2312 and mastra-ai/mastra#10660: the loss of a session spelled 503, or 400
/// with words. The status counts by its row of the table, and the words do not.
#[test]
fn no_words_in_a_refusal_say_that_the_session_is_lost() {
    let words =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}"#;
    let mut bench = Bench::up(Options::default());
    let call = refused(&mut bench, &refusal(503, words));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Refused(refusal(503, words)));
    // Row 9: refused before it was looked at.
    let call = refused(&mut bench, &refusal(400, words));
    bench.assert_not_executed(1, call, NotExecuted::Refused(refusal(400, words)));
    // The session is used on.
    let (call, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    assert_eq!((bench.connects.len(), bench.disconnects.len()), (1, 0));
}

/// B061, typescript-sdk#2031, LibreChat#12455 and #13369, cubeplex#346: 401 in mid-session.
#[test]
fn a_401_is_a_refusal_that_keeps_its_challenge() {
    let challenge = Refusal {
        headers: vec![("www-authenticate".to_owned(), "Bearer error=\"invalid_token\"".to_owned())],
        ..refusal(401, "expired")
    };
    let mut bench = Bench::up(Options::default());
    let call = refused(&mut bench, &challenge);
    bench.assert_not_executed(1, call, NotExecuted::Refused(challenge));
    let (next, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.assert_ok(next, DONE);
}

/// B062, ProfessionalWiki/MediaWiki-MCP-Server#443: a failure of the login, wrapped as an error of the
/// tool's, is just that.
#[test]
fn a_tool_error_that_speaks_of_a_login_is_a_tool_error() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let result = r#"{"content":[{"type":"text","text":"401 Unauthorized: log in again"}],"isError":true}"#;
    bench.answer(&sent, result);
    let Ok(Outcome::ToolError(answer)) = bench.verdict(call) else { panic!("{:?}", bench.verdict(call)) };
    assert_eq!((answer.call, answer.attempts, answer.json.as_str()), (call, 1, result));
    assert_eq!(answer.warnings, [""; 0]);
    bench.assert_sent(1, call);
}

/// The transport tells of a request that was accepted and has no answer.
fn accepted_without_an_answer(kind: FailureKind) -> (Bench, CallId, Sent, Failure) {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.sent(&sent, Ok(Delivery::Accepted));
    let failure = failure(kind);
    bench.lose_answer(&sent, failure.clone());
    (bench, call, sent, failure)
}

/// B064, python-sdk#1661 and ruby-sdk#323: 202 to a request. B065, rust-sdk#849, langgenius/dify#25040 and
/// vrchat-assistant#37: 204, or an empty 200.
#[test]
fn accepted_and_no_more_is_unknown_at_once() {
    let (mut bench, call, sent, failure) = accepted_without_an_answer(FailureKind::Malformed);
    bench.assert_unknown(call, Stage::Accepted, Cause::Transport(failure));
    assert_eq!(bench.now.as_nanos(), 1);
    // What comes all the same is told, and changes nothing.
    bench.events();
    bench.answer(&sent, DONE);
    assert!(matches!(bench.events()[..], [Event::Diagnostic(..)]));
    assert!(matches!(bench.verdict(call), Ok(Outcome::UnknownOutcome(_))));
}

/// B064: as long as the server's own stream is open, the answer may come on it.
#[test]
fn accepted_is_no_answer_and_the_call_waits_on() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.sent(&sent, Ok(Delivery::Accepted));
    bench.assert_pending(call);
    assert_eq!(bench.session.pending()[0].stage, Stage::Accepted);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
}

/// A refusal is one only if nothing of an answer came before it (contract, section 3), and whatever comes on a
/// call's own channel is a part of its answer.
#[test]
fn after_a_part_of_an_answer_nothing_is_a_refusal() {
    let errors = [
        SendError::Refused(refusal(401, "")),
        SendError::NotSent(failure(FailureKind::Other)),
        SendError::Truncated(failure(FailureKind::Other)),
    ];
    for error in errors {
        for channel_of_its_own in [true, false] {
            let mut bench = Bench::up(strict());
            let call = bench.call("pay");
            let sent = bench.last_of(call);
            let channel = channel_of_its_own.then_some(sent.id());
            let generation = bench.generation();
            bench.deliver_on(generation, channel, r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
            bench.sent(&sent, Err(error.clone()));
            let proven = bench.verdict(call).is_err();
            assert_eq!(proven, !channel_of_its_own, "{error:?}");
            if channel_of_its_own {
                let cause = match error.clone() {
                    SendError::Refused(refusal) => Cause::Refused(refusal),
                    SendError::NotSent(failure)
                    | SendError::Truncated(failure)
                    | SendError::Unknown(failure) => Cause::Transport(failure),
                };
                bench.assert_unknown(call, Stage::Answering, cause);
            }
        }
    }
}

/// An answer in the body of a refusal is an answer (row 11), also when it comes late.
#[test]
fn a_late_answer_in_a_refusal_is_kept() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.cancel(call);
    bench.events();
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{DONE}}}"#, sent.id());
    bench.sent(&sent, Err(SendError::Refused(refusal(500, &body))));
    assert_eq!(bench.events(), [Event::LateAnswer(call)]);
    bench.assert_unknown(call, Stage::HandingOver, Cause::Cancelled);
}

/// B065: an empty answer to a notification is as it should be.
#[test]
fn a_notification_needs_no_answer() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    bench.cancel(call);
    let cancelled = bench.wire.last().unwrap().clone();
    assert_eq!(cancelled.method, "notifications/cancelled");
    bench.events();
    bench.sent(&cancelled, Ok(Delivery::Accepted));
    assert_eq!((bench.events(), bench.disconnects.len()), (Vec::new(), 0));
}
