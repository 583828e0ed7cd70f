//! Rules by which the scale of a block follows from its values.

use super::{BlockFormat, Element, extreme::Extreme};
use crate::number::{Finite, Rounding};

/// Rule for the scale of a block, or of other values that share a scale.
#[derive(Debug, PartialEq)]
pub struct ScaleRule {
    /// Canonical name, with the parameter if the rule has one.
    pub name: &'static str,
    /// Other accepted spellings, in lower case.
    pub(super) aliases: &'static [&'static str],
    pub(super) choice: Choice,
    /// Effect, or the document that describes the rule.
    pub source: &'static str,
}

/// Choice of a scale from the values of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice {
    /// The largest magnitude of the block.
    Largest(Quotient),
    /// The magnitude that this percentage of the values does not exceed, over the largest element.
    Percentile(f64),
    /// Better of two scales, by squared error.
    ///
    /// Under them the largest magnitude becomes the largest element, or the one before. The scale of the tensor makes
    /// the number the largest scale of a block.
    TwoTops(u32),
    /// The least loss under every scale.
    Least(Loss),
    /// The value of largest magnitude becomes the most negative integer.
    ///
    /// Elements follow from the scale before its rounding.
    Extreme,
}

/// Sum over the elements of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// Squares of the errors.
    Squares,
    /// Magnitudes of the errors.
    Magnitudes,
}

/// `amax` divided by a number of the element format and by the tensor's scale, and rounded to a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quotient {
    /// True if `amax` is first rounded to the element's precision, unbounded exponent, ties away from zero.
    pub(super) rounds_amax: bool,
    pub(super) divisor: Divisor,
    /// True if the quotient is first rounded up to a power of two.
    pub(super) to_power: bool,
    /// Rounding of the quotient to the format of the scale.
    pub(super) rounding: Rounding,
}

/// Divisor of the largest magnitude of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Divisor {
    /// Largest power of two among the element's values: `2^emax`.
    LargestPower,
    /// Largest element.
    Largest,
    /// Largest element but one.
    SecondLargest,
}

/// Largest scale of a block under the rule of two tops, without another choice.
const TOP: u32 = 256;

const fn largest(rounds_amax: bool, divisor: Divisor, rounding: Rounding) -> Choice {
    Choice::Largest(Quotient { rounds_amax, divisor, to_power: false, rounding })
}

/// The smallest power of two that is no smaller than the quotient by the largest element.
const POWER: Choice =
    Choice::Largest(Quotient { rounds_amax: false, divisor: Divisor::Largest, to_power: true, rounding: Rounding::Ru });

/// The quotient by the largest element, to nearest.
pub(super) const NEAREST: Quotient =
    Quotient { rounds_amax: false, divisor: Divisor::Largest, to_power: false, rounding: Rounding::Rne };
/// The quotient by the largest element but one, to nearest.
pub(super) const SECOND: Quotient = Quotient { divisor: Divisor::SecondLargest, ..NEAREST };

/// All scale rules, those with a parameter by its usual value.
#[rustfmt::skip]
pub static SCALE_RULES: &[ScaleRule] = &[
    ScaleRule { name: "floor", aliases: &["ocp"], choice: largest(false, Divisor::LargestPower, Rounding::Rz),
        source: "OCP MX Specification 1.0, 6.3; torchao, ScaleCalculationMode.FLOOR" },
    ScaleRule { name: "ceil", aliases: &[], choice: largest(false, Divisor::LargestPower, Rounding::Ru),
        source: "torchao, ScaleCalculationMode.CEIL" },
    ScaleRule { name: "even", aliases: &[], choice: largest(true, Divisor::LargestPower, Rounding::Rz),
        source: "torchao, ScaleCalculationMode.EVEN" },
    ScaleRule { name: "up", aliases: &["round-up", "rceil"], choice: largest(false, Divisor::Largest, Rounding::Ru),
        source: "NVIDIA, cuBLAS, 1D Block Quantization with UE8M0 scales; torchao, ScaleCalculationMode.RCEIL" },
    ScaleRule { name: "pow2", aliases: &["power-of-two"], choice: POWER,
        source: "the smallest power of two under which nothing saturates" },
    ScaleRule { name: "nearest", aliases: &["rne", "absmax"], choice: Choice::Largest(NEAREST),
        source: "NVIDIA, Pretraining Large Language Models with NVFP4 (2025)" },
    ScaleRule { name: "mse", aliases: &["least-squares"], choice: Choice::Least(Loss::Squares),
        source: "the scale of least squared error, of all that the format has; of f32 scales, some 30 are tried" },
    ScaleRule { name: "mae", aliases: &[], choice: Choice::Least(Loss::Magnitudes),
        source: "the scale of least absolute error, of all that the format has; of f32 scales, some 30 are tried" },
    ScaleRule { name: "percentile", aliases: &[], choice: Choice::Percentile(99.9),
        source: "`nearest`, of the magnitude that P percent of the values do not exceed; others saturate" },
    ScaleRule { name: "four-over-six", aliases: &["4over6", "4/6"], choice: Choice::TwoTops(TOP),
        source: "Cook et al., Four Over Six: More Accurate NVFP4 Quantization with Adaptive Block Scaling (2025)" },
    ScaleRule { name: "extreme", aliases: &[], choice: Choice::Extreme,
        source: "ggml, quantize_row_q4_0_ref: the value of largest magnitude over the most negative integer, with its sign" },
];

impl ScaleRule {
    /// Why the scales of a block format cannot follow the rule; `None` if they can.
    ///
    /// `extreme` needs elements that are integers of two's complement, and scales with a sign. Under another format, a
    /// [`Quantizer`](super::Quantizer) with this rule follows `nearest`.
    pub fn refusal(&self, format: &BlockFormat) -> Option<String> {
        if format.offset.is_some()
            && self.choice != Choice::Largest(NEAREST)
            && self.choice != Choice::Least(Loss::Squares)
        {
            return Some(format!("{self} finds no offsets, which {format} has; choose nearest or mse"));
        }
        if let (Choice::TwoTops(largest), None) = (self.choice, format.tensor_scale)
            && largest != TOP
        {
            return Some(format!(
                "{self} sets the largest scale of a block through the scale of the tensor, which {format} lacks; \
                 omit ':{largest}'"
            ));
        }
        let applies = self.choice != Choice::Extreme || Extreme::new(format).is_some();
        (!applies).then(|| {
            format!(
                "{self} needs elements of two's complement and a scale with a sign, as q4-0 has, and {format} has {} and {}; \
                 choose another rule, such as nearest",
                format.element.format, format.scale
            )
        })
    }

    /// Rule with this parameter; `None` if the rule has none, or not this one.
    pub(super) fn with(&self, parameter: &str) -> Option<Choice> {
        match self.choice {
            Choice::Percentile(_) => {
                let share: f64 = parameter.parse().ok()?;
                (share > 0.0 && share <= 100.0).then_some(Choice::Percentile(share))
            }
            Choice::TwoTops(_) => {
                [448, 384, 256].into_iter().find(|top| top.to_string() == parameter).map(Choice::TwoTops)
            }
            _ => None,
        }
    }

    /// True if a scale needs all values that share it at once.
    ///
    /// It follows neither from the largest magnitude nor from sums.
    pub fn needs_all_values(&self) -> bool {
        matches!(self.choice, Choice::Percentile(_) | Choice::Extreme)
    }

    /// Largest scale of a block that the tensor's scale allows for; `None`: the format's largest.
    pub(super) fn largest_scale(&self) -> Option<Finite> {
        match self.choice {
            Choice::TwoTops(largest) => Some(Finite::exact(false, largest.into(), 0)),
            _ => None,
        }
    }
}

impl Quotient {
    /// Quotient that is rounded to the format of the scale: exact, or sticky.
    pub(super) fn of(&self, amax: &Finite, element: &Element, tensor_scale: &Finite) -> Finite {
        let amax = if self.rounds_amax { amax.rounded_to_precision(element.precision(), Rounding::Rna) } else { *amax };
        let quotient = amax.over(&self.divisor(element).times(tensor_scale));
        if self.to_power { quotient.rounded_to_precision(1, Rounding::Ru) } else { quotient }
    }

    /// Number of the element format that divides the largest magnitude.
    pub(super) fn divisor(&self, element: &Element) -> Finite {
        match self.divisor {
            Divisor::LargestPower => Finite::exact(false, 1, element.emax()),
            Divisor::Largest => element.largest(),
            Divisor::SecondLargest => element.second_largest(),
        }
    }
}

impl std::fmt::Display for ScaleRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}
