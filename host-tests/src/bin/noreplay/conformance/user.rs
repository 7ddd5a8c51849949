//! The user whom a server may ask: one who takes every default.

use host_tests::transport::BoxFuture;
use host_tests::{Interaction, Question, RpcError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) struct User;

/// What is asked for, as far as it has a default.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Form {
    requested_schema: Schema,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    properties: Map<String, Value>,
}

impl Interaction for User {
    fn capabilities(&self, _endpoint: &str) -> String {
        r#"{"elicitation":{"form":{"applyDefaults":true}}}"#.to_owned()
    }

    fn answer(&self, _endpoint: &str, question: Question) -> BoxFuture<'static, Result<String, RpcError>> {
        Box::pin(async move { Ok(accepted(&question.params)) })
    }
}

/// The answer to a form.
fn accepted(params: &str) -> String {
    let form: Form = serde_json::from_str(params).unwrap_or_default();
    let default = |(name, property): (String, Value)| Some((name, property.get("default")?.clone()));
    let content: Map<String, Value> =
        form.requested_schema.properties.into_iter().filter_map(default).collect();
    json!({ "action": "accept", "content": content }).to_string()
}

#[cfg(test)]
mod tests {
    use super::accepted;

    #[test]
    fn every_default_is_taken() {
        let params = r#"{"requestedSchema":{"properties":{"a":{"default":7},"b":{},"c":{"default":null}}}}"#;
        assert_eq!(accepted(params), r#"{"action":"accept","content":{"a":7,"c":null}}"#);
        assert_eq!(accepted("{}"), r#"{"action":"accept","content":{}}"#);
    }
}
