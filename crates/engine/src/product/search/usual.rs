//! How usual a schedule is, by what libraries run.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{
    isa::{Instruction, pattern},
    product::{BiasEntry, CEntry, KOrder, PartJoin, PartTerms, Residue, Schedule, shipped::shipped},
};

/// The rows of `schedules/usual.toml`.
static USUAL: LazyLock<Usual> =
    LazyLock::new(|| toml::from_str(shipped("usual").expect("a file of schedules/")).expect("a test reads the file"));

/// Most k of a part that is more usually a promotion: no library cuts k into parts of a tile or two.
pub(super) const SHORT_PART: usize = 128;
/// Cost of an instruction that no pattern of its model names, beyond those that are named.
const UNNAMED: usize = 3;
/// Cost of each key that differs from a plain schedule.
const SPLIT: usize = 2;
const GRANULE: usize = 4;
const INTERLEAVED: usize = 4;
const SHIPPED_PROMOTION: usize = 1;
const OTHER_PROMOTION: usize = 12;
const DESCENDING: usize = 12;
const RESIDUE: usize = 1;
const PAIRS: usize = 6;
const NARROW_JOIN: usize = 2;
const ACCUMULATORS: usize = 2;
const PIECES: usize = 8;
const BEGINNING: usize = 2;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Usual {
    unit: Vec<Unit>,
    promotion: Vec<ShippedPromotion>,
}

/// The instructions of a model that libraries use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    model: String,
    instructions: Vec<String>,
    /// True if libraries split numbers of f32 into parts for these instructions.
    #[serde(default)]
    schemes: bool,
    #[serde(rename = "source")]
    _source: String,
}

/// Promotions that libraries ship.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShippedPromotion {
    instructions: Vec<String>,
    every: Vec<usize>,
    #[serde(rename = "source")]
    _source: String,
}

fn named(patterns: &[String], i: &Instruction) -> Option<usize> {
    patterns.iter().position(|pattern| pattern::matches(pattern, &i.name))
}

/// Cost of a model, and of an instruction of it; 0 for the most usual ones.
pub(super) fn of_instruction(model: &str, i: &Instruction) -> [usize; 2] {
    let units = &USUAL.unit;
    let place = units.iter().position(|unit| unit.model == model);
    let instructions = place.map_or(&[][..], |place| &units[place].instructions);
    [place.unwrap_or(units.len()), named(instructions, i).unwrap_or(instructions.len() + UNNAMED)]
}

/// True if libraries multiply parts of f32 numbers by an instruction of a model.
pub(super) fn multiplies_parts(model: &str, i: &Instruction) -> bool {
    USUAL.unit.iter().any(|unit| unit.schemes && unit.model == model && named(&unit.instructions, i).is_some())
}

/// Cost of how a schedule cuts, orders and joins k; 0 for a plain one, promoted after each turn.
pub(super) fn of_schedule(schedule: &Schedule, turn: Option<usize>) -> usize {
    let split = &schedule.split;
    let shipped = |every: usize| {
        let of = |row: &ShippedPromotion| {
            row.every.contains(&every) && named(&row.instructions, &schedule.instruction).is_some()
        };
        turn == Some(every) || USUAL.promotion.iter().any(of)
    };
    let costs = [
        (schedule.order == KOrder::Descending, DESCENDING),
        (split.count > 1, SPLIT + split.count / 4),
        (split.count > 1 && !split.granule.is_multiple_of(32), GRANULE),
        (split.terms == PartTerms::Interleaved, INTERLEAVED),
        (schedule.promote.is_some_and(shipped), SHIPPED_PROMOTION),
        (schedule.promote.is_some_and(|every| !shipped(every)) && schedule.scales.is_none(), OTHER_PROMOTION),
        (schedule.residue == Residue::First, RESIDUE),
        (matches!(split.join, PartJoin::Pairs | PartJoin::Halves), PAIRS),
        (matches!(split.join, PartJoin::Output | PartJoin::Serial), NARROW_JOIN),
        (schedule.accumulators.count > 1, ACCUMULATORS),
        (schedule.accumulators.granule > schedule.instruction.k, PIECES),
        (schedule.c != CEntry::End || schedule.bias != BiasEntry::End, BEGINNING),
    ];
    costs.into_iter().filter(|(holds, _)| *holds).map(|(_, cost)| cost).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic::Model, isa};

    #[test]
    fn every_row_of_the_usual_instructions_names_a_model_and_its_instructions() {
        for unit in &USUAL.unit {
            let model = Model::load(&unit.model).unwrap();
            for pattern in &unit.instructions {
                let names = |i: &&Instruction| pattern::matches(pattern, &i.name) && model.rule(i).is_some();
                assert!(isa::all().iter().any(|i| names(&i)), "{}: {pattern}", unit.model);
            }
        }
        for row in &USUAL.promotion {
            for pattern in &row.instructions {
                assert!(isa::all().iter().any(|i| pattern::matches(pattern, &i.name)), "{pattern}");
            }
        }
    }
}
