//! `tcnum tree`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::figure_file,
    options::{MAX_TIMEOUT, device_name, integer, output_file},
    select::{self, Selection},
};
use crate::{
    Error, Result,
    base::atomic,
    device::{self, Batches, Device, DeviceName},
    document::chip,
    isa::{self, Instruction},
    report::{Report, Table, Verdict},
    tree::{
        self, FoundOrder, Manner, drawing,
        table::{self, TreeRow},
    },
};

/// Finds the order of a sum: which terms are summed together, one after the other or at once, and where c enters.
///
/// Example: tcnum tree --instr mma.m16n8k16.f32.f16.f16.f32 --device model:ampere
///
/// Example: tcnum tree --instr gemm.m4n4k1000.f32 --device exec:'python3 examples/gemm/numpy_matmul.py' --plot numpy.svg
///
/// Large terms that cancel and small ones that are lost, or not, show which terms meet first (docs/tree.md). Of a device that computes
/// whole matrix products (gemm.mMnNkK.D.A.B.C, or gemm.mMnNkK.FORMAT) one element of D is asked, --element. Exit status 1 if an output
/// contradicts the tree: then the sum is none.
///
/// Without --instr, --fmt and --all: the instructions of bf16.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The device: cuda:N, cpu, model:NAME or model:FILE, exec:'PROGRAM ARGS'.
    #[arg(long, value_name = "DEVICE", value_parser = device_name)]
    device: Option<DeviceName>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// The row and column of D whose sum is asked for, each time in a tile of its own; of a matrix product 0,0 if none is given. Without it,
    /// those of an instruction are taken to be alike.
    #[arg(long, value_name = "ROW,COLUMN", value_parser = element)]
    element: Option<(usize, usize)>,
    /// Write the tree of the one instruction to this file, for Graphviz.
    #[arg(long, value_name = "FILE.dot", value_parser = output_file)]
    dot: Option<PathBuf>,
    /// Draw the tree of the one instruction to this file: FILE.svg, FILE.pdf or FILE.png.
    #[arg(long, value_name = "FILE", value_parser = figure_file)]
    plot: Option<PathBuf>,
    /// Leave out the instructions that the device does not have or whose sum has no order, instead of refusing (with --all).
    #[arg(long, requires = "all")]
    available: bool,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

/// Parses a row and a column.
fn element(text: &str) -> std::result::Result<(usize, usize), String> {
    let number = |text: &str| text.trim().parse().ok();
    text.split_once(',')
        .and_then(|(row, column)| Some((number(row)?, number(column)?)))
        .ok_or_else(|| "expected ROW,COLUMN, each counted from 0".into())
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Finds the trees, draws one if that is asked for, and reports.
///
/// # Errors
/// A request error for an unknown or unavailable instruction, one whose sum has no order, a device that cannot be asked, or a file that
/// cannot be written; the errors of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let (mut instructions, name) = chosen(arguments)?;
    if (arguments.dot.is_some() || arguments.plot.is_some()) && instructions.len() != 1 {
        let count = instructions.len();
        return Err(Error::request(format!("--dot and --plot draw one tree, and {count} instructions are chosen")));
    }
    let mut device = device::open(Some(&name), Duration::from_secs(arguments.timeout))?;
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
        instructions.retain(|i| !i.d.is_integer());
    }
    let progress = Progress::new(&arguments.destination);
    let mut all = Vec::new();
    let outcome = find(arguments, (device.as_mut(), &instructions), &progress, &mut report.notes, &mut all);
    let name = chip(device.identity());
    report.device = Some(device.identity().clone());
    let rows: Vec<TreeRow> = all.iter().map(|(i, element, found)| table::row(i, *element, found)).collect();
    let contradictions = || all.iter().flat_map(|(i, _, found)| table::contradictions(i, found));
    report.answer = table::answer(&rows, &name);
    report.holds = contradictions().next().is_none();
    report.verdict = Verdict::Contradicted;
    report.notes.extend(note(&all));
    if rows.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    report.tables.push(Table::of("The order of sums", rows));
    // Of several instructions the lines say enough.
    if let ([_], [(i, _, found)]) = (&instructions[..], &all[..]) {
        report.tables.push(table::drawn(i, found));
    }
    report.tables.extend(Table::of("Sums that contradict their tree", contradictions()).filled());
    let drawn = draw(arguments, &name, &all);
    outcome.and(drawn)
}

/// An instruction, the element of D that was asked, and its tree.
type Tree<'a> = (&'a Instruction, Option<(usize, usize)>, FoundOrder);

/// Finds the tree of each instruction.
fn find<'a>(
    arguments: &Arguments,
    (device, instructions): (&mut dyn Device, &'a [Instruction]),
    progress: &Progress,
    notes: &mut Vec<String>,
    all: &mut Vec<Tree<'a>>,
) -> Result<()> {
    if let Some(preparation) = device.preparation() {
        preparation.announce(instructions);
    }
    let mut batches = Batches::default();
    for i in instructions {
        progress.step(&format!("asking for the order of {i}"));
        let product = isa::gemm(&i.name).is_some();
        let element = arguments.element.or(product.then_some((0, 0)));
        let found = device
            .prepare(i)
            .and_then(|_| tree::find(i, &mut |cases| tree::ask(device, &mut batches, i, element, cases)));
        match found {
            Err(error) if arguments.available && error.is_unavailable() => notes.push(error.to_string()),
            found => all.push((i, element, found?)),
        }
    }
    Ok(())
}

/// Writes the drawings of the one tree.
///
/// # Errors
/// A file cannot be written.
fn draw(arguments: &Arguments, device: &str, all: &[Tree]) -> Result<()> {
    let [(i, _, found)] = all else { return Ok(()) };
    let title = format!("{i} on {device}");
    let dot = arguments.dot.as_ref().map_or(Ok(()), |path| {
        atomic::write(path, tree::dot(&found.order, &title).as_bytes()).map_err(|error| error.within("--dot"))
    });
    let plot = arguments.plot.as_ref().map_or(Ok(()), |path| {
        drawing::scene(&found.order, &title).write(path).map_err(|error| error.within("--plot"))
    });
    dot.and(plot)
}

/// The instructions and matrix products, and the name of the device.
fn chosen(arguments: &Arguments) -> Result<(Vec<Instruction>, DeviceName)> {
    let mut selection = arguments.selection.clone();
    let (products, others) = selection.instructions.drain(..).partition(|name| isa::gemm(name).is_some());
    let products: Vec<String> = products;
    selection.instructions = others;
    let only = !products.is_empty() && selection.instructions.is_empty() && selection.formats.is_empty();
    let default: &[&str] = if only { &[] } else { &["bf16"] };
    let name = selection.device(default, arguments.device.as_ref());
    name.computes("the order of a sum is asked of a device that computes")?;
    let mut instructions = products.iter().filter_map(|name| isa::gemm(name)).collect::<Result<Vec<_>>>()?;
    instructions.extend(selection.instructions(default, Some(&name))?);
    for i in &instructions {
        if let Some((row, column)) = arguments.element.filter(|(row, column)| *row >= i.m || *column >= i.n) {
            return Err(Error::request(format!(
                "--element {row},{column}: D of {i} has {} rows and {} columns, counted from 0",
                i.m, i.n
            )));
        }
    }
    Ok((instructions, name))
}

/// What the reader of trees must know of what the formats cannot show.
fn note(all: &[Tree]) -> Option<String> {
    let undecided =
        |found: &FoundOrder| found.order.meetings().iter().filter(|own| own.manner == Manner::Undecided).count();
    if let [(i, _, found)] = all {
        let (least, greatest) = found.spans;
        return match undecided(found) {
            0 if least < tree::WIDE => Some(format!(
                "{i}: the formats hold terms that are 2^{least} apart, no more: a step that keeps more bits than that of some of its \
                 parts would appear as two."
            )),
            0 => None,
            count => Some(format!(
                "{i}: the order within {} is not decided: the formats hold no terms far enough apart (2^{least} to 2^{greatest}) for \
                 one to be lost.",
                if count == 1 { "1 step".into() } else { format!("{count} steps") }
            )),
        };
    }
    let near = all.iter().filter(|(_, _, found)| undecided(found) == 0 && found.spans.0 < tree::WIDE).count();
    (near > 0).then(|| {
        format!(
            "The formats of {near} of {} instructions hold no terms that are 2^{} apart: a step that keeps many bits of some of its parts \
             would appear as two.",
            all.len(),
            tree::WIDE
        )
    })
}
