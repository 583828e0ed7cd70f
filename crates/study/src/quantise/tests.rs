//! Losses against a computation value by value, on exact numbers.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{
    array::{Array, ArrayFile, Arrays, Content},
    format::{Overflow, Real, Rounding, block::Quantizer, find},
    isa::Codes,
    tensor::{ConversionTarget, FileContent, Sharing, Tensor, convert},
};

/// Values of many magnitudes, some zero, and some no numbers.
fn values(count: usize, specials: bool) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut one = |at: usize| -> f32 {
        let value = (random.random::<f32>() - 0.5) * f32::powi(2.0, random.random_range(-12..4));
        match at % 97 {
            _ if !specials => value,
            3 => 0.0,
            40 => f32::NAN,
            77 => f32::NEG_INFINITY,
            _ => value,
        }
    };
    (0..count).map(&mut one).collect()
}

fn file(values: &[f32], shape: &[usize]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let kind = Content::Format(find("f32").unwrap());
    let array = Array { name: "t".into(), shape: shape.to_vec(), kind, bytes: Cow::Owned(bytes) };
    Arrays { arrays: vec![array], metadata: BTreeMap::new() }.write(&path).unwrap();
    (folder, path)
}

fn quantised(
    path: &std::path::Path,
    targets: &[QuantisationTarget],
    axis: i64,
    rounding: Rounding,
) -> Vec<QuantisationRow> {
    let file = ArrayFile::open(path).unwrap();
    let how = Quantisation { targets, axis: Some(axis), rounding, seed: 7, activations: None };
    let view = view::TensorRows::new(&file, &file.arrays[0], Some(axis)).unwrap();
    let results = how.tensor(view).unwrap();
    targets.iter().zip(&results).map(|(target, losses)| table::row(target, losses)).collect()
}

/// The values in rows along an axis of a shape of three extents.
fn rows_along(values: &[f32], shape: [usize; 3], axis: usize) -> Vec<Vec<f32>> {
    let mut rows = Vec::new();
    let others: Vec<usize> = (0..3).filter(|other| *other != axis).collect();
    for first in 0..shape[others[0]] {
        for second in 0..shape[others[1]] {
            let place = |along: usize| {
                let mut index = [0; 3];
                (index[axis], index[others[0]], index[others[1]]) = (along, first, second);
                (index[0] * shape[1] + index[1]) * shape[2] + index[2]
            };
            rows.push((0..shape[axis]).map(|along| values[place(along)]).collect());
        }
    }
    rows
}

/// The quantised values one by one: scales by definition, quotient and product rounded once.
///
/// Blocks of several rows end with every `height` rows.
fn each(rows: &[Vec<f32>], target: &QuantisationTarget, first_extent: usize, height: usize) -> Vec<Vec<f32>> {
    let columns = rows[0].len();
    let by_rows = |values: Vec<f32>| values.chunks(columns).map(<[f32]>::to_vec).collect();
    match target {
        QuantisationTarget::Plain(format) => {
            let one = |value: &f32| {
                let code = format.encode(&Real::from(f64::from(*value)), Rounding::Rne, Overflow::Saturate);
                code.map_or(f32::NAN, |code| format.to_f64(code) as f32)
            };
            by_rows(rows.iter().flatten().map(one).collect())
        }
        QuantisationTarget::Scaled {
            format,
            rule,
            sharing: sharing @ (ScaleScope::Channel | ScaleScope::Shared(Sharing::Tensor)),
        } => {
            let group =
                if *sharing == ScaleScope::Shared(Sharing::Tensor) { rows.len() } else { rows.len() / first_extent };
            let finite = |value: &f32| value.abs().to_bits() & (u32::from(value.is_finite()) * u32::MAX);
            let amax = |rows: &[Vec<f32>]| f32::from_bits(rows.iter().flatten().map(finite).max().unwrap());
            let element = format.element.format;
            let largest = element.to_f64(element.largest(false));
            let scale = |amax: f32| -> f32 {
                let quotient = (f64::from(amax) / largest) as f32;
                let below = f64::from(quotient) * largest < f64::from(amax);
                match rule.name {
                    "nearest" => quotient,
                    "up" => {
                        if below {
                            quotient.next_up()
                        } else {
                            quotient
                        }
                    }
                    "floor" => (f64::from(amax) / largest.log2().floor().exp2()) as f32,
                    "pow2" => {
                        let fits = |exponent: &i32| largest * f64::from(*exponent).exp2() >= f64::from(amax);
                        f64::from((-200..200).find(fits).unwrap()).exp2() as f32
                    }
                    name => panic!("no definition of {name}"),
                }
            };
            let mut results = Vec::new();
            for rows in rows.chunks(group) {
                let scale = scale(amax(rows));
                let one = |value: &f32| {
                    // A quotient in f64 is on the right side of every boundary.
                    let quotient = Real::from(f64::from(*value) / f64::from(scale));
                    let code = element.encode(&quotient, Rounding::Rne, Overflow::Saturate);
                    code.map_or(f32::NAN, |code| element.to_f64(code) as f32 * scale)
                };
                results.extend(rows.iter().map(|row| row.iter().map(one).collect::<Vec<f32>>()));
            }
            results
        }
        QuantisationTarget::Scaled { format, rule, .. } | QuantisationTarget::Blocks { format, rule } => {
            let all = rows.concat();
            let quantizer = Quantizer { rule, ..Quantizer::new(format) };
            let (code, _) = quantizer.tensor_scale(all.len(), &|at| Real::from(f64::from(all[at])));
            let quantizer = Quantizer { tensor_scale: code.map(|code| f32::from_bits(code as u32)), ..quantizer };
            let mut values = Vec::new();
            for matrix in all.chunks(height * columns) {
                let blocks = quantizer.quantize_with(matrix.len(), columns, |at| Real::from(f64::from(matrix[at])));
                values.extend((0..matrix.len()).map(|at| blocks.value(at).to_f64() as f32));
            }
            by_rows(values)
        }
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

#[test]
fn losses_are_those_of_each_value_along_every_axis() {
    // Rows of fewer values than lie between two that are no numbers: some rows have none.
    let shape = [5, 7, 47];
    let values = values(5 * 7 * 47, true);
    let (_folder, path) = file(&values, &shape);
    let formats = names(&["e4m3", "s8", "e2m1", "bf16", "mxfp4", "mxint8", "nvfp4"]);
    let per = names(&["none", "tensor", "row", "1x16", "3x20"]);
    let chosen = targets(&formats, &names(&["absmax", "pow2", "floor", "up"]), &per).unwrap();
    let channels = targets(&names(&["e5m2"]), &[], &names(&["channel"])).unwrap();
    for axis in 0..3usize {
        let rows = rows_along(&values, shape, axis);
        let mut all = chosen.clone();
        if axis > 0 {
            all.append(&mut channels.clone());
        }
        let results = quantised(&path, &all, axis as i64, Rounding::Rne);
        assert_eq!(results, quantised(&path, &all, axis as i64 - 3, Rounding::Rne));
        for (target, row) in all.iter().zip(&results) {
            let height = if axis == 2 { shape[1] } else { shape[2] };
            let expected = each(&rows, target, shape[0], height);
            let pairs = || rows.iter().flatten().zip(expected.iter().flatten());
            let finite: Vec<(f64, f64)> = pairs()
                .filter(|(x, y)| x.is_finite() && y.is_finite())
                .map(|(x, y)| (f64::from(*x), f64::from(*y)))
                .collect();
            let count = |holds: &dyn Fn(f64, f64) -> bool| finite.iter().filter(|(x, y)| holds(*x, *y)).count() as f64;
            let values = values.len() as f64;
            let name = format!("{target:?} along {axis}");
            assert_eq!(row.values as f64, values);
            assert_eq!(row.nan, Some(pairs().filter(|(x, _)| x.is_nan()).count() as u64), "{name}");
            assert_eq!(row.infinite, Some(pairs().filter(|(x, _)| x.is_infinite()).count() as u64), "{name}");
            let void = pairs().filter(|(x, y)| x.is_finite() && !y.is_finite()).count() as u64;
            assert_eq!(row.void.unwrap_or(0), void, "{name}");
            assert_eq!(row.unchanged, Some(count(&|x, y| x == y) / values), "{name}");
            assert_eq!(row.to_zero, Some(count(&|x, y| x != 0.0 && y == 0.0) / values), "{name}");
            let signal: f64 = finite.iter().map(|(x, _)| x * x).sum();
            let noise: f64 = finite.iter().map(|(x, y)| (x - y) * (x - y)).sum();
            let cross: f64 = finite.iter().map(|(x, y)| x * y).sum();
            let result: f64 = finite.iter().map(|(_, y)| y * y).sum();
            let near = |actual: Option<f64>, expected: f64| (actual.unwrap() - expected).abs() <= 1e-9 * expected.abs();
            assert!(near(row.sqnr, 10.0 * (signal / noise).log10()), "{name}: {row:?}");
            assert!(near(row.rms_error, (noise / finite.len() as f64).sqrt()), "{name}");
            assert!(near(row.cosine, cross / (signal * result).sqrt()), "{name}");
            let most = finite.iter().map(|(x, y)| f64::from((*y as f32 - *x as f32).abs())).fold(0.0, f64::max);
            assert_eq!(row.max_error, Some(most), "{name}");
        }
    }
}

#[test]
fn the_rule_of_least_error_never_loses_more_than_those_whose_scales_it_tries() {
    let (_folder, path) = file(&values(64 * 256, false), &[64, 256]);
    let of = |rules: &[&str]| {
        let chosen = targets(
            &names(&["s8", "e2m1", "mxfp4", "nvfp4"]),
            &names(rules),
            &names(&["tensor", "row", "1x32", "16x16"]),
        );
        quantised(&path, &chosen.unwrap(), -1, Rounding::Rne)
    };
    let (least, given) = (of(&["mse"]), of(&["absmax"]));
    assert_eq!(least.len(), given.len());
    let mut better = 0;
    for (least, given) in least.iter().zip(&given) {
        assert_eq!((least.to, &least.per), (given.to, &given.per));
        assert!(least.rms_error <= given.rms_error, "{least:?} {given:?}");
        better += usize::from(least.rms_error < given.rms_error);
    }
    assert!(better > least.len() / 2, "{better}");
}

#[test]
fn a_plain_format_with_scales_loses_what_its_conversion_loses() {
    let shape = [24, 320];
    let values = values(24 * 320, false);
    let (_folder, path) = file(&values, &shape);
    let bits: Vec<u64> = values.iter().map(|value| value.to_bits().into()).collect();
    let source = Tensor::Scalar(find("f32").unwrap(), Codes::from_values(find("f32").unwrap(), &bits));
    let rules = names(&["absmax", "pow2", "floor", "even", "mse", "mae", "four-over-six"]);
    for per in ["tensor", "row", "1x32", "8x20"] {
        let targets = targets(&names(&["e5m2", "e4m3", "s8", "u4", "nf4"]), &rules, &names(&[per])).unwrap();
        let results = quantised(&path, &targets, -1, Rounding::Rne);
        for (target, row) in targets.iter().zip(&results) {
            let QuantisationTarget::Scaled { format, rule, .. } = target else { panic!("{target:?}") };
            let FileContent::Blocks(shared) = shared(FileContent::Scalar(Some(format.element.format)), per).unwrap()
            else {
                panic!("blocks")
            };
            let quantizer = Quantizer { rule, ..Quantizer::new(shared) };
            let (_, converted) = convert(&source, shape[1], &ConversionTarget::Blocks(quantizer)).unwrap();
            let (ours, theirs) =
                (row.rms_error.unwrap(), (converted.losses.energies.noise / values.len() as f64).sqrt());
            assert!((ours - theirs).abs() <= 1e-7 * theirs, "{} {rule} {per}: {ours} {theirs}", row.to);
        }
    }
}

#[test]
fn the_least_error_is_found_beside_a_value_near_the_end_of_f32() {
    let mut values = values(64 * 64, false);
    values[77] = 3.4e38;
    let (_folder, path) = file(&values, &[64, 64]);
    for format in ["s8", "e4m3", "u8"] {
        let targets = targets(&names(&[format]), &names(&["absmax", "mse"]), &[]).unwrap();
        let results = quantised(&path, &targets, -1, Rounding::Rne);
        assert_eq!([results[0].void, results[1].void], [None, None], "{format}");
        assert!(results[1].sqnr >= results[0].sqnr, "{format}: {:?} {:?}", results[1].sqnr, results[0].sqnr);
    }
}

#[test]
fn bits_count_each_scale_that_a_file_holds() {
    let (_folder, path) = file(&values(7 * 40, false), &[7, 40]);
    let targets = targets(&names(&["nvfp4", "mxfp4", "e4m3", "bf16"]), &[], &[]).unwrap();
    let bits = quantised(&path, &targets, -1, Rounding::Rne).iter().map(|row| row.bits).collect::<Vec<f64>>();
    // 21 scales of 8 bits and one of 32; 14 of 8; one of 32; none.
    assert_eq!(bits, [4.0 + (21.0 * 8.0 + 32.0) / 280.0, 4.0 + 14.0 * 8.0 / 280.0, 8.0 + 32.0 / 280.0, 16.0]);
}

#[test]
fn values_under_a_scale_of_zero_are_lost_to_zero_and_not_too_large() {
    let mut values = values(16 * 64, false);
    values[3] = 1e30;
    let (_folder, path) = file(&values, &[16, 64]);
    let targets = targets(&names(&["nvfp4"]), &[], &[]).unwrap();
    let row = &quantised(&path, &targets, -1, Rounding::Rne)[0];
    assert!(row.to_zero > Some(0.9) && row.saturated < Some(0.01), "{row:?}");
    let bits: Vec<u64> = values.iter().map(|value| value.to_bits().into()).collect();
    let source = Tensor::Scalar(find("f32").unwrap(), Codes::from_values(find("f32").unwrap(), &bits));
    let QuantisationTarget::Blocks { format, .. } = targets[0] else { panic!("a block format") };
    let (_, converted) = convert(&source, 64, &ConversionTarget::Blocks(Quantizer::new(format))).unwrap();
    assert!(converted.losses.to_zero > 900 && converted.losses.saturated < 10, "{converted:?}");
}

#[test]
fn stochastic_rounding_is_unbiased_and_each_element_has_bits_of_its_own() {
    let count = 100_000;
    let value = 0.013f32;
    let (_folder, path) = file(&vec![value; count], &[count]);
    let file = ArrayFile::open(&path).unwrap();
    for name in ["e4m3", "mxfp8-e4m3", "mxint8"] {
        let per: &[&str] = if name == "e4m3" { &["none"] } else { &[] };
        let chosen = targets(&names(&[name]), &[], &names(per)).unwrap();
        let losses = |seed| {
            let rounding = Rounding::Sr { random: 0, bits: 32 };
            let how = Quantisation { targets: &chosen, axis: None, rounding, seed, activations: None };
            how.tensor(view::TensorRows::new(&file, &file.arrays[0], None).unwrap()).unwrap().remove(0).losses
        };
        let sample = losses(7);
        let (mean, rms) =
            (sample.cross / f64::from(value) / count as f64, (sample.losses.energies.noise / count as f64).sqrt());
        assert!(rms > 0.0, "{name}: the value has no code of its own");
        assert!(mean.abs() < 5.0 * rms / (count as f64).sqrt(), "{name}: mean error {mean:e} beside {rms:e}");
        // Errors of both signs, so that the mean is not one of all alike.
        assert!(mean.abs() < sample.losses.max_error / 50.0);
        assert_eq!(sample.losses.energies.noise, losses(7).losses.energies.noise);
        assert_ne!(sample.losses.energies.noise, losses(8).losses.energies.noise);
    }
}

#[test]
fn panels_make_up_the_tensor_in_whole_blocks() {
    for (shape, (block_rows, block_columns)) in
        [([3, 100_000], (1, 32)), ([300, 5000], (128, 128)), ([7, 11], (2, 3)), ([40_000, 1], (1, 16))]
    {
        let (_folder, path) = file(&vec![0.0; shape[0] * shape[1]], &shape);
        let file = ArrayFile::open(&path).unwrap();
        let view = view::TensorRows::new(&file, &file.arrays[0], None).unwrap();
        let mut seen = vec![0u8; shape[0] * shape[1]];
        for panel in view.panels(block_rows, block_columns) {
            assert!(
                panel.rows.start.is_multiple_of(block_rows) && panel.columns.start.is_multiple_of(block_columns),
                "{panel:?}"
            );
            for row in panel.rows.clone() {
                panel.columns.clone().for_each(|column| seen[row * shape[1] + column] += 1);
            }
        }
        assert!(seen.iter().all(|times| *times == 1), "{shape:?}");
    }
}

#[test]
fn rules_and_sharing_that_no_format_takes_are_refused() {
    // A rule that another format follows is left out.
    let both = targets(&names(&["mxfp4", "q4-0"]), &names(&["extreme", "mse"]), &[]).unwrap();
    assert_eq!(both.iter().map(|target| target.rule_name().unwrap()).collect::<Vec<_>>(), ["mse", "extreme", "mse"]);
    let all = targets(&names(&["mxfp4", "q4-0"]), &names(&["all"]), &[]).unwrap();
    assert_eq!(all.iter().filter(|target| target.rule_name() == Some("extreme")).count(), 1);
    for (formats, rules, per, part) in [
        (&["bf16"][..], &["pow2"][..], &[][..], "‹scale_rule=pow2›: bf16 has no scales"),
        (&["e4m3"], &["percentile"], &[], "‹scale_rule=percentile›: it needs all values"),
        (&["mxfp4"], &["extreme"], &[], "‹scale_rule› extreme needs elements of two's complement"),
        (&["e4m3"], &["extreme"], &[], "‹scale_rule› extreme needs elements of two's complement"),
        (&["mxfp4"], &["four-over-six:448"], &[], "four-over-six:448 sets the largest scale"),
        (&["e4m3"], &["flor"], &[], "unknown scale rule 'flor'; the nearest are 'floor'"),
        (&["bf16"], &[], &["1x32"], "‹per=1x32›: bf16 has no such scales"),
        (&["e4m3"], &[], &["1x"], "‹per=1x›: scales are for"),
        (&["f32"], &[], &[], "‹to=f32›: it has 32 bits"),
        (&["e4m3", "e4m3"], &[], &[], "e4m3 is given twice"),
        (&["e12m4"], &[], &[], "e12m4"),
    ] {
        let error = targets(&names(formats), &names(rules), &names(per)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
