//! The quick fingerprint: every known arithmetic is known again in few tiles, and no other one passes for it.

use tcnum::arithmetic::{Model, shipped};
use tcnum_engine::comparison::Nans;
use tcnum_study::identify::{QUICK, quick};

use crate::{
    black_box::BlackBox,
    machine::amount,
    program::{tcnum, validate_report},
    shipped::{distinct, listed},
};

#[test]
fn every_shipped_arithmetic_is_known_again_in_few_tiles() {
    let all = shipped().flat_map(|name| {
        let model = Model::load(name).unwrap();
        distinct(&model).into_iter().map(move |i| (model.clone(), i)).collect::<Vec<_>>()
    });
    for (model, i) in all.step_by(amount(58, 12)) {
        let mut device = BlackBox::new(&model);
        let fingerprint = quick(&mut device, i, 0, Nans::ByCode).unwrap();
        let of_model = |(name, _): &(String, String)| *name == model.name;
        assert!(fingerprint.matching.iter().flatten().any(of_model), "{} {i}: {fingerprint:?}", model.name);
        assert!(
            fingerprint.executions <= QUICK && device.executed <= QUICK as u64,
            "{} {i}: {fingerprint:?}",
            model.name
        );
        assert_eq!(fingerprint.executions as u64, device.executed, "{} {i}", model.name);
    }
}

#[test]
fn an_arithmetic_that_nobody_has_is_none_of_the_known_ones() {
    let i = listed("mma.m16n8k16.f32.bf16.bf16.f32");
    let hopper = Model::load("hopper").unwrap();
    for (from, to) in [("bits = 25", "bits = 22"), ("0x7fffffff", "0x7fc00001")] {
        let text = hopper.text().replace(from, to);
        let model = Model::parse(&text, "changed.toml").unwrap();
        let fingerprint = quick(&mut BlackBox::new(&model), i, 0, Nans::ByCode).unwrap();
        assert!(fingerprint.matching.is_empty(), "{to}: {fingerprint:?}");
        assert!(fingerprint.refuted.is_some() && fingerprint.executions <= QUICK, "{to}: {fingerprint:?}");
    }
}

/// A recording has no outputs but its own.
#[test]
fn a_recording_is_refused_with_one_message() {
    let device = ["--device", "trace:tests/recordings/cpu/spr_tdpbf16ps.safetensors"];
    for (command, named) in [(&["identify", "--quick"][..], "--quick"), (&["features"], "the features")] {
        let run = tcnum(&[command, &device].concat());
        assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
        let said = run.stderr;
        assert!(said.contains("is a recording") && said.contains(named), "{said}");
    }
}

#[test]
fn reports_name_the_arithmetic_and_have_a_witness_for_a_cell() {
    let run = |arguments: &[&str]| {
        let run = tcnum(arguments);
        assert_eq!(run.status, 0, "{}", run.stderr);
        validate_report(&run.stdout)
    };
    let instruction = ["--instr", "mma.m16n8k8.f32.bf16.bf16.f32", "--output", "json"];
    let report = run(&[&["identify", "--quick", "--device", "model:ampere"][..], &instruction].concat());
    assert!(report["tables"]["fingerprints"][0]["arithmetic"].as_str().unwrap().starts_with("ampere"), "{report}");
    let report = run(&[&["features", "--device", "model:ampere"][..], &instruction].concat());
    let alignment =
        report["tables"]["features"].as_array().unwrap().iter().find(|row| row["feature"] == "alignment").unwrap();
    assert_eq!(alignment["found"], "24 bits, RZ");
    assert!(alignment["operands"].as_str().unwrap().contains("a[0]") && alignment["d"].is_string(), "{report}");
}
