//! The flags that say how a command rounds, and what it makes of values that are too large.

use clap::{Args, ValueEnum};

use super::options::integer;
use crate::{
    Error, Result,
    format::{Overflow, Rounding},
};

/// The random bits of each element, of stochastic rounding.
const RANDOM_BITS: u32 = 32;

/// How to round.
#[derive(Args, Debug, Clone)]
pub(crate) struct RoundingFlags {
    /// The rounding: RNE, RNA, RZ, RU, RD, RO (to odd) or SR (stochastic, with --random and --random-bits).
    #[arg(long, value_name = "MODE", default_value = "RNE")]
    pub round: String,
    /// The random bits of SR, in hexadecimal: added to the discarded fraction, cut to as many bits.
    #[arg(long, value_name = "HEX", requires = "random_bits")]
    pub random: Option<String>,
    /// How many random bits SR adds.
    #[arg(long, value_name = "N", requires = "random", value_parser = integer(1..=64u32))]
    pub random_bits: Option<u32>,
    /// How values that are too large are converted: finite ones beyond the largest number, and infinities.
    #[arg(long, value_enum, default_value = "standard")]
    pub overflow: OverflowName,
}

/// The name of an overflow rule.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowName {
    /// As the format's own standard says: infinities are kept if it has them.
    Standard,
    /// Infinity; where the format has none, NaN.
    Infinity,
    /// NaN; where the format has none, the largest number.
    Nan,
    /// The largest number of the same sign, as the saturating conversions of GPUs have it.
    Saturate,
}

impl From<OverflowName> for Overflow {
    fn from(name: OverflowName) -> Overflow {
        match name {
            OverflowName::Standard => Overflow::Standard,
            OverflowName::Infinity => Overflow::Infinity,
            OverflowName::Nan => Overflow::Nan,
            OverflowName::Saturate => Overflow::Saturate,
        }
    }
}

impl RoundingFlags {
    /// The rounding direction.
    ///
    /// # Errors
    /// An unknown name; SR without random bits, or random bits without SR; random bits that are not a hexadecimal number of
    /// their width.
    pub(crate) fn rounding(&self) -> Result<Rounding> {
        let name = self.round.as_str();
        match (name.eq_ignore_ascii_case("SR"), &self.random, self.random_bits) {
            (true, Some(random), Some(bits)) => Ok(Rounding::Sr { random: random_bits(random, bits)?, bits }),
            (true, ..) => Err(Error::request("--round SR needs --random HEX and --random-bits N")),
            (false, Some(_), _) => Err(Error::request(format!("--random is for --round SR; the rounding is {name}"))),
            (false, ..) => named(name),
        }
    }
}

/// The rounding of this name, in which each element of a file has random bits of its own: 32 of them.
///
/// # Errors
/// An unknown name.
pub(crate) fn of_elements(name: &str) -> Result<Rounding> {
    match name.eq_ignore_ascii_case("SR") {
        true => Ok(Rounding::Sr { random: 0, bits: RANDOM_BITS }),
        false => named(name),
    }
}

/// The rounding of this name, but for SR.
///
/// # Errors
/// An unknown name.
fn named(name: &str) -> Result<Rounding> {
    Rounding::parse(name).ok_or_else(|| {
        let known: Vec<&str> = Rounding::DETERMINISTIC.iter().map(Rounding::name).collect();
        Error::request(format!("unknown rounding '{name}'; there are {} and SR", known.join(", ")))
    })
}

fn random_bits(text: &str, bits: u32) -> Result<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let random = plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    random
        .filter(|random| *random <= u64::MAX >> (64 - bits))
        .ok_or_else(|| Error::request(format!("--random '{text}' is not a hexadecimal number of at most {bits} bits")))
}
