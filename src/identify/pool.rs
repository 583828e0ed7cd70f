//! Cases whose answers are known, and how far a candidate is from them.

use std::collections::HashMap;

use crate::{
    arithmetic::Evaluator,
    format::{Class, Format},
    isa::{Case, Codes, Instruction, Tiles},
};

/// Cases that a candidate computes before it is asked whether it is still worth it.
const CHUNK: usize = 64;

/// Cases with the answers of the device.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    /// The instruction, with one row and one column.
    pub part: Instruction,
    /// The cases.
    pub cases: Vec<Case>,
    /// The code of D for each.
    pub answers: Vec<u64>,
    chunks: Vec<(Tiles, Codes)>,
    known: HashMap<Case, ()>,
}

impl Pool {
    /// No cases of an instruction.
    pub(super) fn new(instruction: &Instruction) -> Pool {
        let part = Instruction { m: 1, n: 1, ..instruction.clone() };
        Pool { part, cases: Vec::new(), answers: Vec::new(), chunks: Vec::new(), known: HashMap::new() }
    }

    /// Adds cases that it does not have.
    pub(super) fn add<'a>(&mut self, answered: impl IntoIterator<Item = (&'a Case, u64)>) {
        let whole = self.cases.len() / CHUNK * CHUNK;
        for (case, answer) in answered {
            if self.known.insert(case.clone(), ()).is_none() {
                self.cases.push(case.clone());
                self.answers.push(answer);
            }
        }
        self.chunks.truncate(whole / CHUNK);
        for from in (whole..self.cases.len()).step_by(CHUNK) {
            let to = self.cases.len().min(from + CHUNK);
            let answers = Codes::from_values(self.part.d, &self.answers[from..to]);
            self.chunks.push((tiles(&self.part, &self.cases[from..to]), answers));
        }
    }

    /// Whether it has a case.
    pub(super) fn has(&self, case: &Case) -> bool {
        self.known.contains_key(case)
    }

    /// How far a candidate is from the answers: 0 if it gives all of them. Where it exceeds `limit`, any number that does.
    pub(super) fn penalty(&self, evaluator: &Evaluator, limit: u64) -> u64 {
        let mut sum = 0;
        for (tiles, answers) in &self.chunks {
            let found = evaluator.execute_here(tiles);
            if found.as_bytes() != answers.as_bytes() {
                sum += found.iter().zip(answers.iter()).map(|(x, y)| distance(self.part.d, x, y)).sum::<u64>();
            }
            if sum > limit {
                return sum;
            }
        }
        sum
    }

    /// The places of the cases that a candidate answers otherwise.
    pub(super) fn misses(&self, evaluator: &Evaluator) -> Vec<usize> {
        let mut misses = Vec::new();
        for (number, (tiles, answers)) in self.chunks.iter().enumerate() {
            let found = evaluator.execute_here(tiles);
            if found.as_bytes() != answers.as_bytes() {
                let differ = (0..answers.len()).filter(|at| found.get(*at) != answers.get(*at));
                misses.extend(differ.map(|at| number * CHUNK + at));
            }
        }
        misses
    }
}

/// Cases as tiles of one row and one column.
pub(super) fn tiles(part: &Instruction, cases: &[Case]) -> Tiles {
    let mut tiles = Tiles::zeros(part, cases.len());
    cases.iter().enumerate().for_each(|(at, case)| tiles.place(part, at, 0, 0, case));
    tiles
}

/// How far two results are apart: 0 only if they are the same code; little for neighbours, more with the logarithm of the numbers
/// between them, most for a NaN beside a number.
fn distance(format: &Format, x: u64, y: u64) -> u64 {
    if x == y {
        return 0;
    }
    if format.is_integer() {
        return 8 + 2 * u64::from(64 - x.abs_diff(y).leading_zeros());
    }
    let nan = [x, y].map(|code| format.decode(code).class == Class::Nan);
    match nan {
        [true, true] => 8,
        [true, false] | [false, true] => 64,
        [false, false] => {
            let sign = 1u64 << (format.bits - 1);
            let place = |code: u64| match code & sign {
                0 => i128::from(code),
                _ => -i128::from(code & (sign - 1)),
            };
            let between = place(x).abs_diff(place(y)) as u64;
            8 + 2 * u64::from(64 - between.leading_zeros()).min(28)
        }
    }
}
