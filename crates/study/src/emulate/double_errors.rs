//! Errors of a product in f64 against the exact one.

use crate::product::reference::{DoubleReferences, Norm, times_power};

/// Errors of a product in f64 against the exact one; NaN if no element is measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DoubleErrors {
    /// Elements that are the exact sum, rounded to f64 (NaN for NaN, and -0 for +0 too).
    pub equal: usize,
    /// Infinite or NaN elements whose exact sum, rounded, is neither, and the reverse.
    ///
    /// Other errors leave them out.
    pub special: usize,
    /// Infinite or NaN elements, right or wrong.
    pub infinite: usize,
    /// The largest |V - S|, of an element V and its exact sum S.
    pub absolute: f64,
    /// The largest |V - S| / sum |ab|.
    pub of_magnitude: f64,
    /// The mean |V - S| / sum |ab|.
    pub mean_of_magnitude: f64,
    /// The largest |V - S| / |S|, over elements with an S that is not zero.
    pub relative: f64,
    /// The mean of the same: MRED.
    pub mred: f64,
    /// The norm of V - S over the norm of S (Frobenius).
    pub norm: f64,
    /// Elements with an S that is not zero.
    relatives: usize,
    /// Elements that the errors measure: they and their exact sums, rounded, are finite.
    measured: usize,
}

impl DoubleErrors {
    /// The errors of elements, row by row.
    pub fn of(values: &[f64], references: &DoubleReferences) -> DoubleErrors {
        let mut all = DoubleErrors::default();
        let (mut of_errors, mut of_sums) = (Norm::default(), Norm::default());
        for (at, v) in values.iter().enumerate() {
            let (s, magnitude, shift) = (references.rounded[at], references.magnitude[at], references.shift[at]);
            let [high, low] = references.exact[at];
            all.equal += usize::from(*v == s || v.is_nan() && s.is_nan());
            all.infinite += usize::from(!v.is_finite());
            if !v.is_finite() || !s.is_finite() {
                all.special += usize::from(*v != s && !(v.is_nan() && s.is_nan()));
                continue;
            }
            let error = ((times_power(*v, shift) - high) - low).abs();
            all.measured += 1;
            // A wrong element may be large beside the sums.
            let (size, down) = if error.is_finite() { (error, shift) } else { ((v - s).abs(), 0) };
            all.absolute = all.absolute.max(times_power(size, -down));
            of_errors.add(size, down);
            of_sums.add(high, shift);
            if error > 0.0 {
                // A sum of zeros has no error but by a wrong element, which is infinite.
                let of_magnitude = error / magnitude;
                all.of_magnitude = all.of_magnitude.max(of_magnitude);
                all.mean_of_magnitude += of_magnitude;
            }
            if high != 0.0 {
                all.relative = all.relative.max(error / high.abs());
                all.mred += error / high.abs();
                all.relatives += 1;
            }
        }
        all.mean_of_magnitude /= all.measured.max(1) as f64;
        all.mred /= all.relatives.max(1) as f64;
        all.norm = of_errors.over(&of_sums);
        if all.measured == 0 {
            for error in [
                &mut all.absolute,
                &mut all.of_magnitude,
                &mut all.mean_of_magnitude,
                &mut all.relative,
                &mut all.mred,
                &mut all.norm,
            ] {
                *error = f64::NAN;
            }
        }
        all
    }
}

#[cfg(all(test, feature = "mpfr"))]
mod tests {
    use super::*;
    use crate::product::NumberMatrix;

    #[test]
    fn errors_at_the_ends_of_f64_are_those_of_mpfr() {
        let wide = |x: f64| rug::Float::with_val(6000, x);
        let (tiny, e) = (f64::from_bits(1), 2f64.powi(-50));
        for (x, y) in [
            (vec![1e300, 1e300], vec![1e10, -1e10 * (1.0 - e)]),
            (vec![f64::MAX, f64::MAX], vec![1.0, -1.0 + e]),
            (vec![1.1 * f64::MIN_POSITIVE / 256.0], vec![1.3]),
            (vec![tiny, tiny * 3.0], vec![0.5, 0.25]),
            (vec![tiny], vec![tiny]),
            (vec![1e300, -1e-300], vec![1e-320, 1e-20]),
        ] {
            let line = NumberMatrix { rows: 1, columns: x.len(), values: x.clone() };
            let references =
                DoubleReferences::of(&line, &NumberMatrix { rows: y.len(), columns: 1, values: y.clone() }).unwrap();
            let products = || x.iter().zip(&y).map(|(x, y)| wide(*x) * wide(*y));
            let exact = products().fold(wide(0.0), |sum, product| sum + product);
            let magnitude = products().fold(wide(0.0), |sum, product| sum + product.abs());
            assert_eq!(references.rounded, [exact.to_f64()], "{x:?}");
            for v in [exact.to_f64(), exact.to_f64() * (1.0 - e), exact.to_f64() + tiny] {
                let errors = DoubleErrors::of(&[v], &references);
                let error = (wide(v) - &exact).abs();
                let near = |value: f64, expected: rug::Float| {
                    value == expected.to_f64() || (value - expected.to_f64()).abs() <= 1e-12 * value
                };
                assert!(near(errors.absolute, error.clone()), "{x:?} {v:e}: {errors:?}");
                assert!(near(errors.of_magnitude, error.clone() / &magnitude), "{x:?} {v:e}: {errors:?}");
                assert!(near(errors.relative, error.clone() / exact.clone().abs()), "{x:?} {v:e}: {errors:?}");
                assert!(near(errors.norm, error / exact.clone().abs()), "{x:?} {v:e}: {errors:?}");
            }
        }
    }
}
