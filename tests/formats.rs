//! Formats against their standards, against crate `half`, and encoding against MPFR.

use half::{bf16, f16};
use proptest::prelude::*;
use rayon::prelude::*;
use rug::{Assign, Float};
use tcnum::{
    exact::mpfr::{self, Rounder},
    format::{Class, Encoding, FORMATS, Finite, Format, Overflow, Real, Rounding, Specials, Zeros, find},
};

const OVERFLOWS: [Overflow; 4] = [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate];

/// Every deterministic rounding, and stochastic ones at the ends and in the middle of their range.
fn roundings() -> Vec<Rounding> {
    let stochastic = [(0, 1), (1, 1), (3, 2), (0x80, 8), (0x7ff, 11), (u64::MAX, 64), (1 << 63, 64), (0, 64)];
    let stochastic = stochastic.map(|(random, bits)| Rounding::Sr { random, bits });
    Rounding::DETERMINISTIC.into_iter().chain(stochastic).collect()
}

fn format(name: &str) -> &'static Format {
    find(name).unwrap()
}

fn narrow() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.bits <= 16)
}

/// Codes of non-negative numbers in ascending order of the code.
fn magnitudes(format: &Format) -> std::ops::RangeInclusive<u64> {
    0..=format.largest(false)
}

/// The number as MPFR has it; a sticky part as the given fraction of the last unit.
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
fn ranges_are_those_of_the_standards() {
    // Name, largest, smallest normal, smallest positive, codes of infinities, codes of NaN, bits of precision.
    let p = |exponent| 2f64.powi(exponent);
    #[rustfmt::skip]
    let expected = [
        ("f64", f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 2, None, 53),
        ("f32", f64::from(f32::MAX), p(-126), p(-149), 2, None, 24),
        ("tf32", (2.0 - p(-10)) * p(127), p(-126), p(-136), 2, None, 11),
        ("f16", 65504.0, p(-14), p(-24), 2, Some(2046), 11),
        ("bf16", (2.0 - p(-7)) * p(127), p(-126), p(-133), 2, Some(254), 8),
        ("e4m3", 448.0, p(-6), p(-9), 0, Some(2), 4),
        ("e4m3fnuz", 240.0, p(-7), p(-10), 0, Some(1), 4),
        ("e5m2", 57344.0, p(-14), p(-16), 2, Some(6), 3),
        ("e5m2fnuz", 57344.0, p(-15), p(-17), 0, Some(1), 3),
        ("e2m3", 7.5, 1.0, 0.125, 0, Some(0), 4),
        ("e3m2", 28.0, 0.25, 0.0625, 0, Some(0), 3),
        ("e2m1", 6.0, 1.0, 0.5, 0, Some(0), 2),
        ("e8m0", p(127), p(-127), p(-127), 0, Some(1), 1),
        ("ue4m3", 448.0, p(-6), p(-9), 0, Some(1), 4),
        ("e8m13", (2.0 - p(-13)) * p(127), p(-126), p(-139), 2, None, 14),
    ];
    for (name, largest, normal, smallest, infinities, nans, precision) in expected {
        let format = format(name);
        let float = format.float().unwrap();
        assert_eq!(format.to_f64(format.largest(false)), largest, "{name}");
        assert_eq!(2f64.powi(float.emin()), normal, "{name}");
        let above_zero = format.encode_f64(0.0, Rounding::Rne, Overflow::Standard).unwrap()
            + if float.zeros == Zeros::None { 0 } else { 1 << float.padding_bits };
        assert_eq!(format.to_f64(above_zero), smallest, "{name}");
        assert_eq!(float.precision(), precision, "{name}");
        let signs = if float.signed { &[false, true][..] } else { &[false] };
        assert_eq!(signs.iter().filter(|sign| format.infinity(**sign).is_some()).count(), infinities, "{name}");
        if let Some(nans) = nans {
            let count = |class| (0..=format.code_mask()).filter(|code| format.decode(*code).class == class).count();
            assert_eq!((count(Class::Nan), count(Class::Infinite)), (nans, infinities), "{name}");
        }
    }
    assert_eq!(expected.len() + 5, FORMATS.len(), "a format without expectations");
    for (name, smallest, largest) in
        [("s8", -128, 127), ("u8", 0, 255), ("s4", -8, 7), ("u4", 0, 15), ("s32", i32::MIN, i32::MAX)]
    {
        let format = format(name);
        let ends = [true, false].map(|negative| format.to_f64(format.largest(negative)));
        assert_eq!(ends, [smallest, largest].map(f64::from), "{name}");
    }
}

#[test]
fn records_are_consistent() {
    for format in &FORMATS {
        for name in std::iter::once(&format.name).chain(format.aliases) {
            assert_eq!(find(&name.to_uppercase().replace('-', "_")), Ok(format), "{name} names one format");
        }
        let Encoding::Float(float) = format.encoding else { continue };
        let fields = u32::from(float.signed) + float.exponent_bits + float.trailing_bits + float.padding_bits;
        assert_eq!(fields, format.bits, "{format}");
        assert!(float.subnormals || float.zeros == Zeros::None, "{format}");
        assert_ne!(float.overflow, Overflow::Standard, "{format}: the standard says which");
        assert_eq!(format.nan().is_some(), format.has_nan(), "{format}");
        assert!(format.nan().is_none_or(|nan| format.value(nan) == Real::Nan), "{format}");
        assert_eq!(format.has_infinity(), float.specials == Specials::Ieee, "{format}");
    }
}

#[test]
fn every_code_of_16_bits_or_fewer_survives_decoding_and_encoding() {
    for format in narrow() {
        for code in 0..=format.code_mask() {
            let value = format.value(code);
            for rounding in roundings() {
                for overflow in OVERFLOWS {
                    let expected = match (value, overflow) {
                        (Real::Nan, _) => format.nan(),
                        (Real::Infinity { .. }, Overflow::Nan) => format.nan(),
                        (Real::Infinity { negative }, Overflow::Saturate) => Some(format.largest(negative)),
                        _ => Some(code),
                    };
                    assert_eq!(format.encode(&value, rounding, overflow), expected, "{format} {code:#x} {rounding:?}");
                }
            }
        }
    }
}

#[test]
fn codes_outside_the_format_are_cut() {
    for format in FORMATS.iter().filter(|format| format.bits < 64) {
        for code in (0..1u64 << format.bits.min(12)).map(|code| code << (format.bits - format.bits.min(12))) {
            let padding = format.float().map_or(0, |float| (1 << float.padding_bits) - 1);
            assert_eq!(
                format.decode(code),
                format.decode(code | u64::MAX << format.bits | padding),
                "{format} {code:#x}"
            );
        }
    }
}

#[test]
fn order_of_values_is_order_of_codes() {
    for format in narrow() {
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
    for format in &FORMATS {
        match format.bits {
            ..=16 => (0..=format.code_mask()).for_each(|code| agrees(format, code)),
            _ => (0..1 << 16).for_each(|i: u64| {
                agrees(format, i.reverse_bits() >> (64 - format.bits));
                agrees(format, i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & format.code_mask());
            }),
        }
    }
}

#[test]
fn every_f16_and_bf16_decodes_as_in_half() {
    for code in 0..=u16::MAX {
        for (name, theirs) in [("f16", f16::from_bits(code).to_f64()), ("bf16", bf16::from_bits(code).to_f64())] {
            let ours = format(name).to_f64(code.into());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{name} {code:#x}");
        }
    }
}

#[test]
fn f32_rounds_to_f16_and_bf16_as_in_half_at_every_boundary() {
    let rounded = |name, value: f32| {
        let value = Real::from(f64::from(value));
        format(name).encode(&value, Rounding::Rne, Overflow::Standard).map(|code| code as u16)
    };
    for code in 0..0x7f80u16 {
        // Both formats' numbers and midpoints are binary32 numbers (bf16 below 2^-133 by its own subnormal midpoints).
        let (half, next) = (f16::from_bits(code), f16::from_bits(code + 1));
        let middle = if half.is_finite() && next.is_finite() { (half.to_f32() + next.to_f32()) / 2.0 } else { 65520.0 };
        for bits in [half.to_f32(), middle].map(f32::to_bits) {
            for value in [bits.saturating_sub(1), bits, bits + 1].map(f32::from_bits) {
                for value in [value, -value] {
                    let expected = f16::from_f32(value);
                    let ours = rounded("f16", value).map(f16::from_bits).unwrap();
                    assert!(
                        ours.to_bits() == expected.to_bits() || ours.is_nan() && expected.is_nan(),
                        "f16 {value:e}"
                    );
                }
            }
        }
        let bits = u32::from(code) << 16;
        for value in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff].map(|low| f32::from_bits(bits | low)) {
            for value in [value, -value] {
                assert_eq!(rounded("bf16", value), Some(bf16::from_f32(value).to_bits()), "bf16 {value:e}");
            }
        }
    }
    for value in [f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(rounded("f16", value), Some(f16::from_f32(value).to_bits()));
        assert_eq!(rounded("bf16", value), Some(bf16::from_f32(value).to_bits()));
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
    for format in narrow() {
        let last = format.largest(false);
        magnitudes(format).collect::<Vec<_>>().par_chunks(256).for_each(|codes| {
            let (mut rounder, roundings) = (Rounder::new(256), roundings());
            for code in codes {
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
                                let overflows = if last - code < 8 { &OVERFLOWS[..] } else { &OVERFLOWS[..1] };
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
    for format in &FORMATS {
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
                for overflow in OVERFLOWS {
                    compare(&mut rounder, format, &real, 0.5, rounding, overflow);
                }
            }
        }
    }
}

#[test]
fn exponents_at_the_ends_of_their_type_are_out_of_every_range() {
    for format in &FORMATS {
        for significand in [1, 3, u128::MAX] {
            let encode = |exponent, rounding| {
                let value = Real::Finite(Finite::exact(false, significand, exponent));
                format.encode(&value, rounding, Overflow::Saturate)
            };
            for rounding in Rounding::DETERMINISTIC {
                assert_eq!(encode(i32::MAX, rounding), Some(format.largest(false)), "{format}");
            }
            assert_eq!(encode(i32::MIN, Rounding::Rne), format.zero(false).or(Some(0)), "{format}");
        }
    }
}

#[test]
fn overflow_is_treated_as_documented() {
    use Overflow::{Infinity, Nan, Saturate, Standard};
    use Rounding::{Rd, Rne, Ru, Rz};
    let largest = |name: &str, negative| Some(format(name).largest(negative));
    for (name, value, rounding, overflow, expected) in [
        ("f16", 65520.0, Rne, Standard, format("f16").infinity(false)),
        ("f16", 65519.0, Rne, Standard, largest("f16", false)),
        ("f16", -1e9, Rz, Standard, largest("f16", true)),
        ("f16", -1e9, Ru, Standard, largest("f16", true)),
        ("f16", -1e9, Rd, Standard, format("f16").infinity(true)),
        ("f16", 1e9, Rz, Infinity, format("f16").infinity(false)),
        ("f16", 1e9, Rne, Nan, Some(0x7e00)),
        ("f16", f64::NEG_INFINITY, Rne, Saturate, largest("f16", true)),
        ("f16", f64::NEG_INFINITY, Rz, Standard, format("f16").infinity(true)),
        ("e4m3", 464.0, Rne, Standard, Some(0x7e)),
        ("e4m3", 464.1, Rne, Standard, Some(0x7f)),
        ("e4m3", 464.1, Rne, Saturate, Some(0x7e)),
        ("e4m3", f64::INFINITY, Rne, Infinity, Some(0x7f)),
        ("e4m3fnuz", 1e9, Rne, Standard, Some(0x80)),
        ("e2m1", 1e9, Rne, Nan, Some(0x7)),
        ("e2m1", f64::NEG_INFINITY, Rne, Standard, Some(0xf)),
        ("e2m1", f64::NAN, Rne, Standard, None),
        ("e8m0", 0.0, Rne, Standard, Some(0)),
        ("e8m0", 3.0, Rne, Standard, Some(0x81)),
        ("e8m0", -1.0, Rne, Saturate, Some(0xff)),
        ("ue4m3", f64::NEG_INFINITY, Rne, Saturate, Some(0x7f)),
        ("ue4m3", -0.0, Rne, Standard, Some(0)),
        ("s8", 127.5, Rne, Nan, Some(127)),
        ("s8", -1e9, Rne, Infinity, Some(0x80)),
        ("u8", -1.0, Rne, Standard, Some(0)),
        ("s4", -2.5, Rne, Standard, Some(0xe)),
    ] {
        assert_eq!(
            format(name).encode_f64(value, rounding, overflow),
            expected,
            "{name} {value} {rounding:?} {overflow:?}"
        );
    }
}

#[test]
fn stochastic_rounding_rounds_up_in_proportion_to_the_fraction() {
    let e4m3 = format("e4m3");
    // 1 + n/32 lies n/4 of the way from 1 to 1.125; random bits 0..2^6 cover all equally.
    for n in 0..4u64 {
        let up = (0..64).filter(|random| {
            let rounding = Rounding::Sr { random: *random, bits: 6 };
            e4m3.encode_f64(1.0 + n as f64 / 32.0, rounding, Overflow::Standard) == Some(0x39)
        });
        assert_eq!(up.count() as u64, 16 * n);
    }
}

fn any_rounding() -> impl Strategy<Value = Rounding> {
    prop_oneof![
        6 => proptest::sample::select(&Rounding::DETERMINISTIC[..]),
        2 => (any::<u64>(), 1..=64u32).prop_map(|(random, bits)| Rounding::Sr { random, bits }),
    ]
}

fn any_format() -> impl Strategy<Value = &'static Format> {
    (0..FORMATS.len()).prop_map(|index| &FORMATS[index])
}

/// Finite numbers in and around the range of a format: few bits or many, runs of ones and zeros, sticky or not.
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
        overflow in proptest::sample::select(&OVERFLOWS[..]),
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
        // Below the smallest number of a format without zero nothing is near.
        let floor = format.float().filter(|float| !float.signed).map(|float| 2f64.powi(float.emin()));
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
