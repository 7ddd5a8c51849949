//! Reads: what a server has beside tools. They have no effect, and are repeated as recovery goes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{Bench, Sent, failure, last, modern, ms, refusal, rpc_error};
use noreplay::protocol::list::Listing;
use noreplay::protocol::query::LogLevel;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::Options;
use noreplay::session::reads::{Answer, Read};
use noreplay::session::verdict::{FailureKind, ReadError, Refusal};
use noreplay::session::{Delivery, Ticket, ToolCall};

fn prompt(arguments: Option<&str>) -> Read {
    Read::Prompt { name: "p".to_owned(), arguments: arguments.map(str::to_owned) }
}

fn json(bench: &Bench, ticket: Ticket) -> String {
    match bench.read_end(ticket) {
        Some(Ok(answer)) => answer.clone().into_json(),
        end => panic!("{end:?}"),
    }
}

fn begun(bench: &mut Bench, read: Read) -> (Ticket, Sent) {
    let ticket = bench.read(read);
    let sent = bench.wire.last().unwrap().clone();
    bench.sent(&sent, Ok(Delivery::HandedOver));
    (ticket, sent)
}

#[test]
fn each_read_brings_its_result_as_it_came() {
    let result = r#"{"contents":[{"uri":"u","text":"1.0e400 \u00e9"}] }"#;
    for (read, method, params) in [
        (Read::Resource("u".to_owned()), "resources/read", r#""params":{"uri":"u"}"#),
        (prompt(None), "prompts/get", r#""params":{"name":"p"}"#),
        (prompt(Some(r#"{"a": "b"}"#)), "prompts/get", r#""params":{"name":"p","arguments":{"a": "b"}}"#),
        (
            Read::Completion(r#"{"ref":{"type":"ref/prompt"}}"#.to_owned()),
            "completion/complete",
            r#""params":{"ref":{"type":"ref/prompt"}}"#,
        ),
        (Read::Ping, "ping", r#""method":"ping"}"#),
        (Read::LogLevel(LogLevel::Warning), "logging/setLevel", r#""params":{"level":"warning"}"#),
    ] {
        let mut bench = Bench::up(Options::default());
        let (ticket, sent) = begun(&mut bench, read);
        assert_eq!(sent.method, method);
        assert!(sent.text.contains(params), "{sent:?}");
        bench.answer(&sent, result);
        assert_eq!(json(&bench, ticket), result);
    }
}

#[test]
fn each_list_is_read_page_by_page() {
    for (listing, method, member) in [
        (Listing::Resources, "resources/list", "resources"),
        (Listing::ResourceTemplates, "resources/templates/list", "resourceTemplates"),
        (Listing::Prompts, "prompts/list", "prompts"),
    ] {
        let mut bench = Bench::up(Options::default());
        let (ticket, first) = begun(&mut bench, Read::List(listing));
        assert_eq!(first.method, method);
        bench.answer(&first, &format!(r#"{{"{member}":[{{"name":"a", "x":1.0}}],"nextCursor":"c"}}"#));
        let second = last(&bench, method);
        assert!(second.text.contains(r#""params":{"cursor":"c"}"#), "{second:?}");
        bench.answer(&second, &format!(r#"{{"{member}":[{{"name":"b"}}]}}"#));
        assert_eq!(json(&bench, ticket), r#"[{"name":"a", "x":1.0},{"name":"b"}]"#);
        // An empty list is a list.
        let (ticket, sent) = begun(&mut bench, Read::List(listing));
        bench.answer(&sent, &format!(r#"{{"{member}":[]}}"#));
        assert_eq!(json(&bench, ticket), "[]");
    }
}

#[test]
fn what_is_wrong_is_not_asked() {
    for read in [
        prompt(Some("7")),
        prompt(Some("{")),
        prompt(Some("null")),
        Read::Completion("[]".to_owned()),
        Read::Completion(String::new()),
        Read::Completion(r#"{"_meta":{}}"#.to_owned()),
        Read::Completion("x".repeat(20_000_000)),
    ] {
        let mut bench = Bench::up(Options::default());
        let sent = bench.wire.len();
        let ticket = bench.read(read);
        assert!(matches!(bench.read_end(ticket), Some(Err(ReadError::InvalidRead(_)))));
        assert_eq!(bench.wire.len(), sent);
    }
}

#[test]
fn an_error_is_the_servers() {
    let mut bench = Bench::up(Options::default());
    let (ticket, sent) = begun(&mut bench, Read::Resource("u".to_owned()));
    bench.answer_error(&sent, r#"{"code":-32002,"message":"not found"}"#);
    let error = ReadError::AnsweredWithError(rpc_error(-32_002, "not found"));
    assert_eq!(bench.read_end(ticket), Some(&Err(error)));
}

/// They have no effect: whatever happened to one, it may be asked again.
#[test]
fn a_read_is_asked_again_after_a_loss() {
    let mut bench = Bench::up(Options::default());
    let (ticket, _) = begun(&mut bench, Read::Resource("u".to_owned()));
    bench.lose(FailureKind::ConnectionReset);
    bench.handshake();
    let again = last(&bench, "resources/read");
    bench.sent(&again, Err(SendError::Unknown(failure(FailureKind::Other))));
    let third = last(&bench, "resources/read");
    bench.answer(&third, "{}");
    assert_eq!((json(&bench, ticket).as_str(), bench.count("resources/read")), ("{}", 3));

    let (ticket, _) = begun(&mut bench, Read::Ping);
    bench.advance(ms(60_000));
    assert_eq!(bench.read_end(ticket), Some(&Err(ReadError::TimedOut)));
    bench.close();
    let ticket = bench.read(Read::Ping);
    assert_eq!(bench.read_end(ticket), Some(&Err(ReadError::Closed)));
}

/// 2026-07-28 has no `ping`, and its requests say themselves how much is to be logged.
#[test]
fn a_modern_server_is_asked_in_its_own_words() {
    let mut bench = modern(Options::default());
    let (ticket, sent) = begun(&mut bench, Read::Ping);
    assert_eq!(sent.method, "server/discover");
    bench.answer(&sent, r#"{"resultType":"complete"}"#);
    assert_eq!(json(&bench, ticket), r#"{"resultType":"complete"}"#);

    let sent = bench.wire.len();
    let ticket = bench.read(Read::LogLevel(LogLevel::Debug));
    assert_eq!(bench.read_end(ticket), Some(&Ok(Answer::Json(String::new()))));
    assert_eq!(bench.wire.len(), sent);
    let call = bench.call("pay");
    let level = r#""io.modelcontextprotocol/logLevel":"debug""#;
    assert!(bench.last_of(call).text.contains(level), "{:?}", bench.last_of(call));
    // It is the session's, also on another connection.
    bench.lose(FailureKind::Closed);
    let (_, sent) = {
        let ticket = bench.read(Read::Resource("u".to_owned()));
        harness::discover(&mut bench);
        (ticket, last(&bench, "resources/read"))
    };
    assert!(sent.text.contains(level), "{sent:?}");
    assert!(sent.headers.contains(&("Mcp-Name".to_owned(), "u".to_owned())), "{sent:?}");
}

/// 2026-07-28: a server may want its state back before it answers.
#[test]
fn a_read_goes_on_with_the_state_that_the_server_gave() {
    let mut bench = modern(Options::default());
    let (ticket, first) = begun(&mut bench, Read::Resource("u".to_owned()));
    bench.answer(&first, r#"{"resultType":"input_required","requestState":"s\u0041"}"#);
    let second = last(&bench, "resources/read");
    assert!(second.id() > first.id());
    assert!(second.text.contains(r#""uri":"u","requestState":"s\u0041","_meta""#), "{second:?}");
    bench.answer(&second, r#"{"contents":[]}"#);
    assert_eq!(json(&bench, ticket), r#"{"contents":[]}"#);

    // It does not go on for ever.
    let ticket = bench.read(prompt(None));
    while bench.read_end(ticket).is_none() {
        let sent = last(&bench, "prompts/get");
        bench.answer(&sent, r#"{"resultType":"input_required","requestState":"s"}"#);
    }
    assert!(matches!(bench.read_end(ticket), Some(Err(ReadError::InputRequired(_)))));
    assert_eq!(bench.count("prompts/get"), 9);

    // What only a caller could give is told whole.
    let asked = r#"{"resultType":"input_required","inputRequests":{"a":{}},"requestState":"s"}"#;
    let (ticket, sent) = begun(&mut bench, Read::Resource("u".to_owned()));
    bench.answer(&sent, asked);
    assert_eq!(bench.read_end(ticket), Some(&Err(ReadError::InputRequired(asked.to_owned()))));
}

#[test]
fn a_result_of_an_unknown_type_is_none() {
    for (read, result) in [
        (Read::Resource("u".to_owned()), r#"{"resultType":"hologram"}"#),
        (Read::List(Listing::Prompts), r#"{"resultType":"hologram","prompts":[]}"#),
        (Read::List(Listing::Prompts), r#"{"resultType":"input_required","requestState":"s"}"#),
        (Read::Ping, r#"{"resultType":"task","taskId":"t"}"#),
    ] {
        let mut bench = modern(Options::default());
        let (ticket, sent) = begun(&mut bench, read);
        bench.answer(&sent, result);
        assert!(matches!(bench.read_end(ticket), Some(Err(ReadError::Undecodable(_)))), "{result}");
    }
    // Older revisions have no such types.
    let mut bench = Bench::up(Options::default());
    let (ticket, sent) = begun(&mut bench, Read::Resource("u".to_owned()));
    bench.answer(&sent, r#"{"resultType":"hologram"}"#);
    assert_eq!(json(&bench, ticket), r#"{"resultType":"hologram"}"#);
}

/// A session that ended with 404 is begun anew, and the read with it; any other refusal is the end.
#[test]
fn a_read_that_met_the_end_of_its_session_is_asked_in_the_next() {
    let mut bench = Bench::up(Options::default());
    let (ticket, sent) = begun(&mut bench, Read::Resource("u".to_owned()));
    let gone = Refusal { had_session: true, ..refusal(404, "") };
    bench.sent(&sent, Err(SendError::Refused(gone)));
    assert_eq!((bench.read_end(ticket), bench.connects.len()), (None, 2));
    bench.handshake();
    let again = last(&bench, "resources/read");
    bench.sent(&again, Err(SendError::Refused(refusal(405, ""))));
    assert!(
        matches!(bench.read_end(ticket), Some(Err(ReadError::Refused(refusal))) if refusal.status == 405)
    );
    assert_eq!((bench.count("resources/read"), bench.connects.len()), (2, 2));
}

#[test]
fn a_read_is_told_that_no_connection_comes() {
    let mut options = Options::default();
    options.recovery.attempts = 1;
    let mut bench = Bench::new(options);
    let ticket = bench.read(Read::Ping);
    bench.connected(Err(failure(FailureKind::ConnectionRefused)));
    let refused = ReadError::ConnectFailed(failure(FailureKind::ConnectionRefused));
    assert_eq!(bench.read_end(ticket), Some(&Err(refused)));
}

/// Whoever is out of time while all wait for a connection is out of the queue, and nobody else is.
#[test]
fn the_end_of_one_that_waits_is_no_end_of_the_others() {
    let mut options = Options::default();
    options.timing.connect = ms(300_000);
    options.timing.call = ms(1_000);
    let mut bench = Bench::new(options);
    let read = bench.read(Read::Ping);
    let call = bench.call_with(ToolCall {
        name: "pay".to_owned(),
        timeout: Some(ms(200_000)),
        ..ToolCall::default()
    });
    bench.advance(ms(500));
    let later = bench.read(Read::Resource("u".to_owned()));
    bench.advance(ms(500));
    assert_eq!(bench.read_end(read), Some(&Err(ReadError::TimedOut)));
    let mark = bench.wire.len();
    bench.handshake();
    assert_eq!(bench.read_end(later), None);
    let sent = bench.sent_since(mark).split_off(2);
    assert_eq!((sent, bench.times_sent(call)), (vec!["tools/call", "resources/read"], 1));
}
