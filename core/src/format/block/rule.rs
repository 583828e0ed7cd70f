//! How the scale of a block follows from its largest magnitude.

use super::Element;
use crate::number::{Finite, Rounding};

/// A rule for the scale: `amax`, the largest magnitude of the block, is divided by a number of the element format (and by the
/// tensor's scale), and the quotient is rounded to the format of the scale.
#[derive(Debug, PartialEq)]
pub struct ScaleRule {
    /// The canonical name.
    pub name: &'static str,
    /// Other accepted spellings, in lower case.
    pub aliases: &'static [&'static str],
    /// Whether `amax` is first rounded to the element's precision, its exponent unbounded, ties away from zero.
    pub rounds_amax: bool,
    /// What `amax` is divided by.
    pub divisor: Divisor,
    /// How the quotient is rounded to the format of the scale.
    pub rounding: Rounding,
    /// The published definition that it restates.
    pub source: &'static str,
}

/// What the largest magnitude of a block is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// The largest power of two among the element's values: `2^emax`.
    LargestPower,
    /// The largest element.
    Largest,
}

/// Every rule, with powers of two as scales: `floor` is `2^(floor(log2 amax) - emax)`, `ceil` is
/// `2^(ceil(log2 amax) - emax)`, `even` is `floor` of the rounded `amax`, `up` is the smallest `2^k` under which no element
/// saturates (`amax <= largest * 2^k`), and `nearest` is the one nearest to `amax / largest`, half-way cases up.
#[rustfmt::skip]
pub static SCALE_RULES: &[ScaleRule] = &[
    ScaleRule { name: "floor", aliases: &["ocp"], rounds_amax: false, divisor: Divisor::LargestPower, rounding: Rounding::Rz,
        source: "OCP MX Specification 1.0, 6.3; torchao ScaleCalculationMode.FLOOR" },
    ScaleRule { name: "ceil", aliases: &[], rounds_amax: false, divisor: Divisor::LargestPower, rounding: Rounding::Ru,
        source: "torchao ScaleCalculationMode.CEIL" },
    ScaleRule { name: "even", aliases: &[], rounds_amax: true, divisor: Divisor::LargestPower, rounding: Rounding::Rz,
        source: "torchao ScaleCalculationMode.EVEN" },
    ScaleRule { name: "up", aliases: &["round-up", "rceil"], rounds_amax: false, divisor: Divisor::Largest, rounding: Rounding::Ru,
        source: "NVIDIA cuBLAS, 1D Block Quantization with UE8M0 scales; torchao ScaleCalculationMode.RCEIL" },
    ScaleRule { name: "nearest", aliases: &["rne"], rounds_amax: false, divisor: Divisor::Largest, rounding: Rounding::Rne,
        source: "NVIDIA, Pretraining Large Language Models with NVFP4 (2025), NVFP4 quantization" },
];

impl ScaleRule {
    /// The quotient that is rounded to the format of the scale: exact, or sticky.
    pub(super) fn ratio(&self, amax: &Finite, element: &Element, tensor_scale: &Finite) -> Finite {
        let amax = if self.rounds_amax { amax.rounded_to_precision(element.precision(), Rounding::Rna) } else { *amax };
        let divisor = match self.divisor {
            Divisor::LargestPower => Finite::exact(false, 1, element.emax()),
            Divisor::Largest => element.largest(),
        };
        amax.over(&divisor.times(tensor_scale))
    }
}

impl std::fmt::Display for ScaleRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}
