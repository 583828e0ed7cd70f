//! Exact binomial probabilities: limits of a count, and the power of a test by them.

/// Ratio to the likeliest count below which a count is left out; 10^-40 is far below any false alarm.
const NEGLIGIBLE: f64 = 1e-40;

/// Number of successes among equal and independent draws.
#[derive(Debug, Clone)]
pub struct Binomial {
    /// Smallest count with a probability above [`NEGLIGIBLE`].
    first: u64,
    /// Probabilities of the counts from `first` on.
    probabilities: Vec<f64>,
}

/// Counts that a test accepts, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Smallest accepted count.
    pub least: u64,
    /// Largest accepted count.
    pub most: u64,
}

impl Binomial {
    /// Successes among `draws`, each with `chance` (0 to 1).
    pub fn new(draws: u64, chance: f64) -> Binomial {
        let mode = (((draws + 1) as f64 * chance).floor() as u64).min(draws);
        if chance <= 0.0 || chance >= 1.0 {
            return Binomial { first: mode, probabilities: vec![1.0] };
        }
        // Neighbouring probabilities have simple ratios; the sum of all is one.
        let odds = chance / (1.0 - chance);
        let up = |count: u64| (draws - count) as f64 / (count + 1) as f64 * odds;
        let weights = |from: u64, next: &dyn Fn(u64) -> Option<(u64, f64)>| {
            let (mut at, mut weight, mut weights) = (from, 1.0, Vec::new());
            while let Some((count, ratio)) = next(at) {
                (at, weight) = (count, weight * ratio);
                if weight < NEGLIGIBLE {
                    break;
                }
                weights.push(weight);
            }
            weights
        };
        let mut all = weights(mode, &|count| (count > 0).then(|| (count - 1, up(count - 1).recip())));
        let first = mode - all.len() as u64;
        all.reverse();
        all.push(1.0);
        all.extend(weights(mode, &|count| (count < draws).then(|| (count + 1, up(count)))));
        let sum: f64 = all.iter().sum();
        Binomial { first, probabilities: all.into_iter().map(|weight| weight / sum).collect() }
    }

    /// The narrowest limits that refuse at most half of `alarm` on either side.
    pub fn limits(&self, alarm: f64) -> Limits {
        let refused = |probabilities: &mut dyn Iterator<Item = &f64>| {
            let mut sum = 0.0;
            let tail = |probability: &&f64| {
                sum += **probability;
                sum <= alarm / 2.0
            };
            probabilities.take_while(tail).count() as u64
        };
        let last = self.first + self.probabilities.len() as u64 - 1;
        Limits {
            least: self.first + refused(&mut self.probabilities.iter()),
            most: last - refused(&mut self.probabilities.iter().rev()),
        }
    }

    /// Probability of a count within the limits.
    pub fn within(&self, limits: Limits) -> f64 {
        let of = |(at, probability): (u64, &f64)| {
            let count = self.first + at;
            if (limits.least..=limits.most).contains(&count) { *probability } else { 0.0 }
        };
        (0..).zip(&self.probabilities).map(of).sum::<f64>().min(1.0)
    }
}

impl Limits {
    /// True for an accepted count.
    pub fn accept(&self, count: u64) -> bool {
        (self.least..=self.most).contains(&count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_few_draws_are_those_of_pascals_triangle() {
        let five = Binomial::new(5, 0.25);
        let of = |count| five.within(Limits { least: count, most: count });
        let expected = [243.0, 405.0, 270.0, 90.0, 15.0, 1.0].map(|ways| ways / 1024.0);
        (0..).zip(expected).for_each(|(count, expected)| assert!((of(count) - expected).abs() < 1e-15, "{count}"));
    }

    #[test]
    fn limits_refuse_no_more_than_the_false_alarm_and_one_count_fewer_would() {
        for (draws, chance) in [(1, 0.5), (100, 0.5), (4096, 1.0 / 512.0), (1_000_000, 0.75), (50_000, 1.0 - 1e-5)] {
            let (binomial, alarm) = (Binomial::new(draws, chance), 1e-6);
            let limits = binomial.limits(alarm);
            assert!(1.0 - binomial.within(limits) <= alarm + 1e-12, "{draws} {chance} {limits:?}");
            let below = Limits { least: 0, most: limits.least };
            assert!(binomial.within(below) > alarm / 2.0, "{draws} {chance} {limits:?}");
        }
    }

    #[test]
    fn certain_counts_have_one_value() {
        assert_eq!(Binomial::new(7, 0.0).limits(1e-6), Limits { least: 0, most: 0 });
        assert_eq!(Binomial::new(7, 1.0).limits(1e-6), Limits { least: 7, most: 7 });
        assert_eq!(Binomial::new(0, 0.5).limits(1e-6), Limits { least: 0, most: 0 });
    }
}
