//! A unit that draws its own random bits, against the sum that its model rounds.
//!
//! c and one product make a sum at a chosen distance from a number of D. Each distance is asked many times. An answer has
//! to be a neighbour of the sum, and the answers away from zero have to be as frequent as the random bits make them.

use std::ops::Range;

use super::CampaignRequest;
use crate::{
    Error, Result,
    arithmetic::{Evaluator, Model, Rounded},
    base::interrupt,
    bench::{Exponents, code, encoded, part, tile},
    comparison::random::{FALSE_ALARM, Frequency, RandomFault, RandomRounding},
    device::{Batches, Device, selection},
    format::{self, Finite, Format, Overflow, Rounding},
    isa::{Case, Instruction, MatrixShape, Tiles},
    report::{Report, Table, counted, grouped},
};

/// Dot-product-adds of a run without a number of cases.
const DEFAULT_CASES: u64 = 1_000_000;
/// Distances with a chance below this many answers are not asked.
const FEWEST_ANSWERS: u64 = 20;
/// Bias of a fault whose power a report states.
const BIAS: f64 = 1.0 / 64.0;

crate::rows! {
    /// Roundings at one distance from a number, and how often they went away from zero.
    pub struct RandomRoundingRow in "random_roundings" {
        /// Instruction.
        instruction: String => shown("instruction").essential(),
        /// True for negative sums.
        negative: bool => shown("negative").essential(),
        /// Distance from the neighbour towards zero, in units of the last place.
        distance: f64 => shown("distance").essential(),
        /// Answers.
        draws: u64 => shown("answers").essential(),
        /// Answers that are the neighbour away from zero.
        away: u64 => shown("away from zero").essential(),
        /// Smallest accepted count of them.
        least: u64 => shown("at least").essential(),
        /// Largest accepted count of them.
        most: u64 => shown("at most").essential(),
        /// Answers that are no neighbour of the sum.
        others: u64 => shown("no neighbours").essential(),
        /// True if the count is accepted and every answer is a neighbour.
        holds: bool => shown("holds").essential(),
    }
}

/// A random rounding to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomRequest {
    /// Rounding of the unit.
    pub rounding: RandomRounding,
    /// Dot-product-adds to compare, about.
    pub cases: u64,
}

/// Sums of one distance and sign, and what became of them.
struct Class {
    row: Case,
    neighbours: [u64; 2],
    frequency: Frequency,
    others: u64,
}

/// Verifies each instruction of a request on its device.
///
/// # Errors
/// As [`verify`]; what was compared before an error is in the report.
pub fn verify_all(
    request: &CampaignRequest,
    rounding: RandomRounding,
    device: &mut dyn Device,
    report: &mut Report,
) -> Result<()> {
    let (judge, model, note) = selection::model(request.model.as_deref(), device, &request.instructions)?;
    report.notes.extend(note);
    report.notes.push(format!("The model {judge} gives the sum before its last rounding."));
    let random = RandomRequest { rounding, cases: request.cases.unwrap_or(DEFAULT_CASES) };
    let outcome =
        request.instructions.iter().try_for_each(|instruction| verify(device, &model, instruction, random, report));
    report.device = Some(device.identity().clone());
    outcome
}

/// Compares a device with the random rounding of a model's sum, and reports it.
///
/// # Errors
/// A result that no random bits can round, a rule whose sum is not to be had, a device that fails; an interruption, after
/// which the answers so far are reported.
pub fn verify(
    device: &mut dyn Device,
    model: &Model,
    instruction: &Instruction,
    request: RandomRequest,
    report: &mut Report,
) -> Result<()> {
    device.prepare(instruction)?;
    let part = part(instruction);
    let sum = sum(model, &part)?;
    let mut classes = classes(&part, &sum, request);
    if classes.is_empty() {
        return Err(Error::request(format!(
            "{instruction}: no operands make a sum between two numbers of {}; choose another instruction",
            part.d
        )));
    }
    let mut column = Case::zeros(&part);
    column.b[0] = encoded(part.b, Finite::exact(false, 1, Exponents::of(part.b).high));
    if let Some(scale) = part.scale {
        column.scale_b.fill(encoded(scale.format, Finite::exact(false, 1, 0)));
    }
    let columns = vec![column; part.n];
    let mut batches = Batches::default();
    let (tiles, mut done) = (request.cases.div_ceil((part.m * part.n) as u64), 0);
    let mut outcome = Ok(());
    while done < tiles && outcome.is_ok() {
        let count = (tiles - done).min(batches.size(part.tile_bytes()) as u64);
        outcome = ask(device, &mut batches, &part, instruction, done..done + count, &columns, &mut classes);
        done += count;
    }
    if classes.iter().any(|class| class.frequency.draws > 0) {
        if matches!(outcome, Err(Error::Interrupted { .. })) {
            interrupt::answered();
        }
        tell(instruction, request, &classes, report);
    }
    outcome
}

/// Asks some tiles; the rows of each take the classes in turn.
fn ask(
    device: &mut dyn Device,
    batches: &mut Batches,
    part: &Instruction,
    instruction: &Instruction,
    asked: Range<u64>,
    columns: &[Case],
    classes: &mut [Class],
) -> Result<()> {
    let class = |tile: u64, row: usize| (tile as usize * part.m + row) % classes.len();
    let mut tiles = Tiles::zeros(part, 0);
    for at in asked.clone() {
        let rows: Vec<Case> = (0..part.m).map(|row| classes[class(at, row)].row.clone()).collect();
        tiles.extend(&tile(part, &rows, columns, |case| case.c));
    }
    let codes = batches.execute(device, instruction, MatrixShape { rows: part.m, columns: part.n }, &tiles)?;
    let places: Vec<usize> = asked.flat_map(|at| (0..part.m).map(|row| class(at, row)).collect::<Vec<_>>()).collect();
    for (at, answer) in codes.iter().enumerate() {
        let class = &mut classes[places[at / part.n]];
        class.frequency.draws += 1;
        class.frequency.away += u64::from(answer == class.neighbours[1] && class.frequency.distance > 0.0);
        class.others += u64::from(!class.neighbours.contains(&answer));
    }
    Ok(())
}

/// The sum of the model's rule, before its last rounding, in f64.
fn sum(model: &Model, part: &Instruction) -> Result<Evaluator> {
    if part.d.float().is_none() {
        return Err(Error::request(format!("{part}: {} is no floating-point format, and nothing is rounded", part.d)));
    }
    let wide = format::find("f64")?;
    let without = |why: &str| {
        Error::request(format!("{part}: the sum that its model rounds last is not known ({why}); choose another model"))
    };
    let mut rule = model.rule(part).ok_or_else(|| without("it has no rule"))?.clone();
    rule.result = Some(Rounded::new(wide, Rounding::Rne));
    rule.nan = wide.nan();
    Evaluator::of(&rule, &Instruction { d: wide, ..part.clone() }).map_err(|error| without(&error.to_string()))
}

/// Rows of A with c whose sums lie at chosen distances from a number of D, of either sign.
fn classes(part: &Instruction, sum: &Evaluator, request: RandomRequest) -> Vec<Class> {
    let (a, b, c, d) = (Exponents::of(part.a), Exponents::of(part.b), Exponents::of(part.c), Exponents::of(part.d));
    let places = part.d.float().map_or(0, |float| float.trailing_bits as i32);
    // The place of c's sum is below the largest product, and as far above the smallest one as can be.
    let place = (a.high + b.high - 1).min(c.high.min(d.high) - 1 - places);
    let halvings = 1..=request.rounding.bits.min(31);
    let fractions = halvings.flat_map(|bits| [(1, bits), (3, bits)]).filter(|(odd, bits)| *odd == 1 || *bits == 2);
    let classes = [false, true].into_iter().flat_map(|negative| {
        let of = move |(odd, bits): (u128, u32)| {
            let mut row = Case::zeros(part);
            row.a[0] = code(part.a, negative, odd, place - bits as i32 - b.high)?;
            row.c = code(part.c, negative, 1, place + places)?;
            if let Some(scale) = part.scale {
                row.scale_a.fill(encoded(scale.format, Finite::exact(false, 1, 0)));
            }
            class(part, sum, row)
        };
        [(0, 0)].into_iter().chain(fractions.clone()).filter_map(of).collect::<Vec<Class>>()
    });
    let classes: Vec<Class> = classes.collect();
    let each = request.cases / classes.len().max(1) as u64;
    let often = |class: &Class| {
        let distance = class.frequency.distance;
        distance == 0.0 || distance * each as f64 >= FEWEST_ANSWERS as f64
    };
    classes.into_iter().filter(often).collect()
}

/// A row of A with c; the distance is that of the model's sum.
fn class(part: &Instruction, sum: &Evaluator, row: Case) -> Option<Class> {
    let mut case = row.clone();
    case.b[0] = encoded(part.b, Finite::exact(false, 1, Exponents::of(part.b).high));
    if let Some(scale) = part.scale {
        case.scale_b.fill(encoded(scale.format, Finite::exact(false, 1, 0)));
    }
    let value = sum.program().instruction.d.to_f64(sum.dot(&case));
    let away = if value < 0.0 { Rounding::Rd } else { Rounding::Ru };
    let neighbour = |rounding| part.d.encode_f64(value, rounding, Overflow::Standard);
    let neighbours = [neighbour(Rounding::Rz)?, neighbour(away)?];
    let [inner, outer] = neighbours.map(|code| Format::to_f64(part.d, code));
    let distance = if inner == outer { 0.0 } else { (value - inner) / (outer - inner) };
    let frequency = Frequency { distance, draws: 0, away: 0 };
    (inner.is_finite() && outer.is_finite()).then_some(Class { row, neighbours, frequency, others: 0 })
}

/// Adds the table, the answer and the power of the tests to the report.
fn tell(instruction: &Instruction, request: RandomRequest, classes: &[Class], report: &mut Report) {
    let asked: Vec<&Class> = classes.iter().filter(|class| class.frequency.draws > 0).collect();
    let frequencies: Vec<Frequency> = asked.iter().map(|class| class.frequency).collect();
    let RandomRounding { bits } = request.rounding;
    let row = |class: &&Class| {
        let Frequency { distance, draws, away } = class.frequency;
        let limits = request.rounding.limits(distance, draws, frequencies.len());
        RandomRoundingRow {
            instruction: instruction.name.clone(),
            negative: instruction.d.decode(class.neighbours[0]).negative,
            distance,
            draws,
            away,
            least: limits.least,
            most: limits.most,
            others: class.others,
            holds: limits.accept(away) && class.others == 0,
        }
    };
    let rows: Vec<RandomRoundingRow> = asked.iter().map(row).collect();
    let held = rows.iter().all(|row| row.holds);
    report.holds &= held && !rows.is_empty();
    let draws: u64 = frequencies.iter().map(|frequency| frequency.draws).sum();
    let random = counted(bits.into(), "random bit");
    report.answer = Some(format!(
        "{instruction}: {} roundings at {} {} as frequent as {random} make them.",
        grouped(draws as i64),
        counted(rows.len() as u64, "distance and sign"),
        if held { "are neighbours of the sum, and" } else { "are not all neighbours of the sum, or not" }
    ));
    let power = |fault| format!("{:.6}", request.rounding.power(&frequencies, fault));
    report.notes.push(format!(
        "A right unit fails with a probability of {FALSE_ALARM:e} at most. A unit with {} fails with {}, one whose chance is 1/64 too \
         high with {}, too low with {}.",
        counted((bits / 2).into(), "random bit"),
        power(RandomFault::Bits(bits / 2)),
        power(RandomFault::Bias(BIAS)),
        power(RandomFault::Bias(-BIAS))
    ));
    report.tables.push(Table::of(format!("Random roundings, {random}"), rows));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::{Execution, ExecutionKind, Identity},
        format::Real,
        inputs::random,
        isa::{self, Codes},
    };

    /// A unit that adds exactly, and rounds by its own random bits with a fault.
    struct RandomUnit {
        identity: Identity,
        sum: Evaluator,
        bits: u32,
        bias: f64,
        wrong_neighbour: bool,
        drawn: u64,
    }

    impl Device for RandomUnit {
        fn identity(&self) -> &Identity {
            &self.identity
        }

        fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
            Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
        }

        fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
            let mut codes = Codes::zeros(i.d, tiles.count * i.m * i.n);
            for at in 0..codes.len() {
                let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
                let value = self.sum.program().instruction.d.value(self.sum.dot(&case));
                self.drawn += 1;
                let mut word = random(7, self.drawn) >> 32;
                // A bias is a chance of its own to round up what the random bits would not.
                let biased = random(8, self.drawn) as f64 / 2f64.powi(64) < self.bias;
                if biased {
                    word = u64::MAX;
                }
                let rounding = Rounding::Sr { random: word, bits: self.bits };
                let code = i.d.encode(&value, rounding, Overflow::Standard).unwrap_or(0);
                let exact = matches!(value, Real::Finite(value) if value.is_zero());
                // The code after next is no neighbour, whichever of the two this is.
                codes.set(at, code + 2 * u64::from(self.wrong_neighbour && !exact && self.drawn.is_multiple_of(100)));
            }
            Ok(codes)
        }
    }

    const NAME: &str = "mma.m16n8k16.f32.f16.f16.f32";

    fn report(bits: u32, bias: f64, wrong_neighbour: bool) -> Report {
        let instruction = &isa::find(NAME).unwrap();
        // The sum of this model keeps every bit that the operands here have.
        let model = exact(instruction);
        let sum = sum(&model, &part(instruction)).unwrap();
        let identity = Identity::new("exec:unit", "a unit that rounds at random");
        let mut unit = RandomUnit { identity, sum, bits, bias, wrong_neighbour, drawn: 0 };
        let mut report = Report::new("verify", "tcnum verify");
        let request = RandomRequest { rounding: RandomRounding { bits: 16 }, cases: 400_000 };
        verify(&mut unit, &model, instruction, request, &mut report).unwrap();
        report
    }

    /// A model of an exact sum.
    fn exact(instruction: &Instruction) -> Model {
        let text = format!(
            "name = 'exact'\ntitle = 'exact'\nversion = 1\narchitectures = ['sm_90a']\n[[rule]]\ninstructions = ['{}']\n\
             evidence = [{{ assumed = 'a test' }}]\nstep = 'exact'\n\
             result = {{ format = 'f32', rounding = 'RNE' }}\nnan = '0x7fffffff'\n",
            instruction.name
        );
        Model::parse(&text, "exact").unwrap()
    }

    #[test]
    fn a_unit_with_the_bits_it_claims_holds() {
        let report = report(16, 0.0, false);
        assert!(report.holds, "{:?} {:?}", report.answer, report.notes);
    }

    #[test]
    fn a_unit_with_half_the_bits_a_bias_or_a_wrong_neighbour_is_found() {
        for (bits, bias, wrong) in [(8, 0.0, false), (16, 1.0 / 64.0, false), (16, 0.0, true)] {
            let report = report(bits, bias, wrong);
            assert!(!report.holds, "{bits} {bias} {wrong}: {:?}", report.answer);
            assert!(report.notes[0].contains("fails with 1.000000"), "{}", report.notes[0]);
        }
    }

    #[test]
    fn a_result_that_is_not_rounded_is_refused() {
        let instruction = &isa::find("mma.m16n8k32.s32.s8.s8.s32").unwrap();
        let error = sum(&Model::load("hopper").unwrap(), instruction).err().unwrap();
        assert!(error.exit_status() == 2 && error.to_string().contains("no floating-point format"), "{error}");
    }
}
