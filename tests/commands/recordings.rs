//! Recordings that are interrupted: the tiles until then are kept, and say so; no file is replaced by nothing.

use std::{fs, path::Path};

use tcnum::{Error, Interruption, interruptible, verbs};
use tcnum_engine::{report::Report, trace::Trace};

use crate::{machine::has_python, program::tcnum};

const J: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

/// What the program was asked for: the tiles of all batches.
fn asked(tally: &Path) -> u64 {
    let text = fs::read_to_string(tally).unwrap_or_default();
    // The last line may not be whole yet.
    text.lines().filter_map(|line| line.parse::<u64>().ok()).sum()
}

/// Records tiles of a program, and is interrupted once it was asked for so many.
fn record(folder: &Path, out: &str, until: u64) -> Result<Report, Error> {
    let tally = folder.join("tally");
    let device = format!("exec:python3 tests/exec/hopper.py --tally {}", tally.display());
    let words = ["tcnum", "record", "--instr", J, "--device", &device, "--tiles", "40", "--out", out];
    let words = words.iter().map(Into::into).collect();
    let stop = move || (asked(&tally) >= until).then_some(Interruption::Term);
    let (report, error) = interruptible(stop, || verbs::report(words))?;
    assert_eq!(error, None);
    Ok(report)
}

#[test]
fn an_interrupted_recording_has_the_tiles_until_then_and_replaces_nothing_by_nothing() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.safetensors");
    let out = path.to_string_lossy().into_owned();
    let uninterrupted = record(folder.path(), &out, u64::MAX).unwrap();
    assert!(uninterrupted.interrupted.is_none() && uninterrupted.answer.unwrap().starts_with("Recorded all 40 tiles"));
    let complete = Trace::read(&path).unwrap();
    assert!(complete.count() == 40 && !complete.metadata.contains_key("incomplete"));

    // Before the first answer there is nothing to keep.
    let before = fs::read(&path).unwrap();
    assert_eq!(record(folder.path(), &out, 0).unwrap_err(), Error::Interrupted { by: Interruption::Term });
    assert_eq!(fs::read(&path).unwrap(), before);

    // The program is asked for a second time once it has answered.
    let partial = record(folder.path(), &out, asked(&folder.path().join("tally")) + 2).unwrap();
    assert_eq!(partial.interrupted, Some(Interruption::Term));
    let trace = Trace::read(&path).unwrap();
    let count = trace.count();
    assert!((1..40).contains(&count), "{count}");
    assert_eq!(trace.metadata["incomplete"], format!("{count} of 40 tiles: interrupted by SIGTERM"));
    assert_eq!(
        partial.answer.unwrap(),
        format!("Recorded {count} of 40 tiles of {J} on {} in {out}.", trace.metadata["device"])
    );
    let each = count * trace.m * trace.n;
    assert_eq!((trace.inputs, trace.d), (complete.inputs.slice(0, count), complete.d.slice(0, each)));
}

/// Arguments of commands that replay a recording, and of those that ask new inputs, as README.md and docs/recordings.md say.
const REPLAYING: [&str; 3] =
    ["verify --model hopper", "identify", "probe --op dot --instr mma.m16n8k8.f32.tf32.tf32.f32 --samples 100"];
const ASKING: [&str; 6] = [
    "identify --quick --instr mma.m16n8k8.f32.tf32.tf32.f32",
    "features --instr mma.m16n8k8.f32.tf32.tf32.f32",
    "tree --instr mma.m16n8k8.f32.tf32.tf32.f32",
    "chain --instr mma.m16n8k8.f32.tf32.tf32.f32",
    "emulate --size 64",
    "gemm compute --shape 8,8,8 --instr mma.m16n8k8.f32.tf32.tf32.f32",
];

#[test]
fn commands_replay_a_recording_or_refuse_it_as_pages_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.safetensors").display().to_string();
    let run = |line: &str, more: &[&str]| tcnum(&[&line.split(' ').collect::<Vec<_>>(), more].concat());
    let record = "record --op dot --instr mma.m16n8k8.f32.tf32.tf32.f32 --samples 100 --device model:hopper -q --out";
    assert_eq!(run(record, &[&path]).status, 0);
    let device = format!("trace:{path}");
    for (lines, status) in [(&REPLAYING[..], 0), (&ASKING, 2)] {
        for line in lines {
            let run = run(line, &["--device", &device]);
            assert_eq!(run.status, status, "{line}: {}", run.stderr);
        }
    }
}

#[test]
fn inputs_that_identify_asks_for_decide_what_a_recording_leaves_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [recorded, asked, answered] = ["r.safetensors", "q.safetensors", "a.safetensors"].map(path);
    let run = |line: &str, more: &[&str]| tcnum(&[&line.split(' ').collect::<Vec<_>>(), more].concat());
    let record = "record --instr mma.m16n8k8.f16.f16.f16.f16 --tiles 40 --device model:hopper -q --out";
    assert_eq!(run(record, &[&recorded]).status, 0);
    let device = format!("trace:{recorded}");
    let ask = run("identify --ask", &[&asked, "--device", &device]);
    assert_eq!(ask.status, 0, "{}", ask.stderr);
    let note = ask.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(note.contains(&format!("in {asked} decide ")), "{note}");
    // Questions are no recording, until a device has answered them.
    let refused = run("identify", &["--device", &format!("trace:{asked}")]);
    assert!(refused.status == 2 && refused.stderr.contains("inputs without answers"), "{}", refused.stderr);
    assert_eq!(run("record --device model:hopper -q --inputs", &[&asked, "--out", &answered]).status, 0);
    let refused = run("record --fmt f16 --device model:hopper --inputs", &[&asked, "--out", &path("x")]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    let open = |more: &[&str]| {
        let run = run("identify --output json --device", &[&[&device[..]], more].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let open = |row: &&serde_json::Value| row["decision"] != "decided" && row["decision"] != "cannot be observed";
        report["tables"]["lines"].as_array().unwrap().iter().filter(open).count()
    };
    let (before, after) = (open(&[]), open(&["--also-recorded", &answered]));
    assert!(after < before, "{before} keys were open, and {after} are");
}
