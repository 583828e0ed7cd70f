//! A unit that draws its own random bits, against the sum that its model rounds.
//!
//! Seven eighths of the operands are c and one product: their sums have chosen distances from a number of D, and each is asked many
//! times. The other operands are drawn, as in any run. Every answer has to be a neighbour of its sum, and the answers away from
//! zero have to be as frequent as the random bits make them.

use std::{collections::BTreeMap, ops::Range};

use super::CampaignRequest;
use crate::{
    Error, Result,
    arithmetic::{Conversion, Model, Neighbours, Program, Rounded},
    base::{interrupt, parallel},
    bench::{Exponents, code, encoded, part, tile},
    comparison::{
        Nans,
        random::{FALSE_ALARM, Frequency, RandomFault, RandomRounding, SURE},
    },
    device::{Batches, Device, selection},
    format::{self, Finite, Rounding},
    inputs::Sequence,
    isa::{Case, Instruction, MatrixShape, Tiles},
    report::{Report, Table, counted, grouped},
};

/// Dot-product-adds of a run without a number of cases.
const DEFAULT_CASES: u64 = 1_000_000;
/// Distances with a chance below this many answers are not asked.
const FEWEST_ANSWERS: u64 = 20;
/// Part of the cases that take the operands of an ordinary run.
const DRAWN: u64 = 8;
/// Ranges of distances by which sums of drawn operands are counted.
const RANGES: u64 = 16;
/// Bias of a fault whose power a report states.
const BIAS: f64 = 1.0 / 64.0;

crate::rows! {
    /// Roundings in a range of distances, or at one, and how often they went away from zero.
    pub struct RandomRoundingRow in "random_roundings" {
        /// Instruction.
        instruction: String => shown("instruction").essential(),
        /// True for negative sums.
        negative: bool => shown("negative").essential(),
        /// Smallest distance from the neighbour towards zero, in units of the last place.
        distance: f64 => shown("distance").essential(),
        /// Largest distance; equal to the smallest one for equal sums.
        farthest: f64 => shown("to").essential(),
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
    /// Random bits of the unit; `None`: those that its model states.
    pub bits: Option<u32>,
    /// Dot-product-adds to compare, about.
    pub cases: u64,
    /// Seed of the drawn operands, and of the random bits of a simulated unit.
    pub seed: u64,
    /// Comparison of NaN codes.
    pub nans: Nans,
}

/// Verifies those instructions of a request whose unit draws random bits.
/// They are removed from the request.
///
/// `bits` are the random bits where the model states none.
///
/// # Errors
/// As [`verify`]; what was compared before an error is in the report.
pub fn verify_all(
    request: &mut CampaignRequest,
    bits: Option<u32>,
    device: &mut dyn Device,
    report: &mut Report,
) -> Result<()> {
    // Other runs are of a function, and refuse such an instruction.
    let Sequence::Random { seed } = request.sequence else { return Ok(()) };
    if request.shard.is_some() || request.checkpoint.is_some() {
        return Ok(());
    }
    let (judge, model, note) = selection::model(request.model.as_deref(), device, &request.instructions)?;
    let draws =
        |i: &Instruction| bits.is_some() || model.program(i).is_ok_and(|program| program.random_bits().is_some());
    let (drawing, others): (Vec<_>, Vec<_>) = request.instructions.drain(..).partition(draws);
    request.instructions = others;
    if drawing.is_empty() {
        return Ok(());
    }
    report.notes.extend(note);
    report.notes.push(format!("The model {judge} gives the sum before its last rounding."));
    let cases = request.cases.unwrap_or(DEFAULT_CASES);
    let random = RandomRequest { bits, cases, seed, nans: Nans::from(request.any_nan) };
    let outcome = drawing.iter().try_for_each(|instruction| verify(device, &model, instruction, random, report));
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
    device.draw_by(request.seed);
    let part = part(instruction);
    let program = program(model, &part, request.bits)?;
    let drawn = request.cases / DRAWN;
    let sums = chosen(&program, request.cases - drawn);
    if sums.is_empty() {
        return Err(Error::request(format!(
            "{instruction}: no operands make a sum between two numbers of {}, so no result is random; let 'result' keep more bits, or \
             choose another instruction",
            part.d
        )));
    }
    let columns = vec![column(&part); part.n];
    let mut run = Run { program: &program, instruction, request, batches: Batches::default(), counts: BTreeMap::new() };
    let tiles = |cases: u64| cases.div_ceil((part.m * part.n) as u64);
    let mut outcome = run.in_batches(device, tiles(request.cases - drawn), |run, device, asked| {
        run.ask_chosen(device, asked, &sums, &columns)
    });
    if outcome.is_ok() {
        outcome = run.in_batches(device, tiles(drawn), Run::ask_drawn);
    }
    if !run.counts.is_empty() {
        if matches!(outcome, Err(Error::Interrupted { .. })) {
            interrupt::answered();
        }
        tell(&run, report);
    }
    outcome
}

/// The comparison of one instruction.
struct Run<'a> {
    program: &'a Program,
    instruction: &'a Instruction,
    request: RandomRequest,
    batches: Batches,
    /// Answers by sign, and by smallest and largest number of words that round up.
    counts: BTreeMap<(bool, u64, u64), Counts>,
}

/// Answers to sums of one sign and range of distances.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    draws: u64,
    away: u64,
    others: u64,
}

impl Run<'_> {
    /// Asks tiles in batches of the device's pace.
    fn in_batches(
        &mut self,
        device: &mut dyn Device,
        tiles: u64,
        mut ask: impl FnMut(&mut Self, &mut dyn Device, Range<u64>) -> Result<()>,
    ) -> Result<()> {
        let mut done = 0;
        while done < tiles {
            let count = (tiles - done).min(self.batches.size(self.program.instruction.tile_bytes()) as u64);
            ask(self, device, done..done + count)?;
            done += count;
        }
        Ok(())
    }

    /// Asks chosen sums; the rows of the tiles take them in turn.
    fn ask_chosen(
        &mut self,
        device: &mut dyn Device,
        asked: Range<u64>,
        sums: &[ChosenSum],
        columns: &[Case],
    ) -> Result<()> {
        let part = &self.program.instruction;
        let sum = |tile: u64, row: usize| &sums[(tile as usize * part.m + row) % sums.len()];
        let mut tiles = Tiles::zeros(part, 0);
        for at in asked.clone() {
            let rows: Vec<Case> = (0..part.m).map(|row| sum(at, row).row.clone()).collect();
            tiles.extend(&tile(part, &rows, columns, |case| case.c));
        }
        let neighbours = |at: usize| {
            let (tile, row) = (at / (part.m * part.n), at / part.n % part.m);
            sum(asked.start + tile as u64, row).neighbours
        };
        self.ask(device, &tiles, &neighbours, false)
    }

    /// Asks operands of an ordinary run.
    fn ask_drawn(&mut self, device: &mut dyn Device, asked: Range<u64>) -> Result<()> {
        let (program, part) = (self.program, &self.program.instruction);
        let tiles =
            Sequence::Random { seed: self.request.seed }.tiles(part, asked.start, (asked.end - asked.start) as usize);
        let of_tile = |tile: usize| {
            let of = |at: usize| program.neighbours(&tiles.case(part, tile, at / part.n, at % part.n));
            (0..part.m * part.n).filter_map(of).collect::<Vec<Neighbours>>()
        };
        let all = parallel::map(0..tiles.count, of_tile).concat();
        self.ask(device, &tiles, &|at| all[at], true)
    }

    fn ask(
        &mut self,
        device: &mut dyn Device,
        tiles: &Tiles,
        neighbours: &dyn Fn(usize) -> Neighbours,
        in_ranges: bool,
    ) -> Result<()> {
        let Instruction { m, n, d, .. } = self.program.instruction;
        let codes = self.batches.execute(device, self.instruction, MatrixShape { rows: m, columns: n }, tiles)?;
        for (at, answer) in codes.iter().enumerate() {
            let Neighbours { codes: [inner, outer], bits, outward } = neighbours(at);
            let width = if in_ranges { ((1 << bits) / RANGES).max(1) } else { 1 };
            let range = match outward {
                0 => [0, 0],
                _ => [(outward / width * width).max(1), outward / width * width + width - 1],
            };
            let counts = self.counts.entry((d.decode(inner).negative, range[0], range[1])).or_default();
            counts.draws += 1;
            counts.away += u64::from(outward > 0 && answer == outer);
            counts.others += u64::from(![inner, outer].iter().any(|code| self.request.nans.agree(d, *code, answer)));
        }
        Ok(())
    }
}

/// The program of an instruction, with random bits in its last rounding.
/// Where the model states none, they round its sum in f64.
fn program(model: &Model, part: &Instruction, bits: Option<u32>) -> Result<Program> {
    if part.d.float().is_none() {
        return Err(Error::request(format!("{part}: {} is no floating-point format, and nothing is rounded", part.d)));
    }
    let Some(bits) = bits else { return model.program(part) };
    let without = |why: &str| {
        Error::request(format!("{part}: the sum that its model rounds last is not known ({why}); choose another model"))
    };
    let mut rule = model.rule(part).ok_or_else(|| without("it has no rule"))?.clone();
    // Truncation keeps the side of a number on which the exact sum lies.
    rule.result = Some(Rounded::new(format::find("f64")?, Rounding::Rz));
    rule.output = Some(Conversion::stochastic(bits));
    Program::of(&rule, part).map_err(|error| without(&error))
}

/// A row of A with c, and the neighbours of its sum.
struct ChosenSum {
    row: Case,
    neighbours: Neighbours,
}

/// A column of B with one element.
fn column(part: &Instruction) -> Case {
    let mut column = Case::zeros(part);
    column.b[0] = encoded(part.b, Finite::exact(false, 1, Exponents::of(part.b).high));
    if let Some(scale) = part.scale {
        column.scale_b.fill(encoded(scale.format, Finite::exact(false, 1, 0)));
    }
    column
}

/// Rows of A with c whose sums lie at chosen distances from a number of D, of either sign.
fn chosen(program: &Program, cases: u64) -> Vec<ChosenSum> {
    let part = &program.instruction;
    let (a, b, c, d) = (Exponents::of(part.a), Exponents::of(part.b), Exponents::of(part.c), Exponents::of(part.d));
    let places = part.d.float().map_or(0, |float| float.trailing_bits as i32);
    // The place of c's sum is below the largest product, and as far above the smallest one as can be.
    let place = (a.high + b.high - 1).min(c.high.min(d.high) - 1 - places);
    let halvings = 1..=program.random_bits().unwrap_or(0).min(31);
    let fractions = halvings.flat_map(|bits| [(1, bits), (3, bits)]).filter(|(odd, bits)| *odd == 1 || *bits == 2);
    let fractions: Vec<(u128, u32)> = std::iter::once((0, 0)).chain(fractions).collect();
    let of = |(negative, (odd, bits)): (bool, (u128, u32))| {
        let mut row = Case::zeros(part);
        row.a[0] = code(part.a, negative, odd, place - bits as i32 - b.high)?;
        row.c = code(part.c, negative, 1, place + places)?;
        if let Some(scale) = part.scale {
            row.scale_a.fill(encoded(scale.format, Finite::exact(false, 1, 0)));
        }
        let Case { b, scale_b, .. } = column(part);
        let neighbours = program.neighbours(&Case { b, scale_b, ..row.clone() })?;
        let finite = neighbours.codes.iter().all(|code| part.d.to_f64(*code).is_finite());
        finite.then_some(ChosenSum { row, neighbours })
    };
    let signed = [false, true].into_iter().flat_map(|negative| fractions.iter().map(move |of| (negative, *of)));
    let sums: Vec<ChosenSum> = signed.filter_map(of).collect();
    if sums.iter().all(|sum| sum.neighbours.outward == 0) {
        return Vec::new();
    }
    let each = cases / sums.len() as u64;
    let often =
        |sum: &ChosenSum| sum.neighbours.outward == 0 || sum.neighbours.chance() * each as f64 >= FEWEST_ANSWERS as f64;
    sums.into_iter().filter(often).collect()
}

/// Adds the table, the answer and the power of the tests to the report.
fn tell(run: &Run, report: &mut Report) {
    let (instruction, bits) = (run.instruction, run.program.random_bits().unwrap_or(0));
    let rounding = RandomRounding { bits };
    let distance = |words: u64| words as f64 / 2f64.powi(bits as i32);
    let frequency = |((_, low, high), counts): (&(bool, u64, u64), &Counts)| {
        let Counts { draws, away, .. } = *counts;
        Frequency { distance: distance(*low), farthest: distance(*high), draws, away }
    };
    let frequencies: Vec<Frequency> = run.counts.iter().map(frequency).collect();
    let row = |(((negative, ..), counts), frequency): ((&(bool, u64, u64), &Counts), &Frequency)| {
        let Frequency { distance, farthest, draws, away } = *frequency;
        let limits = rounding.limits(frequency, frequencies.len());
        RandomRoundingRow {
            instruction: instruction.name.clone(),
            negative: *negative,
            distance,
            farthest,
            draws,
            away,
            least: limits.least,
            most: limits.most,
            others: counts.others,
            holds: limits.accept(away) && counts.others == 0,
        }
    };
    let rows: Vec<RandomRoundingRow> = run.counts.iter().zip(&frequencies).map(row).collect();
    let held = rows.iter().all(|row| row.holds);
    report.holds &= held;
    let draws: u64 = frequencies.iter().map(|frequency| frequency.draws).sum();
    let random = counted(bits.into(), "random bit");
    let answer = format!(
        "{instruction}: {} roundings {} as frequent as {random} make them.",
        grouped(draws as i64),
        if held { "are neighbours of the sum, and" } else { "are not all neighbours of the sum, or not" }
    );
    report.answer = Some(report.answer.take().map_or(answer.clone(), |before| format!("{before} {answer}")));
    let power = |fault| format!("{:.6}", rounding.power(&frequencies, fault));
    let noticed = match rounding.noticed(&frequencies) {
        Some(bias) => {
            format!("The tests notice a chance that is off by 1/{} with a probability of {SURE} at least.", 1.0 / bias)
        }
        None => "The tests notice no bias surely; ask for more cases.".into(),
    };
    report.notes.push(format!(
        "A right unit fails with a probability of {FALSE_ALARM:e} at most. A unit with {} fails with {}, one whose chance is 1/64 too \
         high with {}, too low with {}. {noticed}",
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
        device::{Execution, ExecutionKind, Identity, ModelDevice},
        inputs::random,
        isa::{self, Codes},
    };

    /// A unit that rounds by its own random bits with a fault.
    struct RandomUnit {
        identity: Identity,
        program: Program,
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
                let neighbours = self.program.neighbours(&case).unwrap();
                self.drawn += 1;
                // A bias is a chance of its own to round up what the random bits would not.
                let biased = random(8, self.drawn) as f64 / 2f64.powi(64) < self.bias;
                let code = neighbours.code(if biased { u64::MAX } else { random(7, self.drawn) >> 32 });
                // The code after next is no neighbour, whichever of the two this is.
                let wrong = self.wrong_neighbour && neighbours.outward > 0 && self.drawn.is_multiple_of(100);
                codes.set(at, code + 2 * u64::from(wrong));
            }
            Ok(codes)
        }
    }

    const NAME: &str = "mma.m16n8k16.f32.f16.f16.f32";

    /// A model of a sum whose last rounding has this output.
    fn model(output: &str) -> Model {
        let text = format!(
            "name = 'exact'\ntitle = 'exact'\nversion = 1\narchitectures = ['sm_90a']\n[[rule]]\ninstructions = ['{NAME}']\n\
             evidence = [{{ assumed = 'a test' }}]\nstep = 'exact'\n\
             result = {{ format = 'f64', rounding = 'RZ' }}\noutput = {output}\nnan = '0x7fffffff'\n"
        );
        Model::parse(&text, "exact").unwrap()
    }

    fn stochastic(bits: u32) -> Model {
        model(&format!("{{ rounding = 'SR', random-bits = {bits} }}"))
    }

    fn compared(device: &mut dyn Device, model: &Model, bits: Option<u32>) -> Report {
        let mut report = Report::new("verify", "tcnum verify");
        let request = RandomRequest { bits, cases: 480_000, seed: 3, nans: Nans::ByCode };
        verify(device, model, &isa::find(NAME).unwrap(), request, &mut report).unwrap();
        report
    }

    /// A unit with so many bits, compared with a model that has 16.
    fn report(bits: u32, bias: f64, wrong_neighbour: bool) -> Report {
        let identity = Identity::new("exec:unit", "a unit that rounds at random");
        let program = stochastic(bits).program(&isa::find(NAME).unwrap()).unwrap();
        let mut unit = RandomUnit { identity, program, bias, wrong_neighbour, drawn: 0 };
        compared(&mut unit, &stochastic(16), None)
    }

    #[test]
    fn a_unit_with_the_bits_it_claims_holds() {
        let report = report(16, 0.0, false);
        assert!(report.holds, "{:?} {:?}", report.answer, report.notes);
    }

    #[test]
    fn a_simulated_unit_agrees_with_its_model_alone() {
        let device = |model: &Model| ModelDevice::of(model.clone());
        let (eight, two) = (stochastic(8), stochastic(2));
        let nearest = model("{ rounding = 'RNE' }");
        let report = compared(&mut device(&eight), &eight, None);
        assert!(report.holds && report.notes[0].contains("a chance that is off by 1/"), "{:?}", report.notes);
        // The bits may come from the request where the model rounds otherwise.
        assert!(compared(&mut device(&eight), &nearest, Some(8)).holds);
        for wrong in [&two, &nearest] {
            let report = compared(&mut device(wrong), &eight, None);
            assert!(!report.holds, "{:?}", report.answer);
        }
        assert!(!compared(&mut device(&eight), &two, None).holds);
    }

    #[test]
    fn the_random_bits_of_a_simulated_unit_follow_from_the_seed() {
        let (model, i) = (stochastic(8), &isa::find(NAME).unwrap());
        let tiles = Sequence::Random { seed: 1 }.tiles(i, 0, 4);
        let codes = |seed| {
            let mut device = ModelDevice::of(model.clone());
            device.draw_by(seed);
            device.execute(i, &tiles).unwrap()
        };
        assert!(codes(1) == codes(1) && codes(1) != codes(2));
    }

    #[test]
    fn a_unit_with_half_the_bits_a_bias_or_a_wrong_neighbour_is_found() {
        for (bits, bias, wrong) in [(8, 0.0, false), (16, 1.0 / 64.0, false), (16, 0.0, true)] {
            let report = report(bits, bias, wrong);
            assert!(!report.holds, "{bits} {bias} {wrong}: {:?}", report.answer);
            assert!(report.notes[0].contains("fails with 1.000000"), "{}", report.notes[0]);
        }
    }

    /// Counterexample: sums that are numbers of D already passed whatever the bits.
    #[test]
    fn a_rule_that_rounds_before_its_random_rounding_is_refused() {
        let text = format!(
            "name = 'early'\ntitle = 'early'\nversion = 1\n[[rule]]\ninstructions = ['{NAME}']\nevidence = [{{ assumed = 'a test' }}]\n\
             step = 'exact'\nresult = {{ format = 'f32', rounding = 'RZ' }}\noutput = {{ rounding = 'SR', random-bits = 8 }}\n\
             nan = '0x7fffffff'\n"
        );
        let model = Model::parse(&text, "early").unwrap();
        let request = RandomRequest { bits: None, cases: 480_000, seed: 3, nans: Nans::ByCode };
        let mut report = Report::new("verify", "tcnum verify");
        let instruction = isa::find(NAME).unwrap();
        let error =
            verify(&mut ModelDevice::of(model.clone()), &model, &instruction, request, &mut report).unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains("no result is random"), "{error}");
    }

    #[test]
    fn a_result_that_is_not_rounded_is_refused() {
        let instruction = &isa::find("mma.m16n8k32.s32.s8.s8.s32").unwrap();
        let error = program(&Model::load("hopper").unwrap(), instruction, Some(8)).err().unwrap();
        assert!(error.exit_status() == 2 && error.to_string().contains("no floating-point format"), "{error}");
    }
}
