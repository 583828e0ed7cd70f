//! Tables and report of the power of data.

use super::answer;
use crate::{
    arithmetic::Model,
    report::{Report, Table, Verdict},
    rule::{ChangeVerdict, RefutingData, Tested, sentences, summaries},
};

crate::rows! {
    /// A one-step change of a rule, with its verdict.
    pub struct ChangeRow in "changes" {
        /// The number of the rule in the model.
        rule: usize => shown("rule").essential(),
        /// Changed key.
        key: String => shown("key").essential(),
        /// Its value in the model.
        from: String => shown("from").essential(),
        /// Other value.
        to: String => shown("to").essential(),
        /// Verdict: refuted, survives, or cannot be observed.
        verdict: &'static str => shown("verdict").essential(),
        /// Number of the first case that refutes it.
        case: Option<u64> => shown("at case"),
        /// Recording or instruction of that case.
        source: Option<String> => shown("in"),
        /// Tile of that case.
        tile: Option<u64> => shown("tile"),
        /// Row of that case.
        row: Option<u64> => shown("row"),
        /// Column of that case.
        column: Option<u64> => shown("column"),
        /// Reason why the change cannot be observed.
        reason: Option<String> => shown("reason").if_filled(),
    }

    /// A key of a rule, with the values that agree with every output.
    pub struct DecisionRow in "decisions" {
        /// The number of the rule in the model.
        rule: usize => shown("rule").essential(),
        /// Key.
        key: String => shown("key").essential(),
        /// Its value in the model.
        value: String => shown("value").essential(),
        /// Values that agree with every output.
        agreeing: String => shown("agree with every output").essential(),
        /// Decision on the key.
        decision: &'static str => shown("decision").essential(),
        /// Values that agree with every output together with another value of another key.
        pairs: Vec<String> => shown("agree in a pair").if_filled(),
    }

    /// A rule, with counts of its refuted one-step changes.
    pub struct TestedRow in "tested" {
        /// The number of the rule in the model.
        rule: usize => shown("rule").essential(),
        /// Patterns of its instructions.
        patterns: String => shown("instructions").essential(),
        /// Recordings or instructions that decide.
        sources: Vec<String> => shown("data"),
        /// Outputs of the data.
        cases: u64 => shown("cases").essential(),
        /// True if all outputs agree with the unchanged rule.
        agrees: bool => shown("agrees").essential(),
        /// Refuted changes.
        refuted: usize => shown("changes refuted").essential(),
        /// Surviving changes.
        surviving: usize => shown("surviving").essential(),
        /// Changes that cannot be observed.
        unobservable: usize => shown("not observable").essential(),
        /// Decisions in sentences.
        summary: String => hidden(),
    }
}

/// Fills the report of the power of `sources` over the rules of `model`.
pub fn report(model: &Model, tested: &[Tested], sources: &[RefutingData], report: &mut Report) {
    report.answer = answer(model, tested);
    for rule in tested {
        report.notes.extend(rule.refuted.map(|place| {
            format!(
                "Rule {} is refuted as it stands, by {} at tile {}, row {}, column {}; its changes are not tested.",
                rule.rule.index + 1,
                sources[place.source].name,
                place.tile,
                place.row,
                place.column
            )
        }));
    }
    report.holds = tested.iter().all(|rule| rule.refuted.is_none());
    report.verdict = Verdict::Refuted;
    let standing: Vec<&Tested> = tested.iter().filter(|rule| rule.refuted.is_none()).collect();
    report.tables = vec![rules(tested, sources), decisions(&standing), changes(&standing, sources)];
}

/// Makes the table of one-step changes; of a range of numbers only neighbours of agreeing values.
fn changes(tested: &[&Tested], sources: &[RefutingData]) -> Table {
    let rows = tested.iter().flat_map(|rule| {
        let single = rule.changes.iter().filter(|(change, _)| !change.ranged);
        single.map(|(change, verdict)| {
            let place = match verdict {
                ChangeVerdict::Refuted(place) => Some(place),
                _ => None,
            };
            ChangeRow {
                rule: rule.rule.index + 1,
                key: change.key.clone(),
                from: change.from(),
                to: change.to(),
                verdict: match verdict {
                    ChangeVerdict::Refuted(_) => "refuted",
                    ChangeVerdict::Survives => "survives",
                    ChangeVerdict::CannotBeObserved(_) => "cannot be observed",
                },
                case: place.map(|place| place.case),
                source: place.map(|place| sources[place.source].name.clone()),
                tile: place.map(|place| place.tile),
                row: place.map(|place| place.row),
                column: place.map(|place| place.column),
                reason: match verdict {
                    ChangeVerdict::CannotBeObserved(reason) => Some(reason.clone()),
                    _ => None,
                },
            }
        })
    });
    Table::of("One-step changes of the rules", rows)
}

/// Makes the table of keys with the values that agree.
fn decisions(tested: &[&Tested]) -> Table {
    let rows = tested.iter().flat_map(|rule| {
        summaries(rule).into_iter().map(|summary| DecisionRow {
            rule: rule.rule.index + 1,
            key: summary.key,
            value: summary.value,
            agreeing: summary.agreeing.join(", "),
            decision: summary.decision.name(),
            pairs: summary.pairs.iter().map(ToString::to_string).collect(),
        })
    });
    Table::of("Decisions on the keys", rows)
}

/// Makes the table of rules.
fn rules(tested: &[Tested], sources: &[RefutingData]) -> Table {
    let rows = tested.iter().map(|rule| {
        let count = |wanted: fn(&ChangeVerdict) -> bool| {
            rule.changes.iter().filter(|(change, verdict)| !change.ranged && wanted(verdict)).count()
        };
        TestedRow {
            rule: rule.rule.index + 1,
            patterns: rule.patterns.join(" "),
            sources: rule.sources.iter().map(|at| sources[*at].name.clone()).collect(),
            cases: rule.cases,
            agrees: rule.refuted.is_none(),
            refuted: count(|verdict| matches!(verdict, ChangeVerdict::Refuted(_))),
            surviving: count(|verdict| *verdict == ChangeVerdict::Survives),
            unobservable: count(|verdict| matches!(verdict, ChangeVerdict::CannotBeObserved(_))),
            summary: sentences(&summaries(rule)),
        }
    });
    Table::of("Rules and data", rows)
}
