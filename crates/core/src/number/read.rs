//! Exact reading of numbers from text, without rounding.

use std::str::FromStr;

use num_bigint::BigUint;

use super::{Finite, Real};
use crate::Error;

/// Largest exponent, and longest number in characters: far outside every format, and quick to read.
const LIMIT: usize = 100_000;

/// Bits kept of a number; the rest becomes the sticky bit.
/// Any format's precision and 64 random bits fit.
const KEPT_BITS: u32 = 128;

impl FromStr for Real {
    type Err = Error;

    /// Reads a number exactly; digits beyond 128 bits become the sticky bit.
    ///
    /// The text is a decimal (`-1.5e-3`), a hexadecimal number with a binary exponent (`0x1.8p-3`), an integer times a
    /// power of two (`12*2^-3`), `inf`, `infinity` or `nan`, in any letter case.
    ///
    /// # Errors
    /// Text of another form, longer than 100,000 characters, or with an exponent beyond +-100,000.
    fn from_str(text: &str) -> Result<Real, Error> {
        let lower = text.to_ascii_lowercase();
        let (negative, magnitude) = match lower.as_bytes().first() {
            Some(b'-') => (true, &lower[1..]),
            Some(b'+') => (false, &lower[1..]),
            _ => (false, lower.as_str()),
        };
        match magnitude {
            "inf" | "infinity" => return Ok(Real::Infinity { negative }),
            "nan" => return Ok(Real::Nan),
            _ => {}
        }
        let number = if text.len() > LIMIT {
            None
        } else if let Some(hexadecimal) = magnitude.strip_prefix("0x") {
            read_hexadecimal(hexadecimal)
        } else if let Some((significand, exponent)) = magnitude.split_once("*2^") {
            read_scaled(significand, exponent)
        } else {
            read_decimal(magnitude)
        };
        let shown = crate::base::visible::shortened(text);
        let unreadable = || {
            Error::request(format!(
                "'{shown}' is not a number; write a decimal (-1.5e-3), a hexadecimal number with a binary exponent \
                 (0x1.8p-3), M*2^E, inf or nan, with up to {LIMIT} characters, and exponents up to {LIMIT}"
            ))
        };
        let (significand, exponent, sticky) = number.ok_or_else(unreadable)?;
        Ok(Real::Finite(leading(negative, significand, exponent, sticky)))
    }
}

/// Magnitude `significand * 2^exponent`, sticky if the last member is set.
type Magnitude = (BigUint, i32, bool);

fn read_decimal(text: &str) -> Option<Magnitude> {
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits, read_exponent(exponent)?),
        None => (text, 0),
    };
    let (digits, places) = read_digits(digits, 10)?;
    Some(match exponent - places {
        power @ 0.. => (digits * BigUint::from(5u32).pow(power as u32), power, false),
        power => divided(digits, power.unsigned_abs()),
    })
}

/// `digits / 10^power`, with a quotient of more than [`KEPT_BITS`] bits.
fn divided(digits: BigUint, power: u32) -> Magnitude {
    let divisor = BigUint::from(5u32).pow(power);
    let shift = (u64::from(KEPT_BITS) + 2 + divisor.bits()).saturating_sub(digits.bits());
    let dividend = digits << shift;
    let quotient = &dividend / &divisor;
    let exact = &quotient * divisor == dividend;
    (quotient, -(power as i32) - shift as i32, !exact)
}

fn read_hexadecimal(text: &str) -> Option<Magnitude> {
    let (digits, exponent) = text.split_once('p')?;
    let (digits, places) = read_digits(digits, 16)?;
    Some((digits, read_exponent(exponent)? - 4 * places, false))
}

fn read_scaled(significand: &str, exponent: &str) -> Option<Magnitude> {
    match read_digits(significand, 10)? {
        (significand, 0) => Some((significand, read_exponent(exponent)?, false)),
        _ => None,
    }
}

/// Digits of `text` as one integer, and how many of them follow the point.
fn read_digits(text: &str, base: u32) -> Option<(BigUint, i32)> {
    let (integer_digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{integer_digits}{fraction}");
    let valid = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    let integer = valid.then(|| BigUint::parse_bytes(digits.as_bytes(), base))??;
    Some((integer, fraction.len() as i32))
}

fn read_exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let exponent: i32 = plain.then(|| text.parse().ok())??;
    (exponent.unsigned_abs() as usize <= LIMIT).then_some(exponent)
}

/// Leading 128 bits of `(-1)^negative * significand * 2^exponent`; dropped bits become sticky.
fn leading(negative: bool, significand: BigUint, exponent: i32, sticky: bool) -> Finite {
    let excess = significand.bits().saturating_sub(KEPT_BITS.into());
    let sticky = sticky || significand.trailing_zeros().is_some_and(|lowest| lowest < excess);
    let kept = u128::try_from(significand >> excess).expect("as many bits as are kept");
    Finite { negative, significand: kept, exponent: exponent + excess as i32, sticky }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        format::{Overflow, find},
        number::Rounding,
    };

    fn read(text: &str) -> Real {
        text.parse().unwrap()
    }

    #[test]
    fn forms_of_the_same_number_read_alike() {
        let f64_code = |text: &str| find("f64").unwrap().encode(&read(text), Rounding::Rne, Overflow::Standard);
        for text in
            ["1.5", "+1.5", "15e-1", "0.15E+1", "0x1.8p0", "0X3P-1", "3*2^-1", "1500.000e-3", "01.50", "0xC.p-3"]
        {
            assert_eq!(f64_code(text), Some(1.5f64.to_bits()), "{text}");
        }
        assert_eq!(read("-Infinity"), Real::Infinity { negative: true });
        assert_eq!(read("NaN"), Real::Nan);
        assert_eq!(read("-0"), Real::Finite(Finite::exact(true, 0, 0)));
    }

    #[test]
    fn anything_else_is_refused() {
        let long = "1".repeat(LIMIT + 1);
        for text in [
            "",
            "-",
            "+-1",
            ".",
            "e5",
            "1e",
            "1e+",
            "1e100001",
            "1e99999999999",
            "0x10",
            "0x.p1",
            "0xgp1",
            "1_000",
            "1,5",
            "1 2",
            "--1",
            "1.2.3",
            "1.5*2^1",
            "1*2^",
            "1e1.5",
            "one",
            "0x1p",
            "infinit",
            "1e++5",
            &long,
        ] {
            assert!(text.parse::<Real>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_tie_and_its_neighbours_are_told_apart_however_far_the_difference() {
        // 1 + 2^-8 is half-way between two bf16 numbers.
        let bf16 = find("bf16").unwrap();
        let code = |text: &str| bf16.encode(&read(text), Rounding::Rne, Overflow::Standard).unwrap();
        let zeros = "0".repeat(3000);
        assert_eq!(code("1.00390625"), 0x3f80);
        assert_eq!(code(&format!("1.00390625{zeros}1")), 0x3f81);
        assert_eq!(code(&format!("1.00390624{}", "9".repeat(3000))), 0x3f80);
        assert_eq!(code(&format!("0x1.01{zeros}1p0")), 0x3f81);
    }

    #[test]
    fn the_extremes_of_the_exponent_round_as_far_values_should() {
        let f32 = find("f32").unwrap();
        let code = |text: &str, rounding| f32.encode(&read(text), rounding, Overflow::Standard).unwrap();
        assert_eq!(code("1e100000", Rounding::Rne), 0x7f80_0000);
        assert_eq!(code("-1e100000", Rounding::Rz), 0xff7f_ffff);
        assert_eq!(code("1e-100000", Rounding::Rne), 0);
        assert_eq!(code("1e-100000", Rounding::Ru), 1);
    }

    proptest! {
        #[test]
        fn decimals_round_as_the_standard_library_rounds_them(digits in "[0-9]{1,40}", point in 0usize..40, exponent in -340i32..310) {
            let mut text = digits;
            if point <= text.len() {
                text.insert(point, '.');
            }
            text += &format!("e{exponent}");
            let wide = find("f64").unwrap().encode(&read(&text), Rounding::Rne, Overflow::Standard);
            prop_assert_eq!(wide, Some(text.parse::<f64>().unwrap().to_bits()));
            let single = find("f32").unwrap().encode(&read(&text), Rounding::Rne, Overflow::Standard);
            prop_assert_eq!(single, Some(text.parse::<f32>().unwrap().to_bits().into()));
        }
    }
}
