//! Speed of the adversarial stream on one core: tiles made.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tcnum::{inputs::stream, isa};

const TILES: usize = 200;

const INSTRUCTIONS: [&str; 6] = [
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "mma.m16n8k32.f32.e4m3.e4m3.f32",
    "wgmma.m64n8k16.f32.bf16.bf16",
    "mma.m16n8k16.f64.f64.f64.f64",
    "mma.m16n8k32.s32.s8.s8.s32",
];

fn made(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stream");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(20);
    for name in INSTRUCTIONS {
        let i = isa::find(name).expect("the instruction table has it");
        group.throughput(Throughput::Elements((TILES * i.m * i.n) as u64));
        group.bench_function(name, |bencher| bencher.iter(|| stream::tiles(black_box(&i), 1, 0, TILES)));
    }
    group.finish();
}

criterion_group!(benches, made);
criterion_main!(benches);
