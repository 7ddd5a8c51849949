//! Lists: as they are read, page by page, and for as long as they are fresh.

use core::time::Duration;

use crate::prelude::*;
use crate::protocol::list::{Entry, Listing, Page};
use crate::text::text;

use super::time::Instant;
use super::verdict::ReadError;

/// The most pages of one list.
const PAGES: usize = 1000;

/// A list that is being read.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) cursor: Option<String>,
    /// The cursors used, so that a list that bites its tail is noticed.
    seen: Vec<String>,
    pub(super) entries: Vec<Entry>,
    /// Those of them that want arguments as headers: each name, and whole entry.
    pub(super) marked: Vec<(String, String)>,
    /// Of entries and cursors, together.
    bytes: usize,
    /// For how many milliseconds it stays as it is: as long as the page does that changes first.
    ttl: Option<u64>,
}

impl Partial {
    /// Adds a page. A cursor is good for one session only, so that a list is begun anew elsewhere.
    pub(super) fn add(&mut self, page: Page, most_bytes: usize) -> Result<(), ReadError> {
        let size = page.entries.iter().map(size).sum::<usize>() + page.next.as_ref().map_or(0, String::len);
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > most_bytes {
            return Err(ReadError::Endless(text!("the list is longer than {} bytes", most_bytes)));
        }
        self.entries.extend(page.entries);
        self.ttl = Some(self.ttl.map_or(page.ttl, |ttl| ttl.min(page.ttl)));
        if let Some(cursor) = &page.next {
            if self.seen.contains(cursor) {
                return Err(ReadError::Endless("the server repeats a cursor".to_owned()));
            }
            self.seen.push(cursor.clone());
            if self.seen.len() >= PAGES {
                return Err(ReadError::Endless(text!("the list has more than {} pages", PAGES)));
            }
        }
        self.cursor = page.next;
        Ok(())
    }

    /// Until when it is fresh, if it was read by now; none if the server does not say.
    pub(super) fn fresh(&self, now: Instant) -> Option<Fresh> {
        let ttl = self.ttl.filter(|ttl| *ttl > 0)?;
        Some(Fresh::Until(now + Duration::from_millis(ttl)))
    }
}

fn size(entry: &Entry) -> usize {
    entry.json.len()
}

/// How long a list is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fresh {
    /// As long as the server says.
    Until(Instant),
    /// Until the server, which promised to, tells that it has changed.
    UntilChange,
}

/// The lists that were read, as far as they may still be fresh.
#[derive(Debug, Default)]
pub(super) struct Lists(Vec<(Listing, Fresh, Vec<Entry>)>);

impl Lists {
    /// Keeps a list, unless that makes all of them larger than so many bytes.
    pub(super) fn keep(&mut self, listing: Listing, fresh: Fresh, entries: &[Entry], most_bytes: usize) {
        self.0.retain(|(kept, ..)| *kept != listing);
        let others: usize = self.0.iter().flat_map(|(.., entries)| entries).map(size).sum();
        if others + entries.iter().map(size).sum::<usize>() <= most_bytes {
            self.0.push((listing, fresh, entries.to_vec()));
        }
    }

    /// A notification came: a list may have changed.
    pub(super) fn notified(&mut self, method: &str) {
        self.0.retain(|(listing, ..)| !listing.is_changed_by(method));
    }

    /// Another connection, perhaps another server.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// The list, if the server said that it is still as it was.
    pub(super) fn get(&self, listing: Listing, now: Instant) -> Option<&[Entry]> {
        let fresh = self.0.iter().find(|(kept, fresh, _)| {
            *kept == listing && matches!(fresh, Fresh::Until(until) if now < *until)
        });
        fresh.map(|(.., entries)| entries.as_slice())
    }

    /// Whether the tools are known, and this is none of them.
    pub(super) fn lack(&self, tool: &str, now: Instant) -> bool {
        self.0.iter().any(|(listing, fresh, entries)| {
            *listing == Listing::Tools
                && !matches!(fresh, Fresh::Until(until) if now >= *until)
                && entries.iter().all(|entry| entry.name != tool)
        })
    }
}
