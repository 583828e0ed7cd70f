//! Scale codes of blocks by their largest magnitudes.

use super::{
    Quantizer,
    rule::Quotient,
    steps::{ScaleSteps, number},
};
use crate::{
    format::Overflow,
    number::{Finite, Real},
};

/// Scale codes by a quotient.
#[derive(Debug)]
pub(super) enum ScaleCodes {
    /// Codes of at most 8 bits, looked up.
    Steps(ScaleSteps),
    /// Wider codes: the divisor, and the quotient.
    Divided(f64, Quotient),
    /// Wider codes by the exact computation, under this tensor scale.
    Exactly(Quotient, Finite),
}

impl ScaleCodes {
    pub(super) fn new(quantizer: &Quantizer, quotient: &Quotient, tensor_scale: &Finite) -> ScaleCodes {
        let format = quantizer.format;
        if format.scale.bits <= 8 {
            return ScaleCodes::Steps(ScaleSteps::new(quantizer, quotient, tensor_scale));
        }
        // The quotient of 24 bits by 8 is no nearer to a boundary of 25 bits than 2^-49: f64 keeps the side.
        let plain = format.tensor_scale.is_none() && !quotient.rounds_amax;
        match plain {
            true => ScaleCodes::Divided(quotient.divisor(&format.element).to_f64(), *quotient),
            false => ScaleCodes::Exactly(*quotient, *tensor_scale),
        }
    }

    /// Scale code of a block whose largest magnitude, a finite one, has these bits.
    #[inline]
    pub(super) fn code(&self, quantizer: &Quantizer, amax: u32) -> u32 {
        match self {
            ScaleCodes::Steps(steps) => steps.code(amax).into(),
            ScaleCodes::Divided(divisor, quotient) => {
                let ratio = Real::from(f64::from(f32::from_bits(amax)) / divisor);
                let code = quantizer.format.scale.encode(&ratio, quotient.rounding, Overflow::Saturate);
                code.expect("a number has a code") as u32
            }
            ScaleCodes::Exactly(quotient, tensor_scale) => quantizer.scale_code(quotient, &number(amax), tensor_scale),
        }
    }
}
