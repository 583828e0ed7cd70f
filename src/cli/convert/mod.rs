//! `tcnum convert`: values or codes of one format into another.

use std::io::{BufRead, stdin};

use clap::{Args, ValueEnum};

use super::{Destination, invocation, options::integer};
use crate::{
    Error, Result,
    convert::{Conversion, Source},
    format::{self, Overflow, Rounding},
    report::Report,
};

/// Converts values or codes to a format, with the error of each.
///
/// Example: tcnum convert --to e4m3 --round RZ 0.1 1e9 -448
///
/// A value is a hexadecimal code of the --from format (0x3f80), a decimal (-1.5e-3), a hexadecimal number with a
/// binary exponent (0x1.8p-3), M*2^E, inf or nan. Values are read from the command line, or else from standard
/// input, where white space separates them; on the command line `--` goes before one like -inf or -0x1p3. Without --from
/// a value is taken exactly; with --from it is first rounded to that format (to nearest, ties to even). Exit status 1 if a value has no code in the --to format.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The format of the given codes, to which other values are rounded first.
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// The format to convert to.
    #[arg(long, value_name = "FORMAT")]
    pub to: String,
    /// The rounding: RNE, RNA, RZ, RU, RD, RO (to odd) or SR (stochastic, with --random and --random-bits).
    #[arg(long, value_name = "MODE", default_value = "RNE")]
    pub round: String,
    /// The random bits of SR, in hexadecimal: added to the discarded fraction, cut to as many bits.
    #[arg(long, value_name = "HEX", requires = "random_bits")]
    pub random: Option<String>,
    /// How many random bits SR adds.
    #[arg(long, value_name = "N", requires = "random", value_parser = integer(1..=64u32))]
    pub random_bits: Option<u32>,
    /// What becomes of values that are too large.
    #[arg(long, value_enum, default_value = "standard")]
    pub overflow: OverflowName,
    /// The values; none: they are read from standard input.
    #[arg(value_name = "VALUES")]
    pub values: Vec<String>,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The name of an overflow rule.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowName {
    /// As the format's own standard says.
    Standard,
    /// Infinity; where the format has none, NaN.
    Infinity,
    /// NaN; where the format has none, the largest number.
    Nan,
    /// The largest number of the same sign.
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

/// The report of `tcnum convert`.
///
/// # Errors
/// An unknown format or rounding; a value that cannot be read, with where it stands.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let conversion = Conversion {
        from: arguments.from.as_deref().map(format::find).transpose()?,
        to: format::find(&arguments.to)?,
        rounding: rounding(arguments)?,
        overflow: arguments.overflow.into(),
    };
    let sources = if arguments.values.is_empty() {
        from_lines(&conversion, stdin().lock())?
    } else {
        let numbered = arguments.values.iter().enumerate();
        let source =
            |(i, text): (usize, &String)| conversion.source(text).map_err(|e| e.within(format!("value {}", i + 1)));
        numbered.map(source).collect::<Result<Vec<_>>>()?
    };
    if sources.is_empty() {
        return Err(Error::request("there is no value to convert: give some on the command line or on standard input"));
    }
    let mut report = Report::new("convert", invocation());
    let (table, without_code) = conversion.table(&sources);
    report.tables.push(table);
    if without_code > 0 {
        let to = conversion.to;
        report
            .notes
            .push(format!("{without_code} of {} values have no code in {to} (NaN, which it lacks).", sources.len()));
        report.holds = false;
    }
    Ok(report)
}

fn from_lines(conversion: &Conversion, input: impl BufRead) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for (i, line) in input.lines().enumerate() {
        let place = || format!("standard input, line {}", i + 1);
        let line = line.map_err(|error| Error::request(format!("{}: {error}", place())))?;
        for word in line.split_whitespace() {
            sources.push(conversion.source(word).map_err(|error| error.within(place()))?);
        }
    }
    Ok(sources)
}

fn rounding(arguments: &Arguments) -> Result<Rounding> {
    let name = arguments.round.as_str();
    match (name.eq_ignore_ascii_case("SR"), &arguments.random, arguments.random_bits) {
        (true, Some(random), Some(bits)) => Ok(Rounding::Sr { random: random_bits(random, bits)?, bits }),
        (true, ..) => Err(Error::request("--round SR needs --random HEX and --random-bits N")),
        (false, Some(_), _) => Err(Error::request(format!("--random is for --round SR; the rounding is {name}"))),
        (false, ..) => Rounding::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Rounding::DETERMINISTIC.iter().map(Rounding::name).collect();
            Error::request(format!("unknown rounding '{name}'; there are {} and SR", known.join(", ")))
        }),
    }
}

fn random_bits(text: &str, bits: u32) -> Result<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let random = plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    random
        .filter(|random| *random <= u64::MAX >> (64 - bits))
        .ok_or_else(|| Error::request(format!("--random '{text}' is not a hexadecimal number of at most {bits} bits")))
}
