//! Pairs of one-step changes of two keys that agree with data together, while neither does alone.

use std::collections::HashMap;

use super::{Change, Decision, Refutation, RefutingData, Tested, changed, equal, refute::Candidate, summaries};
use crate::{
    arithmetic::{Evaluator, Program, Rule},
    base::parallel,
    isa::Case,
};

/// Two changes of a rule that are made together.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePair(pub [Change; 2]);

impl ChangePair {
    /// The change of `key`, and the other one; `None` if the pair changes other keys.
    pub fn split(&self, key: &str) -> Option<[&Change; 2]> {
        match &self.0 {
            [one, other] if one.key == key => Some([one, other]),
            [other, one] if one.key == key => Some([one, other]),
            _ => None,
        }
    }

    /// The rule with both changes; `None` if the language refuses it.
    fn rule(&self, rule: &Rule) -> Option<Rule> {
        changed(rule, &self.0)
    }
}

/// The node whose step a key belongs to; `None` for a key of all steps.
fn node(key: &str) -> Option<&str> {
    key.strip_prefix("node.")?.split('.').next()
}

/// True if two keys are of one step, and neither holds the other.
fn are_near(one: &str, other: &str) -> bool {
    let holds =
        |table: &str, key: &str| key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let is_one_step = node(one).zip(node(other)).is_none_or(|(one, other)| one == other);
    is_one_step && !holds(one, other) && !holds(other, one)
}

/// A change that operands can show.
struct Member<'a> {
    change: &'a Change,
    /// The first output that contradicts it alone.
    place: Option<Refutation>,
    /// True if single changes decide its key.
    is_decided: bool,
}

/// The pairs that the cases which refute single changes leave, as candidates.
///
/// Only keys that single changes decide can lose by a pair. A change without effect alone is in no pair, and a pair that is the
/// rule, or a standing single change, in other words is none.
pub(super) fn pairs(tested: &Tested, singles: &[Candidate], sources: &[&RefutingData]) -> Vec<Candidate> {
    let summaries = summaries(tested);
    let decides = |key: &str| {
        let decision = summaries.iter().find(|summary| summary.key == key).map(|summary| summary.decision);
        matches!(decision, Some(Decision::Decided | Decision::AsFarAsObservable))
    };
    let mut members = Vec::new();
    for Candidate { changes, place, proof, .. } in singles {
        if let ([change], None) = (&changes[..], proof)
            && !change.ranged
        {
            members.push(Member { change, place: *place, is_decided: decides(&change.key) });
        }
    }
    let witnesses: HashMap<Refutation, (Case, u64)> = members
        .iter()
        .filter_map(|member| member.place)
        .map(|place| (place, sources[place.source].witness(&place, &singles[0])))
        .collect();
    let with_later = |(at, one): (usize, &Member)| {
        let others = members[at + 1..].iter();
        others
            .filter(|other| (one.is_decided || other.is_decided) && are_near(&one.change.key, &other.change.key))
            .map(|other| (ChangePair([one.change.clone(), other.change.clone()]), [one.place, other.place]))
            .collect::<Vec<_>>()
    };
    let all: Vec<_> = members.iter().enumerate().flat_map(with_later).collect();
    let standing: Vec<&Candidate> = singles.iter().filter(|single| single.place.is_none()).collect();
    let candidate = |(pair, first): (ChangePair, [Option<Refutation>; 2])| {
        let rule = pair.rule(&tested.rule.rule)?;
        let programs: Vec<Option<Program>> =
            sources.iter().map(|source| Program::of(&rule, source.instruction()).ok()).collect();
        let gives = |place: &Refutation| {
            let (case, output) = &witnesses[place];
            programs[place.source].as_ref().is_none_or(|program| program.dot(case) == *output)
        };
        if !first.iter().flatten().all(gives) || !witnesses.keys().all(gives) || programs.iter().all(Option::is_none) {
            return None;
        }
        let evaluators = sources.iter().map(|source| Evaluator::of(&rule, source.instruction()).ok()).collect();
        let candidate = Candidate { changes: pair.0.into(), evaluators, place: None, proof: None };
        standing.iter().all(|single| !candidate.is_same(single)).then_some(candidate)
    };
    parallel::map(all, candidate).into_iter().flatten().collect()
}

impl Candidate {
    /// True if two candidates give the same outputs for all operands of all sources, as far as is known.
    fn is_same(&self, other: &Candidate) -> bool {
        self.evaluators.iter().zip(&other.evaluators).all(|pair| match pair {
            (Some(one), Some(other)) => equal([one.program(), other.program()]).is_some(),
            (one, other) => one.is_none() && other.is_none(),
        })
    }
}
