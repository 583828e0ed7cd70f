//! What steps do with very small and very large numbers: the floors of their alignments, overflow, subnormal operands and results, the
//! sign of zero. Each is decided by itself, by tiles in which such numbers meet; which it is says nothing of the others.

mod knobs;
mod tiles;
mod zeros;

pub(super) use tiles::tiles;
pub(super) use zeros::settle_zeros;

use super::{
    few_terms::same_but_for_zero,
    fit::{Answered, ROUNDINGS},
    steps::{Cut, Overall, Own, Products, Step, SumSteps, set, set_overall},
};
use crate::{
    arithmetic::{Program, ResultTininess, Subnormals},
    base::{interrupt, parallel},
    format::{Class, Format, Overflow},
    isa::Instruction,
};
use knobs::{BEGUN, BEGUN_WIDER, KNOBS, UNSEEN, WIDER};

/// Cases that a possibility has to explain some of, of those that are not explained.
const SAMPLE: usize = 24;
/// Possibilities that are held against all cases.
const KEPT: usize = 64;
/// Exponents that limits of products are looked for to have.
const LIMITS: std::ops::RangeInclusive<i32> = -60..=160;
/// How often all is gone through.
const ROUNDS: usize = 3;
/// Things that hold for all steps.
const OVERALL: usize = 4;
const OVERFLOWS: [Overflow; 4] = [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate];
const SUBNORMALS: [Subnormals; 3] = [Subnormals::Keep, Subnormals::SignedZero, Subnormals::PositiveZero];

/// Decides for steps whose ordinary results are known what they do with extreme numbers, by cases in which such numbers meet; what it
/// took, in cases that were computed.
pub(super) fn settle(steps: &mut SumSteps, i: &Instruction, cases: &[Answered], which: Which, most: u64) -> u64 {
    let Some(program) = steps.program(i) else { return 0 };
    let mut search = Search {
        i,
        steps: steps.clone(),
        program,
        cases,
        missed: Vec::new(),
        explained: Vec::new(),
        which,
        taken: 0,
        most,
    };
    search.update();
    for _ in 0..ROUNDS {
        let before = search.missed.len();
        search.unify();
        search.overall();
        search.each();
        search.simplify();
        if search.missed.is_empty() || search.missed.len() == before {
            break;
        }
    }
    *steps = search.steps;
    search.taken
}

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// What becomes of extreme numbers.
    Extremes,
    /// Ordinary results, too: some of the cases show that something was found wrong.
    All,
}

struct Search<'a> {
    i: &'a Instruction,
    steps: SumSteps,
    program: Program,
    cases: &'a [Answered],
    /// The cases that are not explained, and all others.
    missed: Vec<usize>,
    explained: Vec<usize>,
    which: Which,
    taken: u64,
    most: u64,
}

/// What is changed: what holds for all, or what some steps do.
#[derive(Clone)]
struct Change {
    overall: Overall,
    owns: Vec<(usize, Own)>,
}

impl Search<'_> {
    /// Whether nothing more may be computed: that took enough, or was interrupted.
    fn is_over(&self) -> bool {
        self.taken > self.most || interrupt::pending().is_some()
    }

    fn update(&mut self) {
        let all: Vec<usize> = (0..self.cases.len()).collect();
        let program = &self.program;
        let wrong = parallel::map(&all, |at| !explains(program, &self.cases[*at]));
        self.taken += all.len() as u64;
        let (missed, explained) = all.into_iter().zip(wrong).partition::<Vec<(usize, bool)>, _>(|(_, wrong)| *wrong);
        [self.missed, self.explained] = [missed, explained].map(|cases| cases.into_iter().map(|(at, _)| at).collect());
    }

    /// How many cases a program does not explain, or `limit` if they are as many; and how many were computed. What is not explained now
    /// comes first: a program that explains little of it is done with soon.
    fn unexplained(&self, program: &Program, limit: usize) -> (usize, u64) {
        let (mut count, mut taken) = (0, 0);
        for at in self.missed.iter().chain(&self.explained) {
            if count >= limit {
                break;
            }
            taken += 1;
            count += usize::from(!explains(program, &self.cases[*at]));
        }
        (count, taken)
    }

    /// The program in which what is changed takes as many operations as in this change.
    fn base(&self, change: &Change) -> Option<Program> {
        if change.owns.iter().all(|(number, own)| own.shape() == self.steps.steps[*number].own.shape()) {
            return Some(self.program.clone());
        }
        let mut steps = self.steps.clone();
        change.owns.iter().for_each(|(number, own)| steps.steps[*number].own = *own);
        steps.program(self.i)
    }

    fn changed(&self, base: &Program, change: &Change) -> Program {
        let mut program = base.clone();
        for (number, own) in &change.owns {
            set(&mut program, *number, own, (change.overall, self.steps.nan));
        }
        set_overall(&mut program, change.overall);
        program
    }

    /// Makes the change that explains the most cases, if one explains more than now.
    fn choose(&mut self, changes: Vec<Change>) -> bool {
        if self.missed.is_empty() || self.is_over() {
            return false;
        }
        let Some(base) = changes.first().and_then(|change| self.base(change)) else { return false };
        let step = self.missed.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = self.missed.iter().copied().step_by(step).collect();
        let sifted = parallel::map(&changes, |change| {
            if interrupt::pending().is_some() {
                return 0;
            }
            let program = self.changed(&base, change);
            sample.iter().filter(|at| explains(&program, &self.cases[**at])).count()
        });
        self.taken += (sample.len() * changes.len()) as u64;
        let mut best: Option<(usize, Change, Program)> = None;
        let mut order: Vec<usize> = (0..changes.len()).filter(|at| sifted[*at] > 0).collect();
        order.sort_by_key(|at| std::cmp::Reverse(sifted[*at]));
        order.truncate(KEPT);
        for at in order {
            let limit = best.as_ref().map_or(self.missed.len(), |(count, ..)| *count);
            let program = self.changed(&base, &changes[at]);
            let (count, taken) = self.unexplained(&program, limit);
            self.taken += taken;
            if count < limit {
                best = Some((count, changes[at].clone(), program));
            }
            if self.is_over() {
                break;
            }
        }
        let Some((_, change, program)) = best else { return false };
        self.take(change, program);
        true
    }

    /// Lets steps with as many parts do what one of them does, where that explains as much.
    fn unify(&mut self) {
        let form = |step: &Step| {
            let products = step.parts.iter().filter(|part| part.product().is_some()).count();
            (products, step.parts.len() - products)
        };
        let mut classes: Vec<((usize, usize), Vec<usize>)> = Vec::new();
        for (number, step) in self.steps.steps.iter().enumerate() {
            match classes.iter_mut().find(|(own, _)| *own == form(step)) {
                Some((_, numbers)) => numbers.push(number),
                None => classes.push((form(step), vec![number])),
            }
        }
        for (_, numbers) in classes {
            // What most of them do first.
            let mut owns: Vec<(Own, usize)> = Vec::new();
            for number in &numbers {
                let own = self.steps.steps[*number].own;
                match owns.iter_mut().find(|(other, _)| *other == own) {
                    Some((_, count)) => *count += 1,
                    None => owns.push((own, 1)),
                }
            }
            owns.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            for (own, _) in owns {
                let owns = numbers.iter().map(|number| (*number, own)).collect();
                if self.allow(Change { overall: self.steps.overall, owns }) {
                    break;
                }
            }
        }
    }

    /// Makes a change, if it is one and explains as much; whether it does.
    fn allow(&mut self, change: Change) -> bool {
        let mut owns = change.owns.iter();
        let same =
            change.overall == self.steps.overall && owns.all(|(number, own)| self.steps.steps[*number].own == *own);
        if same || self.is_over() {
            return false;
        }
        let Some(base) = self.base(&change) else { return false };
        let program = self.changed(&base, &change);
        let (count, taken) = self.unexplained(&program, self.missed.len() + 1);
        self.taken += taken;
        let as_much = count <= self.missed.len();
        if as_much {
            self.take(change, program);
        }
        as_much
    }

    /// Takes back what explains nothing.
    fn simplify(&mut self) {
        for which in 0..OVERALL + 2 * self.steps.steps.len() {
            self.allow(self.plainer(which));
        }
    }

    /// One thing as usual: of what holds for all, or the overflow or the floor of a step.
    fn plainer(&self, which: usize) -> Change {
        let (now, usual) = (self.steps.overall, Overall::USUAL);
        let mut change = Change { overall: now, owns: Vec::new() };
        match which {
            0 => change.overall.operands = usual.operands,
            1 => (change.overall.results, change.overall.tininess) = (usual.results, usual.tininess),
            2 => (change.overall.rounding, change.overall.overflow) = (usual.rounding, usual.overflow),
            3 => change.overall.limit = usual.limit,
            _ => {
                let number = (which - OVERALL) / 2;
                let mut own = self.steps.steps[number].own;
                match ((which - OVERALL) % 2, own.cut) {
                    (0, Some(cut)) if cut.bits == UNSEEN => own.cut = None,
                    (0, Some(cut)) => own.cut = Some(Cut { floor: None, ..cut }),
                    _ => own.target.overflow = Overflow::Standard,
                }
                change.owns.push((number, own));
            }
        }
        change
    }

    fn take(&mut self, change: Change, program: Program) {
        self.program = program;
        self.steps.overall = change.overall;
        for (number, own) in change.owns {
            self.steps.steps[number].own = own;
        }
        self.update();
    }

    /// What holds for all steps.
    fn overall(&mut self) {
        let now = self.steps.overall;
        let with = |overall| Change { overall, owns: Vec::new() };
        let operands = SUBNORMALS.map(|operands| with(Overall { operands, ..now }));
        self.choose(operands.to_vec());
        let now = self.steps.overall;
        let mut results = vec![with(Overall { results: Subnormals::Keep, ..now })];
        for results_are in &SUBNORMALS[1..] {
            let of = |tininess: &ResultTininess| with(Overall { results: *results_are, tininess: *tininess, ..now });
            results.extend(ResultTininess::ALL.iter().map(of));
        }
        // A floor whose last bit is that of the smallest normal number looks much like it.
        let floorless = |(number, step): (usize, &Step)| {
            let cut = step.own.cut.filter(|cut| cut.floor.is_some())?;
            Some((number, Own { cut: Some(Cut { floor: None, ..cut }), ..step.own }))
        };
        let owns: Vec<(usize, Own)> = self.steps.steps.iter().enumerate().filter_map(floorless).collect();
        if !owns.is_empty() {
            let also = results.clone().into_iter().map(|change| Change { owns: owns.clone(), ..change });
            results.extend(also);
        }
        self.choose(results);
        // The overflow of all steps, of all products, or of both, before that of the output alone.
        let overall = Overall { overflow: Overflow::Standard, ..self.steps.overall };
        let every = |overflow: Overflow, (sums, products): (bool, bool)| {
            let own = |step: &Step| overflowing(step.own, overflow, (sums, products));
            Change { overall, owns: self.steps.steps.iter().map(own).enumerate().collect() }
        };
        let places = [(true, false), (false, true), (true, true)];
        let overflows = OVERFLOWS.into_iter().flat_map(|overflow| places.map(|place| every(overflow, place)));
        let overflows: Vec<Change> = overflows.collect();
        self.choose(overflows);
        let now = self.steps.overall;
        let output = ROUNDINGS.iter().flat_map(|rounding| {
            OVERFLOWS.iter().map(move |overflow| with(Overall { rounding: *rounding, overflow: *overflow, ..now }))
        });
        self.choose(output.collect());
        let now = self.steps.overall;
        let limits = std::iter::once(None).chain(LIMITS.map(Some));
        self.choose(limits.map(|limit| with(Overall { limit, ..now })).collect());
    }

    /// What steps do: those that are alike together, then each.
    fn each(&mut self) {
        let mut groups: Vec<(Own, Vec<usize>)> = Vec::new();
        for (number, step) in self.steps.steps.iter().enumerate() {
            match groups.iter_mut().find(|(own, _)| *own == step.own) {
                Some((_, numbers)) => numbers.push(number),
                None => groups.push((step.own, vec![number])),
            }
        }
        let groups: Vec<Vec<usize>> = groups.into_iter().map(|(_, numbers)| numbers).collect();
        let together = groups.iter().filter(|numbers| numbers.len() > 1).cloned();
        let apart = (0..self.steps.steps.len()).map(|number| vec![number]);
        let turns: Vec<Vec<usize>> = together.chain(apart).collect();
        let wider = self.which == Which::All;
        for (knobs, others) in [(KNOBS, WIDER), (BEGUN, BEGUN_WIDER)] {
            let knobs = knobs.iter().chain(if wider { others } else { &[] });
            for (numbers, knob) in turns.iter().flat_map(|numbers| knobs.clone().map(move |knob| (numbers, knob))) {
                let overall = self.steps.overall;
                // Steps that are changed together are alike, but where one of them was changed by itself.
                let Some(own) = numbers.first().map(|number| self.steps.steps[*number].own) else { continue };
                let of = |own: Own| Change { overall, owns: numbers.iter().map(|number| (*number, own)).collect() };
                // Those that take as many operations at a time.
                let mut changes = knob(&own);
                while let Some(first) = changes.first().map(Own::shape) {
                    let same = changes.extract_if(.., |own| own.shape() == first).map(of).collect();
                    self.choose(same);
                }
            }
        }
    }
}

/// A step whose sums, or products, overflow like this.
fn overflowing(own: Own, overflow: Overflow, (sums, products): (bool, bool)) -> Own {
    let mut own = own;
    if sums {
        own.target.overflow = overflow;
    }
    match &mut own.products {
        Products::Rounded(target) | Products::Added(target) | Products::Alone(_, Some(target)) if products => {
            target.overflow = overflow;
        }
        _ => {}
    }
    own
}

/// Whether a case may say something of what is decided here: no operand is NaN.
pub(super) fn says_something(i: &Instruction, (case, _): &Answered) -> bool {
    let nan = |format: &Format, codes: &[u64]| codes.iter().any(|code| format.decode(*code).class == Class::Nan);
    let scale = i.scale.is_some_and(|scale| nan(scale.format, &case.scale_a) || nan(scale.format, &case.scale_b));
    !(nan(i.a, &case.a) || nan(i.b, &case.b) || nan(i.c, &[case.c]) || scale)
}

/// Whether a program gives the answer, but for the sign of a zero.
fn explains(program: &Program, (case, answer): &Answered) -> bool {
    same_but_for_zero(program.instruction.d, program.dot(case), *answer)
}
