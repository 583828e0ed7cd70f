//! Flags that mean the same in every command.

use std::{fmt::Display, io::Write, ops::RangeInclusive, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};

use crate::{
    Error, Result,
    report::{self, Report, View},
    verify::MOST_SHARDS,
};

/// The longest `--timeout`, in seconds: a week.
pub const MAX_TIMEOUT: u64 = 7 * 24 * 60 * 60;

/// Where the result goes, and in what form.
#[derive(Args, Debug, Clone)]
pub struct Destination {
    /// How to print the result.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub output: ViewName,
    /// Write the result to this file instead of standard output (whole or not at all).
    #[arg(long, value_name = "FILE", value_parser = output_file, help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Keep KEY=VALUE with the result (a date, a machine); may be repeated.
    #[arg(long = "note", value_name = "KEY=VALUE", value_parser = annotation, help_heading = "Output")]
    pub annotations: Vec<(String, String)>,
    /// Print nothing but the result: no progress on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Say more on standard error about what is being done.
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    pub verbose: bool,
}

/// The flags of a command that runs instructions on a device.
#[derive(Args, Debug, Clone)]
pub struct Common {
    /// The device: cuda:N, model:NAME or model:FILE, trace:FILE, exec:'PROGRAM ARGS'.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    pub timeout: u64,
    /// Seed of the random inputs: the same seed gives the same inputs everywhere.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    pub seed: u64,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The name of a view.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewName {
    /// Text for a terminal.
    Table,
    /// JSON, versioned and described by a JSON Schema.
    Json,
    /// Comma-separated values: the tables alone, a block each, with every digit.
    Csv,
    /// Markdown.
    Markdown,
    /// LaTeX tabular environments.
    Latex,
}

impl From<ViewName> for View {
    fn from(name: ViewName) -> View {
        match name {
            ViewName::Table => View::Table,
            ViewName::Json => View::Json,
            ViewName::Csv => View::Csv,
            ViewName::Markdown => View::Markdown,
            ViewName::Latex => View::Latex,
        }
    }
}

impl Destination {
    /// Renders `report` to the file or to standard output.
    ///
    /// # Errors
    /// A request error if the file cannot be written; the old file, if any, is then untouched.
    pub fn write(&self, report: &Report) -> Result<()> {
        let text = report::render(report, self.output.into());
        match &self.out {
            Some(path) => crate::base::atomic::write(path, text.as_bytes()),
            None => match std::io::stdout().write_all(text.as_bytes()) {
                // The reader (`head`, say) has what it wanted.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
                Err(error) => Err(Error::request(format!("standard output cannot be written: {error}"))),
                Ok(()) => Ok(()),
            },
        }
    }
}

/// Parses a whole number within `range`; the message of one that is not says what the range is.
pub fn integer<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> std::result::Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// Parses a number of cases up to `most`: `1000000`, `1_000_000`, `1e6`, `10^6`.
pub fn cases(most: u64) -> impl Fn(&str) -> std::result::Result<u64, String> + Clone + Send + Sync {
    move |text| {
        let power = |exponent: &str| 10u64.checked_pow(exponent.parse().ok()?);
        let number = match (text.split_once(['e', 'E']), text.strip_prefix("10^")) {
            (Some((factor, exponent)), _) => {
                power(exponent).and_then(|power| factor.parse::<u64>().ok()?.checked_mul(power))
            }
            (None, Some(exponent)) => power(exponent),
            (None, None) => text.replace('_', "").parse().ok(),
        };
        number
            .filter(|number| (1..=most).contains(number))
            .ok_or_else(|| format!("expected a whole number from 1 to {most}, such as 1000000 or 1e12"))
    }
}

/// Parses a part of a run, `I/N`: the I-th of N, from 1.
pub fn shard(text: &str) -> std::result::Result<(u64, u64), String> {
    text.split_once('/')
        .and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)))
        .filter(|(part, parts)| (1..=*parts).contains(part) && *parts <= MOST_SHARDS)
        .ok_or_else(|| "expected I/N, the I-th of N parts, from 1/N to N/N".into())
}

/// Parses the path of a file to write, whose folder must be there: said before the work, not after it.
pub fn output_file(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.parent() {
        _ if text.is_empty() => Err("expected the path of a file".into()),
        _ if path.is_dir() => Err("it is a folder".into()),
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(format!("there is no folder {}", folder.display()))
        }
        _ => Ok(path),
    }
}

/// Parses the path of a folder, or of a file to write.
pub fn file_or_folder(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { output_file(text) }
}

fn annotation(text: &str) -> std::result::Result<(String, String), String> {
    text.split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .ok_or_else(|| "expected KEY=VALUE".to_string())
}
