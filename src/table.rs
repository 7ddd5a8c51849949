//! A map kept as a sorted vector.
//!
//! The session's keys are ids that rise, so that most insertions are at the end. A few thousand small
//! entries are moved faster than a tree is walked, and one vector costs the component a tenth of the
//! code that a tree does: a dozen trees would be half of it. Values are boxed, which keeps the entries
//! small, and the same code good for every table with ids as keys.

use core::slice;

use crate::prelude::*;

/// A map from rising keys.
#[derive(Debug)]
pub(crate) struct Table<K, V>(Vec<Entry<K, V>>);

type Entry<K, V> = (K, Box<V>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Table<K, V> {
    fn find(&self, key: &K) -> Result<usize, usize> {
        // The newest is asked for most often, and the end is where a new one goes.
        match self.0.last() {
            None => Err(0),
            Some((last, _)) if last < key => Err(self.0.len()),
            Some((last, _)) if last == key => Ok(self.0.len() - 1),
            Some(_) => self.0.binary_search_by(|(found, _)| found.cmp(key)),
        }
    }

    /// Adds an entry, or replaces the one that the key has; tells whether it had none.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        let value = Box::new(value);
        let found = self.find(&key);
        match found {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
        found.is_err()
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<Box<V>> {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The entry of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.find(key).ok().map(|at| &*self.0[at].1)
    }

    /// The entry of a key.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.find(key).ok().map(|at| &mut *self.0[at].1)
    }

    /// Whether there is such an entry.
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// The least key.
    pub(crate) fn first(&self) -> Option<&K> {
        self.0.first().map(|(key, _)| key)
    }

    /// All entries, by rising keys.
    pub(crate) fn iter(&self) -> slice::Iter<'_, Entry<K, V>> {
        self.0.iter()
    }

    /// Takes out the entries that `which` says, by rising keys.
    pub(crate) fn take_if(&mut self, mut which: impl FnMut(&V) -> bool) -> Vec<Entry<K, V>> {
        self.0.extract_if(.., |(_, value)| which(value)).collect()
    }

    /// Takes everything out, by rising keys.
    pub(crate) fn take(&mut self) -> Vec<Entry<K, V>> {
        core::mem::take(&mut self.0)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut table = Table::default();
        for key in [5, 1, 9, 3, 7, 9] {
            table.insert(key, key * 10);
        }
        assert_eq!(table.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
        assert!(!table.insert(3, 0));
        assert_eq!((table.get(&3), table.get(&4), table.get(&10)), (Some(&0), None, None));
        assert_eq!((table.remove(&1), table.remove(&1), table.len()), (Some(Box::new(10)), None, 4));
        assert_eq!(table.take_if(|value| *value > 60), [(7, Box::new(70)), (9, Box::new(90))]);
        assert_eq!(table.first(), Some(&3));
        assert!(table.contains(&5) && !table.contains(&9));
        assert_eq!(table.take(), [(3, Box::new(0)), (5, Box::new(50))]);
    }
}
