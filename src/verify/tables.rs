//! The tables of a campaign.

use super::{
    Counterexample, Part,
    shrink::{Answer, Cost},
    trace::count,
};
use crate::{
    Result,
    arithmetic::Model,
    device::Count,
    exact, explain,
    format::Format,
    isa::{Case, Instruction},
    report::{Cell, Column, Table},
};

/// The table `verification`: a row for each part of a run.
pub fn verification<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Table {
    let columns = [
        ("instruction", Some("instruction")),
        ("device", Some("device")),
        ("device_description", None),
        ("execution", Some("ran")),
        ("opcodes", Some("machine code")),
        ("model", Some("model")),
        ("model_name", None),
        ("model_digest", None),
        ("seed", None),
        ("position", None),
        ("cases", Some("cases asked")),
        ("max_mismatches", None),
        ("shard", None),
        ("shards", None),
        ("tcnum", None),
        ("finished", None),
        ("next_tile", None),
        ("compared", Some("compared")),
        ("agreeing", Some("agree")),
        ("differing", Some("differ")),
        ("seconds", Some("seconds")),
        ("rate", Some("per second")),
    ];
    let columns = columns.into_iter().map(|(key, label)| Column { key, label }).collect();
    let mut table = Table::new("verification", "Dot-product-adds compared with the model in every bit", columns);
    table.rows = parts.into_iter().map(verification_row).collect();
    for key in ["opcodes", "seed", "position"] {
        let at = table.columns.iter().position(|column| column.key == key).expect("it is a column");
        if table.rows.iter().all(|row| row[at] == Cell::List(Vec::new())) {
            table.columns[at].label = None;
        }
    }
    table
}

fn verification_row(part: &Part) -> Vec<Cell> {
    let Part { run, ran, state, .. } = part;
    let (compared, differing) = (state.compared(), state.differing());
    vec![
        run.instruction.as_str().into(),
        ran.device.as_str().into(),
        run.device.as_str().into(),
        ran.execution.as_str().into(),
        ran.opcodes.clone().into(),
        ran.model.as_str().into(),
        run.model.as_str().into(),
        run.model_digest.as_str().into(),
        run.seed.map(|seed| Cell::text(seed.to_string())).into(),
        run.position.into(),
        run.cases.into(),
        run.max_mismatches.into(),
        run.shard.into(),
        run.shards.into(),
        run.tcnum.as_str().into(),
        state.finished.into(),
        state.next.into(),
        compared.into(),
        (compared - differing).into(),
        differing.into(),
        state.seconds.into(),
        (compared as f64 / state.seconds.max(1e-9)).into(),
    ]
}

/// The table `regimes`: a row for each regime of each part.
pub fn regimes<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Table {
    let columns =
        [("instruction", "instruction"), ("regime", "regime"), ("compared", "compared"), ("differing", "differ")];
    let columns = columns.map(|(key, label)| Column::new(key, label)).to_vec();
    let mut table = Table::new("regimes", "By regime of operands", columns);
    for Part { run, state, .. } in parts {
        for (name, count) in run.regimes.iter().zip(&state.regimes) {
            table.rows.push(vec![
                run.instruction.as_str().into(),
                name.as_str().into(),
                count.compared.into(),
                count.differing.into(),
            ]);
        }
    }
    table
}

/// The table `mismatches`, without rows: one for each counterexample, in the simplest case that still differs. Codes are
/// hexadecimal; `found_` columns are of the case before it was reduced; `ulps` is the number of steps from one representable
/// number to the next between the two outputs, empty where one is infinite or NaN; `until_` columns count up to the end of
/// the unit in which it was found.
pub fn mismatches() -> Table {
    let columns = [
        ("number", Some("number")),
        ("instruction", Some("instruction")),
        ("regime", Some("regime")),
        ("tile", None),
        ("row", None),
        ("column", None),
        ("reduced", None),
        ("terms", Some("terms")),
        ("operands", Some("operands")),
        ("device_d", Some("device's D")),
        ("device_value", Some("its value")),
        ("model_d", Some("model's D")),
        ("model_value", Some("its value")),
        ("ulps", Some("ulps apart")),
        ("a", None),
        ("b", None),
        ("c", None),
        ("positions", None),
        ("scale_a", None),
        ("scale_b", None),
        ("found_a", None),
        ("found_b", None),
        ("found_c", None),
        ("found_positions", None),
        ("found_scale_a", None),
        ("found_scale_b", None),
        ("found_device_d", None),
        ("found_model_d", None),
        ("until_tile", None),
        ("until_compared", None),
        ("until_differing", None),
    ];
    let columns = columns.into_iter().map(|(key, label)| Column { key, label }).collect();
    Table::new("mismatches", "Outputs that differ, reduced to the simplest operands", columns)
}

/// The row of [`mismatches`] for a counterexample of a part.
pub fn mismatch_row(number: usize, part: &Part, i: &Instruction, counterexample: &Counterexample) -> Vec<Cell> {
    let Counterexample { spot, regime, found, shrunk } = counterexample;
    let simplest = counterexample.simplest();
    let mut row: Vec<Cell> = vec![
        number.into(),
        i.name.as_str().into(),
        part.run.regimes[*regime].as_str().into(),
        spot.tile.into(),
        spot.row.into(),
        spot.column.into(),
        shrunk.is_some().into(),
        Cost::of(i, &simplest.case).terms.into(),
        operands(i, &simplest.case).into(),
        i.d.hex(simplest.device).into(),
        value(i.d, simplest.device),
        i.d.hex(simplest.model).into(),
        value(i.d, simplest.model),
        exact::distance(i.d, simplest.device, simplest.model).map_or(Cell::Empty, count),
    ];
    row.extend(codes(i, &simplest.case));
    row.extend(codes(i, &found.case));
    row.extend([Cell::text(i.d.hex(found.device)), Cell::text(i.d.hex(found.model))]);
    let mark = part.state.marks.iter().find(|mark| mark.tile > spot.tile);
    row.push(mark.map(|mark| mark.tile).into());
    let until = |count: fn(&Count) -> u64| {
        mark.map_or(Cell::Empty, |mark| mark.regimes.iter().map(count).collect::<Vec<_>>().into())
    };
    row.extend([until(|count| count.compared), until(|count| count.differing)]);
    row
}

/// The codes of a case, in the order of the columns.
fn codes(i: &Instruction, case: &Case) -> [Cell; 6] {
    let hex =
        |format: &Format, codes: &[u64]| Cell::from(codes.iter().map(|code| format.hex(*code)).collect::<Vec<_>>());
    let scale = i.scale.map_or(i.a, |scale| scale.format);
    [
        hex(i.a, &case.a),
        hex(i.b, &case.b),
        i.c.hex(case.c).into(),
        case.positions.clone().into(),
        hex(scale, &case.scale_a),
        hex(scale, &case.scale_b),
    ]
}

/// The operands that are not zero, in words: `a[0] 0x3c00 = 1, b[0] 0x4000 = 2, c 0x3f800000 = 1`.
pub fn operands(i: &Instruction, case: &Case) -> String {
    let one = |name: String, format: &Format, code: u64| {
        format!("{name} {} = {}", format.hex(code), format.decode(code).decimal())
    };
    let mut words = Vec::new();
    for at in 0..case.a.len() {
        let k = case.logical(i, at);
        if (case.a[at], case.b[k]) != (0, 0) {
            words.push(one(format!("a[{at}]"), i.a, case.a[at]));
            words.push(one(format!("b[{k}]"), i.b, case.b[k]));
        }
    }
    let met: Vec<usize> = (0..case.a.len()).map(|at| case.logical(i, at)).collect();
    let lone = (0..case.b.len()).filter(|k| case.b[*k] != 0 && !met.contains(k));
    words.extend(lone.map(|k| one(format!("b[{k}] (not met)"), i.b, case.b[k])));
    if let Some(scale) = i.scale {
        let named = [("scale a", &case.scale_a), ("scale b", &case.scale_b)];
        let each = |(name, codes): (&'static str, &Vec<u64>)| {
            let named = |(at, code): (usize, &u64)| one(format!("{name}[{at}]"), scale.format, *code);
            codes.iter().enumerate().map(named).collect::<Vec<_>>()
        };
        words.extend(named.into_iter().flat_map(each));
    }
    words.push(one("c".into(), i.c, case.c));
    words.join(", ")
}

/// The tables `mismatches` and `steps` of the counterexamples of parts, if there are any: step by step in the model's
/// arithmetic, and in the device's where that is a model too, each with the name that it was asked for by. A case to which several are reduced is shown once; without
/// a model no step is.
///
/// # Errors
/// A model does not cover the instruction.
pub fn differences(
    parts: &[Part],
    model: Option<(&str, &Model)>,
    device: Option<(&str, &Model)>,
) -> Result<Vec<Table>> {
    let mut listed = mismatches();
    let arithmetics: Vec<(&str, &Model)> = device.into_iter().chain(model).collect();
    let called = device.map(|(name, _)| format!("device {name}"));
    let names: Vec<String> = called.into_iter().chain(model.map(|(name, _)| format!("model {name}"))).collect();
    let mut steps = explain::table(&names, true);
    for part in parts {
        let instruction = part.run.instruction()?;
        let mut shown: Vec<&Answer> = Vec::new();
        for counterexample in part.counterexamples.iter().flatten() {
            let number = listed.rows.len() + 1;
            listed.rows.push(mismatch_row(number, part, &instruction, counterexample));
            let simplest = counterexample.simplest();
            if !shown.contains(&simplest) {
                shown.push(simplest);
                let explained =
                    |(_, model): &(&str, &Model)| Ok(model.evaluator(&instruction)?.explain(&simplest.case));
                let said = arithmetics.iter().map(explained).collect::<Result<Vec<_>>>()?;
                steps.rows.extend(explain::rows(Some(number), &said));
            }
        }
    }
    Ok([listed, steps].into_iter().filter(|table| !table.rows.is_empty()).collect())
}

fn value(format: &Format, code: u64) -> Cell {
    Cell::text(format.decode(code).decimal())
}

/// Sentences that the numbers of a part need.
///
/// # Errors
/// No instruction has the run's name.
pub fn remarks(part: &Part) -> Result<Vec<String>> {
    let Part { run, state, counterexamples, .. } = part;
    let i = run.instruction()?;
    let each = (i.m * i.n) as u64;
    let whole = run.tiles(&i) * each;
    let mut remarks = Vec::new();
    if whole != run.cases {
        remarks.push(format!(
            "{i}: a tile has {each} dot-product-adds, so the {} asked for were rounded up to {whole}.",
            run.cases
        ));
    }
    if state.stopped(run) {
        remarks.push(format!("{i}: the run stopped where {} outputs that differ had been found.", run.max_mismatches));
    }
    let repeated = |found: &Answer| found.device != found.model;
    let unrepeated = counterexamples.iter().flatten().filter(|example| !repeated(&example.found)).count();
    if unrepeated > 0 {
        remarks.push(format!(
            "{i}: {unrepeated} of the outputs that differ did not do so again, alone: the device's results depend on more than \
             the operands of a tile."
        ));
    }
    if counterexamples.iter().flatten().any(|example| example.shrunk.is_none() && repeated(&example.found)) {
        remarks.push(format!(
            "{i}: some outputs differ only beside the other operands of their tile, and are shown as they were found."
        ));
    }
    Ok(remarks)
}
