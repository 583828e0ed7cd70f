//! Published claims that this program repeats.
//!
//! A table has some; the tables and figures of experiments are the others.

use serde::Deserialize;

use super::Sheet;
use crate::{
    base::distinct::distinct,
    experiment::{self, Experiment},
};

/// The claims that no experiment has.
const CLAIMS: &str = include_str!("../../literature/claims.toml");

/// The agreements of claims with what their commands give.
pub(crate) const AGREEMENTS: [&str; 4] = ["agrees", "in part", "differs", "not tested"];

/// A published claim.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// Name of its page.
    pub(crate) id: String,
    /// Key of the source in the bibliography.
    pub(crate) cite: String,
    /// The source in short: authors and year, section, table or figure.
    pub(crate) source: String,
    /// The models that the claim is about.
    #[serde(default)]
    pub(crate) models: Vec<String>,
    /// The claim in a sentence.
    pub(crate) claim: String,
    /// The command that repeats it.
    pub(crate) command: String,
    /// The value that the command gives; a test finds it in the output.
    pub(crate) here: String,
    /// One of [`AGREEMENTS`].
    pub(crate) agreement: String,
    /// Why it differs, or on what the agreement rests.
    pub(crate) reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    claim: Vec<Claim>,
}

/// All claims: of the table, then the published tables and figures.
pub(crate) fn claims() -> Vec<Claim> {
    let Claims { claim: listed } = toml::from_str(CLAIMS).expect("a test reads the table");
    let repeated = experiment::shipped().filter_map(|name| of_experiment(&Experiment::find(name).ok()?));
    listed.into_iter().chain(repeated).collect()
}

/// The claim of a published table or figure; `None` for experiments of this program.
fn of_experiment(experiment: &Experiment) -> Option<Claim> {
    let numbers = experiment.published.iter().filter_map(|number| number.accepted.clone());
    let cells = experiment.emulate.iter().flat_map(|question| question.cells.iter().map(|cell| &cell.accepted));
    let precisions =
        experiment.emulate.iter().flat_map(|question| question.precisions.iter().map(|cell| &cell.accepted));
    let findings = experiment.findings.iter().filter_map(|finding| finding.accepted.clone());
    let reasons = distinct(numbers.chain(cells.chain(precisions).flatten().cloned()).chain(findings));
    let (agreement, here, reason) = match (experiment.cost.is_some(), reasons.is_empty()) {
        (true, _) => {
            (AGREEMENTS[3], "", format!("A cost has to be measured on hardware: {}.", experiment.published_on))
        }
        (false, true) => (AGREEMENTS[0], "every published value", String::new()),
        (false, false) => (AGREEMENTS[1], "the others", reasons.join(" ")),
    };
    Some(Claim {
        id: experiment.name.clone(),
        cite: experiment.cite.clone()?,
        source: experiment.label.clone()?,
        models: Vec::new(),
        claim: experiment.title.clone(),
        command: format!("tcnum experiment {}", experiment.name),
        here: here.into(),
        agreement: agreement.into(),
        reason,
    })
}

/// The table of claims.
pub(crate) fn sheet(claims: &[Claim]) -> Sheet {
    let row = |claim: &Claim| {
        [&claim.source, &claim.claim, &claim.agreement, &claim.here, &claim.reason, &claim.command]
            .map(String::clone)
            .to_vec()
    };
    let labels = ["source", "claim", "agreement", "here", "reason", "command"];
    Sheet::new("Published claims and our values", &labels, &[], claims.iter().map(row).collect())
}
