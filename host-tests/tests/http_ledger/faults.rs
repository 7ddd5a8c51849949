//! What a script makes it do.

use std::time::{Duration, Instant};

use host_tests::ledger::http::{End, Event, Form, HttpLedger, Intake, LineEnd, Pieces, Reply, Step, What};
use serde_json::Value;

use crate::hand::{Hand, Response, call, request};

/// A server whose first `pay` gets `steps`, and a client of it.
async fn scripted(steps: impl Into<Vec<Step>>) -> (HttpLedger, Hand) {
    let server = HttpLedger::start().await.expect("a port").on_tool("pay", 1, steps);
    let hand = Hand::shake(&server).await;
    (server, hand)
}

/// What comes of a first `pay`.
async fn answer(steps: impl Into<Vec<Step>>) -> Response {
    let (_server, mut hand) = scripted(steps).await;
    hand.ask(call(2, "pay")).await
}

/// All that comes of a first `pay`, to the end of the connection, and whether that was in order.
async fn bytes(steps: impl Into<Vec<Step>>) -> (HttpLedger, Vec<u8>, bool) {
    let (server, mut hand) = scripted(steps).await;
    hand.send(call(2, "pay")).await;
    let (bytes, in_order) = hand.rest().await;
    (server, bytes, in_order)
}

#[tokio::test]
async fn a_response_is_cut_at_every_byte() {
    for form in [Form::Json, Form::Events] {
        let whole = [Step::As(form), Step::Execute, Step::Answer, Step::End(End::Close)];
        let (_, mut whole, in_order) = bytes(whole).await;
        assert!(in_order);
        if form == Form::Events {
            // The script above ends the connection before the last chunk.
            whole.extend(b"0\r\n\r\n");
        }
        for cut in [0, 1, 20, whole.len() / 2, whole.len() - 3, whole.len()] {
            for end in [End::Close, End::Reset] {
                let limit = Step::Limit(cut as u64, end);
                let (server, cut_off, in_order) =
                    bytes([limit, Step::As(form), Step::Execute, Step::Answer]).await;
                assert_eq!(in_order, end == End::Close);
                // A reset may take with it what was sent before.
                match end {
                    End::Close => assert_eq!(cut_off, whole[..cut], "{form:?} {cut}"),
                    _ => assert!(whole[..cut].starts_with(&cut_off)),
                }
                assert_eq!(server.ledger().count("pay"), 1);
                let traffic = server.traffic();
                assert_eq!(traffic.length(traffic.calls("pay")[0].number), Some(cut as u64));
            }
        }
    }
}

#[tokio::test]
async fn a_request_is_cut_at_every_byte() {
    let server = HttpLedger::start().await.expect("a port");
    let post = Hand::shake(&server).await.post("/mcp", &call(2, "pay"));
    let body = call(2, "pay").to_string().into_bytes();
    let head = post.len() - body.len();
    for cut in [1, 10, head - 1, head, head + 1, post.len() - 1] {
        let server = HttpLedger::start().await.expect("a port");
        let server = server.on_request(3, Intake::bytes(cut as u64, End::Close));
        let mut hand = Hand::shake(&server).await;
        hand.send(call(2, "pay")).await;
        assert_eq!(hand.rest().await, (Vec::new(), true));
        let traffic = server.traffic();
        let (_, request) = traffic.requests().last().unwrap();
        assert!(!request.whole);
        assert_eq!(request.body, body[..cut.saturating_sub(head)], "{cut}");
        assert_eq!(server.ledger().count("pay"), 0);
    }
}

#[tokio::test]
async fn a_body_is_not_read() {
    let server = HttpLedger::start().await.expect("a port").on_request(3, Intake::head(End::Reset));
    let mut hand = Hand::shake(&server).await;
    hand.send(call(2, "pay")).await;
    assert!(!hand.rest().await.1);

    let refusal = Reply::status(413).body("too much");
    let server = HttpLedger::start().await.expect("a port").on_request(3, Intake::refuse(refusal));
    let mut hand = Hand::shake(&server).await;
    let answer = hand.ask(call(2, "pay")).await;
    assert_eq!((answer.status, answer.body.as_str()), (413, "too much"));
    assert!(hand.rest().await.1);
    assert_eq!(server.ledger().count("pay"), 0);
}

#[tokio::test]
async fn a_connection_ends_as_soon_as_it_is_made() {
    let server = HttpLedger::start().await.expect("a port").on_connection(1, End::Close);
    let mut hand = Hand::connect(server.address()).await;
    assert_eq!(hand.rest().await, (Vec::new(), true));
    assert_eq!(server.traffic().requests().count(), 0);
    Hand::shake(&server).await;
}

#[tokio::test]
async fn it_ends_after_the_effect_and_before_the_answer() {
    for end in [End::Close, End::Reset] {
        let (server, nothing, in_order) = bytes([Step::Execute, Step::End(end)]).await;
        assert_eq!((nothing.len(), in_order), (0, end == End::Close));
        assert_eq!(server.ledger().count("pay"), 1);
        assert!(server.traffic().entries().iter().any(|entry| entry.what == What::Ended(end)));
    }
}

#[tokio::test]
async fn a_request_that_is_never_answered_waits_for_its_client() {
    let (server, mut hand) = scripted([Step::Execute]).await;
    hand.send(call(2, "pay")).await;
    server.until_effects(|ledger| ledger.count("pay") == 1).await;
    let waiting = tokio::time::timeout(Duration::from_millis(50), hand.rest()).await;
    assert!(waiting.is_err());
    drop(hand);
    server.until(|traffic| traffic.entries().last().unwrap().what != What::Accepted).await;
    server.until(|traffic| traffic.entries().iter().any(|entry| entry.what == What::Gone)).await;
}

#[tokio::test]
async fn replies_are_verbatim() {
    for (reply, status, header) in [
        (Reply::status(202), 202, ("content-length", "0")),
        (Reply::status(200), 200, ("content-length", "0")),
        (Reply::json("{}").header("content-type", "text/html"), 200, ("content-type", "application/json")),
        (Reply::status(503).header("retry-after", "7"), 503, ("retry-after", "7")),
        (Reply::status(429).header("retry-after", "soon"), 429, ("retry-after", "soon")),
        (Reply::unauthorized("Bearer"), 401, ("www-authenticate", "Bearer")),
        (Reply::json("{}").chunked(), 200, ("transfer-encoding", "chunked")),
        (Reply::status(599), 599, ("content-length", "0")),
    ] {
        let answer = answer([Step::Respond(reply)]).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header(header.0), Some(header.1));
    }
    let gone = answer([Step::status(204)]).await;
    assert_eq!((gone.status, gone.header("content-length")), (204, None));
    let html = answer([Step::Respond(Reply::status(404).body("<p>$id</p>"))]).await;
    assert_eq!(html.body, "<p>2</p>");
    let zipped = answer([Step::Respond(Reply::gzip())]).await;
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert!(zipped.body.as_bytes().starts_with(b"\x1f"));

    let (_, until_close, in_order) = bytes([Step::Respond(Reply::json("$answer").until_close())]).await;
    assert!(in_order && until_close.ends_with(b"}"));
    let (_, raw, _) = bytes([Step::raw("HTTP/1.1 200 OK\r\n\r\nno"), Step::End(End::Close)]).await;
    assert_eq!(raw, b"HTTP/1.1 200 OK\r\n\r\nno");
}

#[tokio::test]
async fn chunks_are_torn_and_the_last_is_missing() {
    let torn = [Step::stream(), Step::Torn(b"data: $answer\n\n".to_vec()), Step::End(End::Close)];
    let (_, torn, _) = bytes(torn).await;
    let text = String::from_utf8(torn).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let (size, data) = body.split_once("\r\n").unwrap();
    assert_eq!(usize::from_str_radix(size, 16).unwrap(), data.len() + 1);
    let (_, open, in_order) = bytes([Step::Execute, Step::Answer, Step::End(End::Close)]).await;
    assert!(in_order && open.ends_with(b"\n\n\r\n"));
}

#[tokio::test]
async fn it_is_slow_where_it_is_told_to_be() {
    let begun = Instant::now();
    let pause = Duration::from_millis(20);
    let steps = [Step::sleep(60), Step::Pieces(Pieces::of(40).pausing(pause)), Step::Answer];
    let slow = answer(steps).await;
    assert!(begun.elapsed() >= Duration::from_millis(60) + pause * slow.chunks as u32);
    assert_eq!(slow.chunks, slow.body.len().div_ceil(40));
}

#[tokio::test]
async fn a_stream_is_cut_into_chunks_anywhere() {
    let whole = answer([Step::LineEnds(LineEnd::CrLf), Step::Answer]).await;
    assert_eq!(whole.chunks, 1);
    for cut in 1..whole.body.len() as u64 {
        let steps = [Step::LineEnds(LineEnd::CrLf), Step::Pieces(Pieces::at([cut])), Step::Answer];
        let pieces = answer(steps).await;
        assert_eq!((pieces.chunks, pieces.body), (2, whole.body.clone()));
    }
}

#[tokio::test]
async fn events_are_written_in_every_manner() {
    let line_ends = [(LineEnd::Cr, "\r"), (LineEnd::Lf, "\n"), (LineEnd::CrLf, "\r\n")];
    for (line_end, written) in line_ends {
        let event = Event::data("one\ntwo").id("e1").kind("message").retry(5);
        let answer = answer([Step::LineEnds(line_end), Step::Event(event)]).await;
        let expected = ["event: message", "id: e1", "retry: 5", "data: one", "data: two", "", ""];
        assert_eq!(answer.body, expected.join(written));
    }
    let odd = "\u{feff}: a comment\nid\nid: a\0b\nretry: 99999999999999999999\ndata: $answer";
    let answer = answer([Step::stream(), Step::body(odd)]).await;
    assert!(answer.body.starts_with("\u{feff}: a comment\nid\nid: a\0b\n"));
    assert_eq!(answer.last()["id"], 2);
}

#[tokio::test]
async fn other_messages_come_before_the_answer() {
    let other = Step::say(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    let asks = Step::ServerRequest { id: "\"s1\"".to_owned(), method: "ping".to_owned() };
    let answer = answer([other, asks, Step::Notify(2), Step::Answer]).await;
    let ids: Vec<Value> = answer.events().iter().map(|data| json(data)["id"].clone()).collect();
    assert_eq!(ids, [Value::from(99), "s1".into(), Value::Null, Value::Null, 2.into()]);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

#[tokio::test]
async fn a_flood_of_notifications_comes_before_the_answer() {
    let answer = answer([Step::Notify(100_000), Step::Answer]).await;
    assert_eq!(answer.events().len(), 100_001);
    assert_eq!(answer.last()["id"], 2);
}

#[tokio::test]
async fn a_stream_ends_after_an_event_id_for_ever() {
    let ends = [Step::Event(Event::priming("e1")), Step::Finish];
    let server = HttpLedger::start().await.expect("a port");
    let server = server.on_tool("pay", 1, ends.clone()).always_http("GET", ends);
    let mut hand = Hand::shake(&server).await;
    assert_eq!(hand.ask(call(2, "pay")).await.body, "id: e1\ndata: \n\n");
    for _ in 0..3 {
        hand.get(&[("last-event-id", "e1")]).await;
        assert_eq!(hand.response().await.body, "id: e1\ndata: \n\n");
    }
    assert_eq!(server.traffic().resumed(), ["e1"; 3]);
}

#[tokio::test]
async fn errors_and_results_are_as_written() {
    let error = answer([Step::Execute, Step::error(-32601, "no")]).await.last();
    assert_eq!((&error["id"], &error["error"]["code"]), (&2.into(), &Value::from(-32601)));
    let result = answer([Step::AnswerWith(r#"{"content":[],"for":$id}"#.to_owned())]).await.last();
    assert_eq!(result["result"]["for"], 2);
}

#[tokio::test]
async fn progress_is_told_to_who_asks() {
    let steps = [Step::Progress(1), Step::Answer];
    let server = HttpLedger::start().await.expect("a port").always("tools/call", steps);
    let mut hand = Hand::shake(&server).await;
    assert_eq!(hand.ask(call(2, "pay")).await.events().len(), 1);
    let params = serde_json::json!({"name": "pay", "_meta": {"progressToken": "t"}});
    let told = hand.ask(request(3, "tools/call", params)).await;
    assert_eq!(json(&told.events()[0])["params"]["progressToken"], "t");
}
