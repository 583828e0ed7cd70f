//! The random numbers of a chain.
//!
//! A chain's entries come from its own stream of one ChaCha8 generator, first the m*k entries of A, then the
//! k*k entries of B for each link, each matrix row by row. So they depend on the seed, the chain's number and the
//! shape alone: not on the operand formats, the length, the number of chains or of threads.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::{
    base::parallel,
    format::{Encoding, Format},
};

/// Random entries before they are rounded to an operand format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum EntryDraw {
    /// Normal(0, 1), drawn in binary64 and rounded to binary32: for floating-point operands.
    Normal,
    /// 32 uniform random bits: for integer operands, see [`EntryDraw::operand`].
    Bits,
}

impl EntryDraw {
    /// The draw that operands of `format` are made from.
    pub(super) fn for_format(format: &Format) -> Self {
        if format.is_integer() { EntryDraw::Bits } else { EntryDraw::Normal }
    }

    fn next(self, random: &mut ChaCha8Rng) -> f64 {
        match self {
            EntryDraw::Normal => {
                let value: f64 = StandardNormal.sample(random);
                f64::from(value as f32)
            }
            EntryDraw::Bits => f64::from(random.next_u32()),
        }
    }

    /// The value of a draw in `format`, before rounding; random bits become -1, 0 or 1 (unsigned: 0 or 1).
    ///
    /// These are the smallest ranges, so that a chain has the most links before it leaves 8 bits.
    pub(super) fn operand(self, drawn: f64, format: &Format) -> f64 {
        match self {
            EntryDraw::Normal => drawn,
            EntryDraw::Bits => {
                let signed = matches!(format.encoding, Encoding::Integer { signed: true });
                let choices = if signed { 3.0 } else { 2.0 };
                (drawn * choices / 2f64.powi(32)).floor() - f64::from(signed)
            }
        }
    }
}

/// The generators of the chains `first..first + chains`, one each.
pub(super) struct Streams {
    draw: EntryDraw,
    generators: Vec<ChaCha8Rng>,
}

impl Streams {
    /// The streams of chains `first..first + chains`, at their beginning.
    pub(super) fn new(draw: EntryDraw, seed: u64, first: u64, chains: usize) -> Self {
        let origin = ChaCha8Rng::seed_from_u64(seed);
        let stream = |chain: u64| {
            let mut generator = origin.clone();
            generator.set_stream(first + chain);
            generator
        };
        Streams { draw, generators: (0..chains as u64).map(stream).collect() }
    }

    /// The next `each` entries of every chain, chain by chain.
    pub(super) fn take(&mut self, each: usize) -> Vec<f64> {
        let mut entries = vec![0.0; each * self.generators.len()];
        let draw = self.draw;
        parallel::each(entries.chunks_mut(each).zip(&mut self.generators), |(chain, generator)| {
            chain.iter_mut().for_each(|entry| *entry = draw.next(generator));
        });
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_the_same_numbers_in_any_company() {
        for draw in [EntryDraw::Normal, EntryDraw::Bits] {
            let (mut many, mut few) = (Streams::new(draw, 3, 0, 9), Streams::new(draw, 3, 4, 2));
            for each in [6, 4, 4] {
                let (many, few) = (many.take(each), few.take(each));
                assert_eq!(many[4 * each..6 * each], few);
                assert_ne!(many[..each], many[each..2 * each]);
            }
        }
    }

    #[test]
    fn another_seed_gives_other_numbers() {
        assert_ne!(Streams::new(EntryDraw::Normal, 3, 0, 1).take(8), Streams::new(EntryDraw::Normal, 4, 0, 1).take(8));
    }

    #[test]
    fn normal_draws_are_binary32_numbers_of_mean_zero_and_variance_one() {
        let drawn = Streams::new(EntryDraw::Normal, 0, 0, 100).take(1000);
        assert!(drawn.iter().all(|&v| f64::from(v as f32) == v));
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let variance = drawn.iter().map(|v| v * v).sum::<f64>() / 1e5;
        // Five standard errors.
        assert!(mean.abs() < 5.0 / 1e5f64.sqrt() && (variance - 1.0).abs() < 5.0 * (2.0 / 1e5f64).sqrt());
    }

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        assert_eq!(Streams::new(EntryDraw::Normal, 0, 0, 1).take(3), PINNED);
    }

    /// Whatever changes them changes every published figure.
    const PINNED: [f64; 3] = [0.6999607682228088, -0.1440616399049759, 0.3028862774372101];
}
