//! Findings: claims with the condition under which they hold.

use serde::Deserialize;

use super::{ErrorMetric, Experiment, PublishedNumber, profile::reference, verdict::MeanError};
use crate::{
    chain::{ChainCurve, ChainPoint},
    inputs::{Init, Op},
    probe::bits::BitReference,
};

/// Condition of a finding.
///
/// The first three are for profiles, the last four for splitting, f64 and bits, the rest for chains.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Condition {
    /// Every sample of these cells is equal to its reference.
    Exact(Selector),
    /// Some sample of each of these cells is not.
    Inexact(Selector),
    /// For each instruction, the cells of two operations differ by more than this many standard errors.
    Differ {
        /// The operations.
        #[serde(deserialize_with = "super::keys::two_ops")]
        ops: [Op; 2],
        /// The reference of both.
        reference: String,
        /// The initialisation of both.
        #[serde(deserialize_with = "super::keys::named")]
        init: Init,
        /// Standard errors of the difference.
        deviations: f64,
    },
    /// At least this share of a curve's steps from N to N + 1 goes up.
    Grows {
        /// The share, 1 for all.
        at_least: f64,
    },
    /// From some N on, one instruction's error is at least `factor` times the error of every other.
    Above {
        /// The instruction with the larger error.
        upper: String,
        /// The others.
        lower: Vec<String>,
        /// The first N.
        from: usize,
        /// The least ratio.
        factor: f64,
    },
    /// Two instructions have the same errors, within a bound, from some N until either overflows.
    Coincide {
        /// The instructions.
        pair: [String; 2],
        /// The first N.
        from: usize,
        /// The largest relative difference.
        within: f64,
    },
    /// A chain first overflows between these lengths, and no chain of another instruction before that.
    Overflow {
        /// The instruction.
        instruction: String,
        /// The smallest N.
        from: usize,
        /// The largest N.
        to: usize,
    },
    /// With init low the error at N = 1 is smaller than this.
    Negligible {
        /// The bound.
        below: f64,
    },
    /// Init fp32 has the larger error at every N.
    Worse {},
    /// The error of a scheme is smaller than the errors of other schemes, at every k.
    Smaller {
        /// The scheme with the smaller error.
        smaller: String,
        /// The others.
        than: Vec<String>,
        /// Kind of error.
        metric: ErrorMetric,
    },
    /// A scheme's error in f64 is near a published one, in the norm: |V - S| / |S|.
    Near {
        /// The scheme, with its count.
        scheme: String,
        /// The distribution.
        values: String,
        /// The terms of a sum.
        k: usize,
        /// The published error.
        published: f64,
        /// The largest relative difference from it.
        within: f64,
    },
    /// Each element of a scheme's products in f64 is within (terms k + 1) 2^-53 sum |ab| of the exact sum.
    Graded {
        /// The scheme.
        scheme: String,
        /// The distributions; empty for all.
        #[serde(default)]
        values: Vec<String>,
        /// The factor of k.
        terms: f64,
        /// True if an element is beyond the bound instead, for each distribution.
        #[serde(default)]
        beyond: bool,
    },
    /// The leading fraction bits agree with another computation, in a share of the samples.
    BitsAgree {
        /// The other computation.
        #[serde(deserialize_with = "super::keys::named")]
        reference: BitReference,
        /// Number of fraction bits.
        bits: usize,
        /// The least share, 1 for all.
        #[serde(default)]
        at_least: f64,
        /// The largest share.
        #[serde(default = "all")]
        at_most: f64,
        /// Numbers also count that differ by one unit of the last of these bits at most.
        #[serde(default)]
        near: bool,
    },
}

/// Cells by what they have in common.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// The operations; empty for any.
    #[serde(default, deserialize_with = "super::keys::ops")]
    pub ops: Vec<Op>,
    /// The reference.
    pub reference: String,
}

/// The result of a finding, and the figures that it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FindingResult {
    pub holds: bool,
    pub measured: String,
}

/// A published mean error, and the one that was measured.
pub(super) type MeasuredNumber<'a> = (&'a PublishedNumber, MeanError);

impl Selector {
    /// True of numbers with init low; with fp32 every sample is rounded differently.
    fn selects(&self, number: &PublishedNumber) -> bool {
        is_of(number, Init::Low, &self.reference)
            && (self.ops.is_empty() || self.ops.iter().any(|op| op.name() == number.key("op")))
    }
}

fn is_of(number: &PublishedNumber, init: Init, error: &str) -> bool {
    number.key("init") == init.name() && reference(number) == error
}

impl Condition {
    pub(super) fn instructions(&self) -> Vec<&String> {
        match self {
            Condition::Above { upper, lower, .. } => lower.iter().chain([upper]).collect(),
            Condition::Coincide { pair, .. } => pair.iter().collect(),
            Condition::Overflow { instruction, .. } => vec![instruction],
            _ => Vec::new(),
        }
    }

    /// Missing part of `experiment` that the condition needs.
    pub(super) fn defect(&self, experiment: &Experiment) -> Option<String> {
        let numbers = || experiment.published.iter().filter(|_| experiment.probe.is_some());
        let named = |name: &String| experiment.chain.iter().flat_map(|c| &c.instructions).any(|i| i.name == *name);
        match self {
            Condition::Exact(s) | Condition::Inexact(s) => {
                return (!numbers().any(|number| s.selects(number)))
                    .then(|| "it selects no cell with init low".to_string());
            }
            Condition::Differ { ops, reference, init, .. } => {
                let of = |number: &PublishedNumber, op: &Op| {
                    is_of(number, *init, reference) && number.key("op") == op.name()
                };
                let present = |op: &Op| numbers().any(|number| of(number, op));
                return (!ops.iter().all(present)).then(|| "there is no cell of one of its operations".to_string());
            }
            Condition::Smaller { smaller, than, .. } => {
                let Some(plan) = experiment.emulate.as_ref().filter(|plan| !plan.is_of_doubles()) else {
                    return Some("it is about schemes in f32, and there is no [emulate] of them".into());
                };
                let unknown = than.iter().chain([smaller]).find(|name| plan.scheme(name).is_none());
                return unknown.map(|name| format!("{name} is not among the schemes of [emulate]"));
            }
            Condition::Near { scheme, values, k, .. } => {
                return doubles_defect(experiment, scheme, std::slice::from_ref(values), Some(*k));
            }
            Condition::Graded { scheme, values, .. } => return doubles_defect(experiment, scheme, values, None),
            Condition::BitsAgree { .. } => {
                return experiment.bits.is_none().then(|| "it is about bits, and there is no [bits]".into());
            }
            _ => (),
        }
        if experiment.chain.is_none() {
            return Some("it is about chains, and there is no [chain]".into());
        }
        self.instructions()
            .into_iter()
            .find(|name| !named(name))
            .map(|name| format!("{name} is not among the instructions of [chain]"))
    }

    /// Result of the condition for the cells of a profile; `None` if it is about something else.
    pub(super) fn of_cells(&self, cells: &[MeasuredNumber]) -> Option<FindingResult> {
        let selected = |s: &Selector| -> Vec<MeanError> {
            cells.iter().filter(|(cell, _)| s.selects(cell)).map(|(_, measured)| *measured).collect()
        };
        let counts = |selected: &[MeanError]| {
            let unequal = selected.iter().map(|m| (m.samples - m.equal).to_string()).collect::<Vec<_>>();
            format!("unequal samples: {}; of {} each", unequal.join(", "), selected.first().map_or(0, |m| m.samples))
        };
        match self {
            Condition::Exact(s) | Condition::Inexact(s) => {
                let (selected, exact) = (selected(s), matches!(self, Condition::Exact(_)));
                let holds = selected.iter().all(|m| (m.equal == m.samples) == exact);
                Some(FindingResult { holds, measured: counts(&selected) })
            }
            Condition::Differ { ops, reference, init, deviations } => {
                let kept = cells.iter().filter(|(number, _)| is_of(number, *init, reference));
                Some(differ(&kept.copied().collect::<Vec<_>>(), *ops, *deviations))
            }
            _ => None,
        }
    }

    /// Result of the condition for the curves of chains; `None` if it is about something else.
    pub(super) fn of_curves(&self, curves: &[ChainCurve]) -> Option<FindingResult> {
        match self {
            Condition::Grows { at_least } => Some(grows(curves, *at_least)),
            Condition::Above { upper, lower, from, factor } => {
                let ratios = lower.iter().flat_map(|lower| ratios(curves, upper, lower));
                let least = ratios.filter(|(n, _)| n >= from).map(|(_, ratio)| ratio).reduce(f64::min);
                Some(FindingResult::bound("smallest ratio", least, |least| least >= *factor))
            }
            Condition::Coincide { pair: [first, second], from, within } => {
                let later = ratios(curves, first, second).into_iter().filter(|(n, _)| n >= from);
                let apart = later.map(|(_, ratio)| (ratio - 1.0).abs());
                Some(FindingResult::bound("largest relative difference", apart.reduce(f64::max), |apart| {
                    apart <= *within
                }))
            }
            Condition::Overflow { instruction, from, to } => Some(overflow(curves, instruction, *from, *to)),
            Condition::Negligible { below } => {
                let first = curves.iter().filter(|c| c.init == Init::Low).filter_map(|c| error(c.points.first()?));
                Some(FindingResult::bound("largest error at N = 1", first.reduce(f64::max), |largest| largest < *below))
            }
            Condition::Worse {} => {
                let pairs = curves.iter().filter(|c| c.init == Init::Low).flat_map(|low| {
                    let wide = curves.iter().find(|c| c.init == Init::Fp32 && c.instruction == low.instruction);
                    common(wide, Some(low))
                });
                let least = pairs.map(|(_, wide, low)| wide / low).reduce(f64::min);
                Some(FindingResult::bound("smallest ratio fp32 to low", least, |least| least > 1.0))
            }
            _ => None,
        }
    }
}

/// A scheme, distribution or k of a condition about f64 that is not computed.
fn doubles_defect(experiment: &Experiment, scheme: &str, values: &[String], k: Option<usize>) -> Option<String> {
    let Some(plan) = experiment.emulate.as_ref().filter(|plan| plan.is_of_doubles()) else {
        return Some("it is about products in f64, and there is no [emulate] of them".into());
    };
    let other = values.iter().find(|value| !plan.values.iter().any(|draw| draw.to_string() == **value));
    match (plan.scheme(scheme), other, k) {
        (None, ..) => Some(format!("{scheme} is not among the schemes of [emulate]")),
        (_, Some(other), _) => Some(format!("{other} is not among the values of [emulate]")),
        (.., Some(k)) if !plan.k.contains(&k) => Some(format!("k = {k} is not among the k of [emulate]")),
        _ => None,
    }
}

impl FindingResult {
    /// A condition on one number, which fails without a number.
    pub(super) fn bound(what: &str, value: Option<f64>, condition: impl Fn(f64) -> bool) -> FindingResult {
        match value {
            Some(value) => FindingResult { holds: condition(value), measured: format!("{what}: {}", digits(value)) },
            None => FindingResult { holds: false, measured: "nothing to compare".into() },
        }
    }
}

fn differ(cells: &[MeasuredNumber], ops: [Op; 2], deviations: f64) -> FindingResult {
    let of = |op: Op| cells.iter().filter(move |(number, _)| number.key("op") == op.name());
    let mut least: Option<f64> = None;
    for (first, a) in of(ops[0]) {
        for (_, b) in of(ops[1]).filter(|(number, _)| number.key("instruction") == first.key("instruction")) {
            let deviation = a.sampling_error(a.samples).hypot(b.sampling_error(b.samples));
            let difference = (a.mean.unwrap_or(0.0) - b.mean.unwrap_or(0.0)).abs();
            // Both zero: they do not differ.
            let apart = if difference > 0.0 { difference / deviation } else { 0.0 };
            least = Some(least.map_or(apart, |least| least.min(apart)));
        }
    }
    FindingResult::bound("smallest difference in standard errors", least, |least| least > deviations)
}

fn grows(curves: &[ChainCurve], at_least: f64) -> FindingResult {
    let share = |curve: &ChainCurve| {
        let errors: Vec<f64> = curve.without_overflow().iter().filter_map(error).collect();
        let up = errors.windows(2).filter(|pair| pair[1] > pair[0]).count();
        (errors.len() > 1).then(|| up as f64 / (errors.len() - 1) as f64)
    };
    let least = curves.iter().filter_map(share).reduce(f64::min);
    FindingResult::bound("smallest share of steps that go up", least, |share| share >= at_least)
}

fn overflow(curves: &[ChainCurve], instruction: &str, from: usize, to: usize) -> FindingResult {
    let first = |curve: &ChainCurve| curve.points.iter().find(|p| p.overflowed > 0).map(|p| p.length);
    let half = |curve: &ChainCurve| curve.points.iter().find(|p| p.overflowed > p.finite).map(|p| p.length);
    let says = |n: Option<usize>| n.map_or("none".to_string(), |n| format!("N = {n}"));
    let (mine, others): (Vec<&ChainCurve>, Vec<&ChainCurve>) =
        curves.iter().partition(|c| c.instruction.name == instruction);
    let lengths = mine.iter().map(|c| first(c)).collect::<Vec<_>>();
    let alone = others.iter().all(|c| first(c).is_none_or(|n| n > to));
    let measured = format!(
        "first of all chains: {}; more than half of them: {}; first of the other instructions: {}",
        says(lengths.iter().flatten().min().copied()),
        says(mine.iter().filter_map(|c| half(c)).min()),
        says(others.iter().filter_map(|c| first(c)).min()),
    );
    let within = |n: &Option<usize>| n.is_some_and(|n| (from..=to).contains(&n));
    FindingResult { holds: !lengths.is_empty() && lengths.iter().all(within) && alone, measured }
}

/// For each init, the lengths before either overflows, with the ratio of the first to the second error.
fn ratios(curves: &[ChainCurve], first: &str, second: &str) -> Vec<(usize, f64)> {
    let find = |name: &str, init: Init| curves.iter().find(|c| c.instruction.name == name && c.init == init);
    let both = [Init::Low, Init::Fp32].map(|init| common(find(first, init), find(second, init)));
    both.into_iter().flatten().map(|(n, x, y)| (n, x / y)).collect()
}

/// The lengths before either curve overflows, and both errors.
fn common(first: Option<&ChainCurve>, second: Option<&ChainCurve>) -> Vec<(usize, f64, f64)> {
    let points = |curve: Option<&ChainCurve>| curve.map_or(Vec::new(), |c| c.without_overflow().to_vec());
    let pairs = points(first).into_iter().zip(points(second));
    pairs.filter_map(|(x, y)| Some((x.length, error(&x)?, error(&y)?))).collect()
}

fn error(point: &ChainPoint) -> Option<f64> {
    point.against_plain.mean()
}

fn digits(value: f64) -> String {
    if value == 0.0 || (0.1..1000.0).contains(&value) { format!("{value:.3}") } else { format!("{value:.3e}") }
}

fn all() -> f64 {
    1.0
}
