//! Mean, standard error and maximum.

/// A mean, its standard error and the maximum of non-negative numbers, taken in one by one.
///
/// The same numbers in the same order give the same bits. An infinite number makes the mean infinite and leaves
/// it without a standard error.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    count: u64,
    mean: f64,
    squares: f64,
    maximum: f64,
}

impl Summary {
    /// Takes in a number; `None` is left out.
    pub fn add(&mut self, value: Option<f64>) {
        let Some(value) = value else { return };
        self.count += 1;
        self.maximum = self.maximum.max(value);
        if !self.maximum.is_finite() {
            self.mean = self.maximum;
            return;
        }
        // Welford's update: no cancellation.
        let step = value - self.mean;
        self.mean += step / self.count as f64;
        self.squares += step * (value - self.mean);
    }

    /// How many numbers there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` of no numbers.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Standard error of the mean: the sample's standard deviation over the square root of its size;
    /// `None` of fewer than two numbers, or of an infinite mean.
    pub fn standard_error(&self) -> Option<f64> {
        let n = self.count as f64;
        (self.count > 1 && self.mean.is_finite()).then(|| (self.squares / (n - 1.0) / n).sqrt())
    }

    /// The maximum; `None` of no numbers.
    pub fn maximum(&self) -> Option<f64> {
        (self.count > 0).then_some(self.maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Summary {
        let mut summary = Summary::default();
        values.iter().for_each(|&value| summary.add(Some(value)));
        summary.add(None);
        summary
    }

    #[test]
    fn a_summary_agrees_with_the_definitions() {
        let values = [1.0, 4.0, 9.0, 16.0];
        let summary = of(&values);
        let variance: f64 = values.iter().map(|v| (v - 7.5) * (v - 7.5)).sum::<f64>() / 3.0;
        assert_eq!((summary.count(), summary.mean(), summary.maximum()), (4, Some(7.5), Some(16.0)));
        assert!((summary.standard_error().unwrap() - (variance / 4.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn few_or_infinite_numbers_have_no_standard_error() {
        assert_eq!((of(&[]).mean(), of(&[]).maximum(), of(&[]).standard_error()), (None, None, None));
        assert_eq!((of(&[2.0]).mean(), of(&[2.0]).standard_error()), (Some(2.0), None));
        let infinite = of(&[1.0, f64::INFINITY, 2.0]);
        assert_eq!((infinite.mean(), infinite.standard_error()), (Some(f64::INFINITY), None));
    }
}
