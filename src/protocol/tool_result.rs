//! The result of a `tools/call`: is it an error of the tool's, and what is odd about it.
//!
//! The call *was* answered. Whatever a look at the answer finds wrong is a warning, never a failure
//! that would invite another call (contract, section 2).

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::json::OneOf;

/// The kinds of content block that a revision defines.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource_link", "resource"];

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
    fn warn(&mut self, warning: impl Into<String>) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(warning.into());
        }
    }
}

/// Reads a result, whatever it holds.
pub fn read(result: &RawValue) -> Reading {
    let text = result.get();
    if !text.starts_with('{') {
        let mut reading = Reading::default();
        reading.warn("the result is not an object");
        return reading;
    }
    let mut input = serde_json::Deserializer::from_str(text);
    match input.deserialize_map(Members {
        content: Content::Look,
    }) {
        Ok(reading) => reading,
        // Something in the content that the reader cannot hold, 1e400 where a block is due for
        // example. It must not hide `isError`.
        Err(_) => {
            let mut input = serde_json::Deserializer::from_str(text);
            let reading = input.deserialize_map(Members {
                content: Content::Skip,
            });
            let mut reading = reading.unwrap_or_default();
            reading.warn("the content could not be looked at");
            reading
        }
    }
}

#[derive(Clone, Copy)]
enum Content {
    Look,
    Skip,
}

struct Members {
    content: Content,
}

impl<'de> Visitor<'de> for Members {
    type Value = Reading;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Reading, A::Error> {
        let mut reading = Reading::default();
        let mut content = false;
        while let Some(name) = map.next_key_seed(OneOf(&["isError", "resultType", "content"]))? {
            match name {
                Some("isError") => match map.next_value::<&RawValue>()?.get() {
                    "true" => reading.is_error = true,
                    "false" | "null" => {}
                    _ => reading.warn("`isError` is not a boolean"),
                },
                Some("resultType") => match map.next_value::<&RawValue>()?.get() {
                    "\"complete\"" => {}
                    "\"input_required\"" => reading.input_required = true,
                    _ => reading.warn("`resultType` is unknown"),
                },
                Some("content") => {
                    content = true;
                    match self.content {
                        Content::Look => {
                            let blocks: Blocks = map.next_value()?;
                            blocks
                                .0
                                .into_iter()
                                .for_each(|warning| reading.warn(warning));
                        }
                        Content::Skip => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        if !content && !reading.input_required {
            reading.warn("the result has no `content`");
        }
        Ok(reading)
    }
}

/// What is odd about the blocks of a content.
#[derive(Default)]
struct Blocks(Vec<String>);

impl Blocks {
    fn warn(&mut self, warning: String) {
        if self.0.len() < WARNINGS {
            self.0.push(warning);
        }
    }
}

impl<'de> serde::Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(BlocksVisitor)
    }
}

/// Any JSON value that is not what was due there.
macro_rules! odd_scalars {
    ($odd:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($odd)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($odd)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($odd)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($odd)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($odd)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($odd)
        }
    };
}

struct BlocksVisitor;

impl<'de> Visitor<'de> for BlocksVisitor {
    type Value = Blocks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("content blocks")
    }

    odd_scalars!(Blocks(vec!["`content` is not an array".to_owned()]));

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Blocks, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Blocks(vec!["`content` is not an array".to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Blocks, A::Error> {
        let mut odd = Blocks::default();
        let mut index = 0_usize;
        while let Some(block) = blocks.next_element::<Block>()? {
            match block {
                Block::Known => {}
                Block::Unknown(kind) => {
                    odd.warn(format!(
                        "content block {index} is of the unknown type `{kind}`"
                    ));
                }
                Block::Untyped => odd.warn(format!("content block {index} has no type")),
            }
            index += 1;
        }
        Ok(odd)
    }
}

enum Block {
    Known,
    Unknown(String),
    Untyped,
}

impl<'de> serde::Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(BlockVisitor)
    }
}

struct BlockVisitor;

impl<'de> Visitor<'de> for BlockVisitor {
    type Value = Block;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a content block")
    }

    odd_scalars!(Block::Untyped);

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Block, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Block::Untyped)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Block, A::Error> {
        let mut block = Block::Untyped;
        while let Some(name) = map.next_key_seed(OneOf(&["type"]))? {
            if name.is_none() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let raw = map.next_value::<&RawValue>()?.get();
            let kind = raw.trim_matches('"');
            block = if BLOCKS.contains(&kind) && raw.starts_with('"') {
                Block::Known
            } else {
                Block::Unknown(kind.chars().take(64).collect())
            };
        }
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Reading {
        read(serde_json::from_str(json).unwrap())
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
            (
                r#"{"content":[{"type":"hologram"},{"type":"text"},7,[],{"type":7}]}"#,
                4,
            ),
            (r#"{"content":[],"isError":"no"}"#, 1),
            (r#"{"content":[1e400]}"#, 1),
            (r#"{"content":[],"resultType":"task"}"#, 1),
            (r#"{"structuredContent":{"a":1}}"#, 1),
        ] {
            let reading = of(json);
            assert!(!reading.is_error, "{json}");
            assert_eq!(
                reading.warnings.len(),
                count,
                "{json}: {:?}",
                reading.warnings
            );
        }
    }

    #[test]
    fn warnings_are_bounded() {
        let blocks = vec![r#"{"type":"x"}"#; 10_000].join(",");
        assert_eq!(
            of(&format!(r#"{{"content":[{blocks}]}}"#)).warnings.len(),
            WARNINGS
        );
    }

    #[test]
    fn deep_nesting_is_no_trap() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let reading = of(&format!(
            r#"{{"content":[{{"type":"text","x":{deep}}}],"isError":true}}"#
        ));
        assert!(reading.is_error);
        assert!(of(&format!(r#"{{"content":{deep},"isError":true}}"#)).is_error);
    }
}
