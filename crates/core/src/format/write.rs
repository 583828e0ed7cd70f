//! Codes and values as text: hexadecimal, bit fields, exact decimal, integer times a power of two.

use num_bigint::BigUint;

use super::{Class, Decoded, Encoding, Format};

/// Significant digits up to which a decimal is written exactly.
/// All values of f16 and of the formats of 8 bits and fewer, except e8m0, need at most these.
const EXACT_DIGITS: usize = 21;

/// Significant digits of a decimal that is rounded.
const ROUNDED_DIGITS: usize = 17;

/// Decimal exponents for which a decimal is written without an exponent.
const PLAIN: std::ops::RangeInclusive<i32> = -5..=15;

impl Format {
    /// Code in hexadecimal, with the leading zeros of its width: `0x3f80`.
    pub fn hex(&self, code: u64) -> String {
        format!("0x{code:0width$x}", width = self.bits.div_ceil(4) as usize)
    }

    /// Bits of a code, with spaces between sign, exponent, trailing significand and padding: `0 0111 000`.
    /// Fields of no bits are omitted; an integer and a code of a table are one field.
    pub fn split(&self, code: u64) -> String {
        let mut below = self.bits;
        let mut fields = Vec::new();
        for width in self.field_widths().into_iter().filter(|&width| width > 0) {
            below -= width;
            let field = code >> below & (u64::MAX >> (64 - width));
            fields.push(format!("{field:0width$b}", width = width as usize));
        }
        fields.join(" ")
    }

    /// Widths of sign, biased exponent, trailing significand and padding.
    /// An integer and a code of a table have only the third.
    pub(super) fn field_widths(&self) -> [u32; 4] {
        match &self.encoding {
            Encoding::Float(f) => [u32::from(f.signed), f.exponent_bits, f.trailing_bits, f.padding_bits],
            Encoding::Integer { .. } | Encoding::Table(_) => [0, 0, self.bits, 0],
        }
    }
}

impl Decoded {
    /// Value in decimal: exact within 21 significant digits, else rounded to 17 after a `~`.
    ///
    /// The 17 digits read back as the same double. `inf`, `NaN`; a zero has its sign. Example: the smallest e4m3 number
    /// is `0.001953125`, the smallest bf16 number `~9.1835496157991212e-41`.
    pub fn decimal(&self) -> String {
        if !matches!(self.class, Class::Subnormal | Class::Normal) {
            return self.signed(String::new());
        }
        let (digits, exponent) = self.digits();
        if digits.len() <= EXACT_DIGITS {
            return self.signed(placed(&digits, exponent));
        }
        let nearest = self.to_f64().abs();
        let (digits, exponent) = if nearest.is_normal() {
            let rounded = format!("{nearest:.16e}");
            let (digits, exponent) = rounded.split_once('e').expect("{:e} writes an exponent");
            (digits.replace('.', ""), exponent.parse().expect("a decimal exponent"))
        } else {
            shortened(&digits, exponent)
        };
        format!("~{}", self.signed(placed(digits.trim_end_matches('0'), exponent)))
    }

    /// Value as `M*2^E`, integer significand times quantum: `8*2^-3` for the e4m3 number 1.
    /// `0`, `inf`, `NaN`.
    pub fn exact_text(&self) -> String {
        self.signed(format!("{}*2^{}", self.significand, self.exponent))
    }

    /// Zero, infinity or NaN in words, else `magnitude`, after the sign.
    fn signed(&self, magnitude: String) -> String {
        let sign = if self.negative { "-" } else { "" };
        match self.class {
            Class::Nan => "NaN".to_string(),
            Class::Infinite => format!("{sign}inf"),
            Class::Zero => format!("{sign}0"),
            Class::Subnormal | Class::Normal => format!("{sign}{magnitude}"),
        }
    }

    /// Significant decimal digits of the magnitude, and the power of ten of the first.
    fn digits(&self) -> (String, i32) {
        let significand = BigUint::from(self.significand);
        let (integer, places) = match self.exponent {
            exponent @ 0.. => (significand << exponent as u32, 0),
            exponent => (significand * BigUint::from(5u32).pow(exponent.unsigned_abs()), -exponent),
        };
        let digits = integer.to_string();
        let leading = digits.len() as i32 - 1 - places;
        (digits.trim_end_matches('0').to_string(), leading)
    }
}

/// More than 17 significant digits, rounded to 17, and the power of ten of the first.
/// Products inside an instruction may lie beyond the range of a double.
fn shortened(digits: &str, exponent: i32) -> (String, i32) {
    let (kept, rest) = digits.split_at(ROUNDED_DIGITS);
    let kept: u64 = kept.parse().expect("17 digits");
    let rounded = (kept + u64::from(rest.as_bytes()[0] >= b'5')).to_string();
    let carry = (rounded.len() - ROUNDED_DIGITS) as i32;
    (rounded, exponent + carry)
}

/// Significant digits whose first weighs `10^exponent`, as a decimal.
fn placed(digits: &str, exponent: i32) -> String {
    let zeros = |count: usize| "0".repeat(count);
    if !PLAIN.contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs());
    }
    match usize::try_from(exponent) {
        Err(_) => format!("0.{}{digits}", zeros(exponent.unsigned_abs() as usize - 1)),
        Ok(exponent) if digits.len() <= exponent + 1 => format!("{digits}{}", zeros(exponent + 1 - digits.len())),
        Ok(exponent) => format!("{}.{}", &digits[..=exponent], &digits[exponent + 1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{FORMATS, Overflow, Real, Rounding, find};

    fn decimal(format: &str, code: u64) -> String {
        find(format).unwrap().decode(code).decimal()
    }

    #[test]
    fn known_values_read_as_their_documents_print_them() {
        for (format, code, text) in [
            ("e4m3", 0x7e, "448"),
            ("e4m3", 0x01, "0.001953125"),
            ("e4m3", 0xff, "NaN"),
            ("e4m3", 0x80, "-0"),
            ("e5m2", 0x01, "0.0000152587890625"),
            ("e5m2", 0xfc, "-inf"),
            ("f16", 0x0001, "5.9604644775390625e-08"),
            ("f16", 0x7bff, "65504"),
            ("bf16", 0x0001, "~9.1835496157991212e-41"),
            ("bf16", 0x7f7f, "~3.3895313892515355e+38"),
            ("f32", 0x3dcc_cccd, "~0.10000000149011612"),
            ("f64", 0x0010_0000_0000_0000, "~2.2250738585072014e-308"),
            ("f64", 0x7fe0_0000_0000_0000, "~8.9884656743115795e+307"),
            ("f64", 0x8000_0000_0000_0001, "~-4.9406564584124654e-324"),
            ("e8m0", 0x7f, "1"),
            ("s8", 0x80, "-128"),
            ("s32", 0x7fff_ffff, "2147483647"),
        ] {
            assert_eq!(decimal(format, code), text, "{format} {code:#x}");
        }
        assert_eq!(find("e4m3").unwrap().decode(0x38).exact_text(), "8*2^-3");
        assert_eq!(find("bf16").unwrap().decode(0x8001).exact_text(), "-1*2^-133");
    }

    /// Every code of formats of at most 16 bits, and every 65,521st of wider formats.
    fn codes(format: &Format) -> impl Iterator<Item = u64> {
        let step = if format.bits <= 16 { 1 } else { (format.code_mask() / 65_521) | 1 };
        (0..=65_535u64).map(move |i| i.wrapping_mul(step)).take_while(|&code| code <= format.code_mask())
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_number() {
        for format in FORMATS {
            for code in codes(format) {
                let datum = format.decode(code);
                let again = |text: &str| {
                    let value: Real = text.parse().unwrap();
                    format.encode(&value, Rounding::Rne, Overflow::Standard).map(|code| format.decode(code))
                };
                if datum.class == Class::Nan {
                    assert_eq!(datum.decimal(), "NaN");
                    continue;
                }
                assert_eq!(again(&datum.exact_text()), Some(datum), "{format} {code:#x} {}", datum.exact_text());
                let decimal = datum.decimal();
                assert_eq!(again(decimal.replace('~', "").as_str()), Some(datum), "{format} {code:#x} {decimal}");
            }
        }
    }

    #[test]
    fn values_beyond_the_range_of_doubles_are_rounded_too() {
        let decimal =
            |significand, exponent| Decoded { class: Class::Normal, negative: true, significand, exponent }.decimal();
        assert_eq!(decimal(3, 2000), "~-3.4443920858227636e+602");
        assert_eq!(decimal(5, -1500), "~-1.4255304824483529e-451");
        assert_eq!(decimal(1, 1200), "~-1.7218479456385751e+361");
    }

    #[test]
    fn a_decimal_without_a_tilde_is_exact() {
        for format in FORMATS {
            for code in codes(format).step_by(7) {
                let datum = format.decode(code);
                let text = datum.decimal();
                if datum.is_finite() && !text.contains('~') {
                    let (Real::Finite(read), Real::Finite(true_value)) = (text.parse().unwrap(), datum.real()) else {
                        panic!("{text} is not finite")
                    };
                    // A terminating binary fraction has no sticky part, and its bits are the value's.
                    assert!(!read.sticky, "{format} {code:#x} {text}");
                    assert_eq!(reduced(read), reduced(true_value), "{format} {code:#x} {text}");
                }
            }
        }
    }

    fn reduced(x: crate::format::Finite) -> (bool, u128, i32) {
        match x.significand.trailing_zeros() {
            128 => (x.negative, 0, 0),
            zeros => (x.negative, x.significand >> zeros, x.exponent + zeros as i32),
        }
    }

    #[test]
    fn fields_are_set_apart() {
        for (format, code, bits, hex) in [
            ("e4m3", 0xb8, "1 0111 000", "0xb8"),
            ("e8m0", 0x7f, "01111111", "0x7f"),
            ("e2m1", 0x9, "1 00 1", "0x9"),
            ("ue4m3", 0x08, "0001 000", "0x08"),
            ("s4", 0xf, "1111", "0xf"),
            ("tf32", 0x3f80_2000, "0 01111111 0000000001 0000000000000", "0x3f802000"),
        ] {
            let format = find(format).unwrap();
            assert_eq!((format.split(code).as_str(), format.hex(code).as_str()), (bits, hex));
        }
    }
}
