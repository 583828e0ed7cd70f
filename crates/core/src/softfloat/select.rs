//! Minimum and maximum, and the neighbours of a number.

use std::cmp::Ordering;

use super::{
    Flags, Operation, Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::OperandClass,
};

impl<F: FormatFields> Datapath<'_, F> {
    /// Minimum or maximum by one of the six operations: an operand, exactly. -0 is below +0.
    pub(super) fn select(&self, operation: Operation, x: u64, y: u64) -> Outcome {
        use Operation::*;
        let [x_kind, y_kind] = [x, y].map(|code| self.kind(code));
        let [x_nan, y_nan] = [x_kind, y_kind].map(|kind| kind == OperandClass::Nan);
        if x_nan || y_nan {
            let flags = Flags::INVALID.when(self.signals(x) || self.signals(y));
            let number = if x_nan { y } else { x };
            let number_wins = match operation {
                MinimumNumber | MaximumNumber => true,
                MinNum | MaxNum => flags == Flags::NONE,
                _ => false,
            };
            if number_wins && !(x_nan && y_nan) {
                return Outcome { flags, ..self.itself(number) };
            }
            return self.nan_of(&[x, y]);
        }
        let largest = matches!(operation, Maximum | MaximumNumber | MaxNum);
        let first = match self.compare(x, y) {
            Some(Ordering::Less) => !largest,
            Some(Ordering::Greater) => largest,
            // Equal numbers differ at most in the sign of a zero.
            _ => self.layout().negative(x) != largest,
        };
        self.itself(if first { x } else { y })
    }

    pub(super) fn next_up(&self, x: u64) -> Outcome {
        self.neighbour(x, true)
    }

    pub(super) fn next_down(&self, x: u64) -> Outcome {
        self.neighbour(x, false)
    }

    fn neighbour(&self, x: u64, up: bool) -> Outcome {
        let operand = self.operand::<u64>(x);
        let exact = |code: u64| Outcome { code: Some(code), flags: Flags::NONE };
        let magnitude = self.layout().magnitude(x);
        match operand.kind {
            OperandClass::Nan => self.nan_of(&[x]),
            // The smallest number beyond zero, for either sign of the zero; an unsigned format has nothing below.
            OperandClass::Zero => exact(if up || self.layout().signed() { self.layout().assemble(!up, 1) } else { 0 }),
            _ if operand.negative != up => {
                let last = self.layout().largest + u64::from(self.format.has_infinity());
                exact(self.layout().assemble(operand.negative, (magnitude + 1).min(last)))
            }
            // Without a zero the smallest number of the other sign is next, if there is one.
            _ if magnitude == 0 => exact(self.layout().assemble(!operand.negative, 0)),
            _ if magnitude == 1 && self.layout().has_zero => self.zero(operand.negative),
            _ => exact(self.layout().assemble(operand.negative, magnitude - 1)),
        }
    }

    /// x as the result of an operation: without padding, flushed if subnormal operands are.
    fn itself(&self, x: u64) -> Outcome {
        let negative = self.layout().negative(x);
        match self.kind(x) {
            OperandClass::Zero => self.zero(negative),
            _ => {
                Outcome { code: Some(self.layout().assemble(negative, self.layout().magnitude(x))), flags: Flags::NONE }
            }
        }
    }
}
