//! Explanation of one case in an arithmetic, step by step.

use tcnum::{
    arithmetic::Model,
    isa::{self, Case},
};

fn main() -> tcnum::Result<()> {
    let instruction = isa::find("mma.m16n8k8.f32.f16.f16.f32")?;
    let evaluator = Model::load("ampere")?.evaluator(&instruction)?;
    let mut case = Case::zeros(&instruction);
    (case.a[0], case.b[0]) = (0x7bff, 0x7bff); // 65504 * 65504
    (case.a[1], case.b[1]) = (0x3c00, 0x3c01); // 1 * (1 + 2^-10)
    for line in evaluator.explain(&case).lines {
        println!("{:<20} {:e}", line.what, line.value.to_f64());
    }
    Ok(())
}
