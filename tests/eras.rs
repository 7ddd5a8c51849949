//! Two eras of MCP: servers of 2026-07-28, and those before, which nobody can tell apart without asking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{
    Bench, DISCOVERY, DONE, NOT_FOUND, Sent, diagnostics, discover, ended, failure, initialize, last, modern,
    ms, refusal, rpc_error,
};
use noreplay::protocol::revision::Revision;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::{Options, Ownership, Protocol, Recovery};
use noreplay::session::verdict::{Cause, Failure, FailureKind, HandshakeFailure, NotExecuted, Stage};
use noreplay::session::{Incoming, ToolCall};

fn probing() -> Bench {
    Bench::probing(Options::default(), Box::leak(Box::default()))
}

fn pinned(protocol: Protocol) -> Bench {
    Bench::new(Options { protocol, ..Options::default() })
}

#[test]
fn a_modern_server_is_discovered_and_then_called() {
    let mut bench = probing();
    let call = bench.call("pay");
    bench.connected(Ok(()));
    // Measured, server-everything: it executes a `tools/call` that comes before the handshake.
    assert_eq!(bench.sent_since(0), ["server/discover"]);
    let probe = last(&bench, "server/discover");
    assert!(probe.text.contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#), "{probe:?}");
    bench.answer(&probe, DISCOVERY);
    let sent = last(&bench, "tools/call");
    assert!(sent.text.contains(r#""io.modelcontextprotocol/clientCapabilities":{}"#), "{sent:?}");
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    let Some(Event::Connected(server)) = bench.session.poll_event() else { panic!("it is connected") };
    assert_eq!((server.protocol_version, server.name.as_str()), ("2026-07-28", "s"));
    assert_eq!(server.instructions.as_deref(), Some("hi"));
    assert_eq!(server.capabilities, r#"{"tools":{}}"#);

    // It is remembered, and asked again: that is its handshake.
    bench.lose(FailureKind::ConnectionReset);
    let call = bench.call("pay");
    discover(&mut bench);
    let sent = bench.last_of(call);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    assert_eq!((bench.count("initialize"), bench.count("notifications/initialized")), (0, 0));
}

/// B125: whatever an older server makes of the probe, it gets `initialize`, once, on the same connection.
#[test]
fn an_older_server_gets_initialize_on_the_same_connection() {
    let ways: [fn(&mut Bench, &Sent); 8] = [
        |bench, probe| bench.answer_error(probe, NOT_FOUND),
        |bench, probe| bench.answer_error(probe, r#"{"code":-32602,"message":"Invalid request parameters"}"#),
        |bench, probe| bench.answer_error(probe, "7"),
        |bench, probe| bench.answer(probe, "{}"),
        |bench, probe| {
            bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, probe.id()));
        },
        |bench, probe| bench.lose_answer(probe, ended()),
        |bench, probe| {
            let nobody = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request"},"id":null}"#;
            bench.sent(probe, Err(SendError::Refused(refusal(400, nobody))));
        },
        |bench, _| bench.advance(ms(3_000)),
    ];
    for (index, way) in ways.into_iter().enumerate() {
        let mut bench = probing();
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let probe = last(&bench, "server/discover");
        way(&mut bench, &probe);
        assert_eq!(bench.sent_since(0), ["server/discover", "initialize"], "{index}");
        // What comes too late changes nothing.
        bench.answer(&probe, DISCOVERY);
        initialize(&mut bench, "2025-11-25");
        let sent = last(&bench, "tools/call");
        assert!(!sent.text.contains("_meta"), "{sent:?}");
        bench.answer(&sent, DONE);
        bench.assert_ok(call, DONE);
        assert_eq!(bench.connects.len(), 1);
        // What it is, is remembered.
        bench.lose(FailureKind::Closed);
        bench.reconnect();
        bench.connected(Ok(()));
        last(&bench, "initialize");
        assert_eq!(bench.count("server/discover"), 1);
    }
}

/// Measured, python-sdk 2.3.0: what it was asked first decides on its era, and it may be slow to start.
#[test]
fn a_modern_server_that_is_slow_to_answer_is_asked_once_more() {
    let mut bench = probing();
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.advance(ms(3_000));
    let hello = last(&bench, "initialize");
    bench.answer(&probe, DISCOVERY);
    bench.answer_error(&hello, r#"{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}"#);
    let probe = last(&bench, "server/discover");
    bench.answer(&probe, DISCOVERY);
    let sent = last(&bench, "tools/call");
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    assert_eq!(bench.connects.len(), 1);
}

#[test]
fn a_refusal_that_says_nothing_of_the_server_is_tried_again() {
    for status in [401, 403, 429, 503] {
        let mut bench = probing();
        let ticket = bench.reconnect();
        for _ in 0..2 {
            bench.connected(Ok(()));
            let probe = last(&bench, "server/discover");
            bench.sent(&probe, Err(SendError::Refused(refusal(status, ""))));
            bench.advance(ms(1_000));
        }
        discover(&mut bench);
        assert!(bench.reconnected(ticket).is_some_and(Result::is_ok), "{status}");
        assert_eq!((bench.count("server/discover"), bench.count("initialize")), (3, 0));
    }
}

#[test]
fn a_probe_that_was_not_sent_is_no_connection() {
    let mut bench = probing();
    let call = bench.call("pay");
    for _ in 0..3 {
        bench.connected(Ok(()));
        let probe = last(&bench, "server/discover");
        bench.sent(&probe, Err(SendError::NotSent(failure(FailureKind::ConnectionRefused))));
        bench.advance(ms(1_000));
    }
    bench.assert_not_executed(0, call, NotExecuted::ConnectFailed(failure(FailureKind::ConnectionRefused)));
}

/// B125: some older servers end at a word that they do not know.
#[test]
fn a_connection_that_ends_on_the_probe_gives_way_to_one_that_begins_with_initialize() {
    let recovery = Recovery { attempts: 1, ..Options::default().recovery };
    for how in 0..3 {
        let options = Options { recovery: recovery.clone(), ..Options::default() };
        let mut bench = Bench::probing(options, Box::leak(Box::default()));
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let probe = last(&bench, "server/discover");
        match how {
            0 => bench.receive(Ok(Incoming::End)),
            1 => bench.lose(FailureKind::ConnectionReset),
            _ => bench.sent(&probe, Err(SendError::Unknown(failure(FailureKind::ConnectionReset)))),
        }
        // At once: this does not count as a try that failed.
        assert_eq!((bench.connects.len(), bench.disconnects.len()), (2, 1));
        bench.connected(Ok(()));
        initialize(&mut bench, "2025-06-18");
        let sent = bench.last_of(call);
        bench.answer(&sent, DONE);
        bench.assert_ok(call, DONE);
        assert_eq!(bench.count("server/discover"), 1);
    }
    // A server that always ends is not tried for ever.
    let mut bench = probing();
    let call = bench.call("pay");
    while !bench.verdicts.contains_key(&call) {
        bench.connected(Ok(()));
        bench.receive(Ok(Incoming::End));
        bench.advance(ms(1_000));
    }
    assert_eq!(bench.connects.len(), 6);
    // Its owner decides on another connection, which then begins with `initialize`.
    let options = Options { ownership: Ownership::CallerManaged, ..Options::default() };
    let mut bench = Bench::probing(options, Box::leak(Box::default()));
    let ticket = bench.reconnect();
    bench.connected(Ok(()));
    bench.receive(Ok(Incoming::End));
    bench.advance(ms(60_000));
    assert_eq!(bench.connects.len(), 1);
    assert!(bench.reconnected(ticket).is_some_and(Result::is_err));
    bench.reconnect();
    bench.connected(Ok(()));
    last(&bench, "initialize");
}

/// B124: an error that only a modern server has is no reason to fall back.
#[test]
fn a_modern_error_names_what_is_spoken() {
    let unsupported = |supported: &str| {
        format!(r#"{{"code":-32022,"message":"Unsupported","data":{{"supported":{supported}}}}}"#)
    };
    // In an answer, and in the body of a refusal, whatever id that bears.
    for (refused, id) in [(false, true), (true, true), (true, false)] {
        let tell = |bench: &mut Bench, probe: &Sent, error: &str| {
            let id = if id { probe.id().to_string() } else { "null".to_owned() };
            match refused {
                false => bench.answer_error(probe, error),
                true => {
                    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                    bench.sent(probe, Err(SendError::Refused(refusal(400, &body))));
                }
            }
        };
        // An older revision is spoken as the older servers speak it.
        let mut bench = probing();
        let ticket = bench.reconnect();
        bench.connected(Ok(()));
        let probe = last(&bench, "server/discover");
        tell(&mut bench, &probe, &unsupported(r#"["2027-01-01","2025-03-26","2025-06-18"]"#));
        assert!(last(&bench, "initialize").text.contains(r#""protocolVersion":"2025-06-18""#));
        initialize(&mut bench, "2025-06-18");
        assert!(bench.reconnected(ticket).is_some_and(Result::is_ok));

        // It names just what it refused: it is asked once more, and no more.
        let mut bench = probing();
        let call = bench.call("pay");
        bench.connected(Ok(()));
        for _ in 0..2 {
            let probe = last(&bench, "server/discover");
            tell(&mut bench, &probe, &unsupported(r#"["2026-07-28"]"#));
        }
        assert_eq!(bench.sent_since(0), ["server/discover", "server/discover"]);
        let mut told = rpc_error(-32022, "Unsupported");
        told.data = Some(r#"{"supported":["2026-07-28"]}"#.to_owned());
        let reason = "the server refused it: Unsupported (-32022)";
        let failure = HandshakeFailure { error: Some(told), ..HandshakeFailure::new(reason) };
        bench.assert_not_executed(0, call, NotExecuted::HandshakeFailed(failure));

        // Nothing that this client speaks, or nothing at all.
        for error in [
            unsupported(r#"["2027-01-01"]"#).as_str(),
            r#"{"code":-32022,"message":"Unsupported"}"#,
            r#"{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{}}}"#,
            r#"{"code":-32020,"message":"header mismatch"}"#,
        ] {
            let mut bench = probing();
            let call = bench.call("pay");
            bench.connected(Ok(()));
            let probe = last(&bench, "server/discover");
            tell(&mut bench, &probe, error);
            assert_eq!(bench.sent_since(0), ["server/discover"]);
            assert!(matches!(bench.not_executed(call), NotExecuted::HandshakeFailed(_)), "{error}");
        }
    }
}

#[test]
fn a_discovery_of_older_revisions_leads_to_initialize() {
    let mut bench = probing();
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer(&probe, r#"{"supportedVersions":["2025-06-18","2024-11-05"]}"#);
    assert!(last(&bench, "initialize").text.contains(r#""protocolVersion":"2025-06-18""#));
    initialize(&mut bench, "2025-06-18");
    bench.assert_pending(call);
    let mut bench = probing();
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer(&probe, r#"{"supportedVersions":["2030-01-01"]}"#);
    assert!(matches!(bench.not_executed(call), NotExecuted::HandshakeFailed(_)));
}

/// What was remembered proves wrong: the server was replaced by one of the other era.
#[test]
fn the_era_is_asked_for_again_when_it_proves_wrong() {
    let mut bench = modern(Options::default());
    bench.lose(FailureKind::Closed);
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer_error(&probe, NOT_FOUND);
    initialize(&mut bench, "2025-11-25");
    bench.assert_pending(call);

    for error in [r#"{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}"#, NOT_FOUND]
    {
        bench.lose(FailureKind::Closed);
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let hello = last(&bench, "initialize");
        bench.answer_error(&hello, error);
        let probe = last(&bench, "server/discover");
        bench.answer(&probe, DISCOVERY);
        bench.assert_pending(call);
        // And once more.
        bench.lose(FailureKind::Closed);
        bench.reconnect();
        bench.connected(Ok(()));
        let probe = last(&bench, "server/discover");
        bench.answer_error(&probe, NOT_FOUND);
        initialize(&mut bench, "2025-11-25");
    }

    // Both are denied: that is the end, not a circle.
    let recovery = Recovery { attempts: 1, ..Options::default().recovery };
    let options = Options { recovery, ..Options::default() };
    let mut bench = Bench::probing(options, Box::leak(Box::default()));
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer_error(&probe, NOT_FOUND);
    let hello = last(&bench, "initialize");
    bench.answer_error(&hello, NOT_FOUND);
    assert_eq!(bench.sent_since(0), ["server/discover", "initialize"]);
    assert!(matches!(bench.not_executed(call), NotExecuted::HandshakeFailed(_)));
}

/// B124: a server that names an older revision which it speaks is offered that, once.
#[test]
fn initialize_offers_what_the_server_says_it_speaks() {
    let mut bench = probing();
    let call = bench.call("pay");
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer_error(&probe, NOT_FOUND);
    let error =
        r#"{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"]}}"#;
    let hello = last(&bench, "initialize");
    bench.answer_error(&hello, error);
    let hello = last(&bench, "initialize");
    assert!(hello.text.contains(r#""protocolVersion":"2024-11-05""#));
    bench.answer_error(&hello, error);
    assert_eq!(bench.count("initialize"), 2);
    assert!(matches!(bench.not_executed(call), NotExecuted::HandshakeFailed(_)));
}

#[test]
fn the_caller_may_say_which_revision() {
    let mut bench = pinned(Protocol::Only(Revision::V2025_06_18));
    bench.reconnect();
    bench.connected(Ok(()));
    assert!(last(&bench, "initialize").text.contains(r#""protocolVersion":"2025-06-18""#));

    // Nothing older than that: neither after an error nor after a silence.
    let mut bench = pinned(Protocol::Only(Revision::V2026_07_28));
    let ticket = bench.reconnect();
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer_error(&probe, NOT_FOUND);
    assert_eq!(bench.sent_since(0), ["server/discover"]);
    let Some(Err(NotExecuted::HandshakeFailed(failed))) = bench.reconnected(ticket) else {
        panic!("it failed")
    };
    assert_eq!(failed.error, Some(rpc_error(-32601, "Method not found")));
    let mut bench = pinned(Protocol::Only(Revision::V2026_07_28));
    bench.reconnect();
    bench.connected(Ok(()));
    bench.advance(ms(29_000));
    assert_eq!((bench.sent_since(0), bench.disconnects.len()), (vec!["server/discover"], 0));
    bench.advance(ms(1_000));
    assert_eq!((bench.sent_since(0), bench.disconnects.len()), (vec!["server/discover"], 1));

    // What nobody speaks is not even connected for.
    let mut bench = pinned(Protocol::Unknown("2030-01-01".to_owned()));
    let reason = "this client does not speak the protocol revision `2030-01-01`";
    let reason = NotExecuted::HandshakeFailed(HandshakeFailure::new(reason));
    let call = ToolCall { name: "pay".to_owned(), ..ToolCall::default() };
    assert_eq!(bench.try_call(call), Err(reason.clone()));
    let ticket = bench.reconnect();
    assert_eq!(bench.reconnected(ticket), Some(&Err(reason)));
    assert_eq!(bench.connects, []);
}

#[test]
fn a_silent_server_is_given_up_within_the_time_to_connect() {
    let mut options = Options::default();
    options.timing.connect = ms(2_000);
    options.recovery.attempts = 1;
    let mut bench = Bench::probing(options, Box::leak(Box::default()));
    let call = bench.call("pay");
    bench.connected(Ok(()));
    bench.advance(ms(1_000));
    last(&bench, "initialize");
    assert_eq!(bench.abandoned.len(), 1);
    bench.advance(ms(1_000));
    let failure = HandshakeFailure {
        failure: Some(Failure::new(FailureKind::TimedOut, "the handshake took too long")),
        ..HandshakeFailure::new("the answer to `initialize` did not come in time")
    };
    bench.assert_not_executed(0, call, NotExecuted::HandshakeFailed(failure));
}

/// B118: one `notifications/cancelled`, and over HTTP the end of the request's own stream.
#[test]
fn a_modern_cancel_ends_the_stream_of_its_request() {
    for times_out in [false, true] {
        let mut bench = modern(Options::default());
        let (call, sent) = bench.pay();
        if times_out {
            bench.advance(ms(60_000));
        } else {
            bench.cancel(call);
        }
        assert_eq!(bench.count("notifications/cancelled"), 1);
        assert_eq!(bench.abandoned, [sent.id()]);
        bench.assert_unknown(
            call,
            Stage::HandedOver,
            if times_out { Cause::TimedOut } else { Cause::Cancelled },
        );
    }
    // Before, the end of a stream is no cancel.
    let mut bench = Bench::up(Options::default());
    let (call, _) = bench.pay();
    bench.cancel(call);
    assert_eq!((bench.count("notifications/cancelled"), bench.abandoned.len()), (1, 0));
}

/// A transport that keeps an exchange open for an answer is told when nobody waits for it any more.
#[test]
fn what_is_forgotten_is_abandoned() {
    let mut options = Options::default();
    options.limits.events = 2;
    let mut bench = Bench::up(options);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (call, sent) = bench.pay();
        bench.cancel(call);
        ids.push(sent.id());
    }
    assert_eq!(bench.abandoned, ids[..1]);
}

/// P6: a server that has no time for one call keeps the connection, and the others on it.
#[test]
fn a_refusal_for_want_of_time_hurts_one_call() {
    for status in [429, 503] {
        let mut bench = modern(Options::default());
        let (refused, sent) = bench.pay();
        let (other, others) = bench.pay();
        let told = refusal(status, "");
        bench.sent(&sent, Err(SendError::Refused(told.clone())));
        bench.assert_unknown(refused, Stage::HandedOver, Cause::Refused(told));
        bench.answer(&others, DONE);
        bench.assert_ok(other, DONE);
        bench.pay();
        assert_eq!((bench.connects.len(), bench.disconnects.len()), (1, 0));
    }
}

#[test]
fn a_modern_server_asks_for_nothing() {
    let mut bench = modern(Options::default());
    let mark = bench.wire.len();
    bench.deliver(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(bench.wire.len(), mark);
    assert_eq!(diagnostics(&bench.events()).len(), 1);
}

/// Meta that the client writes itself cannot be the caller's.
#[test]
fn the_caller_cannot_speak_for_the_client() {
    let mut bench = modern(Options::default());
    for name in ["protocolVersion", "clientCapabilities", "clientInfo"] {
        let call = ToolCall {
            name: "pay".to_owned(),
            meta: Some(format!(r#"{{"io.modelcontextprotocol/{name}":{{}}}}"#)),
            ..ToolCall::default()
        };
        assert!(matches!(bench.try_call(call), Err(NotExecuted::InvalidCall(_))), "{name}");
    }
}

/// A tool whose marks are wrong is left out; the marks of the others become headers of their calls.
#[test]
fn marked_arguments_are_headers_once_the_tools_were_listed() {
    const TOOLS: &str = r#"{"tools":[
        {"name":"pay","inputSchema":{"properties":{"to":{"type":"string","x-mcp-header":"To"}}}},
        {"name":"bad","inputSchema":{"properties":{"to":{"type":"number","x-mcp-header":"To"}}}},
        {"name":"plain","inputSchema":{}}]}"#;
    let mut bench = modern(Options::default());
    let call = |name: &str| ToolCall {
        name: name.to_owned(),
        arguments: Some(r#"{"to":"me"}"#.to_owned()),
        ..ToolCall::default()
    };
    let names = |sent: &Sent| sent.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let before = bench.call_with(call("pay"));
    assert_eq!(names(&bench.last_of(before)), ["Mcp-Method", "Mcp-Name"]);
    let ticket = bench.list_tools();
    let list = last(&bench, "tools/list");
    assert_eq!(list.headers, [("Mcp-Method".to_owned(), "tools/list".to_owned())]);
    bench.answer(&list, TOOLS);
    let Some(Ok(tools)) = bench.tools(ticket) else { panic!("they are listed") };
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["pay", "plain"]);
    assert_eq!(diagnostics(&bench.events()).len(), 1);
    let after = bench.call_with(call("pay"));
    let headers = &bench.last_of(after).headers;
    assert_eq!(headers.last(), Some(&("Mcp-Param-To".to_owned(), "me".to_owned())));
    let plain = bench.call_with(call("plain"));
    assert_eq!(names(&bench.last_of(plain)), ["Mcp-Method", "Mcp-Name"]);

    // Before 2026-07-28 they mean nothing.
    let mut bench = Bench::up(Options::default());
    let ticket = bench.list_tools();
    let list = last(&bench, "tools/list");
    bench.answer(&list, TOOLS);
    assert_eq!(bench.tools(ticket).unwrap().as_ref().unwrap().len(), 3);
    let call = bench.call_with(call("pay"));
    assert_eq!(names(&bench.last_of(call)), Vec::<String>::new());
}

/// Whoever hears of it late does not begin anew what has no time left.
#[test]
fn a_probe_that_took_all_the_time_is_the_end_of_the_try() {
    let mut options = Options::default();
    options.recovery.attempts = 1;
    let mut bench = Bench::probing(options, Box::leak(Box::default()));
    let call = bench.call("pay");
    bench.connected(Ok(()));
    bench.now = bench.now + ms(30_000);
    bench.enter(|session, now| session.tick(now));
    assert_eq!((bench.count("server/discover"), bench.count("initialize")), (1, 0));
    assert!(matches!(bench.verdict(call), Err(NotExecuted::HandshakeFailed(_))));
}

/// A server that denied `initialize`, and then says nothing of what it is, does not get it once more.
#[test]
fn a_server_that_denied_initialize_does_not_get_it_again() {
    let mut options = Options::default();
    options.recovery.attempts = 1;
    let mut bench = Bench::probing(options, Box::leak(Box::default()));
    let call = bench.call("pay");
    bench.connected(Ok(()));
    bench.advance(ms(3_000));
    let initialize = last(&bench, "initialize");
    bench.answer_error(&initialize, r#"{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}"#);
    // Nothing comes after this, so that it has all the time that is left.
    bench.advance(ms(20_000));
    let again = last(&bench, "server/discover");
    assert!(bench.is_pending(call));
    bench.answer_error(&again, NOT_FOUND);
    assert!(matches!(bench.verdict(call), Err(NotExecuted::HandshakeFailed(_))));
    assert_eq!((bench.count("server/discover"), bench.count("initialize")), (2, 1));
}
