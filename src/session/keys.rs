//! The callers' own names for calls. A name is used once, as far as the session remembers.

use alloc::collections::VecDeque;

use crate::prelude::*;
use crate::table::Table;

/// The most names remembered.
const REMEMBERED: usize = 4096;

/// The longest name, in bytes.
pub(super) const LONGEST: usize = 256;

/// The names used, oldest first.
#[derive(Debug, Default)]
pub(super) struct Keys {
    used: Table<String, ()>,
    order: VecDeque<String>,
}

impl Keys {
    /// Uses a name. False if it is used already.
    pub(super) fn claim(&mut self, key: &str) -> bool {
        if !self.used.insert(key.to_owned(), ()) {
            return false;
        }
        self.order.push_back(key.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.used.remove(&oldest);
        }
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
