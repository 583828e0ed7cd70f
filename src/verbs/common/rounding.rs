//! Options for the rounding and the overflow of conversions.

use clap::Args;

use super::{named::one_of, options::integer, shared::Round};
use crate::{
    Error, Result,
    format::{Overflow, Rounding},
};

/// Random bits that stochastic rounding uses for each element of a file.
const RANDOM_BITS: u32 = 32;

/// Rounding and overflow of a conversion.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "What")]
pub(crate) struct RoundingFlags {
    #[command(flatten)]
    pub round: Round,
    /// Random bits of SR in hexadecimal, added to the discarded fraction.
    #[arg(long, value_name = "HEX", requires = "random_bits")]
    pub random: Option<String>,
    /// Number of random bits that SR adds.
    #[arg(long, value_name = "N", requires = "random", value_parser = integer(1..=64u32))]
    pub random_bits: Option<u32>,
    /// Result of infinities and of values beyond the largest number.
    #[arg(long, value_name = "RULE", value_parser = one_of(&Overflow::ALL, |rule| rule.name()), default_value = "standard")]
    pub overflow: Overflow,
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

/// The rounding called `name`; SR draws 32 random bits for each element of a file.
///
/// # Errors
/// An unknown name.
pub(crate) fn of_elements(name: &str) -> Result<Rounding> {
    match name.eq_ignore_ascii_case("SR") {
        true => Ok(Rounding::Sr { random: 0, bits: RANDOM_BITS }),
        false => named(name),
    }
}

/// The deterministic rounding called `name`.
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
