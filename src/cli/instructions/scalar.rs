//! The scalar instructions in the list of `tcnum instructions`.

use super::{how, support_cells, support_columns};
use crate::{
    device::Device,
    isa::scalar::{self, Form},
    report::{Cell, Column, Table},
};

/// A scalar instruction, and how the device at hand executes it, if there is one.
pub type Listed = (&'static Form, Option<String>);

/// The scalar instructions whose spelling contains `wanted`, which is in lower case.
pub fn matching(wanted: &str) -> Vec<&'static Form> {
    scalar::all().iter().filter(|form| form.ptx.to_lowercase().contains(wanted)).collect()
}

/// Those that a target has.
pub fn on_target(target: &str, matching: &[&'static Form]) -> Vec<Listed> {
    matching.iter().filter_map(|form| Some((*form, Some(how(form.support_on(target)?))))).collect()
}

/// Those that a device other than a GPU executes: a model simulates those of its generation whose rule is known, others execute
/// none.
pub fn on_device(device: &dyn Device, matching: &[&'static Form]) -> Vec<Listed> {
    let simulated =
        |form: &&&Form| device.model().is_some_and(|model| model.has(form.support)) && form.missing().is_none();
    matching.iter().filter(simulated).map(|form| (*form, Some("simulated".to_string()))).collect()
}

/// What is to be said of the table.
pub fn note(rows: &[Listed]) -> String {
    let executed = rows.iter().filter(|(form, _)| form.missing().is_none()).count();
    format!(
        "{} scalar instructions, {executed} of them with a kernel; `tcnum probe --instr NAME` sweeps one",
        rows.len()
    )
}

/// The table.
pub fn table(rows: &[Listed]) -> Table {
    let on_device = rows.iter().any(|(_, here)| here.is_some());
    let mut columns = vec![
        Column::new("ptx", "instruction"),
        Column::new("op", "operation"),
        Column::new("source", "operands"),
        Column::new("result", "results"),
        Column::hidden("lanes"),
        Column::hidden("rounding"),
        Column::hidden("overflow"),
    ];
    columns.extend(support_columns(on_device));
    columns.extend([
        Column::new("evidence", "measured on"),
        Column::hidden("note"),
        Column::new("missing", "what is missing"),
    ]);
    Table {
        key: "scalar_instructions",
        title: "Scalar instructions".into(),
        columns,
        rows: rows.iter().map(|(form, here)| row(form, here.as_deref())).collect(),
    }
}

fn row(form: &Form, here: Option<&str>) -> Vec<Cell> {
    let text = |text: &str| Cell::from((!text.is_empty()).then_some(text));
    let mut cells: Vec<Cell> = vec![
        form.ptx.as_str().into(),
        form.operation.name().into(),
        form.source.name.into(),
        form.result.name.into(),
        form.lanes.into(),
        form.rounding.map_or("SR", |rounding| rounding.name()).into(),
        form.overflow.name().into(),
    ];
    cells.extend(support_cells(form.support, here));
    cells.extend([text(&form.evidence), text(&form.note), form.missing().into()]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_cell_for_each_column_with_and_without_a_device() {
        for form in matching("") {
            for here in [None, form.support.first().map(how)] {
                let table = table(&[(form, here)]);
                assert_eq!(table.rows[0].len(), table.columns.len(), "{form}");
            }
        }
    }

    #[test]
    fn a_model_simulates_what_has_a_rule_on_its_generation_and_no_other_device_does() {
        let all = matching("");
        let open = |name| crate::device::open(Some(name), std::time::Duration::from_secs(1)).unwrap();
        let simulated = on_device(open("model:hopper").as_ref(), &all);
        let has = |form: &&&Form| form.missing().is_none() && form.support_on("sm_90a").is_some();
        assert_eq!(simulated.len(), all.iter().filter(has).count());
        assert!(on_device(open("exec:a-program").as_ref(), &all).is_empty());
    }

    #[test]
    fn a_target_lists_what_the_table_says_it_assembles() {
        let all = matching("cvt.rn.satfinite.e2m1x2.f32");
        assert!(!all.is_empty() && on_target("sm_90a", &all).is_empty());
        assert_eq!(on_target("sm_100a", &all).len(), all.len());
    }
}
