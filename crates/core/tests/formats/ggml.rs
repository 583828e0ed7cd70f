//! `q4-0` against ggml's own arithmetic: step by step in f32 here, and as the package gguf recorded it.
//! `tests/tables/make.py` made the table.

use std::collections::BTreeMap;

use crate::tables::{Tables, check_counts};
use proptest::prelude::*;
use tcnum_core::{
    format::block::{Blocks, Quantizer, SCALE_RULES, find, find_rule},
    format::{Real, Rounding, find as find_format},
};

const LENGTH: usize = 32;
/// Sign bit and largest number of f16.
const SIGN: u32 = 0x8000;
const LARGEST: u32 = 0x7bff;

/// Scale code and codes of a block, as `quantize_row_q4_0_ref` computes them; the scale saturates.
fn by_ggml(values: &[f32]) -> (u32, Vec<u8>) {
    let (mut largest, mut extreme) = (0.0f32, 0.0f32);
    for value in values {
        if largest < value.abs() {
            (largest, extreme) = (value.abs(), *value);
        }
    }
    let scale = extreme / -8.0;
    let inverse = if scale != 0.0 { 1.0 / scale } else { 0.0 };
    let code = |value: &f32| {
        let product = value * inverse;
        ((product + 8.5) as i8).min(15) as u8
    };
    (f16(scale), values.iter().map(code).collect())
}

/// Code of a number in f16, to nearest, ties to even, by arithmetic alone.
fn f16(number: f32) -> u32 {
    let sign = if number.is_sign_negative() { SIGN } else { 0 };
    let magnitude = f64::from(number.abs());
    if magnitude > 65504.0 {
        return sign | LARGEST;
    }
    // Numbers of a binade are multiples of its unit; those below 2^-14 are multiples of 2^-24.
    let mut exponent = -14;
    while magnitude >= 2f64.powi(exponent + 1) {
        exponent += 1;
    }
    let multiple = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u32;
    let code = (((exponent + 14) as u32) << 10) + multiple;
    sign | code.min(LARGEST)
}

/// Codes of ggml, which are 0 to 15.
fn stored(elements: &[u8]) -> Vec<u8> {
    elements.iter().map(|code| code ^ 8).collect()
}

fn quantizer(rule: &str) -> Quantizer {
    Quantizer { rule: find_rule(rule).unwrap(), ..Quantizer::new(find("q4-0").unwrap()) }
}

/// Checks blocks by the vectorised and the exact computation, and their values.
fn check(values: &[f32]) {
    let quantizer = Quantizer::new(find("q4-0").unwrap());
    let exactly = quantizer.quantize_with(values.len(), LENGTH, |at| Real::from(f64::from(values[at])));
    // As many values as are converted with vectors.
    let many: Vec<f32> = values.iter().copied().cycle().take(values.len() * 8192usize.div_ceil(values.len())).collect();
    let fast = quantizer.quantize(&many, LENGTH);
    let results = exactly.dequantize();
    for (block, values) in values.chunks(LENGTH).enumerate() {
        let (scale, codes) = by_ggml(values);
        let range = block * LENGTH..(block + 1) * LENGTH;
        for blocks in [&exactly, &fast] {
            assert_eq!(blocks.scales[block], scale, "{values:?}");
            assert_eq!(stored(&blocks.elements[range.clone()]), codes, "{values:?}");
        }
        let factor = find_format("f16").unwrap().to_f64(scale.into()) as f32;
        for (result, code) in results[range].iter().zip(codes) {
            assert_eq!(result.to_bits(), ((f32::from(code) - 8.0) * factor).to_bits());
        }
    }
}

/// A block of these values, and zeros.
fn block(values: &[f32]) -> Vec<f32> {
    values.iter().copied().chain(std::iter::repeat(0.0)).take(LENGTH).collect()
}

#[test]
fn corners_are_those_of_ggml() {
    let tiny = f32::from_bits(1);
    // Scales that f16 holds as subnormal numbers or rounds to zero; the smallest scale whose reciprocal f32 holds.
    let low = [-17, -21, -24, -25, -26, -40, -100, -123, -124].map(|exponent| 2f32.powi(exponent));
    for values in [
        vec![0.0],
        vec![-0.0; LENGTH],
        vec![8.0, -8.0],
        vec![-8.0, 8.0],
        vec![1.0, -8.0, 8.0, 8.0],
        vec![0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -7.5, 7.5, 8.0],
        vec![0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -7.5, 7.5, -8.0],
        // Beside ties, where the sum in f32 reaches the next integer or misses it.
        vec![
            -8.0,
            0.5f32.next_down(),
            (-0.5f32).next_up(),
            1.5f32.next_down(),
            6.5f32.next_down(),
            (-7.5f32).next_down(),
        ],
        vec![3.0, 1.0, 2.0, -0.1875, 0.1875],
        // The largest number of f16 eight times, to both sides of the step to what f16 does not hold.
        vec![524_032.0, 1.0, -1.0],
        vec![524_159.97, 70_000.0],
        vec![-524_160.0, 70_000.0],
        vec![f32::MAX, f32::MIN, 1.0],
    ] {
        check(&block(&values));
    }
    for most in low.into_iter().flat_map(|most| [most, -most, most * 1.5, most.next_up()]) {
        check(&block(&[most / 3.0, most, -most / 2.0, tiny, -tiny]));
    }
}

#[test]
fn a_reciprocal_beyond_f32_leaves_zeros_under_a_scale_of_zero() {
    // 1 / (most / 8) is infinite: ggml converts an infinity to an integer, which C leaves undefined.
    for most in [f32::from_bits(1), 2f32.powi(-126), -(2f32.powi(-125))] {
        let blocks = Quantizer::new(find("q4-0").unwrap()).quantize(&block(&[most, -most / 2.0]), LENGTH);
        assert_eq!(blocks.scales[0] & !SIGN, 0);
        assert_eq!(blocks.elements, [0; LENGTH]);
    }
}

/// Every value of a grid beside every largest magnitude of one: all codes, their ties, both signs.
#[test]
fn every_short_significand_beside_every_other_is_quantised_as_by_ggml() {
    let mut values = Vec::new();
    for most in 64..=128 {
        for sign in [1.0, -1.0] {
            for first in (-most..=most).step_by(LENGTH - 1) {
                let others = (first..first + LENGTH as i32 - 1).map(|other| other.min(most) as f32);
                values.extend(std::iter::once(most as f32 * sign).chain(others));
            }
        }
    }
    check(&values);
}

fn any_block() -> impl Strategy<Value = Vec<f32>> {
    let bits = prop::collection::vec(any::<u32>(), LENGTH);
    (bits, 0..255i32, prop_oneof![Just(0u32), Just(4), Just(40)], prop_oneof![Just(23u32), Just(4), Just(2)]).prop_map(
        |(bits, top, spread, kept)| {
            let number = |bits: u32| {
                let exponent = (top as u32).saturating_sub(bits >> 8 & 0xff & spread);
                let trailing = bits >> 9 & (0x7f_ffff << (23 - kept) & 0x7f_ffff);
                f32::from_bits(bits & 1 << 31 | exponent << 23 | trailing)
            };
            bits.into_iter().map(number).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_block_is_that_of_ggml(values in any_block()) {
        // Below, the reciprocal is not one of f32.
        prop_assume!(values.iter().any(|value| value.abs() > 2f32.powi(-125)) || values.iter().all(|value| *value == 0.0));
        check(&values);
    }
}

/// Loss of a block under a scale: each value is the nearest of 16 multiples.
fn loss(values: &[f32], scale: f64, squares: bool) -> f64 {
    let error = |value: &f32| {
        let value = f64::from(*value);
        let multiple = if scale == 0.0 { 0.0 } else { (value / scale).round_ties_even().clamp(-8.0, 7.0) };
        let error = (multiple * scale - value).abs();
        if squares { error * error } else { error }
    };
    values.iter().map(error).sum()
}

fn blocks_that_tell() -> Vec<Vec<f32>> {
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    let mut blocks = vec![
        block(&[]),
        block(&[-0.0, 3.0]),
        block(&[-5.0]),
        block(&[8.0, 7.0, -3.0]),
        block(&[-8.0, -7.0, 3.0, 7.0]),
        block(&[1e30, 2e5, -3.0]),
        block(&[-1e30, 2e5, 4e5, 4.1e5, -9e4]),
        block(&[9e5, -6e5, 1e5, 3e4]),
        [3e-8, -1e-7].repeat(16),
    ];
    for number in 0..20 {
        let (spread, shift) = ([0.0f32, 2.0, 8.0][number % 3], [0, -20, 15, -6][number % 4]);
        blocks.push((0..LENGTH).map(|_| (next() * spread).exp2() * next() * 2f32.powi(shift)).collect());
    }
    blocks
}

#[test]
fn no_scale_of_f16_of_either_sign_has_less_loss_than_that_of_mse_or_mae() {
    let format = find_format("f16").unwrap();
    let scales: Vec<f64> =
        [0..=LARGEST, SIGN..=SIGN | LARGEST].into_iter().flatten().map(|code| format.to_f64(code.into())).collect();
    let mut negative = 0;
    for values in blocks_that_tell() {
        for (rule, squares) in [("mse", true), ("mae", false)] {
            let quantizer = quantizer(rule);
            let exactly = quantizer.quantize_with(LENGTH, LENGTH, |at| Real::from(f64::from(values[at])));
            assert_eq!(quantizer.quantize(&values, LENGTH), exactly, "{rule} {values:?}");
            let chosen = loss(&values, format.to_f64(exactly.scales[0].into()), squares);
            let least = scales.iter().map(|scale| loss(&values, *scale, squares)).fold(f64::INFINITY, f64::min);
            assert!(chosen <= least * (1.0 + 1e-12), "{rule} {values:?}: {chosen} {least}");
            negative += u32::from(exactly.scales[0] & SIGN != 0);
        }
    }
    assert!(negative > 5, "negative scales decide {negative} times");
}

#[test]
fn every_rule_but_extreme_mse_and_mae_has_positive_scales() {
    let values = block(&[-8.0, 7.5, 0.3]);
    for rule in SCALE_RULES {
        let blocks = quantizer(rule.name).quantize(&values, LENGTH);
        let signed = ["extreme", "mse", "mae"].contains(&rule.name);
        assert!(signed || blocks.scales[0] & SIGN == 0, "{rule}");
    }
    // 7 is the largest number: the rules of the largest magnitude leave -8 to what is rounded up to it.
    assert_eq!(quantizer("nearest").quantize(&block(&[-7.0, 7.0]), LENGTH).scales, [0x3c00]);
    assert_eq!(quantizer("extreme").quantize(&block(&[8.0, 7.0]), LENGTH).scales, [0xbc00]);
}

#[test]
fn other_roundings_of_extreme_divide_by_the_stored_scale() {
    // The scale 2.1 / -8 is rounded to f16, so that 2.1 is not -8 of it.
    let values = block(&[2.1, 1.0, -0.4]);
    let scale = f64::from(-2.1f32 / 8.0);
    let stored = find_format("f16").unwrap().to_f64(f16(scale as f32).into());
    for (rounding, of) in
        [(Rounding::Rd, f64::floor as fn(f64) -> f64), (Rounding::Ru, f64::ceil), (Rounding::Rz, f64::trunc)]
    {
        let blocks = Quantizer { rounding, ..quantizer("extreme") }.quantize(&values, LENGTH);
        let integers: Vec<f64> = blocks.elements.iter().map(|code| f64::from((code << 4) as i8 >> 4)).collect();
        let expected: Vec<f64> =
            values.iter().map(|value| of(f64::from(*value) / stored).clamp(-8.0, 7.0) + 0.0).collect();
        assert_eq!(integers, expected, "{rounding:?}");
    }
}

#[test]
fn a_rule_that_does_not_fit_the_format_is_named_with_what_it_needs() {
    let extreme = find_rule("extreme").unwrap();
    for name in ["q8-0", "mxfp4", "nvfp4", "nf4-64", "mxint8", "fp8-1x128"] {
        let why = extreme.refusal(find(name).unwrap()).unwrap();
        assert!(why.contains("extreme needs") && why.contains(name), "{name}: {why}");
    }
    assert_eq!(extreme.refusal(find("q4-0").unwrap()), None);
    assert!(
        SCALE_RULES
            .iter()
            .filter(|rule| rule.name != "extreme")
            .all(|rule| rule.refusal(find("mxfp4").unwrap()).is_none())
    );
}

/// Bytes of blocks as GGUF stores them, 16 nibbles apart.
fn bytes(blocks: &Blocks) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (scale, codes) in blocks.scales.iter().zip(blocks.elements.chunks(LENGTH)) {
        bytes.extend((*scale as u16).to_le_bytes());
        let (low, high) = codes.split_at(LENGTH / 2);
        bytes.extend(low.iter().zip(high).map(|(low, high)| (low ^ 8) | (high ^ 8) << 4));
    }
    bytes
}

#[test]
fn gguf_quantises_alike_or_by_its_own_rules() {
    let tables = Tables::read("gguf");
    let values: Vec<f32> = tables.get("inputs").iter().map(|bits| f32::from_bits(*bits as u32)).collect();
    let recorded: Vec<u8> = tables.get("Q4_0").iter().map(|byte| *byte as u8).collect();
    let results: Vec<u32> = tables.get("Q4_0/values").iter().map(|bits| *bits as u32).collect();
    let blocks = Quantizer::new(find("q4-0").unwrap()).quantize(&values, LENGTH);
    let ours = bytes(&blocks);
    let decoded = blocks.dequantize();
    let mut counts = BTreeMap::new();
    for (block, values) in values.chunks(LENGTH).enumerate() {
        let [ours, theirs] = [&ours, &recorded].map(|bytes| &bytes[block * 18..][..18]);
        let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let what = if values.iter().any(|value| !value.is_finite()) {
            "a NaN or an infinity: the block is NaN here"
        } else if largest == 0.0 && values[0].is_sign_negative() {
            assert_eq!((ours[1], theirs[1], &ours[2..]), (0x80, 0, &theirs[2..]));
            "zeros, the first of them -0: ggml in C and tcnum write the scale -0"
        } else if largest > 0.0 && (8.0 / largest).is_infinite() {
            "the reciprocal is infinite: elements are zeros here"
        } else if largest >= 524_160.0 {
            assert_eq!((&ours[..2], &ours[2..]), (&[0xff, ours[1]][..], &theirs[2..]));
            assert_eq!([ours[1] | 0x7f, theirs[0], theirs[1] & 0x7f], [ours[1] | 0x7f, 0, 0x7c]);
            "the scale is an infinity: it is the largest number here"
        } else {
            assert_eq!(ours, theirs, "{values:?}");
            let range = block * LENGTH..(block + 1) * LENGTH;
            let bits: Vec<u32> = decoded[range.clone()].iter().map(|value| value.to_bits()).collect();
            assert_eq!(bits, results[range]);
            "equal"
        };
        *counts.entry(("Q4_0".to_string(), what)).or_default() += 1u64;
    }
    let expected = [
        ("equal", 333),
        ("a NaN or an infinity: the block is NaN here", 3),
        ("the reciprocal is infinite: elements are zeros here", 20),
        ("the scale is an infinity: it is the largest number here", 69),
        ("zeros, the first of them -0: ggml in C and tcnum write the scale -0", 1),
    ];
    check_counts(&counts, &expected.map(|(what, count)| ("Q4_0", what, count)));
}
