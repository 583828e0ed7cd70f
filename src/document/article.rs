//! A paper of given length: a draft of what its results say.
//!
//! The document of all results is its supplement.

use super::{
    Block, Chapter, Document, Fitted, Results, Sheet, Source,
    arithmetic::{self, Arithmetic},
    bounds::Bounds,
    claims,
    compose::named,
    evidence::{self, Evidence},
    fit, generations,
    literature::{self, Compared},
    proof,
    repeated::{self, Repeated},
    setup,
    sheets::short,
};
use crate::{
    base::sentence::listed,
    features::FEATURES,
    format::Format,
    isa::{self, Instruction},
    report::{Cell, counted},
};

/// The choice of what a paper is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// Operand formats; empty for all.
    pub(crate) formats: Vec<&'static Format>,
    /// Experiments by name; empty for all.
    pub(crate) experiments: Vec<String>,
}

/// Mark of the names of models.
const MODEL: &str = " (model)";

/// Results, and what the chapters of their documents share.
pub(super) struct Study<'a> {
    pub(super) results: &'a Results,
    pub(super) experiments: Vec<Repeated>,
    /// The results that are of no experiment.
    pub(super) others: Results,
    /// The arithmetics of instructions, native ones first.
    pub(super) all: Vec<Arithmetic>,
    pub(super) evidence: Evidence,
    /// Published figures and claims.
    pub(super) compared: Vec<Compared>,
    /// The devices, each with its model.
    pub(super) models: Vec<(String, String)>,
}

impl Study<'_> {
    /// Gathers what chapters share; of the experiments those that are named, or all.
    pub(super) fn of<'a>(results: &'a Results, named: &[String]) -> Study<'a> {
        let (mut experiments, others) = repeated::separated(results);
        experiments.retain(|repeated| named.is_empty() || named.contains(&repeated.name));
        let features = others.table("features").map(|mut table| {
            generations::present(&mut table);
            table
        });
        let mut all = features.as_ref().map(arithmetic::arithmetics).unwrap_or_default();
        let ran = proof::ran(&others);
        all.sort_by_cached_key(|one| !one.instructions.iter().any(|name| proof::native(&ran, name)));
        let model = |chip: String| Some((chip.clone(), results.model_of(&chip)?));
        Study {
            results,
            models: results.chips().into_iter().filter_map(model).collect(),
            all,
            evidence: Evidence::of(features.as_ref()),
            compared: literature::compared(&experiments, &others),
            experiments,
            others,
        }
    }
}

/// Makes a paper of at most `pages` pages.
pub(crate) fn article(results: &Results, subject: &Subject, pages: usize) -> Fitted {
    let results = results.of_formats(&subject.formats);
    let study = Study::of(&results, &subject.experiments);
    let bounds = Bounds::of(&study.all, &results);
    let own = study.compared.iter().filter(|row| !row.is_of_another_generation());
    let mut claims = claims::claims();
    claims.retain(|claim| {
        claim.agreement != claims::AGREEMENTS[0] && study.models.iter().any(|(_, model)| claim.models.contains(model))
    });
    let [_, growth] = repeated::chapters(&study.experiments, true);
    let mut parts = vec![
        setup::chapter(&study),
        Chapter { id: "features", heading: "Features by generation", blocks: arithmetic::compared(&study, true) },
        literature::chapter(&study, own.collect(), claims),
        growth,
        bounds.chapter(),
        evidence::limits(&study),
    ];
    let more = "The supplement has an input for each finding, all tables, and the commands that repeat them.";
    parts[0].blocks.retain(|block| !matches!(block, Block::Numbers(_)));
    parts[0].blocks.insert(0, Block::Text(more.into()));
    parts.retain(|part| !part.blocks.is_empty());
    for part in &mut parts {
        let unfolded = part.blocks.drain(..).flat_map(|block| match block {
            Block::Folded(_, blocks) => blocks,
            block => vec![block],
        });
        part.blocks = unfolded.collect();
    }
    let subjects = results.subjects();
    let title = named(&subjects);
    let mut document = Document { lead: summary(&study, &title, subject, &bounds), title, parts };
    if subjects.iter().all(|chip| chip.ends_with(MODEL)) {
        unmark(&mut document, &subjects.iter().map(|chip| short(chip)).collect::<Vec<_>>());
    }
    fit::fitted(document, pages)
}

/// The abstract, each sentence from the results.
fn summary(study: &Study, chips: &str, subject: &Subject, bounds: &Bounds) -> String {
    let formats: Vec<String> = subject.formats.iter().map(|format| format.name.to_string()).collect();
    let operands = if formats.is_empty() { String::new() } else { format!(" with operands in {}", listed(&formats)) };
    let what = match study.all.iter().map(|arithmetic| arithmetic.instructions.len()).sum::<usize>() {
        0 => "matrix instructions".into(),
        count => counted(count as u64, "matrix instruction"),
    };
    let mut said = vec![format!("We describe the arithmetic of {what}{operands} on {chips}.")];
    said.extend(proof::comparisons(&study.others));
    said.extend(study.evidence.sentence());
    let varied: Vec<String> = arithmetic::varied(&study.all).into_iter().map(|at| FEATURES[at].name.into()).collect();
    if !varied.is_empty() {
        said.push(format!("The instructions differ in these features: {}.", listed(&varied)));
    }
    said.extend(literature::agreement(&study.compared));
    said.extend(study.others.table("published_features").and_then(|table| study.evidence.independence(&table)));
    said.extend(bounds.sentence());
    said.join(" ")
}

/// Leaves out the mark of models where all devices are models, which the abstract says.
fn unmark(document: &mut Document, chips: &[String]) {
    let names = chips.iter().map(|chip| {
        let name = chip.trim_end_matches(MODEL);
        (chip, name.split_once(", ").map_or(name.into(), |(name, kind)| format!("{name} ({kind})")))
    });
    let names: Vec<(&String, String)> = names.collect();
    let plain = |text: &mut String| names.iter().for_each(|(marked, name)| *text = text.replace(*marked, name));
    plain(&mut document.title);
    plain(&mut document.lead);
    document.lead += " All devices here are models: no chip was run for this paper, and measured values are those that a model rests on.";
    for block in document.parts.iter_mut().flat_map(|part| &mut part.blocks) {
        match block {
            Block::Text(text) | Block::Source(Source { text, .. }) => plain(text),
            Block::List(items) => items.iter_mut().for_each(plain),
            Block::Table(Sheet { caption, shown }) => {
                plain(caption);
                shown.rows.iter_mut().flatten().for_each(plain);
            }
            _ => (),
        }
    }
}

impl Results {
    /// The results with only the rows of matrix instructions on these formats; without formats, on all.
    fn of_formats(&self, formats: &[&'static Format]) -> Results {
        let mut kept = self.kept.clone();
        let is_other = |name: &str| {
            let multiplies = |i: &Instruction| formats.is_empty() || formats.contains(&i.a) || formats.contains(&i.b);
            isa::known(name).is_some_and(|i| i.m * i.n * i.k == 1 || !multiplies(&i))
        };
        for table in kept.iter_mut().flat_map(|kept| &mut kept.report.tables) {
            if let Some(at) = table.columns.iter().position(|column| column.key == "instruction") {
                table.rows.retain(|row| !matches!(&row[at], Cell::Text(name) if is_other(name)));
            }
        }
        Results::new(kept)
    }
}
