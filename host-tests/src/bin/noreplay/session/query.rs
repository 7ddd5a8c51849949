//! What a `read` asks for: by the method of MCP that asks for it, and its `params`.

use host_tests::{LogLevel, News, Prompt, Query};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The `params` that a method may have.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Params<'a> {
    uri: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    level: Option<String>,
    notifications: Notifications,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Notifications {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

/// What this method, with these `params`, asks for.
///
/// # Errors
///
/// In words, if it is no method that reads, or lacks something.
pub(super) fn query(method: &str, params: Option<&RawValue>) -> Result<Query, String> {
    let text = params.map_or("{}", RawValue::get);
    if method == "completion/complete" {
        return Ok(Query::Completion(text.to_owned()));
    }
    let params: Params<'_> = serde_json::from_str(text).map_err(|error| format!("\"params\": {error}"))?;
    let missing = |member: &str| format!("{method:?} needs {member:?} in its \"params\"");
    Ok(match method {
        "resources/list" => Query::Resources,
        "resources/templates/list" => Query::ResourceTemplates,
        "prompts/list" => Query::Prompts,
        "resources/read" => Query::Contents(params.uri.ok_or_else(|| missing("uri"))?),
        "prompts/get" => Query::Prompt(Prompt {
            name: params.name.ok_or_else(|| missing("name"))?,
            arguments: params.arguments.map_or_else(String::new, |object| object.get().to_owned()),
        }),
        "ping" => Query::Ping,
        "logging/setLevel" => {
            let name = params.level.ok_or_else(|| missing("level"))?;
            Query::LogLevel(level(&name).ok_or_else(|| format!("there is no level {name:?}"))?)
        }
        "subscriptions/listen" => Query::News(News {
            tools: params.notifications.tools_list_changed,
            prompts: params.notifications.prompts_list_changed,
            resources: params.notifications.resources_list_changed,
            uris: params.notifications.resource_subscriptions,
        }),
        _ => return Err(format!("{method:?} reads nothing")),
    })
}

fn level(name: &str) -> Option<LogLevel> {
    Some(match name {
        "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "notice" => LogLevel::Notice,
        "warning" => LogLevel::Warning,
        "error" => LogLevel::Error,
        "critical" => LogLevel::Critical,
        "alert" => LogLevel::Alert,
        "emergency" => LogLevel::Emergency,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: &str, params: &str) -> Result<Query, String> {
        let params = RawValue::from_string(params.to_owned()).expect("it is JSON");
        query(method, Some(&params))
    }

    #[test]
    fn each_method_that_reads_is_a_query() {
        let news = News { tools: true, prompts: false, resources: false, uris: vec!["u".into()] };
        let prompt = Prompt { name: "p".into(), arguments: r#"{"a":1.0}"#.into() };
        for (method, params, expected) in [
            ("resources/list", "{}", Query::Resources),
            ("resources/templates/list", "{}", Query::ResourceTemplates),
            ("prompts/list", "{}", Query::Prompts),
            ("resources/read", r#"{"uri":"u"}"#, Query::Contents("u".into())),
            ("prompts/get", r#"{"name":"p","arguments":{"a":1.0}}"#, Query::Prompt(prompt)),
            ("completion/complete", r#"{"ref":1}"#, Query::Completion(r#"{"ref":1}"#.into())),
            ("ping", "{}", Query::Ping),
            ("logging/setLevel", r#"{"level":"alert"}"#, Query::LogLevel(LogLevel::Alert)),
            (
                "subscriptions/listen",
                r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["u"]}}"#,
                Query::News(news),
            ),
        ] {
            assert_eq!(of(method, params), Ok(expected));
        }
        assert_eq!(query("ping", None), Ok(Query::Ping));
    }

    #[test]
    fn what_reads_nothing_is_told() {
        for (method, params, words) in [
            ("tools/call", "{}", "reads nothing"),
            ("resources/read", "{}", "needs \"uri\""),
            ("prompts/get", r#"{"uri":"u"}"#, "needs \"name\""),
            ("logging/setLevel", r#"{"level":"loud"}"#, "no level \"loud\""),
            ("resources/list", r#"{"cursor":"c"}"#, "unknown field `cursor`"),
            ("ping", "7", "\"params\""),
        ] {
            let wrong = of(method, params).expect_err(method);
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}
