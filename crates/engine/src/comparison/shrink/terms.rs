//! The terms of a case, and the cases that keep some of them.

use crate::isa::{Case, Instruction};

/// A part of a case that can be made zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseTerm {
    /// The factors at this stored k.
    Product(usize),
    /// An element of B that no element of a sparse A meets.
    Lone(usize),
    /// c.
    C,
}

/// Lists the nonzero parts of `case`: products in order, lone elements of B, c.
pub(super) fn terms(i: &Instruction, case: &Case) -> Vec<CaseTerm> {
    let mut met = vec![false; i.k];
    let mut terms = Vec::new();
    for at in 0..case.a.len() {
        let logical = case.logical(i, at);
        met[logical] = true;
        if (case.a[at], case.b[logical]) != (0, 0) {
            terms.push(CaseTerm::Product(at));
        }
    }
    terms.extend((0..i.k).filter(|k| !met[*k] && case.b[*k] != 0).map(CaseTerm::Lone));
    terms.extend((case.c != 0).then_some(CaseTerm::C));
    terms
}

/// Removes some terms from `case`.
pub(super) fn without(i: &Instruction, case: &Case, terms: impl IntoIterator<Item = CaseTerm>) -> Case {
    let mut less = case.clone();
    for term in terms {
        match term {
            CaseTerm::Product(at) => {
                less.a[at] = 0;
                less.b[case.logical(i, at)] = 0;
            }
            CaseTerm::Lone(k) => less.b[k] = 0,
            CaseTerm::C => less.c = 0,
        }
    }
    less
}

/// The cases with exactly `size` of the terms of `case`.
pub(super) fn subsets(i: &Instruction, case: &Case, size: usize) -> Vec<Case> {
    let all = terms(i, case);
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..size {
        let longer = |set: &Vec<usize>| {
            let set = set.clone();
            let next = set.last().map_or(0, |last| last + 1);
            (next..all.len()).map(move |at| [&set[..], &[at]].concat())
        };
        chosen = chosen.iter().flat_map(longer).collect();
    }
    let rest = |set: &[usize]| {
        let gone: Vec<CaseTerm> = (0..all.len()).filter(|at| !set.contains(at)).map(|at| all[at]).collect();
        without(i, case, gone)
    };
    chosen.iter().map(|set| rest(set)).collect()
}

/// Counts the cases that [`subsets`] makes for `terms` terms.
pub(super) fn subset_count(terms: usize, size: usize) -> usize {
    (0..size).fold(1, |count, at| count * terms.saturating_sub(at) / (at + 1))
}
