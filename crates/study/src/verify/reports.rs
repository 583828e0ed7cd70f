//! Parts of runs, read from the reports of `tcnum verify` and `tcnum merge`.

use serde::Deserialize;

use crate::campaign::{Part, Ran, RegimeRow, Run, State};
use crate::{
    Error, Result,
    comparison::{Answer, Difference, MismatchRow, ResultPlace, VerificationRow},
    device::{Count, Spot},
    isa::Case,
};

/// The tables of a report that are read.
#[derive(Deserialize)]
struct ReportFile {
    tables: Tables,
}

#[derive(Deserialize)]
struct Tables {
    verification: Option<Vec<VerificationRow>>,
    regimes: Option<Vec<RegimeRow>>,
    #[serde(default)]
    mismatches: Vec<MismatchRow>,
}

/// Reads the parts in a report in JSON.
///
/// # Errors
/// A request error: a missing or wrong column.
pub fn parts(report: &str) -> Result<Vec<Part>> {
    let ReportFile { tables } = serde_json::from_str(report).map_err(|error| Error::request(error.to_string()))?;
    let without = |table: &str| Error::request(format!("it has no table '{table}'"));
    let runs = tables.verification.ok_or_else(|| without("verification"))?;
    let regimes = tables.regimes.ok_or_else(|| without("regimes"))?;
    if runs.is_empty() {
        return Err(Error::request("its table 'verification' is empty"));
    }
    runs.into_iter().map(|run| part(run, &regimes, &tables.mismatches)).collect()
}

fn part(row: VerificationRow, regimes: &[RegimeRow], mismatches: &[MismatchRow]) -> Result<Part> {
    let regimes: Vec<&RegimeRow> = regimes.iter().filter(|regime| regime.instruction == row.instruction).collect();
    let seed = row.seed.as_deref().map(|seed| seed.parse::<u64>()).transpose();
    let run = Run {
        device: row.device_description,
        model: said("model_name", row.model_name)?,
        model_digest: said("model_digest", row.model_digest)?,
        seed: seed.map_err(|_| Error::request("table 'verification': a seed is not a number"))?,
        position: row.position,
        cases: said("cases", row.cases)?,
        regimes: regimes.iter().map(|regime| regime.regime.clone()).collect(),
        max_mismatches: said("max_mismatches", row.max_mismatches)?,
        shard: said("shard", row.shard)?,
        shards: said("shards", row.shards)?,
        tcnum: said("tcnum", row.tcnum)?,
        any_nan: row.any_nan,
        instruction: row.instruction,
    };
    let counted = (row.compared, row.differing);
    let mismatches = mismatches.iter().filter(|mismatch| mismatch.instruction == run.instruction);
    let counterexamples = mismatches.map(|mismatch| counterexample(mismatch, &run)).collect::<Result<Vec<_>>>()?;
    let count = |regime: &&RegimeRow| Count { compared: regime.compared, differing: regime.differing };
    let part = Part {
        state: State {
            next: said("next_tile", row.next_tile)?,
            regimes: regimes.iter().map(count).collect(),
            kinds: Vec::new(),
            seconds: said("seconds", row.seconds)?,
            finished: row.finished,
        },
        ran: Ran { device: row.device, model: row.model, execution: row.execution, opcodes: row.opcodes },
        run,
        counterexamples: Some(counterexamples),
    };
    part.check()?;
    match (part.state.compared(), part.state.differing()) == counted {
        true => Ok(part),
        false => Err(Error::request(format!(
            "the part of {} contradicts itself: the counts of its regimes do not add up to its total",
            part.run.instruction
        ))),
    }
}

/// A column that reports on recordings lack.
fn said<T>(column: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| {
        Error::request(format!("table 'verification': '{column}' is missing, as in a report on recordings"))
    })
}

fn counterexample(mismatch: &MismatchRow, run: &Run) -> Result<Difference> {
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
    let original = case([&m.found_a, &m.found_b, &m.found_scale_a, &m.found_scale_b], &m.found_c, &m.found_positions)?;
    let reduced = match m.reduced {
        true => Some(case([&m.a, &m.b, &m.scale_a, &m.scale_b], &m.c, &m.positions)?),
        false => None,
    };
    let answer = |case: Case, device: &str, model: &str| {
        Ok(Answer { case, device: hexadecimal(device)?, model: hexadecimal(model)? })
    };
    let spot = Spot {
        tile: m.tile.ok_or_else(|| missing("tile"))?,
        row: m.row.ok_or_else(|| missing("row"))?,
        column: m.column.ok_or_else(|| missing("column"))?,
    };
    Ok(Difference {
        place: ResultPlace::Output(spot),
        count: m.count,
        regime: regime.ok_or_else(|| Error::request(format!("there is no regime '{name}'")))?,
        original: answer(original, &m.found_device_d, &m.found_model_d)?,
        reduced: reduced.map(|case| answer(case, &m.device_d, &m.model_d)).transpose()?,
    })
}

fn hexadecimal(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.ok_or_else(|| Error::request(format!("table 'mismatches': '{text}' is not a code")))
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{
        arithmetic::{Model, shipped},
        base::text::LONGEST_RESULT,
        campaign::{MOST_LISTED, regimes},
        inputs::Sequence,
        isa::{self, Instruction},
        report::{Report, View, ViewLayout, render},
        verify::tables,
    };

    /// A finished part of a tile with a counterexample, whose operands are shifted right by `shift` bits.
    fn part_with(i: &Instruction, model: &Model, rng: &mut ChaCha8Rng, shift: u32) -> Part {
        let mut codes = |format: &crate::format::Format, all: &mut [u64]| {
            all.iter_mut().for_each(|code| *code = (rng.next_u64() & format.code_mask()) >> shift | 1);
        };
        let mut case = Case::zeros(i);
        codes(i.a, &mut case.a);
        codes(i.b, &mut case.b);
        codes(i.c, std::slice::from_mut(&mut case.c));
        if let Some(scale) = i.scale {
            codes(scale.format, &mut case.scale_a);
            codes(scale.format, &mut case.scale_b);
        }
        let d = model.evaluator(i).unwrap().dot(&case);
        let answer = Answer { case, device: d ^ 1, model: d };
        let sequence = Sequence::Random { seed: u64::MAX };
        let regimes: Vec<String> = sequence.regimes().into_iter().map(str::to_string).collect();
        let run = Run {
            instruction: i.name.clone(),
            device: "a device".into(),
            model: model.name.clone(),
            model_digest: String::new(),
            seed: Some(u64::MAX),
            position: None,
            cases: 1,
            max_mismatches: 1,
            shard: 1,
            shards: 1,
            tcnum: String::new(),
            any_nan: shift > 0,
            regimes,
        };
        let mut counts = vec![Count::default(); run.regimes.len()];
        counts[0] = Count { compared: (i.m * i.n) as u64, differing: 1 };
        let spot = Spot { tile: 0, row: 0, column: 0 };
        let state = State { next: 1, regimes: counts, kinds: Vec::new(), seconds: 0.5, finished: true };
        let ran = Ran {
            device: "device".into(),
            model: model.name.clone(),
            execution: "simulated".into(),
            opcodes: Vec::new(),
        };
        let reduced = Some(answer.clone());
        let difference = Difference::of(ResultPlace::Output(spot), answer);
        let counterexamples = Some(vec![Difference { reduced, ..difference }]);
        Part { run, ran, state, counterexamples }
    }

    /// The report of a part, as `tcnum verify` writes it for a device that is a model.
    fn report_of(part: &Part, model: &Model) -> String {
        let parts = std::slice::from_ref(part);
        let mut report = Report::new("verify", "tcnum verify");
        report.tables = vec![tables::verification(parts), regimes(parts)];
        report.tables.extend(tables::differences(parts, Some(("m", model)), Some(("d", model))).unwrap());
        render(&report, View::Json, &ViewLayout::default())
    }

    #[test]
    fn what_is_written_is_read_again_and_the_longest_is_short_enough() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let models: Vec<Model> = shipped().map(|name| Model::load(name).unwrap()).collect();
        let (mut longest, mut read) = (0, 0);
        for i in isa::all() {
            let Some(model) = models.iter().find(|model| model.rule(i).is_some()) else { continue };
            for shift in [0, i.a.bits - 1] {
                let part = part_with(i, model, &mut rng, shift);
                let text = report_of(&part, model);
                assert_eq!(parts(&text).unwrap(), std::slice::from_ref(&part), "{i}");
                longest = longest.max(text.len());
                read += 1;
            }
        }
        assert!(read > 500, "{read}");
        assert!(longest as u64 * MOST_LISTED <= LONGEST_RESULT, "{longest} bytes for one");
    }
}
