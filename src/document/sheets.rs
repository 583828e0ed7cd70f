//! Tables of documents: their columns, the device first; some tables are turned.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::{
    Block, figures,
    results::{CHIP, Results},
    rows::together,
};
use crate::{
    base::distinct::distinct,
    report::{Cell, ShownTable, Table, ViewLayout, marks::captioned, plain, shown},
};

/// Heading of the column that names the device, chip or generation of a row.
pub(super) const DEVICE: &str = "device";
/// Headings of columns that name the origin of rows.
const FROM: [&str; 6] = ["on", DEVICE, "measured on", "according to", "model", "between"];
/// A cell without content.
const NONE: &str = "-";
/// Rows from which a table is folded.
const LONG: usize = 40;
/// Most rows of a table.
const MOST_ROWS: usize = 10_000;
/// Rows from which rows that differ only in the instruction are joined.
const MANY: usize = 24;

/// The tables and the chapters that they make up, as a TOML file.
pub(super) static LAYOUT: LazyLock<TableLayout> =
    LazyLock::new(|| toml::from_str(include_str!("layout.toml")).expect("the file is TOML"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableLayout {
    /// Keys of the tables of experiments in their order.
    order: Vec<String>,
    /// Captions of tables; others have their meaning.
    captions: BTreeMap<String, String>,
    /// Headings of columns.
    headings: BTreeMap<String, String>,
    /// Columns of tables.
    columns: BTreeMap<String, Vec<String>>,
    turned: Vec<Turned>,
    /// Chapters of tables.
    #[serde(rename = "section")]
    pub(super) sections: Vec<Section>,
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

/// A chapter of tables and their figures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    /// Its name in links and files.
    pub(super) id: String,
    /// The heading.
    pub(super) heading: String,
    /// Introduction of one or two sentences.
    pub(super) intro: String,
    /// The keys of its tables, in order.
    pub(super) tables: Vec<String>,
}

/// A table as people see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    /// Caption.
    pub(crate) caption: String,
    /// Headings and cells.
    pub(crate) shown: ShownTable,
}

impl Sheet {
    /// Makes a table of texts; the columns in `numeric` hold numbers.
    pub(crate) fn new(caption: impl Into<String>, labels: &[&str], numeric: &[usize], rows: Vec<Vec<String>>) -> Sheet {
        let labels: Vec<String> = labels.iter().map(|label| label.to_string()).collect();
        let shown = ShownTable {
            numeric: (0..labels.len()).map(|at| numeric.contains(&at)).collect(),
            beside: vec![false; labels.len()],
            labels,
            rows,
            legend: None,
            longest: None,
        };
        Sheet { caption: caption.into(), shown }.hoisted()
    }

    /// Makes a table of rows that begin with a device; rows that differ only in it are one.
    pub(super) fn by_device(
        caption: impl Into<String>,
        labels: &[&str],
        numeric: &[usize],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Sheet {
        let labels = [&[DEVICE], labels].concat();
        Sheet::new(caption, &labels, numeric, joined(rows, 0, ", "))
    }

    /// Limits the rows, and moves a column of origin whose cells are all equal into the caption.
    fn hoisted(mut self) -> Sheet {
        let count = self.shown.rows.len();
        if count > MOST_ROWS {
            self.shown.rows.truncate(MOST_ROWS);
            let cut = format!(" (the first {MOST_ROWS} of {count} rows; the results have all)");
            self.caption = self.caption.trim_end_matches('.').to_string() + &cut;
        }
        let rows = &self.shown.rows;
        let same = |at: usize| rows.len() > 1 && rows.iter().all(|row| row[at] == rows[0][at] && !row[at].is_empty());
        let from = |at: &usize| FROM.contains(&&*self.shown.labels[*at]) && same(*at);
        let (gone, kept): (Vec<usize>, Vec<usize>) = (0..self.shown.labels.len()).partition(from);
        for at in gone {
            let addition = format!("; {}: {}", self.shown.labels[at], rows[0][at]);
            self.caption = self.caption.trim_end_matches('.').to_string() + &addition;
        }
        Sheet { shown: self.shown.only(&kept), ..self }
    }

    /// The block of the table with all rows in sight, none if empty.
    pub(crate) fn full(self) -> Option<Block> {
        (!self.shown.rows.is_empty()).then_some(Block::Table(self))
    }

    /// The block of the table: folded if long, none if empty.
    pub(crate) fn block(self) -> Option<Block> {
        match self.shown.rows.len() {
            0 => None,
            count if count > LONG => {
                let summary = format!("{} ({count} rows)", self.caption.trim_end_matches('.'));
                Some(Block::Folded(summary, vec![Block::Table(self)]))
            }
            _ => Some(Block::Table(self)),
        }
    }
}

/// Joins rows that differ only in the cell at `place`, whose texts become a list.
fn joined(rows: impl IntoIterator<Item = Vec<String>>, place: usize, between: &str) -> Vec<Vec<String>> {
    let groups = together(rows.into_iter().map(|mut row| {
        let text = std::mem::take(&mut row[place]);
        (row, text)
    }));
    let row = |(mut row, texts): (Vec<String>, Vec<String>)| {
        row[place] = distinct(texts).join(between);
        row
    };
    groups.into_iter().map(row).collect()
}

/// The figures of a table, and its sheet.
pub(super) fn blocks(results: &Results, table: &Table) -> Vec<Block> {
    let (shown, folded) = figures::of_table(results, table);
    let mut blocks: Vec<Block> = shown.into_iter().map(Block::Figure).collect();
    if !folded.is_empty() {
        let summary = format!("{} more figures", folded.len());
        blocks.push(Block::Folded(summary, folded.into_iter().map(Block::Figure).collect()));
    }
    blocks.extend(sheet(table).block());
    blocks
}

/// The place of a table among the tables of an experiment.
pub(super) fn place(key: &str) -> usize {
    LAYOUT.order.iter().position(|listed| listed == key).unwrap_or(LAYOUT.order.len())
}

/// The sheets of a table of an experiment: several, if it is turned.
pub(super) fn sheets(table: &Table) -> Vec<Sheet> {
    match LAYOUT.turned.iter().find(|turned| turned.table == table.key) {
        Some(turned) => turned.cells.iter().map(|cell| turn(&with_device(table), turned, cell)).collect(),
        None => vec![sheet(table)],
    }
}

/// Makes the sheet of a table, its device first.
///
/// In a long table, rows that differ only in the instruction become one row.
pub(crate) fn sheet(table: &Table) -> Sheet {
    let table = with_device(table);
    let is_complete = place(table.key) < LAYOUT.order.len();
    let columns = LAYOUT.columns.get(table.key).cloned().unwrap_or_default();
    let brief = !is_complete && table.columns.iter().any(|column| column.look.essential);
    let layout = ViewLayout { columns, brief, ..ViewLayout::default() };
    let mut shown = ShownTable::new(&table, &layout, plain);
    let known = layout.columns.iter().filter(|key| table.columns.iter().any(|column| column.key == **key));
    for (label, key) in shown.labels.iter_mut().zip(known) {
        if let Some(heading) = LAYOUT.headings.get(key) {
            label.clone_from(heading);
        }
    }
    if let Some(at) = shown.labels.iter().position(|label| label == "instruction")
        && !is_complete
        && shown.rows.len() > MANY
    {
        shown.rows = joined(shown.rows, at, "\n");
    }
    Sheet { caption: captioned(title(&table), shown.legend.as_deref()), shown }.hoisted()
}

/// The table with its device as the first column.
fn with_device(table: &Table) -> Table {
    let mut table = table.clone();
    let place = |key: &str| table.columns.iter().position(|column| column.key == key);
    let is_filled = |at: &usize| table.rows.iter().all(|row| row[*at] != Cell::Empty);
    let Some(at) = place(DEVICE).filter(is_filled).or(place(CHIP)).or(place(DEVICE)) else { return table };
    // The other of both is redundant.
    let kept: Vec<usize> = std::iter::once(at)
        .chain(
            (0..table.columns.len())
                .filter(|other| *other != at && ![DEVICE, CHIP].contains(&&*table.columns[*other].key)),
        )
        .collect();
    table.columns = kept.iter().map(|&at| table.columns[at].clone()).collect();
    table.columns[0].key = DEVICE.into();
    table.columns[0].look = shown(DEVICE).essential();
    for row in &mut table.rows {
        *row = kept.iter().map(|&at| row[at].clone()).collect();
        if let Cell::Text(name) = &mut row[0] {
            *name = short(name);
        }
    }
    table
}

/// The name of a chip in a column: a model without its vendor.
pub(super) fn short(chip: &str) -> String {
    match chip.strip_suffix("(model)").and(chip.split_once(' ')) {
        Some((_, model)) if model != "(model)" => model.to_string(),
        _ => chip.to_string(),
    }
}

/// The title of a table, without its point.
fn title(table: &Table) -> &str {
    LAYOUT.captions.get(table.key).map_or(table.title.as_str(), String::as_str).trim_end_matches('.')
}

/// The table of one number: a row for each group of `rows`, a column for each group of `across`.
fn turn(table: &Table, turned: &Turned, cell: &str) -> Sheet {
    let position = |key: &String| table.columns.iter().position(|column| column.key == *key);
    let filled = |at: &usize| table.rows.iter().any(|row| !row[*at].is_empty());
    let naming: Vec<usize> = turned.rows.iter().filter_map(position).filter(filled).collect();
    let across: Vec<usize> = turned.across.iter().filter_map(position).filter(filled).collect();
    let value = table.columns.iter().position(|column| column.key == cell);
    let texts = |row: &[Cell], of: &[usize]| of.iter().map(|&at| plain(&row[at])).collect::<Vec<String>>();
    let head = |row: &Vec<Cell>| texts(row, &across).join(", ");
    let heads = distinct(table.rows.iter().map(head));
    let numbers = together(table.rows.iter().map(|row| (texts(row, &naming), (head(row), value.map(|at| &row[at])))));
    let label = |at: &usize| table.columns[*at].look.heading.unwrap_or(&table.columns[*at].key).to_string();
    let heading = value.map_or_else(String::new, |at| LAYOUT.headings.get(cell).cloned().unwrap_or_else(|| label(&at)));
    let across: Vec<String> = across.iter().map(label).collect();
    let labels: Vec<String> = naming.iter().map(label).chain(heads.iter().cloned()).collect();
    let lines = numbers.into_iter().map(|(name, cells)| {
        let number = |head: &String| cells.iter().rfind(|(other, _)| other == head)?.1.map(plain);
        name.into_iter().chain(heads.iter().map(|head| number(head).unwrap_or_else(|| NONE.into()))).collect()
    });
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let numeric: Vec<usize> = (naming.len()..labels.len()).collect();
    let caption = format!("{}: {heading}, by {}", title(table), across.join(", "));
    Sheet::new(caption, &labels, &numeric, lines.collect())
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
