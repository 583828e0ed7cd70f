//! Kinds of differences: grouped as they come, then reduced to their causes.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{Complexity, Difference, Signature, Subject};
use crate::{Result, report::grouped};

/// Mismatches of a run that are grouped, the first ones.
pub const MOST_GROUPED: u64 = 1 << 20;

/// The differences of one instruction by kind, which is a signature in a regime.
/// Each kind has its count and its simplest case.
#[derive(Debug, Clone, Default)]
pub struct Kinds(BTreeMap<KindKey, Kind>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KindKey {
    signature: Signature,
    regime: usize,
}

#[derive(Debug, Clone)]
struct Kind {
    simplicity: Simplicity,
    difference: Difference,
}

/// The order of the cases of one kind: reduced ones first, then by complexity.
/// Cases of scalar instructions are equally simple.
type Simplicity = (bool, Option<Complexity>);

impl Kinds {
    /// Groups differences.
    pub fn of(subject: &Subject, differences: impl IntoIterator<Item = Difference>) -> Kinds {
        let mut kinds = Kinds::default();
        differences.into_iter().for_each(|difference| kinds.add(subject, difference));
        kinds
    }

    /// Adds a difference. Of two equally simple ones, the earlier stays.
    pub fn add(&mut self, subject: &Subject, difference: Difference) {
        let signature = Signature::of(subject, difference.simplest());
        let key = KindKey { signature, regime: difference.regime };
        self.insert(key, Kind::of(subject, difference));
    }

    /// Adds the kinds of later differences.
    pub fn unite(&mut self, later: Kinds) {
        later.0.into_iter().for_each(|(key, kind)| self.insert(key, kind));
    }

    fn insert(&mut self, key: KindKey, kind: Kind) {
        let Some(known) = self.0.get_mut(&key) else {
            self.0.insert(key, kind);
            return;
        };
        let count = known.difference.count + kind.difference.count;
        if kind.simplicity < known.simplicity {
            *known = kind;
        }
        known.difference.count = count;
    }

    /// The simplest difference of each kind, with its count.
    pub fn into_differences(self) -> Vec<Difference> {
        self.0.into_values().map(|kind| kind.difference).collect()
    }

    /// Lists the first `most` causes in `causes`, with their counts summed.
    /// A cause is the kinds whose cases `reduce` takes to one signature.
    /// Finite results come first, then infinities, then NaNs; within these, the most frequent cause.
    ///
    /// At most twice `most` kinds are reduced, the simplest of each signature first. A further kind counts for the cause of its signature,
    /// and is left out if that is unknown.
    ///
    /// # Errors
    /// The first error of `reduce`, after which no further kind is reduced.
    pub fn causes(
        self,
        subject: &Subject,
        most: usize,
        reduce: &mut dyn FnMut(&mut Difference) -> Result<()>,
        causes: &mut Vec<Difference>,
    ) -> Result<()> {
        let mut kinds: Vec<(Signature, Kind)> = self.0.into_iter().map(|(key, kind)| (key.signature, kind)).collect();
        kinds.sort_by(|(x, one), (y, other)| (x, &one.simplicity).cmp(&(y, &other.simplicity)));
        let mut previous = None;
        let mut queue: Vec<(bool, Signature, Difference)> = kinds
            .into_iter()
            .map(|(signature, kind)| (previous.replace(signature) == Some(signature), signature, kind.difference))
            .collect();
        queue.sort_by_key(|(again, signature, kind)| (*again, signature.way.rank(), Reverse(kind.count)));
        let (mut united, mut known, mut outcome) = (Kinds::default(), BTreeMap::new(), Ok(()));
        for (number, (_, signature, mut difference)) in queue.into_iter().enumerate() {
            let is_reduced = number < most.saturating_mul(2) && outcome.is_ok();
            if is_reduced {
                outcome = reduce(&mut difference);
            }
            let cause = match (known.get(&signature), &difference.reduced) {
                (_, Some(reduced)) => Signature::of(subject, reduced),
                (Some(cause), None) if !is_reduced => *cause,
                (None, None) if number >= most.saturating_mul(2) => continue,
                (_, None) => signature,
            };
            known.entry(signature).or_insert(cause);
            united.insert(KindKey { signature: cause, regime: 0 }, Kind::of(subject, difference));
        }
        let mut all: Vec<(KindKey, Kind)> = united.0.into_iter().collect();
        all.sort_by_key(|(key, kind)| (key.signature.way.rank(), Reverse(kind.difference.count)));
        causes.extend(all.into_iter().map(|(_, kind)| kind.difference).take(most));
        outcome
    }
}

impl Kind {
    fn of(subject: &Subject, difference: Difference) -> Kind {
        let complexity = match subject {
            Subject::Matrix(i) => Some(Complexity::of(i, &difference.simplest().case)),
            Subject::Scalar(_) => None,
        };
        Kind { simplicity: (difference.reduced.is_none(), complexity), difference }
    }
}

/// The note on mismatches that the listed causes of `name` leave out; `most` is the limit of the list.
pub fn counts_note(name: &str, differing: u64, causes: &[Difference], most: u64) -> Option<String> {
    let listed: u64 = causes.iter().map(|cause| cause.count).sum();
    match (listed, most) {
        _ if listed == differing => None,
        (0, 0) => Some(format!(
            "{name}: {} mismatches; none is listed, and none is written (‹max_mismatches=0›).",
            grouped(differing as i64)
        )),
        _ => {
            let more = if listed < MOST_GROUPED { "; ‹max_mismatches=N› lists N causes" } else { "" };
            let [listed, differing] = [listed, differing].map(|count| grouped(count as i64));
            Some(format!("{name}: the listed causes stand for {listed} of {differing} mismatches{more}."))
        }
    }
}
