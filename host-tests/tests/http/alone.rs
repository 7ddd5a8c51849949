//! The transport component without the client, as a [`Transport`].

use std::sync::Arc;

use host_tests::FailureKind;
use host_tests::ledger::http::{HttpLedger, What};
use host_tests::transport::component::ComponentTransport;
use host_tests::transport::{Connection, Delivery, Incoming, Outgoing, SendError, Transport};
use tokio::time::timeout;

use crate::{LONG, nobody, server, to};

const MAX: u64 = 1 << 20;

fn message(request: u64, method: &str, params: &str) -> Outgoing {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{request},"method":"{method}","params":{params}}}"#);
    Outgoing {
        message: text.into_bytes(),
        method: method.to_owned(),
        request: Some(request),
        protocol_version: None,
        headers: vec![],
    }
}

fn initialize(request: u64) -> Outgoing {
    let params =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}"#;
    message(request, "initialize", params)
}

fn slow(request: u64, ms: u32) -> Outgoing {
    let params = format!(r#"{{"name":"slow","arguments":{{"ms":{ms}}}}}"#);
    Outgoing { protocol_version: Some("2025-11-25".into()), ..message(request, "tools/call", &params) }
}

fn transport(url: &str) -> ComponentTransport {
    ComponentTransport::built_http(to(url)).expect("the built component runs")
}

/// A connection whose session is open.
async fn shaken(transport: &ComponentTransport, server: &HttpLedger) -> Arc<dyn Connection> {
    let connection = transport.connect(&server.url(), MAX).await.expect("it connects");
    assert_eq!(connection.send(initialize(1)).await, Ok(Delivery::Accepted));
    let came = connection.receive().await;
    assert!(matches!(&came, Ok(Incoming::Message(arrival)) if arrival.channel == Some(1)), "{came:?}");
    let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let initialized = Outgoing {
        message: initialized.to_vec(),
        request: None,
        protocol_version: Some("2025-11-25".into()),
        ..message(0, "notifications/initialized", "{}")
    };
    assert_eq!(connection.send(initialized).await, Ok(Delivery::Accepted));
    connection
}

/// The request whose answer comes next.
async fn next(connection: &Arc<dyn Connection>) -> Option<u64> {
    match timeout(LONG, connection.receive()).await.expect("no hang") {
        Ok(Incoming::Message(arrival)) => arrival.channel,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn messages_go_and_answers_come_in_any_order() {
    let server = server().await;
    let connection = shaken(&transport(&server.url()), &server).await;
    let (first, second) = (connection.send(slow(2, 1_000)), connection.send(slow(3, 300)));
    // A wait that is given up loses nothing.
    drop(connection.receive());
    let none = timeout(std::time::Duration::from_millis(5), connection.receive()).await;
    assert!(none.is_err(), "it is too early for an answer: {none:?}");
    assert_eq!((next(&connection).await, next(&connection).await), (Some(3), Some(2)));
    assert_eq!((first.await, second.await), (Ok(Delivery::Accepted), Ok(Delivery::Accepted)));
    timeout(LONG, connection.close()).await.expect("no hang");
    assert_eq!(server.traffic().with("DELETE").len(), 1);
    assert_eq!(server.violations(), [""; 0]);
}

#[tokio::test]
async fn a_connection_that_is_dropped_lets_go_at_once_and_the_next_one_works() {
    let server = server().await;
    let transport = transport(&server.url());
    let connection = shaken(&transport, &server).await;
    let sending = tokio::spawn(connection.send(slow(2, 50_000)));
    let receiving = tokio::spawn(connection.receive());
    timeout(LONG, server.until(|traffic| !traffic.calls("slow").is_empty())).await.expect("it comes");
    let gone = |what: &What| matches!(what, What::Gone);
    let before = server.traffic().entries().iter().filter(|entry| gone(&entry.what)).count();
    drop(connection);
    let more = |traffic: &host_tests::ledger::http::Traffic| {
        traffic.entries().iter().filter(|entry| gone(&entry.what)).count() > before
    };
    timeout(LONG, server.until(more)).await.expect("it lets go");
    let sent = timeout(LONG, sending).await.expect("no hang").expect("no panic");
    assert!(matches!(sent, Err(SendError::Unknown(_)) | Ok(Delivery::Accepted)), "{sent:?}");
    let received = timeout(LONG, receiving).await.expect("no hang").expect("no panic");
    assert!(received.is_err(), "{received:?}");

    shaken(&transport, &server).await;
}

#[tokio::test]
async fn what_cannot_be_sent_was_not() {
    let url = nobody().await;
    let connection = transport(&url).connect(&url, MAX).await.expect("there is nothing to connect yet");
    match timeout(LONG, connection.send(initialize(1))).await.expect("no hang") {
        Err(SendError::NotSent(failure)) => assert_eq!(failure.kind, FailureKind::ConnectionRefused),
        other => panic!("{other:?}"),
    }
    let failure = transport(&url).connect("no URL", MAX).await.err();
    assert!(failure.is_some_and(|failure| failure.kind == FailureKind::Malformed));
}
