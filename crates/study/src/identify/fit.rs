//! Fits of the steps of a sum, from the last step on.
//!
//! A step has few possibilities, and all of them are compared with the answers of tiles that show the step alone.

use super::{
    few_terms::{Runs, ShownCase},
    repair::spread,
    steps::{Part, Products, Step, StepArithmetic, SumSteps, Target, set},
};
use crate::{
    arithmetic::{Alignment, Program, holds_sums},
    base::{interrupt, parallel},
    format::{self, FORMATS, Format, Rounding},
    isa::Instruction,
    order::Manner,
};

/// Cases by which possibilities are sifted.
const SIFTED: usize = 48;
/// Largest numbers of these cases that a possibility may fail: none at first, then some.
const FAILED: [usize; 2] = [0, 3];
/// Largest number of possibilities that are compared with all cases.
const KEPT: usize = 400;
/// Cases by which changes of one setting are sifted, and possibilities kept then, stage by stage.
const NEARER: [(usize, usize); 2] = [(14, 64), (48, 12)];
/// Widths of an alignment that the language has.
pub(super) const BITS: std::ops::RangeInclusive<i32> = 0..=60;

/// Places of a sticky bit that are tried.
pub(super) const PLACES: std::ops::RangeInclusive<i32> = 1..=4;

pub(super) const ROUNDINGS: [Rounding; 6] =
    [Rounding::Rne, Rounding::Rz, Rounding::Rna, Rounding::Ru, Rounding::Rd, Rounding::Ro];
/// Formats that sums are rounded to most often.
pub(super) const USUAL: [&str; 6] = ["f32", "f16", "f64", "bf16", "tf32", "e8m13"];

/// A step that fails at most one case in this many counts as explained.
/// Something else may decide the failed cases.
const GOOD: usize = 64;
/// The depth of the search for what a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// One alignment, and D's format or f32, as in most hardware.
    /// A possibility that fails one of the first cases is given up.
    Usual,
    /// Every format.
    Formats,
    /// Also two alignments, one after the other.
    Twice,
}

/// The best fit of a step so far.
pub(super) struct Fitted {
    /// The possibility that fails the fewest cases.
    pub arithmetic: StepArithmetic,
    /// Number of cases that it fails.
    pub misses: usize,
    /// Cost of the fit, in computed products and operations.
    pub work: u64,
}

impl Fitted {
    /// True if it fails so few of `cases` cases that the step counts as explained.
    pub(super) fn fits(&self, cases: usize) -> bool {
        self.misses <= cases / GOOD
    }
}

/// The fit of one step of a sum whose later steps are known.
pub(super) struct Fit<'a> {
    pub part: &'a Instruction,
    pub steps: &'a SumSteps,
    pub number: usize,
    pub depth: Depth,
}

impl Fit<'_> {
    pub(super) fn step(&self) -> &Step {
        &self.steps.steps[self.number]
    }

    /// The program of the sum in which the step has this arithmetic.
    pub(super) fn program(&self, arithmetic: StepArithmetic) -> Option<Program> {
        let mut steps = self.steps.clone();
        steps.steps[self.number].arithmetic = arithmetic;
        steps.program(self.part)
    }

    /// The number of cases that fail if the step has this arithmetic, at most `limit` + 1; and the cost.
    pub(super) fn fails(&self, arithmetic: StepArithmetic, cases: &[ShownCase], limit: usize) -> (usize, u64) {
        self.program(arithmetic).map_or((usize::MAX, 0), |program| misses(&program, cases, limit))
    }

    /// Fits the alignment and the rounding of the step to cases with short terms.
    pub(super) fn sum(&self, cases: &[ShownCase]) -> Option<Fitted> {
        let now = self.step().arithmetic;
        let program = self.program(now)?;
        let exact = vec![None];
        let aligned: Vec<Option<Alignment>> = rounded_cuts().map(Some).collect();
        let first = match self.step().manner {
            Manner::Aligned => [&aligned, &exact],
            _ => [&exact, &aligned],
        };
        let [mut usual, others] = self.targets();
        let mut tiers = 6;
        if self.depth == Depth::Usual {
            usual.retain(|target| target.format == self.part.d || target.format.name == "f32");
            tiers = 2;
        }
        let mut all = Fitted { arithmetic: now, misses: usize::MAX, work: 0 };
        let flipped = |cut: Alignment| {
            let of_c = [None, Some(cut.bits + 1), Some(cut.bits + 2), Some(cut.bits + 3)];
            let with = move |complement_zeros| {
                of_c.map(|c_bits| Some(Alignment { complement: true, complement_zeros, c_bits, ..cut }))
            };
            [false, true].into_iter().flat_map(with)
        };
        let flipped = cuts().flat_map(flipped).collect();
        let placed = placed_cuts().map(Some).collect();
        let rare = [(&usual, &flipped), (&usual, &placed), (&others, &exact), (&others, &aligned)];
        let all_tiers = [(&usual, first[0]), (&usual, first[1])].into_iter().chain(rare);
        for (tier, (targets, cuts)) in all_tiers.take(tiers).enumerate() {
            let arithmetics =
                |target: Target| cuts.iter().map(move |cut| StepArithmetic { cut: *cut, target, ..now }).collect();
            self.best(&program, targets.iter().map(|target| arithmetics(*target)).collect(), cases, &mut all);
            // An effect may be there that hardly ever shows, so the first tier has to explain every case.
            if all.misses == 0 {
                return Some(all);
            }
            if tier > 0 && all.fits(cases.len()) {
                break;
            }
        }
        if self.depth == Depth::Twice && !self.has_one_product() {
            self.apart(cases, &mut all);
        }
        // Registers of other widths can explain much, so they are tried only if nothing simpler fits.
        if self.depth == Depth::Twice && !all.fits(cases.len()) {
            let arithmetics = |cuts: &[Option<Alignment>], format: &'static Format| {
                let targets = ROUNDINGS.map(|rounding| Target::new(format, rounding));
                let of = |target| cuts.iter().map(move |cut| StepArithmetic { cut: *cut, target, ..now });
                targets.into_iter().flat_map(of).collect::<Vec<_>>()
            };
            for cuts in first {
                self.best(&program, registers().map(|format| arithmetics(cuts, format)).collect(), cases, &mut all);
            }
        }
        Some(all)
    }

    /// True if the step adds exactly one product itself.
    /// A cut of this product before it is added looks much like a second alignment.
    fn has_one_product(&self) -> bool {
        self.step().parts.iter().filter(|part| part.product().is_some()).count() == 1
    }

    /// Fits the step to cases with all bits of the products that it adds itself.
    ///
    /// `sums` has the cases with short terms, and the number of them that the present fit leaves unexplained. Short terms may not show all
    /// of the alignment and the rounding.
    pub(super) fn full_products(
        &self,
        (sums, missed): &(Vec<ShownCase>, usize),
        cases: &[ShownCase],
    ) -> Option<Fitted> {
        let now = self.step().arithmetic;
        let (failed, work) = self.fails(now, cases, cases.len());
        if failed == 0 {
            return Some(Fitted { arithmetic: now, misses: failed, work });
        }
        let both = [sums, cases].concat();
        let mut all = Fit { depth: self.depth.min(Depth::Formats), ..*self }.sum(&both)?;
        all.work += work;
        if all.misses <= *missed {
            return Some(all);
        }
        // Products that seem inexact may be the effect of a second alignment.
        let (twice, one) = (self.depth == Depth::Twice && *missed > 0, self.has_one_product());
        if twice && !one {
            self.apart(&both, &mut all);
            if all.misses == 0 {
                return Some(all);
            }
        }
        let mut products = self.products(cases, failed)?;
        if twice && one && !products.fits(cases.len()) {
            self.apart(&both, &mut all);
        }
        products.work += all.work;
        if all.fits(both.len()) && self.fails(all.arithmetic, cases, products.misses).0 < products.misses {
            (products.arithmetic, products.misses) = (all.arithmetic, all.misses);
        }
        Some(products)
    }

    /// Fits the treatment of the products that the step adds itself, by cases with all their bits.
    /// With exact products the step fails `failed` of the cases.
    fn products(&self, cases: &[ShownCase], failed: usize) -> Option<Fitted> {
        let now = self.step().arithmetic;
        let exact = self.program(now)?;
        let mut all = Fitted { arithmetic: now, misses: failed, work: 0 };
        let with = |products| StepArithmetic { products, ..now };
        self.best(&exact, vec![vec![with(Products::Normalised)]], cases, &mut all);
        let [usual, others] = self.targets();
        let rounded =
            |targets: &[Target]| targets.iter().map(|target| vec![with(Products::Rounded(*target))]).collect();
        self.best(&exact, rounded(&usual), cases, &mut all);
        if all.misses == 0 || self.depth == Depth::Usual {
            return Some(all);
        }
        if matches!(self.step().parts[..], [Part::Product(_), Part::Product(_)]) {
            for second in [false, true] {
                let arithmetic = with(Products::Started { second });
                let Some(program) = self.program(arithmetic) else { continue };
                self.best(&program, vec![vec![arithmetic]], cases, &mut all);
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
            // A cut product is a term of its own, so the program needs other operations.
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

    /// Looks for a possibility that fails fewer cases than `best`; among equals the first one is kept.
    pub(super) fn best(
        &self,
        program: &Program,
        arithmetics: Vec<Vec<StepArithmetic>>,
        cases: &[ShownCase],
        best: &mut Fitted,
    ) {
        let few = spread(&cases.iter().collect::<Vec<_>>(), SIFTED);
        let mut left = Vec::new();
        let most = if self.depth == Depth::Usual { 1 } else { FAILED.len() };
        for failed in FAILED.into_iter().take(most) {
            if !left.is_empty() || best.misses == 0 {
                break;
            }
            let sifted = parallel::map(&arithmetics, |arithmetics| {
                let mut program = program.clone();
                let (mut left, mut spent) = (Vec::new(), 0);
                for arithmetic in arithmetics {
                    set(&mut program, self.number, arithmetic, self.steps.nan);
                    let (misses, work) = misses(&program, few.iter().copied(), failed);
                    spent += work;
                    if misses <= failed {
                        left.push((misses, *arithmetic));
                    }
                }
                (left, spent)
            });
            for (kept, spent) in sifted {
                best.work += spent;
                left.extend(kept);
            }
        }
        left.sort_by_key(|(misses, _)| *misses);
        left.truncate(KEPT);
        let mut program = program.clone();
        for (_, arithmetic) in left {
            if best.misses == 0 {
                break;
            }
            set(&mut program, self.number, &arithmetic, self.steps.nan);
            let (misses, work) = misses(&program, cases, best.misses.saturating_sub(1).min(cases.len()));
            best.work += work;
            if misses < best.misses {
                (best.arithmetic, best.misses) = (arithmetic, misses);
            }
        }
    }

    /// Looks for a possibility that fails fewer cases than `best`; returns true if one does.
    /// All possibilities take the same operations, so that one program serves them all.
    pub(super) fn nearer(&self, arithmetics: &[StepArithmetic], cases: &[ShownCase], best: &mut Fitted) -> bool {
        let Some(base) = arithmetics.first().and_then(|arithmetic| self.program(*arithmetic)) else { return false };
        let program = |arithmetic: &StepArithmetic| {
            let mut program = base.clone();
            set(&mut program, self.number, arithmetic, self.steps.nan);
            program
        };
        // Cases that are missed now distinguish the possibilities better than explained ones.
        let now = program(&best.arithmetic);
        let mut runs = Runs::of(&now);
        let (explained, missed): (Vec<&ShownCase>, _) = cases.iter().partition(|case| runs.explain(case));
        best.work += runs.work;
        let mut left: Vec<StepArithmetic> = arithmetics.to_vec();
        for (count, kept) in NEARER {
            let mut few = spread(&missed, count / 2);
            few.extend(spread(&explained, count - few.len()));
            let failed =
                parallel::map(&left, |arithmetic| misses(&program(arithmetic), few.iter().copied(), few.len()));
            best.work += failed.iter().map(|(_, work)| work).sum::<u64>();
            let failed = failed.into_iter().map(|(failed, _)| failed);
            let mut order: Vec<(usize, StepArithmetic)> = failed.zip(left).collect();
            order.sort_by_key(|(failed, _)| *failed);
            left = order.into_iter().take(kept).map(|(_, arithmetic)| arithmetic).collect();
        }
        let before = best.misses;
        for arithmetic in left {
            if best.misses == 0 {
                break;
            }
            let (failed, work) = misses(&program(&arithmetic), cases, (best.misses - 1).min(cases.len()));
            best.work += work;
            if failed < best.misses {
                (best.arithmetic, best.misses) = (arithmetic, failed);
            }
        }
        best.misses < before
    }

    /// The formats and roundings that a sum may have: D's format and the usual ones, then all others.
    pub(super) fn targets(&self) -> [Vec<Target>; 2] {
        let of = |format: &'static Format| ROUNDINGS.map(|rounding| Target::new(format, rounding));
        let d = self.part.d;
        let usual = USUAL.iter().filter_map(|name| format::find(name).ok()).filter(|format| *format != d);
        let others = FORMATS.iter().filter(|format| holds_sums(format)).filter(|format| !USUAL.contains(&format.name));
        [std::iter::once(d).chain(usual).flat_map(of).collect(), others.flat_map(of).collect()]
    }
}

/// Registers with f32's exponent and other widths.
pub(super) fn registers() -> impl Iterator<Item = &'static Format> {
    let named = FORMATS.iter().map(|format| format.name).collect::<Vec<_>>();
    let names = (8..=40).map(|bits| format!("e8m{bits}")).filter(move |name| !named.contains(&&name[..]));
    names.filter_map(|name| format::find(&name).ok())
}

/// Every alignment, the widest first.
pub(super) fn cuts() -> impl Iterator<Item = Alignment> {
    BITS.rev().flat_map(|bits| ROUNDINGS.map(|rounding| Alignment::new(bits, rounding)))
}

/// Every alignment of a sum that is rounded: also with a sticky bit.
pub(super) fn rounded_cuts() -> impl Iterator<Item = Alignment> {
    cuts().chain(sticky_cuts())
}

/// Every alignment with a sticky bit.
fn sticky_cuts() -> impl Iterator<Item = Alignment> {
    let sticky = |cut: &Alignment| [Rounding::Rz, Rounding::Rd].contains(&cut.rounding);
    cuts().filter(sticky).map(|cut| Alignment { sticky: true, ..cut })
}

/// Every alignment with a sticky bit close to the kept bits, as a bit of the sum.
fn placed_cuts() -> impl Iterator<Item = Alignment> {
    PLACES.flat_map(|place| sticky_cuts().map(move |cut| Alignment { sticky_place: Some(place), ..cut }))
}

/// The number of cases that a program fails, at most `limit` + 1; and the cost.
/// After an interruption every program fails all cases.
fn misses<'a>(program: &Program, cases: impl IntoIterator<Item = &'a ShownCase>, limit: usize) -> (usize, u64) {
    if interrupt::pending().is_some() {
        return (limit.saturating_add(1), 0);
    }
    let (mut failed, mut runs) = (0, Runs::of(program));
    for case in cases {
        failed += usize::from(!runs.explain(case));
        if failed > limit {
            break;
        }
    }
    (failed, runs.work)
}
