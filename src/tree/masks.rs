//! Masks: cases with two huge terms that cancel and a tiny term.

use super::{Leaf, Manner, WIDE};
use crate::{
    Error, Result,
    base::interrupt,
    format::{Finite, Format, Overflow, Real, Rounding},
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

/// Exponents of the powers of two in a format.
#[derive(Debug, Clone, Copy)]
struct PowerRange {
    low: i32,
    /// Smallest exponent of a normal number.
    normal: i32,
    high: i32,
}

/// Masks of an instruction.
pub(super) struct Masks<'a> {
    i: &'a Instruction,
    ask: &'a mut dyn FnMut(&[Case]) -> Result<Vec<u64>>,
    leaves: Vec<Leaf>,
    a: PowerRange,
    b: PowerRange,
    c: PowerRange,
    scale: Option<PowerRange>,
    /// Exponent of the huge term at each leaf.
    pub(super) huge: Vec<i32>,
    /// Exponent of the tiny term at each leaf.
    pub(super) tiny: Vec<i32>,
    /// Smallest ratio at which a term was lost.
    lost: i32,
    /// Number of cases asked.
    pub(super) asked: usize,
    /// Smallest and largest ratio of the masks asked.
    pub(super) spans: (i32, i32),
}

impl<'a> Masks<'a> {
    /// Finds the largest and the smallest term at each leaf that comes out unchanged.
    pub(super) fn new(i: &'a Instruction, ask: &'a mut dyn FnMut(&[Case]) -> Result<Vec<u64>>) -> Result<Masks<'a>> {
        let unusable = |what: &str, format: &Format| {
            Error::request(format!(
                "{i}: {what} has the format {format}, which lacks 1 or -1; the order of the sum cannot be found"
            ))
        };
        let range = |what: &str, format: &'static Format| range(format).ok_or_else(|| unusable(what, format));
        let (a, b, c, d) = (range("A", i.a)?, range("B", i.b)?, range("C", i.c)?, range("D", i.d)?);
        let scale = match i.scale {
            Some(scale) => Some(scale_range(scale.format).ok_or_else(|| unusable("the scale", scale.format))?),
            None => None,
        };
        let leaves = Leaf::all(i);
        let mut masks = Masks {
            i,
            ask,
            a,
            b,
            c,
            scale,
            huge: vec![0; leaves.len()],
            tiny: vec![0; leaves.len()],
            leaves,
            lost: i32::MAX,
            asked: 0,
            spans: (i32::MAX, 0),
        };
        let all = masks.limits();
        // The largest first. D holds twice the term.
        masks.huge = masks.own("a large", |leaf, step| {
            let high = all[leaf].high.min(d.high - 1).min(FARTHEST);
            let exponent = high - step * STRIDE;
            (exponent > high.min(0) - 2 * STRIDE).then_some(exponent)
        })?;
        let huge = masks.huge.clone();
        masks.tiny = masks.own("a small", |leaf, step| {
            let low = all[leaf].low.max(d.low).max(-FARTHEST);
            let normal = all[leaf].normal.max(d.normal).max(-FARTHEST);
            let exponent = if step == 0 { low } else { normal + (step - 1) * STRIDE };
            (exponent < huge[leaf]).then_some(exponent)
        })?;
        Ok(masks)
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.leaves.len()
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

    /// The exponents that the formats allow at each leaf.
    fn limits(&self) -> Vec<PowerRange> {
        let scale = self.scale.unwrap_or(PowerRange { low: 0, normal: 0, high: 0 });
        let (a, b) = (self.a, self.b);
        let product = PowerRange {
            low: a.low + b.low + 2 * scale.low,
            normal: a.normal + b.normal + 2 * scale.normal,
            high: a.high + b.high + 2 * scale.high,
        };
        self.leaves.iter().map(|leaf| if *leaf == Leaf::C { self.c } else { product }).collect()
    }

    /// For each leaf, the first exponent from `choose` at which both signs alone come out unchanged.
    fn own(&mut self, what: &str, choose: impl Fn(usize, i32) -> Option<i32>) -> Result<Vec<i32>> {
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
                        self.i
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
        match self.i.d.value(code) {
            Real::Finite(value) => {
                value.negative == negative
                    && value.significand.is_power_of_two()
                    && value.leading_exponent() == Some(exponent)
            }
            _ => false,
        }
    }

    /// The outputs of cases with these terms; all others are zero.
    pub(super) fn outputs(&mut self, entries: &[Vec<MaskTerm>]) -> Result<Vec<u64>> {
        let mut outputs = Vec::new();
        for entries in entries.chunks((AT_A_TIME / self.leaves.len()).max(1)) {
            interrupt::check()?;
            let cases: Vec<Case> = entries.iter().map(|entries| self.case(entries)).collect();
            let answers = (self.ask)(&cases)?;
            if answers.len() != cases.len() {
                let (asked, answered) = (cases.len(), answers.len());
                return Err(Error::device(format!("{answered} of {asked} cases were answered")));
            }
            self.asked += answers.len();
            outputs.extend(answers);
        }
        Ok(outputs)
    }

    /// Exponents of the huge terms and the tiny term of a mask, at the largest ratio.
    fn exponents(&self, [x, y, tiny]: [usize; 3]) -> (i32, i32) {
        let huge = self.huge[x].min(self.huge[y]);
        let block = |leaf: usize| self.block(leaf);
        // Terms with a common scale differ at most as products do.
        let shared = block(tiny).is_some() && (block(tiny) == block(x) || block(tiny) == block(y));
        let within = self.a.high - self.a.low + self.b.high - self.b.low;
        let least = if shared { huge - within } else { i32::MIN };
        (huge, self.tiny[tiny].max(least))
    }

    /// Largest ratio that all three masks of a triple can have, as a power of two.
    fn span(&self, [x, y, z]: [usize; 3]) -> i32 {
        let spans = [[y, z, x], [x, z, y], [x, y, z]].map(|own| {
            let (huge, tiny) = self.exponents(own);
            huge - tiny
        });
        spans.into_iter().min().unwrap_or(0)
    }

    /// The terms of a mask at this ratio: two huge terms, then the tiny term.
    fn mask(&self, own: [usize; 3], span: i32) -> Vec<MaskTerm> {
        let (huge, _) = self.exponents(own);
        vec![(own[0], false, huge), (own[1], true, huge), (own[2], false, huge - span)]
    }

    /// The case of a mask: two huge terms, then the tiny term.
    pub(super) fn mask_case(&self, own: [usize; 3]) -> Case {
        self.case(&self.mask(own, self.span(own)))
    }

    /// True if the tiny term of each mask survives.
    pub(super) fn kept(&mut self, masks: &[[usize; 3]]) -> Result<Vec<bool>> {
        let spans: Vec<i32> = masks.iter().map(|own| self.span(*own)).collect();
        self.kept_at(masks, &spans)
    }

    /// True if the tiny term of each mask survives at these ratios.
    fn kept_at(&mut self, masks: &[[usize; 3]], spans: &[i32]) -> Result<Vec<bool>> {
        let entries: Vec<Vec<MaskTerm>> = masks.iter().zip(spans).map(|(own, span)| self.mask(*own, *span)).collect();
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
        let own = |(triple, kept): (&[usize; 3], &[bool])| encounter(kept, self.span(*triple));
        let mut met: Vec<Encounter> = triples.iter().zip(kept.chunks(3)).map(own).collect();
        // With scales, one term may still be far below the other two. If it survives, the other two have met before.
        let undecided = |met: &Encounter| self.scale.is_some() && *met == Encounter::Together(Manner::Undecided);
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

    /// Index of the block whose scale a term has.
    fn block(&self, leaf: usize) -> Option<usize> {
        match (self.i.scale, self.leaves[leaf]) {
            (Some(scale), Leaf::Product(at)) => Some(Case::zeros(self.i).logical(self.i, at) / scale.block),
            _ => None,
        }
    }

    /// The case with these terms; all others are zero.
    fn case(&self, entries: &[MaskTerm]) -> Case {
        let i = self.i;
        let mut case = Case::zeros(i);
        let code = |format: &'static Format, negative, exponent| power(format, negative, exponent).unwrap_or(0);
        if let Some(scale) = i.scale {
            case.scale_a.fill(code(scale.format, false, 0));
            case.scale_b.fill(code(scale.format, false, 0));
        }
        for (leaf, negative, exponent) in entries {
            let Leaf::Product(at) = self.leaves[*leaf] else {
                case.c = code(i.c, *negative, *exponent);
                continue;
            };
            let mut own = *exponent;
            if let (Some(scale), Some(range), Some(block)) = (i.scale, self.scale, self.block(*leaf)) {
                // The scale nearest to 1 with which all terms of the block are products.
                let same = entries.iter().filter(|(other, ..)| self.block(*other) == Some(block));
                let (least, most) = same.fold((i32::MIN, i32::MAX), |(least, most), (_, _, exponent)| {
                    (least.max(exponent - self.a.high - self.b.high), most.min(exponent - self.a.low - self.b.low))
                });
                let both = 0.min(most).max(least);
                let (x, y) = split(both, range, range);
                case.scale_a[block] = code(scale.format, false, x);
                case.scale_b[block] = code(scale.format, false, y);
                own -= both;
            }
            let (x, y) = split(own, self.a, self.b);
            case.a[at] = code(i.a, *negative, x);
            let logical = case.logical(i, at);
            case.b[logical] = code(i.b, false, y);
        }
        case
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

/// Splits an exponent into two, near the middle of their ranges.
fn split(sum: i32, x: PowerRange, y: PowerRange) -> (i32, i32) {
    let second = (sum / 2).clamp(y.normal, y.high);
    let first = (sum - second).clamp(x.normal, x.high);
    // Subnormal numbers extend the second range, then the first.
    let second = (sum - first).clamp(y.low, y.high);
    (sum - second, second)
}

/// Code of a power of two, if the format has it.
fn power(format: &Format, negative: bool, exponent: i32) -> Option<u64> {
    let code = format.encode(&Real::Finite(Finite::exact(negative, 1, exponent)), Rounding::Rz, Overflow::Saturate)?;
    match format.value(code) {
        Real::Finite(value) => {
            let same = value.negative == negative && value.significand.is_power_of_two();
            (same && value.leading_exponent() == Some(exponent)).then_some(code)
        }
        _ => None,
    }
}

/// The powers of two in a format with signs.
fn range(format: &Format) -> Option<PowerRange> {
    power(format, true, 0)?;
    scale_range(format)
}

/// The powers of two in a format.
fn scale_range(format: &Format) -> Option<PowerRange> {
    let float = format.float()?;
    power(format, false, 0)?;
    let has = |exponent: &i32| power(format, false, *exponent).is_some();
    let (least, most) = (float.emin() - float.trailing_bits as i32, float.emax());
    let normal = (float.emin()..=0).find(has)?;
    let low = (least..=normal).find(has)?;
    let high = (0..=most).rev().find(has)?;
    Some(PowerRange { low: low.max(-2 * FARTHEST), normal: normal.max(-2 * FARTHEST), high: high.min(2 * FARTHEST) })
}
