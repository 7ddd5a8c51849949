//! What the bytes of one message say, read by `serde_json`: the code under test reads the same bytes by
//! itself, and is held against this.

use noreplay::protocol::json::{self, Object, Raw};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

/// Reads a text both ways, as everything that it could be.
pub fn compare(text: &str) {
    let valid = serde_json::from_str::<IgnoredAny>(text).is_ok();
    let raw = Raw::parse(text).map(Raw::get);
    assert_eq!(raw.ok(), serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get), "{text}");
    if let Ok(raw) = Raw::parse(text) {
        assert_eq!(json::string(raw), serde_json::from_str(text).ok(), "{text}");
    }
    compare_members(text, valid);
    compare_elements(text, valid);
    compare_object(text, valid);
}

fn compare_members(text: &str, valid: bool) {
    let mut ours = Vec::new();
    let read = json::members(text, &mut |name, value| ours.push((name.to_owned(), slice_of(value, text))));
    let theirs = Members::read(text);
    assert_eq!(read.is_ok(), valid && text.trim_ascii_start().starts_with('{'), "{text}");
    // A name that is no text stops `serde_json`, and does not stop us.
    let same = if theirs.whole { ours == theirs.found } else { alike(&ours, &theirs.found, valid) };
    assert!(same, "{text}");
}

/// Whether one list goes on where the other stops; ours, if the text is valid.
fn alike<T: PartialEq>(ours: &[T], theirs: &[T], valid: bool) -> bool {
    ours.starts_with(theirs) || !valid && theirs.starts_with(ours)
}

fn compare_elements(text: &str, valid: bool) {
    let mut ours = Vec::new();
    let read = json::elements(text, &mut |value| ours.push(slice_of(value, text)));
    assert_eq!(read.is_ok(), valid && text.trim_ascii_start().starts_with('['), "{text}");
    let theirs = Elements::read(text);
    assert!(ours == theirs || !valid && alike(&ours, &theirs, valid), "{text}");
}

/// What a caller says goes out as it is, on one line.
fn compare_object(text: &str, valid: bool) {
    let Ok(object) = Object::parse(text.to_owned()) else {
        // Half a surrogate pair is refused; what `serde_json` reads whole has none.
        let is_object = text.trim_ascii_start().starts_with('{');
        let whole = is_object && serde_json::from_str::<serde_json::Value>(text).is_ok();
        return assert!(!whole, "{text}");
    };
    assert!(valid, "{text}");
    let kept = object.as_str();
    assert!(!kept.contains(['\n', '\r']), "{kept}");
    assert_eq!(kept, text.trim_ascii().replace(['\n', '\r'], " "));
    assert_eq!(Members::read(kept).found.is_empty(), object.members().is_empty(), "{kept}");
    for (name, _) in Members::read(kept).found {
        assert!(object.has(&[&name]), "{kept}");
    }
}

/// A value is a part of the text that it was read from.
fn slice_of<'a>(value: Raw<'a>, text: &'a str) -> &'a str {
    let (of, within) = (value.get().as_bytes().as_ptr_range(), text.as_bytes().as_ptr_range());
    assert!(within.start <= of.start && of.end <= within.end, "{text}");
    assert!(serde_json::from_str::<IgnoredAny>(value.get()).is_ok(), "{text}");
    value.get()
}

/// An answer: to whom, and its result or error as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub id: u64,
    pub result: Result<String, String>,
}

/// The answers in a frame: as far as it can be read, if it is an array.
pub fn answers(frame: &[u8]) -> Vec<Answer> {
    let frame = frame.strip_prefix(b"\xef\xbb\xbf").unwrap_or(frame);
    let Ok(text) = str::from_utf8(frame) else { return Vec::new() };
    if text.trim_ascii_start().starts_with('[') {
        Elements::read(text).into_iter().filter_map(answer).collect()
    } else {
        answer(text).into_iter().collect()
    }
}

fn answer(text: &str) -> Option<Answer> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let members = Members::read(text).found;
    let once = |wanted: &str| {
        let mut found = members.iter().filter(|(name, _)| name == wanted).map(|(_, value)| *value);
        let first = found.next();
        if found.next().is_some() { Err(()) } else { Ok(first) }
    };
    let well_formed =
        once("jsonrpc") == Ok(Some("\"2.0\"")) && once("method") == Ok(None) && once("params").is_ok();
    let result = match (once("result").ok()?, once("error").ok()?) {
        (Some(result), None) => Ok(result.to_owned()),
        (None, Some(error)) => Err(error.to_owned()),
        _ => return None,
    };
    let id = once("id").ok()??;
    let number = id.trim_matches('"').parse::<u64>().ok()?;
    let as_we_write_it = id == number.to_string() || id == format!("\"{number}\"");
    (well_formed && as_we_write_it).then_some(Answer { id: number, result })
}

/// The members of an object, as far as it can be read.
#[derive(Default)]
struct Members<'a> {
    found: Vec<(String, &'a str)>,
    whole: bool,
}

impl<'a> Members<'a> {
    fn read(text: &'a str) -> Self {
        let mut members = Self::default();
        let mut reader = Deserializer::from_str(text);
        let read = members.deserialize(&mut reader).and_then(|()| reader.end());
        members.whole = read.is_ok();
        members
    }
}

impl<'de> DeserializeSeed<'de> for &mut Members<'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Members<'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            self.found.push((name, value.get()));
        }
        Ok(())
    }
}

/// The elements of an array, as far as it can be read.
#[derive(Default)]
struct Elements<'a>(Vec<&'a str>);

impl<'a> Elements<'a> {
    fn read(text: &'a str) -> Vec<&'a str> {
        let mut elements = Self::default();
        // What was read before an error counts.
        let _ = elements.deserialize(&mut Deserializer::from_str(text));
        elements.0
    }
}

impl<'de> DeserializeSeed<'de> for &mut Elements<'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut Elements<'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while let Some(value) = array.next_element::<&RawValue>()? {
            self.0.push(value.get());
        }
        Ok(())
    }
}
