//! A map from numbers, kept as two sorted vectors.
//!
//! The session's keys are ids that rise, so that most insertions are at the end. A few thousand small
//! entries are moved faster than a tree is walked, and vectors cost the component a tenth of the code that
//! a tree does: a dozen trees would be half of it. Every table looks for a `u64`, and holds its values
//! boxed, so that all of them share the same code.

use core::marker::PhantomData;

use crate::prelude::*;

/// What a table has for keys: a number by another name.
pub(crate) trait Key: Copy {
    fn number(self) -> u64;
    fn of(number: u64) -> Self;
}

impl Key for u64 {
    fn number(self) -> u64 {
        self
    }

    fn of(number: u64) -> Self {
        number
    }
}

/// Makes a key of a type that is a number by another name.
macro_rules! key {
    ($name:ident) => {
        impl $crate::table::Key for $name {
            fn number(self) -> u64 {
                self.0
            }

            fn of(number: u64) -> Self {
                Self(number)
            }
        }
    };
}
pub(crate) use key;

/// A map from rising keys.
#[derive(Debug)]
pub(crate) struct Table<K, V> {
    keys: Vec<u64>,
    values: Vec<Box<V>>,
    of: PhantomData<K>,
}

/// An entry that was taken out.
pub(crate) type Entry<K, V> = (K, Box<V>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { keys: Vec::new(), values: Vec::new(), of: PhantomData }
    }
}

fn find(keys: &[u64], key: u64) -> Result<usize, usize> {
    // The newest is asked for most often, and the end is where a new one goes.
    match keys.last() {
        None => Err(0),
        Some(last) if *last < key => Err(keys.len()),
        Some(last) if *last == key => Ok(keys.len() - 1),
        Some(_) => keys.binary_search(&key),
    }
}

impl<K: Key, V> Table<K, V> {
    fn find(&self, key: K) -> Result<usize, usize> {
        find(&self.keys, key.number())
    }

    /// Adds an entry, or replaces the one that the key has; tells whether it had none.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        let value = Box::new(value);
        let found = self.find(key);
        match found {
            Ok(at) => self.values[at] = value,
            Err(at) => {
                self.keys.insert(at, key.number());
                self.values.insert(at, value);
            }
        }
        found.is_err()
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<Box<V>> {
        let at = self.find(*key).ok()?;
        self.keys.remove(at);
        Some(self.values.remove(at))
    }

    /// The entry of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.find(*key).ok().map(|at| &*self.values[at])
    }

    /// The entry of a key.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.find(*key).ok().map(|at| &mut *self.values[at])
    }

    /// Whether there is such an entry.
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.find(*key).is_ok()
    }

    /// The least key.
    pub(crate) fn first(&self) -> Option<K> {
        self.keys.first().map(|key| K::of(*key))
    }

    /// All keys, rising.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.keys.iter().map(|key| K::of(*key))
    }

    /// All values, by rising keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter().map(|value| &**value)
    }

    /// Takes out the entries that `which` says, by rising keys.
    pub(crate) fn take_if(&mut self, mut which: impl FnMut(&V) -> bool) -> Vec<Entry<K, V>> {
        let mut taken = Vec::new();
        let mut kept = Self::default();
        for (key, value) in self.take() {
            if which(&value) {
                taken.push((key, value));
            } else {
                kept.keys.push(key.number());
                kept.values.push(value);
            }
        }
        *self = kept;
        taken
    }

    /// Takes everything out, by rising keys.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Entry<K, V>> + use<K, V> {
        let Self { keys, values, .. } = core::mem::take(self);
        keys.into_iter().map(K::of).zip(values)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut table = Table::<u64, u64>::default();
        for key in [5, 1, 9, 3, 7, 9] {
            table.insert(key, key * 10);
        }
        assert_eq!(table.keys().collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
        assert!(!table.insert(3, 0));
        assert_eq!((table.get(&3), table.get(&4), table.get(&10)), (Some(&0), None, None));
        assert_eq!((table.remove(&1), table.remove(&1), table.len()), (Some(Box::new(10)), None, 4));
        assert_eq!(table.take_if(|value| *value > 60), [(7, Box::new(70)), (9, Box::new(90))]);
        assert_eq!(table.first(), Some(3));
        assert!(table.contains(&5) && !table.contains(&9));
        assert_eq!(table.values().collect::<Vec<_>>(), [&0, &50]);
        assert_eq!(table.take().collect::<Vec<_>>(), [(3, Box::new(0)), (5, Box::new(50))]);
        assert_eq!(table.len(), 0);
    }
}
