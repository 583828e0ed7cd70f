//! `tcnum distinguish`: the smallest inputs on which two devices, models or instructions differ.

use std::time::Duration;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    options::Timeout,
    select::{self, Selection, left_out},
    shared::{Cases, SeedIfGiven, with_default},
};
use crate::{
    Error, Result,
    arithmetic::{Model, shipped},
    catalogue::evidence_for,
    device::{self, DEFAULT_MODEL, Device, DeviceName},
    distinction::{self, DevicePair, InstructionDistinction, SearchLimits, ShippedKnowledge},
    distinguish::tables,
    identify::causes,
    isa::Instruction,
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum distinguish ampere hopper --instr mma.m16n8k16.f32.bf16.bf16.f32
  tcnum distinguish hopper/mma.m16n8k8.f32.f16.f16.f32 hopper/mma.m16n8k16.f32.f16.f16.f32
      two instructions with the same operand formats
  tcnum distinguish --instr mma.m16n8k16.f32.f16.f16.f32
      the shipped models that agree on one instruction, and its test kit

More: docs/distinguish.md";

/// Finds the smallest inputs on which two models, devices or instructions differ.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "131072 or a minute").requires("sides")))]
#[command(mut_arg("seed", |option| option.requires("sides")))]
pub(super) struct Arguments {
    /// Two devices, each with or without /INSTRUCTION [default: all models]
    #[arg(value_name = "DEVICE[/INSTRUCTION]", num_args = 2, help_heading = "Device")]
    sides: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    seed: SeedIfGiven,
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
        Ok(Some(self.drawings.of("which models agree, without devices", self.sides.is_empty())))
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown names; instructions with other operands, or that a device lacks; a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    match &arguments.sides[..] {
        [x, y] => {
            let limits = SearchLimits::new(*arguments.cases, *arguments.seed);
            report.seed = Some(limits.seed);
            let timeout = arguments.timeout.duration();
            let mut pair = open([x, y], &arguments.selection, timeout, &mut report.notes)?;
            let mut distinctions = Vec::new();
            let outcome = pair
                .distinguish(&limits, &mut |stage| progress.at(stage), &mut distinctions)
                .and_then(|()| causes(&mut pair, limits.seed, &mut |stage| progress.at(stage), &mut distinctions));
            fill(report, &pair, &distinctions);
            outcome
        }
        [] => {
            if arguments.selection.is_empty() {
                return Err(Error::request(
                    "nothing to compare; name two devices, or an instruction (--instr, --fmt or --all) for all models",
                ));
            }
            let model = DeviceName::Model(DEFAULT_MODEL.into());
            let chosen = arguments.selection.instructions(&[], Some(&model))?;
            let mut known = ShippedKnowledge::default();
            let outcome = distinction::shipped_knowledge(&chosen, &mut |stage| progress.at(stage), &mut known);
            tables::report_knowledge(&known, report);
            let models: Vec<Model> = shipped().map(Model::load).collect::<Result<_>>()?;
            let uses = known
                .agreements
                .iter()
                .flat_map(|agreement| models.iter().map(|model| (model, &agreement.instruction)));
            report.tables.extend(evidence_for(uses).filled());
            outcome
        }
        sides => Err(Error::request(format!("distinguish compares two devices; {} are named", sides.len()))),
    }
}

/// Fills `report` with the comparisons of two devices, and the evidence of their models.
pub(super) fn fill(report: &mut Report, pair: &DevicePair, distinctions: &[InstructionDistinction]) {
    tables::report(distinctions, report);
    let models = pair.devices.each_ref().map(|device| device.model());
    let uses = distinctions.iter().flat_map(|distinction| models.into_iter().zip(&distinction.sides));
    let uses = uses.filter_map(|(model, side)| Some((model?, &side.instruction)));
    report.tables.extend(evidence_for(uses).filled());
}

/// Opens two devices, each with or without /INSTRUCTION; a note names what `--all` left out.
///
/// # Errors
/// Unknown names; a device that cannot be opened; no instruction to compare.
pub(super) fn open(
    sides: [&str; 2],
    selection: &Selection,
    timeout: Duration,
    notes: &mut Vec<String>,
) -> Result<DevicePair> {
    let [x, y] = [side(sides[0])?, side(sides[1])?];
    let mut devices = [device::open(Some(&x.0), timeout)?, device::open(Some(&y.0), timeout)?];
    let instructions = instructions(selection, [&x, &y], &mut devices, notes)?;
    Ok(DevicePair { names: [x.0, y.0], devices, instructions })
}

/// The device that `text` names, and the instruction after its slash.
fn side(text: &str) -> Result<(DeviceName, Option<Instruction>)> {
    if DeviceName::from(text).trace().is_some() {
        return Err(Error::request(format!(
            "{text} is a recording, which cannot be asked new inputs; `tcnum verify {text} --model MODEL` compares it"
        )));
    }
    select::with_instruction(text)
}

/// The instructions of both sides.
fn instructions(
    selection: &Selection,
    [x, y]: [&(DeviceName, Option<Instruction>); 2],
    devices: &mut [Box<dyn Device>; 2],
    notes: &mut Vec<String>,
) -> Result<Vec<[Instruction; 2]>> {
    let selected = !selection.is_empty();
    match (&x.1, &y.1) {
        (None, None) if !selected => {
            Err(Error::request("no instruction is named; write DEVICE/INSTRUCTION, or give --instr, --fmt or --all"))
        }
        (Some(one), Some(_)) if selected => {
            Err(Error::request(format!("both sides name an instruction ({one}); leave out --instr, --fmt and --all")))
        }
        (Some(one), Some(other)) => Ok(vec![[one.clone(), other.clone()]]),
        (Some(instruction), None) | (None, Some(instruction)) if !selected => {
            Ok(vec![[instruction.clone(), instruction.clone()]])
        }
        (one, other) => {
            let mut chosen = selection.instructions(&[], Some(if one.is_none() { &x.0 } else { &y.0 }))?;
            if selection.all {
                for (device, _) in devices.iter_mut().zip([one, other]).filter(|(_, instruction)| instruction.is_none())
                {
                    let mut failure = None;
                    let left_out = left_out(&mut chosen, |i| match device.has(i) {
                        Ok(()) => true,
                        Err(error) if error.is_unavailable() => false,
                        Err(error) => {
                            failure.get_or_insert(error);
                            false
                        }
                    });
                    if let Some(error) = failure {
                        return Err(error);
                    }
                    let name = &device.identity().name;
                    notes.extend(left_out.map(|count| format!("Left out: {count} that {name} does not have.")));
                }
            }
            if chosen.is_empty() {
                return Err(Error::unavailable(format!("{} and {} share none of the chosen instructions", x.0, y.0)));
            }
            let pair = |instruction: Instruction| {
                [one.clone().unwrap_or_else(|| instruction.clone()), other.clone().unwrap_or(instruction)]
            };
            Ok(chosen.into_iter().map(pair).collect())
        }
    }
}
