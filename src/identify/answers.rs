//! Tiles with the device's answers, and how a rule compares with them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::few_terms::Answered;
use crate::{
    arithmetic::Evaluator,
    base::parallel,
    isa::{Codes, Instruction, Tiles},
};

/// Tiles with the answers of the device.
#[derive(Debug)]
pub(super) struct Answers {
    /// The instruction, as large as the tiles.
    pub part: Instruction,
    tiles: Vec<(Tiles, Codes)>,
    /// Products that the reference has computed so far.
    work: AtomicU64,
    /// Products that one stage of the search may compute, and all stages so far.
    each: u64,
    most: AtomicU64,
}

impl Answers {
    /// No tiles of an instruction; `each` bounds the products of one stage of the search.
    pub(super) fn new(part: &Instruction, each: u64) -> Answers {
        let (work, most) = (AtomicU64::default(), AtomicU64::new(each));
        Answers { part: part.clone(), tiles: Vec::new(), work, each, most }
    }

    /// Products that the reference has computed so far.
    pub(super) fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// Counts products that the reference has computed.
    pub(super) fn spend(&self, products: u64) {
        self.work.fetch_add(products, Ordering::Relaxed);
    }

    /// Counts cases that the reference has computed.
    pub(super) fn spend_cases(&self, cases: usize) {
        self.spend((cases * self.part.stored_k()) as u64);
    }

    /// Begins a stage that may compute one part in `part` of what a whole stage may.
    pub(super) fn begin_stage(&self, part: u64) {
        self.most.store(self.work() + self.each / part, Ordering::Relaxed);
    }

    /// Products that the stage may still compute.
    pub(super) fn left(&self) -> u64 {
        self.most.load(Ordering::Relaxed).saturating_sub(self.work())
    }

    /// Adds answered tiles.
    pub(super) fn add(&mut self, tiles: &Tiles, answers: &Codes) {
        let each = self.part.m * self.part.n;
        for tile in 0..answers.len() / each {
            let answers = answers.slice(tile * each, (tile + 1) * each);
            self.tiles.push((tiles.slice(tile, tile + 1), answers));
        }
    }

    /// Number of tiles.
    pub(super) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// Number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.len() * self.part.m * self.part.n
    }

    /// Cases of a tile, with the answers.
    fn cases_of(&self, tile: usize) -> impl Iterator<Item = Answered> + '_ {
        let (m, n) = (self.part.m, self.part.n);
        let (tile, answers) = &self.tiles[tile];
        (0..m * n).map(move |at| (tile.case(&self.part, 0, at / n, at % n), answers.get(at)))
    }

    /// Cases of the tiles from this one on, with the answers.
    pub(super) fn cases(&self, from: usize) -> Vec<Answered> {
        (from..self.len()).flat_map(|tile| self.cases_of(tile)).collect()
    }

    /// So many cases, spread evenly, with the answers.
    pub(super) fn spread_cases(&self, count: usize) -> Vec<Answered> {
        let (each, n) = (self.part.m * self.part.n, self.part.n);
        let step = self.outputs().div_ceil(count).max(1);
        let of = |at: usize| {
            let (tile, answers) = &self.tiles[at / each];
            let at = at % each;
            (tile.case(&self.part, 0, at / n, at % n), answers.get(at))
        };
        // An even step would meet the same columns of every tile.
        (0..self.outputs()).step_by(step | 1).map(of).collect()
    }

    /// Every answer.
    pub(super) fn codes(&self) -> impl Iterator<Item = u64> + '_ {
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

    /// True if a rule gives every answer.
    pub(super) fn agree(&self, evaluator: &Evaluator) -> bool {
        self.tiles.iter().all(|(tile, answers)| evaluator.execute_here(tile).as_bytes() == answers.as_bytes())
    }

    /// Tiles with outputs that a rule misses, and the places of these outputs.
    fn missed_places(&self, evaluator: &Evaluator) -> Vec<(usize, Vec<usize>)> {
        let numbered: Vec<usize> = (0..self.len()).collect();
        let places = parallel::map(&numbered, |tile| {
            let (tile, answers) = &self.tiles[*tile];
            let found = evaluator.execute_here(tile);
            (0..answers.len()).filter(|at| found.get(*at) != answers.get(*at)).collect::<Vec<_>>()
        });
        numbered.into_iter().zip(places).filter(|(_, places)| !places.is_empty()).collect()
    }

    /// Number of outputs that a rule misses.
    pub(super) fn misses(&self, evaluator: &Evaluator) -> usize {
        self.missed_places(evaluator).iter().map(|(_, places)| places.len()).sum()
    }

    /// Some of the cases that a rule misses: of at most `tiles` tiles, at most `each` of each.
    pub(super) fn missed(&self, evaluator: &Evaluator, tiles: usize, each: usize) -> Vec<Answered> {
        let missed = self.missed_places(evaluator);
        let step = missed.len().div_ceil(tiles).max(1);
        let of = |(tile, places): &(usize, Vec<usize>)| {
            let skip = places.len().div_ceil(each).max(1);
            let chosen: Vec<usize> = places.iter().copied().step_by(skip).collect();
            self.cases_of(*tile)
                .enumerate()
                .filter(|(at, _)| chosen.contains(at))
                .map(|(_, own)| own)
                .collect::<Vec<_>>()
        };
        missed.iter().step_by(step).flat_map(of).collect()
    }
}
