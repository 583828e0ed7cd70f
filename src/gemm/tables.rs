//! The tables of matrix products.

use super::{
    Accuracy, Differences, Factors, Schedule,
    accuracy::bin_name,
    differences::places,
    matching::{MatchCandidate, Matches},
};
use crate::format::Format;

crate::rows! {
    /// A matrix product that was computed.
    pub struct ProductRow in "products" {
        /// Rows of A and D.
        m: usize => shown("m").essential(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The instruction.
        instruction: String => hidden(),
        /// The format of A.
        a: String => shown("A"),
        /// The format of B.
        b: String => shown("B"),
        /// The format of C, where there is one.
        c: Option<String> => shown("C").if_filled(),
        /// The format of D.
        d: String => shown("D"),
        /// How it was executed.
        execution: &'static str => shown("ran"),
        /// The schedule in a sentence.
        schedule: String => shown("schedule").essential(),
        /// The schedule as a file.
        schedule_file: String => hidden(),
        /// Dot-product-adds of the instruction that it took.
        dot_product_adds: u64 => shown("dot-product-adds"),
        /// How long the computation took.
        seconds: f64 => shown("time").unit("s"),
        /// Dot-product-adds in a second.
        rate: f64 => shown("per second"),
    }

    /// How far D is from what a yardstick says: on all elements, or on some that are spread over it.
    pub struct AccuracyRow in "accuracy" {
        /// The yardstick: plain sums in f32 or f64 (ascending k, each product and each sum rounded), or the exact sum.
        yardstick: &'static str => shown("against").essential(),
        /// The elements that were looked at.
        elements: usize => shown("elements"),
        /// Those that are the yardstick's, rounded as D is.
        equal: usize => shown("equal").essential(),
        /// The most numbers of D's format from one to the other.
        ulps: u64 => shown("max ulps").essential(),
        /// The largest difference.
        max_error: Option<f64> => shown("max error").essential(),
        /// The mean difference.
        mean_error: Option<f64> => shown("mean error"),
        /// The largest difference over the yardstick's value.
        max_relative: Option<f64> => shown("max relative").essential(),
        /// The mean of those.
        mean_relative: Option<f64> => shown("mean relative").essential(),
    }

    /// How many elements of D are how many numbers of its format away from a yardstick's.
    pub struct UlpRow in "ulps" {
        /// The distance.
        ulps: String => shown("ulps").essential(),
        /// Elements, against plain f32.
        single: Option<usize> => shown("f32").if_filled(),
        /// Elements, against plain f64.
        double: Option<usize> => shown("f64").if_filled(),
        /// Elements, against the exact sum.
        exact: usize => shown("exact").essential(),
    }

    /// D compared with another matrix in every bit.
    pub struct ProductComparisonRow in "product_comparison" {
        /// The other matrix.
        file: String => shown("compared with").essential(),
        /// Elements.
        elements: usize => shown("elements").essential(),
        /// Elements that are equal in every bit.
        equal: usize => shown("equal").essential(),
        /// Elements that are not.
        differing: usize => shown("differ").essential(),
        /// The most numbers of the format between two that differ.
        ulps: Option<u64> => shown("max ulps").if_filled().essential(),
        /// The first that differs: its row.
        row: Option<usize> => shown("first: row").if_filled(),
        /// Its column.
        column: Option<usize> => shown("column").if_filled().beside(),
        /// Its code in D.
        d: Option<String> => shown("D").if_filled().beside(),
        /// Its code in the other matrix.
        other: Option<String> => shown("other").if_filled().beside(),
        /// Rows with a difference.
        rows: usize => hidden(),
        /// Which rows those are.
        which_rows: Option<String> => shown("rows").if_filled().essential(),
        /// Columns with a difference.
        columns: usize => hidden(),
        /// Which columns those are.
        which_columns: Option<String> => shown("columns").if_filled().essential(),
        /// Tiles of 64 x 64 with a difference.
        tiles: usize => shown("tiles of 64 x 64"),
    }
}

crate::rows! {
    /// A schedule that gives D in every bit, the simplest first; where there is none, the nearest.
    pub struct MatchRow in "matches" {
        /// Its place.
        place: usize => shown("#").essential(),
        /// Whether it gives D in every bit.
        exact: bool => shown("in every bit").essential(),
        /// The model whose arithmetic it is.
        model: String => shown("model").essential(),
        /// The instruction.
        instruction: String => hidden(),
        /// Other instructions with the same arithmetic, each with its model.
        alike: Vec<String> => hidden(),
        /// The schedule in a sentence.
        schedule: String => shown("schedule").essential(),
        /// The schedule as a file.
        schedule_file: String => hidden(),
        /// Elements of D that it gives.
        equal: usize => shown("equal"),
        /// Elements of D that it does not.
        differing: usize => shown("differ"),
    }
}

/// A row for each schedule that gives D, or one for the nearest.
pub fn matches(found: &Matches, k: usize, elements: usize) -> Vec<MatchRow> {
    let row = |place: usize, candidate: &MatchCandidate, differing: usize| MatchRow {
        place: place + 1,
        exact: differing == 0,
        model: candidate.arithmetic.model.clone(),
        instruction: candidate.schedule.instruction.name.clone(),
        alike: candidate.arithmetic.alike.clone(),
        schedule: candidate.schedule.sentence(k),
        schedule_file: candidate.schedule.to_toml(),
        equal: elements - differing,
        differing,
    };
    let nearest = found.nearest.iter().map(|(candidate, differences)| row(0, candidate, differences.differing));
    found.found.iter().enumerate().map(|(place, candidate)| row(place, candidate, 0)).chain(nearest).collect()
}

/// The row of a product.
pub fn product(schedule: &Schedule, factors: &Factors, execution: &'static str, seconds: f64) -> ProductRow {
    let (m, n, k) = (factors.a.rows, factors.b.columns, factors.k());
    let steps: usize = schedule.walk(k).parts.iter().flatten().map(|run| run.steps.len()).sum();
    let dot_product_adds = m as u64 * n as u64 * steps as u64;
    let name = |format: &Format| format.name.to_string();
    ProductRow {
        m,
        n,
        k,
        instruction: schedule.instruction.name.clone(),
        a: name(factors.a.format),
        b: name(factors.b.format),
        c: factors.c.as_ref().map(|c| name(c.format)),
        d: name(schedule.output.format),
        execution,
        schedule: schedule.sentence(k),
        schedule_file: schedule.to_toml(),
        dot_product_adds,
        seconds,
        rate: dot_product_adds as f64 / seconds,
    }
}

/// A row for each yardstick.
pub fn accuracies(all: &[Accuracy]) -> impl Iterator<Item = AccuracyRow> + '_ {
    all.iter().map(|accuracy| AccuracyRow {
        yardstick: accuracy.yardstick.name(),
        elements: accuracy.elements,
        equal: accuracy.equal,
        ulps: accuracy.ulps,
        max_error: accuracy.absolute.maximum(),
        mean_error: accuracy.absolute.mean(),
        max_relative: accuracy.relative.maximum(),
        mean_relative: accuracy.relative.mean(),
    })
}

/// A row for each distance that an element has.
pub fn ulps(all: &[Accuracy]) -> Vec<UlpRow> {
    let of = |name: &str| all.iter().find(|accuracy| accuracy.yardstick.name() == name);
    let bins = all.first().map_or(0, |accuracy| accuracy.histogram.len());
    let filled = (0..bins).filter(|bin| all.iter().any(|accuracy| accuracy.histogram[*bin] > 0));
    let count = |name: &str, bin: usize| of(name).map(|accuracy| accuracy.histogram[bin]);
    let row = |bin: usize| UlpRow {
        ulps: bin_name(bin),
        single: count("f32", bin),
        double: count("f64", bin),
        exact: count("exact", bin).unwrap_or_default(),
    };
    filled.map(row).collect()
}

/// The row of a comparison.
pub fn comparison(file: String, format: &Format, found: &Differences) -> ProductComparisonRow {
    let code = |which: usize| found.first.map(|(_, _, codes)| format.hex(codes[which]));
    let filled = |numbers| Some(places(numbers)).filter(|words| !words.is_empty());
    ProductComparisonRow {
        file,
        elements: found.elements,
        equal: found.elements - found.differing,
        differing: found.differing,
        ulps: found.ulps,
        row: found.first.map(|first| first.0),
        column: found.first.map(|first| first.1),
        d: code(0),
        other: code(1),
        rows: found.rows.len(),
        which_rows: filled(&found.rows),
        columns: found.columns.len(),
        which_columns: filled(&found.columns),
        tiles: found.tiles.len(),
    }
}
