//! Products of integers by their digits: exact wherever s32 holds them.

use serde::Deserialize;

use super::{
    CellVerdict, ExperimentRun, keys,
    score::FigureOutcome,
    splitting::products,
    verdict::{Judgement, why},
};
use crate::{
    Result,
    arithmetic::Model,
    device::Generation,
    emulate::{EmulationResult, Integers, first_wrap},
    isa,
    product::ProductShape,
    report::Table,
    scheme::{Scheme, SchemeUnit},
};

/// Largest number of rows, columns and terms.
const MOST: usize = 1 << 14;

/// Precisions that a source says are supported.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegerTable {
    /// Rows and columns of the products.
    pub elements: [usize; 2],
    /// The terms of each sum.
    pub k: Vec<usize>,
    /// The published cells.
    #[serde(rename = "cell")]
    pub cells: Vec<IntegerCell>,
}

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

impl IntegerTable {
    pub(super) fn defect(&self) -> Option<String> {
        let wrong = |what: String| Some(format!("[integers]: {what}"));
        if let Some(scheme) = self.cells.iter().flat_map(|cell| &cell.schemes).find(|scheme| !scheme.is_integer()) {
            return wrong(format!("{} multiplies no integers; those are [splitting]", scheme.name));
        }
        if self.cells.iter().any(|cell| cell.schemes.is_empty()) || self.cells.is_empty() || self.k.is_empty() {
            return wrong("it needs a k, and cells with schemes".into());
        }
        let beyond = self.elements.iter().chain(&self.k).any(|own| !(1..=MOST).contains(own));
        if beyond { wrong(format!("elements and k are from 1 to {MOST}")) } else { None }
    }
}

/// Computes the products on every device, and adds the table.
pub(super) fn run(plan: &IntegerTable, run: &mut ExperimentRun) -> Result<()> {
    let [rows, columns] = plan.elements;
    let schemes: Vec<Scheme> = plan.cells.iter().flat_map(|cell| &cell.schemes).cloned().collect();
    let units = SchemeUnit::of_each(&schemes, run.devices, None, false)?;
    let shapes: Vec<(ProductShape, usize)> =
        plan.k.iter().map(|k| (ProductShape { m: rows, n: columns, k: *k }, rows)).collect();
    let (mut done, draw) = (Vec::new(), (None, run.options.seed));
    let whole = |done: u64, total: u64| (done, total);
    let outcome = products(&schemes, &units, &shapes, draw, (&mut *run, &whole), &mut |scheme, device, _, found| {
        if let EmulationResult::Integers(counts) = found {
            done.push((scheme, device, *counts));
        }
    });
    let ExperimentRun { devices, report, score, .. } = run;
    report.notes.push(format!(
        "Sampled: products of {rows} x {columns} integers, uniform in their range, with k = {}, compared with exact ones. A cell is \
         reproduced if every element that s32 holds is exact, and every other element is exact modulo 2^32.",
        plan.k.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
    ));
    let mut out = Vec::new();
    let mut at = 0;
    for cell in &plan.cells {
        for scheme in &cell.schemes {
            for (which, device) in devices.iter().enumerate() {
                let own = done.iter().filter(|(scheme, device, _)| (*scheme, *device) == (at, which));
                let sum = own.map(|(.., counts)| *counts).reduce(Integers::with);
                let unit = units[at][which].as_ref();
                if sum.is_none() && unit.is_some() && outcome.is_err() {
                    continue;
                }
                let verdict = sum.map(|own| if own.hold() { CellVerdict::Printed } else { CellVerdict::Differs });
                let words = match verdict {
                    Some(CellVerdict::Differs) => CellVerdict::words(verdict, true, false, cell.accepted.is_some()),
                    Some(_) => "reproduced: exact".into(),
                    None => CellVerdict::words(None, true, false, false),
                };
                let emulated = unit.and_then(|unit| emulated(&unit.names(), &device.identity().generation));
                let words = if emulated.is_some() { words + ", emulated" } else { words };
                let lacking = unit.is_none().then(|| "lacks an instruction of the scheme".to_string());
                score.figures.push(FigureOutcome {
                    figure: format!("{}, {}: {}", cell.published, cell.column, scheme.name),
                    device: device.identity().name.to_string(),
                    published: cell.published.clone(),
                    samples: sum.map(|own| (own.held + own.beyond) as u64),
                    judgement: verdict.map(Judgement::of),
                    verdict: words.clone(),
                    why: why(verdict, &cell.accepted, &None).or(lacking).or(emulated.clone()),
                    decides: cell.accepted.is_none(),
                    ..FigureOutcome::default()
                });
                out.push(IntegerCellRow {
                    published: cell.published.clone(),
                    column: cell.column.clone(),
                    scheme: scheme.name.clone(),
                    products: scheme.products(),
                    device: device.identity().name.to_string(),
                    instructions: unit.map_or(Vec::new(), SchemeUnit::names),
                    held: sum.map(|own| own.held),
                    exact: sum.map(|own| own.exact),
                    beyond: sum.map(|own| own.beyond),
                    wrapped: sum.map(|own| own.wrapped),
                    first_wrap: first_wrap(scheme).map(|(terms, _)| terms),
                    verdict: words,
                    why: why(verdict, &cell.accepted, &None).or(emulated),
                });
            }
            at += 1;
        }
    }
    report.tables.push(Table::of("Published precisions of integers, by products of digits in s32", out));
    outcome
}

/// Emulation of the first of these instructions that no target of the generation has natively.
fn emulated(names: &[String], generation: &Generation) -> Option<String> {
    let architectures = match generation {
        Generation::Target(target) => vec![target.name.to_string()],
        Generation::Model(name) | Generation::Named(name) => Model::load(name).ok()?.architectures,
        Generation::Unknown => return None,
    };
    names.iter().filter_map(|name| isa::known(name)).find_map(|i| {
        let own = || i.support.iter().filter(|support| architectures.iter().any(|name| name == support.architecture));
        let emulation = own().next()?.emulation.filter(|_| own().all(|support| support.emulation.is_some()))?;
        Some(format!("the assembler makes {i} of other instructions ({emulation})"))
    })
}
