//! The answer in sentences: which rule, the nearest shipped one, and what a rule misses.

use serde_json::Value;
use tcnum::{arithmetic::Model, isa::Instruction};
use tcnum_engine::{
    comparison::Nans,
    device::DeviceName,
    distinction::{DevicePair, SearchLimits},
    report::Report,
};
use tcnum_study::{
    distinguish,
    identify::{Limits, Request, Session, Study, causes, tables},
};

use crate::{
    black_box::BlackBox,
    machine::has_python,
    program::{tcnum, validate_report},
    shipped::listed,
};

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

/// A shipped model with other text.
fn changed(model: &str, from: &str, to: &str) -> Model {
    let text = std::fs::read_to_string(format!("{}/models/{model}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert!(text.contains(from), "{from}");
    Model::parse(&text.replace(from, to), "changed.toml").unwrap()
}

/// The report of what is found of a device.
fn reported(device: &mut BlackBox, i: &Instruction) -> Report {
    let limits = Limits { cases: 20_000, ..Limits::of(device, None, Some(20_000)) };
    let request = Request {
        seed: 1,
        catalogue: true,
        nans: Nans::ByCode,
        limits,
        date: None,
        skip_lacking: false,
        withheld: Vec::new(),
    };
    let mut study = Study::default();
    Session::new(device, &request, &mut |_| ()).identify(std::slice::from_ref(i), &mut study).unwrap();
    let mut report = Report::new("identify", "");
    tables::report(&study, "the unit", &mut report).unwrap();
    report
}

#[test]
fn a_unit_that_is_near_a_shipped_one_is_said_to_differ_from_it_in_properties() {
    let from =
        "alignment = { bits = 25, rounding = \"RZ\", floor = -133 }\nresult = { format = \"f32\", rounding = \"RZ\"";
    let to = "alignment = { bits = 23, rounding = \"RZ\", sticky = true, floor = -133 }\nresult = { format = \"f32\", rounding = \"RNE\"";
    let model = changed("hopper", from, to);
    let report = reported(&mut BlackBox::new(&model), listed(BF16));
    let answer = report.answer.unwrap();
    assert!(
        answer.starts_with("The unit computes mma.m16n8k16.f32.bf16.bf16.f32: 16 products and c in one sum, "),
        "{answer}"
    );
    assert!(answer.contains("cut at 23 bits RZ, sticky"), "{answer}");
    let nearest = "Nearest shipped rule: hopper, from which it differs in width, stickiness and rounding of sums.";
    assert!(answer.contains(nearest), "{answer}");
}

#[test]
fn where_every_finite_result_agrees_the_answer_says_so() {
    let model = Model::load("hopper").unwrap();
    // Every other infinity is another code of NaN, which no rule says.
    let mut device = BlackBox::with_fault(&model, |i, tiles, _, answers| {
        for at in 0..answers.len() {
            let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
            if answers.get(at) == 0x7f80_0000 && case.c & 1 == 0 {
                answers.set(at, 0x7fff_ffff);
            }
        }
        Ok(())
    });
    let report = reported(&mut device, listed(BF16));
    let answer = report.answer.unwrap();
    assert!(answer.contains(" Every finite result agrees; "), "{answer}");
    assert!(answer.contains(" infinities and NaNs differ."), "{answer}");
    assert!(answer.contains(" missed outputs have "), "{answer}");
}

#[test]
fn devices_that_differ_have_a_cause_in_the_words_of_models() {
    let i = listed(BF16);
    let devices: [Box<dyn tcnum_engine::device::Device>; 2] =
        ["ampere", "hopper"].map(|model| Box::new(BlackBox::new(&Model::load(model).unwrap())) as _);
    let names = ["exec:a", "exec:b"].map(DeviceName::from);
    let mut pair = DevicePair { names, devices, instructions: vec![[i.clone(), i.clone()]] };
    let (limits, mut distinctions) = (SearchLimits::new(Some(20_000), None), Vec::new());
    pair.distinguish(&limits, &mut |_| (), &mut distinctions).unwrap();
    causes(&mut pair, 0, &mut |_| (), &mut distinctions).unwrap();
    let mut report = Report::new("distinguish", "");
    distinguish::tables::report(&distinctions, &mut report);
    let answer = report.answer.clone().unwrap();
    assert!(answer.contains("Fraction bits kept by the alignment: 24 in exec:a, 25 in exec:b."), "{answer}");
    let cause = distinctions[0].cause.as_ref().unwrap();
    let keys: Vec<&str> = cause.reasons.iter().flat_map(|reason| &reason.keys).map(|(key, _)| &key[..]).collect();
    assert!(keys.contains(&"alignment.bits") && keys.contains(&"group"), "{keys:?}");
    assert_eq!(cause.nearest, [None, None]);
}

#[test]
fn programs_that_differ_have_a_cause_and_a_nearest_rule_is_called_so() {
    if !has_python() {
        return;
    }
    let program = format!("exec:python3 {}/tests/exec/hopper.py", env!("CARGO_MANIFEST_DIR"));
    let i = "mma.m8n8k16.s32.s8.s8.s32";
    let compared = |x: &str, y: &str| {
        let run = tcnum(&["distinguish", x, y, "--cases", "5000", "--output", "json", "-q"]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        validate_report(&run.stdout)
    };
    let rows = |report: &Value| report["tables"]["reasons"].as_array().unwrap().clone();
    let report = compared(&format!("{program}/{i}"), &format!("{program}/{i}.satfinite"));
    let cause = rows(&report).into_iter().find(|row| row["verdict"] == "identified").unwrap();
    assert_eq!((&cause["x_value"], &cause["y_value"]), (&"wrap".into(), &"saturate".into()));
    assert!(report["answer"].as_str().unwrap().contains("wrap in "), "{report}");
    let report = compared(&format!("{program} --fault jammed/{i}"), &format!("model:hopper/{i}.satfinite"));
    let row = rows(&report).into_iter().find(|row| row["verdict"] == "nearest rules").unwrap();
    assert_eq!(row["key"][0], "wrap");
    assert!(report["answer"].as_str().unwrap().contains("The nearest rules differ. "), "{report}");
    assert!(report["notes"].to_string().contains("is only the nearest: it misses "), "{report}");
}
