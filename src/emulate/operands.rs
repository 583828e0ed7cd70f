//! The operands of a product: random numbers, the same for every scheme and device.

use std::fmt;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

use super::Digits;
use crate::base::parallel;

/// What random numbers are drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Draw {
    /// Uniform in an interval, without its end.
    Uniform(f64, f64),
    /// Normal, with this mean and deviation.
    Normal(f64, f64),
    /// A random sign, and a magnitude of which the binary logarithm is uniform between these two.
    Magnitudes(f64, f64),
}

/// A matrix of numbers of f32, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// Its elements.
    pub values: Vec<f32>,
}

impl Draw {
    /// Parses `uniform(-1,1)`, `normal(0,1)` or `magnitudes(-20,4)`.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> std::result::Result<Draw, String> {
        let parsed = || {
            let (name, rest) = text.trim().strip_suffix(')')?.split_once('(')?;
            let (x, y) = rest.split_once(',')?;
            let (x, y): (f64, f64) = (x.trim().parse().ok()?, y.trim().parse().ok()?);
            let small = |x: f64| x.abs() <= f64::from(f32::MAX);
            match name.trim() {
                "uniform" if x < y && small(x) && small(y) => Some(Draw::Uniform(x, y)),
                "normal" if y >= 0.0 && small(x) && small(64.0 * y) => Some(Draw::Normal(x, y)),
                "magnitudes" if x <= y && x >= -149.0 && y <= 127.0 => Some(Draw::Magnitudes(x, y)),
                _ => None,
            }
        };
        parsed().ok_or_else(|| {
            "expected uniform(LOW,HIGH), normal(MEAN,DEVIATION) or magnitudes(LOW,HIGH), binary exponents from -149 to 127, such as \
             uniform(-1,1)"
                .into()
        })
    }

    fn next(self, random: &mut ChaCha8Rng) -> f64 {
        match self {
            Draw::Uniform(low, high) => low + (high - low) * random.random::<f64>(),
            Draw::Normal(mean, deviation) => {
                let normal: f64 = StandardNormal.sample(random);
                mean + deviation * normal
            }
            Draw::Magnitudes(low, high) => {
                let exponent = low + (high - low) * random.random::<f64>();
                let whole = exponent.floor();
                // A significand between the powers of two, without a logarithm, which machines may round in their own ways.
                let magnitude = (1.0 + (exponent - whole)) * 2f64.powi(whole as i32);
                if random.random_bool(0.5) { -magnitude } else { magnitude }
            }
        }
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Draw::Uniform(low, high) => write!(f, "uniform({low},{high})"),
            Draw::Normal(mean, deviation) => write!(f, "normal({mean},{deviation})"),
            Draw::Magnitudes(low, high) => write!(f, "magnitudes({low},{high})"),
        }
    }
}

impl Numbers {
    /// Some rows of a matrix of random numbers, rounded to f32: each row has random numbers of its own, by the seed, the matrix and the
    /// row.
    pub(super) fn drawn(draw: Draw, seed: u64, matrix: u64, rows: &[usize], columns: usize) -> Numbers {
        let own = |random: &mut ChaCha8Rng| draw.next(random) as f32;
        Numbers::filled(seed, matrix, rows, columns, &own)
    }

    /// The same of integers: drawn from a distribution, rounded to nearest and limited to their range; without one uniform in it.
    pub(super) fn integers(
        draw: Option<Draw>,
        digits: &Digits,
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
    ) -> Numbers {
        let (least, most) = digits.range();
        let own = |random: &mut ChaCha8Rng| match draw {
            None => (least + (random.next_u64() % (most - least + 1) as u64) as i64) as f32,
            Some(draw) => draw.next(random).round_ties_even().clamp(least as f64, most as f64) as f32,
        };
        Numbers::filled(seed, matrix, rows, columns, &own)
    }

    fn filled(
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
        own: &(dyn Fn(&mut ChaCha8Rng) -> f32 + Sync),
    ) -> Numbers {
        let origin = ChaCha8Rng::seed_from_u64(seed);
        let mut values = vec![0.0; rows.len() * columns];
        parallel::each(rows.iter().zip(values.chunks_mut(columns)), |(row, line)| {
            let mut random = origin.clone();
            random.set_stream((matrix << 32) + *row as u64);
            line.iter_mut().for_each(|value| *value = own(&mut random));
        });
        Numbers { rows: rows.len(), columns, values }
    }
}
