//! One page of a `tools/list`.

use thiserror::Error;

use crate::prelude::*;

use super::json::{self, JsonError, Raw};

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

/// Why a page cannot be read.
#[derive(Debug, Error)]
pub enum PageError {
    /// It is not an object, or its tools are not an array.
    #[error("not a list of tools: {0}")]
    Syntax(#[from] JsonError),
    /// It has no tools.
    #[error("a list without tools")]
    NoTools,
    /// Its cursor is not a string.
    #[error("a cursor that is not a string")]
    Cursor,
}

/// Reads a page.
///
/// # Errors
///
/// If the result is not a list of tools.
pub fn read(result: Raw<'_>) -> Result<Page, PageError> {
    let (mut tools, mut cursor) = (None, None);
    json::members(result.get(), &mut |name, value| match name {
        "tools" => tools = Some(value),
        "nextCursor" if value.get() != "null" => cursor = Some(value),
        _ => {}
    })?;
    let next = cursor.map(|cursor| json::string(cursor).ok_or(PageError::Cursor)).transpose()?;
    let mut page = Page { tools: Vec::new(), next };
    let tools = tools.ok_or(PageError::NoTools)?;
    json::elements(tools.get(), &mut |entry| page.tools.extend(tool(entry)))?;
    Ok(page)
}

fn tool(entry: Raw<'_>) -> Option<Tool> {
    let (mut tool_name, mut description) = (None, None);
    let object = json::members(entry.get(), &mut |name, value| match name {
        "name" => tool_name = json::string(value),
        "description" => description = json::string(value),
        _ => {}
    });
    object.ok()?;
    Some(Tool { name: tool_name?, description, json: entry.get().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<Page, PageError> {
        read(Raw::parse(json).unwrap())
    }

    #[test]
    fn entries_stay_verbatim() {
        let entry = r#"{"name":"pay", "inputSchema":{"x":1.0},"annotations":{"idempotentHint":true}}"#;
        let page = of(&format!(r#"{{"tools":[{entry},{{"name":"b","description":"d"}},{{}},7]}}"#)).unwrap();
        assert_eq!(page.tools.len(), 2);
        assert_eq!(page.tools[0].json, entry);
        assert_eq!(page.tools[1].description.as_deref(), Some("d"));
        assert_eq!(page.next, None);
    }

    #[test]
    fn the_empty_cursor_is_a_cursor() {
        assert_eq!(of(r#"{"tools":[],"nextCursor":""}"#).unwrap().next.as_deref(), Some(""));
        assert_eq!(of(r#"{"tools":[],"nextCursor":null}"#).unwrap().next, None);
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for json in ["{}", "null", r#"{"tools":7}"#, r#"{"tools":[],"nextCursor":7}"#] {
            assert!(of(json).is_err(), "{json}");
        }
    }
}
