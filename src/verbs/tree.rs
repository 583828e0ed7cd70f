//! `tcnum tree`: the order of a sum.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::{Timeout, element_place, output_file},
    select::{self, Selection},
    shared::{Available, OneDevice, Plot},
};
use crate::{
    Error, Result,
    base::atomic,
    device::{self, DeviceName},
    document::chip,
    isa::{self, Instruction},
    order,
    product::ElementPlace,
    report::Report,
    tree::{self, DeviceOrders, InstructionOrder, drawing, table},
};

const HELP: &str = "\
Examples:
  tcnum tree --instr mma.m16n8k16.f32.f16.f16.f32 --device ampere
  tcnum tree --instr mma.m16n8k32.f32.e4m3.e4m3.f32 --device hopper --plot tree.svg
  tcnum tree --instr gemm.m4n4k1000.f32 --device exec:'python3 examples/gemm/numpy_matmul.py'
      a matrix product of NumPy

More: docs/tree.md";

/// Finds the order of a sum: terms added together, their order, and the place of c.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    available: Available,
    #[command(flatten)]
    device: OneDevice,
    #[command(flatten)]
    timeout: Timeout,
    /// Element of D to ask, counted from 0 [default for products: 0,0]
    #[arg(long, value_name = "ROW,COLUMN", value_parser = element_place, help_heading = "Inputs")]
    element: Option<ElementPlace>,
    /// Write the tree of one instruction for Graphviz
    #[arg(long, value_name = "FILE.dot", value_parser = output_file, help_heading = "Output")]
    dot: Option<PathBuf>,
    #[command(flatten)]
    plot: Plot,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Finds the trees, draws one if asked to, and reports.
///
/// # Errors
/// A request error for an unknown or unavailable instruction, one whose sum has no order, a device that cannot be asked, or a file that
/// cannot be written; the errors of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let (mut instructions, name) = chosen(arguments)?;
    if (arguments.dot.is_some() || arguments.plot.is_some()) && instructions.len() != 1 {
        let count = instructions.len();
        return Err(Error::request(format!("--dot and --plot draw one tree; {count} instructions are chosen")));
    }
    let mut device = device::open(Some(&name), arguments.timeout.duration())?;
    if *arguments.available {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
        instructions.retain(|i| !i.d.is_integer());
    }
    let progress = Progress::new(&arguments.destination);
    let mut step = |i: &Instruction| progress.step(&format!("finding the order of {i}"));
    let mut all = DeviceOrders::default();
    let outcome =
        tree::find_all(device.as_mut(), &instructions, arguments.element, *arguments.available, &mut step, &mut all);
    let name = chip(device.identity());
    report.device = Some(device.identity().clone());
    table::report(&all, &name, report);
    if all.orders.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    let drawn = draw(arguments, &name, &all.orders);
    outcome.and(drawn)
}

/// Writes the drawings of the one tree.
///
/// # Errors
/// A file cannot be written.
fn draw(arguments: &Arguments, device: &str, orders: &[InstructionOrder]) -> Result<()> {
    let [InstructionOrder { instruction, tree, .. }] = orders else { return Ok(()) };
    let title = format!("{instruction} on {device}");
    let dot = arguments.dot.as_ref().map_or(Ok(()), |path| {
        atomic::write(path, order::dot(&tree.order, &title).as_bytes()).map_err(|error| error.within("--dot"))
    });
    let plot = arguments
        .plot
        .as_ref()
        .map_or(Ok(()), |path| drawing::scene(&tree.order, &title).write(path).map_err(|error| error.within("--plot")));
    dot.and(plot)
}

/// The instructions and matrix products, and the name of the device.
fn chosen(arguments: &Arguments) -> Result<(Vec<Instruction>, DeviceName)> {
    let mut selection = arguments.selection.clone();
    let (products, others) = selection.instructions.drain(..).partition(|name| isa::gemm(name).is_some());
    let products: Vec<String> = products;
    *selection.instructions = others;
    let only = !products.is_empty() && selection.instructions.is_empty() && selection.formats.is_empty();
    let default: &[&str] = if only { &[] } else { &["bf16"] };
    let name = selection.device(default, arguments.device.as_ref());
    name.computes("the order of a sum is asked of a device that computes")?;
    let mut instructions = products.iter().filter_map(|name| isa::gemm(name)).collect::<Result<Vec<_>>>()?;
    instructions.extend(selection.instructions(default, Some(&name))?);
    for i in &instructions {
        let outside = |place: &ElementPlace| place.row >= i.m || place.column >= i.n;
        if let Some(ElementPlace { row, column }) = arguments.element.filter(outside) {
            return Err(Error::request(format!(
                "--element {row},{column}: D of {i} has {} rows and {} columns, counted from 0",
                i.m, i.n
            )));
        }
    }
    Ok((instructions, name))
}
