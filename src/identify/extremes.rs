//! What steps do with very small and very large numbers: the floors of their alignments, overflow, subnormal operands and results, the
//! sign of zero. Each is decided by itself, by tiles in which such numbers meet; which it is says nothing of the others.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{
    fit::{Answered, BITS, MOST_LANES, ROUNDINGS, USUAL, cuts, holds_sums},
    isolate::encoded,
    steps::{Cut, Late, Overall, Own, Products, Step, SumSteps, Target, set, set_overall},
};
use crate::{
    arithmetic::{Program, ResultTininess, Subnormals, ZeroSign},
    base::{parallel, sorting},
    format::{Class, FORMATS, Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction, Tiles},
    tree::Leaf,
};

/// Exponents that alignments are looked for to have as their floor.
const FLOORS: std::ops::RangeInclusive<i32> = -330..=160;
/// Bits of an alignment that shows at its floor alone.
const UNSEEN: i32 = 40;
/// How far below the smallest normal number of D, and above the largest, terms are.
const BELOW: i32 = 30;
const ABOVE: i32 = 2;
/// Where they are if D has numbers much smaller and much larger.
const COMMON: (i32, i32) = (-170, 140);
/// Cases that a possibility has to explain some of, of those that are not explained.
const SAMPLE: usize = 24;
/// Possibilities that are held against all cases.
const KEPT: usize = 64;
/// How often all is gone through.
const ROUNDS: usize = 3;
const OVERFLOWS: [Overflow; 4] = [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate];
const ZEROS: [ZeroSign; 3] = [ZeroSign::Positive, ZeroSign::Ieee, ZeroSign::Negative];
const SUBNORMALS: [Subnormals; 3] = [Subnormals::Keep, Subnormals::SignedZero, Subnormals::PositiveZero];

/// Where the terms of a tile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Low,
    High,
    /// Each just fits; two do not.
    Brim,
}

/// Tiles for a step in which very small or very large terms meet; so many of them.
pub(super) fn tiles(i: &Instruction, step: &Step, seed: u64, count: usize) -> Tiles {
    let emax = |format: &Format| format.float().map_or(0, |float| float.emax());
    let most = emax(i.d).min(emax(step.own.target.format));
    let mut draw = Draw { i, most, random: ChaCha8Rng::seed_from_u64(seed) };
    let mut tiles = Tiles::zeros(i, 0);
    for number in 0..count {
        let places = [Place::Anywhere, Place::Low, Place::High, Place::Anywhere, Place::Brim];
        let place = places[number % places.len()];
        tiles.extend(&draw.tile(step, place));
    }
    tiles
}

struct Draw<'a> {
    i: &'a Instruction,
    /// The exponent of the largest results of the step, and of D.
    most: i32,
    random: ChaCha8Rng,
}

impl Draw<'_> {
    fn below(&mut self, count: i32) -> i32 {
        (self.random.next_u64() % count.max(1) as u64) as i32
    }

    fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below(high - low + 1)
    }

    /// One term of each of some parts of a step.
    fn leaves(&mut self, step: &Step) -> Vec<Leaf> {
        let mut parts: Vec<&Vec<Leaf>> = step.leaves.iter().collect();
        let count = 1 + self.below(parts.len().min(3) as i32);
        let mut leaves = Vec::new();
        for _ in 0..count {
            let part = parts.remove(self.below(parts.len() as i32) as usize);
            leaves.push(part[self.below(part.len() as i32) as usize]);
        }
        leaves
    }

    /// The exponents between which products and c are.
    fn reach(&self, place: Place) -> (i32, i32) {
        let least = self.i.d.float().map_or(0, |d| d.emin() - BELOW);
        let most = self.most + ABOVE;
        match place {
            Place::Anywhere => (least.max(COMMON.0), most.min(COMMON.1)),
            Place::Low => (least, least + 2 * BELOW),
            Place::High => (most - 6, most),
            Place::Brim => (self.most, self.most),
        }
    }

    /// A number with about this exponent: sometimes with few bits, subnormal where the exponent is.
    fn code(&mut self, format: &Format, exponent: i32) -> u64 {
        let Some(float) = format.float() else { return 0 };
        let precision = float.precision();
        let leading = 1u64 << (precision - 1);
        let kept = if self.below(2) == 0 { u64::MAX << (precision - 1).saturating_sub(2) } else { u64::MAX };
        let significand = leading | (self.random.next_u64() & (leading - 1) & kept);
        let exponent = exponent.clamp(float.emin() - float.trailing_bits as i32, float.emax());
        let negative = float.signed && self.below(2) == 0;
        encoded(format, Finite::exact(negative, significand.into(), exponent - (precision as i32 - 1)))
    }

    /// A row of A, or a column of B.
    fn line(&mut self, of_a: bool, leaves: &[Leaf], place: Place) -> Case {
        let i = self.i;
        let mut case = Case::zeros(i);
        let format = if of_a { i.a } else { i.b };
        let (low, high) = self.reach(place);
        // Half of the exponent each, more of it where the other format has no more.
        let range = |format: &Format| {
            format.float().map_or((0, 0), |float| (float.emin() - float.trailing_bits as i32, float.emax()))
        };
        let (own, other) = (range(format), range(if of_a { i.b } else { i.a }));
        let least = (low / 2).min(low - other.0).max(own.0);
        let most = (high / 2).max(high - other.1).min(own.1);
        let base = match place {
            // Both together are as large as a result can be.
            Place::Brim if of_a => (high / 2).max(high - other.1).min(own.1),
            Place::Brim => high - (high / 2).max(high - own.1).min(other.1),
            _ => self.between(least.min(most), most),
        };
        let one = |scale: &Format, exponent: i32| encoded(scale, Finite::exact(false, 1, exponent));
        if let Some(scale) = i.scale {
            let range = scale.format.float().map_or((0, 0), |float| (float.emin(), float.emax()));
            for block in 0..case.scale_a.len() {
                let wanted = match place {
                    Place::Brim => high / 2 - own.1.min(high / 2),
                    _ => self.between(low / 2 - own.1.min(0), high / 2 - own.0.max(0)),
                };
                let code = one(scale.format, wanted.clamp(range.0, range.1));
                if of_a { case.scale_a[block] = code } else { case.scale_b[block] = code }
            }
        }
        let far = if place == Place::Brim { 1 } else { [1, 4, 12, 30][self.below(4) as usize] };
        for leaf in leaves {
            let Leaf::Product(k) = *leaf else { continue };
            let exponent = base - self.below(far);
            let code = self.code(format, exponent);
            let at = case.logical(i, k);
            if of_a { case.a[k] = code } else { case.b[at] = code }
        }
        case
    }

    fn tile(&mut self, step: &Step, place: Place) -> Tiles {
        let i = self.i;
        let leaves = self.leaves(step);
        let rows: Vec<Case> = (0..i.m).map(|_| self.line(true, &leaves, place)).collect();
        let columns: Vec<Case> = (0..i.n).map(|_| self.line(false, &leaves, place)).collect();
        let (low, high) = self.reach(place);
        let mut tiles = Tiles::zeros(i, 1);
        for (at, row) in rows.iter().enumerate() {
            for (beside, column) in columns.iter().enumerate() {
                let mut case = Case { b: column.b.clone(), scale_b: column.scale_b.clone(), ..row.clone() };
                if leaves.contains(&Leaf::C) {
                    let exponent = self.between(low, high) - i32::from(place == Place::Brim && self.below(2) == 0);
                    case.c = self.code(i.c, exponent);
                }
                tiles.place(i, 0, at, beside, &case);
            }
        }
        tiles
    }
}

/// Decides for steps whose ordinary results are known what they do with extreme numbers, by cases in which such numbers meet; what it
/// took, in cases that were computed.
pub(super) fn settle(steps: &mut SumSteps, i: &Instruction, cases: &[Answered], which: Which, most: u64) -> u64 {
    let Some(program) = steps.program(i) else { return 0 };
    let mut search = Search { i, steps: steps.clone(), program, cases, missed: Vec::new(), which, taken: 0, most };
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
    /// The cases that are not explained.
    missed: Vec<usize>,
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
    fn update(&mut self) {
        let all: Vec<usize> = (0..self.cases.len()).collect();
        let program = &self.program;
        let wrong = parallel::map(&all, |at| !explains(program, &self.cases[*at]));
        self.taken += all.len() as u64;
        self.missed = all.into_iter().zip(wrong).filter(|(_, wrong)| *wrong).map(|(at, _)| at).collect();
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
        if self.missed.is_empty() || self.taken > self.most {
            return false;
        }
        let Some(base) = changes.first().and_then(|change| self.base(change)) else { return false };
        let step = self.missed.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = self.missed.iter().copied().step_by(step).collect();
        let sifted = parallel::map(&changes, |change| {
            let program = self.changed(&base, change);
            sample.iter().filter(|at| explains(&program, &self.cases[**at])).count()
        });
        self.taken += (sample.len() * changes.len()) as u64;
        let mut best: Option<(usize, Change, Program)> = None;
        let mut order: Vec<usize> = (0..changes.len()).filter(|at| sifted[*at] > 0).collect();
        sorting::by_key(&mut order, |at| std::cmp::Reverse(sifted[*at]));
        order.truncate(KEPT);
        for at in order {
            let limit = best.as_ref().map_or(self.missed.len(), |(count, ..)| *count);
            let program = self.changed(&base, &changes[at]);
            let (mut count, mut taken) = (0, 0);
            for case in self.cases {
                taken += 1;
                count += usize::from(!explains(&program, case));
                if count >= limit {
                    break;
                }
            }
            self.taken += taken;
            if count < limit {
                best = Some((count, changes[at].clone(), program));
            }
            if self.taken > self.most {
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
            sorting::by_key(&mut owns, |(_, count)| std::cmp::Reverse(*count));
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
        if same || self.taken > self.most {
            return false;
        }
        let Some(base) = self.base(&change) else { return false };
        let program = self.changed(&base, &change);
        let (mut count, mut taken) = (0, 0);
        for case in self.cases {
            taken += 1;
            count += usize::from(!explains(&program, case));
            if count > self.missed.len() {
                break;
            }
        }
        self.taken += taken;
        let as_much = count <= self.missed.len();
        if as_much {
            self.take(change, program);
        }
        as_much
    }

    /// Takes back what explains nothing.
    fn simplify(&mut self) {
        for which in 0..3 + 2 * self.steps.steps.len() {
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
            _ => {
                let number = (which - 3) / 2;
                let mut own = self.steps.steps[number].own;
                match (which % 2, own.cut) {
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
        self.choose(results);
        let now = self.steps.overall;
        let output = ROUNDINGS.iter().flat_map(|rounding| {
            OVERFLOWS.iter().map(move |overflow| with(Overall { rounding: *rounding, overflow: *overflow, ..now }))
        });
        self.choose(output.collect());
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

/// What a step may do otherwise.
const KNOBS: &[fn(&Own) -> Vec<Own>] = &[
    |own| {
        own.cut.map_or_else(Vec::new, |cut| {
            floors().map(|floor| Own { cut: Some(Cut { floor, ..cut }), ..*own }).collect()
        })
    },
    |own| match own.late {
        Some(late) => floors().map(|floor| Own { late: Some(Late { floor, ..late }), ..*own }).collect(),
        None => Vec::new(),
    },
    |own| {
        let Products::Alone(Some(cut), target) = own.products else { return Vec::new() };
        let with = |floor| Own { products: Products::Alone(Some(Cut { floor, ..cut }), target), ..*own };
        floors().map(with).collect()
    },
    |own| alike(own.target).map(|target| Own { target, ..*own }).collect(),
    |own| match own.products {
        Products::Alone(cut, Some(target)) => {
            alike(target).map(|target| Own { products: Products::Alone(cut, Some(target)), ..*own }).collect()
        }
        Products::Rounded(_) | Products::Normalised if own.cut.is_some() => {
            let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
            let rounded = formats.flat_map(|format| alike(Target::new(format, Rounding::Rne)));
            let rounded = rounded.map(|target| Own { products: Products::Rounded(target), ..*own });
            std::iter::once(Own { products: Products::Normalised, ..*own }).chain(rounded).collect()
        }
        Products::Rounded(target) => {
            alike(target).map(|target| Own { products: Products::Rounded(target), ..*own }).collect()
        }
        _ => Vec::new(),
    },
];

/// What a step may do otherwise with ordinary numbers.
const WIDER: &[fn(&Own) -> Vec<Own>] = &[
    // Another alignment, with the same last bit at its floor, or with the same floor.
    |own| {
        let Some(now) = own.cut else { return Vec::new() };
        let floors = |bits: i32| [now.floor.map(|floor| floor + bits - now.bits), now.floor];
        let of = |cut: Cut| floors(cut.bits).map(|floor| Own { cut: Some(Cut { floor, ..cut }), ..*own });
        cuts().flat_map(of).chain([Own { cut: None, ..*own }]).collect()
    },
    |own| match own.lanes {
        Some((period, _)) => cuts().map(|cut| Own { lanes: Some((period, cut)), ..*own }).collect(),
        None => Vec::new(),
    },
    |own| {
        let Some(late) = own.late else { return Vec::new() };
        let sums = BITS.map(|sum| Late { sum, ..late });
        let others = BITS.map(|other| Late { other, ..late });
        let roundings = ROUNDINGS.map(|rounding| Late { rounding, ..late });
        sums.chain(others).chain(roundings).map(|late| Own { late: Some(late), ..*own }).collect()
    },
    |own| {
        let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
        let targets = formats.flat_map(|format| ROUNDINGS.map(|rounding| Target { format, rounding, ..own.target }));
        targets.map(|target| Own { target, ..*own }).collect()
    },
    |own| match own.products {
        Products::Alone(Some(_), target) => {
            cuts().map(|cut| Own { products: Products::Alone(Some(cut), target), ..*own }).collect()
        }
        Products::Started { .. } | Products::Alone(None, _) => Vec::new(),
        Products::Exact | Products::Normalised | Products::Rounded(_) => {
            let formats = FORMATS.iter().filter(|format| USUAL.contains(&format.name));
            let targets = formats.flat_map(|format| ROUNDINGS.map(|rounding| Target::new(format, rounding)));
            let all = [Products::Exact, Products::Normalised].into_iter().chain(targets.map(Products::Rounded));
            all.map(|products| Own { products, ..*own }).collect()
        }
    },
];

/// What a step may do besides, where nothing else explains what it does.
const BEGUN: &[fn(&Own) -> Vec<Own>] = &[
    // An alignment that shows at its floor alone.
    |own| {
        let with = |rounding| {
            let of = move |floor| Own { cut: Some(Cut { bits: UNSEEN, rounding, floor: Some(floor) }), ..*own };
            FLOORS.map(of)
        };
        if own.cut.is_some() || matches!(own.products, Products::Started { .. }) {
            return Vec::new();
        }
        ROUNDINGS.into_iter().flat_map(with).collect()
    },
];
/// The same with ordinary numbers.
const BEGUN_WIDER: &[fn(&Own) -> Vec<Own>] = &[
    |own| match own.cut {
        Some(_) => Vec::new(),
        None => cuts().map(|cut| Own { cut: Some(cut), ..*own }).collect(),
    },
    // Lanes whose sums are aligned as all products were.
    |own| {
        let (Some(whole), None) = (own.cut, own.lanes) else { return Vec::new() };
        let of = move |period| cuts().map(move |cut| Own { cut: Some(cut), lanes: Some((period, whole)), ..*own });
        (2..=MOST_LANES).flat_map(of).collect()
    },
];

/// Every floor, and none.
fn floors() -> impl Iterator<Item = Option<i32>> {
    std::iter::once(None).chain(FLOORS.map(Some))
}

/// Targets that have the precision of one.
fn alike(target: Target) -> impl Iterator<Item = Target> {
    let precision = |format: &Format| format.float().map(|float| float.precision());
    let same = FORMATS.iter().filter(move |format| holds_sums(format) && precision(format) == precision(target.format));
    same.flat_map(|format| {
        let of = move |rounding| OVERFLOWS.map(|overflow| Target { format, rounding, overflow });
        ROUNDINGS.into_iter().flat_map(of)
    })
}

/// Whether a case may say something of what is decided here: no operand is NaN.
pub(super) fn says_something(i: &Instruction, (case, _): &Answered) -> bool {
    let nan = |format: &Format, codes: &[u64]| codes.iter().any(|code| format.decode(*code).class == Class::Nan);
    let scale = i.scale.is_some_and(|scale| nan(scale.format, &case.scale_a) || nan(scale.format, &case.scale_b));
    !(nan(i.a, &case.a) || nan(i.b, &case.b) || nan(i.c, &[case.c]) || scale)
}

/// Whether a program gives the answer, but for the sign of a zero.
fn explains(program: &Program, (case, answer): &Answered) -> bool {
    let d = program.instruction.d;
    let zero = |code: u64| matches!(d.value(code), Real::Finite(value) if value.is_zero());
    let found = program.dot(case);
    found == *answer || zero(found) && zero(*answer)
}

/// Gives the sums of steps the sign of zero that explains the most cases.
pub(super) fn settle_zeros(steps: &mut SumSteps, i: &Instruction, cases: &[Answered]) -> u64 {
    let is_zero = |code: u64| matches!(i.d.value(code), Real::Finite(value) if value.is_zero());
    let zeros: Vec<&Answered> = cases.iter().filter(|(_, answer)| is_zero(*answer)).collect();
    let mut taken = 0;
    let mut missed = |steps: &SumSteps| {
        let Some(program) = steps.written(i) else { return usize::MAX };
        taken += zeros.len() as u64;
        zeros.iter().filter(|(case, answer)| program.dot(case) != *answer).count()
    };
    let mut least = missed(steps);
    let all: Vec<usize> = (0..steps.steps.len()).collect();
    // What is flushed has a sign, too.
    let flushes = |now: Subnormals| if now == Subnormals::Keep { &SUBNORMALS[..1] } else { &SUBNORMALS[1..] };
    let now = steps.overall;
    let mut tried = vec![];
    for operands in flushes(now.operands) {
        for results in flushes(now.results) {
            let overall = Overall { operands: *operands, results: *results, ..now };
            tried.extend(ZEROS.map(|zero| (Some(overall), zero, all.clone())));
        }
    }
    if all.len() > 1 {
        tried.extend(all.iter().flat_map(|number| ZEROS.map(|zero| (None, zero, vec![*number]))));
    }
    for (overall, zero, numbers) in tried {
        if least == 0 {
            break;
        }
        let mut other = steps.clone();
        other.overall = overall.unwrap_or(other.overall);
        numbers.iter().for_each(|number| other.steps[*number].own.zero = zero);
        let count = missed(&other);
        if count < least {
            (least, *steps) = (count, other);
        }
    }
    taken
}
