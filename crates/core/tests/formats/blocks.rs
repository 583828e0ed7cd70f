//! Block formats against rational arithmetic: all scales and elements of small blocks, random others.

use std::cmp::Ordering;

use proptest::prelude::*;
use rug::{Integer, Rational};
use tcnum_core::{
    format::block::{self, BlockFormat, Blocks, Quantizer, SCALE_RULES, ScaleRule, find, find_rule},
    format::{Format, Real, Rounding, Zeros},
};

/// The shipped formats without offsets, whose values are exact quotients.
fn formats() -> impl Iterator<Item = &'static BlockFormat> {
    block::formats().iter().filter(|format| format.offset.is_none())
}

/// Exact value of a code, read from its format's fields by this file; `None` for NaN and infinity.
fn code_value(format: &Format, code: u64) -> Option<Rational> {
    let Some(float) = format.float() else {
        let value = (code << (64 - format.bits)) as i64 >> (64 - format.bits);
        return Some(Rational::from(value));
    };
    if !format.decode(code).is_finite() {
        return None;
    }
    let trailing = code & ((1 << float.trailing_bits) - 1);
    let biased = (code >> float.trailing_bits & ((1 << float.exponent_bits) - 1)) as i32;
    let hidden = u64::from(biased != 0 || !float.subnormals);
    let quantum = biased.max(i32::from(float.subnormals)) - float.bias - float.trailing_bits as i32;
    let magnitude = power(quantum) * Integer::from(trailing | hidden << float.trailing_bits);
    let negative = float.signed && code >> (format.bits - 1) & 1 == 1;
    Some(if negative { -magnitude } else { magnitude })
}

fn power(exponent: i32) -> Rational {
    if exponent < 0 { Rational::from(1) >> exponent.unsigned_abs() } else { Rational::from(1) << exponent as u32 }
}

fn rational(value: f32) -> Rational {
    Rational::from_f64(f64::from(value)).expect("finite")
}

/// Finite results of rounding to a block format's elements, in ascending order, with their codes.
fn numbers(block: &BlockFormat) -> Vec<(Rational, u64)> {
    let format = block.element.format;
    let mut numbers: Vec<(Rational, u64)> = (0..=format.code_mask())
        .filter(|code| block.name != "mxint8" || *code != 0x80)
        .filter_map(|code| Some((code_value(format, code)? * power(block.element.exponent), code)))
        .collect();
    numbers.sort_by(|x, y| x.0.cmp(&y.0));
    numbers
}

/// `x` rounded to one of its two neighbours among `numbers`, saturating: the value alone.
fn rounded(x: &Rational, numbers: &[(Rational, u64)], rounding: Rounding) -> Rational {
    let above = numbers.partition_point(|(number, _)| number < x);
    let Some((high, _)) = numbers.get(above) else { return numbers.last().unwrap().0.clone() };
    if high == x || above == 0 {
        return high.clone();
    }
    let (low, low_code) = &numbers[above - 1];
    let (inner, outer) = if *x < 0 { (high, low) } else { (low, high) };
    let even = |code: u64, number: &Rational| *number == 0 || code & 1 == 0;
    let to_even = || if even(*low_code, low) { low } else { high };
    let result = match rounding {
        Rounding::Rz => inner,
        Rounding::Ru => high,
        Rounding::Rd => low,
        Rounding::Ro => {
            if even(*low_code, low) {
                high
            } else {
                low
            }
        }
        _ => match Rational::from(x - low).cmp(&Rational::from(high - x)) {
            Ordering::Less => low,
            Ordering::Greater => high,
            Ordering::Equal if rounding == Rounding::Rna => outer,
            Ordering::Equal => to_even(),
        },
    };
    result.clone()
}

/// Exponent of a power-of-two scale by its rule's published formula.
fn scale_exponent(amax: &Rational, largest: &Rational, block: &BlockFormat, rule: &ScaleRule) -> i32 {
    if *amax == 0 {
        return -127;
    }
    let floor_log2 = |x: &Rational| {
        let about = x.numer().significant_bits() as i32 - x.denom().significant_bits() as i32;
        if power(about) <= *x { about } else { about - 1 }
    };
    let emax = floor_log2(largest);
    let k = floor_log2(amax);
    let exponent = match rule.name {
        "floor" => k - emax,
        "ceil" => k - emax + i32::from(power(k) != *amax),
        "up" => (k - emax - 1..).find(|e| *amax <= largest * power(*e)).unwrap(),
        "even" => {
            // Half a unit in the last place of the element is added; a carry decides.
            let bits = match block.name {
                "mxfp8-e4m3" | "mxfp6-e2m3" => 3,
                "mxfp8-e5m2" | "mxfp6-e3m2" => 2,
                "mxfp4" => 1,
                _ => 6,
            };
            floor_log2(&(amax + power(k - bits - 1))) - emax
        }
        "nearest" => {
            let ratio = Rational::from(amax / largest);
            let k = floor_log2(&ratio);
            k + i32::from(ratio >= power(k) * Rational::from((3, 2)))
        }
        name => panic!("{name}"),
    };
    exponent.clamp(-127, 127)
}

/// True if a number is rounded to an infinity of `f32`.
fn is_beyond_f32(x: &Rational) -> bool {
    x.clone().abs() >= power(128) - power(103)
}

/// Checks a block of finite values, quantised by `quantizer`, against the formulas.
fn check_mx(quantizer: &Quantizer, values: &[f32], numbers: &[(Rational, u64)]) {
    let format = quantizer.format;
    let blocks = quantizer.quantize(values, values.len());
    let amax = values.iter().map(|v| rational(v.abs())).max().unwrap();
    let mut exponent = scale_exponent(&amax, &numbers.last().unwrap().0, format, quantizer.rule);
    let result = |x: Rational, exponent| rounded(&(x / power(exponent)), numbers, quantizer.rounding) * power(exponent);
    while [amax.clone(), -amax.clone()].into_iter().any(|x| is_beyond_f32(&result(x, exponent))) {
        exponent -= 1;
    }
    assert_eq!(blocks.scales[0] as i32 - 127, exponent, "{format} {} {values:?}", quantizer.rule);
    for (i, value) in values.iter().enumerate() {
        let expected = rounded(&(rational(*value) / power(exponent)), numbers, quantizer.rounding);
        let code = u64::from(blocks.elements[i]);
        let got = code_value(format.element.format, code).unwrap() * power(format.element.exponent);
        assert_eq!(got, expected, "{format} {} {:?} {value}", quantizer.rule, quantizer.rounding);
        let negative = format.element.format.decode(code).negative;
        let zero_with_sign = format.element.format.is_integer() || negative == value.is_sign_negative();
        assert!(got != 0 || zero_with_sign, "{format}: the sign of a zero");
        assert_exact(&blocks, i, &(got * power(exponent)));
    }
}

/// Checks the value of an element, and its rounding to f32, against the product in rational arithmetic.
fn assert_exact(blocks: &Blocks, i: usize, expected: &Rational) {
    let Real::Finite(value) = blocks.value(i) else { panic!("{} is finite", expected) };
    let magnitude = power(value.exponent) * Integer::from(value.significand);
    assert_eq!(if value.negative { -magnitude } else { magnitude }, *expected);
}

fn mx() -> impl Iterator<Item = &'static BlockFormat> {
    formats().filter(|format| format.scale.name == "e8m0")
}

/// Rules by which a scale follows from the largest magnitude alone.
fn quotients() -> impl Iterator<Item = &'static ScaleRule> {
    SCALE_RULES.iter().filter(|rule| ["floor", "ceil", "even", "up", "nearest"].contains(&rule.name))
}

fn quantizers(format: &'static BlockFormat) -> impl Iterator<Item = Quantizer> {
    let rules = quotients().flat_map(|rule| Rounding::DETERMINISTIC.map(|rounding| (rule, rounding)));
    rules.map(move |(rule, rounding)| Quantizer { rule, rounding, ..Quantizer::new(format) })
}

#[test]
fn the_table_holds_the_formats_of_the_specification() {
    let row = |f: &'static BlockFormat| (f.name, f.element.format.name, f.extents(), f.scale.name, f.element.emax());
    let rows: Vec<_> = block::formats().iter().map(row).collect();
    let expected = [
        ("fp8-128x128", "e4m3", "128x128", "f32", 8),
        ("fp8-1x128", "e4m3", "1x128", "f32", 8),
        ("mxfp4", "e2m1", "1x32", "e8m0", 2),
        ("mxfp6-e2m3", "e2m3", "1x32", "e8m0", 2),
        ("mxfp6-e3m2", "e3m2", "1x32", "e8m0", 4),
        ("mxfp8-e4m3", "e4m3", "1x32", "e8m0", 8),
        ("mxfp8-e5m2", "e5m2", "1x32", "e8m0", 15),
        ("mxint8", "s8", "1x32", "e8m0", 0),
        ("nf4-64", "nf4", "1x64", "f32", 0),
        ("nvfp4", "e2m1", "1x16", "ue4m3", 2),
        ("nvfp4-ue5m3", "e2m1", "1x16", "ue5m3", 2),
        ("q4-0", "s4", "1x32", "f16", 2),
        ("q4-1", "u4", "1x32", "f16", 3),
        ("q8-0", "s8", "1x32", "f16", 6),
        ("s4-1x128", "s4", "1x128", "bf16", 2),
        ("u4-1x128", "u4", "1x128", "bf16", 3),
    ]
    .map(|(name, element, extents, scale, emax)| (name, element, extents.to_string(), scale, emax));
    assert_eq!(rows, expected);
    let mxint8 = find("MXINT8").unwrap();
    assert_eq!(mxint8.element.largest().to_f64(), 1.0 + 63.0 / 64.0);
    for (alias, name) in [("mxfp8", "mxfp8-e4m3"), ("MXFP8_E5M2", "mxfp8-e5m2"), ("mxfp4e2m1", "mxfp4")] {
        assert_eq!(find(alias).map(|f| f.name), Some(name));
    }
    assert_eq!(find("mxfp5"), None);
}

/// Blocks on which rules differ: normal and spread values, one large value, and exact ones.
fn telling_blocks(length: usize) -> Vec<Vec<f32>> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    let mut blocks = vec![
        [10.0, 20.0, 30.0, 40.0].repeat(length.div_ceil(4))[..length].to_vec(),
        vec![0.0; length],
        (0..length).map(|at| if at == 3 { -7.25 } else { 0.0 }).collect(),
    ];
    for number in 0..24 {
        let spread = [1.0f32, 4.0, 16.0][number % 3];
        let shift = [0, -130, 90, -3][number % 4];
        blocks.push((0..length).map(|_| (next() * spread).exp2() * next() * 2f32.powi(shift)).collect());
    }
    blocks
}

/// Loss of a block under a scale code in exact arithmetic; `None` for a NaN.
fn exact_loss(block: &BlockFormat, code: u64, factor: &Rational, values: &[f32], squares: bool) -> Option<Rational> {
    let scale = code_value(block.scale, code)? * factor;
    let numbers = numbers(block);
    let mut sum = Rational::new();
    for value in values {
        let value = rational(*value);
        let result = match scale == 0 {
            true => Rational::new(),
            false => rounded(&Rational::from(&value / &scale), &numbers, Rounding::Rne) * &scale,
        };
        let error = (result - value).abs();
        sum += if squares { error.clone() * error } else { error };
    }
    Some(sum)
}

#[test]
fn no_scale_of_a_format_has_less_loss_than_the_scale_of_mse_or_mae() {
    let narrow = || formats().filter(|format| format.scale.bits <= 8 && format.element.format.bits <= 6);
    for format in narrow() {
        for values in telling_blocks(format.length) {
            for (name, squares) in [("mse", true), ("mae", false)] {
                let quantizer = Quantizer { rule: find_rule(name).unwrap(), ..Quantizer::new(format) };
                let blocks = quantizer.quantize(&values, format.length);
                let factor =
                    blocks.tensor_scale.map_or(Rational::from(1), |code| rational(f32::from_bits(code as u32)));
                let loss = |code: u32| exact_loss(format, code.into(), &factor, &values, squares);
                let chosen = loss(blocks.scales[0]).unwrap();
                let least = (0..=format.scale.largest(false) as u32).filter_map(loss).min().unwrap();
                // Sums in f64 cannot tell losses that are nearer.
                assert!(
                    chosen <= least.clone() * Rational::from((1_000_000_000, 999_999_999)),
                    "{format} {name}: {values:?}"
                );
            }
        }
    }
}

#[test]
fn no_shipped_rule_has_less_squared_error_than_mse_in_any_block() {
    for format in formats() {
        let length = format.rows * format.length;
        for values in telling_blocks(length) {
            let loss = |rule: &'static ScaleRule| {
                let quantizer =
                    Quantizer { rule, tensor_scale: format.tensor_scale.map(|_| 0.5), ..Quantizer::new(format) };
                let results = quantizer.quantize(&values, format.length).dequantize();
                results.iter().zip(&values).map(|(y, x)| (f64::from(*y) - f64::from(*x)).powi(2)).sum::<f64>()
            };
            let least = loss(find_rule("mse").unwrap());
            for rule in SCALE_RULES {
                // Of the scales of more than 16 bits, mse tries some: none that follows a percentile.
                let some = format.scale.bits > 16 && rule.name == "percentile";
                let slack = if some { 1.25 } else { 1.0 + 1e-6 };
                assert!(least <= loss(rule) * slack, "{format} {rule}: {least} {}", loss(rule));
            }
        }
    }
}

/// Least loss of a block under every scale of a format, computed in f64.
fn least_loss(format: &BlockFormat, values: &[f32], power: i32) -> f64 {
    let element = |code: u64| format.element.value(code).to_f64();
    let written = |code: &u64| !format.element.symmetric || *code != format.element.format.largest(true);
    let codes = (0..=format.element.format.code_mask()).filter(written);
    let mut numbers: Vec<f64> = codes.map(element).filter(|number| number.is_finite()).collect();
    numbers.sort_by(f64::total_cmp);
    let error = |x: f64, scale: f64| {
        let above = numbers.partition_point(|number| number * scale < x);
        let near = [above.checked_sub(1), Some(above)].into_iter().flatten().filter_map(|at| numbers.get(at));
        near.map(|number| (number * scale - x).abs()).fold(f64::INFINITY, f64::min)
    };
    let loss = |scale: f64| {
        let flipped = if scale < 0.0 { -1.0 } else { 1.0 };
        values.iter().map(|x| error(f64::from(*x) * flipped, scale.abs()).powi(power)).sum::<f64>()
    };
    let scales = (0..=format.scale.code_mask()).map(|code| format.scale.to_f64(code)).filter(|scale| scale.is_finite());
    scales.map(loss).fold(f64::INFINITY, f64::min)
}

#[test]
fn no_scale_of_at_most_16_bits_has_less_loss_than_that_of_mse_and_mae() {
    // Elements whose ranges below and above zero differ, and others.
    let narrow = ["ue4m3", "ue5m3", "e8m0", "e4m3", "e5m2"];
    let elements = ["s4", "s8", "iq4nl", "nf4", "u4", "e2m1", "s3"];
    let pairs = elements.iter().flat_map(|element| narrow.map(|scale| (*element, scale)));
    for (element, scale) in pairs.chain([("s8", "f16"), ("s4", "f16"), ("e4m3", "bf16"), ("u4", "f16")]) {
        let symmetric = if scale == "f16" && element == "s8" { "symmetric = true\n" } else { "" };
        let text = format!(
            "name = \"own\"\nelement = \"{element}\"\nblock = 4\nscale = \"{scale}\"\nrule = \"mse\"\n{symmetric}"
        );
        let format: &'static BlockFormat = Box::leak(Box::new(BlockFormat::from_toml(&text, "own").unwrap()));
        let wide = format.scale.bits > 8;
        for (number, values) in small_blocks().into_iter().enumerate().filter(|(number, _)| !wide || number % 6 == 0) {
            for (name, power) in [("mse", 2), ("mae", 1)] {
                let quantizer = Quantizer { rule: find_rule(name).unwrap(), ..Quantizer::new(format) };
                let blocks = quantizer.quantize_with(4, 4, |at| Real::from(f64::from(values[at])));
                let losses = (0..4).map(|at| (blocks.value(at).to_f64() - f64::from(values[at])).abs().powi(power));
                let (loss, least) = (losses.sum::<f64>(), least_loss(format, &values, power));
                assert!(
                    loss <= least * (1.0 + 1e-9),
                    "{element} {scale} {name}, block {number} {values:?}: {loss} {least}"
                );
            }
        }
    }
}

/// Blocks of four: of few bits, whose best scale may be exact, and of many.
fn small_blocks() -> Vec<[f32; 4]> {
    let mut state = 1u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut blocks = vec![[-8.0, 3.0, 1.0, -2.0], [-127.0, 53.0, -10.0, 1.0], [12.0, -4.5, 0.5, 1.0]];
    blocks.extend((0..24).map(|_| [(); 4].map(|()| next(65) as f32 / 4.0 - 8.0)));
    blocks.extend((0..24).map(|_| [(); 4].map(|()| (next(1 << 24) as f32 - 8e6) / 1e6)));
    blocks
}

#[test]
fn four_over_six_takes_the_better_of_two_scales_and_a_lower_tensor_scale() {
    let nvfp4 = find("nvfp4").unwrap();
    let values = [10.0f32, 20.0, 30.0, 40.0].repeat(4);
    for (name, largest) in [("4over6", 256.0f32), ("four-over-six:384", 384.0), ("four-over-six:448", 448.0)] {
        let quantizer = Quantizer { rule: find_rule(name).unwrap(), ..Quantizer::new(nvfp4) };
        let blocks = quantizer.quantize(&values, 16);
        assert_eq!(blocks.tensor_scale, Some((40.0 / (6.0 * largest)).to_bits().into()), "{name}");
        // 40 as 4 makes the others 1, 2 and 3, under a scale that only 256 leaves room for.
        let expected = if largest == 256.0 { [2, 4, 5, 6] } else { [3, 5, 6, 7] };
        assert_eq!(blocks.elements[..4], expected, "{name}");
    }
    assert!(
        find_rule("four-over-six:100").is_err() && find_rule("mse:1").is_err() && find_rule("percentile:101").is_err()
    );
}

#[test]
fn a_percentile_leaves_the_values_above_it_to_saturate() {
    let mxfp4 = find("mxfp4").unwrap();
    let values: Vec<f32> = (0..32).map(|at| if at == 5 { 1000.0 } else { 1.0 }).collect();
    let rule = |name| Quantizer { rule: find_rule(name).unwrap(), ..Quantizer::new(mxfp4) };
    assert_eq!(
        rule("percentile:100").quantize(&values, 32),
        Quantizer { rule: find_rule("nearest").unwrap(), ..Quantizer::new(mxfp4) }.quantize(&values, 32)
    );
    // 31 of 32 values are 96.9 percent.
    let results = rule("percentile:96").quantize(&values, 32).dequantize();
    assert_eq!((results[0], results[5]), (0.75, 0.75));
}

/// Pairs of values at the boundaries of rounding.
/// They are half units of every element format around a binade, ties and their neighbours, and zeros.
#[test]
fn every_pair_of_short_significands_is_quantised_as_the_formulas_say() {
    let magnitudes: Vec<f32> = (0..=64).map(|i| i as f32 / 16.0).chain([1.0f32.next_up(), 6.0f32.next_up()]).collect();
    for format in mx() {
        let numbers = numbers(format);
        for quantizer in quantizers(format) {
            let few = quantizer.rounding != Rounding::Rne;
            for (i, x) in magnitudes.iter().enumerate() {
                for (j, y) in magnitudes.iter().enumerate().skip(i) {
                    if few && (i * 67 + j) % 5 != 0 {
                        continue;
                    }
                    check_mx(&quantizer, &[*x, -*y], &numbers);
                }
            }
        }
    }
}

/// Every magnitude of bf16, subnormals included: scales over their whole range and at its ends.
#[test]
fn every_bf16_number_alone_in_its_block_is_quantised_as_the_formulas_say() {
    for format in mx() {
        let numbers = numbers(format);
        for rule in quotients() {
            let quantizer = Quantizer { rule, ..Quantizer::new(format) };
            for code in 0..0x7f80u32 {
                check_mx(&quantizer, &[f32::from_bits(code << 16)], &numbers);
            }
        }
    }
}

fn any_finite() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |x| x.is_finite()),
        (-1.0f32..1.0).prop_map(|x| x * 8.0),
        Just(0.0f32),
        Just(-0.0f32),
        Just(f32::MAX),
        Just(f32::from_bits(1)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_blocks_are_quantised_as_the_formulas_say(
        values in prop::collection::vec(any_finite(), 32), scale in -40i32..40, near in any::<bool>()
    ) {
        let bounded = |x: &f32| if near { (x % 8.0) * 2f32.powi(scale) } else { *x };
        let values: Vec<f32> = values.iter().map(bounded).collect();
        for format in mx() {
            let numbers = numbers(format);
            for quantizer in quantizers(format) {
                check_mx(&quantizer, &values, &numbers);
            }
        }
    }

    #[test]
    fn nvfp4_is_quantised_as_its_recipe_says_in_exact_arithmetic(
        values in prop::collection::vec(-100.0f32..100.0, 48), shift in -120i32..100, small in 0usize..3
    ) {
        let mut values: Vec<f32> = values.iter().map(|x| x * 2f32.powi(shift)).collect();
        values[small * 16..][..16].iter_mut().for_each(|x| *x *= 2f32.powi(-9));
        let format = find("nvfp4").unwrap();
        for (rule, direction) in [("nearest", Rounding::Rne), ("up", Rounding::Ru)] {
            let quantizer = Quantizer { rule: find_rule(rule).unwrap(), ..Quantizer::new(format) };
            check_nvfp4(&quantizer, direction, &values);
        }
    }

    #[test]
    fn quantising_what_was_dequantised_changes_nothing(values in prop::collection::vec(any_finite(), 64)) {
        for format in formats() {
            let quantizer = Quantizer::new(format);
            let first = quantizer.quantize(&values, 64);
            let again = quantizer.quantize(&first.dequantize(), 64);
            // A block may get another scale if its largest element became smaller; its values stay unless it is NVFP4.
            let same = first.dequantize().iter().map(|x| x.to_bits()).eq(again.dequantize().iter().map(|x| x.to_bits()));
            prop_assert!(same || format.tensor_scale.is_some(), "{}", format);
        }
    }
}

fn check_nvfp4(quantizer: &Quantizer, direction: Rounding, values: &[f32]) {
    let format = quantizer.format;
    let blocks = quantizer.quantize(values, values.len());
    let amax = |values: &[f32]| values.iter().map(|v| rational(v.abs())).max().unwrap();
    let tensor = f32::from_bits(blocks.tensor_scale.unwrap() as u32);
    // The nearest f32 by MPFR, subnormal range included.
    let quotient = rug::Float::with_val(300, amax(values) / 2688);
    prop_assert_near(tensor, &quotient);
    let mut scales: Vec<(Rational, u64)> = (0..0x7f).map(|c| (code_value(format.scale, c).unwrap(), c)).collect();
    scales.sort_by(|x, y| x.0.cmp(&y.0));
    let numbers = numbers(format);
    for (b, block) in values.chunks(16).enumerate() {
        let ratio = amax(block) / (rational(tensor) * Rational::from(6));
        let expected = rounded(&ratio, &scales, direction);
        assert_eq!(code_value(format.scale, blocks.scales[b].into()), Some(expected.clone()), "scale {b}");
        for (i, x) in block.iter().enumerate() {
            let scale = &expected * rational(tensor);
            let element = if scale == 0 {
                Rational::new()
            } else {
                rounded(&(rational(*x) / &scale), &numbers, quantizer.rounding)
            };
            assert_eq!(code_value(format.element.format, blocks.elements[b * 16 + i].into()), Some(element.clone()));
            assert_exact(&blocks, b * 16 + i, &(element * scale));
        }
    }
}

fn prop_assert_near(got: f32, exact: &rug::Float) {
    let error = |x: f32| rug::Float::with_val(400, exact - x).abs();
    for other in [got.next_up(), got.next_down()].into_iter().filter(|x| x.is_finite() && *x > 0.0) {
        assert!(error(got) <= error(other), "{got:e} is not the nearest to {exact}");
    }
}

#[test]
fn a_nan_or_an_infinity_makes_its_block_nan_and_no_other() {
    for format in formats() {
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = vec![1.5f32; 3 * format.length];
            values[format.length + 3] = special;
            let blocks = Quantizer::new(format).quantize(&values, values.len());
            assert_eq!(u64::from(blocks.scales[1]), format.scale.nan().unwrap(), "{format}");
            for (i, value) in blocks.dequantize().iter().enumerate() {
                let inside = i / format.length == 1;
                assert_eq!(value.is_nan(), inside, "{format} {special} {i}");
                assert!(inside || (value - 1.5).abs() < 0.15, "{format} {value}");
            }
        }
    }
}

#[test]
fn zeros_have_the_smallest_scale_and_keep_their_signs() {
    for format in formats() {
        let blocks = Quantizer::new(format).quantize(&[0.0, -0.0, 0.0], 3);
        // ggml divides a zero by -8.
        let negative = format.default_rule == "extreme";
        assert_eq!(blocks.scales, [if negative { 0x8000 } else { 0 }], "{format}");
        let signs: Vec<bool> = blocks.dequantize().iter().map(|x| x.is_sign_negative()).collect();
        let two_zeros = format.element.format.float().is_some_and(|float| float.zeros == Zeros::Both);
        assert_eq!(signs, [negative, negative || two_zeros, negative], "{format}");
        assert!(format.tensor_scale.is_none() || blocks.tensor_scale == Some(u64::from(1.0f32.to_bits())));
    }
}

#[test]
fn mxint8_never_writes_minus_two_and_reads_it() {
    let format = find("mxint8").unwrap();
    for rounding in Rounding::DETERMINISTIC {
        let quantizer = Quantizer { rounding, ..Quantizer::new(format) };
        let blocks = quantizer.quantize(&[-1.999, 1.999], 2);
        assert_eq!(blocks.elements, [0x81, 0x7f], "{rounding:?}");
    }
    let given = Blocks { format, row: 1, tensor_scale: None, scales: vec![127], offsets: vec![], elements: vec![0x80] };
    assert_eq!(given.dequantize(), [-2.0]);
}

/// Rows are cut separately: a short last block is as if zeros followed.
#[test]
fn a_short_block_is_the_same_as_one_padded_with_zeros() {
    let values: Vec<f32> = (0..3 * 45).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect();
    for format in formats() {
        let quantizer = Quantizer::new(format);
        let short = quantizer.quantize(&values, 45);
        let padded: Vec<f32> = values.chunks(45).flat_map(|row| row.iter().copied().chain([0.0; 3])).collect();
        let padded_blocks = quantizer.quantize(&padded, 48);
        assert_eq!(
            short.scales[..45usize.div_ceil(format.length)],
            padded_blocks.scales[..45usize.div_ceil(format.length)]
        );
        let kept: Vec<u8> = padded_blocks.elements.chunks(48).flat_map(|row| row[..45].to_vec()).collect();
        assert_eq!(short.elements, kept, "{format}");
    }
}

/// Documented examples of the rules on MXFP4, whose largest element is 6 = 1.5 * 2^2.
#[test]
fn rules_differ_where_their_definitions_do() {
    let format = find("mxfp4").unwrap();
    let exponent = |rule: &str, amax: f32| {
        let quantizer = Quantizer { rule: find_rule(rule).unwrap(), ..Quantizer::new(format) };
        quantizer.quantize(&[amax], 1).scales[0] as i32 - 127
    };
    for (amax, expected) in
        [(4.0, [0, 0, 0, 0, -1]), (6.0, [0, 1, 0, 0, 0]), (6.5, [0, 1, 0, 1, 0]), (7.0, [0, 1, 1, 1, 0])]
    {
        let got = ["floor", "ceil", "even", "up", "nearest"].map(|rule| exponent(rule, amax));
        assert_eq!(got, expected, "{amax}");
    }
    assert_eq!((exponent("nearest", 8.9), exponent("nearest", 9.0)), (0, 1));
    assert!(
        find_rule("rounded").unwrap_err().to_string().contains("floor, ceil, even, up, pow2, nearest (absmax), mse")
    );
}
