//! A JSON object, put together member by member, in the order given.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A JSON object. It is written on one line, whatever is put into it.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(&'static str, Box<RawValue>)>,
}

impl Object {
    /// An object without members.
    pub fn new() -> Object {
        Object::default()
    }

    /// Adds a string.
    #[must_use]
    pub fn text(self, name: &'static str, value: &str) -> Object {
        self.value(name, &value)
    }

    /// Adds what serde makes of `value`; null if serde makes nothing of it.
    #[must_use]
    pub fn value(self, name: &'static str, value: &impl Serialize) -> Object {
        let value = to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        self.member(name, value)
    }

    /// Adds a JSON text, verbatim; as a string if it is no JSON.
    #[must_use]
    pub fn json(self, name: &'static str, text: &str) -> Object {
        self.member(name, verbatim(text))
    }

    /// Adds an array of JSON texts, each as in [`json`](Object::json).
    #[must_use]
    pub fn json_list<'a>(self, name: &'static str, texts: impl Iterator<Item = &'a str>) -> Object {
        let list: Vec<_> = texts.map(verbatim).collect();
        self.value(name, &list)
    }

    /// Adds all members of `other`.
    #[must_use]
    pub fn and(mut self, other: Object) -> Object {
        self.members.extend(other.members);
        self
    }

    fn member(mut self, name: &'static str, value: Box<RawValue>) -> Object {
        self.members.push((name, value));
        self
    }
}

/// A JSON text as it is. Line breaks, which stand between its tokens only, become spaces.
fn verbatim(text: &str) -> Box<RawValue> {
    let one_line = text.replace(['\n', '\r'], " ");
    RawValue::from_string(one_line)
        .or_else(|_| to_raw_value(text))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_passes_through_verbatim() {
        for text in
            ["1915883588174806058", "1e400", "-0.0", r#"{"b":1,"a":2,"b":3}"#, r#""\ud83d\/""#, "[ 1,2 ]"]
        {
            let object = Object::new().json("x", text).to_string();
            assert_eq!(object, format!(r#"{{"x":{text}}}"#));
        }
    }

    #[test]
    fn deep_json_passes_through() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let object = Object::new().json("x", &deep).to_string();
        assert_eq!(object, format!(r#"{{"x":{deep}}}"#));
    }

    #[test]
    fn what_is_no_json_becomes_a_string() {
        let object = Object::new().json("x", "{\"half\": ").to_string();
        assert_eq!(object, r#"{"x":"{\"half\": "}"#);
    }

    #[test]
    fn an_object_is_one_line() {
        let object = Object::new().json("x", "{\r\n \"a\": 1\n}").to_string();
        assert_eq!(object, r#"{"x":{   "a": 1 }}"#);
    }
}
