//! What the host lets the transport do, and what it says where it cannot.

use std::sync::{Arc, Mutex};

use host_tests::host::http::{Challenge, Credentials, Header, Origin};
use host_tests::ledger::http::HttpLedger;
use host_tests::transport::BoxFuture;
use host_tests::{Failure, FailureKind, HandshakeFailure, Http, NotExecuted, Outcome, Resend, ToolCall};
use tokio::time::timeout;

use crate::{LONG, nobody, over, server, to};

/// Why no connection to `url` comes about.
async fn why_not(http: Http, url: &str) -> Failure {
    let session = over(http, url, |_| {}).await;
    let verdict = timeout(LONG, session.call_tool(ToolCall::new("pay"))).await.expect("no hang");
    match verdict.expect("the instance lives") {
        Err(NotExecuted::ConnectFailed(failure)) => failure,
        // Where there is nothing to open, the first message tells.
        Err(NotExecuted::HandshakeFailed(HandshakeFailure { failure: Some(failure), .. })) => failure,
        other => panic!("{url}: {other:?}"),
    }
}

#[tokio::test]
async fn what_is_not_allowed_is_not_reached() {
    let (server, other) = (server().await, server().await);
    let url = server.url();
    for http in [Http::default(), to(&other.url()), to(&url.replace("http:", "https:"))] {
        assert_eq!(why_not(http, &url).await.kind, FailureKind::AccessDenied);
    }
    assert_eq!((server.traffic().connections(), other.traffic().connections()), (0, 0));

    let both = to(&other.url()).and(Origin::of(&url).expect("it is a URL"));
    let session = over(both, &url, |_| {}).await;
    let verdict = session.call_tool(ToolCall::new("pay")).await.expect("the instance lives");
    assert!(matches!(verdict, Ok(Outcome::Ok(_))), "{verdict:?}");
}

#[tokio::test]
async fn why_a_server_is_not_reached_is_told() {
    let server = server().await;
    for (url, kind) in [
        (nobody().await, FailureKind::ConnectionRefused),
        ("http://nobody.invalid/mcp".into(), FailureKind::NameNotResolved),
        // It speaks no TLS.
        (server.url().replace("http:", "https:"), FailureKind::TlsFailed),
    ] {
        let failure = why_not(to(&url), &url).await;
        assert_eq!(failure.kind, kind, "{url}: {failure:?}");
    }
    assert_eq!(why_not(Http::default(), "no URL").await.kind, FailureKind::Malformed);
}

/// Has a new token for whoever is refused, and remembers who asked.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<Vec<Asked>>>);

type Asked = (String, Option<Challenge>);

impl Credentials for Tokens {
    fn authorize(
        &self,
        endpoint: &str,
        challenge: Option<Challenge>,
    ) -> BoxFuture<'static, Option<Vec<Header>>> {
        let mut asked = self.0.lock().expect("nobody panicked");
        asked.push((endpoint.to_owned(), challenge));
        let token = Header::new("authorization", &format!("Bearer {}", asked.len()));
        Box::pin(async { Some(vec![token.expect("it is a header")]) })
    }
}

async fn paid_with_new_credentials(server: &HttpLedger, tokens: &Tokens, resend: Resend) {
    let http = to(&server.url()).credentials(tokens.clone());
    let session = over(http, &server.url(), |options| options.resend = resend).await;
    let pay = || async { session.call_tool(ToolCall::new("pay")).await.expect("the instance lives") };
    let verdict = pay().await;
    assert!(matches!(verdict, Ok(Outcome::Ok(_))), "{verdict:?}");

    // The token that it has is good no more.
    let challenge = r#"Bearer error="invalid_token""#;
    let next = tokens.0.lock().expect("nobody panicked").len() + 1;
    let _ = server.clone().authorization(&format!("Bearer {next}"), challenge);
    let verdict = pay().await;
    match resend {
        Resend::Refused => assert!(matches!(verdict, Ok(Outcome::Ok(_))), "{verdict:?}"),
        _ => assert!(matches!(verdict, Err(NotExecuted::Refused(_))), "{verdict:?}"),
    }
    let verdict = pay().await;
    assert!(matches!(verdict, Ok(Outcome::Ok(_))), "{verdict:?}");
    let asked = tokens.0.lock().expect("nobody panicked");
    let challenge = Challenge { status: 401, www_authenticate: Some(challenge.into()) };
    assert_eq!(asked.last(), Some(&(server.url(), Some(challenge))));
}

#[tokio::test]
async fn a_challenge_is_answered_with_new_credentials() {
    for resend in [Resend::Proven, Resend::Refused] {
        let (server, tokens) = (server().await, Tokens::default());
        paid_with_new_credentials(&server, &tokens, resend).await;
        let refused = if resend == Resend::Refused { 3 } else { 2 };
        assert_eq!(server.ledger().count("pay"), refused);
    }
}
