//! `tcnum formats`: the formats, one of them in full, or a published table beside ours.

use clap::Args;

use super::{OutputDestination, Verb};
use crate::{
    Result,
    catalogue::{self, Detail},
    format::block::{self, BLOCK_FORMATS},
    format::{self, FORMATS},
    report::Report,
};

/// Widest format whose codes are all listed, in bits.
const ALL_CODES: u32 = 8;

/// Lists the number formats and the block formats, or prints one of them in full.
///
/// Example: tcnum formats e4m3
///
/// Wherever a command takes a format, except where it chooses instructions by their formats, the
/// name of a TOML file (NAME.toml) describes one of your own:
///
///   name = "e3m4"          # small letters, digits, - and _
///   exponent_bits = 3      # 1 to 11
///   trailing_bits = 4      # 0 to 52
///   bias = 3
///   zeros = "both"         # unsigned: "positive" or "none"; where -0 is the NaN: "positive"
///   specials = "ieee"      # or "all-ones-nan" (e4m3), "negative-zero-nan" (FNUZ), "none" (e2m1)
///
/// and, if need be, signed (true), padding_bits (0), overflow ("infinity", "nan" or "saturate"),
/// source. Its numbers must be numbers of f64.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Arguments {
    /// The format to print in full: its record, its landmarks and, for 8 bits and fewer, every code.
    #[arg(value_name = "FORMAT")]
    pub format: Option<String>,
    /// Print a published table of formats cell by cell beside ours; exit status 1 if a cell differs without a known misprint.
    #[arg(long, conflicts_with = "format")]
    pub published: bool,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The report of `tcnum formats`.
///
/// # Errors
/// An unknown format.
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
        report.answer = Some(catalogue::answer_of_list(FORMATS.len(), BLOCK_FORMATS.len()));
        report.tables.push(catalogue::records(FORMATS, Detail::Brief));
        report.tables.push(catalogue::blocks(BLOCK_FORMATS));
    }
    Ok(())
}
