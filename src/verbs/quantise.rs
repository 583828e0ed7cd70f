//! `tcnum quantise`.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    options::{integer, output_file},
    progress::Bar,
    rounding,
    shared::{CodeFormat, Exclude, Include, Round, Seed, with_default},
};
use crate::{
    Error, Result,
    array::{ArrayFile, StreamedArray},
    base::atomic,
    checkpoint::Checkpoint,
    format::{self, Rounding},
    quantise::{Activations, FileLosses, Quantisation, QuantisationTarget, targets},
    report::Report,
    tensor::{ArrayCounts, TensorChoice, flattened},
};

const HELP: &str = "Examples:
  tcnum quantise weights.safetensors --to e4m3,mxfp8,mxfp4,nvfp4,mxint8
  tcnum quantise weights.safetensors --to e4m3 --per tensor,1x128 --scale-rule absmax,pow2,mse
  tcnum quantise w.npy --to nvfp4,mxfp4 --scale-rule all --activations x.npy
  tcnum quantise model/ --budget 4.5 --to mxfp4,nvfp4,e4m3 --plan-out plan.toml
More: docs/quantise.md";

/// Measures quantisation errors of tensors by format, scale rule and granularity.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
#[command(mut_arg("include", |option| with_default(option, "weights")))]
pub(super) struct Arguments {
    /// Formats and block formats
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',', required = true)]
    to: Vec<String>,
    /// Rules for scales: absmax, pow2, mse and others, or all
    #[arg(long = "scale-rule", value_name = "RULE,...", value_delimiter = ',')]
    rules: Vec<String>,
    /// Values that share a scale: tensor, channel (axis 0), row, 1x128, none
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    per: Vec<String>,
    /// Axis of rows and blocks: from 0, or from -1 backwards [default: -1]
    #[arg(long, value_name = "N", value_parser = integer(-64i64..=63))]
    axis: Option<i64>,
    /// Choose a format for each tensor: most bits a value, scales included
    #[arg(long, value_name = "BITS", value_parser = positive)]
    budget: Option<f64>,
    #[command(flatten)]
    round: Round,
    /// Tensors: .safetensors, .gguf, .npy, folders, or an index (.json)
    #[arg(value_name = "FILE", required = true, help_heading = "Inputs")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    from: CodeFormat,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    include: Include,
    #[command(flatten)]
    exclude: Exclude,
    /// Activations X, one or by layer: report the error of the products too
    #[arg(long, value_name = "FILE", help_heading = "Inputs")]
    activations: Option<PathBuf>,
    /// Format of the activations (e4m3, mxfp8, s8) [default: unchanged]
    #[arg(long, value_name = "FORMAT", requires = "activations", help_heading = "Inputs")]
    activations_to: Option<String>,
    /// Write the format of each tensor here, for convert --plan
    #[arg(long, value_name = "FILE", value_parser = output_file, requires = "budget", help_heading = "Output")]
    plan_out: Option<PathBuf>,
    #[command(flatten)]
    drawings: Drawings,
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

/// Refuses stochastic rounding to formats with offsets.
fn refuse_random_offsets(targets: &[QuantisationTarget], rounding: Rounding) -> Result<()> {
    let shifted = |target: &&QuantisationTarget| matches!(target, QuantisationTarget::Blocks { format, .. } if format.offset.is_some());
    match targets.iter().find(shifted).filter(|_| matches!(rounding, Rounding::Sr { .. })) {
        Some(target) => Err(Error::request(format!(
            "--round SR: {} has offsets, whose elements are rounded to nearest",
            target.format_name()
        ))),
        None => Ok(()),
    }
}

/// Parses a positive number of bits, at most 64.
fn positive(text: &str) -> std::result::Result<f64, String> {
    let bits: Option<f64> = text.parse().ok();
    bits.filter(|bits| *bits > 0.0 && *bits <= 64.0).ok_or_else(|| "expected a number of bits above 0, up to 64".into())
}

/// Quantises the tensors, and reports; a file that fails leaves the report on the tensors before it.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let targets = targets(&arguments.to, &arguments.rules, &arguments.per)?;
    let rounding = rounding::of_elements(&arguments.round)?;
    let from = arguments.from.as_deref().map(format::resolve).transpose()?;
    let choice = TensorChoice { include: arguments.include.to_vec(), exclude: arguments.exclude.to_vec() };
    let mut files = Vec::new();
    for path in &arguments.files {
        let decoded = Checkpoint::open(path, None, from)?.decoded(&|name| choice.wants(name))?;
        files.push(decoded.file);
        for note in decoded.notes {
            report.notes.push(if arguments.files.len() > 1 { format!("{}: {note}", path.display()) } else { note });
        }
    }
    let activations = arguments.activations.as_ref().map(|path| {
        let to = arguments.activations_to.as_deref();
        let read = ArrayFile::open(path).and_then(|file| Activations::read(&file, to));
        read.map_err(|error| error.within(format!("--activations {}", path.display())))
    });
    let activations = activations.transpose()?;
    let (mut chosen, mut counts): (Vec<(usize, &StreamedArray)>, _) = (Vec::new(), ArrayCounts::default());
    for (number, (file, path)) in files.iter().zip(&arguments.files).enumerate() {
        let choice_of_file = choice.of(file, true).map_err(|error| error.within(path.display()))?;
        chosen.extend(choice_of_file.chosen.into_iter().map(|array| (number, array)));
        counts.add(choice_of_file.counts);
    }
    refuse_random_offsets(&targets, rounding)?;
    let how = Quantisation {
        targets: &targets,
        axis: arguments.axis,
        rounding,
        seed: *arguments.seed,
        activations: activations.as_ref(),
    };
    how.check(chosen.iter().map(|(_, array)| *array))?;
    if let Some(note) = how.multiplied(chosen.iter().map(|(_, array)| *array))? {
        report.notes.push(note);
    }
    let shapes = chosen.iter().map(|(_, array)| &array.shape[..]);
    let convolutions = if arguments.axis.is_none() { flattened(shapes) } else { None };
    let progress = Progress::new(&arguments.destination);
    let total = chosen.iter().map(|(_, array)| array.len() as u64).sum();
    let bar = Bar::new(&progress, "values", total, 0, 1);
    let mut losses = FileLosses::default();
    let mut one = |(number, array): (usize, &StreamedArray)| -> Result<()> {
        let path = arguments.files[number].display();
        if !array.complete {
            let cut = format!("{path}: the file ends before the data of tensor '{}'", array.name);
            return Err(Error::request(format!("{cut}; the result covers the tensors before it")));
        }
        progress.note(&format!("{path}: {}", array.name));
        losses.add(&how, &files[number], array).map_err(|error| error.within(path))?;
        bar.show(losses.counted.values, 0);
        Ok(())
    };
    let outcome = chosen.into_iter().try_for_each(&mut one);
    drop(progress);
    report.seed = matches!(rounding, Rounding::Sr { .. }).then_some(*arguments.seed);
    report.notes.extend(convolutions);
    let planned = arguments.budget.map(|bits| losses.plan(&how, &arguments.to, bits));
    if losses.counted.tensors > 0 {
        let plan = planned.as_ref().and_then(|planned| planned.as_ref().ok()).map(|planned| planned.sentence.clone());
        let (answer, tables) = losses.results(&how, plan);
        let sentences: Vec<String> = answer.into_iter().chain(counts.sentence("quantised")).collect();
        (report.answer, report.tables) = ((!sentences.is_empty()).then(|| sentences.join(" ")), tables);
    }
    outcome?;
    let Some(planned) = planned.transpose()? else { return Ok(()) };
    report.tables.insert(0, planned.table);
    match &arguments.plan_out {
        Some(path) => atomic::write(path, planned.plan.text().as_bytes()),
        None => Ok(()),
    }
}
