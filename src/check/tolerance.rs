//! Tolerances of tests: |D - reference| <= atol + rtol |reference|.

use crate::format::Format;

/// An absolute and a relative tolerance, as `numpy.testing.assert_allclose` and `torch.testing.assert_close` take them.
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

/// The tolerance that every element within its bound passes: rtol is a unit roundoff of D's format, atol the rest of the largest bound.
///
/// `elements` gives the reference and the bound of each element. `None` if a bound is infinite.
pub fn suggested(d: &Format, elements: impl Iterator<Item = (f64, f64)>) -> Option<Tolerance> {
    let rtol = match d.float() {
        Some(float) => 2.0f64.powi(-(float.precision() as i32)),
        None => 0.0,
    };
    let atol = elements.map(|(reference, bound)| (bound - rtol * reference.abs()).max(0.0)).fold(0.0, f64::max);
    atol.is_finite().then(|| Tolerance { name: "derived".into(), atol: rounded_up(atol), rtol })
}

/// A number rounded up to two digits.
pub(super) fn rounded_up(x: f64) -> f64 {
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
