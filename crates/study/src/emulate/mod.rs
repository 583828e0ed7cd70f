//! Matrix products of more precision than a unit's operands, made of several products of low precision.
//!
//! A [`Scheme`] says how. [`run`] computes random products by schemes and measures them against plain f32, plain f64 and
//! the exact product; products of integers against exact integers.
//!
//! ```
//! use tcnum_engine::{device::{Device, ModelDevice}, inputs::Draw, product::ProductShape, scheme::{Scheme, SchemeUnit}};
//! use tcnum_study::emulate::{self, EmulateRequest, EmulationResult};
//! # fn main() -> tcnum_engine::Result<()> {
//! let mut devices: Vec<Box<dyn Device>> = vec![Box::new(ModelDevice::open("turing")?)];
//! let schemes = vec![Scheme::find("half")?, Scheme::find("egemm")?];
//! let units = schemes.iter().map(|scheme| Ok(vec![Some(SchemeUnit::of(scheme, devices[0].as_mut(), None)?)])).collect::<tcnum_engine::Result<_>>()?;
//! let shapes = vec![ProductShape { m: 8, n: 8, k: 256 }];
//! let request = EmulateRequest { schemes, units, shapes, draw: Some(Draw::Uniform(-1.0, 1.0)), seed: 1, within: None, rows: None, operands: None, keep: false };
//! let mut results = Vec::new();
//! emulate::run(&mut devices, &request, &mut results, &mut |_| ())?;
//! let errors = |at: usize| match &results[at].outcome {
//!     EmulationResult::Numbers { errors, .. } => errors[0].absolute,
//!     _ => unreachable!(),
//! };
//! assert!(errors(0) > 100.0 * errors(1)); // against plain f32
//! # Ok(())
//! # }
//! ```

mod cheapest;
mod double_errors;
mod integers;
mod limits;
mod measure;
pub mod table;

pub use cheapest::{SchemeChoiceRow, choose};
pub use double_errors::DoubleErrors;
pub use integers::{Integers, first_wrap};
pub use limits::{EmulationLimitRow, limits};
pub use measure::ProductErrors;

use std::time::{Duration, Instant};

use crate::{
    Error, Result, Stage,
    base::interrupt,
    device::{Device, DeviceName},
    inputs::Draw,
    product::{
        Matrix, NumberMatrix, ProductOperands, ProductShape,
        reference::{DoubleReferences, ProductReferences},
    },
    scheme::{Emulated, OperandLoss, OperandSplit, Scheme, SchemeUnit, check_terms, composed_products},
};

/// Terms of a product, about, where some rows stand for all.
const TERMS: usize = 1 << 28;
/// The least of those rows.
const LEAST_ROWS: usize = 16;
/// The numbers of f32 that are drawn where no distribution is named.
pub(crate) const USUAL: Draw = Draw::Uniform(-1.0, 1.0);

/// A request for products.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulateRequest {
    /// The schemes.
    pub schemes: Vec<Scheme>,
    /// For each scheme, the unit on each device; `None` where the scheme is left out.
    pub units: Vec<Vec<Option<SchemeUnit>>>,
    /// The shapes.
    pub shapes: Vec<ProductShape>,
    /// Given operands, of the one shape; without them, drawn ones.
    pub operands: Option<ProductOperands>,
    /// Distribution of the elements; without one, f32 is uniform in [-1, 1), and integers in their range.
    pub draw: Option<Draw>,
    /// The seed.
    pub seed: u64,
    /// For how long more products are begun; without it until all are.
    pub within: Option<Duration>,
    /// Number of computed rows.
    ///
    /// By default all on devices that sum all elements at once, else about 2^28 terms, and at least 16 rows.
    pub rows: Option<usize>,
    /// True if results hold their products.
    pub keep: bool,
}

/// A product by a scheme on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Emulation {
    /// Number of the scheme.
    pub scheme: usize,
    /// Number of the device.
    pub device: usize,
    /// The shape.
    pub shape: ProductShape,
    /// Computed rows of each product, spread over it.
    pub rows: usize,
    /// Seconds of the sums, where the device computes all elements at once.
    pub seconds: Option<f64>,
    /// The result.
    pub outcome: EmulationResult,
    /// Number of products of parts.
    pub products: usize,
    /// The computed rows, if they were asked for.
    pub product: Option<Matrix>,
}

/// The result of a product.
#[derive(Debug, Clone, PartialEq)]
pub enum EmulationResult {
    /// In f32.
    Numbers {
        /// Elements that are infinite or NaN, which the errors leave out.
        infinite: usize,
        /// Against plain f32, plain f64 and the exact product.
        errors: Vec<ProductErrors>,
        /// The plain product in f32 against the exact one.
        plain: Box<ProductErrors>,
    },
    /// In f64.
    Doubles(Box<DoubleOutcome>),
    /// Integers, in s32.
    Integers(Integers),
}

/// The result of a product in f64: errors against the exact one.
#[derive(Debug, Clone, PartialEq)]
pub struct DoubleOutcome {
    /// The errors of the scheme.
    pub scheme: DoubleErrors,
    /// The errors of a chain of fused multiply-adds in f64.
    pub fused: DoubleErrors,
    /// The errors of a chain whose products are rounded before they are added.
    pub separate: DoubleErrors,
    /// The largest exponents of two that lie between the elements of a row of A, and of a column of B.
    pub spread: [u32; 2],
}

/// Computes products by shape and scheme into `done`, with the same operands on all devices.
///
/// `progress` gets each next step, and the terms that are done. Returns whether all products were begun. An interrupted run has
/// the products until then.
///
/// # Errors
/// Those of the devices; [`Error::Interrupted`].
pub fn run(
    devices: &mut [Box<dyn Device>],
    request: &EmulateRequest,
    done: &mut Vec<Emulation>,
    progress: &mut dyn FnMut(Stage),
) -> Result<bool> {
    let mut account = TermCount { done: 0, total: request.terms(devices) };
    let until = request.within.map(|time| Instant::now() + time);
    for shape in &request.shapes {
        of_shape(devices, request, *shape, until, done, &mut account, progress)?;
    }
    Ok(account.done == account.total)
}

fn of_shape(
    devices: &mut [Box<dyn Device>],
    request: &EmulateRequest,
    shape: ProductShape,
    until: Option<Instant>,
    done: &mut Vec<Emulation>,
    account: &mut TermCount,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let spread = |rows: usize| (0..rows).map(|at| at * shape.m / rows).collect::<Vec<usize>>();
    let ks: Vec<usize> = (0..shape.k).collect();
    let ProductShape { m, n, k } = shape;
    let (mut numbers, mut doubles, start) = (None, None, *account);
    for (at, scheme) in request.schemes.iter().enumerate() {
        let units = &request.units[at];
        let late = until.is_some_and(|until| !done.is_empty() && Instant::now() >= until);
        if late || units.iter().all(Option::is_none) {
            continue;
        }
        let rows = spread(request.rows_of(devices, shape, scheme.is_integer()));
        let terms = request.batch() * terms(scheme, shape, rows.len());
        let mut each = |operands: &ProductOperands,
                        outcome: &dyn Fn(&Matrix) -> EmulationResult,
                        progress: &mut dyn FnMut(Stage)| {
            for (number, (device, unit)) in devices.iter_mut().zip(units).enumerate() {
                let Some(unit) = unit else { continue };
                interrupt::check()?;
                progress(account.stage(&format!("{m} x {n} x {k}: {} on {}", scheme.name, device.identity().name)));
                let (d, seconds, products) =
                    composed_products(scheme, &unit.instructions, device.as_mut(), operands, m)?;
                account.done += terms;
                let outcome = outcome(&d);
                let product = request.keep.then_some(d);
                done.push(Emulation {
                    scheme: at,
                    device: number,
                    shape,
                    rows: rows.len(),
                    seconds,
                    outcome,
                    product,
                    products,
                });
            }
            Ok::<(), Error>(())
        };
        if let (OperandSplit::Digits(left), OperandSplit::Digits(right)) = (&scheme.a, &scheme.b) {
            let a = NumberMatrix::integers(request.draw, left, request.seed, 0, &rows, k);
            let b = NumberMatrix::integers(request.draw, right, request.seed, 1, &ks, n);
            let exact = integers::products(&a, &b)?;
            let operands = ProductOperands::new(a, b);
            each(&operands, &|d| EmulationResult::Integers(integers::compared(d, &exact)), progress)?;
            continue;
        }
        check_terms(scheme, k)?;
        let operands = |emulates: Emulated| request.operands_at(emulates, shape, &rows);
        if scheme.emulates == Emulated::Double {
            if doubles.is_none() {
                progress(start.stage(&format!("{m} x {n} x {k}: exact sums in f64")));
                let operands = operands(Emulated::Double);
                let references = DoubleReferences::of_operands(&operands)?;
                let plain =
                    [&references.fused, &references.separate].map(|values| DoubleErrors::of(values, &references));
                doubles = Some((operands, references, plain));
            }
            let Some((operands, references, [fused, separate])) = &doubles else { continue };
            let compared = |d: &Matrix| {
                let values: Vec<f64> = d.codes.iter().map(f64::from_bits).collect();
                let errors = DoubleErrors::of(&values, references);
                let outcome =
                    DoubleOutcome { scheme: errors, fused: *fused, separate: *separate, spread: references.spread };
                EmulationResult::Doubles(Box::new(outcome))
            };
            each(operands, &compared, progress)?;
            continue;
        }
        if numbers.is_none() {
            progress(start.stage(&format!("{m} x {n} x {k}: plain and exact sums")));
            let operands = operands(Emulated::Single);
            let references = ProductReferences::of(&operands.a, &operands.b)?;
            let plain = measure::plain(&references, n);
            numbers = Some((operands, references, plain));
        }
        let Some((operands, references, plain)) = &numbers else { continue };
        let compared = |d: &Matrix| {
            let (infinite, errors) = measure::errors(d, references);
            EmulationResult::Numbers { infinite, errors, plain: Box::new(*plain) }
        };
        each(operands, &compared, progress)?;
    }
    Ok(())
}

/// Terms that are summed, and all of them.
#[derive(Debug, Clone, Copy)]
struct TermCount {
    done: u64,
    total: u64,
}

impl TermCount {
    fn stage<'a>(&self, what: &'a str) -> Stage<'a> {
        Stage { what, done: self.done, total: self.total }
    }
}

/// Terms of `rows` rows of a product by a scheme.
fn terms(scheme: &Scheme, shape: ProductShape, rows: usize) -> u64 {
    (rows * shape.n * shape.k * scheme.products()) as u64
}

impl EmulateRequest {
    /// A note on each device that lacks an instruction of a scheme.
    pub fn left_out(&self, devices: &[Box<dyn Device>]) -> Vec<String> {
        let mut notes = Vec::new();
        for (at, device) in devices.iter().enumerate() {
            let lacking = self.schemes.iter().zip(&self.units).filter(|(_, units)| units[at].is_none());
            let names: Vec<&str> = lacking.map(|(scheme, _)| scheme.name.as_str()).collect();
            if !names.is_empty() {
                let device = &device.identity().name;
                notes.push(format!("Schemes left out on {device}, which lacks an instruction: {}.", names.join(", ")));
            }
        }
        notes
    }

    /// The elements of given operands that the schemes cannot hold.
    ///
    /// # Errors
    /// An interruption.
    pub fn losses(&self) -> Result<Vec<OperandLoss>> {
        let Some(operands) = &self.operands else { return Ok(Vec::new()) };
        let losses = self.schemes.iter().map(|scheme| OperandLoss::of_operands(scheme, operands));
        Ok(losses.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Number of products of the given batch; one, if operands are drawn.
    fn batch(&self) -> u64 {
        self.operands.as_ref().map_or(1, |operands| operands.batch as u64)
    }

    /// The given or drawn operands of a shape: some rows of A, and B.
    fn operands_at(&self, emulates: Emulated, shape: ProductShape, rows: &[usize]) -> ProductOperands {
        let ProductShape { n, k, .. } = shape;
        match &self.operands {
            Some(operands) if rows.len() == shape.m => operands.clone(),
            Some(operands) => operands.of_rows(rows),
            None => {
                let (draw, ks) = (self.draw.unwrap_or(USUAL), (0..k).collect::<Vec<usize>>());
                ProductOperands::new(
                    NumberMatrix::drawn(emulates, draw, self.seed, 0, rows, k),
                    NumberMatrix::drawn(emulates, draw, self.seed, 1, &ks, n),
                )
            }
        }
    }

    /// The operands of the shape with this number: the rows that are computed.
    fn operands_of(&self, shape: usize, emulates: Emulated) -> Result<ProductOperands> {
        let shape = self.shapes.get(shape).copied().ok_or_else(|| Error::request("there is no shape"))?;
        let count = self.rows_of(&[], shape, true);
        let rows: Vec<usize> = (0..count).map(|at| at * shape.m / count).collect();
        Ok(self.operands_at(emulates, shape, &rows))
    }

    fn terms(&self, devices: &[Box<dyn Device>]) -> u64 {
        let of_scheme = |(scheme, units): (&Scheme, &Vec<Option<SchemeUnit>>)| {
            let counts = self
                .shapes
                .iter()
                .map(|shape| self.batch() * terms(scheme, *shape, self.rows_of(devices, *shape, scheme.is_integer())));
            counts.sum::<u64>() * units.iter().flatten().count() as u64
        };
        self.schemes.iter().zip(&self.units).map(of_scheme).sum()
    }

    /// Number of computed rows of a product.
    fn rows_of(&self, devices: &[Box<dyn Device>], shape: ProductShape, integers: bool) -> usize {
        let at_once = |unit: &SchemeUnit| unit.instructions.iter().all(|i| i.family() == "mma");
        let gpu = |device: &dyn Device| matches!(device.identity().name, DeviceName::Cuda(_));
        let of_numbers = self.schemes.iter().zip(&self.units).filter(|(scheme, _)| !scheme.is_integer());
        let all = of_numbers
            .flat_map(|(_, of)| of.iter().zip(devices))
            .all(|(unit, device)| unit.as_ref().is_none_or(|unit| gpu(device.as_ref()) && at_once(unit)));
        let usual = if all && !integers || self.operands.is_some() {
            shape.m
        } else {
            (TERMS / (shape.n * shape.k)).max(LEAST_ROWS)
        };
        // The products of a batch have all their rows.
        let all = self.operands.as_ref().is_some_and(|operands| operands.batch > 1);
        if all { shape.m } else { self.rows.unwrap_or(usual).clamp(1, shape.m) }
    }
}
