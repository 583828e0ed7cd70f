//! The matrix instructions in the list of `tcnum instructions`.

use super::{how, support_cells, support_columns};
use crate::{
    Error, Result,
    device::Device,
    isa::{self, Instruction},
    report::{Cell, Column, Table},
};

/// An instruction, and how the device at hand executes it, if there is one.
pub type Listed = (&'static Instruction, Option<String>);

/// The instructions whose name or vendor's spelling contains `wanted`, which is in lower case.
pub fn matching(wanted: &str) -> Vec<&'static Instruction> {
    let matches = |i: &&Instruction| [&i.name, &i.ptx].iter().any(|name| name.to_lowercase().contains(wanted));
    isa::all().iter().filter(matches).collect()
}

/// Those that a target has.
pub fn on_target(target: &str, matching: &[&'static Instruction]) -> Vec<Listed> {
    matching.iter().filter_map(|i| Some((*i, Some(how(i.support_on(target)?))))).collect()
}

/// Those that the device does not refuse; and what it said of the first one that it did.
///
/// # Errors
/// The device fails.
pub fn on_device(device: &mut dyn Device, matching: &[&'static Instruction]) -> Result<(Vec<Listed>, Option<Error>)> {
    let (mut present, mut refusal) = (Vec::new(), None);
    for instruction in matching {
        match device.prepare(instruction) {
            Ok(execution) => present.push((*instruction, Some(execution.kind.name().to_string()))),
            Err(error @ Error::Request { .. }) => refusal = refusal.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    Ok((present, refusal))
}

/// What is to be said of the table.
pub fn notes(rows: &[Listed]) -> Vec<String> {
    let executed = rows.iter().filter(|(i, _)| i.missing().is_none()).count();
    let mut notes = vec![format!("{} matrix instructions, {executed} of them with a kernel", rows.len())];
    if rows.iter().any(|(i, _)| i.family().starts_with("wgmma") || i.family() == "tcgen05") {
        notes.push(
            "wgmma and tcgen05 are listed with their smallest n; any other allowed n can be written in its place"
                .into(),
        );
    }
    notes
}

/// The table.
pub fn table(rows: &[Listed]) -> Table {
    let on_device = rows.iter().any(|(_, here)| here.is_some());
    let mut columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("ptx", "vendor's spelling"),
        Column::hidden("m"),
        Column::hidden("n"),
        Column::hidden("k"),
        Column::hidden("a"),
        Column::hidden("b"),
        Column::hidden("c"),
        Column::hidden("d"),
        Column::hidden("scale"),
    ];
    columns.extend(support_columns(on_device));
    columns.extend([Column::new("executed", "executed"), Column::new("missing", "what is missing")]);
    Table {
        key: "instructions",
        title: "Matrix instructions".into(),
        columns,
        rows: rows.iter().map(|(i, here)| row(i, here.as_deref())).collect(),
    }
}

fn row(i: &Instruction, here: Option<&str>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![i.name.as_str().into(), i.ptx.as_str().into()];
    cells.extend([i.m, i.n, i.k].map(Cell::from));
    cells.extend([i.a, i.b, i.c, i.d].map(|format| Cell::from(format.name)));
    cells.push(i.scale.map(|s| format!("{} for each {} along k", s.format, s.block)).into());
    cells.extend(support_cells(i.support, here));
    cells.extend([i.missing().is_none().into(), i.missing().into()]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_selects_by_name_or_spelling() {
        assert_eq!(matching("").len(), isa::all().len());
        let found = matching("m16n8k16.f32.bf16");
        assert!(!found.is_empty() && found.iter().all(|i| i.name.contains("m16n8k16.f32.bf16")));
        assert!(matching("mma.sync.aligned.m16n8k8.row.col").len() > 1);
        assert!(matching("mma.m16n8k17").is_empty());
    }

    #[test]
    fn every_row_has_a_cell_for_each_column_with_and_without_a_device() {
        for i in isa::all() {
            for here in [None, i.support.first().map(how)] {
                let table = table(&[(i, here)]);
                assert_eq!(table.rows[0].len(), table.columns.len(), "{i}");
            }
        }
    }

    #[test]
    fn a_model_lists_exactly_what_it_covers() {
        let all = matching("");
        let mut device = crate::device::open(Some("model:hopper"), std::time::Duration::from_secs(1)).unwrap();
        let (present, _) = on_device(device.as_mut(), &all).unwrap();
        let model = crate::arithmetic::Model::load("hopper").unwrap();
        for i in all {
            let listed = present.iter().find(|(other, _)| other.name == i.name);
            assert_eq!(listed.is_some(), model.rule(i).is_some(), "{i}");
            assert!(listed.is_none_or(|(_, how)| how.as_deref() == Some("simulated")), "{i}");
        }
    }
}
