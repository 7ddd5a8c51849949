//! What a tool says its answers look like, held against what it answers: advice for whoever reads the answer,
//! and never a verdict. The call was answered, whatever this finds.
//!
//! ```
//! use host_tests::output_schema::OutputSchemas;
//! use host_tests::{Tool, ToolResult};
//!
//! let tool = Tool {
//!     name: "balance".into(),
//!     description: None,
//!     json: r#"{"name":"balance","outputSchema":{"properties":{"amount":{"type":"integer"}}}}"#.into(),
//! };
//! let schemas = OutputSchemas::of(&[tool]);
//! let json = r#"{"content":[],"structuredContent":{"amount":"five"}}"#.into();
//! let result = ToolResult { call: 1, attempts: 1, json, warnings: vec![] };
//! assert_eq!(
//!     schemas.warnings("balance", &result),
//!     [r#"the answer does not fit the tool's outputSchema: at "/amount": "five" is not of type "integer""#],
//! );
//! ```
//!
//! Schemas and answers are a server's, and not trusted: nothing outside a schema is fetched, whatever it refers
//! to, its patterns are matched in linear time, and what would be too much work is not checked, which is then
//! the warning.

use std::collections::HashMap;

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Tool, ToolResult};

mod cost;
#[cfg(test)]
mod tests;

/// The largest schema that is used, in bytes.
const LARGEST_SCHEMA: usize = 64 << 10;

/// The largest `structuredContent` that is checked, in bytes.
const LARGEST_ANSWER: usize = 1 << 20;

/// The most bytes that one pattern may take once it is compiled.
const LARGEST_PATTERN: usize = 256 << 10;

/// The most warnings for one answer.
const MOST_WARNINGS: usize = 8;

/// The longest warning, in characters.
const LONGEST_WARNING: usize = 240;

/// How long what is wrong may be, in bytes, if it is to be told with the value that is wrong.
const LONGEST_WORDS: usize = 120;

/// The output schemas of a server's tools, ready to be held against their answers.
#[derive(Debug, Default)]
pub struct OutputSchemas {
    tools: HashMap<String, Result<Schema, Unusable>>,
}

#[derive(Debug)]
struct Schema {
    text: Value,
    validator: Validator,
}

/// Why a tool's answers are not checked.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("it is larger than {LARGEST_SCHEMA} bytes")]
    Large,
    #[error("{0}")]
    TooMuch(#[from] cost::TooMuch),
    #[error("{0}")]
    Wrong(String),
}

/// The member of a tool's entry that matters here.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, rename = "outputSchema")]
    schema: Option<&'a RawValue>,
}

/// The members of an answer that matter here.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default, rename = "structuredContent", deserialize_with = "present")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, rename = "isError")]
    is_error: Option<&'a RawValue>,
}

/// A member that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

impl OutputSchemas {
    /// The schemas of these tools, as they were listed. Tools without one are not checked.
    pub fn of(tools: &[Tool]) -> OutputSchemas {
        let schema = |tool: &Tool| {
            let entry: Entry<'_> = serde_json::from_str(&tool.json).ok()?;
            Some((tool.name.clone(), Schema::read(entry.schema?.get())))
        };
        OutputSchemas { tools: tools.iter().filter_map(schema).collect() }
    }

    /// What is odd about an answer of this tool: at most a few sentences, none of them long.
    pub fn warnings(&self, tool: &str, result: &ToolResult) -> Vec<String> {
        let Some(schema) = self.tools.get(tool) else { return Vec::new() };
        let Ok(answer) = serde_json::from_str::<Answer<'_>>(&result.json) else { return Vec::new() };
        let found = match (schema, answer.structured) {
            (Err(unusable), _) => vec![format!("the tool's outputSchema cannot be used: {unusable}")],
            (Ok(schema), Some(structured)) => match schema.misfits(structured.get()) {
                Ok(misfits) => misfits,
                Err(why) => vec![format!("the answer was not held against the tool's outputSchema: {why}")],
            },
            // A failure need not look like an answer.
            (Ok(_), None) if answer.is_error.is_some_and(|is| is.get() == "true") => Vec::new(),
            (Ok(_), None) => vec!["the tool has an outputSchema, but its answer no structuredContent".into()],
        };
        found.iter().map(|warning| shortened(warning)).collect()
    }
}

impl Schema {
    fn read(text: &str) -> Result<Schema, Unusable> {
        if text.len() > LARGEST_SCHEMA {
            return Err(Unusable::Large);
        }
        let text: Value = serde_json::from_str(text).map_err(|error| Unusable::Wrong(error.to_string()))?;
        cost::of_schema(&text)?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex().size_limit(LARGEST_PATTERN))
            .should_validate_formats(false)
            .build(&text)
            .map_err(|error| Unusable::Wrong(format!("at {:?}: {error}", error.schema_path().as_str())))?;
        Ok(Schema { text, validator })
    }

    /// Where the answer does not fit.
    fn misfits(&self, answer: &str) -> Result<Vec<String>, Unusable> {
        if answer.len() > LARGEST_ANSWER {
            return Err(Unusable::Wrong(format!("it is larger than {LARGEST_ANSWER} bytes")));
        }
        let answer: Value =
            serde_json::from_str(answer).map_err(|error| Unusable::Wrong(error.to_string()))?;
        cost::of_answer(&self.text, &answer)?;
        let mut errors = self.validator.iter_errors(&answer);
        let mut found: Vec<String> = errors
            .by_ref()
            .take(MOST_WARNINGS)
            .map(|error| {
                let at = error.instance_path().as_str();
                let words = error.to_string();
                // It begins with the value, which may be all that fits in.
                let words = if words.len() > LONGEST_WORDS { error.masked().to_string() } else { words };
                format!("the answer does not fit the tool's outputSchema: at {at:?}: {words}")
            })
            .collect();
        let more = errors.count();
        if more > 0
            && let Some(last) = found.last_mut()
        {
            *last = format!("the answer does not fit the tool's outputSchema in {} more places", more + 1);
        }
        Ok(found)
    }
}

/// The first characters of a text, and a sign that there were more.
fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(LONGEST_WARNING).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}
