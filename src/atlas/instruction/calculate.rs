//! The calculator of an instruction: two generations side by side on the reader's own operands.

use maud::{Markup, html};

use super::super::{
    Site,
    calculator::{Generation, REGIMES, Scripts, markup, program_json, programs_script},
    entry::Entry,
};
use crate::{document::shown, isa::Case};

/// The generations as the calculator takes them: first the two whose difference the example shows.
fn generations(site: &Site, entry: &Entry) -> Vec<Generation> {
    let mut order: Vec<usize> = match &entry.differences[..] {
        [first, ..] => first.between.iter().map(|at| entry.arithmetics[*at].generations[0]).collect(),
        [] => Vec::new(),
    };
    order.extend(entry.generations().into_iter().filter(|number| !order.contains(number)).collect::<Vec<_>>());
    let each = |number: usize| {
        let generation = &site.generations[number];
        let arithmetic = entry.of(number)?;
        let weakest = |names: &[&str]| entry.weakest(&generation.model, arithmetic, |name| names.contains(&name));
        let evidence = |(regime, features): &(&'static str, &[&str])| Some((*regime, weakest(features)?));
        let evidence = REGIMES.iter().filter_map(evidence).collect();
        let program = generation.model.program(&entry.instruction).ok()?;
        Some(Generation { name: shown(generation.name()), evidence, program: program_json(&program) })
    };
    order.into_iter().filter_map(each).collect()
}

/// An input that shows the first difference, else a feature.
fn example(entry: &Entry) -> Case {
    let differences = entry.differences.iter().filter_map(|difference| difference.comparison.as_ref().ok());
    let reasons = differences
        .flat_map(|distinction| &distinction.reasons)
        .filter_map(|reason| Some(reason.witness.as_ref()?.case.clone()));
    let features = entry.arithmetics.iter().filter_map(|arithmetic| arithmetic.features.as_ref().ok());
    let cells = features.flat_map(|features| &features.cells).filter(|cell| cell.feature.name == "alignment");
    let shown = cells.filter_map(|cell| Some(cell.witness.as_ref()?.case.clone()));
    reasons.chain(shown).next().unwrap_or_else(|| Case::zeros(&entry.instruction))
}

/// Makes the section.
pub(super) fn section(entry: &Entry) -> Markup {
    let programs = format!("{}.js", entry.file);
    let scripts = Scripts { evaluator: "../evaluator.js", programs: &programs, interface: "../calculator.js" };
    html! {
        p { "The example shows a difference or a feature. Your operands stand in the address of the page, so that you can link to them." }
        (markup(&entry.instruction, &example(entry), &scripts))
    }
}

/// The script with the programs of the page.
pub(crate) fn script(site: &Site, entry: &Entry) -> String {
    programs_script(&generations(site, entry))
}
