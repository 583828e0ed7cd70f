//! The command line as a whole: wrong requests get one clear message and exit status 2, help begins with an example, a
//! reader that has seen enough is no failure.

use std::{
    io::Read,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn tcnum(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
    command.args(line.split_whitespace()).stdin(Stdio::null()).output().expect("tcnum starts")
}

/// What a wrong request says.
fn refusal(line: &str) -> String {
    let output = tcnum(line);
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "tcnum {line}: {message}");
    assert!(output.stdout.is_empty() && message.starts_with("error: "), "tcnum {line}: {message}");
    message
}

/// Interrupts `tcnum` once it has said `when` on standard error (with -v) and has something to report: its exit status and its report.
#[cfg(unix)]
fn interrupted(line: &str, when: &str, signal: &str) -> (Option<i32>, Value) {
    // A run that has done nothing yet reports nothing: the next one is given ten times as long.
    let delays = (0..5).map(|at| std::time::Duration::from_millis(10 * 10u64.pow(at)));
    let reported =
        delays.map(|delay| interrupted_after(line, when, delay, signal)).find(|(_, report)| !report.is_empty());
    let (status, report) = reported.expect("a run of minutes has something to report");
    (status, crate::program::validate_report(&report))
}

/// Interrupts `tcnum` some time after it has said `when`: its exit status and standard output.
#[cfg(unix)]
fn interrupted_after(line: &str, when: &str, delay: std::time::Duration, signal: &str) -> (Option<i32>, String) {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(line.split_whitespace())
        .args(["-v", "--output", "json"])
        .env("TCNUM_PROGRESS_SECONDS", "0.01")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcnum starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    loop {
        let said = said.next().expect("it says what it does").expect("UTF-8");
        assert!(!said.starts_with("error"), "tcnum {line}: {said}");
        if said.contains(when) {
            break;
        }
    }
    std::thread::sleep(delay);
    // Twice at once, as `timeout` does.
    let id = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{signal}"), &id, &id]).status().unwrap().success());
    let rest = std::thread::spawn(move || said.for_each(drop));
    let output = child.wait_with_output().expect("tcnum ends");
    rest.join().expect("standard error is read");
    (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_reports_what_it_has_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = folder.path().to_string_lossy();
    let half = "--instr mma.m16n8k8.f32.f16.f16.f32 --device model:hopper";
    // What is left is said once something was done.
    let (at_start, at_work) = ("", " s left");
    let lines = [
        (format!("verify {half} --cases 1e15"), at_work, "INT", 130),
        (format!("probe {half} --op multiply --init low --samples 100000000000"), at_start, "TERM", 143),
        (format!("chain {half} --length 1000 --chains 1000000"), at_work, "INT", 130),
        (
            format!("record --all --available --device model:hopper --tiles 100 --folder {recordings}"),
            at_start,
            "TERM",
            143,
        ),
        ("probe scalar --op add --fmt f16 --device model:hopper --cases 4294967296".into(), at_start, "TERM", 143),
    ];
    for (line, when, signal, status) in &lines {
        let (exit, report) = interrupted(line, when, signal);
        assert_eq!(exit, Some(*status), "tcnum {line}");
        assert_eq!(report["interrupted"], format!("SIG{signal}"), "tcnum {line}");
        assert!(report["notes"][0].as_str().unwrap().starts_with("Interrupted by SIG"), "tcnum {line}");
        let table = |name: &str| report["tables"][name].as_array().unwrap();
        match line.split(' ').next().unwrap() {
            "verify" => {
                let row = &table("verification")[0];
                assert!(row["finished"] == false && row["compared"].as_u64().unwrap() > 0, "{row}");
            }
            "probe" if line.contains("--cases") => {
                assert!(table("sweeps").iter().all(|row| row["compared"].as_u64().unwrap() > 0));
            }
            "probe" => assert!(table("profile").iter().all(|row| row["samples"].as_u64().unwrap() > 0)),
            "chain" => assert!(table("chain")[0]["finite"].as_u64().unwrap() > 0),
            _ => {
                let files = std::fs::read_dir(folder.path()).unwrap().count();
                assert_eq!(table("recordings").len(), files, "only whole files, and all of them in the report");
            }
        }
    }
    assert_eq!(
        crate::program::validate_report(&crate::program::tcnum(&["formats", "--output", "json"]).stdout)["interrupted"],
        Value::Null
    );
}

/// Where not one thread can be started (no stack of a petabyte can be had), the work is done by the one there is.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_had_are_done_without() {
    let run = |line: &str, environment: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        let output =
            command.args(line.split_whitespace()).envs(environment.iter().copied()).output().expect("tcnum starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let none = [("RUST_MIN_STACK", "1125899906842624")];
    let line = "probe --instr mma.m16n8k8.f32.f16.f16.f32 --device model:hopper --samples 100";
    assert_eq!(run(line, &none), run(line, &[]));
    for line in [
        "probe --instr mma.m16n8k8.f32.f16.f16.f32 --device exec:cat --model hopper",
        "verify --instr mma.m16n8k8.f32.f16.f16.f32 --device model:hopper --device model:hopper",
    ] {
        let (status, _, errors) = run(line, &none);
        assert_eq!(status, Some(3), "tcnum {line}: {errors}");
        assert!(errors.starts_with("error: ") && !errors.contains("panicked"), "tcnum {line}: {errors}");
    }
    // Some of a thousand threads, each with a stack of two megabytes, in a gigabyte.
    let limited = format!("ulimit -v 1000000; exec {} {line}", env!("CARGO_BIN_EXE_tcnum"));
    let output =
        Command::new("sh").args(["-c", &limited]).env("RAYON_NUM_THREADS", "1000").output().expect("sh starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), run(line, &[]).1);
}

/// Whatever the environment says, a verb that computes nothing starts no thread of the pool, and others start a bounded number.
#[test]
fn any_number_of_threads_can_be_asked_for() {
    let run = |line: &str, threads: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        command.args(line.split_whitespace());
        command.envs(threads.map(|threads| ("RAYON_NUM_THREADS", threads)));
        let output = command.output().expect("tcnum starts");
        assert_eq!(output.status.code(), Some(0), "tcnum {line}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for line in ["formats e4m3", "probe --instr mma.m8n8k4.f16.f16.f16.f16 --device hopper --samples 100"] {
        let expected = run(line, None);
        for threads in ["3000", "20000", "18446744073709551615"] {
            assert!(run(line, Some(threads)) == expected, "tcnum {line}, {threads} threads");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_memory_or_on_files_ends_in_a_message_and_an_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("values"), "0.1\n".repeat(200_000)).unwrap();
    for (limit, status, said) in [
        ("ulimit -v 200000", 3, "memory allocation of "),
        ("ulimit -f 1", 2, "error: standard output cannot be written: File too large"),
    ] {
        let script = format!("{limit}; exec \"$0\" convert --to e4m3 < values > out");
        let mut command = Command::new("sh");
        let command = command.args(["-c", &script, env!("CARGO_BIN_EXE_tcnum")]).current_dir(&folder);
        let output = command.stdout(Stdio::null()).output().expect("sh starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{limit}: {errors}");
        assert!(errors.starts_with(said), "{limit}: {errors}");
    }
}

#[test]
fn machine_code_finds_its_instruction() {
    let message = refusal("probe --instr HMMA.16816.F33 --device model:hopper");
    assert!(message.contains("'HMMA.16816.F32' (mma.m16n8k16.f32.f16.f16.f32)"), "{message}");
    let output = tcnum("probe --instr HMMA.16816.F32 --device model:hopper --op multiply --samples 10 --output json");
    let report = crate::program::validate_report(&String::from_utf8(output.stdout).expect("UTF-8"));
    assert_eq!(report["tables"]["profile"][0]["instruction"], "mma.m16n8k16.f32.f16.f16.f32");
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    for (line, nearest) in [
        ("formats e4m3fz", "'e4m3fnuz'"),
        ("convert --to float15 1", "float16"),
        ("probe --fmt bf17", "'bf16'"),
        ("probe --op acumulate", "'accumulate'"),
        ("probe --instr mma.m16n8k17.f32.bf16.bf16.f32", "'mma.m16n8k16.f32.bf16.bf16.f32'"),
        ("probe --device mode:hopper", "did you mean 'hopper'"),
        ("probe --device model:hoper", "'hopper'"),
        ("probe --device cuda:first", "'cuda:0'"),
        ("verify --model hoper t.safetensors", "'hopper'"),
        ("instructions m16n8k16.f32.bf17", "bf16"),
        ("prob", "'probe'"),
        ("probe --output tabel", "'table'"),
    ] {
        let message = refusal(line);
        assert!(message.contains(nearest), "tcnum {line}: {message}");
    }
}

#[test]
fn numbers_out_of_range_are_answered_with_the_range() {
    for option in
        ["probe --samples", "probe --seed", "probe --timeout", "chain --chains", "chain --length", "record --tiles"]
    {
        for value in ["-1", "99999999999999999999999", "1.5", "many"] {
            let message = refusal(&format!("{option} {value}"));
            assert!(message.contains("expected a whole number from "), "tcnum {option} {value}: {message}");
        }
    }
    for line in ["probe --samples 0", "chain --chains 0", "chain --length 0", "record --tiles 0", "probe --timeout 0"] {
        assert!(refusal(line).contains("expected a whole number from 1 to "), "tcnum {line}");
    }
}

#[test]
fn a_recording_that_fills_the_memory_is_refused_before_the_work() {
    let line = "record --device model:hopper --instr wgmma.m64n256k16.f32.f16.f16 --tiles 1048576 --out never-written.safetensors";
    let message = refusal(line);
    assert!(message.contains("recording of 2 GiB") && message.contains("--seed"), "{message}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_work() {
    let most = "--samples 1000000000000";
    assert!(refusal(&format!("probe --out /no/such/folder/x {most}")).contains("there is no folder /no/such/folder"));
    assert!(refusal(&format!("probe --out / {most}")).contains("this is a folder"));
    assert!(refusal("chain --chains 1000000000 --plot /no/such/folder/x.svg").contains("there is no folder"));
}

#[test]
fn every_command_has_an_example_and_a_summary_in_its_help() {
    for command in tcnum::verbs::listed() {
        let help = String::from_utf8(tcnum(&format!("{command} --help")).stdout).expect("UTF-8");
        let example = help.split("Example").nth(1).and_then(|text| text.split("tcnum ").nth(1)).unwrap_or_default();
        assert!(example.starts_with(&command), "{command}: {help}");
        assert!(help.lines().next().is_some_and(|summary| summary.len() > 10), "{command}: {help}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for line in ["instructions", "formats", "probe --samples 100"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args(line.split_whitespace())
            .args((line.starts_with("probe")).then_some("--device=model:hopper"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tcnum starts");
        let mut output = child.stdout.take().expect("a pipe");
        output.read_exact(&mut [0; 16]).expect("the first bytes");
        drop(output);
        let ended = child.wait_with_output().expect("tcnum ends");
        assert!(ended.status.success() && ended.stderr.is_empty(), "tcnum {line}: {ended:?}");
    }
}

#[test]
fn a_model_that_differs_is_named_and_gets_distinct_counterexamples() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("narrow.toml");
    let text = include_str!("../../models/hopper.toml").replace("bits = 25", "bits = 24");
    std::fs::write(&model, text).unwrap();
    let model = model.to_str().unwrap();
    let line = format!("probe --device model:hopper --model {model} --op dot --samples 300 --output json");
    let output = tcnum(&line);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // A copy keeps the name inside: the file is what tells the two apart.
    assert_eq!(report["tables"]["profile"][0]["model"], model);
    assert!(!report["notes"].to_string().contains("the device is the model itself"), "{}", report["notes"]);
    let rows = report["tables"]["mismatches"].as_array().unwrap();
    // One a cause, though both initialisations see it.
    assert!((1..=4).contains(&rows.len()), "{rows:?}");
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["number"], i + 1);
        assert_ne!(row["device_d"], row["model_d"]);
        assert!(rows[..i].iter().all(|other| other["signature"] != row["signature"]), "{row}");
    }
}

#[test]
fn a_refused_argument_is_shown_in_part_if_it_is_long_and_without_control_characters() {
    for value in ["9".repeat(100_000), "\u{202e}\u{7}\t".repeat(10_000)] {
        let output = Command::new(env!("CARGO_BIN_EXE_tcnum")).args(["probe", "--samples", &value]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: invalid value '") && said.contains("expected a whole number"), "{said}");
        assert!(said.len() < 3000 && !said.contains(['\u{202e}', '\u{7}', '\t']), "{} bytes", said.len());
    }
}

#[test]
fn a_result_without_any_of_the_columns_that_are_asked_for_says_so() {
    for (columns, said) in [("instruction", true), ("instruction,ulps", true), ("instruction,trailing_bits", false)] {
        let output = tcnum(&format!("formats e4m3 --columns {columns}"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{columns}");
        assert_eq!(text.contains("No table of this result has a column instruction"), said, "{columns}: {text}");
    }
}

#[test]
fn instructions_are_found_in_any_letter_case() {
    for name in [
        "MMA.M16N8K16.F32.BF16.BF16.F32",
        "mma.sync.aligned.m16n8k16.row.col.F32.BF16.BF16.F32",
        "WGMMA.M64N16K32.F32.E4M3.E4M3",
        "wgmma.m64nNk32.f32.e4m3.e4m3",
    ] {
        let output = tcnum(&format!("probe --device model:hopper --op multiply --samples 1 --instr {name}"));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // The X of its spelling is a capital letter.
    let spelling = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0";
    let refusal = refusal(&format!("probe --device model:hopper --instr {spelling}"));
    assert!(refusal.contains("mma.m16n8k32.f32.e4m3.e4m3.f32.ue8m0.block32"), "{refusal}");
}

#[test]
fn verbose_says_each_step_on_standard_error_and_nothing_else_does() {
    // As a table, -v shows all columns, too.
    let line = "probe --device model:hopper --op dot --op multiply --init low --samples 10 --output csv";
    let verbose = tcnum(&format!("{line} -v"));
    let said = String::from_utf8(verbose.stderr).unwrap();
    assert_eq!(
        said.lines().filter(|line| line.starts_with("probing mma.m16n8k16.f32.bf16.bf16.f32")).count(),
        2,
        "{said}"
    );
    let plain = tcnum(line);
    assert!(plain.stderr.is_empty() && tcnum(&format!("{line} -q")).stderr.is_empty());
    assert_eq!(plain.stdout, verbose.stdout);
}
