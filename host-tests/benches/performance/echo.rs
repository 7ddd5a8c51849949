//! The server that every variant calls: it answers a call of the tool `echo` with the text that it was given.
//!
//! It is as cheap as can be: whatever it costs is in every variant's time alike.

use memchr::memchr2;
use memchr::memmem::find;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// How much is read and written at a time, in bytes.
pub(crate) const BUFFER: usize = 64 << 10;

/// Serves one client until it goes away. A request is one line.
pub(crate) async fn serve(read: impl AsyncRead + Unpin, mut write: impl AsyncWrite + Unpin) {
    let mut read = BufReader::with_capacity(BUFFER, read);
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    loop {
        request.clear();
        match read.read_until(b'\n', &mut request).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        answer.clear();
        reply(&request, &mut answer);
        if write.write_all(&answer).await.is_err() || write.flush().await.is_err() {
            return;
        }
    }
}

fn reply(request: &[u8], answer: &mut Vec<u8>) {
    let Some(id) = after(request, b"\"id\":").map(number) else {
        return;
    };
    answer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    answer.extend_from_slice(id);
    if let Some(text) = after(request, b"\"text\":\"") {
        answer.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        answer.extend_from_slice(string(text));
        answer.extend_from_slice(b"\"}],\"isError\":false}}\n");
    } else if find(request, b"\"initialize\"").is_some() {
        answer.extend_from_slice(
            b",\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\
              \"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n",
        );
    } else {
        answer.extend_from_slice(b",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n");
    }
}

/// What follows `name`.
fn after<'a>(request: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    find(request, name).map(|at| &request[at + name.len()..])
}

/// The number at the start of `bytes`.
fn number(bytes: &[u8]) -> &[u8] {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &bytes[..digits]
}

/// The string that `bytes` is up to its quotation mark.
fn string(bytes: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[end..]) {
        end += found;
        if bytes[end] == b'"' {
            return &bytes[..end];
        }
        end += 2;
    }
    bytes
}
