//! Tiles with drawn terms: the same for the same seed.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    format::{Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction, Tiles},
};

/// Draws numbers and orders.
#[derive(Debug)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// Numbers that this seed draws.
    pub fn new(seed: u64) -> Draw {
        Draw(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `count`.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0.next_u64() % count.max(1)
    }

    /// A number between two, both included.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1).max(1) as u64) as i32
    }

    /// The numbers below `count` in a random order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }

    /// The code of a number with this exponent and so many significant bits at most.
    pub fn code(&mut self, format: &Format, exponent: i32, bits: u32) -> u64 {
        let Some(float) = format.float() else { return 0 };
        let precision = float.precision();
        let leading = 1u64 << (precision - 1);
        let kept = u64::MAX << precision.saturating_sub(bits);
        let significand = leading | (self.0.next_u64() & (leading - 1) & kept);
        let negative = float.signed && self.below(2) == 0;
        encoded(format, Finite::exact(negative, significand.into(), exponent - (precision as i32 - 1)))
    }
}

/// Tile with the rows of A and columns of B of these cases; `c` makes each element of C.
pub fn tile(i: &Instruction, rows: &[Case], columns: &[Case], mut c: impl FnMut(&Case) -> u64) -> Tiles {
    let mut tiles = Tiles::zeros(i, 1);
    for (at, row) in rows.iter().enumerate() {
        for (beside, column) in columns.iter().enumerate() {
            let mut case = Case { b: column.b.clone(), scale_b: column.scale_b.clone(), ..row.clone() };
            case.c = c(&case);
            tiles.place(i, 0, at, beside, &case);
        }
    }
    tiles
}

/// The code of the number that is nearest in a format.
pub fn encoded(format: &Format, value: Finite) -> u64 {
    format.encode(&Real::Finite(value), Rounding::Rne, Overflow::Saturate).unwrap_or(0)
}
