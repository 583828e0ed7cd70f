//! The study of a device: a search for the arithmetic of each instruction, and a held-out run.
//!
//! If held-out cases differ, the search goes on with them.

use std::{
    collections::{HashSet, VecDeque},
    iter,
    thread::available_parallelism,
    time::{Duration, Instant},
};

use super::{
    Confirmation, HeldOut, Identification, Likeness, Plan, Refuting, WORK, ask_open, ask_reduced, confirm,
    confirm::KEPT,
    evidence,
    file::{evidence_of, model_file},
    go_on, identify, identify_recording, likeness, reduced,
    side_by_side::each,
    tables,
};
use crate::{
    Error, Result,
    arithmetic::{Evidence, EvidenceSource, Rule},
    base::{interrupt, work::UNASKED},
    campaign::{Part, State},
    comparison::{Difference, Nans, with_one_nan},
    device::{CampaignWork, Device, DeviceName, Identity},
    inputs::Sequence,
    isa::{Case, Instruction},
    rule::Tested,
    trace::Trace,
};

/// Tiles of a search by default.
const SEARCHED: u64 = 20_000;
/// Held-out cases by default, for a GPU.
const GPU_CASES: u64 = 10_000_000_000;
/// Held-out cases by default, for any other device.
const OTHER_CASES: u64 = 10_000_000;
/// Largest number of instructions that are searched side by side, each the first of its kind.
/// A constant, so that no result depends on the cores.
const WAVE: usize = 16;
/// Largest number of others that are searched side by side; their rules are mostly known by then.
const LATER_WAVE: usize = 48;
/// Largest number of searches after the first, each begun by held-out cases that differ.
const SEARCHES_AGAIN: usize = 4;
/// Number of held-out cases added to searches from which on no further search begins.
const MOST_ADDED: usize = 64;

/// A request to study the instructions of a device.
#[derive(Debug, Clone)]
pub struct Request {
    /// The seed of the search; the held-out cases have the next one.
    pub seed: u64,
    /// True if a search begins with the arithmetics of shipped models, false if it begins from nothing.
    pub catalogue: bool,
    /// The NaN codes that count as equal.
    /// If all do, the caller wraps the device in [`OneNan`](crate::comparison::OneNan).
    pub nans: Nans,
    /// The limits for each instruction.
    pub limits: Limits,
    /// The date in the evidence of the rules that are found.
    pub date: Option<String>,
    /// True if instructions that the device lacks are left out, false if they end the study.
    pub skip_lacking: bool,
    /// Shipped models that the searches do not know.
    pub withheld: Vec<String>,
}

impl Request {
    /// The usual request: seed 0, from the shipped arithmetics, by NaN codes.
    /// The limits suit the device.
    pub fn new(device: &dyn Device) -> Request {
        let limits = Limits::of(device, None, None);
        let (nans, withheld) = (Nans::ByCode, Vec::new());
        Request { seed: 0, catalogue: true, nans, limits, date: None, skip_lacking: false, withheld }
    }
}

/// The limits of the questions about one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Tiles of a search.
    pub search: u64,
    /// Longest time that the answers to a search may take.
    pub search_time: Duration,
    /// Tiles of the search and of the held-out run together; `None`: no limit.
    /// With a limit there is one search only.
    pub tiles: Option<u64>,
    /// Held-out cases.
    pub cases: u64,
    /// Longest time of a held-out run; `None`: no limit.
    pub held_out_time: Option<Duration>,
}

impl Limits {
    /// The limits for a number of tiles and a number of held-out cases.
    /// If a number is not given, the limit suits the device. Times are then limited to a minute.
    pub fn of(device: &dyn Device, tiles: Option<u64>, cases: Option<u64>) -> Limits {
        Limits {
            // A quarter of the tiles is left for the held-out run.
            search: tiles.map_or(SEARCHED, |tiles| tiles - tiles / 4),
            search_time: if tiles.is_some() { Duration::MAX } else { UNASKED },
            tiles,
            cases: cases.unwrap_or(if is_gpu(device) { GPU_CASES } else { OTHER_CASES }),
            held_out_time: if tiles.is_some() || cases.is_some() { None } else { Some(UNASKED) },
        }
    }
}

/// The progress of a study.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A search begins.
    Searching(&'a Instruction),
    /// A held-out run begins, with this number of tiles.
    Comparing(&'a Instruction, u64),
    /// A part of the held-out run is done.
    Compared(&'a State),
}

/// The arithmetic of one instruction, as far as known.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The result of the search.
    pub identification: Identification,
    /// The shipped arithmetic that is nearest to the rule.
    pub like: Option<Likeness>,
    /// The verdicts on the changes of a rule that agrees with everything.
    pub tested: Option<Tested>,
    /// The inputs that decided the lines of the rule.
    pub evidence: Vec<Refuting>,
    /// The causes for which the rule misses asked outputs.
    pub missed: Vec<Difference>,
    /// The held-out run.
    pub held_out: Option<Part>,
    /// The error that ended the work early.
    pub stopped: Option<Error>,
    /// Seconds that the searches took.
    pub seconds: f64,
    /// The source of the answers.
    pub source: EvidenceSource,
}

impl Finding {
    fn new(identification: Identification, nans: Nans, seconds: f64, source: EvidenceSource) -> Finding {
        let failed = identification.failure.as_ref();
        Finding {
            stopped: failed.map(|failed| interrupt::check().err().unwrap_or_else(|| Error::device(failed.clone()))),
            like: None,
            tested: None,
            evidence: Vec::new(),
            missed: Vec::new(),
            held_out: None,
            seconds,
            source,
            identification: Identification { nans, ..identification },
        }
    }

    /// True if the rule agrees with everything that was asked and held out.
    pub fn agrees(&self) -> bool {
        self.identification.misses == 0 && self.held_out.as_ref().is_none_or(|part| part.state.differing() == 0)
    }

    /// The evidence of the rule.
    fn rule_evidence(&self) -> Evidence {
        let held_out = self.held_out.as_ref().map(|part| (part.state.compared(), part.state.differing()));
        evidence_of(&self.identification, &self.source, held_out, self.tested.as_ref())
    }

    /// Finds the likeness and the evidence of the rule; returns the reduced inputs that may be asked again.
    ///
    /// If the work ended early, only the likeness is found.
    fn judge(&mut self) -> Result<Vec<Refuting>> {
        self.like = likeness(&self.identification);
        if self.stopped.is_some() {
            return Ok(Vec::new());
        }
        if !self.agrees() {
            if self.held_out.is_none() {
                self.missed = self.identification.missed()?;
            }
            return Ok(Vec::new());
        }
        self.tested = tables::tested(&self.identification)?;
        let Some(tested) = &self.tested else { return Ok(Vec::new()) };
        self.evidence = evidence(&self.identification, tested);
        let asks = self.identification.executions > 0;
        Ok(if asks { reduced(&self.identification, tested, &self.evidence) } else { Vec::new() })
    }

    /// Judges a compared finding with further questions to the device.
    /// True if an answer refutes the rule that agreed, so that the search may go on.
    fn judge_by(&mut self, device: &mut dyn Device, request: &Request) -> bool {
        let reduced = self.judge().unwrap_or_else(|error| {
            self.stopped.get_or_insert(error);
            Vec::new()
        });
        // A held-out run without differences leaves the tiles that were kept for explaining them.
        let tiles = request.limits.tiles;
        let left = |tiles: u64| tiles.saturating_sub(self.identification.executions) / KEPT;
        let most = tiles.map_or(u64::MAX, left);
        let agreed = self.agrees();
        self.ask_again(device, reduced, most, request.seed);
        agreed && self.stopped.is_none() && tiles.is_none() && self.identification.misses > 0
    }

    /// Asks the device for the reduced inputs, then where the rules that give every answer differ.
    /// At most `most` tiles are asked.
    fn ask_again(&mut self, device: &mut dyn Device, reduced: Vec<Refuting>, most: u64, seed: u64) {
        let Some(tested) = self.tested.as_mut().filter(|_| self.stopped.is_none()) else { return };
        let identification = &mut self.identification;
        let before = identification.executions;
        let outcome = ask_reduced(device, identification, &mut self.evidence, reduced, most);
        let left = most.saturating_sub(identification.executions - before);
        self.stopped = outcome.and_then(|()| ask_open(device, identification, tested, seed, left)).err();
        if identification.misses > 0 {
            self.tested = None;
            self.missed = self.identification.missed().unwrap_or_default();
        }
    }
}

/// The arithmetics of the instructions of a device, as far as they were found.
#[derive(Debug, Clone, Default)]
pub struct Study {
    /// The finding for each instruction.
    pub findings: Vec<Finding>,
    /// The errors for instructions that the device lacks.
    pub lacking: Vec<Error>,
}

impl Study {
    /// The model file of the rules that were found; `None` if there is no rule.
    pub fn model_file(&self) -> Option<String> {
        let findings: Vec<&Finding> =
            self.findings.iter().filter(|finding| finding.identification.rule.is_some()).collect();
        (!findings.is_empty())
            .then(|| model_file(findings.iter().map(|finding| (&finding.identification, finding.rule_evidence()))))
    }
}

/// Works out the arithmetic that a recording shows of its instruction.
/// `name` says where the recording is from.
///
/// # Errors
/// The recording has no outputs, or two for one tile.
pub fn study_recording(mut trace: Trace, name: String, catalogue: bool, nans: Nans) -> Result<Finding> {
    if nans == Nans::Alike {
        trace.d = with_one_nan(trace.instruction.d, trace.d);
    }
    let start = Instant::now();
    let identification = identify_recording(&trace, catalogue)?;
    let source = EvidenceSource::Recorded { by: name, device: trace.metadata.get("device").cloned(), files: None };
    let mut finding = Finding::new(identification, nans, start.elapsed().as_secs_f64(), source);
    let judged = finding.judge();
    finding.stopped = finding.stopped.or(judged.err());
    Ok(finding)
}

/// The source of the answers of a device; those of a model are assumed.
pub fn source(Identity { name, description, .. }: &Identity, date: &Option<String>) -> EvidenceSource {
    match name.model() {
        Some(_) => EvidenceSource::Assumed { why: format!("as {name} computes it") },
        None => EvidenceSource::Measured {
            device: format!("{name} ({description})"),
            date: date.clone(),
            cases: None,
            files: None,
        },
    }
}

/// A session with a device, whose instructions are identified one after the other.
///
/// A rule that is found is tried first for the next instruction.
///
/// ```
/// use std::time::Duration;
/// use tcnum_engine::{device, isa};
/// use tcnum_study::identify::{Limits, Request, Session, Study};
///
/// let mut device = device::open(Some(&"model:hopper".into()), Duration::from_secs(60))?;
/// let instruction = isa::find("mma.m16n8k8.f16.f16.f16.f16")?;
/// let limits = Limits::of(device.as_ref(), None, Some(1000));
/// let mut study = Study::default();
/// let request = Request { limits, ..Request::new(device.as_ref()) };
/// Session::new(device.as_mut(), &request, &mut |_| ()).identify(&[instruction], &mut study)?;
/// assert!(study.findings[0].agrees());
/// # Ok::<(), tcnum_engine::Error>(())
/// ```
pub struct Session<'a> {
    device: &'a mut dyn Device,
    request: &'a Request,
    watch: &'a mut dyn FnMut(Progress),
    /// The rules found so far, with which later searches begin.
    rules: Vec<Rule>,
}

/// Findings that are not complete yet.
#[derive(Default)]
struct Queue {
    /// Findings that wait for their held-out runs.
    found: VecDeque<Finding>,
    /// Findings that wait to be judged.
    compared: Vec<Finding>,
}

/// Work that needs no other one, but a device to ask.
enum Job<'i> {
    /// Search for the arithmetic of an instruction.
    Search(&'i Instruction, Plan),
    /// Judge a compared finding.
    Judge(Box<Finding>),
}

/// The outcome of a job.
enum Done {
    /// The outcome of a search, and its seconds.
    Searched(Result<Box<Identification>>, f64),
    /// A judged finding; whether an answer refutes its rule.
    Judged(Box<Finding>, bool),
}

impl<'a> Session<'a> {
    /// A session with a device; `watch` gets the progress.
    pub fn new(device: &'a mut dyn Device, request: &'a Request, watch: &'a mut dyn FnMut(Progress)) -> Session<'a> {
        Session { device, request, watch, rules: Vec::new() }
    }

    /// Works out the arithmetic of each instruction, and adds the findings to `study`.
    ///
    /// After an error, `study` has the findings until then; the finding that the error ended has the error too.
    ///
    /// # Errors
    /// The device fails, lacks an instruction, or is not a function of its operands; a signal.
    pub fn identify(&mut self, instructions: &[Instruction], study: &mut Study) -> Result<()> {
        if let Some(preparation) = self.device.preparation() {
            preparation.announce(instructions);
        }
        let mut queue = Queue::default();
        let outcome = self.all(instructions, &mut queue, study);
        // Findings that are not judged yet are kept, although nothing confirms them any more.
        let left = queue.found.into_iter().chain(queue.compared);
        study
            .findings
            .extend(left.map(|finding| Finding { stopped: finding.stopped.or(outcome.clone().err()), ..finding }));
        let place =
            |finding: &Finding| instructions.iter().position(|i| i.name == finding.identification.instruction.name);
        study.findings.sort_by_cached_key(place);
        for finding in study.findings.iter_mut().filter(|finding| finding.like.is_none()) {
            finding.like = likeness(&finding.identification);
        }
        outcome
    }

    fn all(&mut self, instructions: &[Instruction], queue: &mut Queue, study: &mut Study) -> Result<()> {
        // While the kernels of one held-out run are compiled, the next instructions are searched.
        let ahead = if is_gpu(self.device) { available_parallelism().map_or(1, usize::from) } else { 0 };
        let (waves, has_threads) = (self.waves(instructions), self.has_threads());
        for wave in waves.iter().map(|wave| &wave[..]).chain(iter::repeat(&[][..])) {
            if wave.is_empty() && queue.found.is_empty() && queue.compared.is_empty() {
                break;
            }
            self.search_and_judge(wave, queue, study)?;
            let ahead = if wave.is_empty() { queue.found.len().saturating_sub(WAVE) } else { ahead };
            let mut is_over = false;
            while queue.found.len() > ahead && !is_over {
                let Some(mut finding) = queue.found.pop_front() else { break };
                if let Err(error) = self.compared(&mut finding) {
                    finding.stopped.get_or_insert(error);
                }
                is_over = finding.stopped.is_some();
                queue.compared.push(finding);
            }
            // Nothing is searched after a failure, and with one thread nothing before the judgement.
            if !has_threads || is_over {
                self.search_and_judge(&[], queue, study)?;
            }
        }
        Ok(())
    }

    /// Instructions that are searched side by side.
    ///
    /// The rules of a wave are tried first in the next ones. So one instruction is alone, and the first one of each family and combination of
    /// formats comes before the rest.
    fn waves<'i>(&self, instructions: &'i [Instruction]) -> Vec<Vec<&'i Instruction>> {
        if !self.has_threads() {
            return instructions.iter().map(|instruction| vec![instruction]).collect();
        }
        let mut seen = HashSet::new();
        let kind = |i: &Instruction| (i.family().to_string(), [i.a.name, i.b.name, i.c.name, i.d.name], i.is_sparse());
        let (first, rest): (Vec<_>, Vec<_>) =
            instructions.iter().partition(|instruction| seen.insert(kind(instruction)));
        let waves = |all: &[&'i Instruction], length| -> Vec<_> { all.chunks(length).map(<[_]>::to_vec).collect() };
        let (alone, others) = first.split_at(first.len().min(1));
        [waves(alone, 1), waves(others, WAVE), waves(&rest, LATER_WAVE)].concat()
    }

    /// True if the device can be asked by several threads.
    fn has_threads(&self) -> bool {
        is_gpu(self.device) || self.device.for_thread().is_some()
    }

    /// Searches for the arithmetics of a wave of instructions, and judges the compared findings.
    /// What is found waits for its held-out run.
    fn search_and_judge(&mut self, wave: &[&Instruction], queue: &mut Queue, study: &mut Study) -> Result<()> {
        wave.iter().for_each(|instruction| (self.watch)(Progress::Searching(instruction)));
        let judgements = queue.compared.drain(..).map(|finding| Job::Judge(Box::new(finding)));
        let jobs = judgements.chain(wave.iter().map(|instruction| Job::Search(instruction, self.plan()))).collect();
        let request = self.request;
        let work = |device: &mut dyn Device, job| match job {
            Job::Judge(mut finding) => {
                let is_refuted = finding.judge_by(device, request);
                Done::Judged(finding, is_refuted)
            }
            Job::Search(instruction, plan) => {
                let start = Instant::now();
                Done::Searched(identify(device, instruction, plan).map(Box::new), start.elapsed().as_secs_f64())
            }
        };
        let mut stopped = Ok(());
        for done in each(self.device, jobs, work) {
            let outcome = match done {
                None => {
                    let name = &self.device.identity().name;
                    Err(Error::device(format!("{name}: a search ended without a result")))
                }
                Some(Done::Judged(finding, is_refuted)) => {
                    let finding = self.settled(*finding, is_refuted);
                    let outcome = finding.stopped.clone().map_or(Ok(()), Err);
                    study.findings.push(finding);
                    outcome
                }
                Some(Done::Searched(Err(error), _)) if self.request.skip_lacking && error.is_unavailable() => {
                    study.lacking.push(error);
                    Ok(())
                }
                Some(Done::Searched(Err(error), _)) => Err(error),
                Some(Done::Searched(Ok(identification), seconds)) => {
                    let source = source(self.device.identity(), &self.request.date);
                    let finding = Finding::new(*identification, self.request.nans, seconds, source);
                    if finding.identification.misses == 0 {
                        self.rules.extend(finding.identification.rule.clone());
                    }
                    self.announce(&finding.identification);
                    let outcome = finding.stopped.clone().map_or(Ok(()), Err);
                    queue.found.push_back(finding);
                    outcome
                }
            };
            stopped = stopped.and(outcome);
        }
        stopped
    }

    /// Lets the device prepare for the held-out run of a rule that was found.
    fn announce(&mut self, identification: &Identification) {
        let sequence = Sequence::Random { seed: self.held_out_seed() };
        if let (Some(campaigns), Some(model)) = (self.device.campaigns(), identification.model()) {
            campaigns.announce(&[CampaignWork { instruction: &identification.instruction, sequence, model: &model }]);
        }
    }

    fn held_out_seed(&self) -> u64 {
        self.request.seed.wrapping_add(1)
    }

    fn plan(&self) -> Plan {
        let Request { seed, catalogue, limits, .. } = *self.request;
        let (found_rules, withheld) = (self.rules.clone(), self.request.withheld.clone());
        Plan { seed, budget: limits.search, time: limits.search_time, catalogue, found_rules, withheld, work: WORK }
    }

    /// If an answer has refuted the rule of a judged finding, the search goes on.
    fn settled(&mut self, mut finding: Finding, mut is_refuted: bool) -> Finding {
        for _ in 0..SEARCHES_AGAIN {
            if !is_refuted {
                break;
            }
            if let Err(error) = self.search_on(&mut finding, &[]).and_then(|()| self.compared(&mut finding)) {
                finding.stopped.get_or_insert(error);
            }
            is_refuted = finding.judge_by(self.device, self.request);
        }
        finding
    }

    /// Continues the search of a finding with cases that its rule misses.
    fn search_on(&mut self, finding: &mut Finding, cases: &[Case]) -> Result<()> {
        let start = Instant::now();
        let plan = self.plan();
        let identification = go_on(self.device, &finding.identification, cases, plan)?;
        let seconds = finding.seconds + start.elapsed().as_secs_f64();
        *finding = Finding::new(identification, self.request.nans, seconds, finding.source.clone());
        Ok(())
    }

    /// Compares the rule of a finding with the device; cases that differ continue the search.
    ///
    /// # Errors
    /// The device fails; an interruption.
    fn compared(&mut self, finding: &mut Finding) -> Result<()> {
        let mut added = 0;
        for _ in 0..SEARCHES_AGAIN {
            self.hold_against(finding);
            let kinds = finding.held_out.iter().flat_map(|part| &part.state.kinds);
            let cases: Vec<Case> = kinds.map(|kind| kind.original.case.clone()).collect();
            let bounded = self.request.limits.tiles.is_some();
            let goes_on = finding.stopped.is_none() && finding.identification.misses == 0 && !bounded;
            if !goes_on || cases.is_empty() || added >= MOST_ADDED {
                return Ok(());
            }
            added += cases.len();
            self.search_on(finding, &cases)?;
        }
        self.hold_against(finding);
        Ok(())
    }

    /// Compares the rule of a finding with held-out cases, if there is a rule and tiles are left.
    fn hold_against(&mut self, finding: &mut Finding) {
        let Limits { tiles, cases, held_out_time, .. } = self.request.limits;
        let budget = tiles.map(|tiles| tiles.saturating_sub(finding.identification.executions));
        if finding.stopped.is_some() || finding.identification.rule.is_none() || budget.is_some_and(|left| left < 2) {
            return;
        }
        let instruction = &finding.identification.instruction;
        (self.watch)(Progress::Comparing(instruction, cases.div_ceil((instruction.m * instruction.n) as u64)));
        let held_out = HeldOut { seed: self.held_out_seed(), cases, budget, time: held_out_time };
        let mut watch = |state: &State| {
            (self.watch)(Progress::Compared(state));
            Ok(())
        };
        match confirm(self.device, &finding.identification, held_out, &mut watch) {
            Ok(Confirmation { part, missed, stopped }) => {
                (finding.held_out, finding.missed, finding.stopped) = (Some(part), missed, stopped);
            }
            Err(error) => finding.stopped = Some(error),
        }
    }
}

fn is_gpu(device: &dyn Device) -> bool {
    matches!(device.identity().name, DeviceName::Cuda(_))
}
