//! Formats by rule: names that the table lacks, whose parts are the parameters of a family.

mod ieee;
mod integer;
mod p3109;

use std::{collections::BTreeMap, sync::Mutex};

use super::Format;

pub(crate) use ieee::neighbours;

/// Formats with names of one shape.
pub(super) struct Family {
    /// Words in messages: "the format of 8 bits by RULE".
    pub(super) rule: &'static str,
    /// Format of a name in lower case, without `-` and `_`; `None` for a name of another shape.
    /// For parameters out of range, the ranges.
    format: fn(&str) -> Option<Result<&'static Format, String>>,
}

const FAMILIES: [Family; 3] = [
    Family { rule: "IEEE 754's rules", format: ieee::format },
    Family { rule: "the rule of integers", format: integer::format },
    Family { rule: "P3109's rules", format: p3109::format },
];

/// Family with names of this shape, and the format or the ranges of its parameters.
/// `None` for a name of no family.
pub(super) fn named(name: &str) -> Option<(&'static Family, Result<&'static Format, String>)> {
    FAMILIES.iter().find_map(|family| Some((family, (family.format)(name)?)))
}

/// Formats made so far, by name. They are leaked: the parameters have a few thousand values.
static MADE: Mutex<BTreeMap<String, &'static Format>> = Mutex::new(BTreeMap::new());

/// Format with this canonical name, made at the first call.
fn once(name: String, make: impl FnOnce(&'static str) -> Format) -> &'static Format {
    let mut made = MADE.lock().expect("making a format does not panic");
    made.entry(name.clone()).or_insert_with(|| Box::leak(Box::new(make(Box::leak(name.into_boxed_str())))))
}

/// Number of decimal digits without leading zeros; one that does not fit is out of every range.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let canonical = digits == "0" || !digits.is_empty() && !digits.starts_with('0');
    (plain && canonical).then(|| digits.parse().unwrap_or(u32::MAX))
}
