//! The tables of what data decide.

use super::{ChangeVerdict, RefutingData, Tested, answer, summaries, summary::sentences};
use crate::{
    arithmetic::Model,
    report::{Report, Table, Verdict},
};

crate::rows! {
    /// A one-step change of a rule, and whether it was refuted.
    pub struct ChangeRow in "changes" {
        /// The number of the rule in the model.
        rule: usize => shown("rule").essential(),
        /// The key that is changed.
        key: String => shown("key").essential(),
        /// Its value in the model.
        from: String => shown("from").essential(),
        /// The other value.
        to: String => shown("to").essential(),
        /// Whether the data refute the change, it survives them, or it cannot be observed.
        verdict: &'static str => shown("verdict").essential(),
        /// The number of the first case that refutes it.
        case: Option<u64> => shown("at case"),
        /// The recording or instruction of that case.
        source: Option<String> => shown("in"),
        /// Its tile.
        tile: Option<u64> => shown("tile"),
        /// Its row.
        row: Option<u64> => shown("row"),
        /// Its column.
        column: Option<u64> => shown("column"),
        /// Why the change cannot be observed.
        reason: Option<String> => shown("why").if_filled(),
    }

    /// A key of a rule, and the values with which every output agrees.
    pub struct DecisionRow in "decisions" {
        /// The number of the rule in the model.
        rule: usize => shown("rule").essential(),
        /// The key.
        key: String => shown("key").essential(),
        /// Its value in the model.
        value: String => shown("value").essential(),
        /// The values with which every output agrees.
        agreeing: String => shown("agree with every output").essential(),
        /// Whether that decides the key.
        decision: &'static str => shown("decision").essential(),
    }

    /// A rule, and how many one-step changes of it the data refute.
    pub struct TestedRow in "tested" {
        /// The number of the rule in the model.
        rule: usize => shown("rule").essential(),
        /// The patterns of instructions that it is for.
        patterns: String => shown("of").essential(),
        /// The recordings or instructions that decide.
        sources: Vec<String> => shown("data"),
        /// Their outputs.
        cases: u64 => shown("cases").essential(),
        /// Whether all of them agree with the rule as it is.
        agrees: bool => shown("agrees").essential(),
        /// Changes that are refuted.
        refuted: usize => shown("changes refuted").essential(),
        /// Changes that survive.
        surviving: usize => shown("surviving").essential(),
        /// Changes that cannot be observed.
        unobservable: usize => shown("not observable").essential(),
        /// What the data decide, in a sentence.
        summary: String => hidden(),
    }
}

/// Fills the report of what `sources` decide of the rules of `model`.
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

/// A row for each one-step change (of ranges of numbers only those beside the values that agree), and whether it was refuted.
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

/// A row for each key: the values with which every output agrees, and whether that decides it.
fn decisions(tested: &[&Tested]) -> Table {
    let rows = tested.iter().flat_map(|rule| {
        summaries(rule).into_iter().map(|summary| DecisionRow {
            rule: rule.rule.index + 1,
            key: summary.key,
            value: summary.value,
            agreeing: summary.agreeing.join(", "),
            decision: summary.decision.name(),
        })
    });
    Table::of("What the data decide", rows)
}

/// A row for each rule.
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
