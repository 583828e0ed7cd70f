//! Figures of rates of verification, of agreement between models, and of exact products.

use std::collections::BTreeSet;

use super::{Figure, chip, costs::Rated, names::short, on, together};
use crate::{
    base::distinct::distinct,
    document::{results::chip_of, rows::Rows},
    report::{
        Table,
        figure::{Axis, Drawing, Matrix, Scale, Tile},
        grouped, three_digits,
    },
};

/// Most models of a figure.
const MOST: usize = 40;

/// Cases a second: a row for the operands, a marker for each family.
pub(super) fn rates(table: &Table) -> Vec<Figure> {
    let rows = Rows(table).iter().filter_map(|row| {
        let [operands, unit] = short(row.text("instruction"));
        Some(((chip(&chip_of(&row)), operands, unit), [row.number("compared")?, row.number("seconds")?]))
    });
    let counted = together(rows).into_iter().filter_map(|((chip, operands, unit), counts)| {
        let [compared, seconds] = [0, 1].map(|at| counts.iter().map(|pair| pair[at]).sum::<f64>());
        let hover = format!("{} cases in {} s", grouped(compared as i64), three_digits(seconds));
        let is_timed = compared > 0.0 && seconds > 0.0;
        is_timed.then(|| Rated { keys: vec![chip, unit], operands, rate: compared / seconds, hover })
    });
    let axis = Axis::new("cases a second", Scale::Decades);
    let caption = "results compared with the model in a second";
    Rated::figures(counted.collect(), "verification-rates", "Rates of verification", caption, axis)
}

/// The agreement of models, pair by pair.
pub(super) fn generations(table: &Table) -> Vec<Figure> {
    let both = Rows(table).iter().flat_map(|row| [row.text("x"), row.text("y")]);
    let names: Vec<String> = both.collect::<BTreeSet<_>>().into_iter().take(MOST).map(String::from).collect();
    let place = |name: &str| names.binary_search_by(|other| other.as_str().cmp(name)).ok();
    let mut tiles = Vec::new();
    for row in Rows(table).iter() {
        let (x, y) = (row.text("x"), row.text("y"));
        let (all, same) = (row.count("instructions"), row.count("same"));
        let (Some(one), Some(other)) = (place(x), place(y)) else { continue };
        let share = if all > 0 { same as f64 / all as f64 } else { 0.0 };
        for (row, column) in [(one, other), (other, one)] {
            tiles.push(Tile {
                row,
                column,
                share,
                words: vec![format!("{same}/{all}"), format!("{:.0}", 100.0 * share)],
                hover: format!("{x} and {y}: {same} of {all} instructions of both are the same"),
            });
        }
    }
    let matrix = Matrix {
        title: "Agreement of models".into(),
        rows: names.clone(),
        columns: names,
        tiles,
        manners: vec![
            "Tile: instructions that are the same / instructions that both cover; the darker, the more agree.".into(),
            "Tile: per cent of the instructions that both cover and that are the same; 0 also if they share none."
                .into(),
            "The darker a tile, the more instructions that both cover are the same. Numbers have no room here.".into(),
        ],
        notes: Vec::new(),
    };
    let caption =
        "Agreement of models: instructions with the same arithmetic, and instructions that both cover.".to_string();
    vec![Figure { name: "generations".into(), caption, drawing: Drawing::Matrix(matrix) }]
}

/// Products of integers by their digits: the exact elements of each scheme on each chip.
pub(super) fn integers(table: &Table) -> Vec<Figure> {
    let rows = distinct(Rows(table).iter().map(|row| row.text("scheme").to_string()));
    let columns = distinct(Rows(table).iter().map(|row| on(&row)));
    let tile = |row: crate::document::rows::Line| {
        let (held, exact) = (row.number("held")?, row.number("exact")?);
        let place = |names: &[String], name: &str| names.iter().position(|other| other == name);
        let share = if held > 0.0 { exact / held } else { 0.0 };
        Some(Tile {
            row: place(&rows, row.text("scheme"))?,
            column: place(&columns, &on(&row))?,
            share,
            words: vec![format!("{exact}/{held}"), format!("{}", (100.0 * share).floor())],
            hover: format!("{} on {}: {exact} of {held} elements are exact", row.text("scheme"), on(&row)),
        })
    };
    let tiles: Vec<Tile> = Rows(table).iter().filter_map(tile).collect();
    let missing = if tiles.len() < Rows(table).iter().count() {
        vec!["No tile: the chip lacks an instruction for the scheme.".to_string()]
    } else {
        Vec::new()
    };
    let what = "of the elements whose exact sum s32 holds";
    let matrix = Matrix {
        title: "Products of integers by their digits".into(),
        rows: rows.clone(),
        columns: columns.clone(),
        tiles,
        manners: vec![
            format!("Tile: exact elements, {what}; the darker, the larger their share."),
            format!("Tile: per cent that are exact, {what}."),
            format!("The darker a tile, the larger the exact share, {what}."),
        ],
        notes: missing,
    };
    let caption = format!("Products of integers by their digits: exact elements, {what}.");
    vec![Figure { name: "integers".into(), caption, drawing: Drawing::Matrix(matrix) }]
}
