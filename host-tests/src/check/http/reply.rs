//! What a server says, rightly or not.

use std::time::Duration;

use futures::stream;
use http::Response;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use wasmtime_wasi_http::{Error, WasiBody};

use super::fault::{Body, Content, Fault, Why};
use crate::check::policy::MESSAGE;

/// What a response's body does, one after the other.
pub(super) enum Act {
    Say(Bytes),
    Break,
    Hang,
}

/// A response.
pub(super) struct Reply {
    pub(super) after: Duration,
    pub(super) status: u16,
    headers: Vec<(&'static str, String)>,
    acts: Vec<Act>,
}

impl Reply {
    pub(super) fn status(status: u16) -> Reply {
        Reply { after: Duration::ZERO, status, headers: Vec::new(), acts: Vec::new() }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn json(text: impl Into<Bytes>) -> Reply {
        Reply::status(200).header("content-type", "application/json").say(text)
    }

    pub(super) fn events() -> Reply {
        Reply::status(200).header("content-type", "text/event-stream")
    }

    pub(super) fn say(mut self, text: impl Into<Bytes>) -> Reply {
        self.acts.push(Act::Say(text.into()));
        self
    }

    pub(super) fn then(mut self, act: Act) -> Reply {
        self.acts.push(act);
        self
    }
}

/// An error for nobody.
pub(super) const NOBODYS_ERROR: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}"#;

/// A server of the legacy revisions does not know what is asked.
pub(super) fn discover(id: Option<u64>, fault: Option<Fault>) -> Reply {
    let id = id.unwrap_or_default();
    match fault {
        Some(Fault::Status(status, body, _)) => refuse(status, body, &id.to_string(), ""),
        _ => Reply::json(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
        )),
    }
}

pub(super) fn refuse(status: u16, body: Body, id: &str, whole: &str) -> Reply {
    let reply = Reply::status(status);
    let reply = match status {
        401 | 403 => reply.header("www-authenticate", "Bearer realm=\"world\""),
        429 | 503 => reply.header("retry-after", "1"),
        300..=399 => reply.header("location", "http://world.test/elsewhere"),
        _ => reply,
    };
    let json = |reply: Reply, text: String| reply.header("content-type", "application/json").say(text);
    match body {
        Body::Empty => reply,
        Body::Text => reply.header("content-type", "text/plain").say("not executed, safe to retry"),
        Body::NullId => json(reply, NOBODYS_ERROR.to_owned()),
        Body::OurError => json(
            reply,
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
            ),
        ),
        Body::OurResult => json(reply, whole.to_owned()),
        Body::Cut => json(reply, whole[..whole.len().saturating_sub(3)].to_owned()),
        Body::Endless => reply.header("content-type", "text/plain").say("x").then(Act::Hang),
    }
}

pub(super) fn odd(content: Content, id: &str, whole: &str) -> Reply {
    let half = whole[..whole.len() / 2].to_owned();
    match content {
        Content::Status202 => Reply::status(202),
        Content::Status204 => Reply::status(204),
        Content::Empty => Reply::json(""),
        Content::WrongType => Reply::status(200).header("content-type", "text/html").say(whole.to_owned()),
        Content::NoType => Reply::status(200).say(whole.to_owned()),
        Content::Compressed => Reply::json(vec![0x1f, 0x8b, 8, 0]).header("content-encoding", "gzip"),
        Content::Cut => Reply::json(half),
        Content::CutAndBroken => Reply::json(half).then(Act::Break),
        Content::Hangs => Reply::json(half).then(Act::Hang),
        Content::TooLarge => Reply::json("x".repeat(MESSAGE as usize + 1)),
        Content::WrongId => Reply::json(r#"{"jsonrpc":"2.0","id":999999,"result":{"content":[]}}"#),
        Content::NullIdError => Reply::json(NOBODYS_ERROR),
        Content::Error(code) => Reply::json(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"not executed"}}}}"#
        )),
        Content::IsError => {
            Reply::json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"isError":true}}}}"#))
        }
        Content::BrokenBehind => Reply::json(whole.to_owned()).then(Act::Break),
    }
}

pub(super) fn response(reply: Reply) -> Response<WasiBody> {
    let acts = stream::unfold(reply.acts.into_iter(), |mut acts| async {
        loop {
            match acts.next()? {
                Act::Say(bytes) => return Some((Ok(Frame::data(bytes)), acts)),
                Act::Break => return Some((Err(error(Why::Terminated)), acts)),
                Act::Hang => std::future::pending().await,
            }
        }
    });
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    // Statuses and headers are this file's own.
    response
        .body(StreamBody::new(acts).boxed_unsync())
        .unwrap_or_else(|_| Response::new(StreamBody::new(stream::empty()).boxed_unsync()))
}

pub(super) fn error(why: Why) -> Error {
    match why {
        Why::Name => Error::DnsError { rcode: None, info_code: None },
        Why::Refused => Error::ConnectionRefused,
        Why::Denied => Error::HttpRequestDenied,
        Why::Certificate => Error::TlsCertificateError,
        Why::Limit => Error::ConnectionLimitReached,
        Why::ConnectTimeout => Error::ConnectionTimeout,
        Why::Terminated => Error::ConnectionTerminated,
        Why::ReadTimeout => Error::ConnectionReadTimeout,
        Why::Tls => Error::TlsProtocolError,
        Why::Protocol => Error::HttpProtocolError,
        Why::Internal => Error::InternalError(Some("not sent, not executed".to_owned())),
    }
}
