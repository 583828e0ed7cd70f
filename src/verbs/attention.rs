//! `tcnum attention`.

use std::{borrow::Cow, sync::Arc};

use clap::Args;

use super::{
    Bar, OutputDestination, Progress, Verb,
    gates::Gates,
    named::named,
    options::{array_file, integer},
    shared::{ArithmeticModel, CodeFormat},
};
use crate::{
    Result,
    arithmetic::Model,
    attention::{self, AddedScores, AttentionClaim, Causal, Heads, Mask, tables},
    base::interrupt,
    format::{self, Format},
    product::ArrayFile,
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum attention o.npy --q q.npy --k k.npy --v v.npy --causal
  tcnum attention x.safetensors:o --q x.safetensors:q --k x.safetensors:k --v x.safetensors:v
  tcnum attention o.npy --q q.npy --k k.npy --v v.npy --p-format e4m3 --model hopper
      P is rounded to e4m3 before it multiplies V
  tcnum attention o.npy --q q.npy --k k.npy --v v.npy --s-format f16 --scale 0.125
      a kernel of several steps, which stores scores in f16

More: docs/attention.md";

/// Checks every element of softmax(s Q K^T) V against its rigorous error bound.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// O, (batch ..., heads, n_q, d_v): FILE.npy or FILE.safetensors:NAME
    #[arg(value_name = "O", value_parser = array_file)]
    o: ArrayFile,
    /// Queries, (batch ..., heads, n_q, d)
    #[arg(long, value_name = "FILE", value_parser = array_file, help_heading = "Inputs")]
    q: ArrayFile,
    /// Keys, (batch ..., heads, n_k, d); their heads may be fewer
    #[arg(long = "k", id = "keys", value_name = "FILE", value_parser = array_file, help_heading = "Inputs")]
    k: ArrayFile,
    /// Values, (batch ..., heads, n_k, d_v)
    #[arg(long, value_name = "FILE", value_parser = array_file, help_heading = "Inputs")]
    v: ArrayFile,
    #[command(flatten)]
    codes: CodeFormat,
    /// Scale of Q K^T [default: 1 / sqrt(d)]
    #[arg(long, value_name = "S", help_heading = "What")]
    scale: Option<f64>,
    /// Causal mask, from the upper left or to the lower right corner
    #[arg(long, value_name = "CORNER", value_parser = named::<Causal>(), num_args = 0..=1,
        default_missing_value = "upper-left", help_heading = "What")]
    causal: Option<Causal>,
    /// Keys on each side of the diagonal that a query attends to
    #[arg(long, value_name = "N", value_parser = integer(0..=1usize << 40), help_heading = "What")]
    window: Option<usize>,
    /// Mask: bytes, 0 where a key is left out, or numbers to add
    #[arg(long, value_name = "FILE", value_parser = array_file, help_heading = "What")]
    mask: Option<ArrayFile>,
    /// Format of P when it multiplies V [default: the format of V]
    #[arg(long, value_name = "FORMAT", help_heading = "What")]
    p_format: Option<String>,
    /// Format that a kernel of several steps stores scores in
    #[arg(long, value_name = "FORMAT", help_heading = "What")]
    s_format: Option<String>,
    /// Relative error of exp in f32 [default: 2^-22]
    #[arg(long, value_name = "E", help_heading = "What")]
    exp_error: Option<f64>,
    /// Fewest keys of a tile
    #[arg(long, value_name = "N", default_value_t = attention::TILE, value_parser = integer(1..=1usize << 40), help_heading = "What")]
    tile: usize,
    #[command(flatten)]
    model: ArithmeticModel,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, None))
    }
}

/// Checks the outputs, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let format =
        |name: &Option<String>| -> Result<Option<&'static Format>> { name.as_deref().map(format::find).transpose() };
    let model = Model::load(&arguments.model)?;
    let codes = format(&arguments.codes)?;
    let [p_format, s_format] = [format(&arguments.p_format)?, format(&arguments.s_format)?];
    let progress = Progress::new(&arguments.destination);
    progress.step("reading the operands");
    let read = |name: &str, file: &ArrayFile| Heads::read(name, file, codes);
    let [q, k, v] = [read("Q", &arguments.q)?, read("K", &arguments.k)?, read("V", &arguments.v)?];
    let operands = attention::Operands::new(q, k, v, read("O", &arguments.o)?)?;
    let given = match &arguments.mask {
        Some(file) => {
            let mask = AddedScores::of_array(&file.array()?, &operands);
            Some(Arc::new(mask.map_err(|error| error.within(file.label()))?))
        }
        None => None,
    };
    let claim = AttentionClaim {
        model,
        scale: arguments.scale.unwrap_or(1.0 / (operands.q.columns as f64).sqrt()),
        mask: Mask { causal: arguments.causal, window: arguments.window, given, shift: 0 },
        p_format: p_format.unwrap_or(operands.v.format),
        s_format,
        exp_error: arguments.exp_error.unwrap_or(attention::EXP_ERROR),
        tile: arguments.tile,
    };
    let check = {
        let bar = Bar::new(&progress, "checking", operands.elements() as u64, 0, 1);
        attention::check(&operands, &claim, &|done| bar.show(done, 0))?
    };
    tables::report(&operands, &claim, &check, report);
    interrupt::check()
}
