//! The bytes that come, read as HTTP/1.1 requests, and not one more than is asked for.

use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

use super::script::Most;
use super::traffic::Request;

/// How much is read at a time, in bytes.
const CHUNK: usize = 64 << 10;

/// A connection's way in.
pub(super) struct Input {
    read: OwnedReadHalf,
    /// What was read: the request so far, and what follows it.
    buffer: Vec<u8>,
    /// Where the part begins that is not yet understood.
    position: usize,
}

/// Why a request did not come whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// The client ended the connection, or broke it.
    Gone,
    /// No more was asked for.
    Enough,
    /// It is no HTTP/1.1.
    Malformed,
}

impl Input {
    pub(super) fn new(read: OwnedReadHalf) -> Input {
        Input { read, buffer: Vec::new(), position: 0 }
    }

    /// Waits until a request begins. False if none does.
    pub(super) async fn begins(&mut self) -> bool {
        self.buffer.drain(..self.position);
        self.position = 0;
        !self.buffer.is_empty() || matches!(self.read.peek(&mut [0]).await, Ok(1..))
    }

    /// Waits until the client is gone. What comes meanwhile is kept.
    pub(super) async fn gone(&mut self) {
        while self.more(None).await.is_ok() {}
    }

    /// Waits until the client is gone. What comes meanwhile is not kept.
    pub(super) async fn drain(&mut self) {
        while self.more(None).await.is_ok() {
            self.buffer.clear();
        }
    }

    /// Reads a request into `request`: all of it, or no more than `most`.
    pub(super) async fn read(&mut self, request: &mut Request, most: Option<Most>) -> Result<(), Short> {
        let bytes = match most {
            Some(Most::Bytes(bytes)) => Some(usize::try_from(bytes).unwrap_or(usize::MAX)),
            Some(Most::Head) | None => None,
        };
        let line = self.line(bytes).await?;
        let mut words = line.split(' ').map(str::to_owned);
        request.method = words.next().unwrap_or_default();
        request.target = words.next().ok_or(Short::Malformed)?;
        words.next().filter(|version| version.starts_with("HTTP/1.")).ok_or(Short::Malformed)?;
        loop {
            let line = self.line(bytes).await?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or(Short::Malformed)?;
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if most == Some(Most::Head) {
            return Err(Short::Enough);
        }
        let chunked = request.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
        if chunked {
            loop {
                let size = self.line(bytes).await?;
                let size = size.split(';').next().unwrap_or_default().trim();
                let size = usize::from_str_radix(size, 16).map_err(|_| Short::Malformed)?;
                if size == 0 {
                    break;
                }
                self.exactly(size, bytes, &mut request.body).await?;
                self.line(bytes).await?;
            }
            // What follows the last chunk.
            while !self.line(bytes).await?.is_empty() {}
        } else if let Some(length) = request.header("content-length") {
            let length = length.parse().map_err(|_| Short::Malformed)?;
            self.exactly(length, bytes, &mut request.body).await?;
        }
        Ok(())
    }

    /// A line, without its end.
    async fn line(&mut self, most: Option<usize>) -> Result<String, Short> {
        let mut searched = self.position;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let end = searched + end;
                let line = self.buffer[self.position..end].to_vec();
                self.position = end + 1;
                let line = String::from_utf8(line).map_err(|_| Short::Malformed)?;
                return Ok(line.strip_suffix('\r').unwrap_or(&line).to_owned());
            }
            searched = self.buffer.len();
            self.more(most).await?;
        }
    }

    /// So many bytes, onto `body`: those that came, if not all do.
    async fn exactly(&mut self, count: usize, most: Option<usize>, body: &mut Vec<u8>) -> Result<(), Short> {
        let mut left = count;
        loop {
            let here = left.min(self.buffer.len() - self.position);
            body.extend_from_slice(&self.buffer[self.position..self.position + here]);
            self.position += here;
            left -= here;
            if left == 0 {
                return Ok(());
            }
            self.more(most).await?;
        }
    }

    /// Reads what there is, up to `most` bytes of the request in all.
    async fn more(&mut self, most: Option<usize>) -> Result<(), Short> {
        let mut chunk = [0; CHUNK];
        let room = most.map_or(CHUNK, |most| most.saturating_sub(self.buffer.len()).min(CHUNK));
        if room == 0 {
            return Err(Short::Enough);
        }
        match self.read.read(&mut chunk[..room]).await {
            Ok(0) | Err(_) => Err(Short::Gone),
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(())
            }
        }
    }
}
