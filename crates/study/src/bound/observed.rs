//! Errors of an instruction beside their bounds, on directed operands.

use crate::{
    Result,
    arithmetic::Model,
    base::{interrupt, parallel},
    exact::Dot,
    inputs::Sequence,
    isa::{Case, Instruction},
    product::bound::{Enclosed, InstructionBounds},
};

/// Dot-product-adds that a thread takes at a time, about.
const CHUNK: usize = 1 << 12;
/// Chunks that are merged together.
const CHUNKS: u64 = 64;

/// The errors of an instruction's results, beside their bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObservedErrors {
    /// Dot-product-adds with a bound.
    pub cases: u64,
    /// Dot-product-adds whose sum may overflow, or that have an infinite or NaN operand.
    pub unbounded: u64,
    /// Dot-product-adds whose bound is zero: the result is exact.
    pub exact: u64,
    /// Dot-product-adds with an error above the bound: a fault of the bound or of the model.
    pub violations: u64,
    /// The first of these.
    pub first: Option<Case>,
    /// Largest error over its bound.
    pub tightest: f64,
    /// The case with that ratio.
    pub tightest_case: Option<Case>,
}

/// Compares the errors of a model's arithmetic with their bounds, on directed operands.
///
/// Results in formats that saturate instead of overflowing count where they are finite. `progress` gets the number of cases so far.
///
/// # Errors
/// An instruction without a bound; [`Error::Interrupted`](crate::Error::Interrupted), with what was found in `observed`.
pub fn observe(
    model: &Model,
    instruction: &Instruction,
    cases: u64,
    seed: u64,
    observed: &mut ObservedErrors,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let i = instruction;
    let bounds = InstructionBounds::new(model, i)?;
    let evaluator = model.evaluator(i)?;
    let outputs = (i.m * i.n) as u64;
    let tiles = cases.div_ceil(outputs);
    let chunk_tiles = (CHUNK as u64 / outputs).max(1);
    let mut first = 0;
    while first < tiles {
        interrupt::check()?;
        let chunks = (tiles - first).div_ceil(chunk_tiles).min(CHUNKS);
        let parts = parallel::map(0..chunks, |chunk| {
            // An interrupted run keeps the chunks until then.
            if interrupt::check().is_err() {
                return ObservedErrors::default();
            }
            let mut dot = Dot::new(i.a, i.b, i.c, i.d, i.k);
            let from = first + chunk * chunk_tiles;
            let count = (tiles - from).min(chunk_tiles) as usize;
            let drawn = Sequence::Random { seed }.tiles(i, from, count);
            let d = evaluator.execute_here(&drawn);
            let mut errors = ObservedErrors::default();
            for tile in 0..count {
                let lines = bounds.lines(&drawn, tile);
                for (row, column) in (0..i.m).flat_map(|row| (0..i.n).map(move |column| (row, column))) {
                    let place = (tile * i.m + row) * i.n + column;
                    let case = || drawn.case(i, tile, row, column);
                    let enclosed = match &lines {
                        Some([a, b]) => bounds.of_line(&a[row], &b[column], drawn.c.get(place)),
                        None => bounds.enclosed(&case()),
                    };
                    errors.note(enclosed, i, d.get(place), &mut dot, case);
                }
            }
            errors
        });
        parts.into_iter().for_each(|part| observed.add(part));
        first += chunks * chunk_tiles;
        progress(observed.cases + observed.unbounded);
    }
    Ok(())
}

impl ObservedErrors {
    fn note(&mut self, enclosed: Option<Enclosed>, i: &Instruction, code: u64, dot: &mut Dot, case: impl Fn() -> Case) {
        let d = i.d.decode(code);
        let Some(enclosed) = enclosed.filter(|enclosed| enclosed.error.worst().is_finite()) else {
            self.unbounded += 1;
            return;
        };
        let bound = enclosed.error.worst();
        self.cases += 1;
        self.exact += u64::from(bound == 0.0);
        let value = d.to_f64();
        // The exact value lies in an interval of a few units of f64.
        let mut least = (enclosed.low - value).max(value - enclosed.high).max(0.0);
        if i.d.bits == 64 && i.scale.is_none() {
            // The interval is as wide as the errors of f64.
            let case = case();
            let pairs = (0..case.a.len()).map(|k| (case.a[k], case.b[case.logical(i, k)]));
            least = dot.sum(pairs, case.c).deviation(i.d, code).map_or(f64::INFINITY, |deviation| deviation.absolute);
        }
        if !d.is_finite() || least > bound {
            self.violations += 1;
            self.first.get_or_insert_with(case);
        } else if bound > 0.0 && least / bound > self.tightest {
            self.tightest = least / bound;
            self.tightest_case = Some(case());
        }
    }

    fn add(&mut self, other: ObservedErrors) {
        self.cases += other.cases;
        self.unbounded += other.unbounded;
        self.exact += other.exact;
        self.violations += other.violations;
        self.first = self.first.take().or(other.first);
        if other.tightest > self.tightest {
            (self.tightest, self.tightest_case) = (other.tightest, other.tightest_case);
        }
    }
}
