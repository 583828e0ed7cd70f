//! `tcnum probe --bits`: agreement bit by bit.

use std::path::PathBuf;

use super::{super::Progress, Arguments, DEFAULT_FORMATS, SAMPLES, select};
use crate::{
    Error, Result,
    arithmetic::Model,
    array::Arrays,
    base::{interrupt, pace::UNASKED},
    device::{self, Device, ExecutionKind},
    inputs::{Distribution, Draw, Op},
    isa::Instruction,
    probe::{
        bit_table::{self, Compared},
        bits::{self, BitRequest, Factor, OperandValues},
    },
    report::Report,
};

/// What `--dist` names.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProbeValues {
    /// A distribution that each format has in its own way.
    Named(Distribution),
    /// One with parameters.
    Drawn(Draw),
    /// The numbers of a file.
    Given(PathBuf),
}

impl ProbeValues {
    /// Parses a name, a distribution with parameters, or the name of a file.
    pub(super) fn parse(text: &str) -> std::result::Result<ProbeValues, String> {
        if let Some(named) = Distribution::ALL.into_iter().find(|own| own.name() == text) {
            return Ok(ProbeValues::Named(named));
        }
        if [".npy", ".safetensors"].iter().any(|end| text.ends_with(end)) {
            return Ok(ProbeValues::Given(text.into()));
        }
        Draw::parse(text).map(ProbeValues::Drawn).map_err(|expected| {
            let names: Vec<&str> = Distribution::ALL.iter().map(|own| own.name()).collect();
            format!("expected {}; with --bits a file .npy, or {}", names.join(", "), &expected["expected ".len()..])
        })
    }

    /// The operands of `--bits`, and what reports call them.
    fn operands(&self) -> Result<(OperandValues, String)> {
        let draw = match self {
            ProbeValues::Given(path) => {
                let arrays = Arrays::read(path)?;
                let name = path.display();
                let [array] = &arrays.arrays[..] else {
                    return Err(Error::request(format!(
                        "{name}: it has {} arrays; give a file with one",
                        arrays.arrays.len()
                    )));
                };
                let (format, codes) = array.codes(None).map_err(|error| error.within(name))?;
                let values: Vec<f64> = codes.iter().map(|code| format.to_f64(code)).filter(|x| x.is_finite()).collect();
                return match values.is_empty() {
                    true => Err(Error::request(format!("{}: it has no finite numbers", path.display()))),
                    false => Ok((OperandValues::Given(values), path.display().to_string())),
                };
            }
            ProbeValues::Drawn(draw) => *draw,
            ProbeValues::Named(Distribution::Normal) => Draw::Normal(0.0, 1.0),
            ProbeValues::Named(Distribution::Uniform) => Draw::Uniform(-1.0, 1.0),
            ProbeValues::Named(other) => {
                return Err(Error::request(format!(
                    "--dist {} has no parameters; with --bits give normal(0,1), uniform(-1,1), log-uniform(1e-3,1) or a file",
                    other.name()
                )));
            }
        };
        Ok((OperandValues::Drawn(draw), draw.to_string()))
    }
}

/// The distributions of a probe without `--bits`.
///
/// # Errors
/// A request error: one with parameters, or a file.
pub(super) fn named(given: &[ProbeValues]) -> Result<Vec<Distribution>> {
    let one = |values: &ProbeValues| match values {
        ProbeValues::Named(distribution) => Ok(*distribution),
        ProbeValues::Drawn(draw) => Err(Error::request(format!("--dist {draw} is for --bits"))),
        ProbeValues::Given(path) => Err(Error::request(format!("--dist {} is for --bits", path.display()))),
    };
    if given.is_empty() { Ok(vec![Distribution::Normal]) } else { given.iter().map(one).collect() }
}

/// Parses a property of operands: a word of its name.
pub(super) fn factor(text: &str) -> std::result::Result<Factor, String> {
    let found =
        Factor::ALL.into_iter().find(|own| own.name() == text || own.name().split(' ').any(|word| word == text));
    found.ok_or_else(|| "expected k, gap, range or cancelled".into())
}

/// Compares sums with the other computations of them.
///
/// # Errors
/// Options that do not go together, a file that cannot be read; those of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let op = match arguments.ops.iter().map(|op| op.matrix()).collect::<Vec<_>>()[..] {
        [] => Op::InnerProduct,
        [Some(op)] if !op.has_c() || op == Op::Dot => op,
        _ => return Err(Error::request("--bits is of one operation: multiply, inner-product, or dot, all without c")),
    };
    if !arguments.inits.is_empty() || arguments.summary || arguments.digests.is_some() {
        return Err(Error::request(
            "--init, --summary and --digests do not go with --bits, whose operands are rounded before",
        ));
    }
    let given = match &arguments.distributions[..] {
        [] => vec![ProbeValues::Named(Distribution::Normal)],
        given => given.to_vec(),
    };
    let values = given.iter().map(ProbeValues::operands).collect::<Result<Vec<_>>>()?;
    let name = arguments.selection.device(DEFAULT_FORMATS, arguments.common.device.as_ref());
    let mut instructions = arguments.selection.instructions(DEFAULT_FORMATS, Some(&name))?;
    let mut device = device::open(Some(&name), arguments.common.timeout.duration())?;
    let (_, model, undecided) = select::model(arguments.model.as_deref(), device.as_mut(), &instructions)?;
    report.notes.extend(undecided);
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), Some(&model), &mut report.notes);
        instructions.retain(|instruction| bits::check(instruction).is_ok());
    }
    if arguments.selection.instructions.is_empty() && !arguments.selection.all {
        instructions.retain(|instruction| bits::check(instruction).is_ok());
    }
    for instruction in &instructions {
        bits::check(instruction)?;
        device.has(instruction)?;
    }
    let mut all: Vec<Compared> = Vec::new();
    let outcome = compare(arguments, (&instructions, op, &values), device.as_mut(), &model, &mut all);
    report.answer = bit_table::answer(&all);
    report.holds = all
        .iter()
        .flat_map(|own| &own.result.agreements)
        .all(|own| own.reference != bits::BitReference::Model || own.equal == own.samples);
    report.device = Some(device.identity().clone());
    if all.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    report.tables = match arguments.against {
        None => bit_table::tables(&all),
        Some(factor) => bit_table::against(&all, factor).into_iter().collect(),
    };
    outcome
}

/// Compares the sums of each instruction; `all` has those that were compared, whatever ends the work.
fn compare(
    arguments: &Arguments,
    (instructions, op, values): (&[Instruction], Op, &[(OperandValues, String)]),
    device: &mut dyn Device,
    model: &Model,
    all: &mut Vec<Compared>,
) -> Result<()> {
    let progress = Progress::new(&arguments.common.destination);
    let name = device.identity().name.clone();
    let comparisons = (instructions.len() * values.len()).max(1) as u32;
    for instruction in instructions {
        let evaluator = model.evaluator(instruction)?;
        let external = device.prepare(instruction)?.kind == ExecutionKind::External;
        for (values, words) in values {
            interrupt::check()?;
            progress.step(&format!("comparing the bits of {instruction} on {name}: {words}"));
            let request = BitRequest {
                instruction,
                op,
                values,
                seed: arguments.common.seed,
                samples: arguments.samples.unwrap_or(SAMPLES),
            };
            let most = (external && arguments.samples.is_none()).then(|| UNASKED / comparisons);
            let mut results = Vec::new();
            let outcome = bits::run_until(device, Some(&evaluator), &request, most, &mut results);
            all.extend(results.into_iter().map(|result| Compared {
                instruction: instruction.name.clone(),
                device: name.to_string(),
                values: words.clone(),
                result,
            }));
            outcome?;
        }
    }
    Ok(())
}
