//! Grouped rows of tables.

use std::{collections::HashMap, hash::Hash};

pub(super) use crate::report::{RowView as Line, Rows};

/// Numbers for keys, in order of appearance.
pub(super) struct Seen<K>(HashMap<K, usize>);

impl<K: Eq + Hash> Seen<K> {
    pub(super) fn new() -> Seen<K> {
        Seen(HashMap::new())
    }

    /// The number of a key, and whether it is new.
    pub(super) fn number(&mut self, key: K) -> (usize, bool) {
        let next = self.0.len();
        let number = *self.0.entry(key).or_insert(next);
        (number, number == next && self.0.len() > next)
    }
}

/// Groups items by key, in order of appearance.
pub(super) fn together<K: Clone + Eq + Hash, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let (mut seen, mut groups) = (Seen::new(), Vec::<(K, Vec<T>)>::new());
    for (key, item) in items {
        match seen.number(key.clone()) {
            (_, true) => groups.push((key, vec![item])),
            (at, false) => groups[at].1.push(item),
        }
    }
    groups
}
