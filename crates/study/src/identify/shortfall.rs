//! The shortfall of a rule: the outputs that it misses, by kind, and what they have in common.

use super::{Finding, common::common};
use crate::{
    base::sentence::listed,
    comparison::{Answer, Difference},
    distinction::DifferenceKind,
    format::{Class, Format},
    isa::Codes,
    report::grouped,
};

/// Outputs of each sort, missed or agreeing, that are examined.
const EXAMINED: usize = 2_000;

/// The outputs that a rule misses.
#[derive(Debug, Clone, Default)]
pub(super) struct Shortfall {
    /// Asked outputs that are missed, by kind.
    asked: Vec<KindCount>,
    /// Held-out outputs that differ, by kind.
    held_out: Vec<KindCount>,
    /// Sentences on what the missed outputs have in common.
    pub(super) common: Vec<String>,
}

/// Missed outputs of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KindCount {
    kind: DifferenceKind,
    missed: u64,
    /// Number of outputs that could differ so: zeros, infinities, NaNs.
    of: u64,
}

impl Shortfall {
    /// The outputs that the rule of a finding misses; none where it has no rule.
    pub(super) fn of(finding: &Finding) -> Shortfall {
        let identification = &finding.identification;
        if finding.agrees() {
            return Shortfall::default();
        }
        let part = identification.asked.part();
        let held_out: Vec<&Difference> = finding.held_out.iter().flat_map(|run| &run.state.kinds).collect();
        let evaluator = identification.model().and_then(|model| model.evaluator(&part).ok());
        let Some(given) = evaluator.map(|evaluator| evaluator.execute(&identification.asked.inputs)) else {
            return Shortfall::default();
        };
        let (d, each) = (&identification.asked.d, part.m * part.n);
        let answer = |at: usize| {
            let case = identification.asked.inputs.case(&part, at / each, at / part.n % part.m, at % part.n);
            Answer { case, device: d.get(at), model: given.get(at) }
        };
        let (agreeing, missed): (Vec<usize>, Vec<usize>) = (0..d.len()).partition(|at| given.get(*at) == d.get(*at));
        let mut examined: Vec<Answer> = sample(&missed).map(answer).collect();
        examined.extend(held_out.iter().map(|kind| kind.original.clone()));
        let agreeing: Vec<Answer> = sample(&agreeing).map(answer).collect();
        let pairs: Vec<(u64, u64, u64)> = missed.iter().map(|at| (d.get(*at), given.get(*at), 1)).collect();
        let held: Vec<(u64, u64, u64)> =
            held_out.iter().map(|kind| (kind.original.device, kind.original.model, kind.count)).collect();
        let all = missed.len() <= EXAMINED && held_out.is_empty();
        let noun = if all { "missed output" } else { "examined missed output" };
        Shortfall {
            asked: counts(part.d, &pairs, Some(d)),
            held_out: counts(part.d, &held, None),
            common: common(&part, &examined, &agreeing, noun),
        }
    }

    /// Asked outputs that are missed in one of some kinds.
    pub(super) fn missed(&self, kinds: &[DifferenceKind]) -> u64 {
        self.asked.iter().filter(|count| kinds.contains(&count.kind)).map(|count| count.missed).sum()
    }

    /// The missed asked outputs by kind: `12 finite results, 3 codes of NaN`.
    pub(super) fn asked_words(&self) -> Option<String> {
        words(&self.asked)
    }

    /// The held-out outputs that differ, by kind.
    pub(super) fn held_out_words(&self) -> Option<String> {
        words(&self.held_out)
    }

    /// The kinds in a sentence: `Every finite result agrees; 21 of 6,528 infinities and NaNs differ.`
    pub(super) fn sentence(&self) -> Option<String> {
        let has = |kind| self.asked.iter().chain(&self.held_out).any(|count| count.kind == kind);
        let finite = has(DifferenceKind::Finite) || has(DifferenceKind::Zero);
        let said = match &self.asked[..] {
            [] => format!("The differing outputs are {}.", self.held_out_words()?),
            all => format!("{} differ.", listed(&all.iter().map(KindCount::words).collect::<Vec<_>>())),
        };
        match (finite, &self.asked[..]) {
            (false, []) => Some(format!("Every finite result agrees. {said}")),
            (false, _) => Some(format!("Every finite result agrees; {said}")),
            // Differing finite results, the usual kind, need no words.
            (true, [KindCount { kind: DifferenceKind::Finite, .. }] | []) => None,
            (true, _) => Some(said),
        }
    }
}

impl KindCount {
    /// Missed and all outputs of the kind: `21 of 6,528 infinities and NaNs`.
    fn words(&self) -> String {
        let what = match self.kind {
            DifferenceKind::Finite => "finite results",
            DifferenceKind::Zero => "zeros",
            DifferenceKind::NonFinite => "infinities and NaNs",
            DifferenceKind::SignOfZero => "signs of zeros",
            DifferenceKind::NanCode => "codes of NaNs",
            DifferenceKind::IgnoredBits => "ignored bits",
        };
        format!("{} of {} {what}", grouped(self.missed as i64), grouped(self.of as i64))
    }
}

/// Up to [`EXAMINED`] of the places, spread evenly.
fn sample(all: &[usize]) -> impl Iterator<Item = usize> + '_ {
    all.iter().copied().step_by(all.len().div_ceil(EXAMINED).max(1))
}

/// The kinds in which pairs of codes, each with its count, differ; `all` has every output.
fn counts(d: &Format, pairs: &[(u64, u64, u64)], all: Option<&Codes>) -> Vec<KindCount> {
    let count = |kind: DifferenceKind| {
        let of_kind = pairs.iter().filter(|(x, y, _)| DifferenceKind::between(d, *x, *y) == kind);
        let missed = of_kind.map(|(.., count)| count).sum();
        let could = |code: u64| match (kind, d.decode(code).class) {
            (DifferenceKind::Zero | DifferenceKind::SignOfZero, class) => class == Class::Zero,
            (DifferenceKind::NonFinite, class) => matches!(class, Class::Infinite | Class::Nan),
            (DifferenceKind::NanCode, class) => class == Class::Nan,
            (DifferenceKind::Finite | DifferenceKind::IgnoredBits, class) => {
                !matches!(class, Class::Infinite | Class::Nan)
            }
        };
        let of = all.map_or(0, |all| all.iter().filter(|code| could(*code)).count() as u64);
        KindCount { kind, missed, of: of.max(missed) }
    };
    DifferenceKind::ALL.iter().map(|kind| count(*kind)).filter(|counted| counted.missed > 0).collect()
}

fn words(all: &[KindCount]) -> Option<String> {
    let one = |count: &KindCount| format!("{} {}", grouped(count.missed as i64), count.kind.name());
    (!all.is_empty()).then(|| all.iter().map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    /// The sentence for asked outputs, pairs of the device's code and the rule's.
    fn said(pairs: &[(u64, u64)]) -> Option<String> {
        let d = find("f32").unwrap();
        let all = Codes::from_values(d, &pairs.iter().map(|(device, _)| *device).collect::<Vec<_>>());
        let missed: Vec<(u64, u64, u64)> = pairs.iter().filter(|(x, y)| x != y).map(|(x, y)| (*x, *y, 1)).collect();
        Shortfall { asked: counts(d, &missed, Some(&all)), ..Shortfall::default() }.sentence()
    }

    #[test]
    fn finite_results_zeros_infinities_and_nans_are_counted_apart() {
        let (one, next, infinity, nan, other) = (0x3f80_0000, 0x3f80_0001, 0x7f80_0000, 0x7fc0_0000, 0x7fff_ffff);
        assert_eq!(said(&[(one, next), (one, one), (nan, nan)]), None);
        assert_eq!(
            said(&[(one, one), (infinity, nan), (infinity, infinity)]).unwrap(),
            "Every finite result agrees; 1 of 2 infinities and NaNs differ."
        );
        assert_eq!(
            said(&[(nan, other), (0, 1 << 31), (0, 0), (one, one)]).unwrap(),
            "Every finite result agrees; 1 of 2 signs of zeros and 1 of 1 codes of NaNs differ."
        );
        assert_eq!(
            said(&[(one, next), (0, one), (nan, other)]).unwrap(),
            "1 of 2 finite results, 1 of 1 zeros and 1 of 1 codes of NaNs differ."
        );
    }
}
