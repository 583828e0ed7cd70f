//! Generations: the models of the atlas, GPUs first, in the order of their first products.

use std::{collections::BTreeSet, path::PathBuf};

use crate::{
    Error, Result,
    arithmetic::{Model, aliases, shipped},
    document::is_native,
    isa::{self, Instruction},
    survey::draft,
};

/// Vendor and first product of the shipped models, in order.
const DATES: &str = include_str!("generations.csv");

/// A generation: a model and its place in the atlas.
#[derive(Debug, Clone)]
pub(super) struct Generation {
    /// The arithmetic.
    pub(super) model: Model,
    /// The name that commands take: of a shipped model, or the path of a file.
    pub(super) asked: String,
    /// Name of its page, without folder and ending.
    pub(super) file: String,
    /// Vendor and first product; `None` for a user's model.
    pub(super) date: Option<FirstProduct>,
    /// Other names: GPUs, processors and targets.
    pub(super) aliases: Vec<String>,
}

/// A row of the table of first products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstProduct {
    model: &'static str,
    /// The vendor.
    pub(super) vendor: &'static str,
    /// GPU or processor.
    pub(super) kind: &'static str,
    /// The first product.
    pub(super) product: &'static str,
}

impl FirstProduct {
    fn all() -> impl Iterator<Item = FirstProduct> {
        DATES.lines().skip(1).map(|line| {
            let mut fields = line.splitn(4, ',');
            let mut next = || fields.next().expect("generations.csv has four fields in every row");
            FirstProduct { model: next(), vendor: next(), kind: next(), product: next() }
        })
    }
}

impl Generation {
    /// The name in sentences: `hopper`.
    pub(super) fn name(&self) -> &str {
        &self.model.name
    }

    /// The title without the products in brackets: `NVIDIA Hopper`.
    pub(super) fn title(&self) -> &str {
        self.model.title.split_once(" (").map_or(&self.model.title[..], |(title, _)| title)
    }

    /// Year in which its first target was announced; empty for unknown targets.
    pub(super) fn year(&self) -> &'static str {
        let targets = self.model.architectures.iter().filter_map(|name| isa::targets::find(name));
        targets.map(|target| &target.announced[..4]).min().unwrap_or("")
    }

    /// Place in the order of first products; users' models come last.
    fn place(&self) -> usize {
        let model = self.date.map(|date| date.model);
        FirstProduct::all().position(|date| Some(date.model) == model).unwrap_or(usize::MAX)
    }

    /// True if a target has the instruction in its matrix unit, or the targets are unknown.
    pub(super) fn is_native(&self, i: &Instruction) -> bool {
        is_native(&self.model, i)
    }
}

/// The generations of these or all shipped models, and of the drafts of surveys, in order.
///
/// # Errors
/// An unknown or malformed model; two models of one name; a folder without a draft model.
pub(super) fn generations(names: &[String], surveys: &[PathBuf]) -> Result<Vec<Generation>> {
    let mut names: Vec<String> = match names {
        [] => shipped().map(String::from).collect(),
        names => names.to_vec(),
    };
    for folder in surveys {
        let draft = folder.join(draft::FILE);
        if !draft.is_file() {
            return Err(Error::request(format!(
                "‹with={}›: the folder has no {}; `tcnum survey --device DEVICE --out FOLDER` writes it",
                folder.display(),
                draft::FILE
            )));
        }
        names.push(draft.to_string_lossy().into_owned());
    }
    let mut all: Vec<Generation> = Vec::new();
    for asked in names {
        let model = Model::load(&asked)?;
        let is_shipped = shipped().any(|name| name == asked);
        if let Some(other) = all.iter().find(|other| other.model.name == model.name) {
            return Err(Error::request(format!(
                "‹model={asked}›: {} is named '{}', too; give the models different names",
                other.asked, model.name
            )));
        }
        let date = FirstProduct::all().find(|date| is_shipped && date.model == model.name);
        let aliases = if is_shipped { aliases(&model.name) } else { model.architectures.clone() };
        all.push(Generation { file: String::new(), date, aliases, asked, model });
    }
    all.sort_by_key(Generation::place);
    let files = file_names(all.iter().map(|generation| generation.model.name.as_str()));
    all.iter_mut().zip(files).for_each(|(generation, file)| generation.file = file);
    Ok(all)
}

/// Names of files for these names, all different.
///
/// Characters other than letters, digits, `.`, `-` and `_` become `-`; equal names get a number.
pub(super) fn file_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c.to_ascii_lowercase() } else { '-' };
    let mut used_names = BTreeSet::new();
    let mut file = |name: &str| {
        let stem: String = name.chars().map(plain).take(LONGEST).collect();
        // A name of dots is a folder.
        let stem = if stem.starts_with('.') || stem.is_empty() { format!("-{stem}") } else { stem };
        let numbered = (1..).map(|number| if number == 1 { stem.clone() } else { format!("{stem}-{number}") });
        let free = numbered.into_iter().find(|name| !used_names.contains(name)).unwrap_or_default();
        used_names.insert(free.clone());
        free
    };
    names.into_iter().map(&mut file).collect()
}

/// Most characters of a file's name, without its ending.
const LONGEST: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_model_has_a_date_and_the_dates_ascend() {
        let all = generations(&[], &[]).unwrap();
        assert_eq!(all.len(), shipped().count());
        assert!(all.iter().all(|generation| generation.date.is_some()));
        for kind in ["GPU", "processor"] {
            let years = all
                .iter()
                .filter(|generation| generation.date.is_some_and(|date| date.kind == kind))
                .map(Generation::year);
            assert!(years.is_sorted(), "{kind}");
        }
        assert!(all.iter().is_sorted_by_key(|generation| generation.date.map(|date| date.kind)), "GPUs come first");
        assert_eq!(FirstProduct::all().count(), all.len());
    }

    #[test]
    fn the_name_of_a_file_stays_in_its_folder_and_is_its_own() {
        let names = ["hopper", "../x", "a/b", "A b", "a-b", "", "<i>", "..", "é"];
        let files = ["hopper", "-..-x", "a-b", "a-b-2", "a-b-3", "-", "-i-", "-..", "--2"];
        let made = file_names(names);
        assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(made[..8], files[..8]);
        assert!(made.iter().all(|file| !file.starts_with('.') && !file.contains('/')));
    }
}
