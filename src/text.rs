//! Words of strangers, at a bearable length.

/// The beginning of a text, no longer than so many bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_torn() {
        for (most, text) in [(0, ""), (1, "a"), (2, "a"), (3, "a\u{e9}"), (4, "a\u{e9}"), (9, "a\u{e9}")] {
            assert_eq!(cut("a\u{e9}", most), text);
        }
    }
}
