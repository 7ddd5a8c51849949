//! What the server does of itself.

use host_tests::ledger::http::{End, Form, HttpLedger, Reply, Step, What};
use host_tests::ledger::{Tool, tools};
use serde_json::{Value, json};

use crate::hand::{Hand, call, request};

async fn start() -> HttpLedger {
    HttpLedger::start().await.expect("a port")
}

#[tokio::test]
async fn a_session_lasts_from_initialize_to_delete() {
    let server = start().await;
    let mut stranger = Hand::connect(server.address()).await;
    assert_eq!(stranger.ask(call(5, "pay")).await.status, 400);

    let mut hand = Hand::shake(&server).await;
    let answer = hand.ask(call(2, "pay")).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.last()["result"]["isError"], false);
    assert_eq!(server.ledger().count("pay"), 1);

    let delete = hand.head("DELETE", "/mcp", &[]);
    hand.write(delete).await;
    assert_eq!(hand.response().await.status, 200);
    let answer = hand.ask(call(3, "pay")).await;
    assert_eq!((answer.status, &answer.json()["id"]), (404, &Value::Null));
    assert_eq!(server.ledger().count("pay"), 1);

    let traffic = server.traffic();
    assert_eq!(traffic.calls("pay").len(), 3);
    assert_eq!(traffic.connections(), 2);
    assert_eq!(server.wire().calls("pay"), 1, "those that were read");
    assert_eq!(server.violations(), [""; 0]);
}

#[tokio::test]
async fn sessions_that_the_server_ends_are_not_found() {
    let server = start().await;
    let mut hand = Hand::shake(&server).await;
    server.end_sessions();
    assert_eq!(hand.ask(call(2, "pay")).await.status, 404);
    assert_eq!(Hand::shake(&server).await.ask(call(2, "pay")).await.status, 200);
    assert_eq!(server.traffic().posts("initialize").len(), 2);
}

#[tokio::test]
async fn an_answer_is_json_where_that_is_asked_for() {
    let server = start().await.answers(Form::Json).sessionless();
    let server = server.on_tool("pay", 2, [Step::As(Form::Events), Step::Execute, Step::Answer]);
    let mut hand = Hand::shake(&server).await;
    let answer = hand.ask(call(2, "pay")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["id"], 2);
    let answer = hand.ask(call(3, "pay")).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(server.ledger().count("pay"), 2);
    assert_eq!(server.violations(), [""; 0]);
}

#[tokio::test]
async fn a_request_in_chunks_is_read_and_a_client_may_take_back_its_connection() {
    let server = start().await.sessionless();
    let mut hand = Hand::shake(&server).await;
    let body = call(2, "pay").to_string();
    let framing =
        [("content-type", "application/json"), ("transfer-encoding", "chunked"), ("connection", "close")];
    let head = hand.head("POST", "/mcp", &framing);
    let (one, two) = body.split_at(10);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    hand.write(head + &chunk(one) + &chunk(two) + "0\r\n\r\n").await;
    assert_eq!(hand.response().await.last()["id"], 2);
    assert_eq!(hand.rest().await, (Vec::new(), true));
    assert_eq!(server.traffic().calls("pay")[0].text(), body);
}

#[tokio::test]
async fn a_broken_stream_is_resumed_and_stays_open_after_the_answer() {
    let server = start().await.resumable(Some(10));
    let broken = [Step::Open, Step::End(End::Close), Step::sleep(30), Step::Execute, Step::Answer];
    let server = server.on_tool("pay", 1, broken);
    let mut hand = Hand::shake(&server).await;
    hand.send(call(2, "pay")).await;
    let (begun, in_order) = hand.rest().await;
    let begun = String::from_utf8(begun).unwrap();
    assert!(in_order && begun.contains("retry: 10\n") && begun.ends_with("data: \n\n\r\n"), "{begun}");
    let id = begun.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id");

    let mut other = hand.another().await;
    other.get(&[("last-event-id", id)]).await;
    let resumed = other.until(b"\"id\":2").await;
    assert!(resumed.contains("HTTP/1.1 200 OK\r\n"), "{resumed}");
    other.until(b"\n\n\r\n").await;
    let more = tokio::time::timeout(std::time::Duration::from_millis(50), other.rest()).await;
    assert!(more.is_err(), "it stays open: {more:?}");

    server.until(|traffic| traffic.length(traffic.calls("pay")[0].number).is_some()).await;
    let traffic = server.traffic();
    assert_eq!(traffic.resumed(), [id]);
    assert_eq!((traffic.calls("pay").len(), server.ledger().count("pay")), (1, 1));
    let post = traffic.calls("pay")[0].number;
    let get = traffic.with("GET")[0].number;
    assert!(traffic.came(get) > traffic.answered(post));

    let mut third = hand.another().await;
    third.get(&[("last-event-id", "9-9")]).await;
    assert_eq!(third.response().await.status, 400);
}

#[tokio::test]
async fn the_shared_stream_carries_what_the_server_says() {
    let server = start().await;
    let mut hand = Hand::shake(&server).await;
    hand.get(&[]).await;
    assert_eq!(hand.response().await.status, 405);

    let server = server.shared_stream();
    hand.get(&[]).await;
    hand.until(b"\r\n\r\n").await;
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    hand.until(b"list_changed").await;
    server.end_shared(End::Reset);
    assert!(!hand.rest().await.1);
}

#[tokio::test]
async fn http_sse_answers_on_the_stream() {
    let server = start().await.http_sse();
    let mut stream = Hand::connect(server.address()).await;
    assert_eq!(stream.ask(call(1, "pay")).await.status, 405);
    stream.get(&[]).await;
    stream.until(b"event: endpoint\ndata: ").await;
    let endpoint = stream.until(b"\n").await.trim().to_owned();

    let mut hand = stream.another().await;
    let params = json!({"protocolVersion": "2024-11-05"});
    for message in [request(1, "initialize", params), call(2, "pay")] {
        let post = hand.post(&endpoint, &message);
        hand.write(post).await;
        assert_eq!(hand.response().await.status, 202);
        stream.until(format!(r#""id":{}"#, message["id"]).as_bytes()).await;
    }
    assert_eq!(server.ledger().count("pay"), 1);
    assert_eq!(server.violations(), [""; 0]);
}

/// A request of the stateless revision, with the headers that belong to it.
fn modern(hand: &Hand, id: u64, method: &str, mut params: Value, headers: &[(&str, &str)]) -> Vec<u8> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = request(id, method, params).to_string();
    let length = body.len().to_string();
    let mut all = vec![
        ("content-type", "application/json"),
        ("content-length", length.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
    ];
    all.extend(headers);
    (hand.head("POST", "/mcp", &all) + &body).into_bytes()
}

#[tokio::test]
async fn the_stateless_revision_needs_no_handshake_and_headers_that_agree() {
    let mut listed = tools();
    listed.push(Tool {
        input_schema: r#"{"type":"object","properties":{"to":{"x-mcp-header":"To"}}}"#.to_owned(),
        ..Tool::new("send", "Sends")
    });
    let server = start().await.modern().listing(listed);
    let mut hand = Hand::connect(server.address()).await;
    let mut ask = async |id, method: &str, params: Value, headers: &[(&str, &str)]| {
        let post = modern(&hand, id, method, params, headers);
        hand.write(post).await;
        hand.response().await
    };
    let method = |name| ("mcp-method", name);

    let found = ask(1, "server/discover", json!({}), &[method("server/discover")]).await;
    assert_eq!(found.last()["result"]["supportedVersions"], json!(["2026-07-28"]));
    let pay = json!({"name": "pay", "arguments": {"amount": 5}});
    let headers = [method("tools/call"), ("mcp-name", "pay")];
    let answer = ask(2, "tools/call", pay.clone(), &headers).await;
    assert_eq!(answer.last()["result"]["resultType"], "complete");

    let wrong = ask(3, "tools/call", pay.clone(), &[method("tools/call"), ("mcp-name", "echo")]).await;
    assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (400, &json!(-32020)));
    let wrong = ask(4, "tools/call", pay, &[method("tools/call")]).await;
    assert_eq!(wrong.status, 400);
    let send = json!({"name": "send", "arguments": {"to": "ä"}});
    let headers = [method("tools/call"), ("mcp-name", "send"), ("mcp-param-to", "=?base64?w6Q=?=")];
    assert_eq!(ask(5, "tools/call", send.clone(), &headers).await.status, 200);
    assert_eq!(ask(6, "tools/call", send, &headers[..2]).await.status, 400);

    let unknown = ask(7, "ping", json!({}), &[method("ping")]).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let refused = hand.ask(request(8, "initialize", json!({}))).await;
    assert_eq!(refused.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
    let told = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    hand.headers.push(("mcp-protocol-version".to_owned(), "2026-07-28".to_owned()));
    hand.headers.push(("mcp-method".to_owned(), "notifications/x".to_owned()));
    assert_eq!(hand.ask(told).await.status, 202);
    assert_eq!(server.ledger().count("pay"), 1);
}

#[tokio::test]
async fn who_leaves_cancels_in_the_stateless_revision_only() {
    let slow = json!({"name": "slow", "arguments": {"ms": 100}});
    let stateless = start().await.modern();
    let mut hand = Hand::connect(stateless.address()).await;
    let headers = [("mcp-method", "tools/call"), ("mcp-name", "slow")];
    let post = modern(&hand, 1, "tools/call", slow.clone(), &headers);
    hand.write(post).await;
    stateless.until(|traffic| traffic.calls("slow").len() == 1).await;
    drop(hand);
    stateless.until(|traffic| traffic.cancelled() == [1]).await;

    let server = start().await;
    let mut hand = Hand::shake(&server).await;
    hand.send(request(2, "tools/call", slow)).await;
    server.until(|traffic| traffic.calls("slow").len() == 1).await;
    drop(hand);
    server.until(|traffic| traffic.entries().iter().any(|entry| entry.what == What::Gone)).await;
    assert_eq!(server.ledger().count("slow"), 0, "it is not yet done");
    server.until_effects(|ledger| ledger.count("slow") == 1).await;
    assert_eq!(server.traffic().cancelled(), [0; 0]);
    // By now it would have been done there too.
    assert_eq!(stateless.ledger().count("slow"), 0);
}

#[tokio::test]
async fn wrong_credentials_are_challenged_until_they_are_right() {
    let server = start().await.sessionless().authorization("Bearer right", "Bearer realm=\"x\"");
    let mut hand = Hand::connect(server.address()).await;
    let refused = hand.ask(call(1, "pay")).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer realm=\"x\"")));
    assert_eq!(server.ledger().count("pay"), 0);
    hand.headers.push(("authorization".to_owned(), "Bearer right".to_owned()));
    assert_eq!(hand.ask(call(2, "pay")).await.status, 200);
    assert_eq!(server.ledger().count("pay"), 1);
}

#[tokio::test]
async fn a_client_that_breaks_the_rules_is_noticed() {
    let server = start().await;
    let mut hand = Hand::shake(&server).await;
    hand.headers.retain(|(name, _)| name != "mcp-protocol-version" && name != "accept");
    hand.ask(call(2, "pay")).await;
    hand.ask(call(2, "pay")).await;
    hand.ask(json!([call(3, "pay")])).await;
    let found = server.violations().join("\n");
    for wrong in ["agreed revision", "both forms", "used before", "without one JSON-RPC message"] {
        assert!(found.contains(wrong), "{wrong}: {found}");
    }
}

#[tokio::test]
async fn a_redirect_leads_to_a_place_that_keeps_the_same_books() {
    let server = start().await.sessionless();
    let redirect = Step::Respond(Reply::redirect(307, &server.elsewhere()));
    let server = server.on_tool("pay", 1, [redirect]);
    let mut hand = Hand::shake(&server).await;
    let answer = hand.ask(call(2, "pay")).await;
    assert_eq!((answer.status, answer.header("location")), (307, Some(server.elsewhere().as_str())));
    assert_eq!(server.ledger().count("pay"), 0);
    let post = hand.post("/elsewhere", &call(2, "pay"));
    hand.write(post).await;
    assert_eq!(hand.response().await.status, 200);
    assert_eq!(server.ledger().count("pay"), 1);
    let targets: Vec<_> = server.traffic().calls("pay").iter().map(|call| call.target.clone()).collect();
    assert_eq!(targets, ["/mcp", "/elsewhere"]);
}

#[tokio::test]
async fn a_server_that_stops_breaks_its_connections_and_takes_none() {
    let server = start().await;
    let mut hand = Hand::shake(&server).await;
    server.stop();
    hand.rest().await;
    let refused = tokio::net::TcpStream::connect(server.address()).await;
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}
