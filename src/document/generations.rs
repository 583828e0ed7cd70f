//! Features of several devices in a page.
//!
//! Each class of instructions has a table, and each device a column.

use super::{Block, Sheet, rows::Line};
use crate::{
    arithmetic::Model,
    features::{ABSENT, tables},
    isa::{Instruction, Support},
    report::{Cell, ShownTable, Table, marks::captioned, plain, turned},
};

/// Makes the tables of the classes; none for features of single devices.
pub(super) fn blocks(features: &Table) -> Vec<Block> {
    let mut several = features.clone();
    let Some(class) = several.columns.iter().position(|column| column.key == tables::PIVOT.section) else {
        return Vec::new();
    };
    several.rows.retain(|row| !row[class].is_empty());
    let sheet = |(class, shown): (String, ShownTable)| {
        let absent = |at: &usize| *at > 0 && shown.rows.iter().all(|row| row[*at] == ABSENT);
        let gone: Vec<usize> = (0..shown.labels.len()).filter(absent).collect();
        let kept: Vec<usize> = (0..shown.labels.len()).filter(|at| !gone.contains(at)).collect();
        let without: Vec<&str> = gone.iter().map(|&at| shown.labels[at].as_str()).collect();
        let caption = captioned(&format!("Features of {class}"), shown.legend.as_deref());
        let caption = match without.is_empty() {
            true => caption,
            false => format!("{caption}; {ABSENT} on {}", without.join(", ")),
        };
        Block::Table(Sheet { caption, shown: shown.only(&kept) })
    };
    turned(&several, tables::PIVOT, plain).into_iter().map(sheet).collect()
}

/// Removes the rows of classes that a device lacks.
pub(super) fn present(features: &mut Table) {
    let column = features.columns.iter().position(|column| column.key == "found");
    features.rows.retain(|row| column.is_none_or(|at| row[at] != Cell::Text(ABSENT.into())));
}

/// The instructions with the findings of a row.
pub(super) fn instructions<'a>(line: &Line<'a>) -> Vec<&'a str> {
    let several = line.list("instructions");
    if several.is_empty() { vec![line.text("instruction")] } else { several }
}

/// The emulations of an instruction on the targets of a model; `None` for native ones.
pub(crate) fn emulations(model: &Model, i: &Instruction) -> Vec<(&'static str, Option<&'static str>)> {
    let is_target = |support: &&Support| model.architectures.iter().any(|name| name == support.architecture);
    i.support.iter().filter(is_target).map(|support| (support.architecture, support.emulation)).collect()
}

/// True if a target of a model has the instruction in its matrix unit, or the targets are unknown.
pub(crate) fn is_native(model: &Model, i: &Instruction) -> bool {
    let emulations = emulations(model, i);
    emulations.is_empty() || emulations.iter().any(|(_, emulation)| emulation.is_none())
}
