//! Repair of a rule that misses answers, by changes of its keys, alone and in pairs.
//!
//! Every change is compared with a sample of the missed cases, with some of each kind. The change that explains the most,
//! and breaks the least, is made. If no single change explains anything, pairs of changes are tried: for each key, one change
//! for each way in which the answers to the sample change. Where keys are wrong together, the right value of one key breaks more
//! than it explains, so a change that explains anything is made on trial at last, and the rule is repaired from there.

use std::collections::{BTreeMap, HashSet};

use super::{
    candidate::program,
    moves::{self, Move},
    together,
    work::Work,
};
use crate::{
    arithmetic::{Program, Rule},
    base::{interrupt, parallel},
    bench::Answered,
    format::{Class, Format},
    isa::Instruction,
};

/// Missed cases by which changes are sifted.
const SAMPLE: usize = 24;
/// Missed cases by which joint changes and pairs of changes, which are many, are sifted.
const FEW: usize = 6;
/// Largest number of changes that are judged.
const SCREENED: usize = 1000;
/// Stages that judge changes: missed cases, as many explained ones, and the number of changes kept.
const JUDGED: [(usize, usize); 3] = [(40, 100), (150, 24), (600, 8)];
/// Largest number of pairs of changes.
const PAIRS: usize = 40_000;
/// Largest number of changes that one repair makes.
const ROUNDS: usize = 24;
/// A repair makes at most this number of changes on trial, and this number of one key.
const TRIALS: (usize, usize) = (8, 2);
/// A rule that misses more than one case in this many is too far from the device for trials.
const FAR: usize = 64;
/// Largest number of changes after one on trial.
const TRIED: usize = 6;
/// Cost of making a program, in products.
const MAKING: u64 = 400;
/// Largest change of a number of bits that is made together with a rounding.
const REACH: i32 = 30;

/// A rule, and the cases that it misses and explains.
pub(super) struct Repair<'a> {
    part: &'a Instruction,
    work: &'a Work,
    cases: &'a [Answered],
    /// A node of the rule whose form, alignment and result stay as they are.
    kept: Option<&'a str>,
    /// The rule, and its program.
    pub rule: Rule,
    program: Program,
    /// Numbers of the cases that it misses, and of those that it explains.
    pub missed: Vec<usize>,
    explained: Vec<usize>,
}

/// A changed rule and its worth: estimated number of cases that it explains more than the rule before.
struct Judged {
    key: String,
    rule: Rule,
    program: Program,
    worth: i64,
}

/// A change that explains cases of the sample, or gives them other answers.
struct Sifted {
    rule: Rule,
    key: String,
    /// Its answers to the sample.
    answers: Vec<u64>,
    fixed: usize,
    ranged: bool,
    structural: bool,
}

/// Changes none of which explains more than it breaks, and the missed cases by which they were sifted.
struct Unhelpful {
    sample: Vec<usize>,
    singles: Vec<Sifted>,
    joint: Vec<Sifted>,
}

/// Cases of the sample that a changed rule explains, the changed key, and the rule.
type Candidate = (usize, String, Rule);

impl Sifted {
    /// The changed rule, if it explains anything.
    fn candidate(&self) -> Option<Candidate> {
        (self.fixed > 0).then(|| (self.fixed, self.key.clone(), self.rule.clone()))
    }
}

impl Repair<'_> {
    /// A rule and the cases that judge it; `None` if the language refuses the rule.
    pub(super) fn of<'a>(
        rule: Rule,
        part: &'a Instruction,
        (work, cases): (&'a Work, &'a [Answered]),
        kept: Option<&'a str>,
    ) -> Option<Repair<'a>> {
        let program = program(&rule, part)?;
        let mut repair = Repair { part, work, cases, kept, rule, program, missed: Vec::new(), explained: Vec::new() };
        repair.update();
        Some(repair)
    }

    /// Changes the rule as long as that explains more cases.
    pub(super) fn run(mut self) -> Self {
        for _ in 0..ROUNDS {
            if self.missed.is_empty() || !self.goes_on() {
                break;
            }
            let Some(Unhelpful { sample, singles, joint }) = self.change() else { continue };
            if !self.pairs(&sample, &singles).into_iter().any(|better| self.take(better))
                && !self.on_trial(&[&singles, &joint])
            {
                break;
            }
        }
        self
    }

    /// Makes the best change of one key, else of an alignment and a target.
    /// Returns both kinds if none helps.
    fn change(&mut self) -> Option<Unhelpful> {
        let sample = self.sample();
        let singles = self.sift(&sample, self.singles());
        if self.improve(&singles) {
            return None;
        }
        let joint = self.sift(&spread(&sample, FEW), together::aligned_and_rounded(&self.rule, self.part));
        if self.improve(&joint) { None } else { Some(Unhelpful { sample, singles, joint }) }
    }

    /// Makes the best of these changes; false if none helps.
    fn improve(&mut self, sifted: &[Sifted]) -> bool {
        self.best(sifted.iter().filter_map(Sifted::candidate)).into_iter().any(|better| self.take(better))
    }

    /// Makes changes that explain something although they break more, and repairs the rule from there.
    /// False if that does not help, or for a rule that misses much.
    fn on_trial(&mut self, sifted: &[&[Sifted]]) -> bool {
        if self.missed.len() * FAR > self.cases.len() || !self.work.draw_reserve() {
            return false;
        }
        let mut tried: BTreeMap<String, usize> = BTreeMap::new();
        let judged = self.judged(sifted.iter().copied().flatten().filter_map(Sifted::candidate));
        let mut of_key = |candidate: &Judged| {
            let count = tried.entry(candidate.key.clone()).or_default();
            *count += 1;
            *count <= TRIALS.1
        };
        for candidate in judged.into_iter().filter(|candidate| of_key(candidate)).take(TRIALS.0) {
            let Some(mut trial) = Repair::of(candidate.rule, self.part, (self.work, self.cases), self.kept) else {
                continue;
            };
            for _ in 0..TRIED {
                if trial.missed.is_empty() || !trial.goes_on() {
                    break;
                }
                if trial.change().is_some() {
                    break;
                }
            }
            if trial.missed.len() < self.missed.len() {
                (self.rule, self.program) = (trial.rule, trial.program);
                (self.missed, self.explained) = (trial.missed, trial.explained);
                return true;
            }
        }
        false
    }

    /// Takes a changed rule, if it misses fewer cases.
    fn take(&mut self, Judged { rule, program, .. }: Judged) -> bool {
        let before = (self.rule.clone(), self.program.clone(), self.missed.clone(), self.explained.clone());
        (self.rule, self.program) = (rule, program);
        self.update();
        let better = self.missed.len() < before.2.len();
        if !better {
            (self.rule, self.program, self.missed, self.explained) = before;
        }
        better
    }

    fn goes_on(&self) -> bool {
        self.work.left() > 0 && interrupt::pending().is_none()
    }

    fn update(&mut self) {
        let all: Vec<usize> = (0..self.cases.len()).collect();
        let (program, cases) = (&self.program, self.cases);
        let right = parallel::map(&all, |at| explains(program, &cases[*at]));
        self.work.spend_cases(all.len());
        let (explained, missed): (Vec<_>, Vec<_>) = all.into_iter().zip(right).partition(|(_, right)| *right);
        [self.missed, self.explained] = [missed, explained].map(|all| all.into_iter().map(|(at, _)| at).collect());
    }

    /// Some missed cases of every kind.
    fn sample(&self) -> Vec<usize> {
        let mut kinds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for at in &self.missed {
            kinds.entry(kind(self.part, &self.cases[*at])).or_default().push(*at);
        }
        let each = SAMPLE.div_ceil(kinds.len().max(1)).max(3);
        kinds.into_values().flat_map(|all| spread(&all, each)).collect()
    }

    /// True if a move leaves the kept node's form, alignment and result as they are.
    fn may(&self, change: &Move) -> bool {
        let touches = |key: &str, node: &str| {
            let within = key.strip_prefix("node.").and_then(|key| key.strip_prefix(node));
            within.is_some_and(|key| {
                key.is_empty() || [".alignment", ".result", ".kind"].iter().any(|kept| key.starts_with(kept))
            })
        };
        self.kept.is_none_or(|node| !change.0.iter().any(|change| touches(&change.key, node)))
    }

    /// Every single change.
    fn singles(&self) -> Vec<Move> {
        let by_key = moves::by_key(&self.rule, self.part).into_iter().flatten();
        by_key.chain(together::all(&self.rule, self.part, REACH)).collect()
    }

    /// Tries the moves that the language allows on the sample, and leaves out moves without effect.
    fn sift(&self, sample: &[usize], moves: Vec<Move>) -> Vec<Sifted> {
        let moves: Vec<Move> = moves.into_iter().filter(|change| self.may(change)).collect();
        let now: Vec<u64> = sample.iter().map(|at| self.program.dot(&self.cases[*at].0)).collect();
        self.work.spend_cases(moves.len() * sample.len());
        self.work.spend(moves.len() as u64 * MAKING);
        let sifted = parallel::map(&moves, |change| {
            if interrupt::pending().is_some() {
                return None;
            }
            let rule = change.applied(&self.rule)?;
            let program = program(&rule, self.part)?;
            let answers: Vec<u64> = sample.iter().map(|at| program.dot(&self.cases[*at].0)).collect();
            let fixed = sample.iter().zip(&answers).filter(|(at, answer)| self.cases[**at].1 == **answer).count();
            // A structural change may have an effect only together with another change.
            let changes = answers != now || change.is_structural();
            changes.then(|| Sifted {
                rule,
                key: change.key().into(),
                answers,
                fixed,
                ranged: change.is_ranged(),
                structural: change.is_structural(),
            })
        });
        sifted.into_iter().flatten().collect()
    }

    /// The changed rules that explain more cases than the rule, the best first.
    fn best(&self, candidates: impl Iterator<Item = Candidate>) -> Vec<Judged> {
        let mut judged = self.judged(candidates);
        judged.retain(|candidate| candidate.worth > 0);
        judged
    }

    /// The changed rules that explain the most cases, the best first.
    fn judged(&self, candidates: impl Iterator<Item = Candidate>) -> Vec<Judged> {
        let mut candidates: Vec<Candidate> = candidates.collect();
        candidates.sort_by_key(|(fixed, ..)| std::cmp::Reverse(*fixed));
        candidates.truncate(SCREENED);
        let made = parallel::map(candidates, |(_, key, rule)| {
            Some(Judged { program: program(&rule, self.part)?, key, rule, worth: 0 })
        });
        let mut judged: Vec<Judged> = made.into_iter().flatten().collect();
        // Each stage compares fewer rules with more cases.
        for (count, kept) in JUDGED {
            let (missed, explained) = (spread(&self.missed, count), spread(&self.explained, count));
            self.work.spend_cases(judged.len() * (missed.len() + explained.len()));
            let part = |count: usize, of: &[usize], all: &[usize]| (count * all.len()).div_ceil(of.len().max(1)) as i64;
            let again = parallel::map(judged, |candidate| {
                let wrong =
                    |all: &[usize]| all.iter().filter(|at| !explains(&candidate.program, &self.cases[**at])).count();
                let fixed = part(missed.len() - wrong(&missed), &missed, &self.missed);
                let worth = fixed - part(wrong(&explained), &explained, &self.explained);
                Judged { worth, ..candidate }
            });
            judged = again;
            judged.sort_by_key(|candidate| std::cmp::Reverse(candidate.worth));
            judged.truncate(kept);
        }
        judged
    }

    /// The best pairs of changes, for a rule that no single change improves.
    fn pairs(&self, sample: &[usize], singles: &[Sifted]) -> Vec<Judged> {
        let mut seen = HashSet::new();
        let distinct: Vec<&Sifted> = singles
            .iter()
            .filter(|change| !change.ranged)
            .filter(|change| {
                // Changes at one place with the same answers count as one, but any structural change may matter in a pair.
                let rule = if change.structural { change.rule.table().to_string() } else { String::new() };
                seen.insert((place(&change.key).to_string(), change.answers.clone(), rule))
            })
            .collect();
        let keys: HashSet<String> = self.singles().iter().map(|change| change.key().to_string()).collect();
        let few = spread(sample, FEW);
        // The number of pairs is fixed here, so that it does not depend on the pace of the threads.
        let cost = MAKING + (few.len() * self.part.stored_k()) as u64;
        let each = (PAIRS as u64).min(self.work.left() / cost) as usize / distinct.len().max(1);
        let tried = parallel::map(&distinct, |first| {
            // Changes that the first one makes possible are tried before changes that were possible without it.
            let all: Vec<Move> = moves::by_key(&first.rule, self.part).into_iter().flatten().collect();
            let (new, old): (Vec<Move>, Vec<Move>) = all.into_iter().partition(|change| !keys.contains(change.key()));
            let again =
                |change: &Move| change.key() > &first.key[..] || change.is_structural() && change.key() != first.key;
            // Pairs of keys of one node come before pairs of two nodes.
            let (near, far): (Vec<Move>, Vec<Move>) = old
                .into_iter()
                .filter(|change| !change.is_ranged() && again(change))
                .partition(|change| place(change.key()) == place(&first.key));
            let old = near.into_iter().chain(far);
            let mut fixing = Vec::new();
            for second in new
                .into_iter()
                .chain(old)
                .filter(|change| self.may(change))
                .take(each)
                .take_while(|_| interrupt::pending().is_none())
            {
                let Some(rule) = second.applied(&first.rule) else { continue };
                let Some(program) = program(&rule, self.part) else { continue };
                let fixed = few.iter().filter(|at| explains(&program, &self.cases[**at])).count();
                self.work.spend_cases(few.len());
                self.work.spend(MAKING);
                if fixed > 0 {
                    fixing.push((fixed, first.key.clone(), rule));
                }
            }
            fixing
        });
        self.best(tried.into_iter().flatten())
    }
}

/// The place of a key: its node or its table; of a key of the rule, the key.
fn place(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(place, _)| place)
}

/// True if a program gives the answer.
fn explains(program: &Program, (case, answer): &Answered) -> bool {
    program.dot(case) == *answer
}

/// Number of the kind of a case, by the classes of its operands and of its answer.
fn kind(part: &Instruction, (case, answer): &Answered) -> u32 {
    let has =
        |format: &Format, codes: &[u64], class: Class| codes.iter().any(|code| format.decode(*code).class == class);
    let operands = |class: Class| has(part.a, &case.a, class) || has(part.b, &case.b, class);
    let d = match part.d.decode(*answer).class {
        Class::Zero => 0,
        Class::Subnormal => 1,
        Class::Normal => 2,
        Class::Infinite => 3,
        Class::Nan => 4,
    };
    let special = operands(Class::Nan) || operands(Class::Infinite);
    let c = part.c.decode(case.c).class;
    let of_c = u32::from(matches!(c, Class::Nan | Class::Infinite)) + 2 * u32::from(c == Class::Subnormal);
    d + 5 * (u32::from(special) + 2 * u32::from(operands(Class::Subnormal)) + 4 * of_c)
}

/// Up to `count` of these, spread evenly.
pub(super) fn spread<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    let count = count.min(all.len());
    (0..count).map(|at| all[at * all.len() / count].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bench::Answers,
        identify::candidate::{evaluator, rule},
        inputs::{Corners, Sequence},
        isa,
    };

    const TRUTH: &str = "step = \"fused\"\ngroup = 4\nalignment = { bits = 24, rounding = \"RZ\" }\n\
                         result = { format = \"f32\", rounding = \"RNE\" }\nnan = \"0x7fffffff\"\n";

    /// The tiles that a device with this rule answers.
    fn answered(text: &str, part: &Instruction) -> Answers {
        let mut known = Answers::new(part);
        let truth = evaluator(&rule(text, part).unwrap(), part).unwrap();
        let mut tiles = Corners::of(part).tiles;
        tiles.extend(&Sequence::Random { seed: 5 }.tiles(part, 0, 40));
        known.add(&tiles, &truth.execute(&tiles)).unwrap();
        known
    }

    #[test]
    fn a_rule_with_one_or_two_wrong_keys_is_repaired() {
        let part = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
        for (with, without) in [
            ("operand-subnormals = \"signed-zero\"\n", &["operand-subnormals"][..]),
            (
                "operand-subnormals = \"signed-zero\"\nc-subnormals = \"keep\"\n",
                &["operand-subnormals", "c-subnormals"],
            ),
            ("zero-terms = \"all\"\nzero = \"ieee\"\n", &["zero-terms", "zero"]),
            (
                "specials = \"operands\"\nresult-subnormals = \"signed-zero\"\nresult-tininess = \"before\"\n",
                &["specials", "result-subnormals", "result-tininess"],
            ),
        ] {
            let text = format!("{TRUTH}{with}");
            let known = answered(&text, &part);
            let mut wrong = rule(&text, &part).unwrap();
            assert!(without.iter().all(|key| wrong.set(key, None)));
            let cases = known.cases(0);
            let work = Work::new(part.stored_k(), 1 << 28);
            let before = Repair::of(wrong.clone(), &part, (&work, &cases), None).unwrap().missed.len();
            let repaired = Repair::of(wrong, &part, (&work, &cases), None).unwrap().run();
            assert!(before > 0 && repaired.missed.is_empty(), "{with}: {before}, {} missed", repaired.missed.len());
        }
    }
}
