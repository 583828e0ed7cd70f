//! What decided the keys of a rule, and what it is called.

use std::time::Duration;

use tcnum::{
    arithmetic::Model,
    identify::{self, Plan, Refuting, WORK, identify, tables::tested},
};

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
    let plan = Plan { seed: 1, budget: 20_000, time: Duration::MAX, catalogue: true, begun: Vec::new(), work: WORK };
    let mut found = identify(&mut device, i, plan).unwrap();
    let tested = tested(&found).unwrap().unwrap();
    let asked = identify::evidence(&found, &tested);
    let reduced = identify::reduced(&found, &tested, &asked);
    let mut evidence = asked.clone();
    let before = (device.executed, found.asked.d.len());
    identify::ask_reduced(&mut device, &mut found, &mut evidence, reduced, u64::MAX).unwrap();
    assert!(device.executed > before.0 && found.asked.d.len() > before.1);
    assert_eq!(found.misses, 0);
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
