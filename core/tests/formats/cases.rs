//! Cases shared by the tests of formats.

use tcnum_core::format::{FORMATS, Format, Overflow, Rounding, find};

/// All treatments of overflow.
pub(crate) const OVERFLOWS: [Overflow; 4] = [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate];

/// All deterministic roundings, and stochastic ones at the ends and in the middle of their range.
pub(crate) fn roundings() -> Vec<Rounding> {
    let stochastic = [(0, 1), (1, 1), (3, 2), (0x80, 8), (0x7ff, 11), (u64::MAX, 64), (1 << 63, 64), (0, 64)];
    let stochastic = stochastic.map(|(random, bits)| Rounding::Sr { random, bits });
    Rounding::DETERMINISTIC.into_iter().chain(stochastic).collect()
}

/// Formats of the table, and some by rule.
pub(crate) fn formats() -> Vec<&'static Format> {
    let by_rule = ["e8m17", "e8m24", "e8m30", "e10m23", "e11m20", "e5m12", "e2m40", "e3m4"];
    FORMATS.iter().chain(by_rule.map(|name| find(name).expect("a format by rule"))).collect()
}

/// Formats narrow enough to visit every code.
pub(crate) fn narrow() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.bits <= 16)
}
