//! The result of a `tools/call`: is it an error of the tool's, and what is odd about it.
//!
//! The call *was* answered. Whatever a look at the answer finds wrong is a warning, never a failure
//! that would invite another call (contract, section 2).

use crate::prelude::*;
use crate::text::{cut, text};

use super::json::{self, Raw};

/// The kinds of content block that a revision defines, as they stand in a message.
const BLOCKS: [&str; 5] = ["\"text\"", "\"image\"", "\"audio\"", "\"resource_link\"", "\"resource\""];

/// The longest id of a task that is kept, in bytes.
const LONGEST_TASK_ID: usize = 1024;

/// The most warnings about one answer.
const WARNINGS: usize = 16;

/// What a result says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// `isError` is true.
    pub is_error: bool,
    /// The server suspended the call and asks for input.
    pub input_required: bool,
    /// It is of a type that nobody knows.
    pub unknown_type: bool,
    /// It tells of a task instead of a result, as 2025-11-25 puts it: the task's id, or none if it has none
    /// that can be used.
    pub task: Option<Option<String>>,
    /// The same as 2026-07-28 puts it.
    pub modern_task: Option<Option<String>>,
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
    let (mut content, mut is_task, mut id) = (None, false, None);
    let object = json::members(result.get(), &mut |name, value| match (name, value.get()) {
        ("isError", "true") => reading.is_error = true,
        ("isError", "false" | "null") | ("resultType", "\"complete\"") => {}
        ("isError", _) => reading.warn("`isError` is not a boolean"),
        ("resultType", "\"input_required\"") => reading.input_required = true,
        ("resultType", kind) => {
            is_task = kind == "\"task\"";
            reading.unknown_type = true;
            reading.warn("`resultType` is unknown");
        }
        ("content", _) => content = Some(value),
        ("task", _) => reading.task = Some(json::member(value.get(), "taskId").and_then(task_id)),
        ("taskId", _) => id = task_id(value),
        _ => {}
    });
    reading.modern_task = is_task.then_some(id);
    match content {
        Some(content) => read_content(content, &mut reading),
        None if object.is_err() => reading.warn("the result is not an object"),
        None if reading.input_required => {}
        None => reading.warn("the result has no `content`"),
    }
    reading
}

/// The id of a task, where it is no empty one and of a bearable length.
fn task_id(id: Raw<'_>) -> Option<String> {
    json::string(id).filter(|id| (1..=LONGEST_TASK_ID).contains(&id.len()))
}

fn read_content(content: Raw<'_>, reading: &mut Reading) {
    let mut index = 0_usize;
    let array = json::elements(content.get(), &mut |block| {
        match json::member(block.get(), "type").map(Raw::get) {
            None => reading.warn(&text!("content block {} has no type", index)),
            Some(kind) if !BLOCKS.contains(&kind) => {
                let kind = cut(kind.trim_matches('"'), 64);
                reading.warn(&text!("content block {} is of the unknown type `{}`", index, kind));
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
