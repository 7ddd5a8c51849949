//! A line of input.

use std::time::Duration;

use host_tests::verdict::Object;
use host_tests::{Query, ToolCall};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::query::query;
use crate::target::json_object;

/// How long a `reconcile` waits that does not say: not at all.
const NO_WAIT: Duration = Duration::ZERO;

/// What a line asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Call { tag: String, call: ToolCall },
    Await { tags: Vec<String> },
    Sleep { time: Duration },
    Cancel { tag: String },
    Reconnect { tag: String },
    Reconcile { tag: String, of: String, timeout: Duration },
    Tools { tag: String },
    Read { tag: String, what: Query },
    Close { tag: String },
}

/// A line that cannot be followed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    tag: Option<String>,
    words: String,
}

impl Wrong {
    pub(super) fn new(tag: Option<&str>, words: impl Into<String>) -> Wrong {
        Wrong { tag: tag.map(str::to_owned), words: words.into() }
    }

    pub(super) fn no_call(tag: &str, of: &str) -> Wrong {
        Wrong::new(Some(tag), format!("no call has the tag {of:?}"))
    }

    pub(super) fn no_tag(tag: &str) -> Wrong {
        Wrong::new(None, format!("nothing has the tag {tag:?}"))
    }

    /// The answer to it.
    pub(super) fn line(&self) -> String {
        let line = match &self.tag {
            Some(tag) => Object::new().text("tag", tag),
            None => Object::new(),
        };
        line.text("error", &self.words).to_string()
    }
}

/// All members that a line may have.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Members<'a> {
    r#do: String,
    tag: Option<String>,
    tool: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    continuation: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    timeout_ms: Option<u32>,
    task_ttl_ms: Option<u32>,
    progress: Option<bool>,
    tags: Option<Vec<String>>,
    ms: Option<u32>,
    of: Option<String>,
}

/// A member that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// The tag of a line that is wrong otherwise, so that its answer can be found.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tagged {
    tag: Option<String>,
}

impl Command {
    /// What `line` asks for.
    pub(super) fn read(line: &[u8]) -> Result<Command, Wrong> {
        let members: Members<'_> = serde_json::from_slice(line).map_err(|error| {
            let Tagged { tag } = serde_json::from_slice(line).unwrap_or_default();
            let words = if error.is_data() { error.to_string() } else { format!("not JSON: {error}") };
            Wrong::new(tag.as_deref(), words)
        })?;
        members.command()
    }
}

impl Members<'_> {
    fn command(self) -> Result<Command, Wrong> {
        let tag = self.tag.clone();
        let name = self.r#do.clone();
        let wrong = |words: String| Wrong::new(tag.as_deref(), words);
        let missing = |member: &str| wrong(format!("{name:?} needs {member:?}"));
        let tagged = || tag.clone().ok_or_else(|| missing("tag"));
        let time = |ms: u32| Duration::from_millis(ms.into());

        let command = match name.as_str() {
            "call" => Command::Call { tag: tagged()?, call: self.call(&tagged()?, &wrong, &missing)? },
            "await" => Command::Await { tags: self.tags.clone().ok_or_else(|| missing("tags"))? },
            "sleep" => Command::Sleep { time: self.ms.map(time).ok_or_else(|| missing("ms"))? },
            "cancel" => Command::Cancel { tag: tagged()? },
            "reconnect" => Command::Reconnect { tag: tagged()? },
            "reconcile" => Command::Reconcile {
                tag: tagged()?,
                of: self.of.clone().ok_or_else(|| missing("of"))?,
                timeout: self.timeout_ms.map_or(NO_WAIT, time),
            },
            "tools" => Command::Tools { tag: tagged()? },
            "read" => {
                let method = self.method.as_deref().ok_or_else(|| missing("method"))?;
                Command::Read { tag: tagged()?, what: query(method, self.params).map_err(wrong)? }
            }
            "close" => Command::Close { tag: tagged()? },
            unknown => return Err(wrong(format!("there is no command {unknown:?}"))),
        };
        Ok(command)
    }

    fn call(
        &self,
        tag: &str,
        wrong: &impl Fn(String) -> Wrong,
        missing: &impl Fn(&str) -> Wrong,
    ) -> Result<ToolCall, Wrong> {
        let object = |name: &str, json: Option<&RawValue>| {
            json.map(|json| json_object(json.get()))
                .transpose()
                .map_err(|error| wrong(format!("{name:?}: {error}")))
                .map(Option::unwrap_or_default)
        };
        Ok(ToolCall {
            name: self.tool.clone().ok_or_else(|| missing("tool"))?,
            key: Some(tag.to_owned()),
            arguments: object("arguments", self.arguments)?,
            meta: object("meta", self.meta)?,
            continuation: object("continuation", self.continuation)?,
            progress: self.progress.unwrap_or(false),
            task_ttl_ms: self.task_ttl_ms.unwrap_or(0),
            timeout_ms: self.timeout_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, Wrong> {
        Command::read(line.as_bytes())
    }

    #[test]
    fn every_command_is_understood() {
        let call = ToolCall::new("pay").key("a").arguments(r#"{"n":7960607143101464576}"#);
        let call = call.meta("{}").timeout(Duration::from_millis(2000));
        let ms = Duration::from_millis;
        let (a, b) = (|| "a".to_owned(), || "b".to_owned());
        for (line, command) in [
            (
                r#"{"do":"call","tag":"a","tool":"pay","arguments":{"n":7960607143101464576},"meta":{},"timeout-ms":2000}"#,
                Command::Call { tag: a(), call },
            ),
            (r#"{"do":"await","tags":["a"]}"#, Command::Await { tags: vec![a()] }),
            (r#"{"do":"sleep","ms":50}"#, Command::Sleep { time: ms(50) }),
            (r#"{"do":"cancel","tag":"a"}"#, Command::Cancel { tag: a() }),
            (r#"{"do":"reconnect","tag":"a"}"#, Command::Reconnect { tag: a() }),
            (
                r#"{"do":"reconcile","tag":"b","of":"a","timeout-ms":9}"#,
                Command::Reconcile { tag: b(), of: a(), timeout: ms(9) },
            ),
            (r#"{"do":"tools","tag":"a"}"#, Command::Tools { tag: a() }),
            (
                r#"{"do":"read","tag":"a","method":"resources/read","params":{"uri":"u"}}"#,
                Command::Read { tag: a(), what: Query::Contents("u".into()) },
            ),
            (r#"{"do":"close","tag":"a"}"#, Command::Close { tag: a() }),
        ] {
            assert_eq!(read(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_is_told_under_its_tag() {
        for (line, tag, words) in [
            ("nonsense", None, "expected"),
            ("[]", None, "expected"),
            (r#"{"tag":"a"}"#, Some("a"), "missing field `do`"),
            (r#"{"do":"jump","tag":"a"}"#, Some("a"), "no command \"jump\""),
            (r#"{"do":"call","tag":"a"}"#, Some("a"), "\"call\" needs \"tool\""),
            (r#"{"do":"call","tool":"pay"}"#, None, "needs \"tag\""),
            (r#"{"do":"call","tag":"a","tool":"pay","arguments":null}"#, Some("a"), "no JSON object"),
            (r#"{"do":"call","tag":"a","tool":"pay","arguments":[1]}"#, Some("a"), "no JSON object"),
            (r#"{"do":"call","tag":"a","tool":"pay","retries":3}"#, Some("a"), "unknown field `retries`"),
            (r#"{"do":"read","tag":"a"}"#, Some("a"), "\"read\" needs \"method\""),
            (r#"{"do":"read","tag":"a","method":"tools/call"}"#, Some("a"), "\"tools/call\" reads nothing"),
            (r#"{"do":"sleep"}"#, None, "needs \"ms\""),
            (r#"{"do":"sleep","ms":-1}"#, None, "invalid value"),
        ] {
            let wrong = read(line).expect_err(line);
            assert_eq!(wrong.tag.as_deref(), tag, "{line}");
            assert!(wrong.words.contains(words), "{line}: {}", wrong.words);
        }
    }
}
