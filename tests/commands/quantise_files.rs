//! `tcnum quantise` on files, on the program itself.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
};

use crate::program::{Run, tcnum, validate_report};
use serde_json::{Value, json};
use tcnum::format::find;
use tcnum_engine::array::{Array, Arrays, Content};

fn array(name: &str, shape: &[usize], format: &'static str, values: &[f64]) -> Array<'static> {
    let format = find(format).unwrap();
    let code = |value: &f64| {
        let value = tcnum::format::Real::from(*value);
        format.encode(&value, tcnum::format::Rounding::Rne, tcnum::format::Overflow::Standard).unwrap()
    };
    let bytes = values.iter().flat_map(|value| code(value).to_le_bytes()[..format.bytes()].to_vec()).collect();
    Array { name: name.into(), shape: shape.to_vec(), kind: Content::Format(format), bytes: Cow::Owned(bytes) }
}

/// A checkpoint of two tensors of numbers, of which one has no finite sum, and one of token ids.
fn checkpoint(folder: &Path) -> PathBuf {
    let wave: Vec<f64> = (0..40 * 64).map(|n| f64::from(n * 37 % 101 - 50) / 64.0).collect();
    let mut holes = wave[..640].to_vec();
    (holes[3], holes[100]) = (f64::NAN, f64::INFINITY);
    let ids: Vec<f64> = (0..64).map(f64::from).collect();
    let arrays = vec![
        array("a.weight", &[40, 64], "bf16", &wave),
        array("b.weight", &[10, 64], "f32", &holes),
        array("ids", &[64], "s64", &ids),
    ];
    let path = folder.join("model.safetensors");
    Arrays { arrays, metadata: Default::default() }.write(&path).unwrap();
    path
}

fn report(arguments: &[&str], file: &Path) -> Value {
    let file = file.to_str().unwrap();
    let run = tcnum(&[&["quantise", file, "--output", "json"], arguments].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&run.stdout)
}

fn refused(arguments: &[&str], parts: &[&str]) {
    let Run { status, stdout, stderr } = tcnum(&[&["quantise"], arguments].concat());
    assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: no '{part}' in: {stderr}");
    }
}

#[test]
fn one_table_compares_formats_over_all_floating_point_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let file = checkpoint(folder.path());
    let report = report(&["--to", "e4m3,mxfp4,nvfp4,s8", "--per", "tensor,row"], &file);
    let rows = report["tables"]["quantisation"].as_array().unwrap();
    let names: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["to"].as_str().unwrap(), row["per"].as_str().unwrap())).collect();
    let expected =
        [("e4m3", "tensor"), ("e4m3", "row"), ("mxfp4", "1x32"), ("nvfp4", "1x16"), ("s8", "tensor"), ("s8", "row")];
    assert_eq!(names, expected);
    // Token ids are none of them. The tensor with a NaN and an infinity is none of the mean, and has its own errors.
    for row in rows {
        assert_eq!((&row["values"], &row["nan"], &row["infinite"]), (&json!(2560), &json!(null), &json!(null)));
        assert!(row["sqnr"].as_f64().unwrap() > 10.0, "{row}");
    }
    let answer = report["answer"].as_str().unwrap();
    assert!(answer.starts_with("'b.weight' holds 1 NaN and 1 infinity. "), "{answer}");
    assert!(answer.contains("over 2,560 values. The mean leaves out 1 tensor. "), "{answer}");
    let each = report["tables"]["tensor_quantisation"].as_array().unwrap();
    assert_eq!(each.len(), 2 * 6);
    let special = |row: &&Value| row["nan"] == 1 && row["infinite"] == 1 && row["sqnr"].as_f64().unwrap() > 10.0;
    assert_eq!(each.iter().filter(special).count(), 6);
    assert!(report["tables"]["worst_runs"].as_array().unwrap().len() >= 6);
    // What a NaN takes along is a block, and no more.
    let blocks = each.iter().find(|row| row["to"] == "mxfp4" && row["nan"] == 1).unwrap();
    assert_eq!(blocks["void"], 31 + 31);
}

#[test]
fn integers_are_quantised_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = checkpoint(folder.path());
    let document = report(&["--to", "bf16", "--include", "ids"], &file);
    let row = &document["tables"]["quantisation"][0];
    assert_eq!((&row["values"], &row["unchanged"], &row["max_error"]), (&json!(64), &json!(1.0), &json!(0.0)));
    let document = report(&["--to", "bf16", "--include", "*", "--exclude", "{a,b}.*"], &file);
    assert_eq!(document["tables"]["quantisation"][0]["values"], 64);
}

/// Heights of the words of an SVG, by the words.
fn heights(svg: &str, words: &[&str]) -> Vec<f64> {
    let height = |word: &&str| {
        let element =
            svg.split("<text").find(|element| element.contains(&format!(">{word}<"))).expect("the word is drawn");
        let at = element.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next());
        at.and_then(|number| number.parse().ok()).expect("a text has a height")
    };
    words.iter().map(height).collect()
}

#[test]
fn the_main_figure_of_several_layers_ranks_them_by_their_loss() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Numbers of e2m1, thirds of them, and a block whose largest value leaves the others little.
    let exact = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 6.0];
    let rounded = exact.map(|value| value * 0.9 + 0.03);
    let outlier = [0.24, 0.26, 0.23, 0.24, 0.25, 0.26, 0.24, 6.0];
    let layer = |name, values: &[f64]| array(name, &[4, 8], "f32", &values.repeat(4));
    let arrays = vec![layer("best", &rounded), layer("middle", &[1.1; 8]), layer("worst", &outlier)];
    Arrays { arrays, ..Arrays::default() }.write(&at("w.safetensors")).unwrap();
    let [file, figure] = ["w.safetensors", "layers.svg"].map(|name| at(name).to_str().unwrap().to_string());
    let run = tcnum(&["quantise", &file, "--to", "mxfp4", "--plot", &figure, "--output", "json"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["tensor_quantisation"].as_array().unwrap();
    let mut ranked: Vec<(f64, &str)> =
        rows.iter().map(|row| (row["sqnr"].as_f64().unwrap(), row["tensor"].as_str().unwrap())).collect();
    ranked.sort_by(|x, y| x.0.total_cmp(&y.0));
    assert!(ranked.windows(2).all(|two| two[0].0 < two[1].0), "{ranked:?}");
    let names: Vec<&str> = ranked.iter().map(|(_, name)| *name).collect();
    let heights = heights(&fs::read_to_string(&figure).unwrap(), &names);
    assert!(heights.is_sorted_by(|x, y| x < y), "{names:?} stand at {heights:?}");
}

#[test]
fn activations_of_layers_are_found_by_name_and_quantised_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let weights = [array("a.weight", &[1, 4], "f32", &[1.0; 4]), array("b.weight", &[1, 4], "f32", &[1.0; 4])];
    Arrays { arrays: weights.to_vec(), ..Arrays::default() }.write(&at("w.safetensors")).unwrap();
    // The row of a holds numbers of e2m1 under a scale of 1, that of b does not: 0.8 becomes 1.
    let rows =
        [array("a", &[1, 4], "f32", &[6.0, 1.0, 2.0, 3.0]), array("b.weight", &[1, 4], "f32", &[6.0, 0.8, 2.0, 3.0])];
    Arrays { arrays: rows.to_vec(), ..Arrays::default() }.write(&at("x.safetensors")).unwrap();
    let file = at("x.safetensors");
    let options = ["--to", "e4m3", "--activations", file.to_str().unwrap(), "--activations-to", "e2m1"];
    let document = report(&options, &at("w.safetensors"));
    let errors: Vec<f64> = document["tables"]["tensor_quantisation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["product_error"].as_f64().unwrap())
        .collect();
    let exact = report(&options[..2], &at("w.safetensors"));
    let answer = exact["answer"].as_str().unwrap();
    assert!(answer.contains("has no error") && !answer.contains("Most is lost"), "{answer}");
    assert_eq!(errors[0], 0.0);
    assert!((errors[1] - 0.2 / 11.8).abs() < 1e-6, "{errors:?}");
    assert!(
        document["answer"].as_str().unwrap().contains("Most is lost in 'b.weight' (product error 1.69e-02)"),
        "{document}"
    );
}

#[test]
fn a_convolution_is_quantised_along_all_axes_but_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.npy");
    // Kernels of 3 values.
    let values: Vec<f64> = (0..2 * 32 * 3).map(|at| if at == 5 { 100.0 } else { 1.0 }).collect();
    Arrays { arrays: vec![array("w", &[2, 32, 3], "f32", &values)], ..Arrays::default() }.write(&path).unwrap();
    let document = report(&["--to", "mxfp4"], &path);
    let row = &document["tables"]["quantisation"][0];
    assert_eq!(row["bits"].as_f64().unwrap(), 4.25);
    assert!(document["notes"].to_string().contains("1 convolution is taken as a matrix"), "{document}");
    let document = report(&["--to", "mxfp4", "--axis", "-1"], &path);
    assert!(document["tables"]["quantisation"][0]["bits"].as_f64().unwrap() > 6.0);
}

#[test]
fn a_product_with_activations_loses_what_the_weights_lose_along_them() {
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("w.npy");
    // The second row alone is no number of s8 under the scale of all: the product sees it where the activations do.
    let values: Vec<f64> = [127.0, 0.0, 0.0, 0.25].to_vec();
    let write = |path: &Path, shape: &[usize], values: &[f64]| {
        Arrays { arrays: vec![array("x", shape, "f32", values)], metadata: Default::default() }.write(path).unwrap();
    };
    write(&weights, &[2, 2], &values);
    for (activations, expected) in [([1.0, 0.0], 0.0), ([0.0, 1.0], 1.0)] {
        let path = folder.path().join("x.npy");
        write(&path, &[1, 2], &activations);
        let document = report(&["--to", "s8", "--activations", path.to_str().unwrap()], &weights);
        assert_eq!(document["tables"]["quantisation"][0]["product_error"], expected);
    }
}

#[test]
fn of_a_file_that_was_cut_short_the_whole_tensors_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = checkpoint(folder.path());
    let bytes = fs::read(&file).unwrap();
    let cut = folder.path().join("cut.safetensors");
    fs::write(&cut, &bytes[..bytes.len() - 8]).unwrap();
    let path = cut.to_str().unwrap();
    let run = tcnum(&["quantise", path, "--to", "e4m3", "--include", "*", "--output", "json"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("the file ends before the data of tensor 'a.weight'"), "{}", run.stderr);
    let rows = validate_report(&run.stdout)["tables"]["quantisation"].clone();
    assert_eq!(rows[0]["values"], 64, "{rows}");
    fs::write(&cut, &bytes[..20]).unwrap();
    refused(&[path, "--to", "e4m3"], &["cut.safetensors", "its header is truncated"]);
}

#[test]
fn what_is_wrong_is_said_before_work_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = checkpoint(folder.path());
    let file = file.to_str().unwrap();
    refused(&[file, "--to", "e4m3", "--axis", "2"], &["has 2 dimensions, so there is no axis 2"]);
    refused(&[file, "--to", "e4m3", "--axis", "0", "--per", "channel"], &["--per channel", "--axis 0"]);
    refused(&[file, "--to", "e4m3", "--include", "c*"], &["--include 'c*'", "no tensor has such a name"]);
    refused(&[file, "--to", "e4m3", "--exclude", "*.weight"], &["there are no floating-point tensors"]);
    refused(&[file, "--to", "f32"], &["--to f32: it has 32 bits"]);
    refused(&[file, "--to", "e4m3", "--round", "RX"], &["unknown rounding 'RX'"]);
    let wide = folder.path().join("wide.npy");
    Arrays { arrays: vec![array("x", &[2], "f64", &[1.0, 1e300])], metadata: Default::default() }.write(&wide).unwrap();
    refused(&[wide.to_str().unwrap(), "--to", "e4m3"], &["wide.npy", "holds 1e300, which f32 cannot hold"]);
    refused(&["none.npy", "--to", "e4m3"], &["none.npy", "cannot be read"]);
    refused(&[file, "--to", "e4m3", "--activations", file], &["--activations", "activation 3 is NaN"]);
}
