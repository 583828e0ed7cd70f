//! Operands near the edges: exponents near one another, ties, cancellation, both ends of the range.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tcnum_core::{
    format::{Float, Format},
    softfloat::{Environment, Operation, Unit},
};

use crate::environments::mixed;

/// Operands of one operation, drawn by the seed: half of them random codes, half near the edges.
pub(crate) fn drawn(format: &Format, operation: Operation, seed: u64) -> [u64; 3] {
    let mut rng = ChaCha8Rng::seed_from_u64(mixed(seed));
    let mut operands = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
    let Some(record) = format.float().filter(|_| rng.random()) else { return operands };
    let base = exponent(record, &mut rng);
    for operand in &mut operands {
        let exponent = match operation {
            // A product over- or underflows where the sum of its factors' exponents does.
            Operation::Mul | Operation::Div if rng.random() => exponent(record, &mut rng),
            _ => base.wrapping_add_signed(rng.random_range(-3..=3)),
        };
        *operand = code(record, exponent, &mut rng);
    }
    let [x, y, z] = operands;
    let near = |code: u64, rng: &mut ChaCha8Rng| {
        let step = rng.random_range(-3i64..=3) << record.padding_bits;
        code.wrapping_add_signed(step) ^ sign(record, rng.random())
    };
    match operation {
        Operation::Add | Operation::Sub | Operation::Rem | Operation::Less if rng.random() => [x, near(x, &mut rng), z],
        Operation::Fma => {
            // The factors' product, or one to three precisions below it.
            let unit = Unit::new(format, Environment::default()).unwrap();
            let product = unit.apply(Operation::Mul, [x, y, 0]).code.unwrap_or(z);
            let lower = (rng.random_range(0..3) * u64::from(record.precision()))
                << (record.trailing_bits + record.padding_bits);
            [x, y, near(product.wrapping_sub(if rng.random() { 0 } else { lower }), &mut rng)]
        }
        _ => operands,
    }
}

/// Biased exponent: anywhere, at either end, or near that of 1.
fn exponent(record: &Float, rng: &mut ChaCha8Rng) -> u64 {
    let last = (1u64 << record.exponent_bits) - 1;
    match rng.random_range(0..6) {
        0 => rng.random_range(0..3),
        1 => last - rng.random_range(0..3).min(last),
        2 => record.bias.clamp(0, last as i32) as u64,
        3 => u64::from(record.precision()) + rng.random_range(0..3),
        _ => rng.random_range(0..=last),
    }
}

/// Code with this biased exponent and a trailing significand at random, of few ones, or a run of ones.
fn code(record: &Float, exponent: u64, rng: &mut ChaCha8Rng) -> u64 {
    let mut bit = || 1u64 << rng.random_range(0..=record.trailing_bits);
    let (a, b, c) = (bit(), bit(), bit());
    let trailing = match rng.random_range(0..4) {
        0 => a | b,
        1 => a.wrapping_sub(b),
        2 => a.wrapping_sub(b) ^ c,
        _ => rng.next_u64(),
    };
    let trailing = trailing & ((1 << record.trailing_bits) - 1);
    let exponent = exponent & ((1 << record.exponent_bits) - 1);
    ((exponent << record.trailing_bits | trailing) << record.padding_bits) ^ sign(record, rng.random())
}

fn sign(record: &Float, negative: bool) -> u64 {
    if !record.signed || !negative {
        return 0;
    }
    1 << (record.exponent_bits + record.trailing_bits + record.padding_bits)
}
