//! The tables of a campaign.

use super::Part;
use crate::report::{Cell, Column, Table};

/// The table `verification`: a row for each part of a run.
pub fn verification<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Table {
    let columns = [
        ("instruction", Some("instruction")),
        ("device", Some("device")),
        ("device_description", None),
        ("execution", Some("ran")),
        ("opcodes", Some("machine code")),
        ("model", Some("model")),
        ("model_digest", None),
        ("seed", None),
        ("position", None),
        ("cases", Some("cases asked")),
        ("max_mismatches", None),
        ("shard", None),
        ("shards", None),
        ("tcnum", None),
        ("finished", None),
        ("next_tile", None),
        ("compared", Some("compared")),
        ("agreeing", Some("agree")),
        ("differing", Some("differ")),
        ("seconds", Some("seconds")),
        ("rate", Some("per second")),
    ];
    let columns = columns.into_iter().map(|(key, label)| Column { key, label }).collect();
    let mut table = Table::new("verification", "Dot-product-adds compared with the model in every bit", columns);
    table.rows = parts.into_iter().map(verification_row).collect();
    for key in ["opcodes", "seed", "position"] {
        let at = table.columns.iter().position(|column| column.key == key).expect("it is a column");
        if table.rows.iter().all(|row| row[at] == Cell::List(Vec::new())) {
            table.columns[at].label = None;
        }
    }
    table
}

fn verification_row(part: &Part) -> Vec<Cell> {
    let Part { run, ran, state } = part;
    let (compared, differing) = (state.compared(), state.differing());
    vec![
        run.instruction.as_str().into(),
        ran.device.as_str().into(),
        run.device.as_str().into(),
        ran.execution.as_str().into(),
        ran.opcodes.clone().into(),
        run.model.as_str().into(),
        run.model_digest.as_str().into(),
        run.seed.map(|seed| Cell::text(seed.to_string())).into(),
        run.position.into(),
        run.cases.into(),
        run.max_mismatches.into(),
        run.shard.into(),
        run.shards.into(),
        run.tcnum.as_str().into(),
        state.finished.into(),
        state.next.into(),
        compared.into(),
        (compared - differing).into(),
        differing.into(),
        state.seconds.into(),
        (compared as f64 / state.seconds.max(1e-9)).into(),
    ]
}

/// The table `regimes`: a row for each regime of each part.
pub fn regimes<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Table {
    let columns =
        [("instruction", "instruction"), ("regime", "regime"), ("compared", "compared"), ("differing", "differ")];
    let columns = columns.map(|(key, label)| Column::new(key, label)).to_vec();
    let mut table = Table::new("regimes", "By regime of operands", columns);
    for Part { run, state, .. } in parts {
        for (name, count) in run.regimes.iter().zip(&state.regimes) {
            table.rows.push(vec![
                run.instruction.as_str().into(),
                name.as_str().into(),
                count.compared.into(),
                count.differing.into(),
            ]);
        }
    }
    table
}
