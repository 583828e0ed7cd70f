//! One element of a product of files, step by step along k.

use super::results;
use crate::{
    Error, Result,
    arithmetic::Model,
    device::ModelDevice,
    exact::Dot,
    format::Format,
    product::{BiasEntry, CEntry, ElementPlace, Executor, Factors, Matrix, OperandSource, Schedule, StepSum, steps},
    report::{Report, Table, Verdict},
};

crate::rows! {
    /// A step of an element of a product, with the unit's sum after it.
    pub struct ElementStepRow in "element_steps" {
        /// Number of the step, from 1.
        number: usize => shown("#").essential(),
        /// Part of k, from 1, where k is split.
        part: Option<usize> => shown("part").if_filled().essential(),
        /// Promoted sum of the part, from 1, where sums are promoted.
        run: Option<usize> => shown("promotion").if_filled(),
        /// Accumulator, from 1, where there are several.
        accumulator: Option<usize> => shown("accumulator").if_filled(),
        /// First and last k of the step.
        k: String => shown("k").essential(),
        /// Value of the unit's sum after the step.
        sum: String => shown("sum").essential(),
        /// Its code.
        code: String => shown("code"),
        /// The sum minus the exact sum of the step's products and the sum before it; absent with block scales.
        error: Option<f64> => shown("error of the step").if_filled().essential(),
    }
}

/// An element of a product that a schedule makes of files.
#[derive(Debug)]
pub struct ElementRequest<'a> {
    /// The schedule.
    pub schedule: &'a Schedule,
    /// The model of its arithmetic.
    pub model: &'a str,
    /// The matrices.
    pub operands: &'a OperandSource,
    /// D, if it is given.
    pub d: Option<&'a Matrix>,
    /// The element.
    pub place: ElementPlace,
}

/// A step: the part, the promoted sum and the accumulator that it belongs to.
struct StepPlace {
    part: usize,
    run: usize,
    accumulator: usize,
}

impl ElementRequest<'_> {
    /// Fills the report with the steps of the element, and its codes by the model and in D.
    ///
    /// # Errors
    /// Matrices that cannot be read or do not fit, a place outside of D, a model without the instruction.
    pub fn explain(&self, report: &mut Report) -> Result<Model> {
        let ElementRequest { schedule, model, operands, d, place: ElementPlace { row, column } } = *self;
        let factors = operands.for_schedule(schedule, &mut report.notes)?;
        factors.check(schedule)?;
        let (rows, columns) = (factors.a.rows, factors.b.columns);
        if row >= rows || column >= columns {
            return Err(Error::request(format!(
                "‹element={row},{column}›: D is {rows} x {columns}; rows and columns count from 0"
            )));
        }
        if let Some(d) = d.filter(|d| (d.rows, d.columns) != (rows, columns)) {
            let shape = d.shape();
            return Err(Error::request(format!(
                "D is {shape}, and A times B is {rows} x {columns}: D is another product"
            )));
        }
        let one = factors.chosen(&[row], &[column], schedule.scales.as_ref());
        let one = one.rounded(schedule)?.into_owned();
        let narrowed = Schedule { operands: None, ..schedule.narrowed() };
        let mut device = ModelDevice::open(model)?;
        let mut executor = Executor::of(&mut device, &narrowed, 1, 1)?;
        let (sums, code) = steps(&narrowed, &mut executor, &one)?;
        let rows = step_rows(&narrowed, &one, &sums);
        let format = narrowed.output.format;
        let given = d.map(|d| ("D", d.get(row, column)));
        let title = format!("Element {row},{column} of D");
        let name = format!("model {model}");
        let by: Vec<(&str, u64)> = given.into_iter().chain([(&name[..], code)]).collect();
        report.holds = by.iter().all(|(_, other)| *other == code);
        report.verdict = Verdict::Differ;
        report.answer = Some(self.answer(&rows, format, code, one.k()));
        report.tables = vec![results(title, format, by), Table::of("Steps of the element", rows)];
        Model::load(model)
    }

    /// The codes and the step with the largest error, in sentences.
    fn answer(&self, rows: &[ElementStepRow], format: &Format, code: u64, k: usize) -> String {
        let ElementRequest { schedule, model, d, place: ElementPlace { row, column }, .. } = self;
        let shown = |code: u64| format!("{} ({})", format.hex(code), format.decode(code).decimal());
        let schedule = schedule.sentence(k);
        let given = match d.map(|d| d.get(*row, *column)) {
            None => ".".into(),
            Some(given) if given == code => ", as in D.".into(),
            Some(given) => format!("; D holds {}.", shown(given)),
        };
        let errors = rows.iter().filter_map(|row| Some((row, row.error.filter(|error| !error.is_nan())?)));
        let largest = match errors.max_by(|(_, x), (_, y)| x.abs().total_cmp(&y.abs())) {
            None => String::new(),
            Some((_, 0.0)) => " Every step is exact.".into(),
            Some((row, error)) => {
                format!(" Step {} (k = {}) has the largest error: {error:e}.", row.number, row.k)
            }
        };
        format!("Element {row},{column} of {model} is {} by {schedule}{given}{largest}", shown(code))
    }
}

/// A row for each step, with its error.
fn step_rows(schedule: &Schedule, factors: &Factors, sums: &[StepSum]) -> Vec<ElementStepRow> {
    let walk = schedule.walk(factors.k());
    let mut places = Vec::new();
    for (part, runs) in walk.parts.iter().enumerate() {
        for (run, of_run) in runs.iter().enumerate() {
            for (accumulator, chain) in of_run.dealt(schedule).iter().enumerate() {
                let steps = chain.steps.iter().filter(|step| !step.is_empty());
                places.extend(steps.map(|_| StepPlace { part, run, accumulator }));
            }
        }
    }
    let several = |of: fn(&StepPlace) -> usize| places.iter().any(|place| of(place) > 0);
    let several = [several(|place| place.part), several(|place| place.run), several(|place| place.accumulator)];
    let number = |at: usize, is_shown: bool| is_shown.then_some(at + 1);
    let i = &schedule.instruction;
    let mut exact = Dot::new(i.a, i.b, i.c, i.d, i.k);
    let mut rows: Vec<ElementStepRow> = Vec::new();
    for (at, (step, place)) in sums.iter().zip(&places).enumerate() {
        let same = |before: &StepPlace| {
            (before.part, before.run, before.accumulator) == (place.part, place.run, place.accumulator)
        };
        // A chain begins from zero, or from C or the bias where the schedule begins the unit with one.
        let before = match at.checked_sub(1).filter(|before| same(&places[*before])) {
            Some(before) => sums[before].sum,
            None if at == 0 => initial(schedule, factors),
            None => 0,
        };
        let pairs = step.k.clone().map(|k| (factors.a.get(0, k), factors.b.get(k, 0)));
        let sum = i.d.to_f64(step.sum);
        // Scales of the instruction multiply its products: their exact sum is none of codes.
        let error = i.scale.is_none().then(|| sum - exact.sum(pairs, before).real().to_f64());
        rows.push(ElementStepRow {
            number: at + 1,
            part: number(place.part, several[0]),
            run: number(place.run, several[1]),
            accumulator: number(place.accumulator, several[2]),
            k: if step.k.len() == 1 {
                step.k.start.to_string()
            } else {
                format!("{}..{}", step.k.start, step.k.end - 1)
            },
            sum: i.d.decode(step.sum).decimal(),
            code: i.d.hex(step.sum),
            error,
        });
    }
    rows
}

/// The code from which the unit's first chain begins.
fn initial(schedule: &Schedule, factors: &Factors) -> u64 {
    let starts = |matrix: &Option<Matrix>, is_first: bool| matrix.as_ref().filter(|_| is_first).map(|m| m.get(0, 0));
    let c = starts(&factors.c, schedule.c == CEntry::Start);
    c.or_else(|| starts(&factors.bias, schedule.bias == BiasEntry::Start)).unwrap_or(0)
}
