//! Stable sorting of what is short, or sorted rarely.
//!
//! The standard library's sort is compiled for every type and order, and is large. Here it sorts places, for all of them.
//! Sets and maps that are collected are sorted by it too; here their items are put in one by one.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// These items, each once.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    for item in items {
        set.insert(item);
    }
    set
}

/// These items, each once, where it comes first.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// A map with these entries, of equal keys the last.
pub fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        map.insert(key, value);
    }
    map
}

/// Sorts `items` in this order; equals stay as they are.
pub fn by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let places = places(items.len(), &|x, y| order(&items[x], &items[y]));
    arrange(items, places);
}

/// Sorts `items` by their keys, each of which is made once; equals stay as they are.
pub fn by_key<T, K: Ord>(items: &mut [T], key: impl FnMut(&T) -> K) {
    let keys: Vec<K> = items.iter().map(key).collect();
    arrange(items, places(items.len(), &|x, y| keys[x].cmp(&keys[y])));
}

/// The place to which each of `count` items goes.
fn places(count: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    sorted.sort_by(|x, y| order(*x, *y));
    let mut places = vec![0; count];
    sorted.iter().enumerate().for_each(|(place, item)| places[*item] = place);
    places
}

/// Moves each item to its place.
fn arrange<T>(items: &mut [T], mut places: Vec<usize>) {
    for at in 0..items.len() {
        while places[at] != at {
            let place = places[at];
            items.swap(at, place);
            places.swap(at, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted_as_the_standard_library_sorts_them() {
        for count in [0, 1, 2, 3, 10, 1000] {
            let items: Vec<(u64, u64)> = (0..count).map(|at| (at * at * 3 % 7, at)).collect();
            let (mut expected, mut by_order, mut by_own_key) = (items.clone(), items.clone(), items);
            expected.sort_by_key(|item| item.0);
            by(&mut by_order, |x, y| x.0.cmp(&y.0));
            by_key(&mut by_own_key, |item| item.0);
            assert_eq!((&by_order, &by_own_key), (&expected, &expected));
        }
    }
}
