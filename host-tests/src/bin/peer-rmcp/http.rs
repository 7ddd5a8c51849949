//! Streamable HTTP, with sessions where the revision has them.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use crate::Peer;

/// How long a client is to wait before it resumes a stream: not the three seconds of the SDK, since tests wait
/// with it. All else is as the SDK has it; there is no event store, so that a stream can be resumed as long as
/// the tool runs.
const RETRY: Duration = Duration::from_millis(50);

/// Serves on the loopback interface until killed.
pub(crate) async fn serve(port: u16) -> io::Result<()> {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = Some(RETRY);
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Peer::new()), sessions.into(), config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        // A client that goes away is no failure of the server's.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
