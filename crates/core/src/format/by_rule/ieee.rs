//! Formats by IEEE 754's rules: every name eXmY that the table lacks, for registers of any width.

use std::ops::RangeInclusive;

use super::{number, once};
use crate::format::{Encoding, Float, Format, find, table::IEEE};

const SOURCE: &str = "IEEE 754 rules, width by name";

/// Widths of the exponent. A narrower one leaves no normal number; a wider one exceeds binary64.
const EXPONENT_BITS: RangeInclusive<u32> = 2..=11;
/// Widths of the trailing significand. A narrower one leaves no NaN; a wider one exceeds binary64.
const TRAILING_BITS: RangeInclusive<u32> = 1..=52;

/// Exponent bits and trailing bits of a name eXmY without leading zeros; `None` for other names.
fn widths(name: &str) -> Option<[u32; 2]> {
    let (exponent, trailing) = name.strip_prefix('e')?.split_once('m')?;
    Some([number(exponent)?, number(trailing)?])
}

pub(super) fn format(name: &str) -> Option<Result<&'static Format, String>> {
    let [exponent_bits, trailing_bits] = widths(name)?;
    let [exponents, trailings] = [EXPONENT_BITS, TRAILING_BITS];
    if !exponents.contains(&exponent_bits) || !trailings.contains(&trailing_bits) {
        return Some(Err(format!(
            "a format eXmY has X = {} to {} exponent bits and Y = {} to {} trailing bits",
            exponents.start(),
            exponents.end(),
            trailings.start(),
            trailings.end()
        )));
    }
    Some(Ok(once(format!("e{exponent_bits}m{trailing_bits}"), |name| Format {
        name,
        aliases: &[],
        bits: 1 + exponent_bits + trailing_bits,
        encoding: Encoding::Float(Float { exponent_bits, trailing_bits, bias: (1 << (exponent_bits - 1)) - 1, ..IEEE }),
        source: SOURCE,
    })))
}

/// Formats with one trailing bit less and one more than a format eXmY with infinities; none for others.
pub(crate) fn neighbours(format: &Format) -> Vec<&'static Format> {
    let named = widths(format.name).is_some() && format.has_infinity();
    let Some(float) = format.float().filter(|_| named) else { return Vec::new() };
    let of = |trailing_bits: u32| find(&format!("e{}m{trailing_bits}", float.exponent_bits)).ok();
    [float.trailing_bits - 1, float.trailing_bits + 1].into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{FORMATS, Zeros};

    #[test]
    fn every_name_in_the_ranges_is_a_format_made_once() {
        for (x, y) in EXPONENT_BITS.flat_map(|x| TRAILING_BITS.map(move |y| (x, y))) {
            let name = format!("e{x}m{y}");
            let format = find(&name).unwrap();
            assert_eq!(format.name, name);
            assert!(std::ptr::eq(format, find(&name.to_uppercase()).unwrap()), "{name} is made twice");
            if FORMATS.iter().any(|known| known.name == name) {
                assert_ne!(format.source, SOURCE, "{name}");
                continue;
            }
            let float = format.float().unwrap();
            assert_eq!((format.bits, format.source), (1 + x + y, SOURCE), "{name}");
            assert_eq!((float.exponent_bits, float.trailing_bits, float.padding_bits), (x, y, 0), "{name}");
            assert!(format.has_nan() && format.has_infinity() && float.zeros == Zeros::Both, "{name}");
        }
    }

    #[test]
    fn names_of_the_table_and_their_aliases_keep_their_formats() {
        for format in FORMATS {
            for name in std::iter::once(&format.name).chain(format.aliases) {
                assert!(std::ptr::eq(find(name).unwrap(), format), "{name}");
            }
        }
        assert!(!find("e4m3").unwrap().has_infinity());
        assert_eq!(find("e8m0").unwrap().bits, 8);
    }

    #[test]
    fn a_rule_with_the_widths_of_a_standard_format_gives_that_format() {
        for (rule, standard) in [("e11m52", "f64"), ("e8m23", "f32"), ("e5m10", "f16"), ("e8m7", "bf16")] {
            let [rule, standard] = [rule, standard].map(|name| find(name).unwrap());
            assert_eq!((rule.bits, rule.encoding), (standard.bits, standard.encoding), "{rule}");
        }
    }

    #[test]
    fn neighbours_differ_by_one_trailing_bit() {
        let of = |name| neighbours(find(name).unwrap()).iter().map(|format| format.name).collect::<Vec<_>>();
        assert_eq!(of("e8m24"), ["e8m23", "e8m25"]);
        assert_eq!(of("e8m14"), ["e8m13", "e8m15"]);
        assert_eq!(of("e11m52"), ["e11m51"]);
        assert_eq!(of("e5m1"), ["e5m2"]);
        assert_eq!(of("e8m13"), ["e8m12", "e8m14"]);
        assert!(["f32", "s32", "e4m3", "e8m0"].map(of).iter().all(Vec::is_empty));
    }

    #[test]
    fn names_out_of_range_are_refused_with_the_ranges() {
        for name in ["e12m3", "e1m3", "e8m60", "e8m53", "e5m0", "e0m0", "e99999999999m3", "E12M3", "e8_m60"] {
            let message = find(name).unwrap_err().to_string();
            assert!(message.contains(&format!("'{name}'")), "{message}");
            assert!(message.contains("X = 2 to 11") && message.contains("Y = 1 to 52"), "{message}");
        }
    }

    #[test]
    fn names_of_other_shapes_are_answered_with_the_nearest() {
        for name in ["e04m3", "e4m03", "e4m", "em3", "e+4m3", "e4m3x", "ue5m9", "4m3", "e4m3m3"] {
            let message = find(name).unwrap_err().to_string();
            assert!(message.contains("the nearest are"), "{message}");
        }
    }
}
