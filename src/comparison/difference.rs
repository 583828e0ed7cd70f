//! A result on which a device and a model differ.

use serde::{Deserialize, Serialize};

use crate::{
    device::Spot,
    format::{Format, Rounding},
    isa::{Case, Instruction, scalar::Form},
};

/// A case with the outputs of a device and a model. Of a scalar instruction, whose model is its rule, the first operand is `a[0]`, the
/// second `b[0]`, the third `c`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The operands.
    pub case: Case,
    /// The device's code of D.
    pub device: u64,
    /// The model's code of D.
    pub model: u64,
}

/// Where a result was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResultPlace {
    /// An output of a matrix instruction.
    Output(Spot),
    /// A result of a scalar instruction: the number of the input, and the lane.
    Lane(u64, usize),
}

/// A result on which a device and a model differ, or several that do so alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Difference {
    /// Where it was found.
    pub place: ResultPlace,
    /// As it was found.
    pub found: Answer,
    /// The minimal case that it was reduced to, if it was.
    pub reduced: Option<Answer>,
    /// How many results of the comparison this one stands for, itself included.
    pub count: u64,
}

/// What was compared: an instruction.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A matrix instruction.
    Matrix(&'a Instruction),
    /// A scalar instruction.
    Scalar(&'a Form),
}

impl Difference {
    /// A difference as it was found, which stands for itself.
    pub fn found(place: ResultPlace, found: Answer) -> Difference {
        Difference { place, found, reduced: None, count: 1 }
    }

    /// The reduced case, or the one that was found.
    pub fn simplest(&self) -> &Answer {
        self.reduced.as_ref().unwrap_or(&self.found)
    }
}

impl Subject<'_> {
    /// The name of the instruction.
    pub fn name(&self) -> &str {
        match self {
            Subject::Matrix(instruction) => &instruction.name,
            Subject::Scalar(form) => &form.ptx,
        }
    }

    /// The formats of A, B, C and D; of a scalar instruction those of the operands and of the result.
    pub fn formats(&self) -> [&'static Format; 4] {
        match self {
            Subject::Matrix(i) => [i.a, i.b, i.c, i.d],
            Subject::Scalar(form) => [form.source, form.source, form.source, form.result],
        }
    }

    /// The format of block scales, if there are any.
    pub fn scale(&self) -> Option<&'static Format> {
        match self {
            Subject::Matrix(i) => i.scale.map(|scale| scale.format),
            Subject::Scalar(_) => None,
        }
    }

    /// Whether there is a third operand.
    pub fn has_c(&self) -> bool {
        match self {
            Subject::Matrix(_) => true,
            Subject::Scalar(form) => form.operation.operands() > 2,
        }
    }

    /// The code of the correctly rounded (to nearest, ties to even) exact result of `case`, integers wrapped or saturated as the
    /// instruction does; `None` for scalar instructions, whose rule is exact itself, and where D has no such code.
    pub fn exact(&self, case: &Case) -> Option<u64> {
        match self {
            Subject::Matrix(i) => case.exact(i, Rounding::Rne),
            Subject::Scalar(_) => None,
        }
    }
}
