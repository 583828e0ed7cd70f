//! The adversarial regimes: families of tiles, each aimed at one decision of an arithmetic.

use crate::base::named::named;

named! {
    /// Family of tiles aimed at one decision of an arithmetic; irrelevant for integer instructions.
    pub enum Regime {
        AllExponents = "all-exponents": "Operand exponents anywhere in their formats, or product exponents anywhere in the range of results";
        Cancellation = "cancellation": "Products that cancel in pairs, and a c that cancels a product to a few units in the last place";
        AlignmentGap = "alignment-gap": "One large term or a cancelling pair, and terms smaller by about the width of an alignment";
        Tie = "tie": "Half a unit in the last place of the result, and a term far below that decides the tie";
        Floor = "floor": "Terms near and below the smallest results, about the floor of an alignment";
        Subnormal = "subnormal": "Subnormal operands, products and results";
        Overflow = "overflow": "Sums about the largest finite result, sums that leave the range and return, and huge products that cancel";
        Sparse = "sparse": "Powers of two and few bits over a window of exponents";
        Zeros = "zeros": "Zeros of both signs: alone, with large factors, and from cancelling pairs";
        NonFinite = "non-finite": "Infinities, NaN and extremes in random positions";
    }
}
