//! Random arithmetics, and all shipped ones, behind a device that says nothing of them: campaigns.

use std::{env, time::Instant};

use proptest::strategy::{Strategy, ValueTree};
use tcnum::{
    arithmetic::{Model, shipped},
    identify::{Identification, Plan, identify},
    isa::Instruction,
};

use crate::{
    arithmetics::arithmetics,
    black_box::{BlackBox, held_out, runner},
    designs::design,
    shipped::distinct,
};

/// Identifies what a model hides, and prints how it went; whether it was recovered.
fn recovered(label: &str, model: &Model, i: &'static Instruction, catalogue: bool) -> bool {
    let start = Instant::now();
    let found = identify(
        &mut BlackBox::new(model),
        i,
        Plan { seed: 1, budget: 1 << 20, catalogue, also: Vec::new(), begun: Vec::new() },
    )
    .unwrap();
    let time = start.elapsed().as_secs_f64();
    let differ = held_out(&found, model, i, 1_000_000);
    let Identification { misses, executions, .. } = found;
    let asked = found.asked.d.len();
    println!("{label} {i}: misses {misses} of {asked}, held out {differ}, {executions} executions, {time:.2} s");
    if differ > 0 {
        println!("--- hidden\n{}\n--- found\n{}", model.text(), found.text());
    }
    differ == 0
}

/// The number in a variable of the environment.
fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_FIRST=NUMBER, TCNUM_BLIND_SEED=N"]
fn designs_are_recovered() {
    let (count, seed) = (number("TCNUM_BLIND", 20), number("TCNUM_BLIND_SEED", 0));
    let first = number("TCNUM_BLIND_FIRST", 0);
    let mut all = 0;
    for number in first..first + count {
        let design = design(seed, number);
        let model = Model::parse(&design.text, "hidden.toml").unwrap_or_else(|error| panic!("{error}\n{design:?}"));
        let kind = design.text.lines().find(|line| line.starts_with("step")).unwrap_or("tree").to_string();
        all += u64::from(recovered(&format!("{number} {kind}"), &model, design.instruction, false));
    }
    println!("recovered {all} of {count}");
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_FIRST=NUMBER, TCNUM_BLIND_SEED=N"]
fn random_arithmetics_are_recovered() {
    let (count, seed) = (number("TCNUM_BLIND", 20), number("TCNUM_BLIND_SEED", 0));
    let first = number("TCNUM_BLIND_FIRST", 0);
    let mut runner = runner(seed);
    let mut all = 0;
    for number in 0..first + count {
        let arithmetic = arithmetics().new_tree(&mut runner).unwrap().current();
        if number < first {
            continue;
        }
        let model = Model::parse(&arithmetic.text, "hidden.toml").unwrap();
        let step = arithmetic.text.lines().find(|line| line.starts_with("step")).unwrap_or("").to_string();
        all += u64::from(recovered(&format!("{number} {step}"), &model, arithmetic.instruction, false));
    }
    println!("recovered {all} of {count}");
}

#[test]
#[ignore = "a campaign: TCNUM_MODEL=NAME"]
fn shipped_arithmetics_are_recovered_from_nothing() {
    let only = env::var("TCNUM_MODEL").ok();
    let (mut all, mut count) = (0, 0);
    for name in shipped().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let model = Model::load(name).unwrap();
        for i in distinct(&model) {
            count += 1;
            all += usize::from(recovered(name, &model, i, false));
        }
    }
    println!("recovered {all} of {count}");
}
