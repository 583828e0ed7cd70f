//! `tcnum probe bits`.

use clap::Args;

use super::{
    super::{
        Common, OutputDestination, Progress, Verb,
        drawings::{Drawings, Figures},
        named::named,
        select::{self, Selection},
    },
    DEFAULT_FORMATS, given_or,
    shared::{Available, ComparedModel, Samples},
};
use crate::{
    Result,
    inputs::{Draw, Op},
    probe::{
        bit_table::{self, Compared},
        bits::{self, BitPlan},
    },
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum probe bits --fmt f16 --device turing
  tcnum probe bits --fmt f16 --device turing --dist 'log-uniform(1e-4,1e4)' --plots figures

More: docs/probe.md";

/// Compares sums of products bit by bit with half, single, the exact sum and the model.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Products of a sum: multiply, inner-product or dot
    #[arg(long, value_parser = named::<Op>(), value_name = "OP", default_value = "inner-product", help_heading = "What")]
    op: Op,
    #[command(flatten)]
    model: ComparedModel,
    #[command(flatten)]
    available: Available,
    /// Distribution of the operands (repeatable) [default: normal(0,1)]
    #[arg(long = "dist", value_name = "NAME(X,Y)", value_parser = Draw::parse, help_heading = "Inputs")]
    distributions: Vec<Draw>,
    #[command(flatten)]
    samples: Samples,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    common: Common,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.common.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("agreement bit by bit", true)))
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = Some(*arguments.common.seed);
    let distributions = given_or(&arguments.distributions, &[Draw::Normal(0.0, 1.0)]);
    let name = arguments.selection.device(DEFAULT_FORMATS, arguments.common.device.as_ref());
    let mut instructions = arguments.selection.instructions(DEFAULT_FORMATS, Some(&name))?;
    let mut device = arguments.common.open(&name)?;
    let (_, model, undecided) = select::model(arguments.model.as_deref(), device.as_mut(), &instructions)?;
    report.notes.extend(undecided);
    if *arguments.available {
        select::available(&mut instructions, device.as_ref(), Some(&model), &mut report.notes);
    }
    if *arguments.available || arguments.selection.instructions.is_empty() && !arguments.selection.all {
        instructions.retain(|instruction| bits::check(instruction).is_ok());
    }
    let plan = BitPlan {
        instructions: &instructions,
        op: arguments.op,
        distributions: &distributions,
        seed: *arguments.common.seed,
        samples: *arguments.samples,
    };
    let progress = Progress::new(&arguments.common.destination);
    let mut all: Vec<Compared> = Vec::new();
    let outcome = plan.run(device.as_mut(), &model, &mut all, &|what| progress.step(what));
    bit_table::report(&all, report);
    report.device = Some(device.identity().clone());
    if all.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    outcome
}
