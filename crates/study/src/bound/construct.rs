//! Operands that are constructed to lose as much as an instruction can.
//!
//! One product sets the exponent of an alignment and the unit of a rounding. The others lie just below, at or just above the last bit that
//! is kept, so that each loses as much as it can, in one direction. The places of these bits follow from the program of the instruction.
//! A step is improved term by term. A chain repeats the step that loses most while the sum stays the same.

use crate::{
    Result,
    arithmetic::{ElementaryOperation, Evaluator, Model, Program},
    base::interrupt,
    format::{Float, Format, Overflow, Rounding},
    isa::{Case, Instruction},
    product::bound,
};

/// Largest exponent of a product, where the formats allow it.
const HIGHEST: i32 = 60;
/// Largest distance of the largest product of a step.
const LARGE: i32 = 3;
/// Distances below the largest product that are tried in every program.
const DISTANCES: [i32; 6] = [0, 1, 2, 3, 40, 55];
/// Positions of a step that are improved one by one, at most.
const POSITIONS: usize = 16;
/// Later steps of a chain that are computed for its error.
const REPEATED: usize = 5;
/// Rounds over all positions, at most.
const ROUNDS: usize = 4;

/// The fraction of a significand, from its bits.
type Fraction = fn(u32) -> u64;

const ZERO: Fraction = |_| 0;
const ULP: Fraction = |bits| u64::from(bits > 0);
const QUARTER: Fraction = |bits| (1 << bits) >> 2;
const HALF: Fraction = |bits| (1 << bits) >> 1;
const ONES: Fraction = |bits| (1 << bits) - 1;

/// Fractions of the factors of a product: powers of two, numbers just below and above them, others.
const SHAPES: [[Fraction; 2]; 12] = [
    [ZERO, ZERO],
    [ONES, ONES],
    [ZERO, ONES],
    [ZERO, ULP],
    [ULP, ULP],
    [HALF, ZERO],
    [HALF, ULP],
    [QUARTER, ZERO],
    [QUARTER, ULP],
    [HALF, HALF],
    [HALF, ONES],
    [ONES, ULP],
];

/// A product of a construction; its exponent lies below that of the largest one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Term {
    distance: i32,
    shape: usize,
    negative: bool,
}

/// The terms of a step; `None` for zeros.
pub(super) type Terms = Vec<Option<Term>>;

/// Operands of one dot-product-add with a large error.
#[derive(Debug, Clone, PartialEq)]
pub struct Attained {
    /// |d - exact| over the sum of the magnitudes of all terms.
    pub relative: f64,
    /// The operands.
    pub case: Case,
}

/// Builds operands for one instruction.
pub(super) struct Builder {
    evaluator: Evaluator,
    instruction: Instruction,
    floats: [&'static Float; 2],
    /// Exponent of the largest product.
    top: i32,
    /// Distances from the largest product where bits are cut off or rounded.
    distances: Vec<i32>,
    /// Terms of a step that are not zero, at most.
    pub(super) count: usize,
}

/// Operands of one dot-product-add, with c = 0, that lose as much as a construction reaches.
///
/// `None` for integers, and where no operands have an error.
///
/// # Errors
/// A model without the instruction; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn attained(model: &Model, i: &Instruction) -> Result<Option<Attained>> {
    let Some(builder) = Builder::new(model, i, i.stored_k(), None)? else { return Ok(None) };
    let (terms, relative) = builder.first()?;
    Ok(builder.case(&terms, 0).filter(|_| relative > 0.0).map(|case| Attained { relative, case }))
}

/// The steps of which a chain is made.
pub(super) struct Steps {
    pub(super) builder: Builder,
    /// Steps of the chain.
    pub(super) length: usize,
    /// The first step, and each later one.
    pub(super) first: Terms,
    pub(super) later: Terms,
}

impl Builder {
    /// A builder of steps with at most `count` terms.
    /// `None` for integers, and for a unit that draws random bits.
    pub(super) fn new(
        model: &Model,
        i: &Instruction,
        count: usize,
        output: Option<&'static Format>,
    ) -> Result<Option<Builder>> {
        let (Some(a), Some(b), Some(d)) = (i.a.float(), i.b.float(), i.d.float()) else { return Ok(None) };
        // Random bits decide the errors of other units.
        if model.program(i)?.random_bits().is_some() {
            return Ok(None);
        }
        let evaluator = model.evaluator(i)?;
        let output_emax = output.and_then(Format::float).map_or(HIGHEST, Float::emax);
        let top = (a.emax() + b.emax()).min(d.emax() - 2).min(output_emax - 2).min(HIGHEST);
        let distances = distances(evaluator.program(), output);
        Ok(Some(Builder { evaluator, instruction: i.clone(), floats: [a, b], top, distances, count }))
    }

    /// The codes of a product whose block has a scale of two to a power.
    ///
    /// `None` where the formats lack the numbers.
    pub(super) fn codes(&self, term: Term, scale: i32) -> Option<[u64; 2]> {
        let i = &self.instruction;
        let [a, b] = self.floats;
        let exponent = self.top - term.distance - scale;
        let x = exponent.div_euclid(2).clamp(a.emin(), a.emax());
        let y = (exponent - x).clamp(b.emin(), b.emax());
        let x = (exponent - y).clamp(a.emin(), a.emax());
        if x + y != exponent {
            return None;
        }
        let code = |format: &'static Format, float: &Float, exponent: i32, fraction: Fraction| {
            let bits = float.precision() - 1;
            let significand = 1.0 + fraction(bits) as f64 / (1u64 << bits) as f64;
            format.encode_f64(significand * bound::power(exponent), Rounding::Rz, Overflow::Saturate)
        };
        let [first, second] = SHAPES[term.shape];
        let first = code(i.a, a, x, first)?;
        let first =
            if term.negative { i.a.encode_f64(-i.a.to_f64(first), Rounding::Rz, Overflow::Saturate)? } else { first };
        Some([first, code(i.b, b, y, second)?])
    }

    /// The operands of a step; `None` where the formats lack the numbers.
    fn case(&self, terms: &Terms, c: u64) -> Option<Case> {
        let i = &self.instruction;
        let mut case = Case { c, ..Case::zeros(i) };
        let mut shifts = vec![0; case.scale_a.len()];
        if let Some(scale) = i.scale {
            // The scale of a block brings its largest product into the range of the formats.
            let [a, b] = self.floats;
            for (block, shift) in shifts.iter_mut().enumerate() {
                let of_block = |at: &usize| case.logical(i, *at) / scale.block == block;
                let nearest = (0..terms.len()).filter(of_block).filter_map(|at| terms[at]).map(|term| term.distance);
                let nearest = nearest.min().unwrap_or(0);
                *shift = (self.top - nearest - (a.emax() + b.emax())).min(0);
            }
            for (block, shift) in shifts.iter().enumerate() {
                let half = scale.format.float().map_or(*shift, |float| (*shift).clamp(float.emin(), float.emax()));
                let code = |exponent: i32| {
                    let code = scale.format.encode_f64(bound::power(exponent), Rounding::Rne, Overflow::Saturate)?;
                    (scale.format.to_f64(code) == bound::power(exponent)).then_some(code)
                };
                (case.scale_a[block], case.scale_b[block]) = (code(half)?, code(shift - half)?);
            }
        }
        for (at, term) in terms.iter().enumerate() {
            let Some(term) = term else { continue };
            let logical = case.logical(i, at);
            let shift = i.scale.map_or(0, |scale| shifts[logical / scale.block]);
            // A product that a block lacks is zero.
            [case.a[at], case.b[logical]] = self.codes(*term, shift).unwrap_or_default();
        }
        Some(case)
    }

    /// The relative error of a step from c = 0; 0 where the formats lack the numbers.
    fn error(&self, terms: &Terms) -> f64 {
        let i = &self.instruction;
        // A sum of small products alone may underflow.
        let is_large = |term: &Term| term.distance <= LARGE;
        let Some(case) = self.case(terms, 0).filter(|_| terms.iter().flatten().any(is_large)) else {
            return 0.0;
        };
        let d = i.d.to_f64(self.evaluator.dot(&case));
        let error = relative_error(self.pairs(&case), d);
        if error.is_finite() { error } else { 0.0 }
    }

    /// The factors of the products of a step, with their scales.
    fn pairs<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = (f64, f64)> + 'a {
        let i = &self.instruction;
        (0..case.a.len()).map(move |at| {
            let logical = case.logical(i, at);
            let scale = i.scale.map_or(1.0, |scale| {
                let block = logical / scale.block;
                scale.format.to_f64(case.scale_a[block]) * scale.format.to_f64(case.scale_b[block])
            });
            (i.a.to_f64(case.a[at]) * scale, i.b.to_f64(case.b[logical]))
        })
    }

    /// All terms of a sign.
    pub(super) fn choices(&self, negative: bool) -> impl Iterator<Item = Term> + '_ {
        self.distances
            .iter()
            .flat_map(move |distance| (0..SHAPES.len()).map(move |shape| Term { distance: *distance, shape, negative }))
    }

    /// The first step of a chain, and its relative error.
    fn first(&self) -> Result<(Terms, f64)> {
        let mut best: Vec<(Terms, f64)> = Vec::new();
        let mut places = vec![0, self.count - 1, self.count / 2];
        places.dedup();
        for place in places {
            let mut of_place = (Terms::new(), 0.0);
            for small in self.choices(false).chain(self.choices(true)) {
                let mut terms = self.filled(Some(small));
                terms[place] = Some(Term { distance: 0, shape: 0, negative: false });
                let error = self.error(&terms);
                if error > of_place.1 || of_place.0.is_empty() {
                    of_place = (terms, error);
                }
            }
            best.push(of_place);
            interrupt::check()?;
        }
        best.sort_by(|x, y| y.1.total_cmp(&x.1));
        let improved = best.into_iter().take(2).map(|(terms, _)| self.improved(terms, &|terms| self.error(terms)));
        let improved = improved.collect::<Result<Vec<_>>>()?;
        Ok(improved.into_iter().max_by(|x, y| x.1.total_cmp(&y.1)).unwrap_or_else(|| (self.filled(None), 0.0)))
    }

    /// The first step of a chain of `count`, and the one that loses most where it is repeated.
    pub(super) fn steps(self, count: usize) -> Result<Steps> {
        let (first, _) = self.first()?;
        let mut later = first.clone();
        if count > 1 {
            let error = |later: &Terms| self.chain_error([&first, later], count);
            let seeds = self.choices(false).chain(self.choices(true)).map(|small| self.filled(Some(small)));
            let best = seeds.map(|terms| (error(&terms), terms)).max_by(|x, y| x.0.total_cmp(&y.0));
            if let Some((_, terms)) = best {
                later = self.improved(terms, &error)?.0;
            }
        }
        Ok(Steps { builder: self, length: count, first, later })
    }

    /// The relative error of a chain of `count` steps, from its first few.
    fn chain_error(&self, [first, later]: [&Terms; 2], count: usize) -> f64 {
        let i = &self.instruction;
        let steps = REPEATED.min(count - 1);
        let (mut c, mut pairs) = (0, Vec::new());
        let (mut errors, mut magnitudes) = ([0.0; 2], [0.0; 2]);
        for step in 0..=steps {
            let Some(case) = self.case(if step == 0 { first } else { later }, c) else { return 0.0 };
            c = self.evaluator.dot(&case);
            pairs.extend(self.pairs(&case));
            if step == 0 || step == steps {
                let at = usize::from(step > 0);
                (errors[at], magnitudes[at]) = signed_error(pairs.iter().copied(), i.d.to_f64(c));
            }
        }
        let later = count as f64 - 1.0;
        let along = |ends: [f64; 2]| ends[0] + (ends[1] - ends[0]) / steps as f64 * later;
        let relative = along(errors).abs() / along(magnitudes);
        if relative.is_finite() { relative } else { 0.0 }
    }

    /// A step of equal terms.
    fn filled(&self, term: Option<Term>) -> Terms {
        (0..self.instruction.stored_k()).map(|at| term.filter(|_| at < self.count)).collect()
    }

    /// A step with other terms at some positions, as long as the error grows.
    fn improved(&self, mut terms: Terms, error_of: &dyn Fn(&Terms) -> f64) -> Result<(Terms, f64)> {
        let count = self.count;
        let mut sets: Vec<Vec<usize>> = [1, 2, 4]
            .into_iter()
            .flat_map(|period| (0..period).map(move |rest| (rest..count).step_by(period).collect()))
            .collect();
        sets.extend([(0..count / 2).collect(), (count / 2..count).collect()]);
        let single = (0..count).filter(|at| count <= POSITIONS || *at < POSITIONS / 2 || at + POSITIONS / 2 >= count);
        sets.extend(single.map(|at| vec![at]));
        let mut error = error_of(&terms);
        for _ in 0..ROUNDS {
            let before = error;
            for set in &sets {
                interrupt::check()?;
                let is_large = |at: usize| terms[at].is_some_and(|term| term.distance == 0);
                let changed: Vec<usize> = set.iter().copied().filter(|at| set.len() == 1 || !is_large(*at)).collect();
                let Some(now) = changed.first().map(|at| terms[*at]) else { continue };
                let negative = now.is_some_and(|term| term.negative);
                let flipped = now.map(|term| Term { negative: !negative, ..term });
                let choices = self.choices(negative).map(Some).chain([None, flipped]);
                for choice in choices {
                    let mut tried = terms.clone();
                    changed.iter().for_each(|at| tried[*at] = choice);
                    let made = error_of(&tried);
                    if made > error {
                        (terms, error) = (tried, made);
                    }
                }
            }
            if error <= before {
                break;
            }
        }
        Ok((terms, error))
    }
}

/// Distances below the largest product at which a program cuts bits off or rounds.
fn distances(program: &Program, output: Option<&'static Format>) -> Vec<i32> {
    let mut distances = DISTANCES.to_vec();
    let mut cut = |bits: i32| distances.extend(bits - 2..=bits + 2);
    let precision = |format: &Format| format.float().map(|float| float.precision() as i32);
    for operation in program.operations() {
        if let ElementaryOperation::Sum(sum) = operation {
            sum.alignment.iter().for_each(|alignment| cut(alignment.bits));
            sum.addends.iter().filter_map(|addend| addend.bits).for_each(&mut cut);
        }
        operation.destination().and_then(|to| precision(to.target.format)).into_iter().for_each(&mut cut);
    }
    output.and_then(precision).into_iter().chain(precision(program.output.target.format)).for_each(&mut cut);
    distances.sort_unstable();
    distances.dedup();
    distances.retain(|distance| *distance >= 0);
    distances
}

/// |D - exact| over the sum of magnitudes of products.
pub(super) fn relative_error(pairs: impl Iterator<Item = (f64, f64)>, d: f64) -> f64 {
    let (error, magnitudes) = signed_error(pairs, d);
    error.abs() / magnitudes
}

/// D - exact, and the sum of magnitudes of products.
fn signed_error(pairs: impl Iterator<Item = (f64, f64)>, d: f64) -> (f64, f64) {
    // Sums of products of few bits, in two doubles.
    let (mut high, mut low, mut magnitudes) = (0.0f64, 0.0f64, 0.0);
    for (x, y) in pairs {
        let product = x * y;
        let sum = high + product;
        let rest = (high - (sum - (sum - high))) + (product - (sum - high));
        low += rest + x.mul_add(y, -product);
        high = sum;
        magnitudes += product.abs();
    }
    ((d - high) - low, magnitudes)
}
