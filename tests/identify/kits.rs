//! Kits: what their programs print is a recording, which identifies the arithmetic.

use std::fs;

use tcnum::{arithmetic::Model, isa};
use tcnum_engine::trace::read_printed;

use crate::program::{tcnum, validate_report};

/// An H200 printed this for the kit of three instructions with seed 0, compiled by nvcc 13.0.
const H200: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/kits/h200.txt");
const INSTRUCTIONS: [&str; 3] =
    ["mma.m16n8k32.f32.e4m3.e4m3.f32", "wgmma.m64n8k32.f32.e4m3.e4m3", "mma.sp.m16n8k32.f32.bf16.bf16.f32"];

#[test]
fn the_answers_of_an_h200_to_a_kit_are_those_of_the_model_and_identify_it() {
    let hopper = Model::load("hopper").unwrap();
    let traces = read_printed(H200.as_ref()).unwrap();
    assert_eq!(traces.iter().map(|trace| &trace.instruction.name[..]).collect::<Vec<_>>(), INSTRUCTIONS);
    for trace in &traces {
        let d = hopper.evaluator(&trace.part()).unwrap().execute(&trace.tiles(0, trace.count()));
        assert_eq!(d, trace.d, "{}", trace.instruction);
    }
    let run = tcnum(&["identify", "--answers", H200, "--output", "json", "-q"]);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["identified"].as_array().unwrap();
    assert_eq!((run.status, rows.len()), (0, 3), "{}", run.stderr);
    for row in rows {
        assert_eq!((&row["outcome"], &row["like"]), (&"identified".into(), &"as hopper".into()), "{row}");
    }
}

#[test]
fn wrong_answers_to_a_kit_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    let name = INSTRUCTIONS[0];
    for (content, message) in [
        ("", "it is empty"),
        ("tile 0 A=00", "line 1: answers begin with"),
        ("tcnum-kit 2 mma 8x8", "version '2' of the answers is unknown"),
        ("tcnum-kit 1 mma.m1n1k1.f8.f8.f8.f8 8x8", "mma.m1n1k1.f8.f8.f8.f8"),
        (&format!("tcnum-kit 1 {name} 8x9"), "'8x9' is no part of D"),
        (&format!("tcnum-kit 1 {name} 1x1\nend 1"), "line 2: 'end 1' after 0 tiles"),
        (&format!("tcnum-kit 1 {name} 1x1\nend 0"), "no tile"),
        (&format!("tcnum-kit 1 {name} 1x1\ntile 1 A=00"), "tile 0 is expected, not '1'"),
        (&format!("tcnum-kit 1 {name} 1x1\ntile 0 A=0g"), "a has 32 codes of 1 bytes"),
        (&format!("tcnum-kit 1 {name} 1x1\ntile 0 B=00"), "'A=' is expected"),
    ] {
        fs::write(&file, content).unwrap();
        let run = tcnum(&["identify", "--answers", file.to_str().unwrap()]);
        assert_eq!(run.status, 2, "{content}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{content}: {}", run.stderr);
    }
}

#[test]
fn answers_that_end_early_are_taken_as_far_as_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    let all = fs::read_to_string(H200).unwrap();
    fs::write(&file, all.lines().take(5).collect::<Vec<_>>().join("\n")).unwrap();
    let traces = read_printed(&file).unwrap();
    assert_eq!((traces.len(), traces[0].count()), (1, 3));
    assert!(traces[0].metadata.contains_key("incomplete"));
}

#[test]
fn a_kit_is_a_program_with_a_kernel_for_each_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kit.cu");
    let path = file.to_str().unwrap();
    let run = tcnum(&["kit", "--instr", INSTRUCTIONS[0], "--instr", INSTRUCTIONS[2], "--out", path, "-q"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&file).unwrap();
    for (at, name) in [INSTRUCTIONS[0], INSTRUCTIONS[2]].into_iter().enumerate() {
        let ptx = &isa::find(name).unwrap().ptx;
        assert!(text.contains(&format!("{ptx} ")) && text.contains(&format!("instruction_{at}::answer();")), "{name}");
    }
    for (arguments, message) in [
        (&["kit", "--instr", INSTRUCTIONS[0]][..], "no file is named"),
        (&["kit", "--out", path], "no instruction is chosen"),
        (&["kit", "--instr", INSTRUCTIONS[0], "--out", "kit.rs"], "ends in .cu"),
        (&["kit", "--instr", "vdpbf16ps.m1n16k2.f32.bf16.bf16.f32", "--out", path], "instruction of processors"),
    ] {
        let run = tcnum(arguments);
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}
