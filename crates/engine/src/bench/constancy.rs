//! Devices that are no functions of their operands, found by asking elements again.

use super::{Bench, Draw, Element, answers::Conflict};
use crate::{
    Error, Result,
    comparison::{Subject, operands},
    inputs::Position,
    isa::{Instruction, MatrixShape, Tiles},
};

/// How often a tile is asked to see whether it answers alike.
const AGAIN: usize = 4;
/// Other rows and columns of a tile that a message names by their codes.
const NAMED: usize = 2;

impl Bench<'_> {
    /// Asks elements of the first tiles again.
    ///
    /// They are asked in other places: the tiles in another order, and of each half the rows and columns, in another order and
    /// beside half of another tile.
    ///
    /// # Errors
    /// The device answers otherwise than before: its results depend on more than the operands.
    pub fn repeat(&mut self, count: usize) -> Result<()> {
        let part = self.answers.part.clone();
        let mut draw = Draw::new(0);
        let count = count.min(self.answers.tile_count());
        let [order, rows, columns] = [count, part.m, part.n].map(|count| draw.permutation(count));
        let first = |at: usize, count: usize| at < count.div_ceil(2);
        let mut mixed = Tiles::zeros(&part, count);
        for (tile, one) in order.iter().enumerate() {
            for (row, of_row) in rows.iter().enumerate() {
                for (column, of_column) in columns.iter().enumerate() {
                    let from = match (first(row, part.m), first(column, part.n)) {
                        (true, true) => *one,
                        (false, false) => order[(tile + 1) % order.len()],
                        _ => continue,
                    };
                    let place = Position { tile: from, row: *of_row, column: *of_column };
                    mixed.place(&part, tile, row, column, &self.answers.case(place));
                }
            }
        }
        self.compare(&mixed)
    }

    /// Asks elements of tiles again, each alone in another place of a tile.
    ///
    /// # Errors
    /// As [`Bench::repeat`].
    pub fn alone(&mut self, elements: &[Position]) -> Result<()> {
        let part = self.answers.part.clone();
        let mut bare = Tiles::zeros(&part, elements.len());
        for (at, place) in elements.iter().enumerate() {
            let (case, Position { row, column, .. }) = (self.answers.case(*place), *place);
            bare.place(&part, at, (row + part.m / 2) % part.m, (column + part.n / 2) % part.n, &case);
        }
        self.compare(&bare)
    }

    /// Returns the error for equal operands with two answers, with what the results may depend on.
    pub fn inconstant(&mut self, conflict: Conflict) -> Error {
        let Conflict { mut elements, codes, tiles } = conflict;
        let Some(name) = self.device.as_ref().map(|device| device.identity().name.clone()) else {
            return self.contradiction(&elements, codes, tiles);
        };
        let d = self.instruction.d;
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
                let several: Vec<String> = several.iter().map(|code| d.hex(*code)).collect();
                format!(
                    "the same tile, asked again, gave {}: chance, time or a hidden state decide",
                    several.join(", ")
                )
            }
            [one, two] if one[0] == two[0] => {
                format!("asked again, both tiles gave {}: earlier tiles, time or chance decide", d.hex(one[0]))
            }
            [one, two] => {
                elements = self.bare(&elements, [one[0], two[0]]);
                "each tile repeats its answer: neighbours or position decide".to_string()
            }
        };
        let [one, two] = [0, 1].map(|at| format!("{} {}", d.hex(codes[at]), elements[at].surroundings()));
        Error::device(format!(
            "{name} is not a function of its operands: {} gave {one}, and {two}; {why}",
            operands(&Subject::Matrix(&elements[0].part), &elements[0].case()),
        ))
    }

    /// The error for a recording with two answers to equal operands.
    fn contradiction(&self, elements: &[Element; 2], codes: [u64; 2], tiles: [Option<usize>; 2]) -> Error {
        let [before, after] = tiles.map(Option::unwrap_or_default);
        let given = |at: usize| {
            let Element { row, column, .. } = &elements[at];
            format!("{} in row {row}, column {column} of D", self.instruction.d.hex(codes[at]))
        };
        Error::device(format!(
            "the recording is not a function of its operands: tiles {before} and {after} have equal operands, but {} and {} ({})",
            given(0),
            given(1),
            operands(&Subject::Matrix(&elements[0].part), &elements[0].case()),
        ))
    }

    /// The answer of an element; `None` where it cannot be asked.
    fn answer(&mut self, element: &Element) -> Option<u64> {
        if self.left() == 0 {
            return None;
        }
        let Instruction { m, n, .. } = element.part;
        let codes = self.execute(MatrixShape { rows: m, columns: n }, &element.tile).ok()?;
        Some(codes.get(element.row * n + element.column))
    }

    /// Two elements with these answers, in as few rows and columns of their tiles as possible.
    fn bare(&mut self, elements: &[Element; 2], codes: [u64; 2]) -> [Element; 2] {
        [0, 1].map(|at| {
            let element = &elements[at];
            let part = &element.part;
            let mut kept = ((0..part.m).collect::<Vec<_>>(), (0..part.n).collect::<Vec<_>>());
            let mut least = element.clone();
            let mut attempt = |asker: &mut Self, rows: &[usize], columns: &[usize]| {
                let fewer = element.with(rows, columns);
                let same = asker.answer(&fewer) == Some(codes[at]);
                if same {
                    least = fewer;
                }
                same
            };
            if !attempt(self, &[element.row], &[element.column]) {
                for row in (0..part.m).filter(|row| *row != element.row) {
                    let rows: Vec<usize> = kept.0.iter().copied().filter(|other| *other != row).collect();
                    if attempt(self, &rows, &kept.1) {
                        kept.0 = rows;
                    }
                }
                for column in (0..part.n).filter(|column| *column != element.column) {
                    let columns: Vec<usize> = kept.1.iter().copied().filter(|other| *other != column).collect();
                    if attempt(self, &kept.0, &columns) {
                        kept.1 = columns;
                    }
                }
            }
            least
        })
    }
}

impl Element {
    /// The same element where all but these rows and columns is zero.
    fn with(&self, rows: &[usize], columns: &[usize]) -> Element {
        let mut tile = Tiles::zeros(&self.part, 1);
        for row in rows {
            for column in columns {
                tile.place(&self.part, 0, *row, *column, &self.tile.case(&self.part, 0, *row, *column));
            }
        }
        Element { tile, ..self.clone() }
    }

    /// Where an element is, and what else its tile holds.
    fn surroundings(&self) -> String {
        let Element { part, tile, row, column } = self;
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
