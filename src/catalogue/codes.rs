//! The codes of one format, with their bits, class and exact value.

use crate::{format::Format, report::Table};

crate::rows! {
    /// A code of a format.
    pub(crate) struct CodeRow in "codes" {
        /// The code, in hexadecimal.
        code: String => shown("code").essential(),
        /// Its bits: sign, exponent and trailing significand apart.
        bits: String => shown("bits").essential(),
        /// Its class of data.
        class: &'static str => shown("class"),
        /// Its value.
        value: f64 => hidden(),
        /// Its value in decimal; `~` marks a rounded one.
        decimal: String => shown("value").essential(),
        /// Its value as an integer times a power of two.
        scaled: String => shown("exactly"),
    }

    /// A code that describes a format: zeros, ends of the ranges of its classes, one, infinities, canonical NaN.
    pub(crate) struct Landmark in "landmarks" {
        /// What the code is of the format.
        landmark: &'static str => shown("landmark").essential(),
        /// The code.
        of: CodeRow => shown(""),
    }
}

/// Every code of `format`, in ascending order.
///
/// # Panics
/// For a format of more than 16 bits, whose table nobody would read.
pub(crate) fn codes(format: &Format) -> Table {
    assert!(format.bits <= 16, "a table of all codes of {format}");
    Table::of(format!("Every code of {format}"), (0..=format.code_mask()).map(|code| row(format, code)))
}

/// The landmarks of `format`.
pub(crate) fn landmarks(format: &Format) -> Table {
    let landmark = |(landmark, code): (&'static str, u64)| Landmark { landmark, of: row(format, code) };
    Table::of(format!("Landmarks of {format}"), format.landmarks().into_iter().map(landmark))
}

fn row(format: &Format, code: u64) -> CodeRow {
    let datum = format.decode(code);
    CodeRow {
        code: format.hex(code),
        bits: format.split(code),
        class: datum.class.name(),
        value: datum.to_f64(),
        decimal: datum.decimal(),
        scaled: datum.scaled(),
    }
}
