//! The device `cpu`: recordings of processors against the model of x86 on any machine, and this machine's own units, where it has them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use tcnum::{
    arithmetic::Model,
    inputs::{Corners, Sequence, stream},
    isa::{self, Case, Instruction, scalar},
};
use tcnum_engine::{
    device::{self, DeviceName, cpu},
    rule::{Changed, changes},
    trace::Trace,
};
use tcnum_study::verify::compare;

use crate::{
    machine::amount,
    program::{tcnum, validate_report},
};

const TDPBF16PS: &str = "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32";
const VDPBF16PS: &str = "vdpbf16ps.m1n16k2.f32.bf16.bf16.f32";
/// Instructions whose rules rest on documents alone.
pub(crate) const ANNOUNCED: [&str; 5] = [
    "tdpbf8ps.m16n16k64.f32.e5m2.e5m2.f32",
    "tdpbhf8ps.m16n16k64.f32.e5m2.e4m3.f32",
    "tdphbf8ps.m16n16k64.f32.e4m3.e5m2.f32",
    "tdphf8ps.m16n16k64.f32.e4m3.e4m3.f32",
    "vdpphps.m1n16k2.f32.f16.f16.f32",
];

fn x86() -> Model {
    Model::load("x86").unwrap()
}

fn of_processors() -> impl Iterator<Item = &'static Instruction> {
    let of = |i: &&Instruction| x86().rule(i).is_some();
    isa::all().iter().filter(of)
}

/// The instructions that this machine has; a line says which it lacks.
fn here() -> Vec<&'static Instruction> {
    let (here, missing): (Vec<_>, Vec<_>) = of_processors().partition(|i| cpu::has(i).is_ok());
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|i| i.name.as_str()).collect();
        let _ = writeln!(std::io::stderr(), "skipped: this processor does not have {}", names.join(", "));
    }
    here
}

/// The recordings of processors below `folder`.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.into_iter().partition(|path| path.is_dir());
    let traces = files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "safetensors"));
    traces.chain(folders.iter().flat_map(|folder| recordings(folder))).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/cpu")
}

/// How many outputs of a recording differ from those of a model, of how many.
fn differing(trace: &Trace, model: &Model) -> (usize, usize) {
    let d = model.evaluator(&trace.instruction).unwrap().execute(&trace.padded(0, trace.count()));
    ((0..d.len()).filter(|&at| d.get(at) != trace.d.get(at)).count(), d.len())
}

#[test]
fn every_recorded_output_is_that_of_the_model_nans_and_flushed_numbers_too() {
    let files = recordings(&folder());
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let (differing, of) = differing(&Trace::read(&file).unwrap(), &x86());
        assert!(differing == 0 && of > 0, "{}: {differing} of {of} differ", file.display());
    }
}

/// `TDPFP16PS`, AMX-FP8 and `VDPPHPS` need processors that nobody had.
#[test]
fn every_instruction_is_recorded_but_those_of_processors_that_nobody_had() {
    let recorded: Vec<Trace> = recordings(&folder()).iter().map(|file| Trace::read(file).unwrap()).collect();
    let missing: Vec<&str> = of_processors()
        .map(|i| i.name.as_str())
        .filter(|name| recorded.iter().all(|trace| trace.instruction.name != **name))
        .collect();
    assert_eq!(missing, [&["tdpfp16ps.m16n16k32.f32.f16.f16.f32"][..], &ANNOUNCED[..]].concat());
}

#[test]
fn the_recordings_of_a_folder_say_where_they_come_from_and_begin_with_the_named_corners() {
    for (name, signature) in [("zen5", "AuthenticAMD 26.2.1"), ("sapphire-rapids", "GenuineIntel 6.207.2")] {
        let files = recordings(&folder().join(name));
        assert!(!files.is_empty(), "{name}");
        for file in files {
            let trace = Trace::read(&file).unwrap();
            let i = &trace.instruction;
            let says = |key: &str| trace.metadata.get(key).map(String::as_str).unwrap_or_default();
            assert_eq!(file.file_stem().unwrap().to_str(), Some(i.name.as_str()));
            assert!(says("description").ends_with(&format!("({signature})")), "{name}: {i}: {}", says("description"));
            assert_eq!((says("device"), says("execution")), ("cpu", "native"), "{name}: {i}");
            for key in ["date", "source", "seed", "microcode", "sass", "tcnum"] {
                assert_ne!(says(key), "", "{name}: {i}: no '{key}'");
            }
            let corners = Corners::of(i).tiles;
            assert!(
                trace.count() >= corners.count && trace.tiles(0, corners.count) == corners,
                "{name}: {i}: the recorded corners are others; record it again"
            );
        }
    }
}

#[test]
fn recordings_of_processors_find_their_model_by_themselves() {
    for name in ["spr_tdpbf16ps", "spr_vdpbf16ps"] {
        let file = folder().join(format!("{name}.safetensors"));
        let run = tcnum(&["verify", file.to_str().unwrap(), "--output", "json"]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert_eq!(validate_report(&run.stdout)["tables"]["verification"][0]["model"], "x86");
    }
}

/// The model with the rule that Intel's Intrinsics Guide gives for TDPBF16PS: one chain from c over all k.
fn intrinsics_guide() -> Model {
    let text = r#"
        name = "guide"
        title = "TDPBF16PS by the Intrinsics Guide"
        version = 1
        [[rule]]
        instructions = ["tdpbf16ps.*"]
        evidence = [{ literature = "Intel Intrinsics Guide" }]
        step = "fma"
        operand-subnormals = "signed-zero"
        result-subnormals = "signed-zero"
        result-tininess = "after, unbounded exponent"
        result = { format = "f32", rounding = "RNE" }
        nan-operands = ["a", "b", "c"]
        nan = "0xffc00000"
    "#;
    Model::parse(text, "guide.toml").unwrap()
}

#[test]
fn the_recording_refutes_the_intrinsics_guide_and_two_products_show_it() {
    let trace = Trace::read(&folder().join("spr_tdpbf16ps.safetensors")).unwrap();
    let (wrong, of) = differing(&trace, &intrinsics_guide());
    assert!(wrong * 4 > of, "{wrong} of {of}");
    // 2^24 + (1 + 1): one chain loses both ones, two chains add them first.
    let i = isa::find(TDPBF16PS).unwrap();
    let mut case = Case::zeros(&i);
    (case.a[0], case.a[1], case.b[0], case.b[1], case.c) = (0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x4b80_0000);
    let dot = |model: &Model| model.evaluator(&i).unwrap().dot(&case);
    assert_eq!((dot(&x86()), dot(&intrinsics_guide())), (0x4b80_0001, 0x4b80_0000));
}

#[test]
fn this_machine_computes_what_the_model_says() {
    let model = x86();
    let mut device = device::open(Some(&"cpu".into()), Duration::from_secs(60)).unwrap();
    let cases = amount(1_000_000, 10_000_000);
    for i in here() {
        let state = compare(device.as_mut(), &model, i, Sequence::Random { seed: 1 }, Some(cases)).unwrap();
        assert!(state.compared() >= cases && state.differing() == 0, "{i}: {:?}", state.kinds);
    }
}

#[test]
fn what_is_rounded_up_to_the_smallest_normal_number_is_not_flushed() {
    let i = isa::find(VDPBF16PS).unwrap();
    let evaluator = x86().evaluator(&i).unwrap();
    let mut device = device::open(Some(&"cpu".into()), Duration::from_secs(60)).unwrap();
    // c = 2^-126 minus 2^-151, 3 * 2^-152 and 2^-150: half a unit of 24 bits, three quarters, and one.
    for (a, b, d) in [(0x9a00, 0x1980, 0x0080_0000), (0x9a40, 0x1980, 0), (0x9a00, 0x1a00, 0)] {
        let mut case = Case::zeros(&i);
        (case.a[0], case.b[0], case.c) = (a, b, 0x0080_0000);
        assert_eq!(evaluator.dot(&case), d, "{a:#x}");
        if cpu::has(&i).is_ok() {
            let mut tiles = isa::Tiles::zeros(&i, 1);
            tiles.place(&i, 0, 0, 3, &case);
            assert_eq!(device.execute(&i, &tiles).unwrap().get(3), d, "{a:#x}");
        }
    }
}

/// What tininess is, the first cases of the kept runs leave open; these later ones of the same runs do not.
#[test]
fn later_cases_of_the_kept_runs_show_what_tininess_is() {
    let model = x86();
    for (name, to, tile, row, column) in [
        (TDPBF16PS, "before", 4184, 5, 12),
        (TDPBF16PS, "after", 8094, 0, 1),
        (VDPBF16PS, "before", 810_309, 0, 3),
        (VDPBF16PS, "after", 8094, 0, 1),
    ] {
        let i = isa::find(name).unwrap();
        let rule = Changed::of(&model, &i).unwrap();
        let mut changes = changes(&rule.rule, &i).into_iter();
        let change = changes.find(|change| change.key == "result-tininess" && change.to() == to).unwrap();
        let changed = rule.model(Some(&change)).unwrap().evaluator(&i).unwrap();
        let case = stream::tiles(&i, 0, tile, 1).case(&i, 0, row, column);
        assert_ne!(changed.dot(&case), model.evaluator(&i).unwrap().dot(&case), "{name}: {to}");
    }
}

#[test]
fn this_machine_rounds_as_the_rules_of_its_scalar_instructions_say() {
    use tcnum_engine::device::Chunks;
    let mut device = device::open(Some(&"cpu".into()), Duration::from_secs(60)).unwrap();
    for form in scalar::all().iter().filter(|form| form.is_of_processors() && cpu::sweeps(form)) {
        let mut sweeper = device.sweeps().unwrap().sweeper(form, 1).unwrap();
        let swept = sweeper.sweep(Chunks::spread(1 << 32, 4)).unwrap();
        assert_eq!(swept.differing(), 0, "{form}: {:?}", swept.differences);
        assert!(swept.compared.iter().sum::<u64>() >= 1 << 16, "{form}");
    }
}

#[test]
fn an_absent_unit_is_refused_with_what_it_is_why_and_what_would_give_it() {
    let Some(missing) = of_processors().find(|i| cpu::has(i).is_err()) else { return };
    for command in ["probe", "verify"] {
        let run = tcnum(&[command, "--device", "cpu", "--instr", &missing.name]);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains(&format!("cpu does not have {missing}: ")), "{}", run.stderr);
    }
    let run = tcnum(&["probe", "--device", "cpu", "--instr", "mma.m16n8k16.f32.f16.f16.f32"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("cpu does not have mma.m16n8k16.f32.f16.f16.f32"), "{}", run.stderr);
}

#[test]
fn the_processor_is_used_where_there_is_no_gpu_and_it_has_what_was_asked_for() {
    let expected = DeviceName::usual(|| cpu::has(&isa::find(VDPBF16PS).unwrap()).is_ok());
    let run = tcnum(&["record", "--instr", VDPBF16PS, "--tiles", "2", "--out", "/dev/null", "--output", "json"]);
    if expected != DeviceName::Cuda(0) && run.status == 0 {
        assert_eq!(validate_report(&run.stdout)["device"]["name"], expected.to_string(), "{}", run.stdout);
    }
    let devices = tcnum(&["devices", "--output", "json"]);
    let tables = &validate_report(&devices.stdout)["tables"];
    assert_eq!(tables["processors"].as_array().is_some_and(|rows| rows.len() == 1), cfg!(target_arch = "x86_64"));
}

#[test]
fn every_command_that_runs_instructions_runs_those_of_this_machine() {
    let Some(i) = here().into_iter().find(|i| i.name == VDPBF16PS).or(here().into_iter().next()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording.safetensors");
    let file = file.to_str().unwrap();
    let on_cpu = |line: &[&str]| -> Value {
        let run = tcnum(&[line, &["--device", "cpu", "--output", "json"]].concat());
        assert_eq!(run.status, 0, "{line:?}: {}", run.stderr);
        validate_report(&run.stdout)
    };
    let probe = on_cpu(&["probe", "--instr", &i.name, "--samples", "200"]);
    assert_eq!(probe["tables"]["profile"][0]["model"], "x86");
    let verify = on_cpu(&["verify", "--instr", &i.name, "--cases", "20000"]);
    let row = &verify["tables"]["verification"][0];
    assert_eq!((&row["model"], &row["differing"]), (&Value::from("x86"), &Value::from(0)));
    let all = on_cpu(&["verify", "--all", "--cases", "2000"]);
    assert_eq!(all["tables"]["verification"].as_array().unwrap().len(), here().len());
    on_cpu(&["record", "--instr", &i.name, "--tiles", "8", "--out", file]);
    let replayed = tcnum(&["verify", file, "--output", "json"]);
    assert_eq!(replayed.status, 0, "{}", replayed.stderr);
    assert_eq!(validate_report(&replayed.stdout)["tables"]["verification"][0]["model"], "x86");
    let replayed = tcnum(&["verify", file, "--model", "cpu"]);
    assert_eq!(replayed.status, 0, "{}", replayed.stderr);
    let explained = tcnum(&["explain", "--trace", file, "--output", "json"]);
    assert_eq!(explained.status, 0, "{}", explained.stderr);
    on_cpu(&["chain", "--instr", "vfmadd.m1n16k1.f32.f32.f32.f32", "--chains", "4", "--length", "3"]);
    let listed = on_cpu(&["instructions"]);
    assert_eq!(listed["tables"]["instructions"].as_array().unwrap().len(), here().len());
}
