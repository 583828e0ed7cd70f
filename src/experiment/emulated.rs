//! Products of drawn matrices by schemes: the question of a file, and the results on every device.

use serde::Deserialize;

use super::{
    ExperimentRun, IntegerCell, Options, PublishedNumber, SplittingCell, doubles, integers, keys,
    known::arithmetic_of_element, splitting,
};
use crate::{
    Result, Stage,
    arithmetic::Program,
    device::Device,
    emulate::{self, DoubleOutcome, EmulateRequest, EmulationResult, Integers, ProductErrors},
    inputs::Draw,
    isa::Instruction,
    product::ProductShape,
    report::Cell,
    scheme::{Emulated, Scheme, SchemeUnit, sums_as_integers},
};

/// Largest number of rows, columns and terms.
const MOST: usize = 1 << 14;

/// Products of drawn matrices by schemes that emulate one format.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulateQuestion {
    /// The schemes; `NAME:7..9` is several. Precisions of integers add theirs.
    #[serde(default, deserialize_with = "keys::schemes")]
    pub schemes: Vec<Scheme>,
    /// The terms of each sum.
    pub k: Vec<usize>,
    /// Computed rows and columns of the products.
    pub elements: [usize; 2],
    /// Rows of the whole products; by default, as many as are computed.
    pub rows: Option<usize>,
    /// Distributions of the elements of both operands; integers are uniform in their range.
    #[serde(default, deserialize_with = "keys::draws")]
    pub values: Vec<Draw>,
    /// Number of draws of the operands.
    #[serde(default = "once")]
    pub draws: u64,
    /// Published errors of schemes in f32, and their ratios.
    #[serde(default, rename = "cell")]
    pub cells: Vec<SplittingCell>,
    /// Published precisions of integers.
    #[serde(default, rename = "precision")]
    pub precisions: Vec<IntegerCell>,
}

fn once() -> u64 {
    1
}

/// All products of a run.
pub(super) struct Products {
    /// The unit of each scheme on each device; `None`: the device lacks an instruction, or is left out.
    pub units: Vec<Vec<Option<SchemeUnit>>>,
    /// The arithmetic of each scheme on each device, as far as it is known.
    programs: Vec<Vec<Option<SumPrograms>>>,
    pub results: Vec<SchemeResults>,
    /// Number of draws that were asked for.
    pub draws: u64,
}

/// The results of a scheme on a device, for one k and distribution, draw by draw.
pub(super) struct SchemeResults {
    pub scheme: usize,
    pub device: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Number of the distribution.
    pub values: usize,
    pub draws: Vec<EmulationResult>,
}

/// Everything that decides the result of a product by a scheme.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SchemeKey {
    seed: u64,
    shape: ProductShape,
    rows: usize,
    draw: Option<Draw>,
    scheme: Scheme,
    programs: SumPrograms,
}

/// The arithmetic of sums in turn, and their number; `None` for sums of integers that wrap.
type SumPrograms = Vec<(Option<Program>, usize)>;

impl EmulateQuestion {
    /// True if the schemes multiply integers.
    pub(super) fn is_of_integers(&self) -> bool {
        self.schemes.iter().any(Scheme::is_integer)
    }

    /// True if the schemes emulate f64.
    pub(super) fn is_of_doubles(&self) -> bool {
        self.schemes.iter().any(|scheme| scheme.emulates == Emulated::Double)
    }

    /// Adds the schemes of the precisions.
    pub(super) fn add_precisions(&mut self) {
        self.schemes.extend(self.precisions.iter().flat_map(|cell| cell.schemes.iter().cloned()));
    }

    /// The scheme, distribution or k of a published number in f64 that is not computed.
    pub(super) fn lacks(&self, number: &PublishedNumber) -> Option<String> {
        let is = |cell: &Cell| match cell {
            Cell::Text(name) => self.scheme(name).is_some() || self.values.iter().any(|draw| draw.to_string() == *name),
            Cell::Integer(k) => self.k.iter().any(|terms| usize::try_from(*k) == Ok(*terms)),
            _ => false,
        };
        let (_, cell) = number.row.iter().find(|(_, cell)| !is(cell))?;
        Some(format!("'{}' is not among the schemes, values and k of [emulate]", cell.text()))
    }

    pub(super) fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme.name == name)
    }

    /// A defect that the types admit.
    pub(super) fn defect(&self) -> Option<String> {
        let kind = |scheme: &Scheme| (scheme.is_integer(), scheme.emulates);
        let [rows, _] = self.elements;
        let mut sizes = self.elements.iter().chain(&self.k).chain(&self.rows);
        let one = self.schemes.first().filter(|_| !self.k.is_empty() && (1..=1000).contains(&self.draws));
        let wrong = match one {
            None => "it needs a scheme, a k, and 1 to 1000 draws".into(),
            Some(one) if self.schemes.iter().any(|other| kind(other) != kind(one)) => {
                "its schemes emulate several formats; give each format a file".into()
            }
            Some(_) if self.values.is_empty() != self.is_of_integers() => {
                "it needs values, unless its schemes multiply integers".into()
            }
            Some(_) if sizes.any(|size| !(1..=MOST).contains(size)) => {
                format!("elements, rows and k are from 1 to {MOST}")
            }
            Some(_) if self.rows.is_some_and(|all| all < rows) => {
                "rows is at least the first number of elements".into()
            }
            Some(_) => self.unasked()?,
        };
        Some(format!("[emulate]: {wrong}"))
    }

    /// A published cell about products that are not computed.
    fn unasked(&self) -> Option<String> {
        if self.is_of_integers() || self.is_of_doubles() {
            return (!self.cells.is_empty()).then(|| "[[emulate.cell]] is for schemes that emulate f32".into());
        }
        if self.values.len() > 1 {
            return Some("schemes that emulate f32 need one distribution".into());
        }
        self.cells.iter().find_map(|cell| {
            let unknown = cell.over.iter().chain([&cell.of]).find(|name| self.scheme(name).is_none());
            let k = cell.k.filter(|k| !self.k.contains(k));
            unknown
                .map(|name| format!("a cell names the scheme {name}, which is not among its schemes"))
                .or_else(|| k.map(|k| format!("a cell is of k = {k}, which is not among its k")))
        })
    }

    /// The computed rows and columns of a product with k terms; `options` may ask for whole squares of f32.
    pub(super) fn elements(&self, k: usize, options: Options) -> [usize; 2] {
        let squares = options.whole_squares && !self.is_of_integers() && !self.is_of_doubles();
        if squares { [k, k] } else { self.elements }
    }
}

/// Computes the products by every scheme on every device, and adds the tables.
pub(super) fn run(plan: &EmulateQuestion, run: &mut ExperimentRun) -> Result<()> {
    let options = run.options;
    // Integers are exact in every draw.
    let draws = options.samples.filter(|_| !plan.is_of_integers()).unwrap_or(plan.draws);
    let mut units = SchemeUnit::of_each(&plan.schemes, run.devices, None, false)?;
    for (at, device) in run.devices.iter().enumerate() {
        if options.published_only && splitting::is_for_others(plan, device.as_ref()) {
            units.iter_mut().for_each(|units| units[at] = None);
        }
    }
    let of_scheme = |(scheme, units): (&Scheme, &Vec<Option<SchemeUnit>>)| {
        let devices = units.iter().zip(run.devices.iter());
        devices.map(|(unit, device)| programs(scheme, unit.as_ref()?, device.as_ref())).collect()
    };
    let programs = plan.schemes.iter().zip(&units).map(of_scheme).collect();
    let mut done = Products { units, programs, results: Vec::new(), draws };
    let parts = draws * plan.values.len().max(1) as u64;
    let outcome = (0..parts).try_for_each(|part| plan.k.iter().try_for_each(|k| done.add(plan, *k, part, run)));
    match () {
        () if plan.is_of_integers() => integers::report(plan, run, &done, &outcome),
        () if plan.is_of_doubles() => doubles::report(plan, run, &done, &outcome),
        () => splitting::report(plan, run, &done, &outcome),
    }
    outcome
}

/// The arithmetic of a scheme on a device; `None` if it is not known.
fn programs(scheme: &Scheme, unit: &SchemeUnit, device: &dyn Device) -> Option<SumPrograms> {
    let program = |same: &[Instruction]| {
        let program = match sums_as_integers(&scheme.sums, &same[0], device) {
            true => None,
            false => Some(arithmetic_of_element(device, &same[0])?),
        };
        Some((program, same.len()))
    };
    unit.instructions.chunk_by(|x, y| x == y).map(program).collect()
}

impl Products {
    /// Adds the products with k terms: equal arithmetic on equal operands is computed once.
    ///
    /// A part is a draw of one distribution.
    fn add(&mut self, plan: &EmulateQuestion, k: usize, part: u64, run: &mut ExperimentRun) -> Result<()> {
        let ExperimentRun { devices, options, progress, known, .. } = run;
        let [rows, columns] = plan.elements(k, *options);
        let shape = ProductShape { m: plan.rows.unwrap_or(rows), n: columns, k };
        let distributions = plan.values.len().max(1);
        let values = part as usize % distributions;
        let (draw, seed) = (plan.values.get(values).copied(), options.seed.wrapping_add(part / distributions as u64));
        let schemes = 0..plan.schemes.len();
        let places: Vec<(usize, usize)> =
            schemes.flat_map(|scheme| (0..devices.len()).map(move |device| (scheme, device))).collect();
        let key = |&(scheme, device): &(usize, usize)| {
            let programs = self.programs[scheme][device].clone()?;
            Some(SchemeKey { seed, shape, rows, draw, scheme: plan.schemes[scheme].clone(), programs })
        };
        let keys: Vec<Option<SchemeKey>> = places.iter().map(key).collect();
        let mut units = vec![vec![None; devices.len()]; plan.schemes.len()];
        for (at, &(scheme, device)) in places.iter().enumerate() {
            let is_known = |key: &SchemeKey| {
                known.schemes.get(key).is_some() || keys[..at].iter().flatten().any(|other| other == key)
            };
            if !keys[at].as_ref().is_some_and(is_known) {
                units[scheme][device].clone_from(&self.units[scheme][device]);
            }
        }
        let request = EmulateRequest {
            schemes: plan.schemes.clone(),
            units,
            shapes: vec![shape],
            draw,
            seed,
            within: None,
            rows: Some(rows),
            operands: None,
            keep: false,
        };
        // Steps of a product stand for a part of one draw.
        let terms: u64 = plan.k.iter().map(|k| *k as u64).sum();
        let before: u64 = plan.k.iter().take_while(|earlier| **earlier != k).map(|k| *k as u64).sum();
        let total = self.draws * distributions as u64 * terms;
        let mut computed = Vec::new();
        let outcome = emulate::run(devices, &request, &mut computed, &mut |stage| {
            let done = part * terms + before + k as u64 * stage.done / stage.total.max(1);
            progress(Stage { done, total, ..stage });
        });
        for (&(scheme, device), key) in places.iter().zip(keys) {
            let product = computed.iter().find(|product| (product.scheme, product.device) == (scheme, device));
            if let (Some(product), Some(key)) = (product, &key) {
                known.schemes.add(key.clone(), product.outcome.clone());
            }
            let outcome = key.and_then(|key| known.schemes.get(&key)).or(product.map(|product| &product.outcome));
            let Some(outcome) = outcome.cloned() else { continue };
            match self.results.iter_mut().find(|results| results.is_of(scheme, device, k, values)) {
                Some(results) => results.draws.push(outcome),
                None => self.results.push(SchemeResults { scheme, device, k, values, draws: vec![outcome] }),
            }
        }
        outcome.map(drop)
    }
}

impl SchemeResults {
    pub(super) fn is_of(&self, scheme: usize, device: usize, k: usize, values: usize) -> bool {
        (self.scheme, self.device, self.k, self.values) == (scheme, device, k, values)
    }

    /// The errors of each draw in f32: against plain f32, and against the exact product.
    pub(super) fn numbers(&self) -> impl Iterator<Item = [&ProductErrors; 2]> {
        self.draws.iter().filter_map(|draw| match draw {
            EmulationResult::Numbers { errors, .. } => Some([errors.first()?, errors.last()?]),
            _ => None,
        })
    }

    /// A number of each draw in f64, in ascending order.
    pub(super) fn sorted(&self, number: impl Fn(&DoubleOutcome) -> f64) -> Vec<f64> {
        let of_draw = |draw: &EmulationResult| match draw {
            EmulationResult::Doubles(outcome) => Some(number(outcome)),
            _ => None,
        };
        let mut all: Vec<f64> = self.draws.iter().filter_map(of_draw).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// The counts of all draws of integers.
    pub(super) fn integers(&self) -> Integers {
        self.draws.iter().fold(Integers::default(), |sum, draw| match draw {
            EmulationResult::Integers(counts) => sum.with(*counts),
            _ => sum,
        })
    }
}
