//! `tcnum models`: the models of arithmetic, and the rules of one.

use clap::Args;

use super::{OutputDestination, Verb, options::model_name, shared::Instructions};
use crate::{
    Result,
    arithmetic::{Model, Program, shipped},
    catalogue, isa,
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum models
  tcnum models hopper
      the rules of one model, with their evidence
  tcnum models hopper --instr mma.m16n8k32.f32.e4m3.e4m3.f32
      the operations of one instruction
  tcnum models --keys
      the keys of model files
More: models/README.md";

/// Lists the models of arithmetic, or prints the rules of one of them.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
#[command(mut_arg("instructions", |option| option.requires("model")))]
pub(super) struct Arguments {
    /// Model: its name, a GPU (H100), a target (sm_90) or a model file
    #[arg(value_name = "MODEL", value_parser = model_name)]
    pub model: Option<String>,
    #[command(flatten)]
    pub(crate) instructions: Instructions,
    /// Explain the keys of model files
    #[arg(long, conflicts_with = "model")]
    pub keys: bool,
    /// Print a RISC-V model's disclosure: (G, psm, rnd) by geometry
    #[arg(long, requires = "model", conflicts_with = "instructions")]
    pub disclosure: bool,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Lists the models, or prints one of them.
///
/// # Errors
/// An unknown model, or a malformed model file (with file, line, key and the allowed values).
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.keys {
        report.answer = Some(catalogue::answer_of_keys());
        report.tables.extend([catalogue::keys(), catalogue::node_keys()]);
    } else if let (Some(name), true) = (&arguments.model, arguments.disclosure) {
        report.tables.push(catalogue::disclosure_of(&Model::load(name)?)?);
    } else if let (Some(name), false) = (&arguments.model, arguments.instructions.is_empty()) {
        let model = Model::load(name)?;
        let program = |name: &String| model.program(&isa::resolve(name)?);
        let programs = arguments.instructions.iter().map(program).collect::<Result<Vec<_>>>()?;
        let programs: Vec<&Program> = programs.iter().collect();
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
