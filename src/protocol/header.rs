//! Values as HTTP headers carry them (2026-07-28): as they are where that is safe, else in base64 between
//! marks.

use crate::prelude::*;

const MARK: &str = "=?base64?";
const END: &str = "?=";

/// A text as the value of a header.
pub(super) fn value(text: &str) -> String {
    let padded = text.starts_with(' ') || text.ends_with(' ');
    let marked = text.starts_with(MARK) && text.ends_with(END);
    if !padded && !marked && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut value = MARK.to_owned();
    push_base64(&mut value, text.as_bytes());
    value.push_str(END);
    value
}

fn push_base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0, |group, byte| group << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            out.push(if place <= chunk.len() {
                char::from(DIGITS[group >> (18 - 6 * place) & 63])
            } else {
                '='
            });
        }
    }
}

/// Whether this may be a part of a header's name.
pub(super) fn is_token(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_safe_stays_as_it_is() {
        for text in ["", "us-west1", "us west 1", "~!=?base64?", "=?base64", "42"] {
            assert_eq!(value(text), text);
        }
    }

    #[test]
    fn all_else_goes_between_marks() {
        for (text, coded) in [
            ("Hello, \u{4e16}\u{754c}", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("\tx", "=?base64?CXg=?="),
            ("\u{7f}", "=?base64?fw==?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(value(text), coded);
        }
    }

    #[test]
    fn a_name_is_a_token() {
        assert!(is_token("Region-1") && is_token("x_y"));
        for name in ["", "My Region", "Region:Primary", "R\u{e9}gion", "Region\t1", "a\r\nb", "(x)"] {
            assert!(!is_token(name), "{name}");
        }
    }
}
