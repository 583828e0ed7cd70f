//! `tcnum convert`: values, codes or whole files of one format into another.

mod file;

use std::{io::BufReader, path::PathBuf};

use clap::Args;

use super::{
    OutputDestination, Verb,
    options::integer,
    progress::{Bar, Progress},
    rounding::{self, RoundingFlags},
};
use crate::{
    Error, Result,
    base::{
        input::{StandardInput, each_word, room_for_a_row},
        interrupt,
    },
    convert::{BlockConversion, FileContent, ValueConversion, ValueRead, layout, read},
    format::block::{BlockFormat, Quantizer, find_rule},
    format::{Format, Overflow, Rounding},
    report::{Report, Verdict},
};

/// Converts values, codes or files of arrays to a format or a block format, with the error of each.
///
/// Example: tcnum convert --to e4m3 --round RZ 0.1 1e9 -448
///
/// A value is a hexadecimal code of the --from format (0x3f80), a decimal (-1.5e-3), a hexadecimal number with a
/// binary exponent (0x1.8p-3), M*2^E, inf or nan. Values are read from the command line, or else from standard
/// input, where white space separates them; on the command line `--` goes before one like -inf or -0x1p3. Without --from
/// a value is taken exactly; with --from it is first rounded to that format (to nearest, ties to even). Exit status 1 if a value of the command line has no code in the --to format.
///
/// Block formats (mxfp8-e4m3, mxfp8-e5m2, mxfp6-e2m3, mxfp6-e3m2, mxfp4, mxint8, nvfp4) take the values as one row. A scale
/// follows from the largest magnitude of its block, amax, by --scale-rule: floor, 2^(floor(log2 amax) - emax), as OCP MX 1.0
/// has it; ceil and even, torchao's; up, amax / largest rounded up (cuBLAS, torchao's rceil): nothing saturates; nearest,
/// amax / largest to nearest, NVFP4's own.
///
/// Example: tcnum convert --to mxfp4 --input weights.safetensors --out weights.mxfp4.safetensors
///
/// With --input the arrays of an .npy or .safetensors file are converted, and --out names the file that gets the result.
/// Codes have the file's own type for their format where it has one (in safetensors bf16 and FP8 too), else they are unsigned
/// integers; a tensor NAME in blocks is NAME (4-bit codes two to a byte, the even index low), NAME_scale, and
/// NAME_tensor_scale for nvfp4. --from mxfp4 reads such a file again. A value without a code stops the conversion of a file: exit status 2,
/// and nothing is written. Files of any size are converted piece by piece, on all cores.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The format of the given codes, to which other values are rounded first; of a file, what its integers are codes of.
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// The format to convert to; f32 for a file of blocks.
    #[arg(long, value_name = "FORMAT", required_unless_present = "input")]
    pub to: Option<String>,
    /// Rounding and overflow.
    #[command(flatten)]
    pub rounding: RoundingFlags,
    /// How a block's scale follows from its largest magnitude: floor, ceil, even, up or nearest; by default as the format's
    /// own specification has it.
    #[arg(long, value_name = "RULE")]
    pub scale_rule: Option<String>,
    /// The scale of the tensor (nvfp4), instead of amax / 2688.
    #[arg(long, value_name = "SCALE")]
    pub tensor_scale: Option<f32>,
    /// Convert the arrays of this file (.npy or .safetensors).
    #[arg(long, value_name = "FILE", conflicts_with = "values", requires = "out")]
    pub input: Option<PathBuf>,
    /// Convert this array of the file only; may be repeated.
    #[arg(long = "tensor", value_name = "NAME", requires = "input")]
    pub tensors: Vec<String>,
    /// Seed of the random bits of SR in a file: 32 for each element, from the seed and its place.
    #[arg(long, value_name = "N", requires = "input", value_parser = integer(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// The values; none: they are read from standard input.
    #[arg(value_name = "VALUES")]
    pub values: Vec<String>,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        self.input.is_some()
    }
}

/// The report of `tcnum convert`.
///
/// # Errors
/// An unknown format, rounding or rule; a value or a file that cannot be read, with where it is wrong.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let from = arguments.from.as_deref().map(layout).transpose()?;
    let to = arguments.to.as_deref().map(layout).transpose()?;
    if let Some(input) = &arguments.input {
        return file::run(arguments, input, [from, to], report);
    }
    let from = match from {
        Some(FileContent::Blocks(format)) => {
            return Err(Error::request(format!(
                "values are not codes of {format}; blocks are read from files, by --input"
            )));
        }
        Some(FileContent::Scalar(format)) => format,
        None => None,
    };
    match to {
        Some(FileContent::Blocks(format)) => blocks(arguments, (from, format), report),
        Some(FileContent::Scalar(Some(format))) => scalars(arguments, (from, format), report),
        _ => Err(Error::request("--to is missing: the format to convert to")),
    }
}

fn scalars(
    arguments: &Arguments,
    (from, to): (Option<&'static Format>, &'static Format),
    report: &mut Report,
) -> Result<()> {
    refuse_block_flags(arguments, to)?;
    let (rounding, overflow) = (arguments.rounding.rounding()?, arguments.rounding.overflow.into());
    let conversion = ValueConversion { from, to, rounding, overflow };
    let mut rows = Vec::new();
    let outcome = each_value(arguments, from, |value| rows.push(conversion.row(&value)));
    report.holds = rows.iter().all(|row| row.code.is_some());
    report.verdict = Verdict::WithoutCode;
    report.answer = conversion.answer(&rows);
    report.tables.push(conversion.table(rows));
    outcome
}

fn blocks(
    arguments: &Arguments,
    (from, format): (Option<&'static Format>, &'static BlockFormat),
    report: &mut Report,
) -> Result<()> {
    let conversion = BlockConversion { quantizer: quantizer(arguments, format)? };
    let mut values = Vec::new();
    let outcome = each_value(arguments, from, |value| values.push(value));
    if !values.is_empty() {
        let (scales, elements) = conversion.rows(&values);
        report.answer = Some(conversion.answer(&scales, &elements));
        report.tables.extend(conversion.tables(scales, elements));
    }
    outcome
}

/// The quantizer that the flags describe.
fn quantizer(arguments: &Arguments, format: &'static BlockFormat) -> Result<Quantizer> {
    let standard = Quantizer::new(format);
    let rule = arguments.scale_rule.as_deref().map(find_rule).transpose()?.unwrap_or(standard.rule);
    if !matches!(arguments.rounding.overflow.into(), Overflow::Standard | Overflow::Saturate) {
        return Err(Error::request(format!("elements of {format} saturate; --overflow is for other formats")));
    }
    match arguments.tensor_scale {
        Some(_) if format.tensor_scale.is_none() => {
            return Err(Error::request(format!("{format} has no scale of the tensor; --tensor-scale is for nvfp4")));
        }
        Some(scale) if !(scale.is_finite() && scale > 0.0) => {
            return Err(Error::request(format!("--tensor-scale {scale}: expected a positive number of f32")));
        }
        _ => {}
    }
    Ok(Quantizer { rule, rounding: arguments.elements()?, tensor_scale: arguments.tensor_scale, ..standard })
}

impl Arguments {
    /// How elements are rounded: of SR those of files each with random bits of their own, values with the given ones.
    ///
    /// # Errors
    /// Those of the flags.
    fn elements(&self) -> Result<Rounding> {
        match self.input {
            Some(_) => rounding::of_elements(&self.rounding.round),
            None => self.rounding.rounding(),
        }
    }
}

fn refuse_block_flags(arguments: &Arguments, to: &Format) -> Result<()> {
    match arguments.scale_rule.is_some() || arguments.tensor_scale.is_some() {
        true => {
            Err(Error::request(format!("--scale-rule and --tensor-scale are for block formats; {to} has no scale")))
        }
        false => Ok(()),
    }
}

/// Calls `work` with each value of the command line, which are all read before, or else of standard input.
///
/// # Errors
/// A value that cannot be read, with its place; no value at all; an interruption.
fn each_value(arguments: &Arguments, from: Option<&Format>, mut work: impl FnMut(ValueRead)) -> Result<()> {
    if !arguments.values.is_empty() {
        let numbered = arguments.values.iter().enumerate();
        let value = |(i, text): (usize, &String)| read(from, text).map_err(|e| e.within(format!("value {}", i + 1)));
        let values = numbered.map(value).collect::<Result<Vec<_>>>()?;
        return values.into_iter().try_for_each(|value| interrupt::check().map(|()| work(value)));
    }
    let mut count = 0;
    each_word(BufReader::new(StandardInput), |word| {
        room_for_a_row(count, "--input converts files of any size")?;
        work(read(from, word)?);
        count += 1;
        Ok(())
    })?;
    match count {
        0 => Err(Error::request("there is no value to convert: give some on the command line or on standard input")),
        _ => Ok(()),
    }
}
