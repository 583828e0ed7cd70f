//! `tcnum convert --input`: the arrays of a file.

use std::path::Path;

use super::{Arguments, invocation, quantizer, refuse_block_flags};
use crate::{
    Error, Result,
    base::signals,
    convert::{ConversionTarget, FileContent, FileConversion},
    format::{Format, Rounding, find},
    report::Report,
};

/// Converts the file at `input` to the one that --out names.
///
/// # Errors
/// A target that is missing; those of [`FileConversion::run`].
pub(super) fn run(
    arguments: &Arguments,
    input: &Path,
    from: Option<FileContent>,
    to: Option<FileContent>,
) -> Result<Report> {
    if let Rounding::Sr { .. } = arguments.rounding.rounding()? {
        return Err(Error::request(
            "--random is one number, by which all values of a file would be rounded alike; tcnum quantise --round SR draws random bits \
             for each",
        ));
    }
    let to = match (from, to) {
        (_, Some(FileContent::Blocks(format))) => ConversionTarget::Blocks(quantizer(arguments, format)?),
        (_, Some(FileContent::Scalar(Some(format)))) => scalar(arguments, format)?,
        (Some(FileContent::Blocks(_)), _) => scalar(arguments, find("f32")?)?,
        _ => return Err(Error::request("--to is missing: the format to convert to")),
    };
    arguments.destination.one_file()?;
    let output = arguments.destination.out.as_deref().ok_or_else(|| Error::request("--input needs --out FILE"))?;
    let conversion =
        FileConversion { from: from.unwrap_or(FileContent::Scalar(None)), to, names: arguments.tensors.clone() };
    signals::watch();
    let mut report = Report::new("convert", invocation());
    report.tables.push(conversion.run(input, output)?);
    Ok(report)
}

fn scalar(arguments: &Arguments, format: &'static Format) -> Result<ConversionTarget> {
    refuse_block_flags(arguments, format)?;
    let rounding = arguments.rounding.rounding()?;
    Ok(ConversionTarget::Scalar { format, rounding, overflow: arguments.rounding.overflow.into() })
}
