//! `tcnum probe`.

mod scalar;

use std::{collections::HashSet, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, builder::PossibleValue};

use super::{
    Common, Progress, invocation,
    options::{cases, integer, output_file},
    select::{self, Selection},
};
use crate::{
    Error, Result,
    arithmetic::Model,
    device,
    format::Format,
    inputs::{Distribution, Init, Op},
    isa::{Instruction, scalar::ScalarOperation},
    probe::{self, HISTOGRAM_EDGES, Mismatch, Outcome, Request, brief},
    report::{Cell, Column, Report, Table},
};

/// Samples for each probe, unless the request says how many.
const SAMPLES: u64 = 10_000;

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
/// with the formats of --fmt, or the one that --instr spells (cvt.rn.satfinite.e4m3x2.f32): on a GPU all its inputs, all 2^32 f32
/// codes or pairs of 16-bit codes. Generation, execution and comparison with the instruction's rule happen on the
/// GPU. Without one, the rule's two evaluations on the CPU are compared on a part of the inputs.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The operation; may be repeated. The four of matrix instructions without it.
    #[arg(long = "op", value_enum, value_name = "OP")]
    ops: Vec<Operation>,
    /// Whether references see operands after (low) or before (fp32) they are rounded; both without it.
    #[arg(long = "init", value_enum, value_name = "INIT")]
    inits: Vec<Init>,
    /// How operands are drawn; may be repeated. Without it: normal.
    #[arg(long = "dist", value_enum, value_name = "DISTRIBUTION")]
    distributions: Vec<Distribution>,
    /// Samples for each instruction, operation and initialisation. Without it: 10000.
    #[arg(long, value_name = "N", value_parser = integer(1..=probe::MAX_SAMPLES))]
    samples: Option<u64>,
    /// The arithmetic model to compare with: a shipped name or a model file. Without it: that of the device's generation.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How many mismatches to print for each line.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = integer(0..=usize::MAX))]
    max_mismatches: usize,
    /// Scalar instructions: how many inputs, in whole chunks of 65536; all on a GPU without it, four chunks on the CPU.
    #[arg(long, value_name = "N", value_parser = cases(1 << 32))]
    cases: Option<u64>,
    /// Scalar instructions: sweep consecutive chunks from the one with this input; without it they are spread over all.
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
    brief: bool,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

/// What `--op` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Matrix(Op),
    Scalar(ScalarOperation),
}

impl Operation {
    fn matrix(self) -> Option<Op> {
        match self {
            Operation::Matrix(op) => Some(op),
            Operation::Scalar(_) => None,
        }
    }

    fn scalar(self) -> Option<ScalarOperation> {
        match self {
            Operation::Matrix(_) => None,
            Operation::Scalar(operation) => Some(operation),
        }
    }
}

impl ValueEnum for Operation {
    fn value_variants<'a>() -> &'a [Operation] {
        static ALL: std::sync::OnceLock<Vec<Operation>> = std::sync::OnceLock::new();
        ALL.get_or_init(|| {
            let matrix = Op::ALL.map(Operation::Matrix).into_iter();
            matrix.chain(ScalarOperation::ALL.map(Operation::Scalar)).collect()
        })
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Operation::Matrix(op) => op.to_possible_value(),
            Operation::Scalar(operation) => {
                Some(PossibleValue::new(operation.name()).help(format!("Scalar: {}", operation.meaning())))
            }
        }
    }
}

/// Runs the probe.
///
/// # Errors
/// Unknown names, a device that cannot be opened or fails.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let mut report = Report::new("probe", invocation());
    report.seed = Some(arguments.common.seed);
    if let Some(operations) = scalar::operations(arguments)? {
        return scalar::run(arguments, &operations, report);
    }
    if arguments.cases.is_some() || arguments.first.is_some() || arguments.digests.is_some() {
        return Err(Error::request(
            "--cases, --first and --digests are for scalar operations; of matrix instructions --samples says how many",
        ));
    }
    let mut instructions = arguments.selection.instructions(&["bf16"], arguments.common.device.as_deref())?;
    let timeout = Duration::from_secs(arguments.common.timeout);
    let mut device = device::open(arguments.common.device.as_deref(), timeout)?;
    let (name, undecided) = select::model(arguments.model.as_deref(), device.as_ref())?;
    let model = Model::load(&name)?;
    report.notes.extend(undecided);
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), Some(&model), &mut report.notes);
    }
    let mut profiles = Table::new("profile", "Element-wise profile", columns());
    let mut mismatches = Table::new("mismatches", "Elements of D that differ from the model", mismatch_columns());
    let mut probes = Vec::new();
    let mut listed = HashSet::new();
    let progress = Progress::new(&arguments.common.destination);
    for instruction in &instructions {
        if let Err(error) = device.prepare(instruction) {
            if arguments.available && error.exit_status() == 2 {
                report.notes.push(error.to_string());
                continue;
            }
            return Err(error);
        }
        let evaluator = model.evaluator(instruction)?;
        for request in requests(arguments, instruction) {
            progress.step(&format!(
                "probing {instruction} on {}: {} samples of {}, {}, {}",
                device.identity().name,
                request.samples,
                request.op.name(),
                request.init.name(),
                request.distribution.name(),
            ));
            let outcome = probe::run(device.as_mut(), Some(&evaluator), &request)?;
            report.holds &= outcome.profile.element_mismatches == 0;
            for m in &outcome.mismatches {
                // Both initialisations give the device the same inputs.
                if listed.insert((request.instruction.name.clone(), request.op.name(), m.clone())) {
                    mismatches.rows.push(mismatch_row(mismatches.rows.len() + 1, &request, m));
                }
            }
            if arguments.brief {
                probes.push((request, outcome));
            } else {
                profiles.rows.push(row(&request, &name, &outcome));
            }
        }
    }
    report.notes.extend(remarks(device.identity().name.as_str(), &name));
    report.device = Some(device.identity().clone());
    hide_if_empty(&mut profiles, "opcodes");
    report.tables.push(if arguments.brief {
        brief::table(&probes, arguments.samples.unwrap_or(SAMPLES))
    } else {
        profiles
    });
    if !mismatches.rows.is_empty() {
        report.tables.push(mismatches);
    }
    Ok(report)
}

fn requests<'a>(arguments: &Arguments, instruction: &'a Instruction) -> Vec<Request<'a>> {
    let chosen: Vec<Op> = arguments.ops.iter().filter_map(|op| op.matrix()).collect();
    let ops: &[Op] = if chosen.is_empty() { &Op::ALL } else { &chosen };
    let inits: &[Init] = if arguments.inits.is_empty() { &[Init::Low, Init::Fp32] } else { &arguments.inits };
    let mut requests = Vec::new();
    let distributions: &[Distribution] =
        if arguments.distributions.is_empty() { &[Distribution::Normal] } else { &arguments.distributions };
    for &distribution in distributions {
        for &op in ops {
            for &init in inits {
                requests.push(Request {
                    instruction,
                    op,
                    distribution,
                    init,
                    seed: arguments.common.seed,
                    samples: arguments.samples.unwrap_or(SAMPLES),
                    max_mismatches: arguments.max_mismatches,
                });
            }
        }
    }
    requests
}

fn remarks(device: &str, model: &str) -> Vec<String> {
    let mut notes = vec![
        "=model, =f32, =f32 to D, =exact: samples equal in every bit to the arithmetic model, to the same expression in f32 \
         on the CPU (f64 for f64 operands, s32 for integers), to that rounded to the format of D, and to the correctly \
         rounded exact result; NaN equals NaN except in =model. Errors are means over finite samples. ulp histogram: how many of \
         these are 0, up to 0.5, 1, 2, 4, 8, 16, 64, 1024, and more ulp from the exact result."
            .to_string(),
    ];
    if device == format!("model:{model}") {
        notes.push("No hardware ran: the device is the model itself, so =model shows nothing but consistency.".into());
    }
    notes
}

/// Keeps a column that no row fills (machine code, without a disassembler or a GPU) out of the human views.
fn hide_if_empty(table: &mut Table, key: &str) {
    let Some(at) = table.columns.iter().position(|column| column.key == key) else { return };
    if table.rows.iter().all(|row| row[at] == Cell::List(Vec::new())) {
        table.columns[at].label = None;
    }
}

fn columns() -> Vec<Column> {
    [
        ("instruction", Some("instruction")),
        ("ptx", Some("vendor's spelling")),
        ("execution", Some("ran")),
        ("opcodes", Some("machine code")),
        ("op", Some("op")),
        ("init", Some("init")),
        ("distribution", Some("values")),
        ("samples", Some("samples")),
        ("inputs_digest", None),
        ("outputs_digest", None),
        ("model", None),
        ("model_agree", Some("=model")),
        ("elements", None),
        ("element_mismatches", None),
        ("f32_agree", Some("=f32")),
        ("f32_rounded_agree", Some("=f32 to D")),
        ("exact_agree", Some("=exact")),
        ("not_finite", Some("not finite")),
        ("mean_abs_error_f32", Some("error to f32")),
        ("mean_abs_error_f32_standard_error", None),
        ("max_abs_error_f32", None),
        ("mean_abs_error_f32_rounded", Some("to f32 in D")),
        ("mean_abs_error_f32_rounded_standard_error", None),
        ("mean_abs_error", Some("to exact")),
        ("mean_abs_error_standard_error", None),
        ("max_abs_error", Some("max to exact")),
        ("mean_rel_error", Some("relative")),
        ("max_rel_error", Some("max relative")),
        ("mean_ulp_error", None),
        ("max_ulp_error", Some("max ulp")),
        ("ulp_histogram_edges", None),
        ("ulp_histogram", Some("ulp histogram")),
    ]
    .into_iter()
    .map(|(key, label)| Column { key, label })
    .collect()
}

fn row(request: &Request<'_>, model: &str, outcome: &Outcome) -> Vec<Cell> {
    let p = &outcome.profile;
    vec![
        request.instruction.name.as_str().into(),
        request.instruction.ptx.as_str().into(),
        outcome.execution.kind.name().into(),
        Cell::List(outcome.execution.opcodes.iter().map(|o| o.as_str().into()).collect()),
        request.op.name().into(),
        request.init.name().into(),
        request.distribution.name().into(),
        Cell::integer(p.samples),
        Cell::text(format!("{:016x}", outcome.digest)),
        Cell::text(format!("{:016x}", outcome.outputs_digest)),
        model.into(),
        p.model.map_or(Cell::Empty, Cell::integer),
        Cell::integer(p.elements),
        Cell::integer(p.element_mismatches),
        Cell::integer(p.f32),
        Cell::integer(p.f32_rounded),
        Cell::integer(p.exact),
        Cell::integer(p.not_finite()),
        p.f32_error.mean().into(),
        p.f32_error.standard_error().into(),
        p.f32_error.maximum().into(),
        p.f32_rounded_error.mean().into(),
        p.f32_rounded_error.standard_error().into(),
        p.absolute.mean().into(),
        p.absolute.standard_error().into(),
        p.absolute.maximum().into(),
        p.relative.mean().into(),
        p.relative.maximum().into(),
        p.ulps.mean().into(),
        p.ulps.maximum().into(),
        Cell::List(HISTOGRAM_EDGES.iter().map(|edge| Cell::Real(*edge)).collect()),
        Cell::List(p.histogram.iter().map(|count| Cell::integer(*count)).collect()),
    ]
}

fn mismatch_columns() -> Vec<Column> {
    [
        ("number", Some("#")),
        ("instruction", Some("instruction")),
        ("op", Some("op")),
        ("distribution", Some("values")),
        ("a", Some("a (k: code = value)")),
        ("b", Some("b")),
        ("c", Some("c")),
        ("device", Some("device")),
        ("model", Some("model")),
        ("a_codes", None),
        ("b_codes", None),
        ("c_code", None),
        ("device_code", None),
        ("model_code", None),
    ]
    .into_iter()
    .map(|(key, label)| Column { key, label })
    .collect()
}

fn mismatch_row(number: usize, request: &Request<'_>, m: &Mismatch) -> Vec<Cell> {
    let i = request.instruction;
    let valued = |format: &Format, code: u64| format!("{} = {:e}", format.hex(code), format.to_f64(code));
    let operands = |format: &Format, codes: &[u64]| {
        let listed = codes.iter().enumerate().filter(|(_, code)| **code != 0);
        let shown: Vec<String> = listed.map(|(k, code)| format!("{k}: {}", valued(format, *code))).collect();
        Cell::text(shown.join("; "))
    };
    let codes =
        |format: &Format, codes: &[u64]| Cell::List(codes.iter().map(|code| Cell::text(format.hex(*code))).collect());
    vec![
        Cell::integer(number as u64),
        i.name.as_str().into(),
        request.op.name().into(),
        request.distribution.name().into(),
        operands(i.a, &m.a),
        operands(i.b, &m.b),
        Cell::text(valued(i.c, m.c)),
        Cell::text(valued(i.d, m.device)),
        Cell::text(valued(i.d, m.model)),
        codes(i.a, &m.a),
        codes(i.b, &m.b),
        Cell::text(i.c.hex(m.c)),
        Cell::text(i.d.hex(m.device)),
        Cell::text(i.d.hex(m.model)),
    ]
}
