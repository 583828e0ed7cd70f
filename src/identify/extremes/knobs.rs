//! What a step may do otherwise, one thing at a time.

use super::OVERFLOWS;
use crate::{
    format::{FORMATS, Format, Rounding},
    identify::{
        apart::{MOST_LANES, dropped_otherwise},
        fit::{BITS, ROUNDINGS, USUAL, cuts, holds_sums},
        steps::{Cut, Late, Own, Products, Target},
    },
};

/// Exponents that alignments are looked for to have as their floor.
const FLOORS: std::ops::RangeInclusive<i32> = -330..=160;
/// Bits of an alignment that shows at its floor alone.
pub(super) const UNSEEN: i32 = 40;

/// What a step may do otherwise.
pub(super) const KNOBS: &[fn(&Own) -> Vec<Own>] = &[
    |own| {
        own.cut.map_or_else(Vec::new, |cut| {
            floors().map(|floor| Own { cut: Some(Cut { floor, ..cut }), ..*own }).collect()
        })
    },
    |own| match own.late {
        Some(late) => floors().map(|floor| Own { late: Some(Late { floor, ..late }), ..*own }).collect(),
        None => Vec::new(),
    },
    |own| {
        let Products::Alone(Some(cut), target) = own.products else { return Vec::new() };
        let with = |floor| Own { products: Products::Alone(Some(Cut { floor, ..cut }), target), ..*own };
        floors().map(with).collect()
    },
    |own| alike(own.target).map(|target| Own { target, ..*own }).collect(),
    |own| match own.products {
        Products::Alone(cut, Some(target)) => {
            alike(target).map(|target| Own { products: Products::Alone(cut, Some(target)), ..*own }).collect()
        }
        Products::Rounded(_) | Products::Normalised if own.cut.is_some() => {
            let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
            let rounded = formats.flat_map(|format| alike(Target::new(format, Rounding::Rne)));
            let rounded = rounded.map(|target| Own { products: Products::Rounded(target), ..*own });
            std::iter::once(Own { products: Products::Normalised, ..*own }).chain(rounded).collect()
        }
        Products::Rounded(target) => {
            alike(target).map(|target| Own { products: Products::Rounded(target), ..*own }).collect()
        }
        // In a format that holds every ordinary product, rounding shows in extreme ones alone.
        Products::Exact => {
            let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
            let targets = formats.flat_map(|format| ROUNDINGS.map(|rounding| Target::new(format, rounding)));
            targets.map(|target| Own { products: Products::Rounded(target), ..*own }).collect()
        }
        _ => Vec::new(),
    },
];

/// What a step may do otherwise with ordinary numbers.
pub(super) const WIDER: &[fn(&Own) -> Vec<Own>] = &[
    // Another alignment, with the same last bit at its floor, or with the same floor.
    |own| {
        let Some(now) = own.cut else { return Vec::new() };
        let floors = |bits: i32| [now.floor.map(|floor| floor + bits - now.bits), now.floor];
        let of = |cut: Cut| floors(cut.bits).map(|floor| Own { cut: Some(Cut { floor, ..cut }), ..*own });
        cuts().flat_map(of).chain([Own { cut: None, ..*own }]).collect()
    },
    |own| match own.lanes {
        Some((period, _)) => cuts().map(|cut| Own { lanes: Some((period, cut)), ..*own }).collect(),
        None => Vec::new(),
    },
    |own| {
        let Some(late) = own.late else { return Vec::new() };
        let sums = BITS.map(|sum| Late { sum, ..late });
        let others = BITS.map(|other| Late { other, ..late });
        sums.chain(others).chain(dropped_otherwise(late)).map(|late| Own { late: Some(late), ..*own }).collect()
    },
    |own| {
        let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
        let targets = formats.flat_map(|format| ROUNDINGS.map(|rounding| Target { format, rounding, ..own.target }));
        targets.map(|target| Own { target, ..*own }).collect()
    },
    |own| match own.products {
        Products::Alone(Some(_), target) => {
            cuts().map(|cut| Own { products: Products::Alone(Some(cut), target), ..*own }).collect()
        }
        Products::Started { .. } | Products::Alone(None, _) | Products::Added(_) => Vec::new(),
        Products::Exact | Products::Normalised | Products::Rounded(_) => {
            let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
            let targets = formats.flat_map(|format| ROUNDINGS.map(|rounding| Target::new(format, rounding)));
            let all = [Products::Exact, Products::Normalised].into_iter().chain(targets.map(Products::Rounded));
            all.map(|products| Own { products, ..*own }).collect()
        }
    },
];

/// What a step may do besides, where nothing else explains what it does.
pub(super) const BEGUN: &[fn(&Own) -> Vec<Own>] = &[
    // An alignment that shows at its floor alone.
    |own| {
        let with = |rounding| {
            let of = move |floor| Own {
                cut: Some(Cut { bits: UNSEEN, rounding, floor: Some(floor), sticky: false }),
                ..*own
            };
            FLOORS.map(of)
        };
        if own.cut.is_some() || matches!(own.products, Products::Started { .. }) {
            return Vec::new();
        }
        ROUNDINGS.into_iter().flat_map(with).collect()
    },
];
/// The same with ordinary numbers.
pub(super) const BEGUN_WIDER: &[fn(&Own) -> Vec<Own>] = &[
    |own| match own.cut {
        Some(_) => Vec::new(),
        None => cuts().map(|cut| Own { cut: Some(cut), ..*own }).collect(),
    },
    // Lanes whose sums are aligned as all products were.
    |own| {
        let (Some(whole), None) = (own.cut, own.lanes) else { return Vec::new() };
        let of = move |period| cuts().map(move |cut| Own { cut: Some(cut), lanes: Some((period, whole)), ..*own });
        (2..=MOST_LANES).flat_map(of).collect()
    },
];

/// Every floor, and none.
fn floors() -> impl Iterator<Item = Option<i32>> {
    std::iter::once(None).chain(FLOORS.map(Some))
}

/// Targets that have the precision of one.
fn alike(target: Target) -> impl Iterator<Item = Target> {
    let precision = |format: &Format| format.float().map(|float| float.precision());
    let same = FORMATS.iter().filter(move |format| holds_sums(format) && precision(format) == precision(target.format));
    same.flat_map(|format| {
        let of = move |rounding| OVERFLOWS.map(|overflow| Target { format, rounding, overflow });
        ROUNDINGS.into_iter().flat_map(of)
    })
}
