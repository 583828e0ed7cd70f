//! Dependence of the bits of a row on the batch size.

use std::{collections::BTreeSet, path::Path};

use serde::Deserialize;

use super::{
    campaign::Campaign,
    checked_shape,
    shapes::{lines, named},
};
use crate::{
    Error, Result,
    base::{digest::fnv1a, interrupt, text},
    device::{Attributes, OperandLayout, Problem},
    inputs::random,
    isa::MatrixShape,
    product::{
        Differences, Factors, LibrarySchedules, Matrix, ModelReplay, ProductShape, Replay, Sample, Values, draw,
    },
};

/// Elements of the row that the model replays.
const REPLAYED: MatrixShape = MatrixShape { rows: 1, columns: 64 };
/// Most batch sizes of a layer.
const MOST_BATCHES: usize = 64;

/// A layer: a product with weights, of several batch sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// The product at the first batch size.
    pub problem: Problem,
    /// Distribution of the operands.
    pub values: Values,
    /// The batch sizes: rows of A.
    pub batches: Vec<usize>,
}

/// A line of a table of layers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerLine {
    layer: String,
    product: String,
    layout: String,
    values: String,
    n: usize,
    k: usize,
    batches: String,
}

/// Reads layers from a CSV file.
///
/// Its columns are layer, product (D.A.B.COMPUTE), layout (nn, nt), values (normal, magnitudes), n, k and batches (numbers with spaces
/// between).
///
/// # Errors
/// A file that cannot be read, a malformed line: its number, and what is expected.
pub fn read_layers(path: &Path) -> Result<Vec<Layer>> {
    lines(&text::read(path, "the table of layers")?, &path.display().to_string(), "layer", layer)
}

fn layer(line: LayerLine) -> Result<Layer> {
    let LayerLine { layer, product, layout, values, n, k, batches } = line;
    let sizes: Option<Vec<usize>> = batches.split_whitespace().map(|number| number.parse().ok()).collect();
    let sizes = sizes.filter(|sizes| (2..=MOST_BATCHES).contains(&sizes.len())).ok_or_else(|| {
        Error::request(format!("batches is '{batches}': expected 2 to {MOST_BATCHES} numbers with spaces between"))
    })?;
    for m in &sizes {
        checked_shape(ProductShape { m: *m, n, k }).map_err(Error::request)?;
    }
    let shape = ProductShape { m: sizes[0], n, k };
    let problem = Problem::of_kind(&product, shape, named::<OperandLayout>("layout", &layout)?)?;
    Ok(Layer { name: layer, problem, values: named::<Values>("values", &values)?, batches: sizes })
}

crate::rows! {
    /// A product of a layer at a batch size; row 0 is compared with row 0 at the first batch size.
    pub struct BatchRow in "batches" {
        /// The layer.
        layer: String => shown("layer").essential(),
        /// Formats and compute type: D.A.B.COMPUTE.
        product: String => shown("D.A.B.compute"),
        /// Layout of A and B in memory.
        layout: &'static str => hidden(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The batch size: rows of A and D.
        m: usize => shown("batch").essential(),
        /// Outcome for row 0: first (the reference), same, changed, refused or failed.
        outcome: &'static str => shown("row 0").essential(),
        /// Elements of row 0 that differ.
        differing: Option<usize> => shown("differ").if_filled().essential(),
        /// Column of the first difference.
        column: Option<usize> => hidden(),
        /// The attributes of the algorithm in words.
        algorithm: Option<String> => shown("algorithm").if_filled().essential(),
        /// The schedule that they imply, in a sentence.
        schedule: Option<String> => shown("schedule").if_filled().essential(),
        /// Elements of row 0 that the GPU's model computed by that schedule.
        replayed: usize => shown("replayed"),
        /// Replayed elements that are equal in every bit.
        replayed_equal: usize => shown("equal").beside(),
        /// Differences from the first batch size.
        why: Option<String> => shown("otherwise").if_filled().essential(),
    }
}

/// The result of the first batch size.
struct FirstBatch {
    attributes: Attributes,
    schedule: Option<String>,
    row: Matrix,
}

impl Campaign<'_> {
    /// Has the library compute layers at each of their batch sizes; `step` is told the layers.
    ///
    /// The first rows of A are the same at each size. The model replays part of row 0.
    ///
    /// # Errors
    /// The model fails, [`Error::Interrupted`]. (A library that refuses a product or fails is an outcome.)
    pub fn batches(&mut self, layers: &[Layer], rows: &mut Vec<BatchRow>, step: &dyn Fn(&str)) -> Result<()> {
        layers.iter().try_for_each(|layer| {
            step(&layer.name);
            batches(self, layer, rows)
        })
    }
}

fn batches(campaign: &mut Campaign<'_>, layer: &Layer, rows: &mut Vec<BatchRow>) -> Result<()> {
    let Campaign { library, schedules, model, seed, chosen, .. } = campaign;
    let Problem { n, k, a, b, d, .. } = layer.problem;
    let generator =
        |operand: u64| random(*seed ^ fnv1a(format!("{} {}", layer.name, layer.problem.kind()).as_bytes()), operand);
    let weights = draw(k, n, b, d, layer.values, generator(1));
    let mut reference: Option<FirstBatch> = None;
    for &m in &layer.batches {
        interrupt::check()?;
        let problem = Problem { m, ..layer.problem.clone() };
        let inputs = draw(m, k, a, d, layer.values, generator(0));
        let mut row = BatchRow {
            layer: layer.name.clone(),
            product: problem.kind(),
            layout: problem.layout.name(),
            n,
            k,
            m,
            outcome: "failed",
            differing: None,
            column: None,
            algorithm: None,
            schedule: None,
            replayed: 0,
            replayed_equal: 0,
            why: None,
        };
        match library.multiply(&problem, &inputs.codes, &weights.codes, None, chosen.as_ref()) {
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                row.outcome = if error.is_unavailable() { "refused" } else { "failed" };
                row.why = Some(error.to_string());
            }
            Ok(product) => {
                row.algorithm = Some(schedules.words(&product.attributes));
                let first_row = Matrix::new(1, n, d, product.d.slice(0, n));
                let first = Factors::new(inputs.chosen(&[0], &(0..k).collect::<Vec<_>>()), weights.clone());
                match schedules.predict(&problem, &product.attributes) {
                    Ok(predicted) => {
                        let sample = Sample::new(&first, &first_row, REPLAYED, 0, None);
                        let again = ModelReplay.product(model, &predicted.schedule, &sample.factors)?;
                        let differences = Differences::between(&again, &sample.d)?;
                        (row.replayed, row.replayed_equal) =
                            (differences.elements, differences.elements - differences.differing);
                        row.schedule = Some(predicted.schedule.sentence(k));
                    }
                    Err(why) => row.why = Some(why),
                }
                match &reference {
                    None => {
                        row.outcome = "first";
                        reference = Some(FirstBatch {
                            attributes: product.attributes,
                            schedule: row.schedule.clone(),
                            row: first_row,
                        });
                    }
                    Some(first) => {
                        let differences = Differences::between(&first.row, &first_row)?;
                        row.outcome = if differences.differing == 0 { "same" } else { "changed" };
                        row.differing = Some(differences.differing);
                        row.column = differences.first.map(|(_, column, _)| column);
                        row.why =
                            row.why.or_else(|| Some(otherwise(schedules, first, &product.attributes, &row.schedule)));
                    }
                }
            }
        }
        rows.push(row);
    }
    Ok(())
}

/// Differences from the first batch size, in words.
fn otherwise(schedules: &LibrarySchedules, first: &FirstBatch, now: &Attributes, schedule: &Option<String>) -> String {
    let changes = schedules.changes(&first.attributes, now);
    let schedule = match (&first.schedule, schedule) {
        (Some(one), Some(other)) if one == other => "the same schedule",
        (Some(_), Some(_)) => "another schedule",
        _ => "an unknown schedule",
    };
    match changes.is_empty() {
        true => format!("the same algorithm, {schedule}"),
        false => format!("{}: {schedule}", changes.join(", ")),
    }
}

impl BatchRow {
    /// True if row 0 is the same as at the first batch size, or the library refused the product.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, "first" | "same" | "refused")
    }
}

/// Number of layers in which the batch size matters, in a sentence; `None` without rows.
pub(super) fn batch_answer(rows: &[BatchRow]) -> Option<String> {
    let layers: BTreeSet<&String> = rows.iter().map(|row| &row.layer).collect();
    let changed: BTreeSet<&String> = rows.iter().filter(|row| row.outcome == "changed").map(|row| &row.layer).collect();
    let (layers, changed) = (layers.len(), changed.len());
    (layers > 0).then(|| format!("The bits of the first row depend on the batch size in {changed} of {layers} layers."))
}
