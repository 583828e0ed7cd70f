//! Speed of the evaluators in dot-product-adds on Normal(0, 1) operands: the fast one on one core and on two, the
//! reference one on one core, and beside them the exact reference (the sum in integers, and its correct rounding).
//! The fast one runs on the adversarial operands of `tcnum verify` as well: many are infinite, NaN or subnormal.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tcnum::{
    arithmetic::{Evaluator, Model},
    exact::Dot,
    format::{Overflow, Rounding},
    inputs::{self, Distribution, Init, Op, RandomStream, stream},
    isa::{self, Case, Instruction, Tiles},
};

/// Dot-product-adds per measured step of the fast evaluator, at least.
const SAMPLES: usize = 1 << 18;
/// Dot-product-adds per measured step of the others.
const FEW: usize = 2048;

const INSTRUCTIONS: [&str; 9] = [
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "wgmma.m64n8k32.f32.e4m3.e4m3",
    "mma.m16n8k32.f32.e4m3.e4m3.f32",
    "mma.m8n8k4.f32.f16.f16.f32",
    "mma.m16n8k16.f64.f64.f64.f64",
    "mma.m16n8k32.s32.s8.s8.s32",
];

fn evaluator(criterion: &mut Criterion) {
    let model = Model::load("hopper").expect("the model is shipped");
    for name in INSTRUCTIONS {
        let instruction = isa::find(name).expect("the instruction table has it");
        let evaluator = model.evaluator(&instruction).expect("the model covers it");
        let source = RandomStream { seed: 1, stream: 0 };
        let draw =
            |samples| inputs::draw(&instruction, Op::Dot, Distribution::Normal, Init::Low, source, samples).tiles;
        let (few, many) = (draw(FEW), draw(SAMPLES));
        let count = |tiles: &Tiles| Throughput::Elements((tiles.count * instruction.m * instruction.n) as u64);
        let mut group = criterion.benchmark_group(name);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(15);
        group.throughput(count(&many));
        for cores in [1, 2] {
            group.bench_function(format!("fast, cores: {cores}"), |bencher| {
                pool(cores).install(|| bencher.iter(|| evaluator.execute(black_box(&many))));
            });
        }
        let adversarial = stream::tiles(&instruction, 1, 0, SAMPLES / (instruction.m * instruction.n));
        group.throughput(count(&adversarial));
        group.bench_function("fast, adversarial operands", |bencher| {
            pool(1).install(|| bencher.iter(|| evaluator.execute(black_box(&adversarial))));
        });
        group.throughput(count(&few));
        group.bench_function("reference", |bencher| bencher.iter(|| dots(&evaluator, &instruction, black_box(&few))));
        group.bench_function("exact", |bencher| bencher.iter(|| exact(&instruction, black_box(&few))));
        group.finish();
    }
}

fn pool(cores: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(cores).build().expect("threads")
}

fn cases<'a>(i: &'a Instruction, tiles: &'a Tiles) -> impl Iterator<Item = Case> + 'a {
    let each = i.m * i.n;
    (0..tiles.count * each).map(move |at| tiles.case(i, at / each, at / i.n % i.m, at % i.n))
}

/// Every element of D by the reference evaluator.
fn dots(evaluator: &Evaluator, i: &Instruction, tiles: &Tiles) {
    cases(i, tiles).for_each(|case| {
        black_box(evaluator.dot(&case));
    });
}

/// The exact sum of every element of D, rounded to nearest.
fn exact(i: &Instruction, tiles: &Tiles) {
    let mut exact = Dot::new(i.a, i.b, i.c, i.d, i.k);
    for Case { a, b, c, .. } in cases(i, tiles) {
        let sum = exact.sum(a.into_iter().zip(b), c);
        black_box(sum.round(i.d, Rounding::Rne, Overflow::Standard));
    }
}

criterion_group!(benches, evaluator);
criterion_main!(benches);
