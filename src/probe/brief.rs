//! Probes in brief: a row for each instruction and operation instead of one for each probe.

use super::{Outcome, Request};
use crate::{
    inputs::{Distribution, Init},
    report::{Cell, Column, Table},
};

/// Every distribution, with the key and the heading of its column.
const DISTRIBUTIONS: [(Distribution, &str, &str); 5] = [
    (Distribution::Normal, "normal", "normal"),
    (Distribution::Uniform, "uniform", "uniform"),
    (Distribution::LogUniform, "log_uniform", "log-uniform"),
    (Distribution::Special, "special", "special"),
    (Distribution::Corners, "corners", "corners"),
];

/// The table `brief` of `probes`, which are in the order of their instructions: under each distribution the samples
/// that are equal to the model in every bit, of `samples` each; the elements of D that were compared and those that differ;
/// and the largest error in ulp against the exact result with init low.
pub fn table(probes: &[(Request<'_>, Outcome)], samples: u64) -> Table {
    let used: Vec<_> =
        DISTRIBUTIONS.into_iter().filter(|(d, ..)| probes.iter().any(|(r, _)| r.distribution == *d)).collect();
    let mut columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("op", "op"),
        Column::new("execution", "ran"),
        Column::new("opcodes", "machine code"),
    ];
    columns.extend(used.iter().map(|(_, key, label)| Column::new(key, label)));
    columns.extend([
        Column::new("elements", "elements"),
        Column::new("element_mismatches", "differ"),
        Column::new("max_ulp_error", "max ulp"),
    ]);
    let title =
        format!("Samples equal to the model in every bit, by distribution, of {samples} for each initialisation");
    let same =
        |x: &(Request<'_>, Outcome), y: &(Request<'_>, Outcome)| x.0.instruction == y.0.instruction && x.0.op == y.0.op;
    let mut sorted: Vec<&(Request<'_>, Outcome)> = Vec::new();
    for probe in probes {
        // After the last probe of the same instruction and operation, else at the end.
        let at = sorted.iter().rposition(|other| same(other, probe)).map_or(sorted.len(), |at| at + 1);
        sorted.insert(at, probe);
    }
    let rows =
        sorted.chunk_by(|x, y| same(x, y)).map(|group| row(group, &used.iter().map(|u| u.0).collect::<Vec<_>>()));
    Table { rows: rows.collect(), ..Table::new("brief", title, columns) }
}

fn row(group: &[&(Request<'_>, Outcome)], used: &[Distribution]) -> Vec<Cell> {
    let (request, outcome) = group[0];
    let mut cells = vec![
        Cell::text(&request.instruction.name),
        request.op.name().into(),
        outcome.execution.kind.name().into(),
        Cell::List(outcome.execution.opcodes.iter().map(Cell::text).collect()),
    ];
    cells.extend(used.iter().map(|distribution| {
        let mine = group.iter().filter(|(r, _)| r.distribution == *distribution);
        Cell::from(mine.map(|(_, outcome)| outcome.profile.model).sum::<Option<u64>>())
    }));
    let ulps = group.iter().filter(|(r, _)| r.init == Init::Low).filter_map(|(_, o)| o.profile.ulps.maximum());
    cells.extend([
        group.iter().map(|(_, o)| o.profile.elements).sum::<u64>().into(),
        group.iter().map(|(_, o)| o.profile.element_mismatches).sum::<u64>().into(),
        ulps.reduce(f64::max).into(),
    ]);
    cells
}
