//! Every verb is stopped at a random moment of long work: it ends soon, and delivers what it has.
//!
//! The commands are those of `tools/hostile_runs/large.txt`. Time is the processor time of the program, so that other
//! work on the machine changes nothing.
#![cfg(target_os = "linux")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{LazyLock, Mutex},
    thread::sleep,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tcnum::{inputs::random, verbs};

use crate::{
    machine::{has_python, thorough},
    program::binary,
};

/// Threads of the program.
const THREADS: u32 = 2;
/// Most processor time after an interruption, for each thread: a piece of work and the report. A debug build takes some ten times
/// as long as the two seconds of a release build; a loop that does not look takes minutes.
const MOST: Duration = Duration::from_secs(20);
/// Verbs of a quick run.
const QUICK: usize = 4;
/// The latest moment, in milliseconds of processor time.
const LATEST: usize = 2000;
/// Seed of the moments and of a quick run's verbs.
const SEED: u64 = 1;
/// Ticks of processor times in `/proc`, which are hundredths of a second on Linux.
const TICK: Duration = Duration::from_millis(10);

const NAMES: [(&str, &str); 2] = [("HALF", "mma.m8n8k4.f16.f16.f16.f16"), ("WIDE", "mma.m16n8k16.f32.f16.f16.f32")];

/// Command lines by verb.
type CommandLines = BTreeMap<String, Vec<&'static str>>;

/// The commands, and the verbs that end at once.
static LARGE: LazyLock<(CommandLines, BTreeSet<String>)> = LazyLock::new(|| {
    let listed = verbs::listed();
    let (mut commands, mut at_once) = (BTreeMap::<String, Vec<&str>>::new(), BTreeSet::new());
    for line in include_str!("../../tools/hostile_runs/large.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(verbs) = line.strip_prefix("at once: ") {
            at_once.extend(verbs.split(", ").map(String::from));
            continue;
        }
        let two = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let verb = if listed.contains(&two) { two } else { line.split(' ').next().unwrap().to_string() };
        commands.entry(verb).or_default().push(line);
    }
    (commands, at_once)
});

#[test]
fn every_verb_has_a_large_input_or_ends_at_once() {
    let (commands, at_once) = &*LARGE;
    for verb in verbs::listed() {
        assert!(
            commands.contains_key(&verb) != at_once.contains(&verb),
            "{verb} has no large input; add one to tools/hostile_runs/large.txt, or name {verb} there after `at once:`"
        );
    }
    let listed: BTreeSet<String> = verbs::listed().into_iter().collect();
    assert!(commands.keys().all(|verb| listed.contains(verb)), "large.txt has a command that is none");
}

/// What ends a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Signal(Signal),
    /// `--time-limit 1`.
    Limit,
}

/// The folder with the inputs, and the lock of those who make one.
static MADE: LazyLock<(tempfile::TempDir, Mutex<()>)> =
    LazyLock::new(|| (tempfile::tempdir().unwrap(), Mutex::new(())));

/// Makes the inputs that a command names; the folder.
fn inputs(line: &str) -> PathBuf {
    let _alone = MADE.1.lock().unwrap();
    let folder = MADE.0.path();
    let names: BTreeSet<&str> = line.split([' ', ':', '/']).filter(|word| MAKEABLE.contains(word)).collect();
    let mut python = Command::new("python3");
    python.arg("tools/hostile_runs/large.py").arg(fs::canonicalize(binary()).unwrap()).arg(folder).args(names);
    assert!(python.env("PYTHONDONTWRITEBYTECODE", "1").status().unwrap().success());
    folder.to_path_buf()
}

const MAKEABLE: [&str; 12] = [
    "values.npy",
    "checkpoint.safetensors",
    "square.safetensors",
    "wrong.safetensors",
    "long.safetensors",
    "operands",
    "expected",
    "numbers",
    "result.json",
    "tiles.safetensors",
    "chain.toml",
    "device",
];

/// The processor time of a process, and with that of the programs that have ended it has started.
#[derive(Clone, Copy)]
struct Times {
    process: Duration,
    all: Duration,
}

/// The state of a process and its times; a zombie has both.
fn state(child: &Child) -> (char, Times) {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |fields: &[&str]| TICK * fields.iter().map(|field| field.parse::<u32>().unwrap()).sum::<u32>();
    (fields[0].chars().next().unwrap(), Times { process: ticks(&fields[11..13]), all: ticks(&fields[11..15]) })
}

/// Waits until a process has ended or its times are enough; whether it has ended, and its own time.
fn until(child: &Child, enough: impl Fn(Times) -> bool) -> (bool, Duration) {
    loop {
        match state(child) {
            ('Z', took) => return (true, took.process),
            (_, took) if enough(took) => return (false, took.process),
            _ => sleep(TICK),
        }
    }
}

/// The outcome of a run.
struct Stopped {
    /// Processor time after the interruption; `None` if the command ended before it.
    after: Option<Duration>,
    status: Option<i32>,
    stdout: String,
    stderr: String,
    /// The folder in which it ran.
    folder: tempfile::TempDir,
}

/// Runs a command, and ends it at a moment of its processor time.
fn stopped(line: &str, end: End, moment: Duration) -> Stopped {
    let (source, folder) = (inputs(line), tempfile::tempdir().unwrap());
    for file in fs::read_dir(source).unwrap().map(|file| file.unwrap()) {
        std::os::unix::fs::symlink(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let (words, input) = line.split_once(" < ").map_or((line, None), |(words, input)| (words, Some(input)));
    let instruction =
        |word: &str| NAMES.iter().find(|entry| entry.0 == word).map_or(word.to_string(), |entry| entry.1.into());
    let file = |name: &str| File::create(folder.path().join(name)).unwrap();
    let mut command = Command::new(fs::canonicalize(binary()).unwrap());
    if end == End::Limit {
        command.args(["--time-limit", "1"]);
    }
    command.args(words.split(' ').map(instruction)).current_dir(&folder).env("RAYON_NUM_THREADS", THREADS.to_string());
    command.stdin(input.map_or(Stdio::null(), |name| File::open(folder.path().join(name)).unwrap().into()));
    let mut child = command.stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap();
    let (ended, before) = match end {
        End::Signal(_) => until(&child, |took| took.all >= moment),
        End::Limit => {
            sleep(Duration::from_secs(1));
            until(&child, |_| true)
        }
    };
    if let (false, End::Signal(signal)) = (ended, end) {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    // More than is allowed is as good as for ever.
    let (_, after) = until(&child, |took| took.process > before + 2 * MOST * THREADS);
    let _ = child.kill();
    let status = child.wait().unwrap().code();
    let text = |name: &str| String::from_utf8_lossy(&fs::read(folder.path().join(name)).unwrap()).into_owned();
    Stopped { after: (!ended).then(|| after - before), status, stdout: text("stdout"), stderr: text("stderr"), folder }
}

/// Checks what an interrupted run delivers: a marked result, or only a message.
fn check_delivery(what: &str, end: End, run: &Stopped) {
    let Stopped { status, stdout, stderr, folder, .. } = run;
    let (expected, name) = match end {
        End::Signal(Signal::INT) => (130, "SIGINT"),
        End::Signal(_) => (143, "SIGTERM"),
        End::Limit => (1, "--time-limit"),
    };
    // A run may end by itself between the moment and the signal.
    if end != End::Limit && matches!(status, Some(0 | 1)) {
        return;
    }
    if end == End::Limit && *status == Some(0) {
        return;
    }
    assert_eq!(*status, Some(expected), "{what}: {stderr}");
    let written = fs::read_to_string(folder.path().join("o.json")).ok();
    let document = written.or_else(|| stdout.starts_with('{').then(|| stdout.clone()));
    match document.map(|text| serde_json::from_str::<Value>(&text).expect("a whole result")) {
        // At the limit of time, the work may be done.
        Some(result) => {
            assert!(result["interrupted"] == name || end == End::Limit, "{what}: {}", result["interrupted"])
        }
        None => {
            let told = [stdout, stderr].iter().any(|text| text.to_lowercase().contains("interrupted by"));
            assert!(told || end == End::Limit, "{what}: {stdout}{stderr}");
        }
    }
}

#[test]
fn every_verb_ends_soon_at_any_moment_and_delivers_what_it_has() {
    if !has_python() {
        return;
    }
    let mut verbs: Vec<&String> = LARGE.0.keys().collect();
    if !thorough() {
        verbs.sort_by_key(|verb| verb.bytes().fold(SEED, |sum, byte| random(sum, byte.into())));
        verbs.truncate(QUICK);
    }
    let mut drawn = (0..).map(|at| random(SEED, at));
    let mut draw = |count: usize| (drawn.next().unwrap() % count as u64) as usize;
    for verb in verbs {
        let lines = &LARGE.0[verb];
        for line in if thorough() { &lines[..] } else { &lines[draw(lines.len())..][..1] } {
            let end = [End::Signal(Signal::TERM), End::Signal(Signal::INT), End::Limit][draw(3)];
            let mut moment = Duration::from_millis(1 + draw(LATEST) as u64);
            // An earlier moment for a command that has ended.
            let run = loop {
                let run = stopped(line, end, moment);
                if run.after.is_some() || moment < TICK || end == End::Limit {
                    break run;
                }
                moment /= 2;
            };
            let what = format!("tcnum {line}, {end:?} after {moment:?}");
            let Some(after) = run.after else {
                assert!(
                    end == End::Limit,
                    "{what}: it ends at once; give it more to do in tools/hostile_runs/large.txt"
                );
                continue;
            };
            assert!(after <= MOST * THREADS, "{what}: it worked on for {after:?}");
            check_delivery(&what, end, &run);
        }
    }
}
