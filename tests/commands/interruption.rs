//! Every verb, interrupted at one point after another: what was done until then is reported, marked, or nothing is.

use std::{cell::Cell, collections::BTreeSet, rc::Rc};

use tcnum::{Error, Interruption, interruptible, verbs};

use crate::program::tcnum;

/// How a verb meets an interruption.
enum Meets {
    /// A command line whose work has several units, each with a result: `{OUT}` is a folder to write to.
    Units(&'static str),
    /// A command line whose work has one result, which there is or is not.
    Whole(&'static str),
    /// It ends by itself at once, or prints nothing but text about the command line.
    Short,
    /// Tested by what it makes, in another file.
    Elsewhere,
}

use Meets::{Elsewhere, Short, Units, Whole};

const I: &str = "mma.m8n8k4.f16.f16.f16.f16";
const J: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const K: &str = "mma.m8n8k4.f32.f16.f16.f32";

/// How verbs meet an interruption; any other has to meet it in the example of its help.
const VERBS: &[(&str, Meets)] = &[
    ("formats", Short),
    ("convert", Units("convert --to e4m3 1 2 3 4")),
    ("convert", Whole("convert --to e4m3 --input {OUT}/w.npy --out {OUT}/w.safetensors")),
    ("quantise", Units("quantise {OUT}/w.npy {OUT}/w.npy --to e4m3")),
    ("inspect", Units("inspect tests/corpus/array/two.safetensors")),
    ("calc", Units("calc --fmt bf16 --op add 1 2 3 4")),
    ("instructions", Units("instructions mma.m16n8k16.f32 --device model:hopper")),
    ("models", Short),
    ("devices", Short),
    ("probe", Units("probe --fmt f16 --op accumulate --samples 2000 --device model:hopper")),
    ("probe bits", Units("probe bits --fmt f16 --samples 2000 --device model:hopper")),
    ("probe scalar", Units("probe scalar --op add --op sub --fmt f16 --cases 1e5 --device model:hopper")),
    ("record", Units("record --fmt f16 --tiles 2 --device model:hopper --folder {OUT}")),
    ("verify", Units("verify --instr I --instr J --cases 1e4 --max-mismatches 1 --device model:hopper --model ampere")),
    ("explain", Short),
    ("merge", Short),
    ("exec-check", Units("exec-check --instr J -- python3 tests/exec/hopper.py")),
    ("power", Units("power --instr I --instr J --model hopper --cases 100")),
    ("coverage", Units("coverage --instr J --model hopper --cases 1e5 --search 0")),
    ("identify", Units("identify --instr I --instr mma.m8n8k16.s32.s8.s8.s32 --budget 100 --device model:hopper")),
    ("kit", Whole("kit --instr I --out {OUT}/kit.cu")),
    ("survey", Elsewhere),
    ("features", Units("features --instr I --device volta --device hopper --device ampere --device turing")),
    ("distinguish", Units("distinguish model:hopper model:volta --instr I --cases 1000")),
    ("bound", Units("bound --instr J --k 16 32 64 128")),
    ("check", Units("check {OUT}/d.npy --a {OUT}/w.npy --b {OUT}/w.npy --transpose-b --quantise --instr J")),
    ("attention", Units("attention {OUT}/q.npy --q {OUT}/q.npy --k {OUT}/q.npy --v {OUT}/q.npy")),
    ("chain", Units("chain --instr J --chains 2 --length 3 --device model:hopper")),
    ("tree", Units("tree --instr I --instr J --device model:hopper")),
    ("gemm", Short),
    ("gemm compute", Whole("gemm compute --instr J --shape 16,16,64 --device model:hopper")),
    (
        "gemm match",
        Units("gemm match {OUT}/d.npy --a {OUT}/w.npy --b {OUT}/w.npy --transpose-b --quantise --model hopper"),
    ),
    ("gemm between", Units("gemm between model:hopper model:volta --instr K --shape 8,8,64")),
    ("gemm library", Elsewhere),
    ("emulate", Units("emulate --size 32 --scheme bf16x3 --scheme bf16x9 --device model:hopper")),
    ("cost", Units("cost --device cpu --fmt f32 --fmt f64")),
    ("experiment", Units("experiment experiments/table-12.toml --device model:hopper --samples 20")),
    ("diff", Units("diff model:hopper model:volta --instr I --cases 100")),
    ("report", Elsewhere),
    ("atlas", Elsewhere),
    ("completions", Short),
];

/// The first example in the help of a verb, without the program's name.
fn example(verb: &str) -> String {
    let help = tcnum(&[&verb.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat()).stdout;
    let line = help.split("Example").nth(1).and_then(|text| text.split("tcnum ").nth(1)?.lines().next());
    line.unwrap_or_else(|| panic!("the help of {verb} has no example")).to_string()
}

#[test]
fn every_verb_of_the_table_is_one_and_any_other_can_be_interrupted_in_its_example() {
    let known: BTreeSet<String> = VERBS.iter().map(|(verb, _)| verb.to_string()).collect();
    let listed: BTreeSet<String> = verbs::listed().into_iter().collect();
    assert!(known.is_subset(&listed), "{known:?}");
    for verb in listed.difference(&known) {
        assert!(
            interruptions(&example(verb)).0 > 0,
            "{verb} cannot be interrupted; if it ends at once, the table says so"
        );
    }
}

/// What a command came to that was interrupted at its check number `at`.
enum Came {
    /// It ended by itself.
    Done,
    /// Nothing was reported.
    Nothing,
    /// The rows of its marked report.
    Rows(usize),
}

fn interrupted(words: &[String], at: u64) -> Came {
    let checks = Rc::new(Cell::new(0));
    let stop = move || {
        checks.set(checks.get() + 1);
        (checks.get() >= at).then_some(Interruption::Term)
    };
    let words = words.iter().map(Into::into).collect();
    match interruptible(stop, || verbs::report(words)) {
        Err(Error::Interrupted { by: Interruption::Term }) => Came::Nothing,
        Err(error) => panic!("check {at}: {error}"),
        Ok((_, Some(error))) => panic!("check {at}: {error}"),
        Ok((report, None)) => match report.interrupted {
            None => Came::Done,
            Some(_) => Came::Rows(report.tables.iter().map(|table| table.rows.len()).sum()),
        },
    }
}

/// Interrupts a command at its checks number 1, 2, 4 and so on until it ends by itself: the interruptions, and those with rows.
fn interruptions(line: &str) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("tests/fixtures/numpy_f32.npy", folder.path().join("w.npy")).unwrap();
    let name = |word: &str| match word {
        "I" => I.to_string(),
        "J" => J.to_string(),
        "K" => K.to_string(),
        other => other.replace("{OUT}", folder.path().to_str().unwrap()),
    };
    let words =
        |line: &str| -> Vec<String> { std::iter::once("tcnum".into()).chain(line.split(' ').map(name)).collect() };
    if line.contains("d.npy") {
        let product = "gemm compute --a {OUT}/w.npy --b {OUT}/w.npy --transpose-b --quantise --instr J --device model:hopper --out {OUT}/d.npy";
        verbs::report(words(product).into_iter().map(Into::into).collect()).unwrap();
    }
    if line.contains("q.npy") {
        let numbers = "gemm compute --instr J --shape 64,64,16 --device model:hopper --out {OUT}/q.npy";
        verbs::report(words(numbers).into_iter().map(Into::into).collect()).unwrap();
    }
    let words = words(line);
    let (mut count, mut with_rows) = (0, 0);
    for at in (0..24).map(|power| 1 << power) {
        match interrupted(&words, at) {
            Came::Done => return (count, with_rows),
            Came::Nothing => count += 1,
            Came::Rows(rows) => {
                assert!(rows > 0, "tcnum {line}, check {at}: a marked report without rows");
                (count, with_rows) = (count + 1, with_rows + 1);
            }
        }
    }
    panic!("tcnum {line} does not end");
}

#[test]
fn a_plot_of_an_interrupted_run_is_drawn_or_left_out_and_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("plot.svg");
    let line = "tcnum emulate -q --size 16 --scheme l8-r4 --scheme bf16x3 --device model:hopper --plot PLOT --out OUT";
    let statuses = (0..8).map(|power| {
        let checks = Cell::new(0u64);
        let stop = move || {
            checks.set(checks.get() + 1);
            (checks.get() >= 1 << power).then_some(Interruption::Term)
        };
        let words = line.split(' ').map(|word| match word {
            "PLOT" => plot.clone().into_os_string(),
            "OUT" => folder.path().join("out.txt").into_os_string(),
            word => word.into(),
        });
        let words = words.collect();
        interruptible(stop, || verbs::status(words))
    });
    let statuses: Vec<u8> = statuses.collect();
    assert!(statuses[0] == 143 && statuses[7] == 0, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 0 | 143)) && plot.exists(), "{statuses:?}");
}

#[test]
fn an_interrupted_verb_reports_what_was_done_until_then() {
    for (verb, meets) in VERBS {
        match meets {
            Units(line) => {
                let (count, with_rows) = interruptions(line);
                assert!(count > 0 && with_rows > 0, "{verb}: {count} interruptions, {with_rows} with a result");
            }
            Whole(line) => assert!(interruptions(line).0 > 0, "{verb} cannot be interrupted"),
            Short | Elsewhere => {}
        }
    }
}
