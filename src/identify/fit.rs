//! What each step of a sum does, one after the other from the last one: of one step there are few possibilities, and all of them are
//! held against the answers of tiles that show it alone.

use super::steps::{Cut, Late, Own, Part, Products, Step, SumSteps, Target, set};
use crate::{
    arithmetic::Program,
    base::{parallel, sorting},
    format::{self, FORMATS, Format, Real, Rounding, Zeros},
    isa::{Case, Instruction},
    tree::{Leaf, Manner},
};

/// Cases by which possibilities are sifted, and of these the most that one may fail: first of all none, then some.
const SIFTED: usize = 48;
const FAILED: [usize; 2] = [0, 3];
/// Possibilities that are held against all cases.
const KEPT: usize = 400;
/// Widths that the language has.
pub(super) const BITS: std::ops::RangeInclusive<i32> = 0..=60;

pub(super) const ROUNDINGS: [Rounding; 6] =
    [Rounding::Rne, Rounding::Rz, Rounding::Rna, Rounding::Ru, Rounding::Rd, Rounding::Ro];
/// Formats that sums are rounded to most often.
pub(super) const USUAL: [&str; 6] = ["f32", "f16", "f64", "bf16", "tf32", "e8m13"];

/// The part of cases of which a step may fail one and still be taken for what it is: something else may decide them.
const GOOD: usize = 64;
/// The most lanes.
pub(super) const MOST_LANES: usize = 5;
/// The fewest cases that say something of lanes, and the part of cases of which a step may fail one where it is worth looking on.
const FEWEST: usize = 16;
const MISFIT: usize = 8;

/// A case, and the code of D that the device gave.
pub(super) type Answered = (Case, u64);

/// What a step does, as far as it was found.
pub(super) struct Fitted {
    /// The possibility that fails the fewest cases.
    pub own: Own,
    /// How many it fails.
    pub misses: usize,
    /// What it took, in cases that were computed.
    pub cases: u64,
}

impl Fitted {
    /// Whether it fails so few of so many cases that the step may be taken for what it says.
    pub(super) fn fits(&self, cases: usize) -> bool {
        self.misses <= cases / GOOD
    }
}

/// The fit of one step of a sum whose steps behind it are known.
pub(super) struct Fit<'a> {
    pub part: &'a Instruction,
    pub steps: &'a SumSteps,
    pub number: usize,
}

impl Fit<'_> {
    fn step(&self) -> &Step {
        &self.steps.steps[self.number]
    }

    /// The program in which the step does this.
    fn program(&self, own: Own) -> Option<Program> {
        let mut steps = self.steps.clone();
        steps.steps[self.number].own = own;
        steps.program(self.part)
    }

    /// How many cases it fails when it does this.
    pub(super) fn misses(&self, own: Own, cases: &[Answered]) -> usize {
        self.program(own).map_or(usize::MAX, |program| misses(&program, cases, cases.len()).0)
    }

    /// How the step aligns and rounds, by cases with short terms.
    pub(super) fn sum(&self, cases: &[Answered]) -> Option<Fitted> {
        let now = self.step().own;
        let program = self.program(now)?;
        let exact = vec![None];
        let aligned: Vec<Option<Cut>> = cuts().map(Some).collect();
        let first = match self.step().manner {
            Manner::Aligned => [&aligned, &exact],
            _ => [&exact, &aligned],
        };
        let [usual, others] = self.targets();
        let mut all = Fitted { own: now, misses: usize::MAX, cases: 0 };
        let tiers = [(&usual, first[0]), (&usual, first[1]), (&others, &exact), (&others, &aligned)];
        for (tier, (targets, cuts)) in tiers.into_iter().enumerate() {
            let owns = |target: Target| cuts.iter().map(move |cut| Own { cut: *cut, target, ..now }).collect();
            self.best(&program, targets.iter().map(|target| owns(*target)).collect(), cases, &mut all);
            // What hardly ever shows may be there all the same.
            if all.misses == 0 || tier > 0 && all.fits(cases.len()) {
                return Some(all);
            }
        }
        self.apart(cases, &mut all);
        Some(all)
    }

    /// What a step does that aligns what is not a product after the products, or products by remainder apart.
    fn apart(&self, cases: &[Answered], all: &mut Fitted) {
        let step = self.step();
        let products: Vec<usize> = step.parts.iter().filter_map(Part::product).collect();
        let others: Vec<usize> = (0..step.parts.len()).filter(|at| step.parts[*at].product().is_none()).collect();
        let other = match others[..] {
            [] => None,
            [other] => Some(other),
            _ => return,
        };
        if products.len() < 2 {
            return;
        }
        let is_there = |leaf: &Leaf, case: &Case| match leaf {
            Leaf::C => case.c != 0,
            Leaf::Product(k) => case.a[*k] != 0,
        };
        let without = |(case, _): &&Answered| {
            other.is_none_or(|other| !step.leaves[other].iter().any(|leaf| is_there(leaf, case)))
        };
        let alone: Vec<Answered> = cases.iter().filter(without).cloned().collect();
        let [targets, _] = self.targets();
        let cut = |lanes| {
            let own = move |target, cut| Own { cut: Some(cut), lanes, target, ..step.own };
            targets.iter().map(|target| cuts().map(|cut| own(*target, cut)).collect()).collect::<Vec<_>>()
        };
        // The products by themselves, with lanes or without.
        let mut base = Fitted { own: step.own, misses: usize::MAX, cases: 0 };
        if let Some(program) = self.program(step.own) {
            self.best(&program, cut(None), &alone, &mut base);
        }
        for period in 2..=MOST_LANES.min(products.len()) {
            if base.misses == 0 || alone.len() < FEWEST {
                break;
            }
            let lane = |k: usize| products.iter().position(|own| *own == k).map(|place| place % period);
            let in_one = |(case, _): &&Answered| {
                let mut lanes = products.iter().filter(|k| case.a[**k] != 0).map(|k| lane(*k));
                let first = lanes.next();
                lanes.all(|lane| Some(lane) == first)
            };
            let same: Vec<Answered> = alone.iter().filter(in_one).cloned().collect();
            let lanes = Some((period, Cut { bits: 60, rounding: Rounding::Rne, floor: None }));
            let mut own = Fitted { misses: usize::MAX, ..base };
            let Some(program) = self.program(cut(lanes)[0][0]) else { continue };
            if same.len() < FEWEST {
                continue;
            }
            self.best(&program, cut(lanes), &same, &mut own);
            let joined = cuts().map(|cut| Own { lanes: Some((period, cut)), ..own.own }).collect();
            base.cases = own.cases;
            self.best(&program, vec![joined], &alone, &mut base);
        }
        all.cases += base.cases;
        if base.misses > alone.len() / MISFIT {
            return;
        }
        if let (Some(_), Some(program)) = (base.own.lanes, self.program(base.own)) {
            self.best(&program, vec![vec![base.own]], cases, all);
        }
        if other.is_none() || all.misses == 0 {
            return;
        }
        let late = |sum, other, rounding| Own { late: Some(Late { sum, other, rounding, floor: None }), ..base.own };
        let Some(program) = self.program(late(30, 30, Rounding::Rz)) else { return };
        let widths = |rounding| BITS.map(move |sum| BITS.map(|other| late(sum, other, rounding)).collect());
        self.best(&program, ROUNDINGS.into_iter().flat_map(widths).collect(), cases, all);
    }

    /// What becomes of the products that the step adds itself, by cases with all their bits.
    pub(super) fn products(&self, cases: &[Answered]) -> Option<Fitted> {
        let now = self.step().own;
        let exact = self.program(now)?;
        let (failed, taken) = misses(&exact, cases, cases.len());
        let mut all = Fitted { own: now, misses: failed, cases: taken };
        if failed == 0 {
            return Some(all);
        }
        let with = |products| Own { products, ..now };
        self.best(&exact, vec![vec![with(Products::Normalised)]], cases, &mut all);
        let [usual, others] = self.targets();
        let rounded =
            |targets: &[Target]| targets.iter().map(|target| vec![with(Products::Rounded(*target))]).collect();
        self.best(&exact, rounded(&usual), cases, &mut all);
        if all.misses == 0 {
            return Some(all);
        }
        if matches!(self.step().parts[..], [Part::Product(_), Part::Product(_)]) {
            for second in [false, true] {
                let own = with(Products::Started { second });
                let Some(program) = self.program(own) else { continue };
                self.best(&program, vec![vec![own]], cases, &mut all);
            }
        }
        if all.misses == 0 {
            return Some(all);
        }
        let wide = Target::new(format::find("f64").ok()?, Rounding::Rne);
        for to in [Some(wide), None] {
            if all.misses == 0 {
                break;
            }
            let cut = |target| cuts().map(|cut| with(Products::Alone(Some(cut), target))).collect::<Vec<_>>();
            // A cut product is a term of another alignment.
            let Some(program) = self.program(cut(to)[0]) else { continue };
            self.best(&program, vec![cut(to)], cases, &mut all);
            if to.is_some() && !all.fits(cases.len()) {
                self.best(&program, usual.iter().map(|target| cut(Some(*target))).collect(), cases, &mut all);
            }
        }
        if !all.fits(cases.len()) {
            self.best(&exact, rounded(&others), cases, &mut all);
        }
        Some(all)
    }

    /// Looks for a possibility that fails fewer cases; the first of those that fail as few.
    fn best(&self, program: &Program, owns: Vec<Vec<Own>>, cases: &[Answered], best: &mut Fitted) {
        let few = &cases[..SIFTED.min(cases.len())];
        let mut left = Vec::new();
        for failed in FAILED {
            if !left.is_empty() || best.misses == 0 {
                break;
            }
            let sifted = parallel::map(&owns, |owns| {
                let mut program = program.clone();
                let (mut left, mut taken) = (Vec::new(), 0);
                for own in owns {
                    set(&mut program, self.number, own, (self.steps.overall, self.steps.nan));
                    let (misses, cases) = misses(&program, few, failed);
                    taken += cases;
                    if misses <= failed {
                        left.push((misses, *own));
                    }
                }
                (left, taken)
            });
            for (own, taken) in sifted {
                best.cases += taken;
                left.extend(own);
            }
        }
        sorting::by_key(&mut left, |(misses, _)| *misses);
        left.truncate(KEPT);
        let mut program = program.clone();
        for (_, own) in left {
            if best.misses == 0 {
                break;
            }
            set(&mut program, self.number, &own, (self.steps.overall, self.steps.nan));
            let (misses, taken) = misses(&program, cases, best.misses.saturating_sub(1).min(cases.len()));
            best.cases += taken;
            if misses < best.misses {
                (best.own, best.misses) = (own, misses);
            }
        }
    }

    /// What sums may be rounded to: first D's format and the usual ones.
    fn targets(&self) -> [Vec<Target>; 2] {
        let of = |format: &'static Format| ROUNDINGS.map(|rounding| Target::new(format, rounding));
        let d = self.part.d;
        let usual = USUAL.iter().filter_map(|name| format::find(name).ok()).filter(|format| *format != d);
        let others = FORMATS.iter().filter(|format| holds_sums(format)).filter(|format| !USUAL.contains(&format.name));
        [std::iter::once(d).chain(usual).flat_map(of).collect(), others.flat_map(of).collect()]
    }
}

/// Whether sums can be rounded to a format.
pub(super) fn holds_sums(format: &Format) -> bool {
    format.has_nan() && format.float().is_some_and(|float| float.signed && float.zeros != Zeros::None)
}

/// Every alignment, the widest first.
pub(super) fn cuts() -> impl Iterator<Item = Cut> {
    BITS.rev().flat_map(|bits| ROUNDINGS.map(|rounding| Cut { bits, rounding, floor: None }))
}

/// How many cases a program fails, or one more than `limit`; and how many were computed. The sign of a zero is a matter of its own.
fn misses(program: &Program, cases: &[Answered], limit: usize) -> (usize, u64) {
    let d = program.instruction.d;
    let zero = |code: u64| matches!(d.value(code), Real::Finite(value) if value.is_zero());
    let (mut failed, mut taken) = (0, 0);
    for (case, answer) in cases {
        taken += 1;
        let found = program.dot(case);
        if found != *answer && !(zero(found) && zero(*answer)) {
            failed += 1;
            if failed > limit {
                break;
            }
        }
    }
    (failed, taken)
}
