//! Comparison of two sides that make the same matrix product: where they differ, and why.

mod shown;
mod sides;

use std::{collections::BTreeSet, time::Instant};

use toml::{Table, Value};

use shown::ShownSearch;
pub use sides::{PairRequest, SideRequest};

use crate::{
    Error, Result,
    base::work::UNASKED,
    device::{Attributes, ChosenAlgorithm, Device, ExecutionKind, Library, ModelDevice, Problem},
    distinction::{self, Distinction, DistinctionVerdict, SearchLimits},
    format::Format,
    isa::{self, MatrixShape},
    product::{
        Differences, ElementPlace, Executor, Factors, LibrarySchedules, Matrix, ModelReplay, Replay, Sample, Schedule,
        Smallest, StepSum, compute,
        kernel::KernelNames,
        search::{self, MatchCandidate, Matches, Suspects, in_formats},
        steps,
    },
};

/// Rows and columns on which the schedule of a library is judged.
const JUDGED: MatrixShape = MatrixShape { rows: 16, columns: 16 };
/// Fewest and most products that are computed to find the smallest one.
const TRIES: [usize; 2] = [300, 20_000];
/// Terms of these products together, where a device computes whole products only.
const TERMS: usize = 1 << 33;
/// Cases on which arithmetics are compared.
const CASES: u64 = 1 << 14;

/// A maker of products.
pub enum ProductMaker {
    /// A device that executes the steps of a schedule.
    Scheduled {
        /// The device.
        device: Box<dyn Device>,
        /// The schedule.
        schedule: Box<Schedule>,
    },
    /// A library, by the algorithm of its choice or by a chosen one.
    Library {
        /// The library.
        library: Box<dyn Library>,
        /// The product, of any shape.
        problem: Box<Problem>,
        /// The chosen algorithm.
        chosen: Option<ChosenAlgorithm>,
        /// The algorithm that made the last product.
        made: Option<Attributes>,
    },
}

/// One of two makers of the same product.
pub struct ProductSide {
    /// Its name in reports.
    pub name: String,
    /// The maker.
    pub maker: ProductMaker,
    /// Number of first rows that it makes; `None`: all.
    pub rows: Option<usize>,
}

/// The schedule of a side, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownSchedule {
    /// The schedule.
    pub schedule: Schedule,
    /// The model of its steps' arithmetic; `None` for a device without a model.
    pub model: Option<String>,
    /// Source: given, predicted, found, or found of the first element that differs.
    pub how: &'static str,
}

/// The comparison of two sides.
#[derive(Debug, Clone)]
pub struct Between {
    /// The format of D.
    pub format: &'static Format,
    /// Where they differ, in the rows that both make.
    pub differences: Differences,
    /// The schedule of each side, if they differ.
    pub known: [Option<KnownSchedule>; 2],
    /// Number of sides whose schedule was looked for.
    pub sought: usize,
    /// Keys in which the schedules differ, with both values; `None` if one schedule is unknown.
    pub keys: Option<Vec<(String, [Option<Value>; 2])>>,
    /// Comparison of the instructions' arithmetics, or why there is none; `None` for one model.
    pub arithmetics: Option<std::result::Result<Distinction, String>>,
    /// The smallest product on which they differ.
    pub smallest: Option<Smallest>,
    /// Every step of that product, for each side with a known schedule.
    pub steps: [Vec<StepSum>; 2],
}

impl Between {
    /// Number (from 1) and k of the first step of the smallest product after which the sums differ.
    pub fn first_step(&self) -> Option<(usize, String)> {
        let [x, y] = &self.steps;
        let at = (0..x.len().min(y.len())).find(|at| x[*at] != y[*at])?;
        let k = [x, y].map(|steps| format!("{}..{}", steps[at].k.start, steps[at].k.end - 1));
        Some((at + 1, if k[0] == k[1] { k[0].clone() } else { format!("{} and {}", k[0], k[1]) }))
    }

    /// Why they differ, in sentences.
    pub fn why(&self) -> String {
        let mut words = Vec::new();
        for (which, known) in ["first", "second"].iter().zip(&self.known).take(self.sought) {
            if known.is_none() {
                words.push(format!("The schedule of the {which} is unknown: none that was tried gives its product."));
            }
        }
        let values = |values: &[Option<Value>; 2]| {
            let [x, y] =
                values.each_ref().map(|value| value.as_ref().map_or_else(|| "default".into(), Value::to_string));
            format!("{x}, {y}")
        };
        match self.keys.as_deref() {
            None => (),
            Some([]) => words.push("The schedules are the same.".into()),
            Some(keys) => {
                let keys: Vec<String> = keys.iter().map(|(key, pair)| format!("{key} ({})", values(pair))).collect();
                words.push(format!("The schedules differ in {}.", keys.join(", ")));
            }
        }
        match &self.arithmetics {
            Some(Ok(told)) => words.push(match &told.verdict {
                DistinctionVerdict::Differ => "The arithmetics of the instructions differ.".into(),
                DistinctionVerdict::Same(why) => format!("The arithmetics of the instructions are the same: {why}."),
                DistinctionVerdict::NotFound => {
                    format!("None of the {} inputs that were tried shows a difference of the arithmetics.", told.tried)
                }
            }),
            Some(Err(why)) => words.push(format!("The arithmetics cannot be compared: {why}.")),
            None if self.keys.is_some() => words.push("The arithmetic is the same.".into()),
            None => (),
        }
        words.join(" ")
    }
}

/// Where unknown schedules are looked for.
pub struct Knowledge<'a> {
    /// The models whose arithmetics may have made a product.
    pub models: Vec<String>,
    /// Schedules by the attributes of algorithms.
    pub library: Option<&'a LibrarySchedules>,
    /// alpha and beta.
    pub factors: (f64, f64),
}

impl ProductSide {
    /// The product; `narrowed` for a row and a column that stand for many, with scales of their own.
    ///
    /// # Errors
    /// Operands that do not fit, a device or library that fails.
    pub fn product(&mut self, factors: &Factors, narrowed: bool) -> Result<Matrix> {
        let operands = self.operands(factors);
        match &mut self.maker {
            ProductMaker::Scheduled { device, schedule } => {
                let narrow = narrowed || operands.a.rows < factors.a.rows;
                let schedule = if narrow { schedule.narrowed() } else { (**schedule).clone() };
                let operands = if serves(&operands, &schedule) { in_formats(&operands, &schedule)? } else { operands };
                let mut executor = Executor::for_product(device.as_mut(), &schedule, &operands)?;
                compute(&schedule, &mut executor, &operands, &|_| ())
            }
            ProductMaker::Library { library, problem, chosen, made } => {
                (problem.m, problem.n, problem.k) = (operands.a.rows, operands.b.columns, operands.k());
                if operands.bias.is_some() || operands.scale_a.is_some() {
                    return Err(Error::request(format!("{}: a library takes no bias and no scales", self.name)));
                }
                for (name, given, wanted) in [("A", &operands.a, problem.a), ("B", &operands.b, problem.b)] {
                    if given.format != wanted && (given.format.name, wanted.name) != ("f32", "tf32") {
                        return Err(Error::request(format!(
                            "{name} holds {}, and the library's product takes {wanted}",
                            given.format
                        )));
                    }
                }
                let c = operands.c.as_ref().map(|c| &c.codes);
                let product = library.multiply(problem, &operands.a.codes, &operands.b.codes, c, chosen.as_ref())?;
                *made = Some(product.attributes);
                Ok(Matrix::new(problem.m, problem.n, problem.d, product.d))
            }
        }
    }

    /// The operands of the rows that it makes.
    fn operands(&self, factors: &Factors) -> Factors {
        match self.rows.filter(|rows| *rows < factors.a.rows) {
            Some(rows) => {
                let blocks = match &self.maker {
                    ProductMaker::Scheduled { schedule, .. } => schedule.scales.as_ref(),
                    ProductMaker::Library { .. } => None,
                };
                let all = |count: usize| (0..count).collect::<Vec<_>>();
                factors.chosen(&all(rows), &all(factors.b.columns), blocks)
            }
            None => factors.clone(),
        }
    }

    /// The schedule of `d`, or at least of the element at a place.
    fn known(
        &mut self,
        factors: &Factors,
        d: &Matrix,
        ElementPlace { row, column }: ElementPlace,
        knowledge: &Knowledge,
    ) -> Result<Option<KnownSchedule>> {
        let operands = self.operands(factors);
        match &self.maker {
            ProductMaker::Scheduled { device, schedule } if !is_whole_product(schedule) => {
                let model = device.identity().name.model().map(String::from);
                Ok(Some(KnownSchedule { schedule: (**schedule).clone(), model, how: "given" }))
            }
            ProductMaker::Scheduled { .. } => {
                searched_schedule(&operands, d, Some(row * d.columns + column), knowledge)
            }
            ProductMaker::Library { library, problem, made, .. } => {
                let model = library.identity().generation.model(&self.name)?.0;
                let sample = Sample::new(&operands, d, JUDGED, 0, None);
                let predicted = knowledge
                    .library
                    .zip(made.as_ref())
                    .and_then(|(schedules, made)| schedules.predict(problem, made).ok());
                if let Some(predicted) = predicted {
                    let operands = match serves(&sample.factors, &predicted.schedule) {
                        true => in_formats(&sample.factors, &predicted.schedule)?,
                        false => sample.factors.clone(),
                    };
                    let replayed = ModelReplay.product(&model, &predicted.schedule, &operands)?;
                    if replayed.codes == sample.d.codes {
                        return Ok(Some(KnownSchedule {
                            schedule: predicted.schedule,
                            model: Some(model),
                            how: "predicted",
                        }));
                    }
                }
                let knowledge = Knowledge { models: vec![model], ..*knowledge };
                searched_schedule(&sample.factors, &sample.d, None, &knowledge)
            }
        }
    }
}

/// True if A or B is f32 for a unit that takes tf32.
fn serves(factors: &Factors, schedule: &Schedule) -> bool {
    let i = &schedule.instruction;
    [(factors.a.format, i.a), (factors.b.format, i.b)]
        .iter()
        .any(|(format, wanted)| format.name == "f32" && wanted.name == "tf32")
}

/// True if the device computes the whole product at once, in its own order.
fn is_whole_product(schedule: &Schedule) -> bool {
    isa::gemm(&schedule.instruction.name).is_some()
}

/// The simplest schedule that gives D; else, if two together do, the schedule of an element.
fn searched_schedule(
    factors: &Factors,
    d: &Matrix,
    element: Option<usize>,
    knowledge: &Knowledge,
) -> Result<Option<KnownSchedule>> {
    let suspects = Suspects {
        models: knowledge.models.clone(),
        instructions: Vec::new(),
        factors: knowledge.factors,
        turn: None,
        kernels: KernelNames::default(),
    };
    let mut matches = Matches::default();
    match search::find(&suspects, factors, d, &mut matches, &|_| ()) {
        Ok(()) => (),
        Err(error @ Error::Interrupted { .. }) => return Err(error),
        // No instruction of the models has these operands.
        Err(_) => return Ok(None),
    }
    let known = |candidate: &MatchCandidate, how| KnownSchedule {
        model: Some(candidate.arithmetic.model.clone()),
        schedule: candidate.schedule.clone(),
        how,
    };
    if let (None, Some(element)) = (matches.confirmed.first(), element) {
        let mixed = search::mixed(&suspects, factors, d, &matches, &|_| ())?;
        return Ok(mixed.map(|mixed| known(mixed.of(element), "found of the first element that differs")));
    }
    Ok(matches.confirmed.first().map(|candidate| known(candidate, "found")))
}

/// Compares the products of two sides; `step` is told each step.
///
/// `comparison` has the results so far, also where an error ends the search.
///
/// # Errors
/// Operands that do not fit, a device or library that fails, [`Error::Interrupted`].
pub fn between(
    sides: &mut [ProductSide; 2],
    factors: &Factors,
    knowledge: &Knowledge,
    comparison: &mut Option<Between>,
    step: &dyn Fn(&str),
) -> Result<()> {
    factors.fit()?;
    let mut made = Vec::new();
    for side in sides.iter_mut() {
        step(&format!("asking {}", side.name));
        made.push(side.product(factors, false).map_err(|error| error.within(&side.name))?);
    }
    let rows = made[0].rows.min(made[1].rows);
    let shared = |d: &Matrix| d.chosen(&(0..rows).collect::<Vec<_>>(), &(0..d.columns).collect::<Vec<_>>());
    let differences = Differences::between(&shared(&made[0]), &shared(&made[1]))
        .map_err(|error| error.within(format!("{} and {}", sides[1].name, sides[0].name)))?;
    let between = comparison.insert(Between {
        format: made[0].format,
        differences,
        known: [None, None],
        sought: 0,
        keys: None,
        arithmetics: None,
        smallest: None,
        steps: [Vec::new(), Vec::new()],
    });
    let Some((row, column, _)) = between.differences.first else { return Ok(()) };
    for (at, side) in sides.iter_mut().enumerate() {
        step(&format!("looking for the schedule of {}", side.name));
        between.known[at] = side.known(factors, &made[at], ElementPlace { row, column }, knowledge)?;
        between.sought = at + 1;
    }
    if let [Some(x), Some(y)] = &between.known {
        between.keys = Some(keys(&x.schedule, &y.schedule));
        step("comparing the arithmetics");
        between.arithmetics = arithmetics(sides, [x, y])?;
    }
    step("looking for the smallest product that shows the difference");
    let blocks = sides.iter().find_map(|side| match &side.maker {
        ProductMaker::Scheduled { schedule, .. } => schedule.scales,
        ProductMaker::Library { .. } => None,
    });
    let search = ShownSearch {
        blocks,
        place: ElementPlace { row, column },
        d: made[0].format,
        tries: tries(sides, factors),
        until: until(sides)?,
    };
    between.smallest = search.smallest(sides, factors)?;
    if let Some(smallest) =
        between.smallest.as_ref().filter(|smallest| smallest.factors.a.rows == 1 && smallest.factors.b.columns == 1)
    {
        for (at, side) in sides.iter_mut().enumerate() {
            if let Some(known) = &between.known[at] {
                between.steps[at] = side.steps(known, &smallest.factors)?;
            }
        }
    }
    Ok(())
}

/// End of the search for the smallest product: in a minute, if a side is a program, which may be slow.
fn until(sides: &mut [ProductSide; 2]) -> Result<Option<Instant>> {
    let mut external = false;
    for side in sides {
        if let ProductMaker::Scheduled { device, schedule } = &mut side.maker
            && !is_whole_product(schedule)
        {
            external |= device.prepare(&schedule.instruction)?.kind == ExecutionKind::External;
        }
    }
    Ok(external.then(|| Instant::now() + UNASKED))
}

/// Number of products that the search may compute.
fn tries(sides: &[ProductSide; 2], factors: &Factors) -> usize {
    let terms = |side: &ProductSide| match &side.maker {
        ProductMaker::Scheduled { schedule, .. } if is_whole_product(schedule) => {
            let i = &schedule.instruction;
            i.m * i.n * i.k
        }
        ProductMaker::Scheduled { .. } => 1,
        ProductMaker::Library { .. } => factors.a.rows * factors.b.columns * factors.k(),
    };
    (TERMS / sides.iter().map(terms).max().unwrap_or(1)).clamp(TRIES[0], TRIES[1])
}

impl ProductSide {
    /// Every step of a product of one element.
    fn steps(&mut self, known: &KnownSchedule, factors: &Factors) -> Result<Vec<StepSum>> {
        let schedule = known.schedule.narrowed();
        let factors = in_formats(factors, &schedule)?;
        let mut simulated;
        let device: &mut dyn Device = match (&mut self.maker, &known.model) {
            (_, Some(model)) => {
                simulated = ModelDevice::open(model)?;
                &mut simulated
            }
            (ProductMaker::Scheduled { device, .. }, None) => device.as_mut(),
            (ProductMaker::Library { .. }, None) => return Ok(Vec::new()),
        };
        let mut executor = Executor::of(device, &schedule, 1, 1)?;
        Ok(steps(&schedule, &mut executor, &factors)?.0)
    }
}

/// Compares the arithmetics of two known schedules; `None` for one model and instruction.
fn arithmetics(
    sides: &mut [ProductSide; 2],
    known: [&KnownSchedule; 2],
) -> Result<Option<std::result::Result<Distinction, String>>> {
    let [x, y] = known.map(|known| (&known.model, &known.schedule.instruction));
    if x == y && x.0.is_some() {
        return Ok(None);
    }
    let mut simulated = [None, None];
    for (slot, known) in simulated.iter_mut().zip(known) {
        *slot = known.model.as_ref().map(|model| ModelDevice::open(model)).transpose()?;
    }
    let mut devices: Vec<&mut dyn Device> = Vec::new();
    for (side, simulated) in sides.iter_mut().zip(&mut simulated) {
        match (simulated, &mut side.maker) {
            (Some(model), _) => devices.push(model),
            (None, ProductMaker::Scheduled { device, .. }) => devices.push(device.as_mut()),
            (None, ProductMaker::Library { .. }) => return Ok(None),
        }
    }
    let mut devices = devices.into_iter();
    let (Some(one), Some(other)) = (devices.next(), devices.next()) else { return Ok(None) };
    let told = distinction::distinguish(
        distinction::DeviceInstruction { device: one, instruction: x.1 },
        distinction::DeviceInstruction { device: other, instruction: y.1 },
        &SearchLimits { cases: CASES, seed: 0, time: None },
    );
    match told {
        Ok(told) => Ok(Some(Ok(told))),
        Err(error @ Error::Request { .. }) => Ok(Some(Err(error.to_string()))),
        Err(error) => Err(error),
    }
}

/// Keys in which two schedules differ, with both values.
fn keys(x: &Schedule, y: &Schedule) -> Vec<(String, [Option<Value>; 2])> {
    let [x, y] = [x, y].map(flat);
    let names: BTreeSet<_> = x.iter().chain(&y).map(|(key, _)| key.clone()).collect();
    let of =
        |all: &[(String, Value)], key: &str| all.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    names
        .into_iter()
        .map(|key| {
            let values = [of(&x, &key), of(&y, &key)];
            (key, values)
        })
        .filter(|(_, [one, other])| one != other)
        .collect()
}

/// Keys of a schedule's file, flat (`split.count`), those of `split` always among them.
fn flat(schedule: &Schedule) -> Vec<(String, Value)> {
    let mut keys: Table = toml::from_str(&schedule.to_toml()).unwrap_or_default();
    keys.remove("split");
    let split = schedule.split;
    let integer = |number: usize| Value::from(number as i64);
    let mut all = vec![
        ("split.count".to_string(), integer(split.count)),
        ("split.granule".to_string(), integer(split.granule)),
        ("split.terms".to_string(), Value::from(split.terms.name())),
        ("split.join".to_string(), Value::from(split.join.name())),
    ];
    for (key, value) in keys {
        match value {
            Value::Table(table) => all.extend(table.into_iter().map(|(name, value)| (format!("{key}.{name}"), value))),
            value => all.push((key, value)),
        }
    }
    all
}
