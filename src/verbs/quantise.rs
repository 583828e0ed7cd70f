//! `tcnum quantise`.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    options::integer,
    progress::Bar,
    rounding,
};
use crate::{
    Error, Result,
    array::{ArrayFile, StreamedArray},
    format::Rounding,
    quantise::{Activations, Choice, FileLosses, Quantisation, targets},
    report::Report,
};

/// Says what formats would do to the tensors of files: nothing is written.
///
/// Example: tcnum quantise weights.safetensors --to e4m3,mxfp8,mxfp4,nvfp4,mxint8
///
/// Of each format, rule for scales and sharing of scales: the ratio of the values' energy to that of the errors (SQNR), errors,
/// the shares that saturate, become subnormal or zero, and the values that lose most; JSON has histograms of errors and scales by binade.
///
/// A block format has its own blocks, and the rules floor, ceil, even, up, nearest (docs of convert) and mse: the scale with the least
/// square error. Plain formats (of up to 16 bits) have the rules absmax (largest magnitude over largest number, in f32), pow2 (the smallest
/// power of two under which nothing saturates) and mse, and a scale for each tensor, channel (first index), row, or block of ROWSxCOLUMNS;
/// formats of 16 bits have none unless --per asks for it. What is too large saturates. Rows lie along --axis.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Files of tensors: .safetensors or .npy (the shards of a checkpoint, say).
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The formats, block formats among them.
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',', required = true)]
    to: Vec<String>,
    /// The rules for scales: each for the formats that have it; or all.
    #[arg(long = "scale-rule", value_name = "RULE,...", value_delimiter = ',')]
    rules: Vec<String>,
    /// What has a scale of its own, of plain formats: tensor, channel, row, ROWSxCOLUMNS (1x128), none.
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    per: Vec<String>,
    /// The axis along which rows and blocks lie: from 0, or from -1 backwards.
    #[arg(long, value_name = "N", default_value_t = -1, value_parser = integer(-64i64..=63))]
    axis: i64,
    /// How elements are rounded: RNE, RNA, RZ, RU, RD, RO or SR (stochastic: 32 random bits for each element, from the seed and its place).
    #[arg(long, value_name = "MODE", default_value = "RNE")]
    round: String,
    /// Seed of the random bits of SR.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    seed: u64,
    /// Quantise tensors of these names (* stands for anything) instead of all that hold floating-point numbers.
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Leave out tensors of these names.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Rows that the rows of tensors are multiplied by: the error of that product is reported where they fit.
    #[arg(long, value_name = "FILE")]
    activations: Option<PathBuf>,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("errors by format", true)))
    }
}

/// The report of `tcnum quantise`; with it what went wrong in the middle, after which it is of what came before.
///
/// # Errors
/// What is wrong with the request or its files, before work starts.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let targets = targets(&arguments.to, &arguments.rules, &arguments.per)?;
    let rounding = rounding::of_elements(&arguments.round)?;
    let files = arguments.files.iter().map(|path| ArrayFile::open(path)).collect::<Result<Vec<_>>>()?;
    let choice = Choice { include: arguments.include.clone(), exclude: arguments.exclude.clone() };
    let activations = arguments.activations.as_ref().map(|path| {
        let read = ArrayFile::open(path).and_then(|file| Activations::read(&file));
        read.map_err(|error| error.within(format!("--activations {}", path.display())))
    });
    let activations = activations.transpose()?;
    let mut chosen: Vec<(usize, &StreamedArray)> = Vec::new();
    for (number, (file, path)) in files.iter().zip(&arguments.files).enumerate() {
        let own = choice.of(file).map_err(|error| error.within(path.display()))?;
        chosen.extend(own.into_iter().map(|array| (number, array)));
    }
    let how = Quantisation {
        targets: &targets,
        axis: arguments.axis,
        rounding,
        seed: arguments.seed,
        activations: activations.as_ref(),
    };
    how.check(chosen.iter().map(|(_, array)| *array))?;
    let progress = Progress::new(&arguments.destination);
    let total = chosen.iter().map(|(_, array)| array.len() as u64).sum();
    let bar = Bar::new(&progress, "values", total, 0, 1);
    let mut found = FileLosses::default();
    let mut one = |(number, array): (usize, &StreamedArray)| -> Result<()> {
        let path = arguments.files[number].display();
        if !array.whole {
            let cut = format!("{path}: the file ends before the data of tensor '{}'", array.name);
            return Err(Error::request(format!("{cut}; what is reported comes before it")));
        }
        progress.note(&format!("{path}: {}", array.name));
        found.add(&how, &files[number], array).map_err(|error| error.within(path))?;
        bar.show(found.counted.1, 0);
        Ok(())
    };
    let outcome = chosen.into_iter().try_for_each(&mut one);
    drop(progress);
    report.seed = matches!(rounding, Rounding::Sr { .. }).then_some(arguments.seed);
    if found.counted.0 > 0 {
        (report.answer, report.tables) = found.results(&how);
    }
    outcome
}
