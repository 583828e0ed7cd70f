//! The default run of `tcnum chain`: 1000 chains of 20 links on bf16, f16 and tf32, both initialisations, on the
//! simulated Hopper.

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use tcnum::{inputs::Init, isa};
use tcnum_engine::device::ModelDevice;
use tcnum_study::chain::{self, ChainRequest, MatrixScaling};

fn default_run(criterion: &mut Criterion) {
    let names = ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"];
    let instructions = names.map(|name| isa::find(name).expect("the instruction table has it"));
    let curves = instructions.into_iter().flat_map(|i| [(i.clone(), Init::Low), (i, Init::Fp32)]).collect();
    let plan = ChainRequest { curves, length: 20, chains: 1000, within: None, seed: 0, scaling: MatrixScaling::None };
    let mut device = ModelDevice::open("hopper").expect("the model is shipped");
    let mut group = criterion.benchmark_group("chain");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.bench_function("1000 chains of 20 links, bf16 f16 tf32", |bencher| {
        bencher.iter(|| chain::run(&mut device, &plan, &mut Vec::new(), &mut |_| ()).expect("a model does not fail"));
    });
    group.finish();
}

criterion_group!(benches, default_run);
criterion_main!(benches);
