//! The client over HTTP, by the transport component and the host's `wasi:http`, on real sockets: that a session
//! connects, lists and calls, each message in one request on a connection of its own; that the host reaches what it
//! is told and nothing else, and tells why it cannot; and the transport alone, as the contract check asks it.

use std::net::Ipv4Addr;
use std::time::Duration;

use host_tests::host::http::Header;
use host_tests::ledger::http::HttpLedger;
use host_tests::{Http, Options, Runtime, Session};

mod alone;
mod host;
mod session;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

fn built() -> Runtime {
    Runtime::built_http().expect("the built component runs")
}

/// What may be reached, and how one proves oneself there.
fn to(url: &str) -> Http {
    let key = Header::new("x-api-key", "hush").expect("it is a header");
    Http::to(url).expect("it is a URL").credentials(vec![key])
}

async fn server() -> HttpLedger {
    HttpLedger::start().await.expect("a port is free")
}

/// A session with `server`, in an instance of its own.
async fn with(server: &HttpLedger) -> Session {
    over(to(&server.url()), &server.url(), |_| {}).await
}

async fn over(http: Http, url: &str, policies: impl FnOnce(&mut Options)) -> Session {
    let client = built().client_over(http);
    let mut options = client.default_options().await.expect("the instance lives");
    options.recovery.attempts = 1;
    policies(&mut options);
    client.session(url, options).await.expect("the instance lives")
}

/// The URL of a port on which nobody listens.
async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    format!("http://{}/", listener.local_addr().expect("it has an address"))
}
