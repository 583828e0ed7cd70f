//! Scalar operations of the soft-float beside those of Berkeley SoftFloat 3e, on the same operands: random codes whose
//! exponents lie near one another. Millions a second, each with its exception flags collected.
//!
//! Each operation has two rows. A processor learns in which direction every branch goes for a few thousand operands that come
//! again and again, as it never could for operands that are new: SoftFloat, which branches on signs and exponents, takes a third
//! of the time on them. The first row is for more operands than it can learn, the second for few.

mod berkeley;
mod rates;

use std::{hint::black_box, time::Duration};

use berkeley::Berkeley;
use criterion::{Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rates::Rates;
use tcnum::{
    format::{self, Format},
    softfloat::{Environment, Flags, Operation, Unit},
};

/// Operands of each kind, and results: too many to be learnt, and few.
const COUNTS: [(usize, &str); 2] = [(1 << 17, ""), (1 << 12, ", few")];
const FORMATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];
const OPERATIONS: [Operation; 5] = [Operation::Add, Operation::Mul, Operation::Fma, Operation::Div, Operation::Sqrt];

/// Three operands for each result, as codes.
type Operands = [Vec<u64>; 3];

/// Random signs and trailing significands, exponents from -4 to 4; square roots get the magnitudes.
fn operands(format: &Format, operation: &str, count: usize) -> Operands {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let float = format.float().expect("a floating-point format");
    let unsigned = operation == "sqrt";
    let mut code = || {
        let biased = (float.bias + random.random_range(-4..=4)) as u64;
        let trailing = random.random::<u64>() & ((1 << float.trailing_bits) - 1);
        let sign = random.random::<u64>() & u64::from(!unsigned);
        (sign << float.exponent_bits | biased) << float.trailing_bits | trailing
    };
    [(); 3].map(|()| (0..count).map(|_| code()).collect())
}

/// The soft-float of this crate: the codes go to `codes`, the union of the flags is returned.
fn ours(unit: &Unit, operation: Operation, operands: &Operands, codes: &mut [u64]) -> Flags {
    let [x, y, z] = operands;
    unit.map(operation, [x, y, z], codes).flags
}

fn scalar(criterion: &mut Criterion) {
    let mut rates = Rates::default();
    let berkeley = Berkeley::load();
    for name in FORMATS {
        let format = format::find(name).expect("the table has it");
        let unit = Unit::new(format, Environment::default()).expect("a floating-point format");
        for (operation, (count, few)) in
            OPERATIONS.into_iter().flat_map(|operation| COUNTS.map(|count| (operation, count)))
        {
            let row = format!("{name} {}{few}", operation.name());
            let operands = operands(format, operation.name(), count);
            let mut codes = vec![0; count];
            let mut group = criterion.benchmark_group(&row);
            group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600)).sample_size(20);
            let millions = count as f64 / 1e6;
            rates.measure(&mut group, &row, "tcnum", millions, || {
                black_box(ours(black_box(&unit), operation, black_box(&operands), black_box(&mut codes)));
            });
            if let Some(mut theirs) =
                berkeley.as_ref().and_then(|library| library.run(name, operation.name(), &operands))
            {
                rates.measure(&mut group, &row, "SoftFloat 3e", millions, || {
                    black_box(theirs.run());
                });
                let flags = ours(&unit, operation, &operands, &mut codes);
                assert_eq!((flags.bits(), &codes), (theirs.run(), &theirs.codes()), "{row}");
            }
            group.finish();
        }
    }
    rates.print("Millions of operations a second (and how many times as fast tcnum is)");
}

criterion_group!(benches, scalar);
criterion_main!(benches);
