//! Rules that give every answer, and the tiles on which they differ.

use std::collections::BTreeSet;

use super::{Change, ChangeVerdict, Refutation, Tested, changed, changes::searched, equivalent};
use crate::{
    arithmetic::{Evaluator, Rule},
    base::{interrupt, parallel, sentence::listed},
    isa::{Codes, Instruction, Tiles},
};

/// A rule with other values of one key or two, for an instruction.
#[derive(Debug, Clone)]
pub struct Survivor {
    /// The changes.
    pub changes: Vec<Change>,
    /// The evaluator of the changed rule.
    pub evaluator: Evaluator,
}

impl Survivor {
    /// The rule with these changes; `None` if the language refuses it.
    pub fn of(rule: &Rule, changes: Vec<Change>, instruction: &Instruction) -> Option<Survivor> {
        Some(Survivor { evaluator: Evaluator::of(&changed(rule, &changes)?, instruction).ok()?, changes })
    }
}

impl Tested {
    /// The rules with one change or two that no output contradicts.
    /// Rules that are this rule in other words are left out.
    pub fn survivors(&self, instruction: &Instruction) -> Vec<Survivor> {
        let Ok(truth) = Evaluator::of(&self.rule.rule, instruction) else { return Vec::new() };
        let standing = self.changes.iter().filter(|(_, verdict)| *verdict == ChangeVerdict::Survives);
        let singles = standing.map(|(change, _)| vec![change.clone()]);
        let all = singles.chain(self.pairs.iter().map(|pair| pair.0.to_vec()));
        let all = all.filter_map(|changes| Survivor::of(&self.rule.rule, changes, instruction));
        all.filter(|one| !equivalent(&truth, &one.evaluator)).collect()
    }

    /// Drops the survivors that an answer contradicts, and notes the output that does.
    /// `first` is the number of the first tile.
    pub fn judge(&mut self, survivors: &mut Vec<Survivor>, tiles: &Tiles, answers: &Codes, first: usize) {
        survivors.retain(|Survivor { changes, evaluator }| {
            let (given, part) = (evaluator.execute(tiles), &evaluator.program().instruction);
            let Some(at) = (0..answers.len()).find(|at| given.get(*at) != answers.get(*at)) else { return true };
            self.pairs.retain(|pair| pair.0 != changes[..]);
            let single = self.changes.iter_mut().find(|(change, _)| std::slice::from_ref(change) == &changes[..]);
            let place = Refutation::of((first * part.m * part.n + at) as u64, part);
            single.into_iter().for_each(|(_, verdict)| *verdict = ChangeVerdict::Refuted(place));
            false
        });
    }
}

/// Says how many other rules give every answer, and by which keys; `None` if none does.
pub fn others(survivors: &[Survivor]) -> Option<String> {
    let keys: BTreeSet<&str> = survivors.iter().flat_map(|one| &one.changes).map(|change| &change.key[..]).collect();
    let (count, have) = match (survivors.len(), keys.len()) {
        (0, _) => return None,
        (1, 1) => ("One other rule gives".into(), "it has another value"),
        (1, _) => ("One other rule gives".into(), "it has other values"),
        (count, _) => (format!("{count} other rules give"), "they have other values"),
    };
    let keys = listed(&keys.into_iter().map(String::from).collect::<Vec<_>>());
    Some(format!("{count} every answer, and no operands were found that show a difference; {have} of {keys}."))
}

/// The rules with another value that only a search tries, of measured keys, which give all answers.
/// Rules that differ from the rule on no tile of `unseen` are left out.
pub fn searched_survivors(
    rule: &Rule,
    evaluator: &Evaluator,
    [asked, unseen]: [&Tiles; 2],
    is_measured: impl Fn(&str) -> bool,
) -> Vec<Survivor> {
    let part = &evaluator.program().instruction;
    let tried: Vec<Change> = searched(rule, part).into_iter().filter(|change| is_measured(&change.key)).collect();
    let all = parallel::map(tried, |change| Survivor::of(rule, vec![change], part));
    // Most are refuted by few answers, and most of the others differ nowhere, which few tiles show.
    let few = asked.count.min(unseen.count);
    let stages = [(&asked.slice(0, few), false), (unseen, true), (&asked.slice(few, asked.count), false)];
    stages.into_iter().fold(all.into_iter().flatten().collect(), |all: Vec<Survivor>, (tiles, differs)| {
        let first = first_differing(evaluator, &all, tiles);
        all.into_iter().zip(first).filter(|(_, at)| at.is_some() == differs).map(|(one, _)| one).collect()
    })
}

/// The first tiles among the candidates on which an arithmetic differs from each of the others.
/// Returns the number of others that they decide, too.
pub fn deciding(evaluator: &Evaluator, others: &[Survivor], candidates: &Tiles) -> (Tiles, usize) {
    let decided: Vec<usize> = first_differing(evaluator, others, candidates).into_iter().flatten().collect();
    let mut tiles = candidates.slice(0, 0);
    let distinct: BTreeSet<usize> = decided.iter().copied().collect();
    distinct.into_iter().for_each(|at| tiles.extend(&candidates.slice(at, at + 1)));
    (tiles, decided.len())
}

/// For each of the other arithmetics, the number of the first candidate on which it differs.
pub fn first_differing(evaluator: &Evaluator, others: &[Survivor], candidates: &Tiles) -> Vec<Option<usize>> {
    let all: Vec<Tiles> = (0..candidates.count).map(|at| candidates.slice(at, at + 1)).collect();
    let expected = parallel::map(&all, |tile| evaluator.execute_here(tile));
    parallel::map(others, |other| {
        let differs = |at: &usize| other.evaluator.execute_here(&all[*at]).as_bytes() != expected[*at].as_bytes();
        (0..all.len()).take_while(|_| interrupt::pending().is_none()).find(differs)
    })
}
