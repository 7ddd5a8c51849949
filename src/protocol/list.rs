//! One page of a list: of tools, resources, resource templates or prompts.

use thiserror::Error;

use crate::prelude::*;
use crate::text::text;

use super::json::{self, JsonError, Raw};

/// The lists that a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// What can be called.
    Tools,
    /// What can be read.
    Resources,
    /// Patterns of the names of what can be read.
    ResourceTemplates,
    /// What a person can choose from.
    Prompts,
}

impl Listing {
    /// The method that asks for a page of it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The member of a page that holds its entries.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// Whether this notification tells that it has changed.
    pub fn is_changed_by(self, method: &str) -> bool {
        let changed = match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources | Self::ResourceTemplates => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        };
        method == changed
    }
}

/// A tool, a resource, a resource template or a prompt, as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
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
    /// Its entries. One without a name is none and is left out.
    pub entries: Vec<Entry>,
    /// Where the next page begins; `None` on the last. The empty string is a cursor.
    pub next: Option<String>,
    /// For how many milliseconds the server says that it stays as it is.
    pub ttl: u64,
}

/// Why a page cannot be read.
#[derive(Debug, Error)]
#[error("{}", self.words())]
pub enum PageError {
    /// It is not an object, or its entries are not an array.
    Syntax(#[from] JsonError),
    /// It has no entries, which would be in this member.
    NoEntries(&'static str),
    /// Its cursor is not a string.
    Cursor,
}

impl PageError {
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Syntax(error) => text!("not a list: {}", &error.words()),
            Self::NoEntries(member) => text!("a list without `{}`", *member),
            Self::Cursor => "a cursor that is not a string".to_owned(),
        }
    }
}

/// Reads a page.
///
/// # Errors
///
/// If the result is not a page of this list.
pub fn read(result: Raw<'_>, listing: Listing) -> Result<Page, PageError> {
    let (mut entries, mut cursor, mut ttl) = (None, None, 0);
    let member = listing.member();
    json::members(result.get(), &mut |name, value| match name {
        "nextCursor" if value.get() != "null" => cursor = Some(value),
        "ttlMs" => ttl = json::decimal(value.get()).unwrap_or_default(),
        _ if name == member => entries = Some(value),
        _ => {}
    })?;
    let next = cursor.map(|cursor| json::string(cursor).ok_or(PageError::Cursor)).transpose()?;
    let mut page = Page { entries: Vec::new(), next, ttl };
    let entries = entries.ok_or(PageError::NoEntries(member))?;
    json::elements(entries.get(), &mut |value| page.entries.extend(entry(value)))?;
    Ok(page)
}

fn entry(value: Raw<'_>) -> Option<Entry> {
    let (mut entry_name, mut description) = (None, None);
    let object = json::members(value.get(), &mut |name, value| match name {
        "name" => entry_name = json::string(value),
        "description" => description = json::string(value),
        _ => {}
    });
    object.ok()?;
    Some(Entry { name: entry_name?, description, json: value.get().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Result<Page, PageError> {
        read(Raw::parse(json).unwrap(), Listing::Tools)
    }

    #[test]
    fn entries_stay_verbatim() {
        let entry = r#"{"name":"pay", "inputSchema":{"x":1.0},"annotations":{"idempotentHint":true}}"#;
        let page = of(&format!(r#"{{"tools":[{entry},{{"name":"b","description":"d"}},{{}},7]}}"#)).unwrap();
        assert_eq!(page.entries.len(), 2);
        assert_eq!(page.entries[0].json, entry);
        assert_eq!(page.entries[1].description.as_deref(), Some("d"));
        assert_eq!((page.next, page.ttl), (None, 0));
    }

    #[test]
    fn each_list_has_its_own_member() {
        let page = r#"{"tools":[],"resources":[{"name":"a"}],"resourceTemplates":[{"name":"b"}],"prompts":[{"name":"c"}]}"#;
        for (listing, names) in [
            (Listing::Tools, &[][..]),
            (Listing::Resources, &["a"]),
            (Listing::ResourceTemplates, &["b"]),
            (Listing::Prompts, &["c"]),
        ] {
            let page = read(Raw::parse(page).unwrap(), listing).unwrap();
            assert_eq!(page.entries.iter().map(|entry| &entry.name).collect::<Vec<_>>(), names);
            assert!(read(Raw::parse("{}").unwrap(), listing).is_err());
        }
    }

    #[test]
    fn the_empty_cursor_is_a_cursor() {
        assert_eq!(of(r#"{"tools":[],"nextCursor":""}"#).unwrap().next.as_deref(), Some(""));
        assert_eq!(of(r#"{"tools":[],"nextCursor":null}"#).unwrap().next, None);
    }

    #[test]
    fn only_a_plain_number_is_a_time() {
        for (ttl, read) in [("5000", 5000), ("0", 0), ("-1", 0), ("1.5", 0), ("\"7\"", 0), ("null", 0)] {
            assert_eq!(of(&format!(r#"{{"tools":[],"ttlMs":{ttl}}}"#)).unwrap().ttl, read, "{ttl}");
        }
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for json in ["{}", "null", r#"{"tools":7}"#, r#"{"tools":[],"nextCursor":7}"#] {
            assert!(of(json).is_err(), "{json}");
        }
    }
}
