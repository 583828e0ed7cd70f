//! The test kit of an instruction: few inputs that tell all known arithmetics of its operands apart.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, SHAPE, Search, answers::Inputs, between, candidates, rules::Rules, search::inputs};
use crate::{
    Result,
    comparison::{Complexity, shrink::shrink},
    isa::{Case, Instruction},
};

/// Cases of the stream among which inputs are looked for, beside the corners.
const STREAMED: u64 = 1 << 12;
/// Cases of the stream on which two arithmetics that those do not tell apart are compared.
const SEARCHED: u64 = 1 << 14;
/// Cases that may be asked about to reduce one input.
const ASKED: usize = 12_000;

/// Inputs that tell the known arithmetics of an instruction's operands apart.
pub struct Kit {
    /// The inputs.
    pub cases: Vec<Case>,
    /// The arithmetics, each with its answers.
    pub known: Vec<Known>,
}

/// Known arithmetics that answer all inputs alike: they are the same for all operands, or no difference was found.
pub struct Known {
    /// The arithmetics.
    pub candidates: Vec<Candidate>,
    /// D of each input of the kit.
    pub answers: Vec<u64>,
}

impl Kit {
    /// The known arithmetics that give these answers to the inputs of the kit: one at most.
    pub fn matching(&self, answers: &[u64]) -> Option<&Known> {
        self.known.iter().find(|known| known.answers == answers)
    }
}

/// The kit of an instruction; the same on every machine.
///
/// # Errors
/// A signal.
pub fn kit(i: &Instruction) -> Result<Kit> {
    let i = Instruction { m: i.m.min(SHAPE), n: i.n.min(SHAPE), ..i.clone() };
    let candidates = candidates(&i);
    let mut pool = Pool { cases: Vec::new(), answers: Vec::new() };
    for batch in inputs(&i, 0, STREAMED) {
        pool.add(&candidates, &batch);
    }
    pool.add_pairs(&i, &candidates)?;
    let mut cases = pool.cover(&i, candidates.len());
    simplify(&i, &candidates, &mut cases)?;
    Ok(Kit { known: known(candidates, &cases), cases })
}

/// Inputs on which some candidates differ, with the answers of all.
struct Pool {
    cases: Vec<Case>,
    answers: Vec<Vec<u64>>,
}

impl Pool {
    /// Adds those of some inputs on which not all candidates agree.
    fn add(&mut self, candidates: &[Candidate], inputs: &Inputs) {
        let said: Vec<_> = candidates.iter().map(|own| own.arithmetic.answers(inputs)).collect();
        for at in 0..inputs.len() {
            let answers: Vec<u64> = said.iter().map(|codes| codes.get(at)).collect();
            if answers.windows(2).any(|pair| pair[0] != pair[1]) {
                self.cases.push(inputs.case(at));
                self.answers.push(answers);
            }
        }
    }

    /// Looks for inputs that tell apart each two candidates that no input does yet.
    fn add_pairs(&mut self, i: &Instruction, candidates: &[Candidate]) -> Result<()> {
        for y in 0..candidates.len() {
            for x in 0..y {
                if self.answers.iter().any(|answers| answers[x] != answers[y]) {
                    continue;
                }
                let tables = [candidates[x].table.clone(), candidates[y].table.clone()];
                let own = Instruction { m: 1, n: 1, ..i.clone() };
                let mut rules = Rules { tables, instructions: [own.clone(), own], shape: (i.m, i.n) };
                let search = Search { cases: SEARCHED, seed: 0, time: None };
                let found = between(&mut rules, i.clone(), &search)?;
                found.stopped.map_or(Ok(()), Err)?;
                let witness = found.reasons.into_iter().find_map(|reason| reason.witness);
                if let Some(witness) = witness {
                    self.add(candidates, &Inputs::Cases(vec![witness.case]));
                }
            }
        }
        Ok(())
    }

    /// Inputs that tell apart all candidates that any input of the pool does: always the one next that leaves the fewest
    /// together, of several the simplest.
    fn cover(&self, i: &Instruction, candidates: usize) -> Vec<Case> {
        // One input stands for all with the same agreement.
        let mut simplest: BTreeMap<Vec<usize>, (Complexity, usize)> = BTreeMap::new();
        for (at, answers) in self.answers.iter().enumerate() {
            let own = (Complexity::of(i, &self.cases[at]), at);
            let known = simplest.entry(classes(answers)).or_insert_with(|| own.clone());
            if own < *known {
                *known = own;
            }
        }
        let ways: Vec<(Vec<usize>, usize)> = simplest.into_iter().map(|(way, (_, at))| (way, at)).collect();
        let mut groups = vec![0; candidates];
        let mut chosen = Vec::new();
        loop {
            let refined = |way: &[usize]| {
                let both: Vec<(usize, usize)> = groups.iter().copied().zip(way.iter().copied()).collect();
                classes(&both)
            };
            let count = |groups: &[usize]| groups.iter().collect::<BTreeSet<_>>().len();
            let counts: Vec<(usize, usize, &Vec<usize>)> =
                ways.iter().map(|(way, at)| (count(&refined(way)), *at, way)).collect();
            let most = counts.iter().map(|(number, ..)| *number).max();
            let simplest = counts.into_iter().filter(|(number, ..)| Some(*number) == most);
            let best = simplest.map(|best| (Complexity::of(i, &self.cases[best.1]), best)).min_by(|x, y| x.0.cmp(&y.0));
            match best {
                Some((_, (number, at, way))) if number > count(&groups) => {
                    groups = refined(way);
                    chosen.push(self.cases[at].clone());
                }
                _ => return chosen,
            }
        }
    }
}

/// The number of the first that is equal, for each.
fn classes<T: PartialEq>(all: &[T]) -> Vec<usize> {
    all.iter().map(|own| all.iter().position(|other| other == own).unwrap_or(0)).collect()
}

/// How many candidates the answers to all inputs tell apart.
fn told_apart(answers: &[Vec<u64>]) -> usize {
    let candidates = answers.first().map_or(1, Vec::len);
    (0..candidates).map(|own| answers.iter().map(|case| case[own]).collect::<Vec<_>>()).collect::<BTreeSet<_>>().len()
}

/// Reduces each input to the simplest that does the same work, and leaves out those that have none left.
fn simplify(i: &Instruction, candidates: &[Candidate], cases: &mut Vec<Case>) -> Result<()> {
    let answers = |cases: &[Case]| -> Vec<Vec<u64>> {
        let said: Vec<_> = candidates.iter().map(|own| own.arithmetic.cases(cases)).collect();
        (0..cases.len()).map(|at| said.iter().map(|codes| codes.get(at)).collect()).collect()
    };
    let all = told_apart(&answers(cases));
    let mut at = 0;
    while at < cases.len() {
        let mut others = cases.clone();
        let own = others.remove(at);
        let known = answers(&others);
        if told_apart(&known) == all {
            *cases = others;
            continue;
        }
        // What this input alone tells apart: it has to go on doing so.
        let own_answers = &answers(std::slice::from_ref(&own))[0];
        let alike = |x: usize, y: usize| known.iter().all(|answers| answers[x] == answers[y]);
        let needed = |x: usize, y: usize| own_answers[x] != own_answers[y] && alike(x, y);
        let pairs: Vec<Vec<usize>> =
            (0..candidates.len()).map(|y| (0..y).filter(|x| needed(*x, y)).collect()).collect();
        let mut first = |cases: &[Case]| Ok(telling(candidates, &pairs, cases));
        if let Some(simplest) = shrink(i, &own, ASKED, &mut first)? {
            cases[at] = simplest;
        }
        at += 1;
    }
    cases.sort_by_cached_key(|case| Complexity::of(i, case));
    Ok(())
}

/// The first of some cases that tells each candidate from those before it that are listed for it.
fn telling(candidates: &[Candidate], pairs: &[Vec<usize>], cases: &[Case]) -> Option<usize> {
    let mut standing: Vec<(usize, Vec<u64>)> = (0..cases.len()).map(|at| (at, Vec::new())).collect();
    for (candidate, before) in candidates.iter().zip(pairs) {
        let left: Vec<Case> = standing.iter().map(|(at, _)| cases[*at].clone()).collect();
        let codes = candidate.arithmetic.cases(&left);
        for ((_, answers), code) in standing.iter_mut().zip(codes.iter()) {
            answers.push(code);
        }
        standing.retain(|(_, answers)| before.iter().all(|x| Some(&answers[*x]) != answers.last()));
    }
    standing.first().map(|(at, _)| *at)
}

/// The candidates by their answers, those that answer alike together.
fn known(candidates: Vec<Candidate>, cases: &[Case]) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::new();
    for candidate in candidates {
        let codes = candidate.arithmetic.cases(cases);
        let answers: Vec<u64> = codes.iter().collect();
        match all.iter_mut().find(|known| known.answers == answers) {
            Some(known) => known.candidates.push(candidate),
            None => all.push(Known { candidates: vec![candidate], answers }),
        }
    }
    all
}
