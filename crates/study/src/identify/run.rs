//! The identification of one instruction: asking, searching, and asking again where candidates differ.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    time::Duration,
};

use super::{
    candidate::evaluator,
    file, random,
    starts::{self, Start},
    steps::SumSteps,
    work::Work,
};
use crate::{
    Error, Result,
    arithmetic::{KEYS, Rule},
    base::{
        interrupt, parallel,
        work::{self, Pace},
    },
    bench::{Answers, Bench, Draw, Leaf, Uniform, part},
    comparison::Nans,
    device::{Batches, Device, Generation},
    format::Class,
    inputs::{Corners, Sequence},
    isa::{Case, Instruction, Tiles},
    measurement::tiles_of,
    order::Order,
    rule::{self, Survivor, first_differing},
    trace::Trace,
};

/// Tiles of the verification stream that are asked first.
const FIRST: usize = 72;
/// Fewest tiles of the stream that are asked before a rule counts as found.
const MOST: usize = 600;
/// Fewest outputs that are asked before a rule counts as found, if [`MOST_TILES`] suffice.
const FEWEST_OUTPUTS: usize = 40_000;
/// Largest number of tiles that these outputs may take.
const MOST_TILES: usize = 5_000;
/// Tiles that are asked a second time, with their rows and columns in other places.
const REPEATED: usize = 48;
/// Tiles of the stream that are searched for tiles on which two candidates differ.
const LOOKED_THROUGH: usize = 1 << 9;
/// Largest number of products that this search of the stream computes.
const TELLING: u64 = 1 << 27;
/// Largest number of times that the search begins from all hypotheses.
const REACHED: usize = 4;
/// Largest number of rounds in which candidates are compared and tiles are asked.
const ROUNDS: usize = 60;

/// Products that one stage of a search may compute: a second or two of a core.
pub const WORK: u64 = 1 << 24;

/// The plan of a search: its seed, its limits, and the rules with which it begins.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed of the operands.
    pub seed: u64,
    /// Tiles that the device may execute.
    pub budget: u64,
    /// Longest time that its answers may take in all.
    pub time: Duration,
    /// True if the search begins with the arithmetics of shipped models, false if it begins from nothing.
    pub catalogue: bool,
    /// Rules found for other instructions of the device, which are tried before all others.
    pub found_rules: Vec<Rule>,
    /// Shipped models that the search does not know.
    pub withheld: Vec<String>,
    /// Products, about, that one stage of the search may compute; usually [`WORK`].
    pub work: u64,
}

/// The result for one instruction: its rule, the answers, and how the search ended.
#[derive(Debug, Clone)]
pub struct Identification {
    /// The instruction.
    pub instruction: Instruction,
    /// The rule of the device, or the nearest that was found; `None` without one.
    pub rule: Option<Rule>,
    /// The shipped model and the instruction that have this rule unchanged, if any.
    pub known: Option<(String, String)>,
    /// The tiles that were asked, with the answers.
    pub asked: Trace,
    /// Number of asked outputs that the rule does not give; without a rule, `usize::MAX`.
    pub misses: usize,
    /// Tiles that the device has executed.
    pub executions: u64,
    /// True if the search used up its tiles or its time before the end.
    pub spent: bool,
    /// The reason for an early end: a failure of the device, or an interruption.
    pub failure: Option<String>,
    /// The one answer that the device gave to everything, if that ended the search.
    pub uniform: Option<Uniform>,
    /// The shipped model of the generation that the device reports.
    pub generation: Option<String>,
    /// Shipped models that the search did not know.
    pub withheld: Vec<String>,
    /// The NaN codes that count as equal.
    /// If all do, the answers do not measure the keys of NaN.
    pub nans: Nans,
}

impl Identification {
    /// True if the answers measure a key of the rule.
    pub fn is_measured(&self, key: &str) -> bool {
        self.nans == Nans::ByCode || !key.starts_with("nan")
    }

    /// The text of a model file whose only rule is this one.
    pub fn text(&self) -> String {
        file::model(self.rule.as_slice())
    }
}

/// Works out how `device` computes `instruction`.
///
/// If the device fails in the middle, the result covers the answers until then.
///
/// # Errors
/// The device lacks the instruction, fails before it has answered anything, or is not a function of its operands.
pub fn identify(device: &mut dyn Device, instruction: &Instruction, plan: Plan) -> Result<Identification> {
    device.prepare(instruction)?;
    let part = part(instruction);
    let generation = device.identity().generation.shipped_model().map(String::from);
    let mut batches = Batches::default();
    let mut bench = Bench::of(&mut *device, &mut batches, instruction).within(plan.budget, plan.time);
    let mut stream = Stream { part: part.clone(), seed: plan.seed, next: 0 };
    let mut first = Corners::of(&part).tiles;
    first.extend(&stream.take(FIRST));
    // A random order asks some tiles of every kind, even if not all can be asked.
    let first = shuffled(&part, &first, plan.seed);
    let asked = bench.ask(&first).map(drop);
    if let Err(error) = asked.and_then(|()| bench.repeat(REPEATED)) {
        let answers_vary = bench.refusal().is_err();
        return Err(match answers_vary {
            true => random::explained(device, &mut batches, instruction, plan.seed, error),
            false => error,
        });
    }
    let mut starts = starts::of_found_rules(&plan.found_rules, &part);
    if plan.catalogue {
        starts.extend(starts::known(&part, generation.as_deref(), &plan.withheld));
    }
    let identification = Dialogue::new(bench, stream, plan.work).run(instruction, &starts, generation, None)?;
    Ok(Identification { withheld: plan.withheld, ..identification })
}

/// Continues an earlier search with cases that its rule misses; nothing is asked twice.
///
/// # Errors
/// Like [`identify`].
pub fn go_on(device: &mut dyn Device, earlier: &Identification, cases: &[Case], plan: Plan) -> Result<Identification> {
    let instruction = &earlier.instruction;
    let part = part(instruction);
    let budget = plan.budget.saturating_sub(earlier.executions);
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, instruction).within(budget, plan.time);
    let mut tiles = Tiles::zeros(&part, cases.len());
    for (tile, case) in cases.iter().enumerate() {
        tiles.place(&part, tile, 0, 0, case);
    }
    bench.recall(&earlier.asked.inputs, &earlier.asked.d)?;
    bench.ask(&tiles)?;
    // The stream goes on after the number of all asked tiles, because fewer of them were tiles of the stream.
    let stream = Stream { part: part.clone(), seed: plan.seed, next: earlier.asked.count() as u64 };
    let known = || starts::known(&part, earlier.generation.as_deref(), &plan.withheld);
    let starts = if plan.catalogue { known() } else { Vec::new() };
    let candidate = earlier.rule.clone().map(|rule| Found { rule, known: None, misses: 0 });
    let generation = earlier.generation.clone();
    let identification = Dialogue::new(bench, stream, plan.work).run(instruction, &starts, generation, candidate)?;
    let executions = earlier.executions + identification.executions;
    Ok(Identification { executions, withheld: plan.withheld, ..identification })
}

/// Works out the arithmetic that a recording shows, of all that the language has; nothing can be asked.
///
/// With `catalogue` the search begins with the arithmetics of shipped models.
///
/// # Errors
/// The recording has no outputs, or two for one tile.
pub fn identify_recording(trace: &Trace, catalogue: bool) -> Result<Identification> {
    let part = trace.part();
    if trace.d.is_empty() {
        return Err(Error::request("the recording has no outputs; record them with `tcnum record`"));
    }
    let mut batches = Batches::default();
    let mut bench = Bench::recorded(&mut batches, &trace.instruction, &part);
    let each = trace.m * trace.n;
    work::ranges(trace.inputs.count as u64, Pace::new(1, u64::MAX), |range| {
        let (from, to) = (range.start as usize, range.end as usize);
        bench.recall(&trace.inputs.slice(from, to), &trace.d.slice(from * each, to * each))
    })?;
    let generation = Generation::of_recording(&trace.metadata).shipped_model().map(String::from);
    let starts = if catalogue { starts::known(&part, generation.as_deref(), &[]) } else { Vec::new() };
    let stream = Stream { part, seed: 0, next: 0 };
    Dialogue::new(bench, stream, WORK).run(&trace.instruction, &starts, generation, None)
}

/// Tiles in a random order.
fn shuffled(part: &Instruction, tiles: &Tiles, seed: u64) -> Tiles {
    let mut all = Tiles::zeros(part, 0);
    Draw::new(seed).permutation(tiles.count).into_iter().for_each(|tile| all.extend(&tiles.slice(tile, tile + 1)));
    all
}

/// The verification stream.
pub(super) struct Stream {
    part: Instruction,
    pub(super) seed: u64,
    next: u64,
}

impl Stream {
    /// The next tiles.
    fn take(&mut self, count: usize) -> Tiles {
        let tiles = Sequence::Random { seed: self.seed }.tiles(&self.part, self.next, count);
        self.next += count as u64;
        tiles
    }
}

/// The search for the rule of one instruction: its questions, the answers, and its hypotheses.
pub(super) struct Dialogue<'a> {
    /// The bench that asks the device and keeps every answer.
    pub(super) bench: Bench<'a>,
    pub(super) work: Work,
    pub(super) stream: Stream,
    /// Rules with which the search begins, and the order that masks found.
    pub(super) hypotheses: Option<(Vec<Rule>, Option<Order>)>,
    /// The steps of the sum as fitted, before any repair.
    pub(super) fitted: Option<SumSteps>,
    /// The order that masks found, if they found no blocks in it.
    pub(super) open: Option<Order>,
    /// True if the answers to the measurement are among the answers.
    pub(super) is_measured: bool,
    /// Exponents between which each term alone comes out unchanged.
    pub(super) ranges: BTreeMap<Leaf, RangeInclusive<i32>>,
    pub(super) failure: Option<String>,
}

/// A rule, its model and instruction if it is a known one, and the number of outputs that it misses.
struct Found {
    rule: Rule,
    known: Option<(String, String)>,
    misses: usize,
}

impl<'a> Dialogue<'a> {
    /// A search whose stages may each compute `each` products.
    fn new(bench: Bench<'a>, stream: Stream, each: u64) -> Dialogue<'a> {
        let work = Work::new(bench.answers.part.stored_k(), each);
        let (hypotheses, fitted, open, failure) = (None, None, None, None);
        Dialogue { bench, work, stream, hypotheses, fitted, open, is_measured: false, ranges: BTreeMap::new(), failure }
    }

    /// Runs the search, from the rule of an earlier one if there is any.
    ///
    /// # Errors
    /// The device is not a function of its operands.
    fn run(
        &mut self,
        instruction: &Instruction,
        known: &[Start],
        generation: Option<String>,
        earlier: Option<Found>,
    ) -> Result<Identification> {
        let part = self.bench.answers.part.clone();
        let mut candidate = earlier;
        let mut reached = 0;
        let mut asked = FIRST;
        let most = (FEWEST_OUTPUTS / (part.m * part.n)).clamp(MOST, MOST_TILES);
        for _ in 0..ROUNDS {
            if interrupt::pending().is_some() {
                break;
            }
            // A known rule that gives every answer is preferred to a repaired one.
            candidate = match (self.unchanged(known), candidate) {
                (Some(unchanged), _) => Some(unchanged),
                (None, Some(candidate)) => {
                    self.work.begin_stage(2);
                    let (misses, rule) = self.repaired(candidate.rule);
                    Some(Found { rule, known: None, misses })
                }
                (None, None) => None,
            };
            // No arithmetic gives one answer to everything.
            if candidate.is_none() && Uniform::of(part.d, self.bench.answers.codes()).is_some() {
                break;
            }
            if reached < REACHED && candidate.as_ref().is_none_or(|candidate| candidate.misses > 0) {
                reached += 1;
                if let Some((misses, rule)) = self.reach(known) {
                    let nearer = candidate.as_ref().is_none_or(|candidate| misses < candidate.misses);
                    candidate = if nearer { Some(Found { rule, known: None, misses }) } else { candidate };
                }
            }
            let Some(agreeing) = candidate.as_ref().filter(|candidate| candidate.misses == 0) else { break };
            // The rule gives all answers to the measurement, or it is refuted.
            if !self.is_measured && self.bench.left() > 0 {
                self.is_measured = true;
                let tiles = evaluator(&agreeing.rule, &part).map(|rule| tiles_of(&rule));
                if tiles.is_some_and(|tiles| self.ask(&tiles)) {
                    continue;
                }
            }
            // More of the stream is asked first, then tiles on which the rule differs from its neighbours.
            let tiles = if asked < most { self.stream.take(asked) } else { self.telling(&agreeing.rule) };
            asked += tiles.count;
            if tiles.count == 0 || !self.ask(&tiles) {
                break;
            }
        }
        if let (None, Some(signal)) = (&candidate, interrupt::pending()) {
            candidate = known.first().map(|start| Found { rule: start.rule.clone(), known: None, misses: usize::MAX });
            self.failure.get_or_insert(Error::Interrupted { by: signal }.to_string());
        }
        self.bench.refusal()?;
        Ok(Identification { generation, ..self.conclude(instruction, candidate) })
    }

    /// The first of these rules that gives every answer.
    fn unchanged(&self, starts: &[Start]) -> Option<Found> {
        let start = starts.iter().find(|start| {
            evaluator(&start.rule, &self.bench.answers.part)
                .is_some_and(|evaluator| self.bench.answers.agree(&evaluator))
        })?;
        Some(Found { rule: start.rule.clone(), known: start.known.clone(), misses: 0 })
    }

    /// Asks tiles; true if any was answered.
    pub(super) fn ask(&mut self, tiles: &Tiles) -> bool {
        match self.bench.ask(tiles) {
            Ok(answers) => !answers.is_empty(),
            Err(error) => {
                self.failure = Some(error.to_string());
                false
            }
        }
    }

    /// The most frequent code of NaN among the answers; without one, the NaN of D's format.
    pub(super) fn nan(&self) -> u64 {
        let d = self.bench.answers.part.d;
        let mut counts = BTreeMap::new();
        for code in self.bench.answers.codes().filter(|code| d.decode(*code).class == Class::Nan) {
            *counts.entry(code).or_insert(0) += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(code, _)| code);
        most.or(d.nan()).unwrap_or(0)
    }

    /// Tiles of the stream that distinguish a rule from its one-step changes that give all answers.
    fn telling(&mut self, rule: &Rule) -> Tiles {
        let answers = &self.bench.answers;
        let part = &answers.part;
        let Some(current) = evaluator(rule, part) else { return Tiles::zeros(part, 0) };
        let of = |change| Survivor::of(rule, vec![change], part);
        let others: Vec<Survivor> = parallel::map(rule::changes(rule, part), of).into_iter().flatten().collect();
        let each = (part.m * part.n * part.stored_k() * others.len().max(1)) as u64;
        let tiles = self.stream.take(LOOKED_THROUGH.min((TELLING / each) as usize));
        let first = first_differing(&current, &others, &tiles);
        // Most changes differ at once, and only few of those that do not give all answers.
        let told = parallel::map(others.iter().zip(first).collect::<Vec<_>>(), |(other, at)| {
            at.filter(|_| answers.agree(&other.evaluator))
        });
        let mut telling = Tiles::zeros(part, 0);
        let told: BTreeSet<usize> = told.into_iter().flatten().collect();
        told.into_iter().for_each(|at| telling.extend(&tiles.slice(at, at + 1)));
        telling
    }

    fn conclude(&mut self, instruction: &Instruction, candidate: Option<Found>) -> Identification {
        let known = &self.bench.answers;
        let (rule, origin) = match candidate {
            // A known rule is kept as shipped, with all its keys.
            Some(Found { rule, known: Some(origin), .. }) => (Some(rule), Some(origin)),
            Some(Found { rule, .. }) if interrupt::pending().is_some() => (Some(rule), None),
            Some(Found { rule, misses, .. }) => (Some(simplest(rule, misses, known)), None),
            None => (None, None),
        };
        let evaluator = rule.as_ref().and_then(|rule| evaluator(rule, &known.part));
        let misses = evaluator.as_ref().map_or(usize::MAX, |evaluator| known.misses(evaluator));
        let (inputs, d) = known.all();
        let Instruction { m, n, k, .. } = known.part;
        let asked = Trace { m, n, k, inputs, d, metadata: BTreeMap::new(), instruction: instruction.clone() };
        let (executions, spent) = (self.bench.executions(), self.bench.is_spent());
        let failure = self.failure.clone().or_else(|| self.bench.failure().map(ToString::to_string));
        let uniform = if rule.is_none() { Uniform::of(known.part.d, known.codes()) } else { None };
        Identification {
            instruction: instruction.clone(),
            rule,
            known: origin,
            asked,
            misses,
            executions,
            spent,
            failure,
            uniform,
            generation: None,
            withheld: Vec::new(),
            nans: Nans::ByCode,
        }
    }
}

/// Removes the keys that no answer needs from a rule that misses `misses` outputs.
fn simplest(mut rule: Rule, misses: usize, known: &Answers) -> Rule {
    let as_good =
        |rule: &Rule| evaluator(rule, &known.part).is_some_and(|evaluator| known.misses(&evaluator) <= misses);
    let mut keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    keys.retain(|key| rule.value(key).is_some() && !["instructions", "evidence", "step", "node"].contains(key));
    keys.sort_unstable();
    for key in keys {
        let mut without = rule.clone();
        if without.set(key, None) && as_good(&without) {
            rule = without;
        }
    }
    rule
}
