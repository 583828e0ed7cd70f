//! `tcnum merge`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, de::IgnoredAny};

use super::{OutputDestination, Verb, options::model_name};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::text,
    device::Identity,
    isa,
    report::{Report, Verdict},
    verify::{
        Part, checkpoint,
        merge::{PartFile, merge},
        reports, rule_digest, tables,
    },
};

/// Makes one report of the parts of a run: the totals are those of one run.
///
/// Example: tcnum merge part-*.json --output markdown
///
/// A part is a report (JSON) or a checkpoint of `tcnum verify --shard I/N`. Exit status 1 if outputs differ; 2 if parts are
/// missing, unfinished, given twice or of different runs.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Reports (JSON) or checkpoints.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Merge the parts that there are, even if some are missing or unfinished.
    #[arg(long)]
    partial: bool,
    /// A TOML file that describes an instruction of your own, if the parts are of one (docs/exec.md); may be repeated.
    #[arg(long = "instr", value_name = "FILE")]
    instructions: Vec<String>,
    /// The model file of the run, to show mismatches step by step; a shipped model is found by its name.
    #[arg(long, value_name = "MODEL", value_parser = model_name)]
    model: Option<String>,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Merges.
///
/// # Errors
/// A file that is neither a report nor a checkpoint; parts that do not make a run.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    // From here on they are found by their names.
    arguments.instructions.iter().try_for_each(|file| isa::resolve(file).map(drop))?;
    let mut sources = Vec::new();
    for path in &arguments.files {
        let file = path.display().to_string();
        sources.extend(read(path)?.into_iter().map(|part| PartFile { file: file.clone(), part }));
    }
    let (parts, notes) = merge(&sources, arguments.partial)?;
    report.notes = notes;
    for part in &parts {
        report.notes.extend(tables::remarks(part)?);
    }
    let model = model(arguments, &parts)?;
    report.tables = vec![tables::verification(&parts), tables::regimes(&parts)];
    let (differences, signatures) =
        tables::differences(&parts, model.as_ref().map(|model| (&model.name[..], model)), None)?;
    report.tables.extend(differences);
    report.notes.extend(signatures);
    report.answer = tables::answer(&parts);
    report.holds = parts.iter().all(|part| part.state.differing() == 0);
    if parts.iter().all(|part| part.state.compared() == 0) {
        report.holds = false;
        report.verdict = Verdict::Nothing;
        report.notes.insert(0, "Nothing was compared.".into());
    }
    if let Some(first) = parts.first() {
        report.seed = first.run.seed;
        report.device = Some(Identity::new(&*first.ran.device, &*first.run.device));
    }
    Ok(())
}

/// The parts in a file.
fn read(path: &Path) -> Result<Vec<Part>> {
    let content = text::read_result(path, "the file")?;
    let file = path.display();
    let kind: FileKind = serde_json::from_str(&content)
        .map_err(|error| Error::request(format!("{file} is neither a report in JSON nor a checkpoint: {error}")))?;
    match kind.tcnum_checkpoint {
        Some(_) => checkpoint::parse(&content, path),
        None => reports::parts(&content)
            .map_err(|error| error.within(format!("{file} is not a report of `tcnum verify` on cases"))),
    }
}

/// The mark by which a checkpoint differs from a report.
#[derive(Deserialize)]
struct FileKind {
    tcnum_checkpoint: Option<IgnoredAny>,
}

/// The model of the runs, if it is the one that is named, or a shipped one of that name.
fn model(arguments: &Arguments, parts: &[Part]) -> Result<Option<Model>> {
    let Some(first) = parts.first() else { return Ok(None) };
    let model = match &arguments.model {
        Some(name) => Model::load(name)?,
        None => match Model::load(&first.run.model) {
            Ok(model) => model,
            Err(_) => return Ok(None),
        },
    };
    for part in parts {
        if rule_digest(&model, &part.run.instruction()?) != part.run.model_digest {
            return match &arguments.model {
                None => Ok(None),
                Some(name) => Err(Error::request(format!(
                    "{name} is not the model of the run: its rule for {} differs",
                    part.run.instruction
                ))),
            };
        }
    }
    Ok(Some(model))
}
