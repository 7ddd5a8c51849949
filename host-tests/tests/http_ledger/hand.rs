//! A client that does by hand what an HTTP transport does, and sees every byte.

use std::net::SocketAddr;

use host_tests::ledger::http::HttpLedger;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// One TCP connection.
pub(crate) struct Hand {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
    /// Headers of every request.
    pub(crate) headers: Vec<(String, String)>,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Without framing.
    pub(crate) body: String,
    /// The data pieces in which the body came: its chunks, if it has any.
    pub(crate) chunks: usize,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("it is JSON")
    }

    /// The data of each event, by LF.
    pub(crate) fn events(&self) -> Vec<String> {
        let lines = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter(|data| !data.is_empty()).map(str::to_owned).collect()
    }

    /// The last event's message.
    pub(crate) fn last(&self) -> Value {
        serde_json::from_str(self.events().last().expect("an event")).expect("it is JSON")
    }
}

impl Hand {
    pub(crate) async fn connect(address: SocketAddr) -> Hand {
        let stream = TcpStream::connect(address).await.expect("it connects");
        let accept = ("accept".to_owned(), "application/json, text/event-stream".to_owned());
        Hand { stream, buffer: Vec::new(), headers: vec![accept] }
    }

    /// Connects, and does the handshake.
    pub(crate) async fn shake(server: &HttpLedger) -> Hand {
        let mut hand = Hand::connect(server.address()).await;
        let params = json!({"protocolVersion": "2025-11-25"});
        let answer = hand.ask(request(1, "initialize", params)).await;
        assert_eq!(answer.status, 200);
        hand.headers.push(("mcp-protocol-version".to_owned(), "2025-11-25".to_owned()));
        if let Some(id) = answer.header("mcp-session-id") {
            hand.headers.push(("mcp-session-id".to_owned(), id.to_owned()));
        }
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(hand.ask(told).await.status, 202);
        hand
    }

    /// A further connection in the same session.
    pub(crate) async fn another(&self) -> Hand {
        let address = self.stream.peer_addr().expect("it is connected");
        let headers = self.headers.clone();
        Hand { headers, ..Hand::connect(address).await }
    }

    pub(crate) fn head(&self, method: &str, target: &str, more: &[(&str, &str)]) -> String {
        let mut head = format!("{method} {target} HTTP/1.1\r\nhost: ledger\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        for (name, value) in more {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head + "\r\n"
    }

    /// A POST, as it is written.
    pub(crate) fn post(&self, target: &str, message: &Value) -> Vec<u8> {
        let body = message.to_string();
        let length = body.len().to_string();
        let framing = [("content-type", "application/json"), ("content-length", &length)];
        (self.head("POST", target, &framing) + &body).into_bytes()
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.expect("it is written");
    }

    pub(crate) async fn send(&mut self, message: Value) {
        let post = self.post("/mcp", &message);
        self.write(post).await;
    }

    pub(crate) async fn ask(&mut self, message: Value) -> Response {
        self.send(message).await;
        self.response().await
    }

    pub(crate) async fn get(&mut self, more: &[(&str, &str)]) {
        let head = self.head("GET", "/mcp", more);
        self.write(head).await;
    }

    /// A whole response.
    pub(crate) async fn response(&mut self) -> Response {
        let head = self.until(b"\r\n\r\n").await;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: Vec<_> = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut response =
            Response { status: status.parse().expect("a status"), headers, body: String::new(), chunks: 0 };
        if response.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = self.until(b"\r\n").await;
                let size = usize::from_str_radix(size.trim(), 16).expect("a size");
                let chunk = self.exactly(size + 2).await;
                if size == 0 {
                    break;
                }
                response.chunks += 1;
                response.body.push_str(&chunk[..size]);
            }
        } else if let Some(length) = response.header("content-length") {
            let length = length.parse().expect("a length");
            response.body = self.exactly(length).await;
        }
        response
    }

    /// What comes, up to and with `end`.
    pub(crate) async fn until(&mut self, end: &[u8]) -> String {
        loop {
            let found = self.buffer.windows(end.len()).position(|window| window == end);
            if let Some(found) = found {
                return self.exactly(found + end.len()).await;
            }
            assert!(self.more().await.expect("no reset") > 0, "it ended before {end:?}");
        }
    }

    async fn exactly(&mut self, count: usize) -> String {
        while self.buffer.len() < count {
            assert!(self.more().await.expect("no reset") > 0, "it ended");
        }
        String::from_utf8_lossy(&self.buffer.drain(..count).collect::<Vec<_>>()).into_owned()
    }

    /// All that comes until the end, and whether that was in order.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, bool) {
        loop {
            match self.more().await {
                Ok(0) => return (std::mem::take(&mut self.buffer), true),
                Ok(_) => {}
                Err(_) => return (std::mem::take(&mut self.buffer), false),
            }
        }
    }

    async fn more(&mut self) -> std::io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u64, tool: &str) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": {"amount": id}}))
}
