//! `tcnum models`: the models of arithmetic, and one of them rule by rule.

use clap::Args;

use super::{Destination, invocation};
use crate::{
    Result,
    arithmetic::{Model, shipped},
    catalogue,
    report::Report,
};

/// Lists the models of arithmetic, or prints one of them rule by rule.
///
/// Example: tcnum models hopper
#[derive(Args, Debug)]
pub struct Arguments {
    /// The model to print: a name, or the path of a model file.
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
    /// Explain the keys of model files instead.
    #[arg(long, conflicts_with = "model")]
    pub keys: bool,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The report of `tcnum models`.
///
/// # Errors
/// An unknown model; a file that is not one (with file, line, key and what is allowed).
pub fn run(arguments: &Arguments) -> Result<Report> {
    let mut report = Report::new("models", invocation());
    if arguments.keys {
        report.tables.push(catalogue::keys());
    } else if let Some(name) = &arguments.model {
        report.tables.extend(catalogue::model(&Model::load(name)?));
    } else {
        let models: Vec<Model> = shipped().map(Model::load).collect::<Result<_>>()?;
        report.tables.push(catalogue::models(&models));
    }
    Ok(report)
}
