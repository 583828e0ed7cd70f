//! Bounds against errors of the arithmetic itself.

use rug::Float;

use super::{Adversary, attained, tables};
use crate::{
    arithmetic::{Model, shipped},
    inputs::Sequence,
    isa::{self, Case},
    product::{
        Schedule,
        bound::{Claim, InstructionBounds, OrderFreeBounds},
    },
};

/// The largest error over its bound, of `tiles` tiles of directed operands; panics where an error is above its bound.
fn tightest(model: &Model, instruction: &isa::Instruction, tiles: usize, seed: u64) -> Option<f64> {
    let i = instruction;
    let bounds = InstructionBounds::new(model, i).ok()?;
    let evaluator = model.evaluator(i).unwrap();
    let drawn = Sequence::Random { seed }.tiles(i, 0, tiles);
    let mut most = 0.0f64;
    for at in 0..tiles {
        for (row, column) in [(0, 0), (i.m - 1, i.n - 1), (i.m / 2, i.n / 2)] {
            let case = drawn.case(i, at, row, column);
            let Some(bound) = bounds.of(&case).map(|bound| bound.worst()) else { continue };
            if !bound.is_finite() {
                continue;
            }
            let d = evaluator.dot(&case);
            let error = error(i, &case, d);
            assert!(error <= bound, "{} {i}: {error:e}, bound {bound:e}, {case:?}", model.name);
            if bound > 0.0 {
                most = most.max(error / bound);
            }
        }
    }
    Some(most)
}

/// |d - exact| of finite operands, to nearest.
fn error(i: &isa::Instruction, case: &Case, d: u64) -> f64 {
    let mut sum = Float::with_val(3000, i.c.to_f64(case.c));
    for (k, a) in case.a.iter().enumerate() {
        let at = case.logical(i, k);
        let mut product = Float::with_val(3000, i.a.to_f64(*a)) * i.b.to_f64(case.b[at]);
        if let Some(scale) = i.scale {
            product *= scale.format.to_f64(case.scale_a[at / scale.block]);
            product *= scale.format.to_f64(case.scale_b[at / scale.block]);
        }
        sum += product;
    }
    (sum - i.d.to_f64(d)).abs().to_f64()
}

#[test]
fn constructed_operands_reach_half_of_the_bounds_of_usual_schedules_and_never_more_than_all() {
    let cases = [
        ("hopper", "wgmma.m64n8k16.f32.f16.f16", None),
        ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3", None),
        ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3", Some(128)),
        ("hopper", "mma.m16n8k16.f16.f16.f16.f16", None),
        ("ampere", "mma.m16n8k8.f32.bf16.bf16.f32", None),
        ("volta", "mma.m8n8k4.f32.f16.f16.f32", None),
        ("blackwell", "tcgen05.m128n16k32.f32.e4m3.e4m3.f32", None),
        ("hopper", "mma.m8n8k4.f64.f64.f64.f64", None),
    ];
    for (model, instruction, promote) in cases {
        let mut schedule = Schedule::new(isa::resolve(instruction).unwrap()).unwrap();
        schedule.promote = promote;
        let claim = Claim::of_schedule(Model::load(model).unwrap(), schedule.clone());
        for k in [schedule.instruction.k, 256] {
            let bound = tables::relative(&OrderFreeBounds::new(&claim.model, &schedule, k).unwrap()).worst();
            let largest = Adversary::new(&claim, &schedule).largest(k).unwrap().unwrap_or(0.0);
            assert!(
                largest <= bound && largest >= bound / 2.0,
                "{model} {instruction} k {k}: {largest:e} of {bound:e}"
            );
        }
    }
}

#[test]
fn no_error_is_above_its_bound() {
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for instruction in isa::all().iter().filter(|i| model.evaluator(i).is_ok()) {
            if let Some(most) = tightest(&model, instruction, 12, 2611) {
                println!("{name:<14} {instruction:<50} {most:.3}");
            }
        }
    }
}

#[test]
fn constructed_operands_of_one_step_nearly_reach_its_bound_and_never_exceed_it() {
    let cases = [
        ("volta", "mma.m8n8k4.f32.f16.f16.f32"),
        ("ada", "mma.m16n8k16.f32.e4m3.e4m3.f32"),
        ("cdna2", "mfma.32x32x8.f32.f16.f16.f32"),
        ("rdna4", "vwmma.16x16x16.f32.f16.f16.f32"),
        ("arm", "bfmmla.m2n2k4.f32.bf16.bf16.f32"),
        ("riscv", "vfwbdota.m1n8k8.f32.bf16.bf16.f32"),
    ];
    for (model, instruction) in cases {
        let (model, i) = (Model::load(model).unwrap(), isa::resolve(instruction).unwrap());
        let bound = InstructionBounds::new(&model, &i).unwrap().of_magnitudes(1.0).finite();
        let attained = attained(&model, &i).unwrap().unwrap();
        // The sum of magnitudes is a little above a power of two: the bound is largest at that power.
        assert!(
            attained.relative <= bound && attained.relative >= 0.7 * bound,
            "{} {i}: {:e} of {bound:e}",
            model.name,
            attained.relative
        );
    }
}

#[test]
fn a_sum_that_overflows_in_a_group_has_no_bound_where_later_groups_cancel_it() {
    let model = Model::load("cdna4").unwrap();
    let i = isa::resolve("mfma.32x32x64.f32.e2m1.e2m1.f32.ue8m0.block32").unwrap();
    assert!(tightest(&model, &i, 25, 77).is_some());
}
