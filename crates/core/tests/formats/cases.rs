//! Cases shared by the tests of formats.

use tcnum_core::format::{FORMATS, Format, Rounding, find};

/// All deterministic roundings, and stochastic ones at the ends and in the middle of their range.
pub(crate) fn roundings() -> Vec<Rounding> {
    let stochastic = [(0, 1), (1, 1), (3, 2), (0x80, 8), (0x7ff, 11), (u64::MAX, 64), (1 << 63, 64), (0, 64)];
    let stochastic = stochastic.map(|(random, bits)| Rounding::Sr { random, bits });
    Rounding::DETERMINISTIC.into_iter().chain(stochastic).collect()
}

/// Formats by rule, of each family and with each kind of specials.
const BY_RULE: [&str; 19] = [
    "e8m17",
    "e8m24",
    "e8m30",
    "e10m23",
    "e11m20",
    "e5m12",
    "e2m40",
    "e3m4",
    "s3",
    "u7",
    "s27",
    "binary8p3se",
    "binary8p4sf",
    "binary6p5se",
    "binary8p1se",
    "binary8p1ue",
    "binary8p3ue",
    "binary5p5ue",
    "binary7p2uf",
];

/// Formats of the table, and some by rule.
pub(crate) fn formats() -> Vec<&'static Format> {
    FORMATS.iter().chain(BY_RULE.map(|name| find(name).expect("a format by rule"))).collect()
}

/// Formats narrow enough to visit every code.
pub(crate) fn narrow() -> impl Iterator<Item = &'static Format> {
    formats().into_iter().filter(|format| format.bits <= 16)
}
