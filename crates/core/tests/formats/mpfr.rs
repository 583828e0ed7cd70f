//! Decoding and encoding against MPFR: all codes and midpoints of narrow formats, else random numbers.

use crate::{
    cases::{formats, narrow, roundings},
    machine::thorough,
};
use proptest::prelude::*;
use rayon::prelude::*;
use rug::{Assign, Float};
use tcnum_core::format::{
    Finite, Format, Overflow, Real, Rounding,
    mpfr::{self, Rounder},
};

/// Codes of non-negative numbers in ascending order of the code.
fn magnitudes(format: &Format) -> std::ops::RangeInclusive<u64> {
    0..=format.largest(false)
}

/// The number in MPFR; a sticky part becomes the given fraction of the last unit.
fn mpfr_value(real: &Real, sticky: f64) -> Float {
    let mut value = Float::new(256);
    match real {
        Real::Nan => value.assign(rug::float::Special::Nan),
        Real::Infinity { negative: false } => value.assign(rug::float::Special::Infinity),
        Real::Infinity { negative: true } => value.assign(rug::float::Special::NegInfinity),
        Real::Finite(finite) => {
            value.assign(finite.significand);
            if finite.sticky {
                value += sticky;
            }
            value <<= finite.exponent;
            if finite.negative {
                value = -value;
            }
        }
    }
    value
}

#[test]
fn order_of_values_is_order_of_codes() {
    // A table has any order, and one value for each code.
    for format in narrow().filter(|format| format.table().is_none()) {
        let value = |code| mpfr_value(&format.value(code), 0.0);
        for code in magnitudes(format).skip(1) {
            assert!(value(code - 1) < value(code), "{format} {code:#x}");
            let opposite = code | format.largest(true) & !format.largest(false);
            if format.float().is_some_and(|float| float.signed) {
                assert_eq!(value(opposite), -value(code), "{format} {code:#x}");
            }
        }
    }
}

#[test]
fn decoding_agrees_with_mpfr_on_every_code_of_16_bits_or_fewer() {
    let agrees = |format: &Format, code: u64| {
        let (ours, theirs) = (mpfr_value(&format.value(code), 0.0), mpfr::decode(format, code));
        let same_zero = !ours.is_zero() || ours.is_sign_negative() == theirs.is_sign_negative();
        assert!(ours.is_nan() && theirs.is_nan() || ours == theirs && same_zero, "{format} {code:#x}");
    };
    for format in formats() {
        match format.bits {
            ..=16 => (0..=format.code_mask()).for_each(|code| agrees(format, code)),
            _ => (0..1 << 16).for_each(|i: u64| {
                agrees(format, i.reverse_bits() >> (64 - format.bits));
                agrees(format, i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & format.code_mask());
            }),
        }
    }
}

/// Encodes by both routes and compares.
fn compare(rounder: &mut Rounder, format: &Format, real: &Real, sticky: f64, rounding: Rounding, overflow: Overflow) {
    let value = mpfr_value(real, sticky);
    let expected = rounder.round(&value, format, rounding, overflow);
    let ours = format.encode(real, rounding, overflow);
    assert_eq!(ours, expected, "{format} {real:?} {rounding:?} {overflow:?}");
}

#[test]
fn encoding_agrees_with_mpfr_around_every_code_and_midpoint_of_16_bits_or_fewer() {
    let all = thorough();
    for format in narrow() {
        let last = format.largest(false);
        magnitudes(format).collect::<Vec<_>>().par_chunks(256).for_each(|codes| {
            let (mut rounder, roundings) = (Rounder::new(256), roundings());
            // A sample: the smallest, the largest, and one in three between.
            let looked_at = |code: &&u64| all || **code < 300 || last - **code < 8 || code.is_multiple_of(3);
            for code in codes.iter().filter(looked_at) {
                let datum = format.decode(*code);
                // Eighths of the distance to the next number, 67 bits further right a little more or less, or sticky.
                let base = u128::from(datum.significand) << 70;
                for eighth in [0, 1, 3, 4, 5, 7] {
                    let point = base + (eighth << 67);
                    for (significand, sticky) in [(point.saturating_sub(1), false), (point, false), (point, true)] {
                        for (index, rounding) in roundings.iter().enumerate() {
                            // Both signs for the smallest numbers, else one of them.
                            let chosen = (index + eighth as usize + usize::from(sticky)) % 2 == 1;
                            for negative in [false, true].into_iter().filter(|sign| *code < 300 || *sign == chosen) {
                                let finite = Finite { negative, significand, exponent: datum.exponent - 70, sticky };
                                let overflows = if last - code < 8 { &Overflow::ALL[..] } else { &Overflow::ALL[..1] };
                                for overflow in overflows {
                                    compare(&mut rounder, format, &Real::Finite(finite), 0.5, *rounding, *overflow);
                                }
                            }
                        }
                    }
                }
            }
        });
    }
}

#[test]
fn encoding_agrees_with_mpfr_far_outside_every_range() {
    let mut rounder = Rounder::new(256);
    for format in formats() {
        let largest = format.decode(format.largest(false));
        let mut finites = vec![];
        for negative in [false, true] {
            finites.push(Finite::zero(negative));
            for exponent in
                (-2600..2600).step_by(97).chain(-1080..-1070).chain(-160..-120).chain(-30..40).chain(120..135)
            {
                for significand in [1, 3, 5, u128::MAX, u128::MAX - (1 << 70), 1 << 127] {
                    finites.push(Finite::exact(negative, significand, exponent));
                }
            }
            // Around the largest number, in 16ths of it.
            for sixteenths in 14..40 {
                let significand = u128::from(largest.significand) * sixteenths;
                finites.push(Finite::exact(negative, significand, largest.exponent - 4));
                finites.push(Finite::exact(negative, (significand << 40) + 1, largest.exponent - 44));
                finites.push(Finite::exact(negative, (significand << 40) - 1, largest.exponent - 44));
            }
            // Something below every quantum.
            finites.push(Finite { negative, significand: 0, exponent: -5000, sticky: true });
            finites.push(Finite { negative, significand: 1, exponent: -5000, sticky: true });
        }
        let infinities = [false, true].map(|negative| Real::Infinity { negative });
        for real in finites.into_iter().map(Real::Finite).chain(infinities).chain([Real::Nan]) {
            for rounding in roundings() {
                for overflow in Overflow::ALL {
                    compare(&mut rounder, format, &real, 0.5, rounding, overflow);
                }
            }
        }
    }
}

fn any_rounding() -> impl Strategy<Value = Rounding> {
    prop_oneof![
        6 => proptest::sample::select(&Rounding::DETERMINISTIC[..]),
        2 => (any::<u64>(), 1..=64u32).prop_map(|(random, bits)| Rounding::Sr { random, bits }),
    ]
}

fn any_format() -> impl Strategy<Value = &'static Format> {
    proptest::sample::select(formats())
}

/// Finite numbers in and around the range of a format: few bits or many, runs of bits, sticky or not.
fn near(format: &'static Format) -> impl Strategy<Value = Finite> {
    let (low, high) = format.float().map_or((-3, 40), |f| (f.emin() - f.trailing_bits as i32 - 4, f.emax() + 3));
    let significand = prop_oneof![
        (any::<u128>(), 0..128u32).prop_map(|(bits, shift)| bits >> shift),
        (0..128u32, 0..128u32, -1..=1i128).prop_map(|(i, j, k)| (1u128 << i | 1 << j).wrapping_add_signed(k)),
    ];
    (any::<bool>(), significand, low..=high, any::<bool>()).prop_map(|(negative, significand, leading, sticky)| {
        // A sticky number has 128 bits, as accumulators give it.
        let zeros = significand.leading_zeros();
        let (significand, zeros) = if sticky && zeros < 128 { (significand << zeros, 0) } else { (significand, zeros) };
        let exponent = leading + zeros as i32 - 127;
        Finite { negative, significand, exponent: if significand == 0 { -5000 } else { exponent }, sticky }
    })
}

fn format_and_number() -> impl Strategy<Value = (&'static Format, Finite)> {
    any_format().prop_flat_map(|format| (Just(format), near(format)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, max_global_rejects: 200_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encoding_agrees_with_mpfr(
        (format, finite) in format_and_number(),
        rounding in any_rounding(),
        overflow in proptest::sample::select(&Overflow::ALL[..]),
        tail in proptest::sample::select(&[1e-9, 0.5, 1.0 - 1e-9][..]),
    ) {
        compare(&mut Rounder::new(256), format, &Real::Finite(finite), tail, rounding, overflow);
    }

    #[test]
    fn encoding_is_monotonic(
        (format, x, y) in any_format().prop_flat_map(|format| (Just(format), near(format), near(format))),
        rounding in proptest::sample::select(&Rounding::DETERMINISTIC[..]),
    ) {
        let unsigned = format.float().is_some_and(|float| !float.signed);
        prop_assume!(!(unsigned && (x.negative || y.negative)));
        let [a, b] = [x, y].map(|x| mpfr_value(&Real::Finite(x), 0.5));
        let [c, d] = [x, y].map(|x| format.encode(&Real::Finite(x), rounding, Overflow::Saturate).unwrap());
        let [c, d] = [c, d].map(|code| mpfr::decode(format, code));
        let ordered = if a <= b { c <= d } else { c >= d };
        prop_assert!(ordered);
    }

    #[test]
    fn results_bracket_the_value((format, finite) in format_and_number()) {
        let value = mpfr_value(&Real::Finite(finite), 0.5);
        let [bottom, top] = [true, false].map(|negative| mpfr::decode(format, format.largest(negative)));
        // A format without zero has no neighbours below its smallest number.
        let floor = format.float().filter(|float| !float.signed).map(|float| 2f64.powi(float.emin()));
        // A table may have boundaries other than half-way, and no zero.
        prop_assume!(format.table().is_none());
        prop_assume!(bottom <= value && value <= top && floor.is_none_or(|floor| value >= floor));
        let rounded = |rounding| format.encode(&Real::Finite(finite), rounding, Overflow::Standard).unwrap();
        let number = |rounding| mpfr::decode(format, rounded(rounding));
        let (down, up, zero) = (number(Rounding::Rd), number(Rounding::Ru), number(Rounding::Rz));
        prop_assert!(down <= value && value <= up);
        prop_assert!(zero.cmp_abs(&value) != Some(std::cmp::Ordering::Greater));
        prop_assert!(zero == down || zero == up);
        let distance = |x: &Float| Float::with_val(3000, x - &value).abs();
        let gap = Float::with_val(3000, &up - &down);
        for nearest in [number(Rounding::Rne), number(Rounding::Rna)] {
            prop_assert!(nearest == down || nearest == up);
            prop_assert!(Float::with_val(3000, distance(&nearest) * 2u32) <= gap);
        }
        let odd = rounded(Rounding::Ro) >> format.float().map_or(0, |float| float.padding_bits);
        let precise = format.float().is_none_or(|float| float.trailing_bits > 0);
        prop_assert!(down == up || odd % 2 == 1 || !precise || rounded(Rounding::Ro) == format.largest(finite.negative));
    }
}
