//! The rule of a row of the table, read from its words and executed by the soft-float.

use crate::{
    arithmetic::scalar_rule::ScalarRule,
    format::{Class, Format, Overflow, Rounding},
    isa::scalar::{Clamp, Form, NanResult},
    softfloat::{Converter, Environment, NanRule, Tininess},
};

/// Conversion as the soft-float executes it.
#[derive(Debug, Clone)]
pub struct ConversionRule {
    /// Formats, rounding, overflow, clamp, flushes, NaN.
    pub form: Form,
    /// Random bits below the last place that an operand supplies; `None` without random rounding.
    pub random_bits: Option<u32>,
    /// True if the sign of the operand is dropped before rounding.
    magnitude: bool,
    /// True if a result of -0 becomes +0.
    positive_zero: bool,
    /// NaN code that takes the operand's sign.
    signed_nan: Option<u64>,
    /// True if every invalid conversion to an integer gives x86's integer indefinite.
    indefinite: bool,
}

/// A rule with fixed random bits, ready to convert codes.
pub struct ConversionRun<'a> {
    conversion: &'a ConversionRule,
    rule: ScalarRule<'a>,
}

impl ConversionRule {
    /// Rule of `form` changed by `words`: a rounding, then options (`docs/conversions.md` lists them).
    ///
    /// # Errors
    /// A word that is none.
    pub fn read(mut form: Form, words: &str) -> Result<ConversionRule, String> {
        let mut read = [false; 2];
        let (mut random_bits, mut signed_nan, mut indefinite) = (None, None, false);
        for word in words.split_whitespace() {
            let (key, value) = word.split_once(':').unwrap_or((word, ""));
            match (key, value) {
                ("SR", bits) => {
                    let bits = bits.parse().ok().filter(|bits| (1..=64).contains(bits));
                    random_bits = Some(bits.ok_or_else(|| format!("'{word}' has no number of random bits"))?);
                }
                ("saturate", "") => form.overflow = Overflow::Saturate,
                ("nan", "") => form.overflow = Overflow::Nan,
                ("nan", "quiet") => form.nan = NanResult::Quiet,
                ("nan", "copy") => form.nan = NanResult::Copy,
                ("nan", text) => match text.strip_prefix("signed:") {
                    Some(text) => signed_nan = Some(code(text)?),
                    None => form.nan = NanResult::Code(code(text)?),
                },
                ("relu", "") => form.clamp = Clamp::Relu,
                ("flush-inputs", "") => form.flush_inputs = true,
                ("flush-results", "") => form.flush_results = Some(Tininess::After),
                ("magnitude", "") => read[0] = true,
                ("positive-zero", "") => read[1] = true,
                ("integer", "x86") => indefinite = true,
                _ => match Rounding::parse(word) {
                    Some(rounding) => form.rounding = Some(rounding),
                    None => return Err(format!("'{word}' is no word of a rule")),
                },
            }
        }
        let [magnitude, positive_zero] = read;
        Ok(ConversionRule { form, random_bits, magnitude, positive_zero, signed_nan, indefinite })
    }

    /// The rule with these random bits, which only a random rounding reads.
    pub fn with_random(&self, random: u64) -> ConversionRule {
        let mut rule = self.clone();
        if let Some(bits) = self.random_bits {
            rule.form.rounding = Some(Rounding::Sr { random, bits });
        }
        rule
    }

    /// Ready to convert; `None` while random bits are missing.
    pub fn run(&self) -> Option<ConversionRun<'_>> {
        Some(ConversionRun { conversion: self, rule: ScalarRule::new(&self.form)? })
    }
}

impl ConversionRun<'_> {
    /// Code of the result.
    pub fn result(&self, operand: u64) -> u64 {
        let conversion = self.conversion;
        let Form { source, result, .. } = conversion.form;
        let sign = 1 << (source.bits - 1);
        if let (Some(nan), Class::Nan) = (conversion.signed_nan, source.decode(operand).class) {
            return nan | u64::from(operand & sign != 0) << (result.bits - 1);
        }
        if conversion.indefinite {
            let environment =
                Environment { rounding: self.rule.rounding(), nan: NanRule::X86, ..Environment::default() };
            return Converter::new(source, result, environment).convert(operand).code.unwrap_or(0);
        }
        let operand = if conversion.magnitude { operand & !sign } else { operand };
        let code = self.rule.result([operand, 0, 0]);
        match conversion.positive_zero && result.zero(true) == Some(code) {
            true => result.zero(false).unwrap_or(code),
            false => code,
        }
    }
}

/// Random bits of each lane of `cvt.rs` from its operand `rbits`, the lowest lane first.
/// `None` for other forms.
///
/// The PTX manual gives the fields. That the first operand of a pair of narrow lanes reads them in reverse order was
/// measured on a B200 by others.
pub fn lane_random(form: &Form, rbits: u32) -> Option<Vec<u64>> {
    let halves = [rbits & 0xffff, rbits >> 16].map(|half| half as u16);
    let pairs = |fields: [u16; 2]| fields.iter().flat_map(|field| [*field, field.reverse_bits()]).collect::<Vec<_>>();
    let lanes = match (form.rounding.is_none(), form.lanes, form.result.bits) {
        (true, 2, _) if form.result.name == "f16" => halves.map(|half| half & 0x1fff).to_vec(),
        (true, 2, 16) => halves.to_vec(),
        (true, 4, 4) => {
            let [low, high] = halves;
            pairs([low & 0xff | (high & 0xff) << 8, low >> 8 | high & 0xff00])
        }
        (true, 4, _) => pairs(halves),
        _ => return None,
    };
    Some(lanes.into_iter().map(u64::from).collect())
}

/// Format with this name in the table; `None` for one that the program lacks.
pub(super) fn format(name: &str) -> Option<&'static Format> {
    crate::format::find(name).ok()
}

pub(super) fn code(text: &str) -> Result<u64, String> {
    text.strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| format!("'{text}' is not a code in hexadecimal"))
}
