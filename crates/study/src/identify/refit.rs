//! Fits of steps, each given the others, to the cases that the nearest rule misses.
//!
//! The tiles that show a step alone can leave open what few operands show: a least exponent, an alignment far below the result, or a
//! register a little wider than D. These cases decide it, with some that are explained.

use std::ops::Range;

use super::{
    candidate::evaluator,
    few_terms::{Runs, ShownCase},
    fit::{BITS, Depth, Fit, Fitted, ROUNDINGS, registers},
    run::Dialogue,
    steps::{Products, StepArithmetic, SumSteps, Target},
    together::floors,
};
use crate::{
    arithmetic::{Alignment, Place, Rule},
    base::interrupt,
    bench::Answered,
    format::Rounding,
    isa::Instruction,
};

/// Missed tiles, and missed cases of each, that decide between fits.
const MISSED: (usize, usize) = (24, 4);
/// Tiles that a fit breaks, and cases of each, among which the next fit finds what it may not break.
const BROKEN: (usize, usize) = (64, 8);
/// Explained cases that a fit may not break.
const EXPLAINED: usize = 240;
/// A rule that misses more than one output in this many needs more than another fit of its steps.
const FAR: usize = 256;
/// Largest number of steps that are fitted again.
const MOST_STEPS: usize = 24;
/// Largest number of fits, each to more cases.
const ROUNDS: usize = 6;
/// Fewest bits of an alignment with a least exponent.
const FEWEST_BITS: i32 = 8;

/// A fit of a step to cases.
type FitOf = fn(&Fit, &[ShownCase]) -> Option<Fitted>;

impl Dialogue<'_> {
    /// The steps, one of them (its number comes first) fitted to cases that the nearest rule misses.
    /// `None` if the rule misses much, or if no other arithmetic of one step explains more.
    pub(super) fn refitted(&self, steps: &SumSteps, nearest: &Rule, misses: usize) -> Option<(usize, SumSteps)> {
        let (known, part) = (&self.bench.answers, &self.bench.answers.part);
        if misses > known.outputs() / FAR || steps.steps.len() > MOST_STEPS {
            return None;
        }
        let steps = steps.clone().with_general_keys(nearest);
        let program = steps.program(part)?;
        let mut runs = Runs::of(&program);
        let mut cases = shown(part, known.missed(&evaluator(nearest, part)?, MISSED.0, MISSED.1));
        cases.retain(|case| !runs.explain(case));
        let most = cases.len();
        let explained = shown(part, known.spread_cases(EXPLAINED));
        cases.extend(explained.into_iter().filter(|case| runs.explain(case)));
        self.work.spend(runs.work);
        let mut numbers = 0..steps.steps.len();
        if most == 0 {
            return None;
        }
        for _ in 0..ROUNDS {
            let (number, refitted) = self.refitted_one(&steps, numbers, &cases, most)?;
            // Cases that this step explained before, and now misses, decide between its possibilities; the repair decides signs of zeros.
            let program = refitted.program(part)?;
            let mut again = Runs::of(&program);
            let mut broken =
                shown(part, known.missed(&evaluator(&refitted.rule_of_sums(part), part)?, BROKEN.0, BROKEN.1));
            broken.retain(|case| runs.explain(case) && !again.explain(case));
            if broken.is_empty() {
                return Some((number, refitted));
            }
            cases.append(&mut broken);
            numbers = number..number + 1;
        }
        None
    }

    /// The step whose fit explains the most cases, and all steps; `None` if each misses `most`.
    fn refitted_one(
        &self,
        steps: &SumSteps,
        numbers: Range<usize>,
        cases: &[ShownCase],
        most: usize,
    ) -> Option<(usize, SumSteps)> {
        let mut best: Option<(usize, usize, SumSteps)> = None;
        let conversions = |number: usize| if number == 0 { ROUNDINGS.to_vec() } else { vec![steps.output] };
        let places: Vec<_> =
            numbers.flat_map(|number| conversions(number).into_iter().map(move |to| (number, to))).collect();
        // Registers are few, least exponents not many, so they come before all alignments and targets.
        let fits: [FitOf; 4] = [
            |fit, cases| Some(fit.in_registers(cases, fit.as_it_is(cases))),
            |fit, cases| Some(fit.at_floors(cases, fit.as_it_is(cases))),
            |fit, cases| Some(fit.with_cut_products(cases, fit.as_it_is(cases))),
            |fit, cases| fit.sum(cases),
        ];
        for fit_of in fits {
            for (number, output) in &places {
                if self.work.left() == 0
                    || interrupt::pending().is_some()
                    || best.as_ref().is_some_and(|best| best.0 == 0)
                {
                    break;
                }
                let mut other = SumSteps { output: *output, ..steps.clone() };
                let part = &self.bench.answers.part;
                let fit = Fit { part, steps: &other, number: *number, depth: Depth::Formats };
                let Some(fitted) = fit_of(&fit, cases) else { continue };
                self.work.spend(fitted.work);
                if fitted.misses < best.as_ref().map_or(most, |(misses, ..)| *misses) {
                    other.steps[*number].arithmetic = fitted.arithmetic;
                    best = Some((fitted.misses, *number, other));
                }
            }
        }
        best.map(|(_, number, steps)| (number, steps))
    }
}

impl Fit<'_> {
    /// The step's arithmetic as it is.
    fn as_it_is(&self, cases: &[ShownCase]) -> Fitted {
        let arithmetic = self.step().arithmetic;
        let (misses, work) = self.fails(arithmetic, cases, cases.len());
        Fitted { arithmetic, misses, work }
    }

    /// The best of this fit and of all alignments with a least exponent.
    fn at_floors(&self, cases: &[ShownCase], fitted: Fitted) -> Fitted {
        let floors = floors(&Rule::default(), &Place::of(self.part));
        let cuts = |way| (FEWEST_BITS..=*BITS.end()).rev().map(move |bits| Alignment::new(bits, way));
        let all = [Rounding::Rz, Rounding::Rd, Rounding::Rne]
            .into_iter()
            .flat_map(cuts)
            .flat_map(|cut| floors.iter().map(move |floor| Alignment { floor: Some(*floor), ..cut }))
            .map(|cut| StepArithmetic { cut: Some(cut), ..self.step().arithmetic });
        self.best_of(all.collect(), cases, fitted)
    }

    /// The best of this fit and of products cut alone, with every least exponent and without one.
    fn with_cut_products(&self, cases: &[ShownCase], fitted: Fitted) -> Fitted {
        let now = self.step().arithmetic;
        let Some(cut) = now.cut.filter(|_| now.products == Products::Exact) else { return fitted };
        let floors = floors(&Rule::default(), &Place::of(self.part)).into_iter().map(Some).chain([None]);
        let products = |bits| Products::Alone(Some(Alignment::new(bits, Rounding::Rz)), None);
        let all = floors
            .map(|floor| Some(Alignment { floor, ..cut }))
            .flat_map(|cut| BITS.rev().map(move |bits| StepArithmetic { cut, products: products(bits), ..now }));
        self.best_of(all.collect(), cases, fitted)
    }

    /// The best of this fit and of registers of other widths.
    fn in_registers(&self, cases: &[ShownCase], fitted: Fitted) -> Fitted {
        let targets = registers().flat_map(|format| ROUNDINGS.map(|rounding| Target::new(format, rounding)));
        let all = targets.map(|target| StepArithmetic { target, ..self.step().arithmetic });
        self.best_of(all.collect(), cases, fitted)
    }

    /// The best of this fit and of these possibilities, which take the same operations.
    fn best_of(&self, all: Vec<StepArithmetic>, cases: &[ShownCase], mut fitted: Fitted) -> Fitted {
        if let Some(program) = all.first().and_then(|first| self.program(*first)) {
            self.best(&program, vec![all], cases, &mut fitted);
        }
        fitted
    }
}

fn shown(part: &Instruction, cases: Vec<Answered>) -> Vec<ShownCase> {
    cases.into_iter().flat_map(|case| ShownCase::of_tile(part, &[case])).collect()
}
