//! Spellings of one sum: schedules whose D is the same for all operands.

use std::{cell::RefCell, collections::HashMap, ops::Range};

use super::{
    candidates::slabs,
    usual::{self, SHORT_PART},
};
use crate::product::{
    AccumulatorJoin, Accumulators, BiasEntry, KOrder, PartJoin, PartTerms, Residue, Run, Schedule, SplitK,
    bound::ErrorSource,
    epilogue::{self, ElementAddends, RegisterArithmetic},
    schedule::CEntry,
};

/// An operation of a sum, on operations before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Operation {
    Number(u64),
    /// Steps of the unit, from zero; true: from C or the bias.
    Steps(bool, Vec<Range<usize>>),
    Add(usize, usize),
    Multiply(usize, u64),
    MultiplyAdd(usize, u64, usize),
    Output(usize),
}

/// The operations of some sums, each once: sums with one number are one sum.
#[derive(Debug, Default)]
pub(super) struct Operations(RefCell<HashMap<Operation, usize>>);

impl Operations {
    fn of(&self, operation: Operation) -> usize {
        let mut known = self.0.borrow_mut();
        let next = known.len();
        *known.entry(operation).or_insert(next)
    }

    /// The number of a schedule's sum of `k` terms; C, the bias and scales are symbols.
    pub(super) fn sum(&self, schedule: &Schedule, k: usize) -> usize {
        let begins = schedule.c == CEntry::Start || schedule.bias == BiasEntry::Start;
        let at_end = schedule.scales.is_some_and(|scales| scales.multiply.is_at_end());
        let part = |(at, part): (usize, Vec<Run>)| {
            let sum = part.iter().fold(None, |sum, run| {
                let chain = |(place, chain): (usize, Run)| {
                    let steps: Vec<Range<usize>> = chain.steps.into_iter().filter(|step| !step.is_empty()).collect();
                    let is_first = begins && at == 0 && place == 0;
                    if steps.is_empty() && !is_first { self.zero() } else { self.of(Operation::Steps(is_first, steps)) }
                };
                let chains = run.dealt(schedule).into_iter().enumerate().map(chain).collect();
                let joined = epilogue::joined(self, chains, schedule.accumulators.join);
                let block =
                    |k: usize, scales: [usize; 2]| [1.0, (2 + k / scales[0] * (1 << 20) + k / scales[1]) as f64];
                let blocks = schedule.scales.filter(|_| !at_end).map(|scales| [scales.a[1], scales.b[0]]);
                let scales = run.k().zip(blocks).map(|(k, blocks)| block(k, blocks));
                Some(epilogue::promoted(self, schedule, sum.as_ref(), &joined, scales))
            });
            sum.unwrap_or_else(|| self.zero())
        };
        let parts = schedule.walk(k).parts.into_iter().enumerate().map(part).collect();
        let addends = ElementAddends { scales: at_end.then_some([3.0, 5.0]), c: Some(7.0), bias: Some(11.0) };
        epilogue::finished(self, schedule, parts, &addends)
    }
}

impl RegisterArithmetic for Operations {
    type Value = usize;

    fn zero(&self) -> usize {
        self.number(0.0)
    }

    fn number(&self, x: f64) -> usize {
        self.of(Operation::Number(x.to_bits()))
    }

    /// A sum of two has no order, and zero changes nothing.
    fn add(&self, x: &usize, y: &usize, _: ErrorSource) -> usize {
        match self.zero() {
            zero if *x == zero => *y,
            zero if *y == zero => *x,
            _ => self.of(Operation::Add(*x.min(y), *x.max(y))),
        }
    }

    fn multiply(&self, x: &usize, factor: f64) -> usize {
        self.of(Operation::Multiply(*x, factor.to_bits()))
    }

    fn multiply_add(&self, x: &usize, factor: f64, y: &usize, _: ErrorSource) -> usize {
        self.of(Operation::MultiplyAdd(*x, factor.to_bits(), *y))
    }

    fn output(&self, x: &usize) -> usize {
        self.of(Operation::Output(*x))
    }
}

/// All spellings of a schedule's sum of `k` terms, the most usual first.
///
/// Parts, accumulators and promotion of the same pieces of k are compared; spellings that differ in no word are one.
pub(super) fn spellings(schedule: &Schedule, turn: Option<usize>, k: usize) -> Vec<Schedule> {
    let parts: Vec<Vec<Run>> =
        schedule.walk(k).parts.iter().map(|part| part.iter().flat_map(|run| run.dealt(schedule)).collect()).collect();
    let length = |steps: &[Range<usize>]| steps.iter().map(ExactSizeIterator::len).sum::<usize>();
    let chains = || parts.iter().flatten().filter(|chain| length(&chain.steps) > 0);
    let touch = |x: &Range<usize>, y: &Range<usize>| x.end == y.start || y.end == x.start;
    let pieces = |chain: &Run| chain.steps.chunk_by(touch).map(length).max().unwrap_or(0);
    let whole = chains().map(|chain| length(&chain.steps)).max().unwrap_or(0);
    let piece = chains().map(pieces).max().unwrap_or(0);
    let plain = Schedule {
        split: SplitK { count: 1, join: PartJoin::Register, terms: PartTerms::Contiguous, ..schedule.split },
        promote: None,
        promote_halves: None,
        accumulators: Accumulators { count: 1, granule: schedule.instruction.k, join: AccumulatorJoin::Order },
        ..schedule.clone()
    };
    let mut all = vec![schedule.clone()];
    let short = schedule.residue == Residue::First
        && schedule.parts(k).iter().flatten().any(|piece| !piece.len().is_multiple_of(schedule.slab));
    let slabs = slabs(schedule.instruction.k).into_iter().filter(|(_, residue)| short && *residue == Residue::First);
    all.extend(slabs.map(|(slab, _)| Schedule { slab, ..schedule.clone() }));
    let mut count = chains().count();
    for split in [plain.split, schedule.split] {
        if count > 1 {
            let joins = &AccumulatorJoin::ALL[..if count == 2 { 1 } else { AccumulatorJoin::ALL.len() }];
            let promoted = Schedule { split, promote: Some(whole), ..plain.clone() };
            let dealt = [whole, piece].into_iter().flat_map(|granule| joins.iter().map(move |join| (granule, *join)));
            all.extend(dealt.map(|(granule, join)| Schedule {
                split,
                accumulators: Accumulators { count, granule, join },
                ..plain.clone()
            }));
            all.push(promoted);
        }
        if parts.len() == 1 {
            break;
        }
        count = parts.iter().map(Vec::len).max().unwrap_or(0);
    }
    let count = chains().count();
    let joins = [PartJoin::Register, PartJoin::Pairs, PartJoin::Halves];
    for join in &joins[..if count == 2 { 1 } else { joins.len() }] {
        for (granule, terms) in [(whole, PartTerms::Contiguous), (piece, PartTerms::Interleaved)] {
            let split = SplitK { count, granule, terms, join: *join };
            // Interleaved parts of one piece each are contiguous ones.
            let is_other = count > 1 && (terms == PartTerms::Contiguous || piece < whole);
            all.extend(is_other.then(|| Schedule { split, ..plain.clone() }));
        }
    }
    if chains().all(|chain| chain.steps.len() == 1) && count > 1 {
        let turned = |schedule: &Schedule| KOrder::ALL.map(|order| Schedule { order, ..schedule.clone() });
        all = all.iter().flat_map(turned).collect();
    }
    let operations = Operations::default();
    let sum = operations.sum(schedule, k);
    let mut words = Vec::new();
    all.retain(|other| {
        let is_same = other.check().is_ok() && operations.sum(other, k) == sum && !words.contains(&other.sentence(k));
        words.extend(is_same.then(|| other.sentence(k)));
        is_same
    });
    // A part of few k is a tile of a kernel that promotes; accumulators in turn take more than one piece.
    let is_unusual = |other: &Schedule| {
        piece == whole && (other.parts(k).len() > 1 && whole <= SHORT_PART || other.accumulators.count > 1)
    };
    all.sort_by_key(|other| (is_unusual(other), usual::of_schedule(other, turn), other.split.count));
    all
}
