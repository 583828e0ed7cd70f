//! Tolerances of tests: |D - reference| <= atol + rtol |reference|.

use crate::format::Format;

/// An absolute and a relative tolerance, as tests of NumPy and PyTorch take them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerance {
    /// Where it comes from.
    pub name: String,
    /// The absolute tolerance.
    pub atol: f64,
    /// The relative tolerance.
    pub rtol: f64,
}

impl Tolerance {
    /// True if a value passes beside its reference.
    pub fn passes(&self, value: f64, reference: f64) -> bool {
        (value - reference).abs() <= self.atol + self.rtol * reference.abs()
    }
}

/// The relative tolerance that goes with a format of D: its unit roundoff; 0 for integers.
pub(super) fn relative(d: &Format) -> f64 {
    d.float().map_or(0.0, |float| 1.0 / (1u64 << float.precision()) as f64)
}

/// The tolerance that every element within its bound passes.
///
/// `rest` is the most that the relative tolerance leaves of a bound.
///
/// `None` if a bound is infinite.
pub(super) fn derived(d: &Format, rest: f64) -> Option<Tolerance> {
    let rest = rest.max(0.0);
    rest.is_finite().then(|| Tolerance { name: "derived".into(), atol: rounded_up(rest), rtol: relative(d) })
}

/// A number rounded up to two digits.
fn rounded_up(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let unit = 10.0f64.powi(x.log10().floor() as i32 - 1);
    let text = format!("{:.1e}", (x / unit).ceil() * unit);
    let rounded: f64 = text.parse().unwrap_or(x);
    if rounded >= x { rounded } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_never_goes_below() {
        for x in [0.0, 1e-9, 1.04e-3, 1.0, 9.99e5, 0.1 + 0.2, 3.1e-300] {
            let up = rounded_up(x);
            assert!(up >= x && up <= x * 1.11, "{x:e} {up:e}");
        }
    }
}
