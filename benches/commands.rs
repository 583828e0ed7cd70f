//! Start to finish of commands on the simulated Hopper: a process each, its output thrown away.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};

const COMMANDS: [&str; 4] = [
    "probe --fmt bf16 --op accumulate --device model:hopper",
    "probe --device model:hopper",
    "chain --device model:hopper",
    "instructions",
];

fn commands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tcnum");
    group.sampling_mode(SamplingMode::Flat).sample_size(10).measurement_time(Duration::from_secs(2));
    for line in COMMANDS {
        group.bench_function(line, |bencher| {
            bencher.iter(|| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
                let status = command.args(line.split(' ')).stdout(Stdio::null()).status().expect("tcnum starts");
                assert!(status.success(), "tcnum {line}: {status}");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, commands);
criterion_main!(benches);
