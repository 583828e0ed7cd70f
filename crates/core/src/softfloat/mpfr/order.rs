//! Comparisons, minima and maxima, total order and classes.

use std::cmp::Ordering;

use super::{Reference, fields, truth};
use crate::{
    format::{self, Zeros},
    softfloat::{CLASSES, Environment, Flags, Operation, Outcome},
};

impl Reference {
    /// Comparison predicates of clause 5.11.
    pub(super) fn compare(&self, record: &format::Float, operation: Operation, codes: &[u64]) -> Outcome {
        let [x, y, _] = &self.operands;
        // NaN has no order. MPFR's -0 equals +0.
        let order = x.partial_cmp(y);
        let signaling = matches!(operation, Operation::EqualSignaling | Operation::Less | Operation::LessEqual);
        let invalid = order.is_none() && (signaling || fields::any_signaling(record, codes));
        let holds = match operation {
            Operation::Equal | Operation::EqualSignaling => order == Some(Ordering::Equal),
            Operation::Less | Operation::LessQuiet => order == Some(Ordering::Less),
            Operation::LessEqual | Operation::LessEqualQuiet => order.is_some_and(Ordering::is_le),
            Operation::Unordered => order.is_none(),
            _ => unreachable!("{} is no comparison", operation.name()),
        };
        truth(holds, Flags::INVALID.when(invalid))
    }

    /// Minima and maxima of IEEE 754-2019 (clause 9.6) and IEEE 754-2008 (clause 5.3.1).
    pub(super) fn extremum(
        &self,
        record: &format::Float,
        environment: &Environment,
        operation: Operation,
        codes: &[u64],
    ) -> Outcome {
        let [x, y, _] = &self.operands;
        let least = matches!(operation, Operation::Minimum | Operation::MinimumNumber | Operation::MinNum);
        let signaling = fields::any_signaling(record, codes);
        let passes_nan = match operation {
            Operation::Minimum | Operation::Maximum => true,
            Operation::MinNum | Operation::MaxNum => signaling,
            _ => false,
        };
        let flags = Flags::INVALID.when(signaling);
        let code = match (x.is_nan(), y.is_nan()) {
            (false, false) => {
                // Minus zero lies below plus zero.
                let zeros = x.is_zero() && y.is_zero();
                let below = if zeros { x.is_sign_negative() } else { x < y };
                if below == least { codes[0] } else { codes[1] }
            }
            (true, false) if !passes_nan => codes[1],
            (false, true) if !passes_nan => codes[0],
            _ => return fields::nan_of(record, environment.nan, codes),
        };
        Outcome { code: Some(code), flags }
    }

    /// totalOrder(x, y) (clause 5.10).
    pub(super) fn total_order(&self, record: &format::Float, codes: &[u64]) -> bool {
        let [x, y, _] = &self.operands;
        // The NaN of FNUZ formats has no sign.
        let negative = |code| fields::negative(record, code) && !record.specials.takes_negative_zero();
        let signs = [negative(codes[0]), negative(codes[1])];
        match (x.is_nan(), y.is_nan()) {
            (true, false) => signs[0],
            (false, true) => !signs[1],
            (true, true) if signs[0] != signs[1] => signs[0],
            (true, true) => {
                // Signalling below quiet, and smaller payloads below larger ones, for positive NaNs.
                let rank = |code| (!fields::is_signaling(record, code), fields::trailing(record, code));
                let [x, y] = if signs[0] { [codes[1], codes[0]] } else { [codes[0], codes[1]] };
                rank(x) <= rank(y)
            }
            (false, false) if x.is_zero() && y.is_zero() => x.is_sign_negative() || y.is_sign_positive(),
            (false, false) => x <= y,
        }
    }

    /// class(x) (clause 5.7.2).
    pub(super) fn classify(&self, record: &format::Float, codes: &[u64]) -> Outcome {
        let x = &self.operands[0];
        let smallest = fields::smallest_normal(record);
        let kind = if x.is_infinite() {
            "Infinity"
        } else if x.is_zero() {
            "Zero"
        } else if record.zeros != Zeros::None && x.get_exp().is_some_and(|exponent| exponent - 1 < smallest) {
            "Subnormal"
        } else {
            "Normal"
        };
        let name = match x.is_nan() {
            true if fields::is_signaling(record, codes[0]) => "signalingNaN".to_string(),
            true => "quietNaN".to_string(),
            false => format!("{}{kind}", if x.is_sign_negative() { "negative" } else { "positive" }),
        };
        let place = CLASSES.iter().position(|class| *class == name).expect("a class of IEEE 754");
        Outcome { code: Some(place as u64), flags: Flags::NONE }
    }
}
