//! Formats against their standards and against crate `half`.

use crate::cases::{narrow, roundings};
use half::{bf16, f16};
use tcnum_core::format::{Class, Encoding, FORMATS, Finite, Format, Overflow, Real, Rounding, Specials, Zeros, find};

fn format(name: &str) -> &'static Format {
    find(name).unwrap()
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
        ("ue5m3", 114_688.0, p(-14), p(-17), 0, Some(1), 4),
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
    assert_eq!(expected.len() + 14, FORMATS.len(), "a format without expectations");
    for (name, smallest, largest) in [
        ("s8", -128, 127),
        ("u8", 0, 255),
        ("s4", -8, 7),
        ("u4", 0, 15),
        ("b1", 0, 1),
        ("s16", i16::MIN.into(), i16::MAX.into()),
        ("s32", i32::MIN, i32::MAX),
    ] {
        let format = format(name);
        let ends = [true, false].map(|negative| format.to_f64(format.largest(negative)));
        assert_eq!(ends, [smallest, largest].map(f64::from), "{name}");
    }
    for (name, smallest, largest) in [
        ("nf4", "-1", "1"),
        ("iq4nl", "-127", "113"),
        ("hif8", "-32768", "32768"),
        ("posit8", "-16777216", "16777216"),
        ("u32", "0", "4294967295"),
        ("s64", "-9.223372036854775808e+18", "9.223372036854775807e+18"),
        ("u64", "0", "1.8446744073709551615e+19"),
    ] {
        let format = format(name);
        let ends = [true, false].map(|negative| format.decode(format.largest(negative)).decimal());
        assert_eq!(ends, [smallest, largest], "{name}");
    }
}

#[test]
fn records_are_consistent() {
    for format in FORMATS {
        for name in std::iter::once(&format.name).chain(format.aliases) {
            for separator in ["_", "-", ""] {
                let spelling = name.to_uppercase().replace('-', separator);
                assert_eq!(find(&spelling), Ok(format), "{spelling} names one format");
            }
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
                for overflow in Overflow::ALL {
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
        // Numbers and midpoints of both formats are binary32 numbers; 65520 follows the last one of f16.
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

#[test]
fn exponents_at_the_ends_of_their_type_are_out_of_every_range() {
    for format in FORMATS {
        for significand in [1, 3, u128::MAX] {
            let encode = |exponent, rounding| {
                let value = Real::Finite(Finite::exact(false, significand, exponent));
                format.encode(&value, rounding, Overflow::Saturate)
            };
            for rounding in Rounding::DETERMINISTIC {
                assert_eq!(encode(i32::MAX, rounding), Some(format.largest(false)), "{format}");
            }
            let smallest = match format.table() {
                Some(_) => format.encode_f64(1e-300, Rounding::Rne, Overflow::Saturate),
                None => format.zero(false).or(Some(0)),
            };
            assert_eq!(encode(i32::MIN, Rounding::Rne), smallest, "{format}");
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
