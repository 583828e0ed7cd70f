//! Products of integers by their digits: exact wherever s32 holds them.

use serde::Deserialize;

use super::{
    EmulateQuestion, ExperimentRun, FigureRow, NOT_TESTABLE,
    emulated::Products,
    keys,
    score::FigureOutcome,
    verdict::{Judgement, why},
};
use crate::{
    Result,
    arithmetic::Model,
    device::Generation,
    emulate::{Integers, first_wrap},
    isa,
    report::Table,
    scheme::{Scheme, SchemeUnit},
};

/// A supported precision.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegerCell {
    /// The cell as printed.
    pub published: String,
    /// The column of the cell.
    pub column: String,
    /// The schemes that compute it: signed and unsigned.
    #[serde(deserialize_with = "keys::schemes")]
    pub schemes: Vec<Scheme>,
    /// Reason for accepting a difference.
    pub accepted: Option<String>,
}

crate::rows! {
    /// A published precision of integers, computed on a device.
    pub struct IntegerCellRow in "integer_cells" {
        /// The cell as printed.
        published: String => shown("published").essential(),
        /// The column of the cell.
        column: String => shown("column").essential(),
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// Number of products of digits.
        products: usize => shown("products").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The instructions.
        instructions: Vec<String> => shown("instructions"),
        /// Elements whose exact sum s32 holds.
        held: Option<usize> => shown("s32 holds").essential(),
        /// Elements among them that equal it.
        exact: Option<usize> => shown("exact").essential(),
        /// Elements whose exact sum s32 does not hold.
        beyond: Option<usize> => shown("beyond s32").essential(),
        /// Elements among them that equal it modulo 2^32.
        wrapped: Option<usize> => shown("wrapped").essential(),
        /// The smallest k at which the most extreme operands wrap.
        first_wrap: Option<u64> => shown("extremes wrap from k").essential(),
        /// Verdict: products are exact wherever s32 holds them, and wrap elsewhere.
        verdict: String => shown("verdict").essential(),
        /// Reason for accepting a difference.
        why: Option<String> => shown("why").if_filled(),
    }
}

/// Adds the table of precisions.
pub(super) fn report(plan: &EmulateQuestion, run: &mut ExperimentRun, done: &Products, outcome: &Result<()>) {
    let ExperimentRun { devices, report, score, .. } = run;
    let [rows, columns] = plan.elements;
    report.notes.push(format!(
        "Sampled: products of {rows} x {columns} integers, uniform in their range, with k = {}, compared with exact ones. A cell is \
         reproduced if every element that s32 holds is exact, and every other element is exact modulo 2^32.",
        plan.k.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
    ));
    let mut out = Vec::new();
    for (cell, scheme) in plan.precisions.iter().flat_map(|cell| cell.schemes.iter().map(move |scheme| (cell, scheme)))
    {
        let at = plan.scheme(&scheme.name).expect("a scheme of the question");
        for (which, device) in devices.iter().enumerate() {
            let of_k = done.results.iter().filter(|results| (results.scheme, results.device) == (at, which));
            let sum = of_k.map(|results| results.integers()).reduce(Integers::with);
            let unit = done.units[at][which].as_ref();
            if sum.is_none() && unit.is_some() && outcome.is_err() {
                continue;
            }
            let judgement = sum.map(|counts| Judgement::of_equality(counts.hold()));
            let words = judgement
                .map_or(NOT_TESTABLE.into(), |judgement| judgement.words(true, false, cell.accepted.is_some()));
            let emulated = unit.and_then(|unit| emulated(&unit.names(), &device.identity().generation));
            let words = if emulated.is_some() { words + ", emulated" } else { words };
            let accepted = why(judgement, &cell.accepted, &None);
            let row = FigureRow {
                figure: format!("{}, {}: {}", cell.published, cell.column, scheme.name),
                published: cell.published.clone(),
                samples: sum.map(|counts| (counts.held + counts.beyond) as u64),
                verdict: words.clone(),
                devices: vec![device.identity().name.to_string()],
                why: accepted.clone(),
                decides: cell.accepted.is_none(),
                ..FigureRow::default()
            };
            let missing = unit.is_none().then(|| "lacks an instruction of the scheme".to_string());
            score.figures.push(FigureOutcome { row, judgement, missing });
            out.push(IntegerCellRow {
                published: cell.published.clone(),
                column: cell.column.clone(),
                scheme: scheme.name.clone(),
                products: scheme.products(),
                device: device.identity().name.to_string(),
                instructions: unit.map_or(Vec::new(), SchemeUnit::names),
                held: sum.map(|counts| counts.held),
                exact: sum.map(|counts| counts.exact),
                beyond: sum.map(|counts| counts.beyond),
                wrapped: sum.map(|counts| counts.wrapped),
                first_wrap: first_wrap(scheme).map(|(terms, _)| terms),
                verdict: words,
                why: accepted.or(emulated),
            });
        }
    }
    report.tables.push(Table::of("Published precisions of integers, by products of digits in s32", out));
}

/// Emulation of the first of these instructions that no target of the generation has natively.
fn emulated(names: &[String], generation: &Generation) -> Option<String> {
    let architectures = match generation {
        Generation::Target(target) => vec![target.name.to_string()],
        Generation::Model(name) | Generation::Named(name) => Model::load(name).ok()?.architectures,
        Generation::Unknown => return None,
    };
    names.iter().filter_map(|name| isa::known(name)).find_map(|i| {
        let supports =
            || i.support.iter().filter(|support| architectures.iter().any(|name| name == support.architecture));
        let emulation =
            supports().next()?.emulation.filter(|_| supports().all(|support| support.emulation.is_some()))?;
        Some(format!("the assembler makes {i} of other instructions ({emulation})"))
    })
}
