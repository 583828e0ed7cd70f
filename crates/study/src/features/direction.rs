//! The rounding that answers show.

use crate::format::{Finite, Rounding};

/// A rounded value: its size in quarters of a unit, the units that came out, and the sign of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundedQuarters {
    pub negative: bool,
    pub quarters: u128,
    pub units: u128,
}

/// The word for results that no rounding gives.
pub(super) const IRREGULAR: &str = "irregular";

/// The rounding that gives all these results, or several such roundings.
pub(super) fn name(seen: &[RoundedQuarters]) -> String {
    let does = |rounding: &Rounding| {
        seen.iter().all(|seen| {
            let exact = Finite::exact(seen.negative, seen.quarters, -2);
            exact.round_to_quantum(0, *rounding).0 == seen.units
        })
    };
    let names: Vec<&str> =
        Rounding::DETERMINISTIC.iter().filter(|rounding| does(rounding)).map(Rounding::name).collect();
    match names.is_empty() {
        true => IRREGULAR.into(),
        false => names.join(" or "),
    }
}

/// Values that separate the roundings, as sign and quarters.
pub(super) fn questions() -> impl Iterator<Item = (bool, u128)> {
    let quarters = [2, 6, 1, 3, 5, 7];
    [false, true].into_iter().flat_map(move |negative| quarters.map(|quarters| (negative, quarters)))
}
