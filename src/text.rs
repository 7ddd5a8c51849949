//! Texts for people, put together without `core::fmt`, which would be a fifteenth of the component.

use crate::prelude::*;

/// Puts a text together: a template, and the words and numbers for each `{}` in it.
macro_rules! text {
    ($template:literal $(, $part:expr)* $(,)?) => {{
        const { assert!($crate::text::holes($template) == [$(stringify!($part)),*].len()) };
        $crate::text::fill($template, &[$($crate::text::Part::from($part)),*])
    }};
}
pub(crate) use text;

/// How many parts a template has room for.
pub(crate) const fn holes(template: &str) -> usize {
    let (bytes, mut at, mut holes) = (template.as_bytes(), 1, 0);
    while at < bytes.len() {
        holes += (bytes[at - 1] == b'{' && bytes[at] == b'}') as usize;
        at += 1;
    }
    holes
}

/// A part of a text.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Words(&'a str),
    Number(u64),
    Negative(u64),
}

impl<'a> From<&'a str> for Part<'a> {
    fn from(words: &'a str) -> Self {
        Self::Words(words)
    }
}

impl<'a> From<&'a String> for Part<'a> {
    fn from(words: &'a String) -> Self {
        Self::Words(words)
    }
}

impl From<u64> for Part<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Part<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u16> for Part<'_> {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Part<'_> {
    fn from(number: usize) -> Self {
        // Nothing counts further in memory.
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl From<i64> for Part<'_> {
    fn from(number: i64) -> Self {
        let size = number.unsigned_abs();
        if number < 0 { Self::Negative(size) } else { Self::Number(size) }
    }
}

/// The template, with the parts where they belong.
pub(crate) fn fill(template: &str, parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    let mut rest = template;
    for part in parts {
        let hole = rest.bytes().position(|byte| byte == b'{').unwrap_or(rest.len());
        text.push_str(rest.get(..hole).unwrap_or_default());
        rest = rest.get(hole + 2..).unwrap_or_default();
        match *part {
            Part::Words(words) => text.push_str(words),
            Part::Number(number) => push_decimal(&mut text, number),
            Part::Negative(size) => {
                text.push('-');
                push_decimal(&mut text, size);
            }
        }
    }
    text.push_str(rest);
    text
}

fn push_decimal(text: &mut String, number: u64) {
    if let Some(rest @ 1..) = number.checked_div(10) {
        push_decimal(text, rest);
    }
    text.extend(char::from_digit((number % 10) as u32, 10));
}

/// The beginning of a text, no longer than so many bytes: words of strangers, at a bearable length.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_make_a_text() {
        let key = "k".to_owned();
        assert_eq!(text!("the key `{}` has {} of {}", &key, 0_u16, 1_024_usize), "the key `k` has 0 of 1024");
        for number in [0, 9, 10, 4_294_967_296, u64::MAX] {
            assert_eq!(text!("{}", number), number.to_string());
        }
        for number in [i64::MIN, -32_601, -1, 0, i64::MAX] {
            assert_eq!(text!("{}", number), number.to_string());
        }
    }

    #[test]
    fn no_character_is_torn() {
        for (most, text) in [(0, ""), (1, "a"), (2, "a"), (3, "a\u{e9}"), (4, "a\u{e9}"), (9, "a\u{e9}")] {
            assert_eq!(cut("a\u{e9}", most), text);
        }
    }
}
