//! Rounding between two operations.

use super::{
    decoder::{NumberDecoder, numbers},
    encoder::{MagnitudeWord, NumberEncoder, encode},
    number::{COUNT, Number, UNKNOWN},
    register::{Register, wide},
};
use crate::{
    arithmetic::{Destination, OverflowTest},
    format::{Finite, Format, Real},
    softfloat::ResultTarget,
};

/// Length of the exact values of a format, and the exponents of the leading bits of the normal ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) fraction_bits: i32,
    pub(super) precision: u32,
    pub(super) exponents: (i32, i32),
}

impl Extent {
    pub(super) fn of(decoder: &NumberDecoder) -> Extent {
        let fraction_bits = decoder.fraction_bits as i32;
        Extent { fraction_bits, precision: decoder.precision, exponents: decoder.exponents() }
    }

    /// Extent of a format that values are rounded to; `None` for one that the kernel does not support.
    pub(super) fn rounded(format: &Format) -> Option<Extent> {
        let register = || {
            let float = wide(format)?;
            let fraction_bits = float.trailing_bits as i32;
            Some(Extent { fraction_bits, precision: float.precision(), exponents: (float.emin(), float.emax()) })
        };
        NumberDecoder::plain(format).as_ref().map(Extent::of).or_else(register)
    }
}

#[derive(Debug, Clone)]
enum StageRounding {
    /// Codes of at most 32 bits, decoded again.
    Codes(NumberEncoder, NumberDecoder),
    /// Registers of more bits.
    Register(Box<Register>),
}

/// Rounding of a value to a format, as the next operation takes it.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    rounding: StageRounding,
    /// Codes of the largest numbers, if what is rounded to them may overflow: the reference decides.
    largest: Option<[u32; 2]>,
    pub(super) extent: Extent,
    /// Encoder straight to D, where every finite code stays the same.
    pub(super) last: Option<NumberEncoder>,
}

impl Stage {
    /// `None` for a format that the kernel does not support.
    pub(super) fn new(to: &Destination, output: &ResultTarget) -> Option<Stage> {
        let extent = Extent::rounded(to.target.format)?;
        let is_exact = to.overflow_test == OverflowTest::Exact;
        if let Some(register) = Register::new(to) {
            if is_exact {
                return None;
            }
            let rounding = StageRounding::Register(Box::new(register));
            return Some(Stage { largest: None, rounding, extent, last: None });
        }
        let encoder = NumberEncoder::new(to)?;
        let decoder = NumberDecoder::plain(to.target.format)?;
        let last = encoder.then(&to.target, output).filter(|_| !is_exact);
        let largest = is_exact.then(|| [false, true].map(|negative| to.target.format.largest(negative) as u32));
        Some(Stage { largest, rounding: StageRounding::Codes(encoder, decoder), extent, last })
    }

    /// True if finite values become NaN.
    pub(super) fn makes_nan(target: &ResultTarget) -> bool {
        let beyond = |negative| target.round(&Real::Finite(Finite::exact(negative, 1, 1 << 20)));
        [false, true].into_iter().any(|negative| target.format.value(beyond(negative)) == Real::Nan)
    }

    /// Rounds a value for the next operation.
    pub(super) fn hold<M: MagnitudeWord>(&self, number: &Number<M>, held: &mut Number) {
        match &self.rounding {
            StageRounding::Codes(encoder, decoder) => {
                let mut codes = [0; COUNT];
                encode(encoder, number, &mut codes);
                numbers(decoder, &codes, held);
                if let Some(largest) = self.largest {
                    for (code, special) in codes.iter().zip(&mut held.special) {
                        *special |= if largest.contains(code) { UNKNOWN } else { 0 };
                    }
                }
            }
            StageRounding::Register(register) => register.hold(number, held),
        }
        held.add_unknown(number);
    }
}
