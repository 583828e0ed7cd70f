//! Operations on exact values, rounded once to a target.

use crate::{
    format::{Format, Overflow},
    number::{Real, Rounding, product, sum},
};

/// Target of an operation's result: format, rounding, overflow and NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultTarget {
    /// Format of the result.
    pub format: &'static Format,
    /// Rounding direction.
    pub rounding: Rounding,
    /// Treatment of results beyond the largest finite number.
    pub overflow: Overflow,
    /// Code of every NaN result.
    pub nan: u64,
}

impl ResultTarget {
    /// `value` rounded to the target.
    #[inline]
    pub fn round(&self, value: &Real) -> u64 {
        match value {
            Real::Nan => self.nan,
            _ => self.format.encode(value, self.rounding, self.overflow).unwrap_or(self.nan),
        }
    }

    /// True if an exact zero sum of terms without a common sign is -0 (IEEE 754, clause 6.3).
    fn cancels_to_negative(&self) -> bool {
        self.rounding == Rounding::Rd
    }
}

/// `x + y`, rounded once (IEEE 754 addition).
///
/// Infinities of opposite signs give NaN. A zero sum has the sign of its terms where they agree, else +0 (-0 under RD).
pub fn add(x: &Real, y: &Real, target: &ResultTarget) -> u64 {
    target.round(&sum(x, y, target.cancels_to_negative()))
}

/// `x * y + z`, rounded once (IEEE 754 fusedMultiplyAdd).
///
/// Zero times infinity, and infinities of opposite signs, give NaN. Significands of x and y have at most 110 bits in
/// total.
pub fn fma(x: &Real, y: &Real, z: &Real, target: &ResultTarget) -> u64 {
    target.round(&sum(&product(x, y), z, target.cancels_to_negative()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::find,
        softfloat::{Environment, Unit},
    };
    use proptest::prelude::*;

    fn f32_target() -> ResultTarget {
        ResultTarget {
            format: find("f32").unwrap(),
            rounding: Rounding::Rne,
            overflow: Overflow::Standard,
            nan: 0x7fc0_0000,
        }
    }

    fn same(ours: u64, host: f32) -> bool {
        if host.is_nan() { ours == 0x7fc0_0000 } else { ours == u64::from(host.to_bits()) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn f32_addition_is_the_hosts(x: u32, y: u32) {
            let f32 = find("f32").unwrap();
            let sum = add(&f32.value(x.into()), &f32.value(y.into()), &f32_target());
            prop_assert!(same(sum, f32::from_bits(x) + f32::from_bits(y)));
        }

        #[test]
        fn f32_fma_is_the_hosts(x: u32, y: u32, near in -40i32..40, z: u32) {
            let f32 = find("f32").unwrap();
            // A third of random addends lie far from the product: also try one near it, of the opposite sign.
            let product = f32::from_bits(x) * f32::from_bits(y);
            for z in [z, (-product).to_bits().wrapping_add_signed(near)] {
                let [x, y, z] = [x, y, z].map(|v| (f32.value(v.into()), f32::from_bits(v)));
                prop_assert!(same(fma(&x.0, &y.0, &z.0, &f32_target()), x.1.mul_add(y.1, z.1)));
            }
        }

        #[test]
        fn f64_fma_is_the_hosts(x: u64, y: u64, z: u64, near in -40i64..40) {
            let f64 = find("f64").unwrap();
            let target = ResultTarget { format: f64, nan: 0x7ff8_0000_0000_0000, ..f32_target() };
            let product = f64::from_bits(x) * f64::from_bits(y);
            for z in [z, (-product).to_bits().wrapping_add_signed(near)] {
                let host = f64::from_bits(x).mul_add(f64::from_bits(y), f64::from_bits(z));
                let ours = fma(&f64.value(x), &f64.value(y), &f64.value(z), &target);
                prop_assert_eq!(ours, if host.is_nan() { target.nan } else { host.to_bits() });
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn operations_on_values_and_on_codes_agree(x: u32, y: u32, z: u32, near in -40i32..40) {
            for (format, rounding) in ["f32", "f16", "e5m2"].into_iter().flat_map(|f| Rounding::DETERMINISTIC.map(|r| (f, r))) {
                let format = find(format).unwrap();
                let unit = Unit::new(format, Environment { rounding, ..Environment::default() }).unwrap();
                let target = ResultTarget { format, rounding, overflow: Overflow::Standard, nan: format.nan().unwrap() };
                let [x, y, z] = [x, y, z].map(|code| u64::from(code) & format.code_mask());
                for z in [z, unit.mul(x, y).code.unwrap().wrapping_add_signed(near.into()) & format.code_mask()] {
                    let [a, b, c] = [x, y, z].map(|code| format.value(code));
                    prop_assert_eq!(unit.add(x, z).code, Some(add(&a, &c, &target)));
                    prop_assert_eq!(unit.fma(x, y, z).code, Some(fma(&a, &b, &c, &target)));
                }
            }
        }
    }
}
