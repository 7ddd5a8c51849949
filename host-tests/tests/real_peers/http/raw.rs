//! Requests by hand: what a server says to the byte, and the end of a session behind its client's back.

use std::net::SocketAddr;

use memchr::memmem;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::bench::Era;
use super::server::Server;

/// A session, spoken by hand.
pub(crate) struct Raw {
    address: SocketAddr,
    path: &'static str,
    era: Era,
    session: Option<String>,
    /// The messages of the handshake, and how long the responses were, in bytes.
    pub(crate) handshake: Vec<(&'static str, usize)>,
}

impl Raw {
    fn new(server: &Server, era: Era, session: Option<String>) -> Raw {
        Raw { address: server.address, path: server.path, era, session, handshake: Vec::new() }
    }

    /// Begins a session.
    pub(crate) async fn begin(server: &Server, era: Era) -> Raw {
        let mut raw = Raw::new(server, era, None);
        for method in era.handshake() {
            let response = raw.post(method, handshake(method, era), is_whole).await;
            raw.handshake.push((method, response.len()));
            raw.session = raw.session.or(header(&response, "mcp-session-id"));
        }
        raw
    }

    /// Calls a tool, and returns what the server says, up to what is enough.
    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: &Value,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Vec<u8> {
        let params = json!({ "name": name, "arguments": arguments });
        self.post("tools/call", message("tools/call", params, self.era), is_enough).await
    }

    async fn post(&self, method: &str, message: Value, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut headers = format!(
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-method: {method}\r\n"
        );
        if let Some(name) = message["params"]["name"].as_str() {
            headers += &format!("mcp-name: {name}\r\n");
        }
        let mut stream = self.request("POST", &headers, &message.to_string()).await;
        read(&mut stream, is_enough).await
    }

    async fn request(&self, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let session = self.session.as_ref().map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
        let (path, address, revision, length) = (self.path, self.address, self.era.revision(), body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nmcp-protocol-version: {revision}\r\n{session}{headers}content-length: {length}\r\n\r\n{body}",
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        stream
    }
}

/// Ends the session with this id.
pub(crate) async fn end_session(server: &Server, id: &str) {
    let raw = Raw::new(server, Era::Legacy, Some(id.to_owned()));
    let mut stream = raw.request("DELETE", "", "").await;
    let response = read(&mut stream, |bytes| bytes.contains(&b'\n')).await;
    assert!(response.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&response));
}

async fn read(stream: &mut TcpStream, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut response = Vec::new();
    while !is_enough(&response) {
        let read = stream.read_buf(&mut response).await.expect("a response");
        assert_ne!(read, 0, "it ended too early: {}", String::from_utf8_lossy(&response));
    }
    response
}

/// Whether a response is there to its last byte.
pub(crate) fn is_whole(response: &[u8]) -> bool {
    let Some(head) = memmem::find(response, b"\r\n\r\n").map(|at| at + 4) else { return false };
    match header(response, "content-length") {
        Some(length) => response.len() == head + length.parse::<usize>().expect("a number"),
        None if header(response, "transfer-encoding").is_some() => response.ends_with(b"\r\n0\r\n\r\n"),
        None => true,
    }
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

fn handshake(method: &str, era: Era) -> Value {
    let client = json!({ "name": "by-hand", "version": "1" });
    match method {
        "initialize" => {
            let params =
                json!({ "protocolVersion": era.revision(), "capabilities": {}, "clientInfo": client });
            message(method, params, era)
        }
        "server/discover" => message(method, json!({}), era),
        notification => json!({ "jsonrpc": "2.0", "method": notification }),
    }
}

/// A request, with an id of one digit, as the first ones of a client have it too.
fn message(method: &str, mut params: Value, era: Era) -> Value {
    if era == Era::Modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": era.revision(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
