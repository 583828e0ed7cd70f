//! The kinds of results that differ, where no key of a rule says why.

use crate::{base::named::named, comparison::Way, format::Format};

named! {
    /// How two results differ: differences of two kinds may have two causes.
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
    /// How the codes `x` and `y`, which differ, do so.
    pub fn between(d: &Format, x: u64, y: u64) -> DifferenceKind {
        match Way::between(d, x, y) {
            Way::SignOfZero => DifferenceKind::SignOfZero,
            Way::NanCode => DifferenceKind::NanCode,
            Way::IgnoredBits => DifferenceKind::IgnoredBits,
            Way::DeviceZero | Way::ModelZero => DifferenceKind::Zero,
            Way::DeviceNan | Way::ModelNan | Way::DeviceInfinite | Way::ModelInfinite | Way::SignOfInfinity => {
                DifferenceKind::NonFinite
            }
            Way::OppositeSigns | Way::NextLarger | Way::NextSmaller | Way::Larger | Way::Smaller => {
                DifferenceKind::Finite
            }
        }
    }
}
