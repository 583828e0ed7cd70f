//! Rounding to registers of more than 32 bits, element by element.

use super::{
    encoder::MagnitudeWord,
    number::{INFINITY, MINUS_INFINITY, NAN, Number, SumWord, TRUE, ZERO},
};
use crate::{
    arithmetic::{Destination, ResultTininess, Subnormals, ZeroSign},
    format::{Class, Finite, Float, Format, Real, Rounding, Specials, Zeros},
    softfloat::ResultTarget,
};

/// Number of a register: magnitude, sign as a mask, exponent, and marks of infinities and NaN.
#[derive(Debug, Clone, Copy)]
struct RegisterNumber {
    magnitude: u64,
    negative: u32,
    exponent: i32,
    special: u32,
}

/// Constants that round numbers to a register, whose values are then numbers again.
#[derive(Debug, Clone)]
pub(super) struct Register {
    rounding: Rounding,
    trailing_bits: i32,
    emin: i32,
    emax: i32,
    subnormals: Subnormals,
    tininess: ResultTininess,
    zero: ZeroSign,
    /// Results of overflows, by sign.
    overflowed: [RegisterNumber; 2],
    /// Results of plus and minus infinity and of NaN.
    specials: [RegisterNumber; 3],
}

/// Record of a format of more than 32 bits that is rounded to here: IEEE 754's, without padding.
pub(super) fn wide(format: &Format) -> Option<&Float> {
    format.float().filter(|f| {
        let ieee = f.signed && f.subnormals && f.specials == Specials::Ieee && f.zeros == Zeros::Both;
        format.bits > 32 && f.precision() <= <u64 as SumWord>::PRECISION && ieee
    })
}

impl RegisterNumber {
    /// Result of rounding `real` to the target.
    fn of(target: &ResultTarget, real: &Real) -> RegisterNumber {
        let datum = target.format.decode(target.round(real));
        let negative = if datum.negative { TRUE } else { 0 };
        let special = match datum.class {
            Class::Nan => NAN,
            Class::Infinite if datum.negative => MINUS_INFINITY,
            Class::Infinite => INFINITY,
            _ => 0,
        };
        let magnitude = if special == 0 { datum.significand } else { 0 };
        let exponent = if magnitude == 0 { ZERO } else { datum.exponent };
        RegisterNumber { magnitude, negative, exponent, special }
    }

    fn zero(negative: bool) -> RegisterNumber {
        RegisterNumber { magnitude: 0, negative: if negative { TRUE } else { 0 }, exponent: ZERO, special: 0 }
    }
}

impl Register {
    /// `None` for other formats.
    pub(super) fn new(to: &Destination) -> Option<Register> {
        let Destination { target, subnormals, tininess, zero, .. } = to;
        let float = wide(target.format)?;
        let beyond = |negative| Real::Finite(Finite::exact(negative, 1, 1 << 20));
        let infinity = |negative| Real::Infinity { negative };
        let of = |real: Real| RegisterNumber::of(target, &real);
        Some(Register {
            rounding: target.rounding,
            trailing_bits: float.trailing_bits as i32,
            emin: float.emin(),
            emax: float.emax(),
            subnormals: *subnormals,
            tininess: *tininess,
            zero: *zero,
            overflowed: [of(beyond(false)), of(beyond(true))],
            specials: [of(infinity(false)), of(infinity(true)), of(Real::Nan)],
        })
    }

    /// Rounds numbers.
    pub(super) fn hold<M: MagnitudeWord>(&self, number: &Number<M>, held: &mut Number) {
        for (l, special) in number.special.iter().enumerate() {
            let negative = number.negative[l] != 0;
            let [infinity, minus_infinity, nan] = self.specials;
            let register = match special & (INFINITY | MINUS_INFINITY) {
                0 if special & NAN == 0 => self.round(negative, number.magnitude[l].into(), number.exponent[l]),
                INFINITY if special & NAN == 0 => infinity,
                MINUS_INFINITY if special & NAN == 0 => minus_infinity,
                _ => nan,
            };
            held.magnitude[l] = register.magnitude;
            held.negative[l] = register.negative;
            held.exponent[l] = register.exponent;
            held.special[l] = register.special;
        }
    }

    fn round(&self, negative: bool, magnitude: u64, exponent: i32) -> RegisterNumber {
        let zero = RegisterNumber::zero(match self.zero {
            ZeroSign::Positive => false,
            ZeroSign::Negative => true,
            ZeroSign::Ieee | ZeroSign::ExactPositive | ZeroSign::Common => negative,
        });
        if magnitude == 0 {
            return zero;
        }
        let exact = Finite::exact(negative, magnitude.into(), exponent);
        let flushed = RegisterNumber::zero(negative && self.subnormals == Subnormals::SignedZero);
        let leading = exponent + magnitude.ilog2() as i32;
        // One unit above the precision is the next power of two.
        let rounded = |quantum: i32| {
            let units = exact.round_to_quantum(quantum, self.rounding).0 as u64;
            let carries = units >> (self.trailing_bits + 1) != 0;
            (units >> u32::from(carries), quantum + i32::from(carries))
        };
        let unbounded = leading - self.trailing_bits;
        let flushes = self.subnormals != Subnormals::Keep;
        if flushes && leading < self.emin {
            let tiny = match self.tininess {
                ResultTininess::Before => true,
                ResultTininess::After => false,
                ResultTininess::AfterUnbounded => rounded(unbounded).1 + self.trailing_bits < self.emin,
            };
            if tiny {
                return flushed;
            }
        }
        if leading > self.emax {
            return self.overflowed[usize::from(negative)];
        }
        let (units, quantum) = rounded(unbounded.max(self.emin - self.trailing_bits));
        if units == 0 {
            return zero;
        }
        if flushes && units >> self.trailing_bits == 0 && self.tininess == ResultTininess::After {
            return flushed;
        }
        if quantum + self.trailing_bits > self.emax {
            return self.overflowed[usize::from(negative)];
        }
        RegisterNumber { magnitude: units, negative: if negative { TRUE } else { 0 }, exponent: quantum, special: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FastArithmetic, Scratch};
    use crate::{arithmetic::Model, inputs::stream, isa};

    #[test]
    fn rules_with_registers_of_more_than_32_bits_are_fast_and_right() {
        let i = isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap();
        for (key, format) in ["product", "result", "between", "addition"]
            .into_iter()
            .flat_map(|key| ["e8m24", "e8m27", "e10m30", "e2m40", "f64"].map(|format| (key, format)))
        {
            let result = if key == "result" { "" } else { "result = { format = 'f32', rounding = 'RZ' }\n" };
            let text = format!(
                "name = 'register'\ntitle = 'a register'\nversion = 1\n[[rule]]\ninstructions = ['{i}']\nevidence = [{{ assumed = 'a test' }}]\n\
                 step = 'fused'\ngroup = 4\nc = 'last'\njoin = 'chain'\nnan = '0x7fffffff'\n{result}\
                 alignment = {{ bits = 34, rounding = 'RZ' }}\n{key} = {{ format = '{format}', rounding = 'RNE' }}\n"
            );
            let evaluator = Model::parse(&text, "register.toml").unwrap().evaluator(&i).unwrap();
            let fast = FastArithmetic::new(evaluator.program()).unwrap_or_else(|| panic!("{key} in {format} is slow"));
            let tiles = stream::tiles(&i, 1, 0, 4);
            for tile in 0..tiles.count {
                let dot = |at: usize| evaluator.dot(&tiles.case(&i, tile, at / i.n, at % i.n));
                let expected: Vec<u8> = (0..i.m * i.n).flat_map(|at| (dot(at) as u32).to_le_bytes()).collect();
                let mut d = vec![0; expected.len()];
                fast.tile(&tiles, tile, &mut Scratch::default(), &mut d, dot);
                assert!(d == expected, "{key} in {format}");
            }
        }
    }
}
