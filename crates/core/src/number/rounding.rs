//! Rounding directions.

use super::Word;

/// A rounding direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to the even significand.
    Rne,
    /// To nearest, ties away from zero.
    Rna,
    /// Toward zero.
    Rz,
    /// Toward plus infinity.
    Ru,
    /// Toward minus infinity.
    Rd,
    /// To odd: an inexact result gets an odd significand.
    Ro,
    /// Stochastic: rounds the magnitude up if the first `bits` dropped bits plus `random` carry out.
    Sr {
        /// Random bits, right-aligned; bits above `bits` are ignored.
        random: u64,
        /// Number of random bits, 1 to 64.
        bits: u32,
    },
}

impl Rounding {
    /// Roundings without random bits, in the order of the documentation.
    pub const DETERMINISTIC: [Rounding; 6] =
        [Rounding::Rne, Rounding::Rna, Rounding::Rz, Rounding::Ru, Rounding::Rd, Rounding::Ro];

    /// Abbreviation in reports, options and model files: `RNE`, `RNA`, `RZ`, `RU`, `RD`, `RO`, `SR`.
    pub fn name(&self) -> &'static str {
        match self {
            Rounding::Rne => "RNE",
            Rounding::Rna => "RNA",
            Rounding::Rz => "RZ",
            Rounding::Ru => "RU",
            Rounding::Rd => "RD",
            Rounding::Ro => "RO",
            Rounding::Sr { .. } => "SR",
        }
    }

    /// Deterministic rounding with this abbreviation, in any letter case.
    pub fn parse(name: &str) -> Option<Rounding> {
        Self::DETERMINISTIC.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name))
    }

    /// True if a magnitude whose last kept bit is `odd` is rounded up.
    /// `rest` is the dropped fraction, left-justified in units of `2^-BITS` and jammed (for stochastic rounding, below
    /// its random bits).
    #[inline(always)]
    pub(crate) fn rounds_up<W: Word>(&self, negative: bool, odd: bool, rest: W) -> bool {
        let inexact = rest != W::ZERO;
        match self {
            // Without short circuits: the outcome is random, so a branch would be mispredicted.
            Rounding::Rne => (rest > W::TOP) | ((rest == W::TOP) & odd),
            Rounding::Rna => rest >= W::TOP,
            Rounding::Rz => false,
            Rounding::Ru => inexact & !negative,
            Rounding::Rd => inexact & negative,
            Rounding::Ro => inexact & !odd,
            Rounding::Sr { random, bits } => {
                let kept = u128::from((rest >> (W::BITS - bits)).low());
                (kept + u128::from(*random & (u64::MAX >> (64 - bits)))) >> bits != 0
            }
        }
    }

    /// True if overflow in this direction gives the largest finite number where the standard has infinity.
    pub(crate) fn points_inward(&self, negative: bool) -> bool {
        match self {
            Rounding::Rz | Rounding::Ro => true,
            Rounding::Ru => negative,
            Rounding::Rd => !negative,
            Rounding::Rne | Rounding::Rna | Rounding::Sr { .. } => false,
        }
    }
}
