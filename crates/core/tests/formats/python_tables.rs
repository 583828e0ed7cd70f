//! Conversions against the recorded results of the Python packages ml_dtypes and gfloat.
//! They are equal, or the difference follows a named rule of the package, as often as stated here.
//! `tests/tables/make.py` made the tables.

use std::collections::BTreeMap;

use crate::tables::{self, Tables, check_counts};
use tcnum_core::format::{Class, Encoding, Float, Format, Overflow, Real, Rounding, Specials, Zeros, block, find};

/// Formats of the packages by the names of the tables; those that the crate lacks are described here.
fn format(name: &str) -> &'static Format {
    let float = |exponent_bits, trailing_bits, bias, ieee: bool| {
        let (zeros, specials) =
            if ieee { (Zeros::Both, Specials::Ieee) } else { (Zeros::Positive, Specials::NegativeZeroNan) };
        let overflow = if ieee { Overflow::Infinity } else { Overflow::Nan };
        let fields = Float {
            signed: true,
            exponent_bits,
            trailing_bits,
            padding_bits: 0,
            bias,
            zeros,
            subnormals: true,
            specials,
            overflow,
        };
        let format = Format { name: "described", aliases: &[], bits: 8, encoding: Encoding::Float(fields), source: "" };
        &*Box::leak(Box::new(format))
    };
    match name {
        "e3m4-ieee" => float(3, 4, 3, true),
        "e4m3-ieee" => float(4, 3, 7, true),
        "e4m3b11fnuz" => float(4, 3, 11, false),
        "mxint8-element" => find("s8").unwrap(),
        _ => find(name).unwrap(),
    }
}

/// A package's result and this program's.
struct Case<'a> {
    target: &'a str,
    to: &'static Format,
    value: Real,
    theirs: u64,
    ours: Option<u64>,
}

impl Case<'_> {
    fn is_nan(&self, code: u64) -> bool {
        self.to.decode(code).class == Class::Nan
    }

    /// Codes of 16 bits are never refused: 0xffff is a NaN among them.
    fn refused(&self) -> bool {
        self.to.bits < 16 && self.theirs == tables::REFUSED
    }

    fn is_nan_value(&self) -> bool {
        self.value == Real::Nan
    }

    fn is_infinite_below(&self) -> bool {
        self.value == Real::Infinity { negative: true }
    }

    /// True half-way between two powers of two.
    fn is_tie(&self) -> bool {
        matches!(self.value, Real::Finite(finite) if finite.significand.checked_shr(finite.significand.trailing_zeros()) == Some(3))
    }

    fn is_zero(&self) -> bool {
        matches!(self.value, Real::Finite(finite) if finite.is_zero())
    }
}

/// Counts the differences between a package and this program by the rule that explains each.
fn count(
    counts: &mut BTreeMap<(String, &'static str), u64>,
    table: &str,
    case: &Case,
    explain: impl Fn(&Case) -> Option<&'static str>,
) {
    let nan = |code: u64| !case.refused() && case.is_nan(code);
    let same = match case.ours {
        Some(ours) => ours == case.theirs || nan(ours) && nan(case.theirs),
        None => case.refused(),
    };
    if !same {
        let explained = explain(case).unwrap_or_else(|| {
            panic!("{table}: {:?} gives {:#x}, here {:x?}: no rule explains it", case.value, case.theirs, case.ours)
        });
        *counts.entry((case.target.to_string(), explained)).or_default() += 1;
    }
}

#[test]
fn ml_dtypes_decodes_every_code_alike() {
    decodes_alike(&Tables::read("ml_dtypes"), 11);
}

#[test]
fn gfloat_decodes_every_code_alike() {
    decodes_alike(&Tables::read("gfloat"), 7);
}

fn decodes_alike(tables: &Tables, formats: usize) {
    let decoded: Vec<_> = tables.matching("decode").collect();
    assert_eq!(decoded.len(), formats);
    for (parts, data) in decoded {
        let from = format(parts[1]);
        assert_eq!(data.len(), 1 << from.bits, "{parts:?}");
        for (code, bits) in data.iter().enumerate() {
            let ours = match parts[1] {
                "mxint8-element" => block::find("mxint8").unwrap().element.value(code as u64).to_f64(),
                _ => from.to_f64(code as u64),
            };
            let theirs = f64::from(f32::from_bits(*bits as u32));
            let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
            assert!(same, "{parts:?} {code:#x}: {theirs} there, {ours} here");
        }
    }
}

#[test]
fn ml_dtypes_converts_alike_or_by_its_own_rules() {
    let tables = Tables::read("ml_dtypes");
    let mut counts = BTreeMap::new();
    let mut conversions = 0;
    for (parts, results) in tables.matching("convert") {
        let (from, to) = (format(parts[1]), format(parts[2]));
        for (code, theirs) in results.iter().enumerate() {
            let value = from.value(code as u64);
            let ours = to.encode(&value, Rounding::Rne, Overflow::Standard);
            let case = Case { target: parts[2], to, value, theirs: *theirs, ours };
            count(&mut counts, &parts.join("/"), &case, ml_dtypes_rule);
            conversions += 1;
        }
    }
    assert!(conversions > 1_000_000, "{conversions}");
    let expected = [
        ("e2m1", "a NaN that has no code becomes a zero", 2355),
        ("e2m3", "a NaN that has no code becomes a zero", 2355),
        ("e3m2", "a NaN that has no code becomes a zero", 2355),
        ("e8m0", "numbers above 2^-127 become 2^-126", 31),
        ("e8m0", "zero becomes NaN", 4),
    ];
    check_counts(&counts, &expected);
}

/// Rule of ml_dtypes where the specifications are silent: a NaN without a code, zero in e8m0.
/// Its rounding of numbers between 2^-127 and 1.5 * 2^-127 up to 2^-126 is an error.
fn ml_dtypes_rule(case: &Case) -> Option<&'static str> {
    let zero = case.to.decode(case.theirs).class == Class::Zero;
    match case.value {
        Real::Nan if !case.to.has_nan() && zero => Some("a NaN that has no code becomes a zero"),
        _ if case.target != "e8m0" => None,
        _ if case.is_zero() && case.is_nan(case.theirs) => Some("zero becomes NaN"),
        // The nearest is 2^-127 up to 1.5 * 2^-127.
        Real::Finite(finite) if finite.leading_exponent() == Some(-127) && (case.ours, case.theirs) == (Some(0), 1) => {
            Some("numbers above 2^-127 become 2^-126")
        }
        _ => None,
    }
}

#[test]
fn gfloat_converts_alike_or_by_its_own_rules() {
    let tables = Tables::read("gfloat");
    let mut counts = BTreeMap::new();
    let mut conversions = 0;
    for (parts, results) in tables.matching("convert") {
        let (from, to) = (format(parts[1]), format(parts[2]));
        let rounding = match parts[3].strip_prefix("SR3-") {
            Some(random) => Rounding::Sr { random: random.parse().unwrap(), bits: 3 },
            None => Rounding::parse(parts[3]).unwrap(),
        };
        let overflow = if parts[4] == "saturate" { Overflow::Saturate } else { Overflow::Standard };
        for (code, theirs) in results.iter().enumerate() {
            let value = from.value(code as u64);
            let ours = match (parts[2], value) {
                ("mxint8-element", Real::Finite(finite)) => {
                    Some(block::find("mxint8").unwrap().element.encode(&finite, rounding))
                }
                _ => to.encode(&value, rounding, overflow),
            };
            let case = Case { target: parts[2], to, value, theirs: *theirs, ours };
            count(&mut counts, &parts.join("/"), &case, gfloat_rule);
            conversions += 1;
        }
    }
    assert!(conversions > 10_000_000, "{conversions}");
    let expected = [
        ("e2m1", "refuses what is too large, unless it saturates", 355_516),
        ("e2m3", "refuses what is too large, unless it saturates", 352_708),
        ("e3m2", "refuses what is too large, unless it saturates", 325_996),
        ("e8m0", "-infinity is taken as +infinity", 16),
        ("e8m0", "a tie goes to the even code", 295),
        ("e8m0", "zero and numbers below the smallest become NaN", 866),
        ("mxint8-element", "-2 is written", 316_300),
        ("mxint8-element", "refuses what is too large, unless it saturates", 379_449),
    ];
    check_counts(&counts, &expected);
}

/// Rule of gfloat: it refuses where OCP saturates, gives NaN for zero in e8m0, and writes -2 in MXINT8.
/// It resolves a tie between powers of two by the parity of the code. (Here the larger one wins, the significand 1
/// being odd, as in ml_dtypes.) The saturation of -infinity to +2^127 in e8m0 is an error.
fn gfloat_rule(case: &Case) -> Option<&'static str> {
    let refused = case.refused();
    match (case.target, case.ours) {
        _ if refused && !case.to.has_nan() && !case.is_nan_value() => {
            Some("refuses what is too large, unless it saturates")
        }
        ("e8m0", Some(0)) if case.is_nan(case.theirs) => Some("zero and numbers below the smallest become NaN"),
        ("e8m0", Some(ours)) if case.is_infinite_below() && case.is_nan(ours) => {
            Some("-infinity is taken as +infinity")
        }
        ("e8m0", Some(ours)) if case.is_tie() && ours == case.theirs + 1 && ours % 2 == 1 => {
            Some("a tie goes to the even code")
        }
        ("mxint8-element", Some(0x81)) if case.theirs == 0x80 => Some("-2 is written"),
        _ => None,
    }
}
