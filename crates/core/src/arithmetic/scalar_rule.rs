//! Arithmetic of scalar instructions: the exact result of each lane, rounded once.

use crate::{
    format::{Class, Encoding, Finite, Float, Format, Overflow, Real, Rounding},
    isa::scalar::{Clamp, Form, NanResult, ScalarOperation},
    number::{product, sum},
    softfloat::{Converter, Environment, NanRule, Operation, Tininess, Unit},
};

/// Rule of a scalar instruction.
#[derive(Debug)]
pub struct ScalarRule<'a> {
    form: &'a Form,
    rounding: Rounding,
    /// Format of the result with unreachable exponents, and the rounding that decides tininess.
    unbounded: Option<(Format, Rounding)>,
    one: u64,
}

impl<'a> ScalarRule<'a> {
    /// Rule of `form`; `None` if random bits decide.
    pub fn new(form: &'a Form) -> Option<ScalarRule<'a>> {
        let rounding = form.rounding?;
        let unbounded = form.flush_results.zip(form.result.float()).map(|(tininess, float)| {
            // Rounded to odd, no result reaches a number beyond it, and only zero becomes zero.
            let rounding = if tininess == Tininess::After { rounding } else { Rounding::Ro };
            (unbounded(form.result, float), rounding)
        });
        let one = form.result.encode_f64(1.0, Rounding::Rne, Overflow::Standard).unwrap_or(0);
        Some(ScalarRule { form, rounding, unbounded, one })
    }

    /// The instruction.
    pub fn form(&self) -> &'a Form {
        self.form
    }

    /// Rounding direction.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Format of the result with two more exponent bits, and the rounding that decides tininess.
    pub fn unbounded(&self) -> Option<&(Format, Rounding)> {
        self.unbounded.as_ref()
    }

    /// Code of 1 in the format of the result; 0 if there is none.
    pub fn one(&self) -> u64 {
        self.one
    }

    /// Code of the result for operands in one lane; surplus operands are ignored.
    pub fn result(&self, operands: [u64; 3]) -> u64 {
        let form = self.form;
        if self.out_of_bounds(operands) {
            return 0;
        }
        let codes = operands.map(|code| self.flushed(code));
        let [a, b, c] = codes.map(|code| form.source.value(code));
        let negated = |value: Real| match value {
            Real::Nan => Real::Nan,
            Real::Infinity { negative } => Real::Infinity { negative: !negative },
            Real::Finite(finite) => Real::Finite(Finite { negative: !finite.negative, ..finite }),
        };
        let cancels_to_negative = self.rounding == Rounding::Rd;
        let value = match form.operation {
            ScalarOperation::Convert => a,
            ScalarOperation::Round => self.integral(a),
            ScalarOperation::Add => sum(&a, &b, cancels_to_negative),
            ScalarOperation::Sub => sum(&a, &negated(b), cancels_to_negative),
            ScalarOperation::Mul => product(&a, &b),
            ScalarOperation::Fma => sum(&product(&a, &b), &c, cancels_to_negative),
            ScalarOperation::Neg => negated(a),
            ScalarOperation::Abs => match a {
                Real::Nan => Real::Nan,
                Real::Infinity { .. } => Real::Infinity { negative: false },
                Real::Finite(finite) => Real::Finite(Finite { negative: false, ..finite }),
            },
            ScalarOperation::Div => quotient(&a, &b),
            ScalarOperation::Sqrt => root(&a),
            ScalarOperation::Min | ScalarOperation::Max => return self.clamped(self.selected(codes[0], codes[1])),
        };
        self.clamped(match value {
            Real::Nan => self.nan(codes),
            value => self.encoded(&value),
        })
    }

    /// True if a factor has the out-of-bounds code, with either sign.
    fn out_of_bounds(&self, [a, b, _]: [u64; 3]) -> bool {
        let magnitude = self.form.source.code_mask() >> 1;
        self.form.out_of_bounds.is_some_and(|code| [a, b].iter().any(|factor| factor & magnitude == code))
    }

    /// Operand, or a zero of its sign if it is flushed.
    fn flushed(&self, code: u64) -> u64 {
        if !self.form.flush_inputs {
            return code;
        }
        let datum = self.form.source.decode(code);
        let zero = || self.form.source.zero(datum.negative).unwrap_or(code);
        if datum.class == Class::Subnormal { zero() } else { code }
    }

    fn integral(&self, value: Real) -> Real {
        let Real::Finite(finite) = value else { return value };
        let (magnitude, _) = finite.round_to_quantum(finite.exponent.max(0), self.rounding);
        Real::Finite(Finite::exact(finite.negative, magnitude, finite.exponent.max(0)))
    }

    fn encoded(&self, value: &Real) -> u64 {
        let format = self.form.result;
        let code = |format: &Format, rounding, overflow| {
            format.encode(value, rounding, overflow).expect("formats without NaN hold every other result")
        };
        if let (Some((unbounded, rounding)), Some(float)) = (&self.unbounded, format.float()) {
            let seen = unbounded.decode(code(unbounded, *rounding, Overflow::Standard));
            let tiny = seen.is_finite()
                && seen.significand != 0
                && seen.exponent + seen.significand.ilog2() as i32 - float.emin() < 0;
            if tiny {
                return format.zero(seen.negative).unwrap_or(0);
            }
        }
        code(format, self.rounding, self.form.overflow)
    }

    /// Result where it is not a number, for operands with these codes.
    fn nan(&self, codes: [u64; 3]) -> u64 {
        let (from, to) = (self.form.source, self.form.result);
        let code = match self.form.nan {
            NanResult::Code(code) => return code,
            NanResult::First(invalid) => {
                let operands = &codes[..self.form.operation.operands()];
                match operands.iter().find(|code| from.decode(**code).class == Class::Nan) {
                    Some(code) => *code,
                    None => return invalid,
                }
            }
            _ => codes[0],
        };
        let (Some(source), Some(result)) = (from.float(), to.float()) else { return 0 };
        let datum = from.decode(code);
        let payload = match result.trailing_bits.checked_sub(source.trailing_bits) {
            Some(wider) => datum.significand << wider,
            None => datum.significand >> (source.trailing_bits - result.trailing_bits),
        };
        let quiet = 1 << (result.trailing_bits - 1);
        let infinity = to.infinity(datum.negative).unwrap_or(0);
        match self.form.nan {
            NanResult::Quiet | NanResult::First(_) => infinity | (payload | quiet) << result.padding_bits,
            NanResult::Copy if payload == 0 => infinity | quiet << result.padding_bits,
            NanResult::Below => (infinity | payload << result.padding_bits) - (1 << result.padding_bits),
            _ => infinity | payload << result.padding_bits,
        }
    }

    fn selected(&self, a: u64, b: u64) -> u64 {
        let format = self.form.source;
        let (x, y) = (format.decode(a), format.decode(b));
        let nan = [x, y].map(|datum| datum.class == Class::Nan);
        if nan == [true; 2] || self.form.nan_operands && nan.contains(&true) {
            return self.nan([a, b, 0]);
        }
        let sign = 1u64 << (format.bits - 1);
        let magnitude = if self.form.xor_sign { !sign } else { u64::MAX };
        let flip = if self.form.xor_sign { (a ^ b) & sign } else { 0 };
        // Codes of one sign are in the order of their magnitudes.
        let key = |code: u64| if code & sign == 0 { code as i64 } else { -1 - (code & !sign) as i64 };
        let (a, b) = (a & magnitude, b & magnitude);
        let first = match self.form.operation {
            ScalarOperation::Min => key(a) < key(b),
            _ => key(a) > key(b),
        };
        (if nan[1] || !nan[0] && first { a } else { b }) | flip
    }

    fn clamped(&self, code: u64) -> u64 {
        let datum = self.form.result.decode(code);
        let nan = datum.class == Class::Nan;
        match self.form.clamp {
            Clamp::None => code,
            Clamp::Relu if datum.negative && !nan => 0,
            Clamp::Relu => code,
            Clamp::Unit if datum.negative || nan => 0,
            Clamp::Unit => code.min(self.one),
        }
    }
}

/// Rule of a scalar instruction on the engine for every format.
/// It is independent of [`ScalarRule::result`] except for NaNs and clamps.
#[derive(Debug)]
pub struct FastRule<'a> {
    rule: &'a ScalarRule<'a>,
    unit: RuleEngine<'a>,
}

#[derive(Debug)]
enum RuleEngine<'a> {
    Converter(Converter<'a>),
    Unit(Unit<'a>, Operation),
}

impl<'a> FastRule<'a> {
    /// The rule on the engine; `None` if the engine lacks the operation (signs, and minima of magnitudes).
    pub fn new(rule: &'a ScalarRule<'a>) -> Option<FastRule<'a>> {
        let form = rule.form;
        let environment = Environment {
            rounding: rule.rounding,
            overflow: form.overflow,
            tininess: form.flush_results.unwrap_or(Tininess::After),
            flush_inputs: form.flush_inputs,
            flush_results: form.flush_results.is_some(),
            nan: NanRule::Canonical,
        };
        let operation = match form.operation {
            ScalarOperation::Convert => {
                let converter = Converter::new(form.source, form.result, environment);
                return Some(FastRule { rule, unit: RuleEngine::Converter(converter) });
            }
            ScalarOperation::Round => Operation::Rint,
            ScalarOperation::Add => Operation::Add,
            ScalarOperation::Sub => Operation::Sub,
            ScalarOperation::Mul => Operation::Mul,
            ScalarOperation::Fma => Operation::Fma,
            ScalarOperation::Div => Operation::Div,
            ScalarOperation::Sqrt => Operation::Sqrt,
            ScalarOperation::Neg | ScalarOperation::Abs => return None,
            ScalarOperation::Min | ScalarOperation::Max if form.xor_sign => return None,
            ScalarOperation::Min if form.nan_operands => Operation::Minimum,
            ScalarOperation::Min => Operation::MinimumNumber,
            ScalarOperation::Max if form.nan_operands => Operation::Maximum,
            ScalarOperation::Max => Operation::MaximumNumber,
        };
        Some(FastRule { rule, unit: RuleEngine::Unit(Unit::new(form.source, environment).ok()?, operation) })
    }

    /// Code of the result, equal to [`ScalarRule::result`].
    pub fn result(&self, operands: [u64; 3]) -> u64 {
        let (rule, form) = (self.rule, self.rule.form);
        if rule.out_of_bounds(operands) {
            return 0;
        }
        let outcome = match &self.unit {
            RuleEngine::Converter(converter) => converter.convert(operands[0]),
            RuleEngine::Unit(unit, operation) => unit.apply(*operation, operands),
        };
        let nan = |code: u64| form.result.decode(code).class == Class::Nan;
        let is_nan = form.operation.operands() == 1 && form.source.decode(operands[0]).class == Class::Nan;
        rule.clamped(match outcome.code {
            Some(code) if !is_nan && !nan(code) => code,
            _ => rule.nan(operands),
        })
    }
}

/// `a / b`.
fn quotient(a: &Real, b: &Real) -> Real {
    let negative = |value: &Real| match value {
        Real::Nan => false,
        Real::Infinity { negative } => *negative,
        Real::Finite(finite) => finite.negative,
    };
    let sign = negative(a) != negative(b);
    match (a, b) {
        (Real::Nan, _) | (_, Real::Nan) | (Real::Infinity { .. }, Real::Infinity { .. }) => Real::Nan,
        (Real::Infinity { .. }, _) => Real::Infinity { negative: sign },
        (_, Real::Infinity { .. }) => Real::Finite(Finite::zero(sign)),
        (Real::Finite(a), Real::Finite(b)) => match (a.is_zero(), b.is_zero()) {
            (true, true) => Real::Nan,
            (false, true) => Real::Infinity { negative: sign },
            _ => Real::Finite(a.over(b)),
        },
    }
}

/// The square root of `a`.
fn root(a: &Real) -> Real {
    match a {
        Real::Finite(a) if a.is_zero() => Real::Finite(*a),
        Real::Finite(a) if !a.negative => {
            // An even power of two times an integer of 127 or 128 bits, whose root has 64.
            let shift = a.significand.leading_zeros() as i32;
            let shift = shift - ((a.exponent - shift) & 1);
            let significand = a.significand << shift;
            let root = significand.isqrt();
            let exponent = (a.exponent - shift) / 2;
            Real::Finite(Finite { negative: false, significand: root, exponent, sticky: root * root != significand })
        }
        Real::Infinity { negative: false } => *a,
        _ => Real::Nan,
    }
}

/// Format with two more exponent bits: no result of one operation on the narrower one exceeds it.
fn unbounded(format: &Format, float: &Float) -> Format {
    let bias = float.bias + 3 * (1 << (float.exponent_bits - 1));
    let wide = Float { exponent_bits: float.exponent_bits + 2, bias, ..*float };
    Format {
        name: "unbounded",
        aliases: &[],
        bits: format.bits + 2,
        encoding: Encoding::Float(wide),
        source: "the format of the result, with more exponents",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inputs::space::Space,
        isa::scalar::{all, find},
    };

    fn result(ptx: &str, operands: [u64; 3]) -> u64 {
        ScalarRule::new(find(ptx).unwrap()).unwrap().result(operands)
    }

    #[test]
    fn conversions_to_f16_are_those_of_the_format() {
        assert_eq!(result("cvt.rn.f16.f32", [0x3f80_1000, 0, 0]), 0x3c00);
        assert_eq!(result("cvt.rp.f16.f32", [0x3f80_1000, 0, 0]), 0x3c01);
        assert_eq!(result("cvt.rn.satfinite.f16.f32", [0x7f80_0000, 0, 0]), 0x7bff);
        assert_eq!(result("cvt.rn.relu.f16.f32", [0xbf80_0000, 0, 0]), 0);
        assert_eq!(result("cvt.rn.relu.f16.f32", [0x8000_0000, 0, 0]), 0);
        assert_eq!(result("cvt.rn.sat.f16.f32", [0x7fc0_0000, 0, 0]), 0);
    }

    #[test]
    fn nans_follow_the_rule_of_the_instruction() {
        for (ptx, operand, expected) in [
            ("cvt.rn.tf32.f32", 0xff80_0001, 0x7fff_e000),
            ("cvt.rna.tf32.f32", 0x7f80_0001, 0x7f80_0000),
            ("cvt.rna.tf32.f32", 0xff80_3fff, 0xff80_2000),
            ("cvt.rna.satfinite.tf32.f32", 0x7f80_0001, 0x7f7f_e000),
            ("cvt.rna.satfinite.tf32.f32", 0x7f80_2000, 0x7f80_0000),
            ("cvt.rna.satfinite.tf32.f32", 0x7f80_4000, 0x7f80_2000),
            ("cvt.rna.satfinite.tf32.f32", 0x7f80_0000, 0x7f7f_e000),
            ("cvt.rn.f32.f64", 0x7ff0_0000_0000_0001, 0x7fc0_0000),
            ("cvt.rn.f16.f64", 0xfff0_4000_0000_0000, 0xfe10),
            ("cvt.ftz.f64.f32", 0xff80_0001, 0x7fff_ffff_e000_0000),
            ("cvt.rzi.u8.f64", 0x7ff0_0000_0000_0001, 0x80),
            ("cvt.rni.f64.f64", 0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_0001),
        ] {
            assert_eq!(result(ptx, [operand, 0, 0]), expected, "{ptx} {operand:#x}");
        }
    }

    #[test]
    fn factors_out_of_bounds_make_zero_and_addends_do_not() {
        for ptx in ["fma.rn.oob.f16", "fma.rn.oob.bf16x2"] {
            for code in [0x7ff7, 0xfff7] {
                assert_eq!(result(ptx, [code, 0x3c00, 0x3c00]), 0);
                assert_eq!(result(ptx, [0x7fff, code, 0x7fff]), 0);
                assert_eq!(result(ptx, [0x3c00, 0x3c00, code]), 0x7fff);
            }
        }
    }

    #[test]
    fn halves_that_round_up_to_the_smallest_normal_number_are_flushed_by_tininess() {
        // (1 - 2^-11) * (1 + 2^-10) * 2^-14, below 2^-14 by less than half a unit of 11 bits.
        let (a, b) = (0x3bff, 0x0400);
        let flushing = find("mul.rn.ftz.f16").unwrap();
        let with = |tininess| Form { flush_results: Some(tininess), ..flushing.clone() };
        let apply = |form: &Form| ScalarRule::new(form).unwrap().result([a, b, 0]);
        assert_eq!(result("mul.rn.f16", [a, b, 0]), 0x0400);
        assert_eq!([Tininess::Before, Tininess::After].map(|t| apply(&with(t))), [0, 0]);
        // (1 + 2^-10) * (1 - 2^-10) * 2^-14 = 2^-14 - 2^-34: eleven bits hold 2^-14 only.
        let apply = |form: &Form| ScalarRule::new(form).unwrap().result([0x0401, 0x3bfe, 0]);
        assert_eq!([Tininess::Before, Tininess::After].map(|t| apply(&with(t))), [0, 0x0400]);
    }

    #[test]
    fn rounding_to_integral_keeps_signs_and_what_is_integral() {
        assert_eq!(result("cvt.rni.f32.f32", [0x3f00_0000, 0, 0]), 0);
        assert_eq!(result("cvt.rni.f32.f32", [0xbf00_0000, 0, 0]), 0x8000_0000);
        assert_eq!(result("cvt.rpi.f32.f32", [0x0000_0001, 0, 0]), 0x3f80_0000);
        assert_eq!(result("cvt.rni.f32.f32", [0x7f00_0001, 0, 0]), 0x7f00_0001);
        assert_eq!(result("cvt.rzi.s32.f32", [0xcf80_0000, 0, 0]), 0x8000_0000);
    }

    #[test]
    fn the_engine_gives_the_measured_integer_for_nan() {
        let environment = Environment { nan: NanRule::Nvidia, ..Environment::default() };
        let mut measured = 0;
        for form in
            all().iter().filter(|form| form.result.is_integer() && form.source.has_nan() && !form.evidence.is_empty())
        {
            let outcome = Converter::new(form.source, form.result, environment).convert(form.source.nan().unwrap());
            assert_eq!(outcome.code.map(NanResult::Code), Some(form.nan), "{form}");
            measured += 1;
        }
        assert!(measured > 0);
    }

    #[test]
    fn the_engine_agrees_with_the_rule() {
        for form in crate::isa::scalar::all().iter().filter(|form| form.missing().is_none()) {
            let rule = ScalarRule::new(form).unwrap();
            let Some(fast) = FastRule::new(&rule) else { continue };
            let space = Space::new(form, 3);
            for index in (0..space.size()).step_by((space.size() / 20_000).max(1) as usize | 1) {
                for lane in 0..form.lanes {
                    let operands = space.operands(index, lane);
                    let (ours, theirs) = (rule.result(operands), fast.result(operands));
                    assert_eq!(ours, theirs, "{form} {operands:x?}: rule {ours:x}, engine {theirs:x}");
                }
            }
        }
    }

    #[test]
    fn minima_order_zeros_and_pass_numbers_by_nans() {
        assert_eq!(result("min.f16", [0x0000, 0x8000, 0]), 0x8000);
        assert_eq!(result("max.f16", [0x8000, 0x0000, 0]), 0x0000);
        assert_eq!(result("min.f16", [0x7e00, 0x4000, 0]), 0x4000);
        assert_eq!(result("min.NaN.f16", [0x7e00, 0x4000, 0]), 0x7fff);
        assert_eq!(result("max.xorsign.abs.f16", [0xc000, 0x3c00, 0]), 0xc000);
    }
}
