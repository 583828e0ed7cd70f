//! `tcnum convert --input`: the arrays of a file.

use std::path::Path;

use super::{Arguments, Bar, Progress, quantizer, refuse_block_flags};
use crate::{
    Error, Result,
    convert::{ConversionTarget, FileContent, FileConversion},
    format::{Format, Rounding, find},
    report::Report,
};

/// Converts the file at `input` to the one that --out names.
pub(super) fn run(
    arguments: &Arguments,
    input: &Path,
    [from, to]: [Option<FileContent>; 2],
    report: &mut Report,
) -> Result<()> {
    if arguments.rounding.random.is_some() {
        return Err(Error::request(
            "--random would round all values of a file alike; --round SR draws random bits for each from --seed, so omit --random",
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
    let conversion = FileConversion {
        from: from.unwrap_or(FileContent::Scalar(None)),
        to,
        names: arguments.tensors.clone(),
        seed: arguments.seed.unwrap_or(0),
    };
    report.seed = matches!(arguments.elements()?, Rounding::Sr { .. }).then_some(conversion.seed);
    let progress = Progress::new(&arguments.destination);
    let mut bar = None;
    let rows = conversion.run(input, output, &mut |done, total| {
        bar.get_or_insert_with(|| Bar::new(&progress, "values", total, 0, 1)).show(done, 0);
    })?;
    report.answer = Some(conversion.answer(&rows));
    report.tables.push(conversion.table(rows));
    Ok(())
}

fn scalar(arguments: &Arguments, format: &'static Format) -> Result<ConversionTarget> {
    refuse_block_flags(arguments, format)?;
    let rounding = arguments.elements()?;
    Ok(ConversionTarget::Scalar { format, rounding, overflow: arguments.rounding.overflow })
}
