//! Which schedule gives a matrix in every bit: candidates are judged on a few elements, the survivors on all.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::{
    Differences, Executor, Factors, KOrder, Matrix, PartJoin, Residue, Run, Schedule, compute::compute,
    compute::elements, register::Register, schedule::CEntry,
};
use crate::{
    Error, Result,
    arithmetic::{Evaluator, Model, Program},
    base::{interrupt, parallel, sorting},
    device::ModelDevice,
    exact,
    format::Format,
    inputs,
    isa::{self, Codes, Instruction},
};

/// The most parts of a split that is tried.
const MOST_PARTS: usize = 16;
/// What the k of parts may be a multiple of, besides the usual.
const GRANULES: [usize; 4] = [16, 32, 64, 128];
/// After how many k sums may be promoted: by kernels of GPUs, and by libraries for processors, which sum a block of k that fits into a
/// cache, and may halve what is left, to multiples of these.
const PROMOTIONS: [usize; 6] = [32, 64, 128, 256, 384, 512];
const CACHED: [usize; 8] = [128, 192, 240, 256, 320, 384, 448, 512];
const HALVES: [Option<usize>; 4] = [None, Some(4), Some(8), Some(16)];
/// The slabs of which the first may be short.
const SLABS: [usize; 4] = [16, 32, 64, 128];
/// Rows and columns of the elements that every candidate is judged on, then those that are left, and so on.
const SAMPLES: [(usize, usize); 3] = [(1, 8), (8, 16), (32, 32)];
/// Of the candidates that do not give D, how many are looked at more closely for the nearest.
const NEAR: usize = 16;
/// Of the survivors, how many are computed in full.
const MOST_MATCHES: usize = 64;

/// What a matrix product may have been made of.
#[derive(Debug, Clone)]
pub struct Suspects {
    /// The models.
    pub models: Vec<String>,
    /// The instructions; none: all that the models have for the formats of A and B.
    pub instructions: Vec<Instruction>,
    /// alpha and beta.
    pub factors: (f64, f64),
}

/// The arithmetic of an instruction in a model, and the instructions that have the same.
#[derive(Debug, Clone)]
pub struct SuspectedArithmetic {
    /// The model.
    pub model: String,
    /// The instruction.
    pub instruction: Instruction,
    /// Others with the same arithmetic, each with its model.
    pub alike: Vec<String>,
}

/// A schedule that was tried.
#[derive(Debug, Clone)]
pub struct MatchCandidate {
    /// The arithmetic.
    pub arithmetic: Arc<SuspectedArithmetic>,
    /// The schedule.
    pub schedule: Schedule,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Matches {
    /// How many schedules were tried, and of how many arithmetics.
    pub tried: usize,
    /// The arithmetics that they are of.
    pub arithmetics: usize,
    /// Those that give D in every bit, the simplest first.
    pub found: Vec<MatchCandidate>,
    /// How many more agreed on the elements that all are judged on, and were not computed in full.
    pub unchecked: usize,
    /// Where none gives D: the nearest, and where it differs.
    pub nearest: Option<(MatchCandidate, Differences)>,
}

/// Finds the schedules that give `d`; `step` is told what is being done.
///
/// # Errors
/// Matrices that do not fit, formats that no instruction of the models multiplies, [`Error::Interrupted`].
pub fn find(suspects: &Suspects, factors: &Factors, d: &Matrix, step: &dyn Fn(&str)) -> Result<Matches> {
    let shape = (factors.a.rows, factors.b.columns);
    if (d.rows, d.columns) != shape {
        return Err(Error::request(format!(
            "D is {}, and A times B is {} x {}: it is the result of another product",
            d.shape(),
            shape.0,
            shape.1
        )));
    }
    let arithmetics = arithmetics(suspects, factors, d.format)?;
    step(&format!("{} arithmetics", arithmetics.len()));
    let mut left = suspected(&arithmetics, suspects, factors, d.format)?;
    let tried = left.len();
    let mut agreeing = 0;
    for (seed, extents) in SAMPLES.into_iter().enumerate() {
        let sample = Sample::new(factors, d, extents, seed as u64);
        let mut judged = sample.judge(left)?;
        // The simplest first, of those that are as near.
        sorting::by_key(&mut judged, |(score, suspect)| (*score, weight(&suspect.candidate.schedule)));
        agreeing = judged.iter().filter(|(score, _)| score.agrees()).count();
        step(&format!("{agreeing} of {tried} schedules agree on {} elements", sample.d.codes.len()));
        let kept = if agreeing > 0 { agreeing } else { NEAR };
        left = judged.into_iter().take(kept).map(|(_, suspect)| suspect).collect();
    }
    let (mut found, mut nearest): (Vec<MatchCandidate>, Option<(MatchCandidate, Differences)>) = (Vec::new(), None);
    for Suspect { candidate, .. } in left.iter().take(agreeing.clamp(1, MOST_MATCHES)) {
        step(&format!("computing {}", candidate.schedule.sentence(factors.k())));
        let differences = Differences::between(&whole(candidate, factors)?, d)?;
        if differences.differing == 0 {
            found.push(candidate.clone());
        } else if nearest.as_ref().is_none_or(|(_, other)| differences.differing < other.differing) {
            nearest = Some((candidate.clone(), differences));
        }
    }
    let unchecked = agreeing.saturating_sub(MOST_MATCHES);
    let nearest = nearest.filter(|_| found.is_empty());
    Ok(Matches { tried, arithmetics: arithmetics.len(), found, unchecked, nearest })
}

/// A candidate, and the number of those with which it shares runs: of one arithmetic, in one order.
#[derive(Debug, Clone)]
struct Suspect {
    kin: usize,
    candidate: MatchCandidate,
}

/// All candidates.
fn suspected(
    arithmetics: &[Arc<SuspectedArithmetic>],
    suspects: &Suspects,
    factors: &Factors,
    output: &'static Format,
) -> Result<Vec<Suspect>> {
    let mut all = Vec::new();
    for (kin, (arithmetic, order)) in
        arithmetics.iter().flat_map(|arithmetic| KOrder::ALL.map(|order| (arithmetic, order))).enumerate()
    {
        let schedules = schedules(arithmetic, order, suspects, factors, output)?;
        let candidate = |schedule| MatchCandidate { arithmetic: Arc::clone(arithmetic), schedule };
        all.extend(schedules.into_iter().map(|schedule| Suspect { kin, candidate: candidate(schedule) }));
    }
    Ok(all)
}

/// D of a candidate.
fn whole(candidate: &MatchCandidate, factors: &Factors) -> Result<Matrix> {
    let factors = suited(factors, &candidate.schedule.instruction);
    let mut device = ModelDevice::open(&candidate.arithmetic.model)?;
    let (m, n) = (factors.a.rows, factors.b.columns);
    let mut executor = Executor::of(&mut device, &candidate.schedule, m, n)?;
    compute(&candidate.schedule, &mut executor, &factors, &|_| ())
}

/// How simple a schedule is.
fn weight(schedule: &Schedule) -> (usize, usize, usize, usize, usize) {
    (
        usize::from(schedule.order == KOrder::Descending),
        schedule.split.count,
        usize::from(schedule.promote.is_some()),
        usize::from(schedule.residue == Residue::First),
        usize::from(schedule.split.join != PartJoin::Register),
    )
}

/// Whether A and B in this format are operands of an instruction that takes that one: f32 is what tf32 is cut from.
fn serves(own: &Format, wanted: &Format) -> bool {
    own == wanted || (own.name, wanted.name) == ("f32", "tf32")
}

/// The operands in the instruction's formats.
fn suited(factors: &Factors, i: &Instruction) -> Factors {
    let mut factors = factors.clone();
    (factors.a.format, factors.b.format) = (i.a, i.b);
    factors
}

/// The arithmetics of the models for the formats, each once.
fn arithmetics(suspects: &Suspects, factors: &Factors, output: &Format) -> Result<Vec<Arc<SuspectedArithmetic>>> {
    let mut known: Vec<(Program, SuspectedArithmetic)> = Vec::new();
    let usable = |i: &&Instruction| {
        !i.is_sparse()
            && i.scale.is_none()
            && i.c == i.d
            && serves(factors.a.format, i.a)
            && serves(factors.b.format, i.b)
            && i.d.is_integer() == output.is_integer()
            && Register::of(i.d).is_some()
    };
    for name in &suspects.models {
        let model = Model::load(name)?;
        let all = if suspects.instructions.is_empty() { isa::all() } else { &suspects.instructions };
        for i in all.iter().filter(usable).filter(|i| model.rule(i).is_some()) {
            let plain = Instruction {
                m: 1,
                n: 1,
                name: String::new(),
                ptx: String::new(),
                kernel: None,
                support: &[],
                ..i.clone()
            };
            let mut program = model.program(i)?;
            program.instruction = plain;
            match known.iter_mut().find(|(other, _)| *other == program) {
                Some((_, arithmetic)) => arithmetic.alike.push(format!("{i} ({name})")),
                None => known.push((
                    program,
                    SuspectedArithmetic { model: name.clone(), instruction: i.clone(), alike: Vec::new() },
                )),
            }
        }
    }
    if known.is_empty() {
        return Err(Error::request(format!(
            "no instruction of {} multiplies {} by {} to {output}; `tcnum instructions` lists all, and --quantise with --instr takes \
             other formats",
            suspects.models.join(", "),
            factors.a.format,
            factors.b.format
        )));
    }
    Ok(known.into_iter().map(|(_, arithmetic)| Arc::new(arithmetic)).collect())
}

/// The schedules of an arithmetic that are tried: each once, as far as what they compute is known to be the same.
fn schedules(
    arithmetic: &SuspectedArithmetic,
    order: KOrder,
    suspects: &Suspects,
    factors: &Factors,
    output: &'static Format,
) -> Result<Vec<Schedule>> {
    let k = factors.k();
    let mut plain = Schedule::new(arithmetic.instruction.clone())?;
    (plain.order, plain.output.format) = (order, output);
    (plain.alpha, plain.beta) = suspects.factors;
    let width = plain.instruction.k;
    let register = Register::of(plain.instruction.d).map(Register::format);
    let granules: Vec<usize> = std::iter::once(plain.split.granule).chain(GRANULES).collect();
    let mut splits = HashSet::new();
    let mut cut = Vec::new();
    for (count, granule) in (1..=MOST_PARTS).flat_map(|count| granules.iter().map(move |granule| (count, *granule))) {
        let mut schedule = plain.clone();
        (schedule.split.count, schedule.split.granule) = (count, granule);
        if splits.insert(schedule.parts(k)) {
            cut.push(schedule);
        }
    }
    let multiple = |k: &usize| k.is_multiple_of(width);
    let (every, halves) = match plain.instruction.is_of_processors() {
        true => (&CACHED[..], &HALVES[..]),
        false => (&PROMOTIONS[..], &HALVES[..1]),
    };
    let promotions = every.iter().filter(|promote| multiple(promote) && **promote < k);
    let promotions = promotions.flat_map(|promote| halves.iter().map(move |halves| (Some(*promote), *halves)));
    let promotions = promotions.filter(|(_, halves)| halves.as_ref().is_none_or(multiple));
    let promotions: Vec<(Option<usize>, Option<usize>)> = std::iter::once((None, None)).chain(promotions).collect();
    let slabs: Vec<(usize, Residue)> = std::iter::once((width, Residue::Last))
        .chain(SLABS.into_iter().chain([width]).filter(multiple).map(|slab| (slab, Residue::First)))
        .collect();
    let entries: &[CEntry] = if factors.c.is_some() { &CEntry::ALL } else { &[CEntry::End] };
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for schedule in cut {
        for ((promote, halves), (slab, residue), c) in promotions
            .iter()
            .flat_map(|promote| slabs.iter().map(move |slab| (*promote, *slab)))
            .flat_map(|(promote, slab)| entries.iter().map(move |c| (promote, slab, *c)))
        {
            let mut schedule = schedule.clone();
            (schedule.promote, schedule.promote_halves) = (promote, halves);
            (schedule.slab, schedule.residue, schedule.c) = (slab, residue, c);
            let parts: Vec<Vec<RunKey>> =
                schedule.walk(k).parts.iter().map(|part| part.iter().map(key).collect()).collect();
            let several = parts.len() > 1;
            let wanted = factors.c.as_ref().is_none_or(|own| c == CEntry::End || own.format == schedule.instruction.c);
            if !wanted || schedule.check().is_err() || !seen.insert((parts, promote.is_some(), c)) {
                continue;
            }
            let joins: &[PartJoin] = match several && register != Some(output) {
                true => &PartJoin::ALL,
                false => &[PartJoin::Register],
            };
            for join in joins {
                schedule.split.join = *join;
                all.push(schedule.clone());
            }
        }
    }
    Ok(all)
}

/// What tells runs of one arithmetic and order apart: the k that its steps take, as stretches of steps that follow one another and take as
/// many. Steps on zeros alone leave sums as they are, but for the sign of a zero.
type RunKey = Vec<Stretch>;

/// Steps that follow one another: their first k, what is behind the last, and how many each takes.
type Stretch = (usize, usize, usize);

fn key(run: &Run) -> RunKey {
    let mut stretches = RunKey::new();
    for step in run.steps.iter().filter(|step| !step.is_empty()) {
        match stretches.last_mut() {
            Some((_, to, length)) if (*to, *length) == (step.start, step.len()) => *to = step.end,
            Some((from, _, length)) if (*from, *length) == (step.end, step.len()) => *from = step.start,
            _ => stretches.push((step.start, step.end, step.len())),
        }
    }
    stretches
}

/// What runs have summed, by what they are, and whether they began from C.
type Runs = HashMap<(RunKey, bool), Codes>;

/// How far a candidate is from D on a sample: elements that differ, then how many numbers of the format lie between, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    differing: usize,
    bits: u32,
}

impl Score {
    fn agrees(self) -> bool {
        self.differing == 0
    }
}

/// Some rows and columns of a product.
struct Sample {
    factors: Factors,
    d: Matrix,
}

impl Sample {
    /// As many rows and columns, drawn with a seed; all where there are not so many.
    fn new(factors: &Factors, d: &Matrix, (rows, columns): (usize, usize), seed: u64) -> Sample {
        let drawn = |count: usize, of: usize, seed: u64| -> Vec<usize> {
            if of <= count {
                return (0..of).collect();
            }
            (0..count as u64).map(|at| (inputs::random(seed, at) % of as u64) as usize).collect()
        };
        let rows = drawn(rows, d.rows, seed);
        let columns = drawn(columns, d.columns, seed + 1000);
        Sample { factors: factors.chosen(&rows, &columns, None), d: d.chosen(&rows, &columns) }
    }

    /// How far each of some candidates, of which kin stand together, is from D.
    fn judge(&self, suspects: Vec<Suspect>) -> Result<Vec<(Score, Suspect)>> {
        let mut families: BTreeMap<usize, Vec<Suspect>> = BTreeMap::new();
        for suspect in suspects {
            families.entry(suspect.kin).or_default().push(suspect);
        }
        let judged = parallel::try_map(families.into_values(), |family| self.judge_kin(family))?;
        Ok(judged.into_iter().flatten().collect())
    }

    /// The same for kin, which share what runs have summed.
    fn judge_kin(&self, family: Vec<Suspect>) -> Result<Vec<(Score, Suspect)>> {
        let MatchCandidate { arithmetic, schedule } = &family.first().expect("a family has a member").candidate;
        let tile = Instruction { m: self.d.rows, n: self.d.columns, ..schedule.instruction.clone() };
        let evaluator = Model::load(&arithmetic.model)?.evaluator(&tile)?;
        let (factors, mut runs) = (suited(&self.factors, &tile), Runs::new());
        let judge = |suspect: Suspect| {
            Ok((self.score(&suspect.candidate.schedule, &tile, &evaluator, &factors, &mut runs)?, suspect))
        };
        family.into_iter().map(judge).collect()
    }

    fn score(
        &self,
        schedule: &Schedule,
        tile: &Instruction,
        evaluator: &Evaluator,
        factors: &Factors,
        runs: &mut Runs,
    ) -> Result<Score> {
        interrupt::check()?;
        let own = elements(schedule, factors, tile, &mut |run, begins_from_c, sum| {
            let place = (key(run), begins_from_c);
            if let Some(codes) = runs.get(&place) {
                return Ok(codes.clone());
            }
            let codes = sum(&mut |tiles| Ok(evaluator.execute_here(tiles)))?;
            runs.insert(place, codes.clone());
            Ok(codes)
        })?;
        let mut score = Score { differing: 0, bits: 0 };
        for (x, y) in own.codes.iter().zip(self.d.codes.iter()).filter(|(x, y)| x != y) {
            score.differing += 1;
            score.bits += exact::distance(self.d.format, x, y).map_or(64, |distance| 64 - distance.leading_zeros());
        }
        Ok(score)
    }
}
