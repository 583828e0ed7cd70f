//! Comparisons, the total order, and classes.

use std::cmp::Ordering;

use super::{
    Flags, Operation, Outcome,
    datapath::{Datapath, FormatFields},
    nan::is_signalling,
    unpacked::OperandClass,
};
use crate::format::Class;

impl<F: FormatFields> Datapath<'_, F> {
    #[inline]
    pub(super) fn compare(&self, x: u64, y: u64) -> Option<Ordering> {
        Some(self.rank(x)?.cmp(&self.rank(y)?))
    }

    /// Comparison predicate: code 1 if it is true, else 0.
    /// Signalling ones are invalid for every NaN, quiet ones for signalling NaNs only (IEEE 754, clause 5.11).
    pub(super) fn predicate(&self, operation: Operation, x: u64, y: u64) -> Outcome {
        use Operation::*;
        let order = self.compare(x, y);
        let signalling = matches!(operation, EqualSignaling | Less | LessEqual);
        let invalid = order.is_none() && (signalling || self.signals(x) || self.signals(y));
        Outcome { code: Some(operation.holds(order).into()), flags: Flags::INVALID.when(invalid) }
    }

    pub(super) fn total_order(&self, x: u64, y: u64) -> Outcome {
        let place = |code: u64| {
            let magnitude = self.layout().magnitude(code) as i64;
            let nan = self.float.specials.takes_negative_zero() && self.kind(code) == OperandClass::Nan;
            match self.layout().negative(code) {
                // The NaN has the code of -0: above everything.
                _ if nan => i64::MAX,
                // One below the magnitude's negative: -0 is below +0.
                true => -magnitude - 1,
                false => magnitude,
            }
        };
        Outcome { code: Some((place(x) <= place(y)).into()), flags: Flags::NONE }
    }

    pub(super) fn classify(&self, x: u64) -> Outcome {
        let datum = self.format.decode(x);
        let above_zero = match datum.class {
            Class::Nan => {
                let signalling = is_signalling(&datum, &self.float);
                return Outcome { code: Some((!signalling).into()), flags: Flags::NONE };
            }
            Class::Zero => 0,
            Class::Subnormal => 1,
            Class::Normal => 2,
            Class::Infinite => 3,
        };
        let code = if datum.negative { 5 - above_zero } else { 6 + above_zero };
        Outcome { code: Some(code), flags: Flags::NONE }
    }

    /// Rank of a number or infinity among all of them, equal for both zeros; `None` for NaN.
    #[inline]
    fn rank(&self, code: u64) -> Option<i64> {
        let operand = self.operand::<u64>(code);
        match operand.kind {
            OperandClass::Nan => None,
            OperandClass::Zero => Some(0),
            // Without a zero the smallest number has magnitude 0.
            _ => {
                let magnitude = self.layout().magnitude(code) as i64 + i64::from(!self.layout().has_zero);
                Some(if operand.negative { -magnitude } else { magnitude })
            }
        }
    }
}
