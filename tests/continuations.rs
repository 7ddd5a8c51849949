//! Calls that a server of 2026-07-28 suspends (contract, section 6).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{Bench, DONE, NOT_FOUND, failure, initialize, last, modern, ms};
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Grant, Options};
use noreplay::session::verdict::{Cause, FailureKind, NotExecuted, Outcome, Stage};
use noreplay::session::{Delivery, ToolCall};

fn suspended(state: &str) -> String {
    format!(r#"{{"resultType":"input_required","requestState":{state}}}"#)
}

/// B104: with only a state, the call goes on: under a new id, as it was, with exactly that state.
#[test]
fn a_call_goes_on_with_the_state_that_the_server_gave() {
    let mut bench = modern(Options::default());
    let call = bench.call_with(ToolCall {
        name: "pay".to_owned(),
        arguments: Some(r#"{"amount": 5}"#.to_owned()),
        meta: Some(r#"{"key":"k"}"#.to_owned()),
        progress: true,
        ..ToolCall::default()
    });
    let first = bench.last_of(call);
    bench.sent(&first, Ok(Delivery::Accepted));
    bench.answer(&first, &suspended(r#""s\u0041 \/1""#));
    let second = bench.last_of(call);
    assert!(second.id() > first.id());
    let expected = first
        .text
        .replace(&format!(r#""id":{}"#, first.id()), &format!(r#""id":{}"#, second.id()))
        .replace(
            &format!(r#""progressToken":{}"#, first.id()),
            &format!(r#""progressToken":{}"#, second.id()),
        )
        .replace(r#","_meta""#, r#","requestState":"s\u0041 \/1","_meta""#);
    assert_eq!(second.text, expected);
    // The same answer again is nobody's.
    bench.answer(&first, &suspended(r#""s""#));
    bench.assert_sent(2, call);
    bench.answer(&second, &suspended(r#""t""#));
    let third = bench.last_of(call);
    assert!(third.text.contains(r#""requestState":"t","_meta""#), "{third:?}");
    bench.answer(&third, DONE);
    let Ok(Outcome::Ok(result)) = bench.verdict(call) else { panic!("{:?}", bench.verdict(call)) };
    assert_eq!((result.attempts, result.json.as_str()), (3, DONE));
    bench.assert_sent(3, call);
}

#[test]
fn a_call_does_not_go_on_for_ever() {
    let mut bench = modern(Options::default());
    let call = bench.call("pay");
    let mut last = bench.last_of(call);
    while bench.is_pending(call) {
        last = bench.last_of(call);
        bench.answer(&last, &suspended(r#""s""#));
    }
    assert_eq!(last.id(), bench.last_of(call).id());
    bench.assert_unknown_after(9, call, Stage::Answered, Cause::InputRequired(suspended(r#""s""#)));

    // Nor beyond its deadline, which is that of the whole call.
    let mut bench = modern(Options::default());
    let call = bench.call("pay");
    bench.advance(ms(59_000));
    let first = bench.last_of(call);
    bench.answer(&first, &suspended(r#""s""#));
    bench.advance(ms(1_000));
    bench.assert_unknown_after(2, call, Stage::Answered, Cause::TimedOut);
}

/// What is asked of a caller goes to the caller, whole; and so does what cannot be read.
#[test]
fn what_the_server_asks_of_the_caller_is_the_callers() {
    for result in [
        r#"{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create"}}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}}"#,
        r#"{"resultType":"input_required","requestState":7}"#,
        r#"{"resultType":"input_required"}"#,
    ] {
        let mut bench = modern(Options::default());
        let (call, sent) = bench.pay();
        bench.answer(&sent, result);
        bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result.to_owned()));
    }
    let mut bench = modern(Options::default());
    let (call, sent) = bench.pay();
    bench.answer(&sent, r#"{"resultType":"task","content":[]}"#);
    assert!(matches!(bench.cause(call), Cause::Undecodable(_)), "{:?}", bench.cause(call));
    // Before 2026-07-28 it is an odd member, and no more.
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer(&sent, r#"{"resultType":"task","content":[]}"#);
    assert_eq!(bench.warnings(call).len(), 1);
}

/// A continuation is given to the transport once: what becomes of it is no reason for a second time, save
/// proof that it did not run.
#[test]
fn a_continuation_is_never_replayed() {
    let grants = vec![Grant { tool: "pay".to_owned(), attempts: 3 }];
    let options = Options { grants, ..Options::default() };
    let state = suspended(r#""s""#);
    let begin = || {
        let mut bench = modern(options.clone());
        let (call, first) = bench.pay();
        bench.answer(&first, &state);
        let second = bench.last_of(call);
        (bench, call, second)
    };
    let (mut bench, call, second) = begin();
    bench.sent(&second, Err(SendError::Unknown(failure(FailureKind::Other))));
    bench.assert_unknown_after(2, call, Stage::Answered, Cause::Transport(failure(FailureKind::Other)));
    let (mut bench, call, _) = begin();
    bench.lose(FailureKind::ConnectionReset);
    bench.assert_unknown_after(
        2,
        call,
        Stage::Answered,
        Cause::Transport(failure(FailureKind::ConnectionReset)),
    );
    // Proven not to have run, it is sent once more; then the call is suspended still, and the state kept.
    let (mut bench, call, second) = begin();
    bench.sent(&second, Err(SendError::NotSent(failure(FailureKind::Other))));
    let third = bench.last_of(call);
    assert!(third.id() > second.id() && third.text.contains(r#""requestState":"s""#), "{third:?}");
    bench.sent(&third, Err(SendError::NotSent(failure(FailureKind::Other))));
    bench.assert_unknown_after(3, call, Stage::Answered, Cause::InputRequired(state.clone()));
}

/// The server is replaced by an older one, which would take a continuation for a new call.
#[test]
fn an_older_server_gets_no_continuation() {
    let mut bench = modern(Options::default());
    let (call, first) = bench.pay();
    let second = {
        bench.answer(&first, &suspended(r#""s""#));
        bench.last_of(call)
    };
    bench.sent(&second, Err(SendError::NotSent(failure(FailureKind::Closed))));
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer_error(&probe, NOT_FOUND);
    initialize(&mut bench, "2025-11-25");
    bench.assert_unknown_after(2, call, Stage::Answered, Cause::InputRequired(suspended(r#""s""#)));
    let continuation = Some(r#"{"requestState":"s"}"#.to_owned());
    let call = bench.call_with(ToolCall { name: "pay".to_owned(), continuation, ..ToolCall::default() });
    assert!(matches!(bench.not_executed(call), NotExecuted::InvalidCall(_)));
    bench.assert_sent(0, call);
}

/// The caller continues a call: that is a new one.
#[test]
fn a_caller_continues_a_call() {
    let mut bench = modern(Options::default());
    let continuation = r#"{"inputResponses":{"a":{"action":"accept"}}, "requestState":"s\u0041"}"#;
    let call = bench.call_with(ToolCall {
        name: "pay".to_owned(),
        continuation: Some(continuation.to_owned()),
        ..ToolCall::default()
    });
    let sent = bench.last_of(call);
    let members = continuation.trim_start_matches('{').trim_end_matches('}');
    assert!(sent.text.contains(&format!(r#""name":"pay",{members}"#)), "{sent:?}");
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    for wrong in ["[]", "{}", r#"{"name":"x"}"#, r#"{"requestState":"s","requestState":"t"}"#] {
        let call =
            ToolCall { name: "pay".to_owned(), continuation: Some(wrong.to_owned()), ..ToolCall::default() };
        assert!(matches!(bench.try_call(call), Err(NotExecuted::InvalidCall(_))), "{wrong}");
    }
}

#[test]
fn a_continuation_says_how_to_go_on_and_nothing_else() {
    for (continuation, sound) in [
        (r#"{"inputResponses":{}}"#, true),
        (r#"{"requestState":"s"}"#, true),
        (r#"{"inputResponses":{},"requestState":"s"}"#, true),
        (r#"{"requestState":"s","inputResponses":{}}"#, true),
        ("{}", false),
        (r#"{"other":1}"#, false),
        (r#"{"requestState":"s","other":1}"#, false),
        (r#"{"other":1,"requestState":"s"}"#, false),
        (r#"{"requestState":"s","requestState":"s"}"#, false),
        (r#"{"inputResponses":{},"inputResponses":{}}"#, false),
        (r#"{"inputResponses":{},"requestState":"s","inputResponses":{}}"#, false),
    ] {
        let mut bench = modern(Options::default());
        let call = ToolCall {
            name: "pay".to_owned(),
            continuation: Some(continuation.to_owned()),
            ..ToolCall::default()
        };
        let begun = bench.try_call(call);
        assert_eq!(begun.is_ok(), sound, "{continuation}");
        assert_eq!(bench.count("tools/call"), usize::from(sound), "{continuation}");
        assert!(sound || matches!(begun, Err(NotExecuted::InvalidCall(_))), "{continuation}");
    }
}

/// Its time is over, though nobody has told it yet.
#[test]
fn a_call_does_not_go_on_after_its_deadline() {
    for (late, sent) in [(0, 1), (1, 2)] {
        let mut bench = modern(Options::default());
        let call = bench.call_with(ToolCall {
            name: "pay".to_owned(),
            timeout: Some(ms(1_000)),
            ..ToolCall::default()
        });
        let first = bench.last_of(call);
        bench.now = bench.now + ms(1_000 - late);
        bench.answer(&first, &suspended(r#""s""#));
        bench.assert_sent(sent, call);
        assert_eq!(bench.is_pending(call), late > 0);
    }
}
