//! Candidate schedules of a product: every arithmetic for its formats, each schedule once.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use super::{
    MatchCandidate, SuspectedArithmetic, Suspects,
    chains::{Chains, Parts},
    operands::Roundings,
    usual,
};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::{interrupt, work},
    format::Format,
    isa::{self, Instruction},
    product::{
        AccumulatorJoin, Accumulators, BiasEntry, Factors, KOrder, Matrix, OperandRounding, PartJoin, PartTerms,
        Residue, ScaleBlocks, ScaleUse, Schedule, SplitK, compute::SummedRun, kernel::Contradiction,
        register::Register, schedule::CEntry,
    },
};

/// Most parts of a tried split that is promoted or joined in a tree, and of others.
const MOST_PARTS: usize = 16;
const MOST_PLAIN_PARTS: usize = 64;
/// Granules that are tried besides the default one and the instruction's k.
const GRANULES: [usize; 4] = [16, 32, 64, 128];
/// Pieces of interleaved parts.
const INTERLEAVED: [usize; 5] = [8, 16, 32, 64, 128];
/// Bits of a granule of CUTLASS.
const GRANULE_BITS: u32 = 128;
/// Intervals of promotion that are tried.
///
/// Processor libraries sum a block of k that fits a cache or the registers, and may halve the rest to some multiples.
const PROMOTIONS: [usize; 6] = [32, 64, 128, 256, 384, 512];
const CACHED: [usize; 11] = [4, 8, 16, 128, 192, 240, 256, 320, 384, 448, 512];
const HALVES: [Option<usize>; 4] = [None, Some(4), Some(8), Some(16)];
/// Numbers of accumulators of processors and of threads of a GPU, for products of one part.
const ACCUMULATORS: [usize; 5] = [2, 4, 8, 16, 32];
/// Rows, columns and k of blocks that share a scale.
const BLOCKS: [usize; 7] = [1, 128, 64, 32, 16, 256, 512];
/// Warps that share the k of a tile, and the k that they take in turn.
const SLICES: [usize; 2] = [2, 4];
const PIECES: [usize; 3] = [16, 32, 64];
/// Slabs; the first may be short.
const SLABS: [usize; 4] = [16, 32, 64, 128];

/// Arithmetics whose instructions take equal steps, and the schedules that each of them is tried with.
pub(super) struct Group {
    pub(super) members: Vec<Member>,
    /// The schedules, by the first member, with their runs.
    pub(super) schedules: Vec<(Schedule, Parts)>,
    /// The sums of the runs.
    pub(super) chains: Chains,
    /// Terms that stay together.
    turn: Option<usize>,
}

/// An arithmetic with a rounding of its operands.
pub(super) struct Member {
    pub(super) arithmetic: Arc<SuspectedArithmetic>,
    pub(super) operands: Option<OperandRounding>,
}

impl Group {
    /// Order in which a candidate is named.
    pub(super) fn weight(&self, member: usize, schedule: usize) -> [usize; 4] {
        weight(&self.members[member], &self.schedules[schedule].0, self.turn)
    }

    pub(super) fn candidate(&self, member: usize, schedule: usize) -> MatchCandidate {
        let Member { arithmetic, operands } = &self.members[member];
        let mut schedule = self.schedules[schedule].0.clone();
        (schedule.instruction, schedule.operands) = (arithmetic.instruction.clone(), *operands);
        MatchCandidate { arithmetic: Arc::clone(arithmetic), schedule, same: Vec::new() }
    }
}

/// Properties of an instruction that decide its steps and the schedules for it.
fn steps(i: &Instruction) -> impl PartialEq + use<> {
    (i.k, i.a.bits, i.c, i.d, i.is_of_processors(), i.scale)
}

/// All candidates.
pub(super) fn suspected(
    arithmetics: &[Arc<SuspectedArithmetic>],
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    blocks: Option<ScaleBlocks>,
) -> Result<Vec<Group>> {
    let instructions = arithmetics.iter().map(|arithmetic| &arithmetic.instruction);
    let roundings = Roundings::of(suspects, factors, d, blocks.as_ref(), instructions)?;
    // Members of each group, with the plain schedule of the first.
    let mut kinds: Vec<(Schedule, Vec<Member>)> = Vec::new();
    for arithmetic in arithmetics {
        let mut plain = Schedule::new(arithmetic.instruction.clone())?;
        plain.output.format = d.format;
        (plain.alpha, plain.beta) = suspects.factors;
        plain.scales = blocks.filter(|_| plain.instruction.scale.is_none());
        for operands in roundings.possible(factors, &arithmetic.instruction) {
            plain.operands = operands;
            in_formats(factors, &plain)?.check(&plain)?;
            let member = Member { arithmetic: Arc::clone(arithmetic), operands };
            let properties = steps(&arithmetic.instruction);
            match kinds.iter_mut().find(|(first, _)| steps(&first.instruction) == properties) {
                Some((_, members)) => members.push(member),
                None => kinds.push((plain.clone(), vec![member])),
            }
        }
    }
    work::map(kinds, |(plain, members)| {
        let (schedules, chains, turn) = (Vec::new(), Chains::default(), suspects.turn);
        let mut group = Group { members, schedules, chains, turn };
        let orders = if suspects.turn.is_some() { &[KOrder::Ascending][..] } else { &KOrder::ALL };
        for order in orders.iter().copied() {
            group.add(&Schedule { order, ..plain.clone() }, suspects, factors)?;
        }
        Ok(group)
    })
}

/// The blocks of scales in f32, by their number; `None` without scales, or with the instruction's own.
pub(super) fn scale_blocks(factors: &Factors) -> Result<Option<ScaleBlocks>> {
    let (a, b) = match (&factors.scale_a, &factors.scale_b) {
        (None, None) => return Ok(None),
        (Some(a), Some(b)) => (a, b),
        _ => return Err(Error::request("scales of A or of B are missing; give both ‹scale_a› and ‹scale_b›")),
    };
    if a.format.name != "f32" || b.format.name != "f32" {
        return Ok(None);
    }
    let extent = |what: &str, of: usize, count: usize| {
        block_of(of, count).ok_or_else(|| {
            Error::request(format!(
                "there are {count} scales along the {of} {what}; blocks of {BLOCKS:?} give other numbers"
            ))
        })
    };
    let (m, n, k) = (factors.a.rows, factors.b.columns, factors.k());
    Ok(Some(ScaleBlocks {
        a: [extent("rows of A", m, a.rows)?, extent("k of A", k, a.columns)?],
        b: [extent("k of B", k, b.rows)?, extent("columns of B", n, b.columns)?],
        multiply: ScaleUse::Fused,
    }))
}

/// The block of `of` rows, columns or k with so many scales, if there is one.
fn block_of(of: usize, count: usize) -> Option<usize> {
    BLOCKS.into_iter().chain([of]).find(|block| of.div_ceil(*block) == count)
}

/// True if blocks of `of` rows, columns or k may have so many scales.
pub fn is_block_count(of: usize, count: usize) -> bool {
    block_of(of, count).is_some()
}

/// Order in which schedules that give D are named: the most usual and simplest first.
fn weight(member: &Member, schedule: &Schedule, turn: Option<usize>) -> [usize; 4] {
    let Member { arithmetic, operands } = member;
    let instruction = usual::of_instruction(&arithmetic.model, &arithmetic.instruction);
    [
        usual::of_schedule(schedule, turn) + instruction.iter().sum::<usize>(),
        schedule.split.count,
        schedule.accumulators.count,
        usize::from(operands.is_some()),
    ]
}

/// True if a format serves an instruction that takes another.
///
/// Numbers of f32 are rounded. Those of f16 and bf16 are widened for fused multiply-adds of processors.
fn serves(format: &Format, wanted: &Format, i: &Instruction) -> bool {
    match (format.name, wanted.name) {
        _ if format == wanted => true,
        ("f32", "tf32" | "bf16" | "f16") => true,
        ("bf16" | "f16", "f32") => i.k == 1 && i.is_of_processors(),
        _ => false,
    }
}

/// The operands in the formats of the schedule's instruction, rounded if it says so.
pub fn in_formats(factors: &Factors, schedule: &Schedule) -> Result<Factors> {
    let mut factors = factors.rounded(schedule)?.into_owned();
    (factors.a.format, factors.b.format) = (schedule.instruction.a, schedule.instruction.b);
    Ok(factors)
}

/// True if the scales of A and B suit an instruction: its own, or f32 blocks for one without.
fn scales_fit(factors: &Factors, i: &Instruction) -> bool {
    let formats = [&factors.scale_a, &factors.scale_b].map(|scales| scales.as_ref().map(|scales| scales.format.name));
    match i.scale {
        Some(scale) => {
            let blocks = factors.k().div_ceil(scale.block);
            formats == [Some(scale.format.name); 2]
                && factors.scale_a.as_ref().is_some_and(|scales| scales.columns == blocks)
        }
        None => formats == [None; 2] || formats == [Some("f32"); 2],
    }
}

/// True if a contradiction with the names of kernels rules a candidate out; no assumed one does.
pub(super) fn contradicted(mut all: impl Iterator<Item = Contradiction>) -> bool {
    all.any(|contradiction| !contradiction.assumed)
}

/// The arithmetics of the models for the formats, each once.
pub(super) fn arithmetics(
    suspects: &Suspects,
    factors: &Factors,
    output: &Format,
) -> Result<Vec<Arc<SuspectedArithmetic>>> {
    let mut known: Vec<(Program, SuspectedArithmetic)> = Vec::new();
    let usable = |i: &&Instruction| {
        !i.is_sparse()
            && scales_fit(factors, i)
            && i.c == i.d
            && serves(factors.a.format, i.a, i)
            && serves(factors.b.format, i.b, i)
            && i.d.is_integer() == output.is_integer()
            && Register::of(i.d).is_some()
    };
    let all = if suspects.instructions.is_empty() { isa::all() } else { &suspects.instructions };
    let mut named = Vec::new();
    for name in &suspects.models {
        let model = Arc::new(Model::load(name)?);
        if contradicted(suspects.kernels.of_model(&model)) {
            continue;
        }
        let used = |i: &Instruction| suspects.turn.is_none() || usual::multiplies_parts(name, i);
        let usable = |i: &&Instruction| usable(i) && used(i) && !contradicted(suspects.kernels.of_instruction(i));
        let instructions = all.iter().filter(|i| usable(i)).filter(|i| model.rule(i).is_some());
        named.extend(instructions.map(|i| (name, Arc::clone(&model), i)));
    }
    // The most usual one of equal arithmetics stands for all.
    named.sort_by_cached_key(|(name, _, i)| usual::of_instruction(name, i));
    for (name, model, i) in named {
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
        let candidate = SuspectedArithmetic { model: name.clone(), instruction: i.clone(), alike: Vec::new() };
        match known.iter_mut().find(|(other, _)| *other == program) {
            Some((_, arithmetic)) => arithmetic.alike.push(candidate),
            None => known.push((program, candidate)),
        }
    }
    if known.is_empty() {
        return Err(Error::request(format!(
            "no instruction of {} multiplies {} by {} to {output}; `tcnum instructions` lists all, and ‹quantise› with ‹instr› takes \
             other formats",
            suspects.models.join(", "),
            factors.a.format,
            factors.b.format
        )));
    }
    Ok(known.into_iter().map(|(_, arithmetic)| Arc::new(arithmetic)).collect())
}

impl Group {
    /// Adds the schedules that differ from `plain` in the sum over k; known equivalents appear once.
    fn add(&mut self, plain: &Schedule, suspects: &Suspects, factors: &Factors) -> Result<()> {
        let i = &plain.instruction;
        let narrow = Register::of(i.d).map(Register::format) != Some(plain.output.format);
        let entries = entries(plain, factors);
        let (promotions, slabs) = match suspects.turn {
            None => (promotions(plain, factors.k()), slabs(i.k)),
            Some(turn) => (vec![(None, None), (Some(turn), None)], vec![(i.k, Residue::Last)]),
        };
        let each_use =
            |scales: ScaleBlocks| ScaleUse::ALL.map(|multiply| Some(ScaleBlocks { multiply, ..scales })).to_vec();
        let uses = plain.scales.map_or_else(|| vec![None], each_use);
        let mut known = HashMap::new();
        for mut schedule in cuts(plain, suspects.turn, factors.k()) {
            let accumulators = match suspects.turn {
                None => accumulators(&schedule, plain.split.granule),
                Some(_) => vec![schedule.accumulators],
            };
            let (promotes, parts) = (promoted(&schedule), schedule.parts(factors.k()));
            for (promote, halves) in promotions.iter().filter(|(promote, _)| promote.is_none() || promotes) {
                (schedule.promote, schedule.promote_halves) = (*promote, *halves);
                // Whole slabs are whole steps.
                let short = |slab: usize| parts.iter().flatten().any(|piece| !piece.len().is_multiple_of(slab));
                for (slab, residue) in slabs.iter().filter(|(slab, residue)| *residue == Residue::Last || short(*slab))
                {
                    interrupt::check()?;
                    (schedule.slab, schedule.residue) = (*slab, *residue);
                    let walk = schedule.walk(factors.k());
                    let all = accumulators
                        .iter()
                        .flat_map(|accumulators| entries.iter().map(move |entry| (*accumulators, *entry)));
                    for ((accumulators, (c, bias)), scales) in
                        all.flat_map(|pair| uses.iter().map(move |scales| (pair, *scales)))
                    {
                        (schedule.accumulators, schedule.c, schedule.bias, schedule.scales) =
                            (accumulators, c, bias, scales);
                        let first = bias == BiasEntry::First;
                        schedule.split.join = if first { PartJoin::Serial } else { plain.split.join };
                        let usable = sliced(&schedule)
                            && schedule.check().is_ok()
                            && walk.check(&schedule, factors).is_ok()
                            && !scaled_at_once(&schedule, factors.k());
                        if !usable {
                            continue;
                        }
                        let parts = self.chains.add(&schedule, &walk, factors);
                        for schedule in joined(&schedule, parts.len() > 1, narrow) {
                            if contradicted(suspects.kernels.of_match(i, &schedule, factors.k())) {
                                continue;
                            }
                            let kind = (c, bias, scales.map(|scales| scales.multiply));
                            let place = match known.entry((same(&schedule, &parts), schedule.split.join, kind)) {
                                Entry::Vacant(vacant) => {
                                    vacant.insert(self.schedules.len());
                                    self.schedules.push((schedule, parts.clone()));
                                    continue;
                                }
                                Entry::Occupied(occupied) => *occupied.get(),
                            };
                            let cost = |schedule: &Schedule| usual::of_schedule(schedule, self.turn);
                            if cost(&schedule) < cost(&self.schedules[place].0) {
                                self.schedules[place] = (schedule, parts.clone());
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The runs of a schedule: equal ones give equal D, where the rest of the schedules is equal.
///
/// A sum of one part that is promoted, one of parts and one of accumulators that are joined in order are the same.
fn same(schedule: &Schedule, parts: &Parts) -> (Parts, bool, Option<AccumulatorJoin>) {
    let Schedule { accumulators, promote, scales, .. } = schedule;
    let mut parts = parts.clone();
    if scales.is_none() {
        parts.iter_mut().flatten().for_each(|run| run.k = None);
    }
    let several = parts.iter().flatten().any(|run| run.sums.len() > 1);
    match &parts[..] {
        [part] if several && part.len() == 1 && promote.is_none() && accumulators.join == AccumulatorJoin::Order => {
            let of = |sum: &_| SummedRun { k: part[0].k, sums: vec![*sum] };
            (vec![part[0].sums.iter().map(of).collect()], true, None)
        }
        [_, _, ..]
            if !several && schedule.split.join == PartJoin::Register && parts.iter().all(|part| part.len() == 1) =>
        {
            (vec![parts.concat()], true, None)
        }
        _ => (parts, promote.is_some(), several.then_some(accumulators.join)),
    }
}

/// True for one accumulator, and for several of processors, or of warps that share a slab.
fn sliced(schedule: &Schedule) -> bool {
    let Schedule { accumulators, residue, slab, promote, .. } = schedule;
    let Accumulators { count, granule, .. } = accumulators;
    match (*count == 1, schedule.instruction.is_of_processors()) {
        (true, _) => true,
        (_, true) => *residue == Residue::Last,
        (_, false) => promote.is_none() && (*residue == Residue::Last || *slab == count * granule),
    }
}

/// True if one run is scaled: scales at the end do the same.
fn scaled_at_once(schedule: &Schedule, k: usize) -> bool {
    let at_end = schedule.scales.is_some_and(|scales| scales.multiply.is_at_end());
    let once = schedule.promote.is_some_and(|promote| promote >= k);
    once && (at_end
        || schedule.split.count == 1 && schedule.scales.is_some_and(|scales| scales.a[1].min(scales.b[0]) >= k))
}

/// The schedules with each way to cut `k` terms into parts.
fn cuts(plain: &Schedule, turn: Option<usize>, k: usize) -> Vec<Schedule> {
    let i = &plain.instruction;
    let plain_granules = [plain.split.granule, (GRANULE_BITS / i.a.bits) as usize, i.k];
    let granules: Vec<usize> =
        turn.map_or_else(|| plain_granules.into_iter().chain(GRANULES).collect(), |turn| vec![turn]);
    let most = if i.is_of_processors() { MOST_PARTS } else { MOST_PLAIN_PARTS };
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let counts = || (1..=most).filter(|count| turn.is_none() || *count <= MOST_PARTS || count.is_power_of_two());
    for (count, granule) in counts().flat_map(|count| granules.iter().map(move |granule| (count, *granule))) {
        let mut schedule = plain.clone();
        (schedule.split.count, schedule.split.granule) = (count, granule);
        if seen.insert(schedule.parts(k)) {
            all.push(schedule);
        }
    }
    if turn.is_some() || i.is_of_processors() || plain.order == KOrder::Descending {
        return all;
    }
    for (count, granule) in (2..=MOST_PARTS).flat_map(|count| INTERLEAVED.map(|granule| (count, granule))) {
        let mut schedule = plain.clone();
        schedule.split = SplitK { count, granule, terms: PartTerms::Interleaved, ..schedule.split };
        if schedule.check().is_ok() && seen.insert(schedule.parts(k)) {
            all.push(schedule);
        }
    }
    all
}

/// True if promotion is tried for a schedule.
///
/// Processors cut k for threads, if at all, and whose libraries promote have powers of two of them.
fn promoted(schedule: &Schedule) -> bool {
    if !schedule.instruction.is_of_processors() {
        return schedule.split.count <= MOST_PARTS && schedule.split.terms == PartTerms::Contiguous;
    }
    let SplitK { count, granule, .. } = schedule.split;
    count == 1 || granule == schedule.instruction.k && count.is_power_of_two()
}

/// The slabs, with the place of the short one.
pub(super) fn slabs(width: usize) -> Vec<(usize, Residue)> {
    let first = SLABS.into_iter().chain([width]).filter(|slab| slab.is_multiple_of(width));
    std::iter::once((width, Residue::Last)).chain(first.map(|slab| (slab, Residue::First))).collect()
}

/// A schedule with every joining; `narrow`: D is below the register.
fn joined(schedule: &Schedule, several: bool, narrow: bool) -> Vec<Schedule> {
    let mut all = Vec::new();
    for join in PartJoin::ALL {
        let count = schedule.split.count;
        let tried = match join {
            PartJoin::Register => true,
            PartJoin::Pairs | PartJoin::Halves => {
                several && count > 2 && (count <= MOST_PARTS || count.is_power_of_two())
            }
            PartJoin::Serial if schedule.bias == BiasEntry::First => several,
            PartJoin::Output | PartJoin::Serial => several && narrow,
        };
        let mut schedule = schedule.clone();
        schedule.split.join = join;
        if tried && schedule.check().is_ok() {
            all.push(schedule);
        }
    }
    all
}

/// Intervals of promotion, with the halving of the rest.
fn promotions(plain: &Schedule, k: usize) -> Vec<(Option<usize>, Option<usize>)> {
    let width = plain.instruction.k;
    let multiple = |k: &usize| k.is_multiple_of(width);
    let mut all = vec![(None, None)];
    if let Some(scales) = &plain.scales {
        // A promoted sum has one scale of A and one of B.
        let smaller = scales.a[1].min(scales.b[0]);
        all.extend(Some((Some(smaller), None)).filter(|_| multiple(&smaller)));
    }
    let (every, halves) = match plain.instruction.is_of_processors() {
        true => (&CACHED[..], &HALVES[..]),
        false => (&PROMOTIONS[..], &HALVES[..1]),
    };
    for promote in every.iter().filter(|promote| multiple(promote) && **promote < k) {
        let halves = halves.iter().filter(|halves| halves.as_ref().is_none_or(multiple));
        all.extend(halves.map(|halves| (Some(*promote), *halves)));
    }
    all
}

/// Accumulators that are tried for a schedule.
fn accumulators(schedule: &Schedule, usual_granule: usize) -> Vec<Accumulators> {
    let i = &schedule.instruction;
    let mut all = vec![schedule.accumulators];
    let lanes = i.is_of_processors() || i.k == 1 && schedule.order == KOrder::Ascending;
    if lanes && schedule.split.count == 1 && Register::of(i.d).is_some_and(|register| register.format() == i.d) {
        for count in ACCUMULATORS {
            // Two are joined in one way.
            let joins = &AccumulatorJoin::ALL[..if count == 2 { 1 } else { AccumulatorJoin::ALL.len() }];
            all.extend(joins.iter().map(|join| Accumulators { count, join: *join, ..schedule.accumulators }));
        }
    }
    let SplitK { count, terms, granule, .. } = schedule.split;
    let usual = terms == PartTerms::Contiguous && granule == usual_granule && count <= MOST_PARTS;
    if usual
        && !i.is_of_processors()
        && schedule.order == KOrder::Ascending
        && Register::of(i.d).is_some_and(|register| register.format() == i.d)
    {
        let granules = || PIECES.into_iter().filter(|granule| granule.is_multiple_of(i.k));
        let each = |count| granules().map(move |granule| Accumulators { count, granule, join: AccumulatorJoin::Order });
        all.extend(SLICES.into_iter().flat_map(each));
    }
    all
}

/// Entries of C and the bias that are tried.
fn entries(plain: &Schedule, factors: &Factors) -> Vec<(CEntry, BiasEntry)> {
    let first = plain.instruction.c;
    let starts = |matrix: &Option<Matrix>| matrix.as_ref().is_some_and(|matrix| matrix.format == first);
    let mut all = vec![(CEntry::End, BiasEntry::End)];
    if starts(&factors.c) {
        all.push((CEntry::Start, BiasEntry::End));
    }
    if factors.c.is_some() && plain.output.format != first {
        all.push((CEntry::Rounded, BiasEntry::End));
    }
    if factors.bias.is_some() {
        all.push((CEntry::End, BiasEntry::Rounded));
        all.push((CEntry::End, BiasEntry::First));
    }
    if starts(&factors.bias) {
        all.push((CEntry::End, BiasEntry::Start));
    }
    all
}
