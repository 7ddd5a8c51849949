//! Group A of the public reports: duplicated side effects. Each input is one that made some client run a
//! tool twice. Here the message was given away once, whatever came back, whatever the server says of its
//! tools; and the verdict tells what is known, with the failure as the transport told it.

mod harness;

use harness::{Bench, DONE, ended, failure, ms, refusal, rpc_error};
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Options, Recovery};
use noreplay::session::verdict::{
    Cause, Failure, FailureKind, NotExecuted, Outcome, ReadError, Refusal, Stage,
};
use noreplay::session::{Delivery, Incoming, ToolCall};

/// B001, tya5/reyn#2600: a wrapper ran the call again after a transport error.
#[test]
fn a_call_whose_connection_closed_is_never_sent_again() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    bench.receive(Ok(Incoming::End));
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(ended()));

    let mark = bench.wire.len();
    bench.reconnect();
    bench.handshake();
    bench.advance(ms(3_600_000));
    assert_eq!(bench.sent_since(mark), ["initialize", "notifications/initialized"]);
    bench.assert_sent(1, call);
}

/// B002, xxynet/KiraAI#195: "not connected any more", seen when the error is handled, was taken for
/// "not delivered".
#[test]
fn a_connection_that_is_gone_says_nothing_of_what_was_sent_on_it() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.lose(FailureKind::Closed);
    bench.sent(&sent, Err(SendError::NotSent(failure(FailureKind::Closed))));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Transport(failure(FailureKind::Closed)));
}

/// B003, odysseus-dev/odysseus#6150: every exception meant reconnect and replay.
#[test]
fn an_opaque_failure_is_the_cause_as_it_stands() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    let opaque = Failure {
        kind: FailureKind::Other,
        detail: vec!["ECONNREFUSED: not sent, safe to retry".to_owned(), "caused by: ?".to_owned()],
    };
    bench.receive(Err(opaque.clone()));
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(opaque));
    assert_eq!(bench.connects.len(), 1, "nobody asked for another connection");
}

/// B004, QwenLM/qwen-code#5381: an ordinary failure of a tool led to a reconnect and a second run.
#[test]
fn an_error_answer_leaves_the_connection_alone() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer_error(&sent, r#"{"code":-32602,"message":"bad amount"}"#);
    let cause = Cause::AnsweredWithError(rpc_error(-32602, "bad amount"));
    bench.assert_unknown(call, Stage::Answered, cause);

    let (next, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.assert_ok(next, DONE);
    assert_eq!((bench.connects.len(), bench.disconnects.len()), (1, 0));
}

/// B005 (a), NousResearch/hermes-agent#88821: a write that took no byte is proof.
#[test]
fn what_did_not_leave_did_not_run() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    for attempt in 1..=2 {
        bench.assert_sent(attempt, call);
        let sent = bench.last_of(call);
        bench.sent(&sent, Err(SendError::NotSent(failure(FailureKind::Other))));
    }
    // Sent once more, after proof, and proven again.
    bench.assert_not_executed(2, call, NotExecuted::NotSent(failure(FailureKind::Other)));
}

/// B005 (b), NousResearch/hermes-agent#88821: a broken pipe after a part of the bytes. Only where the
/// transport states that a part of the text was withheld is it proof.
#[test]
fn a_broken_pipe_is_proof_only_if_the_transport_says_what_it_withheld() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Unknown(failure(FailureKind::ConnectionReset))));
    let cause = Cause::Transport(failure(FailureKind::ConnectionReset));
    bench.assert_unknown(call, Stage::HandingOver, cause);

    let call = bench.call("pay");
    for _ in 0..2 {
        let sent = bench.last_of(call);
        bench.sent(&sent, Err(SendError::Truncated(failure(FailureKind::ConnectionReset))));
    }
    let reason = NotExecuted::NotSent(failure(FailureKind::ConnectionReset));
    bench.assert_not_executed(2, call, reason);
}

/// B005 (c), NousResearch/hermes-agent#88821: closed once every byte was written.
#[test]
fn a_loss_after_the_last_byte_is_unknown() {
    for stage in [Stage::HandingOver, Stage::HandedOver, Stage::Accepted] {
        let mut bench = Bench::up(Options::default());
        let call = bench.call("pay");
        let sent = bench.last_of(call);
        match stage {
            Stage::HandedOver => bench.sent(&sent, Ok(Delivery::HandedOver)),
            Stage::Accepted => bench.sent(&sent, Ok(Delivery::Accepted)),
            _ => {}
        }
        bench.lose(FailureKind::ConnectionReset);
        bench.assert_unknown(call, stage, Cause::Transport(failure(FailureKind::ConnectionReset)));
    }
}

/// B005 (d), NousResearch/hermes-agent#88821: 404 with a page for people, to a request of no session.
#[test]
fn a_404_that_any_proxy_could_have_made_proves_nothing() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let refusal = Refusal { had_session: false, ..refusal(404, "<html>Not Found</html>") };
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Refused(refusal.clone())));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Refused(refusal));
}

/// B007, quiltdata/quilt#4864: one flag said both that a failure passes and that a call may be repeated.
#[test]
fn a_status_of_500_with_an_answer_in_it_is_that_answer() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    let error = r#"{"code":-32603,"message":"oops","data":{"try":"again"}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, sent.id());
    bench.sent(&sent, Err(SendError::Refused(refusal(500, &body))));
    let mut error = rpc_error(-32603, "oops");
    error.data = Some(r#"{"try":"again"}"#.to_owned());
    bench.assert_unknown(call, Stage::Answered, Cause::AnsweredWithError(error));
    assert_eq!(bench.connects.len(), 1);
}

/// B008, MoonshotAI/kimi-code#1991: a dead process was started anew, and got the same call.
#[test]
fn a_server_process_that_exits_is_not_started_for_the_call_it_had() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    let exited = Failure {
        kind: FailureKind::Closed,
        detail: vec!["the server's output ended".to_owned(), "it exited with code 1".to_owned()],
    };
    bench.receive(Err(exited.clone()));
    bench.advance(ms(3_600_000));
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(exited));
    assert_eq!(bench.connects.len(), 1);
}

/// B009, logicleai/logicle#1014: one retry on a new client, whatever the error, a timeout included.
#[test]
fn a_call_out_of_time_is_cancelled_once_and_not_repeated() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let mark = bench.wire.len();
    bench.advance(ms(60_000));
    bench.assert_unknown(call, Stage::HandedOver, Cause::TimedOut);
    bench.advance(ms(3_600_000));
    assert_eq!(bench.sent_since(mark), ["notifications/cancelled"]);
    let cancelled = &bench.wire.last().unwrap().text;
    assert!(cancelled.contains(&format!(r#""requestId":{}"#, sent.id())), "{cancelled}");
}

/// B010, stacklok/mecatl#191, and B018, nibor1896/Crow#139: "refused" and "reset" were one class. Before
/// the hand-over there was nothing to run; after it nobody knows.
#[test]
fn a_failure_to_connect_is_not_a_failure_after_sending() {
    let kinds = [FailureKind::ConnectionRefused, FailureKind::TlsFailed, FailureKind::ConnectionReset];
    for kind in kinds {
        let recovery = Recovery { attempts: 1, ..Options::default().recovery };
        let mut bench = Bench::new(Options { recovery, ..Options::default() });
        let call = bench.call("pay");
        bench.connected(Err(failure(kind)));
        bench.assert_not_executed(0, call, NotExecuted::ConnectFailed(failure(kind)));

        let mut bench = Bench::up(Options::default());
        let (call, _) = bench.pay();
        bench.lose(kind);
        bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(failure(kind)));
    }
}

/// B012, PrimeIntellect-ai/verifiers#2154: hints of the server's let the client run a tool again.
#[test]
fn hints_are_passed_on_and_authorise_nothing() {
    let mut bench = Bench::up(Options::default());
    let entry = concat!(
        r#"{"name":"pay","inputSchema":{},"#,
        r#""annotations":{"readOnlyHint":true,"idempotentHint":true,"destructiveHint":false}}"#
    );
    let ticket = bench.list_tools();
    let list = bench.wire.last().unwrap().clone();
    bench.answer(&list, &format!(r#"{{"tools":[{entry}]}}"#));
    assert_eq!(bench.tools(ticket).unwrap().as_ref().unwrap()[0].json, entry);

    let (call, _) = bench.pay();
    bench.lose(FailureKind::ConnectionReset);
    bench.advance(ms(3_600_000));
    bench.assert_unknown(call, Stage::HandedOver, Cause::Transport(failure(FailureKind::ConnectionReset)));
}

/// B013, PrimeIntellect-ai/verifiers#2134: the error of an outer layer hid that the call may have run. Who
/// must let the instance go reads from it, before any verdict, what may have run.
#[test]
fn what_may_have_run_can_be_read_while_it_is_in_flight() {
    let mut bench = Bench::up(Options::default());
    let (handed_over, _) = bench.pay();
    let handing_over = bench.call("pay");
    let pending = bench.session.pending();
    let seen: Vec<_> =
        pending.iter().map(|pending| (pending.call, pending.stage, pending.attempts)).collect();
    assert_eq!(seen, [(handed_over, Stage::HandedOver, 1), (handing_over, Stage::HandingOver, 1)]);
    assert_eq!(pending[0].key, bench.made[&handed_over].key);

    // The verdict is a value, and what ended so stays to be read.
    bench.receive(Ok(Incoming::End));
    bench.assert_unknown(handed_over, Stage::HandedOver, Cause::Transport(ended()));
    bench.assert_unknown(handing_over, Stage::HandingOver, Cause::Transport(ended()));
    let unsettled: Vec<_> = bench.session.unsettled().into_iter().map(|unknown| unknown.call).collect();
    assert_eq!(unsettled, [handed_over, handing_over]);
    assert!(bench.session.pending().is_empty());
}

/// B014, modelcontextprotocol/rust-sdk#743: after a 404 the client initialised anew, unseen, and posted the
/// call again. Here the refusal is the verdict, or, if the caller does not take it for proof, the cause.
#[test]
fn a_404_of_the_session_sends_nothing_a_second_time() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
    for accept_refusals in [true, false] {
        let mut bench = Bench::up(Options { accept_refusals, ..Options::default() });
        let call = bench.call("pay");
        let sent = bench.last_of(call);
        bench.sent(&sent, Err(SendError::Refused(refusal(404, error))));
        bench.advance(ms(3_600_000));
        let refusal = refusal(404, error);
        if accept_refusals {
            bench.assert_not_executed(1, call, NotExecuted::Refused(refusal));
        } else {
            bench.assert_unknown(call, Stage::HandingOver, Cause::Refused(refusal));
        }
        assert_eq!(bench.connects.len(), 1, "no session that nobody asked for");
    }
}

/// B015, hostinger/api-mcp-server#68 and KeeperHub/keeperhub#2207: a key of the caller's own travels as it
/// stands, and allows nothing.
#[test]
fn an_idempotency_key_is_forwarded_and_changes_nothing() {
    let mut bench = Bench::up(Options::default());
    let meta = r#"{ "idempotencyKey" : "k\u002d1", "n":1.0 }"#;
    let call = bench.call_with(ToolCall {
        name: "pay".to_owned(),
        meta: Some(meta.to_owned()),
        ..ToolCall::default()
    });
    let sent = bench.last_of(call);
    assert!(sent.text.ends_with(&format!(r#","_meta":{meta}}}}}"#)), "{}", sent.text);
    bench.sent(&sent, Err(SendError::Unknown(failure(FailureKind::TimedOut))));
    bench.advance(ms(3_600_000));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Transport(failure(FailureKind::TimedOut)));
}

/// B016, nahi/httpclient#142: the HTTP library itself posted again on a socket that had died.
#[test]
fn a_transport_that_sent_twice_is_told_of_as_such() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Unknown(failure(FailureKind::Duplicated))));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Transport(failure(FailureKind::Duplicated)));
    let message = bench.unknown(call).message.clone();
    assert!(message.contains("the transport sent the message more than once (outer)"), "{message}");
}

/// B021, mrlm-net/cure#235, Yamdy/proteus#63 and vercel/ai#16494: "retry tool calls" is a common wish. How
/// often to try again is said of connections and of reads, and means nothing to a call.
#[test]
fn a_number_of_tries_is_for_reads_only() {
    let recovery = Recovery { attempts: 3, ..Options::default().recovery };
    let mut bench = Bench::up(Options { recovery, ..Options::default() });
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Unknown(failure(FailureKind::Other))));
    bench.assert_unknown(call, Stage::HandingOver, Cause::Transport(failure(FailureKind::Other)));

    let ticket = bench.list_tools();
    for tries in 1..=3 {
        assert_eq!((bench.count("tools/list"), bench.tools(ticket)), (tries, None));
        let list = bench.wire.last().unwrap().clone();
        bench.sent(&list, Err(SendError::Unknown(failure(FailureKind::Other))));
    }
    let given_up = Err(ReadError::Transport(failure(FailureKind::Other)));
    assert_eq!((bench.count("tools/list"), bench.tools(ticket)), (3, Some(&given_up)));
    bench.assert_sent(1, call);
    assert!(matches!(bench.verdict(call), Ok(Outcome::UnknownOutcome(_))));
}
