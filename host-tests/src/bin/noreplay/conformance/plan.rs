//! What to call, once the tools are listed: what the suite asks for, else each of them once. And what to answer
//! to a server that suspends a call.

use std::collections::BTreeMap;

use host_tests::{Cause, NotExecuted, Outcome, Tool, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

pub(super) enum Plan {
    /// Nothing: the server has tools that must not be called, or does not serve calls.
    ListOnly,
    /// Each tool once, with arguments that fit its schema.
    Each,
    /// The same, with a user whom the server may ask.
    EachWithUser,
    /// These calls.
    Named(Vec<Named>),
    /// A tool gives back the schema of another, by which the suite sees what became of it.
    EchoSchema,
}

/// What the suite tells in MCP_CONFORMANCE_CONTEXT, as far as it is of use.
#[derive(Deserialize)]
struct Context {
    #[serde(rename = "toolCalls")]
    tool_calls: Vec<Named>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    name: String,
    arguments: Box<RawValue>,
}

/// A tool as the server lists it, as far as a call of it needs.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "inputSchema")]
    input_schema: Box<RawValue>,
}

/// The result of a call that waits for input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suspended {
    input_requests: BTreeMap<String, Value>,
    /// Goes back as it came.
    request_state: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Plan {
    pub(super) fn from_environment() -> Plan {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Plan::of(&variable("MCP_CONFORMANCE_SCENARIO"), &variable("MCP_CONFORMANCE_CONTEXT"))
    }

    fn of(scenario: &str, context: &str) -> Plan {
        match scenario {
            "json-schema-ref-no-deref" => Plan::ListOnly,
            "json-schema-2020-12-preservation" => Plan::EchoSchema,
            "elicitation-sep1034-client-defaults" => Plan::EachWithUser,
            _ => match serde_json::from_str::<Context>(context) {
                Ok(context) => Plan::Named(context.tool_calls),
                Err(_) => Plan::Each,
            },
        }
    }

    /// Whether the server is to ask a user.
    pub(super) fn has_user(&self) -> bool {
        matches!(self, Plan::EachWithUser)
    }

    pub(super) fn calls(self, tools: &[Tool]) -> Vec<ToolCall> {
        match self {
            Plan::ListOnly => Vec::new(),
            Plan::Each | Plan::EachWithUser => tools.iter().map(call).collect(),
            Plan::Named(calls) => calls
                .into_iter()
                .map(|Named { name, arguments }| ToolCall::new(name).arguments(arguments.get()))
                .collect(),
            Plan::EchoSchema => {
                let focal = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
                let echo = |schema: Box<RawValue>| {
                    ToolCall::new("json_schema_echo").arguments(format!(r#"{{"schema":{schema}}}"#))
                };
                focal.and_then(schema).map(echo).into_iter().collect()
            }
        }
    }
}

/// What continues a call that the server suspended: the caller agrees to whatever it is asked.
pub(super) fn continuation(verdict: &Result<Outcome, NotExecuted>) -> Option<String> {
    let Ok(Outcome::UnknownOutcome(unknown)) = verdict else { return None };
    let Cause::InputRequired(result) = &unknown.cause else { return None };
    let Suspended { input_requests, request_state } = serde_json::from_str(result).ok()?;
    let agreed = |name| (name, json!({ "action": "accept", "content": { "confirmed": true } }));
    let responses: BTreeMap<String, Value> = input_requests.into_keys().map(agreed).collect();
    let state = request_state.map_or(String::new(), |state| format!(r#","requestState":{state}"#));
    Some(format!(r#"{{"inputResponses":{}{state}}}"#, json!(responses)))
}

/// A tool's schema, as it came.
fn schema(tool: &Tool) -> Option<Box<RawValue>> {
    serde_json::from_str::<Entry>(&tool.json).map(|entry| entry.input_schema).ok()
}

/// A call with a value for each argument that is required.
fn call(tool: &Tool) -> ToolCall {
    let schema = schema(tool).and_then(|schema| serde_json::from_str(schema.get()).ok());
    let Schema { properties, required } = schema.unwrap_or_default();
    let value = |name: &String| match properties.get(name).and_then(|property| property["type"].as_str()) {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    };
    let arguments: Map<String, Value> = required.iter().map(|name| (name.clone(), value(name))).collect();
    ToolCall::new(&tool.name).arguments(Value::Object(arguments).to_string())
}

#[cfg(test)]
mod tests {
    use host_tests::{Stage, UnknownOutcome};

    use super::*;

    fn calls(scenario: &str, context: &str, tools: &[(&str, &str)]) -> Vec<(String, String)> {
        let tools: Vec<Tool> = tools
            .iter()
            .map(|(name, schema)| Tool {
                name: (*name).to_owned(),
                description: None,
                json: format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#),
            })
            .collect();
        let calls = Plan::of(scenario, context).calls(&tools);
        calls.into_iter().map(|call| (call.name, call.arguments)).collect()
    }

    fn one(name: &str, arguments: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), arguments.to_owned())]
    }

    #[test]
    fn each_tool_is_called_with_what_it_requires() {
        let schema = r#"{"properties":{"a":{"type":"number"},"b":{"type":"string"}},"required":["a"]}"#;
        assert_eq!(calls("tools_call", "", &[("add", schema)]), one("add", r#"{"a":2}"#));
    }

    #[test]
    fn what_the_suite_asks_for_is_called_as_it_says() {
        let context = r#"{"name":"x","toolCalls":[{"name":"t","arguments":{"n":1.50, "z":null}}]}"#;
        assert_eq!(calls("x", context, &[("other", "{}")]), one("t", r#"{"n":1.50, "z":null}"#));
    }

    #[test]
    fn a_schema_is_given_back_as_it_came() {
        let tools = [("json_schema_2020_12_tool", r#"{ "$anchor":"a"}"#)];
        let echo = one("json_schema_echo", r#"{"schema":{ "$anchor":"a"}}"#);
        assert_eq!(calls("json-schema-2020-12-preservation", "", &tools), echo);
    }

    #[test]
    fn a_list_may_be_all_that_is_asked_for() {
        assert_eq!(calls("json-schema-ref-no-deref", "", &[("t", "{}")]), []);
    }

    fn suspended(result: &str) -> Option<String> {
        continuation(&Ok(Outcome::UnknownOutcome(UnknownOutcome {
            call: 1,
            key: None,
            tool: "t".to_owned(),
            attempts: 1,
            stage: Stage::Answered,
            cause: Cause::InputRequired(result.to_owned()),
            message: String::new(),
        })))
    }

    #[test]
    fn a_suspended_call_goes_on_with_the_state_as_it_came() {
        let agreed = r#"{"inputResponses":{"a":{"action":"accept","content":{"confirmed":true}}}"#;
        assert_eq!(
            suspended(r#"{"inputRequests":{"a":{}},"requestState":"\u0041\/"}"#),
            Some(format!(r#"{agreed},"requestState":"\u0041\/"}}"#))
        );
        assert_eq!(suspended(r#"{"inputRequests":{"a":{}}}"#), Some(format!("{agreed}}}")));
        assert_eq!(continuation(&Err(NotExecuted::Closed)), None);
    }
}
