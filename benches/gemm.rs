//! Speed of matrix products in dot-product-adds, beside the evaluator on tiles of the instruction's own shape, which is what a
//! product is made of, and beside a plain loop of f32 multiply-adds (as many dot-product-adds of the same k).

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ndarray::Array2;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tcnum::{
    arithmetic::Model,
    format::{self, Overflow, Rounding},
    inputs::{self, Distribution, Init, Op, RandomStream},
    isa,
};
use tcnum_engine::{
    device::ModelDevice,
    product::NumberMatrix,
    product::{self, Executor, Factors, Matrix, Schedule, bound::Claim},
    scheme::{self, Scheme, SchemeUnit},
};
use tcnum_study::check::{self, CheckRequest};

/// Rows and columns of the products.
const SIDE: usize = 256;
/// Their terms.
const K: usize = 1024;

/// Instructions of Hopper, and after how many k their sums are promoted.
const PRODUCTS: [(&str, Option<usize>); 5] = [
    ("mma.m16n8k16.f32.f16.f16.f32", None),
    ("mma.m16n8k16.f32.bf16.bf16.f32", None),
    ("mma.m16n8k8.f32.tf32.tf32.f32", None),
    ("wgmma.m64n8k32.f32.e4m3.e4m3", None),
    ("wgmma.m64n8k32.f32.e4m3.e4m3", Some(128)),
];

fn products(criterion: &mut Criterion) {
    for (name, promote) in PRODUCTS {
        let mut schedule = Schedule::new(isa::find(name).expect("the instruction table has it")).expect("it is dense");
        schedule.promote = promote;
        let i = schedule.instruction.clone();
        let source = RandomStream { seed: 1, stream: 0 };
        let draw = |samples| inputs::draw(&i, Op::Dot, Distribution::Normal, Init::Low, source, samples).tiles;
        let codes = draw(SIDE * K / i.k);
        let matrix = |rows, columns, format| {
            let code = |at: usize| codes.a.get(at % codes.a.len());
            Matrix::of_values(rows, columns, format, &(0..rows * columns).map(code).collect::<Vec<_>>())
        };
        let factors = Factors::new(matrix(SIDE, K, i.a), matrix(K, SIDE, i.b));
        let mut group = criterion.benchmark_group(match promote {
            Some(promote) => format!("{name}, promoted every {promote}"),
            None => name.to_string(),
        });
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2)).sample_size(10);
        group.throughput(Throughput::Elements((SIDE * SIDE * K / i.k) as u64));
        for cores in [1, 2] {
            group.bench_function(format!("product, cores: {cores}"), |bencher| {
                pool(cores).install(|| {
                    let mut device = ModelDevice::open("hopper").expect("the model is shipped");
                    let mut executor = Executor::of(&mut device, &schedule, SIDE, SIDE).expect("the model covers it");
                    let mut compute =
                        || product::compute(&schedule, &mut executor, &factors, &|_| ()).expect("the operands fit");
                    bencher.iter(|| black_box(compute()));
                });
            });
        }
        group.bench_function("multiply-adds in f32, cores: 1", |bencher| {
            let [a, b] = [&factors.a, &factors.b].map(values);
            bencher.iter(|| multiply_adds(black_box(&a), black_box(&b)));
        });
        let evaluator = Model::load("hopper").and_then(|model| model.evaluator(&i)).expect("the model covers it");
        let many = draw(1 << 17);
        group.throughput(Throughput::Elements((many.count * i.m * i.n) as u64));
        group.bench_function("tiles, cores: 1", |bencher| bencher.iter(|| evaluator.execute_here(black_box(&many))));
        group.finish();
    }
}

/// A product of 1024 x 1024 x 1024 in f64 by 14 moduli, whose integers a model multiplies.
fn emulated(criterion: &mut Criterion) {
    const SIDE: usize = 1024;
    let value = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64 as f64 * 2f64.powi(-63);
    let matrix = |from: usize| NumberMatrix {
        rows: SIDE,
        columns: SIDE,
        values: (from..from + SIDE * SIDE).map(value).collect(),
    };
    let (a, b) = (matrix(0), matrix(1 << 30));
    let mut group = criterion.benchmark_group("emulated f64");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.throughput(Throughput::Elements((SIDE * SIDE * SIDE) as u64));
    for name in ["crt-int8-f64:14", "ozaki-int8-f64:8"] {
        let scheme = Scheme::find(name).expect("it is shipped");
        for cores in [1, 2] {
            group.bench_function(format!("{name}, cores: {cores}"), |bencher| {
                pool(cores).install(|| {
                    let mut device = ModelDevice::open("hopper").expect("the model is shipped");
                    let unit = SchemeUnit::of(&scheme, &mut device, None).expect("the model covers it");
                    let mut compute = || scheme::product(&scheme, &unit, &mut device, &a, &b).expect("they fit");
                    bencher.iter(|| black_box(compute()));
                });
            });
        }
    }
    group.finish();
}

/// The check of a product of f16 in f32, beside the two products in f32 by a library that it needs at least.
fn checked(criterion: &mut Criterion) {
    const SIDE: usize = 1024;
    let half = format::find("f16").expect("a format of the table");
    let numbers = |seed: u64| -> Vec<f32> {
        (0..SIDE * SIDE).map(|at| (inputs::random(seed, at as u64) % 2048) as f32 / 1024.0 - 1.0).collect()
    };
    let matrix = |numbers: &[f32]| {
        let code = |x: &f32| half.encode_f64((*x).into(), Rounding::Rne, Overflow::Standard).expect("a number");
        Matrix::of_values(SIDE, SIDE, half, &numbers.iter().map(code).collect::<Vec<_>>())
    };
    let (x, y) = (numbers(1), numbers(2));
    let [a, b] = [&x, &y].map(|values| Array2::from_shape_vec((SIDE, SIDE), values.clone()).expect("a square"));
    let single = format::find("f32").expect("a format of the table");
    let codes: Vec<u64> = a.dot(&b).iter().map(|d| d.to_bits().into()).collect();
    let d = Matrix::of_values(SIDE, SIDE, single, &codes);
    let factors = Factors::new(matrix(&x), matrix(&y));
    let model = Model::load("hopper").expect("the model is shipped");
    let claim = Claim::of_generation(model, [half, half, single], None).expect("the model has instructions");
    let mut group = criterion.benchmark_group("check of f16 in f32");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements((SIDE * SIDE * SIDE) as u64));
    for cores in [1, 2] {
        group.bench_function(format!("every element by bound, 2000 in full, cores: {cores}"), |bencher| {
            pool(cores).install(|| {
                let request = CheckRequest { claim: &claim, factors: &factors, d: &d, sample: 2000, criteria: &[] };
                bencher.iter(|| black_box(check::check(&request, &|_| ()).expect("the matrices fit")));
            });
        });
    }
    group.bench_function("two products by matrixmultiply, cores: 1", |bencher| {
        bencher.iter(|| (black_box(a.dot(&b)), black_box(b.dot(&a))));
    });
    group.finish();
}

fn pool(cores: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(cores).build().expect("threads")
}

fn values(matrix: &Matrix) -> Vec<f32> {
    (0..matrix.codes.len()).map(|at| matrix.format.to_f64(matrix.codes.get(at)) as f32).collect()
}

/// The product in f32, as a simple program computes it.
fn multiply_adds(a: &[f32], b: &[f32]) -> Vec<f32> {
    let mut d = vec![0f32; SIDE * SIDE];
    for (row, d) in d.chunks_exact_mut(SIDE).enumerate() {
        for k in 0..K {
            let a = a[row * K + k];
            for (d, b) in d.iter_mut().zip(&b[k * SIDE..][..SIDE]) {
                *d += a * b;
            }
        }
    }
    d
}

criterion_group!(benches, products, emulated, checked);
criterion_main!(benches);
