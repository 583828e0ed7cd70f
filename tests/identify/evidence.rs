//! What decided the keys of a rule, and what it is called.

use std::time::Duration;

use tcnum::{arithmetic::Model, inputs::Sequence};
use tcnum_engine::rule::{Decision, summaries};
use tcnum_study::identify::{self, Limits, Plan, Refuting, Request, Session, Study, WORK, identify, tables::tested};

use crate::{
    black_box::BlackBox,
    machine::amount,
    program::{tcnum, validate_report},
    shipped::listed,
};

#[test]
fn inputs_that_decide_keys_are_reduced_and_answered_by_the_device() {
    let (model, i) = (Model::load("hopper").unwrap(), listed("mma.m16n8k8.f16.f16.f16.f16"));
    let mut device = BlackBox::new(&model);
    let plan = Plan {
        seed: 1,
        budget: 20_000,
        time: Duration::MAX,
        catalogue: true,
        found_rules: Vec::new(),
        withheld: Vec::new(),
        work: WORK,
    };
    let mut identification = identify(&mut device, i, plan).unwrap();
    let tested = tested(&identification).unwrap().unwrap();
    let asked = identify::evidence(&identification, &tested);
    let reduced = identify::reduced(&identification, &tested, &asked);
    let mut evidence = asked.clone();
    let before = (device.executed, identification.asked.d.len());
    identify::ask_reduced(&mut device, &mut identification, &mut evidence, reduced, u64::MAX).unwrap();
    assert!(device.executed > before.0 && identification.asked.d.len() > before.1);
    assert_eq!(identification.misses, 0);
    let truth = model.evaluator(i).unwrap();
    let terms = |refuting: &Refuting| {
        let case = &refuting.case;
        case.a.iter().zip(&case.b).filter(|(a, b)| **a != 0 && **b != 0).count() + usize::from(case.c != 0)
    };
    assert!(evidence.iter().any(|refuting| refuting.change.key == "alignment.bits"));
    for (refuting, asked) in evidence.iter().zip(&asked) {
        let what = format!("{}: {refuting:?}", refuting.change.key);
        assert_eq!(refuting.answer, truth.dot(&refuting.case), "{what}");
        let other = tested.rule.model(Some(&refuting.change)).unwrap().evaluator(i).unwrap();
        assert_ne!(refuting.answer, other.dot(&refuting.case), "{what}");
        assert!(terms(refuting) <= terms(asked).min(4), "{what}");
    }
}

#[test]
fn the_model_of_the_generation_of_a_device_is_named_before_others_with_the_same_arithmetic() {
    // All of these have one arithmetic of it.
    let instruction = "mma.m16n8k16.f32.bf16.bf16.f32";
    for model in ["blackwell", "hopper", "blackwell-rtx"].into_iter().take(amount(1, 3)) {
        let device = format!("model:{model}");
        let chosen = ["identify", "--instr", instruction, "--device", &device, "--output", "json", "-q"];
        let run = tcnum(&[&chosen[..], &["--cases", "1e4"]].concat());
        assert_eq!(run.status, 0, "{model}: {}", run.stderr);
        assert_eq!(validate_report(&run.stdout)["tables"]["identified"][0]["like"], format!("as {model}"));
        let run = tcnum(&[&chosen[..], &["--quick"]].concat());
        assert_eq!(run.status, 0, "{model}: {}", run.stderr);
        let arithmetic = &validate_report(&run.stdout)["tables"]["fingerprints"][0]["arithmetic"];
        let names: Vec<&str> = arithmetic.as_str().unwrap().split(", ").collect();
        assert!(names[0] == model && names.len() > 1, "{model}: {names:?}");
    }
}

/// A unit that takes infinities from the operands and saturates is one of steps that saturate finite sums: two keys differ.
#[test]
fn a_key_that_only_changes_with_another_one_is_open_in_a_pair() {
    let text = "name = 'unit'\ntitle = 'a unit'\nversion = 1\n[[rule]]\ninstructions = ['mma.m16n8k8.f32.bf16.bf16.f32']\n\
                evidence = [{ assumed = 'a test' }]\nstep = 'fused'\nalignment = { bits = 24, rounding = 'RZ' }\n\
                specials = 'operands'\nnan = '0x7fffffff'\n\
                result = { format = 'f32', rounding = 'RNE', overflow = 'saturate' }\n";
    let mut device = BlackBox::new(&Model::parse(text, "unit.toml").unwrap());
    let request = Request { limits: Limits::of(&device, None, Some(1000)), ..Request::new(&device) };
    let mut study = Study::default();
    let i = listed("mma.m16n8k8.f32.bf16.bf16.f32");
    Session::new(&mut device, &request, &mut |_| ()).identify(std::slice::from_ref(i), &mut study).unwrap();
    let tested = study.findings[0].tested.as_ref().expect("a rule agrees");
    let summaries = summaries(tested);
    let overflow = summaries.iter().find(|summary| summary.key == "result.overflow").unwrap();
    assert_eq!(overflow.decision, Decision::OpenInPair, "{overflow:?}");
    let values = ["saturate", "saturate-finite"];
    assert!(
        values.contains(&overflow.value.as_str())
            && overflow.pairs[0].values == [values[usize::from(overflow.value == values[0])]]
    );
    assert_eq!(overflow.pairs[0].with.0, "specials");
    assert!(summaries.iter().all(|summary| summary.key != "specials" || summary.decision != Decision::Decided));
}

#[test]
fn rules_that_few_answers_leave_open_are_asked_of_the_device() {
    let (model, i) = (Model::load("hopper").unwrap(), listed("mma.m16n8k8.f16.f16.f16.f16"));
    let mut device = BlackBox::new(&model);
    let plan = Plan {
        seed: 1,
        budget: 6,
        time: Duration::MAX,
        catalogue: true,
        found_rules: Vec::new(),
        withheld: Vec::new(),
        work: WORK,
    };
    let mut identification = identify(&mut device, i, plan).unwrap();
    let mut tested = tested(&identification).unwrap().unwrap();
    let part = identification.asked.part();
    let before = (tested.survivors(&part).len(), identification.asked.count());
    identify::ask_open(&mut device, &mut identification, &mut tested, 0, u64::MAX).unwrap();
    let open = tested.survivors(&part);
    assert!(open.len() < before.0 && identification.asked.count() > before.1, "{before:?}, {:?}", tested.pairs);
    assert_eq!(identification.misses, 0);
    // No rule that is left differs from the device on tiles that no one has seen.
    let tiles = Sequence::Random { seed: 5 }.tiles(&part, 0, 64);
    let given = model.evaluator(&part).unwrap().execute(&tiles);
    for other in open {
        assert_eq!(other.evaluator.execute(&tiles).as_bytes(), given.as_bytes(), "{:?}", other.changes);
    }
}
