//! Kinds of differences, for arithmetics whose rules are not known.

use crate::{base::named::named, comparison::Discrepancy, format::Format};

named! {
    /// Kind of the difference between two results; two kinds may have two causes.
    pub enum DifferenceKind {
        Finite = "finite results": "Finite results differ";
        Zero = "zero on one side": "One result is zero, and the other is not";
        NonFinite = "infinity or NaN": "One result is infinite or NaN, and the other is not, or infinities have different signs";
        SignOfZero = "sign of zero": "Zero results have different signs";
        NanCode = "code of NaN": "NaN results have different codes";
        IgnoredBits = "ignored bits": "Results differ in ignored bits alone";
    }
}

impl DifferenceKind {
    /// The kind of the difference between the codes `x` and `y`.
    pub fn between(d: &Format, x: u64, y: u64) -> DifferenceKind {
        match Discrepancy::between(d, x, y) {
            Discrepancy::SignOfZero => DifferenceKind::SignOfZero,
            Discrepancy::NanCode => DifferenceKind::NanCode,
            Discrepancy::IgnoredBits => DifferenceKind::IgnoredBits,
            Discrepancy::DeviceZero | Discrepancy::ModelZero => DifferenceKind::Zero,
            Discrepancy::DeviceNan
            | Discrepancy::ModelNan
            | Discrepancy::DeviceInfinite
            | Discrepancy::ModelInfinite
            | Discrepancy::SignOfInfinity => DifferenceKind::NonFinite,
            Discrepancy::OppositeSigns
            | Discrepancy::NextLarger
            | Discrepancy::NextSmaller
            | Discrepancy::Larger
            | Discrepancy::Smaller => DifferenceKind::Finite,
        }
    }
}
