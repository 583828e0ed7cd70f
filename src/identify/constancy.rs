//! Whether a device is a function of its operands: elements that are asked again, among others; tiles that were recorded twice.

use std::collections::HashMap;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::ask::Asker;
use crate::{
    Error, Result,
    comparison::{Subject, operands},
    isa::{Codes, Instruction, Tiles},
    trace::Trace,
};

/// How often a tile is asked to see whether it answers alike.
const AGAIN: usize = 4;
/// Other rows and columns of a tile that a message names by their codes.
const NAMED: usize = 2;

/// The place of an element: tile, row and column.
pub(super) type Place = (usize, usize, usize);

/// An element of a tile.
#[derive(Debug, Clone)]
pub(super) struct Element {
    /// The tile alone.
    pub tile: Tiles,
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

impl Element {
    /// The element of tiles at a place.
    pub(super) fn of(tiles: &Tiles, (tile, row, column): Place) -> Element {
        Element { tile: tiles.slice(tile, tile + 1), row, column }
    }

    /// The same element where all but these rows and columns is zero.
    fn with(&self, part: &Instruction, (rows, columns): (&[usize], &[usize])) -> Element {
        let mut tile = Tiles::zeros(part, 1);
        for row in rows {
            for column in columns {
                tile.place(part, 0, *row, *column, &self.tile.case(part, 0, *row, *column));
            }
        }
        Element { tile, ..*self }
    }
}

impl Asker<'_> {
    /// Asks elements of tiles again: the tiles in another order, and of each half the rows and columns, in another order and beside
    /// half of another tile.
    ///
    /// # Errors
    /// The device answers otherwise than `before`: its results depend on more than the operands.
    pub(super) fn repeat(&mut self, tiles: &Tiles, before: &Codes) -> Result<()> {
        let part = self.part.clone();
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let [order, rows, columns] = [tiles.count, part.m, part.n].map(|count| permutation(count, &mut random));
        let first = |at: usize, count: usize| at < count.div_ceil(2);
        let mut mixed = Tiles::zeros(&part, tiles.count);
        let mut pairs = Vec::new();
        for (tile, one) in order.iter().enumerate() {
            for (row, of_row) in rows.iter().enumerate() {
                for (column, of_column) in columns.iter().enumerate() {
                    let from = match (first(row, part.m), first(column, part.n)) {
                        (true, true) => *one,
                        (false, false) => order[(tile + 1) % order.len()],
                        _ => continue,
                    };
                    mixed.place(&part, tile, row, column, &tiles.case(&part, from, *of_row, *of_column));
                    pairs.push(((from, *of_row, *of_column), (tile, row, column)));
                }
            }
        }
        self.compare((tiles, before), &mixed, &pairs)
    }

    /// Asks elements of tiles again, each alone in another place of a tile.
    ///
    /// # Errors
    /// As [`Asker::repeat`].
    pub(super) fn alone(&mut self, tiles: &Tiles, before: &Codes, elements: &[Place]) -> Result<()> {
        let part = self.part.clone();
        let mut bare = Tiles::zeros(&part, elements.len());
        let mut pairs = Vec::new();
        for (at, &(tile, row, column)) in elements.iter().enumerate() {
            let elsewhere = ((row + part.m / 2) % part.m, (column + part.n / 2) % part.n);
            bare.place(&part, at, elsewhere.0, elsewhere.1, &tiles.case(&part, tile, row, column));
            pairs.push(((tile, row, column), (at, elsewhere.0, elsewhere.1)));
        }
        self.compare((tiles, before), &bare, &pairs)
    }

    /// Asks `others`, whose elements have the operands of elements of tiles that were answered.
    fn compare(&mut self, (tiles, before): (&Tiles, &Codes), others: &Tiles, pairs: &[(Place, Place)]) -> Result<()> {
        // A device that fails here says so when it is asked next.
        let Ok(after) = self.ask(others) else { return Ok(()) };
        let Instruction { m, n, .. } = self.part;
        let place = |(tile, row, column): Place| (tile * m + row) * n + column;
        let answered = pairs.iter().filter(|(_, two)| place(*two) < after.len());
        let mut codes = answered.map(|(one, two)| (*one, *two, before.get(place(*one)), after.get(place(*two))));
        match codes.find(|(_, _, once, then)| once != then) {
            Some((one, two, once, then)) => {
                Err(self.inconstant([Element::of(tiles, one), Element::of(others, two)], [once, then]))
            }
            None => Ok(()),
        }
    }

    /// The error for an element that was answered in two ways, in two tiles: with what its results may depend on, as far as that can
    /// be asked.
    pub(super) fn inconstant(&mut self, mut elements: [Element; 2], codes: [u64; 2]) -> Error {
        let mut answers = [Vec::new(), Vec::new()];
        for _ in 0..AGAIN {
            for (answers, element) in answers.iter_mut().zip(&elements) {
                answers.extend(self.answer(element));
            }
        }
        let alike = |answers: &[u64]| answers.iter().all(|code| *code == answers[0]);
        let why = match &answers {
            answers if answers.iter().any(|answers| answers.len() < 2) => {
                "neighbours, position, earlier tiles, time or chance decide".to_string()
            }
            answers if !answers.iter().all(|answers| alike(answers)) => {
                let several = answers.iter().find(|answers| !alike(answers)).unwrap_or(&answers[0]);
                let several: Vec<String> = several.iter().map(|code| self.part.d.hex(*code)).collect();
                format!(
                    "the same tile, asked again, gave {}: chance, time or a hidden state decide",
                    several.join(", ")
                )
            }
            [one, two] if one[0] == two[0] => {
                format!(
                    "asked again, both tiles gave {}: earlier tiles, time or chance decide",
                    self.part.d.hex(one[0])
                )
            }
            [one, two] => {
                elements = self.bare(&elements, [one[0], two[0]]);
                "each tile repeats its answer: neighbours or position decide".to_string()
            }
        };
        let case = elements[0].tile.case(&self.part, 0, elements[0].row, elements[0].column);
        let [one, two] =
            [0, 1].map(|at| format!("{} {}", self.part.d.hex(codes[at]), self.surroundings(&elements[at])));
        Error::device(format!(
            "{} is not a function of its operands: {} gave {one}, and {two}; {why}",
            self.device.identity().name,
            operands(&Subject::Matrix(&self.part), &case),
        ))
    }

    /// The answer of an element; `None` where it cannot be asked.
    fn answer(&mut self, element: &Element) -> Option<u64> {
        let codes = self.ask(&element.tile).ok()?;
        (!codes.is_empty()).then(|| codes.get(element.row * self.part.n + element.column))
    }

    /// Two elements with these answers, and only those rows and columns of their tiles that are needed for that.
    fn bare(&mut self, elements: &[Element; 2], codes: [u64; 2]) -> [Element; 2] {
        let part = self.part.clone();
        [0, 1].map(|at| {
            let element = &elements[at];
            let mut kept = ((0..part.m).collect::<Vec<_>>(), (0..part.n).collect::<Vec<_>>());
            let mut least = element.clone();
            let mut attempt = |asker: &mut Self, rows: &[usize], columns: &[usize]| {
                let fewer = element.with(&part, (rows, columns));
                let same = asker.answer(&fewer) == Some(codes[at]);
                if same {
                    least = fewer;
                }
                same
            };
            if !attempt(self, &[element.row], &[element.column]) {
                for row in (0..part.m).filter(|row| *row != element.row) {
                    let rows: Vec<usize> = kept.0.iter().copied().filter(|own| *own != row).collect();
                    if attempt(self, &rows, &kept.1) {
                        kept.0 = rows;
                    }
                }
                for column in (0..part.n).filter(|column| *column != element.column) {
                    let columns: Vec<usize> = kept.1.iter().copied().filter(|own| *own != column).collect();
                    if attempt(self, &kept.0, &columns) {
                        kept.1 = columns;
                    }
                }
            }
            least
        })
    }

    /// Where an element is, and what else its tile holds.
    fn surroundings(&self, Element { tile, row, column }: &Element) -> String {
        let part = &self.part;
        let named = |name: &str, at: usize, codes: Vec<(String, u64)>| {
            let codes: Vec<String> = codes.iter().map(|(name, code)| format!("{name} {code:#x}")).collect();
            (!codes.is_empty()).then(|| format!("{name} {at} ({})", codes.join(", ")))
        };
        let filled = |name: &str, codes: &[u64]| -> Vec<(String, u64)> {
            let filled = codes.iter().enumerate().filter(|(_, code)| **code != 0);
            filled.map(|(k, code)| (format!("{name}[{k}]"), *code)).collect()
        };
        let rows = (0..part.m).filter(|other| other != row).filter_map(|other| {
            let case = tile.case(part, 0, other, *column);
            let c = (case.c != 0).then_some(("c".to_string(), case.c));
            named("row", other, filled("a", &case.a).into_iter().chain(c).collect())
        });
        let columns = (0..part.n).filter(|other| other != column).filter_map(|other| {
            let case = tile.case(part, 0, *row, other);
            let c = (case.c != 0).then_some(("c".to_string(), case.c));
            named("column", other, filled("b", &case.b).into_iter().chain(c).collect())
        });
        let others: Vec<String> = rows.chain(columns).collect();
        let company = match others.len() {
            0 => "alone".to_string(),
            count if count > NAMED => format!("next to {count} other rows and columns"),
            _ => format!("next to {}", others.join(" and ")),
        };
        format!("in row {row}, column {column} of a tile, {company}")
    }
}

/// The error for a recording that has one tile twice, with two outputs.
pub(super) fn contradiction(trace: &Trace) -> Option<Error> {
    let part = trace.part();
    let count = trace.inputs.count;
    let arrays: Vec<&Codes> = trace.inputs.arrays().map(|(_, codes)| codes).collect();
    let mut seen: HashMap<Vec<&[u8]>, usize> = HashMap::new();
    for tile in 0..count {
        let own = arrays.iter().map(|codes| part_of(codes.as_bytes(), tile, count)).collect();
        let Some(before) = seen.insert(own, tile) else { continue };
        let (m, n) = (part.m, part.n);
        let codes = |at: usize| [before, tile].map(|tile| trace.d.get(tile * m * n + at));
        let Some(at) = (0..m * n).find(|at| codes(*at)[0] != codes(*at)[1]) else { continue };
        let [once, then] = codes(at).map(|code| part.d.hex(code));
        return Some(Error::device(format!(
            "the recording is not a function of its operands: tiles {before} and {tile} have equal operands, but {once} and \
             {then} in row {}, column {} of D ({})",
            at / n,
            at % n,
            operands(&Subject::Matrix(&part), &trace.inputs.case(&part, tile, at / n, at % n)),
        )));
    }
    None
}

/// One of so many equal parts of some bytes.
fn part_of(bytes: &[u8], at: usize, count: usize) -> &[u8] {
    let each = bytes.len() / count;
    &bytes[at * each..(at + 1) * each]
}

/// The numbers below `count` in a random order.
fn permutation(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}
