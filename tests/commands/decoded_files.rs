//! `tcnum convert` and `tcnum quantise` on quantised checkpoints, and what `tcnum inspect` reads of the results: on the program itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    inspect::{array, format},
    program::{Run, tcnum, validate_report},
};
use serde_json::{Value, json};
use tcnum::format::block::{self, Quantizer, pack_pairs};
use tcnum_engine::array::{Array, ArrayFile, Arrays, Content};

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn write(path: &Path, arrays: Vec<Array<'static>>) {
    Arrays { arrays, ..Arrays::default() }.write(path).unwrap();
}

fn weights(count: usize) -> Vec<f32> {
    (0..count as u32).map(|n| ((n * 7919 % 10_007) as f32 / 10_007.0 - 0.5) * 0.1).collect()
}

fn run(verb: &str, arguments: &[&str]) -> Value {
    let Run { status, stdout, stderr } = tcnum(&[&[verb, "--output", "json"], arguments].concat());
    assert_eq!((status, stderr.as_str()), (0, ""), "{verb} {arguments:?}");
    validate_report(&stdout)
}

fn refused(arguments: &[&str], parts: &[&str]) {
    let Run { status, stdout, stderr } = tcnum(arguments);
    assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
}

/// A folder, and the paths of files in it.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }
}

/// A GGUF file of tensors: name, number of rows, type, and bytes.
fn gguf(path: &Path, tensors: &[(&str, usize, &str, Vec<u8>)]) {
    let one = |(name, rows, stored, bytes): &(&str, usize, &str, Vec<u8>)| {
        let columns = if *stored == "IQ3_S" { 256 } else { 32 };
        let kind = Content::blocks(stored).filter(|_| *stored != "F32").unwrap_or(format("f32"));
        array(name, &[*rows, columns], kind, bytes.clone())
    };
    write(path, tensors.iter().map(one).collect());
}

/// The bytes of Q8_0: scales of 1/2, 1, 2, ... and codes that run on.
fn q8_0(rows: u64) -> Vec<u8> {
    let block = |row: u64| {
        let scale = (0x3800 + 0x400 * (row % 4) as u16).to_le_bytes();
        scale.into_iter().chain((0..32u64).map(move |n| ((row * 7 + n * 5) % 256) as u8))
    };
    (0..rows).flat_map(block).collect()
}

#[test]
fn blocks_of_gguf_are_decoded_before_they_are_converted_and_measured() {
    let files = Files::new();
    let bias = singles(&weights(32));
    gguf(
        &files.path("m.gguf"),
        &[("blk.0.attn_q.weight", 6, "Q8_0", q8_0(6)), ("blk.0.attn_norm.weight", 1, "F32", bias)],
    );
    let (from, to) = (files.at("m.gguf"), files.at("m.safetensors"));
    run("convert", &["--to", "f32", "--input", &from, "--out", &to]);
    assert_eq!(run("inspect", &[&from, &to])["answer"], "2 tensors have the same values in both.");
    let report = run("convert", &["--to", "e4m3", "--per", "row", "--input", &from, "--out", &to]);
    assert_eq!(report["notes"][0], "Quantised tensors are decoded first: 1 in gguf-q8_0.");
    assert_eq!(report["tables"]["arrays"][0]["array"], "blk.0.attn_q.weight");
    // The codes are integers, so that they are exact in s8 under their own scales.
    let measured = run("quantise", &[&from, "--to", "q8-0", "--include", "*attn_q*"]);
    assert_eq!(measured["tables"]["quantisation"][0]["values"], 6 * 32);
    assert!(measured["tables"]["quantisation"][0]["sqnr"].as_f64().unwrap() > 40.0);
}

#[test]
fn a_type_of_gguf_that_is_not_decoded_is_refused_and_never_half_written() {
    let files = Files::new();
    let iq3_s = vec![1u8; 2 * 110];
    let (from, to) = (files.at("m.gguf"), files.at("out.safetensors"));
    gguf(
        &files.path("m.gguf"),
        &[("q.weight", 2, "IQ3_S", iq3_s.clone()), ("v.bias", 1, "F32", singles(&weights(32)))],
    );
    refused(
        &["convert", "--to", "e4m3", "--input", &from, "--out", &to],
        &["m.gguf: array 'q.weight' has the type IQ3_S, which is not decoded"],
    );
    refused(&["quantise", &from, "--to", "e4m3"], &["array 'q.weight' has the type IQ3_S, which is not decoded"]);
    gguf(&files.path("m.gguf"), &[("q.weight", 2, "IQ3_S", iq3_s), ("v.weight", 6, "Q8_0", q8_0(6))]);
    refused(
        &["convert", "--to", "e4m3", "--input", &from, "--out", &to],
        &["array 'q.weight' has the type IQ3_S", "name the arrays to convert by --tensor"],
    );
    assert!(!files.path("out.safetensors").exists());
    run("convert", &["--to", "e4m3", "--input", &from, "--out", &to, "--tensor", "v.weight"]);
    let report = run("quantise", &[&from, "--to", "e4m3"]);
    assert_eq!(report["tables"]["quantisation"][0]["values"], 6 * 32);
    let answer = report["answer"].as_str().unwrap();
    assert!(
        answer.ends_with("2 arrays: 1 quantised (1 tensor), 1 left out, in types of GGUF that are not decoded."),
        "{answer}"
    );
}

#[test]
fn codes_and_scales_of_a_quantised_checkpoint_are_never_taken_for_weights() {
    let files = Files::new();
    let blocks = Quantizer::new(block::find("nvfp4").unwrap()).quantize(&weights(64 * 256), 256);
    let codes = || pack_pairs(&blocks.elements, 256);
    let scales = || blocks.scales.iter().map(|code| *code as u8).collect::<Vec<u8>>();
    let tensor_scale = f32::from_bits(blocks.tensor_scale.unwrap() as u32);
    let modelopt = || {
        vec![
            array("l.weight", &[64, 128], Content::Unsigned(1), codes()),
            array("l.weight_scale", &[64, 16], format("e4m3"), scales()),
            array("l.weight_scale_2", &[], format("f32"), singles(&[tensor_scale])),
        ]
    };
    let deepseek = vec![
        array("l.weight", &[64, 256], format("e4m3"), vec![0x38; 64 * 256]),
        array("l.weight_scale_inv", &[1, 2], format("f32"), singles(&[0.01, 0.02])),
    ];
    let int8 = vec![
        array("l.weight", &[64, 256], format("s8"), vec![5; 64 * 256]),
        array("l.weight_scale", &[64, 1], format("f32"), singles(&[0.01; 64])),
    ];
    write(
        &files.path("plain.safetensors"),
        vec![array("l.weight", &[64, 256], format("f32"), singles(&weights(64 * 256)))],
    );
    run(
        "convert",
        &["--to", "nvfp4", "--input", &files.at("plain.safetensors"), "--out", &files.at("own.safetensors")],
    );
    write(&files.path("modelopt.safetensors"), modelopt());
    write(&files.path("deepseek.safetensors"), deepseek);
    write(&files.path("int8.safetensors"), int8);
    for (name, layout) in [
        ("modelopt", "modelopt-nvfp4"),
        ("deepseek", "deepseek-fp8"),
        ("int8", "compressed-tensors-int"),
        ("own", "tcnum-nvfp4"),
    ] {
        let (from, to) = (files.at(&format!("{name}.safetensors")), files.at("to.safetensors"));
        let report = run("quantise", &[&from, "--to", "nvfp4"]);
        assert_eq!(report["tables"]["quantisation"][0]["values"], 64 * 256, "{name}");
        let note = format!("Quantised tensors are decoded first: 1 in {layout}.");
        assert_eq!(report["notes"][0], note, "{name}");
        run("convert", &["--to", "f32", "--input", &from, "--out", &to]);
        assert_eq!(run("inspect", &[&from, &to])["answer"], "1 tensor has the same values in both.", "{name}");
    }
    // Parts without which codes mean nothing are missing.
    write(&files.path("less.safetensors"), modelopt().into_iter().take(2).collect());
    for verb in [
        &["quantise", &files.at("less.safetensors"), "--to", "e4m3"][..],
        &["convert", "--to", "e4m3", "--input", &files.at("less.safetensors"), "--out", &files.at("none.safetensors")],
    ] {
        refused(verb, &["'l.weight' is not decoded", "'l.weight_scale_2' with its global scale is missing"]);
    }
    assert!(!files.path("none.safetensors").exists());
}

/// Weights of matrices, each a tenth of the one before.
fn experts(matrices: usize, values: usize) -> Vec<f32> {
    let all = weights(matrices * values);
    all.iter().enumerate().map(|(at, value)| value * 10f32.powi(-((at / values) as i32))).collect()
}

#[test]
fn blocks_of_several_rows_end_with_their_matrix() {
    let files = Files::new();
    let (from, to, back) = (files.at("from.safetensors"), files.at("to.safetensors"), files.at("back.safetensors"));
    let shapes: [(&[usize], &[usize]); 4] = [
        (&[3, 130, 128], &[3, 2, 1]),
        (&[5, 1, 256], &[5, 1, 2]),
        (&[2, 3, 100, 128], &[2, 3, 1, 1]),
        (&[6, 8, 64], &[6, 1, 1]),
    ];
    for (shape, scales) in shapes {
        let [leading @ .., rows, columns] = shape else { unreachable!() };
        let matrices = leading.iter().product::<usize>();
        let values = experts(matrices, rows * columns);
        write(Path::new(&from), vec![array("l.weight", shape, format("f32"), singles(&values))]);
        for layout in [&[][..], &["--layout", "deepseek-fp8"]] {
            run("convert", &[&["--to", "fp8-128x128", "--input", &from, "--out", &to], layout].concat());
            let file = ArrayFile::open(Path::new(&to)).unwrap();
            let scale = file.arrays.iter().find(|array| array.name.contains("scale")).unwrap();
            assert_eq!(scale.shape, scales, "{shape:?}");
            run("convert", &["--to", "f32", "--input", &to, "--out", &back]);
            assert_eq!(run("inspect", &[&to, &back])["answer"], "1 tensor has the same values in both.", "{shape:?}");
            // Every value is that of its matrix alone.
            let decoded = Arrays::read(Path::new(&back)).unwrap();
            let decoded: Vec<f32> =
                decoded.arrays[0].bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
            let quantizer = Quantizer::new(block::find("fp8-128x128").unwrap());
            let alone =
                values.chunks(rows * columns).flat_map(|matrix| quantizer.quantize(matrix, *columns).dequantize());
            assert!(alone.eq(decoded), "{shape:?}");
        }
        // The same for the errors that are measured.
        let separate: Vec<Array> = values
            .chunks(rows * columns)
            .enumerate()
            .map(|(at, matrix)| array(&format!("l{at}.weight"), &[*rows, *columns], format("f32"), singles(matrix)))
            .collect();
        write(&files.path("separate.safetensors"), separate);
        let measured = |file: &str| {
            let report = run("quantise", &[file, "--to", "fp8-128x128,e5m2", "--per", "128x128"]);
            let rows = report["tables"]["quantisation"].as_array().unwrap().clone();
            rows.iter()
                .map(|row| (row["bits"].clone(), row["max_error"].clone(), row["unchanged"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(measured(&from), measured(&files.at("separate.safetensors")), "{shape:?}");
    }
}

#[test]
fn what_convert_writes_is_read_by_its_metadata() {
    let files = Files::new();
    let (from, to, back) = (files.at("from.safetensors"), files.at("to.safetensors"), files.at("back.safetensors"));
    let mine = "name = \"mine\"\nelement = \"e2m1\"\nblock = [4, 24]\nscale = \"bf16\"\ntensor_scale = \"f32\"\nrule = \"nearest\"\nexponent = 1\nsource = \"an example\"\n";
    fs::write(files.path("mine.toml"), mine).unwrap();
    let mine = files.at("mine.toml");
    let shapes: [&[usize]; 4] = [&[7, 96], &[5, 9], &[3, 6, 40], &[4, 3, 3, 5]];
    for shape in shapes {
        write(
            Path::new(&from),
            vec![array("l.weight", shape, format("f32"), singles(&weights(shape.iter().product())))],
        );
        for (to_format, layout, element) in [
            (&["s4", "--per", "row"][..], json!("tcnum-scaled"), "s4"),
            (&["nf4", "--per", "1x64"], json!("tcnum-scaled"), "nf4"),
            (&["e2m1", "--per", "1x16"], json!("tcnum-scaled"), "e2m1"),
            (&["e3m2", "--per", "tensor"], json!("tcnum-scaled"), "e3m2"),
            (&["e4m3", "--per", "128x128"], json!("tcnum-scaled"), "e4m3"),
            (&["nvfp4", "--per", "1x32"], json!("tcnum-nvfp4"), "e2m1"),
            (&["hif8"], json!(null), "hif8"),
            (&["s4"], json!(null), "s4"),
            (&[&mine], json!("tcnum-mine"), "e2m1"),
        ] {
            run("convert", &[&["--input", &from, "--out", &to, "--to"], to_format].concat());
            let report = run("inspect", &[&to]);
            let row = &report["tables"]["checkpoint_tensors"][0];
            assert_eq!((&row["layout"], &row["format"]), (&layout, &json!(element)), "{to_format:?} {shape:?}");
            assert_eq!(row["shape"], json!(shape), "{to_format:?}");
            let from_option: &[&str] = if to_format[0] == mine { &["--from", &mine] } else { &[] };
            run("convert", &[&["--to", "f32", "--input", &to, "--out", &back], from_option].concat());
            assert_eq!(
                run("inspect", &[&to, &back])["answer"],
                "1 tensor has the same values in both.",
                "{to_format:?}"
            );
            // The original has the same shape, a convolution too.
            let report = validate_report(&tcnum(&["inspect", &from, &to, "--output", "json"]).stdout);
            let row = &report["tables"]["compared_tensors"][0];
            assert!(row["differ"].as_u64() > Some(0) && row["shape"] == json!(shape), "{to_format:?} {row}");
        }
    }
}

#[test]
fn codes_of_a_format_that_is_not_known_are_never_taken_for_weights() {
    let files = Files::new();
    let arrays = vec![
        array("l.weight", &[4, 16], Content::Unsigned(1), vec![1; 64]),
        array("l.weight_scale", &[4, 1], format("f32"), singles(&[0.5; 4])),
    ];
    let entries = [("tcnum.format", "mine"), ("tcnum.scale", "f32"), ("tcnum.element", "own"), ("tcnum.block", "row")];
    let metadata = entries.map(|(key, value)| (key.to_string(), value.to_string())).into();
    Arrays { arrays, metadata }.write(&files.path("w.safetensors")).unwrap();
    let (file, out) = (files.at("w.safetensors"), files.at("o.safetensors"));
    let what = "its metadata name the format 'mine', whose element format is not known here";
    refused(&["quantise", &file, "--to", "e4m3"], &[what, "convert the file to f32 first"]);
    refused(&["convert", "--to", "e4m3", "--input", &file, "--out", &out], &[what]);
    let report = run("inspect", &[&file]);
    assert!(report["notes"][0].as_str().unwrap().contains(what), "{report}");
}

#[test]
fn a_layout_that_nobody_knows_is_said_before_its_format() {
    let files = Files::new();
    write(&files.path("w.safetensors"), vec![array("l.weight", &[2, 2], format("f32"), singles(&[1.0; 4]))]);
    let arguments = ["--input", &files.at("w.safetensors"), "--out", &files.at("o.safetensors"), "--to", "e4m3"];
    refused(&[&["convert", "--layout", "nosuch"], &arguments[..]].concat(), &["unknown layout 'nosuch'"]);
}

#[test]
fn quantise_convert_and_inspect_take_the_same_arrays_for_weights() {
    let files = Files::new();
    let (mixed, converted) = (files.at("mixed.safetensors"), files.at("converted.safetensors"));
    let numbers =
        |name: &str, shape: &[usize]| array(name, shape, format("f32"), singles(&weights(shape.iter().product())));
    let codes =
        |name: &str, shape: &[usize], kind: &str| array(name, shape, format(kind), vec![0x38; shape.iter().product()]);
    let arrays = vec![
        numbers("a.weight", &[4, 32]),
        numbers("a.bias", &[4]),
        numbers("b.weight", &[2, 4, 32]),
        numbers("b.input_scale", &[4, 32]),
        codes("b.zero_point", &[4, 32], "s8"),
        numbers("c_norm.weight", &[4, 32]),
        numbers("embed.weight", &[4, 32]),
        codes("d.weight", &[4, 32], "e4m3"),
        numbers("d.weight_scale", &[4, 1]),
        codes("e.exponents", &[4, 32], "e8m0"),
        codes("positions", &[4, 32], "s8"),
    ];
    write(Path::new(&mixed), arrays);
    let named = |report: &Value, table: &str, key: &str, wanted: &dyn Fn(&Value) -> bool| {
        let rows = report["tables"][table].as_array().unwrap().iter().filter(|row| wanted(row));
        let mut names: Vec<String> = rows.map(|row| row[key].as_str().unwrap().to_string()).collect();
        names.sort();
        names
    };
    let weights = ["a.weight", "b.weight", "d.weight"];
    let inspected = run("inspect", &[&mixed]);
    assert_eq!(named(&inspected, "checkpoint_tensors", "tensor", &|row| row["weight"] == true), weights);
    let quantised = run("quantise", &[&mixed, "--to", "e5m2"]);
    assert_eq!(named(&quantised, "tensor_quantisation", "tensor", &|_| true), weights);
    let report = run("convert", &["--to", "e5m2", "--input", &mixed, "--out", &converted]);
    assert_eq!(named(&report, "arrays", "array", &|_| true), weights);
}
