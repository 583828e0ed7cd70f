//! Whether the bits of a row depend on how many others are computed with it.

use std::{collections::BTreeSet, path::Path};

use super::{LibrarySchedules, Values, checked_shape, draw, shapes::named};
use crate::{
    Error, Result,
    base::{digest::fnv1a, interrupt, text},
    device::{Attributes, ChosenAlgorithm, Library, OperandLayout, Problem},
    gemm::{Differences, Factors, Matrix, ModelReplay, Replay, sample::Sample},
    inputs::random,
};

/// Columns of the row that the model computes.
const REPLAYED: usize = 64;
/// The most batch sizes of a layer.
const MOST_BATCHES: usize = 64;

/// A layer: a product with weights, of several batch sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// The product of the first batch size.
    pub problem: Problem,
    /// What operands are drawn from.
    pub values: Values,
    /// The batch sizes: rows of A.
    pub batches: Vec<usize>,
}

/// The columns of a table of layers.
const COLUMNS: [&str; 7] = ["layer", "product", "layout", "values", "n", "k", "batches"];

/// The layers of a CSV file with the columns layer, product (D.A.B.COMPUTE), layout (nn, nt), values (normal, magnitudes), n, k and batches
/// (numbers with spaces between).
///
/// # Errors
/// A file that cannot be read, or a line that describes no layer: with its number, and what is expected.
pub fn read_layers(path: &Path) -> Result<Vec<Layer>> {
    let (text, origin) = (text::read(path, "the table of layers")?, path.display());
    let wrong = |error: csv::Error| Error::request(format!("{origin}: {error}"));
    let mut layers = Vec::new();
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    if reader.headers().map_err(wrong)?.iter().ne(COLUMNS) {
        return Err(Error::request(format!("{origin}: its columns have to be {}", COLUMNS.join(","))));
    }
    for line in reader.into_records() {
        let line: Vec<String> = line.map_err(wrong)?.iter().map(String::from).collect();
        let number = layers.len() + 1;
        layers.push(layer(&line).map_err(|error| error.within(format!("{origin}: layer {number}")))?);
    }
    match layers.is_empty() {
        true => Err(Error::request(format!("{origin}: no layers in it"))),
        false => Ok(layers),
    }
}

fn layer(line: &[String]) -> Result<Layer> {
    let [name, product, layout, values, n, k, batches] = line else { unreachable!("lines are as long as the first") };
    let number = |key: &str, text: &str| {
        text.parse::<usize>().map_err(|_| Error::request(format!("{key} is '{text}': expected a whole number")))
    };
    let (n, k) = (number("n", n)?, number("k", k)?);
    let sizes: Option<Vec<usize>> = batches.split_whitespace().map(|number| number.parse().ok()).collect();
    let sizes = sizes.filter(|sizes| (2..=MOST_BATCHES).contains(&sizes.len())).ok_or_else(|| {
        Error::request(format!("batches is '{batches}': expected 2 to {MOST_BATCHES} numbers with spaces between"))
    })?;
    for m in &sizes {
        checked_shape((*m, n, k)).map_err(Error::request)?;
    }
    let problem = Problem::of_kind(product, (sizes[0], n, k), named::<OperandLayout>("layout", layout)?)?;
    Ok(Layer { name: name.clone(), problem, values: named::<Values>("values", values)?, batches: sizes })
}

crate::rows! {
    /// A product of a layer at a batch size, and whether its first row has the bits that it has at the first batch size.
    pub struct BatchRow in "batches" {
        /// The layer.
        layer: String => shown("layer").essential(),
        /// What is computed: D.A.B.COMPUTE.
        product: String => shown("D.A.B.compute"),
        /// How A and B lie in memory.
        layout: &'static str => hidden(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The batch size: rows of A and D.
        m: usize => shown("batch").essential(),
        /// What became of the first row: first (all others are compared with it), same, changed, refused, failed.
        outcome: &'static str => shown("row 0").essential(),
        /// Its elements that differ.
        differing: Option<usize> => shown("differ").if_filled().essential(),
        /// The first of them: its column.
        column: Option<usize> => hidden(),
        /// The attributes of the algorithm in words.
        algorithm: Option<String> => shown("algorithm").if_filled().essential(),
        /// The schedule that they mean, in a sentence.
        schedule: Option<String> => shown("schedule").if_filled().essential(),
        /// Elements of the row that the model of the GPU computed by that schedule.
        replayed: usize => shown("replayed"),
        /// Those that are equal in every bit.
        replayed_equal: usize => shown("equal").beside(),
        /// What is otherwise than at the first batch size.
        why: Option<String> => shown("otherwise").if_filled().essential(),
    }
}

/// What the first batch size gave.
struct Reference {
    attributes: Attributes,
    schedule: Option<String>,
    row: Matrix,
}

/// Has a library compute a layer at each of its batch sizes, of which the first rows of A are the same, and adds a row for each; the model
/// replays part of the first row.
///
/// # Errors
/// The model fails, [`Error::Interrupted`]. (A library that refuses a product or fails is an outcome.)
pub fn batches(
    library: &mut dyn Library,
    schedules: &LibrarySchedules,
    model: &str,
    layer: &Layer,
    seed: u64,
    chosen: Option<&ChosenAlgorithm>,
    rows: &mut Vec<BatchRow>,
) -> Result<()> {
    let Problem { n, k, a, b, d, .. } = layer.problem;
    let own =
        |operand: u64| random(seed ^ fnv1a(format!("{} {}", layer.name, layer.problem.kind()).as_bytes()), operand);
    let weights = draw(k, n, b, d, layer.values, own(1));
    let mut reference: Option<Reference> = None;
    for &m in &layer.batches {
        interrupt::check()?;
        let problem = Problem { m, ..layer.problem.clone() };
        let inputs = draw(m, k, a, d, layer.values, own(0));
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
        match library.multiply(&problem, &inputs.codes, &weights.codes, None, chosen) {
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                row.outcome = if error.is_unavailable() { "refused" } else { "failed" };
                row.why = Some(error.to_string());
            }
            Ok(product) => {
                row.algorithm = Some(schedules.words(&product.attributes));
                let own = Matrix::new(1, n, d, product.d.slice(0, n));
                let first = Factors::new(inputs.chosen(&[0], &(0..k).collect::<Vec<_>>()), weights.clone());
                match schedules.predict(&problem, &product.attributes) {
                    Ok(predicted) => {
                        let sample = Sample::new(&first, &own, (1, REPLAYED), 0, None);
                        let again = ModelReplay.product(model, &predicted.schedule, &sample.factors)?;
                        let found = Differences::between(&again, &sample.d)?;
                        (row.replayed, row.replayed_equal) = (found.elements, found.elements - found.differing);
                        row.schedule = Some(predicted.schedule.sentence(k));
                    }
                    Err(why) => row.why = Some(why),
                }
                match &reference {
                    None => {
                        row.outcome = "first";
                        reference = Some(Reference {
                            attributes: product.attributes,
                            schedule: row.schedule.clone(),
                            row: own,
                        });
                    }
                    Some(first) => {
                        let found = Differences::between(&first.row, &own)?;
                        row.outcome = if found.differing == 0 { "same" } else { "changed" };
                        row.differing = Some(found.differing);
                        row.column = found.first.map(|(_, column, _)| column);
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

/// What is otherwise than at the first batch size.
fn otherwise(schedules: &LibrarySchedules, first: &Reference, now: &Attributes, schedule: &Option<String>) -> String {
    let changes = schedules.changes(&first.attributes, now);
    let schedule = match (&first.schedule, schedule) {
        (Some(one), Some(other)) if one == other => "the same schedule",
        (Some(_), Some(_)) => "another schedule",
        _ => "a schedule that is not known",
    };
    match changes.is_empty() {
        true => format!("the same algorithm, {schedule}"),
        false => format!("{}: {schedule}", changes.join(", ")),
    }
}

impl BatchRow {
    /// Whether the first row has the bits that it has at the first batch size, or the library refused the product.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, "first" | "same" | "refused")
    }
}

/// In how many layers the batch size matters, in a sentence; `None` without rows.
pub fn batch_answer(rows: &[BatchRow]) -> Option<String> {
    let layers: BTreeSet<&String> = rows.iter().map(|row| &row.layer).collect();
    let changed: BTreeSet<&String> = rows.iter().filter(|row| row.outcome == "changed").map(|row| &row.layer).collect();
    let (layers, changed) = (layers.len(), changed.len());
    (layers > 0).then(|| format!("The bits of the first row depend on the batch size in {changed} of {layers} layers."))
}
