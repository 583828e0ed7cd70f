//! No scale is a weight: checkpoints whose quantised tensors are not decoded, and values that are no weights, on the program itself.

use std::path::Path;

use crate::{
    inspect::{array, format},
    program::{Run, tcnum, validate_report},
};
use serde_json::Value;
use tcnum_engine::array::{Array, Arrays, Content};

const BYTES: Content = Content::Unsigned(1);

/// A checkpoint of the folder of test files.
fn case(name: &str) -> String {
    format!("{}/tests/fixtures/checkpoints/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn report(arguments: &[&str]) -> Value {
    let Run { status, stdout, stderr } = tcnum(&[arguments, &["--output", "json"]].concat());
    assert_eq!((status, stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&stdout)
}

fn answer(arguments: &[&str]) -> String {
    report(arguments)["answer"].as_str().unwrap_or_default().to_string()
}

/// Holds that both verbs refuse a checkpoint by the name of its convention, and write nothing.
fn assert_refused(file: &str, more: &[&str], parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    let out = out.to_str().unwrap();
    for verb in [
        &["quantise", file, "--to", "e4m3"][..],
        &["convert", "--to", "nvfp4", "--input", file, "--out", out],
        &["convert", "--to", "bf16", "--input", file, "--out", out],
    ] {
        let arguments = [verb, more].concat();
        let Run { status, stdout, stderr } = tcnum(&arguments);
        assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        assert!(!Path::new(out).exists(), "{arguments:?}");
    }
}

/// Numbers from 0.5 on, or codes that run on, of some elements.
fn elements(name: &str, shape: &[usize], kind: &str) -> Array<'static> {
    let count = shape.iter().product::<usize>();
    let codes = || (0..count).map(|n| (n * 37 % 120) as u8);
    match kind {
        "U8" => array(name, shape, BYTES, codes().collect()),
        "U32" => array(name, shape, Content::Unsigned(4), codes().flat_map(|code| [code; 4]).collect()),
        "s32" => array(name, shape, format(kind), codes().flat_map(|code| [code; 4]).collect()),
        "s64" => array(name, shape, format(kind), codes().flat_map(|code| [code, 0, 0, 0, 0, 0, 0, 0]).collect()),
        "f16" => array(name, shape, format(kind), codes().flat_map(|code| [code, 0x38]).collect()),
        "bf16" => array(name, shape, format(kind), codes().flat_map(|code| [code, 0x3f]).collect()),
        "f32" => array(name, shape, format(kind), codes().flat_map(|code| [code, 0, 0, 0x3f]).collect()),
        _ => array(name, shape, format(kind), codes().collect()),
    }
}

type Named<'a> = (&'a str, &'a [usize], &'a str);

fn write(path: &Path, arrays: &[Named]) {
    let arrays = arrays.iter().map(|(name, shape, kind)| elements(name, shape, kind)).collect();
    Arrays { arrays, ..Arrays::default() }.write(path).unwrap();
}

/// Conventions with the arrays of one tensor each.
const CONVENTIONS: &[(&str, &[Named])] = &[
    ("Marlin", &[("l.B", &[4, 128], "s32"), ("l.s", &[1, 64], "f16")]),
    (
        "bitsandbytes 4-bit",
        &[
            ("l.weight", &[512, 1], "U8"),
            ("l.weight.absmax", &[16], "f32"),
            ("l.weight.quant_map", &[16], "f32"),
            ("l.weight.quant_state.bitsandbytes__nf4", &[90], "U8"),
        ],
    ),
    // Codes can be stored in words of bfloat16.
    ("bitsandbytes 4-bit", &[("l.weight", &[256, 1], "bf16"), ("l.weight.absmax", &[16], "f32")]),
    ("MLX", &[("l.weight", &[16, 8], "U32"), ("l.scales", &[16, 1], "f16"), ("l.biases", &[16, 1], "f16")]),
    ("HQQ", &[("l.W_q", &[32, 64], "U8"), ("l.scale", &[1, 64], "f16"), ("l.zero", &[1, 64], "f16")]),
    ("quanto", &[("l.weight._data", &[16, 32], "s8"), ("l.weight._scale", &[16, 1], "bf16")]),
    ("torchao", &[("l._weight_qdata", &[16, 32], "s8"), ("l._weight_scale", &[4, 16], "bf16")]),
    ("EXL2", &[("l.q_weight", &[8, 64], "s32"), ("l.q_scale", &[2, 8], "s32"), ("l.q_scale_max", &[2], "f16")]),
    ("EXL3", &[("l.trellis", &[2, 2, 16], "s8"), ("l.suh", &[32], "f16"), ("l.svh", &[32], "f16")]),
    ("TensorRT-LLM", &[("l.weight", &[16, 32], "s8"), ("l.per_channel_scale", &[16], "f32")]),
    // Under names that no table has.
    ("an unknown layout", &[("l.weight", &[16, 32], "s8"), ("l.weights_step_scale", &[16], "f32")]),
    ("an unknown layout", &[("l.weight", &[16, 32], "e4m3"), ("l.my_scale", &[16, 1], "f32")]),
    ("an unknown layout", &[("l.codes_of_it", &[16, 32], "U8"), ("l.d", &[16, 2], "f16")]),
    ("an unknown layout", &[("l_q", &[16, 32], "s8"), ("l_q_scale", &[16, 1], "f32")]),
    ("an unknown layout", &[("l.weight", &[16, 8], "s32"), ("l.weight_zero_point", &[16, 1], "s32")]),
];

#[test]
fn what_looks_quantised_and_is_not_decoded_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let file = path.to_str().unwrap();
    for (name, arrays) in CONVENTIONS {
        write(&path, arrays);
        assert_refused(file, &[], &["is not decoded", &format!("{name}: ")]);
        // A pattern does not make a scale a weight.
        assert_refused(file, &["--include", "*"], &["is not decoded", &format!("{name}: ")]);
        let document = report(&["inspect", file]);
        let rows = document["tables"]["checkpoint_tensors"].as_array().unwrap();
        assert_eq!((rows.len(), rows[0]["layout"].as_str()), (1, Some(*name)), "{document}");
        assert_eq!(rows[0]["arrays"].as_array().unwrap().len(), arrays.len(), "{document}");
        // Next to a weight too; it is taken once the tensor is left out.
        let mut more = arrays.to_vec();
        more.push(("other.weight", &[8, 32], "f32"));
        write(&path, &more);
        assert_refused(file, &[], &["is not decoded", &format!("{name}: ")]);
        let answer = answer(&["quantise", file, "--to", "e4m3", "--exclude", "l*"]);
        let count = more.len();
        let expected = format!(
            "over 256 values. {count} arrays: 1 quantised (1 tensor), {} left out by --include and --exclude.",
            count - 1
        );
        assert!(answer.ends_with(&expected), "{answer}");
    }
}

#[test]
fn scales_alone_are_no_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    write(&path, &[("l.scales", &[2, 64], "f16"), ("m.scale", &[2, 2], "e8m0")]);
    let file = path.to_str().unwrap();
    let Run { status, stderr, .. } = tcnum(&["quantise", file, "--to", "e4m3"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("there are no weights: 'l.scales' is part of a quantised tensor, or a scale"), "{stderr}");
    // An array that belongs to no codes can be named.
    assert!(answer(&["quantise", file, "--to", "e4m3", "--include", "l.scales"]).contains("over 128 values"));
}

#[test]
fn every_array_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    write(
        &path,
        &[
            ("a.weight", &[16, 32], "e4m3"),
            ("a.weight_scale", &[16, 1], "f32"),
            ("a.input_scale", &[], "f32"),
            ("b.weight", &[8, 32], "bf16"),
            ("b.bias", &[8], "bf16"),
            ("norm.weight", &[32], "bf16"),
            ("ids", &[1, 8], "s64"),
            ("mask", &[4, 4], "s8"),
        ],
    );
    let (file, out) = (path.to_str().unwrap(), folder.path().join("out.safetensors"));
    let left = "2 left alone (norms, biases, embeddings, scales, vectors; --include '*' takes them), \
                1 left alone as parts of quantised tensors (scales, zero points, codes), 2 left alone as integers.";
    let text = answer(&["quantise", file, "--to", "e4m3"]);
    assert!(text.ends_with(&format!("8 arrays: 3 quantised (2 tensors), {left}")), "{text}");
    let out = out.to_str().unwrap();
    let text = answer(&["convert", "--to", "e4m3", "--per", "row", "--input", file, "--out", out]);
    assert!(text.ends_with(&format!("8 arrays: 3 converted (2 tensors), {left}")), "{text}");
    assert!(answer(&["inspect", file]).starts_with("7 tensors of 8 arrays: "));
}

#[test]
fn published_cases_are_read_or_said() {
    // GPTQModel#2350, vllm#38966, AutoAWQ#275: the decoded weight, and never its scales.
    let document = report(&["quantise", &case("awq"), "--to", "e4m3"]);
    assert!(document["answer"].as_str().unwrap().contains("over 8,192 values"), "{document}");
    assert_eq!(document["notes"][0], "Quantised tensors are decoded first: 1 in awq.");
    // abliterix#93, vllm#51946, verl#7895.
    let text = answer(&["inspect", &case("v4")]);
    assert!(
        text.contains("1 in deepseek-v4-fp4 (e2m1 with e8m0 scales per 1x32), 1 in deepseek-v4-fp8 (e4m3 with"),
        "{text}"
    );
    let largest = |name: &str, row: usize| {
        report(&["inspect", &case(name)])["tables"]["checkpoint_tensors"][row]["largest"].as_f64().unwrap()
    };
    // The largest code is 0x7b, which is 352, and the scale 2^-12; the thread has 0.078, which is 320 * 2^-12.
    assert_eq!(largest("v4", 0), 352.0 * 2f64.powi(-12));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("v4.safetensors");
    let out = out.to_str().unwrap();
    let text = answer(&["convert", "--to", "bf16", "--input", &case("v4"), "--out", out]);
    assert!(text.starts_with("16,512 of 16,512 values in 3 arrays are exact in bf16"), "{text}");
    assert_eq!(answer(&["inspect", &case("v4"), out]), "3 tensors have the same values in both.");
    // stable-diffusion.cpp#1898.
    let comfy = largest("comfy.safetensors", 0);
    assert!((0.06..0.07).contains(&comfy), "{comfy}");
    // sglang#35111, rocm-libraries#5792.
    let fnuz = report(&["inspect", &case("fnuz.safetensors")]);
    let doubt = "codes may be e4m3fnuz, whose values are half of these: 0x7f and 0xff occur 3 times, and 0x80 never";
    assert_eq!(fnuz["tables"]["checkpoint_tensors"][0]["doubt"], doubt);
    // sglang#28974, SkyRL#2024.
    let run = tcnum(&["inspect", &case("q1.safetensors"), &case("q2.safetensors")]);
    let same = "'l.weight': the same weights: each value is within one step of the coarser grid.";
    assert!(run.status == 1 && run.stdout.starts_with(same), "{}", run.stdout);
}

#[test]
fn every_matrix_of_another_group_is_mentioned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let names: Vec<[String; 2]> =
        (0..20).map(|n| ["weight", "weight_scale"].map(|end| format!("m.{n}.{end}"))).collect();
    let mut arrays: Vec<Named> = vec![("l.weight_packed", &[16, 8], "s32"), ("l.weight_scale", &[16, 2], "bf16")];
    arrays.push(("norm.weight", &[64], "bf16"));
    for (at, [codes, scales]) in names.iter().enumerate() {
        arrays.push((codes, &[16, 32], "s8"));
        // The scales of half of the matrices are missing.
        if at % 2 == 0 {
            arrays.push((scales, &[16, 1], "bf16"));
        }
    }
    write(&path, &arrays);
    let config = r#"{"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}}"#;
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let document = report(&["inspect", folder.path().to_str().unwrap()]);
    let rows = document["tables"]["checkpoint_tensors"].as_array().unwrap();
    assert_eq!(rows.len(), 22, "{document}");
    for row in rows.iter().filter(|row| row["tensor"].as_str().unwrap().starts_with("m.")) {
        let no_scales = "config.json names 'pack-quantized', and there are no scales of it here; if they lie in another file, name the folder";
        let is_read = row["layout"] == "compressed-tensors-int";
        assert!(if is_read { row["doubt"].is_null() } else { row["doubt"] == no_scales }, "{row}");
    }
}

#[test]
fn values_that_no_weight_has_come_first_and_are_in_no_mean() {
    let nan = case("nan.safetensors");
    let first = "'a.weight', 'b.weight' hold 3 NaNs, 1 infinity and magnitudes up to 1.70e+38. ";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    for verb in [
        &["inspect", &nan][..],
        &["quantise", &nan, "--to", "e4m3"],
        &["convert", "--to", "bf16", "--input", &nan, "--out", out.to_str().unwrap()],
    ] {
        let text = answer(verb);
        assert!(text.starts_with(first), "{verb:?}: {text}");
    }
    let document = report(&["quantise", &nan, "--to", "e4m3"]);
    assert_eq!(document["answer"], format!("{first}No mean is given."));
    assert!(document["tables"].get("quantisation").is_none_or(|rows| rows.as_array().is_some_and(Vec::is_empty)));
}

/// Found by a review: the root of the sum of squares was called a magnitude, and what overflowed was not seen.
#[test]
fn a_conversion_names_the_largest_magnitude_and_no_sum() {
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["w.safetensors", "out.safetensors"].map(|name| folder.path().join(name));
    let [input, out] = [&input, &out].map(|path| path.to_str().unwrap());
    write(Path::new(input), &[("w", &[512, 512], "f32")]);
    let largest = |first: f32, others: f32, to: &str| {
        let mut all = Arrays::read(Path::new(input)).unwrap();
        let values = (0..512 * 512).map(|at| if at == 0 { first } else { others });
        all.arrays[0].bytes = values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>().into();
        all.write(Path::new(input)).unwrap();
        answer(&["convert", "--to", to, "--input", input, "--out", out])
    };
    let text = largest(2e6, 2e6, "bf16");
    assert!(!text.contains("magnitudes up to"), "{text}");
    for to in ["bf16", "e4m3", "mxfp4"] {
        let text = largest(2e9, 0.02, to);
        assert!(text.starts_with("'w' holds magnitudes up to 2.00e+09. "), "{to}: {text}");
    }
}

#[test]
fn an_infinite_scale_is_a_doubt_and_its_values_are_no_codes_of_another_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    write(&path, &[("l.weight", &[256, 256], "e4m3"), ("l.weight_scale_inv", &[2, 2], "f32")]);
    let mut all = Arrays::read(&path).unwrap();
    let scales = [1e-4f32, f32::INFINITY, 1e-4, 1e-4];
    let array = all.arrays.iter_mut().find(|array| array.name.ends_with("scale_inv")).unwrap();
    array.bytes = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect::<Vec<u8>>().into();
    let codes = all.arrays.iter_mut().find(|array| array.name == "l.weight").unwrap();
    codes.bytes = (0..256 * 256u32).map(|at| 1 + (at * 37 % 126) as u8).collect::<Vec<u8>>().into();
    all.write(&path).unwrap();
    let row = report(&["inspect", path.to_str().unwrap()])["tables"]["checkpoint_tensors"][0].clone();
    let doubt = row["doubt"].as_str().unwrap();
    assert!(doubt.contains("1 scale is infinite") && !doubt.contains("fnuz"), "{row}");
}

#[test]
fn a_description_that_names_a_decoded_method_is_no_contradiction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    write(
        &path,
        &[("l.weight_packed", &[16, 4], "s32"), ("l.weight_scale", &[16, 1], "f16"), ("l.weight_shape", &[2], "s64")],
    );
    let bytes = [16u64, 32].map(u64::to_le_bytes).concat();
    let mut all = Arrays::read(&path).unwrap();
    all.arrays.iter_mut().find(|array| array.name == "l.weight_shape").unwrap().bytes = bytes.into();
    all.write(&path).unwrap();
    let config = r#"{"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}}"#;
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let document = report(&["inspect", path.to_str().unwrap()]);
    assert_eq!(document["tables"]["checkpoint_tensors"][0]["layout"], "compressed-tensors-int4", "{document}");
    assert!(document["notes"].as_array().is_none_or(Vec::is_empty), "{document}");
}

#[test]
fn values_at_the_end_of_f32_stay_finite_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let bytes = 3.4e38f32.to_le_bytes().repeat(32);
    Arrays { arrays: vec![array("w", &[1, 32], format("f32"), bytes)], ..Arrays::default() }.write(&path).unwrap();
    let document = report(&["quantise", path.to_str().unwrap(), "--to", "mxfp8-e4m3", "--scale-rule", "mse,mae,up"]);
    for row in document["tables"]["quantisation"].as_array().unwrap() {
        assert_eq!((&row["void"], &row["infinite"]), (&Value::Null, &Value::Null), "{row}");
        assert!(row["sqnr"].as_f64().unwrap() > 15.0, "{row}");
    }
}
