//! `tcnum attention`: verdicts, exit statuses and bad input.

use std::path::Path;

use crate::program::{tcnum, validate_report};

/// Writes an array of f32 that NumPy would write.
fn write(path: &Path, shape: &str, numbers: &[f32]) {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    header.push_str(&" ".repeat(117 - header.len()));
    let mut bytes = [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes(), b"\n"].concat();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
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
