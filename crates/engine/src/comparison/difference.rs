//! Results on which a device and a model differ.

use serde::{Deserialize, Serialize};

use crate::{
    device::Spot,
    format::{Format, Rounding},
    isa::{Case, Instruction, scalar::Form},
};

/// A case with the outputs of a device and a model.
/// For a scalar instruction, the model is its rule, and the operands are `a[0]`, `b[0]` and `c`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Operands.
    pub case: Case,
    /// Device's code of D.
    pub device: u64,
    /// Model's code of D.
    pub model: u64,
}

/// The place of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResultPlace {
    /// An output of a matrix instruction.
    Output(Spot),
    /// A result of a scalar instruction: number of the input, and lane.
    Lane(u64, usize),
}

/// A differing result, or the simplest of several that differ alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Place of the result.
    pub place: ResultPlace,
    /// Regime of the operands, as an index into the regimes of a campaign; 0 elsewhere.
    pub regime: usize,
    /// Case as found.
    #[serde(rename = "found")]
    pub original: Answer,
    /// Minimal case, if it was reduced.
    pub reduced: Option<Answer>,
    /// Number of results that it represents, including itself.
    pub count: u64,
}

/// The compared instruction.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A matrix instruction.
    Matrix(&'a Instruction),
    /// A scalar instruction.
    Scalar(&'a Form),
}

impl Difference {
    /// Makes a difference as found, which represents itself.
    pub fn of(place: ResultPlace, answer: Answer) -> Difference {
        Difference { place, regime: 0, original: answer, reduced: None, count: 1 }
    }

    /// The reduced case, or else the case as found.
    pub fn simplest(&self) -> &Answer {
        self.reduced.as_ref().unwrap_or(&self.original)
    }
}

impl ResultPlace {
    /// The output; `None` for a result of a scalar instruction.
    pub fn spot(&self) -> Option<Spot> {
        match self {
            ResultPlace::Output(spot) => Some(*spot),
            ResultPlace::Lane(..) => None,
        }
    }
}

impl Subject<'_> {
    /// Name of the instruction.
    pub fn name(&self) -> &str {
        match self {
            Subject::Matrix(instruction) => &instruction.name,
            Subject::Scalar(form) => &form.ptx,
        }
    }

    /// Formats of A, B, C and D; for a scalar instruction, of the operands and the result.
    pub fn formats(&self) -> [&'static Format; 4] {
        match self {
            Subject::Matrix(i) => [i.a, i.b, i.c, i.d],
            Subject::Scalar(form) => [form.source, form.source, form.source, form.result],
        }
    }

    /// Format of block scales, if there are any.
    pub fn scale(&self) -> Option<&'static Format> {
        match self {
            Subject::Matrix(i) => i.scale.map(|scale| scale.format),
            Subject::Scalar(_) => None,
        }
    }

    /// Returns true if there is a third operand.
    pub fn has_c(&self) -> bool {
        match self {
            Subject::Matrix(_) => true,
            Subject::Scalar(form) => form.operation.operands() > 2,
        }
    }

    /// The exact result of `case`, correctly rounded (to nearest, ties to even), as a code of D.
    /// Integers wrap or saturate as the instruction does. `None` for scalar instructions, whose rule is exact, and
    /// where D has no such code.
    pub fn exact(&self, case: &Case) -> Option<u64> {
        match self {
            Subject::Matrix(i) => case.exact(i, Rounding::Rne),
            Subject::Scalar(_) => None,
        }
    }
}
