//! Slices against the formats' own encoding and decoding, code by code.

use super::*;
use crate::{
    base::vectors::{FORCED, Vectors},
    format::{self, Encoding, FORMATS, Float, Overflow, Real, Rounding, Specials, Zeros},
};

/// Records that the table lacks: every layout, zero and special code, with or without padding and sign.
fn users() -> Vec<Format> {
    let float = |name, bits, float| Format { name, aliases: &[], bits, encoding: Encoding::Float(float), source: "" };
    let base = Float {
        signed: true,
        exponent_bits: 4,
        trailing_bits: 3,
        padding_bits: 0,
        bias: 7,
        zeros: Zeros::Both,
        subnormals: true,
        specials: Specials::Ieee,
        overflow: Overflow::Infinity,
    };
    let unsigned = Float { signed: false, zeros: Zeros::Positive, ..base };
    let without_zero = Float { zeros: Zeros::None, subnormals: false, ..base };
    vec![
        float("beyond f32", 16, Float { exponent_bits: 10, trailing_bits: 5, bias: 511, ..base }),
        float("above f32", 8, Float { bias: -140, ..base }),
        float("below f32", 8, Float { bias: 160, ..base }),
        float("far above f32", 8, Float { bias: -3_000_000, ..base }),
        float("far below f32", 8, Float { bias: 3_000_000, ..base }),
        float("subnormal in f32", 8, Float { bias: 128, ..base }),
        float("partly subnormal in f32", 16, Float { exponent_bits: 7, trailing_bits: 8, bias: 120, ..base }),
        float("padded", 12, Float { padding_bits: 4, ..base }),
        float(
            "padded, one zero",
            10,
            Float { padding_bits: 2, zeros: Zeros::Positive, specials: Specials::NegativeZeroNan, ..base },
        ),
        float("unsigned", 7, unsigned),
        float("unsigned, wide", 16, Float { exponent_bits: 5, trailing_bits: 11, bias: 15, ..unsigned }),
        float("unsigned and finite", 7, Float { specials: Specials::None, ..unsigned }),
        float("no trailing bits", 5, Float { trailing_bits: 0, specials: Specials::None, ..base }),
        float(
            "no trailing bits, aligned",
            9,
            Float { exponent_bits: 8, trailing_bits: 0, bias: 127, specials: Specials::None, ..base },
        ),
        float("no zero", 8, without_zero),
        float("no zero, unsigned and finite", 7, Float { signed: false, specials: Specials::None, ..without_zero }),
        float("no zero, aligned", 12, Float { exponent_bits: 8, bias: 127, ..without_zero }),
        float(
            "one trailing bit",
            3,
            Float { exponent_bits: 1, trailing_bits: 1, bias: 0, specials: Specials::None, ..base },
        ),
        Format { name: "s12", aliases: &[], bits: 12, encoding: Encoding::Integer { signed: true }, source: "" },
        Format { name: "u16", aliases: &[], bits: 16, encoding: Encoding::Integer { signed: false }, source: "" },
    ]
}

fn formats() -> impl Iterator<Item = &'static Format> {
    let users: &'static [Format] = Vec::leak(users());
    let by_rule =
        ["binary8p3se", "binary8p3ue", "binary16p11se", "binary11p1ue", "binary8p1se", "binary6p5se", "s3", "u5"];
    let by_rule = by_rule.map(|name| format::find(name).unwrap());
    FORMATS.iter().filter(|format| format.bits <= 16).chain(users).chain(by_rule)
}

/// Values with every exponent and sign, and trailing significands near every rounding boundary.
fn adversarial() -> Vec<f32> {
    let mut trailing = vec![0u32, 0x7f_ffff, 0x55_5555, 0x2a_aaaa];
    for place in 0..23 {
        let bit = 1u32 << place;
        let all = 0x7f_ffff;
        // Ties and their neighbours after an even and an odd last bit, and just below a power of two.
        trailing.extend([bit, bit - 1, bit + 1, bit | bit << 1, (bit | bit << 1) - 1, (bit | bit << 1) + 1]);
        trailing.extend([all & !bit, all << place, (all << place).wrapping_sub(1), (all << place) + 1]);
    }
    trailing.iter_mut().for_each(|bits| *bits &= 0x7f_ffff);
    trailing.sort_unstable();
    trailing.dedup();
    let exponents = (0..512u32).map(|top| top << 23);
    exponents.flat_map(|top| trailing.iter().map(move |low| f32::from_bits(top | low))).collect()
}

/// Code of `value` by the formats' own encoding; `None` for a value without one.
fn expected(format: &Format, value: f32, rounding: Rounding, overflow: Overflow) -> Option<u16> {
    // A host double holds every f32, and a NaN stays one.
    format.encode(&Real::from(f64::from(value)), rounding, overflow).map(|code| code as u16)
}

/// Documented code of a value without one.
fn substitute(format: &Format) -> u16 {
    if format.is_integer() { 0 } else { format.largest(false) as u16 }
}

fn check(format: &Format, rounding: Rounding, overflow: Overflow, values: &[f32]) {
    let mut codes = vec![0u16; values.len()];
    let missing = Encoder::new(format, rounding, overflow).unwrap().encode(values, &mut codes);
    let mut without = 0;
    for (value, code) in values.iter().zip(&codes) {
        let expected_code = expected(format, *value, rounding, overflow);
        without += usize::from(expected_code.is_none());
        let expected_code = expected_code.unwrap_or(substitute(format));
        assert_eq!(*code, expected_code, "{format} {rounding:?} {overflow:?} {value:e} {:#010x}", value.to_bits());
    }
    assert_eq!(missing, without, "{format} {rounding:?} {overflow:?}");
    if format.bits <= 8 {
        let mut narrow = vec![0u8; values.len()];
        Encoder::new(format, rounding, overflow).unwrap().encode(values, &mut narrow);
        assert!(narrow.iter().zip(&codes).all(|(narrow, wide)| u16::from(*narrow) == *wide), "{format} in bytes");
    }
}

#[test]
fn adversarial_values_get_the_codes_that_the_formats_give() {
    let values = adversarial();
    for format in formats() {
        for rounding in Rounding::DETERMINISTIC {
            // Overflow does not depend on the value: all values once, then those at the ends.
            check(format, rounding, Overflow::Standard, &values);
            let some: Vec<f32> = values.iter().copied().step_by(29).collect();
            Overflow::ALL.into_iter().for_each(|overflow| check(format, rounding, overflow, &some));
        }
    }
}

#[test]
fn every_instruction_set_gives_the_same_codes_and_values() {
    let values: Vec<f32> = adversarial().into_iter().step_by(7).collect();
    for vectors in Vectors::all() {
        FORCED.set(Some(vectors));
        for format in formats() {
            check(format, Rounding::Rne, Overflow::Standard, &values);
            check(format, Rounding::Ru, Overflow::Saturate, &values);
            check_decoding(format);
        }
        FORCED.set(None);
    }
}

fn check_decoding(format: &Format) {
    let f32_format = format::find("f32").unwrap();
    // Bits above the width are ignored.
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let mut values = vec![0.0; codes.len()];
    Decoder::new(format).unwrap().decode(&codes, &mut values);
    for (code, value) in codes.iter().zip(&values) {
        let expected_code =
            f32_format.encode(&format.value(u64::from(*code) & format.code_mask()), Rounding::Rne, Overflow::Standard);
        assert_eq!(Some(u64::from(value.to_bits())), expected_code, "{format} {code:#x}");
    }
    if format.bits <= 8 {
        let narrow: Vec<u8> = (0..=u8::MAX).collect();
        let mut bytes = vec![0.0; 256];
        Decoder::new(format).unwrap().decode(&narrow, &mut bytes);
        let same = bytes.iter().zip(&values).all(|(narrow, wide)| narrow.to_bits() == wide.to_bits());
        assert!(same, "{format} in bytes");
    }
}

#[test]
fn every_code_decodes_to_its_value() {
    formats().for_each(check_decoding);
}

#[test]
fn numbers_of_sixteen_bits_convert_as_the_formats_do() {
    for source in ["f16", "bf16"] {
        let codes: Vec<u16> = (0..=u16::MAX).collect();
        let mut values = vec![0.0; codes.len()];
        Decoder::new(format::find(source).unwrap()).unwrap().decode(&codes, &mut values);
        for format in formats() {
            Rounding::DETERMINISTIC.into_iter().for_each(|mode| check(format, mode, Overflow::Standard, &values));
        }
    }
}

#[test]
fn stochastic_rounding_takes_the_random_bits_of_each_value() {
    let values: Vec<f32> = adversarial().into_iter().step_by(5).collect();
    for format in formats() {
        for bits in [1, 3, 8, 23, 32, 64] {
            let rounding = |random| Rounding::Sr { random, bits };
            let random = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let all: Vec<u64> = (0..values.len()).map(random).collect();
            let mut codes = vec![0u16; values.len()];
            let encoder = Encoder::new(format, rounding(0), Overflow::Standard).unwrap();
            encoder.encode_randomly(&values, &all, &mut codes).unwrap();
            for (at, value) in values.iter().enumerate() {
                let expected_code = expected(format, *value, rounding(all[at]), Overflow::Standard);
                assert_eq!(codes[at], expected_code.unwrap_or(substitute(format)), "{format} {bits} {value:e}");
            }
            check(format, rounding(random(bits as usize)), Overflow::Standard, &values);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let bf16 = format::find("bf16").unwrap();
    let error = Encoder::<u8>::new(bf16, Rounding::Rne, Overflow::Standard).unwrap_err();
    assert_eq!(error.to_string(), "codes of bf16 have 16 bits: they do not fit the 8 bits of a slice's elements");
    assert!(Decoder::<u16>::new(format::find("f32").unwrap()).is_err());
    let encoder = Encoder::<u16>::new(bf16, Rounding::Rz, Overflow::Standard).unwrap();
    assert!(encoder.encode_randomly(&[1.0], &[1], &mut [0]).is_err());
}

#[test]
fn threads_give_the_same_codes_and_values() {
    let values: Vec<f32> = adversarial().into_iter().cycle().take(300_001).collect();
    let e2m1 = format::find("e2m1").unwrap();
    let encoder = Encoder::<u8>::new(e2m1, Rounding::Rne, Overflow::Standard).unwrap();
    let (mut alone, mut together) = (vec![0; values.len()], vec![1; values.len()]);
    let missing = encoder.encode(&values, &mut alone);
    assert_eq!((encoder.encode_parallel(&values, &mut together), &together), (missing, &alone));
    let decoder = Decoder::<u8>::new(e2m1).unwrap();
    let (mut alone, mut parallel) = (vec![0.0; values.len()], vec![1.0; values.len()]);
    decoder.decode(&together, &mut alone);
    decoder.decode_parallel(&together, &mut parallel);
    assert_eq!(alone, parallel);
}

#[test]
fn slices_of_half_are_slices_of_codes() {
    let values: Vec<f32> = (0..=u16::MAX).map(|code| half::bf16::from_bits(code).to_f32()).collect();
    let [f16, bf16] = ["f16", "bf16"].map(|name| format::find(name).unwrap());
    let (mut halves, mut codes) = (vec![half::f16::ZERO; values.len()], vec![0u16; values.len()]);
    Encoder::new(f16, Rounding::Rne, Overflow::Standard).unwrap().encode(&values, &mut halves);
    Encoder::new(f16, Rounding::Rne, Overflow::Standard).unwrap().encode(&values, &mut codes);
    assert!(halves.iter().map(|half| half.to_bits()).eq(codes));
    let mut back = vec![0.0; values.len()];
    Decoder::new(f16).unwrap().decode(&halves, &mut back);
    for (half, back) in halves.iter().zip(&back) {
        assert!(half.to_f32() == *back || half.is_nan() && back.is_nan(), "{half:?}");
    }
    // Every other format is refused, however wide.
    assert!(Encoder::<half::f16>::new(bf16, Rounding::Rne, Overflow::Standard).is_err());
    assert!(Decoder::<half::bf16>::new(f16).is_err());
    assert!(Decoder::<half::bf16>::new(format::find("e4m3").unwrap()).is_err());
}
