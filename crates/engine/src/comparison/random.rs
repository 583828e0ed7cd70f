//! Rounding by random bits that a unit draws itself.
//!
//! Both neighbours are right, and their frequencies are tested.

use super::binomial::{Binomial, Limits};

/// Probability that a run refuses a unit that is right.
pub const FALSE_ALARM: f64 = 1e-6;

/// Probability with which a fault is refused that counts as noticed.
pub const SURE: f64 = 0.999;

/// Rounding that adds random bits below the last place and truncates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomRounding {
    /// Random bits of a rounding, 1 to 32.
    pub bits: u32,
}

/// Roundings of sums with about the same distance, and how often they went away from zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequency {
    /// Smallest distance from the neighbour towards zero, in units of the last place (0 to 1).
    pub distance: f64,
    /// Largest distance; equal to the smallest one for roundings of equal sums.
    pub farthest: f64,
    /// Roundings.
    pub draws: u64,
    /// Answers that are the neighbour away from zero.
    pub away: u64,
}

/// A fault of a unit that a test is to find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RandomFault {
    /// Fewer random bits.
    Bits(u32),
    /// A chance that is off by this much.
    Bias(f64),
}

impl RandomRounding {
    /// Chance that a rounding goes away from zero, for a distance in units of the last place.
    pub fn chance(self, distance: f64) -> f64 {
        let steps = 2f64.powi(self.bits as i32);
        (distance * steps).floor() / steps
    }

    /// Counts that are accepted, if a run makes `tests` such tests.
    /// Draws whose chances lie between two others are stochastically between theirs.
    pub fn limits(self, frequency: &Frequency, tests: usize) -> Limits {
        let of =
            |distance| Binomial::new(frequency.draws, self.chance(distance)).limits(FALSE_ALARM / tests.max(1) as f64);
        Limits { least: of(frequency.distance).least, most: of(frequency.farthest).most }
    }

    /// True if the frequencies are those of this rounding, with [`FALSE_ALARM`] for all together.
    pub fn accepts(self, frequencies: &[Frequency]) -> bool {
        frequencies.iter().all(|frequency| self.limits(frequency, frequencies.len()).accept(frequency.away))
    }

    /// Probability that the tests of equal sums refuse a unit with the fault.
    pub fn power(self, frequencies: &[Frequency], fault: RandomFault) -> f64 {
        let passed = |frequency: &Frequency| {
            let limits = self.limits(frequency, frequencies.len());
            Binomial::new(frequency.draws, fault.chance(self, frequency.distance)).within(limits)
        };
        let equal = frequencies.iter().filter(|frequency| frequency.distance == frequency.farthest);
        1.0 - equal.map(passed).product::<f64>()
    }

    /// Smallest power of two by which a chance can be off, either way, and be noticed.
    /// A fault that is noticed is refused with the probability [`SURE`] at least.
    pub fn noticed(self, frequencies: &[Frequency]) -> Option<f64> {
        let is_refused = |bias: &f64| {
            [*bias, -bias].into_iter().all(|bias| self.power(frequencies, RandomFault::Bias(bias)) >= SURE)
        };
        (1..=self.bits as i32).map(|bits| 2f64.powi(-bits)).take_while(is_refused).last()
    }
}

impl RandomFault {
    /// Chance of a unit with the fault; a number of the format stays one.
    pub fn chance(self, right: RandomRounding, distance: f64) -> f64 {
        match self {
            RandomFault::Bits(bits) => RandomRounding { bits }.chance(distance),
            RandomFault::Bias(_) if distance == 0.0 => 0.0,
            RandomFault::Bias(bias) => (right.chance(distance) + bias).clamp(0.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::random;

    /// Frequencies of a unit that rounds away with the chance that `chance` gives.
    fn measured(draws: u64, seed: u64, chance: impl Fn(f64) -> f64) -> Vec<Frequency> {
        let distances = [0.0, 0.5, 0.25, 0.75].into_iter().chain((3..=12).map(|bits| 2f64.powi(-bits)));
        let of = |(class, distance): (u64, f64)| {
            let drawn = |draw: u64| random(seed, class * draws + draw) as f64 / 2f64.powi(64);
            let away = (0..draws).filter(|draw| drawn(*draw) < chance(distance)).count() as u64;
            Frequency { distance, farthest: distance, draws, away }
        };
        (0..).zip(distances).map(of).collect()
    }

    const RIGHT: RandomRounding = RandomRounding { bits: 16 };

    #[test]
    fn a_unit_whose_chance_is_the_distance_passes_every_time() {
        for seed in 0..50 {
            assert!(RIGHT.accepts(&measured(20_000, seed, |distance| RIGHT.chance(distance))), "seed {seed}");
        }
    }

    #[test]
    fn units_with_half_the_bits_or_a_bias_fail_as_often_as_the_power_says() {
        let draws = 60_000;
        for fault in [RandomFault::Bits(8), RandomFault::Bias(1.0 / 64.0), RandomFault::Bias(-1.0 / 64.0)] {
            let of = |seed| measured(draws, seed, |distance| fault.chance(RIGHT, distance));
            let power = RIGHT.power(&of(0), fault);
            assert!(power > 0.999, "{fault:?}: {power}");
            assert!((0..20).all(|seed| !RIGHT.accepts(&of(seed))), "{fault:?}");
        }
    }

    #[test]
    fn a_power_between_zero_and_one_is_the_share_of_runs_that_find_the_fault() {
        let fault = RandomFault::Bias(1.0 / 64.0);
        let runs = 300;
        let found = (0..runs).filter(|seed| {
            let frequencies = measured(250, *seed, |distance| fault.chance(RIGHT, distance));
            !RIGHT.accepts(&frequencies)
        });
        let (found, frequencies) = (found.count() as u64, measured(250, 0, |distance| fault.chance(RIGHT, distance)));
        let power = RIGHT.power(&frequencies, fault);
        assert!((0.05..0.95).contains(&power), "{power}: choose other draws");
        assert!(Binomial::new(runs, power).limits(1e-9).accept(found), "{found} of {runs}, power {power}");
    }
}
