//! The amount of work between two checks of the clock and of signals.

use std::time::{Duration, Instant};

/// Duration of a unit of work (about).
const UNIT: Duration = Duration::from_secs(1);
/// Largest growth from one unit to the next.
const GROWTH: u64 = 8;

/// Longest time for which a command asks a slow device unrequested questions.
pub(crate) const UNASKED: Duration = Duration::from_secs(60);

/// The size of units of work: small at first, then as much as is done in a second.
///
/// Results must not depend on it.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    size: u64,
    most: u64,
}

impl Pace {
    /// Begins with units of size `first`, which grow to at most `most`.
    pub(crate) fn new(first: u64, most: u64) -> Pace {
        Pace { size: first.clamp(1, most.max(1)), most: most.max(1) }
    }

    /// Size of the next unit, at least 1.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Records that work of size `done` took `time`.
    /// A piece of less than half a unit (the last one, say) counts only if it took longer than a unit.
    pub(crate) fn took(&mut self, done: u64, time: Duration) {
        if done >= self.size.div_ceil(2) || time > UNIT {
            let fitting = u128::from(done) * UNIT.as_nanos() / time.as_nanos().max(1);
            let fitting = u64::try_from(fitting).unwrap_or(u64::MAX);
            self.size = fitting.min(done.saturating_mul(GROWTH)).clamp(1, self.most);
        }
    }

    /// Does work of size `done`, and records its duration.
    pub(crate) fn measure<T>(&mut self, done: u64, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.took(done, start.elapsed());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first unit sizes of something that does `rate` per second.
    fn sizes(mut pace: Pace, rate: f64, count: usize) -> Vec<u64> {
        let next = |_| {
            let size = pace.size();
            pace.took(size, Duration::from_secs_f64(size as f64 / rate));
            size
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn units_grow_from_the_smallest_to_what_is_done_in_a_second() {
        for (rate, expected) in
            [(100.0, [1, 8, 64, 100, 100]), (1.0, [1; 5]), (0.01, [1; 5]), (20.0, [1, 8, 20, 20, 20])]
        {
            assert_eq!(sizes(Pace::new(1, 1 << 20), rate, 5), expected, "{rate} in a second");
        }
        assert_eq!(sizes(Pace::new(16, 1000), 1e9, 4), [16, 128, 1000, 1000]);
        assert_eq!(sizes(Pace::new(0, 0), 1e9, 2), [1, 1]);
    }

    #[test]
    fn a_unit_that_takes_long_is_followed_by_a_shorter_one() {
        let mut pace = Pace::new(1000, 1000);
        pace.took(1000, Duration::from_secs(10));
        assert_eq!(pace.size(), 100);
        pace.took(100, Duration::from_secs(1000));
        assert_eq!(pace.size(), 1);
        pace.took(1, Duration::ZERO);
        assert_eq!(pace.size(), GROWTH);
    }

    #[test]
    fn a_short_last_piece_changes_nothing_unless_it_takes_longer_than_a_unit() {
        let mut pace = Pace::new(100, 1000);
        pace.took(3, Duration::from_millis(1));
        pace.took(3, Duration::from_millis(900));
        assert_eq!(pace.size(), 100);
        pace.took(3, Duration::from_secs(3));
        assert_eq!(pace.size(), 1);
    }
}
