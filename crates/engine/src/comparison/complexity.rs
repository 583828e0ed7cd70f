//! Complexity of cases.

use crate::{
    format::{Class, Format},
    isa::{Case, Instruction},
};

/// The complexity of a case, compared member by member in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complexity {
    /// Nonzero terms: products that are not zero (or not finite), and c.
    pub terms: usize,
    /// Infinities and NaNs among the operands.
    pub specials: usize,
    /// Codes other than 0, and codes with ignored bits set.
    pub codes: usize,
    /// Bits of all significands, from the leading to the last set bit.
    pub bits: u32,
    /// Magnitude of the exponent of the largest term.
    pub largest: u32,
    /// Sum of the magnitudes of all leading bits' exponents.
    pub exponents: u32,
    /// Negative operands.
    pub negatives: usize,
    /// Sum of the positions along k of all nonzero codes, and of sparse elements in their chunks.
    pub positions: usize,
    /// The codes, so that different cases never compare equal.
    codes_in_order: Vec<u64>,
}

impl Complexity {
    /// Computes the complexity of `case`.
    pub fn of(i: &Instruction, case: &Case) -> Complexity {
        let products = (0..case.a.len()).filter(|at| is_term(i, case.a[*at], case.b[case.logical(i, *at)])).count();
        let mut cost = Complexity {
            terms: products + usize::from(is_nonzero(i.c, case.c)),
            specials: 0,
            codes: 0,
            bits: 0,
            largest: largest(i, case).map_or(0, i32::unsigned_abs),
            exponents: 0,
            negatives: 0,
            positions: case.positions.iter().sum::<u64>() as usize,
            codes_in_order: [&case.a[..], &case.b, &[case.c], &case.positions, &case.scale_a, &case.scale_b].concat(),
        };
        case.a.iter().enumerate().for_each(|(at, code)| cost.add(i.a, *code, at));
        case.b.iter().enumerate().for_each(|(at, code)| cost.add(i.b, *code, at));
        cost.add(i.c, case.c, 0);
        if let Some(scale) = i.scale {
            case.scale_a.iter().chain(&case.scale_b).for_each(|code| cost.add(scale.format, *code, 0));
        }
        cost
    }

    fn add(&mut self, format: &Format, code: u64, position: usize) {
        let datum = format.decode(code);
        let padding = format.float().map_or(0, |float| float.padding_bits);
        self.codes += usize::from(code != 0) + usize::from(code & ((1 << padding) - 1) != 0);
        self.positions += if code == 0 { 0 } else { position };
        self.negatives += usize::from(datum.negative);
        match datum.class {
            Class::Nan | Class::Infinite => self.specials += 1,
            Class::Zero => {}
            Class::Subnormal | Class::Normal => {
                let leading = 63 - datum.significand.leading_zeros();
                self.bits += leading + 1 - datum.significand.trailing_zeros();
                self.exponents += (datum.exponent + leading as i32).unsigned_abs();
            }
        }
    }
}

/// The exponent of the largest finite term; for products, the sum of the factors' exponents.
fn largest(i: &Instruction, case: &Case) -> Option<i32> {
    let product = |at: usize| Some(leading(i.a, case.a[at])? + leading(i.b, case.b[case.logical(i, at)])?);
    (0..case.a.len()).filter_map(product).chain(leading(i.c, case.c)).max()
}

/// The exponent of the leading bit; `None` for zeros, infinities and NaN.
pub(crate) fn leading(format: &Format, code: u64) -> Option<i32> {
    let datum = format.decode(code);
    (datum.is_finite() && datum.significand != 0)
        .then(|| datum.exponent + 63 - datum.significand.leading_zeros() as i32)
}

/// Returns true if a code is not zero.
fn is_nonzero(format: &Format, code: u64) -> bool {
    format.decode(code).class != Class::Zero
}

/// Returns true if the product of two codes is not zero.
fn is_term(i: &Instruction, a: u64, b: u64) -> bool {
    let (a, b) = (i.a.decode(a), i.b.decode(b));
    (a.class != Class::Zero && b.class != Class::Zero) || !a.is_finite() || !b.is_finite()
}
