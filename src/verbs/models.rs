//! `tcnum models`: the models of arithmetic, and one of them rule by rule.

use clap::Args;

use super::{OutputDestination, Verb, options::model_name};
use crate::{
    Result,
    arithmetic::{Evaluator, Model, Program, shipped},
    catalogue, isa,
    report::Report,
};

/// Lists the models of arithmetic, or prints one of them rule by rule.
///
/// Example: tcnum models hopper
///
/// Example: tcnum models hopper --instr mma.m16n8k32.f32.e4m3.e4m3.f32
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The model to print: its name, a GPU's (H100), a target's (sm_90), or the path of a model file.
    #[arg(value_name = "MODEL", value_parser = model_name)]
    pub model: Option<String>,
    /// Print the operations of this instruction's arithmetic instead of the rules: a name, or a TOML file that describes one of your
    /// own (docs/exec.md); may be repeated.
    #[arg(long = "instr", value_name = "NAME", requires = "model")]
    pub instructions: Vec<String>,
    /// Explain the keys of model files instead.
    #[arg(long, conflicts_with = "model")]
    pub keys: bool,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The report of `tcnum models`.
///
/// # Errors
/// An unknown model; a file that is not one (with file, line, key and what is allowed).
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.keys {
        report.answer = Some(catalogue::answer_of_keys());
        report.tables.extend([catalogue::keys(), catalogue::node_keys()]);
    } else if let (Some(name), false) = (&arguments.model, arguments.instructions.is_empty()) {
        let model = Model::load(name)?;
        let evaluator = |name: &String| model.evaluator(&isa::resolve(name)?);
        let evaluators = arguments.instructions.iter().map(evaluator).collect::<Result<Vec<_>>>()?;
        let programs: Vec<&Program> = evaluators.iter().map(Evaluator::program).collect();
        report.answer = Some(catalogue::answer_of_programs(&programs));
        let evidence = catalogue::evidence_for(programs.iter().map(|program| (&model, &program.instruction)));
        report.tables.extend([catalogue::programs(&programs), evidence]);
    } else if let Some(name) = &arguments.model {
        let model = Model::load(name)?;
        report.answer = Some(catalogue::answer_of_model(&model));
        report.tables.extend(catalogue::model(&model));
    } else {
        let models: Vec<Model> = shipped().map(Model::load).collect::<Result<_>>()?;
        report.answer = Some(catalogue::answer_of_models(&models));
        report.tables.push(catalogue::models(&models));
    }
    Ok(())
}
