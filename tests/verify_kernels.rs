//! The kernels that verify whole sequences compile: model, operands, instruction and comparison, for the instructions of
//! every kind that the shipped models cover, and for random arithmetics. NVRTC alone does it; without it the tests say so
//! and pass.

#[allow(dead_code)] // operands are not needed here
mod arithmetics;

use std::sync::Mutex;

use arithmetics::arithmetics;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use rayon::prelude::*;
use tcnum::{
    arithmetic::Model,
    device::cuda::{arithmetic::is_fast, compile, verifier},
    inputs::Sequence,
    isa,
};

/// Random arithmetics whose kernels are compiled.
const GENERAL: usize = 16;

#[test]
fn every_verification_kernel_compiles() {
    let Ok(version) = compile::version() else {
        return println!("skipped: there is no NVRTC (tools/nvrtc installs it): {:?}", compile::version());
    };
    let model = Model::load("hopper").unwrap();
    let only = std::env::var("TCNUM_INSTRUCTIONS").unwrap_or_default();
    let covered = |i: &&isa::Instruction| {
        i.kernel.is_some()
            && i.support_on("sm_90a").is_some()
            && model.rule(i).is_some()
            && (only.is_empty() || i.name.contains(&only))
    };
    let instructions: Vec<_> = isa::all().iter().filter(covered).collect();
    assert!(!instructions.is_empty());
    let faults = Mutex::new(Vec::new());
    instructions.par_iter().for_each(|i| {
        let start = std::time::Instant::now();
        let evaluator = model.evaluator(i).unwrap();
        let outcome = match verifier(evaluator.plan(), Sequence::Random { seed: 1 }) {
            None => Err(tcnum::Error::request("there is no kernel")),
            Some(kernel) => {
                if let Ok(folder) = std::env::var("TCNUM_DUMP") {
                    std::fs::write(format!("{folder}/{}.cu", i.name), &kernel.source).unwrap();
                }
                compile::compile(&kernel.source, "sm_90a").map(|cubin| {
                    if let Ok(folder) = std::env::var("TCNUM_DUMP") {
                        std::fs::write(format!("{folder}/{}.cubin", i.name), &cubin).unwrap();
                    }
                })
            }
        };
        if let Err(error) = outcome {
            faults.lock().unwrap().push(format!("{i}: {error}"));
        } else {
            println!("{i}: {:.1} s", start.elapsed().as_secs_f64());
        }
    });
    let faults = faults.into_inner().unwrap();
    println!("{} kernels with NVRTC {version}", instructions.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn kernels_with_the_general_steps_compile() {
    let Ok(version) = compile::version() else {
        return println!("skipped: there is no NVRTC (tools/nvrtc installs it): {:?}", compile::version());
    };
    let mut runner = TestRunner::deterministic();
    let mut draw = || arithmetics().new_tree(&mut runner).unwrap().current();
    let drawn = std::iter::repeat_with(&mut draw)
        .filter(|drawn| drawn.instruction.support_on("sm_90a").is_some())
        .filter(|drawn| !is_fast(drawn.evaluator().plan()))
        .filter_map(|drawn| {
            verifier(drawn.evaluator().plan(), Sequence::Random { seed: 1 }).map(|kernel| (drawn, kernel))
        });
    let kernels: Vec<_> = drawn.take(GENERAL).collect();
    kernels.par_iter().for_each(|(drawn, kernel)| {
        compile::compile(&kernel.source, "sm_90a").unwrap_or_else(|error| panic!("{drawn:?}{error}"));
    });
    println!("{GENERAL} kernels with NVRTC {version}");
}
