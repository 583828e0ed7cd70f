//! Reading parts of runs back from the reports that `tcnum verify` and `tcnum merge` write.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Counterexample, Mark, Part, Ran, Run, State, shrink::Answer};
use crate::{
    Error, Result,
    device::{Count, Spot},
    isa::Case,
};

/// A row of the table `verification`.
#[derive(Deserialize)]
struct Verification {
    instruction: String,
    device: String,
    device_description: String,
    execution: String,
    opcodes: Vec<String>,
    model: String,
    model_name: String,
    model_digest: String,
    seed: Option<String>,
    position: Option<usize>,
    cases: u64,
    max_mismatches: u64,
    shard: u64,
    shards: u64,
    tcnum: String,
    finished: bool,
    next_tile: u64,
    seconds: f64,
}

/// A row of the table `regimes`.
#[derive(Deserialize)]
struct Regime {
    instruction: String,
    regime: String,
    compared: u64,
    differing: u64,
}

/// A row of the table `mismatches`.
#[derive(Deserialize)]
struct Mismatch {
    instruction: String,
    regime: String,
    tile: u64,
    row: u32,
    column: u32,
    reduced: bool,
    #[serde(flatten)]
    codes: Value,
    until_tile: u64,
    until_compared: Vec<u64>,
    until_differing: Vec<u64>,
}

/// The codes of a case, in hexadecimal.
#[derive(Deserialize)]
struct Codes {
    a: Vec<String>,
    b: Vec<String>,
    c: String,
    positions: Vec<u64>,
    scale_a: Vec<String>,
    scale_b: Vec<String>,
    device_d: String,
    model_d: String,
}

/// The parts in a report, parsed from JSON.
///
/// # Errors
/// What is missing or wrong.
pub fn parts(report: &Value) -> Result<Vec<Part>> {
    let wrong = |what: String| Error::request(what);
    let runs: Vec<Verification> = rows(report, "verification").map_err(wrong)?;
    let regimes: Vec<Regime> = rows(report, "regimes").map_err(wrong)?;
    let mismatches: Vec<Mismatch> = match report.pointer("/tables/mismatches") {
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

fn part(row: Verification, regimes: &[Regime], mismatches: &[Mismatch]) -> Result<Part> {
    let regimes: Vec<&Regime> = regimes.iter().filter(|regime| regime.instruction == row.instruction).collect();
    let seed = row.seed.as_deref().map(|seed| seed.parse::<u64>()).transpose();
    let run = Run {
        device: row.device_description,
        model: row.model_name,
        model_digest: row.model_digest,
        seed: seed.map_err(|_| Error::request("table 'verification': a seed is no number"))?,
        position: row.position,
        cases: row.cases,
        regimes: regimes.iter().map(|regime| regime.regime.clone()).collect(),
        max_mismatches: row.max_mismatches,
        shard: row.shard,
        shards: row.shards,
        tcnum: row.tcnum,
        instruction: row.instruction,
    };
    let own = mismatches.iter().filter(|mismatch| mismatch.instruction == run.instruction);
    let mut marks: Vec<Mark> = own.clone().map(mark).collect();
    marks.dedup();
    let counterexamples = own.map(|mismatch| counterexample(mismatch, &run)).collect::<Result<Vec<_>>>()?;
    let count = |regime: &&Regime| Count { compared: regime.compared, differing: regime.differing };
    let part = Part {
        state: State {
            next: row.next_tile,
            regimes: regimes.iter().map(count).collect(),
            spots: counterexamples.iter().map(|counterexample| counterexample.spot).collect(),
            marks,
            seconds: row.seconds,
            finished: row.finished,
        },
        ran: Ran { device: row.device, model: row.model, execution: row.execution, opcodes: row.opcodes },
        run,
        counterexamples: Some(counterexamples),
    };
    part.check()?;
    Ok(part)
}

fn mark(mismatch: &Mismatch) -> Mark {
    let counts = mismatch.until_compared.iter().zip(&mismatch.until_differing);
    Mark {
        tile: mismatch.until_tile,
        regimes: counts.map(|(&compared, &differing)| Count { compared, differing }).collect(),
    }
}

fn counterexample(mismatch: &Mismatch, run: &Run) -> Result<Counterexample> {
    let regime = run.regimes.iter().position(|name| *name == mismatch.regime);
    let found = answer(&mismatch.codes, "found_")?;
    let shrunk = if mismatch.reduced { Some(answer(&mismatch.codes, "")?) } else { None };
    Ok(Counterexample {
        spot: Spot { tile: mismatch.tile, row: mismatch.row, column: mismatch.column },
        regime: regime.ok_or_else(|| Error::request(format!("there is no regime '{}'", mismatch.regime)))?,
        found,
        shrunk,
    })
}

/// The case whose columns begin with `prefix`.
fn answer(row: &Value, prefix: &str) -> Result<Answer> {
    let members = ["a", "b", "c", "positions", "scale_a", "scale_b", "device_d", "model_d"];
    let object = members.iter().map(|key| (key.to_string(), row[format!("{prefix}{key}")].clone())).collect();
    let codes: Codes = serde_json::from_value(Value::Object(object))
        .map_err(|error| Error::request(format!("table 'mismatches': {error}")))?;
    let all = |codes: &[String]| codes.iter().map(|code| hexadecimal(code)).collect::<Result<Vec<_>>>();
    Ok(Answer {
        case: Case {
            a: all(&codes.a)?,
            b: all(&codes.b)?,
            c: hexadecimal(&codes.c)?,
            positions: codes.positions,
            scale_a: all(&codes.scale_a)?,
            scale_b: all(&codes.scale_b)?,
        },
        device: hexadecimal(&codes.device_d)?,
        model: hexadecimal(&codes.model_d)?,
    })
}

fn hexadecimal(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.ok_or_else(|| Error::request(format!("table 'mismatches': '{text}' is no code")))
}
