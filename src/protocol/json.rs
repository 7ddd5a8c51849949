//! JSON that stays text: checked where it must be, never rebuilt.

use alloc::borrow::Cow;

use serde::de::IgnoredAny;
use thiserror::Error;

use crate::prelude::*;
use crate::text::text;

/// Why a text is not the JSON that it should be.
#[derive(Debug, Error)]
#[error("{}", self.words())]
pub enum JsonError {
    /// It is not JSON.
    Syntax(#[from] serde_json::Error),
    /// It is JSON, but no object.
    NotAnObject,
    /// It is JSON, but no array.
    NotAnArray,
    /// A string in it holds half of a surrogate pair, which is no Unicode text: servers differ in
    /// what they make of it.
    LoneSurrogate,
}

impl JsonError {
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Syntax(error) => {
                let what = if error.is_eof() { "JSON that is cut off" } else { "not JSON" };
                text!("{} at line {}, column {}", what, error.line(), error.column())
            }
            Self::NotAnObject => "not a JSON object".to_owned(),
            Self::NotAnArray => "not a JSON array".to_owned(),
            Self::LoneSurrogate => "a lone surrogate escape in a string".to_owned(),
        }
    }
}

/// A JSON value as it stands in a text.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Takes a text that holds one JSON value.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn parse(text: &'a str) -> Result<Self, JsonError> {
        let IgnoredAny = serde_json::from_str(text)?;
        Ok(Self(text.trim_ascii()))
    }

    /// A value that was read before.
    pub(super) fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Its text, without space around it.
    pub fn get(self) -> &'a str {
        self.0
    }
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
    /// [`JsonError`] says what is wrong with the text.
    pub fn parse(text: String) -> Result<Self, JsonError> {
        let object = Raw::parse(&text)?.get();
        if !object.starts_with('{') {
            return Err(JsonError::NotAnObject);
        }
        if has_lone_surrogate(object) {
            return Err(JsonError::LoneSurrogate);
        }
        if object.len() == text.len() && !object.contains('\n') && !object.contains('\r') {
            return Ok(Self(text));
        }
        Ok(Self(on_one_line(object)))
    }

    /// One that is known to be sound, and one line.
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The object's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has a member of one of these names.
    pub fn has(&self, names: &[&str]) -> bool {
        let mut found = false;
        let read = members(&self.0, &mut |member, _| found |= names.contains(&member));
        found && read.is_ok()
    }

    /// What stands between its braces, without surrounding space: empty for `{}`.
    pub fn members(&self) -> &str {
        self.0.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim_ascii()
    }
}

/// A valid JSON text without line breaks. Inside a string there are none, so that each of them stands
/// between tokens, where a space does as well.
pub fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// A whole number in its plain form: decimal digits, no sign, no leading zero.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then_some(u64::from(byte & 0xf));
    match text.as_bytes() {
        [b'0'] => Some(0),
        [b'1'..=b'9', ..] => {
            text.bytes().try_fold(0_u64, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
        }
        _ => None,
    }
}

/// Whether a valid JSON text holds an escape of half a surrogate pair.
fn has_lone_surrogate(json: &str) -> bool {
    let mut rest = json;
    while let Some((_, escape)) = rest.split_once('\\') {
        let Some((_, after)) = escaped(escape) else {
            return true;
        };
        rest = after;
    }
    false
}

/// The character that an escape stands for, and the text after it; none for half a surrogate pair.
/// The text is valid, and begins after the escape's backslash.
fn escaped(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let c = match chars.next()? {
        'u' => {
            let (unit, rest) = code_unit(chars.as_str())?;
            if let Some(c) = char::from_u32(unit.into()) {
                return Some((c, rest));
            }
            let (low, rest) = code_unit(rest.strip_prefix("\\u")?)?;
            return Some((char::decode_utf16([unit, low]).next()?.ok()?, rest));
        }
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        itself => itself,
    };
    Some((c, chars.as_str()))
}

/// The code unit that four hexadecimal digits name, and the text after them.
fn code_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

/// The string that a value is, if it is one.
pub fn string(value: Raw<'_>) -> Option<String> {
    unescaped(value).map(Cow::into_owned)
}

/// The string that a value is, borrowed where it has no escapes.
fn unescaped(value: Raw<'_>) -> Option<Cow<'_, str>> {
    let mut rest = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if !rest.contains('\\') {
        return Some(Cow::Borrowed(rest));
    }
    let mut text = String::with_capacity(rest.len());
    while let Some((plain, escape)) = rest.split_once('\\') {
        let (c, after) = escaped(escape)?;
        text.push_str(plain);
        text.push(c);
        rest = after;
    }
    text.push_str(rest);
    Some(Cow::Owned(text))
}

/// Appends a text as a JSON string.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    // A string can always be written.
    out.extend(serde_json::to_vec(text).unwrap_or_default());
}

/// Reads an object, and hands each member to `each`: its name, and its value as it stands. What came
/// before an error was handed on. A name with half a surrogate pair in it, which is JSON but no text,
/// is handed on as it stands: it must not hide the members beside it.
///
/// # Errors
///
/// If the text is not one JSON object.
pub fn members<'a>(text: &'a str, each: &mut dyn FnMut(&str, Raw<'a>)) -> Result<(), JsonError> {
    let read = Rest(text).list('{', '}', &mut |rest| {
        let raw = rest.value().filter(|name| name.get().starts_with('"'))?;
        let name = unescaped(raw).unwrap_or(Cow::Borrowed(raw.get()));
        rest.skip(':')?;
        each(&name, rest.value()?);
        Some(())
    });
    read.ok_or_else(|| error_in(text, JsonError::NotAnObject))
}

/// The member of this name, the last if there are several; none if it has none, or is no object.
pub fn member<'a>(object: &'a str, wanted: &str) -> Option<Raw<'a>> {
    let mut found = None;
    let read = members(object, &mut |name, value| {
        if name == wanted {
            found = Some(value);
        }
    });
    read.ok()?;
    found
}

/// Reads an array, and hands each element to `each` as it stands: however many there are, none is kept.
/// What came before an error was handed on.
///
/// # Errors
///
/// If the text is not one JSON array.
pub fn elements<'a>(text: &'a str, each: &mut dyn FnMut(Raw<'a>)) -> Result<(), JsonError> {
    let read = Rest(text).list('[', ']', &mut |rest| {
        each(rest.value()?);
        Some(())
    });
    read.ok_or_else(|| error_in(text, JsonError::NotAnArray))
}

/// Why a text could not be read as a list.
fn error_in(text: &str, not_a_list: JsonError) -> JsonError {
    Raw::parse(text).err().unwrap_or(not_a_list)
}

/// What is left of a text that is read token by token. `serde_json` reads the values: as they stand,
/// each by the same code. A type with a reader of its own for each kind of object would be easier on
/// the eye, and cost the component as much again as all the rest of the protocol.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Reads a list in brackets, and nothing after it.
    fn list(mut self, open: char, close: char, item: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.skip(open)?;
        if self.skip(close).is_none() {
            item(&mut self)?;
            while self.skip(close).is_none() {
                self.skip(',')?;
                item(&mut self)?;
            }
        }
        self.next().is_empty().then_some(())
    }

    /// What comes next, after white space.
    fn next(&self) -> &'a str {
        let space = self.0.bytes().take_while(|byte| b" \t\n\r".contains(byte)).count();
        self.0.get(space..).unwrap_or_default()
    }

    /// Takes a token, if it comes next.
    fn skip(&mut self, token: char) -> Option<()> {
        self.0 = self.next().strip_prefix(token)?;
        Some(())
    }

    /// Takes the value that comes next.
    fn value(&mut self) -> Option<Raw<'a>> {
        let text = self.next();
        let mut values = serde_json::Deserializer::from_str(text).into_iter();
        let IgnoredAny = values.next()?.ok()?;
        let (value, rest) = text.split_at_checked(values.byte_offset())?;
        self.0 = rest;
        Some(Raw(value))
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
            assert!(matches!(Object::parse(text.to_owned()), Err(JsonError::NotAnObject)), "{text}");
        }
        for text in ["", "{", "{}{}", "{\"a\":\"\n\"}", "{'a':1}", "{\"a\":nul}"] {
            assert!(matches!(Object::parse(text.to_owned()), Err(JsonError::Syntax(_))), "{text}");
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
            assert!(matches!(Object::parse(text.to_owned()), Err(JsonError::LoneSurrogate)), "{text}");
        }
    }

    #[test]
    fn a_string_is_read_as_its_author_meant_it() {
        let read = |json: &str| string(Raw::parse(json).unwrap());
        for (json, text) in [
            (r#""""#, ""),
            (r#""plain""#, "plain"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u0069\u00e9 \ud83d\ude00!""#, "i\u{e9} \u{1f600}!"),
            (r#""\\u0069""#, "\\u0069"),
        ] {
            assert_eq!(read(json).as_deref(), Some(text), "{json}");
            assert_eq!(serde_json::from_str::<String>(json).unwrap(), text);
        }
        for json in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0069""#, "7", "null", "[]"] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn a_list_is_read_as_far_as_it_goes() {
        let names = |text: &str| {
            let mut names = Vec::new();
            let read = members(text, &mut |name, value| names.push(format!("{name}={}", value.get())));
            (names.join(" "), read.is_ok())
        };
        for (text, found, whole) in [
            ("{}", "", true),
            (" { } \n", "", true),
            (r#"{"\ud800":1,"a":2}"#, r#""\ud800"=1 a=2"#, true),
            (r#"{"a":1,"\u0062" : [ 2 ] }"#, "a=1 b=[ 2 ]", true),
            (r#"{"a":1,}"#, "a=1", false),
            (r#"{"a":1 "b":2}"#, "a=1", false),
            (r#"{"a":1}{"#, "a=1", false),
            (r#"{"a":1,"b":"#, "a=1", false),
            (r#"{"a":1,2:3}"#, "a=1", false),
            (r#"{,"a":1}"#, "", false),
            ("{\u{c}}", "", false),
        ] {
            assert_eq!(names(text), (found.to_owned(), whole), "{text}");
        }
        assert!(matches!(members("[]", &mut |_, _| {}), Err(JsonError::NotAnObject)));
        assert!(matches!(elements("{}", &mut |_| {}), Err(JsonError::NotAnArray)));
        assert!(matches!(elements("[1,]", &mut |_| {}), Err(JsonError::Syntax(_))));
    }

    #[test]
    fn members_are_what_stands_between_the_braces() {
        assert_eq!(Object::parse("{ }".to_owned()).unwrap().members(), "");
        assert_eq!(Object::parse("{ \"a\":1 }".to_owned()).unwrap().members(), "\"a\":1");
    }
}
