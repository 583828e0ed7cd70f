//! Operations on formats by table: MPFR's result, rounded by searching all values.

use std::cmp::Ordering;

use rug::{
    Assign, Float,
    float::{Round, Special},
    ops::AssignRound,
};

use super::{Reference, away_from_zero, truth};
use crate::{
    format::{Format, Overflow, Rounding, ValueTable, mpfr},
    softfloat::{Environment, Flags, NanRule, Operation, Outcome},
};

impl Reference {
    pub(super) fn apply_to_table(
        &mut self,
        format: &Format,
        environment: &Environment,
        operation: Operation,
        codes: &[u64],
    ) -> Outcome {
        use Operation::*;
        let table = format.table().expect("a format by table");
        for (value, code) in self.operands.iter_mut().zip(codes) {
            mpfr::decode_into(value, format, *code);
        }
        let [x, y, z] = &self.operands;
        let some_nan = self.operands[..codes.len()].iter().any(Float::is_nan);
        let nan = mpfr_code(format, &Float::with_val(64, Special::Nan), environment, &mut self.rounder);
        match operation {
            Equal | EqualSignaling | Less | LessQuiet | LessEqual | LessEqualQuiet | Unordered => {
                let order = x.partial_cmp(y);
                let holds = match operation {
                    Equal | EqualSignaling => order == Some(Ordering::Equal),
                    Less | LessQuiet => order == Some(Ordering::Less),
                    LessEqual | LessEqualQuiet => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                    _ => order.is_none(),
                };
                let signalling = matches!(operation, EqualSignaling | Less | LessEqual);
                return truth(holds, Flags::INVALID.when(some_nan && signalling));
            }
            TotalOrder => {
                let ordered = match (x.is_nan(), y.is_nan()) {
                    (x_nan, y_nan) if x_nan || y_nan => y_nan,
                    _ if x.is_zero() && y.is_zero() => x.is_sign_negative() || y.is_sign_positive(),
                    _ => x <= y,
                };
                return truth(ordered, Flags::NONE);
            }
            Classify => return Outcome { code: None, flags: Flags::INVALID },
            Minimum | Maximum | MinimumNumber | MaximumNumber | MinNum | MaxNum => {
                let least = matches!(operation, Minimum | MinimumNumber | MinNum);
                let chosen = match (x.is_nan(), y.is_nan()) {
                    (false, false) if x.is_zero() && y.is_zero() => {
                        if x.is_sign_negative() == least {
                            x
                        } else {
                            y
                        }
                    }
                    (false, false) => {
                        if (x < y) == least {
                            x
                        } else {
                            y
                        }
                    }
                    _ if matches!(operation, Minimum | Maximum) => {
                        if x.is_nan() {
                            x
                        } else {
                            y
                        }
                    }
                    (x_nan, _) => {
                        if x_nan {
                            y
                        } else {
                            x
                        }
                    }
                };
                let code = mpfr_code(format, chosen, &keeping(environment), &mut self.rounder);
                return Outcome { code, flags: Flags::NONE };
            }
            _ => {}
        }
        if some_nan {
            let no_product = x.is_zero() && y.is_infinite() || x.is_infinite() && y.is_zero();
            let invalid = operation == Fma && no_product && environment.nan != NanRule::X86;
            return Outcome { code: nan, flags: Flags::INVALID.when(invalid) };
        }
        if matches!(operation, NextUp | NextDown) {
            let up = operation == NextUp;
            let neighbour = next(table, x, up).unwrap_or_else(|| x.clone());
            let code = mpfr_code(format, &neighbour, &keeping(environment), &mut self.rounder);
            return Outcome { code, flags: Flags::NONE };
        }
        let mut inexact_units = false;
        let cut = &mut self.cut;
        let ternary = match operation {
            Add => cut.assign_round(x + y, Round::Zero),
            Sub => cut.assign_round(x - y, Round::Zero),
            Mul => cut.assign_round(x * y, Round::Zero),
            Div => cut.assign_round(x / y, Round::Zero),
            Sqrt => cut.assign_round(x.sqrt_ref(), Round::Zero),
            Fma => cut.assign_round(x.mul_add_ref(y, z), Round::Zero),
            Rem => cut.assign_round(x.remainder_ref(y), Round::Zero),
            _ => {
                cut.assign(x);
                if x.is_finite() && !x.is_integer() {
                    let (units, inexact) = self.rounder.units_of(x, 0, environment.rounding);
                    inexact_units = inexact;
                    cut.assign(units);
                    if x.is_sign_negative() {
                        *cut *= -1;
                    }
                }
                Ordering::Equal
            }
        };
        if cut.is_nan() {
            return Outcome { code: nan, flags: Flags::INVALID };
        }
        let [first, second] = match operation {
            Add => [x.is_sign_negative(), y.is_sign_negative()],
            Sub => [x.is_sign_negative(), !y.is_sign_negative()],
            Fma => [x.is_sign_negative() != y.is_sign_negative(), z.is_sign_negative()],
            _ => [false; 2],
        };
        if cut.is_zero() && first != second && environment.rounding == Rounding::Rd {
            cut.assign(Special::NegZero);
        }
        let pole = operation == Div && y.is_zero() && x.is_finite();
        self.exact.assign(&self.cut);
        if ternary != Ordering::Equal {
            away_from_zero(&mut self.exact);
        }
        let outcome = self.finish_in_table(format, table, environment);
        let flags = outcome.flags | Flags::DIVIDE_BY_ZERO.when(pole) | Flags::INEXACT.when(inexact_units);
        Outcome { flags: if operation == Rint { flags.without(Flags::INEXACT) } else { flags }, ..outcome }
    }

    /// Code in a table of the number or infinity in `exact`, and its exceptions.
    pub(super) fn finish_in_table(
        &mut self,
        format: &Format,
        table: &ValueTable,
        environment: &Environment,
    ) -> Outcome {
        let value = &self.exact;
        let Some(code) = mpfr_code(format, value, environment, &mut self.rounder) else {
            return Outcome { code: None, flags: Flags::INVALID };
        };
        let kept = *value == table.values()[code as usize];
        let overflow = !kept && overflows(table, value, environment.rounding);
        Outcome { code: Some(code), flags: Flags::INEXACT.when(!kept) | Flags::OVERFLOW.when(overflow) }
    }
}

/// True for infinities, and for numbers beyond the table's and its limit.
fn overflows(table: &ValueTable, value: &Float, rounding: Rounding) -> bool {
    let numbers = || table.values().iter().copied().filter(|value| value.is_finite());
    let [smallest, largest] = [numbers().fold(f64::MAX, f64::min), numbers().fold(f64::MIN, f64::max)];
    let (above, below) = (*value > largest, *value < smallest);
    // Numbers on the other side of zero leave a gap that is no overflow.
    let gap = below && smallest > 0.0 && *value >= 0 || above && largest < 0.0 && *value <= 0;
    let outward = above && rounding == Rounding::Ru || below && rounding == Rounding::Rd;
    let past = match table.nearest().limit {
        None => true,
        Some(limit) => limit.is_finite() && (outward || value.clone().abs() >= limit),
    };
    value.is_infinite() || (above || below) && !gap && past
}

/// Least value above, or greatest below; infinities of the table count.
fn next(table: &ValueTable, x: &Float, up: bool) -> Option<Float> {
    let values = table.values().iter().filter(|value| !value.is_nan()).map(|value| Float::with_val(64, *value));
    match up {
        true => values.filter(|value| value > x).min_by(|a, b| a.partial_cmp(b).expect("no NaN")),
        false => values.filter(|value| value < x).max_by(|a, b| a.partial_cmp(b).expect("no NaN")),
    }
}

/// Environment in which every value of the table keeps its code.
fn keeping(environment: &Environment) -> Environment {
    Environment { overflow: Overflow::SaturateFinite, ..*environment }
}

fn mpfr_code(format: &Format, value: &Float, environment: &Environment, rounder: &mut mpfr::Rounder) -> Option<u64> {
    rounder.round(value, format, environment.rounding, environment.overflow)
}
