//! The rounding that answers show.

use crate::format::{Finite, Rounding};

/// A rounded value: its size in quarters of a unit, the units that came out, and the sign of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundedQuarters {
    negative: bool,
    pub quarters: u128,
    pub units: u128,
}

impl RoundedQuarters {
    /// The result for `quarters` quarters of 2^unit.
    pub(super) fn of(result: &Finite, negative: bool, quarters: u128, unit: i32) -> RoundedQuarters {
        let (units, exact) = result.round_to_quantum(unit, Rounding::Rz);
        // No rounding gives another sign, or a value between multiples of the unit.
        let regular = exact && (units == 0 || result.negative == negative);
        RoundedQuarters { negative, quarters, units: if regular { units } else { u128::MAX } }
    }
}

/// The roundings that give all these results.
pub(super) fn roundings<'a>(seen: impl Iterator<Item = &'a RoundedQuarters> + Clone) -> Vec<Rounding> {
    let gives = |rounding: &Rounding| {
        seen.clone().all(|seen| {
            let exact = Finite::exact(seen.negative, seen.quarters, -2);
            exact.round_to_quantum(0, *rounding).0 == seen.units
        })
    };
    Rounding::DETERMINISTIC.into_iter().filter(gives).collect()
}

/// Roundings in words; without any, the results are irregular.
pub(super) fn words(roundings: &[Rounding]) -> String {
    match roundings {
        [] => "irregular".into(),
        some => some.iter().map(Rounding::name).collect::<Vec<_>>().join(" or "),
    }
}

/// Values that separate the roundings, as sign and quarters.
pub(super) fn questions() -> impl Iterator<Item = (bool, u128)> {
    let quarters = [2, 6, 1, 3, 5, 7];
    [false, true].into_iter().flat_map(move |negative| quarters.map(|quarters| (negative, quarters)))
}
