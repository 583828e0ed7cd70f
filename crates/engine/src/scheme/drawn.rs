//! The operands of a product: random numbers, the same for every scheme and device.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Digits, Emulated};
use crate::{base::parallel, inputs::Draw, product::NumberMatrix};

impl NumberMatrix {
    /// Some rows of a random matrix, rounded to the emulated format.
    ///
    /// The numbers of a row depend on seed, matrix and row.
    pub fn drawn(
        emulates: Emulated,
        draw: Draw,
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
    ) -> NumberMatrix {
        let next = |random: &mut ChaCha8Rng| match emulates {
            Emulated::Single => f64::from(draw.next(random) as f32),
            Emulated::Double => draw.next(random),
        };
        NumberMatrix::filled(seed, matrix, rows, columns, &next)
    }

    /// The same for integers: drawn, rounded to nearest and limited to their range, or uniform in it.
    pub fn integers(
        draw: Option<Draw>,
        digits: &Digits,
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
    ) -> NumberMatrix {
        let (least, most) = digits.range();
        let next = |random: &mut ChaCha8Rng| match draw {
            None => (least + (random.next_u64() % (most - least + 1) as u64) as i64) as f64,
            Some(draw) => draw.next(random).round_ties_even().clamp(least as f64, most as f64),
        };
        NumberMatrix::filled(seed, matrix, rows, columns, &next)
    }

    fn filled(
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
        next: &(dyn Fn(&mut ChaCha8Rng) -> f64 + Sync),
    ) -> NumberMatrix {
        let origin = ChaCha8Rng::seed_from_u64(seed);
        let mut values = vec![0.0; rows.len() * columns];
        parallel::each(rows.iter().zip(values.chunks_mut(columns)), |(row, line)| {
            let mut random = origin.clone();
            random.set_stream((matrix << 32) + *row as u64);
            line.iter_mut().for_each(|value| *value = next(&mut random));
        });
        NumberMatrix { rows: rows.len(), columns, values }
    }
}
