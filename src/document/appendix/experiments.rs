//! Results of experiments, apart from other results.

use std::path::Path;

use super::commands::Commands;
use crate::{
    document::{Figure, results::Results},
    experiment::{self, Experiment},
    report::{Kept, Report},
};

/// The results of one experiment.
pub(in crate::document) struct Repeated {
    /// Its name in files.
    pub(in crate::document) name: String,
    /// Its name in headings.
    pub(in crate::document) label: String,
    /// Key of its source in the bibliography.
    pub(in crate::document) cite: Option<String>,
    /// Title, source, and the published device.
    pub(in crate::document) source: String,
    /// Further notes, each once.
    pub(in crate::document) notes: Vec<String>,
    /// The results.
    pub(in crate::document) results: Results,
}

impl Repeated {
    /// A figure under a name that no other experiment gives, without notes that its caption has.
    pub(in crate::document) fn named(&self, mut figure: Figure) -> Figure {
        let caption = figure.caption.clone();
        figure.drawing.notes().retain(|note| !caption.contains(note.as_str()));
        Figure { name: format!("{}-{}", self.name, figure.name), ..figure }
    }
}

/// Results of experiments, each experiment once, and the other results.
pub(in crate::document) fn separated(results: &Results) -> (Vec<Repeated>, Results) {
    let (mut groups, mut others) = (Vec::<(String, Vec<Kept>)>::new(), Vec::new());
    for kept in &results.kept {
        match name(&kept.report) {
            None => others.push(kept.clone()),
            Some(name) => match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, known)) => known.push(kept.clone()),
                None => groups.push((name, vec![kept.clone()])),
            },
        }
    }
    // In the order of the appendix that this program runs; others follow.
    let usual = Commands::shipped();
    let place = |name: &str| usual.experiments().position(|listed| listed == name).unwrap_or(usize::MAX);
    groups.sort_by_key(|(name, _)| place(name));
    (groups.into_iter().map(|(name, kept)| repeated(name, kept)).collect(), Results::new(others))
}

/// The name of the experiment that gave a report: `table-12`.
fn name(report: &Report) -> Option<String> {
    if report.command != "experiment" {
        return None;
    }
    let words = report.invocation.split(' ').map(|word| word.trim_matches('\''));
    let mut named =
        words.filter(|word| word.ends_with(".toml") || experiment::shipped().any(|shipped| shipped == *word));
    let path = Path::new(named.next()?);
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

fn repeated(name: String, kept: Vec<Kept>) -> Repeated {
    let experiment =
        experiment::shipped().find(|shipped| *shipped == name).and_then(|shipped| Experiment::find(shipped).ok());
    let mut notes: Vec<String> = Vec::new();
    for note in kept.iter().flat_map(|kept| &kept.report.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    // The first note of an experiment has its title and its source.
    let source = notes.iter().position(|note| note.contains(" Source: ")).map(|at| notes.remove(at));
    Repeated {
        label: experiment.as_ref().and_then(|experiment| experiment.label.clone()).unwrap_or_else(|| name.clone()),
        cite: experiment.and_then(|experiment| experiment.cite),
        source: source.unwrap_or_default(),
        notes,
        results: Results::new(kept),
        name,
    }
}
