//! Every element of O against its bound.

use std::{collections::BTreeSet, ops::Range};

use ndarray::{ArrayView2, ArrayViewMut2, linalg::general_mat_mul};

use super::{
    AttentionClaim, Operands, ScoreExtents, Unbounded,
    claim::Constants,
    row::{BoundedElement, RowState, Scores, Weights},
};
use crate::{Result, base::work};

/// Elements outside that are listed, at most.
const LISTED: usize = 64;
/// Scores of the rows that are computed together, about, and the most rows.
const SCORES: usize = 1 << 17;
const ROWS: usize = 64;

/// The place of a row of O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPlace {
    /// Head, counted over the batch.
    pub head: usize,
    /// Query.
    pub row: usize,
}

/// An element outside its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutsideElement {
    /// Its row.
    pub place: RowPlace,
    /// Its column.
    pub column: usize,
    /// The element of O.
    pub o: f64,
    /// The exact value; NaN where no key is left to the query.
    pub exact: f64,
    /// |O - exact|; infinite where one of them is not finite.
    pub error: f64,
    /// The bound.
    pub bound: f64,
}

impl OutsideElement {
    fn ratio(&self) -> f64 {
        ratio(self.error, self.bound)
    }
}

/// Verdicts about the elements so far.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// Elements that were judged.
    pub elements: usize,
    /// Elements within their bounds.
    pub within: usize,
    /// Elements of rows without a bound.
    pub undecided: usize,
    /// Elements of queries without a key: right if 0 or NaN.
    pub without_key: usize,
    /// Elements that overflowed as they may.
    pub overflowed: usize,
    /// Number of elements outside.
    pub outside: usize,
    /// Largest |O - exact|, its largest ratio to the bound, and the largest bound.
    pub largest_error: f64,
    /// Largest |O - exact| over the bound.
    pub tightest: f64,
    /// Largest bound.
    pub largest_bound: f64,
    /// Some elements outside, the worst first.
    pub listed: Vec<OutsideElement>,
    /// Rows with an element outside.
    pub rows: BTreeSet<RowPlace>,
    /// The reason of the first row without a bound.
    pub reason: Option<Unbounded>,
}

/// Error over bound; infinite where the bound is 0 and the error is not.
fn ratio(error: f64, bound: f64) -> f64 {
    match error / bound {
        _ if error == 0.0 => 0.0,
        ratio if ratio.is_nan() => f64::INFINITY,
        ratio => ratio,
    }
}

impl Judged {
    fn enter(&mut self, constants: &Constants, place: RowPlace, column: usize, o: f64, element: BoundedElement) {
        let BoundedElement { exact, bound } = element;
        self.elements += 1;
        self.largest_bound = self.largest_bound.max(bound);
        if constants.overflows(o, element) {
            (self.within, self.overflowed) = (self.within + 1, self.overflowed + 1);
            return;
        }
        let error = if o.is_finite() { (o - exact).abs() } else { f64::INFINITY };
        self.largest_error = self.largest_error.max(error);
        self.tightest = self.tightest.max(ratio(error, bound));
        if error <= bound {
            self.within += 1;
        } else {
            self.refuse(OutsideElement { place, column, o, exact, error, bound });
        }
    }

    fn enter_without_key(&mut self, place: RowPlace, column: usize, o: f64) {
        self.elements += 1;
        self.without_key += 1;
        if o == 0.0 || o.is_nan() {
            self.within += 1;
        } else {
            self.refuse(OutsideElement { place, column, o, exact: f64::NAN, error: f64::INFINITY, bound: 0.0 });
        }
    }

    fn refuse(&mut self, element: OutsideElement) {
        self.outside += 1;
        self.rows.insert(element.place);
        self.listed.push(element);
        if self.listed.len() >= 4 * LISTED {
            self.shorten();
        }
    }

    fn leave_open(&mut self, columns: usize, reason: Unbounded) {
        self.elements += columns;
        self.undecided += columns;
        self.reason.get_or_insert(reason);
    }

    fn add(&mut self, other: Judged) {
        self.elements += other.elements;
        self.within += other.within;
        self.undecided += other.undecided;
        self.without_key += other.without_key;
        self.overflowed += other.overflowed;
        self.outside += other.outside;
        self.largest_error = self.largest_error.max(other.largest_error);
        self.tightest = self.tightest.max(other.tightest);
        self.largest_bound = self.largest_bound.max(other.largest_bound);
        self.listed.extend(other.listed);
        self.shorten();
        self.rows.extend(other.rows);
        self.reason = self.reason.or(other.reason);
    }

    fn shorten(&mut self) {
        let order = |x: &OutsideElement, y: &OutsideElement| {
            y.ratio().total_cmp(&x.ratio()).then((x.place, x.column).cmp(&(y.place, y.column)))
        };
        self.listed.sort_by(order);
        self.listed.truncate(LISTED);
    }
}

/// The operands with their magnitudes.
struct Magnitudes {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
}

/// Rows of a head that are computed together.
struct Block {
    head: usize,
    rows: Range<usize>,
}

/// Buffers of a thread.
#[derive(Default)]
struct Buffers {
    products: Vec<f64>,
    magnitudes: Vec<f64>,
    weights: Vec<f64>,
    errors: Vec<f64>,
    weighted: Vec<f64>,
    weighted_errors: Vec<f64>,
    added: Vec<f64>,
    row: Weights,
}

/// Judges every element, and adds the verdicts to `judged`.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted), with the verdicts so far.
pub(super) fn judge(
    operands: &Operands,
    claim: &AttentionClaim,
    constants: &Constants,
    judged: &mut Judged,
    done: &dyn Fn(u64),
) -> Result<()> {
    let absolute = |values: &[f64]| values.iter().map(|value| value.abs()).collect::<Vec<f64>>();
    let magnitudes = Magnitudes {
        q: absolute(&operands.q.values),
        k: absolute(&operands.k.values),
        v: absolute(&operands.v.values),
    };
    let together = (SCORES / operands.k.rows).clamp(1, ROWS);
    let rows = operands.q.rows;
    let blocks = (0..operands.q.count()).flat_map(|head| {
        (0..rows).step_by(together).map(move |from| Block { head, rows: from..rows.min(from + together) })
    });
    let one =
        |block: Block, buffers: &mut Buffers| Ok(judge_rows(operands, claim, constants, &magnitudes, &block, buffers));
    work::each(blocks, usize::MAX, one, |part| {
        judged.add(part);
        done(judged.elements as u64);
    })
}

fn judge_rows(
    operands: &Operands,
    claim: &AttentionClaim,
    constants: &Constants,
    magnitudes: &Magnitudes,
    block: &Block,
    buffers: &mut Buffers,
) -> Judged {
    let Operands { q, k, v, o } = operands;
    let key_head = operands.key_head(block.head);
    let extents = ScoreExtents { queries: q.rows, keys: k.rows };
    // Keys that the mask leaves to none of these rows take no part.
    let spans = block.rows.clone().map(|row| claim.mask.span(row, extents)).filter(|span| !span.is_empty());
    let span = spans.fold(0..0, |all: Range<usize>, span| match all.is_empty() {
        true => span,
        false => all.start.min(span.start)..all.end.max(span.end),
    });
    let (height, keys) = (block.rows.len(), span.len());
    let queries = q.elements(block.head, &block.rows);
    let (key_piece, value_piece) = (k.elements(key_head, &span), v.elements(key_head, &span));
    for (buffer, size) in [
        (&mut buffers.products, height * keys),
        (&mut buffers.magnitudes, height * keys),
        (&mut buffers.weights, height * keys),
        (&mut buffers.errors, height * keys),
        (&mut buffers.weighted, height * v.columns),
        (&mut buffers.weighted_errors, height * v.columns),
    ] {
        buffer.clear();
        buffer.resize(size, 0.0);
    }
    for (x, y, product) in
        [(&q.values, &k.values, &mut buffers.products), (&magnitudes.q, &magnitudes.k, &mut buffers.magnitudes)]
    {
        let x = view(&x[queries.clone()], height, q.columns);
        let y = view(&y[key_piece.clone()], keys, k.columns);
        general_mat_mul(1.0, &x, &y.t(), 0.0, &mut view_mut(product, height, keys));
    }
    let mut states = Vec::with_capacity(height);
    for (at, row) in block.rows.clone().enumerate() {
        let range = at * keys..(at + 1) * keys;
        buffers.added.resize(k.rows, 0.0);
        claim.mask.fill(block.head, row, extents, &mut buffers.added);
        let scores = Scores {
            products: &buffers.products[range.clone()],
            magnitudes: &buffers.magnitudes[range.clone()],
            added: &buffers.added[span.clone()],
            scale: claim.scale,
        };
        let state = buffers.row.fill(constants, &scores);
        if matches!(state, RowState::Known(_)) {
            buffers.weights[range.clone()].copy_from_slice(&buffers.row.weights);
            buffers.errors[range].copy_from_slice(&buffers.row.errors);
        }
        states.push(state);
    }
    for (weights, values, sums) in [
        (&buffers.weights, &v.values, &mut buffers.weighted),
        (&buffers.errors, &magnitudes.v, &mut buffers.weighted_errors),
    ] {
        let weights = view(weights, height, keys);
        let values = view(&values[value_piece.clone()], keys, v.columns);
        general_mat_mul(1.0, &weights, &values, 0.0, &mut view_mut(sums, height, v.columns));
    }
    let mut judged = Judged::default();
    for ((at, row), state) in block.rows.clone().enumerate().zip(states) {
        let place = RowPlace { head: block.head, row };
        let outputs = o.row(block.head, row);
        for (column, output) in outputs.iter().enumerate() {
            let element = at * v.columns + column;
            match state {
                RowState::NoKey => judged.enter_without_key(place, column, *output),
                RowState::Unbounded(reason) => judged.leave_open(1, reason),
                RowState::Known(sums) => {
                    match constants.element(sums, buffers.weighted[element], buffers.weighted_errors[element]) {
                        Some(element) => judged.enter(constants, place, column, *output, element),
                        None => judged.leave_open(1, Unbounded::Sum),
                    }
                }
            }
        }
    }
    judged
}

fn view(values: &[f64], rows: usize, columns: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, columns), values).expect("rows and columns of a buffer")
}

fn view_mut(values: &mut [f64], rows: usize, columns: usize) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape((rows, columns), values).expect("rows and columns of a buffer")
}
