//! One operation on many operands, by code that is compiled for each floating-point format of the table where that makes it faster:
//! in the program that calls it (`#[inline]`), since it is long and few do.

use super::{
    Flags, Operation, Outcome, Unit,
    datapath::{Datapath, FormatFields},
    unit::NARROW_PRECISION,
};
use crate::{
    format::{Encoding, FORMATS, Float, Layout},
    number::Word,
};

/// The operations whose loops are compiled for each format.
const OWN_LOOPS: [Operation; 6] =
    [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div, Operation::Fma, Operation::Sqrt];

/// What an operation on many operands came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Mapped {
    /// The exceptions raised by any of them.
    pub flags: Flags,
    /// How many results have no code (NaN in a format without NaN); 0 stands in their places.
    pub without_code: usize,
}

/// The constants of the table's format at this place.
#[derive(Debug, Clone, Copy)]
struct Tabled<const PLACE: usize>;

impl<const PLACE: usize> Tabled<PLACE> {
    const FLOAT: Option<Float> = match FORMATS[PLACE].encoding {
        Encoding::Float(float) => Some(float),
        Encoding::Integer { .. } => None,
    };
    const LAYOUT: Layout = match Self::FLOAT {
        Some(float) => Layout::of(&float),
        None => panic!("integers have no layout"),
    };
}

impl<const PLACE: usize> FormatFields for Tabled<PLACE> {
    #[inline(always)]
    fn layout(&self) -> &Layout {
        const { &Self::LAYOUT }
    }
}

impl Unit<'_> {
    /// `operation` on operands side by side: the results go to `codes`, as far as the shortest of the four slices reaches.
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

    /// `operation` on operands side by side, with the flags of each result: as far as the shortest of the four slices reaches.
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
        let datapath = &self.0;
        if !OWN_LOOPS.contains(&operation) {
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
        places!(u128: 0; u64: 1 2 3 4 5 6 7 8 9 10 11 12 13 14;)
    }
}

impl<F: FormatFields> Datapath<'_, F> {
    /// With sums in words of one kind, products and quotients in those of another.
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
