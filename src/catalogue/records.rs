//! A row for each format: what its record says and what follows from it.

use crate::{
    format::{Encoding, Float, Format, Overflow, Zeros},
    report::{Cell, Column, Table},
};

/// How much of a record the views for people show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What distinguishes formats from one another.
    Brief,
    /// Other names and patterns of codes too.
    Full,
}

/// The records of `formats`, computed from their fields. Views for machines have all columns whatever the detail.
pub fn records<'a>(formats: impl IntoIterator<Item = &'a Format>, detail: Detail) -> Table {
    let title = match detail {
        Detail::Brief => "Formats (~ marks a decimal that is rounded)",
        Detail::Full => "Record (~ marks a decimal that is rounded; S: either sign; x: any bit)",
    };
    let mut table = Table::new("formats", title, columns(detail));
    table.rows = formats.into_iter().map(row).collect();
    table
}

fn columns(detail: Detail) -> Vec<Column> {
    let full = |key, label| if detail == Detail::Full { Column::new(key, label) } else { Column::hidden(key) };
    vec![
        Column::new("format", "format"),
        full("aliases", "other names"),
        Column::new("bits", "bits"),
        Column::new("sign_bits", "sign bits"),
        Column::new("exponent_bits", "exponent bits"),
        Column::new("trailing_bits", "trailing bits"),
        full("padding_bits", "padding bits"),
        Column::new("bias", "bias"),
        Column::new("emin", "emin"),
        Column::new("emax", "emax"),
        Column::new("zeros", "zeros"),
        full("zero_pattern", "zero"),
        Column::new("nan_codes", "NaN codes"),
        full("nan_pattern", "NaN"),
        Column::new("infinities", "infinity"),
        full("infinity_pattern", "infinity code"),
        Column::hidden("largest"),
        Column::new("largest_decimal", "largest"),
        full("largest_code", "its code"),
        Column::hidden("smallest_normal"),
        Column::new("smallest_normal_decimal", "smallest normal"),
        full("smallest_normal_code", "its code"),
        Column::hidden("smallest_subnormal"),
        Column::new("smallest_subnormal_decimal", "smallest subnormal"),
        full("smallest_subnormal_code", "its code"),
        Column::new("overflow", "overflow"),
        Column::new("source", "source"),
    ]
}

fn row(format: &Format) -> Vec<Cell> {
    let float = format.float();
    let of = |field: fn(&Float) -> i64| Cell::from(float.map(field));
    let aliases: Vec<Cell> = format.aliases.iter().map(|&alias| alias.into()).collect();
    let mut row = vec![
        format.name.into(),
        Cell::List(aliases),
        format.bits.into(),
        i64::from(is_signed(format)).into(),
        of(|f| f.exponent_bits.into()),
        of(|f| f.trailing_bits.into()),
        of(|f| f.padding_bits.into()),
        of(|f| f.bias.into()),
        of(|f| f.emin().into()),
        of(|f| f.emax().into()),
    ];
    row.extend(specials(format));
    let float_only = |code: u64| float.map(|_| code);
    for code in [
        Some(format.largest(false)),
        float_only(format.smallest_normal()),
        format.subnormals().map(|(smallest, _)| smallest),
    ] {
        row.push(code.map(|code| format.to_f64(code)).into());
        row.push(code.map(|code| format.decode(code).decimal()).into());
        row.push(code.map(|code| format.hex(code)).into());
    }
    row.push(float.map_or(Overflow::Saturate, |f| f.overflow).name().into());
    row.push(format.source.into());
    row
}

/// Zeros, NaN and infinity: in words or as a count, then as a pattern of bits.
fn specials(format: &Format) -> [Cell; 6] {
    let zeros = match format.float().map(|float| float.zeros) {
        Some(Zeros::None) => "none",
        Some(Zeros::Both) => "+0 -0",
        Some(Zeros::Positive) | None => "+0",
    };
    let nan = format.nan_pattern();
    let pattern = |pattern: Option<_>| Cell::from(pattern.map(|pattern| format.split_pattern(&pattern)));
    [
        zeros.into(),
        pattern(format.zero_pattern()),
        nan.map_or(0, |pattern| format.count(&pattern)).into(),
        match nan {
            Some(set) if set.trailing_nonzero => format!("{}, not all x 0", format.split_pattern(&set)).into(),
            other => pattern(other),
        },
        if format.has_infinity() { "+inf -inf" } else { "none" }.into(),
        pattern(format.infinity_pattern()),
    ]
}

fn is_signed(format: &Format) -> bool {
    match &format.encoding {
        Encoding::Float(float) => float.signed,
        Encoding::Integer { signed } => *signed,
    }
}
