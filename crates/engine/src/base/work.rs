//! Work handed out in pieces sized by time: before each piece, time limit and signals are looked at.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use super::{error::Result, interrupt, parallel, threads};

/// Duration of a piece of work (about).
const PIECE: Duration = Duration::from_millis(250);
/// Largest growth from one piece to the next.
const GROWTH: u64 = 8;

/// Longest time for which a command asks a slow device unrequested questions.
pub const UNASKED: Duration = Duration::from_secs(60);

/// The size of pieces of work: small at first, then as much as is done in `PIECE`.
///
/// Results must not depend on it.
#[derive(Debug, Clone)]
pub struct Pace {
    size: u64,
    most: u64,
}

impl Pace {
    /// Begins with pieces of size `first`, which grow to at most `most`.
    pub fn new(first: u64, most: u64) -> Pace {
        Pace { size: first.clamp(1, most.max(1)), most: most.max(1) }
    }

    /// Size of the next piece, at least 1.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Records that work of size `done` took `time`.
    /// A piece of less than half that size (the last one, say) counts only if it took longer than [`PIECE`].
    pub(crate) fn took(&mut self, done: u64, time: Duration) {
        if done >= self.size.div_ceil(2) || time > PIECE {
            let fitting = u128::from(done) * PIECE.as_nanos() / time.as_nanos().max(1);
            let fitting = u64::try_from(fitting).unwrap_or(u64::MAX);
            self.size = fitting.min(done.saturating_mul(GROWTH)).clamp(1, self.most);
        }
    }

    /// Does work of size `done`, and records its duration.
    pub fn measure<T>(&mut self, done: u64, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.took(done, start.elapsed());
        result
    }
}

/// Does `work` for consecutive ranges that make up `0..count`.
///
/// # Errors
/// The error of `work`; an interruption between two ranges.
pub fn ranges(count: u64, mut pace: Pace, mut work: impl FnMut(Range<u64>) -> Result<()>) -> Result<()> {
    let mut done = 0;
    while done < count {
        interrupt::check()?;
        let end = count.min(done.saturating_add(pace.size()));
        pace.measure(end - done, || work(done..end))?;
        done = end;
    }
    Ok(())
}

/// Does `work` for items on all threads; `take` gets the results in the order of the items.
///
/// At most `together` results wait for `take`. A thread keeps its scratch value from one item to the next. The results
/// before an error have been taken.
///
/// # Errors
/// The first error of `work`; an interruption.
pub fn each<T: Send, S: Default, R: Send>(
    items: impl IntoIterator<Item = T>,
    together: usize,
    work: impl Fn(T, &mut S) -> Result<R> + Sync,
    mut take: impl FnMut(R),
) -> Result<()> {
    let (mut items, threads) = (items.into_iter(), threads::count());
    let mut pace = Pace::new(threads as u64, together as u64);
    loop {
        let some: Vec<T> = items.by_ref().take(threads.max(pace.size() as usize)).collect();
        if some.is_empty() {
            return Ok(());
        }
        interrupt::check()?;
        let one = |scratch: &mut S, item| interrupt::check().and_then(|()| work(item, scratch));
        let count = some.len() as u64;
        let results = pace.measure(count, || parallel::map_with(some, S::default, one));
        results.into_iter().try_for_each(|result| result.map(&mut take))?;
    }
}

/// Results of `work` for items, on all threads, in the order of the items.
///
/// # Errors
/// As [`each`].
pub fn map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut results = Vec::new();
    each(items, usize::MAX, |item, (): &mut ()| work(item), |result| results.push(result))?;
    Ok(results)
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::{Error, Interruption, base::interrupt::interruptible};

    /// The first sizes for something that does `rate` in a [`PIECE`].
    fn sizes(mut pace: Pace, rate: f64, count: usize) -> Vec<u64> {
        let next = |_| {
            let size = pace.size();
            pace.took(size, PIECE.mul_f64(size as f64 / rate));
            size
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn pieces_grow_from_the_smallest_to_what_is_done_in_the_time_of_one() {
        for (rate, expected) in
            [(100.0, [1, 8, 64, 100, 100]), (1.0, [1; 5]), (0.01, [1; 5]), (20.0, [1, 8, 20, 20, 20])]
        {
            assert_eq!(sizes(Pace::new(1, 1 << 20), rate, 5), expected, "{rate} in a piece");
        }
        assert_eq!(sizes(Pace::new(16, 1000), 1e9, 4), [16, 128, 1000, 1000]);
        assert_eq!(sizes(Pace::new(0, 0), 1e9, 2), [1, 1]);
    }

    #[test]
    fn a_piece_that_takes_long_is_followed_by_a_shorter_one() {
        let mut pace = Pace::new(1000, 1000);
        pace.took(1000, 10 * PIECE);
        assert_eq!(pace.size(), 100);
        pace.took(100, 1000 * PIECE);
        assert_eq!(pace.size(), 1);
        pace.took(1, Duration::ZERO);
        assert_eq!(pace.size(), GROWTH);
    }

    #[test]
    fn a_short_last_piece_changes_nothing_unless_it_takes_longer_than_a_piece() {
        let mut pace = Pace::new(100, 1000);
        pace.took(3, PIECE / 100);
        pace.took(3, PIECE.mul_f64(0.9));
        assert_eq!(pace.size(), 100);
        pace.took(3, 3 * PIECE);
        assert_eq!(pace.size(), 1);
    }

    #[test]
    fn ranges_and_items_make_up_the_work_in_order() {
        for count in [0, 1, 2, 1000] {
            let mut seen = Vec::new();
            let outcome = ranges(count, Pace::new(3, 100), |range| {
                seen.extend(range);
                Ok(())
            });
            assert_eq!((outcome, seen), (Ok(()), (0..count).collect()));
            assert_eq!(map(0..count, |n| Ok(n * n)), Ok((0..count).map(|n| n * n).collect()));
        }
    }

    #[test]
    fn results_before_an_error_are_taken_and_later_items_are_not_begun() {
        let started_items = AtomicUsize::new(0);
        let fails = |n: usize, (): &mut ()| {
            started_items.fetch_add(1, Ordering::Relaxed);
            if n < 10 { Ok(n) } else { Err(Error::request("no")) }
        };
        let mut results = Vec::new();
        assert_eq!(each(0..100_000, 64, fails, |n| results.push(n)), Err(Error::request("no")));
        assert_eq!(results, (0..10).collect::<Vec<_>>());
        assert!(started_items.into_inner() < 1000);
    }

    #[test]
    fn an_interruption_ends_the_work_at_its_next_piece() {
        let asked = Cell::new(0);
        let third = move || {
            asked.set(asked.get() + 1);
            (asked.get() == 3).then_some(Interruption::Term)
        };
        let (mut results, stopped) = (Vec::new(), Err(Error::Interrupted { by: Interruption::Term }));
        let outcome = interruptible(third.clone(), || each(0.., 1, |n: usize, (): &mut ()| Ok(n), |n| results.push(n)));
        assert_eq!((outcome, results.len()), (stopped.clone(), 2 * threads::count()));
        let mut done = 0;
        let count = |range: Range<u64>| {
            done = range.end;
            Ok(())
        };
        assert_eq!((interruptible(third, || ranges(u64::MAX, Pace::new(1, 1), count)), done), (stopped, 2));
    }
}
