//! How the client proves itself: what the host is asked, when, and that no value of it shows anywhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_tests::host::http::{Challenge, Credentials, Header};
use host_tests::ledger::http::{End, HttpLedger, Reply, Step};
use host_tests::transport::BoxFuture;
use host_tests::{Cause, Failure, FailureKind, Http, NotExecuted, Options, Resend, Session, verdict};
use tokio::sync::Notify;

use crate::{Verdict, call, ok, over, pay, refused, server, told, unknown};

const CHALLENGE: &str = r#"Bearer error="invalid_token""#;

/// What no text of the client's may hold.
const SECRET: &str = "hush-hush";

/// Gives the tokens out one after the other, and remembers who asked. After the last one it declines.
#[derive(Clone)]
struct Tokens {
    asked: Arc<Mutex<Vec<Option<Challenge>>>>,
    tokens: &'static [&'static str],
}

impl Tokens {
    fn new(tokens: &'static [&'static str]) -> Tokens {
        Tokens { asked: Arc::default(), tokens }
    }

    fn asked(&self) -> Vec<Option<Challenge>> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

impl Credentials for Tokens {
    fn authorize(&self, _: &str, challenge: Option<Challenge>) -> BoxFuture<'static, Option<Vec<Header>>> {
        let mut asked = self.asked.lock().expect("nobody panicked");
        asked.push(challenge);
        let token = self.tokens.get(asked.len() - 1);
        let header = token.map(|token| vec![Header::new("authorization", token).expect("it is a header")]);
        Box::pin(async { header })
    }
}

fn challenge(status: u16) -> Option<Challenge> {
    Some(Challenge { status, www_authenticate: Some(CHALLENGE.to_owned()) })
}

async fn session(server: &HttpLedger, tokens: &Tokens, policies: impl FnOnce(&mut Options)) -> Session {
    let http = Http::to(&server.url()).expect("it is a URL").credentials(tokens.clone());
    over(http, &server.url(), policies).await
}

/// What each call of `pay` bore.
fn borne(server: &HttpLedger) -> Vec<Option<String>> {
    let traffic = server.traffic();
    traffic.calls("pay").iter().map(|call| call.header("authorization").map(str::to_owned)).collect()
}

fn tokens(tokens: &[&str]) -> Vec<Option<String>> {
    tokens.iter().map(|token| Some((*token).to_owned())).collect()
}

/// A server that refuses the first `pay` for want of credentials.
async fn refusing(status: u16) -> HttpLedger {
    let refusal = Reply::unauthorized(CHALLENGE).with_status(status);
    server().await.on_tool("pay", 1, [Step::Respond(refusal)])
}

/// The host is asked once when a connection opens, and every request bears the answer.
#[tokio::test]
async fn the_host_is_asked_once_for_a_connection() {
    let (server, own) = (server().await.authorization("Bearer 1", CHALLENGE), Tokens::new(&["Bearer 1"]));
    let session = session(&server, &own, |_| {}).await;
    for _ in 0..3 {
        ok(&call(&session, pay()).await);
    }
    assert_eq!(own.asked(), [None]);
    // And once for the next one. It declines: what it said before stays.
    session.reconnect().await.expect("the instance lives").expect("it connects");
    ok(&call(&session, pay()).await);
    assert_eq!(own.asked(), [None, None]);
    session.close().await.expect("the instance lives");
    crate::until(&server, |traffic| traffic.with("DELETE").len() == 2).await;
    let traffic = server.traffic();
    for (_, request) in traffic.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer 1"), "{request:?}");
    }
    assert_eq!(server.ledger().count("pay"), 4);
}

/// A refusal for want of credentials is told with its challenge, and the call is not posted again; the next one
/// bears what the host says to that challenge.
#[tokio::test]
async fn a_challenge_ends_the_call_and_the_next_one_bears_new_credentials() {
    for status in [401, 403] {
        let (server, own) = (refusing(status).await, Tokens::new(&["Bearer 1", "Bearer 2"]));
        let session = session(&server, &own, |_| {}).await;
        let verdict = call(&session, pay()).await;
        let refusal = refused(&verdict);
        assert_eq!((refusal.status, refusal.www_authenticate.as_deref()), (status, Some(CHALLENGE)));
        assert_eq!((own.asked(), borne(&server)), (vec![None], tokens(&["Bearer 1"])));

        ok(&call(&session, pay()).await);
        ok(&call(&session, pay()).await);
        assert_eq!(own.asked(), [None, challenge(status)]);
        assert_eq!(borne(&server), tokens(&["Bearer 1", "Bearer 2", "Bearer 2"]));
        assert_eq!((server.ledger().count("pay"), server.traffic().posts("initialize").len()), (2, 1));
    }
}

/// Where the caller wants a refused call sent again, it is: once more, with fresh credentials, in the same session.
#[tokio::test]
async fn a_caller_may_have_a_refused_call_sent_with_fresh_credentials() {
    for status in [401, 403] {
        let (server, own) = (refusing(status).await, Tokens::new(&["Bearer 1", "Bearer 2"]));
        let session = session(&server, &own, |options| options.resend = Resend::Refused).await;
        let verdict = call(&session, pay()).await;
        assert_eq!(ok(&verdict).attempts, 2);
        assert_eq!(own.asked(), [None, challenge(status)]);
        assert_eq!(borne(&server), tokens(&["Bearer 1", "Bearer 2"]));
        assert_eq!((server.ledger().count("pay"), server.traffic().posts("initialize").len()), (1, 1));
    }
}

/// A host that has nothing better declines: the earlier headers stay, and a call is sent once more at most.
#[tokio::test]
async fn a_host_that_declines_leaves_the_headers_as_they_are() {
    for (resend, posts) in [(Resend::Never, 1), (Resend::Proven, 1), (Resend::Refused, 2)] {
        let (server, own) = (server().await, Tokens::new(&["Bearer 1"]));
        let session = session(&server, &own, |options| options.resend = resend).await;
        session.reconnect().await.expect("the instance lives").expect("it connects");
        let server = server.authorization("Bearer 2", CHALLENGE);
        assert_eq!(refused(&call(&session, pay()).await).status, 401);
        assert_eq!((borne(&server), server.ledger().count("pay")), (tokens(&vec!["Bearer 1"; posts]), 0));
        // It is good again.
        let server = server.authorization("Bearer 1", CHALLENGE);
        ok(&call(&session, pay()).await);
        assert_eq!(own.asked().last(), Some(&challenge(401)));
        assert_eq!(server.ledger().count("pay"), 1);
    }
}

/// A refusal of the handshake is answered by the next try, with what the host says to the challenge.
#[tokio::test]
async fn a_handshake_that_is_refused_is_tried_again_with_new_credentials() {
    let (server, own) =
        (server().await.authorization("Bearer 2", CHALLENGE), Tokens::new(&["Bearer 1", "Bearer 2"]));
    let session = session(&server, &own, |options| options.recovery.attempts = 2).await;
    ok(&call(&session, pay()).await);
    assert_eq!(own.asked(), [None, challenge(401)]);
    assert_eq!((borne(&server), server.ledger().count("pay")), (tokens(&["Bearer 2"]), 1));
}

/// A resumption that is refused is answered by the host too: the answer comes, and the call was posted once.
#[tokio::test]
async fn a_resumption_that_is_refused_is_tried_again_with_new_credentials() {
    let own = Tokens::new(&["Bearer 1", "Bearer 2"]);
    let lost = [Step::Open, Step::End(End::Close), Step::Execute, Step::Answer];
    let server = server().await.resumable(Some(1)).on_tool("pay", 1, lost);
    let refusal = Reply::unauthorized(CHALLENGE);
    let server = server.on_http("GET", 2, [Step::Respond(refusal)]);
    let session = session(&server, &own, |_| {}).await;
    session.reconnect().await.expect("the instance lives").expect("it connects");
    // That is the one for the server's own stream.
    crate::until(&server, |traffic| traffic.with("GET").len() == 1).await;
    ok(&call(&session, pay()).await);
    assert_eq!(own.asked(), [None, challenge(401)]);
    let traffic = server.traffic();
    let gets: Vec<_> = traffic.with("GET").iter().skip(1).map(|get| get.header("authorization")).collect();
    assert_eq!(gets, [Some("Bearer 1"), Some("Bearer 2")]);
    assert_eq!((borne(&server), server.ledger().count("pay")), (tokens(&["Bearer 1"]), 1));
}

/// The answer to one challenge is for all calls: those that come after it ask no more.
#[tokio::test]
async fn what_the_host_says_to_a_challenge_is_for_all_calls() {
    let (server, own) = (server().await, Tokens::new(&["Bearer 1", "Bearer 2"]));
    let session = session(&server, &own, |options| options.resend = Resend::Refused).await;
    session.reconnect().await.expect("the instance lives").expect("it connects");
    let server = server.authorization("Bearer 2", CHALLENGE);
    assert_eq!(ok(&call(&session, pay()).await).attempts, 2);
    let calls = (0..6).map(|_| crate::ended(session.call_tool(pay())));
    futures::future::join_all(calls).await.iter().for_each(|verdict| _ = ok(verdict));
    assert_eq!(own.asked(), [None, challenge(401)]);
    assert_eq!(server.ledger().count("pay"), 7);
}

/// Answers a challenge when it is let.
#[derive(Clone, Default)]
struct Waiting {
    asked: Arc<Notify>,
    let_go: Arc<Notify>,
}

impl Credentials for Waiting {
    fn authorize(&self, _: &str, challenge: Option<Challenge>) -> BoxFuture<'static, Option<Vec<Header>>> {
        let own = self.clone();
        Box::pin(async move {
            if challenge.is_some() {
                own.asked.notify_one();
                own.let_go.notified().await;
            }
            None
        })
    }
}

/// A call that nobody waits for any more when its credentials come is not posted.
#[tokio::test]
async fn credentials_that_come_too_late_send_nothing() {
    let (server, own) = (refusing(401).await, Waiting::default());
    let http = Http::to(&server.url()).expect("it is a URL").credentials(own.clone());
    let session = over(http, &server.url(), |_| {}).await;
    refused(&call(&session, pay()).await);
    let verdict = call(&session, pay().timeout(Duration::from_millis(100))).await;
    assert_eq!(unknown(&verdict).cause, Cause::TimedOut);
    own.asked.notified().await;

    let next = session.call_tool(pay());
    own.let_go.notify_one();
    let next = crate::ended(next);
    let mut next = std::pin::pin!(next);
    // Whoever asked is gone with its call, or not; the next one asks, if so.
    let verdict = tokio::select! {
        verdict = &mut next => verdict,
        () = own.asked.notified() => {
            own.let_go.notify_one();
            next.await
        }
    };
    ok(&verdict);
    assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (2, 1));
}

/// A header that is the transport's to write is refused when the connection opens. Its name is said, its value is
/// not, and nothing is sent. (That a value is one line the host's own type sees to, and the transport's unit tests
/// that it looks itself.)
#[tokio::test]
async fn a_reserved_header_of_the_hosts_is_refused_and_its_value_shows_nowhere() {
    let reserved = ["mcp-session-id", "Content-Length", "transfer-encoding", "host", "last-event-id"];
    for name in reserved {
        let server = server().await;
        let header = Header::new(name, SECRET).expect("it is a header");
        let http = Http::to(&server.url()).expect("it is a URL").credentials(vec![header]);
        assert!(!format!("{http:?}").contains(SECRET));
        let session = over(http, &server.url(), |options| options.recovery.attempts = 1).await;
        let outcome = call(&session, pay()).await;
        let Err(NotExecuted::ConnectFailed(Failure { kind, detail })) = &outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(*kind, FailureKind::Malformed);
        assert!(detail.iter().any(|words| words.contains(&name.to_ascii_lowercase())), "{detail:?}");
        shows_nowhere(&session, &outcome).await;
        assert_eq!(server.traffic().connections(), 0);
    }
}

/// Nor does a good one's, whatever becomes of the call.
#[tokio::test]
async fn no_value_shows_in_what_is_told_of_a_call() {
    let ends = [
        vec![Step::Respond(Reply::unauthorized(CHALLENGE))],
        vec![Step::status(500)],
        vec![Step::End(End::Reset)],
        vec![Step::Respond(Reply::gzip())],
        vec![Step::Answer],
    ];
    for steps in ends {
        let server = server().await.on_tool("pay", 1, steps);
        let header = Header::new("authorization", SECRET).expect("it is a header");
        let http = Http::to(&server.url()).expect("it is a URL").credentials(vec![header]);
        let session = over(http, &server.url(), |_| {}).await;
        let outcome = call(&session, pay()).await;
        assert_eq!(borne(&server), tokens(&[SECRET]));
        shows_nowhere(&session, &outcome).await;
    }
}

async fn shows_nowhere(session: &Session, outcome: &Verdict) {
    let json = verdict::call(outcome).to_string();
    let events = told(session).await;
    let told: Vec<String> = events.iter().map(|event| verdict::event(event).to_string()).collect();
    let all = format!("{outcome:?} {json} {events:?} {told:?}");
    assert!(!all.contains(SECRET), "{all}");
}
