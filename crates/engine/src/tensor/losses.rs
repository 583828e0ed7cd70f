//! The account of what a conversion loses: counts of values, the largest error, and energies.

/// Sums of the squares of values and of their errors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energies {
    /// The sum of the squares of the values.
    pub signal: f64,
    /// The sum of the squares of the errors.
    pub noise: f64,
}

impl Energies {
    /// Adds the energies of other values.
    pub fn add(&mut self, other: &Energies) {
        self.signal += other.signal;
        self.noise += other.noise;
    }

    /// Root mean square of the errors over root mean square of the values; `None` for zeros.
    pub fn relative_rms(&self) -> Option<f64> {
        (self.signal > 0.0).then(|| (self.noise / self.signal).sqrt())
    }

    /// Energy of the values over energy of the errors, in dB: infinite without errors, `None` for zeros.
    pub fn sqnr(&self) -> Option<f64> {
        (self.signal > 0.0).then(|| decibels(self.noise / self.signal))
    }
}

/// A ratio of noise to signal as decibels of signal over noise.
pub fn decibels(ratio: f64) -> f64 {
    -10.0 * ratio.log10()
}

/// Losses of some values under a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Losses {
    /// Number of values, NaNs and infinities included.
    pub values: u64,
    /// Values that did not change.
    pub exact: u64,
    /// Values beyond the largest number of their sign; in a block, times its scale.
    pub saturated: u64,
    /// Values other than zero that became zero.
    pub to_zero: u64,
    /// Values that are NaN.
    pub nan: u64,
    /// Values that are infinite.
    pub infinite: u64,
    /// Finite values without a finite result: lost to a NaN or an infinity in their block, or beyond `f32`.
    pub void: u64,
    /// The largest absolute error.
    pub max_error: f64,
    /// Energies of the values with a finite result.
    pub energies: Energies,
}

impl Losses {
    /// Adds the losses of other values.
    pub fn add(&mut self, other: &Losses) {
        self.values += other.values;
        self.exact += other.exact;
        self.saturated += other.saturated;
        self.to_zero += other.to_zero;
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.void += other.void;
        self.max_error = self.max_error.max(other.max_error);
        self.energies.add(&other.energies);
    }

    /// Number of finite values with a finite result: those of the errors.
    pub fn finite(&self) -> u64 {
        self.values - self.nan - self.infinite - self.void
    }

    /// The largest absolute error; `None` without finite results.
    pub fn largest_error(&self) -> Option<f64> {
        (self.finite() > 0).then_some(self.max_error)
    }

    /// Root mean square of the errors; `None` without finite results.
    pub fn rms_error(&self) -> Option<f64> {
        (self.finite() > 0).then(|| (self.energies.noise / self.finite() as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_parts_add_up_to_those_of_all() {
        let part = |signal, noise, max_error| Losses {
            values: 5,
            exact: 1,
            nan: 1,
            infinite: 1,
            void: 1,
            max_error,
            energies: Energies { signal, noise },
            ..Losses::default()
        };
        let mut all = part(8.0, 2.0, 1.0);
        all.add(&part(10.0, 0.25, 0.5));
        assert_eq!((all.values, all.finite(), all.exact), (10, 4, 2));
        assert_eq!((all.largest_error(), all.rms_error()), (Some(1.0), Some(0.75)));
        assert_eq!(all.energies.relative_rms(), Some(0.125f64.sqrt()));
        assert_eq!(Losses::default().largest_error(), None);
        assert_eq!(Energies { signal: 100.0, noise: 1.0 }.sqnr(), Some(20.0));
        assert_eq!(Energies::default().sqnr(), None);
    }
}
