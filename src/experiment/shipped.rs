//! Experiments inside the program: the files of `experiments/`, and their names.

use std::path::Path;

use super::Experiment;
use crate::{
    Error, Result,
    base::nearest::nearest,
    report::{Report, Table},
};

/// Name and text, in alphabetical order.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

crate::rows! {
    /// An experiment inside the program.
    pub struct ShippedExperimentRow in "shipped_experiments" {
        /// The name.
        experiment: String => shown("experiment").essential(),
        /// The quantity that it shows.
        title: String => shown("shows").essential(),
        /// Authors, title, and which table or figure.
        source: String => hidden(),
        /// The device that the published figures were measured on.
        published_on: String => shown("published on"),
        /// Samples of each probe, chains, or draws of each product.
        samples: Option<u64> => shown("samples"),
        /// Devices of a run without `--device`.
        devices: Vec<String> => hidden(),
    }
}

/// Names of the experiments inside the program, in alphabetical order.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// Puts the experiments inside the program into a report.
///
/// # Errors
/// An experiment that does not parse.
pub fn list(report: &mut Report) -> Result<()> {
    let mut rows = Vec::new();
    for name in shipped() {
        let experiment = Experiment::find(name)?;
        rows.push(ShippedExperimentRow {
            samples: experiment.samples(),
            experiment: experiment.name,
            title: experiment.title,
            source: experiment.source,
            published_on: experiment.published_on,
            devices: experiment.devices,
        });
    }
    report.answer = Some(format!("{} published experiments: tcnum experiment NAME repeats one.", rows.len()));
    report.tables.push(Table::of("Experiments", rows));
    Ok(())
}

impl Experiment {
    /// The experiment of this name, or in this file (a path with a slash, or that ends in `.toml`).
    ///
    /// # Errors
    /// A request error: no such experiment, a file that cannot be read, or one that is no experiment.
    pub fn find(name: &str) -> Result<Experiment> {
        if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name.to_ascii_lowercase()) {
            return Experiment::parse(text, &format!("experiments/{name}.toml"));
        }
        let path = Path::new(name);
        if !name.contains('/') && path.extension().is_none_or(|end| end != "toml") {
            let near = nearest(name, shipped(), 3).join(", ");
            return Err(Error::request(format!(
                "'{name}' is not an experiment; the nearest are {near}. `tcnum experiment --list` lists all; a file of your own \
                 is FILE.toml"
            )));
        }
        Experiment::read(path)
    }

    /// Samples of each probe, chains, or draws of each product.
    fn samples(&self) -> Option<u64> {
        let probes = self.probe.as_ref().map(|probe| probe.samples);
        let chains = self.chain.as_ref().map(|chain| chain.chains);
        let bits = self.bits.as_ref().map(|bits| bits.samples);
        probes.or(chains).or(bits).or(self
            .emulate
            .as_ref()
            .filter(|emulate| !emulate.is_of_integers())
            .map(|emulate| emulate.draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_experiment_is_found_by_its_name_in_any_case() {
        for name in shipped() {
            assert_eq!(Experiment::find(&name.to_uppercase()).unwrap().name, name);
        }
        let error = Experiment::find("table-1").unwrap_err().to_string();
        assert!(error.contains("'table-1' is not an experiment") && error.contains("table-10"), "{error}");
    }
}
