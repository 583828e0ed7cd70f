//! The table of formats: their records, and what follows from them.

use crate::{
    format::{Class, Float, Format, Overflow, ValueTable, Zeros},
    report::{Table, counted, grouped},
};

crate::rows! {
    /// The record of a number format, and its consequences.
    pub struct FormatRecord in "formats" {
        /// Canonical name.
        format: &'static str => shown("format").essential(),
        /// Other accepted names.
        aliases: Vec<&'static str> => shown("other names"),
        /// Bits of a code.
        bits: u32 => shown("bits").essential(),
        /// Sign bits: 1 or 0.
        sign_bits: i64 => shown("sign bits").essential(),
        /// Bits of the exponent field.
        exponent_bits: Option<i64> => shown("exponent bits").essential(),
        /// Bits of the trailing significand field.
        trailing_bits: Option<i64> => shown("trailing bits").essential(),
        /// Ignored bits below the trailing significand.
        padding_bits: Option<i64> => shown("padding bits"),
        /// Meaning of the padding bits.
        padding: Option<&'static str> => shown("padding").if_filled(),
        /// Exponent bias.
        bias: Option<i64> => shown("bias").essential(),
        /// Exponent of the smallest normal number.
        emin: Option<i64> => shown("emin").essential(),
        /// Exponent of the largest finite number.
        emax: Option<i64> => shown("emax").essential(),
        /// Zeros.
        zeros: &'static str => shown("zeros").essential(),
        /// Codes of zeros: S either sign, x any bit, p padding.
        zero_pattern: Option<String> => shown("zero"),
        /// Number of NaN codes, with every value of the padding.
        nan_codes: u64 => shown("NaN codes").essential(),
        /// Codes of NaNs.
        nan_pattern: Option<String> => shown("NaN"),
        /// Infinities.
        infinities: &'static str => shown("infinity").essential(),
        /// Codes of infinities.
        infinity_pattern: Option<String> => shown("infinity code"),
        /// Largest finite number.
        largest: Option<f64> => hidden(),
        /// Largest finite number in decimal; `~` marks a rounded one.
        largest_decimal: Option<String> => shown("largest").essential(),
        /// Code of the largest finite number.
        largest_code: Option<String> => shown("its code").beside(),
        /// Smallest positive normal number.
        smallest_normal: Option<f64> => hidden(),
        /// Smallest positive normal number in decimal.
        smallest_normal_decimal: Option<String> => shown("smallest normal").essential(),
        /// Code of the smallest positive normal number.
        smallest_normal_code: Option<String> => shown("its code").beside(),
        /// Smallest positive subnormal number.
        smallest_subnormal: Option<f64> => hidden(),
        /// Smallest positive subnormal number in decimal.
        smallest_subnormal_decimal: Option<String> => shown("smallest subnormal").essential(),
        /// Code of the smallest positive subnormal number.
        smallest_subnormal_code: Option<String> => shown("its code").beside(),
        /// Treatment of values that are too large.
        overflow: &'static str => shown("overflow").essential(),
        /// Magnitude from which on a value overflows, in a format by table that has it.
        limit: Option<f64> => shown("overflow from").if_filled(),
        /// Boundaries of rounding to the nearest, in a format by table.
        boundaries: Option<&'static str> => shown("boundaries").if_filled(),
        /// Number that a value on a boundary is rounded to by RNE, in a format by table.
        ties: Option<&'static str> => shown("ties").if_filled(),
        /// Specification.
        source: &'static str => shown("source").essential(),
    }
}

const PADDING: &str = "ignored: the value of a code does not depend on it; zero in canonical codes";

/// Detail of a record in the views for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Columns that distinguish formats.
    Brief,
    /// Also other names and patterns of codes.
    Full,
}

/// Makes the table of `formats`. Views for machines have all columns in any detail.
pub fn records<'a>(formats: impl IntoIterator<Item = &'a Format>, detail: Detail) -> Table {
    let title = match detail {
        Detail::Brief => "Formats (~ marks a decimal that is rounded)",
        Detail::Full => "Record (~ marks a decimal that is rounded; S: either sign; x: any bit; p: padding)",
    };
    Table { brief: detail == Detail::Brief, ..Table::of(title, formats.into_iter().map(row)) }
}

/// Describes a format in a sentence.
pub fn answer(format: &Format) -> String {
    let record = row(format);
    let codes = match format.bits {
        ..=16 => grouped(1 << format.bits),
        bits => format!("2^{bits}"),
    };
    let mut sentence = format!("{format} has {codes} codes");
    if !format.is_integer() {
        let infinities = match [false, true].map(|negative| format.infinity(negative).is_some()) {
            [true, true] => "2 infinities",
            [false, false] => "no infinity",
            _ => "1 infinity",
        };
        let nans = if record.nan_codes == 0 { "no NaN".to_string() } else { counted(record.nan_codes, "NaN") };
        sentence += &format!(", {nans} and {infinities} among them");
    }
    let smallest_positive =
        format.table().and_then(|_| Some(format.smallest_normal()).filter(|code| format.to_f64(*code) > 0.0));
    let landmarks = [
        ("the largest number is", record.largest_decimal),
        ("the smallest normal", record.smallest_normal_decimal),
        ("the smallest subnormal", record.smallest_subnormal_decimal),
        ("the smallest positive one", smallest_positive.map(|code| format.decode(code).decimal())),
    ];
    let said: Vec<String> =
        landmarks.into_iter().filter_map(|(what, decimal)| Some(format!("{what} {}", decimal?))).collect();
    sentence + "; " + &said.join(", ") + "."
}

/// Counts the listed formats in a sentence.
pub fn answer_of_list(formats: usize, blocks: usize) -> String {
    let [formats, blocks] = [(formats, "format"), (blocks, "block format")].map(|(n, what)| counted(n as u64, what));
    format!("{formats} and {blocks} are known by name; eXmY, sN, uN and binaryKpPsf name formats by rule.")
}

fn row(format: &Format) -> FormatRecord {
    let (float, of_table) = (format.float(), format.table().map(ValueTable::nearest));
    let of = |field: fn(&Float) -> i64| float.map(field);
    let float_only = |code: u64| float.map(|_| code);
    let largest = Some(format.largest(false));
    let normal = float_only(format.smallest_normal());
    let subnormal = format.subnormals().map(|(smallest, _)| smallest);
    let value = |code: Option<u64>| code.map(|code| format.to_f64(code));
    let decimal = |code: Option<u64>| code.map(|code| format.decode(code).decimal());
    let hex = |code: Option<u64>| code.map(|code| format.hex(code));
    let SpecialCodes { zeros, nan_codes, infinities, patterns: [zero_pattern, nan_pattern, infinity_pattern] } =
        specials(format);
    FormatRecord {
        format: format.name,
        aliases: format.aliases.to_vec(),
        bits: format.bits,
        sign_bits: format.is_signed().into(),
        exponent_bits: of(|f| f.exponent_bits.into()),
        trailing_bits: of(|f| f.trailing_bits.into()),
        padding_bits: of(|f| f.padding_bits.into()),
        padding: float.filter(|f| f.padding_bits > 0).map(|_| PADDING),
        bias: of(|f| f.bias.into()),
        emin: of(|f| f.emin().into()),
        emax: of(|f| f.emax().into()),
        zeros,
        zero_pattern,
        nan_codes,
        nan_pattern,
        infinities,
        infinity_pattern,
        largest: value(largest),
        largest_decimal: decimal(largest),
        largest_code: hex(largest),
        smallest_normal: value(normal),
        smallest_normal_decimal: decimal(normal),
        smallest_normal_code: hex(normal),
        smallest_subnormal: value(subnormal),
        smallest_subnormal_decimal: decimal(subnormal),
        smallest_subnormal_code: hex(subnormal),
        overflow: float.map_or(of_table.map_or(Overflow::Saturate, |nearest| nearest.overflow), |f| f.overflow).name(),
        limit: of_table.and_then(|nearest| nearest.limit),
        boundaries: of_table.map(|nearest| if nearest.thresholds.is_empty() { "half-way" } else { "own" }),
        ties: of_table.map(|nearest| nearest.ties.name()),
        source: format.source,
    }
}

/// Zeros, NaNs and infinities: in words or as a count, and as patterns of bits.
struct SpecialCodes {
    zeros: &'static str,
    nan_codes: u64,
    infinities: &'static str,
    patterns: [Option<String>; 3],
}

fn specials(format: &Format) -> SpecialCodes {
    let of_table = |class: Class| {
        let codes = 0..=format.code_mask();
        format.table().map(|_| codes.filter(|code| format.decode(*code).class == class).count() as u64)
    };
    let zeros = match (format.float().map(|float| float.zeros), of_table(Class::Zero)) {
        (Some(Zeros::None), _) | (None, Some(0)) => "none",
        (Some(Zeros::Both), _) => "+0 -0",
        (Some(Zeros::Positive), _) | (None, None) => "+0",
        (None, Some(_)) => {
            match [false, true].map(|negative| format.zero(negative).map(|code| format.decode(code).negative)) {
                [Some(false), Some(true)] => "+0 -0",
                [Some(true), _] => "-0",
                _ => "+0",
            }
        }
    };
    let infinities = match [false, true].map(|negative| format.infinity(negative).is_some()) {
        [true, true] => "+inf -inf",
        [true, false] => "+inf",
        [false, true] => "-inf",
        [false, false] => "none",
    };
    let nan = format.nan_pattern();
    let pattern = |pattern: Option<_>| pattern.map(|pattern| format.split_pattern(&pattern));
    let nan_pattern = match nan {
        Some(set) if set.trailing_nonzero => Some(format!("{}, not all x 0", format.split_pattern(&set))),
        other => pattern(other),
    };
    SpecialCodes {
        zeros,
        nan_codes: of_table(Class::Nan).unwrap_or(nan.map_or(0, |pattern| format.count(&pattern))),
        infinities,
        patterns: [pattern(format.zero_pattern()), nan_pattern, pattern(format.infinity_pattern())],
    }
}
