//! Rules by which the scale of a block follows from its largest magnitude.

use super::Element;
use crate::number::{Finite, Rounding};

/// Rule for the scale: `amax` divided by a number of the element format, rounded to a scale.
/// `amax` is the largest magnitude of the block. The quotient is also divided by the tensor's scale.
#[derive(Debug, PartialEq)]
pub struct ScaleRule {
    /// Canonical name.
    pub name: &'static str,
    /// Other accepted spellings, in lower case.
    pub aliases: &'static [&'static str],
    /// True if `amax` is first rounded to the element's precision, unbounded exponent, ties away from zero.
    pub rounds_amax: bool,
    /// Divisor of `amax`.
    pub divisor: Divisor,
    /// Rounding of the quotient to the format of the scale.
    pub rounding: Rounding,
    /// Published definition of the rule.
    pub source: &'static str,
}

/// Divisor of the largest magnitude of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// Largest power of two among the element's values: `2^emax`.
    LargestPower,
    /// Largest element.
    Largest,
}

/// All scale rules.
///
/// With powers of two as scales, `floor` is `2^(floor(log2 amax) - emax)`, `ceil` is `2^(ceil(log2 amax) - emax)`,
/// `even` is `floor` of the rounded `amax`, `up` is the smallest scale under which no element saturates, and `nearest`
/// is the scale nearest to `amax / largest`, ties up.
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
    /// Quotient that is rounded to the format of the scale: exact, or sticky.
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
