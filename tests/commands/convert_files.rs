//! `tcnum convert` on files, `.npy` and safetensors, and to blocks: on the program itself.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
};

use crate::program::{Run, tcnum, tcnum_with_input, validate_report};
use serde_json::{Value, json};
use tcnum::{
    format::block::{BlockFormat, Quantizer, find_rule, formats},
    format::{FORMATS, Overflow, Rounding, find},
};
use tcnum_engine::array::{Array, Arrays, Content};
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Converts a file and returns the rows of the report.
fn converted(arguments: &[&str], input: &Path, output: &Path) -> Vec<Value> {
    let files = ["--input", text(input), "--out", text(output), "--output", "json"];
    let Run { status, stdout, stderr } = tcnum(&[&["convert"], arguments, &files].concat());
    assert_eq!((status, stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&stdout)["tables"]["arrays"].as_array().unwrap().clone()
}

/// Checks that a request fails with status 2, one message, and no output file.
fn refused(arguments: &[&str], output: &Path, parts: &[&str]) {
    let Run { status, stdout, stderr } = tcnum_with_input(&[&["convert"], arguments].concat(), b"");
    assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: no '{part}' in: {stderr}");
    }
    assert!(!output.exists(), "{arguments:?}");
}

fn array(name: &str, shape: &[usize], values: &[f32]) -> Array<'static> {
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let kind = Content::Format(find("f32").unwrap());
    Array { name: name.into(), shape: shape.to_vec(), kind, bytes: Cow::Owned(bytes) }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Numbers of all sizes, the same each time.
fn values(count: usize) -> Vec<f32> {
    let mut state = 7u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..count).map(|_| (next() as f32 / 2f32.powi(31) - 1.0) * 2f32.powi((next() % 24) as i32 - 12)).collect()
}

fn folder_with(name: &str, arrays: Vec<Array<'static>>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    Arrays { arrays, ..Arrays::default() }.write(&path).unwrap();
    (folder, path)
}

#[test]
fn files_of_numpy_are_read_and_written_as_numpy_writes_them() {
    let arrays = Arrays::read(&fixture("numpy_f32.npy")).unwrap();
    let expected = [0.0, -0.0, 1.0, 0.1, -448.0, 1e9, f32::INFINITY, -1e-9, 3.5, 2.5, 6.0, 464.0];
    assert_eq!(arrays.arrays[0], array("numpy_f32", &[2, 6], &expected));
    for name in ["numpy_f32.npy", "numpy_u16.npy"] {
        let arrays = Arrays::read(&fixture(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        arrays.write(&folder.path().join(name)).unwrap();
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), fs::read(fixture(name)).unwrap(), "{name}");
    }
}

#[test]
fn arrays_become_codes_of_every_format_and_each_is_the_one_of_its_value() {
    let values: Vec<f32> = values(300);
    let (folder, input) = folder_with("in.npy", vec![array("in", &[10, 30], &values)]);
    for format in FORMATS.iter() {
        let output = folder.path().join("out.npy");
        let rows = converted(&["--to", format.name, "--round", "RZ"], &input, &output);
        let arrays = Arrays::read(&output).unwrap();
        let (stored, codes) = arrays.arrays[0].codes(Some(format)).unwrap();
        assert_eq!((stored, arrays.arrays[0].shape.as_slice()), (format, &[10, 30][..]));
        let expected = values.iter().map(|x| format.encode_f64((*x).into(), Rounding::Rz, Overflow::Standard).unwrap());
        assert!(codes.iter().eq(expected), "{format}");
        let error = |(x, code): (&f32, u64)| (format.to_f64(code) - f64::from(*x)).abs();
        let errors: Vec<f64> = values.iter().zip(codes.iter()).map(error).collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        assert_eq!((&rows[0]["max_error"], &rows[0]["values"]), (&json!(largest), &json!(300)), "{format}");
        let unchanged = errors.iter().filter(|error| **error == 0.0).count();
        assert_eq!(rows[0]["exact"], json!(unchanged), "{format}");
    }
}

#[test]
fn codes_in_files_need_a_format_and_convert_back() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.npy");
    let rows = converted(&["--from", "bf16", "--to", "f32"], &fixture("numpy_u16.npy"), &output);
    assert_eq!((&rows[0]["from"], &rows[0]["exact"]), (&json!("bf16"), &json!(3)));
    assert_eq!(floats(&Arrays::read(&output).unwrap().arrays[0].bytes), [1.0, -123.5, f32::from_bits(0x0001_0000)]);
    // NumPy stores arrays of ml_dtypes.bfloat16 as anonymous two-byte elements.
    converted(&["--from", "bf16", "--to", "f32"], &fixture("numpy_bf16.npy"), &output);
    fs::remove_file(&output).unwrap();
    let input = fixture("numpy_u16.npy");
    let files = ["--input", text(&input), "--out", text(&output)];
    refused(&[&["--to", "f32"], &files[..]].concat(), &output, &["numpy_u16", "--from"]);
    refused(&[&["--to", "f32", "--from", "e4m3"], &files[..]].concat(), &output, &["2 bytes", "e4m3 1"]);
}

#[test]
fn a_file_of_codes_says_of_which_format_they_are() {
    let (folder, input) = folder_with("in.safetensors", vec![array("x", &[2, 3], &[0.1, 1.0, 448.0, -3.0, 0.0, 1e-9])]);
    let (codes, back) = (folder.path().join("codes.safetensors"), folder.path().join("back.safetensors"));
    converted(&["--to", "e4m3"], &input, &codes);
    let rows = converted(&["--to", "f32"], &codes, &back);
    assert_eq!((&rows[0]["from"], &rows[0]["exact"], &rows[0]["shape"]), (&json!("e4m3"), &json!(6), &json!([2, 3])));
    assert_eq!(floats(&Arrays::read(&back).unwrap().arrays[0].bytes), [0.1015625, 1.0, 448.0, -3.0, 0.0, 0.0]);
}

/// There and back for every block format and for rows that end in a short block, of an odd length too: the arrays as they are
/// documented, the values those of the library.
#[test]
fn files_of_blocks_hold_codes_and_scales_and_are_read_again() {
    for format in formats().iter().filter(|format| format.offset.is_none()) {
        // Blocks of several rows end with their matrix, and are flat here for matrices alone.
        let first = if format.rows > 1 { vec![4, 64] } else { vec![2, 2, 64] };
        for (shape, row) in [(first, 64), (vec![3, 45], 45), (vec![33], 33), (vec![], 1), (vec![4, 0], 0)] {
            let values = values(shape.iter().product());
            let (folder, input) = folder_with("in.safetensors", vec![array("w", &shape, &values)]);
            let (packed, back) = (folder.path().join("packed.safetensors"), folder.path().join("back.npy"));
            let rows = converted(&["--to", format.name], &input, &packed);
            let blocks = Quantizer::new(format).quantize(&values, row);
            assert_eq!(rows[0]["blocks"], json!(blocks.scales.len()), "{format} {shape:?}");

            let arrays = Arrays::read(&packed).unwrap();
            assert_eq!(arrays.metadata["tcnum.format"], format.name);
            let width = format.scale.bytes();
            let scales: Vec<u8> = blocks.scales.iter().flat_map(|code| code.to_le_bytes()[..width].to_vec()).collect();
            assert_eq!(arrays.get("w_scale").unwrap().bytes, scales, "{format}");
            let codes = arrays.get("w").unwrap();
            let four = format.element.format.bits == 4;
            assert_eq!(*codes.shape.last().unwrap(), if four { row.div_ceil(2) } else { row });
            if four && row > 1 {
                assert_eq!(codes.bytes[0], blocks.elements[0] | blocks.elements[1] << 4);
            }
            assert_eq!(arrays.get("w_tensor_scale").is_some(), format.tensor_scale.is_some());

            let rows = converted(&["--from", format.name], &packed, &back);
            assert_eq!((&rows[0]["from"], &rows[0]["values"]), (&json!(format.name), &json!(values.len())));
            // A product with the scale of a tensor has more bits than f32.
            let wide = format.tensor_scale.is_some() || format.scale.bits > 16;
            assert!(wide || rows[0]["exact"] == rows[0]["values"], "{format}");
            let read = Arrays::read(&back).unwrap();
            assert_eq!(
                (&read.arrays[0].shape, floats(&read.arrays[0].bytes)),
                (&shape, blocks.dequantize()),
                "{format}"
            );
        }
    }
}

/// Values of a tensor under one scale for all, for each row and for each block, by their definition.
#[test]
fn a_plain_format_has_the_scales_that_per_names_and_is_read_again() {
    let values: Vec<f32> = values(5 * 70).into_iter().map(|x| (x % 1000.0) * 1e-4).collect();
    for (per, rows, length, shape, rule) in [
        ("tensor", 5, 70, vec![], "absmax"),
        ("tensor", 5, 70, vec![], "mse"),
        ("tensor", 5, 70, vec![], "pow2"),
        ("row", 1, 70, vec![5, 1], "absmax"),
        ("2x32", 2, 32, vec![3, 3], "four-over-six"),
        ("1x32", 1, 32, vec![5, 3], "mse"),
    ] {
        let (folder, input) = folder_with("in.safetensors", vec![array("w", &[5, 70], &values)]);
        let (codes, back) = (folder.path().join("codes.safetensors"), folder.path().join("back.npy"));
        converted(&["--to", "e4m3", "--per", per, "--scale-rule", rule], &input, &codes);
        let written = Arrays::read(&codes).unwrap();
        let scales = written.get("w_scale").unwrap();
        assert_eq!(scales.shape, shape, "{per}");
        let e4m3 = find("e4m3").unwrap();
        let format = BlockFormat::with_f32_scales(e4m3, rows, length).unwrap();
        let blocks = Quantizer { rule: find_rule(rule).unwrap(), ..Quantizer::new(format) }.quantize(&values, 70);
        let expected: Vec<f32> = blocks.scales.iter().map(|code| f32::from_bits(*code)).collect();
        assert_eq!(floats(&scales.bytes), expected, "{per}");
        assert_eq!(*written.get("w").unwrap().bytes, *blocks.elements, "{per}");
        converted(&["--to", "f32"], &codes, &back);
        assert_eq!(floats(&Arrays::read(&back).unwrap().arrays[0].bytes), blocks.dequantize(), "{per}");
    }
    let (folder, input) = folder_with("in.safetensors", vec![array("w", &[2], &[1.0, f32::NAN])]);
    let output = folder.path().join("none.safetensors");
    let files = ["--to", "e4m3", "--input", text(&input), "--out", text(&output), "--per"];
    refused(&[&files[..], &["tensor"]].concat(), &output, &["array 'w'", "holds a NaN or an infinity"]);
    refused(&[&files[..], &["channel"]].concat(), &output, &["--per channel", "ROWSxCOLUMNS, a row"]);
    refused(&[&files[..], &["tensor", "--scale-rule", "mse"]].concat(), &output, &["array 'w'"]);
    let (_folder, input) = folder_with("in.safetensors", vec![array("w", &[2], &[1.0, 2.0])]);
    let files = ["--to", "e4m3", "--input", text(&input), "--out", text(&output), "--per", "tensor", "--scale-rule"];
    refused(&[&files[..], &["percentile"]].concat(), &output, &["array 'w'", "needs all values"]);
}

#[test]
fn a_block_format_of_the_user_is_written_and_read() {
    let mine = "name = \"mine\"\nelement = \"e3m2\"\nblock = [2, 8]\nscale = \"bf16\"\nrule = \"mse\"\n";
    let values = values(4 * 20);
    let (folder, input) = folder_with("in.safetensors", vec![array("w", &[4, 20], &values)]);
    let at = |name: &str| folder.path().join(name);
    fs::write(at("mine.toml"), mine).unwrap();
    let file = at("mine.toml");
    converted(&["--to", text(&file)], &input, &at("codes.safetensors"));
    converted(&["--from", text(&file), "--to", "f32"], &at("codes.safetensors"), &at("back.npy"));
    let format: &'static BlockFormat = Box::leak(Box::new(BlockFormat::from_toml(mine, "mine").unwrap()));
    let blocks = Quantizer::new(format).quantize(&values, 20);
    assert_eq!(floats(&Arrays::read(&at("back.npy")).unwrap().arrays[0].bytes), blocks.dequantize());
}

#[test]
fn norms_biases_and_embeddings_stay_as_they_are_unless_they_are_named() {
    let arrays = vec![
        array("embed.weight", &[2, 2], &[1.0; 4]),
        array("mlp.weight", &[2, 2], &[1.5; 4]),
        array("mlp.bias", &[2], &[2.0; 2]),
        array("norm.weight", &[2], &[1.0; 2]),
    ];
    let (folder, input) = folder_with("in.safetensors", arrays);
    let output = folder.path().join("out.safetensors");
    let names = |rows: &[Value]| rows.iter().map(|row| row["array"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(names(&converted(&["--to", "mxfp4"], &input, &output)), ["mlp.weight"]);
    let written = Arrays::read(&output).unwrap();
    assert_eq!(floats(&written.get("norm.weight").unwrap().bytes), [1.0; 2]);
    assert_eq!(names(&converted(&["--to", "mxfp4", "--include", "*", "--exclude", "*bias"], &input, &output)).len(), 3);
    assert_eq!(names(&converted(&["--to", "bf16"], &input, &output)).len(), 4);
}

#[test]
fn a_tensor_of_another_program_needs_no_metadata() {
    let scale = |bytes: Vec<u8>| Array {
        name: "w_scale".into(),
        shape: vec![1, bytes.len()],
        kind: Content::Unsigned(1),
        bytes: bytes.into(),
    };
    let codes =
        Array { name: "w".into(), shape: vec![1, 2], kind: Content::Unsigned(1), bytes: vec![0x72, 0xf1].into() };
    let (folder, input) = folder_with("in.safetensors", vec![codes.clone(), scale(vec![128])]);
    let output = folder.path().join("out.npy");
    converted(&["--from", "mxfp4", "--to", "f32"], &input, &output);
    assert_eq!(floats(&Arrays::read(&output).unwrap().arrays[0].bytes), [2.0, 12.0, 1.0, -12.0]);

    let output = folder.path().join("none.npy");
    let files = ["--from", "mxfp4", "--input", text(&input), "--out", text(&output)];
    Arrays { arrays: vec![codes.clone(), scale(vec![128, 1])], ..Arrays::default() }.write(&input).unwrap();
    refused(&files, &output, &["array 'w'", "2 scales", "need 1"]);
    Arrays { arrays: vec![codes.clone(), array("w_scale", &[1], &[1.0])], ..Arrays::default() }.write(&input).unwrap();
    refused(&files, &output, &["array 'w'", "'w_scale' holds no codes of 8 bits", "e8m0"]);
    Arrays { arrays: vec![codes.clone()], ..Arrays::default() }.write(&input).unwrap();
    refused(&files, &output, &["array 'w'", "w_scale"]);
    let nvfp4 = ["--from", "nvfp4", "--input", text(&input), "--out", text(&output)];
    let common = array("w_tensor_scale", &[], &[1.0]);
    Arrays { arrays: vec![codes, scale(vec![128]), common], ..Arrays::default() }.write(&input).unwrap();
    refused(&nvfp4, &output, &["code 0x80", "7 bits of ue4m3"]);
}

#[test]
fn a_file_of_blocks_says_what_it_is_and_is_requantised_exactly() {
    let values = values(96);
    let (folder, input) = folder_with("in.safetensors", vec![array("w", &[96], &values)]);
    let [small, large] = ["small.safetensors", "large.safetensors"].map(|name| folder.path().join(name));
    converted(&["--to", "mxfp4"], &input, &small);
    let rows = converted(&["--to", "mxfp8-e5m2"], &small, &large);
    assert_eq!((&rows[0]["from"], &rows[0]["exact"]), (&json!("mxfp4"), &json!(96)));
    let output = folder.path().join("out.npy");
    refused(
        &["--from", "mxint8", "--to", "f32", "--input", text(&large), "--out", text(&output)],
        &output,
        &["mxfp8-e5m2, not mxint8", "omit --from"],
    );
}

#[test]
fn names_that_would_meet_in_the_result_are_refused() {
    let arrays = vec![array("w", &[4], &values(4)), array("w_scale", &[4], &values(4))];
    let (folder, input) = folder_with("in.safetensors", arrays);
    let output = folder.path().join("out.safetensors");
    let files = ["--to", "mxint8", "--input", text(&input), "--out", text(&output)];
    refused(&files, &output, &["two arrays", "'w_scale'", "--tensor"]);
    converted(&["--to", "mxint8", "--tensor", "w_scale"], &input, &output);
}

#[test]
fn arrays_are_chosen_by_name_and_several_need_a_file_that_holds_several() {
    let arrays = vec![array("a", &[4], &values(4)), array("b", &[2, 2], &values(4))];
    let (folder, input) = folder_with("in.safetensors", arrays);
    let output = folder.path().join("out.npy");
    let files = ["--to", "f16", "--input", text(&input), "--out", text(&output)];
    refused(&files, &output, &["out.npy", "there are 2"]);
    refused(&[&files[..], &["--tensor", "c"]].concat(), &output, &["no array 'c'"]);
    refused(&[&files[..], &["--tensor", "a", "--tensor", "a"]].concat(), &output, &["'a' is chosen twice"]);
    let rows = converted(&["--to", "f16", "--tensor", "b"], &input, &output);
    assert_eq!((rows.len(), &rows[0]["array"]), (1, &json!("b")));
    fs::remove_file(&output).unwrap();
    refused(
        &["--to", "mxfp4", "--tensor", "b", "--input", text(&input), "--out", text(&output)],
        &output,
        &[".safetensors"],
    );
}

#[test]
fn a_nan_without_a_code_stops_the_conversion_and_in_blocks_it_is_counted() {
    let (folder, input) =
        folder_with("in.safetensors", vec![array("x", &[2, 20], &[vec![1.0; 25], vec![f32::NAN; 15]].concat())]);
    let output = folder.path().join("out.safetensors");
    let files = ["--input", text(&input), "--out", text(&output)];
    refused(&[&["--to", "e2m1"], &files[..]].concat(), &output, &["array 'x'", "15 of 40", "position 25"]);
    let rows = converted(&["--to", "mxfp4"], &input, &output);
    assert_eq!((&rows[0]["nan"], &rows[0]["exact"]), (&json!(20), &json!(35)));
}

#[test]
fn the_order_of_an_array_in_its_file_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let written = ["numpy_f32.npy", "numpy_fortran.npy"].map(|name| {
        let output = folder.path().join(name);
        let rows = converted(&["--to", "e4m3"], &fixture(name), &output);
        assert_eq!(rows[0]["shape"], json!([2, 6]));
        fs::read(output).unwrap()
    });
    assert_eq!(written[0], written[1]);
}

#[test]
fn a_file_of_codes_of_ones_own_format_is_read_again_with_from() {
    let arrays = vec![array("w", &[3, 7], &values(21))];
    let (folder, input) = folder_with("in.safetensors", arrays);
    let [format, codes, back] =
        ["e3m4.toml", "codes.safetensors", "back.safetensors"].map(|name| folder.path().join(name));
    let record =
        "name = 'fp8-e3m4'\nexponent_bits = 3\ntrailing_bits = 4\nbias = 3\nzeros = 'both'\nspecials = 'ieee'\n";
    fs::write(&format, record).unwrap();
    converted(&["--to", text(&format)], &input, &codes);
    refused(&["--to", "f32", "--input", text(&codes), "--out", text(&back)], &back, &["unknown format 'fp8-e3m4'"]);
    let rows = converted(&["--from", text(&format), "--to", "f32"], &codes, &back);
    assert_eq!((&rows[0]["exact"], &rows[0]["from"]), (&json!(21), &json!("fp8-e3m4")));
}

#[test]
fn a_part_of_a_file_of_blocks_is_read_as_codes() {
    let (folder, input) = folder_with("in.safetensors", vec![array("w", &[2, 64], &values(128))]);
    let [blocks, scales] = ["blocks.safetensors", "scales.npy"].map(|name| folder.path().join(name));
    converted(&["--to", "mxfp4"], &input, &blocks);
    let rows = converted(&["--from", "e8m0", "--to", "f32", "--tensor", "w_scale"], &blocks, &scales);
    assert_eq!((&rows[0]["shape"], &rows[0]["exact"]), (&json!([2, 2]), &json!(4)));
}

#[test]
fn a_file_has_its_own_type_for_a_format_where_there_is_one() {
    let (folder, input) = folder_with("in.safetensors", vec![array("w", &[4], &[1.0, -2.0, 3.0, 100.0])]);
    for (format, safetensors, npy) in [
        ("bf16", "BF16", "'<u2'"),
        ("e4m3", "F8_E4M3", "'|u1'"),
        ("e8m0", "F8_E8M0", "'|u1'"),
        ("e2m1", "U8", "'|u1'"),
        ("s8", "I8", "'|i1'"),
        ("s64", "I64", "'<i8'"),
        ("u32", "U32", "'<u4'"),
        ("f16", "F16", "'<f2'"),
    ] {
        for (end, kind) in [("safetensors", safetensors), ("npy", npy)] {
            let output = folder.path().join(format!("{format}.{end}"));
            let rounding = if format == "e8m0" { &["--overflow", "saturate"][..] } else { &[] };
            converted(&[&["--to", format], rounding].concat(), &input, &output);
            let written = String::from_utf8_lossy(&fs::read(&output).unwrap()).into_owned();
            assert!(written.contains(kind), "{format}.{end}: {written}");
        }
    }
}

#[test]
fn extents_beyond_what_a_report_holds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("huge.npy"), folder.path().join("out.npy"));
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775808), }\n";
    fs::write(&input, [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat())
        .unwrap();
    refused(
        &["--to", "f16", "--input", text(&input), "--out", text(&output)],
        &output,
        &["9223372036854775808", "too large"],
    );
    let (input, output) = (folder.path().join("huge.safetensors"), folder.path().join("out.safetensors"));
    for (kind, shape) in [("mxfp4", "[0,9223372036854775807]"), ("mxfp8-e4m3", "[3,0,9223372036854775808]")] {
        let json = format!("{{\"w\":{{\"dtype\":\"U8\",\"shape\":{shape},\"data_offsets\":[0,0]}}}}");
        fs::write(&input, [&(json.len() as u64).to_le_bytes()[..], json.as_bytes()].concat()).unwrap();
        refused(
            &["--from", kind, "--to", "f32", "--input", text(&input), "--out", text(&output)],
            &output,
            &["too large"],
        );
    }
}

#[test]
fn a_format_of_ones_own_is_not_called_as_a_block_format_is() {
    let folder = tempfile::tempdir().unwrap();
    let (format, output) = (folder.path().join("mine.toml"), folder.path().join("out.npy"));
    let record = "name = 'mxfp4'\nexponent_bits = 2\ntrailing_bits = 1\nbias = 1\nzeros = 'both'\nspecials = 'none'\n";
    fs::write(&format, record).unwrap();
    let input = fixture("numpy_f32.npy");
    let files = ["--to", text(&format), "--input", text(&input), "--out", text(&output)];
    refused(&files, &output, &["mine.toml", "mxfp4", "block format"]);
}

#[test]
fn bad_files_are_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.npy");
    let missing = folder.path().join("missing.npy");
    let (junk, npy) = (folder.path().join("junk.safetensors"), folder.path().join("junk.npy"));
    fs::write(&junk, b"not this").unwrap();
    fs::write(&npy, b"not this").unwrap();
    // Files that no memory holds: what they begin with is enough to refuse them.
    let (vast, vast_npy) = (folder.path().join("vast.safetensors"), folder.path().join("vast.npy"));
    for file in [&vast, &vast_npy] {
        fs::File::create(file).unwrap().set_len(1 << 42).unwrap();
    }
    let empty = tempfile::tempdir().unwrap();
    let big = fixture("numpy_big.npy");
    let python = fixture("numpy_arrays.py");
    for (input, part) in [
        (&missing, "cannot be read"),
        (&junk, "safetensors"),
        (&npy, "not an .npy file"),
        (&vast, "not a safetensors file"),
        (&vast_npy, "not an .npy file"),
        (&big, "'>f4'"),
        (&python, "must end in .npy, .safetensors or .gguf"),
        (&folder.path().to_path_buf(), "not a safetensors file"),
        (&empty.path().to_path_buf(), "has no .safetensors file"),
    ] {
        refused(&["--to", "f16", "--input", text(input), "--out", text(&output)], &output, &[text(input), part]);
    }
    let good = fixture("numpy_f32.npy");
    refused(&["--to", "f16", "--input", text(&good)], &output, &["--out"]);
    refused(&["--input", text(&good), "--out", text(&output)], &output, &["--to"]);
    refused(
        &["--from", "f16", "--to", "e4m3", "--input", text(&good), "--out", text(&output)],
        &output,
        &["f32, not f16"],
    );
    let other = folder.path().join("out.txt");
    refused(&["--to", "f16", "--input", text(&good), "--out", text(&other)], &other, &[".npy, .safetensors or .gguf"]);
}

#[test]
fn values_become_blocks_with_their_scales() {
    let run = tcnum(&["convert", "--to", "mxfp4", "--output", "json", "--", "1.5", "-0x1.8p3", "0.1"]);
    let document = validate_report(&run.stdout);
    let scale = &document["tables"]["scales"][0];
    assert_eq!((&scale["scale_code"], &scale["scale_value"]), (&json!("0x80"), &json!(2.0)));
    let elements = document["tables"]["elements"].as_array().unwrap();
    let row = |i: usize| ["code", "element", "value"].map(|key| elements[i][key].clone());
    assert_eq!(row(0), [json!("0x2"), json!(1.0), json!(2.0)]);
    assert_eq!(row(1), [json!("0xf"), json!(-6.0), json!(-12.0)]);
    assert_eq!(row(2), [json!("0x0"), json!(0.0), json!(0.0)]);
    assert_eq!(elements[0]["relative_error"], json!(1.0 / 3.0));

    let run = tcnum(&["convert", "--to", "nvfp4", "--tensor-scale", "0.5", "3", "--output", "json"]);
    let scale = &validate_report(&run.stdout)["tables"]["scales"][0];
    assert_eq!((&scale["scale_value"], &scale["tensor_scale_value"]), (&json!(1.0), &json!(0.5)));
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let none = Path::new("/nonexistent/none");
    refused(&["--to", "mxfp4", "--scale-rule", "flor", "1"], none, &["'flor'", "'floor'"]);
    refused(&["--to", "e4m3", "--scale-rule", "floor", "1"], none, &["block formats"]);
    refused(&["--to", "mxfp4", "--tensor-scale", "1", "1"], none, &["nvfp4"]);
    refused(&["--to", "nvfp4", "--tensor-scale", "-1", "1"], none, &["positive"]);
    refused(&["--to", "mxfp4", "--overflow", "nan", "1"], none, &["saturate"]);
    refused(&["--from", "mxfp4", "--to", "f32", "1"], none, &["--input"]);
    refused(&["--to", "mxfp4", "--input", "x.npy", "--out", "/tmp/x.safetensors", "1"], none, &["cannot be used with"]);
}

#[test]
fn integers_beside_numbers_are_kept_as_they_are_and_after_another_conversion_too() {
    let ids = Array {
        name: "ids".into(),
        shape: vec![3],
        kind: Content::Format(find("s64").unwrap()),
        bytes: Cow::Owned([5u64, 1 << 40, 7].iter().flat_map(|id| id.to_le_bytes()).collect()),
    };
    let numbers = values(64);
    let (folder, input) = folder_with("model.safetensors", vec![array("w", &[2, 32], &numbers), ids.clone()]);
    let (blocks, back) = (folder.path().join("blocks.safetensors"), folder.path().join("back.safetensors"));
    assert_eq!(converted(&["--to", "mxfp8"], &input, &blocks).len(), 1);
    assert_eq!(converted(&["--to", "bf16"], &blocks, &back).len(), 1);
    for path in [&blocks, &back] {
        assert_eq!(Arrays::read(path).unwrap().get("ids"), Some(&ids));
    }
    // Chosen by name, they are converted; and the rest is left out.
    let chosen = folder.path().join("ids.safetensors");
    assert_eq!(converted(&["--to", "f64", "--tensor", "ids"], &input, &chosen)[0]["array"], "ids");
}

#[test]
fn random_bits_for_all_values_of_a_file_alike_are_refused() {
    let (folder, input) = folder_with("w.npy", vec![array("w", &[4], &[0.1, 0.2, 0.3, 0.4])]);
    let output = folder.path().join("out.npy");
    for to in ["e4m3", "mxfp4"] {
        let random = ["--round", "SR", "--random", "3", "--random-bits", "4"];
        let files = ["--to", to, "--input", text(&input), "--out", text(&output)];
        refused(&[&files[..], &random].concat(), &output, &["would round all values of a file alike"]);
    }
}
