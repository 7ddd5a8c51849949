//! Lists while they are fresh: what they answer from memory, and which calls they rule out. That a call is
//! refused here is evidence of grade A (contract, section 3, row 1): its message never left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{Bench, DISCOVERY, DONE, discover, last, modern, ms};
use noreplay::protocol::list::Listing;
use noreplay::protocol::revision::Revision;
use noreplay::session::policy::{Options, Protocol};
use noreplay::session::reads::Read;
use noreplay::session::verdict::{FailureKind, NotExecuted};
use noreplay::session::{Delivery, ToolCall};

const PAY: &str = r#"{"name":"pay"}"#;

fn named(name: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), ..ToolCall::default() }
}

fn trusting(rely_on_lists: bool) -> Options {
    Options { rely_on_lists, ..Options::default() }
}

/// Lists the tools of a server that gives them so much time, if it does.
fn list(bench: &mut Bench, tools: &str, ttl: &str) {
    let ticket = bench.list_tools();
    let sent = last(bench, "tools/list");
    bench.answer(&sent, &format!(r#"{{"tools":[{tools}]{ttl}}}"#));
    assert!(bench.tools(ticket).unwrap().is_ok());
}

/// Whether a call of this tool is sent.
fn goes_out(bench: &mut Bench, tool: &str) -> bool {
    let sent = bench.count("tools/call");
    match bench.try_call(named(tool)) {
        Ok(call) => {
            assert_eq!(bench.count("tools/call"), sent + 1);
            let sent = bench.last_of(call);
            bench.sent(&sent, Ok(Delivery::HandedOver));
            bench.answer(&sent, DONE);
            true
        }
        Err(reason) => {
            assert!(matches!(reason, NotExecuted::InvalidCall(_)), "{reason:?}");
            assert_eq!(bench.count("tools/call"), sent);
            false
        }
    }
}

#[test]
fn a_fresh_list_rules_out_what_it_lacks() {
    let mut bench = modern(trusting(true));
    assert!(goes_out(&mut bench, "other"), "nothing is known yet");
    list(&mut bench, PAY, r#","ttlMs":5000"#);
    assert!(goes_out(&mut bench, "pay"));
    assert!(!goes_out(&mut bench, "other"));
    bench.advance(ms(4999));
    assert!(!goes_out(&mut bench, "other"));
    bench.advance(ms(1));
    assert!(goes_out(&mut bench, "other"), "it is fresh no more");
}

#[test]
fn a_list_without_a_time_rules_nothing_out() {
    for ttl in ["", r#","ttlMs":0"#, r#","ttlMs":-5"#, r#","ttlMs":"5000""#] {
        let mut bench = modern(trusting(true));
        list(&mut bench, PAY, ttl);
        assert!(goes_out(&mut bench, "other"), "{ttl}");
        list(&mut bench, PAY, ttl);
        assert_eq!(bench.count("tools/list"), 2, "{ttl}");
    }
}

#[test]
fn whoever_does_not_rely_on_lists_asks_the_server() {
    let mut bench = modern(trusting(false));
    list(&mut bench, PAY, r#","ttlMs":5000"#);
    assert!(goes_out(&mut bench, "other"));
    list(&mut bench, PAY, r#","ttlMs":5000"#);
    assert_eq!(bench.count("tools/list"), 2);
}

#[test]
fn a_fresh_list_comes_from_memory() {
    let mut bench = modern(trusting(true));
    list(&mut bench, PAY, r#","ttlMs":5000"#);
    for listing in [Listing::Resources, Listing::ResourceTemplates, Listing::Prompts] {
        bench.read(Read::List(listing));
        let sent = bench.wire.last().unwrap().clone();
        let page = r#"{"resources":[],"resourceTemplates":[],"prompts":[],"ttlMs":5000}"#;
        bench.answer(&sent, page);
    }
    let mark = bench.wire.len();
    let again = |bench: &mut Bench| {
        let ticket = bench.list_tools();
        let tools = bench.tools(ticket).expect("it is known").clone().unwrap();
        assert_eq!(tools.iter().map(|tool| tool.json.as_str()).collect::<Vec<_>>(), [PAY]);
    };
    again(&mut bench);
    for listing in [Listing::Resources, Listing::ResourceTemplates, Listing::Prompts] {
        bench.read(Read::List(listing));
    }
    assert_eq!(bench.sent_since(mark), [] as [&str; 0]);

    // Each is forgotten when it has changed, and no other.
    for (kind, lists) in
        [("prompts", &["prompts/list"][..]), ("resources", &["resources/list", "resources/templates/list"])]
    {
        bench.deliver(format!(r#"{{"jsonrpc":"2.0","method":"notifications/{kind}/list_changed"}}"#));
        let mark = bench.wire.len();
        for listing in [Listing::Tools, Listing::Resources, Listing::ResourceTemplates, Listing::Prompts] {
            bench.read(Read::List(listing));
        }
        assert_eq!(bench.sent_since(mark), lists, "{kind}");
        for at in mark..bench.wire.len() {
            let page = r#"{"resources":[],"resourceTemplates":[],"prompts":[],"ttlMs":5000}"#;
            let sent = bench.wire[at].clone();
            bench.answer(&sent, page);
        }
    }
    again(&mut bench);
    assert!(!goes_out(&mut bench, "other"));
    bench.deliver(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert!(goes_out(&mut bench, "other"));
    list(&mut bench, PAY, r#","ttlMs":5000"#);

    // Another connection may be another server.
    bench.lose(FailureKind::Closed);
    let call = bench.call("other");
    discover(&mut bench);
    assert_eq!(bench.times_sent(call), 1);
    assert!(goes_out(&mut bench, "third"));
    list(&mut bench, PAY, "");
}

/// The page that changes first is the list's time.
#[test]
fn a_list_is_as_fresh_as_its_shortest_page() {
    let mut bench = modern(trusting(true));
    bench.list_tools();
    for page in [
        r#"{"tools":[{"name":"pay"}],"nextCursor":"2","ttlMs":9000}"#,
        r#"{"tools":[],"nextCursor":"3","ttlMs":1000}"#,
        r#"{"tools":[{"name":"third"}],"ttlMs":9000}"#,
    ] {
        let sent = last(&bench, "tools/list");
        bench.answer(&sent, page);
    }
    assert!(goes_out(&mut bench, "third") && !goes_out(&mut bench, "other"));
    bench.advance(ms(1000));
    assert!(goes_out(&mut bench, "other"));
}

/// Before 2026-07-28 only a server that promised to tell of changes is taken at its word, and only for calls.
#[test]
fn an_older_servers_list_rules_out_what_it_lacks_until_it_changes() {
    for (tools, rules_out) in
        [(r#"{"listChanged":true}"#, true), (r#"{"listChanged":false}"#, false), ("{}", false)]
    {
        let mut bench = Bench::new(trusting(true));
        bench.reconnect();
        bench.connected(Ok(()));
        let initialize = last(&bench, "initialize");
        let capabilities = format!(r#"{{"tools":{tools}}}"#);
        bench.answer(
            &initialize,
            &format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}"#),
        );
        let initialized = last(&bench, "notifications/initialized");
        bench.sent(&initialized, Ok(Delivery::HandedOver));
        list(&mut bench, PAY, "");
        assert_eq!(goes_out(&mut bench, "other"), !rules_out, "{tools}");
        bench.advance(ms(3_600_000));
        assert_eq!(goes_out(&mut bench, "other"), !rules_out, "{tools}");
        list(&mut bench, PAY, "");
        assert_eq!(bench.count("tools/list"), 2, "it is asked for all the same");
        bench.deliver(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        assert!(goes_out(&mut bench, "other"), "{tools}");
    }
}

#[test]
fn a_server_that_has_no_tools_is_not_called() {
    let discovery = |capabilities: &str| DISCOVERY.replace(r#"{"tools":{}}"#, capabilities);
    for (capabilities, rely, sent) in [
        (r#"{"resources":{}}"#, true, 0),
        (r#"{"resources":{}}"#, false, 1),
        (r#"{"tools":{},"resources":{}}"#, true, 1),
        // One that says nothing may have forgotten to.
        ("{}", true, 1),
        ("null", true, 1),
    ] {
        let protocol = Protocol::Only(Revision::LATEST);
        let mut bench = Bench::new(Options { protocol, ..trusting(rely) });
        // Nothing is known when it is made.
        let call = bench.call("pay");
        bench.connected(Ok(()));
        let probe = last(&bench, "server/discover");
        bench.answer(&probe, &discovery(capabilities));
        assert_eq!(bench.times_sent(call), sent, "{capabilities}");
        if sent == 0 {
            assert!(matches!(bench.verdict(call), Err(NotExecuted::InvalidCall(_))));
        }
        let later = bench.call("pay");
        assert_eq!(bench.times_sent(later), sent, "{capabilities}");
    }
}

/// A list that is larger than memory may hold is answered, and not kept.
#[test]
fn what_is_kept_is_bounded() {
    let mut options = trusting(true);
    options.limits.message_bytes = 10_000;
    let mut bench = modern(options);
    let padding = "x".repeat(6_000);
    list(&mut bench, &format!(r#"{{"name":"pay","x":"{padding}"}}"#), r#","ttlMs":5000"#);
    assert!(!goes_out(&mut bench, "other"));
    bench.read(Read::List(Listing::Prompts));
    let sent = last(&bench, "prompts/list");
    bench.answer(&sent, &format!(r#"{{"prompts":[{{"name":"{padding}"}}],"ttlMs":5000}}"#));
    bench.read(Read::List(Listing::Prompts));
    assert_eq!((bench.count("prompts/list"), bench.count("tools/list")), (2, 1));
}

/// Just as many bytes as may be are a list.
#[test]
fn a_list_may_be_as_long_as_it_may_be() {
    let mut options = trusting(true);
    options.limits.message_bytes = 1_000;
    for (bytes, fits) in [(1_000, true), (1_001, false)] {
        let mut bench = Bench::up(options.clone());
        let ticket = bench.list_tools();
        // In two pages, each of which is no large message.
        for (next, bytes) in [(r#","nextCursor":"c""#, 500), ("", bytes - 501)] {
            let sent = last(&bench, "tools/list");
            let entry = r#"{"name":"a","x":""}"#;
            let padding = "x".repeat(bytes - entry.len());
            bench.answer(&sent, &format!(r#"{{"tools":[{{"name":"a","x":"{padding}"}}]{next}}}"#));
        }
        assert_eq!(bench.tools(ticket).unwrap().is_ok(), fits, "{bytes}");
    }
}

/// All lists together may be as large as a message, and one that is never fresh takes no room from others.
#[test]
fn lists_share_the_room_that_there_is() {
    let mut options = trusting(true);
    options.limits.message_bytes = 10_000;
    for (tools, prompts, ttl, kept) in
        [(5_000, 5_000, 5_000, true), (5_000, 5_001, 5_000, false), (6_000, 6_000, 0, true)]
    {
        let entry = |bytes: usize| {
            let entry = r#"{"name":"pay","x":""}"#;
            entry.replace(r#""""#, &format!("\"{}\"", "x".repeat(bytes - entry.len())))
        };
        let mut bench = modern(options.clone());
        list(&mut bench, &entry(tools), &format!(r#","ttlMs":{ttl}"#));
        bench.read(Read::List(Listing::Prompts));
        let sent = last(&bench, "prompts/list");
        bench.answer(&sent, &format!(r#"{{"prompts":[{}],"ttlMs":5000}}"#, entry(prompts)));
        bench.read(Read::List(Listing::Prompts));
        assert_eq!(bench.count("prompts/list"), if kept { 1 } else { 2 }, "{tools} and {prompts}");
    }
}
