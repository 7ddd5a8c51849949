//! Refusals, and what each proves: the table of the contract's section 3 as the check reads it, written
//! down once more on purpose. It shares no line with the component's.

use std::fmt;

use crate::Refusal;

/// How strong a proof is that an attempt did not execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// A refusal by its normative meaning.
    B,
    /// Certain.
    A,
}

/// A refusal by an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The status.
    pub code: u16,
    /// What stands in its body.
    pub body: Body,
    /// Whether the request carried a session id.
    pub session: bool,
}

/// What stands in a refusal's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// A page for people.
    Html,
    /// JSON of some other kind.
    Json,
    /// A JSON-RPC error whose id is null.
    NullError,
    /// A JSON-RPC error to somebody else's request.
    ForeignError,
    /// A JSON-RPC error to this very request: an answer.
    OurError,
    /// The result of this very request: an answer.
    OurResult,
    /// A result of this very request, cut.
    CutResult,
}

impl Body {
    /// All of them.
    pub const ALL: [Body; 8] = [
        Body::Empty,
        Body::Html,
        Body::Json,
        Body::NullError,
        Body::ForeignError,
        Body::OurError,
        Body::OurResult,
        Body::CutResult,
    ];

    /// Whether the body is this very request's, so that the status says nothing.
    pub(super) fn is_ours(self) -> bool {
        matches!(self, Body::OurError | Body::OurResult | Body::CutResult)
    }
}

/// Every status of the evidence table, and some that it does not name.
pub const STATUSES: [u16; 49] = [
    300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413,
    414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505,
    507, 511, 520, 522, 524, 525, 599,
];

impl Status {
    /// This status without a body, to a request with a session id.
    pub(super) const fn bare(code: u16) -> Status {
        Status { code, body: Body::Empty, session: true }
    }

    /// This status with this body.
    pub(super) const fn with(self, body: Body) -> Status {
        Status { body, ..self }
    }

    /// What it proves; none: nothing.
    pub(super) fn proof(self) -> Option<Grade> {
        let Status { code, body, session } = self;
        if body.is_ours() {
            return None;
        }
        let refuses = match code {
            300..=399 => true,
            401 | 403 | 421 | 425 => true,
            405 | 406 | 411 | 413 | 414 | 415 | 417 | 426 | 431 | 501 | 505 => true,
            404 => session && body != Body::Json,
            400 => matches!(body, Body::Empty | Body::NullError | Body::ForeignError),
            _ => false,
        };
        refuses.then_some(Grade::B)
    }

    /// The refusal of the request whose id is `request`; `result` is the request's own result.
    pub(super) fn refusal(self, request: u64, result: &str, words: &str) -> Refusal {
        let error = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"message":"{words}"}}}}"#)
        };
        let whole = format!(r#"{{"jsonrpc":"2.0","id":{request},"result":{result}}}"#);
        let body = match self.body {
            Body::Empty => String::new(),
            Body::Html => format!("<html><body>{words}</body></html>"),
            Body::Json => format!(r#"{{"error":"{words}"}}"#),
            Body::NullError => error("null"),
            Body::ForeignError => error("\"server-error\""),
            Body::OurError => error(&request.to_string()),
            Body::OurResult => whole,
            Body::CutResult => whole[..whole.len() - 9].to_owned(),
        };
        let headers = match self.code {
            401 => vec![("www-authenticate".to_owned(), "Bearer realm=\"ledger\"".to_owned())],
            429 | 503 => vec![("retry-after".to_owned(), "1".to_owned())],
            _ => Vec::new(),
        };
        Refusal { status: self.code, had_session: self.session, headers, body: body.into_bytes() }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused {}", self.code)?;
        f.write_str(match self.body {
            Body::Empty => "",
            Body::Html => ", a page",
            Body::Json => ", other JSON",
            Body::NullError => ", error of id null",
            Body::ForeignError => ", error of another id",
            Body::OurError => ", its own error",
            Body::OurResult => ", its own result",
            Body::CutResult => ", its own result, cut",
        })?;
        if self.code == 404 && !self.session { f.write_str(", no session") } else { Ok(()) }
    }
}
