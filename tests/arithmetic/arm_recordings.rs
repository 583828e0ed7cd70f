//! The recordings of QEMU under `tests/recordings/arm`: they say where they come from, they are what the models of Arm compute, and they
//! refute models that are wrong in one decision.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcnum::{
    arithmetic::{Model, of_target},
    isa::{self, targets},
};
use tcnum_engine::{
    rule::{ChangeVerdict, RefutingData, refute},
    trace::Trace,
};

/// The folders, and the targets whose instructions are recorded there.
const FOLDERS: [(&str, &str); 2] = [("ebf-0", "armv9-fp8"), ("ebf-1", "armv9-ebf16")];

/// Every recording of a folder.
fn recordings(folder: &str) -> Vec<(PathBuf, Trace)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/arm").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the recordings are part of the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_par_iter().map(|file| (file.clone(), Trace::read(&file).unwrap())).collect()
}

fn model(target: &str) -> Model {
    Model::load(of_target(target).expect("a model describes it")).unwrap()
}

#[test]
fn every_recording_says_where_it_comes_from() {
    for (folder, target) in FOLDERS {
        for (file, trace) in recordings(folder) {
            for key in ["device", "description", "source", "seed", "execution", "date", "tcnum", "qemu"] {
                assert!(trace.metadata.get(key).is_some_and(|text| !text.is_empty()), "{}: no '{key}'", file.display());
            }
            assert_eq!(trace.metadata["architecture"], target, "{}", file.display());
            assert_eq!(file.file_stem().unwrap().to_str(), Some(trace.instruction.name.as_str()));
            assert!(trace.is_whole());
        }
    }
}

#[test]
fn every_instruction_of_the_targets_of_arm_is_recorded() {
    for (folder, target) in FOLDERS {
        let recorded: Vec<String> = recordings(folder).into_iter().map(|(_, trace)| trace.instruction.name).collect();
        let supported = isa::all().iter().filter(|i| i.support_on(target).is_some());
        let missing: Vec<&str> =
            supported.map(|i| i.name.as_str()).filter(|name| !recorded.iter().any(|r| r == name)).collect();
        assert!(!recorded.is_empty() && missing.is_empty(), "{folder}: not recorded: {missing:?}");
    }
    // The other target has nothing that these lack.
    let covered = |i: &isa::Instruction| FOLDERS.iter().any(|(_, target)| i.support_on(target).is_some());
    for target in targets::all().iter().filter(|target| target.name.starts_with("arm")) {
        assert!(isa::all().iter().filter(|i| i.support_on(target.name).is_some()).all(covered), "{}", target.name);
    }
}

#[test]
fn every_recorded_output_is_that_of_the_model() {
    for (folder, target) in FOLDERS {
        let model = model(target);
        for (file, trace) in recordings(folder) {
            let i = &trace.instruction;
            let d = model.evaluator(i).unwrap().execute(&trace.padded(0, trace.count()));
            let differing = d.iter().zip(trace.d.iter()).filter(|(x, y)| x != y).count();
            assert_eq!(differing, 0, "{}: {i}: of {}", file.display(), d.len());
        }
    }
}

/// With FPCR.EBF = 1 BFDOT and BFMMLA give other bits than with 0, and the rest the same.
#[test]
fn extended_bfloat16_changes_sums_of_products_alone() {
    let [standard, extended] = FOLDERS.map(|(_, target)| model(target));
    for (_, trace) in recordings("ebf-1") {
        let i = &trace.instruction;
        let tiles = trace.padded(0, trace.count());
        let same = standard.evaluator(i).unwrap().execute(&tiles) == extended.evaluator(i).unwrap().execute(&tiles);
        assert_eq!(same, !["bfdot", "bfmmla"].contains(&i.family()), "{i}");
    }
}

/// The rounding, the format, the order and the treatment of subnormals of each step, on one recording of each rule.
#[test]
fn recordings_refute_models_that_are_wrong_in_one_decision() {
    for (folder, instruction, decided) in [
        (
            "ebf-0",
            "bfmmla.m2n2k4.f32.bf16.bf16.f32",
            &["operand-subnormals", "group", "product.overflow", "result.rounding", "result.overflow"][..],
        ),
        ("ebf-0", "bfmlalb.m1n4k1.f32.bf16.bf16.f32", &["operand-subnormals", "result.rounding", "nan"]),
        ("ebf-0", "fdot.m1n4k4.f32.e4m3.e5m2.f32", &["result-subnormals", "result.rounding", "zero", "nan"]),
        ("ebf-0", "smmla.m2n2k8.s32.s8.s8.s32", &["wrap"]),
        ("ebf-1", "bfmmla.m2n2k4.f32.bf16.bf16.f32", &["operand-subnormals", "node.first.result.rounding", "nan"]),
    ] {
        let target = FOLDERS.iter().find(|(name, _)| *name == folder).unwrap().1;
        let (_, trace) =
            recordings(folder).into_iter().find(|(_, trace)| trace.instruction.name == instruction).expect("recorded");
        let mut tested = Vec::new();
        refute(&model(target), &[RefutingData::recorded(instruction, trace)], &mut tested, &mut |_| ()).unwrap();
        let tested = tested.remove(0);
        assert_eq!(tested.refuted, None, "{instruction}");
        for key in decided {
            let of_key: Vec<_> = tested.changes.iter().filter(|(change, _)| change.key == *key).collect();
            assert!(
                of_key.iter().any(|(_, verdict)| matches!(verdict, ChangeVerdict::Refuted(_))),
                "{instruction}: {key}: {of_key:?}"
            );
        }
    }
}
