//! Conversions of slices on one thread, in GB of `f32` a second: those of this crate, and in the same run those that
//! Python programs have (`slices.py`: numpy with ml_dtypes, and what quantises blocks).

mod rates;

use std::{hint::black_box, process::Command, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rates::Rates;
use rayon::ThreadPoolBuilder;
use tcnum::{
    format::block::{self, Quantizer},
    format::slices::{Code, Decoder, Encoder},
    format::{self, Overflow, Rounding},
};

/// Values that are converted at a time.
const COUNT: usize = 1 << 20;
/// Values in a row of a tensor of blocks.
const ROW: usize = 4096;
const GIGABYTES: f64 = 4e-9 * COUNT as f64;

/// Standard normal values.
fn values() -> Vec<f32> {
    let random = ChaCha8Rng::seed_from_u64(1);
    StandardNormal.sample_iter(random).take(COUNT).collect()
}

fn both_ways<C: Code>(criterion: &mut Criterion, rates: &mut Rates, name: &str, values: &[f32]) {
    let format = format::find(name).expect("the table has it");
    let encoder = Encoder::<C>::new(format, Rounding::Rne, Overflow::Standard).expect("it fits");
    let decoder = Decoder::<C>::new(format).expect("it fits");
    let mut codes = vec![C::default(); COUNT];
    let mut back = vec![0.0; COUNT];
    let row = format!("f32 to {name}");
    measure(criterion, rates, &row, || {
        black_box(encoder.encode(black_box(values), black_box(&mut codes)));
    });
    measure(criterion, rates, &format!("{name} to f32"), || {
        decoder.decode(black_box(&codes), black_box(&mut back));
    });
}

fn measure(criterion: &mut Criterion, rates: &mut Rates, row: &str, task: impl FnMut()) {
    let mut group = criterion.benchmark_group(row);
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600)).sample_size(20);
    rates.measure(&mut group, row, "tcnum", GIGABYTES, task);
    group.finish();
}

/// Adds what Python programs reach; of several for one task, the fastest.
fn python(rates: &mut Rates) {
    let interpreter = std::env::var("TCNUM_PYTHON").unwrap_or_else(|_| "python3".to_string());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/slices.py");
    let output = match Command::new(&interpreter).args([script, &COUNT.to_string()]).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("Python is left out: {interpreter}: {error} (TCNUM_PYTHON names another)"),
    };
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        eprintln!("Python is left out, at least in part: {interpreter} needs numpy and ml_dtypes");
    }
    let mut fastest = std::collections::BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let [task, program, rate] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let rate: f64 = rate.parse().expect("a rate");
        println!("{task:<16} {program:<24} {rate:.4} GB/s");
        let best = fastest.entry(task.to_string()).or_insert(0.0f64);
        *best = best.max(rate);
    }
    fastest.iter().for_each(|(task, rate)| rates.insert(task, "Python", *rate));
}

fn slices(criterion: &mut Criterion) {
    let mut rates = Rates::default();
    let values = values();
    for name in ["e4m3", "e5m2", "e3m2", "e2m1"] {
        both_ways::<u8>(criterion, &mut rates, name, &values);
    }
    for name in ["bf16", "f16"] {
        both_ways::<u16>(criterion, &mut rates, name, &values);
    }
    let alone = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    for name in ["mxfp4", "nvfp4", "mxfp8-e4m3", "mxfp6-e2m3", "mxint8", "q8-0", "q4-0"] {
        let quantizer = Quantizer::new(block::find(name).expect("the table has it"));
        let blocks = quantizer.quantize(&values, ROW);
        measure(criterion, &mut rates, &format!("f32 to {name}"), || {
            black_box(alone.install(|| quantizer.quantize(black_box(&values), ROW)));
        });
        measure(criterion, &mut rates, &format!("{name} to f32"), || {
            black_box(alone.install(|| black_box(&blocks).dequantize()));
        });
    }
    python(&mut rates);
    rates.print("GB of f32 a second (and how many times as fast tcnum is)");
}

criterion_group!(benches, slices);
criterion_main!(benches);
