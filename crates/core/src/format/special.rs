//! Landmarks of a format, and the codes of its zeros, infinities and NaNs as bit patterns.

use super::{Encoding, Float, Format, Specials, ValueTable, Zeros};

/// Set of codes that equal `code` where `free` is 0; bits where `free` is 1 are arbitrary.
/// Where `trailing_nonzero` is set, trailing significands of zero are excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Fixed bits; zero where `free` is 1.
    code: u64,
    /// Mask of the arbitrary bits.
    free: u64,
    /// True if trailing significands of zero are excluded (IEEE 754: they are the infinities).
    pub trailing_nonzero: bool,
}

/// Codes of a table whose values pass.
/// `None` without any, or if they are not all codes with some bits free.
fn of_values(table: &ValueTable, passes: impl Fn(f64) -> bool) -> Option<Pattern> {
    let values = table.values().iter().enumerate();
    let codes: Vec<u64> = values.filter(|(_, value)| passes(**value)).map(|(code, _)| code as u64).collect();
    let free = codes.iter().fold(0, |free, code| free | code ^ codes[0]);
    let code = codes.first()? & !free;
    (codes.len() == 1 << free.count_ones()).then_some(Pattern { code, free, trailing_nonzero: false })
}

impl Format {
    /// Codes of zero; `None` without one, or without a pattern in a format by table.
    pub fn zero_pattern(&self) -> Option<Pattern> {
        if let Some(table) = self.table() {
            return of_values(table, |value| value == 0.0);
        }
        let free = match self.float().map(|float| float.zeros) {
            Some(Zeros::None) => return None,
            Some(Zeros::Both) => self.sign_bit(),
            Some(Zeros::Positive) | None => 0,
        };
        Some(Pattern { code: 0, free: free | self.padding_mask(), trailing_nonzero: false })
    }

    /// Codes of the infinities; `None` without any, or without a pattern in a format by table.
    pub fn infinity_pattern(&self) -> Option<Pattern> {
        if let Some(table) = self.table() {
            return of_values(table, f64::is_infinite);
        }
        let code = self.infinity(false)?;
        Some(Pattern { code, free: self.sign_bit() | self.padding_mask(), trailing_nonzero: false })
    }

    /// Codes of NaN; `None` without any, or without a pattern in a format by table.
    pub fn nan_pattern(&self) -> Option<Pattern> {
        if let Some(table) = self.table() {
            return of_values(table, f64::is_nan);
        }
        let float = self.float()?;
        let padding = self.padding_mask();
        let nan = self.nan()?;
        Some(match float.specials {
            Specials::Ieee => Pattern {
                code: self.infinity(false)?,
                free: self.sign_bit() | self.trailing_mask() | padding,
                trailing_nonzero: true,
            },
            Specials::AllOnesNan | Specials::AllOnesNanInfinity => {
                Pattern { code: nan, free: self.sign_bit() | padding, trailing_nonzero: false }
            }
            Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity | Specials::None => {
                Pattern { code: nan, free: padding, trailing_nonzero: false }
            }
        })
    }

    /// Pattern in the form of [`Format::split`]: `S` for a sign, `p` for padding, `x` for another free bit.
    pub fn split_pattern(&self, pattern: &Pattern) -> String {
        let (fixed, free) = (self.split(pattern.code), self.split(pattern.free));
        let sign = if self.sign_bit() == 0 { usize::MAX } else { 0 };
        let padding = fixed.len() - self.float().map_or(0, |float| float.padding_bits as usize);
        let marks = fixed.chars().zip(free.chars()).enumerate();
        marks
            .map(|(i, (fixed, free))| {
                if free != '1' {
                    fixed
                } else if i == sign {
                    'S'
                } else if i >= padding {
                    'p'
                } else {
                    'x'
                }
            })
            .collect()
    }

    /// Number of codes that belong to `pattern`.
    pub fn count(&self, pattern: &Pattern) -> u64 {
        let all = 1u64 << pattern.free.count_ones();
        all - if pattern.trailing_nonzero { all >> self.trailing_mask().count_ones() } else { 0 }
    }

    /// Smallest positive normal number; 1 for integers.
    /// In a format by table the smallest positive number, code 0 without one.
    pub fn smallest_normal(&self) -> u64 {
        match &self.encoding {
            Encoding::Integer { .. } => 1,
            Encoding::Float(float) => {
                let first = u64::from(float.subnormals || float.zeros != Zeros::None);
                first << (float.trailing_bits + float.padding_bits)
            }
            Encoding::Table(table) => table.smallest_positive().unwrap_or(0),
        }
    }

    /// Smallest and largest positive subnormal number; `None` in a format without any.
    pub fn subnormals(&self) -> Option<(u64, u64)> {
        let float = self.float().filter(|float| float.subnormals && float.trailing_bits > 0)?;
        Some((1 << float.padding_bits, self.trailing_mask()))
    }

    /// Codes that describe a format, each with its name, the positive ones in ascending order of value.
    pub fn landmarks(&self) -> Vec<(&'static str, u64)> {
        let one = self.encode_f64(1.0, super::Rounding::Rne, super::Overflow::Standard);
        let minus_zero = self.zero(true).filter(|&code| self.decode(code).negative);
        let mut landmarks = vec![("zero", self.zero(false)), ("negative zero", minus_zero)];
        landmarks.push(("smallest subnormal", self.subnormals().map(|(smallest, _)| smallest)));
        landmarks.push(("largest subnormal", self.subnormals().map(|(_, largest)| largest)));
        landmarks.push(("smallest normal", self.float().map(|_| self.smallest_normal())));
        landmarks.push(("smallest positive", self.table().and_then(ValueTable::smallest_positive)));
        landmarks.push(("one", one.filter(|&code| self.to_f64(code) == 1.0)));
        landmarks.push(("largest", Some(self.largest(false))));
        landmarks.push(("most negative", Some(self.largest(true)).filter(|&code| self.decode(code).negative)));
        landmarks.push(("infinity", self.infinity(false)));
        landmarks.push(("negative infinity", self.infinity(true)));
        landmarks.push(("canonical NaN", self.nan()));
        landmarks.into_iter().filter_map(|(name, code)| Some((name, code?))).collect()
    }

    fn sign_bit(&self) -> u64 {
        if self.float().is_some_and(|float| float.signed) { 1 << (self.bits - 1) } else { 0 }
    }

    fn padding_mask(&self) -> u64 {
        self.float().map_or(0, |float| (1 << float.padding_bits) - 1)
    }

    fn trailing_mask(&self) -> u64 {
        self.float().map_or(0, |float: &Float| ((1 << float.trailing_bits) - 1) << float.padding_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Class, FORMATS, find};

    fn matches(format: &Format, pattern: &Pattern, code: u64) -> bool {
        code & !pattern.free == pattern.code && !(pattern.trailing_nonzero && code & format.trailing_mask() == 0)
    }

    /// Every code of 16 bits and fewer; in wider formats those near the ends of each field.
    fn codes(format: &Format) -> Vec<u64> {
        if format.bits <= 16 {
            return (0..=format.code_mask()).collect();
        }
        let corners = |mask: u64| [0, mask & mask.wrapping_neg(), mask - (mask & mask.wrapping_neg()), mask];
        let exponent = !(format.sign_bit() | format.padding_mask() | format.trailing_mask()) & format.code_mask();
        let mut codes = vec![0];
        for mask in [format.sign_bit(), exponent, format.trailing_mask(), format.padding_mask()] {
            codes = codes.iter().flat_map(|code| corners(mask).map(|bits| code | bits)).collect();
        }
        codes
    }

    #[test]
    fn patterns_hold_exactly_the_codes_that_decode_to_their_class() {
        for format in FORMATS {
            let patterns = [
                (Class::Zero, format.zero_pattern()),
                (Class::Infinite, format.infinity_pattern()),
                (Class::Nan, format.nan_pattern()),
            ];
            for (class, pattern) in patterns {
                let mut count = 0;
                for code in codes(format) {
                    let expected = format.decode(code).class == class;
                    assert_eq!(
                        pattern.is_some_and(|p| matches(format, &p, code)),
                        expected,
                        "{format} {code:#x} {class:?}"
                    );
                    count += u64::from(expected);
                }
                if format.bits <= 16 {
                    assert_eq!(pattern.map_or(0, |p| format.count(&p)), count, "{format} {class:?}");
                }
            }
        }
    }

    #[test]
    fn smallest_numbers_are_the_smallest_of_their_class() {
        for format in FORMATS.iter().filter(|format| format.bits <= 16) {
            let of = |class: Class| {
                let codes = (0..=format.code_mask()).map(|code| (code, format.decode(code)));
                codes
                    .filter(move |(_, datum)| datum.class == class && !datum.negative)
                    .map(|(code, datum)| (code, datum.to_f64()))
            };
            let least = |class| of(class).min_by(|x, y| x.1.total_cmp(&y.1)).map(|(code, _)| code);
            let most = |class| of(class).max_by(|x, y| x.1.total_cmp(&y.1)).map(|(code, _)| code);
            assert_eq!(Some(format.smallest_normal()), least(Class::Normal), "{format}");
            let subnormals = least(Class::Subnormal).zip(most(Class::Subnormal));
            assert_eq!(format.subnormals(), subnormals, "{format}");
        }
    }

    #[test]
    fn patterns_are_written_as_documents_print_them() {
        let text = |name: &str, of: fn(&Format) -> Option<Pattern>| {
            let format = find(name).unwrap();
            of(format).map(|pattern| format.split_pattern(&pattern))
        };
        assert_eq!(text("f16", Format::nan_pattern).as_deref(), Some("S 11111 xxxxxxxxxx"));
        assert_eq!(text("e4m3", Format::nan_pattern).as_deref(), Some("S 1111 111"));
        assert_eq!(text("e4m3fnuz", Format::nan_pattern).as_deref(), Some("1 0000 000"));
        assert_eq!(text("e8m0", Format::nan_pattern).as_deref(), Some("11111111"));
        assert_eq!(text("e2m1", Format::nan_pattern), None);
        assert_eq!(text("tf32", Format::zero_pattern).as_deref(), Some("S 00000000 0000000000 ppppppppppppp"));
    }
}
