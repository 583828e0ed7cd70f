//! What a command writes takes the place of nothing that it reads, and of nothing else that it writes.

use crate::program::tcnum;

#[test]
fn a_file_that_is_read_or_written_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (trace, model, out) = (path("t.safetensors"), path("m.toml"), path("new"));
    let instruction = "mma.m16n8k8.f32.tf32.tf32.f32";
    let recorded = ["record", "--device", "model:hopper", "--instr", instruction, "--tiles", "3", "--out", &trace];
    assert_eq!(tcnum(&recorded).status, 0);
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/models/hopper.toml"), &model).unwrap();
    // Another spelling of the same file, and links to it.
    let roundabout = folder.path().join(".").join("t.safetensors").to_string_lossy().into_owned();
    let link = path("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&trace, &link).unwrap();
    let (from_trace, from_model) = (format!("trace:{trace}"), format!("model:{model}"));
    let campaign = ["verify", "--instr", instruction, "--device", "model:hopper", "--cases", "1000"];
    let commands: [&[&str]; 11] = [
        &["verify", &trace, "--out", &trace],
        &["verify", &trace, "--out", &roundabout],
        &["verify", &trace, "--out", &link],
        &["verify", "--device", &from_trace, "--model", "hopper", "--out", &trace],
        &["record", "--device", &from_model, "--instr", instruction, "--out", &model],
        &["models", &model, "--out", &model],
        &["chain", "--device", &from_model, "--plot", &model],
        &[&campaign[..], &["--model", &model, "--counterexamples", &model]].concat(),
        &[&campaign[..], &["--checkpoint", &out, "--out", &out]].concat(),
        &["merge", &trace, "--out", &trace],
        &["probe", "--op", "convert", "--digests", &out, "--out", &out],
    ];
    let before = [&trace, &model].map(|file| std::fs::read(file).unwrap());
    for command in commands {
        let run = tcnum(command);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("would be lost"), "{command:?}: {}", run.stderr);
    }
    assert_eq!(before, [&trace, &model].map(|file| std::fs::read(file).unwrap()));
    assert!(!std::path::Path::new(&out).exists());
    // What is no file is not lost.
    assert_eq!(tcnum(&["models", &model, "--out", "/dev/null"]).status, 0);
}

#[test]
fn files_may_be_called_as_the_flags_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tcnum"));
        let output = command.args(line.split(' ')).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("formats --out out");
    run("formats --out ./out");
    run("chain --device model:hopper --chains 1 --length 1 --plot plot --out out");
    run(
        "verify --instr mma.m8n8k4.f64.f64.f64.f64 --device model:hopper --cases 9 --checkpoint checkpoint --out out --counterexamples counterexamples",
    );
    run("probe --op neg --device model:hopper --digests digests --out out");
}

#[test]
fn notes_that_would_make_a_recording_untrue_or_unreadable_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("t.safetensors").to_string_lossy().into_owned();
    let long: Vec<String> = (0..6).map(|i| format!("k{i}={}", "y".repeat(100_000))).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    for (notes, part) in
        [(&["device=x"][..], "device"), (&["seed=7"], "seed"), (&["sass=HMMA"], "sass"), (&long, "too long")]
    {
        let recording = [
            "record",
            "--device",
            "model:hopper",
            "--instr",
            "mma.m8n8k4.f64.f64.f64.f64",
            "--tiles",
            "3",
            "--out",
            &out,
        ];
        let run = tcnum(&notes.iter().fold(recording.to_vec(), |line, note| [&line[..], &["--note", note]].concat()));
        assert!(run.status == 2 && run.stderr.contains(part), "{}: {}", run.status, run.stderr);
        assert!(!std::path::Path::new(&out).exists());
    }
}
