//! One operation on many operands.
//! Code is compiled for each floating-point format of the table where that is faster: in the calling program
//! (`#[inline]`), since it is long and has few callers.

use super::{
    Flags, Operation, Outcome, Unit,
    datapath::{Datapath, FormatFields},
    unit::{Engine, NARROW_PRECISION},
};
use crate::{
    format::{Encoding, FORMATS, Float, Layout},
    number::Word,
};

/// Operations with loops compiled for each format.
const COMPILED: [Operation; 6] =
    [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div, Operation::Fma, Operation::Sqrt];

/// Summary of an operation on many operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
#[non_exhaustive]
pub struct Mapped {
    /// Exceptions raised by any of the operations.
    pub flags: Flags,
    /// Number of results without a code (NaN in a format without NaN), replaced by 0.
    pub without_code: usize,
}

/// Constants of the table's format at this place.
#[derive(Debug, Clone, Copy)]
struct Tabled<const PLACE: usize>;

impl<const PLACE: usize> Tabled<PLACE> {
    const FLOAT: Option<Float> = match FORMATS[PLACE].encoding {
        Encoding::Float(float) => Some(float),
        Encoding::Integer { .. } | Encoding::Table(_) => None,
    };
    const LAYOUT: Layout = match Self::FLOAT {
        Some(float) => Layout::of(&float),
        None => panic!("integers and tables have no layout"),
    };
}

impl<const PLACE: usize> FormatFields for Tabled<PLACE> {
    #[inline(always)]
    fn layout(&self) -> &Layout {
        const { &Self::LAYOUT }
    }
}

impl Unit<'_> {
    /// Applies `operation` elementwise and writes the codes, up to the length of the shortest slice.
    #[inline]
    pub fn map(&self, operation: Operation, operands: [&[u64]; 3], codes: &mut [u64]) -> Mapped {
        let mut mapped = Mapped::default();
        self.each(operation, operands, codes, |code, outcome| {
            *code = outcome.code.unwrap_or(0);
            mapped.flags |= outcome.flags;
            mapped.without_code += usize::from(outcome.code.is_none());
        });
        mapped
    }

    /// Applies `operation` elementwise and writes codes and flags, up to the length of the shortest slice.
    #[inline]
    pub fn outcomes(&self, operation: Operation, operands: [&[u64]; 3], outcomes: &mut [Outcome]) {
        self.each(operation, operands, outcomes, |place, outcome| *place = outcome);
    }

    #[inline(always)]
    fn each<T>(
        &self,
        operation: Operation,
        operands: [&[u64]; 3],
        results: &mut [T],
        mut store: impl FnMut(&mut T, Outcome),
    ) {
        let datapath = match &self.0 {
            Engine::Fields(datapath) => datapath,
            Engine::Table(unit) => {
                let operands = operands[0].iter().zip(operands[1]).zip(operands[2]);
                for (result, ((x, y), z)) in results.iter_mut().zip(operands) {
                    store(result, unit.apply(operation, [*x, *y, *z]));
                }
                return;
            }
        };
        if !COMPILED.contains(&operation) {
            let operands = operands[0].iter().zip(operands[1]).zip(operands[2]);
            for (result, ((x, y), z)) in results.iter_mut().zip(operands) {
                store(result, datapath.apply(operation, [*x, *y, *z]));
            }
            return;
        }
        macro_rules! places {
            ($($product:ident: $($place:literal)*;)*) => {
                match FORMATS.iter().position(|format| std::ptr::eq(format, datapath.format)) {
                    _ if datapath.random => datapath.each::<u128, u128, T>(operation, operands, results, store),
                    $($(Some($place) => {
                        const { assert!(($product::BITS == 128) == (Tabled::<$place>::LAYOUT.precision > NARROW_PRECISION)) };
                        let Datapath { format, float, fields: _, environment, random, wide } = *datapath;
                        let datapath = Datapath { format, float, fields: Tabled::<$place>, environment, random, wide };
                        datapath.each::<u64, $product, T>(operation, operands, results, store)
                    })*)*
                    _ if datapath.wide => datapath.each::<u64, u128, T>(operation, operands, results, store),
                    _ => datapath.each::<u64, u64, T>(operation, operands, results, store),
                }
            };
        }
        places!(u128: 0; u64: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;)
    }
}

impl<F: FormatFields> Datapath<'_, F> {
    /// Uses words of one kind for sums, of another for products and quotients.
    #[inline(always)]
    fn each<S: Word, P: Word, T>(
        &self,
        operation: Operation,
        operands: [&[u64]; 3],
        results: &mut [T],
        mut store: impl FnMut(&mut T, Outcome),
    ) {
        macro_rules! each {
            ($x:ident, $y:ident, $z:ident: $outcome:expr) => {
                for (((result, $x), $y), $z) in results.iter_mut().zip(operands[0]).zip(operands[1]).zip(operands[2]) {
                    let ($x, $y, $z) = (*$x, *$y, *$z);
                    let _ = ($y, $z);
                    store(result, $outcome);
                }
            };
        }
        match operation {
            Operation::Add => each!(x, y, z: self.add_or_sub::<S>(x, y, false)),
            Operation::Sub => each!(x, y, z: self.add_or_sub::<S>(x, y, true)),
            Operation::Mul => each!(x, y, z: self.multiply::<P>(x, y)),
            Operation::Div => each!(x, y, z: self.divide::<P>(x, y)),
            Operation::Fma => each!(x, y, z: self.multiply_add::<P>(x, y, z)),
            Operation::Sqrt => each!(x, y, z: self.sqrt(x)),
            _ => unreachable!("an operation with a loop of its own"),
        }
    }
}
