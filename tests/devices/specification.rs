//! Instructions that exist as text: their models, and programs that were written from the same text without the models.

use std::fs;

use serde_json::{Value, json};
use tcnum::isa;

use crate::{
    cpu::ANNOUNCED,
    machine::{amount, has_python},
    program::{tcnum, validate_report},
};

const VFWBDOTA: &str = "vfwbdota.m1n8k8.f32.bf16.bf16.f32";
const VFWMMACC: &str = "vfwmmacc.m4n4k8.f32.bf16.bf16.f32";
const VFQMMACC: &str = "vfqmmacc.m4n4k16.f32.e5m2.e4m3.f32";

/// Device that runs a program of `tests/specification`.
fn device(program: &str, flags: &str) -> String {
    format!("exec:python3 '{}/tests/specification/{program}.py' {flags}", env!("CARGO_MANIFEST_DIR"))
}

/// Rows of a verification of `instructions`, each in `cases` cases; `model` replaces the program's model.
fn verified(device: &str, instructions: &[&str], cases: u64, model: Option<&str>) -> Vec<Value> {
    let asked = cases.to_string();
    let mut arguments = vec!["verify", "--device", device, "--cases", &asked, "--output", "json"];
    arguments.extend(instructions.iter().flat_map(|name| ["--instr", name]));
    arguments.extend(model.into_iter().flat_map(|model| ["--model", model]));
    let run = tcnum(&arguments);
    assert!(run.status == 0 || run.status == 1, "{}", run.stderr);
    let rows = validate_report(&run.stdout)["tables"]["verification"].as_array().unwrap().clone();
    assert_eq!(rows.len(), instructions.len());
    assert!(rows.iter().all(|row| row["compared"].as_u64().unwrap() >= cases));
    rows
}

/// Instructions of a target with floating-point results.
fn instructions(targets: &[&str]) -> Vec<&'static str> {
    let of = |i: &&isa::Instruction| targets.iter().any(|target| i.support_on(target).is_some());
    isa::all().iter().filter(of).filter(|i| i.d.name != "s32").map(|i| i.name.as_str()).collect()
}

#[test]
fn models_of_a_text_compute_what_an_independent_program_reads_in_it() {
    if !has_python() {
        return;
    }
    let zvbdota = ["zvbdota-vlen128", "zvbdota-vlen256"];
    for (program, flags, model, names) in [
        ("arm_sme", "", "arm-sme", instructions(&["sme2"])),
        ("arm_sme", "--ebf --osm", "arm-sme-ebf-osm", instructions(&["sme2-ebf16-osm"])),
        ("riscv", "", "riscv", instructions(&[&zvbdota[..], &["zvvfmm-vlen512"]].concat())),
        ("x86_ace", "--one-nan", "x86-ace", instructions(&["ace"])),
        ("amx_fp8", "", "x86", ANNOUNCED.to_vec()),
        ("rdna3", "", "rdna3", instructions(&["gfx1100", "gfx1151"])),
        ("rdna4", "", "rdna4", instructions(&["gfx1201"])),
    ] {
        assert!(names.len() >= 5, "{model}");
        for row in verified(&device(program, flags), &names, amount(500, 2_000), Some(model)) {
            assert_eq!((&row["differing"], &row["model"]), (&json!(0), &json!(model)), "{row}");
        }
    }
}

/// The pseudo-code of RVBNA truncates normal sums, which the model has, and errs in subnormal ones.
#[test]
fn the_pseudo_code_of_rvbna_has_a_model_wherever_its_sums_are_normal() {
    if !has_python() {
        return;
    }
    let names = instructions(&["zvbdota-vlen128", "zvbdota-vlen256"]);
    let names: Vec<&str> = names.into_iter().filter(|name| name.contains("bdota")).collect();
    let (fp8, bf16): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| name.starts_with("vfq"));
    let cases = amount(2_000, 10_000);
    let agrees = |rows: Vec<Value>| rows.iter().all(|row| row["differing"] == 0 && row["model"] == "riscv-pseudocode");
    assert!(agrees(verified(&device("riscv", "--code"), &fp8, cases, None)));
    assert!(agrees(verified(&device("riscv", "--code --normalised"), &bf16, cases, None)));
    let differing = |device: &str, model| verified(device, &[VFWBDOTA], cases, model)[0]["differing"].as_u64().unwrap();
    assert!(differing(&device("riscv", "--code"), None) > 0, "subnormal sums are as the model says after all");
    assert!(differing(&device("riscv", "--code"), Some("riscv")) > 0, "the prose and the pseudo-code agree");
}

#[test]
fn a_disclosure_is_a_model_and_a_model_has_a_disclosure() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disclosure.csv").to_string_lossy().into_owned();
    let shipped = tcnum(&["models", "riscv", "--disclosure", "--output", "csv"]).stdout;
    for (w, name) in [(2, VFWMMACC), (4, VFQMMACC)] {
        for g in [1, 2, 4] {
            for (psm, rnd) in [(0, "frm"), (0, "rto"), (0, "xct"), (1, "frm"), (1, "rto"), (1, "xct")] {
                let algorithm = if psm == 1 { "RVBNA" } else { "" };
                let table = format!("sew,w,lambda,g,psm,rnd,algorithm\n32,{w},4,{g},{psm},{rnd},{algorithm}\n");
                fs::write(&file, &table).unwrap();
                let device = device("riscv", &format!("--tuple {g},{psm},{rnd}"));
                let row = &verified(&device, &[name], amount(500, 5_000), Some(&file))[0];
                assert_eq!(row["differing"], 0, "{table}");
                assert_eq!(tcnum(&["models", &file, "--disclosure", "--output", "csv"]).stdout, table);
            }
        }
    }
    fs::write(&file, &shipped).unwrap();
    assert_eq!(tcnum(&["models", &file, "--disclosure", "--output", "csv"]).stdout, shipped);
}

#[test]
fn a_disclosure_that_no_rule_can_say_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disclosure.csv").to_string_lossy().into_owned();
    let header = "sew,w,lambda,g,psm,rnd,algorithm";
    for (row, said) in [
        ("32,2,4,3,0,frm,", "line 2: G is 3; it is a power of two from 1 to lambda, 4"),
        ("32,2,4,8,0,frm,", "line 2: G is 8;"),
        ("32,2,5,1,0,frm,", "line 2: lambda is 5;"),
        ("24,2,4,1,0,frm,", "line 2: SEW is 24;"),
        ("32,8,4,1,0,frm,", "line 2: W is 8; with SEW 32 it is a power of two from 1 to 4"),
        ("32,2,4,1,2,frm,", "line 2: psm is 2; it is 0 or 1"),
        ("32,2,4,1,1,rto,Kulisch", "line 2: psm is 1, and 'algorithm' is not RVBNA"),
        ("32,1,4,1,1,rto,RVBNA", "line 2: psm is 1 with W = 1"),
        ("32,2,4,1,0,odd,", "line 2: 'rnd' is none of frm, rto and xct"),
        ("x,2,4,1,0,frm,", "line 2: 'sew' is not a number: 'x'"),
        ("32,2,4,1,0,frm,\n32,2,4,2,0,frm,", "line 3: SEW 32, W 2, lambda 4 stands twice"),
        ("", "the table has no rows"),
    ] {
        fs::write(&file, format!("{header}\n{row}\n")).unwrap();
        let run = tcnum(&["models", &file]);
        assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{row}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{row}: {}", run.stderr);
    }
    fs::write(&file, "name = \"x\"\n").unwrap();
    assert!(tcnum(&["models", &file]).stderr.contains("line 1: a disclosure has the columns sew,w,lambda"));
    let run = tcnum(&["models", "hopper", "--disclosure"]);
    assert!(run.status == 2 && run.stderr.contains("no tile instructions of RISC-V"), "{}", run.stderr);
}
