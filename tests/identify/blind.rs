//! Random arithmetics behind a device that says nothing of them.

use std::{fmt::Write as _, time::Instant};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tcnum::{
    Result,
    arithmetic::Evaluator,
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
        let model = tcnum::arithmetic::Model::parse(&self.arithmetic.text, "hidden.toml")?;
        Ok(model.evaluator(&part)?.execute(tiles))
    }
}

/// How many of the held-out cases the found rule answers otherwise.
fn held_out(found: &Identification, truth: &Evaluator, count: usize) -> usize {
    let part = &found.instruction;
    let Ok(own) = found.model.evaluator(part) else { return count };
    let i = truth.program().instruction.clone();
    let sequence = Sequence::Random { seed: 99 };
    let mut differ = 0;
    let each = i.m * i.n;
    let model = &found.model;
    let whole = model.evaluator(&i).unwrap();
    let _ = own;
    for first in (0..count.div_ceil(each)).step_by(64) {
        let tiles = sequence.tiles(&i, first as u64, 64.min(count.div_ceil(each) - first));
        let (x, y) = (whole.execute(&tiles), truth.execute(&tiles));
        differ += (0..x.len()).filter(|at| x.get(*at) != y.get(*at)).count();
    }
    differ
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_SEED=N"]
fn random_arithmetics_are_recovered() {
    let number = |name: &str, default: usize| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (count, seed) = (number("TCNUM_BLIND", 20), number("TCNUM_BLIND_SEED", 0));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(seed as u64).to_le_bytes());
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let mut recovered = 0;
    for number in 0..count {
        let arithmetic = arithmetics().new_tree(&mut runner).unwrap().current();
        let start = Instant::now();
        let mut device = Hidden::new(&arithmetic);
        let found = identify(&mut device, arithmetic.instruction, Plan { seed: 1, budget: 1 << 20 }).unwrap();
        let time = start.elapsed();
        let differ = held_out(&found, &device.evaluator, 100_000);
        recovered += usize::from(differ == 0);
        let step = arithmetic.text.lines().find(|line| line.starts_with("step")).unwrap_or("").to_string();
        let mut line = String::new();
        write!(line, "{number} {} {step}: misses {} of {}, held out {differ}, {} executions, {:.2} s", arithmetic.instruction,
            found.misses, found.asked.count(), found.executions, time.as_secs_f64()).unwrap();
        println!("{line}");
        if differ > 0 {
            println!("--- hidden\n{}--- found\n{}", arithmetic.text, found.model.text());
        }
    }
    println!("recovered {recovered} of {count}");
}
