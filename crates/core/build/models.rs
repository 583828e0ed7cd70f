//! The files of `models/`, checked.

use std::collections::HashMap;

use serde::Deserialize;
use toml::Spanned;

use crate::{
    arithmetic::{Defect, Model},
    collect::File,
    targets::Target,
};

/// Head of a model file, with the places of its values.
#[derive(Deserialize)]
struct Head {
    name: Spanned<String>,
    #[serde(default)]
    architectures: Vec<Spanned<String>>,
}

/// Rust expression of the models: name, targets and text, in the order of the targets.
/// Models without targets are last.
///
/// A file is refused if its name differs from the one it states, if it describes a target that does not exist or has a
/// model already (the model of a GPU is found by its target), or if the program would refuse it.
pub(crate) fn table(files: &[File], targets: &[Target]) -> Result<String, String> {
    let mut owners: HashMap<String, &str> = HashMap::new();
    let mut rows = Vec::new();
    for file in files {
        let head: Head = toml::from_str(&file.text).map_err(|error| file.refused(&error))?;
        if *head.name.get_ref() != file.name {
            return Err(file.error(head.name.span().start, &format!("'name' must be '{}', like the file's", file.name)));
        }
        let mut order = targets.len();
        for architecture in &head.architectures {
            let error = |what: &str| {
                file.error(architecture.span().start, &format!("'architectures': {} {what}", architecture.get_ref()))
            };
            let at = targets.iter().position(|target| target.name() == architecture.get_ref());
            order = order.min(at.ok_or_else(|| error("has no file in targets/"))?);
            if let Some(other) = owners.insert(architecture.get_ref().clone(), &file.path) {
                return Err(error(&format!("has a model already, {other}")));
            }
        }
        rules(file)?;
        let architectures: Vec<&String> = head.architectures.iter().map(Spanned::get_ref).collect();
        rows.push((order, format!("    ({:?}, &{architectures:?}, {}),\n", file.name, file.included())));
    }
    rows.sort();
    Ok(format!("&[\n{}]\n", rows.into_iter().map(|(_, row)| row).collect::<String>()))
}

/// Checks a file by the program's rules.
fn rules(file: &File) -> Result<(), String> {
    let model = Model::read(&file.text, &file.path).map_err(|error| file.refused(&error))?;
    let Some(Defect { rule, line, what }) = model.defect() else { return Ok(()) };
    let what = format!("{rule}: {what}");
    Err(line.map_or_else(|| format!("{}: {what}", file.path), |line| file.error_in(line, &what)))
}
