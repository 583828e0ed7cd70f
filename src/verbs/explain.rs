//! `tcnum explain`.

use std::{
    cmp::Ordering,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;

use super::{
    OutputDestination, Verb,
    options::{MAX_TIMEOUT, device_name, integer, model_name},
    select,
};
use crate::{
    Error, Result,
    arithmetic::{Model, of_target},
    catalogue,
    comparison::{Subject, operands},
    convert::ValueConversion,
    device::{self, Batches, DEFAULT_MODEL, DeviceName, Generation},
    explain,
    format::{Format, Overflow, Rounding},
    isa::{self, Case, Instruction, Tiles},
    report::{Report, Verdict},
    trace::Trace,
};

/// Shows one dot-product-add step by step: terms, exponents, alignment, what is cut off, sums, roundings.
///
/// Example: tcnum explain --instr mma.m16n8k16.f32.f16.f16.f32 --a 1,1 --b 1,-0x1p-24 --c 0x3f800000
///
/// Example: tcnum explain --trace h100.safetensors --tile 3 --row 0 --column 5 --against ampere
///
/// Example: tcnum explain --instr mma.m16n8k16.f32.f16.f16.f32 --a 1,1 --b 1,-0x1p-24 --device cuda:0
///
/// Operands are hexadecimal codes (0x3c00) or numbers (1.5, -0x1p-24), which are rounded to the format; operands that are not given
/// are zero. With --against, two models side by side; with --device, the D that a device gives. Exit status 1 if results differ: of two
/// models, or of a model and the recording or the device.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The instruction: its name, the vendor's full spelling, or a TOML file that describes one of your own.
    #[arg(long = "instr", value_name = "NAME", required_unless_present = "trace")]
    instruction: Option<String>,
    /// The arithmetic model: a shipped name or a model file. Without it: that of the generation of the device, or of the one that
    /// recorded, else hopper.
    #[arg(long, value_name = "MODEL", value_parser = model_name)]
    model: Option<String>,
    /// Another model, to be set beside it.
    #[arg(long, value_name = "MODEL", value_parser = model_name)]
    against: Option<String>,
    /// A device that executes the same operands: cuda:N, cpu, a model, exec:'PROGRAM ARGS'. Its D stands beside the models'.
    #[arg(long, value_name = "DEVICE", value_parser = device_name)]
    device: Option<DeviceName>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// The row of A, from its first element (of sparse forms the stored ones).
    #[arg(long, value_name = "VALUE", value_delimiter = ',', allow_hyphen_values = true)]
    a: Vec<String>,
    /// The column of B, from its first element.
    #[arg(long, value_name = "VALUE", value_delimiter = ',', allow_hyphen_values = true)]
    b: Vec<String>,
    /// The element of C.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    c: Option<String>,
    /// Of sparse forms, the position of each stored element of A in its chunk.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    positions: Vec<u64>,
    /// Of block-scaled forms, the scales of the row of A; 1 where none is given.
    #[arg(long, value_name = "VALUE", value_delimiter = ',')]
    scale_a: Vec<String>,
    /// Of block-scaled forms, the scales of the column of B; 1 where none is given.
    #[arg(long, value_name = "VALUE", value_delimiter = ',')]
    scale_b: Vec<String>,
    /// Take the operands from a recording.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["a", "b", "c", "positions", "scale_a", "scale_b", "instruction"])]
    trace: Option<PathBuf>,
    /// The tile of the recording.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace")]
    tile: usize,
    /// The row of D.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace", value_parser = integer(0..=usize::MAX))]
    row: usize,
    /// The column of D.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace", value_parser = integer(0..=usize::MAX))]
    column: usize,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Explains.
///
/// # Errors
/// Unknown names; a model or a device that lacks the instruction; operands that are not numbers, too many of them, or none recorded
/// there; a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let mut default = (DEFAULT_MODEL.to_string(), None);
    let asked = arguments.model.is_none() && arguments.device.is_none();
    let (instruction, case, tile, recorded) = match &arguments.trace {
        Some(file) => {
            let trace = Trace::read(file)?;
            if asked {
                default = Generation::of_recording(&trace.metadata).model(&file.to_string_lossy())?;
            }
            recorded(file, &trace, arguments)?
        }
        None => {
            let name = arguments.instruction.as_deref().unwrap_or_default();
            let instruction = isa::resolve(name)?;
            let case = given(&instruction, arguments)?;
            if let Some(only) = only_model(&instruction) {
                default.0 = only.into();
            }
            let mut tile = Tiles::zeros(&instruction, 1);
            tile.place(&instruction, 0, 0, 0, &case);
            (instruction, case, tile, None)
        }
    };
    let mut executed = None;
    if let Some(name) = &arguments.device {
        let mut device = device::open(Some(name), Duration::from_secs(arguments.timeout))?;
        device.has(&instruction)?;
        if arguments.model.is_none() {
            let (model, _, note) = select::model(None, device.as_mut(), std::slice::from_ref(&instruction))?;
            default = (model, note);
        }
        let outputs =
            Batches::default().execute(device.as_mut(), &instruction, (instruction.m, instruction.n), &tile)?;
        executed = Some((name.to_string(), outputs.get(arguments.row * instruction.n + arguments.column)));
        report.device = Some(device.identity().clone());
    }
    let (default, undecided) = default;
    let named = [Some(arguments.model.as_deref().unwrap_or(&default)), arguments.against.as_deref()];
    let names: Vec<&str> = named.into_iter().flatten().collect();
    let models: Vec<Model> = names.iter().map(|name| Model::load(name)).collect::<Result<_>>()?;
    let explain = |model: &Model| Ok(model.evaluator(&instruction)?.explain(&case));
    let explanations = models.iter().map(explain).collect::<Result<Vec<_>>>()?;
    let titles: Vec<String> = names.iter().map(|name| format!("model {name}")).collect();
    let said = titles.iter().zip(&explanations).map(|(title, said)| (&title[..], said.d));
    let given = executed.as_ref().map(|(name, code)| (&name[..], *code));
    let results: Vec<(&str, u64)> =
        recorded.map(|code| ("recorded", code)).into_iter().chain(given).chain(said).collect();
    let title = format!("{instruction}: {}", operands(&Subject::Matrix(&instruction), &case));
    report.holds = results.windows(2).all(|pair| pair[0].1 == pair[1].1);
    report.verdict = Verdict::Differ;
    report.notes.extend(rounded(&instruction, arguments)?.into_iter().chain(undecided));
    let steps = explain::rows(None, &explanations);
    report.answer = Some(explain::answer(instruction.d, &results, &steps));
    report.tables = vec![
        explain::results(title, instruction.d, results),
        explain::table(&titles, steps),
        catalogue::evidence_for(models.iter().map(|model| (model, &instruction))),
    ];
    Ok(())
}

/// The model of all targets that have the instruction, where they share one.
fn only_model(i: &Instruction) -> Option<&'static str> {
    let mut models = i.support.iter().map(|support| of_target(support.architecture));
    let first = models.next()??;
    models.all(|other| other == Some(first)).then_some(first)
}

/// The case that the arguments describe.
fn given(i: &Instruction, arguments: &Arguments) -> Result<Case> {
    let mut case = Case::zeros(i);
    fill("--a", i.a, &arguments.a, &mut case.a)?;
    fill("--b", i.b, &arguments.b, &mut case.b)?;
    if let Some(text) = &arguments.c {
        case.c = code(i.c, text)?;
    }
    if let Some(scale) = i.scale {
        let one = code(scale.format, "1")?;
        case.scale_a.fill(one);
        case.scale_b.fill(one);
        fill("--scale-a", scale.format, &arguments.scale_a, &mut case.scale_a)?;
        fill("--scale-b", scale.format, &arguments.scale_b, &mut case.scale_b)?;
    } else if !arguments.scale_a.is_empty() || !arguments.scale_b.is_empty() {
        return Err(Error::request(format!("{i} has no block scales")));
    }
    positions(i, &arguments.positions, &mut case)?;
    Ok(case)
}

/// Puts the codes of `texts` first in `codes`.
fn fill(option: &str, format: &'static Format, texts: &[String], codes: &mut [u64]) -> Result<()> {
    if texts.len() > codes.len() {
        return Err(Error::request(format!(
            "{option} has {} values, and there is room for {}",
            texts.len(),
            codes.len()
        )));
    }
    for (slot, text) in codes.iter_mut().zip(texts) {
        *slot = code(format, text).map_err(|error| error.within(option))?;
    }
    Ok(())
}

/// The code of a hexadecimal code or a number.
fn code(format: &'static Format, text: &str) -> Result<u64> {
    Ok(reading(format).source(text.trim())?.code.expect("a source of a format has a code"))
}

/// How operands are read.
fn reading(format: &'static Format) -> ValueConversion {
    ValueConversion { from: Some(format), to: format, rounding: Rounding::Rne, overflow: Overflow::Standard }
}

/// Which of the operands are not numbers of their formats, and were rounded.
fn rounded(i: &Instruction, arguments: &Arguments) -> Result<Vec<String>> {
    let given = [(i.a, &arguments.a[..]), (i.b, &arguments.b[..]), (i.c, arguments.c.as_slice())];
    let mut notes = Vec::new();
    for (format, texts) in given {
        for text in texts.iter().map(|text| text.trim()) {
            let is_code = text.to_ascii_lowercase().strip_prefix("0x").is_some_and(|digits| !digits.contains('p'));
            if !is_code && reading(format).convert(&text.parse()?).direction.is_some_and(Ordering::is_ne) {
                let taken = format.decode(code(format, text)?).decimal();
                notes.push(format!("{text} is not a number of {format}; {taken} is used."));
            }
        }
    }
    Ok(notes)
}

/// Checks and sets the positions of stored elements.
fn positions(i: &Instruction, given: &[u64], case: &mut Case) -> Result<()> {
    let Some(chunk) = i.chunk() else {
        return match given.is_empty() {
            true => Ok(()),
            false => Err(Error::request(format!("{i} is not sparse, so --positions does not apply"))),
        };
    };
    if given.len() > case.positions.len() || !given.len().is_multiple_of(chunk.kept) {
        return Err(Error::request(format!(
            "--positions takes {} for each chunk of {} elements, up to {} in all",
            chunk.kept,
            chunk.length,
            case.positions.len()
        )));
    }
    for (number, own) in given.chunks(chunk.kept).enumerate() {
        if !chunk.allows(own.iter().copied()) {
            let rule = chunk.rule();
            return Err(Error::request(format!("--positions: chunk {number} has {own:?}; each has {rule}")));
        }
    }
    case.positions[..given.len()].copy_from_slice(given);
    Ok(())
}

/// A case of a recording, the tile that it is in, and its recorded output.
fn recorded(file: &Path, trace: &Trace, arguments: &Arguments) -> Result<(Instruction, Case, Tiles, Option<u64>)> {
    let Arguments { tile, row, column, .. } = *arguments;
    for (what, given, count) in [("tile", tile, trace.count()), ("row", row, trace.m), ("column", column, trace.n)] {
        if given >= count {
            let file = file.display();
            return Err(Error::request(format!("--{what} {given}: {file} has {count}, counted from 0")));
        }
    }
    let instruction = trace.instruction.clone();
    let code = trace.d.get((tile * trace.m + row) * trace.n + column);
    let tile = trace.padded(tile, tile + 1);
    let case = tile.case(&instruction, 0, row, column);
    Ok((instruction, case, tile, Some(code)))
}
