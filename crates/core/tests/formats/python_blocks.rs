//! Quantised blocks against the recorded results of torchao, microxcaling and gfloat.
//! They are equal, or the difference follows a named rule of the package, as often as stated here.
//! `tests/tables/make.py` made the tables.

use std::collections::BTreeMap;

use crate::tables::{Tables, check_counts};
use tcnum_core::{
    format::block::{BlockFormat, Blocks, Quantizer, find, find_rule, unpack_pairs},
    format::{Finite, Real, Rounding},
};

type Counts = BTreeMap<(String, &'static str), u64>;

/// Recorded blocks of 32 values.
fn inputs(tables: &Tables) -> Vec<f32> {
    tables.get("inputs").iter().map(|bits| f32::from_bits(*bits as u32)).collect()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().map(|word| *word as u8).collect()
}

fn element_codes(format: &BlockFormat, stored: &[u64]) -> Vec<u8> {
    let codes = bytes(stored);
    if format.element.format.bits == 4 { unpack_pairs(&codes, format.length).unwrap() } else { codes }
}

fn amax(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |amax: f32, x| amax.max(x.abs()))
}

/// Code of the element nearest to `x * 2^exponent`.
fn element(format: &BlockFormat, x: f32, exponent: i32) -> u8 {
    let Real::Finite(x) = Real::from(f64::from(x)) else { panic!("{x} is finite") };
    format.element.encode(&Finite { exponent: x.exponent + exponent, ..x }, Rounding::Rne) as u8
}

/// True if torchao's "rceil" may give `scale`: a binary32 logarithm of `amax / largest`, rounded up.
/// The true quotient then lies above it by less than the rounding errors of the quotient and of its logarithm.
fn rceil_rounds_down_to(scale: u8, amax: f32, format: &BlockFormat) -> bool {
    let excess = f64::from(amax) / format.element.largest().to_f64() / 2f64.powi(i32::from(scale) - 127);
    excess > 1.0 && excess < 1.0 + 24.0 * f64::from(f32::EPSILON)
}

/// True if an element has a result beyond binary32 under a scale.
fn result_is_infinite(format: &BlockFormat, scale: u8, codes: &[u8]) -> bool {
    let scale = 2f64.powi(i32::from(scale) - 127);
    codes.iter().any(|code| ((format.element.value(u64::from(*code)).to_f64() * scale) as f32).is_infinite())
}

#[test]
fn torchao_quantises_to_mx_alike_or_by_its_own_rules() {
    let tables = Tables::read("blocks");
    let values = inputs(&tables);
    let mut counts = Counts::new();
    let mut compared = 0;
    for name in ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4"] {
        for rule in ["floor", "ceil", "even", "rceil"] {
            let format = find(name).unwrap();
            let ours = Quantizer { rule: find_rule(rule).unwrap(), ..Quantizer::new(format) }.quantize(&values, 32);
            let scales = bytes(tables.get(&format!("torchao/{name}/{rule}/scale")));
            let codes = element_codes(format, tables.get(&format!("torchao/{name}/{rule}/codes")));
            for (i, block) in values.chunks(32).enumerate() {
                let mut note = |what| *counts.entry((rule.to_string(), what)).or_default() += 1;
                let our_codes = &ours.elements[32 * i..][..32];
                compared += 1;
                let theirs = &codes[32 * i..][..32];
                let nearest =
                    |exponent| block.iter().map(move |x| element(format, *x, exponent)).eq(theirs.iter().copied());
                if block.iter().any(|x| x.is_infinite()) {
                    let expected = if rule == "rceil" { 254 } else { 255 - format.element.emax() };
                    assert_eq!((i32::from(scales[i]), ours.scales[i]), (expected, 0xff), "{name} {rule}");
                    note("infinity counts as 2^128");
                } else if (u32::from(scales[i]) == ours.scales[i] + 1) && result_is_infinite(format, scales[i], theirs)
                {
                    assert!(
                        (32 * i..32 * i + 32).all(|j| (ours.value(j).to_f64() as f32).is_finite()),
                        "{name} {rule} {block:?}"
                    );
                    note("the largest magnitude becomes an infinity of binary32");
                } else if u32::from(scales[i]) != ours.scales[i] {
                    assert!(
                        rule == "rceil" && rceil_rounds_down_to(scales[i], amax(block), format),
                        "{name} {rule} {block:?}"
                    );
                    note("the logarithm is rounded to binary32");
                } else if scales[i] == 0 && *theirs != *our_codes {
                    assert!(
                        nearest(if rule == "rceil" { 0 } else { 126 }),
                        "{name} {rule} {block:?}: {our_codes:x?} here"
                    );
                    note("values are divided by another number than the scale 2^-127");
                } else {
                    assert!(
                        scales[i] == 0xff || *theirs == *our_codes,
                        "{name} {rule} {block:?}: {our_codes:x?} here, {theirs:x?} there"
                    );
                }
            }
        }
    }
    assert_eq!(compared, 20 * 264);
    let infinity = "infinity counts as 2^128";
    let beyond = "the largest magnitude becomes an infinity of binary32";
    let divisor = "values are divided by another number than the scale 2^-127";
    let expected = [
        ("ceil", infinity, 10),
        ("ceil", beyond, 5),
        ("ceil", divisor, 62),
        ("even", infinity, 10),
        ("even", beyond, 5),
        ("even", divisor, 64),
        ("floor", infinity, 10),
        ("floor", divisor, 65),
        ("rceil", infinity, 10),
        ("rceil", beyond, 5),
        ("rceil", "the logarithm is rounded to binary32", 2),
        ("rceil", divisor, 64),
    ];
    check_counts(&counts, &expected);
}

#[test]
fn torchao_quantises_to_nvfp4_alike_or_by_its_own_rules() {
    let tables = Tables::read("blocks");
    let values: Vec<f32> = tables.get("tensor").iter().map(|bits| f32::from_bits(*bits as u32)).collect();
    let format = find("nvfp4").unwrap();
    let ours = Quantizer::new(format).quantize(&values, 64);
    assert_eq!(ours.tensor_scale, Some(tables.get("torchao/nvfp4/tensor_scale")[0]));
    let scales = bytes(tables.get("torchao/nvfp4/scale"));
    let codes = element_codes(format, tables.get("torchao/nvfp4/codes"));
    let mut counts = Counts::new();
    for (i, block) in values.chunks(16).enumerate() {
        let mut note = |what| *counts.entry(("nvfp4".into(), what)).or_default() += 1;
        if u32::from(scales[i]) == ours.scales[i] {
            assert_eq!(codes[16 * i..][..16], ours.elements[16 * i..][..16], "{block:?}");
        } else {
            assert!(scales[i] == 0x08 && ours.scales[i] < 0x08, "{:#x} {:#x}", scales[i], ours.scales[i]);
            note("scales are at least the smallest normal number");
        }
    }
    check_counts(&counts, &[("nvfp4", "scales are at least the smallest normal number", 4)]);
}

/// Compares the blocks' values with those of a package that gives no codes.
fn compare_values(
    name: &str,
    ours: &Blocks,
    theirs: &[u64],
    values: &[f32],
    counts: &mut Counts,
    explain: impl Fn([&[f32]; 3]) -> Option<&'static str>,
) {
    let ours = ours.dequantize();
    let theirs: Vec<f32> = theirs.iter().map(|bits| f32::from_bits(*bits as u32)).collect();
    assert_eq!(theirs.len(), ours.len());
    let alike = |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan();
    for ((block, ours), theirs) in values.chunks(32).zip(ours.chunks(32)).zip(theirs.chunks(32)) {
        if !ours.iter().zip(theirs).all(alike) {
            let rule = explain([block, ours, theirs])
                .unwrap_or_else(|| panic!("{name} {block:?}:\n{theirs:?} there,\n{ours:?} here: no rule explains it"));
            *counts.entry((name.to_string(), rule)).or_default() += 1;
        }
    }
}

#[test]
fn microxcaling_quantises_alike_or_by_its_own_rules() {
    let tables = Tables::read("blocks");
    let values = inputs(&tables);
    let mut counts = Counts::new();
    for name in ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "mxint8"] {
        for rounding in [Rounding::Rne, Rounding::Rna, Rounding::Rz] {
            let format = find(name).unwrap();
            let ours = Quantizer { rounding, ..Quantizer::new(format) }.quantize(&values, 32);
            let theirs = tables.get(&format!("microxcaling/{name}/{}", rounding.name()));
            let rule = |[block, ours, theirs]: [&[f32]; 3]| {
                let mut different =
                    block.iter().zip(ours.iter().zip(theirs)).filter(|(_, (ours, theirs))| ours != theirs);
                different.all(|(x, _)| log2_may_round_up(*x)).then_some("the logarithm of a value is rounded up")
            };
            compare_values(name, &ours, theirs, &values, &mut counts, rule);
        }
    }
    let value = "the logarithm of a value is rounded up";
    let expected = [
        ("mxfp4", value, 3),
        ("mxfp6-e2m3", value, 3),
        ("mxfp6-e3m2", value, 4),
        ("mxfp8-e4m3", value, 2),
        ("mxfp8-e5m2", value, 4),
        ("mxint8", value, 3),
    ];
    check_counts(&counts, &expected);
}

/// True if `log2 |x|`, times any power of two within binary32's range, may round up to a whole number.
/// `x` is then within 24 units in the last place below a power of two.
fn log2_may_round_up(x: f32) -> bool {
    x.to_bits() & 0x7f_ffff >= 0x7f_ffff - 24
}

#[test]
fn gfloat_quantises_alike_or_by_its_own_rules() {
    let tables = Tables::read("blocks");
    let values = inputs(&tables);
    let mut counts = Counts::new();
    for name in ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "mxint8"] {
        let ours = Quantizer::new(find(name).unwrap()).quantize(&values, 32);
        let minus_two = |[block, ours, theirs]: [&[f32]; 3]| {
            let step = ours
                .iter()
                .zip(theirs)
                .all(|(ours, theirs)| ours == theirs || *ours < 0.0 && *theirs == ours * (128.0 / 127.0));
            (name == "mxint8" && step && amax(block) > 0.0).then_some("-2 is written")
        };
        let theirs = tables.get(&format!("gfloat/{name}"));
        compare_values(name, &ours, theirs, &values, &mut counts, minus_two);
    }
    check_counts(&counts, &[("mxint8", "-2 is written", 6)]);
}
