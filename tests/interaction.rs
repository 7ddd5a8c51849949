//! What servers ask of the host: by requests of their own up to 2025-11-25, by suspending a call in 2026-07-28.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{
    Bench, DISCOVERY, DONE, NOT_FOUND, Sent, diagnostics, failure, initialize, last, modern, ms, rpc_error,
};
use noreplay::protocol::capabilities::{Capabilities, QuestionKind};
use noreplay::session::evidence::SendError;
use noreplay::session::interaction::{AskId, Question};
use noreplay::session::policy::{Grant, Options, Ownership};
use noreplay::session::verdict::{CallId, Cause, FailureKind, RpcError, Stage};
use noreplay::session::{Delivery, ToolCall};

/// What a host declares that answers everything.
const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}}}"#;

const METHODS: [(&str, QuestionKind); 3] = [
    ("roots/list", QuestionKind::Roots),
    ("sampling/createMessage", QuestionKind::Sampling),
    ("elicitation/create", QuestionKind::Elicitation),
];

fn able_to(capabilities: &str) -> Options {
    Options { capabilities: Capabilities::read(capabilities), ..Options::default() }
}

fn legacy() -> Bench {
    Bench::up(able_to(ALL))
}

/// A request of the server's.
fn asks(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn elicits(id: &str) -> String {
    asks(id, "elicitation/create", "{}")
}

fn answer(bench: &mut Bench, asked: AskId, answer: Result<&str, RpcError>) {
    bench.enter(|session, now| session.answered(now, asked, answer.map(str::to_owned)));
}

/// The last question that the host was asked.
fn question(bench: &Bench) -> (AskId, Question) {
    bench.asked.last().expect("it was asked").clone()
}

/// What was answered to the server since `wire` was so long.
fn answers(bench: &Bench, mark: usize) -> Vec<&str> {
    let answers = bench.wire[mark..].iter().filter(|sent| sent.method.is_empty());
    answers.map(|sent| sent.text.as_str()).collect()
}

fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

#[test]
fn a_server_is_told_what_the_host_answers_and_nothing_else() {
    for (given, declared) in [
        ("", "{}"),
        ("{}", "{}"),
        (r#"{"roots":{}, "elicitation" : {"form":{}}}"#, r#"{"elicitation":{"form":{}},"roots":{}}"#),
        // Each as it stands, if it is an object; nothing would answer for the others.
        (
            r#"{"sampling":null,"elicitation":true,"roots":{"a": 1e400},"extensions":{"x":{}},"tasks":{}}"#,
            r#"{"roots":{"a": 1e400}}"#,
        ),
        ("{\"roots\":{\n\"a\":1}}", r#"{"roots":{ "a":1}}"#),
    ] {
        let bench = Bench::up(able_to(given));
        let sent = bench.wire.iter().find(|sent| sent.method == "initialize").unwrap();
        assert!(sent.text.contains(&format!(r#""capabilities":{declared},"clientInfo""#)), "{sent:?}");
        let mut bench = modern(able_to(given));
        let call = bench.call("pay");
        for sent in [&bench.wire[0], &bench.last_of(call)] {
            assert!(sent.text.contains(&format!(r#"/clientCapabilities":{declared},"#)), "{sent:?}");
        }
        assert_eq!(bench.events(), []);
    }
    for nonsense in ["7", "[]", "{", "roots"] {
        let mut bench = modern(able_to(nonsense));
        assert!(bench.wire[0].text.contains(r#"/clientCapabilities":{},"#), "{:?}", bench.wire[0]);
        assert_eq!(diagnostics(&bench.events()), [("the host's capabilities are no JSON object", 1)]);
    }
}

/// B113, modelcontextprotocol#907 and github/app#4009: the server asked for something and both waited. The host
/// is asked, the call goes on, and a request of the server's is never taken for one of ours.
#[test]
fn a_request_of_the_servers_is_the_hosts_to_answer() {
    for (method, kind) in METHODS {
        let mut bench = legacy();
        let (call, sent) = bench.pay();
        let ours = sent.id().to_string();
        for id in ["\"s1\"", &ours, "-1.5", "{\"a\":[1]}"] {
            let mark = bench.wire.len();
            let params = r#"{ "n":1e400,"message":"\u0041" }"#;
            bench.deliver(asks(id, method, params));
            let (asked, question) = question(&bench);
            assert_eq!(question, Question { call: None, kind, params: params.to_owned() });
            assert_eq!(bench.wire.len(), mark, "nothing is sent before the host answers");
            bench.assert_pending(call);
            answer(&mut bench, asked, Ok("{\"x\":\n7960607143101464576}"));
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x": 7960607143101464576}}}}"#);
            assert_eq!(answers(&bench, mark), [expected]);
            assert_eq!(bench.wire.last().unwrap().receipt.generation, sent.receipt.generation);
            // A second answer to the same question is nobody's.
            answer(&mut bench, asked, Ok("{}"));
            assert_eq!(bench.wire.len(), mark + 1);
            bench.assert_pending(call);
        }
        assert_eq!(bench.asked.len(), 4);
        bench.answer(&sent, DONE);
        bench.assert_ok(call, DONE);
        assert_eq!((bench.withdrawn.len(), bench.events()), (0, vec![]));
    }
}

/// As in `cases_i_traffic`: what is not declared is refused at once, and pending calls do not notice.
#[test]
fn what_is_not_declared_is_refused_at_once() {
    for (declared, method, params, expected) in [
        ("", "roots/list", "{}", (-32601, "not supported by this client")),
        (r#"{"roots":{}}"#, "elicitation/create", "{}", (-32601, "not supported by this client")),
        (r#"{"roots":{}}"#, "tasks/get", "{}", (-32601, "not supported by this client")),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"url"}"#, NOT_SO),
        (r#"{"elicitation":{"form":{}}}"#, "elicitation/create", r#"{"mode":"\u0075rl"}"#, NOT_SO),
        (r#"{"elicitation":{"url":{}}}"#, "elicitation/create", r#"{"mode":"form"}"#, NOT_SO),
        (r#"{"elicitation":{"url":{}}}"#, "elicitation/create", "{}", NOT_SO),
        (r#"{"elicitation":{"form":{}}}"#, "elicitation/create", r#"{"mode":"dream"}"#, NOT_SO),
        (r#"{"elicitation":{"form":{}}}"#, "elicitation/create", r#"{"mode":7}"#, NOT_SO),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"tools":[]}"#, NOT_SO),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"toolChoice":{}}"#, NOT_SO),
    ] {
        let mut bench = Bench::up(able_to(declared));
        let (call, sent) = bench.pay();
        let mark = bench.wire.len();
        bench.deliver(asks("\"s\"", method, params));
        assert_eq!(answers(&bench, mark), [error("\"s\"", expected.0, expected.1)], "{declared} {params}");
        assert_eq!(bench.asked.len(), 0);
        assert_eq!(diagnostics(&bench.events()).len(), 1);
        bench.answer(&sent, DONE);
        bench.assert_ok(call, DONE);
    }
    for (declared, method, params) in [
        (r#"{"elicitation":{}}"#, "elicitation/create", "{}"),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"form"}"#),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":null}"#),
        (r#"{"elicitation":{"url":{}}}"#, "elicitation/create", r#"{"mode":"url"}"#),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"tools":null}"#),
        (r#"{"sampling":{"tools":{}}}"#, "sampling/createMessage", r#"{"tools":[]}"#),
        (r#"{"roots":{}}"#, "roots/list", "[]"),
    ] {
        let mut bench = Bench::up(able_to(declared));
        bench.deliver(asks("1", method, params));
        assert_eq!(question(&bench).1.params, params, "{declared}");
    }
}

const NOT_SO: (i64, &str) = (-32602, "not in a form that was declared");

/// B115, sandialabs/atlas-ui-3#295: a question was given to the wrong one of two calls. It belongs to the call
/// on whose own channel it came; on a channel that they share nobody can tell.
#[test]
fn a_question_is_tagged_with_its_channels_call_or_none() {
    let mut bench = legacy();
    let ((first, of_first), (second, of_second)) = (bench.pay(), bench.pay());
    let listing = bench.list_tools();
    let list = last(&bench, "tools/list");
    let generation = bench.generation();
    for (id, channel, call) in [
        ("1", Some(of_second.id()), Some(second)),
        ("2", Some(of_first.id()), Some(first)),
        ("3", None, None),
        ("4", Some(list.id()), None),
        ("5", Some(999), None),
    ] {
        bench.deliver_on(generation, channel, elicits(id));
        assert_eq!(question(&bench).1.call, call, "{id}");
    }
    assert_eq!((bench.asked.len(), bench.tools(listing)), (5, None));
    bench.assert_pending(first);
    bench.assert_pending(second);
}

/// A task that needs an answer asks on the channel of its result, also where only a `reconcile` waits for that.
#[test]
fn a_question_of_a_tasks_is_tagged_with_its_call() {
    let mut bench = legacy();
    let task = Some(ms(60_000));
    let call = bench.call_with(ToolCall { name: "pay".to_owned(), task, ..ToolCall::default() });
    let sent = bench.last_of(call);
    bench.answer(&sent, r#"{"task":{"taskId":"t","status":"working"}}"#);
    bench.lose(FailureKind::ConnectionReset);
    assert!(matches!(bench.cause(call), Cause::Transport(_)));
    bench.reconcile(call, ms(60_000));
    bench.handshake();
    let fetch = last(&bench, "tasks/result");
    bench.deliver_on(fetch.receipt.generation, Some(fetch.id()), elicits("1"));
    let (asked, on_task) = question(&bench);
    assert_eq!(on_task.call, Some(call));
    answer(&mut bench, asked, Ok("{}"));
    assert_eq!(bench.wire.last().unwrap().text, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[test]
fn answers_may_come_in_any_order() {
    let mut bench = legacy();
    for id in ["1", "\"1\"", "3"] {
        bench.deliver(elicits(id));
    }
    let asked: Vec<_> = bench.asked.iter().map(|(asked, _)| *asked).collect();
    let mark = bench.wire.len();
    for (index, text) in [(2, r#"{"c":3}"#), (0, r#"{"c":1}"#), (1, r#"{"c":2}"#)] {
        answer(&mut bench, asked[index], Ok(text));
    }
    let expected = [
        r#"{"jsonrpc":"2.0","id":3,"result":{"c":3}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"c":1}}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{"c":2}}"#,
    ];
    assert_eq!(answers(&bench, mark), expected);
}

/// The host's error is the server's to read, whole; what is no answer is one too.
#[test]
fn an_error_of_the_hosts_goes_to_the_server() {
    let mut options = able_to(ALL);
    options.limits.message_bytes = 2048;
    let mut bench = Bench::up(options);
    let error_with = |data: Option<&str>| RpcError {
        code: -1,
        message: "the \"user\" said no".to_owned(),
        data: data.map(str::to_owned),
    };
    let plain = r#"{"code":-1,"message":"the \"user\" said no"}"#;
    let nothing = r#"{"code":-32603,"message":"the answer cannot be passed on"}"#;
    let [fits, large] = [2040, 2041].map(|bytes| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes)));
    for (given, told) in [
        (Err(error_with(None)), plain),
        (Err(error_with(Some("{\n}"))), r#"{"code":-1,"message":"the \"user\" said no","data":{ }}"#),
        (Err(error_with(Some("no JSON"))), plain),
        (Ok(""), nothing),
        (Ok("[]"), nothing),
        (Ok("{}{}"), nothing),
        (Ok(r#"{"a":"\ud800"}"#), nothing),
        (Ok(large.as_str()), nothing),
        (Ok(fits.as_str()), ""),
    ] {
        let told = match told {
            "" => format!(r#""result":{fits}"#),
            error => format!(r#""error":{error}"#),
        };
        let mark = bench.wire.len();
        bench.deliver(elicits("7"));
        let (asked, _) = question(&bench);
        answer(&mut bench, asked, given);
        assert_eq!(answers(&bench, mark), [format!(r#"{{"jsonrpc":"2.0","id":7,{told}}}"#)]);
    }
}

/// Whoever asked is gone, or does not want to know any more: the host need not answer, and a late answer goes
/// nowhere.
#[test]
fn a_question_is_withdrawn_with_whoever_asked_it() {
    type Change = fn(&mut Bench);
    let changes: [Change; 6] = [
        |bench| bench.lose(FailureKind::ConnectionReset),
        |bench| bench.receive(Ok(noreplay::session::Incoming::End)),
        |bench| _ = bench.reconnect(),
        |bench| {
            bench.reconnect();
            bench.handshake();
            // Another question of the same id, on the new connection.
            bench.deliver(elicits("\"s\""));
        },
        Bench::close,
        |bench| {
            let params = r#"{"requestId":"s","reason":"never mind"}"#;
            let method = "notifications/cancelled";
            bench.deliver(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut bench = legacy();
        bench.deliver(elicits("\"s\""));
        let (asked, _) = question(&bench);
        change(&mut bench);
        assert_eq!(bench.withdrawn, [asked], "{index}");
        let mark = bench.wire.len();
        answer(&mut bench, asked, Ok("{}"));
        assert_eq!(bench.wire.len(), mark, "{index}");
    }
    // In the same breath: the host does not hear of it.
    let mut bench = legacy();
    let params = r#"{"requestId":7}"#;
    let cancelled = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
    bench.deliver(format!("[{},{cancelled},{}]", elicits("7"), elicits("8")));
    assert_eq!((bench.asked.len(), bench.withdrawn.len()), (1, 0));
    // Cancelled is only what is meant: this id, as it was written, on this connection.
    let mut bench = legacy();
    bench.deliver(elicits("7"));
    for params in [r#"{"requestId":"7"}"#, r#"{"requestId":8}"#, "{}", "7", "null"] {
        bench.deliver(format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#));
    }
    bench.deliver(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"requestId":7}}"#);
    assert_eq!(bench.withdrawn, []);
}

/// What is asked on a connection that calls only finish on is answered there.
#[test]
fn an_answer_goes_back_on_the_connection_of_its_question() {
    let mut bench = legacy();
    let (call, sent) = bench.pay();
    let old = bench.generation();
    // The connection takes no more, says a `send`; the call on it lives.
    let other = bench.call("other");
    let closed = Err(SendError::NotSent(failure(FailureKind::Closed)));
    bench.sent(&bench.last_of(other).clone(), closed);
    bench.handshake();
    assert_ne!(bench.generation(), old);
    bench.deliver_on(old, None, elicits("1"));
    // The channel of that call is none here.
    let current = bench.generation();
    bench.deliver_on(current, Some(sent.id()), elicits("1"));
    assert_eq!(question(&bench).1.call, None);
    let [(first, _), (second, _)] = [&bench.asked[0], &bench.asked[1]].map(Clone::clone);
    answer(&mut bench, first, Ok("{}"));
    assert_eq!(bench.wire.last().unwrap().receipt.generation, old);
    answer(&mut bench, second, Ok("{}"));
    assert_eq!(bench.wire.last().unwrap().receipt.generation, bench.generation());
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
}

/// A call ends, and the question asked in its course with it: the host is spared it, and the server told. P9:
/// that the host never answers puts no deadline off.
#[test]
fn a_question_ends_with_its_call() {
    type End = fn(&mut Bench, CallId, &Sent);
    let ends: [End; 3] = [
        |bench, _, _| bench.advance(ms(60_000)),
        |bench, call, _| _ = bench.cancel(call),
        |bench, _, sent| bench.answer(sent, DONE),
    ];
    for (index, end) in ends.into_iter().enumerate() {
        let mut bench = legacy();
        let (call, sent) = bench.pay();
        let generation = bench.generation();
        bench.deliver_on(generation, Some(sent.id()), elicits("1"));
        bench.deliver_on(generation, None, elicits("2"));
        let (asked, open) = (bench.asked[0].0, bench.asked[1].0);
        let mark = bench.wire.len();
        end(&mut bench, call, &sent);
        assert!(!bench.is_pending(call), "{index}");
        assert_eq!(bench.withdrawn, [asked], "{index}");
        assert_eq!(answers(&bench, mark), [error("1", -32603, "the call that it belongs to has ended")]);
        // A call that was given up may still be answered, and so its channel lives: nothing is asked there.
        if index < 2 {
            bench.deliver_on(generation, Some(sent.id()), elicits("3"));
            assert_eq!(bench.asked.len(), 2, "{index}");
            assert_eq!(answers(&bench, mark)[1], error("3", -32603, "the call that it belongs to has ended"));
        }
        // What is nobody's in particular stays.
        let mark = bench.wire.len();
        answer(&mut bench, open, Ok("{}"));
        assert_eq!(answers(&bench, mark), [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#]);
    }
}

#[test]
fn a_flood_of_questions_is_bounded() {
    let mut bench = legacy();
    let (call, sent) = bench.pay();
    let mark = bench.wire.len();
    for id in 0..50 {
        bench.deliver(elicits(&id.to_string()));
    }
    assert_eq!(bench.asked.len(), 16);
    let refused = answers(&bench, mark);
    assert_eq!(refused.len(), 34);
    assert_eq!(refused[0], error("16", -32603, "as many questions are open as may be"));
    // One that is open already is not asked again, nor answered twice.
    bench.deliver(elicits("3"));
    assert_eq!((bench.asked.len(), answers(&bench, mark).len()), (16, 34));
    let third = bench.asked[3].0;
    answer(&mut bench, third, Ok("{}"));
    bench.deliver(elicits("3"));
    assert_eq!(bench.asked.len(), 17);
    bench.answer(&sent, DONE);
    bench.assert_ok(call, DONE);
    // All in one array.
    let mut bench = legacy();
    let all: Vec<_> = (0..50).map(|id| elicits(&id.to_string())).collect();
    bench.deliver(format!("[{}]", all.join(",")));
    assert_eq!(bench.asked.len(), 16);
    bench.close();
    assert_eq!(bench.withdrawn.len(), 16);
}

#[test]
fn an_id_that_would_be_kept_at_length_is_not() {
    let mut bench = legacy();
    let mark = bench.wire.len();
    bench.deliver(elicits(&format!("\"{}\"", "x".repeat(1023))));
    assert_eq!((bench.asked.len(), bench.wire.len()), (0, mark));
    bench.deliver(elicits(&format!("\"{}\"", "x".repeat(1022))));
    assert_eq!(bench.asked.len(), 1);
}

#[test]
fn before_the_handshake_is_done_nothing_is_asked() {
    let mut bench = Bench::new(able_to(ALL));
    bench.reconnect();
    bench.connected(Ok(()));
    bench.deliver(elicits("1"));
    assert_eq!(bench.asked.len(), 0);
    assert_eq!(bench.wire.last().unwrap().text, error("1", -32601, "not supported by this client"));
}

/// 2026-07-28 has no requests of the server's.
#[test]
fn a_modern_server_asks_nothing_by_a_request() {
    let mut bench = modern(able_to(ALL));
    let (call, sent) = bench.pay();
    let mark = bench.wire.len();
    bench.deliver_on(sent.receipt.generation, Some(sent.id()), elicits("1"));
    assert_eq!((bench.asked.len(), bench.wire.len()), (0, mark));
    bench.assert_pending(call);
}

const FORM: &str = r#"{"method":"elicitation/create","params":{ "message":"why?"}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

/// A result by which the server suspends a call.
fn suspended(requests: &str, state: &str) -> String {
    format!(r#"{{"resultType":"input_required","inputRequests":{requests}{state}}}"#)
}

/// A call that the server suspended, with these options.
fn suspended_with(options: Options) -> (Bench, CallId, Sent, String) {
    let mut bench = modern(options);
    let (call, sent) = bench.pay();
    let result = suspended(&format!(r#"{{"a":{FORM},"b":{ROOTS}}}"#), r#","requestState":"s\u0041""#);
    bench.answer(&sent, &result);
    assert_eq!(bench.asked.len(), 2);
    (bench, call, sent, result)
}

/// B104 with questions: once all of them are answered the call goes on, once, under a new id, as it was, with
/// the answers and exactly that state.
#[test]
fn a_suspended_call_goes_on_with_the_hosts_answers() {
    let mut bench = modern(able_to(ALL));
    let call = bench.call_with(ToolCall {
        name: "pay".to_owned(),
        arguments: Some(r#"{"amount": 5}"#.to_owned()),
        meta: Some(r#"{"key":"k"}"#.to_owned()),
        ..ToolCall::default()
    });
    let first = bench.last_of(call);
    bench.sent(&first, Ok(Delivery::Accepted));
    let requests = format!(r#"{{"\u0061 \"b\"":{FORM},"":{ROOTS}}}"#);
    bench.answer(&first, &suspended(&requests, r#","requestState":"s\u0041 \/1""#));
    let [(form, on_form), (roots, on_roots)] = [&bench.asked[0], &bench.asked[1]].map(Clone::clone);
    let of_call = Some(call);
    let params = r#"{ "message":"why?"}"#.to_owned();
    assert_eq!(on_form, Question { call: of_call, kind: QuestionKind::Elicitation, params });
    assert_eq!(on_roots, Question { call: of_call, kind: QuestionKind::Roots, params: String::new() });
    let pending = bench.session.pending();
    assert_eq!((pending[0].stage, pending[0].attempts), (Stage::Answered, 1));

    // In the other order than it was asked.
    answer(&mut bench, roots, Ok(r#"{"roots":[]}"#));
    bench.assert_pending(call);
    answer(&mut bench, roots, Ok("{}"));
    answer(&mut bench, form, Ok(r#"{"action":"accept", "content":{"n":1e400}}"#));
    let second = bench.last_of(call);
    assert!(second.id() > first.id());
    let expected = first
        .text
        .replace(&format!(r#""id":{}"#, first.id()), &format!(r#""id":{}"#, second.id()))
        .replace(
            r#","_meta""#,
            r#","inputResponses":{"a \"b\"":{"action":"accept", "content":{"n":1e400}},"":{"roots":[]}},"requestState":"s\u0041 \/1","_meta""#,
        );
    assert_eq!(second.text, expected);
    bench.assert_sent(2, call);

    // It may ask again, and have no state.
    bench.sent(&second, Ok(Delivery::HandedOver));
    bench.answer(&second, &suspended(&format!(r#"{{"c":{FORM}}}"#), ""));
    answer(&mut bench, form, Ok("{}"));
    bench.assert_sent(2, call);
    let (again, _) = question(&bench);
    answer(&mut bench, again, Ok(r#"{"action":"decline"}"#));
    let third = bench.last_of(call);
    assert!(third.text.contains(r#","inputResponses":{"c":{"action":"decline"}},"_meta""#), "{third:?}");
    bench.answer(&third, DONE);
    assert_eq!(bench.ok(call), DONE);
    bench.assert_sent(3, call);
    assert_eq!((bench.withdrawn.len(), bench.events()), (0, vec![]));
}

/// If the host does not answer all of it, nobody is asked, and the caller gets the whole result.
#[test]
fn what_the_host_does_not_answer_is_the_callers() {
    let many: Vec<_> = (0..17).map(|name| format!(r#""{name}":{ROOTS}"#)).collect();
    let many = format!("{{{}}}", many.join(","));
    let both = format!(r#"{{"a":{ROOTS},"b":{FORM}}}"#);
    let just = |request: &str| format!(r#"{{"a":{request}}}"#);
    let url = just(r#"{"method":"elicitation/create","params":{"mode":"url"}}"#);
    for (declared, result) in [
        ("", suspended(&just(ROOTS), "")),
        (r#"{"roots":{}}"#, suspended(&both, r#","requestState":"s""#)),
        (r#"{"elicitation":{}}"#, suspended(&url, "")),
        (ALL, suspended(&many, "")),
        (ALL, suspended(&just(r#"{"method":"tools/call"}"#), "")),
        (ALL, suspended(&just(r#"{"method":7}"#), "")),
        (ALL, suspended(&just("7"), "")),
        (ALL, suspended("[]", "")),
        (ALL, suspended("{}", "")),
        (ALL, suspended(&just(ROOTS), r#","requestState":7"#)),
        (ALL, suspended(&just(ROOTS), r#","requestState":"s","requestState":"t""#)),
        (ALL, suspended(&format!(r#"{{"a":{ROOTS},"\u0061":{ROOTS}}}"#), "")),
        (ALL, suspended(&just(ROOTS), &format!(r#","inputRequests":{}"#, just(ROOTS)))),
        (ALL, suspended(&format!(r#"{{"\ud800":{ROOTS}}}"#), "")),
    ] {
        let mut bench = modern(able_to(declared));
        let (call, sent) = bench.pay();
        bench.answer(&sent, &result);
        bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
        assert_eq!((bench.asked.len(), bench.withdrawn.len()), (0, 0));
    }
    // An older server that suspends a call is odd, and asks nobody; nor is anybody asked who would come too late.
    let result = suspended(&just(ROOTS), "");
    for modern_server in [false, true] {
        let mut bench = if modern_server { modern(able_to(ALL)) } else { legacy() };
        let call = bench.call("pay");
        let sent = bench.last_of(call);
        if modern_server {
            bench.now = bench.now + ms(60_000);
        }
        bench.answer(&sent, &result);
        bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result.clone()));
        assert_eq!(bench.asked.len(), 0);
    }
}

/// An error of the host's, or an answer that is none, ends the call as it stands: suspended. What else is asked
/// for it is withdrawn. No grant sends it again.
#[test]
fn an_error_leaves_the_call_suspended() {
    let grants = vec![Grant { tool: "pay".to_owned(), attempts: 3 }];
    let mut options = Options { grants, ..able_to(ALL) };
    options.limits.message_bytes = 2048;
    let [half, large] = [1016, 1017].map(|bytes| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes)));
    for given in [Err(rpc_error(-1, "no")), Ok(""), Ok("[]"), Ok(large.as_str())] {
        let (mut bench, call, _, result) = suspended_with(options.clone());
        let (form, roots) = (bench.asked[0].0, bench.asked[1].0);
        if given == Ok(large.as_str()) {
            // Both together are more than a message may be.
            answer(&mut bench, form, given.clone());
            bench.assert_pending(call);
            answer(&mut bench, roots, given);
        } else {
            answer(&mut bench, roots, given);
            assert_eq!(bench.withdrawn, [form]);
            answer(&mut bench, form, Ok("{}"));
        }
        bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
    }
    // Just as much as may be.
    let (mut bench, call, ..) = suspended_with(options);
    for index in [0, 1] {
        let asked = bench.asked[index].0;
        answer(&mut bench, asked, Ok(&half));
    }
    bench.assert_sent(2, call);
}

/// P9: a host that never answers holds no call beyond its deadline. However it ends while it is suspended, it
/// was answered, and that it may have run stays; nothing is sent for it any more.
#[test]
fn a_suspended_call_ends_without_an_answer() {
    type End = fn(&mut Bench, CallId);
    let ends: [End; 3] = [
        |bench, _| bench.advance(ms(60_000)),
        |bench, call| _ = bench.cancel(call),
        |bench, _| bench.close(),
    ];
    for (index, end) in ends.into_iter().enumerate() {
        let (mut bench, call, _, result) = suspended_with(able_to(ALL));
        let mark = bench.wire.len();
        end(&mut bench, call);
        bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
        let asked: Vec<_> = bench.asked.iter().map(|(asked, _)| *asked).collect();
        assert_eq!(bench.withdrawn, asked, "{index}");
        for asked in asked {
            answer(&mut bench, asked, Ok("{}"));
        }
        assert_eq!(bench.wire.len(), mark, "{index}: {:?}", bench.wire[mark..].to_vec());
    }
    // Its caller went away.
    let (mut bench, call, ..) = suspended_with(able_to(ALL));
    bench.enter(|session, _| session.abandon(call));
    assert_eq!((bench.withdrawn.len(), bench.session.unsettled().len()), (2, 1));
    // The answers come at the deadline, before its alarm is heard.
    let (mut bench, call, _, result) = suspended_with(able_to(ALL));
    bench.now = bench.now + ms(60_000);
    answer_all(&mut bench);
    bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
}

fn answer_all(bench: &mut Bench) {
    for index in 0..bench.asked.len() {
        let asked = bench.asked[index].0;
        answer(bench, asked, Ok("{}"));
    }
}

/// The server comes up, on a fresh connection, as one of 2026-07-28.
fn rediscovered(bench: &mut Bench) {
    bench.connected(Ok(()));
    let probe = last(bench, "server/discover");
    bench.answer(&probe, DISCOVERY);
}

/// The continuation is a request of its own: another connection will do. It is sent once all the same.
#[test]
fn a_connection_that_changes_meanwhile_gets_the_continuation_once() {
    type Change = fn(&mut Bench);
    let changes: [(Change, Change); 4] = [
        // Lost, and needed again only for the continuation.
        (|bench| bench.lose(FailureKind::ConnectionReset), rediscovered),
        (
            |bench| {
                bench.reconnect();
                rediscovered(bench);
            },
            |_| {},
        ),
        // The answers come while it is opened.
        (|bench| _ = bench.reconnect(), rediscovered),
        (|_| {}, |_| {}),
    ];
    for (index, (before, after)) in changes.into_iter().enumerate() {
        let (mut bench, call, ..) = suspended_with(able_to(ALL));
        before(&mut bench);
        bench.assert_pending(call);
        assert_eq!(bench.withdrawn, []);
        answer_all(&mut bench);
        after(&mut bench);
        bench.assert_sent(2, call);
        let second = bench.last_of(call);
        assert_eq!(second.receipt.generation, bench.generation(), "{index}");
        assert!(second.text.contains(r#""inputResponses":{"a":{},"b":{}},"requestState":"s\u0041","#));
        answer_all(&mut bench);
        // It is replaced, or lost, once more: whether the continuation ran nobody knows.
        bench.reconnect();
        rediscovered(&mut bench);
        bench.assert_unknown_after(2, call, Stage::Answered, Cause::SessionReplaced);
    }
}

/// Nothing takes the continuation: the call is suspended still.
#[test]
fn a_continuation_that_cannot_be_sent_leaves_the_call_suspended() {
    // Its owner decides on another connection.
    let (mut bench, call, _, result) =
        suspended_with(Options { ownership: Ownership::CallerManaged, ..able_to(ALL) });
    bench.lose(FailureKind::ConnectionReset);
    answer_all(&mut bench);
    bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
    // An older server would take it for a new call.
    let (mut bench, call, _, result) = suspended_with(able_to(ALL));
    bench.lose(FailureKind::ConnectionReset);
    answer_all(&mut bench);
    bench.connected(Ok(()));
    let probe = last(&bench, "server/discover");
    bench.answer_error(&probe, NOT_FOUND);
    initialize(&mut bench, "2025-11-25");
    bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
    // No server is there any more.
    let (mut bench, call, _, result) = suspended_with(able_to(ALL));
    bench.lose(FailureKind::ConnectionReset);
    answer_all(&mut bench);
    for _ in 0..3 {
        bench.connected(Err(failure(FailureKind::ConnectionRefused)));
        bench.advance(ms(1_000));
    }
    bench.assert_unknown(call, Stage::Answered, Cause::InputRequired(result));
}

/// As in `continuations`: a grant is for a call, and for no continuation; proof that it did not run is good for
/// one more.
#[test]
fn a_continuation_with_answers_is_never_replayed() {
    let grants = vec![Grant { tool: "pay".to_owned(), attempts: 3 }];
    let options = Options { grants, ..able_to(ALL) };
    let begin = || {
        let (mut bench, call, _, result) = suspended_with(options.clone());
        answer_all(&mut bench);
        let second = bench.last_of(call);
        (bench, call, second, result)
    };
    let (mut bench, call, second, _) = begin();
    bench.sent(&second, Err(SendError::Unknown(failure(FailureKind::Other))));
    bench.assert_unknown_after(2, call, Stage::Answered, Cause::Transport(failure(FailureKind::Other)));
    let (mut bench, call, ..) = begin();
    bench.lose(FailureKind::ConnectionReset);
    let lost = Cause::Transport(failure(FailureKind::ConnectionReset));
    bench.assert_unknown_after(2, call, Stage::Answered, lost);
    let (mut bench, call, second, result) = begin();
    bench.sent(&second, Err(SendError::NotSent(failure(FailureKind::Other))));
    let third = bench.last_of(call);
    assert!(third.id() > second.id() && third.text.contains(r#""inputResponses":{"a":{},"b":{}}"#));
    bench.sent(&third, Err(SendError::NotSent(failure(FailureKind::Other))));
    bench.assert_unknown_after(3, call, Stage::Answered, Cause::InputRequired(result));
    assert_eq!(bench.asked.len(), 2, "nothing is asked twice");
}

/// By a grant another attempt is out: that the server suspends the one before it moves nobody.
#[test]
fn an_earlier_attempt_asks_for_nothing() {
    let grants = vec![Grant { tool: "pay".to_owned(), attempts: 1 }];
    let mut bench = modern(Options { grants, ..able_to(ALL) });
    let call = bench.call("pay");
    let earlier = bench.last_of(call);
    bench.sent(&earlier, Err(SendError::Unknown(failure(FailureKind::Other))));
    let second = bench.last_of(call);
    assert!(second.id() > earlier.id());
    bench.answer(&earlier, &suspended(&format!(r#"{{"a":{ROOTS}}}"#), ""));
    assert!(bench.is_pending(call) && bench.asked.is_empty());
    bench.answer(&second, DONE);
    assert_eq!(bench.ok(call), DONE);
    bench.assert_sent(2, call);
}

#[test]
fn a_server_does_not_ask_for_ever() {
    let mut bench = modern(able_to(ALL));
    let call = bench.call("pay");
    let result = suspended(&format!(r#"{{"a":{ROOTS}}}"#), "");
    for _ in 0..9 {
        let sent = bench.last_of(call);
        bench.answer(&sent, &result);
        answer_all(&mut bench);
    }
    assert_eq!(bench.asked.len(), 8);
    bench.assert_unknown_after(9, call, Stage::Answered, Cause::InputRequired(result));
}

/// Two calls that wait for answers, and one that does not: each goes on by itself.
#[test]
fn suspended_calls_do_not_disturb_each_other() {
    let mut bench = modern(able_to(ALL));
    let ((first, of_first), (second, of_second), (third, of_third)) = (bench.pay(), bench.pay(), bench.pay());
    let result = suspended(&format!(r#"{{"a":{ROOTS}}}"#), "");
    bench.answer(&of_first, &result);
    bench.answer(&of_second, &result);
    let (on_first, on_second) = (bench.asked[0].0, bench.asked[1].0);
    bench.answer(&of_third, DONE);
    bench.assert_ok(third, DONE);
    answer(&mut bench, on_second, Ok(r#"{"roots":[2]}"#));
    assert!(bench.last_of(second).text.contains(r#""inputResponses":{"a":{"roots":[2]}}"#));
    answer(&mut bench, on_first, Err(rpc_error(-1, "no")));
    bench.assert_unknown(first, Stage::Answered, Cause::InputRequired(result));
    let continued = bench.last_of(second);
    bench.answer(&continued, DONE);
    assert_eq!(bench.ok(second), DONE);
    bench.assert_sent(2, second);
}

/// As many questions as may be open are asked at once, and not one more: then none of them is.
#[test]
fn a_call_may_ask_as_much_as_there_is_room_for() {
    for (questions, asked) in [(16, 16), (17, 0)] {
        let (mut bench, call, sent, _) = suspended_with(able_to(ALL));
        answer_all(&mut bench);
        let next = bench.last_of(call);
        assert!(next.id() > sent.id());
        let before = bench.asked.len();
        let requests: Vec<_> = (0..questions).map(|number| format!(r#""q{number}":{ROOTS}"#)).collect();
        bench.answer(&next, &suspended(&format!("{{{}}}", requests.join(",")), r#","requestState":"s""#));
        assert_eq!(bench.asked.len() - before, asked);
        assert_eq!(bench.is_pending(call), asked > 0);
    }
}

/// `null` is nothing, as where it is left out.
#[test]
fn a_state_that_is_null_is_none() {
    let mut bench = modern(able_to(ALL));
    let (call, sent) = bench.pay();
    bench.answer(&sent, &suspended(&format!(r#"{{"a":{ROOTS}}}"#), r#","requestState":null"#));
    answer_all(&mut bench);
    bench.assert_sent(2, call);
    assert!(!bench.last_of(call).text.contains("requestState"));
    // Neither is there anything to ask.
    let sent = bench.last_of(call);
    bench.answer(&sent, &suspended("null", ""));
    assert!(matches!(bench.cause(call), Cause::InputRequired(_)));
}
