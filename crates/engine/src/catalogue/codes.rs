//! Tables of one format's codes, with their bits, class and exact value.

use crate::{format::Format, report::Table};

crate::rows! {
    /// A code of a format.
    pub struct CodeRow in "codes" {
        /// Code, in hexadecimal.
        code: String => shown("code").essential(),
        /// Bits: sign, exponent, trailing significand.
        bits: String => shown("bits").essential(),
        /// Class of data.
        class: &'static str => shown("class"),
        /// Value.
        value: f64 => hidden(),
        /// Value in decimal; `~` marks a rounded one.
        decimal: String => shown("value").essential(),
        /// Value as an integer times a power of two.
        scaled: String => shown("exactly"),
    }

    /// A landmark of a format: zeros, ends of classes, one, infinities, canonical NaN.
    pub struct Landmark in "landmarks" {
        /// Name of the landmark.
        landmark: &'static str => shown("landmark").essential(),
        /// The code.
        of: CodeRow => shown(""),
    }
}

/// Makes the table of all codes of `format`, in ascending order.
///
/// # Panics
/// If the format has more than 16 bits.
pub fn codes(format: &Format) -> Table {
    assert!(format.bits <= 16, "a table of all codes of {format}");
    Table::of(format!("Every code of {format}"), (0..=format.code_mask()).map(|code| row(format, code)))
}

/// Makes the table of landmarks of `format`.
pub fn landmarks(format: &Format) -> Table {
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
        scaled: datum.exact_text(),
    }
}
