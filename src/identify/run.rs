//! Identifying one instruction: asking, searching, and asking again where candidates differ.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use toml::Table;

use super::{
    ask::Asker,
    candidate::{Candidate, evaluator},
    climb::changed,
    file,
    pool::{Pool, tiles},
    search::{Search, Steps},
    starts::{self, Start},
};
use crate::{
    Error, Result,
    arithmetic::Model,
    device::Device,
    format::Class,
    inputs::{Corners, Sequence},
    isa::{Case, Instruction},
    power::{self, Change},
    trace::Trace,
};

/// Cases of the verification stream that are asked first, and at most before the rule counts as found.
const FIRST: usize = 1024;
const MOST: usize = 8192;
/// Cases that are asked a second time, elsewhere.
const REPEATED: usize = 512;
/// Cases of the stream that are looked through for one on which two candidates differ, and how many are asked.
const LOOKED_THROUGH: usize = 1 << 14;
const DIFFERING: usize = 4;
/// How often candidates are told apart before the search gives up.
const ROUNDS: usize = 60;

/// How an instruction is identified.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The seed of the operands.
    pub seed: u64,
    /// Tiles that the device may execute.
    pub budget: u64,
}

/// What was found out about an instruction.
#[derive(Debug, Clone)]
pub struct Identification {
    /// The instruction.
    pub instruction: Instruction,
    /// The rule: that of the device, or the nearest that was found.
    pub rule: Table,
    /// A model whose only rule it is.
    pub model: Model,
    /// The shipped model and the instruction whose rule it is, unchanged.
    pub known: Option<(String, String)>,
    /// The cases that were asked, with the answers, as tiles of one row and one column.
    pub asked: Trace,
    /// How many of them the rule answers otherwise.
    pub misses: usize,
    /// Tiles that the device has executed.
    pub executions: u64,
    /// Whether the number of tiles that may be executed was reached before the end.
    pub spent: bool,
    /// What ended it before its end: the device failed.
    pub failure: Option<String>,
}

/// Works out how `device` computes `instruction`. Where the device fails in the middle, what was learned until then is returned.
///
/// # Errors
/// The device lacks the instruction, fails before it has answered anything, or is not a function of its operands.
pub fn identify(device: &mut dyn Device, instruction: &Instruction, plan: Plan) -> Result<Identification> {
    device.prepare(instruction)?;
    let mut asker = Asker::new(device, instruction, plan.budget);
    let part = Instruction { m: 1, n: 1, ..instruction.clone() };
    let mut stream = Stream { part: part.clone(), seed: plan.seed, next: 0 };
    let mut first = corners(&part);
    first.extend(stream.take(FIRST));
    // Where not all can be asked, some of every kind.
    shuffle(&mut first, plan.seed);
    let answers = asker.ask(&first)?;
    asker.repeat(&first[..answers.len().min(REPEATED)], &answers[..answers.len().min(REPEATED)])?;
    let mut known = Pool::new(instruction);
    known.add(first.iter().zip(answers));
    let mut dialogue = Dialogue { asker: Some(asker), stream, search: Search::new(known), failure: None };
    Ok(dialogue.run())
}

/// What a recording leaves of the arithmetics that the language has: nothing can be asked.
///
/// # Errors
/// The recording has no outputs.
pub fn identify_recording(trace: &Trace) -> Result<Identification> {
    let part = trace.part();
    let mut known = Pool::new(&part);
    let all = (0..trace.count()).flat_map(|tile| (0..part.m).flat_map(move |row| (0..trace.n).map(move |n| (tile, row, n))));
    let answered: Vec<(Case, u64)> = all
        .map(|(tile, row, column)| {
            (trace.inputs.case(&part, tile, row, column), trace.d.get((tile * part.m + row) * part.n + column))
        })
        .collect();
    if answered.is_empty() {
        return Err(Error::request("the recording has no outputs; nothing can be learned from it"));
    }
    known.add(answered.iter().map(|(case, answer)| (case, *answer)));
    let stream = Stream { part: known.part.clone(), seed: 0, next: 0 };
    Ok(Dialogue { asker: None, stream, search: Search::new(known), failure: None }.run())
}

/// The corners of an instruction with one row and one column.
fn corners(part: &Instruction) -> Vec<Case> {
    let corners = Corners::of(part);
    (0..corners.tiles.count).map(|tile| corners.tiles.case(part, tile, 0, 0)).collect()
}

fn shuffle(cases: &mut [Case], seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for last in (1..cases.len()).rev() {
        cases.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
}

/// The verification stream, one case to a tile.
struct Stream {
    part: Instruction,
    seed: u64,
    next: u64,
}

impl Stream {
    /// The next cases.
    fn take(&mut self, count: usize) -> Vec<Case> {
        let tiles = Sequence::Random { seed: self.seed }.tiles(&self.part, self.next, count);
        self.next += count as u64;
        (0..count).map(|tile| tiles.case(&self.part, tile, 0, 0)).collect()
    }
}

/// What is asked, and what follows.
struct Dialogue<'a> {
    /// `None`: nothing can be asked.
    asker: Option<Asker<'a>>,
    stream: Stream,
    search: Search,
    failure: Option<String>,
}

impl Dialogue<'_> {
    fn run(&mut self) -> Identification {
        let part = self.search.known.part.clone();
        let known = starts::known(&part);
        let mut shapes: Option<Vec<Start>> = None;
        let mut found = None;
        let mut asked = FIRST;
        for _ in 0..ROUNDS {
            // What is known already comes first, unchanged.
            let unchanged = self.search.unchanged(&known);
            let origin = unchanged.as_ref().and_then(|found| found.known.clone());
            let candidate = match (unchanged, found.take()) {
                (Some(unchanged), _) => unchanged.candidate,
                (None, Some((candidate, _))) => self.search.refine(candidate, Steps::Pairs),
                (None, None) => {
                    let shapes = shapes.get_or_insert_with(|| {
                        let nan = self.nan();
                        known.iter().cloned().chain(starts::shapes(&part, nan)).collect()
                    });
                    let Some(reached) = self.search.reach(shapes) else { break };
                    reached
                }
            };
            let agrees = candidate.penalty == 0;
            let rule = candidate.rule.clone();
            found = Some((candidate, origin));
            if !agrees {
                break;
            }
            // More of the stream, then cases on which it differs from its neighbours.
            let more = if asked < MOST { self.stream.take(asked) } else { Vec::new() };
            asked += more.len();
            let cases = if more.is_empty() { self.telling(&rule) } else { more };
            if cases.is_empty() || !self.ask(&cases) {
                break;
            }
        }
        self.conclude(found)
    }

    /// Asks cases; whether anything was answered.
    fn ask(&mut self, cases: &[Case]) -> bool {
        let Some(asker) = &mut self.asker else { return false };
        match asker.ask(cases) {
            Ok(answers) => {
                self.search.known.add(cases.iter().zip(answers.iter().copied()));
                !answers.is_empty()
            }
            Err(error) => {
                self.failure = Some(error.to_string());
                false
            }
        }
    }

    /// The code of D that stands for NaN most often, else that of the format.
    fn nan(&self) -> u64 {
        let d = self.search.known.part.d;
        let mut counts = std::collections::BTreeMap::new();
        for code in self.search.known.answers.iter().filter(|code| d.decode(**code).class == Class::Nan) {
            *counts.entry(*code).or_insert(0) += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(code, _)| code);
        most.or(d.nan()).unwrap_or(0)
    }

    /// Cases that were not asked, on which a rule differs from those of its one-step changes that all answers agree with.
    fn telling(&mut self, rule: &Table) -> Vec<Case> {
        let part = self.search.known.part.clone();
        let Some(own) = evaluator(rule, &part) else { return Vec::new() };
        let neighbours = |change: &Change| evaluator(&changed(rule, change), &part);
        let mut others: Vec<_> = power::changes(rule, &part).iter().filter_map(neighbours).collect();
        others.retain(|other| !power::equivalent(&own, other) && self.search.known.penalty(other, 0) == 0);
        let mut telling = Vec::new();
        let cases: Vec<Case> = self.stream.take(LOOKED_THROUGH).into_iter().filter(|c| !self.search.known.has(c)).collect();
        for chunk in cases.chunks(1024) {
            let tiles = tiles(&part, chunk);
            let expected = own.execute_here(&tiles);
            others.retain(|other| {
                let found = other.execute_here(&tiles);
                let before = telling.len();
                let differ = (0..found.len()).filter(|at| found.get(*at) != expected.get(*at));
                telling.extend(differ.take(DIFFERING).map(|at| chunk[at].clone()));
                telling.len() == before
            });
        }
        telling
    }

    fn conclude(&mut self, found: Option<(Candidate, Option<(String, String)>)>) -> Identification {
        let known = &self.search.known;
        let instruction = known.part.clone();
        let (rule, origin) = match found {
            Some((candidate, origin)) => (simplest(candidate.rule, known), origin),
            None => (Table::new(), None),
        };
        let text = file::model("identified", "an arithmetic that was worked out", std::slice::from_ref(&rule));
        let model = Model::parse(&text, "identified.toml").expect("a candidate is a rule of the language");
        let misses = model.evaluator(&instruction).map_or(known.cases.len(), |own| known.misses(&own).len());
        let asked = Trace {
            m: 1,
            n: 1,
            k: instruction.k,
            inputs: tiles(&instruction, &known.cases),
            d: crate::isa::Codes::from_values(instruction.d, &known.answers),
            metadata: std::collections::BTreeMap::new(),
            instruction: instruction.clone(),
        };
        let (executions, spent) = self.asker.as_ref().map_or((0, false), |asker| (asker.executions, asker.left() == 0));
        let failure = self.failure.clone();
        Identification { instruction, rule, model, known: origin, asked, misses, executions, spent, failure }
    }
}

/// The rule without the keys that no answer needs.
fn simplest(mut rule: Table, known: &Pool) -> Table {
    let penalty = |rule: &Table, limit| {
        evaluator(rule, &known.part).map(|own| known.penalty(&own, limit)).filter(|penalty| *penalty <= limit)
    };
    let Some(own) = penalty(&rule, u64::MAX) else { return rule };
    let keys: Vec<String> = rule.keys().cloned().collect();
    for key in keys.iter().filter(|key| !["instructions", "evidence", "step", "node"].contains(&key.as_str())) {
        let mut without = rule.clone();
        without.remove(key);
        if penalty(&without, own).is_some() {
            rule = without;
        }
    }
    rule
}
