//! Work shared among the threads of rayon's pool, with the results in the order of the items.
//!
//! The code that divides the work is compiled once, not for each caller: `docs/decisions.md` has the sizes.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rayon::prelude::*;

use super::threads;

/// Calls `work` with ranges that make up `0..count`, smaller ones as threads run out of work.
fn ranges(count: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    if count == 1 {
        return work(0..1);
    }
    threads::start_pool();
    let longer = |range: Range<usize>, at: usize| if range.is_empty() { at..at + 1 } else { range.start..at + 1 };
    (0..count).into_par_iter().fold(|| 0..0, longer).filter(|range| !range.is_empty()).for_each(work);
}

/// An item, until its result replaces it.
struct Slot<T, R>(Mutex<(Option<T>, Option<R>)>);

impl<T, R> Slot<T, R> {
    fn fill(&self, work: impl FnOnce(T) -> R) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let item = slot.0.take();
        slot.1 = item.map(work);
    }

    fn result(self) -> Option<R> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// Results of `work` on each item, with a scratch value that `start` makes for each run of items.
pub fn map_with<T: Send, R: Send, S>(
    items: impl IntoIterator<Item = T>,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R> {
    let slots: Vec<Slot<T, R>> = items.into_iter().map(|item| Slot(Mutex::new((Some(item), None)))).collect();
    ranges(slots.len(), &|range| {
        let mut scratch = start();
        slots[range].iter().for_each(|slot| slot.fill(|item| work(&mut scratch, item)));
    });
    slots.into_iter().filter_map(Slot::result).collect()
}

/// Results of `work` on each item.
pub fn map<T: Send, R: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_with(items, || (), |(), item| work(item))
}

/// Calls `work` with each item and a scratch value that `start` makes for each run of items.
pub fn each_with<T: Send, S>(
    items: impl IntoIterator<Item = T>,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) + Sync,
) {
    map_with(items, start, work);
}

/// Calls `work` with each item.
pub fn each<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
    map(items, work);
}

/// True if `holds` is true of an item; after the first such item no further one is tested.
pub fn any<T: Send>(items: impl IntoIterator<Item = T>, holds: impl Fn(T) -> bool + Sync) -> bool {
    let held = AtomicBool::new(false);
    each(items, |item| {
        if !held.load(Ordering::Relaxed) && holds(item) {
            held.store(true, Ordering::Relaxed);
        }
    });
    held.into_inner()
}

/// Gathers the numbers below `count`: one result per run of numbers, in their order.
pub fn fold<S: Send>(
    count: usize,
    start: impl Fn() -> S + Sync,
    add: impl Fn(&mut S, usize) + Sync,
) -> impl Iterator<Item = S> {
    let gathered: Vec<Slot<(), S>> = (0..count).map(|_| Slot(Mutex::new((Some(()), None)))).collect();
    ranges(count, &|range| {
        gathered[range.start].fill(|()| {
            let mut sum = start();
            range.clone().for_each(|number| add(&mut sum, number));
            sum
        });
    });
    gathered.into_iter().filter_map(Slot::result)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 1000] {
            let squares: Vec<usize> = (0..count).map(|n| n * n).collect();
            assert_eq!(map(0..count, |n| n * n), squares);
            let sums: Vec<Vec<usize>> = fold(count, Vec::new, |seen, n| seen.push(n)).collect();
            assert_eq!(sums.concat(), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_item_is_worked_on_once() {
        let mut counts = vec![0; 1000];
        each(counts.chunks_mut(7), |chunk| chunk.iter_mut().for_each(|count| *count += 1));
        assert_eq!(counts, [1; 1000]);
    }

    #[test]
    fn what_is_written_on_serves_one_stretch_after_the_other() {
        let made = AtomicUsize::new(0);
        let start = || {
            made.fetch_add(1, Ordering::Relaxed);
            0
        };
        let places = map_with(0..1000, start, |used, _| {
            *used += 1;
            *used
        });
        assert_eq!(places.iter().filter(|place| **place == 1).count(), made.into_inner());
        assert!(places.windows(2).all(|pair| pair[1] == 1 || pair[1] == pair[0] + 1));
    }

    #[test]
    fn what_holds_of_an_item_is_found() {
        assert!(any(0..1000, |n| n == 999));
        assert!(!any(0..1000, |n| n == 1000));
        assert!(!any(0..0, |_| true));
    }
}
