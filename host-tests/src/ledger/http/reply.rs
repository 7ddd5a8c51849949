//! What a script says by hand: whole responses, events, and the ways in which they are cut up.

use std::time::Duration;

/// A response: a status, headers and a body, all verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) framing: Framing,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    Chunked,
    UntilClose,
}

impl Reply {
    /// A response without a body.
    pub fn status(status: u16) -> Reply {
        Reply { status, headers: Vec::new(), body: Vec::new(), framing: Framing::Length }
    }

    /// 200, with this body of type `application/json`.
    pub fn json(body: impl Into<Vec<u8>>) -> Reply {
        Reply::status(200).header("content-type", "application/json").body(body)
    }

    /// 200 and `text/event-stream`.
    pub fn events() -> Reply {
        Reply::status(200).header("content-type", "text/event-stream").header("cache-control", "no-cache")
    }

    /// This status, one of 3xx, to `location`.
    pub fn redirect(status: u16, location: &str) -> Reply {
        Reply::status(status).header("location", location)
    }

    /// 401, with this challenge.
    pub fn unauthorized(challenge: &str) -> Reply {
        Reply::status(401).header("www-authenticate", challenge)
    }

    /// 200, and a body that says that it is compressed: the first bytes of a gzip file, and rubbish.
    pub fn gzip() -> Reply {
        Reply::json(&b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03rubbish"[..])
            .header("content-encoding", "gzip")
    }

    /// One header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this body. `$id` stands for the request's id, `$answer` for the server's answer.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Reply {
        Reply { body: body.into(), ..self }
    }

    /// The body comes in chunks, without a length.
    #[must_use]
    pub fn chunked(self) -> Reply {
        Reply { framing: Framing::Chunked, ..self }
    }

    /// The body ends where the connection is closed, as in HTTP/1.0. The script closes it.
    #[must_use]
    pub fn until_close(self) -> Reply {
        Reply { framing: Framing::UntilClose, ..self }.header("connection", "close")
    }
}

/// How answers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As `application/json`, with a length.
    Json,
    /// As events of a `text/event-stream`, in chunks.
    Events,
}

/// What ends a line of an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// CR.
    Cr,
    /// LF.
    Lf,
    /// CR LF.
    CrLf,
}

impl LineEnd {
    fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Cr => b"\r",
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
        }
    }
}

/// An event, by its fields. Each may hold anything; only the data's line breaks are framed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its `id`.
    pub id: Option<Vec<u8>>,
    /// Its type: the field `event`.
    pub kind: Option<String>,
    /// Its `retry`.
    pub retry: Option<String>,
    /// Its `data`: one field a line.
    pub data: Option<Vec<u8>>,
}

impl Event {
    /// An event with this data.
    pub fn data(data: impl Into<Vec<u8>>) -> Event {
        Event { data: Some(data.into()), ..Event::default() }
    }

    /// The event at the beginning of a stream: an id, and no data in its `data`.
    pub fn priming(id: &str) -> Event {
        Event::data("").id(id)
    }

    /// With this id.
    #[must_use]
    pub fn id(self, id: impl Into<Vec<u8>>) -> Event {
        Event { id: Some(id.into()), ..self }
    }

    /// With this type.
    #[must_use]
    pub fn kind(self, kind: &str) -> Event {
        Event { kind: Some(kind.to_owned()), ..self }
    }

    /// With this `retry`.
    #[must_use]
    pub fn retry(self, retry: impl ToString) -> Event {
        Event { retry: Some(retry.to_string()), ..self }
    }

    /// As it is written.
    pub(super) fn write(&self, end: LineEnd) -> Vec<u8> {
        let mut text = Vec::new();
        let mut field = |name: &str, value: &[u8]| {
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
            text.extend_from_slice(end.bytes());
        };
        if let Some(kind) = &self.kind {
            field("event", kind.as_bytes());
        }
        if let Some(id) = &self.id {
            field("id", id);
        }
        if let Some(retry) = &self.retry {
            field("retry", retry.as_bytes());
        }
        if let Some(data) = &self.data {
            data.split(|&byte| byte == b'\n').for_each(|line| field("data", line));
        }
        text.extend_from_slice(end.bytes());
        text
    }
}

/// How a body is cut up: each piece is a chunk and a write of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    pub(super) every: Option<usize>,
    pub(super) at: Vec<u64>,
    pub(super) pause: Duration,
}

impl Pieces {
    /// Pieces of so many bytes, but for the last of what is said at once.
    pub fn of(bytes: usize) -> Pieces {
        Pieces { every: Some(bytes.max(1)), ..Pieces::default() }
    }

    /// Cut behind so many bytes of the body.
    pub fn at(cuts: impl Into<Vec<u64>>) -> Pieces {
        Pieces { at: cuts.into(), ..Pieces::default() }
    }

    /// With a pause behind each piece, so that it is read by itself.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> Pieces {
        Pieces { pause, ..self }
    }

    /// The first piece of `data`, the first byte of which has `before` bytes of the body before it.
    pub(super) fn first<'a>(&self, before: u64, data: &'a [u8]) -> &'a [u8] {
        let cuts = self.at.iter().filter(|&&cut| cut > before).map(|cut| usize::try_from(cut - before));
        let cut = cuts.filter_map(Result::ok).chain(self.every).min();
        &data[..cut.map_or(data.len(), |cut| cut.min(data.len()))]
    }
}
