//! The kernels that verify whole sequences compile: model, operands, instruction and comparison, for the instructions of
//! every kind that the shipped models cover, and for random arithmetics. NVRTC alone does it; without it the tests say
//! that they are skipped.

use std::collections::HashSet;

use crate::{
    arithmetics::arithmetics,
    machine::{NO_NVRTC, Need, skip},
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use rayon::prelude::*;
use tcnum::{
    arithmetic::Model,
    inputs::Sequence,
    isa::{self, Instruction},
};
use tcnum_engine::device::cuda::{arithmetic::is_fast, compile, verifier};

/// Random arithmetics whose kernels are compiled.
const GENERAL: usize = 16;

/// The instructions of Hopper's model whose names contain `TCNUM_INSTRUCTIONS`; without it the first of each family for
/// each rule.
fn instructions(model: &Model) -> Vec<&'static Instruction> {
    let covered = |i: &&Instruction| i.kernel.is_some() && i.support_on("sm_90a").is_some() && model.rule(i).is_some();
    let all = isa::all().iter().filter(covered);
    match std::env::var("TCNUM_INSTRUCTIONS") {
        Ok(only) => all.filter(|i| i.name.contains(&only)).collect(),
        Err(_) => {
            let mut seen = HashSet::new();
            let kind = |i: &Instruction| (model.rule(i).map(|rule| &rule.instructions), i.family().to_string());
            all.filter(|i| seen.insert(kind(i))).collect()
        }
    }
}

#[test]
fn verification_kernels_of_every_kind_compile() {
    let Ok(version) = compile::version() else {
        return skip(Need::Nvrtc, NO_NVRTC);
    };
    let model = Model::load("hopper").unwrap();
    let instructions = instructions(&model);
    assert!(!instructions.is_empty());
    instructions.par_iter().for_each(|i| {
        let evaluator = model.evaluator(i).unwrap();
        let kernel = verifier(evaluator.program(), Sequence::Random { seed: 1 }).expect("there is a kernel");
        let cubin = compile::compile(&kernel.source, "sm_90a").unwrap_or_else(|error| panic!("{i}: {error}"));
        // To look at, and to disassemble.
        if let Ok(folder) = std::env::var("TCNUM_DUMP") {
            std::fs::write(format!("{folder}/{i}.cu"), &kernel.source).unwrap();
            std::fs::write(format!("{folder}/{i}.cubin"), &cubin).unwrap();
        }
    });
    println!("{} kernels with NVRTC {version}", instructions.len());
}

/// Wider forms are executed tile by tile instead.
#[test]
fn every_listed_instruction_has_a_verification_kernel_and_the_widest_have_none() {
    let model = Model::load("hopper").unwrap();
    let kernel = |i: &Instruction| verifier(model.evaluator(i).unwrap().program(), Sequence::Random { seed: 1 });
    for i in isa::all().iter().filter(|i| i.kernel.is_some() && i.support_on("sm_90a").is_some()) {
        assert!(kernel(i).is_some(), "{i}");
    }
    assert!(kernel(&isa::find("wgmma.m64n256k16.f32.f16.f16").unwrap()).is_none());
}

#[test]
fn kernels_with_the_general_steps_compile() {
    let Ok(version) = compile::version() else {
        return skip(Need::Nvrtc, NO_NVRTC);
    };
    let mut runner = TestRunner::deterministic();
    let mut draw = || arithmetics().new_tree(&mut runner).unwrap().current();
    let drawn = std::iter::repeat_with(&mut draw)
        .filter(|drawn| drawn.instruction.support_on("sm_90a").is_some())
        .filter(|drawn| !is_fast(drawn.evaluator().program()))
        .filter_map(|drawn| {
            verifier(drawn.evaluator().program(), Sequence::Random { seed: 1 }).map(|kernel| (drawn, kernel))
        });
    let kernels: Vec<_> = drawn.take(GENERAL).collect();
    kernels.par_iter().for_each(|(drawn, kernel)| {
        compile::compile(&kernel.source, "sm_90a").unwrap_or_else(|error| panic!("{drawn:?}{error}"));
    });
    println!("{GENERAL} kernels with NVRTC {version}");
}
