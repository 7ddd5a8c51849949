//! The ledger server, driven by hand: that it is a well-mannered MCP server, that its books tell what
//! really happened, that each step of a script does what it says, in paused time, and that it notices
//! what a client must not do. Everything else here is proven on top of it.

use std::sync::Arc;
use std::time::Duration;

use host_tests::ledger::{Channel, ConnectStep, LedgerServer, Rule, Step, When, closed, reset};
use host_tests::transport::{Connection, Delivery, Incoming, Outgoing, SendError, Transport};
use host_tests::{Failure, FailureKind};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const MAX_MESSAGE: u64 = 1 << 20;

/// A client that does by hand what the component does.
struct Hand {
    connection: Arc<dyn Connection>,
}

impl Hand {
    /// Connects, and does the handshake under ids below 10.
    async fn shake(server: &LedgerServer) -> Hand {
        let hand = Hand::connect(server).await;
        let answer = hand.ask(1, "initialize", json!({"protocolVersion": "2025-11-25"})).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "ledger");
        hand.tell("notifications/initialized", json!({})).await;
        hand
    }

    async fn connect(server: &LedgerServer) -> Hand {
        let connection = server.connect("", MAX_MESSAGE).await.expect("it connects");
        Hand { connection }
    }

    async fn send(&self, request: u64, method: &str, params: Value) -> Result<Delivery, SendError> {
        let message = json!({"jsonrpc": "2.0", "id": request, "method": method, "params": params});
        self.hand_over(message.to_string(), method, Some(request)).await
    }

    async fn tell(&self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let sent = self.hand_over(message.to_string(), method, None).await;
        assert_eq!(sent, Ok(Delivery::HandedOver));
    }

    async fn hand_over(
        &self,
        message: String,
        method: &str,
        request: Option<u64>,
    ) -> Result<Delivery, SendError> {
        let outgoing = Outgoing {
            message: message.into_bytes(),
            method: method.to_owned(),
            request,
            protocol_version: None,
            headers: Vec::new(),
        };
        self.connection.send(outgoing).await
    }

    async fn call(&self, request: u64, tool: &str) -> Result<Delivery, SendError> {
        let params = json!({"name": tool, "arguments": {"amount": 5}});
        self.send(request, "tools/call", params).await
    }

    async fn receive(&self) -> Result<Incoming, Failure> {
        self.connection.receive().await
    }

    async fn hear(&self) -> Value {
        match self.receive().await {
            Ok(Incoming::Message(arrival)) => serde_json::from_slice(&arrival.message).expect("it is JSON"),
            other => panic!("no message: {other:?}"),
        }
    }

    async fn ask(&self, request: u64, method: &str, params: Value) -> Value {
        let sent = self.send(request, method, params).await;
        assert_eq!(sent, Ok(Delivery::HandedOver));
        let answer = self.hear().await;
        assert_eq!(answer["id"], request);
        answer
    }

    /// Nothing comes, however long one waits.
    async fn hear_nothing(&self) {
        let waiting = timeout(Duration::from_secs(3600), self.receive()).await;
        assert!(waiting.is_err(), "{waiting:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_agrees_on_a_revision_that_it_speaks_or_offers_its_newest() {
    let server = LedgerServer::new().revisions(&["2024-11-05", "2025-03-26"]);
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-03-26"),
        ("1999-01-01", "2025-03-26"),
    ] {
        let hand = Hand::connect(&server).await;
        let answer = hand.ask(1, "initialize", json!({"protocolVersion": asked})).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed);
    }
}

#[tokio::test(start_paused = true)]
async fn its_tools_do_what_they_say_and_only_three_of_them_have_effects() {
    let server = LedgerServer::new();
    let hand = Hand::shake(&server).await;
    let mut request = 10;
    let mut call = async |tool: &str, arguments: Value| {
        request += 1;
        let params = json!({"name": tool, "arguments": arguments});
        hand.ask(request, "tools/call", params).await
    };

    assert_eq!(call("pay", json!({"amount": 5})).await["result"]["isError"], false);
    assert_eq!(call("fail", json!({})).await["result"]["isError"], true);
    let balance = call("balance", json!({})).await;
    assert_eq!(balance["result"]["structuredContent"]["charges"], 1);
    let echo = call("echo", json!({"a": [1, null]})).await;
    assert_eq!(echo["result"]["structuredContent"], json!({"a": [1, null]}));
    let big = call("big", json!({"bytes": 70_000})).await;
    let text = big["result"]["content"][0]["text"].as_str();
    assert_eq!(text.map(str::len), Some(70_000));
    assert_eq!(call("nonesuch", json!({})).await["error"]["code"], -32602);

    let start = Instant::now();
    call("slow", json!({"ms": 5_000})).await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));

    let effects: Vec<_> = server.ledger().effects().to_vec();
    let tools: Vec<_> = effects.iter().map(|effect| effect.tool.as_str()).collect();
    assert_eq!(tools, ["pay", "fail", "slow"]);
    assert_eq!(effects[0].arguments.as_deref(), Some(r#"{"amount":5}"#));
    assert_eq!((effects[0].request, effects[0].connection), (Some(11), 1));
    assert_eq!(server.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn it_lists_its_tools_in_pages() {
    let server = LedgerServer::new().page_size(4).annotations("pay", r#"{"readOnlyHint":true}"#);
    let hand = Hand::shake(&server).await;
    let first = hand.ask(11, "tools/list", json!({})).await;
    let cursor = &first["result"]["nextCursor"];
    let second = hand.ask(12, "tools/list", json!({"cursor": cursor})).await;
    assert_eq!(second["result"].get("nextCursor"), None);
    let tools = |page: &Value| page["result"]["tools"].as_array().map(Vec::len);
    assert_eq!((tools(&first), tools(&second)), (Some(4), Some(2)));
    assert_eq!(first["result"]["tools"][0]["annotations"]["readOnlyHint"], true);
    let wrong = hand.ask(13, "tools/list", json!({"cursor": "nonsense"})).await;
    assert_eq!(wrong["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn what_it_does_not_know_it_says_so() {
    let server = LedgerServer::new();
    let hand = Hand::connect(&server).await;
    let answer = hand.ask(1, "server/discover", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601);
    let answer = hand.ask(2, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_its_effect_in_the_ledger() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::Lose(closed())]);
    let hand = Hand::shake(&server).await;
    assert_eq!(hand.call(11, "pay").await, Ok(Delivery::HandedOver));
    assert_eq!(hand.receive().await, Err(closed()));
    assert_eq!(hand.receive().await, Err(closed()), "it stays lost");
    let sent = hand.call(12, "pay").await;
    assert!(matches!(sent, Err(SendError::NotSent(failure)) if failure.kind == FailureKind::Closed));
    assert_eq!(server.ledger().count("pay"), 1);
    assert_eq!(server.wire().calls("pay"), 2);

    let hand = Hand::shake(&server).await;
    assert_eq!(hand.call(11, "pay").await, Ok(Delivery::HandedOver));
    assert!(hand.hear().await["result"].is_object(), "the second call is met by no rule");
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_end_arrives_before_the_end() {
    let server = LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::Answer, Step::End]).on(
        "tools/call",
        2,
        [Step::Execute, Step::Answer, Step::Lose(reset())],
    );
    for end in [Ok(Incoming::End), Err(reset())] {
        let hand = Hand::shake(&server).await;
        assert_eq!(hand.call(11, "pay").await, Ok(Delivery::HandedOver));
        assert!(hand.hear().await["result"].is_object());
        assert_eq!(hand.receive().await, end);
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_ends_as_the_script_says() {
    let failed = || SendError::Unknown(reset());
    let server = LedgerServer::new()
        .on_tool("pay", 1, [Step::FailSend(failed())])
        .on_tool("pay", 2, [Step::Execute, Step::FailSend(failed()), Step::Answer])
        .on_tool("pay", 3, [Step::HangSend, Step::Execute, Step::Answer])
        .on_tool("pay", 4, [Step::sleep(500), Step::SendOk(Delivery::Accepted)]);
    let hand = Hand::shake(&server).await;

    assert_eq!(hand.call(11, "pay").await, Err(failed()));
    assert_eq!(server.ledger().count("pay"), 0);

    assert_eq!(hand.call(12, "pay").await, Err(failed()));
    assert_eq!(server.ledger().count("pay"), 1);
    assert_eq!(hand.hear().await["id"], 12, "the answer comes all the same");

    let hanging = timeout(Duration::from_secs(3600), hand.call(13, "pay")).await;
    assert!(hanging.is_err(), "{hanging:?}");
    assert_eq!(hand.hear().await["id"], 13);

    let start = Instant::now();
    assert_eq!(hand.call(14, "pay").await, Ok(Delivery::Accepted));
    assert_eq!(start.elapsed(), Duration::from_millis(500));
    hand.hear_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn everything_can_be_said_where_an_answer_would_come() {
    let steps = [
        Step::AnswerWith(r#"{"n":1915883588174806058}"#.into()),
        Step::Error { code: -32000, message: "a \"bad\" day".into(), data: Some("[1]".into()) },
        Step::say(r#"{"jsonrpc":"2.0","id":"$id","result":{}}"#),
        Step::Progress(3),
        Step::Notify(2),
        Step::ServerRequest { id: "\"s1\"".into(), method: "sampling/createMessage".into() },
    ];
    let server = LedgerServer::new().on_tool("pay", 1, steps);
    let hand = Hand::shake(&server).await;
    let params = json!({"name": "pay", "_meta": {"progressToken": "t"}});
    assert_eq!(hand.send(11, "tools/call", params).await, Ok(Delivery::HandedOver));

    match hand.receive().await {
        Ok(Incoming::Message(arrival)) => assert_eq!(
            String::from_utf8_lossy(&arrival.message),
            r#"{"jsonrpc":"2.0","id":11,"result":{"n":1915883588174806058}}"#
        ),
        other => panic!("no message: {other:?}"),
    }
    let error = json!({"code": -32000, "message": "a \"bad\" day", "data": [1]});
    assert_eq!(hand.hear().await["error"], error);
    assert_eq!(hand.hear().await["id"], "11");
    let progress = json!({"progressToken": "t", "progress": 3});
    assert_eq!(hand.hear().await["params"], progress);
    for number in [1, 2] {
        assert_eq!(hand.hear().await["params"]["data"], number);
    }
    let request = hand.hear().await;
    assert_eq!((&request["id"], &request["method"]), (&json!("s1"), &json!("sampling/createMessage")));
}

#[tokio::test(start_paused = true)]
async fn answers_come_on_their_own_channels_where_it_is_so_agreed() {
    let server = LedgerServer::new().own_channels().on_tool(
        "pay",
        1,
        [
            Step::SayOn(Channel::Shared, b"shared".into()),
            Step::SayOn(Channel::Of(99), b"foreign".into()),
            Step::TooLarge { head: b"head of $id".into(), tail: Vec::new(), size: None },
            Step::AnswerLost(reset()),
        ],
    );
    let hand = Hand::connect(&server).await;
    assert_eq!(hand.call(11, "pay").await, Ok(Delivery::HandedOver));
    let channel = async || match hand.receive().await {
        Ok(Incoming::Message(arrival)) => arrival.channel,
        other => panic!("no message: {other:?}"),
    };
    assert_eq!(channel().await, None);
    assert_eq!(channel().await, Some(99));
    match hand.receive().await {
        Ok(Incoming::TooLarge(oversized)) => {
            assert_eq!(oversized.channel, Some(11));
            assert_eq!(oversized.head, b"head of 11");
        }
        other => panic!("not too large: {other:?}"),
    }
    assert!(matches!(hand.receive().await, Ok(Incoming::AnswerLost(lost)) if lost.request == 11));

    // An abandoned request's channel is closed.
    hand.connection.abandon(12);
    assert_eq!(hand.call(12, "pay").await, Ok(Delivery::HandedOver));
    hand.hear_nothing().await;
    assert_eq!(server.wire().abandoned(), [12]);
}

#[tokio::test(start_paused = true)]
async fn a_message_larger_than_the_client_takes_is_skipped() {
    let server = LedgerServer::new();
    let hand = Hand::shake(&server).await;
    let params = json!({"name": "big", "arguments": {"bytes": 2 * MAX_MESSAGE}});
    assert_eq!(hand.send(11, "tools/call", params).await, Ok(Delivery::HandedOver));
    match hand.receive().await {
        Ok(Incoming::TooLarge(oversized)) => {
            assert!(oversized.size > Some(2 * MAX_MESSAGE));
            assert!(oversized.head.starts_with(br#"{"jsonrpc":"2.0","id":11,"#));
            assert!(oversized.tail.ends_with(b"}}"));
        }
        other => panic!("not too large: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_goes_as_the_script_says() {
    let server = LedgerServer::new()
        .on_connect(1, [ConnectStep::Refuse(reset())])
        .on_connect(2, [ConnectStep::Hang])
        .on_connect(3, [ConnectStep::Sleep(Duration::from_secs(2))]);
    assert_eq!(server.connect("", MAX_MESSAGE).await.err(), Some(reset()));
    let hour = Duration::from_secs(3600);
    assert!(timeout(hour, server.connect("", MAX_MESSAGE)).await.is_err());
    let start = Instant::now();
    Hand::shake(&server).await;
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(server.wire().connects(), 3);
}

#[tokio::test(start_paused = true)]
async fn of_several_rules_the_first_counts_and_all_count_along() {
    let server = LedgerServer::new()
        .rule(Rule::new(When::tool("pay").nth(2), [Step::error(1, "first")]))
        .always("tools/call", [Step::error(2, "second")]);
    let hand = Hand::shake(&server).await;
    for (request, tool, code) in [(11, "pay", 2), (12, "echo", 2), (13, "pay", 1), (14, "pay", 2)] {
        assert_eq!(hand.call(request, tool).await, Ok(Delivery::HandedOver));
        assert_eq!(hand.hear().await["error"]["code"], code, "call {request}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_speaks_and_fails_by_itself_too() {
    let server = LedgerServer::new();
    let hand = Hand::shake(&server).await;
    let waiting = tokio::spawn({
        let connection = hand.connection.clone();
        async move { connection.receive().await }
    });
    tokio::task::yield_now().await;
    server.say("hello");
    let heard = waiting.await.expect("no panic");
    assert!(matches!(heard, Ok(Incoming::Message(arrival)) if arrival.message == b"hello"));
    server.say("last words");
    server.lose(closed());
    server.say("too late");
    assert!(matches!(hand.receive().await, Ok(Incoming::Message(_))));
    assert_eq!(hand.receive().await, Err(closed()));
}

#[tokio::test(start_paused = true)]
async fn it_notices_what_a_client_must_not_do() {
    let noticed = async |misdeed: &str| -> Vec<String> {
        let server = LedgerServer::new();
        let hand = Hand::connect(&server).await;
        let cancel = json!({"requestId": 1});
        let message = |id: u64, method: &str| format!(r#"{{"id":{id},"method":"{method}"}}"#);
        match misdeed {
            "not JSON" => drop(hand.hand_over("{".into(), "", None).await),
            "line break" => drop(hand.hand_over("{}\n".into(), "", None).await),
            "method" => drop(hand.hand_over(message(1, "ping"), "pong", Some(1)).await),
            "id" => drop(hand.hand_over(message(1, "ping"), "ping", Some(2)).await),
            "early" => drop(hand.call(1, "pay").await),
            "id again" => {
                hand.ask(2, "ping", json!({})).await;
                hand.ask(2, "ping", json!({})).await;
            }
            "cancel initialize" => {
                hand.ask(1, "initialize", json!({})).await;
                hand.tell("notifications/cancelled", cancel).await;
            }
            "cancel again" => {
                hand.ask(1, "ping", json!({})).await;
                hand.tell("notifications/cancelled", cancel.clone()).await;
                hand.tell("notifications/cancelled", cancel).await;
            }
            "cancel nothing" => hand.tell("notifications/cancelled", cancel).await,
            "after close" => {
                hand.connection.close().await;
                drop(hand.send(1, "ping", json!({})).await);
            }
            other => panic!("unknown misdeed {other}"),
        }
        server.violations()
    };
    for (misdeed, words) in [
        ("not JSON", "no JSON-RPC"),
        ("line break", "a line break"),
        ("method", "not the method"),
        ("id", "not the id"),
        ("early", "before the handshake"),
        ("id again", "does not rise"),
        ("cancel initialize", "a cancel of initialize"),
        ("cancel again", "a second cancel"),
        ("cancel nothing", "a cancel of nothing"),
        ("after close", "after close"),
    ] {
        let found = noticed(misdeed).await;
        assert!(found.iter().any(|found| found.contains(words)), "{misdeed}: {found:?}");
    }
}
