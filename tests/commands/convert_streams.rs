//! `tcnum convert` on files that are read and written piece by piece: the same as of whole arrays, in bounded memory, whole or not at all.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::program::{tcnum, validate_report};
use serde_json::{Value, json};
use tcnum::format::{
    Format, Overflow, Rounding,
    block::{self, Quantizer, pack_pairs},
    find,
};
use tcnum_engine::{
    array::{Array, ArrayWriter, Arrays, Content, FileHeading, NewArray},
    tensor::{ConversionTarget, Tensor, convert},
};

/// Elements of a piece: the arrays here have several.
const PIECE: usize = 1 << 14;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Numbers of all sizes, the same each time.
fn values(count: usize) -> Vec<f32> {
    let size = |n: u32| f32::from_bits((n.wrapping_mul(2_654_435_761) >> 9) & 0x7f_ffff | (100 + n % 50) << 23);
    (0..count as u32).map(|n| if n.is_multiple_of(3) { -size(n) } else { size(n) }).collect()
}

fn array(name: &str, shape: &[usize], format: &'static Format, bytes: Vec<u8>) -> Array<'static> {
    Array { name: name.into(), shape: shape.to_vec(), kind: Content::Format(format), bytes: Cow::Owned(bytes) }
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn write(path: &Path, arrays: Vec<Array>) {
    Arrays { arrays, ..Arrays::default() }.write(path).unwrap();
}

fn converted(arguments: &[&str], input: &Path, output: &Path) -> Value {
    let files = ["--input", text(input), "--out", text(output), "--output", "json"];
    let run = tcnum(&[&["convert"], arguments, &files].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&run.stdout)
}

/// The only file in a folder beside the input.
fn others(folder: &Path, input: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path != input).collect()
}

#[test]
fn pieces_give_what_whole_arrays_give() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.safetensors"), folder.path().join("out.safetensors"));
    let (f32, bf16) = (find("f32").unwrap(), find("bf16").unwrap());
    for shape in [vec![5, 7001], vec![2, 3 * PIECE + 37], vec![3 * PIECE], vec![40_000, 1]] {
        let (row, count) = (*shape.last().unwrap(), shape.iter().product());
        let numbers = values(count);
        let halves: Vec<u8> = numbers.iter().flat_map(|value| ((value.to_bits() >> 16) as u16).to_le_bytes()).collect();
        write(&input, vec![array("w", &shape, f32, singles(&numbers)), array("x", &shape, bf16, halves)]);
        let source = Arrays::read(&input).unwrap();
        for to in ["e4m3", "bf16", "f64", "s8", "mxfp4", "mxfp6-e2m3", "nvfp4", "mxint8"] {
            let report = converted(&["--to", to], &input, &output);
            let written = Arrays::read(&output).unwrap();
            for (number, source_array) in source.arrays.iter().enumerate() {
                let (format, codes) = source_array.codes(None).unwrap();
                let target = match block::find(to) {
                    Some(block) => ConversionTarget::Blocks(Quantizer::new(block)),
                    None => ConversionTarget::Scalar {
                        format: find(to).unwrap(),
                        rounding: Rounding::Rne,
                        overflow: Overflow::Standard,
                    },
                };
                let (result, deviations) = convert(&Tensor::Scalar(format, codes), row, &target).unwrap();
                let stored = &written.get(&source_array.name).unwrap().bytes;
                match result {
                    Tensor::Scalar(_, codes) => assert!(**stored == *codes.as_bytes(), "{to} {shape:?}"),
                    Tensor::Blocks(blocks) => {
                        let four = blocks.format.element.format.bits == 4;
                        let elements = if four { pack_pairs(&blocks.elements, row) } else { blocks.elements };
                        assert!(**stored == *elements, "{to} {shape:?}");
                        let scales = &written.get(&format!("{}_scale", source_array.name)).unwrap().bytes;
                        let codes: Vec<u8> = blocks.scales.iter().map(|code| *code as u8).collect();
                        assert!(**scales == *codes, "{to} {shape:?}");
                        if let Some(code) = blocks.tensor_scale {
                            let scale = &written.get(&format!("{}_tensor_scale", source_array.name)).unwrap().bytes;
                            assert_eq!(**scale, (code as u32).to_le_bytes(), "{to} {shape:?}");
                        }
                    }
                }
                let row = &report["tables"]["arrays"][number];
                assert_eq!(
                    (&row["exact"], &row["max_error"], &row["to_zero"], &row["too_large"]),
                    (
                        &json!(deviations.losses.exact),
                        &json!(deviations.losses.max_error),
                        &json!(deviations.losses.to_zero),
                        &json!(deviations.losses.saturated)
                    ),
                    "{to} {shape:?}"
                );
            }
        }
        // Blocks are read by pieces, too.
        for from in ["mxfp4", "nvfp4", "mxfp8-e5m2"] {
            let [blocks, back] = ["blocks.safetensors", "back.safetensors"].map(|name| folder.path().join(name));
            converted(&["--to", from], &input, &blocks);
            converted(&["--to", "f32"], &blocks, &back);
            let expected = Quantizer::new(block::find(from).unwrap()).quantize(&numbers, row).dequantize();
            assert!(floats(&Arrays::read(&back).unwrap().get("w").unwrap().bytes) == expected, "{from}");
        }
    }
}

/// Each rounding goes up with the probability of the fraction that is cut off: the mean of many is the value, within what chance allows.
#[test]
fn the_mean_of_stochastic_roundings_is_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.safetensors"), folder.path().join("out.safetensors"));
    let back = folder.path().join("back.safetensors");
    let (value, count) = (0.013f32, 100_000);
    // The first of each block of 16 sets its scale, in every block format.
    let numbers: Vec<f32> = (0..count).map(|n| if n % 16 == 0 { 0.05 } else { value }).collect();
    write(&input, vec![array("w", &[count / 32, 32], find("f32").unwrap(), singles(&numbers))]);
    for to in ["e4m3", "e2m1", "bf16", "s8", "mxfp8-e5m2", "mxfp4", "nvfp4", "mxint8"] {
        converted(&["--to", to, "--round", "SR", "--seed", "7"], &input, &output);
        let from = if block::find(to).is_some() { vec!["--to", "f32"] } else { vec!["--from", to, "--to", "f32"] };
        converted(&from, &output, &back);
        let results = floats(&Arrays::read(&back).unwrap().arrays[0].bytes);
        let kept: Vec<f64> =
            results.iter().enumerate().filter(|(n, _)| n % 16 != 0).map(|(_, result)| f64::from(*result)).collect();
        let (low, high) =
            kept.iter().fold((f64::MAX, f64::MIN), |(low, high), result| (low.min(*result), high.max(*result)));
        let value = f64::from(value);
        assert!(low < value && value < high, "{to}: {low} to {high}");
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let share = (value - low) / (high - low);
        let deviation = (high - low) * (share * (1.0 - share) / kept.len() as f64).sqrt();
        assert!((mean - value).abs() < 4.5 * deviation, "{to}: {mean}, {deviation}");
        assert!(kept.iter().all(|result| *result == low || *result == high), "{to}: neighbours alone");
    }
}

#[test]
fn random_bits_follow_from_the_seed_whatever_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.npy");
    write(&input, vec![array("in", &[9 * PIECE], find("f32").unwrap(), singles(&values(9 * PIECE)))]);
    let of = |seed: &str, threads: &str, to: &str| {
        let output = folder.path().join("out.safetensors");
        let files = ["--input", text(&input), "--out", text(&output), "-q", "--round", "SR", "--seed", seed];
        let run = Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args([&["convert", "--to", to], &files[..]].concat())
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        let arrays = Arrays::read(&output).unwrap();
        assert_eq!(arrays.metadata["tcnum.seed"], seed);
        arrays.arrays.iter().flat_map(|array| array.bytes.to_vec()).collect::<Vec<u8>>()
    };
    for to in ["e4m3", "mxfp4"] {
        assert!(of("1", "1", to) == of("1", "3", to), "{to}");
        assert!(of("1", "2", to) != of("2", "2", to), "{to}");
    }
}

/// Half a gigabyte of zeros, most of it a hole in the file, under a limit on addresses that has no room for it.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.npy"), folder.path().join("out.npy"));
    write(&input, vec![array("in", &[1], find("f32").unwrap(), vec![0; 4])]);
    let header = String::from_utf8_lossy(&fs::read(&input).unwrap()).replace("(1,), }        ", "(134217728,), }");
    assert!(header.contains("134217728"));
    let header: Vec<u8> = [b"\x93NUMPY\x01\x00v\x00", &header.as_bytes()[header.find('{').unwrap()..]].concat();
    fs::write(&input, &header[..128]).unwrap();
    fs::File::options().write(true).open(&input).unwrap().set_len(128 + 4 * 134_217_728).unwrap();
    let run = Command::new("sh")
        .args(["-c", "ulimit -v 480000; exec \"$0\" convert -q --to e4m3 --input \"$1\" --out \"$2\""])
        .args([env!("CARGO_BIN_EXE_tcnum"), text(&input), text(&output)])
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    assert_eq!(fs::metadata(&output).unwrap().len(), 128 + 134_217_728);
}

#[test]
fn nothing_stays_of_a_conversion_that_fails_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.npy"), folder.path().join("out.npy"));
    let mut numbers = values(5 * PIECE);
    numbers[4 * PIECE + 3] = f32::NAN;
    write(&input, vec![array("in", &[5 * PIECE], find("f32").unwrap(), singles(&numbers))]);
    let arguments = ["convert", "--to", "e2m1", "--input", text(&input), "--out", text(&output)];
    let run = tcnum(&arguments);
    let (place, all) = (4 * PIECE + 3, 5 * PIECE);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains(&format!("1 of {all} values")) && run.stderr.contains(&format!("position {place}")));
    assert!(others(folder.path(), &input).is_empty());
    // What was there before stays.
    fs::write(&output, "before").unwrap();
    assert_eq!(tcnum(&arguments).status, 2);
    assert_eq!((fs::read_to_string(&output).unwrap().as_str(), others(folder.path(), &input).len()), ("before", 1));
}

#[test]
fn a_file_that_is_cut_short_or_too_long_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.safetensors"), folder.path().join("out.safetensors"));
    let f32 = find("f32").unwrap();
    let [a, b] = ["a", "b"].map(|name| array(name, &[3 * PIECE], f32, singles(&values(3 * PIECE))));
    write(&input, vec![a, b]);
    let complete_file = fs::read(&input).unwrap();
    let longer = [&complete_file[..], b"more"].concat();
    for (bytes, part) in
        [(&complete_file[..complete_file.len() - 1], "ends before the data of array 'b'"), (&longer, "4 bytes follow")]
    {
        fs::write(&input, bytes).unwrap();
        let run = tcnum(&["convert", "--to", "e4m3", "--input", text(&input), "--out", text(&output)]);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(part) && run.stderr.contains("in.safetensors"), "{}", run.stderr);
        assert!(others(folder.path(), &input).is_empty());
    }
    // A tensor before the cut is there.
    fs::write(&input, &complete_file[..complete_file.len() - 1]).unwrap();
    converted(&["--to", "e4m3", "--tensor", "a"], &input, &output);
}

#[test]
fn arrays_of_types_without_a_format_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.safetensors"), folder.path().join("out.safetensors"));
    let mask: Vec<u8> = (0..77).map(|n| n % 2).collect();
    let planned = [
        NewArray { name: "mask".into(), shape: vec![7, 11], kind: Content::Other("BOOL"), bytes: 77 },
        NewArray { name: "w".into(), shape: vec![4], kind: Content::Format(find("f32").unwrap()), bytes: 16 },
    ];
    let writer = ArrayWriter::begin(&input, &planned, &FileHeading::default()).unwrap();
    writer.write(0, 0, &mask).unwrap();
    writer.write(1, 0, &singles(&[1.0, 2.0, 3.0, 4.0])).unwrap();
    writer.finish().unwrap();
    converted(&["--to", "f16"], &input, &output);
    let arrays = Arrays::read(&output).unwrap();
    let kept = arrays.get("mask").unwrap();
    assert_eq!((kept.kind, &*kept.bytes), (Content::Other("BOOL"), &mask[..]));
    assert_eq!(arrays.metadata["tcnum.unchanged"], "mask");
}
