//! What is said of long work on standard error: lines now and then where there is no terminal, nothing of short work.

use std::process::{Command, Output};

use crate::program::validate_report;

/// Work of about a second on one thread.
const LONG: &[&str] = &[
    "chain",
    "--instr",
    "mma.m16n8k8.f32.bf16.bf16.f32",
    "--chains",
    "150",
    "--length",
    "60",
    "--device",
    "model:hopper",
];

/// Runs the program on one thread with its standard error in a pipe, and lines every so many seconds.
fn run(arguments: &[&str], seconds: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(arguments)
        .env("TCNUM_PROGRESS_SECONDS", seconds)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap()
}

#[test]
fn long_work_says_how_far_it_is_after_a_while_and_its_result_is_untouched() {
    let Output { status, stdout, stderr } = run(&[LONG, &["--output", "json"]].concat(), "0.05");
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{stderr}");
    validate_report(&stdout);
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(!lines.is_empty(), "{stderr}");
    let share = |line: &&str| -> f64 {
        let (before, _) = line.split_once(" %, ").unwrap_or_else(|| panic!("no share: {line}"));
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let shares: Vec<f64> = lines.iter().map(share).collect();
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=100.0).contains(share)), "{stderr}");
    assert!(lines.iter().all(|line| line.contains("/s")) && lines.last().unwrap().contains(" s left"), "{stderr}");
}

#[test]
fn short_work_and_quiet_work_say_nothing() {
    let quiet = [LONG, &["-q"]].concat();
    let cases: [(&[&str], &str); 5] = [
        (&["probe", "--fmt", "bf16", "--device", "model:hopper", "--samples", "1000"], "60"),
        (&["emulate", "--size", "64", "--device", "model:ampere", "--scheme", "half"], "60"),
        (&["distinguish", "--instr", "mma.m16n8k8.f32.f16.f16.f32"], "60"),
        (&["power", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--cases", "1000"], "60"),
        (&quiet, "0.05"),
    ];
    for (arguments, seconds) in cases {
        let output = run(arguments, seconds);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && stderr.is_empty(), "{arguments:?}: {stderr}");
    }
}
