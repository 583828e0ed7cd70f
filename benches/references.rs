//! Speed of the two exact references: dot-product-adds, and their correct rounding.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tcnum::{
    exact::{Dot, mpfr},
    format::{Format, Overflow, Rounding, find},
};

/// Dot-product-adds per measured step.
const SAMPLES: usize = 256;

struct Sample {
    pairs: Vec<(u64, u64)>,
    c: u64,
}

/// Samples with operands uniform in [-1, 1).
fn samples(operand: &Format, c: &Format, k: usize) -> Vec<Sample> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut code = |format: &Format| {
        let value = random.random_range(-1.0..1.0);
        format.encode_f64(value, Rounding::Rne, Overflow::Standard).expect("formats with numbers below 1")
    };
    (0..SAMPLES)
        .map(|_| Sample { pairs: (0..k).map(|_| (code(operand), code(operand))).collect(), c: code(c) })
        .collect()
}

fn dot_product_adds(criterion: &mut Criterion) {
    for (a, c, k) in [("f16", "f32", 16), ("bf16", "f32", 16), ("e4m3", "f32", 32), ("f64", "f64", 4)] {
        let (a, c) = (find(a).expect("a format"), find(c).expect("a format"));
        let samples = samples(a, c, k);
        let mut group = criterion.benchmark_group(format!("{a} k={k}"));
        group.throughput(Throughput::Elements(SAMPLES as u64));
        group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
        let mut exact = Dot::new(a, a, c, c, k);
        group.bench_function("integer", |bencher| {
            bencher.iter(|| {
                for sample in &samples {
                    let sum = exact.sum(sample.pairs.iter().copied(), sample.c);
                    black_box(sum.round(c, Rounding::Rne, Overflow::Standard));
                }
            });
        });
        group.bench_function("integer, with its error", |bencher| {
            bencher.iter(|| {
                for sample in &samples {
                    let mut sum = exact.sum(sample.pairs.iter().copied(), sample.c);
                    let code = sum.round(c, Rounding::Rz, Overflow::Standard);
                    black_box(sum.deviation(c, code.expect("a number")));
                }
            });
        });
        let mut reference = mpfr::MpfrDot::new(a, a, c, k);
        group.bench_function("MPFR", |bencher| {
            bencher.iter(|| {
                for sample in &samples {
                    reference.sum(sample.pairs.iter().copied(), sample.c);
                    black_box(reference.round(c, Rounding::Rne, Overflow::Standard));
                }
            });
        });
    }
}

criterion_group!(benches, dot_product_adds);
criterion_main!(benches);
