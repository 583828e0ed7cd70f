//! What a command writes takes the place of nothing that it reads, and of nothing else that it writes.

use tcnum_engine::trace::Trace;

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
    // The one that a drawing can be called as.
    let drawing = path("m.svg");
    std::fs::copy(&model, &drawing).unwrap();
    let view = path("view.md");
    let from_drawing = format!("model:{drawing}");
    let (from_trace, from_model) = (format!("trace:{trace}"), format!("model:{model}"));
    let campaign = ["verify", "--instr", instruction, "--device", "model:hopper", "--cases", "1000"];
    let commands: [&[&str]; 13] = [
        &["verify", &trace, "--out", &trace],
        &["verify", &trace, "--out", &roundabout],
        &["verify", &trace, "--out", &link],
        &["verify", "--device", &from_trace, "--model", "hopper", "--out", &trace],
        &["record", "--device", &from_model, "--instr", instruction, "--out", &model],
        &["models", &model, "--out", &model],
        &["chain", "--device", &from_drawing, "--plot", &drawing],
        &[&campaign[..], &["--model", &model, "--counterexamples", &model]].concat(),
        &[&campaign[..], &["--checkpoint", &out, "--out", &out]].concat(),
        &["merge", &trace, "--out", &trace],
        &["probe", "scalar", "--op", "convert", "--digests", &out, "--out", &out],
        &["formats", "--out", &view, "--also", &view],
        &["formats", "--also", &view, "--also", &view],
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
fn one_run_writes_a_result_in_several_views() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let alone = ["formats", "e2m1", "--note", "by=me", "--output"];
    let command = [&alone[..], &["csv"]].concat();
    let files = ["a.json", "a.csv", "a.md", "a.tex", "a.txt"].map(path);
    let also: Vec<&str> = files.iter().flat_map(|file| ["--also", file]).collect();
    assert_eq!(tcnum(&[&command[..], &also].concat()).stdout, tcnum(&command).stdout);
    for (file, view) in files.iter().zip(["json", "csv", "markdown", "latex", "table"]) {
        // What they tell of the command differs.
        let lines = |text: &str| {
            text.lines().filter(|line| !line.contains("tcnum formats")).map(String::from).collect::<Vec<_>>()
        };
        let written = lines(&std::fs::read_to_string(file).unwrap());
        assert_eq!(written, lines(&tcnum(&[&alone[..], &[view]].concat()).stdout), "{file}");
    }
    // The ending of --out decides as that of --also does, unless --output is given.
    for file in &files {
        let (out, also) = (file.replace("/a.", "/b."), std::fs::read_to_string(file).unwrap());
        let written = |words: &[&str]| {
            let run = tcnum(&[&alone[..4], words, &["--out", &out]].concat());
            assert!(run.status == 0 && run.stdout.is_empty(), "{}", run.stderr);
            let text = std::fs::read_to_string(&out).unwrap();
            text.lines().filter(|line| !line.contains("tcnum formats")).map(String::from).collect::<Vec<_>>()
        };
        let also: Vec<&str> = also.lines().filter(|line| !line.contains("tcnum formats")).collect();
        assert_eq!(written(&[]), also, "{out}");
        let csv = tcnum(&[&alone[..], &["csv"]].concat()).stdout;
        let csv: Vec<&str> = csv.lines().filter(|line| !line.contains("tcnum formats")).collect();
        assert_eq!(written(&["--output", "csv"]), csv, "{out}");
    }
    let run = tcnum(&["formats", "--also", &path("a.doc")]);
    assert!(run.status == 2 && run.stderr.contains(".json, .csv, .md, .tex or .txt"), "{}", run.stderr);
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
    run("chain --device model:hopper --chains 1 --length 1 --plot plot.svg --out out");
    run(
        "verify --instr mma.m8n8k4.f64.f64.f64.f64 --device model:hopper --cases 9 --checkpoint checkpoint --out out --counterexamples counterexamples",
    );
    run("probe scalar --op neg --device model:hopper --digests digests --out out");
}

const RECORD: [&str; 8] =
    ["record", "--device", "model:hopper", "--instr", "mma.m8n8k4.f64.f64.f64.f64", "--tiles", "3", "--out"];

#[test]
fn a_recording_with_as_many_notes_as_a_command_line_holds_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("t.safetensors").to_string_lossy().into_owned();
    let notes: Vec<String> = (0..8).map(|i| format!("k{i}={}", "\u{1}".repeat(100_000))).collect();
    let notes: Vec<&str> = notes.iter().flat_map(|note| ["--note", note]).collect();
    assert_eq!(tcnum(&[&RECORD[..], &[&out], &notes].concat()).status, 0);
    let read = Trace::read(std::path::Path::new(&out)).unwrap();
    assert_eq!(read.metadata["k7"], "\u{1}".repeat(100_000));
    assert!(std::fs::metadata(&out).unwrap().len() > 1 << 20);
}

#[test]
fn notes_that_would_make_a_recording_untrue_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("t.safetensors").to_string_lossy().into_owned();
    for (notes, part) in [
        (&["device=x"][..], "device"),
        (&["seed=7"], "seed"),
        (&["sass=HMMA"], "sass"),
        (&["date=1", "place=2", "date=3"], "--note date is given twice"),
    ] {
        let recording = [&RECORD[..], &[&out]].concat();
        let run = tcnum(&notes.iter().fold(recording.to_vec(), |line, note| [&line[..], &["--note", note]].concat()));
        assert!(run.status == 2 && run.stderr.contains(part), "{}: {}", run.status, run.stderr);
        assert!(!std::path::Path::new(&out).exists());
    }
}

/// A model whose outputs differ from Hopper's, so that there are counterexamples.
const DIFFERENT: [&str; 10] = [
    "verify",
    "--instr",
    "mma.m16n8k8.f32.f16.f16.f32",
    "--device",
    "model:hopper",
    "--model",
    "ampere",
    "--cases",
    "2000",
    "--quiet",
];
const COUNTEREXAMPLES: &str = "mma.m16n8k8.f32.f16.f16.f32.safetensors";

#[test]
fn a_file_whose_name_was_not_given_takes_the_place_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (out, beside) = (path("q.json"), path(&format!("q.{COUNTEREXAMPLES}")));
    let (into, inside) = (path("cases"), path(&format!("cases/{COUNTEREXAMPLES}")));
    std::fs::create_dir(&into).unwrap();
    let model = format!("model:{beside}");
    let wrong = include_str!("../../models/hopper.toml").as_bytes();
    assert_eq!(tcnum(&[&RECORD[..], &[&path("recording")]].concat()).status, 0);
    let recording = std::fs::read(path("recording")).unwrap();
    let refused = |line: &[&str], kept: &str, contents: &[u8]| {
        let run = tcnum(line);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{line:?}: {}", run.stderr);
        assert!(run.stderr.contains("would be lost"), "{line:?}: {}", run.stderr);
        assert_eq!(std::fs::read(kept).unwrap(), contents, "{line:?}");
        assert!(!std::path::Path::new(&out).exists(), "{line:?}");
    };
    // A model that the command reads, a recording, any other file.
    for contents in [wrong, &recording, b"text", b""] {
        for file in [&beside, &inside] {
            std::fs::write(file, contents).unwrap();
        }
        refused(&[&DIFFERENT[..], &["--out", &out]].concat(), &beside, contents);
        refused(&[&DIFFERENT[..], &["--out", &out, "--counterexamples", &into]].concat(), &inside, contents);
    }
    std::fs::write(&beside, wrong).unwrap();
    let reading = [&DIFFERENT[..4], &[&model], &DIFFERENT[5..], &["--out", &out]].concat();
    refused(&reading, &beside, wrong);
    // The checkpoint and the report of the same command.
    std::fs::remove_file(&beside).unwrap();
    std::fs::remove_file(&inside).unwrap();
    for line in [["--out", &out, "--checkpoint", &beside], ["--counterexamples", &into, "--out", &inside]] {
        let run = tcnum(&[&DIFFERENT[..], &line].concat());
        assert!(run.status == 2 && run.stderr.contains("would be lost"), "{line:?}: {}", run.stderr);
        assert!(!std::path::Path::new(&beside).exists() && !std::path::Path::new(&inside).exists());
    }
    // A file of counterexamples is replaced.
    for _ in 0..2 {
        assert_eq!(tcnum(&[&DIFFERENT[..], &["--out", &out]].concat()).status, 1);
        assert!(Trace::read(std::path::Path::new(&beside)).is_ok());
    }
    // One that the user names is replaced, whatever it is.
    std::fs::write(&beside, "text").unwrap();
    assert_eq!(tcnum(&[&DIFFERENT[..], &["--counterexamples", &beside]].concat()).status, 1);
    assert!(Trace::read(std::path::Path::new(&beside)).is_ok());
}

#[test]
fn tables_and_recordings_in_a_folder_take_the_place_of_their_like_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_string_lossy().into_owned();
    let tables = ["formats", "--output", "csv", "--out", &text("")];
    assert_eq!(tcnum(&tables).status, 0);
    let written = std::fs::read(path("formats.csv")).unwrap();
    assert_eq!(tcnum(&tables).status, 0);
    std::fs::write(path("formats.csv"), "name,price\napples,3\n").unwrap();
    let run = tcnum(&tables);
    assert!(run.status == 2 && run.stderr.contains("formats.csv is not a table"), "{}", run.stderr);
    assert_eq!(std::fs::read(path("formats.csv")).unwrap(), b"name,price\napples,3\n");
    std::fs::write(path("formats.csv"), &written).unwrap();
    let run = tcnum(&["models", &text("formats.csv"), "--output", "csv", "--out", &text("")]);
    assert!(run.status == 2 && run.stderr.contains("would be lost"), "{}", run.stderr);

    let here = text("");
    let recordings = [&RECORD[..7], &["--folder", &here]].concat();
    let recording = text("mma.m8n8k4.f64.f64.f64.f64.safetensors");
    for _ in 0..2 {
        assert_eq!(tcnum(&recordings).status, 0);
    }
    let (kept, device) = (std::fs::read(&recording).unwrap(), format!("trace:{recording}"));
    let again = [&recordings[..1], &["--device", &device][..], &recordings[3..]].concat();
    let run = tcnum(&again);
    assert!(run.status == 2 && run.stderr.contains("would be lost"), "{}", run.stderr);
    assert_eq!(std::fs::read(&recording).unwrap(), kept);
    std::fs::write(&recording, "text").unwrap();
    let run = tcnum(&recordings);
    assert!(run.status == 2 && run.stderr.contains("is not a recording"), "{}", run.stderr);
    assert_eq!(std::fs::read(&recording).unwrap(), b"text");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_to_nothing_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["out", "checkpoint"] {
        std::os::unix::fs::symlink(format!("{name}.file"), path(name)).unwrap();
    }
    let (out, checkpoint) = (path("out").display().to_string(), path("checkpoint").display().to_string());
    let files = ["--out", &out, "--checkpoint", &checkpoint];
    assert_eq!(tcnum(&[&DIFFERENT[..5], &files, &["--cases", "9"]].concat()).status, 0);
    for name in ["out", "checkpoint"] {
        assert!(path(name).symlink_metadata().unwrap().is_symlink());
        assert!(path(&format!("{name}.file")).symlink_metadata().unwrap().is_file());
    }
    // A link into a folder that is not there: refused before anything is written beside it.
    std::os::unix::fs::symlink("nowhere/file", path("beyond.json")).unwrap();
    let (beyond, before) = (path("beyond.json").display().to_string(), folder.path().read_dir().unwrap().count());
    let run = tcnum(&[&DIFFERENT[..], &["--out", &beyond]].concat());
    assert!(run.status == 2 && run.stderr.contains("there is no folder"), "{}", run.stderr);
    assert_eq!(folder.path().read_dir().unwrap().count(), before);
    // Two links to one file that is not there yet.
    let (first, second) = (path("first"), path("second"));
    for link in [&first, &second] {
        std::os::unix::fs::symlink("both.file", link).unwrap();
    }
    let files = ["--out", first.to_str().unwrap(), "--checkpoint", second.to_str().unwrap()];
    let run = tcnum(&[&DIFFERENT[..5], &files].concat());
    assert!(run.status == 2 && run.stderr.contains("would be lost"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer_is_refused_wherever_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let trace = format!("trace:{pipe}");
    for line in [
        &["models", &pipe][..],
        &["merge", &pipe],
        &["experiment", &pipe, "--device", "model:hopper"],
        &["calc", "--fmt", &pipe, "--op", "add", "1", "1"],
        &["convert", "--to", "e4m3", "--input", &pipe, "--out", "never-written.npy"],
        &["verify", &trace],
        &[&DIFFERENT[..], &["--checkpoint", &pipe]].concat(),
    ] {
        let run = tcnum(line);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{line:?}: {}", run.stderr);
        assert!(run.stderr.contains("is not a regular file"), "{line:?}: {}", run.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_file_beyond_the_limit_of_the_process_is_refused_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 8; exec \"$0\" instructions --output json --out x.json", env!("CARGO_BIN_EXE_tcnum")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("x.json cannot be written: file too large"), "{output:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_no_success() {
    for line in [&["--help"][..], &["--version"], &["verify", "--help"], &["formats"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tcnum"));
        let output = command.args(line).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output cannot be written"), "{line:?}");
    }
}

#[test]
fn what_files_call_their_arrays_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("x.safetensors"), folder.path().join("y.safetensors"));
    let array = |name: &str| {
        let f32 = tcnum::format::find("f32").unwrap();
        tcnum_engine::array::Array::of_codes(name, vec![1], f32, vec![0; 4])
    };
    let long = "z".repeat(500_000);
    let names = ["=HYPERLINK(\"http://x\";\"y\")", "a\u{1b}[31m\u{9b}1m", &long];
    let arrays = tcnum_engine::array::Arrays { arrays: names.map(array).into(), ..Default::default() };
    arrays.write(&input).unwrap();
    let convert = |view: &str, to: &str, more: &[&str]| {
        let files = ["--input", input.to_str().unwrap(), "--out", out.to_str().unwrap()];
        tcnum(&[&["convert", "--to", to, "--output", view], &files[..], more].concat())
    };
    let run = convert("csv", "e4m3", &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\n\"'=HYPERLINK(") && !run.stdout.contains("\n=") && !run.stdout.contains("\n\"="));
    for view in ["csv", "json", "table", "markdown", "latex"] {
        let text = convert(view, "e4m3", &[]).stdout;
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{view}");
        assert!(matches!(view, "csv" | "json") || text.len() < 100_000, "{view}");
    }
    let run = convert("table", "e4m3", &["--tensor", "nothing"]);
    assert!(run.status == 2 && run.stderr.len() < 10_000, "{}", run.stderr.len());
}

#[test]
fn a_drawing_is_called_as_what_it_is() {
    let run = tcnum(&["chain", "--device", "model:hopper", "--plot", "curve.jpg"]);
    assert!(run.status == 2 && run.stderr.contains("ends in .svg, .pdf, .png"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn standard_output_by_its_name_gets_the_result_where_it_is_a_pipe() {
    let run = tcnum(&["formats", "e8m0", "--out", "/dev/stdout"]);
    assert!(run.status == 0 && run.stdout.starts_with("e8m0 has 256 codes"), "{} {}", run.stdout, run.stderr);
}
