//! Sums of the steps of many schedules: a beginning that several runs share is summed once.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    ops::Range,
};

use super::elements::Elements;
use crate::{
    Result,
    arithmetic::Evaluator,
    base::interrupt,
    isa::{Codes, Instruction, Tiles},
    product::{
        Factors, Matrix, Run, Schedule, Walk,
        compute::{InitialSum, SumCodes, SummedRun},
        schedule::{BiasEntry, CEntry},
    },
};

/// Tiles that are computed at a time.
const TOGETHER: usize = 1 << 12;
/// The sums before any step: zero, C and the bias.
const ROOTS: [InitialSum; 3] = [InitialSum::Zero, InitialSum::C, InitialSum::Bias];

/// The sum after a step, and all steps before it.
type Node = u32;

/// Parts of k of a schedule, each of runs.
pub(super) type Parts = Vec<Vec<SummedRun<Node>>>;

/// The sums of runs, each after the sum before its last step.
///
/// Steps on zeros are left out: they change nothing but the sign of a zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Chains {
    /// The sum before the step of each node.
    before: Vec<Node>,
    /// The first k of each step, and the number of its k.
    steps: Vec<[u32; 2]>,
    /// Nodes by the number of their steps.
    levels: Vec<Vec<Node>>,
    /// The first step that was added after each node, and its node; node 0 for none.
    first: Vec<([u32; 2], Node)>,
    /// The nodes of the other steps after a node.
    known: HashMap<(Node, [u32; 2]), Node, BuildHasherDefault<StepHasher>>,
}

/// Hasher of a node and a step: a multiplication for each number, as searches wait for it.
#[derive(Debug, Clone, Default)]
struct StepHasher(u64);

impl Hasher for StepHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..some.len()].copy_from_slice(some);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

impl Chains {
    /// Adds the runs of a schedule, whose steps are a walk.
    pub(super) fn add(&mut self, schedule: &Schedule, walk: &Walk, factors: &Factors) -> Parts {
        let mut root = match (schedule.c, schedule.bias) {
            (CEntry::Start, _) if factors.c.is_some() => InitialSum::C,
            (_, BiasEntry::Start) if factors.bias.is_some() => InitialSum::Bias,
            _ => InitialSum::Zero,
        };
        let mut part = |runs: &Vec<Run>| {
            let first = std::mem::replace(&mut root, InitialSum::Zero);
            let run = |run: &Run| {
                if schedule.accumulators.count == 1 {
                    return SummedRun { k: run.k(), sums: vec![self.node(first, run)] };
                }
                let dealt = run.dealt(schedule);
                let sums = dealt
                    .iter()
                    .enumerate()
                    .map(|(at, chain)| self.node(if at == 0 { first } else { InitialSum::Zero }, chain));
                SummedRun { k: run.k(), sums: sums.collect() }
            };
            runs.iter().map(run).collect()
        };
        walk.parts.iter().map(&mut part).collect()
    }

    fn node(&mut self, root: InitialSum, run: &Run) -> Node {
        self.first.resize(self.len(), ([0; 2], 0));
        let mut node = ROOTS.iter().position(|known| *known == root).expect("a root") as Node;
        for (level, step) in run.steps.iter().filter(|step| !step.is_empty()).enumerate() {
            node = self.after(node, [step.start as u32, step.len() as u32], level);
        }
        node
    }

    /// The node of a step after a node.
    fn after(&mut self, before: Node, step: [u32; 2], level: usize) -> Node {
        let first = self.first[before as usize];
        if first.1 > 0 {
            if first.0 == step {
                return first.1;
            }
            if let Some(node) = self.known.get(&(before, step)) {
                return *node;
            }
        }
        let node = self.len() as Node;
        self.before.push(before);
        self.steps.push(step);
        self.first.push(([0; 2], 0));
        if first.1 == 0 {
            self.first[before as usize] = (step, node);
        } else {
            self.known.insert((before, step), node);
        }
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(node);
        node
    }

    /// Number of sums.
    pub(super) fn len(&self) -> usize {
        ROOTS.len() + self.steps.len()
    }

    /// The codes of all sums for some elements, by an instruction of one element.
    pub(super) fn sums(&self, one: &Instruction, evaluator: &Evaluator, elements: &Elements) -> Result<Sums> {
        let (count, width) = (elements.count(), one.d.bytes());
        let each = count * width;
        let mut bytes = vec![0; self.len() * each];
        for (root, room) in ROOTS.iter().zip(bytes.chunks_exact_mut(each)) {
            if let Some(codes) = elements.initial(*root).filter(|codes| codes.width() == width) {
                room.copy_from_slice(codes.as_bytes());
            }
        }
        let together = (TOGETHER / count).max(1);
        for nodes in self.levels.iter().flat_map(|level| level.chunks(together)) {
            interrupt::check()?;
            let mut operands = Gathered::new(one, nodes.len() * count);
            let mut c = Vec::with_capacity(nodes.len() * each);
            for node in nodes {
                let (before, [from, length]) = self.of(*node);
                c.extend_from_slice(&bytes[before as usize * each..][..each]);
                operands.add(elements, from as usize, length as usize);
            }
            let codes = evaluator.execute_here(&operands.tiles(Codes::from_bytes(one.c, c).expect("whole codes")));
            for (node, sums) in nodes.iter().zip(codes.as_bytes().chunks_exact(each)) {
                bytes[*node as usize * each..][..each].copy_from_slice(sums);
            }
        }
        Ok(Sums { codes: Codes::from_bytes(one.d, bytes).expect("whole codes"), count })
    }

    fn of(&self, node: Node) -> (Node, [u32; 2]) {
        let at = node as usize - ROOTS.len();
        (self.before[at], self.steps[at])
    }
}

/// The codes of sums, side by side for all elements.
pub(super) struct Sums {
    codes: Codes,
    count: usize,
}

impl Sums {
    pub(super) fn of(&self, node: Node) -> SumCodes<'_> {
        SumCodes { codes: &self.codes, first: node as usize * self.count }
    }
}

/// Operands of tiles of one element.
struct Gathered<'a> {
    one: &'a Instruction,
    tiles: usize,
    a: Vec<u8>,
    b: Vec<u8>,
    scales: [Vec<u8>; 2],
}

impl<'a> Gathered<'a> {
    fn new(one: &'a Instruction, tiles: usize) -> Gathered<'a> {
        let room = |bytes: usize| Vec::with_capacity(tiles * one.k * bytes);
        Gathered { one, tiles, a: room(one.a.bytes()), b: room(one.b.bytes()), scales: [Vec::new(), Vec::new()] }
    }

    /// Adds the operands of a step of each element, and zeros up to a whole step.
    fn add(&mut self, elements: &Elements, from: usize, length: usize) {
        let k = self.one.k;
        for element in 0..elements.count() {
            line(&mut self.a, &elements.factors.a, element, from..from + length, k);
            line(&mut self.b, &elements.columns, element, from..from + length, k);
            let Some(scale) = self.one.scale else { continue };
            let (first, end) = (from / scale.block, (from + length).div_ceil(scale.block));
            let given = [&elements.factors.scale_a, &elements.scale_columns];
            for (room, scales) in self.scales.iter_mut().zip(given) {
                if let Some(scales) = scales {
                    line(room, scales, element, first..end, k / scale.block);
                }
            }
        }
    }

    fn tiles(self, c: Codes) -> Tiles {
        let Gathered { one, tiles, a, b, scales } = self;
        let [scale_a, scale_b] = scales.map(|bytes| one.scale.and_then(|scale| Codes::from_bytes(scale.format, bytes)));
        let [a, b] =
            [(one.a, a), (one.b, b)].map(|(format, bytes)| Codes::from_bytes(format, bytes).expect("whole codes"));
        Tiles { count: tiles, a, b, c, positions: None, scale_a, scale_b }
    }
}

/// Adds some codes of a row, and zeros up to `width` codes.
fn line(room: &mut Vec<u8>, matrix: &Matrix, row: usize, columns: Range<usize>, width: usize) {
    room.extend_from_slice(matrix.bytes(row, columns.start, columns.len().min(matrix.columns - columns.start)));
    let missing = (width - columns.len()) * matrix.format.bytes();
    room.resize(room.len() + missing, 0);
}
