//! The callers' own names for calls. A name is used once, as far as the session remembers.

use crate::prelude::*;
use crate::table::Table;

/// The most names remembered.
const REMEMBERED: usize = 4096;

/// The longest name, in bytes.
pub(super) const LONGEST: usize = 256;

/// The names used, each as a number: whether one is another is all that is asked. Two names that make one
/// number would be taken for one, and refused; among thousands there are no two.
#[derive(Debug, Default)]
pub(super) struct Keys {
    used: Table<u64, ()>,
    /// In the order in which they were used, as a ring.
    order: Vec<u64>,
    oldest: usize,
}

impl Keys {
    /// Uses a name. False if it is used already.
    pub(super) fn claim(&mut self, key: &str) -> bool {
        let key = number(key);
        if !self.used.insert(key, ()) {
            return false;
        }
        if self.order.len() < REMEMBERED {
            self.order.push(key);
            return true;
        }
        let forgotten = core::mem::replace(&mut self.order[self.oldest], key);
        self.used.remove(&forgotten);
        self.oldest = (self.oldest + 1) % REMEMBERED;
        true
    }
}

/// FNV-1a.
fn number(key: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    key.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
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

    #[test]
    fn the_latest_names_are_remembered_however_many_there_were() {
        let mut keys = Keys::default();
        let all = 5 * REMEMBERED / 2;
        (0..all).for_each(|n| assert!(keys.claim(&n.to_string())));
        (all - REMEMBERED..all).for_each(|n| assert!(!keys.claim(&n.to_string()), "{n}"));
        assert!(keys.claim("0"));
    }
}
