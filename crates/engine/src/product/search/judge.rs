//! Distance of candidates from some elements of D.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    candidates::{Group, Member, in_formats},
    chains::{Chains, Parts},
    elements::Elements,
};
use crate::{
    Result,
    arithmetic::Model,
    base::{interrupt, work},
    exact,
    isa::Instruction,
    product::{Factors, Matrix, Schedule, compute::diagonal, schedule::ScaleBlocks},
};

/// Bytes of sums that a thread holds, about.
const MOST_BYTES: usize = 1 << 26;

/// Distance of a candidate from judged elements: how many differ, then the bits of the distances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MatchScore {
    pub(super) differing: usize,
    bits: u32,
}

/// A candidate in the search: the places of its group, member and schedule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspect {
    pub(super) group: usize,
    pub(super) member: usize,
    pub(super) schedule: usize,
    pub(super) score: MatchScore,
}

/// Every candidate of some groups.
pub(super) fn everyone(groups: &[Group]) -> Vec<Suspect> {
    let of = |(at, group): (usize, &Group)| {
        let (members, schedules) = (group.members.len(), group.schedules.len());
        (0..members).flat_map(move |member| {
            (0..schedules).map(move |schedule| Suspect { group: at, member, schedule, score: MatchScore::default() })
        })
    };
    groups.iter().enumerate().flat_map(of).collect()
}

/// A product, and the elements of D on which its candidates are judged.
pub(super) struct Judge<'a> {
    pub(super) groups: &'a [Group],
    pub(super) factors: &'a Factors,
    pub(super) d: &'a Matrix,
    pub(super) blocks: Option<ScaleBlocks>,
}

/// Schedules of a group with the sums of their runs.
struct Shared<'g> {
    chains: Cow<'g, Chains>,
    schedules: BTreeMap<usize, (Schedule, Cow<'g, Parts>)>,
}

impl Judge<'_> {
    /// Adds the distance from the elements at `places` to the scores, also of an ended search.
    pub(super) fn judge(
        &self,
        suspects: Vec<Suspect>,
        places: &[(usize, usize)],
        judged: &mut Vec<Suspect>,
    ) -> Result<()> {
        let mut members: BTreeMap<(usize, usize), Vec<Suspect>> = BTreeMap::new();
        let mut groups: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for suspect in suspects {
            members.entry((suspect.group, suspect.member)).or_default().push(suspect);
            groups.entry(suspect.group).or_default().insert(suspect.schedule);
        }
        let shared: BTreeMap<usize, Shared> =
            work::map(groups, |(group, schedules)| Ok((group, self.shared(group, schedules)?)))?.into_iter().collect();
        let one = |((group, member), mut suspects): ((usize, usize), Vec<Suspect>), (): &mut ()| {
            self.judge_member(&self.groups[group].members[member], &shared[&group], places, &mut suspects)?;
            Ok(suspects)
        };
        work::each(members, usize::MAX, one, |suspects| judged.extend(suspects))
    }

    /// The sums of the runs of some schedules of a group; those of the group, if it is all of them.
    fn shared(&self, group: usize, schedules: BTreeSet<usize>) -> Result<Shared<'_>> {
        let Group { schedules: all, chains, .. } = &self.groups[group];
        if schedules.len() == all.len() {
            let narrowed = all.iter().map(|(schedule, parts)| (schedule.narrowed(), Cow::Borrowed(parts)));
            return Ok(Shared { chains: Cow::Borrowed(chains), schedules: narrowed.enumerate().collect() });
        }
        let mut chains = Chains::default();
        let mut narrowed = BTreeMap::new();
        for at in schedules {
            interrupt::check()?;
            let schedule = &all[at].0;
            let parts = chains.add(schedule, &schedule.walk(self.factors.k()), self.factors);
            narrowed.insert(at, (schedule.narrowed(), Cow::Owned(parts)));
        }
        Ok(Shared { chains: Cow::Owned(chains), schedules: narrowed })
    }

    fn judge_member(
        &self,
        member: &Member,
        shared: &Shared,
        places: &[(usize, usize)],
        suspects: &mut [Suspect],
    ) -> Result<()> {
        let Member { arithmetic, operands } = member;
        let one = Instruction { m: 1, n: 1, ..arithmetic.instruction.clone() };
        let evaluator = Model::load(&arithmetic.model)?.evaluator(&one)?;
        let plain = Schedule { operands: *operands, ..Schedule::new(arithmetic.instruction.clone())? };
        let together = (MOST_BYTES / (shared.chains.len() * one.d.bytes())).max(1);
        for places in places.chunks(together) {
            let (rows, columns): (Vec<usize>, Vec<usize>) = places.iter().copied().unzip();
            let factors = in_formats(&self.factors.chosen(&rows, &columns, self.blocks.as_ref()), &plain)?;
            let elements = Elements::new(factors);
            let sums = shared.chains.sums(&one, &evaluator, &elements)?;
            for suspect in &mut *suspects {
                interrupt::check()?;
                let (schedule, parts) = &shared.schedules[&suspect.schedule];
                let codes = diagonal(schedule, &elements.factors, parts, &|node| sums.of(*node))?;
                for (code, (row, column)) in codes.iter().zip(places) {
                    suspect.score.add(code, self.d.get(*row, *column), self.d);
                }
            }
        }
        Ok(())
    }
}

impl MatchScore {
    pub(super) fn agrees(self) -> bool {
        self.differing == 0
    }

    fn add(&mut self, code: u64, wanted: u64, d: &Matrix) {
        if code != wanted {
            self.differing += 1;
            self.bits += exact::distance(d.format, code, wanted).map_or(64, |distance| 64 - distance.leading_zeros());
        }
    }
}
