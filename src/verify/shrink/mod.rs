//! Reducing a case on which a device and a model differ to a minimal one on which they still do.
//!
//! First the fewest terms: every choice of up to three of them, and where there are too many, blocks left out as long as a
//! difference remains. Then change by change to the simplest of the neighbouring cases that still differs, until none does
//! ([`Cost`] says what is simpler). The same case gives the same result, after a bounded number of executions.

mod moves;
mod terms;

use rayon::prelude::*;

use crate::{
    Error, Result,
    arithmetic::Evaluator,
    base::interrupt,
    comparison::{Answer, Cost},
    device::{Device, Spot},
    isa::{Case, Instruction, Tiles},
};

/// The most cases that are executed for one counterexample.
const BUDGET: usize = 60_000;
/// The most cases of one choice of terms.
const MOST_SUBSETS: usize = 10_000;
/// Cases that are executed at a time.
const BATCH: usize = 256;

/// A device and a model that are asked for the outputs of cases.
pub struct Compared<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// The model.
    pub model: &'a Evaluator,
    /// The instruction of both.
    pub instruction: &'a Instruction,
}

impl Compared<'_> {
    /// Executes each case, all else in its tile being zero (of other cases, where several share a tile): the first of each
    /// tile in the row and column of `spot`, up to `lanes` more on the diagonal from there.
    fn answers(&mut self, cases: &[Case], spot: &Spot, lanes: usize) -> Result<Vec<Answer>> {
        let i = self.instruction;
        let place = |at: usize| {
            let (row, column) = (spot.row as usize + at % lanes, spot.column as usize + at % lanes);
            (at / lanes, row % i.m, column % i.n)
        };
        let mut tiles = Tiles::zeros(i, cases.len().div_ceil(lanes));
        for (at, case) in cases.iter().enumerate() {
            let (tile, row, column) = place(at);
            tiles.place(i, tile, row, column, case);
        }
        let outputs = self.device.execute(i, &tiles)?;
        if outputs.len() != tiles.count * i.m * i.n {
            let name = &self.device.identity().name;
            let asked = tiles.count * i.m * i.n;
            return Err(Error::device(format!("{name} answered {} outputs of {asked}", outputs.len())));
        }
        let answer = |(at, case): (usize, &Case)| {
            let (tile, row, column) = place(at);
            let device = outputs.get((tile * i.m + row) * i.n + column);
            Answer { case: case.clone(), device, model: self.model.dot(case) }
        };
        Ok(cases.par_iter().enumerate().map(answer).collect())
    }
}

/// The minimal case that `case`, of which the outputs at `spot` differ, is reduced to; `None` if they do not differ when the
/// rest of the tile is zero.
///
/// # Errors
/// The device fails.
pub fn shrink(pair: &mut Compared, spot: &Spot, case: &Case) -> Result<Option<Answer>> {
    let i = pair.instruction;
    // Cases that share tiles are a shortcut, which the last word, a tile of its own, may not confirm.
    for lanes in [i.m.min(i.n), 1] {
        let mut search = Search { pair, spot, lanes, left: BUDGET };
        if let Some(start) = search.first(vec![case.clone()])? {
            let fewest = search.fewest_terms(start)?;
            let simplest = search.simplest(fewest)?;
            let confirmed = search.pair.answers(&[simplest.case], spot, 1)?.remove(0);
            if confirmed.device != confirmed.model {
                return Ok(Some(confirmed));
            }
        }
    }
    Ok(None)
}

/// A search under way.
struct Search<'a, 'b> {
    pair: &'a mut Compared<'b>,
    spot: &'a Spot,
    lanes: usize,
    /// How many cases may still be executed.
    left: usize,
}

impl Search<'_, '_> {
    /// The first of `cases` on which device and model differ.
    fn first(&mut self, cases: Vec<Case>) -> Result<Option<Answer>> {
        for batch in cases.chunks(BATCH) {
            if self.left < batch.len() {
                return Ok(None);
            }
            self.left -= batch.len();
            interrupt::check()?;
            let answers = self.pair.answers(batch, self.spot, self.lanes)?;
            if let Some(answer) = answers.into_iter().find(|answer| answer.device != answer.model) {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// A case with as few of the terms of `answer` as are found to be enough.
    fn fewest_terms(&mut self, mut answer: Answer) -> Result<Answer> {
        let i = self.pair.instruction;
        let mut tried = 0;
        loop {
            let count = terms::terms(i, &answer.case).len();
            while tried <= 3 && tried < count && terms::subset_count(count, tried) <= MOST_SUBSETS {
                if let Some(few) = self.first(terms::subsets(i, &answer.case, tried))? {
                    return Ok(few);
                }
                tried += 1;
            }
            match self.fewer_terms(&answer.case)? {
                Some(fewer) => answer = fewer,
                None => return Ok(answer),
            }
        }
    }

    /// A case without some of the terms: the largest block that can be left out, of halves down to single terms.
    fn fewer_terms(&mut self, case: &Case) -> Result<Option<Answer>> {
        let i = self.pair.instruction;
        let all = terms::terms(i, case);
        let mut block = all.len().div_ceil(2);
        while block > 0 {
            let cases = all.chunks(block).map(|gone| terms::without(i, case, gone.iter().copied())).collect();
            if let Some(answer) = self.first(cases)? {
                return Ok(Some(answer));
            }
            block = if block == 1 { 0 } else { block.div_ceil(2) };
        }
        Ok(None)
    }

    /// From neighbour to simplest neighbour until no simpler one differs.
    fn simplest(&mut self, mut answer: Answer) -> Result<Answer> {
        let i = self.pair.instruction;
        loop {
            let cost = Cost::of(i, &answer.case);
            let costed = moves::neighbours(i, &answer.case).into_iter().map(|case| (Cost::of(i, &case), case));
            let mut simpler: Vec<(Cost, Case)> = costed.filter(|(other, _)| *other < cost).collect();
            simpler.sort_unstable_by(|x, y| x.0.cmp(&y.0));
            simpler.dedup_by(|x, y| x.1 == y.1);
            match self.first(simpler.into_iter().map(|(_, case)| case).collect())? {
                Some(better) => answer = better,
                None => return Ok(answer),
            }
        }
    }
}
