//! Tables of an appendix: their columns, the device first; some tables are turned.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use crate::{
    document::{Sheet, results::CHIP},
    report::{Cell, ShownTable, Table, ViewLayout, marks::captioned, plain},
};

/// Heading of the column that names the device, chip or generation of a row.
pub(in crate::document) const DEVICE: &str = "device";
/// A cell without content.
const NONE: &str = "-";

/// The tables, as a TOML file.
static LAYOUT: LazyLock<TableLayout> =
    LazyLock::new(|| toml::from_str(include_str!("layout.toml")).expect("the file is TOML"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableLayout {
    /// Keys of tables in their order.
    order: Vec<String>,
    /// Captions of tables; others have their meaning.
    captions: BTreeMap<String, String>,
    /// Headings of columns.
    headings: BTreeMap<String, String>,
    /// Columns of tables.
    columns: BTreeMap<String, Vec<String>>,
    turned: Vec<Turned>,
}

/// A table whose cells are one number for each row and each value of other columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turned {
    table: String,
    rows: Vec<String>,
    across: Vec<String>,
    cells: Vec<String>,
}

/// The place of a table among the tables of an experiment.
pub(super) fn place(key: &str) -> usize {
    LAYOUT.order.iter().position(|listed| listed == key).unwrap_or(LAYOUT.order.len())
}

/// The sheets of a table, with the names of devices in short.
pub(in crate::document) fn sheets(table: &Table) -> Vec<Sheet> {
    let table = with_device(table);
    match LAYOUT.turned.iter().find(|turned| turned.table == table.key) {
        Some(turned) => turned.cells.iter().map(|cell| turn(&table, turned, cell)).collect(),
        None => vec![plain_sheet(&table)],
    }
}

/// The table with its device as the first column.
/// Rows of a table without a column for the device hold for every device.
fn with_device(table: &Table) -> Table {
    let mut table = table.clone();
    let position = |table: &Table, key: &str| table.columns.iter().position(|column| column.key == key);
    let named = position(&table, DEVICE).map(|at| match table.rows.iter().all(|row| row[at] != Cell::Empty) {
        true => at,
        false => position(&table, CHIP).unwrap_or(at),
    });
    if named.is_none()
        && let Some(at) = position(&table, CHIP)
    {
        table.columns.remove(at);
        table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        table.rows.dedup();
    }
    if let Some(at) = named {
        let mut column = table.columns.remove(at);
        column.key = DEVICE.into();
        column.look = crate::report::shown(DEVICE);
        table.columns.insert(0, column);
        for row in &mut table.rows {
            let cell = row.remove(at);
            row.insert(0, if let Cell::Text(name) = cell { Cell::Text(short(&name)) } else { cell });
        }
        // The other of both is redundant.
        for key in [DEVICE, CHIP] {
            if let Some(at) = table.columns.iter().skip(1).position(|column| column.key == key) {
                table.columns.remove(at + 1);
                table.rows.iter_mut().for_each(|row| drop(row.remove(at + 1)));
            }
        }
    }
    table
}

/// The name of a chip in a column: a model without its vendor.
pub(in crate::document) fn short(chip: &str) -> String {
    match chip.strip_suffix("(model)").and(chip.split_once(' ')) {
        Some((_, model)) if model != "(model)" => model.to_string(),
        _ => chip.to_string(),
    }
}

/// The title of a table, without its point.
fn title(table: &Table) -> &str {
    LAYOUT.captions.get(table.key).map_or(table.title.as_str(), String::as_str).trim_end_matches('.')
}

fn plain_sheet(table: &Table) -> Sheet {
    let columns = LAYOUT.columns.get(table.key).cloned().unwrap_or_default();
    let mut shown = ShownTable::new(table, &ViewLayout { columns: columns.clone(), ..ViewLayout::default() }, plain);
    let known = columns.iter().filter(|key| table.columns.iter().any(|column| column.key == **key));
    for (label, key) in shown.labels.iter_mut().zip(known) {
        if let Some(heading) = LAYOUT.headings.get(key) {
            *label = heading.clone();
        }
    }
    Sheet { caption: captioned(title(table), shown.legend.as_deref()), shown }.hoisted()
}

/// The table of one number: a row for each group of `rows`, a column for each group of `across`.
fn turn(table: &Table, turned: &Turned, cell: &str) -> Sheet {
    let position = |key: &String| table.columns.iter().position(|column| column.key == *key);
    let filled = |at: &usize| table.rows.iter().any(|row| !row[*at].is_empty());
    let naming: Vec<usize> = turned.rows.iter().filter_map(position).filter(filled).collect();
    let across: Vec<usize> = turned.across.iter().filter_map(position).filter(filled).collect();
    let value = table.columns.iter().position(|column| column.key == cell);
    let texts = |row: &[Cell], of: &[usize]| of.iter().map(|&at| plain(&row[at])).collect::<Vec<String>>();
    let (mut heads, mut rows) = (Vec::<String>::new(), Vec::<(Vec<String>, BTreeMap<usize, String>)>::new());
    for row in &table.rows {
        let (name, head) = (texts(row, &naming), texts(row, &across).join(", "));
        let column = number(&mut heads, head);
        let at = rows.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            rows.push((name, BTreeMap::new()));
            rows.len() - 1
        });
        if let Some(value) = value {
            rows[at].1.insert(column, plain(&row[value]));
        }
    }
    let label = |at: &usize| table.columns[*at].look.heading.unwrap_or(&table.columns[*at].key).to_string();
    let heading = value.map_or_else(String::new, |at| LAYOUT.headings.get(cell).cloned().unwrap_or_else(|| label(&at)));
    let across: Vec<String> = across.iter().map(label).collect();
    let labels: Vec<String> = naming.iter().map(label).chain(heads.iter().cloned()).collect();
    let lines = rows.into_iter().map(|(name, cells)| {
        let numbers = (0..heads.len()).map(|at| cells.get(&at).cloned().unwrap_or_else(|| NONE.into()));
        name.into_iter().chain(numbers).collect()
    });
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let numeric: Vec<usize> = (naming.len()..labels.len()).collect();
    let caption = format!("{}: {heading}, by {}", title(table), across.join(", "));
    Sheet::new(caption, &labels, &numeric, lines.collect())
}

/// The place of a text, which is added if it is new.
fn number(texts: &mut Vec<String>, text: String) -> usize {
    texts.iter().position(|other| *other == text).unwrap_or_else(|| {
        texts.push(text);
        texts.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    #[test]
    fn the_layout_names_tables_and_columns_that_are_declared() {
        let declared = tables::declared();
        let columns = |table: &str| {
            let declaration =
                declared.iter().find(|declaration| declaration.key == table).unwrap_or_else(|| panic!("{table}"));
            declaration.columns.iter().map(|column| column.key.to_string()).collect::<Vec<_>>()
        };
        for (table, named) in &LAYOUT.columns {
            let has = columns(table);
            assert!(named.iter().all(|key| has.contains(key)), "{table}: {named:?} {has:?}");
        }
        for turned in &LAYOUT.turned {
            let has = columns(&turned.table);
            let mut named = turned.rows.iter().chain(&turned.across).chain(&turned.cells);
            assert!(named.all(|key| has.contains(key)), "{}: {has:?}", turned.table);
        }
        LAYOUT.order.iter().chain(LAYOUT.captions.keys()).for_each(|table| drop(columns(table)));
    }

    crate::rows! {
        /// A number.
        struct Point in "product_errors" {
            /// Device.
            device: &'static str => shown("device"),
            /// Instruction.
            instruction: &'static str => shown("instruction"),
            /// Terms.
            k: usize => shown("k"),
            /// Error.
            error: Option<f64> => shown("error"),
        }
    }

    #[test]
    fn a_turned_table_has_a_row_for_each_group_and_a_dash_where_a_number_lacks() {
        let point = |device, instruction, k, error| Point { device, instruction, k, error: Some(error) };
        let rows = [
            point("NVIDIA Hopper (model)", "x", 8, 0.5),
            point("NVIDIA Hopper (model)", "x", 16, 0.25),
            point("NVIDIA H200", "x", 16, 1.0),
        ];
        let [sheet] = &sheets(&Table::of("Errors.", rows))[..] else { panic!("one sheet") };
        assert_eq!(sheet.shown.labels, ["device", "instruction", "8", "16"]);
        assert_eq!(sheet.shown.rows, [["Hopper (model)", "x", "0.500", "0.250"], ["NVIDIA H200", "x", "-", "1.00"]]);
        assert_eq!(
            (sheet.caption.as_str(), &sheet.shown.numeric[..]),
            ("Errors of matrix products: error, by k", &[false, false, true, true][..])
        );
    }
}
