//! Rules for the scales of plain formats.

use crate::base::named::named;

named! {
    /// Rule for the scale of a plain format, from the values that share it.
    pub enum PlainRule {
        Absmax = "absmax": "The largest magnitude over the largest number of the format, to nearest in f32";
        PowerOfTwo = "pow2": "The smallest power of two under which nothing saturates";
        LeastError = "mse": "The scale of least squared error, of `absmax` times 2^(j/8) from 2 down to 1/4, and the next power of two";
    }
}

impl PlainRule {
    /// The scale of values up to `amax` in a format up to `largest`: at least `least`, 1 for zeros alone.
    ///
    /// For the least error, the scale of `absmax`, from which the search goes down.
    pub(crate) fn scale(self, amax: f64, largest: f64, least: f32) -> f32 {
        let ratio = amax / largest;
        if ratio == 0.0 {
            return 1.0;
        }
        let scale = match self {
            PlainRule::Absmax | PlainRule::LeastError => ratio,
            PlainRule::PowerOfTwo => {
                // The exponent, without a logarithm, which machines may round in their own ways.
                let whole = (ratio.to_bits() >> 52) as i32 - 1023;
                let exponent = whole + i32::from(ratio > 2f64.powi(whole));
                2f64.powi(exponent.min(f32::MAX_EXP - 1))
            }
        };
        (scale as f32).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_is_the_smallest_under_which_nothing_saturates() {
        for largest in [6.0, 57344.0, 448.0, 127.0] {
            for amax in [1e-3f32, 1.0, 447.9, 448.0, 448.1, 3e38, f32::MIN_POSITIVE] {
                let scale = f64::from(PlainRule::PowerOfTwo.scale(f64::from(amax), largest, 1e-45));
                assert!(
                    largest * scale >= f64::from(amax) && largest * scale / 2.0 < f64::from(amax),
                    "{amax} {largest}"
                );
                assert_eq!(scale.log2().fract(), 0.0);
            }
        }
        assert_eq!(PlainRule::PowerOfTwo.scale(0.0, 6.0, 1e-45), 1.0);
    }
}
