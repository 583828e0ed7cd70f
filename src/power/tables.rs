//! The tables of what data decide.

use super::{Source, Tested, Verdict, summaries, summary::sentences};
use crate::report::{Cell, Column, Table};

/// A row for each one-step change (of ranges of numbers only those beside the values that agree), and what became of it.
pub fn changes(tested: &[Tested], sources: &[Source]) -> Table {
    let columns = vec![
        Column::new("rule", "rule"),
        Column::new("key", "key"),
        Column::new("from", "from"),
        Column::new("to", "to"),
        Column::new("verdict", "verdict"),
        Column::new("case", "at case"),
        Column::new("source", "in"),
        Column::new("tile", "tile"),
        Column::new("row", "row"),
        Column::new("column", "column"),
        Column::new("reason", "why"),
    ];
    let mut table = Table::new("changes", "One-step changes of the rules", columns);
    for rule in tested {
        for (change, verdict) in rule.changes.iter().filter(|(change, _)| !change.ranged) {
            let mut row = vec![
                Cell::integer(rule.rule.index + 1),
                Cell::text(&change.key),
                Cell::text(change.from()),
                Cell::text(change.to()),
            ];
            row.extend(match verdict {
                Verdict::Refuted(place) => vec![
                    Cell::text("refuted"),
                    Cell::integer(place.case),
                    Cell::text(&sources[place.source].name),
                    Cell::integer(place.tile),
                    Cell::integer(place.row),
                    Cell::integer(place.column),
                    Cell::Empty,
                ],
                Verdict::Survives => {
                    std::iter::once(Cell::text("survives")).chain(std::iter::repeat_n(Cell::Empty, 6)).collect()
                }
                Verdict::CannotBeObserved(reason) => std::iter::once(Cell::text("cannot be observed"))
                    .chain(std::iter::repeat_n(Cell::Empty, 5))
                    .chain([Cell::text(reason)])
                    .collect(),
            });
            table.rows.push(row);
        }
    }
    table
}

/// A row for each key: the values with which every output agrees, and whether that decides it.
pub fn keys(tested: &[Tested]) -> Table {
    let columns = vec![
        Column::new("rule", "rule"),
        Column::new("key", "key"),
        Column::new("value", "value"),
        Column::new("agreeing", "agree with every output"),
        Column::new("decision", "decision"),
    ];
    let mut table = Table::new("keys", "What the data decide", columns);
    for rule in tested {
        table.rows.extend(summaries(rule).into_iter().map(|summary| {
            vec![
                Cell::integer(rule.rule.index + 1),
                Cell::text(summary.key),
                Cell::text(summary.value),
                Cell::text(summary.agreeing),
                Cell::text(summary.decision.name()),
            ]
        }));
    }
    table
}

/// A row for each rule.
pub fn rules(tested: &[Tested], sources: &[Source]) -> Table {
    let columns = vec![
        Column::new("rule", "rule"),
        Column::new("patterns", "of"),
        Column::new("sources", "data"),
        Column::new("cases", "cases"),
        Column::new("agrees", "agrees"),
        Column::new("refuted", "changes refuted"),
        Column::new("surviving", "surviving"),
        Column::new("unobservable", "not observable"),
        Column::hidden("summary"),
    ];
    let mut table = Table::new("rules", "Rules and data", columns);
    table.rows.extend(tested.iter().map(|rule| {
        let count = |wanted: fn(&Verdict) -> bool| {
            Cell::integer(rule.changes.iter().filter(|(change, verdict)| !change.ranged && wanted(verdict)).count())
        };
        vec![
            Cell::integer(rule.rule.index + 1),
            Cell::text(rule.patterns.join(" ")),
            Cell::List(rule.sources.iter().map(|at| Cell::text(&sources[*at].name)).collect()),
            Cell::integer(rule.cases),
            rule.refuted.is_none().into(),
            count(|verdict| matches!(verdict, Verdict::Refuted(_))),
            count(|verdict| *verdict == Verdict::Survives),
            count(|verdict| matches!(verdict, Verdict::CannotBeObserved(_))),
            Cell::text(sentences(&summaries(rule))),
        ]
    }));
    table
}
