//! `tcnum formats`: the formats, one of them in full, or a published table beside ours.

use clap::Args;

use super::{Destination, invocation};
use crate::{
    Result,
    catalogue::{self, Detail},
    format::{self, FORMATS},
    report::Report,
};

/// Widest format whose codes are all listed, in bits.
const ALL_CODES: u32 = 8;

/// Lists the number formats, or prints one of them in full.
///
/// Example: tcnum formats e4m3
#[derive(Args, Debug)]
pub struct Arguments {
    /// The format to print in full: its record, its landmarks and, for 8 bits and fewer, every code.
    #[arg(value_name = "FORMAT")]
    pub format: Option<String>,
    /// Print a published table of formats cell by cell beside ours; exit status 1 if a cell differs without a known misprint.
    #[arg(long, conflicts_with = "format")]
    pub published: bool,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The report of `tcnum formats`.
///
/// # Errors
/// An unknown format.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let mut report = Report::new("formats", invocation());
    if arguments.published {
        catalogue::published(&mut report);
    } else if let Some(name) = &arguments.format {
        let format = format::resolve(name)?;
        report.tables.push(catalogue::records([format], Detail::Full));
        report.tables.push(catalogue::landmarks(format));
        if format.bits <= ALL_CODES {
            report.tables.push(catalogue::codes(format));
        }
    } else {
        report.tables.push(catalogue::records(&FORMATS, Detail::Brief));
    }
    Ok(report)
}
