//! Group I of the public reports: what goes on beside the answer. Notifications, the server's own requests,
//! progress, cancels, pages and revisions: none of it holds an answer up, grows without bound, or moves a
//! call that it is not about.
#![allow(clippy::unwrap_used, reason = "so a test fails")]

mod harness;

use std::time::Duration;

use harness::{Bench, DONE, diagnostics, failure, ms, rpc_error};
use noreplay::protocol::revision::Revision;
use noreplay::session::event::{Event, Notification, Progress};
use noreplay::session::evidence::SendError;
use noreplay::session::policy::Options;
use noreplay::session::verdict::{
    CallId, Cause, FailureKind, HandshakeFailure, NotExecuted, ReadError, Refusal, Stage,
};
use noreplay::session::{Delivery, Incoming, Ticket, ToolCall};

/// B111, bigduu/Bamboo-agent#352 and #363, topcheer/ggcode#38 and #124: a hundred notifications that nobody
/// read blocked the answer.
#[test]
fn notifications_that_nobody_reads_hold_nothing_up() {
    let mut bench = Bench::up(Options::default());
    let (call, sent) = bench.pay();
    bench.events();
    for n in 0..100_000 {
        bench
            .deliver(format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"n":{n}}}}}"#));
    }
    bench.assert_pending(call);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    let events = bench.events();
    assert_eq!((events.len(), &events[0]), (257, &Event::Dropped(100_000 - 256)));
    let last = Event::Notification(Notification {
        method: "notifications/message".to_owned(),
        params: Some(r#"{"n":99999}"#.to_owned()),
    });
    assert_eq!(events[256], last);
}

/// B112, microsoft/agent-framework#4896 and #4898: `list_changed` was handled with a list, on a session that
/// was busy.
#[test]
fn a_changed_list_is_told_and_not_fetched() {
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    let mark = bench.wire.len();
    bench.events();
    bench.deliver(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    let changed = Event::Notification(Notification {
        method: "notifications/tools/list_changed".to_owned(),
        params: None,
    });
    assert_eq!((bench.events(), bench.wire.len()), (vec![changed], mark));
    bench.assert_pending(call);
}

/// B113, modelcontextprotocol#907 and github/app#4009: the server asked for something and both waited. B115,
/// sandialabs/atlas-ui-3#295: what it asked for was given to the wrong call. Nothing is guessed here: each
/// such request is refused on the connection that it came on.
#[test]
fn a_request_of_the_servers_is_answered_at_once() {
    let mut bench = Bench::up(Options::default());
    let ((first, of_first), (second, _)) = (bench.pay(), bench.pay());
    for (id, method) in [
        ("\"s1\"", "sampling/createMessage"),
        ("8", "elicitation/create"),
        ("-1.5", "roots/list"),
        ("{\"a\":[1]}", "x"),
    ] {
        bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#));
        let answer = bench.wire.last().unwrap().clone();
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"not supported by this client"}}}}"#
        );
        assert_eq!(answer.text, expected);
        assert_eq!(answer.receipt.generation, of_first.receipt.generation);
        bench.assert_pending(first);
        bench.assert_pending(second);
    }
    bench.deliver(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    assert_eq!(bench.wire.last().unwrap().text, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    bench.answer(&of_first, DONE);
    bench.assert_ok(first, DONE);
}

fn with_progress(timeout: Duration) -> ToolCall {
    let timeout = Some(timeout);
    ToolCall { name: "pay".to_owned(), progress: true, timeout, ..ToolCall::default() }
}

fn progress(token: impl std::fmt::Display, progress: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
}

/// Progress comes on the connection of its request, and not on the channel of another.
#[test]
fn progress_that_comes_the_wrong_way_is_nobodys() {
    let mut bench = Bench::up(Options::default());
    let call = bench.call_with(with_progress(ms(60_000)));
    let sent = bench.last_of(call);
    let (_, of_other) = bench.pay();
    // The connection takes no more calls, and lingers for the answers to these.
    let third = bench.call("pay");
    let refused = bench.last_of(third);
    bench.sent(&refused, Err(SendError::NotSent(failure(FailureKind::Closed))));
    bench.handshake();
    bench.events();
    let (old, new) = (sent.receipt.generation, bench.generation());
    let stage = |bench: &Bench| bench.session.pending()[0].stage;
    for (generation, channel) in [(old, Some(of_other.id())), (new, None), (new, Some(sent.id()))] {
        bench.deliver_on(generation, channel, progress(sent.id(), 1));
        assert!(matches!(bench.events()[..], [Event::Notification(_)]), "{generation:?} {channel:?}");
        assert_eq!(stage(&bench), Stage::HandingOver, "{generation:?} {channel:?}");
    }
    bench.deliver_on(old, Some(sent.id()), progress(sent.id(), 1));
    assert!(matches!(bench.events()[..], [Event::Progress(_)]));
    assert_eq!(stage(&bench), Stage::Answering);
}

/// A caller may have a token of its own, which may be the id of another call: who asked for no progress has
/// none.
#[test]
fn progress_of_a_callers_own_token_is_no_other_calls() {
    let mut bench = Bench::up(Options::default());
    let own = ToolCall { meta: Some(r#"{"progressToken":3}"#.to_owned()), ..ToolCall::default() };
    bench.call_with(own);
    let (call, sent) = bench.pay();
    assert_eq!(sent.id(), 3);
    bench.events();
    bench.deliver(progress(3, 1));
    let notification = Notification {
        method: "notifications/progress".to_owned(),
        params: Some(r#"{"progressToken":3,"progress":1}"#.to_owned()),
    };
    assert_eq!(bench.events(), [Event::Notification(notification)]);
    let pending = bench.session.pending().into_iter().find(|pending| pending.call == call);
    assert_eq!(pending.unwrap().stage, Stage::HandedOver);
}

/// B116, opencode#21701 and #24964, typescript-sdk#1870: no token was sent, so that no progress came.
#[test]
fn progress_comes_to_whom_asked_for_it() {
    let mut bench = Bench::up(Options::default());
    let (_, silent) = bench.pay();
    assert!(!silent.text.contains("progressToken"), "{}", silent.text);
    let call = bench.call_with(with_progress(ms(60_000)));
    let sent = bench.last_of(call);
    assert!(sent.text.contains(&format!(r#""_meta":{{"progressToken":{}}}"#, sent.id())), "{}", sent.text);
    bench.sent(&sent, Ok(Delivery::HandedOver));
    bench.events();

    bench.deliver(progress(sent.id(), 1));
    let params = format!(r#"{{"progressToken":{},"progress":1}}"#, sent.id());
    assert_eq!(bench.events(), [Event::Progress(Progress { call, params })]);
    let stage = |bench: &Bench, of: CallId| {
        let pending = bench.session.pending();
        pending.into_iter().find(|pending| pending.call == of).map(|pending| pending.stage)
    };
    assert_eq!(stage(&bench, call), Some(Stage::Answering));

    // A token of nobody's, or of somebody's who has ended, is a notification like any other.
    bench.answer(&sent, DONE);
    for token in ["0".to_owned(), "\"t\"".to_owned(), "null".to_owned(), sent.id().to_string()] {
        bench.events();
        bench.deliver(progress(&token, 2));
        assert!(matches!(bench.events()[..], [Event::Notification(_)]), "{token}");
    }
    bench.assert_ok(call, DONE);
}

/// B117, typescript-sdk#152 and can1357/oh-my-pi#12259: progress put the timeout off for ever.
#[test]
fn progress_puts_no_call_off_for_ever() {
    for (extends, ends_at) in [(false, 5), (true, 20)] {
        let mut options = Options::default();
        options.timing.progress_extends = extends;
        options.timing.cap = Duration::from_secs(20);
        let mut bench = Bench::up(options);
        let call = bench.call_with(with_progress(Duration::from_secs(5)));
        let sent = bench.last_of(call);
        bench.sent(&sent, Ok(Delivery::HandedOver));
        let mut seconds = 0;
        while bench.is_pending(call) && seconds < 100 {
            bench.deliver(progress(sent.id(), seconds));
            bench.advance(Duration::from_secs(1));
            seconds += 1;
        }
        assert_eq!(seconds, ends_at);
        bench.assert_unknown(call, Stage::Answering, Cause::TimedOut);
    }
}

/// B118, topcheer/ggcode#2490, modelcontextprotocol#418: no cancel after a timeout. goose: that the cancel
/// could not be sent took the verdict's place.
#[test]
fn a_call_given_up_is_cancelled_once_whatever_becomes_of_the_cancel() {
    for by_caller in [true, false] {
        for failed in [false, true] {
            let mut bench = Bench::up(Options::default());
            let (call, sent) = bench.pay();
            let (other, of_other) = bench.pay();
            if by_caller {
                assert!(bench.cancel(call));
                assert!(!bench.cancel(call), "it has its verdict");
            } else {
                bench.advance(ms(59_999));
                bench.answer(&of_other, DONE);
                bench.advance(ms(1));
            }
            let cause = if by_caller { Cause::Cancelled } else { Cause::TimedOut };
            bench.assert_unknown(call, Stage::HandedOver, cause.clone());
            let cancelled = bench.wire.last().unwrap().clone();
            let reason = if by_caller { "cancelled" } else { "deadline" };
            let expected = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"{reason}"}}}}"#,
                sent.id()
            );
            assert_eq!((bench.count("notifications/cancelled"), cancelled.text.clone()), (1, expected));
            if failed {
                bench.sent(&cancelled, Err(SendError::Unknown(failure(FailureKind::ConnectionReset))));
            }
            bench.assert_unknown(call, Stage::HandedOver, cause);
            if by_caller {
                bench.answer(&of_other, DONE);
            }
            bench.assert_ok(other, DONE);
        }
    }
}

/// B118, java-sdk#803: `initialize` was cancelled.
#[test]
fn initialize_is_never_cancelled() {
    let mut bench = Bench::new(Options::default());
    let call = bench.call("pay");
    bench.connected(Ok(()));
    bench.cancel(call);
    bench.advance(ms(3_600_000));
    bench.close();
    assert_eq!(bench.count("notifications/cancelled"), 0);
    assert_eq!(bench.count("tools/call"), 0);
}

/// Begins a list, and answers with these cursors, one a page.
fn listed(cursors: impl IntoIterator<Item = String>) -> (Bench, Ticket) {
    let mut bench = Bench::up(Options::default());
    let ticket = bench.list_tools();
    for (index, cursor) in cursors.into_iter().enumerate() {
        if bench.tools(ticket).is_some() {
            break;
        }
        let page = bench.wire.last().unwrap().clone();
        assert_eq!(page.method, "tools/list");
        bench.answer(&page, &format!(r#"{{"tools":[{{"name":"t{index}"}}],"nextCursor":{cursor}}}"#));
    }
    (bench, ticket)
}

/// B121, codebase-memory-mcp#1247, java-sdk#628, csharp-sdk#1072, ChesterRa/cccc#50, rmcp: a cursor that came
/// again was followed for ever.
#[test]
fn pages_that_do_not_end_are_an_error() {
    for (cursors, pages) in [(vec!["x", "x"], 2), (vec!["x", "y", "x"], 3), (vec!["", ""], 2)] {
        let (bench, ticket) = listed(cursors.iter().cycle().take(50).map(|cursor| format!("\"{cursor}\"")));
        let endless = Err(ReadError::Endless("the server repeats a cursor".to_owned()));
        assert_eq!((bench.tools(ticket), bench.count("tools/list")), (Some(&endless), pages), "{cursors:?}");
    }
    let (bench, ticket) = listed((0..5_000).map(|n| format!("\"{n}\"")));
    let endless = Err(ReadError::Endless("the list has more than 1000 pages".to_owned()));
    assert_eq!((bench.tools(ticket), bench.count("tools/list")), (Some(&endless), 1000));
}

/// B121, openai-agents-python#4086: a page was added twice.
#[test]
fn each_page_is_added_once_in_order() {
    let cursors = ["\"a\"", "\"\"", "null"].map(str::to_owned);
    let (bench, ticket) = listed(cursors);
    let tools = bench.tools(ticket).unwrap().as_ref().unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["t0", "t1", "t2"]);
    let asked: Vec<_> = bench.wire.iter().filter(|sent| sent.method == "tools/list").collect();
    assert!(!asked[0].text.contains("cursor"), "{}", asked[0].text);
    assert!(asked[1].text.ends_with(r#""params":{"cursor":"a"}}"#), "{}", asked[1].text);
    assert!(asked[2].text.ends_with(r#""params":{"cursor":""}}"#), "{}", asked[2].text);
}

/// B123, googleapis/mcp-toolbox#3834: `initialize` met -32601. B124, gtapps/claude-code-hermit#912,
/// feichai0017/NoKV#384: or -32602, with or without data. No call goes out, and the error is told whole.
#[test]
fn a_handshake_that_is_refused_sends_no_call() {
    for (error, told) in [
        (r#"{"code":-32601,"message":"Method not found"}"#, rpc_error(-32601, "Method not found")),
        (r#"{"code":-32602,"message":"Unsupported"}"#, rpc_error(-32602, "Unsupported")),
        (r#"{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}"#, {
            let mut told = rpc_error(-32022, "Unsupported");
            told.data = Some(r#"{"supported":["2026-07-28"]}"#.to_owned());
            told
        }),
    ] {
        let mut bench = Bench::new(Options::default());
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let initialize = bench.wire.last().unwrap().clone();
        bench.answer_error(&initialize, error);
        let reason = format!("the server refused it: {} ({})", told.message, told.code);
        let failure = HandshakeFailure { error: Some(told), ..HandshakeFailure::new(&reason) };
        bench.assert_not_executed(0, call, NotExecuted::HandshakeFailed(failure));
        assert_eq!(bench.disconnects.len(), 1);
    }
}

/// B124, over HTTP: the error comes as the body of a refusal, and is the answer all the same (row 11).
#[test]
fn a_handshake_refused_by_a_status_keeps_the_error_in_its_body() {
    let mut bench = Bench::new(Options::default());
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let initialize = bench.wire.last().unwrap().clone();
    let error = r#"{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, initialize.id());
    bench.sent(&initialize, Err(SendError::Refused(harness::refusal(400, &body))));
    let NotExecuted::HandshakeFailed(failed) = bench.not_executed(call) else {
        panic!("{:?}", bench.not_executed(call))
    };
    let mut told = rpc_error(-32022, "Unsupported");
    told.data = Some(r#"{"supported":["2026-07-28"]}"#.to_owned());
    assert_eq!(failed.error, Some(told));
    bench.assert_sent(0, call);
    // Another body says no more than the status does, which may pass: it is tried again, and kept.
    let mut bench = Bench::new(Options::default());
    let ticket = bench.reconnect();
    let mut last = None;
    for status in [401, 503, 400] {
        bench.connected(Ok(()));
        let initialize = bench.wire.last().unwrap().clone();
        assert_eq!(bench.reconnected(ticket), None);
        let refusal =
            Refusal { www_authenticate: Some("Bearer".into()), ..harness::refusal(status, "<html>") };
        bench.sent(&initialize, Err(SendError::Refused(refusal.clone())));
        last = Some(refusal);
        bench.advance(ms(1_000));
    }
    let failure = HandshakeFailure {
        refusal: last,
        ..HandshakeFailure::new("its message was refused with status 400")
    };
    assert_eq!(bench.reconnected(ticket), Some(&Err(NotExecuted::HandshakeFailed(failure))));
}

/// Over HTTP, the first message is what connects: one of which nothing left is no handshake that failed.
#[test]
fn a_first_message_that_was_not_sent_is_no_connection() {
    let mut bench = Bench::new(Options::default());
    let call = bench.call("pay");
    for _ in 0..3 {
        bench.connected(Ok(()));
        let initialize = bench.wire.last().unwrap().clone();
        bench.sent(&initialize, Err(SendError::NotSent(failure(FailureKind::ConnectionRefused))));
        bench.advance(ms(1_000));
    }
    bench.assert_not_executed(0, call, NotExecuted::ConnectFailed(failure(FailureKind::ConnectionRefused)));
}

/// B125, go-sdk, rust-sdk: a server of before 2026-07-28 met a probe that it does not know, and answered with
/// an error or a text, kept silent, or ended. Where the caller says that it is older, nothing goes before
/// `initialize`, and no call instead of it.
#[test]
fn a_server_that_is_said_to_be_older_is_not_probed() {
    for reaction in ["error", "text", "silence", "end"] {
        let mut options = Options::default();
        options.recovery.attempts = 1;
        let mut bench = Bench::new(options);
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let first = bench.wire[0].clone();
        assert_eq!(first.method, "initialize");
        match reaction {
            "error" => bench.answer_error(&first, r#"{"code":-32601,"message":"Method not found"}"#),
            "text" => bench.deliver("Bad Request: unknown method"),
            "silence" => {}
            _ => bench.receive(Ok(Incoming::End)),
        }
        // Whatever is no answer is waited out, for as long as connecting may take.
        bench.advance(Options::default().timing.connect);
        assert!(matches!(bench.not_executed(call), NotExecuted::HandshakeFailed(_)), "{reaction}");
        assert_eq!(bench.sent_since(0), ["initialize"], "{reaction}");
    }
}

/// B124, corezoid#98, opendigitalproductfactory#705: the server answers with another revision.
#[test]
fn only_a_known_revision_makes_a_session() {
    for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
        let mut bench = Bench::new(Options::default());
        let ticket = bench.reconnect();
        bench.handshake_of(revision.as_str());
        assert_eq!(bench.reconnected(ticket).unwrap().as_ref().unwrap().protocol_version, revision.as_str());
    }
    for (revision, told) in [
        (r#""2023-01-01""#, "the server speaks the protocol revision `2023-01-01`"),
        (r#""2026-07-28""#, "the server speaks the protocol revision `2026-07-28`"),
        (r#""DRAFT""#, "the server speaks the protocol revision `DRAFT`"),
        ("7", "the answer to `initialize` names no protocol revision"),
    ] {
        let mut bench = Bench::new(Options::default());
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let initialize = bench.wire.last().unwrap().clone();
        bench.answer(&initialize, &format!(r#"{{"protocolVersion":{revision}}}"#));
        let NotExecuted::HandshakeFailed(failed) = bench.not_executed(call) else {
            panic!("{:?}", bench.not_executed(call))
        };
        assert!(failed.reason.starts_with(told), "{}", failed.reason);
        bench.assert_sent(0, call);
        assert_eq!(bench.disconnects.len(), 1);
    }
}

/// B127, rmcp: each request waited for the one before it, and a cancel for the call that it was to cancel.
#[test]
fn a_send_under_way_holds_up_neither_calls_nor_cancels() {
    let mut bench = Bench::up(Options::default());
    let slow = bench.call("pay");
    bench.advance(ms(1_000));
    let quick = bench.call("pay");
    let sent = bench.last_of(quick);
    bench.answer(&sent, DONE);
    bench.assert_ok(quick, DONE);
    bench.cancel(slow);
    assert_eq!(bench.wire.last().unwrap().method, "notifications/cancelled");
    bench.assert_unknown(slow, Stage::HandingOver, Cause::Cancelled);
    assert_eq!(diagnostics(&bench.events()), []);
}
