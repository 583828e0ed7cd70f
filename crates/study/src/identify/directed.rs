//! Tiles that decide what one step of a sum does.
//!
//! All terms are zero, except terms that meet in the step. One more term may cancel the largest of them in a later step, so that the
//! rounding of the later steps does not hide the remaining bits.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::steps::{Part, Step};
use crate::{
    bench::{Draw, Exponents, Leaf, encoded, tile},
    format::{Finite, Format, Real, Rounding},
    isa::{Case, Instruction, Tiles},
};

/// Exponent of the largest terms, if the formats reach it.
const TOP: i32 = 20;
/// Distances of terms below the largest one, in exponents, if D has at most 24 bits.
/// Most are about the number of bits of D, where the last kept bits show.
const GAPS: [i32; 16] = [3, 8, 11, 13, 18, 22, 23, 24, 25, 26, 27, 31, 32, 38, 42, 48];
/// Distances of terms below the largest one, in exponents, if D has more than 24 bits.
const WIDE_GAPS: [i32; 11] = [3, 12, 24, 30, 36, 42, 50, 52, 54, 56, 60];
/// Bits of short terms, which every step passes on unchanged.
const SHORT: u32 = 3;
/// Largest number of terms of a tile, without the term that cancels.
const MOST_TERMS: u64 = 4;

/// The part of a step's arithmetic that a tile shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The alignment and the rounding, by terms of few bits from several parts.
    Sum,
    /// The treatment of the products that the step adds itself, by products with all their bits.
    Products,
}

/// The source of tiles that show steps.
pub(super) struct Directed {
    i: Instruction,
    draw: Draw,
    /// Exponents between which each term alone comes out unchanged.
    ranges: BTreeMap<Leaf, RangeInclusive<i32>>,
}

impl Directed {
    /// The source of tiles of this instruction; terms alone come out unchanged within these exponents.
    pub(super) fn new(i: &Instruction, seed: u64, ranges: BTreeMap<Leaf, RangeInclusive<i32>>) -> Directed {
        Directed { i: i.clone(), draw: Draw::new(seed), ranges }
    }

    /// Smallest and largest exponent that a term may have.
    fn range(&self, leaf: Leaf) -> (i32, i32) {
        self.ranges.get(&leaf).map_or((TOP, TOP), |range| (*range.start(), *range.end()))
    }

    /// A tile for a step; `None` if it has nothing to show. `all` are the terms of the whole sum.
    pub(super) fn tile(&mut self, step: &Step, all: &[Leaf], shown: Shown) -> Option<Tiles> {
        let leaves = match shown {
            Shown::Sum => self.some(step),
            Shown::Products => self.products(step),
        };
        let first = *leaves.first()?;
        // The term that cancels the first one must not meet any of these terms before this step.
        let part = |leaf: &Leaf| step.leaves.iter().position(|part| part.contains(leaf));
        let parts: Vec<Option<usize>> = leaves.iter().map(part).collect();
        let free = |leaf: &Leaf| part(leaf).is_none_or(|part| !parts.contains(&Some(part)));
        let outside: Vec<Leaf> = all.iter().copied().filter(free).collect();
        let wanted = match shown {
            Shown::Sum => self.draw.below(2) == 0,
            Shown::Products => self.draw.below(3) > 0,
        };
        let outside = outside.into_iter().filter(|leaf| shown == Shown::Sum || *leaf == Leaf::C).collect::<Vec<_>>();
        let cancelling =
            (wanted && !outside.is_empty()).then(|| outside[self.draw.below(outside.len() as u64) as usize]);
        Some(self.drawn(&leaves, first, cancelling, shown))
    }

    /// A tile with two products that a step adds itself, `places` apart; `None` if it has none.
    pub(super) fn apart(&mut self, step: &Step, places: usize) -> Option<Tiles> {
        let products: Vec<Leaf> = step.parts.iter().filter_map(Part::product).map(Leaf::Product).collect();
        let first = self.draw.below(products.len().saturating_sub(places) as u64) as usize;
        let leaves = [*products.get(first)?, *products.get(first + places)?];
        Some(self.drawn(&leaves, leaves[0], None, Shown::Sum))
    }

    /// Draws one term of each of two or more parts, in a random order.
    /// If only one part is not a product, it is most often among them.
    fn some(&mut self, step: &Step) -> Vec<Leaf> {
        let count = 2 + self.draw.below((step.parts.len() as u64).min(MOST_TERMS) - 1) as usize;
        let mut parts: Vec<usize> = (0..step.parts.len()).collect();
        let mut drawn = Vec::new();
        let others: Vec<usize> = parts.iter().copied().filter(|at| step.parts[*at].product().is_none()).collect();
        if let ([other], true) = (&others[..], step.parts.len() > 2) {
            parts.remove(*other);
            if self.draw.below(3) > 0 {
                drawn.push(*other);
            }
        }
        while drawn.len() < count && !parts.is_empty() {
            let part = parts.remove(self.draw.below(parts.len() as u64) as usize);
            let place = self.draw.below(drawn.len() as u64 + 1) as usize;
            drawn.insert(place, part);
        }
        let leaf = |part: usize| {
            let leaves = &step.leaves[part];
            // Most often c is preferred, because its format reaches the farthest.
            match leaves.contains(&Leaf::C) && self.draw.below(4) > 0 {
                true => Leaf::C,
                false => leaves[self.draw.below(leaves.len() as u64) as usize],
            }
        };
        drawn.into_iter().map(leaf).collect()
    }

    /// Draws some of the products that a step adds itself.
    fn products(&mut self, step: &Step) -> Vec<Leaf> {
        let mut products: Vec<Leaf> = step.parts.iter().filter_map(Part::product).map(Leaf::Product).collect();
        let count = 1 + self.draw.below((products.len() as u64).min(3));
        let mut some = Vec::new();
        while (some.len() as u64) < count && !products.is_empty() {
            some.push(products.remove(self.draw.below(products.len() as u64) as usize));
        }
        some
    }

    fn drawn(&mut self, leaves: &[Leaf], first: Leaf, cancelling: Option<Leaf>, shown: Shown) -> Tiles {
        let i = &self.i.clone();
        let top = leaves.iter().chain(&cancelling).map(|leaf| self.range(*leaf).1).min().unwrap_or(0);
        let top = self.top().min(top);
        let rows = self.side(i.m, true, leaves, (first, cancelling), (top, shown));
        let columns = self.side(i.n, false, leaves, (first, cancelling), (top, shown));
        let with_c = leaves.contains(&Leaf::C);
        // If the products cannot be far below c, c is put above them.
        let low = leaves.iter().filter(|leaf| **leaf != Leaf::C).map(|leaf| self.range(*leaf).0).max().unwrap_or(top);
        let highest = Exponents::of(i.c).high.min(Exponents::of(i.d).high);
        let room = (highest - 5 - top).max(0);
        tile(i, &rows, &columns, |case| match (cancelling, first) {
            (Some(Leaf::C), Leaf::Product(k)) | (Some(Leaf::Product(k)), Leaf::C) => self.opposite(case, k, shown),
            _ if with_c => {
                let gap = self.gap(shown);
                let lift = if first == Leaf::C { (gap - (top - low)).clamp(0, room) } else { 0 };
                let far = if first == Leaf::C { 3 } else { gap };
                let below = if self.draw.below(2) == 0 { far } else { self.draw.below(far as u64 + 1) as i32 };
                let exponent = top + lift - below;
                self.code(i.c, exponent.max(self.range(Leaf::C).0), SHORT)
            }
            _ => 0,
        })
    }

    /// Draws the largest distance of the other terms below the largest one.
    fn gap(&mut self, shown: Shown) -> i32 {
        let wide = self.i.d.float().is_some_and(|float| float.precision() > 24);
        let gaps = if wide { &WIDE_GAPS[..] } else { &GAPS };
        let gap = gaps[self.draw.below(gaps.len() as u64) as usize];
        if shown == Shown::Products { gap.min(12) } else { gap }
    }

    /// The exponent of the largest terms.
    fn top(&self) -> i32 {
        let high = |format: &Format| Exponents::of(format).high;
        let products = match self.i.scale {
            Some(_) => i32::MAX,
            None => high(self.i.a) + high(self.i.b),
        };
        TOP.min(high(self.i.d) - 5).min(high(self.i.c) - 1).min(products)
    }

    /// The codes of A in each row, or the codes of B in each column.
    fn side(
        &mut self,
        lines: usize,
        of_a: bool,
        leaves: &[Leaf],
        (first, cancelling): (Leaf, Option<Leaf>),
        (top, shown): (i32, Shown),
    ) -> Vec<Case> {
        let i = &self.i.clone();
        let format = if of_a { i.a } else { i.b };
        let Exponents { normal: least, high: most, .. } = Exponents::of(format);
        let most = most - i32::from(most > 3);
        let high = if of_a { top / 2 } else { top - top / 2 };
        // A and B divide a gap by the ranges of their formats: in equal parts if both ranges are large enough.
        let reach = |format: &Format| (Exponents::of(format).high - Exponents::of(format).normal).min(64);
        let (side_reach, other_reach) = (reach(format), reach(if of_a { i.b } else { i.a }));
        let share = 100 * side_reach / (side_reach + other_reach).max(1);
        let bits = match (shown, of_a) {
            (Shown::Products, _) => 64,
            (Shown::Sum, true) => SHORT,
            (Shown::Sum, false) => 1,
        };
        let one = |scale: &Format, exponent: i32| encoded(scale, Finite::exact(false, 1, exponent));
        let mut all = Vec::new();
        for _ in 0..lines {
            let mut case = Case::zeros(i);
            if let Some(scale) = i.scale {
                case.scale_a.fill(one(scale.format, 0));
                case.scale_b.fill(one(scale.format, 0));
            }
            let mut block_scales: Vec<(usize, i32)> = Vec::new();
            let gap = self.gap(shown);
            for leaf in leaves {
                let Leaf::Product(k) = *leaf else { continue };
                let far = gap.min(top - self.range(*leaf).0);
                let far = if *leaf == first { 1 } else { (far * share / 100).max(0) };
                // Half of the terms are at the full distance, the others anywhere up to it.
                let far = if self.draw.below(2) == 0 { far } else { self.draw.below(far as u64 + 1) as i32 };
                let exponent = high - far;
                let at = case.logical(i, k);
                let mut by = 0;
                if let Some(scale) = i.scale {
                    let block = at / scale.block;
                    by = match block_scales.iter().find(|(other, _)| *other == block) {
                        Some((_, by)) => *by,
                        None => exponent - exponent.clamp(least, most),
                    };
                    let range = Exponents::of(scale.format);
                    by = by.clamp(range.normal, range.high);
                    block_scales.push((block, by));
                    let code = one(scale.format, by);
                    if of_a { case.scale_a[block] = code } else { case.scale_b[block] = code }
                }
                let code = self.code(format, (exponent - by).clamp(least, most), bits);
                if of_a { case.a[k] = code } else { case.b[at] = code }
            }
            if let (Some(Leaf::Product(k)), Leaf::Product(of)) = (cancelling, first) {
                let (at, from) = (case.logical(i, k), case.logical(i, of));
                if let Some(scale) = i.scale {
                    let (block, first_block) = (at / scale.block, from / scale.block);
                    if block_scales.iter().all(|(other, _)| *other != block) {
                        case.scale_a[block] = case.scale_a[first_block];
                        case.scale_b[block] = case.scale_b[first_block];
                    }
                }
                if of_a { case.a[k] = negated(format, case.a[of]) } else { case.b[at] = case.b[from] }
            } else if let (Some(Leaf::Product(k)), Leaf::C) = (cancelling, first) {
                let exponent = high - self.draw.below(2) as i32;
                let at = case.logical(i, k);
                let code = self.code(format, exponent.clamp(least, most), bits);
                if of_a { case.a[k] = code } else { case.b[at] = code }
            }
            all.push(case);
        }
        all
    }

    /// The code of a number with this exponent and at most `bits` significant bits.
    /// Half of the numbers that are to be short are powers of two.
    fn code(&mut self, format: &Format, exponent: i32, bits: u32) -> u64 {
        let bits = if bits > 1 && bits <= SHORT && self.draw.below(2) == 0 { 1 } else { bits };
        let range = Exponents::of(format);
        self.draw.code(format, exponent.clamp(range.normal, range.high), bits)
    }

    /// The element of C that cancels a product.
    /// If the product has all its bits, only some of the leading ones are cancelled.
    fn opposite(&mut self, case: &Case, k: usize, shown: Shown) -> u64 {
        let i = &self.i.clone();
        let logical = case.logical(i, k);
        let mut value = Finite::exact(true, 1, 0);
        let mut factors = vec![i.a.value(case.a[k]), i.b.value(case.b[logical])];
        if let Some(scale) = i.scale {
            let block = logical / scale.block;
            factors.extend([case.scale_a[block], case.scale_b[block]].map(|code| scale.format.value(code)));
        }
        for factor in factors {
            let Real::Finite(factor) = factor else { return 0 };
            value = value.times(&factor);
        }
        if shown == Shown::Products && !value.is_zero() {
            value = value.rounded_to_precision(1 + self.draw.below(u64::from(SHORT)) as u32, Rounding::Rz);
        }
        encoded(i.c, value)
    }
}

/// The code with the other sign, if the format has signs.
fn negated(format: &Format, code: u64) -> u64 {
    match format.float() {
        Some(float) if float.signed => code ^ 1 << (format.bits - 1),
        _ => code,
    }
}
