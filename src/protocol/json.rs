//! JSON that stays text: checked where it must be, never rebuilt.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// Why a text cannot be sent as a JSON object.
#[derive(Debug, Error)]
pub enum ObjectError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is JSON, but no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A string in it holds half of a surrogate pair, which is no Unicode text: servers differ in
    /// what they make of it.
    #[error("a lone surrogate escape in a string")]
    LoneSurrogate,
}

/// A JSON object as its author wrote it, on one line.
#[derive(Debug)]
pub struct Object(String);

impl Object {
    /// Takes a text that holds one JSON object. Everything in it is kept byte for byte, save for
    /// line breaks between tokens, which become spaces: a message is one line.
    ///
    /// # Errors
    ///
    /// [`ObjectError`] says what is wrong with the text.
    pub fn parse(text: String) -> Result<Self, ObjectError> {
        let raw: &RawValue = serde_json::from_str(&text)?;
        let object = raw.get();
        if !object.starts_with('{') {
            return Err(ObjectError::NotAnObject);
        }
        if has_lone_surrogate(object) {
            return Err(ObjectError::LoneSurrogate);
        }
        // Inside a string, JSON allows no raw line break, so that each of them stands between tokens.
        let breaks = |c: char| c == '\n' || c == '\r';
        if object.len() == text.len() && !object.contains(breaks) {
            return Ok(Self(text));
        }
        Ok(Self(object.replace(breaks, " ")))
    }

    /// The object's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands between its braces, without surrounding space: empty for `{}`.
    pub fn members(&self) -> &str {
        self.0.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim()
    }
}

/// Whether a valid JSON text holds an escape of half a surrogate pair.
fn has_lone_surrogate(json: &str) -> bool {
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        let Some(unit) = code_unit(escape) else {
            // A short escape: two characters, the second of which may be a backslash.
            rest = escape.get(2..).unwrap_or_default();
            continue;
        };
        let after = escape.get(6..).unwrap_or_default();
        rest = match unit {
            0xd800..=0xdbff if matches!(code_unit(after), Some(0xdc00..=0xdfff)) => {
                after.get(6..).unwrap_or_default()
            }
            0xd800..=0xdfff => return true,
            _ => after,
        };
    }
    false
}

/// The code unit of a `\uXXXX` at the start of the text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// Appends a text as a JSON string.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    // Writing a string into a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Reads an object, and hands each member to `each`: its name, and its value as it stands. What came
/// before an error was handed on.
///
/// One reader serves every object, whatever is looked for in it: a type of its own for each would be
/// easier on the eye, and cost the component half as much again.
///
/// # Errors
///
/// If the text is not one JSON object.
pub fn members<'a>(text: &'a str, each: &mut dyn FnMut(&str, &'a RawValue)) -> Result<(), serde_json::Error> {
    struct Members<'f, 'a>(&'f mut dyn FnMut(&str, &'a RawValue));

    impl<'de> Visitor<'de> for Members<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(Name(name)) = map.next_key()? {
                (self.0)(&name, map.next_value()?);
            }
            Ok(())
        }
    }

    let mut input = serde_json::Deserializer::from_str(text);
    input.deserialize_map(Members(each))?;
    input.end()
}

/// Reads an array, and hands each element to `each` as it stands: however many there are, none is kept.
/// What came before an error was handed on.
///
/// # Errors
///
/// If the text is not one JSON array.
pub fn elements<'a>(text: &'a str, each: &mut dyn FnMut(&'a RawValue)) -> Result<(), serde_json::Error> {
    struct Elements<'f, 'a>(&'f mut dyn FnMut(&'a RawValue));

    impl<'de> Visitor<'de> for Elements<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
            while let Some(element) = elements.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
    }

    let mut input = serde_json::Deserializer::from_str(text);
    input.deserialize_seq(Elements(each))?;
    input.end()
}

/// The string that a value is, if it is one.
pub fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// A member's name, borrowed where it has no escapes. Half a surrogate pair in it, which is JSON but no
/// text, is replaced: it must not hide the members beside it.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> Visitor<'de> for Bytes {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_borrowed_bytes<E>(self, name: &'de [u8]) -> Result<Self::Value, E> {
                Ok(String::from_utf8_lossy(name))
            }

            fn visit_bytes<E>(self, name: &[u8]) -> Result<Self::Value, E> {
                Ok(Cow::Owned(String::from_utf8_lossy(name).into_owned()))
            }
        }

        input.deserialize_bytes(Bytes).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        Object::parse(text.to_owned()).unwrap().as_str().to_owned()
    }

    #[test]
    fn an_object_is_kept_byte_for_byte() {
        for text in [
            "{}",
            r#"{"a":null}"#,
            r#"{"n":7960607143101464576,"x":1.0,"z":-0,"e":1e400}"#,
            r#"{ "a" : [1,2], "a" : 3 }"#,
            r#"{"s":"\ud83d\ude00 \\ud83d \u00e9"}"#,
        ] {
            assert_eq!(kept(text), text);
        }
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        assert_eq!(kept("\n{\r\n\"a\":\n1}\n"), "{  \"a\": 1}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["null", "[]", "7", "\"{}\""] {
            assert!(matches!(Object::parse(text.to_owned()), Err(ObjectError::NotAnObject)), "{text}");
        }
        for text in ["", "{", "{}{}", "{\"a\":\"\n\"}", "{'a':1}", "{\"a\":nul}"] {
            assert!(matches!(Object::parse(text.to_owned()), Err(ObjectError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_refused() {
        for text in [
            r#"{"s":"\ud83d"}"#,
            r#"{"s":"\ud83dx"}"#,
            r#"{"s":"\ude00\ud83d"}"#,
            r#"{"s":"\ud83d\ud83d\ude00"}"#,
            r#"{"\udc00":1}"#,
        ] {
            assert!(matches!(Object::parse(text.to_owned()), Err(ObjectError::LoneSurrogate)), "{text}");
        }
    }

    #[test]
    fn members_are_what_stands_between_the_braces() {
        assert_eq!(Object::parse("{ }".to_owned()).unwrap().members(), "");
        assert_eq!(Object::parse("{ \"a\":1 }".to_owned()).unwrap().members(), "\"a\":1");
    }
}
