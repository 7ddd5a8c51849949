//! Group F: numbers keep their digits, what is too large costs little, and nothing compressed is taken for text.

use host_tests::ledger::http::{Event, Form, Reply, Step};
use host_tests::runtime::{Allocation, RuntimeOptions};
use host_tests::{Cause, HTTP_CLIENT, Http, Runtime, ToolCall};

use crate::{Paid, call, lost, oddities, ok, open, paid, paid_at, paid_with, pay, server, told, unknown};

/// B078, claude-code#78762, go-sdk#1236, StarRocks#36: large numbers were rounded on their way in.
#[tokio::test]
async fn the_digits_of_an_answer_stay() {
    let result = r#"{"content":[],"structuredContent":{"id":1915883588174806058,"rate":1.10,"e":1E400}}"#;
    for form in [Form::Json, Form::Events] {
        let steps = [Step::Execute, Step::AnswerWith(result.to_owned())];
        let paid = paid_at(server().await.answers(form), steps).await;
        assert_eq!(ok(&paid.once(1).verdict).json, result);
    }
}

/// B079, cline#9589 and earendil-works/pi#8943: and on their way out.
#[tokio::test]
async fn the_digits_of_arguments_stay() {
    let arguments = r#"{"id": 7960607143101464576,"rate":1.10, "e":1E30}"#;
    for modern in [false, true] {
        let server = server().await;
        let server = if modern { server.modern() } else { server };
        let session = open(&server).await;
        let result = call(&session, ToolCall::new("echo").arguments(arguments)).await;
        assert!(ok(&result).json.contains(arguments), "{result:?}");
        let traffic = server.traffic();
        let body = traffic.calls("echo")[0].text();
        assert!(body.contains(&format!(r#""arguments":{arguments}"#)), "{body}");
    }
}

/// B092, morluto/leantoken#269, truefoundry/trueforge#769, hermes-agent#56059, codebase-memory-mcp#1375: an answer
/// of any size was taken in. Here it is twice as large as all the memory that the instance may have.
#[tokio::test]
async fn an_answer_that_is_too_large_costs_its_call_and_little_memory() {
    const MEMORY: usize = 8 << 20;
    const MOST: u64 = 256 << 10;
    let options =
        RuntimeOptions { allocation: Allocation::OnDemand, memory: MEMORY, ..RuntimeOptions::default() };
    let runtime = Runtime::from_bytes(HTTP_CLIENT, options).expect("the built component runs");
    let huge = "x".repeat(2 * MEMORY);
    let large = "x".repeat(usize::try_from(MOST).expect("it is small"));
    let answer = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    let answers = [
        vec![Step::As(Form::Json), Step::AnswerWith(answer(&huge))],
        vec![Step::As(Form::Events), Step::AnswerWith(answer(&huge))],
        // As one event of many lines.
        vec![Step::Event(Event::data("x\n".repeat(MEMORY)))],
        // As a line that is no data, and ends nowhere.
        vec![Step::stream(), Step::body(huge.clone())],
        // A little more than is allowed.
        vec![Step::As(Form::Json), Step::AnswerWith(answer(&large))],
        vec![Step::As(Form::Events), Step::AnswerWith(answer(&large))],
    ];
    let server = server().await;
    let client = runtime.client_over(Http::to(&server.url()).expect("it is a URL"));
    let mut policies = client.default_options().await.expect("the instance lives");
    policies.limits.message_bytes = MOST;
    let session = client.session(server.url(), policies).await.expect("the instance lives");
    let mut server = server;
    for (nth, steps) in (1..).zip(&answers) {
        let steps = [vec![Step::Execute], steps.clone()].concat();
        server = server.on_tool("pay", 2 * nth - 1, steps);
    }
    for (nth, _) in answers.iter().enumerate() {
        let verdict = call(&session, pay()).await;
        match (&unknown(&verdict).cause, nth) {
            // What brought no event at all, too large or not.
            (Cause::Transport(_), 3) => {}
            (Cause::Undecodable(undecodable), _) => {
                assert!(undecodable.reason.contains("bytes"), "{undecodable:?}");
                assert!(undecodable.head.len() <= 4096, "{}", undecodable.head.len());
            }
            (cause, nth) => panic!("{nth}: {cause:?}"),
        }
        ok(&call(&session, pay()).await);
    }
    let calls = 2 * answers.len();
    assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (calls, calls));
    assert_eq!(server.traffic().posts("initialize").len(), 1);
}

/// B092: as much as is allowed is not too much.
#[tokio::test]
async fn an_answer_as_large_as_may_be_is_an_answer() {
    for form in [Form::Json, Form::Events] {
        let server = server().await.answers(form);
        let session = open(&server).await;
        let result = call(&session, ToolCall::new("big").arguments(r#"{"bytes":15000000}"#)).await;
        assert!(ok(&result).json.len() > 15_000_000);
    }
}

/// B092, the other way: a call that is too large is not sent.
#[tokio::test]
async fn a_call_that_is_too_large_is_not_sent() {
    let server = server().await;
    let session = crate::open_with(&server, |options| options.limits.message_bytes = 1000).await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(1000));
    let verdict = call(&session, pay().arguments(large)).await;
    assert!(verdict.is_err(), "{verdict:?}");
    assert_eq!(server.traffic().calls("pay").len(), 0);
    ok(&call(&session, pay()).await);
}

/// B094, openai/codex#37228 (br), python-sdk#2649 (zstd), ruby-mcp-client#45 (gzip): compressed bytes were parsed as
/// JSON. Nothing compressed is asked for, and what comes all the same is named.
#[tokio::test]
async fn an_answer_in_an_encoding_is_unknown_and_the_encoding_named() {
    let json =
        |encoding: &str| Reply::json(&b"\x1f\x8b\x08\0rubbish"[..]).header("content-encoding", encoding);
    let replies = [
        ("gzip", Reply::gzip()),
        ("br", json("br")),
        ("zstd", json("zstd")),
        ("gzip", Reply::events().header("content-encoding", "gzip").body(&b"\x1f\x8b\x08\0"[..])),
    ];
    for (encoding, reply) in replies {
        let paid = paid([Step::Execute, Step::Respond(reply)]).await;
        let failure = paid.once(1).lost();
        assert!(failure.detail[0].contains(&format!("`{encoding}`")), "{failure:?}");
        paid.goes_on().await;
        for (_, request) in paid.server.traffic().requests() {
            assert_eq!(request.header("accept-encoding"), Some("identity"), "{request:?}");
        }
    }
    let paid = paid([Step::Execute, Step::Respond(json("identity").body("$answer"))]).await;
    ok(&paid.once(1).verdict);
}

/// B094, dsh-cost-meter#172: compressed, and not said to be.
#[tokio::test]
async fn rubbish_is_undecodable_and_its_bytes_are_kept() {
    let rubbish = b"\x1f\x8b\x08\0\xff\xfe";
    let paid = paid([Step::Execute, Step::Respond(Reply::json(&rubbish[..]))]).await;
    let Cause::Undecodable(undecodable) = &paid.once(1).unknown().cause else { panic!("{:?}", paid.verdict) };
    assert_eq!(undecodable.head, rubbish);
    paid.goes_on().await;
}

/// Section 2 of the contract: a page for people, under 200.
#[tokio::test]
async fn a_page_for_people_is_no_answer_and_its_first_words_are_told() {
    let page = Reply::status(200).header("content-type", "text/html").body("<html>Log in</html>");
    for reply in [page, Reply::status(200).body("who knows")] {
        let paid = paid([Step::Execute, Step::Respond(reply)]).await;
        let failure = paid.once(1).lost();
        assert!(failure.detail[0].contains("content-type"), "{failure:?}");
        assert!(failure.detail[1].starts_with("it begins with: "), "{failure:?}");
        paid.goes_on().await;
    }
}

/// B091, rust-sdk: a byte order mark before an answer.
#[tokio::test]
async fn a_byte_order_mark_before_an_answer_is_none_of_it() {
    let paid = paid([Step::Execute, Step::Respond(Reply::json("\u{feff}$answer\r\n"))]).await;
    ok(&paid.once(1).verdict);
}

/// B090, paiml/paiml-mcp-agent-toolkit#648: an answer in an array with others. 2025-03-26 has that; elsewhere it is
/// odd, and an answer all the same.
#[tokio::test]
async fn an_answer_in_an_array_is_an_answer() {
    let array = r#"[{"jsonrpc":"2.0","method":"notifications/message","params":{}},$answer]"#;
    for (revision, odd) in [("2025-03-26", 0), ("2025-11-25", 1)] {
        for step in [Step::say(array), Step::Respond(Reply::json(array))] {
            let paid = paid_at(server().await.revisions(&[revision]), [Step::Execute, step]).await;
            ok(&paid.once(1).verdict);
            assert_eq!(oddities(&told(&paid.session).await).len(), odd, "{revision}");
        }
    }
}

/// B083, python-sdk#2454 and #2873: what is no UTF-8 is its own call's matter.
#[tokio::test]
async fn an_answer_that_is_no_text_hurts_its_call() {
    for step in [Step::say(&b"\xff\xfe"[..]), Step::Event(Event::data(&b"{\"a\":\"\xff\"}"[..]))] {
        let paid = paid_with(server().await, |_| {}, pay(), [Step::Execute, step]).await;
        assert!(matches!(paid.once(1).unknown().cause, Cause::Undecodable(_)), "{:?}", paid.verdict);
        paid.goes_on().await;
    }
}

/// Row 13 of the contract's table: headers that no host takes.
#[tokio::test]
async fn headers_without_end_leave_the_call_unknown() {
    let endless = Reply::json("$answer").header("x-long", &"x".repeat(1 << 20));
    let paid: Paid = paid([Step::Execute, Step::Respond(endless)]).await;
    lost(&paid.once(1).verdict);
    paid.goes_on().await;
}
