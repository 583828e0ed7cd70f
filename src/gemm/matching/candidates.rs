//! Candidate schedules of a product: every arithmetic for its formats, each schedule once.

use std::{collections::HashSet, sync::Arc};

use super::{
    MatchCandidate, SuspectedArithmetic, Suspects,
    runs::{RunKey, key},
};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::interrupt,
    format::{Format, Rounding},
    gemm::{
        AccumulatorJoin, Accumulators, BiasEntry, Factors, KOrder, Matrix, OperandRounding, PartJoin, Residue,
        ScaleBlocks, ScaleUse, Schedule, register::Register, schedule::CEntry,
    },
    isa::{self, Instruction},
};

/// Most parts of a tried split.
const MOST_PARTS: usize = 16;
/// Granules that are tried besides the default one.
const GRANULES: [usize; 4] = [16, 32, 64, 128];
/// Intervals of promotion that are tried.
///
/// Processor libraries sum a block of k that fits a cache or the registers, and may halve the rest to some multiples.
const PROMOTIONS: [usize; 6] = [32, 64, 128, 256, 384, 512];
const CACHED: [usize; 11] = [4, 8, 16, 128, 192, 240, 256, 320, 384, 448, 512];
const HALVES: [Option<usize>; 4] = [None, Some(4), Some(8), Some(16)];
/// Numbers of accumulators of processor instructions, for products of one part.
const ACCUMULATORS: [usize; 5] = [2, 4, 8, 16, 32];
/// Roundings of f32 operands to tf32, besides the unit's own, which ignores the low bits.
const OPERANDS: Rounding = Rounding::Rne;
/// Rows, columns and k of blocks that share a scale.
const BLOCKS: [usize; 7] = [1, 128, 64, 32, 16, 256, 512];
/// Slabs; the first may be short.
const SLABS: [usize; 4] = [16, 32, 64, 128];

/// A candidate with the number of its family (arithmetic, operand rounding, order), which shares runs.
#[derive(Debug, Clone)]
pub(super) struct FamilyMember {
    pub(super) kin: usize,
    pub(super) candidate: MatchCandidate,
}

/// All candidates.
pub(super) fn suspected(
    arithmetics: &[Arc<SuspectedArithmetic>],
    suspects: &Suspects,
    factors: &Factors,
    output: &'static Format,
    blocks: Option<ScaleBlocks>,
) -> Result<Vec<FamilyMember>> {
    let mut all = Vec::new();
    let mut kin = 0;
    for arithmetic in arithmetics {
        for (operands, order) in roundings(factors, &arithmetic.instruction)
            .into_iter()
            .flat_map(|own| KOrder::ALL.map(|order| (own, order)))
        {
            interrupt::check()?;
            let mut plain = Schedule::new(arithmetic.instruction.clone())?;
            (plain.operands, plain.order, plain.output.format) = (operands, order, output);
            (plain.alpha, plain.beta) = suspects.factors;
            plain.scales = blocks.filter(|_| plain.instruction.scale.is_none());
            suited(factors, &plain)?.check(&plain)?;
            let candidate = |schedule| MatchCandidate { arithmetic: Arc::clone(arithmetic), schedule };
            let schedules = schedules(&plain, factors);
            all.extend(schedules.into_iter().map(|schedule| FamilyMember { kin, candidate: candidate(schedule) }));
            kin += 1;
        }
    }
    Ok(all)
}

/// Roundings of A and B to operands of an instruction.
fn roundings(factors: &Factors, i: &Instruction) -> Vec<Option<OperandRounding>> {
    let given = |own: &Matrix, wanted: &Format| {
        let padding = wanted.float().map_or(0, |float| (1u64 << float.padding_bits) - 1);
        own.format != wanted && own.codes.iter().any(|code| code & padding != 0)
    };
    match given(&factors.a, i.a) || given(&factors.b, i.b) {
        true => vec![None, Some(OperandRounding { format: factors.a.format, rounding: OPERANDS })],
        false => vec![None],
    }
}

/// The blocks of scales in f32, by their number; `None` without scales, or with the instruction's own.
pub(super) fn scale_blocks(factors: &Factors) -> Result<Option<ScaleBlocks>> {
    let (a, b) = match (&factors.scale_a, &factors.scale_b) {
        (None, None) => return Ok(None),
        (Some(a), Some(b)) => (a, b),
        _ => return Err(Error::request("scales of A or of B are missing; give both --scale-a and --scale-b")),
    };
    if a.format.name != "f32" || b.format.name != "f32" {
        return Ok(None);
    }
    let extent = |what: &str, of: usize, count: usize| {
        let found = BLOCKS.into_iter().chain([of]).find(|block| of.div_ceil(*block) == count);
        found.ok_or_else(|| {
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

/// Complexity of a schedule, the simplest first.
pub(super) fn weight(schedule: &Schedule) -> [usize; 7] {
    [
        usize::from(schedule.order == KOrder::Descending),
        schedule.split.count,
        schedule.accumulators.count,
        usize::from(schedule.promote.is_some()),
        usize::from(schedule.residue == Residue::First),
        usize::from(schedule.split.join != PartJoin::Register),
        usize::from(schedule.bias != BiasEntry::End) + usize::from(schedule.operands.is_some()),
    ]
}

/// True if a format serves an instruction that takes another: f32 serves tf32.
fn serves(own: &Format, wanted: &Format) -> bool {
    own == wanted || (own.name, wanted.name) == ("f32", "tf32")
}

/// The operands in the formats of the schedule's instruction, rounded if it says so.
pub(in crate::gemm) fn suited(factors: &Factors, schedule: &Schedule) -> Result<Factors> {
    let mut factors = factors.rounded(schedule)?.into_owned();
    (factors.a.format, factors.b.format) = (schedule.instruction.a, schedule.instruction.b);
    Ok(factors)
}

/// True if the scales of A and B suit an instruction: its own, or f32 blocks for one without.
fn scaled(factors: &Factors, i: &Instruction) -> bool {
    let formats = [&factors.scale_a, &factors.scale_b].map(|own| own.as_ref().map(|own| own.format.name));
    match i.scale {
        Some(scale) => {
            let blocks = factors.k().div_ceil(scale.block);
            formats == [Some(scale.format.name); 2] && factors.scale_a.as_ref().is_some_and(|own| own.columns == blocks)
        }
        None => formats == [None; 2] || formats == [Some("f32"); 2],
    }
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
            && scaled(factors, i)
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

/// The candidate schedules of an arithmetic, `plain` among them; known equivalents appear once.
fn schedules(plain: &Schedule, factors: &Factors) -> Vec<Schedule> {
    let k = factors.k();
    let (i, output) = (&plain.instruction, plain.output.format);
    let (width, register) = (i.k, Register::of(i.d).map(Register::format));
    let granules: Vec<usize> = std::iter::once(plain.split.granule).chain(GRANULES).chain([width]).collect();
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
    let promotions = promotions(plain, k);
    let slabs: Vec<(usize, Residue)> = std::iter::once((width, Residue::Last))
        .chain(SLABS.into_iter().chain([width]).filter(multiple).map(|slab| (slab, Residue::First)))
        .collect();
    let entries = entries(plain, factors);
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for mut schedule in cut {
        let accumulators = accumulators(&schedule);
        for (promote, halves) in &promotions {
            (schedule.promote, schedule.promote_halves) = (*promote, *halves);
            for (slab, residue) in &slabs {
                (schedule.slab, schedule.residue) = (*slab, *residue);
                let walk = schedule.walk(k);
                let parts: Vec<Vec<RunKey>> = walk.parts.iter().map(|part| part.iter().map(key).collect()).collect();
                let several = parts.len() > 1;
                for (own, (c, bias)) in
                    accumulators.iter().flat_map(|own| entries.iter().map(move |entry| (*own, *entry)))
                {
                    (schedule.accumulators, schedule.c, schedule.bias) = (own, c, bias);
                    let usable = (own.count == 1 || *residue == Residue::Last)
                        && schedule.check().is_ok()
                        && walk.check(&schedule, factors).is_ok();
                    if !usable || !seen.insert((parts.clone(), own, promote.is_some(), c, bias)) {
                        continue;
                    }
                    add(&schedule, several, register != Some(output), &mut all);
                }
            }
        }
    }
    all
}

/// Adds a schedule with every joining and every use of scales; `narrow`: D is below the register.
fn add(schedule: &Schedule, several: bool, narrow: bool, all: &mut Vec<Schedule>) {
    let uses: &[Option<ScaleUse>] = match schedule.scales {
        Some(_) => &ScaleUse::ALL.map(Some),
        None => &[None],
    };
    for join in PartJoin::ALL {
        let tried = match join {
            PartJoin::Register => true,
            PartJoin::Pairs => several && schedule.split.count > 2,
            PartJoin::Output | PartJoin::Serial => several && narrow,
        };
        for scales in uses.iter().filter(|_| tried) {
            let mut schedule = schedule.clone();
            schedule.split.join = join;
            if let (Some(own), Some(multiply)) = (&mut schedule.scales, scales) {
                own.multiply = *multiply;
            }
            if schedule.check().is_ok() {
                all.push(schedule);
            }
        }
    }
}

/// Intervals of promotion, with the halving of the rest.
fn promotions(plain: &Schedule, k: usize) -> Vec<(Option<usize>, Option<usize>)> {
    let width = plain.instruction.k;
    let multiple = |k: &usize| k.is_multiple_of(width);
    if let Some(scales) = &plain.scales {
        // A promoted sum has one scale of A and one of B.
        let blocks = [scales.a[1], scales.b[0]];
        let once = |promote: &usize| {
            multiple(promote) && blocks.iter().all(|block| block.is_multiple_of(*promote) || *promote >= k)
        };
        let smaller = blocks[0].min(blocks[1]);
        let mut all: Vec<usize> = PROMOTIONS.into_iter().chain([smaller]).filter(once).collect();
        all.dedup();
        return all.into_iter().map(|promote| (Some(promote), None)).collect();
    }
    let (every, halves) = match plain.instruction.is_of_processors() {
        true => (&CACHED[..], &HALVES[..]),
        false => (&PROMOTIONS[..], &HALVES[..1]),
    };
    let mut all = vec![(None, None)];
    for promote in every.iter().filter(|promote| multiple(promote) && **promote < k) {
        let halves = halves.iter().filter(|halves| halves.as_ref().is_none_or(multiple));
        all.extend(halves.map(|halves| (Some(*promote), *halves)));
    }
    all
}

/// Accumulators that are tried for a schedule.
fn accumulators(schedule: &Schedule) -> Vec<Accumulators> {
    let i = &schedule.instruction;
    let mut all = vec![schedule.accumulators];
    if i.is_of_processors() && schedule.split.count == 1 && Register::of(i.d).is_some_and(|own| own.format() == i.d) {
        for count in ACCUMULATORS {
            // Two are joined in one way.
            let joins = &AccumulatorJoin::ALL[..if count == 2 { 1 } else { AccumulatorJoin::ALL.len() }];
            all.extend(joins.iter().map(|join| Accumulators { count, join: *join }));
        }
    }
    all
}

/// Entries of C and the bias that are tried.
fn entries(plain: &Schedule, factors: &Factors) -> Vec<(CEntry, BiasEntry)> {
    let first = plain.instruction.c;
    let starts = |own: &Option<Matrix>| own.as_ref().is_some_and(|own| own.format == first);
    let mut all = vec![(CEntry::End, BiasEntry::End)];
    if starts(&factors.c) {
        all.push((CEntry::Start, BiasEntry::End));
    }
    if factors.bias.is_some() {
        all.push((CEntry::End, BiasEntry::Rounded));
    }
    if starts(&factors.bias) {
        all.push((CEntry::End, BiasEntry::Start));
    }
    all
}
