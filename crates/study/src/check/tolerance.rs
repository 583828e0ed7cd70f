//! Tolerances of tests: |D - reference| <= atol + rtol |reference|.

use super::{Criterion, SampledElement, sample::SampleCheck};
use crate::{base::named::named, format::Format};

named! {
    /// The basis of a tolerance: what it is proven for.
    pub enum Basis {
        Magnitudes = "magnitudes": "proven for any operands with these magnitudes, in every order that the claim allows";
        Running = "running": "proven for these operands, in the claimed order";
        Expected = "expected": "statistical: an element exceeds it with probability 10^-6 at most, if rounding errors are independent and uniform";
    }
}

/// An absolute and a relative tolerance, as tests of NumPy and PyTorch take them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerance {
    /// Its basis.
    pub basis: Basis,
    /// The absolute tolerance.
    pub atol: f64,
    /// The relative tolerance.
    pub rtol: f64,
    /// Elements whose bounds it covers.
    pub elements: usize,
}

impl Tolerance {
    /// The test with this tolerance.
    pub fn criterion(&self) -> Criterion {
        Criterion::close(self.basis.name(), self.atol, self.rtol)
    }
}

/// The tolerances that the bounds of a sample justify, but that of a basis which all elements justify.
///
/// None where the sum of an element may overflow.
pub(super) fn of_sample(d: &Format, sample: &SampleCheck, known: Option<Basis>) -> Vec<Tolerance> {
    if sample.bounded.iter().any(|element| element.open) {
        return Vec::new();
    }
    let of_basis = |basis: Basis| {
        let bounds: Option<Vec<(f64, &SampledElement)>> =
            sample.bounded.iter().map(|element| Some((element.bound(basis)?, element))).collect();
        let rest = |(bound, element): &(f64, &SampledElement)| {
            bound + element.reference_error - relative(d) * element.exact.abs()
        };
        let bounds = bounds.filter(|bounds| !bounds.is_empty())?;
        derived(d, basis, bounds.iter().map(rest).fold(0.0, f64::max), bounds.len())
    };
    Basis::ALL.into_iter().filter(|basis| Some(*basis) != known).filter_map(of_basis).collect()
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
pub(super) fn derived(d: &Format, basis: Basis, rest: f64, elements: usize) -> Option<Tolerance> {
    let rest = rest.max(0.0);
    rest.is_finite().then(|| Tolerance { basis, atol: rounded_up(rest), rtol: relative(d), elements })
}

/// The tolerances of all products of a batch: the largest of each basis that every product has.
pub(super) fn common(mut each: impl Iterator<Item = Vec<Tolerance>>) -> Vec<Tolerance> {
    let first = each.next().unwrap_or_default();
    each.fold(first, |all, other| {
        let larger = |tolerance: Tolerance| {
            let other = other.iter().find(|other| other.basis == tolerance.basis)?;
            let elements = tolerance.elements + other.elements;
            Some(Tolerance { atol: tolerance.atol.max(other.atol), elements, ..tolerance })
        };
        all.into_iter().filter_map(larger).collect()
    })
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
