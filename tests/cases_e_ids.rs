//! Group E of the public reports: ids, and whose answer an answer is. An answer belongs to a call if it bears
//! the id of its attempt, as we write it, on the connection (and, where it has one, the channel) of that
//! attempt. Everything else is told as a diagnostic and moves nobody.

mod harness;

use std::collections::BTreeSet;

use harness::{Bench, DONE, diagnostics, failure, rpc_error};
use noreplay::session::Ids;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::Options;
use noreplay::session::verdict::{Cause, FailureKind, Generation, Outcome, Stage};

/// B067, python-sdk#192, #961 and #1720: the server answered "7" to 7.
#[test]
fn our_number_as_a_string_is_taken_and_noted() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.events();
    bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":"{}","result":{DONE}}}"#, sent.id()));
    bench.assert_ok(call, DONE);
    assert_eq!(
        diagnostics(&bench.events()),
        [("an answer whose id is a string, to a request whose id is a number", 1)]
    );
}

/// B068, rust-sdk#1021 and bounty-challenge#6313: a tolerant match took what was another's. B077,
/// 21st-dev/magic-mcp#71: ids that are no ids trapped the reader.
#[test]
fn what_is_not_our_id_as_we_write_it_matches_nobody() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let id = sent.id();
    for other in [
        format!("\"0{id}\""),
        format!("\"{id}.0\""),
        format!("\" {id}\""),
        format!("\"{id} \""),
        format!("\"0x{id}\""),
        format!("\"+{id}\""),
        format!("{id}.0"),
        format!("{id}.0e0"),
        format!("{id}e0"),
        format!("-{id}"),
        format!("[{id}]"),
        format!("{{\"a\":{id}}}"),
        "\"\"".to_owned(),
        "true".to_owned(),
        "null".to_owned(),
        "1.5".to_owned(),
        "1e400".to_owned(),
        "18446744073709551616".to_owned(),
        (id + 1).to_string(),
        (id - 1).to_string(),
    ] {
        for body in ["\"result\":{\"content\":[]}", "\"error\":{\"code\":1,\"message\":\"m\"}"] {
            bench.events();
            bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{other},{body}}}"#));
            bench.assert_pending(call);
            assert_eq!(diagnostics(&bench.events()).len(), 1, "{other} {body}");
        }
    }
    assert_eq!(bench.session.pending()[0].stage, Stage::HandedOver);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
}

/// B070, java-sdk#506, helidon-mcp#65 and mcp-go#201: an error without an id killed the reader. B071,
/// csharp-sdk#1687: it came on the response of one request only.
#[test]
fn an_error_for_nobody_is_somebodys_only_on_a_channel_of_its_own() {
    for id in [r#""id":null,"#, ""] {
        let error = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32020,"message":"bad header"}}}}"#);
        let mut bench = Bench::up(Options::default());
        let ((first, of_first), (second, _)) = (bench.pay(), bench.pay());
        bench.events();
        bench.deliver(&error);
        assert_eq!(diagnostics(&bench.events()), [("an answer without an id", 1)]);
        bench.assert_pending(first);

        let generation = bench.generation();
        bench.deliver_on(generation, Some(of_first.id()), &error);
        let cause = Cause::AnsweredWithError(rpc_error(-32020, "bad header"));
        bench.assert_unknown(first, Stage::Answered, cause);
        bench.assert_pending(second);
        let flag = format!("an error without an id, on the channel of {}", of_first.id());
        assert_eq!(diagnostics(&bench.events()), [(flag.as_str(), 1)]);
    }
}

/// B070: a *result* for nobody is nobody's, wherever it comes.
#[test]
fn a_result_without_an_id_answers_nobody() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let generation = bench.generation();
    let line = format!(r#"{{"jsonrpc":"2.0","id":null,"result":{DONE}}}"#);
    bench.deliver(&line);
    bench.deliver_on(generation, Some(sent.id()), &line);
    bench.assert_pending(call);
}

/// B073, anthropics/claude-ai-mcp#539 and #676, claude-code#79241: id 1 for every request, on sessions that
/// shared a server: answers crossed.
#[test]
fn ids_rise_across_connections_and_sessions() {
    static IDS: Ids = Ids::new();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut bench = Bench::with_ids(Options::default(), &IDS);
        for _ in 0..4 {
            bench.reconnect();
            bench.handshake();
            for _ in 0..25 {
                let (_, sent) = bench.pay();
                bench.answer(&sent, DONE);
            }
        }
        seen.extend(bench.wire.iter().filter(|sent| sent.text.contains("\"id\"")).map(|sent| sent.id()));
    }
    assert!(seen.is_sorted_by(|earlier, later| earlier < later), "{seen:?}");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 2 * 4 * (25 + 1));
}

/// B074, anthropics/claude-code#83457: a big answer came late, after a reconnect, and met a newer call. The
/// contract: an answer is one on the connection of its attempt only.
#[test]
fn an_answer_on_another_connection_answers_nobody() {
    let mut bench = Bench::up(Options::default());
    let (old, of_old) = bench.pay();
    bench.lose(FailureKind::ConnectionReset);
    let new = bench.call("pay");
    bench.handshake();
    bench.events();
    let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{DONE}}}"#, of_old.id());
    bench.deliver(&line);
    let flag = format!("an answer to request {}, which awaits none", of_old.id());
    assert_eq!(diagnostics(&bench.events()), [(flag.as_str(), 1)]);
    bench.assert_pending(new);
    bench.assert_unknown(old, Stage::HandedOver, Cause::Transport(failure(FailureKind::ConnectionReset)));
}

/// B074, while the old connection still owes an answer.
#[test]
fn an_answer_is_not_taken_from_a_connection_that_it_was_not_asked_on() {
    let mut bench = Bench::up(Options::default());
    let (old, of_old) = bench.pay();
    // The connection takes no more messages, so that the next call has another.
    let new = bench.call("pay");
    let sent = bench.last_of(new);
    bench.sent(&sent, Err(SendError::NotSent(failure(FailureKind::Closed))));
    bench.handshake();
    let of_new = bench.last_of(new);
    assert_eq!((of_old.receipt.generation, of_new.receipt.generation), (Generation(1), Generation(2)));

    let line = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{DONE}}}"#);
    bench.deliver_on(Generation(2), None, line(of_old.id()));
    bench.deliver_on(Generation(1), None, line(of_new.id()));
    bench.assert_pending(old);
    assert!(bench.is_pending(new));
    bench.deliver_on(Generation(1), None, line(of_old.id()));
    bench.deliver_on(Generation(2), None, line(of_new.id()));
    bench.assert_ok(old, DONE);
    let Ok(Outcome::Ok(result)) = bench.verdict(new) else { panic!("{:?}", bench.verdict(new)) };
    assert_eq!((result.attempts, bench.times_sent(new)), (2, 2), "the first of them never left");
}

/// B075, mcp-go and the Python SDK: whatever id came on a call's stream was taken for the call's.
#[test]
fn an_answer_to_another_request_on_my_channel_is_not_mine() {
    for other_is_pending in [false, true] {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        let other = other_is_pending.then(|| bench.pay().0);
        bench.events();
        let generation = bench.generation();
        let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{DONE}}}"#, sent.id() + 1);
        bench.deliver_on(generation, Some(sent.id()), line);
        let flag = format!("an answer to request {} on the channel of {}", sent.id() + 1, sent.id());
        assert_eq!(diagnostics(&bench.events()), [(flag.as_str(), 1)]);
        bench.assert_pending(call);
        if let Some(other) = other {
            bench.assert_pending(other);
        }
        bench.lose_answer(&sent, failure(FailureKind::Closed));
        assert_eq!(*bench.cause(call), Cause::Transport(failure(FailureKind::Closed)));
        bench.assert_sent(1, call);
    }
}

/// B113, the half of it that is about ids: the server's ids are its own.
#[test]
fn a_request_of_the_servers_with_our_id_answers_nothing() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, sent.id()));
    bench.assert_pending(call);
    let answer = bench.wire.last().unwrap();
    assert_eq!(answer.text, format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, sent.id()));
}

/// An answer that came twice answers once.
#[test]
fn a_second_answer_is_only_noted() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.answer(&sent, DONE);
    bench.events();
    bench.answer(&sent, r#"{"content":[],"isError":true}"#);
    bench.assert_ok(call, DONE);
    assert!(matches!(bench.events()[..], [Event::Diagnostic(..)]));
    assert_eq!(bench.session.pending(), []);
}
