//! News: what a caller asked to be told. It ends with its connection, since recovery sends the handshake and
//! nothing else (promise P5).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

mod harness;

use harness::{Bench, Sent, failure, last, modern, ms, rpc_error};
use noreplay::protocol::query::News;
use noreplay::session::event::Event;
use noreplay::session::evidence::SendError;
use noreplay::session::policy::Options;
use noreplay::session::reads::{Answer, Read};
use noreplay::session::verdict::{Failure, FailureKind, ReadError};
use noreplay::session::{Delivery, Incoming, Ticket};

/// What may befall the request that brings news.
type Way = fn(&mut Bench, &Sent);

fn of(uris: &[&str]) -> Read {
    let uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
    Read::News(News { tools: true, prompts: false, resources: false, uris })
}

fn acknowledgement(request: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{request}}}}}}}"#
    )
}

/// Asks for news, and lets the server acknowledge it.
fn listen(bench: &mut Bench) -> Sent {
    let ticket = bench.read(of(&["a"]));
    let sent = last(bench, "subscriptions/listen");
    bench.sent(&sent, Ok(Delivery::Accepted));
    assert_eq!(bench.read_end(ticket), None);
    bench.deliver(acknowledgement(sent.id()));
    assert_done(bench, ticket);
    sent
}

fn assert_done(bench: &Bench, ticket: Ticket) {
    assert_eq!(bench.read_end(ticket), Some(&Ok(Answer::Json(String::new()))));
}

/// How news ended, as often as it did.
fn ends(bench: &mut Bench) -> Vec<Option<FailureKind>> {
    let ends = bench.events().into_iter().filter_map(|event| match event {
        Event::Unsubscribed(why) => Some(why.map(|failure| failure.kind)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_modern_server_tells_until_its_answer() {
    let mut bench = modern(Options::default());
    let sent = listen(&mut bench);
    let wanted = r#""notifications":{"resourceSubscriptions":["a"],"toolsListChanged":true}"#;
    assert!(sent.text.contains(wanted), "{sent:?}");
    bench.deliver(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}}"#);
    let events = bench.events();
    assert!(matches!(&events[..], [Event::Notification(_)]), "{events:?}");
    // However long it takes.
    bench.advance(ms(86_400_000));
    assert_eq!(ends(&mut bench), []);
    bench.answer(&sent, r#"{"resultType":"complete"}"#);
    assert_eq!(ends(&mut bench), [None]);
}

#[test]
fn what_is_asked_for_next_takes_the_place_of_what_was() {
    let mut bench = modern(Options::default());
    let first = listen(&mut bench);
    let second = listen(&mut bench);
    assert!(second.id() > first.id());
    // The first is given up once the second holds, so that nothing is missed.
    assert_eq!(bench.abandoned, [first.id()]);
    let cancel = last(&bench, "notifications/cancelled");
    assert!(cancel.text.contains(&format!(r#""requestId":{}"#, first.id())), "{cancel:?}");
    assert_eq!(ends(&mut bench), []);
    bench.answer(&first, "{}");
    assert_eq!(ends(&mut bench), []);
    bench.answer(&second, "{}");
    assert_eq!(ends(&mut bench), [None]);
}

#[test]
fn news_ends_for_a_reason() {
    let closed = Some(FailureKind::Closed);
    let ways: [(Way, Option<FailureKind>); 8] = [
        (|bench, _| bench.lose(FailureKind::ConnectionReset), closed),
        (|bench, _| _ = bench.reconnect(), closed),
        (
            |bench, sent| bench.lose_answer(sent, failure(FailureKind::ConnectionReset)),
            Some(FailureKind::ConnectionReset),
        ),
        (
            |bench, sent| bench.answer_error(sent, r#"{"code":-32603,"message":"m"}"#),
            Some(FailureKind::Other),
        ),
        (
            |bench, sent| bench.deliver(format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, sent.id())),
            Some(FailureKind::Malformed),
        ),
        (
            |bench, sent| {
                let id = sent.id();
                bench.deliver(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                ));
            },
            None,
        ),
        (
            |bench, sent| bench.sent(sent, Err(SendError::Unknown(failure(FailureKind::Other)))),
            Some(FailureKind::Other),
        ),
        (|bench, _| bench.receive(Ok(Incoming::End)), closed),
    ];
    for (number, (way, why)) in ways.into_iter().enumerate() {
        let mut bench = modern(Options::default());
        let sent = listen(&mut bench);
        way(&mut bench, &sent);
        assert_eq!(ends(&mut bench), [why], "{number}");
        // It is over: nothing asks for it again.
        bench.reconnect();
        harness::discover(&mut bench);
        bench.advance(ms(3_600_000));
        assert_eq!(bench.count("subscriptions/listen"), 1, "{number}");
        assert_eq!(ends(&mut bench), [], "{number}");
    }
    let mut bench = modern(Options::default());
    listen(&mut bench);
    bench.close();
    assert_eq!(ends(&mut bench), [], "whoever closed it knows");
}

#[test]
fn only_the_servers_word_begins_it() {
    let strangers = [
        acknowledgement(9_999),
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":7}"#.to_owned(),
    ];
    let mut bench = modern(Options::default());
    let other = bench.read(Read::Ping);
    let ping = last(&bench, "server/discover");
    let (call, _) = bench.pay();
    let ticket = bench.read(of(&[]));
    let sent = last(&bench, "subscriptions/listen");
    for stranger in strangers {
        bench.deliver(stranger);
    }
    bench.deliver(acknowledgement(ping.id()));
    assert_eq!((bench.read_end(ticket), bench.read_end(other)), (None, None));
    assert!(bench.is_pending(call));
    // On the request's own channel it needs no name.
    let unnamed = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}"#;
    bench.deliver_on(sent.receipt.generation, Some(sent.id()), unnamed);
    assert_done(&bench, ticket);
    // Twice is once.
    bench.deliver(acknowledgement(sent.id()));
    assert_eq!(ends(&mut bench), []);

    // Ended before it began, or refused, it did not begin.
    let ticket = bench.read(of(&[]));
    let sent = last(&bench, "subscriptions/listen");
    bench.answer(&sent, "{}");
    assert!(matches!(bench.read_end(ticket), Some(Err(ReadError::Undecodable(_)))));
    let ticket = bench.read(of(&[]));
    let sent = last(&bench, "subscriptions/listen");
    bench.answer_error(&sent, r#"{"code":-32601,"message":"no"}"#);
    assert_eq!(bench.read_end(ticket), Some(&Err(ReadError::AnsweredWithError(rpc_error(-32_601, "no")))));
    let ticket = bench.read(of(&[]));
    let sent = last(&bench, "subscriptions/listen");
    bench.advance(ms(60_000));
    assert_eq!(bench.read_end(ticket), Some(&Err(ReadError::TimedOut)));
    assert!(bench.abandoned.contains(&sent.id()));
}

/// A connection that takes no more messages is not kept for the sake of news.
#[test]
fn news_keeps_no_connection() {
    let mut bench = modern(Options::default());
    listen(&mut bench);
    let call = bench.call("pay");
    let sent = bench.last_of(call);
    bench.sent(&sent, Err(SendError::Unknown(Failure::new(FailureKind::Closed, "it takes no more"))));
    assert_eq!(bench.disconnects.len(), 1);
    assert_eq!(ends(&mut bench), [Some(FailureKind::Closed)]);
}

/// Older servers are asked for each resource, for those only that are new, and to stop where one is not wanted.
#[test]
fn an_older_server_is_asked_for_each_resource() {
    let mut bench = Bench::up(Options::default());
    let mark = bench.wire.len();
    let done = |bench: &mut Bench, ticket| {
        while bench.read_end(ticket).is_none() {
            let sent = bench.wire.last().unwrap().clone();
            bench.answer(&sent, "{}");
        }
        assert_done(bench, ticket);
    };
    let ticket = bench.read(of(&["a", "b"]));
    done(&mut bench, ticket);
    assert_eq!(bench.sent_since(mark), ["resources/subscribe"; 2]);
    let ticket = bench.read(of(&["b", "c"]));
    done(&mut bench, ticket);
    assert_eq!(bench.sent_since(mark)[2..], ["resources/unsubscribe", "resources/subscribe"]);
    assert!(bench.wire[mark + 2].text.contains(r#""uri":"a""#));
    assert!(bench.wire[mark + 3].text.contains(r#""uri":"c""#));
    // Nothing is to be done, and lists are told of unasked.
    let ticket = bench.read(of(&["c", "b"]));
    assert_done(&bench, ticket);
    assert_eq!(bench.wire.len(), mark + 4);
    assert_eq!(ends(&mut bench), []);

    bench.lose(FailureKind::ConnectionReset);
    assert_eq!(ends(&mut bench), [Some(FailureKind::Closed)]);
    bench.reconnect();
    bench.handshake();
    assert_eq!(bench.count("resources/subscribe"), 3, "nothing but the handshake");
    let ticket = bench.read(of(&["c"]));
    done(&mut bench, ticket);
    assert_eq!(bench.count("resources/subscribe"), 4);
    bench.reconnect();
    assert_eq!(ends(&mut bench), [Some(FailureKind::Closed)]);
    bench.handshake();

    // What went wrong is told, and what was done is known.
    let ticket = bench.read(of(&["a", "b"]));
    let first = last(&bench, "resources/subscribe");
    bench.answer(&first, "{}");
    let second = last(&bench, "resources/subscribe");
    bench.answer_error(&second, r#"{"code":-32002,"message":"m"}"#);
    assert!(matches!(bench.read_end(ticket), Some(Err(ReadError::AnsweredWithError(_)))));
    let ticket = bench.read(of(&["a"]));
    assert_done(&bench, ticket);
}

/// Why it ended is told whole: the server's own words, with its code.
#[test]
fn the_servers_error_stands_in_the_end_of_news() {
    for (error, words) in [
        (r#"{"code":-32603,"message":"m"}"#, "the server answered with the error -32603: m"),
        ("7", "the server answered with an error that cannot be read"),
    ] {
        let mut bench = modern(Options::default());
        let sent = listen(&mut bench);
        bench.answer_error(&sent, error);
        let failure = bench.events().into_iter().find_map(|event| match event {
            Event::Unsubscribed(why) => why,
            _ => None,
        });
        assert_eq!(failure.expect("it says why").detail, [words]);
    }
}

/// What is given up is given up where it was asked for.
#[test]
fn news_of_an_earlier_connection_is_given_up_there() {
    let mut bench = modern(Options::default());
    let first = listen(&mut bench);
    // A call that is out keeps the connection, which takes no more messages.
    bench.pay();
    let (_, sent) = bench.pay();
    bench.sent(&sent, Err(SendError::Unknown(Failure::new(FailureKind::Closed, "it takes no more"))));
    let ticket = bench.read(of(&["a"]));
    harness::discover(&mut bench);
    let second = last(&bench, "subscriptions/listen");
    bench.deliver(acknowledgement(second.id()));
    assert_done(&bench, ticket);
    let cancel = last(&bench, "notifications/cancelled");
    assert!(cancel.text.contains(&format!(r#""requestId":{}"#, first.id())), "{cancel:?}");
    assert_eq!(cancel.receipt.generation, first.receipt.generation);
}

/// By that word a server ends nothing but news: a call that it says it cancels may have run.
#[test]
fn a_server_cancels_no_call() {
    let mut bench = modern(Options::default());
    let news = listen(&mut bench);
    let (call, sent) = bench.pay();
    let cancelled = |request: u64| {
        let method = r#""method":"notifications/cancelled""#;
        format!(r#"{{"jsonrpc":"2.0",{method},"params":{{"requestId":{request}}}}}"#)
    };
    bench.deliver(cancelled(sent.id()));
    assert_eq!(ends(&mut bench), []);
    bench.answer(&sent, harness::DONE);
    bench.assert_ok(call, harness::DONE);

    // Nor on another connection than that of the news.
    bench.pay();
    let (_, sent) = bench.pay();
    bench.sent(&sent, Err(SendError::Unknown(Failure::new(FailureKind::Closed, "it takes no more"))));
    bench.call("pay");
    harness::discover(&mut bench);
    bench.deliver(cancelled(news.id()));
    assert_eq!(ends(&mut bench), []);
    bench.deliver_on(news.receipt.generation, None, cancelled(news.id()));
    assert_eq!(ends(&mut bench), [None]);
}
