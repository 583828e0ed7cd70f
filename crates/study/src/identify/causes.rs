//! The causes of differences of devices: the rules of both are identified, and compared key by key.

use std::time::Duration;

use super::{Finding, Limits, Request, Session, Study, words::support};
use crate::{
    Result, Stage,
    arithmetic::Rule,
    device::Device,
    distinction::{
        DevicePair, DifferenceCause, DifferenceReason, DistinctionVerdict, InstructionDistinction, observable,
    },
    isa::Instruction,
    rule::Changed,
};

/// Largest number of tiles of a search.
const SEARCHED: u64 = 4_000;
/// Longest time that the answers to a search may take.
const SEARCH_TIME: Duration = Duration::from_secs(20);
/// Number of held-out cases.
const HELD_OUT: u64 = 100_000;
/// Longest time of the held-out run.
const HELD_OUT_TIME: Duration = Duration::from_secs(20);

/// The rule of a side.
struct SideRule {
    rule: Rule,
    /// The outputs that the rule misses, if it is only the nearest.
    misses: Option<String>,
}

/// Finds the cause of each difference with a side whose rule is not known.
///
/// The rules of both sides are identified and compared.
///
/// # Errors
/// A device that fails, or is not a function of its operands; an interruption. The causes until then are in `distinctions`.
pub fn causes(
    pair: &mut DevicePair,
    seed: u64,
    progress: &mut dyn FnMut(Stage),
    distinctions: &mut [InstructionDistinction],
) -> Result<()> {
    let is_open = |compared: &&mut InstructionDistinction| {
        let is_known = compared.sides.iter().all(|side| side.rule.is_some());
        compared.distinction.verdict == DistinctionVerdict::Differ && !is_known
    };
    for compared in distinctions.iter_mut().filter(is_open) {
        let mut rules = Vec::new();
        for (device, side) in pair.devices.iter_mut().zip(&compared.sides) {
            let what = format!("identifying {} on {}", side.instruction, side.device);
            progress(Stage { what: &what, done: 0, total: 0 });
            rules.extend(rule(device.as_mut(), &side.instruction, seed)?);
        }
        let Ok([x, y]) = <[SideRule; 2]>::try_from(rules) else { continue };
        compared.cause = observable([&x.rule, &y.rule], &compared.distinction.shared).map(|keys| DifferenceCause {
            reasons: keys
                .into_iter()
                .map(|key| DifferenceReason { keys: vec![key], kind: None, witness: None })
                .collect(),
            nearest: [x.misses, y.misses],
        });
    }
    Ok(())
}

/// The rule of an instruction on a device, from its model or identified; `None` if no rule is found.
fn rule(device: &mut dyn Device, i: &Instruction, seed: u64) -> Result<Option<SideRule>> {
    if let Some(model) = device.model() {
        return Ok(Some(SideRule { rule: Changed::of(model, i)?.rule, misses: None }));
    }
    let limits = Limits {
        search: SEARCHED,
        search_time: SEARCH_TIME,
        tiles: None,
        cases: HELD_OUT,
        held_out_time: Some(HELD_OUT_TIME),
    };
    let request = Request { seed, limits, ..Request::new(device) };
    let mut all = Study::default();
    Session::new(device, &request, &mut |_| ()).identify(std::slice::from_ref(i), &mut all)?;
    let side = |finding: Finding| {
        Some(SideRule { misses: (!finding.agrees()).then(|| support(&finding)), rule: finding.identification.rule? })
    };
    Ok(all.findings.pop().and_then(side))
}
