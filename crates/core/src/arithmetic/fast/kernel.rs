//! Programs compiled for many elements of D at a time.

use super::{
    decoder::NumberDecoder,
    floating::{Floating, RoundedCodes, Workspace},
    integer::{Integer, integers},
    narrow::FactorRange,
    pieces::Pieces,
    scale::Scales,
    tile::Shape,
    values::ValueDecoder,
    word::PieceLanes,
};
use crate::arithmetic::{ElementaryOperation, Factors, Program, Scaling};

/// Compiled arithmetic of one instruction.
#[derive(Debug, Clone)]
pub(super) struct FastKernel {
    pub(super) a: NumberDecoder,
    pub(super) b: NumberDecoder,
    /// Stored k of the factors in the order of their sum.
    pub(super) order: Vec<usize>,
    /// True if that is the order in which they are stored.
    pub(super) ordered: bool,
    /// Bits taken of the significands of A and B, in that order; `None` for all bits.
    pub(super) masks: Option<[Vec<u32>; 2]>,
    /// Fraction bits of the factors that a sum takes in binary32.
    pub(super) values: Option<[i32; 2]>,
    /// Conversion of codes to those values, if all operations take them, and unchanged.
    pub(super) direct: Option<Direct>,
    pub(super) scales: Option<Scales>,
    arithmetic: Arithmetic,
}

/// Conversion of the codes of A and B to values in binary32.
#[derive(Debug, Clone)]
pub(super) struct Direct {
    pub(super) decoders: [ValueDecoder; 2],
    /// True if only some ranges of factors can be used unchanged; else all values of the formats can.
    pub(super) ranged: bool,
}

#[derive(Debug, Clone)]
enum Arithmetic {
    Integer(Integer),
    Floating(Box<Floating>),
}

impl FastKernel {
    /// `None` if the kernel does not support the program.
    pub(super) fn new(program: &Program) -> Option<FastKernel> {
        let i = &program.instruction;
        let [a, b, _] = &program.unpack;
        let (a, b) = (NumberDecoder::new(i.a, a.subnormals, a.wider)?, NumberDecoder::new(i.b, b.subnormals, b.wider)?);
        if let Some(ElementaryOperation::Integer(sum)) = program.operations().next() {
            let arithmetic = Arithmetic::Integer(Integer::new(i, sum)?);
            let order = (0..i.stored_k()).collect();
            return Some(FastKernel {
                ordered: true,
                order,
                masks: None,
                values: None,
                direct: None,
                scales: None,
                arithmetic,
                a,
                b,
            });
        }
        let (factors, begins) = factors(program);
        let order: Vec<usize> = factors.iter().map(|factors| factors.k).collect();
        let runs = program.operations().find_map(|operation| match operation {
            ElementaryOperation::Multiply(multiply) => match multiply.scaling {
                Scaling::Sums(run) => Some(run),
                _ => None,
            },
            _ => None,
        });
        let scales = match i.scale {
            None => None,
            // The scales of all products take part alike.
            Some(_) if !scaled_alike(program) => return None,
            Some(scale) => Some(Scales::new(scale, runs, [&a, &b])?),
        };
        let floating = Floating::new(program, [&a, &b], scales.as_ref(), &begins)?;
        let scale_bits = scales.as_ref().map_or(0, Scales::factor_fraction_bits);
        let values = floating.takes_values().then(|| [&a, &b].map(|factor| factor.fraction_bits as i32 + scale_bits));
        let unmasked = factors.iter().all(|factors| factors.a == u64::MAX && factors.b == u64::MAX);
        let masks = (!unmasked).then(|| {
            let of = |mask: fn(&Factors) -> u64, decoder: &NumberDecoder| {
                factors.iter().map(|factors| (mask(factors) >> decoder.clear_bits) as u32).collect::<Vec<_>>()
            };
            [of(|factors| factors.a, &a), of(|factors| factors.b, &b)]
        });
        let direct = (floating.takes_only_values() && masks.is_none() && scales.is_none()).then(|| {
            let decoders = [ValueDecoder::new(i.a, &program.unpack[0])?, ValueDecoder::new(i.b, &program.unpack[1])?];
            Some(Direct { decoders, ranged: !floating.serves(&ValueDecoder::range(&decoders)) })
        });
        let ordered = masks.is_none() && order.iter().copied().eq(0..i.stored_k());
        let arithmetic = Arithmetic::Floating(Box::new(floating));
        Some(FastKernel { ordered, order, masks, values, direct: direct.flatten(), scales, arithmetic, a, b })
    }

    /// True if terms are exclusive ors.
    pub(super) fn is_xor(&self) -> bool {
        matches!(&self.arithmetic, Arithmetic::Integer(integer) if integer.xor)
    }

    /// Rows of B to decode; sparse forms decode all rows, and the metadata of A choose among them.
    pub(super) fn rows_of_b(&self, i: &Shape) -> usize {
        if i.chunk.is_some() { i.k } else { self.order.len() }
    }

    /// True if factors in this range are exact in binary32, for operations.
    pub(super) fn serves(&self, range: &FactorRange) -> bool {
        match &self.arithmetic {
            Arithmetic::Integer(_) => false,
            Arithmetic::Floating(floating) => floating.serves(range),
        }
    }

    /// D of some pieces, with the elements of C.
    pub(super) fn run(&self, pieces: &Pieces, c: &PieceLanes<u32>, workspace: &mut Workspace, d: &mut RoundedCodes) {
        match &self.arithmetic {
            Arithmetic::Integer(integer) => integers(integer, pieces, c, d),
            Arithmetic::Floating(floating) => floating.run(pieces, c, workspace, d),
        }
    }
}

/// Factors of all products in the order of the operations, and the first factor of each operation.
fn factors(program: &Program) -> (Vec<Factors>, Vec<usize>) {
    let (mut all, mut begins) = (Vec::new(), Vec::new());
    for operation in program.operations() {
        begins.push(all.len());
        match operation {
            ElementaryOperation::Multiply(multiply) => all.extend_from_slice(&multiply.factors),
            ElementaryOperation::Fma { factors, .. } => all.push(*factors),
            _ => {}
        }
    }
    (all, begins)
}

/// True if scales take part in all products in one way.
fn scaled_alike(program: &Program) -> bool {
    let mut scalings = program.operations().filter_map(|operation| match operation {
        ElementaryOperation::Multiply(multiply) => Some(multiply.scaling),
        _ => None,
    });
    let first = scalings.next();
    scalings.all(|scaling| Some(scaling) == first)
}
