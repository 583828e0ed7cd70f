//! Which rounding does what answers show.

use crate::format::{Finite, Rounding};

/// A value that was rounded: so many quarters of a unit, and how many units came out; of one sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rounded {
    pub negative: bool,
    pub quarters: u128,
    pub units: u128,
}

/// The name of what no rounding does.
pub(super) const IRREGULAR: &str = "irregular";

/// The rounding that does all of this; several where they would all do.
pub(super) fn name(seen: &[Rounded]) -> String {
    let does = |own: &Rounding| {
        seen.iter().all(|seen| {
            let exact = Finite::exact(seen.negative, seen.quarters, -2);
            exact.round_to_quantum(0, *own).0 == seen.units
        })
    };
    let names: Vec<&str> = Rounding::DETERMINISTIC.iter().filter(|own| does(own)).map(Rounding::name).collect();
    match names.is_empty() {
        true => IRREGULAR.into(),
        false => names.join(" or "),
    }
}

/// The values that tell roundings apart: parity of the unit below, quarters above it, sign.
pub(super) fn questions() -> impl Iterator<Item = (bool, u128)> {
    let quarters = [2, 6, 1, 3, 5, 7];
    [false, true].into_iter().flat_map(move |negative| quarters.map(|quarters| (negative, quarters)))
}
