//! One dot-product-add in the arithmetic of several GPUs: 2^24 + 1 + 1 + 1 + 1 - 2^24 is 4, or less.

use tcnum::{
    arithmetic::Model,
    isa::{self, Case},
};

fn main() -> tcnum::Result<()> {
    let instruction = isa::find("mma.m16n8k16.f32.bf16.bf16.f32")?;
    let bf16 = |value: f32| u64::from(value.to_bits() >> 16);
    let mut case = Case::zeros(&instruction);
    for (at, value) in [16_777_216.0, 1.0, 1.0, 1.0, 1.0, -16_777_216.0].into_iter().enumerate() {
        (case.a[at], case.b[at]) = (bf16(value), bf16(1.0));
    }
    for model in ["ampere", "hopper"] {
        let evaluator = Model::load(model)?.evaluator(&instruction)?;
        println!("{model}: {}", f32::from_bits(evaluator.dot(&case) as u32));
    }
    Ok(())
}
