//! Reading parts of runs back from the reports that `tcnum verify` and `tcnum merge` write.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Counterexample, Mark, Part, Ran, Run, State, tables::RegimeRow};
use crate::{
    Error, Result,
    comparison::{Answer, MismatchRow, VerificationRow},
    device::{Count, Spot},
    isa::Case,
};

/// The parts in a report, parsed from JSON.
///
/// # Errors
/// What is missing or wrong.
pub fn parts(report: &Value) -> Result<Vec<Part>> {
    let wrong = |what: String| Error::request(what);
    let runs: Vec<VerificationRow> = rows(report, "verification").map_err(wrong)?;
    let regimes: Vec<RegimeRow> = rows(report, "regimes").map_err(wrong)?;
    let mismatches: Vec<MismatchRow> = match report.pointer("/tables/mismatches") {
        Some(_) => rows(report, "mismatches").map_err(wrong)?,
        None => Vec::new(),
    };
    if runs.is_empty() {
        return Err(Error::request("its table 'verification' is empty"));
    }
    runs.into_iter().map(|run| part(run, &regimes, &mismatches)).collect()
}

fn rows<T: DeserializeOwned>(report: &Value, table: &str) -> std::result::Result<Vec<T>, String> {
    let rows = report.pointer(&format!("/tables/{table}")).ok_or(format!("it has no table '{table}'"))?;
    Vec::deserialize(rows).map_err(|error| format!("table '{table}': {error}"))
}

fn part(row: VerificationRow, regimes: &[RegimeRow], mismatches: &[MismatchRow]) -> Result<Part> {
    let regimes: Vec<&RegimeRow> = regimes.iter().filter(|regime| regime.instruction == row.instruction).collect();
    let seed = row.seed.as_deref().map(|seed| seed.parse::<u64>()).transpose();
    let run = Run {
        device: row.device_description,
        model: said("model_name", row.model_name)?,
        model_digest: said("model_digest", row.model_digest)?,
        seed: seed.map_err(|_| Error::request("table 'verification': a seed is no number"))?,
        position: row.position,
        cases: said("cases", row.cases)?,
        regimes: regimes.iter().map(|regime| regime.regime.clone()).collect(),
        max_mismatches: said("max_mismatches", row.max_mismatches)?,
        shard: said("shard", row.shard)?,
        shards: said("shards", row.shards)?,
        tcnum: said("tcnum", row.tcnum)?,
        instruction: row.instruction,
    };
    let own = mismatches.iter().filter(|mismatch| mismatch.instruction == run.instruction);
    let mut marks: Vec<Mark> = own.clone().map(mark).collect();
    marks.dedup();
    let counterexamples = own.map(|mismatch| counterexample(mismatch, &run)).collect::<Result<Vec<_>>>()?;
    let count = |regime: &&RegimeRow| Count { compared: regime.compared, differing: regime.differing };
    let part = Part {
        state: State {
            next: said("next_tile", row.next_tile)?,
            regimes: regimes.iter().map(count).collect(),
            spots: counterexamples.iter().map(|counterexample| counterexample.spot).collect(),
            marks,
            seconds: said("seconds", row.seconds)?,
            finished: row.finished,
        },
        ran: Ran { device: row.device, model: row.model, execution: row.execution, opcodes: row.opcodes },
        run,
        counterexamples: Some(counterexamples),
    };
    part.check()?;
    Ok(part)
}

/// A member that campaigns have, and recordings have not.
fn said<T>(column: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| {
        Error::request(format!("table 'verification': '{column}' is missing, as in a report on recordings"))
    })
}

fn mark(mismatch: &MismatchRow) -> Mark {
    let counts = mismatch.until_compared.iter().zip(&mismatch.until_differing);
    Mark {
        tile: mismatch.until_tile.unwrap_or_default(),
        regimes: counts.map(|(&compared, &differing)| Count { compared, differing }).collect(),
    }
}

fn counterexample(mismatch: &MismatchRow, run: &Run) -> Result<Counterexample> {
    let m = mismatch;
    let missing = |column: &str| Error::request(format!("table 'mismatches': '{column}' is missing"));
    let name = m.regime.as_deref().ok_or_else(|| missing("regime"))?;
    let regime = run.regimes.iter().position(|regime| regime == name);
    let case = |[a, b, scale_a, scale_b]: [&[String]; 4], c: &Option<String>, positions: &[u64]| {
        let all = |codes: &[String]| codes.iter().map(|code| hexadecimal(code)).collect::<Result<Vec<_>>>();
        let c = hexadecimal(c.as_deref().ok_or_else(|| missing("c"))?)?;
        let positions = positions.to_vec();
        Ok(Case { a: all(a)?, b: all(b)?, c, positions, scale_a: all(scale_a)?, scale_b: all(scale_b)? })
    };
    let found = case([&m.found_a, &m.found_b, &m.found_scale_a, &m.found_scale_b], &m.found_c, &m.found_positions)?;
    let shrunk = match m.reduced {
        true => Some(case([&m.a, &m.b, &m.scale_a, &m.scale_b], &m.c, &m.positions)?),
        false => None,
    };
    let answer = |case: Case, device: &str, model: &str| {
        Ok(Answer { case, device: hexadecimal(device)?, model: hexadecimal(model)? })
    };
    Ok(Counterexample {
        spot: Spot {
            tile: m.tile.ok_or_else(|| missing("tile"))?,
            row: m.row.ok_or_else(|| missing("row"))?,
            column: m.column.ok_or_else(|| missing("column"))?,
        },
        regime: regime.ok_or_else(|| Error::request(format!("there is no regime '{name}'")))?,
        found: answer(found, &m.found_device_d, &m.found_model_d)?,
        shrunk: shrunk.map(|case| answer(case, &m.device_d, &m.model_d)).transpose()?,
    })
}

fn hexadecimal(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.ok_or_else(|| Error::request(format!("table 'mismatches': '{text}' is no code")))
}
