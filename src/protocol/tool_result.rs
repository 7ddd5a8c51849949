//! The result of a `tools/call`: is it an error of the tool's, and what is odd about it.
//!
//! The call *was* answered. Whatever a look at the answer finds wrong is a warning, never a failure
//! that would invite another call (contract, section 2).

use crate::prelude::*;
use crate::text::cut;

use super::json::{self, Raw};

/// The kinds of content block that a revision defines, as they stand in a message.
const BLOCKS: [&str; 5] = ["\"text\"", "\"image\"", "\"audio\"", "\"resource_link\"", "\"resource\""];

/// The most warnings about one answer.
const WARNINGS: usize = 16;

/// What a result says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// `isError` is true.
    pub is_error: bool,
    /// The server suspended the call and asks for input.
    pub input_required: bool,
    /// What is odd.
    pub warnings: Vec<String>,
}

impl Reading {
    fn warn(&mut self, warning: &str) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(warning.to_owned());
        }
    }
}

/// Reads a result, whatever it holds.
pub fn read(result: Raw<'_>) -> Reading {
    let mut reading = Reading::default();
    let mut content = None;
    let object = json::members(result.get(), &mut |name, value| match (name, value.get()) {
        ("isError", "true") => reading.is_error = true,
        ("isError", "false" | "null") | ("resultType", "\"complete\"") => {}
        ("isError", _) => reading.warn("`isError` is not a boolean"),
        ("resultType", "\"input_required\"") => reading.input_required = true,
        ("resultType", _) => reading.warn("`resultType` is unknown"),
        ("content", _) => content = Some(value),
        _ => {}
    });
    match content {
        Some(content) => read_content(content, &mut reading),
        None if object.is_err() => reading.warn("the result is not an object"),
        None if reading.input_required => {}
        None => reading.warn("the result has no `content`"),
    }
    reading
}

fn read_content(content: Raw<'_>, reading: &mut Reading) {
    let mut index = 0_usize;
    let array = json::elements(content.get(), &mut |block| {
        let mut kind = None;
        // What is no object has no type.
        let _ = json::members(block.get(), &mut |name, value| {
            if name == "type" {
                kind = Some(value.get());
            }
        });
        match kind {
            None => reading.warn(&format!("content block {index} has no type")),
            Some(kind) if !BLOCKS.contains(&kind) => {
                let kind = cut(kind.trim_matches('"'), 64);
                reading.warn(&format!("content block {index} is of the unknown type `{kind}`"));
            }
            Some(_) => {}
        }
        index += 1;
    });
    if array.is_err() {
        reading.warn("`content` is not an array");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Reading {
        read(Raw::parse(json).unwrap())
    }

    #[test]
    fn plain_results_have_no_warnings() {
        for json in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":"done"}],"isError":false}"#,
            r#"{"content":[{"type":"resource_link","uri":"x"},{"type":"audio"}],"isError":null}"#,
            r#"{"content":[],"structuredContent":{"n":1e400},"resultType":"complete"}"#,
        ] {
            assert_eq!(of(json), Reading::default(), "{json}");
        }
    }

    #[test]
    fn is_error_counts_wherever_it_stands() {
        for json in [
            r#"{"isError":true,"content":[]}"#,
            r#"{"content":[],"isError":true}"#,
            r#"{"content":[1e400],"isError":true}"#,
            r#"{"content":{"a":[1e999]},"isError": true }"#,
        ] {
            assert!(of(json).is_error, "{json}");
        }
    }

    #[test]
    fn odd_answers_are_answers_with_warnings() {
        for (json, count) in [
            ("null", 1),
            ("[]", 1),
            ("{}", 1),
            (r#"{"content":null}"#, 1),
            (r#"{"content":"done"}"#, 1),
            (r#"{"content":{"type":"text"}}"#, 1),
            (r#"{"content":[{"type":"hologram"},{"type":"text"},7,[],{"type":7}]}"#, 4),
            (r#"{"content":[],"isError":"no"}"#, 1),
            (r#"{"content":[1e400]}"#, 1),
            (r#"{"content":1e400}"#, 1),
            (r#"{"content":[],"resultType":"task"}"#, 1),
            (r#"{"structuredContent":{"a":1}}"#, 1),
        ] {
            let reading = of(json);
            assert!(!reading.is_error, "{json}");
            assert_eq!(reading.warnings.len(), count, "{json}: {:?}", reading.warnings);
        }
    }

    #[test]
    fn warnings_are_bounded() {
        let blocks = vec![r#"{"type":"x"}"#; 10_000].join(",");
        assert_eq!(of(&format!(r#"{{"content":[{blocks}]}}"#)).warnings.len(), WARNINGS);
    }

    #[test]
    fn deep_nesting_is_no_trap() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let reading = of(&format!(r#"{{"content":[{{"type":"text","x":{deep}}}],"isError":true}}"#));
        assert!(reading.is_error);
        assert!(of(&format!(r#"{{"content":{deep},"isError":true}}"#)).is_error);
    }
}
