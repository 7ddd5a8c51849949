//! Arguments that a server wants as headers too (2026-07-28): what `x-mcp-header` in a tool's `inputSchema`
//! asks for, and what a call says there.

use crate::prelude::*;
use crate::text::text;

use super::header;
use super::json::{self, Raw};

/// The mark in the schema, as it stands in front of its value.
const MARK: &[u8] = b"\"x-mcp-header\"";

/// How deep a marked argument may lie. Each step reads what lies below it once more.
const DEEPEST: u32 = 16;

/// The headers that a tool, whose whole entry `tool` is, wants of a call with these arguments. Without
/// arguments they have no values: it only tells whether the tool is sound.
///
/// # Errors
///
/// What is wrong with the tool's marks: then it is no tool to be called.
pub fn of_tool(tool: &str, arguments: Option<&str>) -> Result<Vec<(String, String)>, &'static str> {
    let mut marked = Marked { found: Vec::new(), wrong: None, called: arguments.is_some() };
    if let Some(schema) = json::member(tool, "inputSchema") {
        marked.read(schema.get(), arguments, 0);
    }
    match marked.wrong {
        Some(wrong) => Err(wrong),
        None => Ok(marked.found),
    }
}

/// Whether there is a mark in a JSON text, wherever that is.
pub fn is_marked(json: &str) -> bool {
    let is_mark = |at: usize, window: &[u8]| {
        let after = json.get(at + MARK.len()..).unwrap_or_default();
        window == MARK && after.trim_ascii_start().starts_with(':')
    };
    json.as_bytes().windows(MARK.len()).enumerate().any(|(at, window)| is_mark(at, window))
}

/// The marks of a schema, as it is read.
struct Marked {
    found: Vec<(String, String)>,
    wrong: Option<&'static str>,
    /// Whether values are wanted too.
    called: bool,
}

impl Marked {
    /// Reads the schema of an argument, so deep, of which a call says this.
    fn read(&mut self, schema: &str, said: Option<&str>, depth: u32) {
        let (mut mark, mut kind, mut below) = (None, "", None);
        // What is no object says nothing.
        let _ = json::members(schema, &mut |name, value| match name {
            "x-mcp-header" => mark = Some(value),
            "type" => kind = value.get(),
            "properties" => below = Some(value.get()),
            _ if is_marked(value.get()) => self.wrong = Some("a header for what is no plain argument"),
            _ => {}
        });
        if let Some(mark) = mark {
            let primitive = ["\"string\"", "\"integer\"", "\"boolean\""].contains(&kind);
            self.mark(mark, primitive && depth > 0, said);
        }
        let Some(below) = below.filter(|below| is_marked(below)) else {
            return;
        };
        if depth == DEEPEST {
            self.wrong = Some("a header for what lies too deep");
            return;
        }
        let _ = json::members(below, &mut |name, schema| {
            let said = said.and_then(|said| json::member(said, name));
            self.read(schema.get(), said.map(Raw::get), depth + 1);
        });
    }

    fn mark(&mut self, mark: Raw<'_>, proper: bool, said: Option<&str>) {
        let Some(name) = json::string(mark).filter(|name| header::is_token(name)) else {
            self.wrong = Some("a header without a proper name");
            return;
        };
        if !proper {
            self.wrong = Some("a header for what is no string, integer or boolean");
        }
        let name = text!("Mcp-Param-{}", &name);
        if self.found.iter().any(|(found, _)| found.eq_ignore_ascii_case(&name)) {
            self.wrong = Some("two headers of one name");
        }
        let value = said.and_then(value);
        if value.is_some() || !self.called {
            self.found.push((name, value.unwrap_or_default()));
        }
    }
}

/// A string, number or boolean as the value of a header. `null` is no value.
fn value(said: &str) -> Option<String> {
    match said.as_bytes() {
        [b'"', ..] => json::string(Raw::new(said)).map(|text| header::value(&text)),
        [b'{' | b'[' | b'n', ..] => None,
        _ => Some(said.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(properties: &str) -> String {
        format!(r#"{{"name":"t","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#)
    }

    fn headers(properties: &str, arguments: &str) -> Vec<(String, String)> {
        assert!(is_marked(&tool(properties)));
        of_tool(&tool(properties), Some(arguments)).unwrap()
    }

    #[test]
    fn what_a_call_says_becomes_headers() {
        let schema = r#""region":{"type":"string","x-mcp-header":"Region"},
            "n":{"x-mcp-header":"N","type":"integer"},"b":{"type":"boolean","x-mcp-header":"B"},
            "to":{"type":"object","properties":{"who":{"type":"string","x-mcp-header":"To-Who"}}},"x":{"type":"number"}"#;
        let said = r#"{"region":" \u00e9","n":-42,"b":false,"to":{"who":"me","x":1},"x":3.1}"#;
        let expected = [
            ("Mcp-Param-Region", "=?base64?IMOp?="),
            ("Mcp-Param-N", "-42"),
            ("Mcp-Param-B", "false"),
            ("Mcp-Param-To-Who", "me"),
        ];
        assert_eq!(headers(schema, said), expected.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(headers(schema, r#"{"region":null,"to":7,"n":{}}"#), []);
        assert_eq!(headers(schema, "{}"), []);
    }

    #[test]
    fn a_tool_without_marks_has_no_headers() {
        for entry in [
            tool(r#""a":{"type":"object"}"#),
            // The name of an argument, and words, are no marks.
            tool(r#""x-mcp-header":{"type":"string"}"#),
            tool(r#""a":{"type":"string","description":"\"x-mcp-header\": \"A\""}"#),
            r#"{"name":"t","inputSchema":{"enum":["x-mcp-header"]}}"#.to_owned(),
            r#"{"name":"t"}"#.to_owned(),
            r#"{"name":"t","inputSchema":7}"#.to_owned(),
        ] {
            assert_eq!(of_tool(&entry, None), Ok(Vec::new()), "{entry}");
        }
    }

    #[test]
    fn a_tool_with_a_wrong_mark_is_none() {
        let deep = (0..20).fold(r#"{"type":"string","x-mcp-header":"A"}"#.to_owned(), |below, _| {
            format!(r#"{{"properties":{{"a":{below}}}}}"#)
        });
        for properties in [
            r#""a":{"type":"string","x-mcp-header":""}"#,
            r#""a":{"type":"string","x-mcp-header":"My Region"}"#,
            r#""a":{"type":"string","x-mcp-header":"Region\t1"}"#,
            r#""a":{"type":"string","x-mcp-header":7}"#,
            r#""a":{"type":"number","x-mcp-header":"A"}"#,
            r#""a":{"type":"object","x-mcp-header":"A"}"#,
            r#""a":{"type":"null","x-mcp-header":"A"}"#,
            r#""a":{"x-mcp-header":"A"}"#,
            r#""a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}"#,
            r#""a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
            r#""a":{"oneOf":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}"#,
            &format!(r#""a":{deep}"#),
        ] {
            assert!(of_tool(&tool(properties), None).is_err(), "{properties}");
        }
        assert!(of_tool(r#"{"inputSchema":{"type":"object","x-mcp-header":"A"}}"#, None).is_err());
        assert!(
            of_tool(r#"{"inputSchema":{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}}"#, None).is_err()
        );
    }
}
