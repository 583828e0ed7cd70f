//! `tcnum explain`.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Verb,
    options::{Timeout, array_file, element_place, integer, model_name},
    shared::{ComparedModel, OneDevice},
};
use crate::{
    Error, Result, catalogue,
    device::{self},
    explain::{DeviceResult, DotProductAdd, ElementRequest, OperandTexts, usual_model},
    isa,
    product::{self, ArrayFile, Conversion, ElementPlace, OperandSource, Schedule},
    report::Report,
    trace::Trace,
};

const HELP: &str = "\
Examples:
  tcnum explain --instr mma.m16n8k16.f32.f16.f16.f32 --a 1,1 --b 1,-0x1p-24 --c 0x3f800000
  tcnum explain --instr mma.m16n8k16.f32.f16.f16.f32 --a 1,1 --b 1,-0x1p-24 --against ampere
      two models side by side
  tcnum explain --trace h100.safetensors --tile 3 --row 0 --column 5 --against ampere
      a recorded output
  tcnum explain --element 3,7 --a x.npy --b w.npy --d d.npy --schedule found.toml --model hopper
      an element of a product of files
More: docs/explain.md";

/// Shows one dot-product-add step by step: terms, alignment, sums and roundings.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// Instruction by name (also PTX), or a TOML file that describes one
    #[arg(long = "instr", value_name = "NAME", required_unless_present_any = ["trace", "schedule"], help_heading = "What")]
    instruction: Option<String>,
    #[command(flatten)]
    model: ComparedModel,
    /// Second model, side by side with the first
    #[arg(long, value_name = "MODEL", value_parser = model_name, help_heading = "What")]
    against: Option<String>,
    #[command(flatten)]
    device: OneDevice,
    #[command(flatten)]
    timeout: Timeout,
    /// Row of A, as codes (0x3c00) or numbers (1.5, -0x1p-24); the rest is 0
    #[arg(long, value_name = "VALUE,...", value_delimiter = ',', allow_hyphen_values = true, help_heading = "Inputs")]
    a: Vec<String>,
    /// Column of B
    #[arg(long, value_name = "VALUE,...", value_delimiter = ',', allow_hyphen_values = true, help_heading = "Inputs")]
    b: Vec<String>,
    /// Element of C
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, help_heading = "Inputs")]
    c: Option<String>,
    /// Position in its chunk of each stored element of A (sparse)
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Inputs")]
    positions: Vec<u64>,
    /// Scales of the row of A (block-scaled) [default: 1]
    #[arg(long, value_name = "VALUE,...", value_delimiter = ',', help_heading = "Inputs")]
    scale_a: Vec<String>,
    /// Scales of the column of B (block-scaled) [default: 1]
    #[arg(long, value_name = "VALUE,...", value_delimiter = ',', help_heading = "Inputs")]
    scale_b: Vec<String>,
    /// Recording to take the operands from
    #[arg(long, value_name = "FILE", conflicts_with_all = ["a", "b", "c", "positions", "scale_a", "scale_b", "instruction"], help_heading = "Inputs")]
    trace: Option<PathBuf>,
    /// Tile of the recording
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace", help_heading = "Inputs")]
    tile: usize,
    /// Row of D
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace", value_parser = integer(0..=usize::MAX), help_heading = "Inputs")]
    row: usize,
    /// Column of D
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace", value_parser = integer(0..=usize::MAX), help_heading = "Inputs")]
    column: usize,
    /// Row and column of D, from 0; --a, --b, --c and scales are files
    #[arg(long, value_name = "ROW,COLUMN", value_parser = element_place, requires_all = ["a", "b"], conflicts_with_all = ["trace", "positions", "against", "device"], help_heading = "Inputs")]
    element: Option<ElementPlace>,
    /// D of a product of files
    #[arg(long, value_name = "FILE", value_parser = array_file, requires = "element", help_heading = "Inputs")]
    d: Option<ArrayFile>,
    /// Schedule of a product of files [default: k in order]
    #[arg(long, value_name = "FILE.toml", requires = "element", conflicts_with = "instruction", help_heading = "What")]
    schedule: Option<PathBuf>,
    /// The file of A holds k x m
    #[arg(long, requires = "element", help_heading = "Inputs")]
    transpose_a: bool,
    /// The file of B holds n x k, as the weights of a layer do
    #[arg(long, requires = "element", help_heading = "Inputs")]
    transpose_b: bool,
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
    if let Some(place) = arguments.element {
        return element(arguments, place, report);
    }
    let mut subject = match &arguments.trace {
        Some(file) => {
            DotProductAdd::recorded(file, &Trace::read(file)?, [arguments.tile, arguments.row, arguments.column])?
        }
        None => {
            let instruction = isa::resolve(arguments.instruction.as_deref().unwrap_or_default())?;
            let texts = OperandTexts {
                a: &arguments.a,
                b: &arguments.b,
                c: arguments.c.as_deref(),
                positions: &arguments.positions,
                scale_a: &arguments.scale_a,
                scale_b: &arguments.scale_b,
            };
            let case = texts.case(&instruction)?;
            report.notes = texts.rounded(&instruction)?;
            DotProductAdd::alone(instruction, case)
        }
    };
    let mut executed = None;
    if let Some(name) = &*arguments.device {
        let mut device = device::open(Some(name), arguments.timeout.duration())?;
        let code = subject.execute(device.as_mut(), arguments.model.is_some())?;
        executed = Some(DeviceResult { device: name.to_string(), code });
        report.device = Some(device.identity().clone());
    }
    let models = subject.explain([arguments.model.as_deref(), arguments.against.as_deref()], executed, report)?;
    report.tables.push(catalogue::evidence_for(models.iter().map(|model| (model, &subject.instruction))));
    Ok(())
}

/// Explains an element of a product of files.
fn element(arguments: &Arguments, place: ElementPlace, report: &mut Report) -> Result<()> {
    let mut schedule = match &arguments.schedule {
        Some(path) => Schedule::read(path)?,
        None => Schedule::new(product::instruction(arguments.instruction.as_deref().unwrap_or_default())?)?,
    };
    let file = |option: &str, texts: &[String]| match texts {
        [] => Ok(None),
        [one] => Ok(Some(ArrayFile::parse(one))),
        _ => Err(Error::request(format!("--{option}: give one file with --element"))),
    };
    let c: Vec<String> = arguments.c.iter().cloned().collect();
    let operands = OperandSource {
        a: file("a", &arguments.a)?,
        b: file("b", &arguments.b)?,
        c: file("c", &c)?,
        bias: None,
        scale_a: file("scale-a", &arguments.scale_a)?,
        scale_b: file("scale-b", &arguments.scale_b)?,
        transposed: [arguments.transpose_a, arguments.transpose_b],
        conversion: Conversion::Exact,
        drawn: None,
        alpha: None,
        beta: None,
    };
    operands.fit(arguments.d.as_ref())?;
    let d = arguments.d.as_ref().map(|file| file.read(None, Conversion::Keep)).transpose()?;
    if let Some((d, note)) = &d {
        report.notes.extend(note.clone());
        schedule.output.format = d.format;
        schedule.check().map_err(Error::request)?;
    }
    let model = arguments.model.as_deref().unwrap_or_else(|| usual_model(&schedule.instruction));
    let d = d.as_ref().map(|(d, _)| d);
    let request = ElementRequest { schedule: &schedule, model, operands: &operands, d, place };
    let model = request.explain(report)?;
    report.tables.push(catalogue::evidence_for([(&model, &schedule.instruction)]));
    Ok(())
}
