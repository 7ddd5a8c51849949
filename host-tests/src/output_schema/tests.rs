//! Schemas and answers of all kinds of servers.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{LARGEST_ANSWER, LONGEST_WARNING, MOST_WARNINGS, OutputSchemas};
use crate::{Tool, ToolResult};

/// What is warned of an answer of a tool that has this schema.
fn warnings(schema: &Value, result: &Value) -> Vec<String> {
    let json = json!({ "name": "t", "outputSchema": schema }).to_string();
    let schemas = OutputSchemas::of(&[Tool { name: "t".into(), description: None, json }]);
    let result = ToolResult { call: 1, attempts: 1, json: result.to_string(), warnings: Vec::new() };
    let began = Instant::now();
    let warnings = schemas.warnings("t", &result);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}: {warnings:?}", began.elapsed());
    assert!(warnings.len() <= MOST_WARNINGS, "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.chars().count() <= LONGEST_WARNING + 1), "{warnings:?}");
    warnings
}

/// What is warned of this `structuredContent`.
fn of(schema: &Value, structured: &Value) -> Vec<String> {
    warnings(schema, &json!({ "content": [], "structuredContent": structured }))
}

/// The only warning.
#[track_caller]
fn only(warnings: Vec<String>) -> String {
    match <[String; 1]>::try_from(warnings) {
        Ok([warning]) => warning,
        Err(warnings) => panic!("not one: {warnings:?}"),
    }
}

fn amount() -> Value {
    json!({ "type": "object", "properties": { "amount": { "type": "integer" } }, "required": ["amount"] })
}

#[test]
fn an_answer_that_fits_is_not_warned_of() {
    assert_eq!(of(&amount(), &json!({ "amount": 5, "more": [] })), [""; 0]);
    assert_eq!(of(&json!(true), &Value::Null), [""; 0]);
    let list = json!({ "$ref": "#/$defs/list", "$defs": { "list": {
        "type": ["object", "null"], "properties": { "next": { "$ref": "#/$defs/list" } }, "required": ["next"],
    } } });
    assert_eq!(of(&list, &json!({ "next": { "next": { "next": null } } })), [""; 0]);
    assert!(only(of(&list, &json!({ "next": { "next": 7 } }))).contains(r#"at "/next/next""#));
}

#[test]
fn where_it_does_not_fit_is_told() {
    let warning = only(of(&amount(), &json!({ "amount": "five" })));
    let prefix = "the answer does not fit the tool's outputSchema: ";
    assert_eq!(warning, format!(r#"{prefix}at "/amount": "five" is not of type "integer""#));
    assert!(only(of(&amount(), &json!({}))).contains(r#""amount" is a required property"#));
    assert!(only(of(&json!(false), &json!(1))).starts_with(prefix));
}

#[test]
fn an_answer_without_structure_is_told_unless_it_is_an_error() {
    let none = |result| warnings(&amount(), &result);
    assert!(only(none(json!({ "content": [] }))).contains("no structuredContent"));
    assert!(only(none(json!({ "content": [], "isError": false }))).contains("no structuredContent"));
    assert_eq!(none(json!({ "content": [], "isError": true })), [""; 0]);
    // It is held against the schema where it is there.
    assert!(!none(json!({ "structuredContent": null, "isError": true })).is_empty());
}

#[test]
fn tools_without_a_schema_and_unknown_tools_are_not_checked() {
    let tool = |json: &str| Tool { name: "t".into(), description: None, json: json.into() };
    let result = ToolResult { call: 1, attempts: 1, json: "{}".into(), warnings: Vec::new() };
    for entry in [r#"{"name":"t"}"#, r#"{"outputSchema":null}"#, "[]", "half a {"] {
        let schemas = OutputSchemas::of(&[tool(entry)]);
        assert_eq!(schemas.warnings("t", &result), [""; 0], "{entry}");
    }
    let schemas = OutputSchemas::of(&[tool(r#"{"outputSchema":false}"#)]);
    assert_eq!(schemas.warnings("other", &result), [""; 0]);
    assert_eq!(OutputSchemas::default().warnings("t", &result), [""; 0]);
}

#[test]
fn a_schema_that_is_wrong_is_one_warning() {
    for schema in [
        json!({ "type": 7 }),
        json!("object"),
        json!({ "pattern": "(" }),
        json!({ "pattern": "((a{1000}){1000}){1000}" }),
        json!({ "$schema": "https://example.com/mine", "type": "object" }),
        json!({ "description": "x".repeat(100_000) }),
    ] {
        let warning = only(of(&schema, &json!("a")));
        assert!(warning.starts_with("the tool's outputSchema cannot be used: "), "{warning}");
    }
}

/// MCP asks for this, and it is a way to make a client fetch what a server likes.
#[test]
fn what_a_schema_refers_to_elsewhere_is_not_fetched() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("it is a socket");
    let url = format!("http://{}/schema", server.local_addr().expect("an address"));
    for elsewhere in [url.as_str(), "file:///etc/hostname", "other.json", "//example.com/x", "#anchor"] {
        for keyword in ["$ref", "$dynamicRef"] {
            let schema = json!({ "type": "object", "properties": { "a": { keyword: elsewhere } } });
            let warning = only(of(&schema, &json!({ "a": 1 })));
            assert!(warning.contains("which is no place in it"), "{warning}");
        }
    }
    // A part with a name of its own moves the place that references begin at.
    let named = json!({ "$defs": { "a": { "$id": url, "$ref": "#/b" } }, "b": true });
    assert!(only(of(&named, &json!(1))).contains("$id"));
    only(of(&json!({ "$schema": url }), &json!(1)));
    let none = server.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(none, Err(ErrorKind::WouldBlock), "something was fetched");
}

#[test]
fn a_schema_that_asks_for_too_much_is_not_checked() {
    // Each part holds the next one against the same value twice: 2^40 times in all.
    let twice = |step: fn(String) -> Value| {
        let mut parts = serde_json::Map::new();
        for number in 0..40 {
            parts.insert(number.to_string(), step(format!("#/$defs/{}", number + 1)));
        }
        parts.insert("40".into(), json!({ "type": "integer" }));
        json!({ "$ref": "#/$defs/0", "$defs": parts })
    };
    let same = twice(|next| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }));
    assert!(only(of(&same, &json!(1))).contains("steps"));
    let any = twice(|next| json!({ "anyOf": [{ "$ref": next }, { "not": { "$ref": next } }] }));
    assert!(only(of(&any, &json!(1))).contains("steps"));
    // Twice for each level of the answer.
    let tree = json!({ "$defs": { "t": { "items": { "allOf": [{ "$ref": "#/$defs/t" }, { "$ref": "#/$defs/t" }] } } },
        "$ref": "#/$defs/t" });
    let deep = (0..60).fold(json!([]), |inner, _| json!([inner]));
    assert!(only(of(&tree, &deep)).contains("steps"));
    // Without an end.
    for endless in
        [json!({ "$ref": "#" }), json!({ "allOf": [{ "$ref": "#" }] }), json!({ "not": { "$ref": "#" } })]
    {
        assert!(only(of(&endless, &json!(1))).contains("deep"));
    }
    // What is left over of each level is asked of all levels below.
    let left =
        (0..30).fold(json!({}), |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }));
    assert!(only(of(&left, &json!({ "a": 1 }))).contains("steps"));
    let patterns: Vec<Value> =
        (0..100).map(|number| json!({ "pattern": format!("a{{{number}}}") })).collect();
    assert!(only(of(&json!({ "anyOf": patterns }), &json!("a"))).contains("patterns"));
}

#[test]
fn a_pattern_takes_no_more_time_than_the_text_is_long() {
    let text = "a".repeat(100_000) + "!";
    assert!(only(of(&json!({ "pattern": "^(a+)+$" }), &json!(text))).contains("does not match"));
    // Nobody matches this in such a time, so that the schema is not used.
    only(of(&json!({ "pattern": r"^(?=(a+))\1$" }), &json!(text)));
}

#[test]
fn schemas_may_refer_on_and_on() {
    let mut parts = serde_json::Map::new();
    for number in 0..1_000 {
        let next = format!("#/$defs/{}", number + 1);
        parts.insert(number.to_string(), json!({ "allOf": [{ "items": { "$ref": next } }] }));
    }
    parts.insert("1000".into(), json!({ "type": "integer" }));
    assert_eq!(of(&json!({ "$ref": "#/$defs/0", "$defs": parts }), &json!([[[]]])), [""; 0]);
}

#[test]
fn an_answer_that_is_too_large_or_too_deep_is_not_checked() {
    let large = json!("x".repeat(LARGEST_ANSWER));
    assert!(only(of(&json!({ "type": "string" }), &large)).contains("larger than"));
    let many = json!(vec![0; 400_000]);
    assert!(only(of(&json!({ "items": { "type": "integer" } }), &many)).contains("steps"));
    assert_eq!(of(&json!({ "items": { "type": "integer" } }), &json!(vec![0; 10_000])), [""; 0]);

    let mut deep = String::from(r#"{"structuredContent":"#);
    write!(deep, "{}{}}}", "[".repeat(100_000), "]".repeat(100_000)).expect("a string");
    let entry = r##"{"outputSchema":{"type":"array","items":{"$ref":"#"}}}"##;
    let schemas = OutputSchemas::of(&[Tool { name: "t".into(), description: None, json: entry.into() }]);
    let result = ToolResult { call: 1, attempts: 1, json: deep, warnings: Vec::new() };
    assert!(only(schemas.warnings("t", &result)).contains("recursion limit"));
}

#[test]
fn there_are_a_few_short_warnings_however_much_is_wrong() {
    let wrong = json!(vec!["x".repeat(1_000); 50]);
    let found = of(&json!({ "items": { "type": "integer" } }), &wrong);
    assert_eq!(found.len(), MOST_WARNINGS);
    assert!(found[0].ends_with(r#"at "/0": value is not of type "integer""#), "{}", found[0]);
    assert!(found[MOST_WARNINGS - 1].ends_with("in 43 more places"), "{found:?}");
    let name = "x".repeat(1_000);
    let schema = json!({ "additionalProperties": { "type": "integer" } });
    assert!(only(of(&schema, &json!({ name: "no" }))).ends_with('…'));
}
