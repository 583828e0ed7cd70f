//! Formats by rule against gfloat: P3109's, in every code. `tests/tables/make.py` made the tables.

use crate::tables::Tables;
use tcnum_core::format::{Class, Format, Overflow, Rounding, find};

/// FNV-1a of 64 bits of the values of all codes, as `make.py` has it.
fn digest(format: &Format) -> u64 {
    let bits = |code| {
        let value = format.to_f64(code);
        if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
    };
    let bytes = (0..=format.code_mask()).flat_map(|code| bits(code).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn gfloat_decodes_every_code_of_p3109_alike() {
    let tables = Tables::read("p3109");
    let (mut codes, mut digests) = (0, 0);
    for (parts, data) in tables.matching("decode") {
        let format = find(parts[1]).unwrap();
        assert_eq!(data.len(), 1 << format.bits, "{format}");
        for (code, bits) in data.iter().enumerate() {
            let (ours, theirs) = (format.to_f64(code as u64), f64::from(f32::from_bits(*bits as u32)));
            let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
            assert!(same, "{format} {code:#x}: {theirs} there, {ours} here");
            codes += 1;
        }
    }
    for (parts, data) in tables.matching("digest") {
        assert_eq!(digest(find(parts[1]).unwrap()), data[0], "{}", parts[1]);
        digests += 1;
    }
    // Precisions of both signs, twice for the domains.
    let formats = |bits: u32| 2 * (bits.min(11) + (bits - 1).min(11));
    assert_eq!(codes, (3..=8).map(|bits| u64::from(formats(bits)) << bits).sum::<u64>());
    assert_eq!(digests, (9..=16).map(formats).sum::<u32>());
}

#[test]
fn gfloat_converts_to_p3109_alike() {
    let tables = Tables::read("p3109");
    let f16 = find("f16").unwrap();
    let mut conversions = 0;
    for (parts, results) in tables.matching("convert") {
        let format = find(parts[2]).unwrap();
        let rounding = Rounding::parse(parts[3]).unwrap();
        let overflow = if parts[4] == "saturate" { Overflow::Saturate } else { Overflow::Standard };
        for (code, theirs) in results.iter().enumerate() {
            let ours = format.encode(&f16.value(code as u64), rounding, overflow);
            assert_eq!(ours, Some(*theirs), "{} {code:#x}", parts.join("/"));
            conversions += 1;
        }
    }
    assert_eq!(conversions, (4 * 5 * 2) << 16);
}

#[test]
fn ties_of_a_precision_of_one_bit_are_those_of_gfloat() {
    let tables = Tables::read("p3109");
    let mut formats = 0;
    for (parts, results) in tables.matching("middle") {
        let format = find(parts[1]).unwrap();
        let rounding = Rounding::parse(parts[2]).unwrap();
        assert_eq!(results.len() as u64, format.largest(false) + 1, "{format}");
        let numbers = (0..results.len() as u64).map(|code| format.to_f64(code));
        let above = numbers.clone().skip(1).chain([2.0 * format.to_f64(format.largest(false))]);
        for (middle, theirs) in numbers.zip(above).map(|(low, high)| (low + high) / 2.0).zip(results) {
            let ours = format.encode_f64(middle, rounding, Overflow::Standard);
            assert_eq!(ours, Some(*theirs), "{} {middle:e}", parts.join("/"));
        }
        formats += 1;
    }
    // Widths of 3 to 12 bits, but for a sign those without 12 bits of exponent; two domains, two roundings.
    assert_eq!(formats, (10 + 9) * 2 * 2);
    let code = |value, rounding| find("binary8p1se").unwrap().encode_f64(value, rounding, Overflow::Standard);
    assert_eq!([1.5, 3.0, -1.5].map(|value| code(value, Rounding::Rne)), [0x40, 0x42, 0xc0].map(Some));
    assert_eq!([1.25, 2.5, -2.5].map(|value| code(value, Rounding::Ro)), [0x41, 0x41, 0xc1].map(Some));
}

#[test]
fn landmarks_of_p3109_are_the_reports() {
    for (name, nan, infinity, largest, one, smallest) in [
        ("binary8p3se", 0x80, Some(0x7f), 49152.0, 0x40, 2f64.powi(-17)),
        ("binary8p3sf", 0x80, None, 57344.0, 0x40, 2f64.powi(-17)),
        ("binary8p4se", 0x80, Some(0x7f), 224.0, 0x40, 2f64.powi(-10)),
        ("binary8p1se", 0x80, Some(0x7f), 2f64.powi(62), 0x40, 2f64.powi(-63)),
        ("binary8p1ue", 0xff, Some(0xfe), 2f64.powi(125), 0x80, 2f64.powi(-127)),
        ("binary8p8uf", 0xff, None, 2.0 - 2f64.powi(-6), 0x80, 2f64.powi(-7)),
    ] {
        let format = find(name).unwrap();
        assert_eq!((format.nan(), format.infinity(false)), (Some(nan), infinity), "{name}");
        assert_eq!(format.to_f64(format.largest(false)), largest, "{name}");
        assert_eq!(format.to_f64(one), 1.0, "{name}");
        assert_eq!(format.to_f64(1), smallest, "{name}");
    }
}

#[test]
fn saturation_of_finite_values_keeps_infinities() {
    // P3109, saturation modes: SatNone is the standard, SatFinite saturates, SatPropagate keeps infinities.
    for (name, overflow, beyond, infinite) in [
        ("binary8p3se", Overflow::Standard, 0x7f, 0x7f),
        ("binary8p3se", Overflow::Saturate, 0x7e, 0x7e),
        ("binary8p3se", Overflow::SaturateFinite, 0x7e, 0x7f),
        ("binary8p3sf", Overflow::Standard, 0x80, 0x80),
        ("binary8p3sf", Overflow::Saturate, 0x7f, 0x7f),
        ("binary8p3sf", Overflow::SaturateFinite, 0x7f, 0x7f),
        ("binary8p3ue", Overflow::Standard, 0xfe, 0xfe),
        ("binary8p3ue", Overflow::SaturateFinite, 0xfd, 0xfe),
        ("f16", Overflow::SaturateFinite, 0x7bff, 0x7c00),
        ("e4m3", Overflow::SaturateFinite, 0x7e, 0x7e),
    ] {
        let format = find(name).unwrap();
        let code = |value| format.encode_f64(value, Rounding::Rne, overflow);
        assert_eq!((code(1e300), code(f64::INFINITY)), (Some(beyond), Some(infinite)), "{name} {overflow:?}");
    }
}

#[test]
fn every_code_of_a_narrow_integer_is_the_integer() {
    for (bits, (signed, prefix)) in (2..=12).flat_map(|bits| [(bits, (true, 's')), (bits, (false, 'u'))]) {
        let format = find(&format!("{prefix}{bits}")).unwrap();
        let lowest = if signed { -(1i64 << (bits - 1)) } else { 0 };
        for value in lowest..lowest + (1 << bits) {
            let code = value as u64 & format.code_mask();
            assert_eq!(format.to_f64(code), value as f64, "{format} {code:#x}");
            assert_eq!(format.encode_f64(value as f64, Rounding::Rz, Overflow::Standard), Some(code), "{format}");
        }
        let beyond = [1e9, -1e9].map(|value| format.encode_f64(value, Rounding::Rne, Overflow::Standard).unwrap());
        assert_eq!(beyond, [format.largest(false), format.largest(true)], "{format}");
    }
}

#[test]
fn ue5m3_has_the_codes_of_cuda() {
    let format = find("ue5m3").unwrap();
    let special = |class| (0..256).filter(|code| format.decode(*code).class == class).collect::<Vec<_>>();
    assert_eq!((special(Class::Nan), special(Class::Infinite)), (vec![0xff], vec![]));
    assert_eq!(format.to_f64(0xfe), 114_688.0);
    assert_eq!(format.to_f64(0x01), 2f64.powi(-17));
}
