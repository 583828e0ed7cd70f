//! Products of integers by their digits: exact wherever s32 holds them.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{Options, Score, Verdict, splitting::available};
use crate::{
    Result, Stage,
    device::Device,
    emulate::{self, EmulateRequest, EmulationResult, Scheme, Shape, first_wrap},
    report::{Report, Table},
};

/// The most rows, columns and terms.
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
    /// The column that it stands in.
    pub column: String,
    /// The schemes that compute it: signed and unsigned.
    #[serde(deserialize_with = "schemes")]
    pub schemes: Vec<Scheme>,
    /// Why it is accepted that the cell is not reproduced.
    pub accepted: Option<String>,
}

fn schemes<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Scheme>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| Scheme::find(name)).collect::<Result<_>>().map_err(D::Error::custom)
}

crate::rows! {
    /// A published precision of integers, computed on a device.
    pub struct IntegerCellRow in "integer_cells" {
        /// The cell as printed.
        published: String => shown("published").essential(),
        /// The column that it stands in.
        column: String => shown("column").essential(),
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// How many products of digits it takes.
        products: usize => shown("products").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The instructions.
        instructions: Vec<String> => shown("instructions"),
        /// Elements of which s32 holds the exact sum.
        held: Option<usize> => shown("s32 holds").essential(),
        /// Those of them that are it.
        exact: Option<usize> => shown("exact").essential(),
        /// Elements of which s32 does not hold the exact sum.
        beyond: Option<usize> => shown("beyond s32").essential(),
        /// Those of them that are it modulo 2^32.
        wrapped: Option<usize> => shown("wrapped").essential(),
        /// The smallest k at which the most extreme operands wrap.
        first_wrap: Option<u64> => shown("extremes wrap from k").essential(),
        /// Whether products are exact wherever s32 holds them, and wrap elsewhere.
        verdict: String => shown("verdict").essential(),
        /// Why it is accepted that they are not.
        why: Option<String> => shown("why").if_filled(),
    }
}

impl IntegerTable {
    /// What is wrong that the types cannot say.
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
pub(super) fn run(
    plan: &IntegerTable,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
    score: &mut Score,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let [rows, columns] = plan.elements;
    let all: Vec<&Scheme> = plan.cells.iter().flat_map(|cell| &cell.schemes).collect();
    let mut units = Vec::new();
    for scheme in &all {
        units.push(devices.iter_mut().map(|device| available(scheme, device.as_mut())).collect::<Result<Vec<_>>>()?);
    }
    let request = EmulateRequest {
        schemes: all.iter().map(|scheme| (*scheme).clone()).collect(),
        units,
        shapes: plan.k.iter().map(|k| Shape { m: rows, n: columns, k: *k }).collect(),
        draw: None,
        seed: options.seed,
        within: None,
        rows: Some(rows),
    };
    let mut done = Vec::new();
    let outcome = emulate::run(devices, &request, &mut done, progress).map(drop);
    report.notes.push(format!(
        "Integers are uniform in their range; products of {rows} x {columns} elements with k = {} are compared with exact ones. A cell is \
         reproduced if every element that s32 holds is exact, and every other one is so modulo 2^32.",
        plan.k.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
    ));
    let mut out = Vec::new();
    let mut at = 0;
    for cell in &plan.cells {
        for scheme in &cell.schemes {
            for (which, device) in devices.iter().enumerate() {
                let mut sum: Option<emulate::Integers> = None;
                for own in done.iter().filter(|own| (own.scheme, own.device) == (at, which)) {
                    if let EmulationResult::Integers(counts) = &own.outcome {
                        let sum = sum.get_or_insert_default();
                        sum.held += counts.held;
                        sum.exact += counts.exact;
                        sum.beyond += counts.beyond;
                        sum.wrapped += counts.wrapped;
                    }
                }
                let unit = request.units[at][which].as_ref();
                if sum.is_none() && unit.is_some() && outcome.is_err() {
                    continue;
                }
                let verdict = sum.map(|own| match own.exact == own.held && own.wrapped == own.beyond {
                    true => Verdict::Printed,
                    false => Verdict::Differs,
                });
                score.cell(verdict, cell.accepted.is_none());
                let all = unit.iter().flat_map(|unit| &unit.instructions);
                let mut instructions: Vec<String> = all.map(|instruction| instruction.name.clone()).collect();
                instructions.dedup();
                out.push(IntegerCellRow {
                    published: cell.published.clone(),
                    column: cell.column.clone(),
                    scheme: scheme.name.clone(),
                    products: scheme.products(),
                    device: device.identity().name.to_string(),
                    instructions,
                    held: sum.map(|own| own.held),
                    exact: sum.map(|own| own.exact),
                    beyond: sum.map(|own| own.beyond),
                    wrapped: sum.map(|own| own.wrapped),
                    first_wrap: first_wrap(scheme).map(|(terms, _)| terms),
                    verdict: match verdict {
                        Some(Verdict::Differs) => Verdict::words(verdict, true, false, cell.accepted.is_some()),
                        Some(_) => "reproduced: exact".into(),
                        None => Verdict::words(None, true, false, false),
                    },
                    why: cell.accepted.clone().filter(|_| verdict == Some(Verdict::Differs)),
                });
            }
            at += 1;
        }
    }
    report.tables.push(Table::of("Published precisions of integers, by products of digits in s32", out));
    outcome
}
