//! `tcnum attention`: verdicts, exit statuses and bad input.

use std::path::Path;

use crate::{
    machine::amount,
    program::{Run, tcnum, validate_report},
};

/// Writes an array of f32 that NumPy would write.
fn write(path: &Path, shape: &str, numbers: &[f32]) {
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    write_array(path, "<f4", shape, &data);
}

fn write_array(path: &Path, kind: &str, shape: &str, data: &[u8]) {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    header.push_str(&" ".repeat(117 - header.len()));
    std::fs::write(path, [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes(), b"\n", data].concat()).unwrap();
}

#[test]
fn attention_is_judged_and_bad_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let [q, k, v, o, wrong, nan, short] =
        ["q.npy", "k.npy", "v.npy", "o.npy", "wrong.npy", "nan.npy", "short.npy"].map(path);
    // Scores of zero: the weights of both keys are one half.
    write(q.as_ref(), "1, 2, 2", &[0.0, 0.0, 0.0, 0.0]);
    write(k.as_ref(), "1, 2, 2", &[1.0, 2.0, 3.0, 4.0]);
    write(v.as_ref(), "1, 2, 2", &[1.0, 2.0, 3.0, 6.0]);
    write(o.as_ref(), "1, 2, 2", &[2.0, 4.0, 2.0, 4.0]);
    write(wrong.as_ref(), "1, 2, 2", &[1.0, 2.0, 2.0, 4.0]);
    write(nan.as_ref(), "1, 2, 2", &[0.0, f32::NAN, 0.0, 0.0]);
    write(short.as_ref(), "1, 1, 2", &[1.0, 2.0]);
    let run = |o: &str, q: &str, k: &str, more: &[&str]| {
        tcnum(&[&["attention", o, "--q", q, "--k", k, "--v", &v, "--output", "json", "-q"], more].concat())
    };
    let right = run(&o, &q, &k, &[]);
    assert_eq!(right.status, 0, "{}", right.stderr);
    let report = validate_report(&right.stdout);
    assert_eq!(report["tables"]["attention"][0]["within"], 4);
    let refused = run(&wrong, &q, &k, &[]);
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    let answer = validate_report(&refused.stdout)["answer"].to_string();
    assert!(answer.contains("2 of 4 elements are outside") && answer.contains("The mask is causal"), "{answer}");
    assert_eq!(run(&wrong, &q, &k, &["--causal"]).status, 0);
    // A mask of Booleans of NumPy: the same one.
    let mask = path("mask.npy");
    write_array(mask.as_ref(), "|b1", "2, 2", &[1, 0, 1, 1]);
    assert_eq!(run(&wrong, &q, &k, &["--mask", &mask]).status, 0);
    assert_eq!(run(&o, &q, &k, &["--mask", &mask]).status, 1);
    for (run, words) in [
        (run(&o, &nan, &k, &[]), "Q holds a NaN in head 0, row 0, column 1"),
        (run(&o, &q, &short, &[]), "the same number of keys"),
        (run(&o, &q, &k, &["--p-format", "s8"]), "P in s8 has no bound"),
        (run(&o, &q, &k, &["--mask", &nan]), "the mask holds NaN"),
        (run(&o, &q, &k, &["--exp-error", "1"]), "the error below 0.01"),
    ] {
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

/// Attention that PyTorch computed on an H200 by each backend, by `experiments/pytorch-attention.py`.
const CAPTURES: &str = "tests/recordings/attention/h200.safetensors";

/// Judges an O of the captures by its own Q, K and V.
fn captured(o: &str, more: &[&str]) -> Run {
    let shape = o.split('.').take(2).collect::<Vec<_>>().join(".");
    let [o, q, k, v] = [o.into(), format!("{shape}.q"), format!("{shape}.k"), format!("{shape}.v")]
        .map(|name: String| format!("{CAPTURES}:{name}"));
    tcnum(&[&["attention", &o, "--q", &q, "--k", &k, "--v", &v, "-q"], more].concat())
}

#[test]
fn every_backend_of_pytorch_is_within_its_bound_and_a_wrong_claim_is_not() {
    let listed = tcnum(&["inspect", CAPTURES, "--output", "json", "-q"]);
    let report = validate_report(&listed.stdout);
    let names =
        report["tables"]["checkpoint_tensors"].as_array().unwrap().iter().map(|row| row["tensor"].as_str().unwrap());
    let all: Vec<&str> = names.filter(|name| name.ends_with(".o")).collect();
    assert_eq!(all.len(), 40, "{all:?}");
    for o in all.iter().step_by(amount(7, 1)) {
        let (right, wrong): (&[&str], _) = match o.contains(".causal.") {
            true => (&["--causal"], vec![]),
            false => (&[], vec!["--scale", "0.1"]),
        };
        let run = captured(o, right);
        assert_eq!(run.status, 0, "{o}: {}{}", run.stdout, run.stderr);
        assert_eq!(captured(o, &wrong).status, 1, "{o}");
        if o.contains(".math.") {
            let format = o.split('.').next().unwrap();
            assert_eq!(captured(o, &[right, &["--s-format", format]].concat()).status, 0, "{o}");
        }
    }
}
