//! `tcnum inspect`, on the program itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::program::{Run, tcnum, validate_report};
use serde_json::{Value, json};
use tcnum::format::{
    block::{self, Quantizer, pack_pairs},
    find,
};
use tcnum_engine::array::{Array, Arrays, Content};

/// An array of a file.
pub(crate) fn array(name: &str, shape: &[usize], kind: Content, bytes: Vec<u8>) -> Array<'static> {
    Array { name: name.into(), shape: shape.to_vec(), kind, bytes: bytes.into() }
}

/// Elements of a format.
pub(crate) fn format(name: &str) -> Content {
    Content::Format(find(name).unwrap())
}

fn write(path: &Path, arrays: &[Array<'static>]) {
    Arrays { arrays: arrays.to_vec(), metadata: Default::default() }.write(path).unwrap();
}

/// A tensor of NVFP4 as compressed-tensors keeps it, and a plain one; `reciprocal` turns the global scale around.
fn checkpoint(path: &Path, reciprocal: bool) {
    let weights: Vec<f32> = (0..64 * 256u32).map(|n| ((n * 7919 % 10_007) as f32 / 10_007.0 - 0.5) * 0.1).collect();
    let blocks = Quantizer::new(block::find("nvfp4").unwrap()).quantize(&weights, 256);
    let scale = f32::from_bits(blocks.tensor_scale.unwrap() as u32);
    let global = if reciprocal { scale } else { 1.0 / scale };
    write(
        path,
        &[
            array("l.weight_packed", &[64, 128], Content::Unsigned(1), pack_pairs(&blocks.elements, 256)),
            array("l.weight_scale", &[64, 16], format("e4m3"), blocks.scales.iter().map(|code| *code as u8).collect()),
            array("l.weight_global_scale", &[1], format("f32"), global.to_le_bytes().to_vec()),
            array("n.weight", &[4], format("bf16"), [0x3f80u16, 0x4000, 0xc000, 0].map(u16::to_le_bytes).concat()),
        ],
    );
}

fn report(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[&["inspect", "--output", "json"], arguments].concat());
    assert_eq!((run.status, run.stderr.as_str()), (status, ""), "{arguments:?}");
    validate_report(&run.stdout)
}

fn refused(arguments: &[&str], parts: &[&str]) -> String {
    let Run { status, stdout, stderr } = tcnum(&[&["inspect"], arguments].concat());
    assert_eq!(status, 2, "{arguments:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: no '{part}' in: {stderr}");
    }
    stdout
}

fn two(folder: &Path) -> (PathBuf, PathBuf) {
    let (good, reversed) = (folder.join("good.safetensors"), folder.join("reversed.safetensors"));
    checkpoint(&good, false);
    checkpoint(&reversed, true);
    (good, reversed)
}

#[test]
fn every_tensor_has_a_row_with_its_layout_and_conventions() {
    let folder = tempfile::tempdir().unwrap();
    let (good, reversed) = two(folder.path());
    let document = report(&[good.to_str().unwrap()], 0);
    let rows = document["tables"]["checkpoint_tensors"].as_array().unwrap();
    let (quantised, plain) = (&rows[0], &rows[1]);
    assert_eq!((&quantised["tensor"], &quantised["shape"]), (&json!("l.weight"), &json!([64, 256])));
    for (key, value) in [
        ("layout", "compressed-tensors-nvfp4"),
        ("layout_by", "names"),
        ("format", "e2m1"),
        ("scale_format", "e4m3"),
        ("per", "1x16"),
        ("nibble_order", "low nibble first"),
        ("global_scale_use", "divides"),
        ("global_scale_by", "values"),
        ("scale_order_by", "shape"),
    ] {
        assert_eq!(quantised[key], value, "{key}");
    }
    assert_eq!(quantised["bits_per_value"], 8.0 * (8192.0 + 1024.0 + 4.0) / 16384.0);
    assert_eq!(quantised["arrays"].as_array().unwrap().len(), 3);
    assert_eq!((&plain["format"], &plain["largest"], &plain["layout"]), (&json!("bf16"), &json!(2.0), &json!(null)));
    let answer = document["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("2 tensors of 4 arrays: ") && answer.contains("global scale divides (values)"),
        "{answer}"
    );
    let wrong = report(&[reversed.to_str().unwrap(), "--include", "l.*"], 0);
    let answer = wrong["answer"].as_str().unwrap();
    assert!(answer.starts_with("In 'l.weight' values contradict the global scale: if it multiplies"), "{answer}");
    assert_eq!(wrong["tables"]["checkpoint_tensors"].as_array().unwrap().len(), 1);
}

#[test]
fn two_checkpoints_are_compared_after_decoding() {
    let folder = tempfile::tempdir().unwrap();
    let (good, reversed) = two(folder.path());
    let (good, reversed) = (good.to_str().unwrap(), reversed.to_str().unwrap());
    let same = report(&[good, good], 0);
    assert_eq!(same["answer"], "2 tensors have the same values in both.");
    let document = report(&[good, reversed], 1);
    let rows = document["tables"]["compared_tensors"].as_array().unwrap();
    assert_eq!(
        rows[0]["finding"],
        "same codes and scales, but the global scale of one file is the reciprocal of the other's"
    );
    assert_eq!((&rows[1]["finding"], &rows[1]["differ"]), (&json!("same values"), &json!(0)));
    assert!(document["answer"].as_str().unwrap().starts_with("1 of 2 tensors differ, first 'l.weight': same codes"));
    let run = tcnum(&["inspect", good, reversed]);
    assert!(run.status == 1 && run.stdout.starts_with("1 of 2 tensors differ"), "{}", run.stdout);
    // Tensors that one lacks are a difference.
    let other = folder.path().join("other.safetensors");
    write(&other, &[array("n.weight", &[4], format("f32"), [1f32, 2.0, -2.0, 0.0].map(f32::to_le_bytes).concat())]);
    let document = report(&[good, other.to_str().unwrap()], 1);
    let rows = document["tables"]["compared_tensors"].as_array().unwrap();
    assert_eq!((&rows[0]["finding"], &rows[1]["finding"]), (&json!("the second lacks it"), &json!("same values")));
    // Two files of one tensor each need no common name.
    write(&folder.path().join("x.npy"), &[array("x", &[2], format("f32"), vec![0; 8])]);
    write(&folder.path().join("y.npy"), &[array("y", &[2], format("f16"), vec![0; 4])]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    report(&[&at("x.npy"), &at("y.npy")], 0);
    refused(&[good, &at("x.npy")], &["have no tensor of the same name: the first has 'l.weight', the second 'x'"]);
}

#[test]
fn a_folder_and_an_index_are_one_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    checkpoint(&at("1.safetensors"), false);
    write(&at("2.safetensors"), &[array("m.weight", &[1], format("f32"), vec![0; 4])]);
    let names = |path: &Path| {
        let document = report(&[path.to_str().unwrap()], 0);
        let rows = document["tables"]["checkpoint_tensors"].as_array().unwrap().clone();
        rows.iter().map(|row| row["tensor"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(folder.path()), ["l.weight", "m.weight", "n.weight"]);
    fs::write(at("own.index.json"), r#"{"weight_map": {"m.weight": "2.safetensors"}}"#).unwrap();
    assert_eq!(names(&at("own.index.json")), ["m.weight"]);
    report(&[folder.path().to_str().unwrap(), at("own.index.json").to_str().unwrap(), "--include", "m*"], 0);
}

#[test]
fn codes_without_a_format_need_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.npy");
    write(&path, &[array("w", &[2], Content::Unsigned(2), vec![0x80, 0x3f, 0, 0x40])]);
    // As NumPy writes bfloat16 of ml_dtypes.
    let bytes = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
    assert!(bytes.contains("<u2"));
    let mut file = fs::read(&path).unwrap();
    let place = file.windows(3).position(|part| part == b"<u2").unwrap();
    file[place..place + 3].copy_from_slice(b"<V2");
    fs::write(&path, &file).unwrap();
    let path = path.to_str().unwrap();
    let message = "the file does not name the format of its codes of 2 bytes; name one by --from, such as --from bf16 (formats of 2 bytes: f16 bf16";
    refused(&[path], &[message]);
    assert_eq!(report(&[path, "--from", "bf16"], 0)["tables"]["checkpoint_tensors"][0]["largest"], 2.0);
    refused(&[path, "--from", "e4m3"], &["its codes have 2 bytes, and codes of e4m3 have 1"]);
    for verb in
        [&["quantise", path, "--to", "e4m3"][..], &["convert", "--input", path, "--to", "e4m3", "--out", "none.npy"]]
    {
        let run = tcnum(verb);
        assert!(run.status == 2 && run.stderr.contains(message), "{}", run.stderr);
        assert!(!run.stderr.contains("integers"), "{}", run.stderr);
    }
    let run = tcnum(&["quantise", path, "--to", "e4m3", "--from", "bf16", "--output", "json"]);
    assert_eq!(validate_report(&run.stdout)["tables"]["quantisation"][0]["unchanged"], 1.0);
}

#[test]
fn bad_input_is_said_and_what_is_whole_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = two(folder.path());
    let bytes = fs::read(&good).unwrap();
    let cut = folder.path().join("cut.safetensors");
    fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
    let stdout = refused(&[cut.to_str().unwrap()], &["cut.safetensors", "the file ends in its data"]);
    assert!(stdout.contains("array"), "{stdout}");
    fs::write(&cut, &bytes[..20]).unwrap();
    refused(&[cut.to_str().unwrap()], &["cut.safetensors", "its header is truncated"]);
    let good = good.to_str().unwrap();
    refused(&[good, "--include", "q*"], &["--include 'q*': no tensor has such a name"]);
    refused(&[good, "--layout", "nvfp"], &["unknown layout 'nvfp'; the nearest are"]);
    refused(&[good, "--layout", "none.toml"], &["none.toml", "cannot be read"]);
    refused(&["none.safetensors"], &["none.safetensors", "cannot be read"]);
    refused(&[folder.path().join("x.txt").to_str().unwrap()], &["x.txt"]);
    // What no tensor fits, and names with line ends.
    let document = report(&[good, "--layout", "gpt-oss"], 0);
    assert!(document["notes"][0].as_str().unwrap().ends_with("good.safetensors: no tensor fits --layout gpt-oss."));
    let none = folder.path().join("none.safetensors");
    write(&none, &[]);
    assert_eq!(report(&[none.to_str().unwrap()], 0)["answer"], "There are no tensors.");
    let (x, y) = (folder.path().join("x.safetensors"), folder.path().join("y.safetensors"));
    write(&x, &[array("a\nb", &[1], format("f32"), vec![0; 4])]);
    write(&y, &[array("a\nb", &[1], format("f32"), vec![1; 4])]);
    let differing = report(&[x.to_str().unwrap(), y.to_str().unwrap()], 1);
    assert_eq!(differing["answer"], "'a\\nb' differs: values differ.");
    let empty = tempfile::tempdir().unwrap();
    refused(&[empty.path().to_str().unwrap()], &["has no .safetensors file"]);
}
