//! Checking lines of expected results (`tcnum calc --check`), from memory: lines a second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tcnum::{format, softfloat::Environment};
use tcnum_study::calc::{CalcRequest, LineCheck, Operator, check};

/// Lines of a run.
const LINES: u64 = 400_000;

/// Lines as TestFloat's generator prints them, with results and flags as they are computed.
fn lines(operator: &Operator) -> String {
    let digits = operator.format().bits as usize / 4;
    let mask = operator.format().code_mask();
    let mut text = String::new();
    for i in 0..LINES {
        let operands = [1, 2, 3].map(|k: u64| (3 * i + k).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) & mask);
        for operand in &operands[..operator.operands()] {
            text += &format!("{operand:0digits$X} ");
        }
        let outcome = operator.apply(operands);
        text += &format!("{:0digits$X} {:02X}\n", outcome.code.expect("a format with NaN"), outcome.flags.bits());
    }
    text
}

fn checks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Elements(LINES)).sample_size(10);
    for (format, operation) in [("f16", "add"), ("f32", "add"), ("f32", "fma"), ("f64", "mul"), ("f64", "rem")] {
        let format = format::find(format).expect("a format");
        let request = CalcRequest { operation, format, to: None, exact: false, environment: Environment::default() };
        let operator = Operator::new(&request).expect("an operation");
        let text = lines(&operator);
        group.bench_function(format!("{format} {operation}"), |bencher| {
            bencher.iter(|| {
                let (tally, status) =
                    check(&operator, LineCheck { strict: true, limit: 10 }, black_box(text.as_bytes()));
                assert!(status.is_ok() && tally.differing == 0 && tally.lines == LINES);
            })
        });
    }
    group.finish();
}

criterion_group!(benches, checks);
criterion_main!(benches);
