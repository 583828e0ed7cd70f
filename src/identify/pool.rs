//! Tiles whose answers are known, and how far a candidate is from them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    arithmetic::Evaluator,
    distinguish::DifferenceKind,
    format::{Class, Format},
    isa::{Case, Codes, Instruction, Tiles},
};

/// Tiles with the answers of the device.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    /// The instruction, as large as the tiles.
    pub part: Instruction,
    tiles: Vec<(Tiles, Codes)>,
    /// Of each tile, which answers are ordinary.
    ordinary: Vec<Vec<bool>>,
    /// What judging by it, and by the pools made of it, has cost so far.
    work: Arc<AtomicU64>,
    /// What it may cost.
    pub most: u64,
}

/// What it costs to make an evaluator, and how much more one does that is not fast, as products that a fast one computes.
const MAKING: u64 = 1 << 16;
pub(super) const SLOW: u64 = 150;

/// Which answers a candidate is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// All.
    All,
    /// Normal numbers below the largest exponent: others say little of order, widths and roundings.
    Ordinary,
}

impl Pool {
    /// No tiles of an instruction; how much judging by it may cost.
    pub(super) fn new(part: &Instruction, most: u64) -> Pool {
        Pool { part: part.clone(), tiles: Vec::new(), ordinary: Vec::new(), work: Arc::default(), most }
    }

    /// No tiles, of the same instruction; what judging by it costs is counted together.
    pub(super) fn another(&self) -> Pool {
        Pool { work: self.work.clone(), ..Pool::new(&self.part, self.most) }
    }

    /// What judging has cost so far, in products, about.
    pub(super) fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// Counts single cases, by the reference, with so many products in all.
    pub(super) fn spend(&self, products: u64) {
        self.work.fetch_add(products * SLOW, Ordering::Relaxed);
    }

    /// The cases of the tiles from this one on, with the answers.
    pub(super) fn cases(&self, from: usize) -> Vec<(Case, u64)> {
        let (m, n) = (self.part.m, self.part.n);
        let of = |(tile, answers): &(Tiles, Codes)| -> Vec<(Case, u64)> {
            (0..m * n).map(|at| (tile.case(&self.part, 0, at / n, at % n), answers.get(at))).collect()
        };
        self.tiles[from..].iter().flat_map(of).collect()
    }

    /// Cases of some of the tiles that a program answers otherwise, with the answers of the device: at most so many tiles, and of each
    /// so many cases.
    pub(super) fn missed(&self, evaluator: &Evaluator, (tiles, each): (usize, usize)) -> Vec<(Case, u64)> {
        let (m, n) = (self.part.m, self.part.n);
        let misses = self.misses(evaluator);
        let step = misses.len().div_ceil(tiles).max(1);
        let of = |(tile, _): &(usize, usize)| {
            let (tile, answers) = &self.tiles[*tile];
            let found = evaluator.execute_here(tile);
            let wrong = (0..m * n).filter(|at| found.get(*at) != answers.get(*at));
            let case = |at| (tile.case(&self.part, 0, at / n, at % n), answers.get(at));
            wrong.take(each).map(case).collect::<Vec<_>>()
        };
        misses.iter().step_by(step).flat_map(of).collect()
    }

    /// Adds answered tiles.
    pub(super) fn add(&mut self, tiles: &Tiles, answers: &Codes) {
        let each = self.part.m * self.part.n;
        for tile in 0..answers.len() / each {
            let answers = answers.slice(tile * each, (tile + 1) * each);
            self.ordinary.push(answers.iter().map(|code| is_ordinary(self.part.d, code)).collect());
            self.tiles.push((tiles.slice(tile, tile + 1), answers));
        }
    }

    /// Adds a tile of another pool.
    pub(super) fn take(&mut self, other: &Pool, tile: usize) {
        self.tiles.push(other.tiles[tile].clone());
        self.ordinary.push(other.ordinary[tile].clone());
    }

    /// The first tiles of it.
    pub(super) fn first(&self, count: usize) -> Pool {
        let mut first = self.another();
        (0..count.min(self.len())).for_each(|tile| first.take(self, tile));
        first
    }

    /// How many tiles it has.
    pub(super) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// How many outputs it has.
    pub(super) fn outputs(&self) -> usize {
        self.len() * self.part.m * self.part.n
    }

    /// Every answer.
    pub(super) fn answers(&self) -> impl Iterator<Item = u64> + '_ {
        self.tiles.iter().flat_map(|(_, answers)| answers.iter())
    }

    /// All tiles, with the answers.
    pub(super) fn all(&self) -> (Tiles, Codes) {
        let (mut tiles, mut answers) = (Tiles::zeros(&self.part, 0), Codes::zeros(self.part.d, 0));
        for (tile, codes) in &self.tiles {
            tiles.extend(tile);
            answers.extend(codes);
        }
        (tiles, answers)
    }

    /// How far a candidate is from the answers: 0 if it gives all of them. Where it exceeds `limit`, any number that does.
    pub(super) fn penalty(&self, evaluator: &Evaluator, measure: Measure, limit: u64) -> u64 {
        let (mut sum, mut cost) = (0, MAKING);
        let slow = if evaluator.is_fast() { 1 } else { SLOW };
        let each = (self.part.m * self.part.n * self.part.stored_k()) as u64 * slow;
        for ((tiles, answers), ordinary) in self.tiles.iter().zip(&self.ordinary) {
            cost += each;
            let found = evaluator.execute_here(tiles);
            if found.as_bytes() != answers.as_bytes() {
                let outputs = found.iter().zip(answers.iter()).zip(ordinary);
                let counted = outputs.filter(|(_, ordinary)| measure == Measure::All || **ordinary);
                sum += counted.map(|((x, y), _)| distance(self.part.d, x, y)).sum::<u64>();
                if sum > limit {
                    break;
                }
            }
        }
        self.work.fetch_add(cost, Ordering::Relaxed);
        sum
    }

    /// How many finite results a candidate answers with another one.
    pub(super) fn finite_misses(&self, evaluator: &Evaluator) -> usize {
        let d = self.part.d;
        let is_finite = |x: u64, y: u64| x != y && DifferenceKind::between(d, x, y) == DifferenceKind::Finite;
        let of = |(tiles, answers): &(Tiles, Codes)| {
            let found = evaluator.execute_here(tiles);
            found.iter().zip(answers.iter()).filter(|(x, y)| is_finite(*x, *y)).count()
        };
        self.tiles.iter().map(of).sum()
    }

    /// The tiles of which a candidate answers an element otherwise, and how many elements.
    pub(super) fn misses(&self, evaluator: &Evaluator) -> Vec<(usize, usize)> {
        let miss = |(at, (tiles, answers)): (usize, &(Tiles, Codes))| {
            let found = evaluator.execute_here(tiles);
            let count = found.iter().zip(answers.iter()).filter(|(x, y)| x != y).count();
            (count > 0).then_some((at, count))
        };
        self.tiles.iter().enumerate().filter_map(miss).collect()
    }
}

/// Whether a result is a normal number below the largest exponent (of integers any).
fn is_ordinary(format: &Format, code: u64) -> bool {
    let Some(float) = format.float() else { return true };
    let decoded = format.decode(code);
    let finite = decoded.class == Class::Normal;
    let exponent = decoded.exponent + 63 - decoded.significand.leading_zeros() as i32;
    finite && (float.emin()..float.emax()).contains(&exponent)
}

/// How far two results are apart: 0 only if they are the same code; little for neighbours, more with the logarithm of the numbers
/// between them, most for a NaN beside a number.
fn distance(format: &Format, x: u64, y: u64) -> u64 {
    if x == y {
        return 0;
    }
    let logarithm = |between: u64| 2 * u64::from(64 - between.leading_zeros()).min(28);
    if format.is_integer() {
        return 8 + logarithm(x.abs_diff(y));
    }
    match [x, y].map(|code| format.decode(code).class == Class::Nan) {
        [true, true] => 8,
        [true, false] | [false, true] => 64,
        [false, false] => {
            let sign = 1u64 << (format.bits - 1);
            let place = |code: u64| match code & sign {
                0 => i128::from(code),
                _ => -i128::from(code & (sign - 1)),
            };
            8 + logarithm(place(x).abs_diff(place(y)) as u64)
        }
    }
}
