//! Options of verbs that serve as a check in continuous integration.

use std::path::PathBuf;

use clap::Args;

use super::options::output_file;
use crate::{Error, Result, base::atomic, gate, report::Report};

/// Files of the checks for continuous integration.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Gates {
    /// Write the checks to this file as JUnit XML.
    #[arg(long, value_name = "FILE.xml", value_parser = output_file, help_heading = "Output")]
    junit: Option<PathBuf>,
    /// Write the failed checks to this file as SARIF 2.1.0.
    #[arg(long, value_name = "FILE.sarif", value_parser = output_file, help_heading = "Output")]
    sarif: Option<PathBuf>,
}

impl Gates {
    /// Writes the checks of a report; `source` is the file that they are about.
    /// `failure` is the error that ended the command early.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn write(&self, report: &Report, failure: Option<&Error>, source: Option<&str>) -> Result<()> {
        if let Some(path) = &self.junit {
            atomic::write(path, gate::junit(report, failure).as_bytes()).map_err(|error| error.within("--junit"))?;
        }
        match &self.sarif {
            Some(path) => atomic::write(path, gate::sarif(report, failure, source).as_bytes())
                .map_err(|error| error.within("--sarif")),
            None => Ok(()),
        }
    }
}
