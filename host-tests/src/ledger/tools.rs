//! The server's tools.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ledger, Shared};

/// A tool, as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its `inputSchema`, a JSON object.
    pub input_schema: String,
    /// Its `annotations`, a JSON object.
    pub annotations: Option<String>,
}

impl Tool {
    /// A tool without annotations, which takes any arguments.
    pub fn new(name: &str, description: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            annotations: None,
        }
    }

    fn taking(self, properties: &Value) -> Tool {
        let input_schema = json!({"type": "object", "properties": properties}).to_string();
        Tool { input_schema, ..self }
    }

    /// Its entry in the list.
    pub(super) fn json(&self) -> String {
        let name = Value::from(self.name.as_str());
        let description = Value::from(self.description.as_str());
        let input_schema = &self.input_schema;
        let annotations = match &self.annotations {
            Some(annotations) => format!(r#","annotations":{annotations}"#),
            None => String::new(),
        };
        format!(r#"{{"name":{name},"description":{description},"inputSchema":{input_schema}{annotations}}}"#)
    }
}

/// The tools that the server has.
pub fn tools() -> Vec<Tool> {
    vec![
        Tool::new("pay", "Charges an amount").taking(&json!({"amount": {"type": "number"}})),
        Tool::new("slow", "Takes a while, then does something").taking(&json!({"ms": {"type": "integer"}})),
        Tool::new("fail", "Does something, then reports an error"),
        Tool::new("balance", "Tells how many charges were made"),
        Tool::new("echo", "Gives its arguments back"),
        Tool::new("big", "Gives a text back that is as long as asked for")
            .taking(&json!({"bytes": {"type": "integer"}})),
    ]
}

/// The arguments that tools know; what is not among them or of another type is ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    ms: u64,
    bytes: usize,
}

impl Arguments {
    fn read(json: Option<&str>) -> Arguments {
        json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }
}

/// Whether the tool does something that a second call would do again.
pub(super) fn has_effect(tool: &str) -> bool {
    ["pay", "slow", "fail"].contains(&tool)
}

/// How long the tool takes before its effect.
pub(super) fn duration(tool: &str, arguments: Option<&str>) -> Option<Duration> {
    (tool == "slow").then(|| Duration::from_millis(Arguments::read(arguments).ms))
}

/// What the tool answers, a JSON text; none if there is no such tool.
pub(super) fn result(server: &Shared, tool: &str, arguments: Option<&str>) -> Option<String> {
    let given = arguments.unwrap_or("{}");
    Some(match tool {
        "pay" => said(&format!("charged: {given}")),
        "slow" => said("done"),
        "fail" => {
            let content = content("did it, and failed");
            format!(r#"{{"content":{content},"isError":true}}"#)
        }
        "balance" => {
            let charges = Ledger::of(&server.state().book).count("pay");
            let content = content(&format!("charges: {charges}"));
            format!(r#"{{"content":{content},"structuredContent":{{"charges":{charges}}}}}"#)
        }
        "echo" => {
            let content = content(given);
            format!(r#"{{"content":{content},"structuredContent":{given}}}"#)
        }
        "big" => said(&"x".repeat(Arguments::read(arguments).bytes)),
        _ => return None,
    })
}

fn said(text: &str) -> String {
    let content = content(text);
    format!(r#"{{"content":{content},"isError":false}}"#)
}

/// The blocks of a result: one, with `text`.
fn content(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}
