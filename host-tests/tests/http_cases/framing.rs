//! Group H: the bytes of event streams.

use futures::future::join_all;
use host_tests::ledger::http::{End, Event, HttpLedger, LineEnd, Pieces, Reply, Step};
use host_tests::{Outcome, ToolCall};

use crate::{ended, lost, oddities, ok, open, paid, paid_at, server, told};

const LINE_ENDS: [(LineEnd, &str); 3] = [(LineEnd::Lf, "\n"), (LineEnd::Cr, "\r"), (LineEnd::CrLf, "\r\n")];

const RESULT: &str = "{\"content\":[{\"type\":\"text\",\"text\":\"zw\u{f6}lf\"}]}";

/// Everything that may stand around an answer: a comment, other fields, an answer on two lines of data.
fn stream(end: &str) -> String {
    let answer = format!(r#"data:"result":{RESULT}}}"#);
    let lines =
        [": hi", "", "event: message", "id: e1", r#"data: {"jsonrpc":"2.0","id":$id,"#, &answer, "", ":", ""];
    lines.map(|line| format!("{line}{end}")).concat()
}

/// B106, modelcontextprotocol/php-sdk#401, envoyproxy/ai-gateway#1398, vercel/ai#6200: CRLF, which some servers
/// write by default, was never recognised; nor CR alone.
#[tokio::test]
async fn lines_end_with_lf_cr_or_both_for_a_whole_session() {
    for (end, _) in LINE_ENDS {
        let server = server().await.line_ends(end).resumable(None).shared_stream();
        let paid = paid_at(server, [Step::Open, Step::Execute, Step::Answer]).await;
        ok(&paid.once(1).verdict);
        assert_eq!(oddities(&told(&paid.session).await), [""; 0]);
    }
}

/// B107, clacky-ai/openclacky#489 and eventsource-parser#17: a cut between CR and LF made a false end of an
/// event. B108, FellouAI/eko#287 and profullstack/sh1pt#705: several lines of data in an event.
#[tokio::test]
async fn a_cut_anywhere_in_an_answer_changes_nothing() {
    // How many requests are under way at a time.
    const ABREAST: usize = 32;
    for (_, end) in LINE_ENDS {
        let stream = stream(end);
        // An id takes no more digits than its place holder had, or one more.
        let cuts = stream.len() as u64 + 2;
        let mut server: HttpLedger = server().await;
        for cut in 1..=cuts {
            let steps =
                [Step::Pieces(Pieces::at([cut])), Step::Execute, Step::stream(), Step::body(stream.as_str())];
            server = server.on_tool("pay", u32::try_from(cut).expect("it is short"), steps);
        }
        let session = open(&server).await;
        let all: Vec<u64> = (1..=cuts).collect();
        for some in all.chunks(ABREAST) {
            let calls = some.iter().map(|_| ended(session.call_tool(ToolCall::new("pay"))));
            for verdict in join_all(calls).await {
                let result = ok(&verdict);
                assert_eq!((result.json.as_str(), result.warnings.len()), (RESULT, 0));
            }
        }
        let cuts = all.len();
        assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (cuts, cuts));
        assert_eq!(oddities(&told(&session).await), [""; 0]);
    }
}

/// B107: and one that comes byte by byte, each in a packet of its own.
#[tokio::test]
async fn an_answer_may_come_byte_by_byte() {
    for (_, end) in LINE_ENDS {
        let steps = [
            Step::Pieces(Pieces::of(1).pausing(std::time::Duration::from_micros(50))),
            Step::Execute,
            Step::stream(),
            Step::body(stream(end)),
        ];
        let paid = paid(steps).await;
        assert_eq!(ok(&paid.once(1).verdict).json, RESULT);
    }
}

/// B106: a byte order mark before the first line, and a last event that nothing but the stream's end ends: the
/// answer in it is whole.
#[tokio::test]
async fn an_answer_without_the_blank_line_after_it_is_an_answer() {
    let whole = "\u{feff}data: {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[]}}";
    for text in [whole.to_owned(), format!("{whole}\n"), format!("{whole}\r\n")] {
        let paid = paid([Step::Execute, Step::stream(), Step::body(text)]).await;
        ok(&paid.once(1).verdict);
    }
    // One that is not is none.
    let half = &whole[..whole.len() - 1];
    let paid = paid([Step::Execute, Step::stream(), Step::body(half)]).await;
    lost(&paid.once(1).verdict);
}

/// B110, SEP-1699, modelcontextprotocol#1847 and #1852: an event with an id and no data primes a resumption, and
/// is no message.
#[tokio::test]
async fn an_event_without_data_is_no_message() {
    let steps = [
        Step::Execute,
        Step::Event(Event::priming("e1").retry(1)),
        Step::Event(Event { id: Some(b"e2".to_vec()), ..Event::default() }),
        Step::Event(Event::data("never a message").kind("other")),
        Step::Answer,
    ];
    let paid = paid(steps).await;
    ok(&paid.once(1).verdict);
    assert_eq!(oddities(&told(&paid.session).await), [""; 0]);
    assert_eq!(paid.server.traffic().resumed(), [""; 0]);
}

/// B110: an id that holds NUL is none, and one that no header may bear cannot be resumed from; an empty one
/// takes the last one back. Then nothing is resumed, and that is known at once.
#[tokio::test]
async fn what_has_no_sound_id_is_not_resumed() {
    let ids: [&[&[u8]]; 4] = [&[b"e\0"], &[b"e1", b""], &[b"e\x1b[0m"], &[b"e1", &[b'x'; 2000]]];
    for ids in ids {
        let mut steps = vec![Step::Execute];
        steps.extend(ids.iter().map(|&id| Step::Event(Event::data("").id(id).retry(1))));
        steps.push(Step::Finish);
        let paid = paid(steps).await;
        lost(&paid.once(1).verdict);
        assert_eq!(paid.server.traffic().resumed(), [""; 0], "{ids:?}");
        paid.goes_on().await;
    }
}

/// B110: an id with NUL leaves the one before it as it was.
#[tokio::test]
async fn an_id_with_nul_does_not_replace_the_last_one() {
    let events = [b"e1".to_vec(), b"e\0".to_vec()].map(|id| Step::Event(Event::data("").id(id).retry(1)));
    let mut steps = vec![Step::Execute];
    steps.extend(events);
    steps.push(Step::Finish);
    // The GET before is for the server's own stream.
    let server = server().await.on_http("GET", 2, [Step::status(404)]);
    let paid = paid_at(server, steps).await;
    lost(&paid.once(1).verdict);
    assert_eq!(paid.server.traffic().resumed(), ["e1"]);
}

/// What is no HTTP: a chunk that is torn, a response of no version, a chunk without a size behind a whole answer.
#[tokio::test]
async fn what_is_no_http_leaves_its_call_unknown() {
    let torn = vec![Step::Execute, Step::stream(), Step::Torn(b"data: {".to_vec()), Step::End(End::Close)];
    let nonsense = vec![Step::Execute, Step::raw("HTTP/9.9 what\r\n\r\n"), Step::End(End::Close)];
    let shorter = vec![
        Step::Execute,
        Step::Head(Reply::json("")),
        Step::body("$answer"),
        Step::raw("zz\r\n"),
        Step::End(End::Close),
    ];
    for (steps, answered) in [(torn, false), (nonsense, false), (shorter, true)] {
        let paid = paid(steps).await;
        paid.once(1);
        match answered {
            // Its text is whole, whatever its end is.
            true => assert!(matches!(paid.verdict, Ok(Outcome::Ok(_))), "{:?}", paid.verdict),
            false => _ = lost(&paid.verdict),
        }
        paid.goes_on().await;
    }
}

/// A stream of more than is read at once is read on, event after event.
#[tokio::test]
async fn many_events_before_an_answer_do_not_stop_it() {
    let paid = paid([Step::Notify(20_000), Step::Execute, Step::Answer]).await;
    ok(&paid.once(1).verdict);
    paid.goes_on().await;
}
