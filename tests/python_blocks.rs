//! Quantised blocks against the recorded results of torchao, microxcaling and gfloat: equal, or the difference follows a rule
//! of theirs that is named here, and occurs as often as is said here. `tables/make.py` made the tables.

mod tables;

use std::collections::BTreeMap;

use tables::{Tables, check_counts};
use tcnum::{
    block::{BlockFormat, Blocks, Quantizer, find, find_rule, unpack_pairs},
    format::Rounding,
};

type Counts = BTreeMap<(String, &'static str), u64>;

/// The recorded blocks of 32 values.
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

/// How torchao rounds `amax` up to a scale ("rceil"): in binary32, by a multiplication with the reciprocal of the largest element.
fn torchao_rceil(amax: f32, format: &BlockFormat) -> u8 {
    let largest = format.element.largest().to_f64();
    let ratio = amax * ((1.0 / largest) as f32);
    let (exponent, trailing) = (ratio.to_bits() >> 23, ratio.to_bits() & 0x7f_ffff);
    let up = if exponent == 0 { trailing > 0x40_0000 } else { trailing != 0 };
    exponent as u8 + u8::from(up)
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
                let mut note = |what| *counts.entry((format!("{name} {rule}"), what)).or_default() += 1;
                let own = &ours.elements[32 * i..][..32];
                let same_scale = scales[i] == ours.scales[i];
                compared += 1;
                if !same_scale {
                    assert!(
                        rule == "rceil" && scales[i] == torchao_rceil(amax(block), format),
                        "{name} {rule} {block:?}"
                    );
                    note("the quotient is rounded to binary32 before it is rounded up");
                } else if scales[i] != 0xff && codes[32 * i..][..32] != *own {
                    panic!("{name} {rule} {block:?}: {:x?} there, {own:x?} here", &codes[32 * i..][..32]);
                }
            }
        }
    }
    assert_eq!(compared, 20 * 264);
    check_counts(&counts, &[]);
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
        if scales[i] == ours.scales[i] {
            assert_eq!(codes[16 * i..][..16], ours.elements[16 * i..][..16], "{block:?}");
        } else {
            assert!(scales[i] == 0x08 && ours.scales[i] < 0x08, "{:#x} {:#x}", scales[i], ours.scales[i]);
            note("scales are at least the smallest normal number");
        }
    }
    check_counts(&counts, &[]);
}

/// The blocks' values against those of a package that gives no codes.
fn compare_values(
    name: &str,
    ours: &Blocks,
    theirs: &[u64],
    values: &[f32],
    counts: &mut Counts,
    explain: impl Fn(&[f32], &[f32], &[f32]) -> Option<&'static str>,
) {
    let own = ours.dequantize();
    let theirs: Vec<f32> = theirs.iter().map(|bits| f32::from_bits(*bits as u32)).collect();
    assert_eq!(theirs.len(), own.len());
    let alike = |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan();
    for ((block, own), theirs) in values.chunks(32).zip(own.chunks(32)).zip(theirs.chunks(32)) {
        if !own.iter().zip(theirs).all(alike) {
            let rule = explain(block, own, theirs)
                .unwrap_or_else(|| panic!("{name} {block:?}:\n{theirs:?} there,\n{own:?} here: no rule explains it"));
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
            compare_values(name, &ours, theirs, &values, &mut counts, microxcaling_rule);
        }
    }
    check_counts(&counts, &[]);
}

/// Whether binary32's log2, correctly rounded, is a whole number that the true one does not reach.
fn log2_rounds_up(amax: f32) -> bool {
    let log2 = f64::from(amax).log2();
    (log2 as f32).fract() == 0.0 && log2.floor() < f64::from(log2 as f32)
}

fn microxcaling_rule(block: &[f32], _own: &[f32], _theirs: &[f32]) -> Option<&'static str> {
    let amax = amax(block);
    log2_rounds_up(amax).then_some("the logarithm of amax is rounded up to the next whole number")
}

#[test]
fn gfloat_quantises_alike_or_by_its_own_rules() {
    let tables = Tables::read("blocks");
    let values = inputs(&tables);
    let mut counts = Counts::new();
    for name in ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "mxint8"] {
        let ours = Quantizer::new(find(name).unwrap()).quantize(&values, 32);
        let minus_two = |block: &[f32], own: &[f32], theirs: &[f32]| {
            let step = own
                .iter()
                .zip(theirs)
                .all(|(own, theirs)| own == theirs || *own < 0.0 && *theirs == own * (128.0 / 127.0));
            (name == "mxint8" && step && amax(block) > 0.0).then_some("-2 is written")
        };
        let theirs = tables.get(&format!("gfloat/{name}"));
        compare_values(name, &ours, theirs, &values, &mut counts, minus_two);
    }
    check_counts(&counts, &[]);
}
