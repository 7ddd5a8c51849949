//! Group F of the public reports: bytes, JSON and numbers. What a caller gives goes out as it was given,
//! what a server sends comes in as it was sent, and what cannot be read harms nobody but whom it was for.

mod harness;

use harness::{Bench, DONE, Sent, diagnostics};
use noreplay::protocol::jsonrpc::RequestId;
use noreplay::session::policy::Options;
use noreplay::session::verdict::{Cause, NotExecuted, Outcome, Stage, Undecodable};
use noreplay::session::{Incoming, ToolCall};

fn with_arguments(arguments: &str) -> ToolCall {
    ToolCall { name: "pay".to_owned(), arguments: Some(arguments.to_owned()), ..ToolCall::default() }
}

/// B078, claude-code#78762, go-sdk#1236, StarRocks#36: large numbers were rounded on their way in.
#[test]
fn numbers_of_an_answer_keep_their_digits() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    let result =
        r#"{"content":[], "structuredContent":{"id":1915883588174806058,"x":1.10,"e":1E400,"z":-0}}"#;
    bench.answer(&sent, result);
    bench.assert_ok(call, result);
}

/// B079, cline#9589 and earendil-works/pi#8943: and on their way out.
#[test]
fn arguments_go_out_byte_for_byte() {
    for arguments in [
        r#"{"id":7960607143101464576,"x":1.10,"e":1E400,"z":-0}"#,
        r#"{ "b" : 1, "a" : [ ] , "b" : 2 }"#,
        r#"{"s":"\u00e9\/\ud83d\ude00é😀"}"#,
    ] {
        let mut bench = Bench::up(Options::default());
        let call = bench.call_with(with_arguments(arguments));
        let sent = bench.last_of(call);
        assert!(sent.text.ends_with(&format!(r#","arguments":{arguments}}}}}"#)), "{}", sent.text);
    }
}

/// B081, typescript-sdk#2012, modelcontextprotocol/inspector#357, openclaw#96755: null, absent and {} were
/// mixed up. B082, claude-code#95239: null went out as the text "null".
#[test]
fn no_arguments_null_and_an_empty_object_are_three_things() {
    let mut bench = Bench::up(Options::default());
    let (_, sent) = bench.pay();
    assert!(sent.text.ends_with(r#""params":{"name":"pay"}}"#), "{}", sent.text);
    for arguments in ["{}", r#"{"a":null}"#] {
        let call = bench.call_with(with_arguments(arguments));
        let sent = bench.last_of(call);
        assert!(sent.text.ends_with(&format!(r#""arguments":{arguments}}}}}"#)), "{}", sent.text);
    }
    let mark = bench.wire.len();
    for arguments in ["null", "\"null\"", "[]", "7", "", "{", "{}{}", "{\"a\":1", "not JSON"] {
        let refused = bench.try_call(with_arguments(arguments));
        let Err(NotExecuted::InvalidCall(reason)) = refused else { panic!("{arguments}: {refused:?}") };
        assert!(reason.starts_with("`arguments`: "), "{reason}");
    }
    assert_eq!(bench.wire.len(), mark);
}

/// B083, python-sdk#2454 and #2873: a line that is not UTF-8 tore the connection down.
#[test]
fn a_line_that_is_not_utf_8_is_skipped() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.events();
    bench.deliver(b"\xff\xfe");
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    assert_eq!(diagnostics(&bench.events()), [("skipped a message that is not JSON-RPC", 1)]);
}

/// B083: an answer that is not UTF-8 is its own call's matter.
#[test]
fn an_answer_that_is_not_utf_8_ends_its_own_call() {
    let mut bench = Bench::up(Options::default());
    let ((call, sent), (other, _)) = (bench.pay(), bench.pay());
    let mut line =
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"text":""#, sent.id()).into_bytes();
    line.extend_from_slice(b"\xff\"}]}}");
    bench.deliver(&line);
    let Cause::Undecodable(Undecodable { reason, .. }) = bench.cause(call).clone() else {
        panic!("{:?}", bench.cause(call))
    };
    assert!(reason.starts_with("not UTF-8: "), "{reason}");
    bench.assert_unknown(call, Stage::Answered, Cause::Undecodable(Undecodable { reason, head: line }));
    bench.assert_pending(other);
}

/// B085, MemPalace#503 and #1755: half a surrogate pair. From a server it is kept as it stands; from a
/// caller it is refused, because servers differ in what they make of it.
#[test]
fn half_a_surrogate_pair_is_kept_coming_in_and_refused_going_out() {
    for result in [
        r#"{"content":[{"type":"text","text":"\ud83d"}]}"#,
        r#"{"content":[],"structuredContent":{"\udc00":"\ud83d"}}"#,
    ] {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        bench.answer(&sent, result);
        bench.assert_ok(call, result);
    }
    let mut bench = Bench::up(Options::default());
    let mark = bench.wire.len();
    for arguments in [r#"{"s":"\ud83d"}"#, r#"{"\udc00":1}"#] {
        let refused = bench.try_call(with_arguments(arguments));
        let reason = "`arguments`: a lone surrogate escape in a string".to_owned();
        assert_eq!(refused, Err(NotExecuted::InvalidCall(reason)));
    }
    assert_eq!(bench.wire.len(), mark);
}

/// B085: in the *name* of a member, where it must not hide what the other members say.
#[test]
fn half_a_surrogate_pair_in_a_name_hides_nothing() {
    let mut bench = Bench::up(Options::default());
    let ((failed, of_failed), (call, sent)) = (bench.pay(), bench.pay());
    bench.answer(&of_failed, r#"{"\ud83d":1,"content":[],"isError":true}"#);
    bench.deliver(format!(r#"{{"\ud83d":1,"jsonrpc":"2.0","id":{},"result":{DONE}}}"#, sent.id()));
    bench.assert_ok(call, DONE);
    let verdict = bench.verdict(failed);
    assert!(matches!(verdict, Ok(Outcome::ToolError(_))), "{verdict:?}");
}

/// B087, opencode#24414, eca#298, azure-devops-mcp#147, mateaix/mateclaw#227: banners and blank lines on a
/// server's output.
#[test]
fn what_is_no_message_is_skipped_and_counted() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.events();
    for line in ["Server v1 started", "", "{}", "null", "7", "\"id\""] {
        bench.deliver(line);
    }
    assert_eq!(diagnostics(&bench.events()), [("skipped a message that is not JSON-RPC", 6)]);
    bench.deliver("[1] log");
    bench.assert_pending(call);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
}

/// B088, rust-sdk#938: answers to garbage made a storm of errors.
#[test]
fn garbage_is_not_answered() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    let mark = bench.wire.len();
    bench.events();
    for n in 0..1000 {
        bench.deliver(format!("garbage {n} {{\"id\":"));
    }
    assert_eq!(bench.wire.len(), mark);
    assert_eq!(diagnostics(&bench.events()), [("skipped a message that is not JSON-RPC", 1000)]);
    bench.assert_pending(call);
}

/// B090, paiml/paiml-mcp-agent-toolkit#648: several messages in one array. 2025-03-26 has them; elsewhere
/// they are odd, and the answers in them are answers all the same.
#[test]
fn answers_in_an_array_are_answers() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut bench = Bench::new(Options::default());
        bench.reconnect();
        bench.handshake_of(revision);
        let ((first, of_first), (second, of_second)) = (bench.pay(), bench.pay());
        bench.events();
        bench.deliver(format!(
            r#"[{{"jsonrpc":"2.0","method":"notifications/message"}},{{"jsonrpc":"2.0","id":{},"result":{DONE}}}, {{"jsonrpc":"2.0","id":{},"result":{DONE}}}]"#,
            of_second.id(),
            of_first.id(),
        ));
        bench.assert_ok(first, DONE);
        bench.assert_ok(second, DONE);
        let odd = diagnostics(&bench.events()).len();
        assert_eq!(odd, usize::from(revision != "2025-03-26"), "{revision}");
    }
}

/// B091, rust-sdk: a byte order mark before the first line, and CRLF. Where a line ends is the transport's
/// matter; what is left of the line end is not.
#[test]
fn a_byte_order_mark_and_the_rest_of_a_line_end_are_tolerated() {
    let mut bench = Bench::up(Options::default());
    for frame in [("\u{feff}", ""), ("", "\r"), ("\u{feff} ", "\r\n")] {
        let (call, sent) = bench.pay();
        let (before, after) = frame;
        bench.deliver(format!(r#"{before}{{"jsonrpc":"2.0","id":{},"result":{DONE}}}{after}"#, sent.id()));
        bench.assert_ok(call, DONE);
    }
}

/// B092, morluto/leantoken#269, truefoundry/trueforge#769, hermes-agent#56059, codebase-memory-mcp#1375: a
/// line without a bound. The call it answers is told, whichever end of it bears the id.
#[test]
fn an_answer_beyond_the_limit_ends_its_own_call_at_once() {
    let mut options = Options::default();
    options.limits.message_bytes = 1000;
    options.limits.cause_bytes = 40;
    let mut bench = Bench::up(options);
    let (first, of_first) = bench.pay();
    let (last, of_last) = bench.pay();
    let (channel, of_channel) = bench.pay();
    let (other, of_other) = bench.pay();
    let long = "x".repeat(1000);

    // The transport lets it through, and the session holds to its own limit.
    let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"a":"{long}"}}}}"#, of_first.id());
    bench.deliver(&line);
    let undecodable = Undecodable {
        reason: format!("{} bytes, more than the 1000 allowed", line.len()),
        head: line.as_bytes()[..40].to_vec(),
    };
    bench.assert_unknown(first, Stage::Answered, Cause::Undecodable(undecodable));

    // With the id last, and just as many bytes as may be, or one more.
    let line = |bytes: usize, sent: &Sent| {
        let (head, tail) =
            (r#"{"jsonrpc":"2.0","result":{"content":[],"a":""#, format!(r#""}},"id":{}}}"#, sent.id()));
        format!("{head}{}{tail}", "x".repeat(bytes - head.len() - tail.len()))
    };
    let ((whole, of_whole), (beyond, of_beyond)) = (bench.pay(), bench.pay());
    bench.deliver(line(1000, &of_whole));
    assert!(matches!(bench.verdict(whole), Ok(Outcome::Ok(_))));
    bench.deliver(line(1001, &of_beyond));
    let Cause::Undecodable(undecodable) = bench.cause(beyond) else { panic!("{:?}", bench.cause(beyond)) };
    assert_eq!(undecodable.reason, "1001 bytes, more than the 1000 allowed");

    let head = br#"{"result":{"a":"xxxx"#.to_vec();
    let skipped = |tail: String, channel| Incoming::TooLarge {
        head: head.clone(),
        tail: tail.into_bytes(),
        size: None,
        channel,
    };
    bench.receive(Ok(skipped(format!(r#"xx"}},"jsonrpc":"2.0","id":{}}}"#, of_last.id()), None)));
    bench.receive(Ok(skipped("xx".to_owned(), Some(RequestId(of_channel.id())))));
    let reason = "more than the 1000 bytes allowed".to_owned();
    for call in [last, channel] {
        let undecodable = Undecodable { reason: reason.clone(), head: head.clone() };
        bench.assert_unknown(call, Stage::Answered, Cause::Undecodable(undecodable));
    }

    bench.events();
    bench.receive(Ok(skipped("xx".to_owned(), None)));
    let flag = format!("skipped a message of {reason}");
    assert_eq!(diagnostics(&bench.events()), [(flag.as_str(), 1)]);
    bench.answer(&of_other, DONE);
    bench.assert_ok(other, DONE);
}

/// B094, openai/codex#37228 (br), python-sdk#2649 (zstd), ruby-mcp-client#45 (gzip), dsh-cost-meter#172:
/// compressed bytes were parsed as JSON.
#[test]
fn compressed_bytes_are_an_answer_that_cannot_be_read() {
    for body in [&b"\x1f\x8b\x08\x00"[..], b"\x28\xb5\x2f\xfd", b"\x0b\x02\x80\x03"] {
        let mut bench = Bench::up(Options::default());
        let (call, sent) = bench.pay();
        bench.deliver_on(sent.receipt.generation, Some(sent.id()), body);
        let Cause::Undecodable(Undecodable { reason, .. }) = bench.cause(call).clone() else {
            panic!("{:?}", bench.cause(call))
        };
        let cause = Cause::Undecodable(Undecodable { reason, head: body.to_vec() });
        bench.assert_unknown(call, Stage::Answered, cause);
    }
}
