//! The bytes that leave: one response after the other, cut wherever the script says.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::time::sleep;

use super::reply::{Framing, Pieces, Reply};
use super::script::End;

/// A connection's way out.
pub(super) struct Output {
    write: OwnedWriteHalf,
}

impl Output {
    pub(super) fn new(write: OwnedWriteHalf) -> Output {
        Output { write }
    }

    pub(super) fn into_inner(self) -> OwnedWriteHalf {
        self.write
    }
}

/// Why nothing more is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client is gone.
    Gone,
    /// The script ends the connection.
    End(End),
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Stop {
        Stop::Gone
    }
}

/// One response.
pub(super) struct Response<'a> {
    output: &'a mut Output,
    state: State,
    /// How many bytes of it have left, and of its body.
    sent: u64,
    body: u64,
    limit: Option<(u64, End)>,
    pieces: Pieces,
    status: Option<u16>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Nothing was said.
    Before,
    /// The head was.
    Open(Framing),
    /// The script frames it by itself.
    Raw,
    Done,
}

impl<'a> Response<'a> {
    pub(super) fn new(output: &'a mut Output) -> Response<'a> {
        let (state, pieces) = (State::Before, Pieces::default());
        Response { output, state, sent: 0, body: 0, limit: None, pieces, status: None }
    }

    pub(super) fn pieces(&mut self, pieces: Pieces) {
        self.pieces = pieces;
    }

    pub(super) fn limit(&mut self, bytes: u64, end: End) {
        self.limit = Some((bytes, end));
    }

    /// Whether something was said.
    pub(super) fn has_begun(&self) -> bool {
        self.state != State::Before
    }

    /// Whether more can be said.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Before | State::Open(_) | State::Raw)
    }

    /// Its status, and how many bytes of it have left.
    pub(super) fn summary(&self) -> (Option<u16>, u64) {
        (self.status, self.sent)
    }

    /// The whole of `reply`.
    pub(super) async fn reply(&mut self, reply: &Reply) -> Result<(), Stop> {
        self.head(reply, reply.framing, reply.body.len()).await?;
        self.body(&reply.body).await?;
        self.finish().await
    }

    /// The head of `reply`. The body, if it has a length, is of so many bytes.
    pub(super) async fn head(&mut self, reply: &Reply, framing: Framing, length: usize) -> Result<(), Stop> {
        if self.state != State::Before {
            return Ok(());
        }
        let status = reply.status;
        let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason.unwrap_or("Unknown"));
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let has = |name| reply.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        match framing {
            // A response of one of these has no body, and a length would promise one.
            Framing::Length if matches!(status, 204 | 304) => {}
            Framing::Length if has("content-length") => {}
            Framing::Length => head.push_str(&format!("content-length: {length}\r\n")),
            Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
            Framing::UntilClose => {}
        }
        head.push_str("\r\n");
        self.state = State::Open(framing);
        self.status = Some(status);
        self.write(head.as_bytes()).await
    }

    /// Some of the body.
    pub(super) async fn body(&mut self, mut data: &[u8]) -> Result<(), Stop> {
        let State::Open(framing) = self.state else { return Ok(()) };
        while !data.is_empty() {
            let piece = self.pieces.first(self.body, data);
            data = &data[piece.len()..];
            match framing {
                Framing::Chunked => self.write(&chunk(piece, 0)).await?,
                Framing::Length | Framing::UntilClose => self.write(piece).await?,
            }
            self.body += piece.len() as u64;
            if !self.pieces.pause.is_zero() {
                sleep(self.pieces.pause).await;
            }
        }
        Ok(())
    }

    /// A chunk that lacks its last byte.
    pub(super) async fn torn(&mut self, data: &[u8]) -> Result<(), Stop> {
        let mut torn = chunk(data, 1);
        torn.truncate(torn.len() - 2);
        self.write(&torn).await
    }

    /// Bytes of the script's own.
    pub(super) async fn raw(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if self.state == State::Before {
            self.state = State::Raw;
        }
        self.write(bytes).await
    }

    /// Ends it in order.
    pub(super) async fn finish(&mut self) -> Result<(), Stop> {
        let state = std::mem::replace(&mut self.state, State::Done);
        match state {
            State::Open(Framing::Chunked) => self.write(b"0\r\n\r\n").await,
            State::Open(Framing::UntilClose) => Err(Stop::End(End::Close)),
            State::Before | State::Open(Framing::Length) | State::Raw | State::Done => Ok(()),
        }
    }

    /// Nothing more is said.
    pub(super) fn end(&mut self) {
        self.state = State::Done;
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let left = self.limit.map(|(limit, _)| usize::try_from(limit - self.sent).unwrap_or(usize::MAX));
        let some = &bytes[..left.map_or(bytes.len(), |left| left.min(bytes.len()))];
        self.output.write.write_all(some).await?;
        self.sent += some.len() as u64;
        match self.limit {
            Some((limit, end)) if self.sent == limit => {
                self.end();
                Err(Stop::End(end))
            }
            _ => Ok(()),
        }
    }
}

/// A chunk that says that it has so many bytes `more`.
fn chunk(data: &[u8], more: usize) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", data.len() + more).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
