//! The transport of 2024-11-05: one event stream for all answers, which says where to post to.

use host_tests::host::http::Origin;
use host_tests::ledger::http::{End, Event, HttpLedger, Step};
use host_tests::{Cause, FailureKind, Http, NotExecuted, Outcome, Session, ToolCall};

use crate::{Paid, call, ended, lost, oddities, ok, over, pay, server, told, unknown, until};

/// A session with a server of this kind, found to be one.
async fn open(server: &HttpLedger) -> Session {
    crate::open(server).await
}

async fn paid(steps: impl Into<Vec<Step>>) -> Paid {
    let server = server().await.http_sse().on_tool("pay", 1, steps);
    let session = open(&server).await;
    let verdict = call(&session, pay()).await;
    Paid { server, session, verdict }
}

/// A server that takes no POST at its URL is found to be of this kind; the session works, and each call is posted
/// once, where the stream says.
#[tokio::test]
async fn a_session_over_http_and_sse_works() {
    let paid = paid([Step::Execute, Step::Answer]).await;
    ok(&paid.once(1).verdict);
    paid.goes_on().await;
    let tools = paid.session.list_tools().await.expect("the instance lives").expect("they are listed");
    assert!(tools.iter().any(|tool| tool.name == "pay"), "{tools:?}");
    let traffic = paid.server.traffic();
    for call in traffic.calls("pay") {
        assert!(call.target.starts_with("/messages?session="), "{call:?}");
    }
    assert_eq!(traffic.with("DELETE").len(), 0);
    assert_eq!(oddities(&told(&paid.session).await), [""; 0]);
}

/// That stream is the connection: when it ends, everything in flight is unknown at once, and the next call has a
/// fresh one.
#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_connection() {
    for end in [End::Close, End::Reset] {
        let server = server().await.http_sse();
        let server = server.on_tool("slow", 1, [Step::End(End::Hang)]);
        let server = server.on_tool("pay", 1, [Step::Execute, Step::EndShared(end)]);
        let session = open(&server).await;
        let slow = session.call_tool(ToolCall::new("slow"));
        until(&server, |traffic| !traffic.calls("slow").is_empty()).await;
        let verdict = call(&session, pay()).await;
        lost(&verdict);
        lost(&ended(slow).await);
        let paid = Paid { server, session, verdict };
        paid.once(1);
        ok(&call(&paid.session, pay()).await);
        assert_eq!(paid.server.ledger().count("pay"), 2);
    }
}

/// B029, python-sdk#2678 and #2821: an answer that comes together with the end of the stream counts.
#[tokio::test]
async fn an_answer_just_before_the_end_of_the_stream_counts() {
    let paid = paid([Step::Execute, Step::Answer, Step::EndShared(End::Close)]).await;
    ok(&paid.once(1).verdict);
}

/// B064: here the response to a POST says nothing of the answer, 202 or whatever.
#[tokio::test]
async fn the_response_to_a_post_is_no_answer() {
    let paid = paid([Step::Execute, Step::Answer, Step::status(200)]).await;
    ok(&paid.once(1).verdict);

    // A refusal is one all the same.
    let refused = self::paid([Step::status(403)]).await;
    assert_eq!(refused.once(0).refused().status, 403);
    refused.goes_on().await;

    let failed = self::paid([Step::Execute, Step::status(500)]).await;
    let cause = &failed.once(1).unknown().cause;
    assert!(matches!(cause, Cause::Refused(refusal) if refusal.status == 500), "{cause:?}");
    failed.goes_on().await;
}

/// An answer that came before the refusal of its POST stays what it is.
#[tokio::test]
async fn an_answer_before_a_refusal_counts() {
    let paid = paid([Step::Execute, Step::Answer, Step::sleep(50), Step::status(500)]).await;
    assert!(matches!(paid.once(1).verdict, Ok(Outcome::Ok(_))), "{:?}", paid.verdict);
}

/// The stream may not lead anywhere else: not to another origin, whether or not that is allowed, nor to another
/// scheme.
#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    let other = server().await;
    let elsewhere =
        [other.url(), other.url().replace("http:", ""), "https:///".to_owned(), "http://[".to_owned()];
    for endpoint in elsewhere {
        let server = server().await.http_sse();
        let begins = [Step::Event(Event::data(endpoint.as_str()).kind("endpoint")), Step::End(End::Hang)];
        let server = server.always_http("GET", begins);
        let both =
            Http::to(&server.url()).expect("it is a URL").and(Origin::of(&other.url()).expect("it is a URL"));
        let session = over(both, &server.url(), |options| options.recovery.attempts = 2).await;
        let verdict = call(&session, pay()).await;
        let Err(NotExecuted::ConnectFailed(failure)) = &verdict else { panic!("{endpoint}: {verdict:?}") };
        assert_eq!(failure.kind, FailureKind::Malformed, "{failure:?}");
        let traffic = server.traffic();
        let posted: Vec<_> = traffic.with("POST").iter().map(|post| post.target.clone()).collect();
        assert!(posted.iter().all(|target| target == "/mcp"), "{posted:?}");
        assert_eq!(traffic.calls("pay").len(), 0);
    }
    assert_eq!(other.traffic().connections(), 0);
}

/// The first word of the stream counts: nothing later leads a session elsewhere.
#[tokio::test]
async fn an_endpoint_that_comes_later_changes_nothing() {
    let other = server().await;
    let begins = [
        Step::Event(Event::data("/messages?session=session-1").kind("endpoint")),
        Step::Event(Event::data(other.url()).kind("endpoint")),
        Step::Event(Event::data("/elsewhere?session=session-1").kind("endpoint")),
        Step::Follow,
    ];
    let server = server().await.http_sse().always_http("GET", begins);
    let both =
        Http::to(&server.url()).expect("it is a URL").and(Origin::of(&other.url()).expect("it is a URL"));
    let session = over(both, &server.url(), |_| {}).await;
    ok(&call(&session, pay()).await);
    let traffic = server.traffic();
    assert_eq!(traffic.calls("pay")[0].target, "/messages?session=session-1");
    assert!(traffic.with("POST").iter().all(|post| post.target != "/elsewhere"), "{traffic:?}");
    assert_eq!((other.traffic().connections(), server.ledger().count("pay")), (0, 1));
}

/// An endpoint cannot smuggle a line into a request either.
#[tokio::test]
async fn an_endpoint_with_control_bytes_is_refused() {
    for endpoint in ["/m\u{1}", "/m x", "/m\tHTTP/1.1"] {
        let begins = [Step::Event(Event::data(endpoint).kind("endpoint")), Step::End(End::Hang)];
        let server = server().await.http_sse().always_http("GET", begins);
        let http = Http::to(&server.url()).expect("it is a URL");
        let session = over(http, &server.url(), |options| options.recovery.attempts = 2).await;
        let verdict = call(&session, pay()).await;
        assert!(matches!(verdict, Err(NotExecuted::ConnectFailed(_))), "{endpoint:?}: {verdict:?}");
        let traffic = server.traffic();
        assert!(traffic.with("POST").iter().all(|post| post.target == "/mcp"), "{traffic:?}");
    }
}

/// B075: on a stream that all share, ids are all there is: an answer to nobody is nobody's.
#[tokio::test]
async fn an_answer_to_nobody_on_the_shared_stream_is_nobodys() {
    let stray = Step::say(r#"{"jsonrpc":"2.0","id":999999,"result":{"content":[]}}"#);
    let paid = paid([Step::Execute, stray, Step::Answer]).await;
    ok(&paid.once(1).verdict);
    assert_eq!(oddities(&told(&paid.session).await).len(), 1);
}

/// B118: a call that is given up is cancelled by a notification; its stream is everybody's.
#[tokio::test]
async fn a_call_that_is_given_up_leaves_the_stream_open() {
    let server = server().await.http_sse().on_tool("pay", 1, [Step::Execute]);
    let session = open(&server).await;
    let verdict = call(&session, pay().timeout(std::time::Duration::from_millis(100))).await;
    assert_eq!(unknown(&verdict).cause, Cause::TimedOut);
    until(&server, |traffic| traffic.posts("notifications/cancelled").len() == 1).await;
    let paid = Paid { server, session, verdict };
    paid.once(1).goes_on().await;
}
