//! `tcnum gemm compute`: files in and out, the report, comparisons, and what is refused.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use tcnum::{
    format::{self, Format},
    isa,
};
use tcnum_engine::{
    array::{Array, Arrays},
    product::{ArrayFile, Conversion, Factors, Matrix, Schedule},
};

use crate::{
    compute::{computed, matrix},
    program::{tcnum, validate_report},
};

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";

/// Writes arrays of these names to a file.
pub(crate) fn write(path: &Path, arrays: &[(&str, &Matrix)]) -> String {
    let array = |(name, matrix): &(&str, &Matrix)| {
        Array::of_codes(*name, vec![matrix.rows, matrix.columns], matrix.format, matrix.codes.as_bytes().to_vec())
    };
    Arrays { arrays: arrays.iter().map(array).collect(), metadata: BTreeMap::new() }.write(path).unwrap();
    path.to_string_lossy().into_owned()
}

pub(crate) fn format(name: &str) -> &'static Format {
    format::find(name).unwrap()
}

fn gemm(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[&["gemm", "compute", "-q"], arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

fn refusal(arguments: &[&str]) -> String {
    let run = tcnum(&[&["gemm", "compute", "-q"], arguments].concat());
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
    run.stderr
}

fn read(path: &str) -> Matrix {
    ArrayFile::parse(path).read(Some(format("f32")), Conversion::Keep).unwrap().0
}

#[test]
fn d_is_written_as_both_kinds_of_file_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (a, b) = (matrix(20, 50, format("f16"), 1), matrix(50, 30, format("f16"), 2));
    let (first, second) = (write(&path("a.npy"), &[("a", &a)]), write(&path("b.safetensors"), &[("x", &a), ("y", &b)]));
    let second = format!("{second}:y");
    let out = path("d.npy").to_string_lossy().into_owned();
    let device = ["--device", "model:hopper", "--instr", HALF, "--a", &first, "--b", &second];
    let report = gemm(&[&device[..], &["--out", &out]].concat(), 0);
    let expected = computed(
        "hopper",
        &Schedule::new(isa::find(HALF).unwrap()).unwrap(),
        &tcnum_engine::product::Factors::new(a, b),
    );
    assert_eq!(read(&out), expected);
    let product = &report["tables"]["products"][0];
    assert_eq!((&product["m"], &product["n"], &product["k"]), (&20.into(), &30.into(), &50.into()));
    assert_eq!(product["dot_product_adds"], 20 * 30 * 4);
    let exact = &report["tables"]["accuracy"][2];
    assert_eq!((&exact["yardstick"], &exact["elements"]), (&"exact".into(), &600.into()));
    assert!(exact["equal"].as_u64().unwrap() > 0 && exact["max_relative"].as_f64().unwrap() < 1e-3, "{exact}");
    let counted: u64 =
        report["tables"]["ulps"].as_array().unwrap().iter().map(|row| row["exact"].as_u64().unwrap()).sum();
    assert_eq!(counted, 600);

    let narrow = path("d.safetensors").to_string_lossy().into_owned();
    let schedule = path("schedule.toml").to_string_lossy().into_owned();
    let flags = [
        "--output-format",
        "bf16",
        "--split-k",
        "3",
        "--granule",
        "16",
        "--join",
        "output",
        "--schedule-out",
        &schedule,
    ];
    gemm(&[&device[..], &flags, &["--out", &narrow]].concat(), 0);
    assert_eq!(read(&narrow).format.name, "bf16");
    // The schedule that was written gives the same again.
    let again =
        ["--device", "model:hopper", "--a", &first, "--b", &second, "--schedule", &schedule, "--compare", &narrow];
    let report = gemm(&again, 0);
    assert_eq!(report["tables"]["product_comparison"][0]["equal"], 600);
    // Another model does not.
    let other = again.map(|word| if word == "model:hopper" { "model:volta" } else { word });
    assert!(tcnum(&[&["gemm", "compute"], &other[..]].concat()).status == 2, "volta has no k16");
    let plain = [&device[..], &["--output-format", "bf16", "--order", "descending", "--compare", &narrow]].concat();
    let report = gemm(&plain, 1);
    let row = &report["tables"]["product_comparison"][0];
    assert!(row["differing"].as_u64().unwrap() > 0 && row["which_rows"].is_string(), "{row}");
}

#[test]
fn values_are_taken_only_where_the_format_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let single = Matrix::of_values(2, 2, format("f32"), &[1.0f32, 2.0, 3.0, 0.1].map(|x| x.to_bits().into()));
    let representable = Matrix::of_values(2, 2, format("f32"), &[1.0f32, 2.0, 3.0, 4.0].map(|x| x.to_bits().into()));
    let (rough, fine) =
        (write(&path("rough.npy"), &[("a", &single)]), write(&path("fine.npy"), &[("a", &representable)]));
    let flags = ["--instr", "mma.m16n8k8.f32.bf16.bf16.f32", "--device", "model:hopper"];
    let message = refusal(&[&flags[..], &["--a", &rough, "--b", &fine]].concat());
    assert!(message.contains("1 of 4 values of f32 are not in bf16; use --quantise"), "{message}");
    gemm(&[&flags[..], &["--a", &fine, "--b", &fine]].concat(), 0);
    let report = gemm(&[&flags[..], &["--a", &rough, "--b", &fine, "--quantise"]].concat(), 0);
    assert!(report["notes"].to_string().contains("1 of 4 values of f32 were rounded to bf16"), "{}", report["notes"]);
}

#[test]
fn a_stored_transpose_and_a_bias_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (a, b, c) = (matrix(9, 33, format("f16"), 1), matrix(33, 7, format("f16"), 2), matrix(9, 7, format("f32"), 3));
    let bias = matrix(1, 7, format("f32"), 4);
    let files = [("a", &a), ("at", &a.transposed()), ("b", &b), ("bt", &b.transposed()), ("c", &c), ("bias", &bias)];
    let file = write(&path("all.safetensors"), &files);
    let named = |name: &str| format!("{file}:{name}");
    let outs = ["x.npy", "y.npy"].map(|name| path(name).to_string_lossy().into_owned());
    let common = ["--instr", HALF, "--device", "model:hopper", "--alpha", "0.5", "--beta", "-2"];
    let ends = ["--c", &named("c"), "--bias", &named("bias")];
    gemm(&[&common[..], &ends, &["--a", &named("a"), "--b", &named("b"), "--out", &outs[0]]].concat(), 0);
    let turned = ["--a", &named("at"), "--b", &named("bt"), "--transpose-a", "--transpose-b", "--out", &outs[1]];
    let report = gemm(&[&common[..], &ends, &turned].concat(), 0);
    assert_eq!(read(&outs[0]), read(&outs[1]));
    assert!(report["tables"]["accuracy"][2]["max_relative"].as_f64().unwrap() < 1e-2);
    let exact =
        (0..33).map(|k| a.value(8, k) * b.value(k, 6)).sum::<f64>() * 0.5 - 2.0 * c.value(8, 6) + bias.value(0, 6);
    assert!((read(&outs[0]).value(8, 6) - exact).abs() < 1e-4);
}

#[test]
fn what_cannot_be_done_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (a, b) = (matrix(4, 5, format("f16"), 1), matrix(5, 3, format("f16"), 2));
    let file = write(&path("ab.safetensors"), &[("a", &a), ("b", &b)]);
    let (a, b) = (format!("{file}:a"), format!("{file}:b"));
    let missing = format!("{file}:w");
    let npy = path("d.npy").to_string_lossy().into_owned();
    let short = path("short.npy");
    std::fs::write(&short, b"\x93NUMPY\x01\x00\x10").unwrap();
    let short = short.to_string_lossy().into_owned();
    // A terabyte that no memory holds, of which the header is read alone.
    let header = format!("{:<118}", "{'descr': '<f2', 'fortran_order': False, 'shape': (524288, 1048576), }");
    let big = path("big.npy");
    std::fs::write(&big, [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes()].concat()).unwrap();
    std::fs::File::options().write(true).open(&big).unwrap().set_len(128 + (1 << 40)).unwrap();
    let big = big.to_string_lossy().into_owned();
    let half = ["--instr", HALF, "--device", "model:hopper"];
    for (arguments, words) in [
        (vec!["--a", &b, "--b", &b], "B needs as many rows as A has columns"),
        (vec!["--a", &big, "--b", &b], "B needs as many rows as A has columns"),
        (vec!["--a", &a, "--b", &b, "--compare", &big], "A times B is 4 x 3"),
        (vec!["--a", &missing, "--b", &b], "there is no array 'w'"),
        (vec!["--a", &file, "--b", &b], "the file has 2 arrays; name one"),
        (vec!["--a", &short, "--b", &b], "the file ends in its header"),
        (vec!["--a", &a, "--b", &b, "--output-format", "bf16", "--out", &npy], "write a .safetensors file"),
        (vec!["--a", &a, "--b", &b, "--slab", "24"], "a multiple of 16"),
        (vec!["--a", &a, "--b", &b, "--out", &file], "also names a file to read"),
        (vec!["--a", &a, "--b", &b, "--scale-a", &a], "has no block scales"),
        (vec!["--a", &a, "--b", &b, "--compare", &a], "D is 4 x 5, and A times B is 4 x 3"),
    ] {
        let message = refusal(&[&half[..], &arguments].concat());
        assert!(message.contains(words) && message.lines().count() == 1, "{arguments:?}: {message}");
    }
    assert!(!Path::new(&npy).exists());
    let trace = refusal(&["--instr", HALF, "--device", "trace:x.safetensors", "--a", &a, "--b", &b]);
    assert!(trace.contains("is a recording"), "{trace}");
}

#[test]
fn programs_and_this_processor_are_devices() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (matrix(20, 40, format("bf16"), 1), matrix(40, 11, format("bf16"), 2));
    let file = write(&folder.path().join("ab.safetensors"), &[("a", &a), ("b", &b)]);
    let (a, b) = (format!("{file}:a"), format!("{file}:b"));
    let out = folder.path().join("d.npy").to_string_lossy().into_owned();
    let instr = ["--instr", "mma.m16n8k16.f32.bf16.bf16.f32", "--a", &a, "--b", &b];
    gemm(&[&instr[..], &["--device", "model:hopper", "--out", &out]].concat(), 0);
    if crate::machine::has_python() {
        let program = format!("exec:python3 '{}/tests/exec/hopper.py'", env!("CARGO_MANIFEST_DIR"));
        gemm(&[&instr[..], &["--device", &program, "--compare", &out]].concat(), 0);
    }
    let fma = ["--instr", "vfmadd.m1n16k1.f32.f32.f32.f32", "--a", &a, "--b", &b, "--device"];
    let run = tcnum(&[&["gemm", "compute", "-q"], &fma[..], &["cpu", "--out", &out]].concat());
    // A machine without the instruction says so.
    assert!(matches!(run.status, 0 | 2), "{}", run.stderr);
    if run.status == 0 {
        gemm(&[&fma[..], &["model:x86", "--compare", &out]].concat(), 0);
    }
}

#[test]
fn nan_is_nan_whatever_its_code_and_is_refused_where_the_output_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let (mut a, b) = (matrix(4, 7, format("f16"), 1), matrix(7, 3, format("f16"), 2));
    a.codes.set(9, 0x7e01);
    a.codes.set(16, 0x7c00);
    let file = write(&folder.path().join("ab.safetensors"), &[("a", &a), ("b", &b)]);
    let (a, b) = (format!("{file}:a"), format!("{file}:b"));
    let common = ["--instr", HALF, "--device", "model:hopper", "--a", &a, "--b", &b];
    for row in gemm(&common, 0)["tables"]["accuracy"].as_array().unwrap() {
        assert!(row["equal"].as_u64().unwrap() >= 6 && row["elements"] == 12, "{row}");
    }
    let message = refusal(&[&common[..], &["--output-format", "e2m1"]].concat());
    assert!(message.contains("D is NaN at row 1, column 0, and e2m1 has no NaN"), "{message}");
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let shape = ["--shape", "4,4,16", "--instr", HALF];
    for (arguments, words) in [
        (&["--on", "model:hopper"][..], "expected cuda:N"),
        (&["--promote", "24"], "a multiple of 16"),
        (&["--dist", "odd"], "magnitudes"),
        (&["--a", "a.npy"], "cannot be used with"),
        (&["--schedule", "s.toml"], "cannot be used with"),
    ] {
        let message = refusal(&[&shape[..], arguments].concat());
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    assert!(refusal(&["--shape", "4,4,16"]).contains("give --instr or --schedule"));
    assert!(refusal(&["--instr", HALF]).contains("--a <FILE>"));
}

#[test]
fn an_element_of_a_product_of_files_is_explained_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let name = "mma.m16n8k16.f32.f16.f16.f32";
    let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
    schedule.split.count = 2;
    let factors = Factors::new(matrix(6, 128, format("f16"), 1), matrix(128, 5, format("f16"), 2));
    let d = computed("ampere", &schedule, &factors);
    std::fs::write(path("split.toml"), schedule.to_toml()).unwrap();
    let file = write(&folder.path().join("all.safetensors"), &[("a", &factors.a), ("b", &factors.b), ("d", &d)]);
    let [a, b, given] = ["a", "b", "d"].map(|name| format!("{file}:{name}"));
    let split = path("split.toml");
    let explain = |place: &str, more: &[&str], status: i32| {
        let flags = ["explain", "--output", "json", "--element", place, "--a", &a, "--b", &b];
        let run = tcnum(&[&flags[..], more].concat());
        assert_eq!(run.status, status, "{}", run.stderr);
        run
    };
    let report =
        validate_report(&explain("4,3", &["--d", &given, "--schedule", &split, "--model", "ampere"], 0).stdout);
    let steps = report["tables"]["element_steps"].as_array().unwrap();
    assert_eq!(steps.len(), 8, "{report}");
    assert_eq!((&steps[4]["part"], &steps[4]["k"]), (&2.into(), &"64..79".into()));
    // The last sums of the parts add up to D.
    let last = |step: &Value| {
        let code = step["code"].as_str().unwrap().trim_start_matches("0x");
        f32::from_bits(u32::from_str_radix(code, 16).unwrap())
    };
    assert_eq!(last(&steps[3]) + last(&steps[7]), f32::from_bits(d.get(4, 3) as u32));
    assert!(report["answer"].to_string().contains("as in D"), "{}", report["answer"]);
    // Without the split another D.
    let report = validate_report(&explain("4,3", &["--d", &given, "--instr", name, "--model", "ampere"], 1).stdout);
    assert_eq!(report["tables"]["results"].as_array().unwrap().len(), 2);
    assert!(explain("6,0", &["--instr", name], 2).stderr.contains("D is 6 x 5"));
}
