//! The curves of one shape, link by link: what they share is computed once.
//!
//! All share the random numbers; the initialisations of an instruction share its device's chain; and the curves
//! whose references start from the same values share the reference chains.

use std::fmt;

use super::{
    ChainPoint, MatrixScaling, Plain,
    draw::{EntryDraw, Streams},
    error::{against_exact, against_plain},
    low::Low,
    operand::ChainOperand,
    reference::ReferenceChains,
    scaling::OperandEntry,
};
use crate::{Result, base::parallel, device::Device, inputs::Init, isa::Instruction};

/// Properties that, with the seed, decide the random numbers of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupKey {
    draw: EntryDraw,
    m: usize,
    k: usize,
}

/// The shapes of `curves`, each with the indices of its curves.
pub(super) fn shapes(curves: &[(Instruction, Init)]) -> Vec<(GroupKey, Vec<usize>)> {
    let mut shapes: Vec<(GroupKey, Vec<usize>)> = Vec::new();
    for (index, (instruction, _)) in curves.iter().enumerate() {
        let shape = GroupKey { draw: EntryDraw::for_format(instruction.a), m: instruction.m, k: instruction.k };
        match shapes.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, members)) => members.push(index),
            None => shapes.push((shape, vec![index])),
        }
    }
    shapes
}

impl GroupKey {
    /// Number of chains of `length` links that are computed at once.
    ///
    /// It is enough for any device and few enough for the memory: an entry of an exact reference takes some eight bytes for each
    /// link.
    pub(super) fn batch(&self, length: usize) -> usize {
        ((1 << 21) / length.div_ceil(128) / (self.m.max(self.k) * self.k)).max(1)
    }
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}k{}", self.m, self.k)
    }
}

/// Arithmetic of a reference, and the entries of its A and B into formats, if they are rounded.
type ReferenceKind = (Plain, Option<(OperandEntry, OperandEntry)>);

/// Chains of one shape at one length.
pub(super) struct Group {
    shape: GroupKey,
    streams: Streams,
    scaling: MatrixScaling,
    /// The chains of an instruction on a device, by its number.
    lows: Vec<((usize, Instruction), Low)>,
    references: Vec<(ReferenceKind, ReferenceChains)>,
    /// For each curve, its place in `lows` and in `references`.
    places: Vec<(usize, usize)>,
}

impl Group {
    /// Chains `first..first + chains` of the curves, before their first link.
    ///
    /// A curve has the number of its device.
    pub(super) fn new(
        shape: GroupKey,
        curves: &[(usize, &(Instruction, Init))],
        scaling: MatrixScaling,
        seed: u64,
        first: u64,
        chains: usize,
    ) -> Self {
        let mut streams = Streams::new(shape.draw, seed, first, chains);
        let drawn = streams.take(shape.m * shape.k);
        let mut operands = Operands::new(shape.draw, &drawn, shape.m * shape.k, shape.k);
        let (mut lows, mut references, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (device, (instruction, init)) in curves {
            let key = (*device, instruction.clone());
            let low = position(&lows, &key).unwrap_or_else(|| {
                let entry = OperandEntry::new(instruction, false, scaling);
                lows.push((key, Low::new(instruction, chains, operands.of(entry), entry)));
                lows.len() - 1
            });
            let start = start(instruction, *init, scaling);
            let reference = position(&references, &start).unwrap_or_else(|| {
                let a = start.1.map_or(drawn.as_slice(), |(a, _)| &operands.of(a).values);
                references.push((start, ReferenceChains::new(start.0, shape.m, shape.k, a)));
                references.len() - 1
            });
            places.push((low, reference));
        }
        Group { shape, streams, scaling, lows, references, places }
    }

    pub(super) fn advance(&mut self, devices: &mut [&mut dyn Device]) -> Result<()> {
        let drawn = self.streams.take(self.shape.k * self.shape.k);
        let mut operands = Operands::new(self.shape.draw, &drawn, self.shape.k * self.shape.k, self.shape.k);
        for ((device, instruction), low) in &mut self.lows {
            low.advance(&mut *devices[*device], operands.of(OperandEntry::new(instruction, true, self.scaling)))?;
        }
        for (index, ((_, rounded), references)) in self.references.iter_mut().enumerate() {
            let b = rounded.map_or(drawn.as_slice(), |(_, b)| &operands.of(b).values);
            let compared = self.places.iter().filter(|(_, reference)| *reference == index);
            let lows: Vec<&Low> = compared.map(|(low, _)| &self.lows[*low].1).collect();
            references.advance(b, |chain| lows.iter().any(|low| !low.overflowed(chain)));
        }
        Ok(())
    }

    /// Adds the chains of curve `curve`, as they are, to `point`.
    pub(super) fn gather(&self, curve: usize, point: &mut ChainPoint) {
        let (low, references) = self.places[curve];
        let (low, references) = (&self.lows[low].1, &self.references[references].1);
        let each = self.shape.m * self.shape.k;
        let chains = references.chains().iter().zip(low.values.chunks(each)).enumerate();
        let errors = parallel::map(chains, |(chain, (reference, values))| {
            (!low.overflowed(chain)).then(|| ChainErrors {
                plain: against_plain(values, reference),
                exact: against_exact(values, reference),
            })
        });
        errors.into_iter().for_each(|errors| point.add(errors));
    }
}

/// From which values the references of a curve start.
fn start(instruction: &Instruction, init: Init, scaling: MatrixScaling) -> ReferenceKind {
    let rounded = init == Init::Low || EntryDraw::for_format(instruction.a) == EntryDraw::Bits;
    (
        Plain::for_instruction(instruction),
        rounded.then(|| [false, true].map(|down| OperandEntry::new(instruction, down, scaling)).into()),
    )
}

fn position<K: PartialEq, V>(list: &[(K, V)], key: &K) -> Option<usize> {
    list.iter().position(|(known, _)| known == key)
}

/// The same random matrices entered into each format that is asked for.
struct Operands<'a> {
    draw: EntryDraw,
    drawn: &'a [f64],
    /// Entries of a matrix.
    each: usize,
    /// Columns of a matrix.
    columns: usize,
    entered: Vec<(OperandEntry, ChainOperand)>,
}

impl<'a> Operands<'a> {
    fn new(draw: EntryDraw, drawn: &'a [f64], each: usize, columns: usize) -> Self {
        Operands { draw, drawn, each, columns, entered: Vec::new() }
    }

    fn of(&mut self, entry: OperandEntry) -> &ChainOperand {
        let index = position(&self.entered, &entry).unwrap_or_else(|| {
            self.entered.push((entry, ChainOperand::new(self.drawn, self.draw, &entry, self.each, self.columns)));
            self.entered.len() - 1
        });
        &self.entered[index].1
    }
}

struct ChainErrors {
    plain: Option<f64>,
    exact: f64,
}

impl ChainPoint {
    /// Takes in one more chain: its errors, or `None` if it has overflowed.
    fn add(&mut self, errors: Option<ChainErrors>) {
        let Some(errors) = errors else {
            self.overflowed += 1;
            return;
        };
        self.finite += 1;
        self.against_plain.add(errors.plain);
        self.against_exact.add(Some(errors.exact));
    }
}
