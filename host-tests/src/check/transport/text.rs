//! The messages of a check: made from a number and a shape, so that nobody has to pass them on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A message, by its id and its shape. No two messages of one case bear the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Text {
    /// The JSON-RPC id.
    pub id: u64,
    /// What it looks like.
    pub shape: Shape,
}

/// What stands before a message's id.
const BEFORE_ID: &str = r#"{"jsonrpc":"2.0","id":"#;

/// What a message looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    /// A few bytes.
    Small,
    /// With the characters that some readers take for the end of a line, and with escaped line ends.
    Separators,
    /// So many bytes in all, or a few more where that is too little for a message.
    Sized(usize),
    /// Not UTF-8.
    NotUtf8,
    /// No JSON, as a server's stray print.
    Prose,
}

impl Text {
    /// The request that the transport is to send.
    pub fn request(self) -> Vec<u8> {
        self.message(r#","method":"tools/call","params":{"text":""#, r#""}}"#)
    }

    /// The answer that the peer gives.
    pub fn answer(self) -> Vec<u8> {
        self.message(r#","result":{"text":""#, r#""}}"#)
    }

    /// The id of a message, or of the beginning of one, if it is there.
    pub(super) fn id(message: &[u8]) -> Option<u64> {
        let rest = message.strip_prefix(BEFORE_ID.as_bytes())?;
        let end = rest.iter().position(|&byte| byte == b',')?;
        str::from_utf8(&rest[..end]).ok()?.parse().ok()
    }

    fn message(self, before: &str, after: &str) -> Vec<u8> {
        let id = self.id;
        let mut message = format!("{BEFORE_ID}{id}{before}").into_bytes();
        match self.shape {
            Shape::Small => {}
            Shape::Separators => message.extend("a\u{2028}b\u{2029}c\u{85}d\\n\\r\\ne\u{feff}f".bytes()),
            Shape::Sized(size) => fill(&mut message, size.saturating_sub(after.len())),
            Shape::NotUtf8 => message.extend(b"\xff\xfe\x80"),
            Shape::Prose => return format!("listening on port {id}").into_bytes(),
        }
        message.extend(after.bytes());
        message
    }
}

/// Numbered blocks up to the size `to`, so that no part is like another.
fn fill(message: &mut Vec<u8>, to: usize) {
    let begin = message.len().min(to);
    message.reserve(to - begin);
    for number in 0..(to - begin).div_ceil(BLOCK.len()) {
        message.extend(format!("{number:08x}").bytes());
        message.extend(&BLOCK[8..]);
    }
    message.truncate(to.max(begin));
}

const BLOCK: &[u8; 64] = b"-------- the quick brown fox jumps over the lazy dog 0123456789 ";

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.shape)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Small => f.write_str("small"),
            Shape::Separators => f.write_str("U+2028 and the like"),
            Shape::Sized(bytes) => write!(f, "{bytes} bytes"),
            Shape::NotUtf8 => f.write_str("not UTF-8"),
            Shape::Prose => f.write_str("no JSON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_exact_and_no_message_has_a_line_break() {
        for size in [100, 65_535, 65_536, 65_537] {
            let text = Text { id: 7, shape: Shape::Sized(size) };
            assert_eq!((text.request().len(), text.answer().len()), (size, size));
            assert_eq!(Text::id(&text.request()), Some(7));
        }
        for shape in [Shape::Small, Shape::Separators, Shape::Sized(0), Shape::NotUtf8, Shape::Prose] {
            let text = Text { id: 7, shape };
            assert!(!text.request().contains(&b'\n') && !text.answer().contains(&b'\n'), "{shape}");
        }
    }
}
