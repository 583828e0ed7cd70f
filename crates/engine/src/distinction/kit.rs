//! Test kits: short lists of inputs that separate all known arithmetics of an instruction's operands.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    KnownArithmetic, SHAPE, SearchLimits, answers::InputBatch, between, candidates, rules::Rules, search::inputs,
};
use crate::{
    Result,
    comparison::{Complexity, shrink::shrink},
    isa::{Case, Instruction},
};

/// Cases of the stream, after the corners, from which inputs are chosen.
const STREAMED: u64 = 1 << 12;
/// Cases of the stream that are searched for each pair still not separated.
const SEARCHED: u64 = 1 << 14;
/// Largest number of cases tried to reduce one input.
const ASKED: usize = 12_000;

/// Inputs that separate the known arithmetics of an instruction's operands.
pub struct Kit {
    /// The inputs.
    pub cases: Vec<Case>,
    /// The arithmetics, grouped by their answers.
    pub known: Vec<AlikeArithmetics>,
}

/// Known arithmetics with the same answers to the whole kit.
pub struct AlikeArithmetics {
    /// The arithmetics.
    pub candidates: Vec<KnownArithmetic>,
    /// D of each input of the kit.
    pub answers: Vec<u64>,
}

impl Kit {
    /// The known arithmetics with these answers to the kit.
    pub fn matching(&self, answers: &[u64]) -> Option<&AlikeArithmetics> {
        self.known.iter().find(|known| known.answers == answers)
    }
}

/// Makes the kit of an instruction; it is the same on every machine.
///
/// # Errors
/// An interruption.
pub fn kit(i: &Instruction) -> Result<Kit> {
    let i = Instruction { m: i.m.min(SHAPE), n: i.n.min(SHAPE), ..i.clone() };
    let candidates = candidates(&i);
    let mut pool = KitPool { cases: Vec::new(), answers: Vec::new() };
    for batch in inputs(&i, 0, STREAMED) {
        pool.add(&candidates, &batch);
    }
    pool.add_pairs(&i, &candidates)?;
    let mut cases = pool.cover(&i, candidates.len());
    simplify(&i, &candidates, &mut cases)?;
    Ok(Kit { known: known(candidates, &cases), cases })
}

/// Inputs on which known arithmetics differ, with the answers of all.
struct KitPool {
    cases: Vec<Case>,
    answers: Vec<Vec<u64>>,
}

impl KitPool {
    /// Adds the inputs on which not all arithmetics agree.
    fn add(&mut self, candidates: &[KnownArithmetic], inputs: &InputBatch) {
        let said: Vec<_> = candidates.iter().map(|candidate| candidate.arithmetic.answers(inputs)).collect();
        for at in 0..inputs.len() {
            let answers: Vec<u64> = said.iter().map(|codes| codes.get(at)).collect();
            if answers.windows(2).any(|pair| pair[0] != pair[1]) {
                self.cases.push(inputs.case(at));
                self.answers.push(answers);
            }
        }
    }

    /// Adds an input for each pair that no input separates yet, if there is one.
    fn add_pairs(&mut self, i: &Instruction, candidates: &[KnownArithmetic]) -> Result<()> {
        for y in 0..candidates.len() {
            for x in 0..y {
                if self.answers.iter().any(|answers| answers[x] != answers[y]) {
                    continue;
                }
                let rules = [x, y].map(|at| candidates[at].rule.clone());
                let single = Instruction { m: 1, n: 1, ..i.clone() };
                let mut rules = Rules { rules, instructions: [single.clone(), single], shape: (i.m, i.n) };
                let search = SearchLimits { cases: SEARCHED, seed: 0, time: None };
                let distinction = between(&mut rules, i.clone(), &search)?;
                distinction.stopped.map_or(Ok(()), Err)?;
                let witness = distinction.reasons.into_iter().find_map(|reason| reason.witness);
                if let Some(witness) = witness {
                    self.add(candidates, &InputBatch::Cases(vec![witness.case]));
                }
            }
        }
        Ok(())
    }

    /// Chooses inputs that separate as much as the whole pool: always the best one, then the simplest.
    fn cover(&self, i: &Instruction, candidates: usize) -> Vec<Case> {
        // The simplest of the inputs that separate the same arithmetics is enough.
        let mut simplest: BTreeMap<Vec<usize>, (Complexity, usize)> = BTreeMap::new();
        for (at, answers) in self.answers.iter().enumerate() {
            let ranked = (Complexity::of(i, &self.cases[at]), at);
            let known = simplest.entry(classes(answers)).or_insert_with(|| ranked.clone());
            if ranked < *known {
                *known = ranked;
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

/// For each element, the index of the first equal one.
fn classes<T: PartialEq>(all: &[T]) -> Vec<usize> {
    all.iter().map(|item| all.iter().position(|other| other == item).unwrap_or(0)).collect()
}

/// Number of arithmetics that these answers separate.
fn told_apart(answers: &[Vec<u64>]) -> usize {
    let candidates = answers.first().map_or(1, Vec::len);
    (0..candidates)
        .map(|candidate| answers.iter().map(|case| case[candidate]).collect::<Vec<_>>())
        .collect::<BTreeSet<_>>()
        .len()
}

/// Reduces each input to the simplest that separates the same pairs; drops superfluous inputs.
fn simplify(i: &Instruction, candidates: &[KnownArithmetic], cases: &mut Vec<Case>) -> Result<()> {
    let answers = |cases: &[Case]| -> Vec<Vec<u64>> {
        let said: Vec<_> = candidates.iter().map(|candidate| candidate.arithmetic.cases(cases)).collect();
        (0..cases.len()).map(|at| said.iter().map(|codes| codes.get(at)).collect()).collect()
    };
    let all = told_apart(&answers(cases));
    let mut at = 0;
    while at < cases.len() {
        let mut others = cases.clone();
        let case = others.remove(at);
        let known = answers(&others);
        if told_apart(&known) == all {
            *cases = others;
            continue;
        }
        // Only this input separates these pairs, so the reduced one must too.
        let case_answers = &answers(std::slice::from_ref(&case))[0];
        let alike = |x: usize, y: usize| known.iter().all(|answers| answers[x] == answers[y]);
        let needed = |x: usize, y: usize| case_answers[x] != case_answers[y] && alike(x, y);
        let pairs: Vec<Vec<usize>> =
            (0..candidates.len()).map(|y| (0..y).filter(|x| needed(*x, y)).collect()).collect();
        let mut first = |cases: &[Case]| Ok(telling(candidates, &pairs, cases));
        if let Some(simplest) = shrink(i, &case, ASKED, &mut first)? {
            cases[at] = simplest;
        }
        at += 1;
    }
    cases.sort_by_cached_key(|case| Complexity::of(i, case));
    Ok(())
}

/// The first case that separates each arithmetic from its listed predecessors.
fn telling(candidates: &[KnownArithmetic], pairs: &[Vec<usize>], cases: &[Case]) -> Option<usize> {
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

/// Groups arithmetics by their answers.
fn known(candidates: Vec<KnownArithmetic>, cases: &[Case]) -> Vec<AlikeArithmetics> {
    let mut all: Vec<AlikeArithmetics> = Vec::new();
    for candidate in candidates {
        let codes = candidate.arithmetic.cases(cases);
        let answers: Vec<u64> = codes.iter().collect();
        match all.iter_mut().find(|known| known.answers == answers) {
            Some(known) => known.candidates.push(candidate),
            None => all.push(AlikeArithmetics { candidates: vec![candidate], answers }),
        }
    }
    all
}
