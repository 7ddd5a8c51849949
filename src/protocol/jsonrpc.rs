//! JSON-RPC messages as they come in: told apart, never rebuilt.
//!
//! Nothing here allocates in proportion to a message: members are slices of it.

use crate::prelude::*;
use crate::table::key;
use crate::text::text;

use super::json::{self, JsonError, Raw};

/// The id of a request of ours. Ids rise and are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

key!(RequestId);

/// The id that a response bears, held against the form of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseId {
    /// A number just as we write it.
    Exact(RequestId),
    /// Such a number, but as a string: some servers answer so.
    AsString(RequestId),
    /// `null`, or none at all on an error.
    Null,
    /// Anything else: never an id of ours.
    Foreign,
}

impl ResponseId {
    pub(crate) fn parse(raw: &str) -> Self {
        if raw == "null" {
            return Self::Null;
        }
        let string = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match (decimal(string.unwrap_or(raw)), string) {
            (Some(id), None) => Self::Exact(id),
            (Some(id), Some(_)) => Self::AsString(id),
            (None, _) => Self::Foreign,
        }
    }

    /// The request of ours that it names, if any.
    pub fn request(self) -> Option<RequestId> {
        match self {
            Self::Exact(id) | Self::AsString(id) => Some(id),
            Self::Null | Self::Foreign => None,
        }
    }
}

/// An id in the only form that we write.
pub(crate) fn decimal(text: &str) -> Option<RequestId> {
    json::decimal(text).map(RequestId)
}

/// A well-formed message.
#[derive(Debug)]
pub enum Message<'a> {
    /// An answer to a request.
    Response {
        /// Whose.
        id: ResponseId,
        /// Its `result`, or its `error`.
        body: Result<Raw<'a>, Raw<'a>>,
    },
    /// A request of the server's. Its ids are its own: they never name a request of ours.
    Request {
        /// To be sent back as it is.
        id: Raw<'a>,
        /// What it asks for.
        method: String,
        /// Its `params`.
        params: Option<Raw<'a>>,
    },
    /// A notification.
    Notification {
        /// What it is about.
        method: String,
        /// Its `params`.
        params: Option<Raw<'a>>,
    },
}

/// Something that is no message.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The request whose answer it seems to be: its `id` could be read.
    pub request: Option<RequestId>,
    /// What is wrong.
    pub reason: String,
}

/// Reads one frame, and hands each message in it to `each`: one, or those of an array. Tells whether
/// it was an array.
pub fn read<'a>(frame: &'a [u8], each: &mut dyn FnMut(Result<Message<'a>, Malformed>)) -> bool {
    let frame = frame.strip_prefix(b"\xef\xbb\xbf").unwrap_or(frame);
    let (text, broken) = match core::str::from_utf8(frame) {
        Ok(text) => (text, None),
        Err(error) => (valid_prefix(frame, error.valid_up_to()), Some(error)),
    };
    if broken.is_none() && text.trim_ascii_start().starts_with('[') {
        read_array(text, each);
        return true;
    }
    let mut message = read_one(text);
    if let Some(error) = broken {
        let request = match message {
            Ok(Message::Response { id, .. }) => id.request(),
            Ok(_) => None,
            Err(malformed) => malformed.request,
        };
        message = Err(Malformed {
            request,
            reason: text!("not UTF-8: no character at byte {}", error.valid_up_to()),
        });
    }
    each(message);
    false
}

/// The request that a message cut off at either end seems to answer: by its first members, or, as
/// some servers write the `id` last, by its last.
pub fn salvage(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let mut found = None;
    read(head, &mut |message| {
        found = match message {
            Ok(Message::Response { id, .. }) => id.request(),
            Ok(_) => None,
            Err(malformed) => malformed.request,
        };
    });
    found.or_else(|| salvage_tail(tail))
}

/// The last members of an object may be all that is left of it: with a brace before them they are an
/// object again.
fn salvage_tail(tail: &[u8]) -> Option<RequestId> {
    let at = tail.windows(4).rposition(|window| window == b"\"id\"")?;
    let rest = core::str::from_utf8(&tail[at..]).ok()?;
    let object = ["{", rest].concat();
    let (members, read) = Members::read(&object);
    read.ok()?;
    members.answered()
}

fn valid_prefix(bytes: &[u8], length: usize) -> &str {
    core::str::from_utf8(&bytes[..length]).unwrap_or_default()
}

fn read_array<'a>(text: &'a str, each: &mut dyn FnMut(Result<Message<'a>, Malformed>)) {
    if let Err(error) = json::elements(text, &mut |element| each(read_one(element.get()))) {
        each(Err(Malformed { request: None, reason: error.words() }));
    }
}

fn read_one(text: &str) -> Result<Message<'_>, Malformed> {
    let (members, read) = Members::read(text);
    match read {
        Ok(()) => members.message(),
        Err(error) => Err(members.malformed(&error.words())),
    }
}

/// The members that JSON-RPC knows. What was read before an error stays.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<Raw<'a>>,
    id: Option<Raw<'a>>,
    method: Option<Raw<'a>>,
    params: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    /// The member that stood twice.
    twice: Option<&'static str>,
}

impl<'a> Members<'a> {
    /// Reads an object as far as it can be read.
    fn read(text: &'a str) -> (Self, Result<(), JsonError>) {
        let mut members = Self::default();
        let read = json::members(text, &mut |name, value| {
            let twice = members.slot(name).and_then(|(name, slot)| slot.replace(value).map(|_| name));
            members.twice = members.twice.or(twice);
        });
        (members, read)
    }

    fn slot(&mut self, name: &str) -> Option<(&'static str, &mut Option<Raw<'a>>)> {
        Some(match name {
            "jsonrpc" => ("jsonrpc", &mut self.jsonrpc),
            "id" => ("id", &mut self.id),
            "method" => ("method", &mut self.method),
            "params" => ("params", &mut self.params),
            "result" => ("result", &mut self.result),
            "error" => ("error", &mut self.error),
            _ => return None,
        })
    }

    /// The request of ours that this seems to answer. A request or notification of the server's is
    /// nobody's answer, and two ids name nobody.
    fn answered(&self) -> Option<RequestId> {
        let answer = self.method.is_none() && self.twice != Some("id");
        let id = self.id.filter(|_| answer)?;
        ResponseId::parse(id.get()).request()
    }

    fn malformed(&self, reason: &str) -> Malformed {
        Malformed { request: self.answered(), reason: reason.to_owned() }
    }

    fn message(self) -> Result<Message<'a>, Malformed> {
        if let Some(name) = self.twice {
            return Err(self.malformed(&text!("the member `{}` stands twice", name)));
        }
        if self.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return Err(self.malformed("no JSON-RPC 2.0 message"));
        }
        if let Some(method) = self.method {
            let Some(method) = json::string(method) else {
                return Err(self.malformed("the method is no string"));
            };
            if self.result.is_some() || self.error.is_some() {
                return Err(self.malformed("a request and a response at once"));
            }
            return Ok(match self.id {
                Some(id) => Message::Request { id, method, params: self.params },
                None => Message::Notification { method, params: self.params },
            });
        }
        let body = match (self.result, self.error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error),
            (None, None) => return Err(self.malformed("neither result nor error")),
            (Some(_), Some(_)) => return Err(self.malformed("both result and error")),
        };
        match self.id {
            Some(id) => Ok(Message::Response { id: ResponseId::parse(id.get()), body }),
            // Over HTTP a server may leave the id of an error out.
            None if body.is_err() => Ok(Message::Response { id: ResponseId::Null, body }),
            None => Err(self.malformed("a response without an id")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a frame holds, in short.
    fn shown(frame: &[u8]) -> Vec<String> {
        let mut seen = Vec::new();
        read(frame, &mut |message| {
            seen.push(match message {
                Ok(Message::Response { id, body: Ok(result) }) => format!("{id:?} = {}", result.get()),
                Ok(Message::Response { id, body: Err(error) }) => format!("{id:?} ! {}", error.get()),
                Ok(Message::Request { id, method, .. }) => format!("{} asks {method}", id.get()),
                Ok(Message::Notification { method, .. }) => format!("tells {method}"),
                Err(malformed) => format!("malformed, of {:?}", malformed.request.map(|id| id.0)),
            });
        });
        seen
    }

    fn one(frame: &str) -> String {
        let mut seen = shown(frame.as_bytes());
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }

    #[test]
    fn the_four_kinds_are_told_apart() {
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), "Exact(RequestId(7)) = {}");
        assert_eq!(
            one(r#"{"error":{"code":1},"id":7,"jsonrpc":"2.0"}"#),
            r#"Exact(RequestId(7)) ! {"code":1}"#
        );
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#), "7 asks ping");
        assert_eq!(one(r#"{"jsonrpc":"2.0","method":"n","params":[]}"#), "tells n");
        assert_eq!(one(r#"{"jsonrpc":"2.0","id":7,"result":null}"#), "Exact(RequestId(7)) = null");
    }

    #[test]
    fn only_an_id_as_we_write_it_is_ours() {
        let id = |raw: &str| ResponseId::parse(raw);
        assert_eq!(id("7"), ResponseId::Exact(RequestId(7)));
        assert_eq!(id("\"7\""), ResponseId::AsString(RequestId(7)));
        assert_eq!(id("null"), ResponseId::Null);
        for raw in [
            "7.0",
            "7e0",
            "-7",
            "07",
            "\"07\"",
            "\" 7\"",
            "\"7 \"",
            "\"0x7\"",
            "\"7.0\"",
            "\"+7\"",
            "\"1_0\"",
            "\"\"",
            "true",
            "[7]",
            "{\"a\":1}",
            "1e400",
            "99999999999999999999999",
            "\"null\"",
            "\"\\u0037\"",
        ] {
            assert_eq!(id(raw), ResponseId::Foreign, "{raw}");
        }
    }

    #[test]
    fn a_broken_answer_names_its_request_where_that_can_be_read() {
        for frame in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}} and more"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{},"result":{}}"#,
            r#"{"id":7,"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":"7","result":{}}"#,
        ] {
            assert_eq!(one(frame), "malformed, of Some(7)", "{frame}");
        }
        let mut frame = br#"{"jsonrpc":"2.0","id":7,"result":{"text":""#.to_vec();
        frame.extend_from_slice(b"\xff\"}}");
        assert_eq!(shown(&frame), ["malformed, of Some(7)"]);
    }

    #[test]
    fn what_names_nobody_is_nobodys() {
        for frame in [
            "",
            " ",
            "Server v1 started",
            "{}",
            "7",
            "null",
            "\"id\"",
            "{\"id\":7",
            "[1] log",
            "[",
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{}}"#,
        ] {
            let seen = shown(frame.as_bytes());
            assert!(seen.iter().all(|message| message.starts_with("malformed")), "{frame}: {seen:?}");
            let named = seen.iter().filter(|message| message.contains('7')).count();
            assert_eq!(named, usize::from(frame == "{\"id\":7"), "{frame}: {seen:?}");
        }
        assert_eq!(shown(b"\xff\xfe"), ["malformed, of None"]);
    }

    #[test]
    fn a_byte_order_mark_and_line_ends_are_tolerated() {
        let seen = shown(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\r\n");
        assert_eq!(seen, ["Exact(RequestId(7)) = {}"]);
    }

    #[test]
    fn an_array_is_read_one_message_at_a_time() {
        let frame = br#"[{"jsonrpc":"2.0","method":"n"}, 5 ,{"jsonrpc":"2.0","id":7,"result":{}}]"#;
        assert_eq!(shown(frame), ["tells n", "malformed, of None", "Exact(RequestId(7)) = {}"]);
        let cut = br#"[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc""#;
        assert_eq!(shown(cut), ["Exact(RequestId(7)) = {}", "malformed, of None"]);
        assert_eq!(shown(&[b"[", "1,".repeat(100_000).as_bytes(), b"1]"].concat()).len(), 100_001);
    }

    #[test]
    fn a_message_cut_at_either_end_names_its_request() {
        let id = Some(RequestId(7));
        assert_eq!(salvage(br#"{"jsonrpc":"2.0","id":7,"result":{"a"#, b""), id);
        assert_eq!(salvage(br#"{"result":{"a"#, br#"zzz"}]},"jsonrpc":"2.0","id":7}"#), id);
        assert_eq!(salvage(br#"{"result":{"a"#, br#"zzz"}]},"id":"7","jsonrpc":"2.0"} "#), id);
        assert_eq!(salvage(br#"{"result":{"a"#, br#"zzz"}]},"id":7,"method":"x"}"#), None);
        assert_eq!(salvage(br#"{"result":{"a"#, br#"zz","id":7}]}"#), None);
        assert_eq!(salvage(br#"{"result":{"a"#, b"\xff\xff"), None);
    }

    #[test]
    fn depth_is_no_trap() {
        let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
        assert!(one(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{deep}}}"#)).starts_with("Exact"));
        assert_eq!(shown(deep.as_bytes()), ["malformed, of None"]);
    }
}
