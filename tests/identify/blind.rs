//! Random arithmetics behind a device that says nothing of them.

use std::{fmt::Write as _, time::Instant};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tcnum::{
    Result,
    arithmetic::{Evaluator, Model},
    device::{Device, Execution, ExecutionKind, Identity},
    identify::{Identification, Plan, identify},
    inputs::Sequence,
    isa::{Codes, Instruction, Tiles},
};

use crate::arithmetics::{Arithmetic, arithmetics};

/// A device that computes as an evaluator does, and does not say how.
struct Hidden {
    identity: Identity,
    evaluator: Evaluator,
    arithmetic: Arithmetic,
}

impl Hidden {
    fn new(arithmetic: &Arithmetic) -> Hidden {
        let identity = Identity { name: "hidden".into(), description: "a black box".into(), details: Vec::new() };
        Hidden { identity, evaluator: arithmetic.evaluator(), arithmetic: arithmetic.clone() }
    }
}

impl Device for Hidden {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, _: &Instruction, tiles: &Tiles) -> Result<Codes> {
        Ok(self.evaluator.execute(tiles))
    }

    fn execute_part(&mut self, i: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let part = Instruction { m, n, ..i.clone() };
        let model = Model::parse(&self.arithmetic.text, "hidden.toml")?;
        Ok(model.evaluator(&part)?.execute(tiles))
    }
}

/// How many of the held-out cases the found rule answers otherwise.
fn held_out(found: &Identification, truth: &Evaluator, count: usize) -> usize {
    let i = truth.program().instruction.clone();
    let Ok(own) = Model::parse(&found.text(), "found.toml").and_then(|model| model.evaluator(&i)) else { return count };
    let sequence = Sequence::Random { seed: 99 };
    let tiles = count.div_ceil(i.m * i.n);
    (0..tiles)
        .step_by(64)
        .map(|first| {
            let tiles = sequence.tiles(&i, first as u64, 64.min(tiles - first));
            let (x, y) = (own.execute(&tiles), truth.execute(&tiles));
            (0..x.len()).filter(|at| x.get(*at) != y.get(*at)).count()
        })
        .sum()
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_SEED=N"]
fn random_arithmetics_are_recovered() {
    let number = |name: &str, default: usize| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (count, seed) = (number("TCNUM_BLIND", 20), number("TCNUM_BLIND_SEED", 0));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(seed as u64).to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let mut recovered = 0;
    for number in 0..count {
        let arithmetic = arithmetics().new_tree(&mut runner).unwrap().current();
        println!("{number} {}", arithmetic.instruction);
        let start = Instant::now();
        let mut device = Hidden::new(&arithmetic);
        let found =
            identify(&mut device, arithmetic.instruction, Plan { seed: 1, budget: 1 << 20, catalogue: true }).unwrap();
        let time = start.elapsed();
        let differ = held_out(&found, &device.evaluator, 100_000);
        recovered += usize::from(differ == 0);
        let step = arithmetic.text.lines().find(|line| line.starts_with("step")).unwrap_or("").to_string();
        let mut line = String::new();
        write!(
            line,
            "{number} {} {step}: misses {} of {}, held out {differ}, {} executions, {:.2} s",
            arithmetic.instruction,
            found.misses,
            found.asked.count(),
            found.executions,
            time.as_secs_f64()
        )
        .unwrap();
        println!("{line}");
        if differ > 0 {
            println!("--- hidden\n{}--- found\n{}", arithmetic.text, found.text());
        }
    }
    println!("recovered {recovered} of {count}");
}

#[test]
#[ignore = "a campaign"]
fn shipped_arithmetics_are_recovered_from_nothing() {
    let only = std::env::var("TCNUM_MODEL").ok();
    let (mut recovered, mut count) = (0, 0);
    for name in tcnum::arithmetic::shipped().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let model = Model::load(name).unwrap();
        let mut seen = Vec::new();
        for i in tcnum::isa::all() {
            let Some(rule) = model.rule(i) else { continue };
            let key = format!("{:?} {} {} {} {}", rule, i.a, i.b, i.d, i.k);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let text = model.text().to_string();
            let mut device = Hidden {
                identity: Identity { name: "hidden".into(), description: "a black box".into(), details: Vec::new() },
                evaluator: model.evaluator(i).unwrap(),
                arithmetic: Arithmetic { instruction: i, text },
            };
            let start = Instant::now();
            let found = identify(&mut device, i, Plan { seed: 1, budget: 1 << 20, catalogue: false }).unwrap();
            let time = start.elapsed();
            let differ = held_out(&found, &device.evaluator, 100_000);
            count += 1;
            recovered += usize::from(differ == 0);
            println!(
                "{name} {i}: misses {} of {}, held out {differ}, {} executions, {:.2} s",
                found.misses,
                found.asked.d.len(),
                found.executions,
                time.as_secs_f64()
            );
            if differ > 0 {
                println!("--- hidden\n{:?}\n--- found\n{}", model.rule(i).unwrap(), found.text());
            }
        }
    }
    println!("recovered {recovered} of {count}");
}
