//! The adversarial regimes: families of tiles, each aimed at one decision of an arithmetic.

/// A family of tiles aimed at one decision of an arithmetic. (Tiles of integer instructions do not differ by regime.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Regime {
    /// Every operand's exponent anywhere in its format's range, or every product's in the range of results.
    AllExponents,
    /// Products that cancel in pairs, and a c that cancels a product to a few units in the last place.
    Cancellation,
    /// One large term or a pair of them that cancels, the others smaller by about the width of an alignment.
    AlignmentGap,
    /// Half a unit in the last place of the result, and a term far below that decides the tie.
    Tie,
    /// Terms near and below the smallest results: where an alignment has its floor.
    Floor,
    /// Subnormal operands, products and results.
    Subnormal,
    /// Sums about the largest finite result, sums that leave the range and return, and huge products that cancel.
    Overflow,
    /// Powers of two and few bits over a window of exponents.
    Sparse,
    /// Zeros of both signs alone, beside large factors, and as what pairs leave.
    Zeros,
    /// Infinities, NaN and extremes in random positions.
    NonFinite,
}

impl Regime {
    /// Every regime.
    pub const ALL: [Regime; 10] = [
        Regime::AllExponents,
        Regime::Cancellation,
        Regime::AlignmentGap,
        Regime::Tie,
        Regime::Floor,
        Regime::Subnormal,
        Regime::Overflow,
        Regime::Sparse,
        Regime::Zeros,
        Regime::NonFinite,
    ];

    /// The name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Regime::AllExponents => "all-exponents",
            Regime::Cancellation => "cancellation",
            Regime::AlignmentGap => "alignment-gap",
            Regime::Tie => "tie",
            Regime::Floor => "floor",
            Regime::Subnormal => "subnormal",
            Regime::Overflow => "overflow",
            Regime::Sparse => "sparse",
            Regime::Zeros => "zeros",
            Regime::NonFinite => "non-finite",
        }
    }
}
