//! One page of a `tools/list`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A tool as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The whole entry, verbatim.
    pub json: String,
}

/// One page.
#[derive(Debug)]
pub struct Page {
    /// Its tools. An entry without a name is no tool and is left out.
    pub tools: Vec<Tool>,
    /// Where the next page begins; `None` on the last. The empty string is a cursor.
    pub next: Option<String>,
}

/// Reads a page.
///
/// # Errors
///
/// If the result is not a list of tools.
pub fn read(result: &RawValue) -> Result<Page, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        tools: Tools,
        #[serde(default)]
        next_cursor: Option<String>,
    }

    let raw: Raw = serde_json::from_str(result.get())?;
    Ok(Page {
        tools: raw.tools.0,
        next: raw.next_cursor,
    })
}

fn tool(json: &RawValue) -> Option<Tool> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        name: String,
        #[serde(borrow, default)]
        description: Option<&'a RawValue>,
    }

    let entry: Entry<'_> = serde_json::from_str(json.get()).ok()?;
    let description = entry
        .description
        .and_then(|text| serde_json::from_str(text.get()).ok());
    Some(Tool {
        name: entry.name,
        description,
        json: json.get().to_owned(),
    })
}

/// The tools of an array, taken one at a time: an array of millions of ones costs no memory.
struct Tools(Vec<Tool>);

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Tools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of tools")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Tools, A::Error> {
                let mut tools = Vec::new();
                while let Some(entry) = entries.next_element::<&RawValue>()? {
                    tools.extend(tool(entry));
                }
                Ok(Tools(tools))
            }
        }

        input.deserialize_seq(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<Page, serde_json::Error> {
        read(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn entries_stay_verbatim() {
        let entry =
            r#"{"name":"pay", "inputSchema":{"x":1.0},"annotations":{"idempotentHint":true}}"#;
        let page = of(&format!(
            r#"{{"tools":[{entry},{{"name":"b","description":"d"}},{{}},7]}}"#
        ))
        .unwrap();
        assert_eq!(page.tools.len(), 2);
        assert_eq!(page.tools[0].json, entry);
        assert_eq!(page.tools[1].description.as_deref(), Some("d"));
        assert_eq!(page.next, None);
    }

    #[test]
    fn the_empty_cursor_is_a_cursor() {
        assert_eq!(
            of(r#"{"tools":[],"nextCursor":""}"#)
                .unwrap()
                .next
                .as_deref(),
            Some("")
        );
        assert_eq!(of(r#"{"tools":[],"nextCursor":null}"#).unwrap().next, None);
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for json in [
            "{}",
            "null",
            r#"{"tools":7}"#,
            r#"{"tools":[],"nextCursor":7}"#,
        ] {
            assert!(of(json).is_err(), "{json}");
        }
    }
}
