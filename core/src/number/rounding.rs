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
    /// Stochastic: the discarded fraction, cut to `bits` bits, plus `random` (of `bits` bits, 1 to 64) rounds
    /// the magnitude up when the sum carries out.
    Sr {
        /// The random bits, right-aligned; bits above are ignored.
        random: u64,
        /// How many of them there are, 1 to 64.
        bits: u32,
    },
}

impl Rounding {
    /// The modes that need no random bits, in the order of the documentation.
    pub const DETERMINISTIC: [Rounding; 6] =
        [Rounding::Rne, Rounding::Rna, Rounding::Rz, Rounding::Ru, Rounding::Rd, Rounding::Ro];

    /// The abbreviation used in reports, options and model files: `RNE`, `RNA`, `RZ`, `RU`, `RD`, `RO`, `SR`.
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

    /// The deterministic mode with this abbreviation, in any letter case.
    pub fn parse(name: &str) -> Option<Rounding> {
        Self::DETERMINISTIC.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name))
    }

    /// Whether a magnitude whose last kept bit is `odd` is rounded up to the next one: `rest` is the discarded fraction,
    /// left-justified in units of `2^-BITS` and jammed (for stochastic rounding, below its random bits).
    #[inline(always)]
    pub(crate) fn rounds_up<W: Word>(&self, negative: bool, odd: bool, rest: W) -> bool {
        let inexact = rest != W::ZERO;
        match self {
            // Without short circuits: which way it goes follows no pattern that a branch could be predicted from.
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

    /// Whether overflow under this direction stops at the largest finite number where the format's standard has infinity.
    pub(crate) fn points_inward(&self, negative: bool) -> bool {
        match self {
            Rounding::Rz | Rounding::Ro => true,
            Rounding::Ru => negative,
            Rounding::Rd => !negative,
            Rounding::Rne | Rounding::Rna | Rounding::Sr { .. } => false,
        }
    }
}
