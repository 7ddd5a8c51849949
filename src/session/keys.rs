//! The callers' own names for calls. A name is used once, as far as the session remembers.

use crate::prelude::*;
use crate::table::Table;

/// The most names remembered.
const REMEMBERED: usize = 4096;

/// The longest name, in bytes.
pub(super) const LONGEST: usize = 256;

/// The names used.
#[derive(Debug, Default)]
pub(super) struct Keys {
    used: Table<String, ()>,
    /// In the order in which they were used, as a ring.
    order: Vec<String>,
    oldest: usize,
}

impl Keys {
    /// Uses a name. False if it is used already.
    pub(super) fn claim(&mut self, key: &str) -> bool {
        if !self.used.insert(key.to_owned(), ()) {
            return false;
        }
        if self.order.len() < REMEMBERED {
            self.order.push(key.to_owned());
            return true;
        }
        let forgotten = core::mem::replace(&mut self.order[self.oldest], key.to_owned());
        self.used.remove(&forgotten);
        self.oldest = (self.oldest + 1) % REMEMBERED;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_used_once_and_forgotten_in_the_end() {
        let mut keys = Keys::default();
        assert!(keys.claim("first"));
        assert!(!keys.claim("first"));
        (0..REMEMBERED).for_each(|n| assert!(keys.claim(&n.to_string())));
        assert!(keys.claim("first"));
        assert_eq!((keys.used.len(), keys.order.len()), (REMEMBERED, REMEMBERED));
    }
}
