//! What is said of long work on standard error: lines now and then where there is no terminal, nothing of short work.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Output, Stdio},
};

use crate::program::validate_report;

/// The program on one thread, with lines every so many seconds where its standard error is no terminal.
fn program(arguments: &[&str], seconds: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
    command.args(arguments).env("TCNUM_PROGRESS_SECONDS", seconds).env("RAYON_NUM_THREADS", "1");
    command
}

/// The instruction and device of every work here.
const WITH: [&str; 4] = ["--instr", "mma.m16n8k8.f32.bf16.bf16.f32", "--device", "model:hopper"];

#[cfg(unix)]
#[test]
fn long_work_says_how_far_it_is_now_and_then_and_its_result_is_untouched() {
    // Without end, until enough was said.
    let endless = ["chain", "--chains", "1000000", "--length", "1000", "--output", "json"];
    let mut child =
        program(&[&endless[..], &WITH].concat(), "0.01").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut lines = Vec::new();
    // What is left is known once something was done.
    while lines.len() < 5 || !lines.last().is_some_and(|line: &String| line.contains(" s left")) {
        lines.push(said.next().unwrap_or_else(|| panic!("it ends after {lines:?}")));
    }
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    let rest = std::thread::spawn(move || said.count());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{lines:?}");
    rest.join().unwrap();
    assert_eq!(validate_report(&stdout)["interrupted"], "SIGINT");
    let share = |line: &String| -> f64 {
        let (before, _) = line.split_once(" %, ").unwrap_or_else(|| panic!("no share: {line}"));
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let shares: Vec<f64> = lines.iter().map(share).collect();
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=100.0).contains(share)), "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("/s")), "{lines:?}");
}

#[test]
fn short_work_and_quiet_work_say_nothing() {
    const NEVER: &str = "100000";
    let quiet = [&["chain", "--chains", "20", "--length", "60", "-q"][..], &WITH].concat();
    let cases: [(&[&str], &str); 5] = [
        (&["probe", "--fmt", "bf16", "--device", "model:hopper", "--samples", "1000"], NEVER),
        (&["emulate", "--size", "64", "--device", "model:ampere", "--scheme", "half"], NEVER),
        (&["distinguish", "--instr", "mma.m16n8k8.f32.f16.f16.f32"], NEVER),
        (&["power", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--cases", "1000"], NEVER),
        (&quiet, "0.01"),
    ];
    for (arguments, seconds) in cases {
        let Output { status, stderr, .. } = program(arguments, seconds).output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        assert!(status.success() && stderr.is_empty(), "{arguments:?}: {stderr}");
    }
}
