//! What a header may hold: what comes from a server or a host goes into a request only if it is one line.

/// The headers that the transport writes itself. Nobody else may.
const OURS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether `name` and `value` may go into a request as they are (RFC 9110, sections 5.1 and 5.5).
pub fn is_sound(name: &str, value: &[u8]) -> bool {
    !name.is_empty() && name.bytes().all(is_of_token) && is_sound_value(value)
}

/// Whether a header can have this value.
pub fn is_sound_value(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether the host may set a header of this name.
pub fn is_free(name: &str) -> bool {
    !OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// A session's id, as a server gave it: visible ASCII, and not too long to be sent each time.
pub fn session_id(value: &[u8]) -> Option<String> {
    const LONGEST: usize = 4096;
    let sound = !value.is_empty() && value.len() <= LONGEST && value.iter().all(u8::is_ascii_graphic);
    let text = sound.then(|| str::from_utf8(value).ok())?;
    text.map(str::to_owned)
}

/// The media type of a `content-type`, in lower case, without parameters.
pub fn media_type(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_smuggles_a_second_line_in() {
        assert!(is_sound("authorization", b"Bearer a.b-c"));
        assert!(is_sound("X_1!", "a\tb \u{e4}".as_bytes()));
        for (name, value) in [
            ("authorization", &b"a\r\nx: y"[..]),
            ("authorization", b"a\n"),
            ("authorization", b"a\0"),
            ("x\r\ny", b"a"),
            ("x y", b"a"),
            ("x:", b"a"),
            ("", b"a"),
            ("x", b"\x7f"),
            ("x", b"\x1b[0m"),
        ] {
            assert!(!is_sound(name, value), "{name:?} {value:?}");
        }
    }

    #[test]
    fn what_the_transport_writes_nobody_else_does() {
        assert!(is_free("Authorization") && is_free("x-api-key"));
        for name in ["Content-Length", "mcp-session-id", "Transfer-Encoding", "HOST"] {
            assert!(!is_free(name), "{name}");
        }
    }

    #[test]
    fn a_session_id_is_visible_ascii() {
        assert_eq!(session_id(b"1868a90c-7f").as_deref(), Some("1868a90c-7f"));
        for wrong in [&b""[..], b"a b", b"a\r\nb", b"\xff", &[b'a'; 4097]] {
            assert_eq!(session_id(wrong), None);
        }
    }

    #[test]
    fn a_media_type_is_told_from_its_parameters() {
        assert_eq!(media_type("Application/JSON; charset=utf-8"), "application/json");
        assert_eq!(media_type(""), "");
    }
}
