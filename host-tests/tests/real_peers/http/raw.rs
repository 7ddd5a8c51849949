//! Requests by hand: what a server says to the byte, and the end of a session behind its client's back.

use std::net::SocketAddr;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::server::Server;

const REVISION: &str = "2025-11-25";

/// The end of a chunked response.
pub(crate) const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// A legacy session, spoken by hand.
pub(crate) struct Raw {
    address: SocketAddr,
    path: &'static str,
    session: Option<String>,
    /// How long the response to `initialize` was, in bytes.
    pub(crate) began: usize,
    /// How long the response to `notifications/initialized` was.
    pub(crate) told: usize,
}

impl Raw {
    /// Begins a session.
    pub(crate) async fn begin(server: &Server) -> Raw {
        let mut raw = Raw::of(server, None);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{REVISION}","capabilities":{{}},"clientInfo":{{"name":"raw","version":"1"}}}}}}"#
        );
        let response = raw.post(&message, LAST_CHUNK).await;
        raw.session = header(&response, "mcp-session-id");
        raw.began = response.len();
        let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        raw.told = raw.post(message, b"\r\n\r\n").await.len();
        raw
    }

    fn of(server: &Server, session: Option<String>) -> Raw {
        Raw { address: server.address, path: server.path, session, began: 0, told: 0 }
    }

    /// Posts a message, and returns what the server says up to `needle`, and what came with that.
    pub(crate) async fn post(&self, message: &str, needle: &[u8]) -> Vec<u8> {
        let headers = format!(
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            message.len()
        );
        let mut stream = self.request("POST", &headers, message).await;
        let mut response = Vec::new();
        while memmem::find(&response, needle).is_none() {
            let read = stream.read_buf(&mut response).await.expect("a response");
            assert_ne!(read, 0, "ended before {needle:?}: {}", String::from_utf8_lossy(&response));
        }
        response
    }

    async fn request(&self, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let session = self.session.as_ref().map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
        let request = format!(
            "{method} {} HTTP/1.1\r\nhost: {}\r\nmcp-protocol-version: {REVISION}\r\n{session}{headers}\r\n{body}",
            self.path, self.address
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        stream
    }
}

/// Ends the session with this id.
pub(crate) async fn end_session(server: &Server, id: &str) {
    let raw = Raw::of(server, Some(id.to_owned()));
    let mut stream = raw.request("DELETE", "", "").await;
    let mut response = Vec::new();
    while memmem::find(&response, b"\r\n").is_none() {
        let read = stream.read_buf(&mut response).await.expect("a response");
        assert_ne!(read, 0, "no response");
    }
    assert!(response.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&response));
}

/// The value of a header in a response.
fn header(response: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(response);
    let (head, _) = text.split_once("\r\n\r\n")?;
    let value = |line: &str| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    };
    head.lines().find_map(value)
}
