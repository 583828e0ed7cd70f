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
    pub(super) aliases: &'static [&'static str],
    /// True if `amax` is first rounded to the element's precision, unbounded exponent, ties away from zero.
    rounds_amax: bool,
    divisor: Divisor,
    /// Rounding of the quotient to the format of the scale.
    pub(super) rounding: Rounding,
}

/// Divisor of the largest magnitude of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Divisor {
    /// Largest power of two among the element's values: `2^emax`.
    LargestPower,
    /// Largest element.
    Largest,
}

/// All scale rules.
#[rustfmt::skip]
pub static SCALE_RULES: &[ScaleRule] = &[
    // OCP MX Specification 1.0, 6.3; torchao ScaleCalculationMode.FLOOR.
    ScaleRule { name: "floor", aliases: &["ocp"], rounds_amax: false, divisor: Divisor::LargestPower, rounding: Rounding::Rz },
    // torchao ScaleCalculationMode.CEIL.
    ScaleRule { name: "ceil", aliases: &[], rounds_amax: false, divisor: Divisor::LargestPower, rounding: Rounding::Ru },
    // torchao ScaleCalculationMode.EVEN.
    ScaleRule { name: "even", aliases: &[], rounds_amax: true, divisor: Divisor::LargestPower, rounding: Rounding::Rz },
    // NVIDIA cuBLAS, 1D Block Quantization with UE8M0 scales; torchao ScaleCalculationMode.RCEIL.
    ScaleRule { name: "up", aliases: &["round-up", "rceil"], rounds_amax: false, divisor: Divisor::Largest, rounding: Rounding::Ru },
    // NVIDIA, Pretraining Large Language Models with NVFP4 (2025), NVFP4 quantization.
    ScaleRule { name: "nearest", aliases: &["rne"], rounds_amax: false, divisor: Divisor::Largest, rounding: Rounding::Rne },
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
