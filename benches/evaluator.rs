//! Speed of the reference evaluator on one core: dot-product-adds on Normal(0, 1) operands, beside the exact reference
//! (the sum in integers, and its correct rounding) on the same operands.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tcnum::{
    arithmetic::Model,
    exact::Dot,
    format::{Overflow, Rounding},
    inputs::{self, Distribution, Init, Op, Source},
    isa::{self, Case, Instruction, Tiles},
};

/// Dot-product-adds per measured step, at least.
const SAMPLES: usize = 2048;

const INSTRUCTIONS: [&str; 7] = [
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "wgmma.m64n8k32.f32.e4m3.e4m3",
    "mma.m16n8k16.f64.f64.f64.f64",
    "mma.m16n8k32.s32.s8.s8.s32",
];

fn evaluator(criterion: &mut Criterion) {
    let model = Model::load("hopper").expect("the model is shipped");
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    for name in INSTRUCTIONS {
        let instruction = isa::find(name).expect("the instruction table has it");
        let evaluator = model.evaluator(&instruction).expect("the model covers it");
        let source = Source { seed: 1, stream: 0 };
        let tiles = inputs::draw(&instruction, Op::Dot, Distribution::Normal, Init::Low, source, SAMPLES).tiles;
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements((tiles.count * instruction.m * instruction.n) as u64));
        group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(20);
        group.bench_function("reference evaluator", |bencher| {
            one_core.install(|| bencher.iter(|| evaluator.execute(black_box(&tiles))));
        });
        group.bench_function("exact reference", |bencher| bencher.iter(|| exact(&instruction, black_box(&tiles))));
        group.finish();
    }
}

/// The exact sum of every element of D, rounded to nearest.
fn exact(i: &Instruction, tiles: &Tiles) {
    let mut exact = Dot::new(i.a, i.b, i.c, i.d, i.k);
    for index in 0..tiles.count * i.m * i.n {
        let Case { a, b, c, .. } = tiles.case(i, index / (i.m * i.n), index / i.n % i.m, index % i.n);
        let sum = exact.sum(a.into_iter().zip(b), c);
        black_box(sum.round(i.d, Rounding::Rne, Overflow::Standard));
    }
}

criterion_group!(benches, evaluator);
criterion_main!(benches);
