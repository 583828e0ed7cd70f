//! `tcnum convert`: values or codes of one format into another.

use std::io::{BufRead, stdin};

use clap::Args;

use super::{Destination, invocation, rounding::RoundingFlags};
use crate::{
    Error, Result,
    convert::{Conversion, Source},
    format,
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
    /// Rounding and overflow.
    #[command(flatten)]
    pub rounding: RoundingFlags,
    /// The values; none: they are read from standard input.
    #[arg(value_name = "VALUES")]
    pub values: Vec<String>,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The report of `tcnum convert`.
///
/// # Errors
/// An unknown format or rounding; a value that cannot be read, with where it stands.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let conversion = Conversion {
        from: arguments.from.as_deref().map(format::resolve).transpose()?,
        to: format::resolve(&arguments.to)?,
        rounding: arguments.rounding.rounding()?,
        overflow: arguments.rounding.overflow.into(),
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
