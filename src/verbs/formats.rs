//! `tcnum formats`: the formats, one of them in full, or the comparison with a published table.

use clap::Args;

use super::{OutputDestination, Verb};
use crate::{
    Result,
    catalogue::{self, Detail},
    format::block::{self, formats},
    format::{self, FORMATS},
    report::Report,
};

/// Widest format whose codes are all listed, in bits.
const ALL_CODES: u32 = 8;

const HELP: &str = "Examples:
  tcnum formats
  tcnum formats e4m3
  tcnum formats e8m27
More: docs/numbers.md";

/// Lists the number formats and the block formats, or prints one of them in full.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    /// Format to print in full: a name, or FILE.toml
    #[arg(value_name = "FORMAT")]
    format: Option<String>,
    /// Compare a published table of formats cell by cell with ours
    #[arg(long, conflicts_with = "format")]
    published: bool,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The report of `tcnum formats`.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.published {
        catalogue::published(report);
    } else if let Some(format) = arguments.format.as_deref().and_then(block::find) {
        report.answer = Some(catalogue::answer_of_blocks(format));
        report.tables.push(catalogue::blocks([format]));
        report.tables.push(catalogue::records([format.element.format, format.scale], Detail::Full));
    } else if let Some(name) = &arguments.format {
        let format = format::resolve(name)?;
        report.answer = Some(catalogue::answer_of_format(format));
        report.tables.push(catalogue::records([format], Detail::Full));
        report.tables.push(catalogue::landmarks(format));
        if format.bits <= ALL_CODES {
            report.tables.push(catalogue::codes(format));
        }
    } else {
        report.answer = Some(catalogue::answer_of_list(FORMATS.len(), formats().len()));
        report.tables.push(catalogue::records(FORMATS, Detail::Brief));
        report.tables.push(catalogue::blocks(formats()));
    }
    Ok(())
}
