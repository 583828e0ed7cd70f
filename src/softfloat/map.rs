//! One operation on many operands, by code that is compiled for each floating-point format of the table (of 32 bits or fewer).

use super::{
    Flags, Operation, Outcome, Unit,
    engine::{Engine, Fields},
};
use crate::format::{Encoding, FORMATS, Float, Layout, Word};

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

impl<const PLACE: usize> Fields for Tabled<PLACE> {
    #[inline(always)]
    fn layout(&self) -> &Layout {
        const { &Self::LAYOUT }
    }
}

impl Unit<'_> {
    /// `operation` on operands side by side: the results go to `codes`, as far as the shortest of the four slices reaches.
    pub fn map(&self, operation: Operation, operands: [&[u64]; 3], codes: &mut [u64]) -> Mapped {
        let engine = &self.0;
        macro_rules! places {
            ($($place:literal)*) => {
                match FORMATS.iter().position(|format| std::ptr::eq(format, engine.format)) {
                    $(Some($place) if !engine.wide => {
                        let Engine { format, float, fields: _, environment, wide } = *engine;
                        Engine { format, float, fields: Tabled::<$place>, environment, wide }.each::<u64>(operation, operands, codes)
                    })*
                    _ if engine.wide => engine.each::<u128>(operation, operands, codes),
                    _ => engine.each::<u64>(operation, operands, codes),
                }
            };
        }
        places!(1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    }
}

impl<F: Fields> Engine<'_, F> {
    #[inline(always)]
    fn each<W: Word>(&self, operation: Operation, operands: [&[u64]; 3], codes: &mut [u64]) -> Mapped {
        let mut mapped = Mapped::default();
        macro_rules! each {
            ($x:ident, $y:ident, $z:ident: $outcome:expr) => {
                for (((code, $x), $y), $z) in codes.iter_mut().zip(operands[0]).zip(operands[1]).zip(operands[2]) {
                    let ($x, $y, $z) = (*$x, *$y, *$z);
                    let _ = ($y, $z);
                    let outcome: Outcome = $outcome;
                    *code = outcome.code.unwrap_or(0);
                    mapped.flags |= outcome.flags;
                    mapped.without_code += usize::from(outcome.code.is_none());
                }
            };
        }
        match operation {
            Operation::Add => each!(x, y, z: self.add_or_sub::<W>(x, y, false)),
            Operation::Sub => each!(x, y, z: self.add_or_sub::<W>(x, y, true)),
            Operation::Mul => each!(x, y, z: self.multiply::<W>(x, y)),
            Operation::Div => each!(x, y, z: self.divide::<W>(x, y)),
            Operation::Fma => each!(x, y, z: self.multiply_add::<W>(x, y, z)),
            _ => each!(x, y, z: self.apply(operation, [x, y, z])),
        }
        mapped
    }
}
