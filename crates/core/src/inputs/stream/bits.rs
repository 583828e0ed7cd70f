//! Pseudorandom sequence for a tile's parameters.

/// `2^32` divided by the golden ratio, odd: its multiples are spread evenly.
pub(super) const GOLDEN: u32 = 0x9e37_79b9;

/// `x / 2^32` of `n`, rounded down: below `n`.
#[inline]
pub(super) fn fraction_of(x: u32, n: u32) -> u32 {
    ((u64::from(x) * u64::from(n)) >> 32) as u32
}

/// Numbers for the parameters of a tile: upper halves of a 64-bit linear congruential generator.
/// Multiplier: Knuth, The Art of Computer Programming 2, 3.3.4.
pub(super) struct ParameterBits {
    pub(super) state: u64,
}

impl ParameterBits {
    /// Uniform in `0..n`.
    pub(super) fn below(&mut self, n: i32) -> i32 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        fraction_of((self.state >> 32) as u32, n as u32) as i32
    }

    /// Uniform in `low..low + count`.
    pub(super) fn from(&mut self, low: i32, count: i32) -> i32 {
        low + self.below(count)
    }

    /// True with probability `1 / n`.
    pub(super) fn one_in(&mut self, n: i32) -> bool {
        self.below(n) == 0
    }

    /// Kinds of fractions of A and of B, as properties of a slot: mostly random.
    pub(super) fn kinds(&mut self) -> u32 {
        let a = 0x5324_1110u32 >> (4 * self.below(8)) & 7;
        let b = 0x3210_1110u32 >> (4 * self.below(8)) & 3;
        a | b << 3
    }
}
