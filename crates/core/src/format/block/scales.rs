//! Scale codes of blocks by their largest magnitudes.

use super::{
    Quantizer,
    rule::Quotient,
    steps::{ScaleSteps, number},
    wide::{WideScale, power_above, rounded_to_precision},
};
use crate::number::{Finite, Rounding};

/// Scale codes by a quotient.
#[derive(Debug)]
pub(super) enum ScaleCodes {
    /// Codes of at most 8 bits, looked up.
    Steps(ScaleSteps),
    /// Wider codes, by division in f64.
    Divided(DividedScale),
    /// Wider codes by the exact computation, under this tensor scale.
    Exactly(Quotient, Finite),
}

/// Wider codes by division in f64.
#[derive(Debug)]
pub(super) struct DividedScale {
    wide: WideScale,
    divisor: f64,
    rounding: Rounding,
    /// True if the quotient is first rounded up to a power of two.
    to_power: bool,
    /// Significant bits to which the largest magnitude is rounded first.
    precision: u32,
}

impl DividedScale {
    /// `None` where only the exact computation finds the codes.
    pub(super) fn new(quantizer: &Quantizer, quotient: &Quotient) -> Option<DividedScale> {
        let format = quantizer.format;
        let divisor = quotient.divisor(&format.element).to_f64();
        let precision = if quotient.rounds_amax { format.element.precision() } else { u32::MAX };
        let rounding = quotient.rounding;
        let wide = WideScale::new(format.scale)?;
        // The quotient of 29 bits by 24 is no nearer to a boundary of 25 bits than 2^-51: f64 keeps the side.
        let sure = format.tensor_scale.is_none() && f64::from(divisor as f32) == divisor && format.scale.bits <= 32;
        (sure && wide.code(1.0, rounding).is_some()).then_some(DividedScale {
            wide,
            divisor,
            rounding,
            to_power: quotient.to_power,
            precision,
        })
    }

    /// Scale code of a block whose largest magnitude has at most 29 significant bits.
    #[inline]
    pub(super) fn code(&self, amax: f64) -> u32 {
        let amax = rounded_to_precision(amax, self.precision);
        let quotient = amax / self.divisor;
        let quotient = if self.to_power { power_above(quotient) } else { quotient };
        self.wide.code(quotient, self.rounding).expect("a rounding that `new` accepts")
    }
}

impl ScaleCodes {
    pub(super) fn new(quantizer: &Quantizer, quotient: &Quotient, tensor_scale: &Finite) -> ScaleCodes {
        if quantizer.format.scale.bits <= 8 {
            return ScaleCodes::Steps(ScaleSteps::new(quantizer, quotient, tensor_scale));
        }
        match DividedScale::new(quantizer, quotient) {
            Some(divided) => ScaleCodes::Divided(divided),
            None => ScaleCodes::Exactly(*quotient, *tensor_scale),
        }
    }

    /// Scale code of a block whose largest magnitude, a finite one, has these bits.
    #[inline]
    pub(super) fn code(&self, quantizer: &Quantizer, amax: u32) -> u32 {
        match self {
            ScaleCodes::Steps(steps) => steps.code(amax).into(),
            ScaleCodes::Divided(divided) => divided.code(f64::from(f32::from_bits(amax))),
            ScaleCodes::Exactly(quotient, tensor_scale) => quantizer.scale_code(quotient, &number(amax), tensor_scale),
        }
    }
}
