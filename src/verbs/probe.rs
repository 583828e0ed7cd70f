//! `tcnum probe`.

mod bits;
mod sweep;

use std::{collections::HashSet, path::PathBuf, time::Instant};

use clap::{Args, ValueEnum, builder::PossibleValue};

use super::{
    Common, OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    named::named,
    options::{cases, integer, model_name, output_file},
    select::{self, Selection},
};
use crate::{
    Error, Result, Stage,
    arithmetic::Model,
    base::{interrupt, named::Named, pace::UNASKED},
    comparison::{Difference, Listing, MismatchOrigin, Subject},
    device::{self, Device, ExecutionKind},
    inputs::{Distribution, Init, Op},
    isa::{Instruction, scalar::ScalarOperation},
    probe::{
        self, ProbeRequest, ProbeResult,
        bits::Factor,
        table::{self, Probe},
    },
    report::{Report, Table},
};

/// Samples for each probe by default.
const SAMPLES: u64 = 10_000;
/// The formats whose instructions are probed where none are chosen.
const DEFAULT_FORMATS: &[&str] = &["bf16"];

/// Isolates one operation of matrix instructions, or sweeps scalar instructions, and compares results bit for bit.
///
/// Example: tcnum probe --fmt bf16 --op accumulate (or tcnum probe --op convert --fmt e4m3)
///
/// Everything is zero but the operands of the operation: multiply d0 = a0*b0, inner-product d0 = a0*b0 + a1*b1,
/// accumulate d0 = a0*b0 + c0, dot: all k products and c. References: the arithmetic model, the same
/// expression in f32 on the CPU, and the correctly rounded exact result. Exit status 1 if an
/// element of D differs from the model.
///
/// The scalar operations (convert, round, add, sub, mul, fma, min, max, neg, abs) sweep every scalar instruction of PTX that does them
/// with the formats of --fmt, or the one that --instr spells (cvt.rn.satfinite.e4m3x2.f32): on a GPU with all of its inputs (all 2^32 f32
/// codes or pairs of 16-bit codes). Generation, execution and comparison with the instruction's rule happen on the
/// GPU. Without one, the rule's two evaluations on the CPU are compared on a part of the inputs.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The operation; may be repeated. Without it: the four of matrix instructions.
    #[arg(long = "op", value_enum, value_name = "OP")]
    ops: Vec<ProbeOperation>,
    /// Whether references use the operands after (low) or before (fp32) rounding. Without it: both.
    #[arg(long = "init", value_parser = named::<Init>(), value_name = "INIT")]
    inits: Vec<Init>,
    /// How operands are drawn: normal, uniform, log-uniform (over the whole range of the format), special (zeros, subnormal numbers,
    /// infinities, NaN and extremes) or corners (directed cases); with --bits normal(MEAN,DEVIATION), uniform(LOW,HIGH),
    /// log-uniform(LEAST,MOST), magnitudes(LOW,HIGH), or a file .npy of numbers. May be repeated. Without it: normal.
    #[arg(long = "dist", value_name = "DISTRIBUTION", value_parser = bits::ProbeValues::parse)]
    distributions: Vec<bits::ProbeValues>,
    /// Compare bit by bit: which bits of a sum of products are those of the same sum in half and in single precision, exact, and by the
    /// model; and how that depends on k, on the operands' exponents, and on cancellation. Without --op: inner-product.
    #[arg(long)]
    bits: bool,
    /// With --bits: report, and draw, agreement against this property of the operands alone: k, gap (of the products' exponents), range
    /// (of the operands' exponents) or cancelled (bits of the largest product).
    #[arg(long, value_name = "PROPERTY", requires = "bits", value_parser = bits::factor)]
    against: Option<Factor>,
    /// Samples for each instruction, operation and initialisation. Without it: 10000, as many as an exec: device answers in a minute.
    #[arg(long, value_name = "N", value_parser = integer(1..=probe::MAX_SAMPLES))]
    samples: Option<u64>,
    /// The arithmetic model to compare with: a shipped name or a model file. Without it: that of the device's generation.
    #[arg(long, value_name = "MODEL", value_parser = model_name)]
    model: Option<String>,
    /// How many mismatches to print for each line.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = integer(0..=usize::MAX))]
    max_mismatches: usize,
    /// Scalar instructions: how many inputs, in whole chunks of 65536. Without it: all on a GPU, four chunks on the CPU.
    #[arg(long, value_name = "N", value_parser = cases(1 << 32))]
    cases: Option<u64>,
    /// Scalar instructions: sweep consecutive chunks, starting with the one that holds this input. Without it: chunks spread over all inputs.
    #[arg(long, value_name = "INPUT", value_parser = integer(0..=(1u64 << 32) - 1))]
    first: Option<u64>,
    /// Scalar instructions: write the digests of up to 16 chunks of each to this file, which the CPU can confirm.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    digests: Option<PathBuf>,
    /// Leave out the instructions that the device does not have, instead of refusing (with --all).
    #[arg(long, requires = "all")]
    available: bool,
    /// Print a row for each instruction and operation instead of one for each probe.
    #[arg(long)]
    summary: bool,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Common flags.
    #[command(flatten)]
    common: Common,
}

/// What `--op` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeOperation {
    Matrix(Op),
    Scalar(ScalarOperation),
}

impl ProbeOperation {
    fn matrix(self) -> Option<Op> {
        match self {
            ProbeOperation::Matrix(op) => Some(op),
            ProbeOperation::Scalar(_) => None,
        }
    }

    fn scalar(self) -> Option<ScalarOperation> {
        match self {
            ProbeOperation::Matrix(_) => None,
            ProbeOperation::Scalar(operation) => Some(operation),
        }
    }
}

impl ValueEnum for ProbeOperation {
    fn value_variants<'a>() -> &'a [ProbeOperation] {
        static ALL: std::sync::OnceLock<Vec<ProbeOperation>> = std::sync::OnceLock::new();
        ALL.get_or_init(|| {
            let matrix = Op::ALL.map(ProbeOperation::Matrix).into_iter();
            matrix.chain(ScalarOperation::ALL.map(ProbeOperation::Scalar)).collect()
        })
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            ProbeOperation::Matrix(op) => Some(PossibleValue::new(op.name()).help(op.meaning())),
            ProbeOperation::Scalar(operation) => {
                Some(PossibleValue::new(operation.name()).help(format!("Scalar: {}", operation.meaning())))
            }
        }
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.common.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("errors of matrix instructions", !matches!(sweep::operations(self), Ok(Some(_))))))
    }
}

/// Runs the probe.
///
/// # Errors
/// Unknown names, a device that cannot be opened or fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = Some(arguments.common.seed);
    if let Some(operations) = sweep::operations(arguments)? {
        return sweep::run(arguments, &operations, report);
    }
    if arguments.cases.is_some() || arguments.first.is_some() || arguments.digests.is_some() {
        return Err(Error::request(
            "--cases, --first and --digests are for scalar operations; of matrix instructions --samples says how many",
        ));
    }
    if arguments.bits {
        return bits::run(arguments, report);
    }
    let distributions = bits::named(&arguments.distributions)?;
    let name = arguments.selection.device(DEFAULT_FORMATS, arguments.common.device.as_ref());
    let mut instructions = arguments.selection.instructions(DEFAULT_FORMATS, Some(&name))?;
    let timeout = arguments.common.timeout.duration();
    let mut device = device::open(Some(&name), timeout)?;
    let (name, model, undecided) = select::model(arguments.model.as_deref(), device.as_mut(), &instructions)?;
    report.notes.extend(undecided);
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), Some(&model), &mut report.notes);
    } else {
        // Refused before any work.
        for instruction in &instructions {
            device.has(instruction)?;
            model.program(instruction)?;
        }
    }
    let mut found = Probed::default();
    let outcome = found.all(arguments, (&instructions, &distributions), device.as_mut(), &model);
    let Probed { probes, listing, notes, .. } = found;
    let device_name = device.identity().name.clone();
    report.answer = table::answer(&probes, &device_name, &name);
    report.notes.extend(table::note(&device_name, &name));
    report.notes.extend(notes);
    report.notes.extend(listing.notes());
    report.holds = probes.iter().all(|(_, result)| result.profile.element_mismatches == 0);
    report.device = Some(device.identity().clone());
    if probes.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    report.tables.push(match arguments.summary {
        true => table::summary(&probes, arguments.samples.unwrap_or(SAMPLES)),
        false => {
            let profile = table::profile(&probes, &name);
            Table { brief: !arguments.common.destination.verbose, ..profile }
        }
    });
    report.tables.extend(listing.table());
    outcome
}

/// What was probed, whatever ended it.
#[derive(Default)]
struct Probed<'a> {
    probes: Vec<Probe<'a>>,
    listing: Listing,
    /// The differences that are listed, of which options that are given twice find the same again.
    listed: HashSet<(String, &'static str, &'static str, Difference)>,
    notes: Vec<String>,
}

impl<'a> Probed<'a> {
    /// Probes each instruction.
    fn all(
        &mut self,
        arguments: &Arguments,
        (instructions, distributions): (&'a [Instruction], &[Distribution]),
        device: &mut dyn Device,
        model: &Model,
    ) -> Result<()> {
        let progress = Progress::new(&arguments.common.destination);
        let probes_of = |instruction| requests(arguments, distributions, instruction);
        let total: usize = instructions.iter().map(|instruction| probes_of(instruction).len()).sum();
        let started = Instant::now();
        let mut begun = 0;
        for instruction in instructions {
            interrupt::check()?;
            // On a GPU its kernel is compiled meanwhile.
            let what = format!("preparing {instruction} on {}", device.identity().name);
            progress.at(Stage { what: &what, done: begun, total: total as u64 });
            let external = match device.prepare(instruction) {
                Err(error) if arguments.available && error.is_unavailable() => {
                    self.notes.push(error.to_string());
                    begun += probes_of(instruction).len() as u64;
                    continue;
                }
                execution => execution?.kind == ExecutionKind::External,
            };
            let evaluator = model.evaluator(instruction)?;
            for requests in probes_of(instruction) {
                let request = &requests[0];
                let inits: Vec<Init> = requests.iter().map(|request| request.init).collect();
                let what = format!(
                    "probing {instruction} on {}: {} samples of {}, {}, {}",
                    device.identity().name,
                    request.samples,
                    request.op.name(),
                    inits.iter().map(|init| init.name()).collect::<Vec<_>>().join(" and "),
                    request.distribution.name(),
                );
                progress.at(Stage { what: &what, done: begun, total: total as u64 });
                // Samples that nobody asked for take a share of a minute.
                let left = UNASKED.saturating_sub(started.elapsed()) / (total as u32 - begun as u32).max(1);
                let until = (external && arguments.samples.is_none()).then(|| Instant::now() + left);
                begun += 1;
                let mut results = Vec::new();
                let outcome = probe::run_until(device, Some(&evaluator), request, &inits, until, &mut results);
                if let Some(first) = results.first() {
                    self.list(request, first);
                    if outcome.is_ok() && first.profile.samples < request.samples {
                        self.notes.push(format!(
                            "{instruction}, {}: {} of the {SAMPLES} samples of a probe by default fit into a minute; --samples N takes N.",
                            request.op.name(),
                            first.profile.samples
                        ));
                    }
                }
                self.probes.extend(requests.into_iter().zip(results));
                outcome?;
            }
        }
        Ok(())
    }

    /// Lists the differences of a probe.
    fn list(&mut self, request: &ProbeRequest, result: &ProbeResult) {
        let (instruction, op, distribution) = (request.instruction, request.op.name(), request.distribution.name());
        let origin = MismatchOrigin { op: Some(op), distribution: Some(distribution), ..MismatchOrigin::default() };
        for difference in &result.differences {
            if self.listed.insert((instruction.name.clone(), op, distribution, difference.clone())) {
                self.listing.add(&Subject::Matrix(instruction), &origin, difference);
            }
        }
    }
}

/// The probes of an instruction; those that differ in their initialisation alone are together.
fn requests<'a>(
    arguments: &Arguments,
    distributions: &[Distribution],
    instruction: &'a Instruction,
) -> Vec<Vec<ProbeRequest<'a>>> {
    let chosen: Vec<Op> = arguments.ops.iter().filter_map(|op| op.matrix()).collect();
    let ops: &[Op] = if chosen.is_empty() { &Op::ALL } else { &chosen };
    let inits: &[Init] = if arguments.inits.is_empty() { &[Init::Low, Init::Fp32] } else { &arguments.inits };
    let mut requests = Vec::new();
    for &distribution in distributions {
        for &op in ops {
            let request = |init: &Init| ProbeRequest {
                instruction,
                op,
                distribution,
                init: *init,
                seed: arguments.common.seed,
                samples: arguments.samples.unwrap_or(SAMPLES),
                max_mismatches: arguments.max_mismatches,
            };
            requests.push(inits.iter().map(request).collect());
        }
    }
    requests
}
