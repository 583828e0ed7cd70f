//! Figures of rates of verification, and of agreement between models.

use std::collections::BTreeSet;

use super::{Figure, Seen, kind, titled};
use crate::{
    document::{results::chip_of, rows::Rows},
    report::{
        Table,
        figure::{Axis, Bars, ChartBar, PairMatrix, PairTile, Scale},
        grouped, three_digits,
    },
};

/// Most bars, or models, of a figure.
const MOST: usize = 40;

/// Cases a second, by family and operands.
pub(super) fn rates(table: &Table) -> Vec<Figure> {
    let (mut seen, mut kinds) = (Seen::new(), Vec::<(String, String, f64, f64)>::new());
    for row in Rows(table).iter() {
        let (Some(compared), Some(seconds)) = (row.number("compared"), row.number("seconds")) else { continue };
        let kind = kind(row.text("instruction"));
        let chip = chip_of(&row);
        match seen.number((kind.clone(), chip.clone())) {
            (_, true) => kinds.push((kind, chip, compared, seconds)),
            (at, false) => (kinds[at].2, kinds[at].3) = (kinds[at].2 + compared, kinds[at].3 + seconds),
        }
    }
    kinds.retain(|(_, _, compared, seconds)| *compared > 0.0 && *seconds > 0.0);
    if kinds.is_empty() {
        return Vec::new();
    }
    kinds.sort_by(|x, y| (y.2 / y.3).total_cmp(&(x.2 / x.3)));
    let chips: Vec<String> = kinds.iter().map(|(_, chip, ..)| chip.clone()).collect();
    let several = chips.iter().any(|chip| *chip != chips[0]);
    let bar = |(kind, chip, compared, seconds): &(String, String, f64, f64)| ChartBar {
        name: if several { format!("{kind}, {chip}") } else { kind.clone() },
        length: compared / seconds,
        number: three_digits(compared / seconds),
        color: 0,
        hover: format!("{kind}, {chip}\n{} cases in {} s", grouped(*compared as i64), three_digits(*seconds)),
    };
    let chips: Vec<&str> = chips.iter().map(String::as_str).collect();
    let title = titled("Rates of verification", &chips);
    let bars = Bars {
        title: title.clone(),
        axis: Axis::new("cases a second", Scale::Linear),
        bars: kinds.iter().take(MOST).map(bar).collect(),
    };
    let caption = format!("{title}: results compared with the model in a second.");
    vec![Figure { name: "verification-rates".into(), caption, scene: bars.scene() }]
}

/// The agreement of models, pair by pair.
pub(super) fn generations(table: &Table) -> Vec<Figure> {
    let both = Rows(table).iter().flat_map(|row| [row.text("x"), row.text("y")]);
    let names: Vec<String> = both.collect::<BTreeSet<_>>().into_iter().take(MOST).map(String::from).collect();
    let place = |name: &str| names.binary_search_by(|own| own.as_str().cmp(name)).ok();
    let mut tiles = Vec::new();
    for row in Rows(table).iter() {
        let (x, y) = (row.text("x"), row.text("y"));
        let (all, same) = (row.count("instructions"), row.count("same"));
        let (Some(one), Some(other)) = (place(x), place(y)) else { continue };
        for (row, column) in [(one, other), (other, one)] {
            tiles.push(PairTile {
                row,
                column,
                share: if all > 0 { same as f64 / all as f64 } else { 0.0 },
                words: format!("{same}/{all}"),
                hover: format!("{x} and {y}: {same} of {all} instructions of both are the same"),
            });
        }
    }
    let matrix =
        PairMatrix { title: "Agreement of models".into(), names, tiles, remark: "the same / covered by both".into() };
    let caption =
        "Agreement of models: instructions with the same arithmetic, and instructions that both cover.".to_string();
    vec![Figure { name: "generations".into(), caption, scene: matrix.scene() }]
}
