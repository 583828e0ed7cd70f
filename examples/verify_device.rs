//! Comparison of a user's device, which adds in f32 one product after another, with a model.

use tcnum::{
    Result,
    arithmetic::Model,
    comparison::{Subject, operands},
    device::{Device, Execution, ExecutionKind, Identity},
    inputs::Sequence,
    isa::{self, Codes, Instruction, Tiles},
    verify,
};

struct Sequential(Identity);

impl Device for Sequential {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let mut d = Codes::zeros(i.d, tiles.count * i.m * i.n);
        for at in 0..d.len() {
            let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
            let value = |code: u64| i.a.to_f64(code) as f32;
            let products = case.a.iter().zip(&case.b).map(|(a, b)| value(*a) * value(*b));
            let sum = products.fold(f32::from_bits(case.c as u32), |sum, product| sum + product);
            d.set(at, sum.to_bits().into());
        }
        Ok(d)
    }
}

fn main() -> Result<()> {
    let identity = Identity::new("sequential", "f32, in order");
    let mut device = Sequential(identity);
    let instruction = isa::find("mma.m16n8k8.f32.bf16.bf16.f32")?;
    let model = Model::load("hopper")?;
    let state = verify::compare(&mut device, &model, &instruction, Sequence::Random { seed: 1 }, Some(10_000))?;
    println!("{} of {} outputs differ from {}", state.differing(), state.compared(), model.name);
    for kind in &state.kinds {
        println!(
            "{} of a kind, the simplest: {}",
            kind.count,
            operands(&Subject::Matrix(&instruction), &kind.original.case)
        );
    }
    Ok(())
}
