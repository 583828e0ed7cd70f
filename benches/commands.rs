//! Start to finish of commands on the simulated Hopper, and of conversions of a file: a process each, its output thrown away.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use tcnum::format::find;
use tcnum_engine::array::{Array, Arrays};

/// Rows and columns of the file that is converted.
const SHAPE: [usize; 2] = [16384, 4096];

const COMMANDS: [&str; 6] = [
    "probe --fmt bf16 --op accumulate --device model:hopper",
    "probe --device model:hopper",
    "chain --device model:hopper",
    "instructions",
    "convert --to e4m3 --input FOLDER/in.npy --out FOLDER/out.npy",
    "convert --to mxfp4 --input FOLDER/in.npy --out FOLDER/out.safetensors",
];

fn commands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tcnum");
    group.sampling_mode(SamplingMode::Flat).sample_size(10).measurement_time(Duration::from_secs(2));
    let folder = tempfile::tempdir().expect("a folder");
    let values = (0..SHAPE.iter().product::<usize>()).flat_map(|i| (((i * 7919) % 4099) as f32 - 2049.5).to_le_bytes());
    let array = Array::of_codes("in", SHAPE.to_vec(), find("f32").expect("the table has it"), values.collect());
    Arrays { arrays: vec![array], ..Arrays::default() }
        .write(&folder.path().join("in.npy"))
        .expect("the file is written");
    for line in COMMANDS {
        let place = folder.path().to_string_lossy();
        let arguments: Vec<String> = line.split(' ').map(|word| word.replace("FOLDER", &place)).collect();
        group.bench_function(line, |bencher| {
            bencher.iter(|| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
                let status = command.args(&arguments).stdout(Stdio::null()).status().expect("tcnum starts");
                assert!(status.success(), "tcnum {line}: {status}");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, commands);
criterion_main!(benches);
