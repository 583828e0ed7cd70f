//! The bounds of all elements of a product, with a reference close to the exact product.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ndarray::{Array2, ArrayView2, LinalgScalar, linalg::general_mat_mul, s};

use super::{
    Claim, Magnitudes, OrderFreeBounds,
    added::Addends,
    enclosed::{Enclosed, NO_QUANTUM, ZERO_QUANTUM, exponent, power, product_up},
    operand::Operand,
};
use crate::{
    Result,
    arithmetic::Unpack,
    base::{interrupt, parallel},
    format::{Class, Format},
    isa::Instruction,
    product::{Factors, Matrix, ProductShape, Schedule},
};

/// Rows and columns that are computed together, and terms that are summed in one piece.
const ROWS: usize = 256;
const COLUMNS: usize = 512;
const TERMS: usize = 256;
/// Blocks between two looks for a signal.
const BATCH: usize = 32;
/// Fraction bits of magnitudes by which bounds are kept.
const BUCKET_BITS: u32 = 6;

/// An element of D against the exact product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElementReference {
    /// A value near the exact one; NaN where an operand is infinite or NaN.
    pub value: f64,
    /// Largest distance of that value from the exact one.
    pub off: f64,
    /// The rigorous bound of |D - exact| of a finite D; infinite where nothing is known.
    pub bound: f64,
    /// True if a sum may overflow.
    pub may_overflow: bool,
    /// True if the parts of some schedules may saturate: the bound covers the other schedules.
    pub may_saturate: bool,
    /// The sum of |a b|, rounded up.
    pub magnitudes: f64,
}

impl ElementReference {
    /// True if D by the claim may be infinite, or saturate: no tolerance covers it.
    pub fn is_open(&self, claim: &Claim) -> bool {
        self.may_overflow || self.may_saturate && !claim.is_exact
    }
}

/// Properties of a row of A, or of a column of B.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    /// True if all elements and scales are finite.
    finite: bool,
    /// Largest exponent that counts in an alignment, with the scale.
    exponent: i32,
    /// True if an exponent may lie above that of the value's leading bit.
    loose: bool,
    /// Every element is a multiple of two to this power.
    quantum: i32,
    /// Largest magnitude.
    largest: f64,
    /// Largest magnitude of an element that the unit takes for zero.
    flushed: f64,
}

/// The bounds of all elements of a product by a claim, whatever the order.
pub struct ProductBounds {
    /// The factors and addends, of products that are not A times B alone.
    addends: Option<Addends>,
    bounds: Vec<OrderFreeBounds>,
    rows: Vec<Line>,
    columns: Vec<Line>,
    k: usize,
    /// A by rows and B by k, with the scales of blocks, as f32 or f64.
    values: Values,
    /// Exponent of the smallest number above zero of the sums of the reference.
    least: i32,
    /// Bits below a sum's leading one that can decide a bound.
    deciding_bits: i32,
    /// Bounds of sums by the claim, whatever the operands.
    known: Arc<Mutex<HashMap<BoundKey, SumBound>>>,
    /// Probable bounds by the bits of a sum and of the probability.
    probable: Arc<Mutex<HashMap<(u64, u64), f64>>>,
}

/// The bounds of sums before they are rounded to D's format, and of those that are not rounded.
#[derive(Debug, Clone, Copy)]
struct SumBound {
    /// The largest bound of a D that is the sum as it is.
    unrounded: f64,
    /// The sum with the largest bound of those that are rounded to D's format.
    rounded: Option<Enclosed>,
    may_overflow: bool,
    may_saturate: bool,
}

/// Key of a bound: the sum's bits, the largest exponent of a product, the quantum of all.
type BoundKey = (u64, Option<i32>, i32);

/// A and B as numbers.
enum Values {
    Single(Vec<f32>, Vec<f32>),
    Double(Vec<f64>, Vec<f64>),
}

/// The bits of a magnitude, rounded up to those by which bounds are kept.
fn bucket(magnitude: f64) -> u64 {
    let shift = 52 - BUCKET_BITS;
    (magnitude.to_bits() + (1u64 << shift) - 1) >> shift << shift
}

/// True if a product has bounds of every order: A times B alone, or the product of a family.
pub fn has_order_free(claim: &Claim, factors: &Factors) -> bool {
    !claim.is_exact || is_bare(&claim.schedules[0], factors)
}

/// True if D is A times B alone: without C, a bias, alpha, or scales outside the instruction.
pub fn is_bare(schedule: &Schedule, factors: &Factors) -> bool {
    factors.c.is_none() && factors.bias.is_none() && schedule.scales.is_none() && schedule.alpha == 1.0
}

impl ProductBounds {
    /// The bounds of A times B; by a family also of alpha A B + beta C + bias.
    ///
    /// alpha, C and the bias enter in the register, after the sum.
    ///
    /// # Errors
    /// Operands in other formats than the claim's instructions take; one schedule with C, a bias, alpha or scales, and what has only bounds
    /// of known operands.
    pub fn new(claim: &Claim, factors: &Factors) -> Result<ProductBounds> {
        let schedule = &claim.schedules[0];
        let addends = Addends::of(claim, factors)?;
        let k = factors.k();
        let sums = claim.schedules.iter().map(|schedule| Schedule { alpha: 1.0, ..schedule.clone() });
        let mut bounds =
            sums.map(|schedule| OrderFreeBounds::new(&claim.model, &schedule, k)).collect::<Result<Vec<_>>>()?;
        OrderFreeBounds::share(&mut bounds);
        let programs = claim
            .schedules
            .iter()
            .map(|schedule| claim.model.program(&schedule.instruction))
            .collect::<Result<Vec<_>>>()?;
        let unpacks = |side: usize| {
            let mut all: Vec<Unpack> = Vec::new();
            for program in &programs {
                if !all.contains(&program.unpack[side]) {
                    all.push(program.unpack[side]);
                }
            }
            all
        };
        let i = &schedule.instruction;
        let (a, rows) = lines(&factors.a, factors.scale_a.as_ref(), i, &unpacks(0));
        let turned = (factors.b.transposed(), factors.scale_b.as_ref().map(Matrix::transposed));
        let (b, columns) = lines(&turned.0, turned.1.as_ref(), i, &unpacks(1));
        let single = narrow(&a) && narrow(&b);
        let values = match single {
            true => Values::Single(a.iter().map(|x| *x as f32).collect(), b.iter().map(|x| *x as f32).collect()),
            false => Values::Double(a, b),
        };
        let least = if single { -149 } else { -1074 };
        // Fraction bits beyond which no alignment and no rounding of the register looks.
        let deciding_bits = if schedule.register().bits > 32 { 64 } else { 40 };
        Ok(ProductBounds {
            bounds,
            rows,
            columns,
            k,
            values,
            least,
            deciding_bits,
            known: Arc::default(),
            probable: Arc::default(),
            addends,
        })
    }

    /// The bounds of other operands with as many terms, by the same claim.
    ///
    /// # Errors
    /// As [`ProductBounds::new`].
    pub fn of_other(&self, claim: &Claim, factors: &Factors) -> Result<ProductBounds> {
        Ok(ProductBounds { known: Arc::clone(&self.known), ..ProductBounds::new(claim, factors)? })
    }

    /// The same bounds, with references that are summed in f64.
    pub fn in_doubles(mut self) -> ProductBounds {
        if let Values::Single(a, b) = &self.values {
            let [a, b] = [a, b].map(|values| values.iter().copied().map(f64::from).collect());
            (self.values, self.least) = (Values::Double(a, b), -1074);
        }
        self
    }

    /// The bound of an element's sum that errors exceed with probability `risk`, by the widest schedule.
    ///
    /// Rounding errors are taken as independent and uniform, as by [`ErrorBound::probable`](super::ErrorBound::probable); the magnitudes
    /// of the terms add up to `magnitudes`.
    fn probable(&self, magnitudes: f64, risk: f64) -> f64 {
        let lock = || self.probable.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = bucket(magnitudes);
        if let Some(known) = lock().get(&(bucket, risk.to_bits())) {
            return *known;
        }
        let sum = Magnitudes::of_sum(f64::from_bits(bucket));
        let bound = self.bounds.iter().map(|bounds| bounds.of(&sum).probable(risk)).fold(0.0, f64::max);
        lock().insert((bucket, risk.to_bits()), bound);
        bound
    }

    /// The bound that errors exceed with probability `risk`; with addends the rigorous bound.
    pub fn expected(&self, element: &ElementReference, risk: f64) -> f64 {
        match self.addends {
            None => self.probable(element.magnitudes, risk).min(element.bound),
            Some(_) => element.bound,
        }
    }

    /// The reference of one element.
    pub fn of(&self, row: usize, column: usize) -> ElementReference {
        let (value, magnitudes) = match &self.values {
            Values::Single(a, b) => self.sums_of(a, b, row, column),
            Values::Double(a, b) => self.sums_of(a, b, row, column),
        };
        self.with_addends(row, column, self.element(&mut HashMap::new(), row, column, value, magnitudes))
    }

    fn with_addends(&self, row: usize, column: usize, element: ElementReference) -> ElementReference {
        self.addends.as_ref().map_or(element, |addends| addends.added(row, column, element))
    }

    /// The sum of the terms of an element, and of their magnitudes.
    fn sums_of<T: Copy + Into<f64>>(&self, a: &[T], b: &[T], row: usize, column: usize) -> (f64, f64) {
        let (a, b) = (&a[row * self.k..][..self.k], &b[column * self.k..][..self.k]);
        let products = a.iter().zip(b).map(|(x, y)| (*x).into() * (*y).into());
        products.fold((0.0, 0.0), |(sum, magnitudes): (f64, f64), product| (sum + product, magnitudes + product.abs()))
    }

    /// Calls `visit` with row, column and reference of every element, in blocks that threads share.
    ///
    /// Returns what was made of the blocks. An interrupted run has the blocks until then.
    pub fn each<T: Send>(
        &self,
        done: &(dyn Fn(u64) + Sync),
        start: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, usize, usize, &ElementReference) + Sync,
    ) -> Vec<T> {
        let across = |row: usize| (0..self.columns.len()).step_by(COLUMNS).map(move |column| (row, column));
        let blocks: Vec<(usize, usize)> = (0..self.rows.len()).step_by(ROWS).flat_map(across).collect();
        let finished = AtomicU64::new(0);
        let block = |(row, column): &(usize, usize)| {
            if interrupt::check().is_err() {
                return None;
            }
            let height = ROWS.min(self.rows.len() - row);
            let width = COLUMNS.min(self.columns.len() - column);
            let (rows, columns) = (*row..row + height, *column..column + width);
            let (sums, magnitudes) = match &self.values {
                Values::Single(a, b) => self.block(a, b, rows, columns, f32::abs),
                Values::Double(a, b) => self.block(a, b, rows, columns, f64::abs),
            };
            let mut state = start();
            let mut known = HashMap::new();
            let mut judged = 0;
            // An interrupted block has the rows until then.
            for y in (0..height).take_while(|_| interrupt::check().is_ok()) {
                judged += width as u64;
                for x in 0..width {
                    let at = y * width + x;
                    let element = self.element(&mut known, row + y, column + x, sums[at], magnitudes[at]);
                    let element = self.with_addends(row + y, column + x, element);
                    visit(&mut state, row + y, column + x, &element);
                }
            }
            done(finished.fetch_add(judged, Ordering::Relaxed) + judged);
            Some(state)
        };
        let mut made = Vec::new();
        for batch in blocks.chunks(BATCH) {
            if interrupt::check().is_err() {
                break;
            }
            made.extend(parallel::map(batch, block).into_iter().flatten());
        }
        made
    }

    /// The sums of a block, and of the magnitudes of its terms.
    fn block<T: LinalgScalar + Into<f64>>(
        &self,
        a: &[T],
        b: &[T],
        rows: Range<usize>,
        columns: Range<usize>,
        magnitude: fn(T) -> T,
    ) -> (Vec<f64>, Vec<f64>) {
        let shape = ProductShape { m: rows.len(), n: columns.len(), k: self.k };
        let a: &[T] = &a[rows.start * self.k..rows.end * self.k];
        let b: &[T] = &b[columns.start * self.k..columns.end * self.k];
        let [x, y] = [a, b].map(|values| values.iter().map(|x| magnitude(*x)).collect::<Vec<T>>());
        (pieces(a, b, shape), pieces(&x, &y, shape))
    }

    fn element(
        &self,
        known: &mut HashMap<BoundKey, SumBound>,
        row: usize,
        column: usize,
        value: f64,
        magnitudes: f64,
    ) -> ElementReference {
        let (x, y) = (&self.rows[row], &self.columns[column]);
        let k = self.k as f64;
        let (bits, epsilon) = match self.values {
            Values::Single(..) => (24, f64::from(f32::EPSILON)),
            Values::Double(..) => (53, f64::EPSILON),
        };
        // Relative error of a piece: half a unit for each term, whatever the order (Higham, 2002, section 3.1).
        let piecewise = 0.51 * epsilon * TERMS.min(self.k) as f64;
        // Sums of pieces in f64, and products and sums that underflow.
        let tiny = power(self.least);
        let sum = (magnitudes + k * tiny) * (1.0 + 2.0 * piecewise + 2.0 * k * f64::EPSILON);
        if !(x.finite && y.finite && sum.is_finite()) {
            return ElementReference {
                value: f64::NAN,
                off: f64::INFINITY,
                bound: f64::INFINITY,
                may_overflow: true,
                may_saturate: true,
                magnitudes: sum,
            };
        }
        let quantum = x.quantum.saturating_add(y.quantum).clamp(NO_QUANTUM, ZERO_QUANTUM);
        // Sums of a few multiples of one number are exact.
        let exact = |sum: f64, bits: i32| sum <= power(quantum.saturating_add(bits).min(1023));
        // No product underflows.
        let off = match quantum >= self.least
            && exact(x.largest * y.largest * TERMS.min(self.k) as f64, bits)
            && exact(sum, 53)
        {
            true => 0.0,
            false => sum * (piecewise + 2.0 * k * f64::EPSILON) + k * tiny,
        };
        let flushed = k * product_up(x.flushed, y.largest).max(product_up(y.flushed, x.largest)) * 2.0;
        let sum_up = if off == 0.0 { magnitudes } else { sum };
        if sum_up == 0.0 {
            let (may_overflow, may_saturate) = (false, false);
            return ElementReference { value: 0.0, off: 0.0, bound: 0.0, may_overflow, may_saturate, magnitudes: 0.0 };
        }
        // An exact sum of integers in the last bucket of a binade is bounded as it is: the bucket would reach the next.
        let rounded_up = bucket(sum_up);
        let reaches_next = exponent(f64::from_bits(rounded_up)) > exponent(sum_up);
        let bucket = if off == 0.0 && reaches_next { sum_up.to_bits() } else { rounded_up };
        let quantum = if off > 0.0 && quantum < exponent(sum_up) - self.deciding_bits { NO_QUANTUM } else { quantum };
        let most = (x.loose || y.loose).then_some(x.exponent + y.exponent).filter(|most| *most > exponent(sum_up));
        let bound = *known.entry((bucket, most, quantum)).or_insert_with(|| {
            let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let stored = lock().get(&(bucket, most, quantum)).copied();
            stored.unwrap_or_else(|| {
                let magnitudes = Magnitudes { sum: f64::from_bits(bucket), exponent: most, quantum, flushed: 0.0 };
                let bound = self.sum_bound(&magnitudes);
                lock().insert((bucket, most, quantum), bound);
                bound
            })
        });
        let rounded = bound.rounded.map(|sum| self.bounds[0].rounded(sum, value.abs() + off)).unwrap_or_default();
        ElementReference {
            value,
            off,
            bound: bound.unrounded.max(rounded.finite()) + flushed,
            may_overflow: bound.may_overflow || rounded.may_overflow(),
            may_saturate: bound.may_saturate,
            magnitudes: sum_up,
        }
    }

    /// The bound of a sum by any of the schedules.
    ///
    /// A schedule whose parts may saturate has no bound; it counts if all are so.
    fn sum_bound(&self, magnitudes: &Magnitudes) -> SumBound {
        let sums: Vec<(Enclosed, bool)> = self.bounds.iter().map(|bound| bound.sum(magnitudes)).collect();
        let is_bounded = |sum: &Enclosed| sum.error.finite().is_finite();
        let any = sums.iter().any(|(sum, _)| is_bounded(sum));
        let counted = || sums.iter().filter(move |(sum, _)| !any || is_bounded(sum));
        let larger = |x: &&Enclosed, y: &&Enclosed| x.error.finite().total_cmp(&y.error.finite());
        let unrounded = counted().filter(|(_, rounds)| !rounds).map(|(sum, _)| sum.error.finite()).fold(0.0, f64::max);
        let quantum = counted().filter(|(_, rounds)| *rounds).map(|(sum, _)| sum.quantum).min();
        let rounded = counted().filter(|(_, rounds)| *rounds).map(|(sum, _)| sum).max_by(larger);
        SumBound {
            unrounded,
            rounded: rounded.zip(quantum).map(|(sum, quantum)| Enclosed { quantum, ..*sum }),
            may_overflow: counted().any(|(sum, _)| sum.error.may_overflow()),
            may_saturate: !sums.iter().all(|(sum, _)| is_bounded(sum)),
        }
    }
}

/// Sums of products of rows of `a` and rows of `b`: pieces of k by a library, and their sum in f64.
///
/// `a` has m rows, and `b` has n.
fn pieces<T: LinalgScalar + Into<f64>>(a: &[T], b: &[T], shape: ProductShape) -> Vec<f64> {
    let ProductShape { m: height, n: width, k } = shape;
    let a = ArrayView2::from_shape((height, k), a).expect("rows of A");
    let b = ArrayView2::from_shape((width, k), b).expect("columns of B");
    let mut sums = vec![0.0f64; height * width];
    let mut piece = Array2::<T>::zeros((height, width));
    for from in (0..k).step_by(TERMS) {
        let to = k.min(from + TERMS);
        let (x, y) = (a.slice(s![.., from..to]), b.slice(s![.., from..to]));
        general_mat_mul(T::one(), &x, &y.t(), T::zero(), &mut piece);
        sums.iter_mut().zip(piece.iter()).for_each(|(sum, addend)| *sum += (*addend).into());
    }
    sums
}

/// True if f32 holds all numbers and their products without leaving its range.
fn narrow(values: &[f64]) -> bool {
    values.iter().all(|x| {
        let small = *x == 0.0 || (x.abs() >= power(-50) && x.abs() <= power(50));
        small && f64::from(*x as f32) == *x && (x.to_bits() & ((1 << 40) - 1)) == 0 || !x.is_finite()
    })
}

/// The elements of a matrix by rows of A or columns of B, and the properties of each.
fn lines(matrix: &Matrix, scales: Option<&Matrix>, i: &Instruction, unpacks: &[Unpack]) -> (Vec<f64>, Vec<Line>) {
    let format: &'static Format = matrix.format;
    // Codes of few bits are decoded once.
    let tabled = format.bits <= 16 && matrix.codes.len() > 1 << format.bits;
    let decoded = |code: u64| {
        (
            format.to_f64(code),
            format.decode(code).class == Class::Subnormal,
            unpacks.iter().map(|unpack| Operand::of(format, code, unpack)).collect::<Vec<_>>(),
        )
    };
    let table: Vec<_> = if tabled { (0..1u64 << format.bits).map(decoded).collect() } else { Vec::new() };
    let per_line = parallel::map(0..matrix.rows, |row| {
        let mut line = Line {
            finite: true,
            exponent: i32::MIN / 4,
            loose: scales.is_some(),
            quantum: ZERO_QUANTUM,
            largest: 0.0,
            flushed: 0.0,
        };
        let mut values = Vec::with_capacity(matrix.columns);
        for column in 0..matrix.columns {
            let code = matrix.get(row, column);
            let scale = i.scale.zip(scales).map(|(scale, scales)| {
                let code = scales.get(row, column / scale.block);
                (scale.format.decode(code), scale.format)
            });
            let (factor, scale_exponent, scale_quantum) = match &scale {
                None => (1.0, 0, 0),
                Some((datum, format)) => (
                    datum.to_f64(),
                    datum.exponent + format.fraction_bits() as i32,
                    datum.exponent + datum.significand.max(1).trailing_zeros() as i32,
                ),
            };
            let computed;
            let (value, subnormal, operands) = match table.get((code & format.code_mask()) as usize) {
                Some(known) => known,
                None => {
                    computed = decoded(code);
                    &computed
                }
            };
            for (unpack, operand) in unpacks.iter().zip(operands) {
                match operand {
                    Some(operand) if factor.is_finite() => {
                        // Sums of products that share a scale count with its exponent alone.
                        let counted =
                            operand.exponent.map_or(i32::MIN / 4, |exponent| exponent.max(0)) + scale_exponent;
                        let alone = operand.exponent.map_or(i32::MIN / 4, |exponent| exponent + scale_exponent);
                        line.exponent = line.exponent.max(if scale.is_some() { counted } else { alone });
                        line.loose |= *subnormal && unpack.wider.is_none() || unpack.zeros;
                        line.quantum = line.quantum.min(operand.quantum.saturating_add(if operand.value == 0.0 {
                            0
                        } else {
                            scale_quantum
                        }));
                        if operand.is_flushed() {
                            line.flushed = line.flushed.max(operand.value.abs() * factor);
                        }
                    }
                    _ => line.finite = false,
                }
            }
            let value = value * factor;
            line.largest = line.largest.max(value.abs());
            values.push(if line.finite { value } else { 0.0 });
        }
        (values, line)
    });
    let mut all = Vec::with_capacity(matrix.rows * matrix.columns);
    let mut lines = Vec::with_capacity(matrix.rows);
    for (values, line) in per_line {
        all.extend(values);
        lines.push(line);
    }
    (all, lines)
}
