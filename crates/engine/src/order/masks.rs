//! Masks: cases with two huge terms that cancel and a tiny term.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{Leaf, Manner, WIDE};
use crate::{
    Error, Result,
    bench::{Ask, Exponents, Subnormal, Term, TermBench, code, power, stands_for},
    format::{Class, Finite, Format},
    isa::{Case, Instruction},
};

/// Largest magnitude of a term's exponent: no sum keeps a ratio of 2^120.
const FARTHEST: i32 = 60;
/// Step between the exponents tried to find a term that comes out unchanged.
const STRIDE: i32 = 4;

/// Largest number of terms of a batch of cases.
const AT_A_TIME: usize = 1 << 20;

/// A term: the index of its leaf, its sign, and its exponent.
pub(super) type MaskTerm = (usize, bool, i32);

/// How three terms meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encounter {
    /// Two terms meet first; the term at this index (0 to 2) comes later.
    Later(usize),
    /// All at once.
    Together(Manner),
}

/// Masks of an instruction.
pub(super) struct Masks<'a> {
    bench: TermBench<'a>,
    leaves: Vec<Leaf>,
    /// Exponent of the huge term at each leaf.
    pub(super) huge: Vec<i32>,
    /// Exponent of the tiny term at each leaf.
    pub(super) tiny: Vec<i32>,
    /// Smallest ratio at which a term was lost.
    lost: i32,
    /// Smallest and largest ratio of the masks asked.
    pub(super) spans: (i32, i32),
}

impl<'a> Masks<'a> {
    /// Finds the largest and the smallest term at each leaf that comes out unchanged.
    pub(super) fn new(i: &'a Instruction, ask: &'a mut Ask<'a>) -> Result<Masks<'a>> {
        let operands = [("A", i.a, true), ("B", i.b, true), ("C", i.c, true), ("D", i.d, true)];
        let scale = i.scale.map(|scale| ("the scale", scale.format, false));
        let lacks = |format: &Format, signed: bool| {
            [false, signed].iter().any(|negative| code(format, *negative, 1, 0).is_none())
        };
        if let Some((what, format, _)) = operands.into_iter().chain(scale).find(|operand| lacks(operand.1, operand.2)) {
            return Err(Error::request(format!(
                "{i}: {what} has the format {format}, which lacks 1 or -1; the order of the sum cannot be found"
            )));
        }
        let mut bench = TermBench::new(i, ask);
        bench.subnormal = Subnormal::FactorsAndScales;
        let leaves = Leaf::all(i);
        let all: Vec<Exponents> = leaves.iter().map(|leaf| bench.exponents(*leaf)).collect();
        let (huge, tiny) = (vec![0; leaves.len()], vec![0; leaves.len()]);
        let mut masks = Masks { bench, leaves, huge, tiny, lost: i32::MAX, spans: (i32::MAX, 0) };
        let d = Exponents::of(i.d);
        // The largest first. D holds twice the term.
        masks.huge = masks.unchanged_exponents("a large", |leaf, step| {
            let high = all[leaf].high.min(d.high - 1).min(FARTHEST);
            let exponent = high - step * STRIDE;
            (exponent > high.min(0) - 2 * STRIDE).then_some(exponent)
        })?;
        let huge = masks.huge.clone();
        masks.tiny = masks.unchanged_exponents("a small", |leaf, step| {
            let low = all[leaf].low.max(d.low).max(-FARTHEST);
            let normal = all[leaf].normal.max(d.normal).max(-FARTHEST);
            let exponent = if step == 0 { low } else { normal + (step - 1) * STRIDE };
            (exponent < huge[leaf]).then_some(exponent)
        })?;
        Ok(masks)
    }

    /// Number of cases asked.
    pub(super) fn asked(&self) -> usize {
        self.bench.asked
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Exponents between which each term alone comes out unchanged; its factors are normal.
    pub(super) fn ranges(&self) -> BTreeMap<Leaf, RangeInclusive<i32>> {
        let normal = |leaf: &Leaf| self.bench.exponents(*leaf).normal;
        let terms = self.leaves.iter().zip(&self.tiny).zip(&self.huge);
        terms.map(|((leaf, tiny), huge)| (*leaf, *tiny.max(&normal(leaf))..=*huge)).collect()
    }

    /// The leaf at an index.
    pub(super) fn leaf(&self, number: usize) -> Leaf {
        self.leaves[number]
    }

    /// The index of a leaf.
    pub(super) fn number(&self, leaf: Leaf) -> usize {
        match leaf {
            Leaf::C => 0,
            Leaf::Product(k) => k + 1,
        }
    }

    /// For each leaf, the first exponent from `choose` at which both signs alone come out unchanged.
    fn unchanged_exponents(&mut self, what: &str, choose: impl Fn(usize, i32) -> Option<i32>) -> Result<Vec<i32>> {
        let mut chosen: Vec<Option<i32>> = vec![None; self.leaves.len()];
        for step in 0.. {
            let open: Vec<usize> = (0..chosen.len()).filter(|leaf| chosen[*leaf].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let mut tried = Vec::new();
            for leaf in open {
                let Some(exponent) = choose(leaf, step) else {
                    let term = match self.leaves[leaf] {
                        Leaf::C => "c".into(),
                        Leaf::Product(k) => format!("the product at k = {k}"),
                    };
                    return Err(Error::request(format!(
                        "{}: {what} power of two as {term}, with zeros elsewhere, does not come out unchanged; the order of the \
                         sum cannot be found",
                        self.bench.i
                    )));
                };
                tried.push((leaf, exponent));
            }
            let entries: Vec<Vec<MaskTerm>> = tried
                .iter()
                .flat_map(|(leaf, exponent)| [false, true].map(|negative| vec![(*leaf, negative, *exponent)]))
                .collect();
            let outputs = self.outputs(&entries)?;
            for ((leaf, exponent), outputs) in tried.into_iter().zip(outputs.chunks(2)) {
                let itself = |at: usize| self.is(outputs[at], at == 1, exponent);
                chosen[leaf] = (itself(0) && itself(1)).then_some(exponent);
            }
        }
        Ok(chosen.into_iter().flatten().collect())
    }

    /// True if the output `code` is this power of two.
    pub(super) fn is(&self, code: u64, negative: bool, exponent: i32) -> bool {
        stands_for(self.bench.i.d, code, Finite::exact(negative, 1, exponent))
    }

    /// The outputs of cases with these terms; all others are zero.
    pub(super) fn outputs(&mut self, entries: &[Vec<MaskTerm>]) -> Result<Vec<u64>> {
        let mut outputs = Vec::new();
        for entries in entries.chunks((AT_A_TIME / self.leaves.len()).max(1)) {
            let cases: Vec<Case> = entries.iter().map(|entries| self.case(entries)).collect();
            outputs.extend(self.bench.codes(&cases)?);
        }
        Ok(outputs)
    }

    /// True if c and the last product, of one magnitude and opposite signs, have the sum 0.
    pub(super) fn cancels(&mut self) -> Result<bool> {
        let last = self.leaves.len() - 1;
        let huge = self.huge[0].min(self.huge[last]);
        let pairs = [false, true].map(|negative| vec![(0, negative, huge), (last, !negative, huge)]);
        let outputs = self.outputs(&pairs)?;
        Ok(outputs.iter().all(|code| self.bench.i.d.decode(*code).class == Class::Zero))
    }

    /// Exponents of the huge terms and the tiny term of a mask, at the largest ratio.
    fn exponents(&self, [x, y, tiny]: [usize; 3]) -> (i32, i32) {
        let huge = self.huge[x].min(self.huge[y]);
        let block = |leaf: usize| self.bench.block(self.leaves[leaf]);
        // Terms with a common scale differ at most as products do.
        let shared = block(tiny).is_some() && (block(tiny) == block(x) || block(tiny) == block(y));
        let products = self.bench.products();
        let within = products.high - products.low;
        let least = if shared { huge - within } else { i32::MIN };
        (huge, self.tiny[tiny].max(least))
    }

    /// Largest ratio that all three masks of a triple can have, as a power of two.
    fn span(&self, [x, y, z]: [usize; 3]) -> i32 {
        let spans = [[y, z, x], [x, z, y], [x, y, z]].map(|mask| {
            let (huge, tiny) = self.exponents(mask);
            huge - tiny
        });
        spans.into_iter().min().unwrap_or(0)
    }

    /// The terms of a mask at this ratio: two huge terms, then the tiny term.
    fn mask(&self, mask: [usize; 3], span: i32) -> Vec<MaskTerm> {
        let (huge, _) = self.exponents(mask);
        vec![(mask[0], false, huge), (mask[1], true, huge), (mask[2], false, huge - span)]
    }

    /// The case of a mask: two huge terms, then the tiny term.
    pub(super) fn mask_case(&self, mask: [usize; 3]) -> Case {
        self.case(&self.mask(mask, self.span(mask)))
    }

    /// True if the tiny term of each mask survives.
    pub(super) fn kept(&mut self, masks: &[[usize; 3]]) -> Result<Vec<bool>> {
        let spans: Vec<i32> = masks.iter().map(|mask| self.span(*mask)).collect();
        self.kept_at(masks, &spans)
    }

    /// True if the tiny term of each mask survives at these ratios.
    fn kept_at(&mut self, masks: &[[usize; 3]], spans: &[i32]) -> Result<Vec<bool>> {
        let entries: Vec<Vec<MaskTerm>> = masks.iter().zip(spans).map(|(mask, span)| self.mask(*mask, *span)).collect();
        let outputs = self.outputs(&entries)?;
        let kept: Vec<bool> =
            outputs.iter().zip(&entries).map(|(code, entries)| self.is(*code, false, entries[2].2)).collect();
        for (span, kept) in spans.iter().zip(&kept) {
            self.spans = (self.spans.0.min(*span), self.spans.1.max(*span));
            if !kept {
                self.lost = self.lost.min(*span);
            }
        }
        Ok(kept)
    }

    /// True if the ratio of three terms has been seen to lose a term.
    pub(super) fn can_lose(&self, triple: [usize; 3]) -> bool {
        self.span(triple) >= self.lost
    }

    /// The encounter of each triple.
    pub(super) fn encounters(&mut self, triples: &[[usize; 3]]) -> Result<Vec<Encounter>> {
        let masks: Vec<[usize; 3]> =
            triples.iter().flat_map(|[x, y, z]| [[*y, *z, *x], [*x, *z, *y], [*x, *y, *z]]).collect();
        let kept = self.kept(&masks)?;
        let encounter_of = |(triple, kept): (&[usize; 3], &[bool])| encounter(kept, self.span(*triple));
        let mut met: Vec<Encounter> = triples.iter().zip(kept.chunks(3)).map(encounter_of).collect();
        // With scales, one term may still be far below the other two. If it survives, the other two have met before.
        let undecided =
            |met: &Encounter| self.bench.i.scale.is_some() && *met == Encounter::Together(Manner::Undecided);
        let mut far: Vec<(usize, usize, i32)> = Vec::new();
        for (at, _) in met.iter().enumerate().filter(|(_, met)| undecided(met)) {
            let spans = (0..3).map(|place| {
                let (huge, tiny) = self.exponents(masks[3 * at + place]);
                (huge - tiny, place)
            });
            far.extend(spans.max().filter(|(span, _)| *span >= WIDE).map(|(span, place)| (at, place, span)));
        }
        let asked: Vec<[usize; 3]> = far.iter().map(|(at, place, _)| masks[3 * at + place]).collect();
        let spans: Vec<i32> = far.iter().map(|(_, _, span)| *span).collect();
        for ((at, place, _), kept) in far.into_iter().zip(self.kept_at(&asked, &spans)?) {
            if kept {
                met[at] = Encounter::Later(place);
            }
        }
        Ok(met)
    }

    /// The case with these terms; all others are zero.
    fn case(&self, entries: &[MaskTerm]) -> Case {
        let term = |(leaf, negative, exponent): &MaskTerm| power(self.leaves[*leaf], *negative, *exponent);
        let terms: Vec<Term> = entries.iter().map(term).collect();
        self.bench.case(&terms).expect("exponents of the formats")
    }
}

/// The encounter of three terms; `kept` says whether each survives as the tiny term.
fn encounter(kept: &[bool], span: i32) -> Encounter {
    match (kept.iter().filter(|kept| **kept).count(), kept.iter().position(|kept| *kept)) {
        (1, Some(later)) => Encounter::Later(later),
        (0, _) => Encounter::Together(Manner::Aligned),
        (3, _) if span >= WIDE => Encounter::Together(Manner::Exact),
        // Two survivors contradict any tree; the checks will report it.
        _ => Encounter::Together(Manner::Undecided),
    }
}
