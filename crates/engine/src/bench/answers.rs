//! Every answer of a device, and how a rule compares with them.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::Answered;
use crate::{
    arithmetic::Evaluator,
    base::parallel,
    inputs::Position,
    isa::{Case, Codes, Instruction, Tiles},
};

/// The operands of an element: digests of the row and the column, and c.
pub(super) type Key = (u64, u64, u64);

/// An answer, and where in a tile it was given; `tile` is the number of a tile that is kept.
#[derive(Debug, Clone, Copy)]
struct Given {
    code: u64,
    tile: Option<usize>,
    row: usize,
    column: usize,
}

/// An element of a tile.
#[derive(Debug, Clone)]
pub struct Element {
    /// The instruction, as large as the tile.
    pub part: Instruction,
    /// The tile alone.
    pub tile: Tiles,
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

impl Element {
    /// The element of tiles at a place.
    pub fn of(part: &Instruction, tiles: &Tiles, Position { tile, row, column }: Position) -> Element {
        Element { part: part.clone(), tile: tiles.slice(tile, tile + 1), row, column }
    }

    /// An element whose tile is zero elsewhere.
    pub fn alone(part: &Instruction, case: &Case, row: usize, column: usize) -> Element {
        let mut tile = Tiles::zeros(part, 1);
        tile.place(part, 0, row, column, case);
        Element { part: part.clone(), tile, row, column }
    }

    /// Its operands.
    pub(super) fn case(&self) -> Case {
        self.tile.case(&self.part, 0, self.row, self.column)
    }
}

/// Two answers to equal operands.
#[derive(Debug)]
pub struct Conflict {
    /// The elements that have them.
    pub elements: [Element; 2],
    /// The answers.
    pub codes: [u64; 2],
    /// The numbers of the tiles; `None` for a case that was asked alone.
    pub tiles: [Option<usize>; 2],
}

/// Tiles with the answers of the device, and the answers to single cases.
#[derive(Debug)]
pub struct Answers {
    /// The instruction, as large as the tiles.
    pub part: Instruction,
    tiles: Vec<(Tiles, Codes)>,
    given: HashMap<Key, Given>,
}

impl Answers {
    /// No answers of an instruction.
    pub fn new(part: &Instruction) -> Answers {
        Answers { part: part.clone(), tiles: Vec::new(), given: HashMap::new() }
    }

    /// Adds answered tiles.
    ///
    /// # Errors
    /// Two answers to equal operands.
    pub fn add(&mut self, tiles: &Tiles, answers: &Codes) -> Result<(), Box<Conflict>> {
        self.take(tiles, answers, true)
    }

    /// Compares answered tiles with the answers so far, and does not keep them.
    ///
    /// # Errors
    /// Two answers to equal operands.
    pub(super) fn compare(&mut self, tiles: &Tiles, answers: &Codes) -> Result<(), Box<Conflict>> {
        self.take(tiles, answers, false)
    }

    fn take(&mut self, tiles: &Tiles, answers: &Codes, keep: bool) -> Result<(), Box<Conflict>> {
        let each = self.part.m * self.part.n;
        for tile in 0..answers.len() / each {
            let (inputs, codes) = (tiles.slice(tile, tile + 1), answers.slice(tile * each, (tile + 1) * each));
            let number = keep.then_some(self.tiles.len());
            for (key, given) in elements(&self.part, &inputs, &codes) {
                let given = Given { tile: number, ..given };
                let before = match keep {
                    true => *self.given.entry(key).or_insert(given),
                    false => self.given.get(&key).copied().unwrap_or(given),
                };
                if before.code != given.code {
                    // Both may be in this tile.
                    self.tiles.push((inputs.clone(), codes));
                    let place = Position { tile: 0, row: given.row, column: given.column };
                    return Err(self.conflict(before, Element::of(&self.part, &inputs, place), given));
                }
            }
            if keep {
                self.tiles.push((inputs, codes));
            }
        }
        Ok(())
    }

    /// The answer to these operands.
    pub(super) fn get(&self, key: &Key) -> Option<u64> {
        self.given.get(key).map(|given| given.code)
    }

    /// Adds the answer to a case at a row and column; returns the one before, if it was another.
    pub(super) fn add_case(&mut self, case: &Case, row: usize, column: usize, code: u64) -> Option<u64> {
        let given = Given { code, tile: None, row, column };
        let before = *self.given.entry(key(case)).or_insert(given);
        (before.code != code).then_some(before.code)
    }

    /// The elements of two answers to equal operands.
    fn conflict(&self, before: Given, element: Element, given: Given) -> Box<Conflict> {
        let first = match before.tile {
            Some(tile) => {
                let place = Position { tile: 0, row: before.row, column: before.column };
                Element::of(&self.part, &self.tiles[tile].0, place)
            }
            None => {
                // The tile of a single case is as large as the instruction.
                let (m, n) = (element.part.m.max(before.row + 1), element.part.n.max(before.column + 1));
                let part = Instruction { m, n, ..element.part.clone() };
                Element::alone(&part, &element.case(), before.row, before.column)
            }
        };
        let (codes, tiles) = ([before.code, given.code], [before.tile, given.tile]);
        Box::new(Conflict { elements: [first, element], codes, tiles })
    }

    /// The operands of an element of the tiles.
    pub(crate) fn case(&self, Position { tile, row, column }: Position) -> Case {
        self.tiles[tile].0.case(&self.part, 0, row, column)
    }

    /// Every answer to different operands, in no order.
    pub fn given(&self) -> impl Iterator<Item = u64> + '_ {
        self.given.values().map(|given| given.code)
    }

    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.tiles.len()
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.tile_count() * self.part.m * self.part.n
    }

    /// Cases of a tile, with the answers.
    fn cases_of(&self, tile: usize) -> impl Iterator<Item = Answered> + '_ {
        let (m, n) = (self.part.m, self.part.n);
        let (tile, answers) = &self.tiles[tile];
        (0..m * n).map(move |at| (tile.case(&self.part, 0, at / n, at % n), answers.get(at)))
    }

    /// Cases of the tiles from this one on, with the answers.
    pub fn cases(&self, from: usize) -> Vec<Answered> {
        (from..self.tile_count()).flat_map(|tile| self.cases_of(tile)).collect()
    }

    /// So many cases, spread evenly, with the answers.
    pub fn spread_cases(&self, count: usize) -> Vec<Answered> {
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

    /// Every answer in tiles.
    pub fn codes(&self) -> impl Iterator<Item = u64> + '_ {
        self.tiles.iter().flat_map(|(_, answers)| answers.iter())
    }

    /// All tiles, with the answers.
    pub fn all(&self) -> (Tiles, Codes) {
        let (mut tiles, mut answers) = (Tiles::zeros(&self.part, 0), Codes::zeros(self.part.d, 0));
        for (tile, codes) in &self.tiles {
            tiles.extend(tile);
            answers.extend(codes);
        }
        (tiles, answers)
    }

    /// True if a rule gives every answer.
    pub fn agree(&self, evaluator: &Evaluator) -> bool {
        self.tiles.iter().all(|(tile, answers)| evaluator.execute_here(tile).as_bytes() == answers.as_bytes())
    }

    /// Tiles with outputs that a rule misses, and the places of these outputs.
    fn missed_places(&self, evaluator: &Evaluator) -> Vec<(usize, Vec<usize>)> {
        let numbered: Vec<usize> = (0..self.tile_count()).collect();
        let places = parallel::map(&numbered, |tile| {
            let (tile, answers) = &self.tiles[*tile];
            let outputs = evaluator.execute_here(tile);
            (0..answers.len()).filter(|at| outputs.get(*at) != answers.get(*at)).collect::<Vec<_>>()
        });
        numbered.into_iter().zip(places).filter(|(_, places)| !places.is_empty()).collect()
    }

    /// Number of outputs that a rule misses.
    pub fn misses(&self, evaluator: &Evaluator) -> usize {
        self.missed_places(evaluator).iter().map(|(_, places)| places.len()).sum()
    }

    /// Some of the cases that a rule misses: of at most `tiles` tiles, at most `each` of each.
    pub fn missed(&self, evaluator: &Evaluator, tiles: usize, each: usize) -> Vec<Answered> {
        let missed = self.missed_places(evaluator);
        let step = missed.len().div_ceil(tiles).max(1);
        let of = |(tile, places): &(usize, Vec<usize>)| {
            let skip = places.len().div_ceil(each).max(1);
            let chosen: Vec<usize> = places.iter().copied().step_by(skip).collect();
            self.cases_of(*tile)
                .enumerate()
                .filter(|(at, _)| chosen.contains(at))
                .map(|(_, answered)| answered)
                .collect::<Vec<_>>()
        };
        missed.iter().step_by(step).flat_map(of).collect()
    }
}

/// The operands and answers of the elements of one tile.
fn elements(part: &Instruction, tile: &Tiles, codes: &Codes) -> Vec<(Key, Given)> {
    let rows: Vec<Key> = (0..part.m).map(|row| key(&tile.case(part, 0, row, 0))).collect();
    let columns: Vec<Key> = (0..part.n).map(|column| key(&tile.case(part, 0, 0, column))).collect();
    let element = |at: usize| {
        let (row, column) = (at / part.n, at % part.n);
        let key = (rows[row].0, columns[column].1, tile.c.get(at));
        (key, Given { code: codes.get(at), tile: None, row, column })
    };
    (0..codes.len()).map(element).collect()
}

/// The operands of a case.
pub(super) fn key(case: &Case) -> Key {
    let digest = |parts: [&[u64]; 3]| {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        hasher.finish()
    };
    let row = digest([&case.a, &case.positions, &case.scale_a]);
    (row, digest([&case.b, &case.scale_b, &[]]), case.c)
}
