//! The proxy that cuts connections to any server.

use host_tests::fault_proxy::{Cut, FaultProxy};
use host_tests::ledger::http::{End, HttpLedger, When};

use crate::hand::{Hand, call};

/// A server, a proxy before it that cuts the first call, and a client that has shaken hands through it.
async fn proxied(cut: Option<Cut>) -> (HttpLedger, FaultProxy, Hand) {
    let server = HttpLedger::start().await.expect("a port");
    let proxy = FaultProxy::before(server.address()).await.expect("a port");
    let first = When::method("tools/call").nth(1);
    let proxy = match cut {
        Some(cut) => proxy.cut(first, cut),
        None => proxy,
    };
    let hand = Hand::shake_at(proxy.address()).await;
    (server, proxy, hand)
}

#[tokio::test]
async fn it_passes_everything_on_and_counts() {
    let (server, proxy, mut hand) = proxied(None).await;
    assert_eq!(hand.ask(call(2, "pay")).await.last()["id"], 2);
    let passed = proxy.passed();
    assert_eq!(passed.len(), 3);
    assert_eq!(passed[2].request.tool().as_deref(), Some("pay"));
    assert_eq!(passed[2].length, hand.post("/mcp", &call(2, "pay")).len() as u64);
    assert!(!passed[2].cut);
    server.until(|traffic| traffic.length(3).is_some()).await;
    proxy.until(|passed| Some(passed[2].response) == server.traffic().length(3)).await;
    drop(hand);
    server.until(|traffic| traffic.entries().iter().any(|entry| entry.connection == 1)).await;
}

#[tokio::test]
async fn it_cuts_a_response_at_every_byte() {
    let (server, _proxy, mut hand) = proxied(None).await;
    hand.ask(call(2, "pay")).await;
    server.until(|traffic| traffic.length(3).is_some()).await;
    let length = server.traffic().length(3).unwrap();
    for cut in 0..=length {
        for end in [End::Close, End::Reset] {
            let (server, proxy, mut hand) = proxied(Some(Cut::Response(cut, end))).await;
            hand.send(call(2, "pay")).await;
            let (bytes, in_order) = hand.rest().await;
            assert_eq!(in_order, end == End::Close, "{cut}");
            if in_order {
                assert_eq!(bytes.len() as u64, cut);
            }
            let passed = proxy.passed();
            assert_eq!((passed[2].response, passed[2].cut), (cut, true));
            assert_eq!(server.ledger().count("pay"), 1, "{cut}");
            // The next one is whole.
            let mut next = hand.another().await;
            assert_eq!(next.ask(call(3, "pay")).await.last()["id"], 3);
        }
    }
}

#[tokio::test]
async fn it_cuts_a_request_at_every_byte() {
    let (_server, proxy, mut hand) = proxied(None).await;
    hand.ask(call(2, "pay")).await;
    let length = proxy.passed()[2].length;
    for cut in 0..=length {
        let end = if cut % 2 == 0 { End::Close } else { End::Reset };
        let (server, proxy, mut hand) = proxied(Some(Cut::Request(cut, end))).await;
        hand.send(call(2, "pay")).await;
        let (bytes, in_order) = hand.rest().await;
        assert_eq!((bytes.len(), in_order), (0, end == End::Close), "{cut}");
        assert!(proxy.passed()[2].cut);
        if cut < length {
            assert_eq!(server.ledger().count("pay"), 0, "{cut}");
        } else if end == End::Close {
            server.until_effects(|ledger| ledger.count("pay") == 1).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_gone_behind_it_too() {
    let (server, _proxy, mut hand) = proxied(None).await;
    server.stop();
    hand.rest().await;
    let mut next = hand.another().await;
    assert_eq!(next.rest().await.0, b"");
}
