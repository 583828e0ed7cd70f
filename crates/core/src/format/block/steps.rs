//! Codes as step functions of the bits of an `f32` magnitude.
//!
//! Magnitudes ascend with their bits, and codes with magnitudes: a code begins at one place. That place is found by
//! questions to the exact computation, from a guess outward.

use super::{Quantizer, rule::Quotient};
use crate::{
    format::slices::{NEVER, STEPS, Steps},
    format::{Finite, Real, Rounding},
};

/// Bits of infinity, above every finite magnitude.
const INFINITY: u32 = 0x7f80_0000;

/// Finite number with these bits.
pub(super) fn number(bits: u32) -> Finite {
    match Real::from(f64::from(f32::from_bits(bits))) {
        Real::Finite(finite) => finite,
        _ => unreachable!("the bits of a finite number"),
    }
}

/// Smallest bits from which on `reached` is true; infinity's if it never is.
fn first(guess: f64, reached: impl Fn(u32) -> bool) -> u32 {
    let guess = (guess.abs().min(f64::from(f32::MAX)) as f32).to_bits();
    let reached = |bits: u32| bits >= INFINITY || reached(bits);
    let mut stride = 1u32;
    let (mut low, mut high);
    if reached(guess) {
        high = guess;
        loop {
            low = high.saturating_sub(stride);
            if !reached(low) {
                break;
            }
            high = low;
            if low == 0 {
                return 0;
            }
            stride = stride.saturating_mul(4);
        }
    } else {
        low = guess;
        loop {
            high = low.saturating_add(stride).min(INFINITY);
            if reached(high) {
                break;
            }
            low = high;
            stride = stride.saturating_mul(4);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}

/// Scale codes of blocks by their largest magnitude.
#[derive(Debug)]
pub(super) struct ScaleSteps {
    /// Bits of the smallest magnitude of each code, and a last entry above every magnitude.
    starts: Vec<u32>,
    /// Code of the smallest magnitude with these leading bits.
    /// A code spans at least an eighth of an octave (for scales with a precision of 4 bits) and an entry a sixteenth:
    /// few entries hold more than one start.
    codes: Vec<u8>,
}

impl ScaleSteps {
    const BELOW: u32 = 19;

    pub(super) fn new(quantizer: &Quantizer, quotient: &Quotient, tensor_scale: &Finite) -> ScaleSteps {
        let scale = quantizer.format.scale;
        let float = scale.float().expect("scales are floating-point numbers");
        let one = Finite::exact(false, 1, 0);
        let divisor = 1.0 / quotient.of(&one, &quantizer.format.element, tensor_scale).to_f64();
        let start = |code: u64| {
            let (below, at) = (scale.to_f64(code - 1), scale.to_f64(code));
            let ratio = match quotient.rounding {
                Rounding::Rz | Rounding::Rd => at,
                Rounding::Ru => below,
                _ => (below + at) / 2.0,
            };
            let reached = |bits| u64::from(quantizer.scale_code(quotient, &number(bits), tensor_scale)) >= code;
            first(ratio * divisor, reached)
        };
        // Above the subnormals, starts and codes repeat with the exponent. (At a precision of 1 bit ties alternate.)
        let octaves = 1 + u32::from(float.precision() == 1);
        let period = (octaves << (float.precision() - 1)) as usize;
        let normal = 1 + scale.smallest_normal() as usize;
        let mut starts = vec![0];
        for code in 1..=scale.largest(false) {
            let at = code as usize;
            let before = at.checked_sub(period).filter(|before| *before > normal).map(|before| starts[before]);
            let next = match before {
                Some(before) if before >= 2 << 23 => (before + (octaves << 23)).min(INFINITY),
                _ => start(code),
            };
            starts.push(next);
        }
        starts.push(u32::MAX);
        let mut code = 0;
        let codes = (0..INFINITY >> Self::BELOW).map(|top| {
            while starts[usize::from(code) + 1] <= top << Self::BELOW {
                code += 1;
            }
            code
        });
        ScaleSteps { codes: codes.collect(), starts }
    }

    /// Scale code of a block whose largest magnitude, a finite one, has these bits.
    #[inline]
    pub(super) fn code(&self, amax: u32) -> u8 {
        let mut code = self.codes[(amax >> Self::BELOW) as usize];
        // No branch: it would be mispredicted.
        code += u8::from(self.starts[usize::from(code) + 1] <= amax);
        while self.starts[usize::from(code) + 1] <= amax {
            code += 1;
        }
        code
    }
}

/// Element codes in blocks with this scale; the element format has at most [`STEPS`] positive numbers.
pub(super) fn element_steps(quantizer: &Quantizer, scale: &Finite) -> Steps {
    let format = quantizer.format.element.format;
    let largest = format.largest(false);
    let magnitude = |code: u8| u64::from(code) & (format.code_mask() >> 1);
    let side = |negative: bool| {
        let mut starts = [NEVER; STEPS];
        for (start, code) in starts.iter_mut().zip(1..=largest) {
            if scale.is_zero() {
                break;
            }
            let middle = (format.to_f64(code - 1) + format.to_f64(code)) / 2.0;
            let reached = |bits: u32| {
                let value = Finite { negative, ..number(bits) };
                magnitude(quantizer.element_code(&value, scale)) >= code
            };
            let exponent = f64::from(quantizer.format.element.exponent).exp2();
            *start = first(middle * exponent * scale.to_f64(), reached) as i32;
        }
        starts
    };
    let positive = side(false);
    Steps([positive, if asks_for_sign(quantizer.rounding) { side(true) } else { positive }])
}

/// Steps under twice the scale; `None` if they would leave the normal numbers.
pub(super) fn doubled(steps: &Steps) -> Option<Steps> {
    const OCTAVE: i32 = 1 << 23;
    let normal = 2 * OCTAVE..INFINITY as i32 - OCTAVE;
    let all = || steps.0.iter().flatten().filter(|start| **start != NEVER);
    let next = |start: i32| if start == NEVER { NEVER } else { start + OCTAVE };
    all().all(|start| normal.contains(start)).then(|| Steps(steps.0.map(|side| side.map(next))))
}

/// True if a magnitude may round differently in a negative number.
pub(super) fn asks_for_sign(rounding: Rounding) -> bool {
    matches!(rounding, Rounding::Ru | Rounding::Rd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block::{
        SCALE_RULES, formats,
        rule::{Choice, SECOND},
    };

    #[test]
    fn steps_under_twice_the_scale_are_an_octave_further() {
        let quantizer = Quantizer::new(crate::format::block::find("nvfp4").unwrap());
        let mut compared = 0;
        for (significand, exponent) in [(1, 0), (0xab_cdef, -140), (0xff_ffff, 60), (5, -149), (3, 124)] {
            let scale = |exponent| Finite::exact(false, significand, exponent);
            if let Some(steps) = doubled(&element_steps(&quantizer, &scale(exponent))) {
                assert_eq!(steps.0, element_steps(&quantizer, &scale(exponent + 1)).0, "{significand} * 2^{exponent}");
                compared += 1;
            }
        }
        assert_eq!(compared, 3);
    }

    #[test]
    fn a_scale_code_starts_at_the_smallest_magnitude_that_has_it() {
        let factors = [(1, 0), (3, -2), (0xab_cdef, -140), (1, -149), (0xff_ffff, 90)];
        let narrow = || formats().iter().filter(|format| format.scale.bits <= 8);
        for (format, rule) in narrow().flat_map(|format| SCALE_RULES.iter().map(move |rule| (format, rule))) {
            let quotient = match rule.choice {
                Choice::Largest(quotient) => quotient,
                Choice::TwoTops(_) => SECOND,
                _ => continue,
            };
            for (significand, exponent) in factors {
                let quantizer = Quantizer { rule, ..Quantizer::new(format) };
                let factor = Finite::exact(false, significand, exponent);
                let code = |bits: u32| u64::from(quantizer.scale_code(&quotient, &number(bits), &factor));
                let steps = ScaleSteps::new(&quantizer, &quotient, &factor);
                for (at, start) in (0..).zip(&steps.starts[..=format.scale.largest(false) as usize]) {
                    assert!(*start == INFINITY || code(*start) >= at, "{format} {rule}: {at} at {start:#x}");
                    assert!(*start == 0 || code(start - 1) < at, "{format} {rule}: {at} before {start:#x}");
                }
            }
        }
    }
}
