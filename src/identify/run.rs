//! Identifying one instruction: asking, searching, and asking again where candidates differ.

use std::collections::BTreeMap;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use toml::Table;

use super::{
    ask::{Asker, part},
    candidate::{Candidate, evaluator},
    directed::{Directed, Shown},
    extremes::{self, Which},
    file,
    fit::{Answered, Fit, MOST_LANES, ROUNDINGS},
    isolate,
    moves::Move,
    pool::{Measure, Pool},
    search::{MUCH, Search, Steps},
    starts::{self, Start},
    steps::{Own, Products, Step, SumSteps},
    structure,
};
use crate::{
    Error, Result,
    arithmetic::Evaluator,
    base::{interrupt, parallel},
    device::Device,
    format::Class,
    inputs::{Corners, Sequence},
    isa::{Case, Instruction, Tiles},
    power,
    trace::Trace,
    tree::{self, Leaf, Manner, Order},
};

/// Tiles of the verification stream that are asked first, and at most before the rule counts as found.
const FIRST: usize = 72;
const MOST: usize = 600;
/// Outputs that are asked at least before the rule counts as found, and the tiles that this may take.
const FEWEST_OUTPUTS: usize = 40_000;
const MOST_TILES: usize = 5_000;
/// Tiles that are asked a second time, turned.
const REPEATED: usize = 48;
/// Tiles of the stream that are looked through for one on which two candidates differ.
const LOOKED_THROUGH: usize = 1 << 9;
/// Tiles that the order of the sum may take.
const MOST_FOR_ORDER: usize = 6000;
/// The products that this may take to compute.
const TELLING: u64 = 1 << 27;
/// The most numbers of k in a group that are tried.
const MOST_GROUPS: usize = 8;
/// The most steps of a sum that are looked at one by one; how many outputs show one of them, and the tiles that this may take.
const MOST_STEPS: usize = 40;
const SHOWING: usize = 640;
const MOST_SHOWING: usize = 32;
/// Outputs that show what a step does with extreme numbers, and what it may take to find that out, in products of single cases.
const EXTREME: usize = 640;
const SETTLING: u64 = 3 << 21;
/// How often what else is known is looked at for what was found wrong, and the tiles and the cases of each that are taken.
const POLISHED: usize = 8;
/// Cases that show extreme numbers, and ordinary ones, that are held against what steps may do.
const EXTREMES: usize = 4096;
const ORDINARY: usize = 1024;
const MISSED: (usize, usize) = (16, 6);
/// The work after which only those possibilities are tried that other steps have.
const FITTING: u64 = 1 << 32;
/// How often the search goes on from the nearest candidate.
const LED_ON: usize = 3;
/// How often candidates are told apart before the search gives up.
const ROUNDS: usize = 60;

/// What a search may compute before it ends without a rule, in products: half a minute of a core, about.
pub const WORK: u64 = 1 << 33;

/// How an instruction is identified.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed of the operands.
    pub seed: u64,
    /// Tiles that the device may execute.
    pub budget: u64,
    /// Whether the search begins with the arithmetics of shipped models, or from nothing.
    pub catalogue: bool,
    /// Cases that are asked first: what an earlier search missed.
    pub also: Vec<Case>,
    /// Rules that were found of other instructions of the device: they are tried before all others.
    pub begun: Vec<Table>,
    /// What the search may compute before it ends without a rule, in products, about: usually [`WORK`].
    pub work: u64,
}

/// What was found out about an instruction.
#[derive(Debug, Clone)]
pub struct Identification {
    /// The instruction.
    pub instruction: Instruction,
    /// The rule: that of the device, or the nearest that was found.
    pub rule: Table,
    /// The shipped model and the instruction whose rule it is, unchanged.
    pub known: Option<(String, String)>,
    /// The tiles that were asked, with the answers.
    pub asked: Trace,
    /// How many outputs the rule answers otherwise.
    pub misses: usize,
    /// Tiles that the device has executed.
    pub executions: u64,
    /// Whether the number of tiles that may be executed was reached before the end.
    pub spent: bool,
    /// What ended it before its end: the device failed.
    pub failure: Option<String>,
}

impl Identification {
    /// The text of a model file whose only rule it is.
    pub fn text(&self) -> String {
        file::model(std::slice::from_ref(&self.rule))
    }
}

/// Works out how `device` computes `instruction`. Where the device fails in the middle, what was learned until then is returned.
///
/// # Errors
/// The device lacks the instruction, fails before it has answered anything, or is not a function of its operands.
pub fn identify(device: &mut dyn Device, instruction: &Instruction, plan: Plan) -> Result<Identification> {
    device.prepare(instruction)?;
    let part = part(instruction);
    let mut asker = Asker::new(device, instruction, plan.budget);
    let mut stream = Stream { part: part.clone(), seed: plan.seed, next: 0 };
    let mut first = Corners::of(&part).tiles;
    first.extend(&stream.take(FIRST));
    for case in &plan.also {
        let mut tile = Tiles::zeros(&part, 1);
        tile.place(&part, 0, 0, 0, case);
        first.extend(&tile);
    }
    // Where not all can be asked, some of every kind.
    let first = shuffled(&part, &first, plan.seed);
    let answers = asker.ask(&first)?;
    let repeated = REPEATED.min(answers.len() / (part.m * part.n));
    asker.repeat(&first.slice(0, repeated), &answers)?;
    let mut known = Pool::new(&part, plan.work);
    known.add(&first, &answers);
    let known = Search::new(known);
    let mut starts = starts::begun(&plan.begun, &part);
    if plan.catalogue {
        starts.extend(starts::known(&part));
    }
    Ok(Dialogue::new(Some(asker), stream, known).run(instruction, &starts))
}

/// What a recording leaves of the arithmetics that the language has: nothing can be asked. With `catalogue` the search begins with the
/// arithmetics of shipped models.
///
/// # Errors
/// The recording has no outputs.
pub fn identify_recording(trace: &Trace, catalogue: bool) -> Result<Identification> {
    let part = trace.part();
    if trace.d.is_empty() {
        return Err(Error::request("the recording has no outputs; nothing can be learned from it"));
    }
    let mut known = Pool::new(&part, WORK);
    known.add(&trace.inputs, &trace.d);
    let starts = if catalogue { starts::known(&part) } else { Vec::new() };
    let stream = Stream { part, seed: 0, next: 0 };
    Ok(Dialogue::new(None, stream, Search::new(known)).run(&trace.instruction, &starts))
}

/// So many of these cases.
fn some(cases: Vec<Answered>, count: usize) -> Vec<Answered> {
    let step = cases.len().div_ceil(count).max(1);
    cases.into_iter().step_by(step).collect()
}

/// Tiles in a random order.
fn shuffled(part: &Instruction, tiles: &Tiles, seed: u64) -> Tiles {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..tiles.count).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    let mut all = Tiles::zeros(part, 0);
    order.into_iter().for_each(|tile| all.extend(&tiles.slice(tile, tile + 1)));
    all
}

/// The verification stream.
struct Stream {
    part: Instruction,
    seed: u64,
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

/// What is asked, and what follows.
struct Dialogue<'a> {
    /// `None`: nothing can be asked.
    asker: Option<Asker<'a>>,
    stream: Stream,
    search: Search,
    /// Known and common rules that sum in the order of the device.
    in_order: Vec<Start>,
    /// What the steps of the sum do, as far as that was found, and cases that show what they do with extreme numbers.
    settled: Option<(SumSteps, Vec<Answered>)>,
    failure: Option<String>,
}

impl<'a> Dialogue<'a> {
    fn new(asker: Option<Asker<'a>>, stream: Stream, search: Search) -> Dialogue<'a> {
        Dialogue { asker, stream, search, in_order: Vec::new(), settled: None, failure: None }
    }

    fn run(&mut self, instruction: &Instruction, known: &[Start]) -> Identification {
        let part = self.search.known.part.clone();
        let mut shapes: Option<Vec<Start>> = None;
        let mut found: Option<(Candidate, Option<(String, String)>)> = None;
        let mut asked = FIRST;
        let most = (FEWEST_OUTPUTS / (part.m * part.n)).clamp(MOST, MOST_TILES);
        for _ in 0..ROUNDS {
            if let Err(signal) = interrupt::check() {
                self.failure = Some(signal.to_string());
                break;
            }
            // What is known already comes first, unchanged.
            let unchanged = self.search.unchanged(known);
            let origin = unchanged.as_ref().and_then(|found| found.known.clone());
            let candidate = match (unchanged, found.take()) {
                (Some(unchanged), _) => unchanged.candidate,
                (None, Some((candidate, _))) => {
                    let agrees = self.search.known.penalty(&candidate.evaluator, Measure::All, 0) == 0;
                    if let Some(polished) = (!agrees).then(|| self.polished()).flatten() {
                        found = Some((polished, None));
                        continue;
                    }
                    let refined = self.search.refine(candidate, Steps::Ahead, MUCH);
                    if refined.penalty > 0 {
                        self.search.learn(&refined);
                    }
                    match self.again(known, &mut shapes, refined) {
                        Some(candidate) => candidate,
                        None => break,
                    }
                }
                (None, None) => match self.reach(known, &mut shapes) {
                    Some(candidate) => candidate,
                    None => break,
                },
            };
            let agrees = candidate.penalty == 0;
            let rule = candidate.rule.clone();
            found = Some((candidate, origin));
            if !agrees {
                break;
            }
            // More of the stream, then cases on which it differs from its neighbours.
            let tiles = if asked < most { self.stream.take(asked) } else { self.telling(&rule) };
            asked += tiles.count;
            if tiles.count == 0 || !self.ask(&tiles) {
                break;
            }
        }
        self.conclude(instruction, found)
    }

    /// The nearest candidate that is reached from all starts; what it fails leads on from it.
    fn reach(&mut self, known: &[Start], shapes: &mut Option<Vec<Start>>) -> Option<Candidate> {
        if shapes.is_none() {
            *shapes = Some(self.starts(known));
        }
        let mut best = self.search.reach(shapes.as_deref()?)?;
        for _ in 0..LED_ON {
            if best.penalty == 0 {
                break;
            }
            self.search.learn(&best);
            let refined = self.search.refine(best.clone(), Steps::Ahead, MUCH);
            if refined.penalty >= best.penalty {
                break;
            }
            best = refined;
        }
        Some(best)
    }

    /// A candidate, or one that is nearer where it does not agree with everything.
    fn again(&mut self, known: &[Start], shapes: &mut Option<Vec<Start>>, refined: Candidate) -> Option<Candidate> {
        if refined.penalty == 0 {
            return Some(refined);
        }
        let other = self.reach(known, shapes)?;
        Some(if other.penalty < refined.penalty { other } else { refined })
    }

    /// Where a search begins that no known rule ends: known rules and common shapes, those that sum in the order that the
    /// device has where that can be found out; and the tree of that order. What shows its steps alone is asked.
    fn starts(&mut self, known: &[Start]) -> Vec<Start> {
        let (part, nan) = (self.search.known.part.clone(), self.nan());
        let all =
            |groups: &[usize]| known.iter().cloned().chain(starts::shapes(&part, nan, groups)).collect::<Vec<_>>();
        let Some((order, certain)) = self.order(&part) else { return all(&starts::groups(&part)) };
        let before = self.search.known.len();
        self.ask(&isolate::tiles(&part, &order, self.stream.seed));
        self.search.isolate(before);
        let fitted = self.fit(&order, nan).map(|steps| {
            let mut settled = steps.clone();
            self.settle(&mut settled, before);
            [settled, steps]
        });
        let all = all(&structure::groups(&order, MOST_GROUPS));
        let mut fitting = structure::in_order(all.clone(), &order, &part);
        for steps in fitted.into_iter().flatten() {
            for rule in structure::shaped(&fitting, &steps).into_iter().chain(steps.rule(&part)) {
                if !self.search.fitted.contains(&rule) {
                    self.search.fitted.push(rule);
                }
            }
            self.in_order.clone_from(&fitting);
        }
        fitting.extend(structure::trees(&order, &part, nan));
        self.search.in_pairs = order.meetings().iter().all(|meeting| meeting.manner == Manner::Pair);
        if !certain {
            let others = all.iter().filter(|start| !fitting.iter().any(|own| own.rule == start.rule));
            fitting.extend(others.cloned().collect::<Vec<_>>());
        }
        if fitting.is_empty() { all } else { fitting }
    }

    /// What each step of an order does, the last one first, by tiles that show it alone.
    fn fit(&mut self, order: &Order, nan: u64) -> Option<SumSteps> {
        let part = self.search.known.part.clone();
        let mut steps = SumSteps::of(order, nan)?;
        if steps.steps.len() > MOST_STEPS {
            return None;
        }
        let mut directed = Directed::new(&part, self.stream.seed);
        let asker = self.asker.as_mut()?;
        if let Err(error) = directed.find_ranges(&mut |cases| asker.ask_cases(cases)) {
            if error.exit_status() == 3 {
                self.failure = Some(error.to_string());
            }
            return None;
        }
        let before = self.search.known.work();
        let mut found: Vec<Own> = Vec::new();
        for number in 0..steps.steps.len() {
            for shown in [Shown::Sum, Shown::Products] {
                let cases = self.shown(&mut directed, &steps.steps[number], shown)?;
                if cases.is_empty() {
                    continue;
                }
                let now = steps.steps[number].own;
                let fit = Fit { part: &part, steps: &steps, number };
                // What another step does comes first.
                let alike = found.iter().map(|other| match shown {
                    Shown::Sum => Own { products: Products::Exact, ..*other },
                    Shown::Products => Own { products: other.products, ..now },
                });
                let same = alike.into_iter().find(|own| fit.misses(*own, &cases) == 0);
                let own = match same {
                    Some(own) => own,
                    None if self.search.known.work() - before > FITTING => continue,
                    None => {
                        let mut fitted = match shown {
                            Shown::Sum => fit.sum(&cases)?,
                            Shown::Products => fit.products(&cases)?,
                        };
                        // What is rounded in a wider format may be rounded otherwise to D.
                        if number == 0 && shown == Shown::Sum && !fitted.fits(cases.len()) {
                            for rounding in ROUNDINGS {
                                let mut other = steps.clone();
                                other.overall.rounding = rounding;
                                let again = Fit { part: &part, steps: &other, number }.sum(&cases)?;
                                let cases = fitted.cases + again.cases;
                                if again.misses < fitted.misses {
                                    fitted = again;
                                    steps.overall = other.overall;
                                }
                                fitted.cases = cases;
                            }
                        }
                        self.search.known.spend(fitted.cases * part.stored_k() as u64);
                        fitted.own
                    }
                };
                steps.steps[number].own = own;
            }
            let own = steps.steps[number].own;
            if !found.contains(&own) {
                found.push(own);
            }
        }
        Some(steps)
    }

    /// What steps whose ordinary results are known, by the tiles from this one on, do with very small and very large numbers.
    fn settle(&mut self, steps: &mut SumSteps, from: usize) {
        let part = self.search.known.part.clone();
        // Ordinary results have to stay right.
        let ordinary = some(self.search.known.cases(from), ORDINARY);
        let before = self.search.known.len();
        let each = (EXTREME.div_ceil(part.m * part.n)).min(2 * MOST_SHOWING);
        for (number, step) in steps.steps.iter().enumerate() {
            let tiles = extremes::tiles(&part, step, self.stream.seed ^ number as u64, each);
            if !self.ask(&tiles) {
                return;
            }
        }
        let cases = [ordinary, some(self.search.known.cases(before), EXTREMES)].concat();
        // This has a limit of its own, and leaves the climbs what they have.
        extremes::settle(steps, &part, &cases, Which::Extremes, SETTLING / part.stored_k() as u64);
        self.polish(steps, cases);
    }

    /// Lets steps do what explains what else is known, too; `cases` show what they do with extreme numbers. What it took, in products of
    /// single cases.
    fn polish(&mut self, steps: &mut SumSteps, mut cases: Vec<Answered>) -> u64 {
        let part = self.search.known.part.clone();
        let most = SETTLING / part.stored_k() as u64;
        let mut taken = extremes::settle_zeros(steps, &part, &cases);
        let (mut seen, mut best): (Vec<SumSteps>, Option<(usize, SumSteps)>) = (Vec::new(), None);
        for round in 0..=POLISHED {
            let Some(own) = steps.rule(&part).and_then(|rule| evaluator(&rule, &part)) else { break };
            let count = self.search.known.misses(&own).iter().map(|(_, count)| count).sum::<usize>();
            if best.as_ref().is_none_or(|(least, _)| count < *least) {
                best = Some((count, steps.clone()));
            }
            let mut missed = self.search.known.missed(&own, MISSED);
            missed.retain(|case| extremes::says_something(&part, case));
            if missed.is_empty() || taken > most || round == POLISHED {
                break;
            }
            cases.extend(missed);
            seen.push(steps.clone());
            taken += extremes::settle(steps, &part, &cases, Which::All, most);
            taken += extremes::settle_zeros(steps, &part, &cases);
            if seen.contains(steps) {
                break;
            }
        }
        if let Some((_, best)) = best {
            *steps = best;
        }
        self.settled = Some((steps.clone(), cases));
        taken * part.stored_k() as u64
    }

    /// The rule of what the steps do, if they can do what explains all that is known by now.
    fn polished(&mut self) -> Option<Candidate> {
        let (mut steps, cases) = self.settled.take().filter(|_| self.search.known.work() < self.search.known.most)?;
        let taken = self.polish(&mut steps, cases);
        self.search.known.spend(taken);
        let rules = structure::shaped(&self.in_order, &steps).into_iter().chain(steps.rule(&self.search.known.part));
        rules.into_iter().find_map(|rule| Candidate::new(rule, &self.search.known, Measure::All, 0))
    }

    /// Cases that show what a step does, with the answers.
    fn shown(&mut self, directed: &mut Directed<'_>, step: &Step, shown: Shown) -> Option<Vec<Answered>> {
        let part = self.search.known.part.clone();
        let all = Leaf::all(&part);
        let mut tiles = Tiles::zeros(&part, 0);
        for _ in 0..SHOWING.div_ceil(part.m * part.n).min(MOST_SHOWING) {
            if let Some(tile) = directed.tile(step, &all, shown) {
                tiles.extend(&tile);
            }
        }
        // Products that may be summed apart from others.
        if shown == Shown::Sum {
            (2..=MOST_LANES).filter_map(|places| directed.apart(step, places)).for_each(|tile| tiles.extend(&tile));
        }
        let before = self.search.known.len();
        if tiles.count == 0 {
            return Some(Vec::new());
        }
        self.ask(&tiles).then(|| self.search.known.cases(before))
    }

    /// The order in which the device sums, if masks find one that nothing contradicts for certain; and whether nothing does at all.
    fn order(&mut self, part: &Instruction) -> Option<(Order, bool)> {
        let asker = self.asker.as_mut()?;
        let most = (asker.left() / 2).min(MOST_FOR_ORDER);
        let from = asker.executions;
        let found = tree::find(part, &mut |cases| {
            if (asker.executions - from) as usize > most {
                return Err(Error::request("the order takes too many tiles"));
            }
            asker.ask_cases(cases)
        });
        match found {
            // What comes through although it should be lost may be too near for that; what is lost is not.
            Ok(found) if found.contradictions.iter().all(|contradiction| contradiction.kept) => {
                Some((found.order, found.contradictions.is_empty()))
            }
            Ok(_) => None,
            Err(error) => {
                if error.exit_status() == 3 {
                    self.failure = Some(error.to_string());
                }
                None
            }
        }
    }

    /// Asks tiles; whether anything was answered.
    fn ask(&mut self, tiles: &Tiles) -> bool {
        let Some(asker) = &mut self.asker else { return false };
        match asker.ask(tiles) {
            Ok(answers) => {
                self.search.known.add(tiles, &answers);
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
        let mut counts = BTreeMap::new();
        for code in self.search.known.answers().filter(|code| d.decode(*code).class == Class::Nan) {
            *counts.entry(code).or_insert(0) += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(code, _)| code);
        most.or(d.nan()).unwrap_or(0)
    }

    /// Tiles that were not asked, on which a rule differs from those of its one-step changes that all answers agree with: one
    /// for each of them, where there is one.
    fn telling(&mut self, rule: &Table) -> Tiles {
        let part = self.search.known.part.clone();
        let mut telling = Tiles::zeros(&part, 0);
        let Some(own) = evaluator(rule, &part) else { return telling };
        let known = &self.search.known;
        let others = parallel::map(power::changes(rule, &part), |change| {
            evaluator(&Move(vec![change]).applied(rule), &part).filter(|other| !power::equivalent(&own, other))
        });
        let mut others: Vec<Evaluator> = others.into_iter().flatten().collect();
        let tiles = self.stream.take(LOOKED_THROUGH);
        let each = (part.m * part.n * part.stored_k()) as u64;
        let mut work = 0;
        for at in 0..tiles.count {
            work += others.len() as u64 * each;
            if work > TELLING {
                break;
            }
            let tile = tiles.slice(at, at + 1);
            let expected = own.execute_here(&tile);
            let same = parallel::map(&others, |other| other.execute_here(&tile).as_bytes() == expected.as_bytes());
            let mut same = same.into_iter();
            let different: Vec<Evaluator> = others.extract_if(.., |_| same.next() == Some(false)).collect();
            if parallel::any(&different, |other| known.penalty(other, Measure::All, 0) == 0) {
                telling.extend(&tile);
            }
        }
        telling
    }

    fn conclude(
        &mut self,
        instruction: &Instruction,
        found: Option<(Candidate, Option<(String, String)>)>,
    ) -> Identification {
        let known = &self.search.known;
        let (rule, origin) = match found {
            // What is known already stays as it is.
            Some((candidate, Some(origin))) => (candidate.rule, Some(origin)),
            Some((candidate, None)) => (simplest(candidate.rule, known), None),
            None => (Table::new(), None),
        };
        let own = evaluator(&rule, &known.part);
        let misses = own.map_or(usize::MAX, |own| known.misses(&own).iter().map(|(_, count)| count).sum());
        let (inputs, d) = known.all();
        let Instruction { m, n, k, .. } = known.part;
        let asked = Trace { m, n, k, inputs, d, metadata: BTreeMap::new(), instruction: instruction.clone() };
        let (executions, spent) = self.asker.as_ref().map_or((0, false), |asker| (asker.executions, asker.left() == 0));
        let failed = || self.asker.as_ref()?.failure().map(ToString::to_string);
        let failure = self.failure.clone().or_else(failed);
        Identification {
            instruction: instruction.clone(),
            rule,
            known: origin,
            asked,
            misses,
            executions,
            spent,
            failure,
        }
    }
}

/// The rule without the keys that no answer needs.
fn simplest(mut rule: Table, known: &Pool) -> Table {
    let penalty = |rule: &Table, limit| {
        evaluator(rule, &known.part)
            .map(|own| known.penalty(&own, Measure::All, limit))
            .filter(|penalty| *penalty <= limit)
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
