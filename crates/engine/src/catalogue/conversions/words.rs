//! Words for what a conversion does at the corners of its formats, found by executing it.

use std::collections::BTreeSet;

use super::rule::{ConversionRule, ConversionRun};
use crate::{
    format::{Class, Format, Overflow, Real, Rounding},
    isa::scalar::{Form, NanResult},
};

/// Columns of the table that the soft-float decides, in their order.
pub const COLUMNS: [&str; 8] =
    ["nan", "infinity", "too_large", "tie", "subnormal_in", "subnormal_out", "minus_zero", "negative"];

/// Codes of a wide format that stand for all: each boundary of the result has several of them.
const WIDE: u64 = 1 << 11;

/// The words of `conversion`, in the order of [`COLUMNS`].
pub fn words(conversion: &ConversionRule) -> [String; 8] {
    // The extremes of random bits decide what every choice of them has in common.
    let rules = match conversion.random_bits {
        None => vec![conversion.clone()],
        Some(_) => vec![conversion.with_random(0), conversion.with_random(u64::MAX)],
    };
    let runs: Vec<ConversionRun<'_>> = rules.iter().filter_map(ConversionRule::run).collect();
    let corners = Corners { conversion, runs: &runs, codes: samples(&conversion.form) };
    [
        corners.nan(),
        corners.infinity(),
        corners.too_large(),
        corners.tie(),
        corners.subnormal_in(),
        corners.subnormal_out(),
        corners.minus_zero(),
        corners.negative(),
    ]
}

struct Corners<'a> {
    conversion: &'a ConversionRule,
    runs: &'a [ConversionRun<'a>],
    codes: BTreeSet<u64>,
}

impl Corners<'_> {
    fn source(&self) -> &'static Format {
        self.conversion.form.source
    }

    fn result(&self) -> &'static Format {
        self.conversion.form.result
    }

    /// One word for what the operands become, or `other` where they differ.
    fn single(&self, operands: impl IntoIterator<Item = u64>, word: impl Fn(u64, u64) -> String) -> Option<String> {
        let of_all = |operand| self.runs.iter().map(move |run| (operand, run.result(operand)));
        let mut seen: Vec<String> = operands.into_iter().flat_map(of_all).map(|(from, to)| word(from, to)).collect();
        seen.sort();
        seen.dedup();
        match seen.len() {
            0 => None,
            1 => seen.pop(),
            _ => Some("other".into()),
        }
    }

    /// Words for positive and negative operands, joined where they differ.
    fn by_sign(&self, operands: impl Fn(bool) -> Vec<u64>) -> String {
        let of = |negative| self.single(operands(negative), |_, code| self.named(code, negative));
        match (of(false), of(true)) {
            (None, None) => "-".into(),
            (Some(word), None) | (None, Some(word)) => word,
            (Some(plus), Some(minus)) if plus == minus => plus,
            (Some(plus), Some(minus)) => format!("{plus} / {minus}"),
        }
    }

    /// The result of an operand of this sign, in a word.
    fn named(&self, code: u64, negative: bool) -> String {
        let format = self.result();
        let datum = format.decode(code);
        // A float without a sign has no largest negative number.
        let has_signs = format.is_integer() || format.decode(format.largest(true)).negative;
        let negative = negative && has_signs;
        match datum.class {
            Class::Nan => return "NaN".into(),
            Class::Infinite if datum.negative == negative => return "infinity".into(),
            _ => {}
        }
        if format.zero(false) == Some(code) || format.is_integer() && code == 0 {
            "+0".into()
        } else if format.zero(true) == Some(code) {
            "-0".into()
        } else if code == format.largest(negative) {
            "largest".into()
        } else if has_signs && code == format.largest(!negative) {
            if format.largest(true) == code && format.is_integer() { "smallest".into() } else { "largest".into() }
        } else if format.to_f64(code) == 1.0 {
            "1".into()
        } else {
            format.hex(code)
        }
    }

    fn nan(&self) -> String {
        let (source, result) = (self.source(), self.result());
        let nans = self.codes.iter().copied().filter(|code| source.decode(*code).class == Class::Nan);
        let nans: Vec<u64> = nans.collect();
        let positive = |code: u64| code & !(1 << (result.bits - 1));
        let alike = self.single(nans.iter().copied(), |_, code| result.hex(code));
        let Some(alike) = alike else { return "-".into() };
        if alike != "other" {
            return alike;
        }
        let with_sign = self.single(nans.iter().copied(), |from, code| {
            let sign = code >> (result.bits - 1) == from >> (source.bits - 1);
            if sign { result.hex(positive(code)) } else { "other".into() }
        });
        match (with_sign, self.conversion.form.nan) {
            (Some(word), _) if word != "other" => format!("{word} with sign"),
            (_, NanResult::Quiet) => "quiet".into(),
            (_, NanResult::Copy) => "copy".into(),
            (_, NanResult::Cut) => "cut".into(),
            (_, NanResult::Below) => "below".into(),
            _ => "other".into(),
        }
    }

    fn infinity(&self) -> String {
        self.by_sign(|negative| self.source().infinity(negative).into_iter().collect())
    }

    /// Finite values beyond the largest number by more than half its last place.
    /// For random rounding it is a whole one.
    fn too_large(&self) -> String {
        let format = self.result();
        let largest = format.to_f64(format.largest(false));
        let below = format.encode_f64(largest.next_down(), Rounding::Rz, Overflow::Saturate);
        let place = if format.is_integer() { 1.0 } else { below.map_or(0.0, |code| largest - format.to_f64(code)) };
        let limit = |negative: bool| {
            let signed = format.is_integer() && format.decode(format.largest(true)).negative;
            let largest = if negative && signed { -format.to_f64(format.largest(true)) } else { largest };
            match self.conversion.random_bits {
                None => largest + place / 2.0,
                Some(_) => (largest + place).next_down(),
            }
        };
        self.by_sign(|negative| {
            let beyond = |code: &u64| {
                let datum = self.source().decode(*code);
                datum.is_finite() && datum.negative == negative && datum.to_f64().abs() > limit(negative)
            };
            self.codes.iter().copied().filter(beyond).collect()
        })
    }

    fn tie(&self) -> String {
        const WORDS: [(&str, Rounding); 6] = [
            ("even", Rounding::Rne),
            ("zero", Rounding::Rz),
            ("down", Rounding::Rd),
            ("up", Rounding::Ru),
            ("away", Rounding::Rna),
            ("odd", Rounding::Ro),
        ];
        let ties: Vec<Tie> = self.codes.iter().filter_map(|code| self.tie_of(*code)).collect();
        if ties.is_empty() {
            return "-".into();
        }
        if self.conversion.random_bits.is_some() {
            let [toward_zero, away] = [0, 1]
                .map(|run: usize| ties.iter().all(|tie| self.runs[run].result(tie.operand) == tie.neighbours[run]));
            return if toward_zero && away { "random".into() } else { "other".into() };
        }
        let holds = |rounding: &Rounding| {
            ties.iter().all(|tie| {
                let [inner, outer] = tie.neighbours;
                let padding = self.result().float().map_or(0, |float| float.padding_bits);
                let even = if inner >> padding & 1 == 0 { inner } else { outer };
                let expected = match rounding {
                    Rounding::Rne => even,
                    Rounding::Ro => inner ^ outer ^ even,
                    Rounding::Rna => outer,
                    Rounding::Ru if !tie.negative => outer,
                    Rounding::Rd if tie.negative => outer,
                    _ => inner,
                };
                self.runs[0].result(tie.operand) == expected
            })
        };
        let own = self.conversion.form.rounding;
        let (first, rest): (Vec<_>, Vec<_>) = WORDS.iter().partition(|(_, rounding)| Some(*rounding) == own);
        let found = first.into_iter().chain(rest).find(|(_, rounding)| holds(rounding));
        found.map_or("other", |(word, _)| word).into()
    }

    /// The operand as a tie, if it lies half-way between two numbers and becomes one of them.
    fn tie_of(&self, operand: u64) -> Option<Tie> {
        let (source, format) = (self.source(), self.result());
        let Real::Finite(mut value) = source.value(operand) else { return None };
        let form = &self.conversion.form;
        let unsigned = !format.decode(format.largest(true)).negative;
        let flushed = form.flush_inputs && source.decode(operand).class == Class::Subnormal;
        if flushed || unsigned && value.negative && format.is_integer() {
            return None;
        }
        value.negative &= !unsigned;
        let away = if value.negative { Rounding::Rd } else { Rounding::Ru };
        let code = |rounding| format.encode(&Real::Finite(value), rounding, Overflow::Saturate);
        let neighbours = [code(Rounding::Rz)?, code(away)?];
        if form.flush_results.is_some() && neighbours.iter().any(|code| format.decode(*code).class == Class::Subnormal)
        {
            return None;
        }
        let [inner, outer] = neighbours.map(|code| format.value(code));
        let (Real::Finite(inner), Real::Finite(outer)) = (inner, outer) else { return None };
        // Twice the value is the sum of its neighbours.
        let exponent = [value, inner, outer].iter().filter(|part| !part.is_zero()).map(|part| part.exponent).min()?;
        let scaled = |part: &crate::number::Finite| match part.is_zero() {
            true => Some(0),
            false => 1u128.checked_shl((part.exponent - exponent) as u32)?.checked_mul(part.significand),
        };
        let sum = scaled(&inner)?.checked_add(scaled(&outer)?)?;
        let tie = neighbours[0] != neighbours[1] && scaled(&value)?.checked_mul(2)? == sum;
        let one_of_them = |run: &ConversionRun<'_>| neighbours.contains(&run.result(operand));
        (tie && self.runs.iter().any(one_of_them)).then_some(Tie { operand, negative: value.negative, neighbours })
    }

    fn subnormal_in(&self) -> String {
        let source = self.source();
        let is_subnormal = |code: &u64| source.decode(*code).class == Class::Subnormal;
        let subnormals: Vec<u64> = self.codes.iter().copied().filter(is_subnormal).collect();
        if subnormals.is_empty() {
            return "-".into();
        }
        let mut unflushed = self.conversion.with_random(u64::MAX);
        (unflushed.form.flush_inputs, unflushed.form.flush_results) = (false, None);
        let Some(unflushed) = unflushed.run() else { return "other".into() };
        let zero = |code: u64| source.zero(source.decode(code).negative).unwrap_or(0);
        let seen = |run: &ConversionRun<'_>| subnormals.iter().any(|code| run.result(*code) != run.result(zero(*code)));
        match (self.runs.iter().any(seen), seen(&unflushed)) {
            (true, _) => "kept".into(),
            (false, true) => "flushed".into(),
            (false, false) => "too small".into(),
        }
    }

    fn subnormal_out(&self) -> String {
        let (source, format) = (self.source(), self.result());
        let Some(float) = format.float().filter(|float| float.subnormals) else { return "-".into() };
        let smallest = 2f64.powi(float.emin());
        let below = |code: &&u64| {
            let value = source.to_f64(**code).abs();
            let flushed = self.conversion.form.flush_inputs && source.decode(**code).class == Class::Subnormal;
            value > 0.0 && value < smallest && !flushed
        };
        let small: Vec<u64> = self.codes.iter().filter(below).copied().collect();
        let kept = |run: &ConversionRun<'_>| {
            small.iter().any(|code| format.decode(run.result(*code)).class == Class::Subnormal)
        };
        match (small.is_empty(), self.runs.iter().any(kept)) {
            (true, _) => "-".into(),
            (_, true) => "kept".into(),
            _ => "flushed".into(),
        }
    }

    fn minus_zero(&self) -> String {
        let source = self.source();
        let zero = source.zero(true).filter(|zero| source.zero(false) != Some(*zero));
        self.single(zero, |_, code| self.named(code, true)).unwrap_or_else(|| "-".into())
    }

    /// The result of -1 where it has no sign.
    fn negative(&self) -> String {
        let (source, format) = (self.source(), self.result());
        let minus_one = source.encode_f64(-1.0, Rounding::Rz, Overflow::Saturate);
        let minus_one = minus_one.filter(|code| source.to_f64(*code) == -1.0);
        if format.decode(format.largest(true)).negative {
            return "-".into();
        }
        let word = |_, code| if format.to_f64(code) == 1.0 { "magnitude".into() } else { self.named(code, true) };
        self.single(minus_one, word).unwrap_or_else(|| "-".into())
    }
}

/// An operand half-way between two numbers of the result, the first nearer to zero.
struct Tie {
    operand: u64,
    negative: bool,
    neighbours: [u64; 2],
}

/// Operands that show every word.
/// They are all codes of up to 16 bits, else the boundaries of the result and specials.
fn samples(form: &Form) -> BTreeSet<u64> {
    let (source, result) = (form.source, form.result);
    if source.bits <= 16 {
        return (0..=source.code_mask()).collect();
    }
    let mut codes = BTreeSet::new();
    let mut around = |code: u64| {
        codes.extend([-1i64, 0, 1].map(|step| code.wrapping_add_signed(step) & source.code_mask()));
    };
    // Specials, powers of two and their neighbours: every leading bit alone and above a few others.
    let width = source.bits;
    for bit in 0..width {
        for low in [0, 1, 2, 3, width / 2] {
            let code = 1u64 << bit | 1u64.checked_shl(bit.wrapping_sub(low)).unwrap_or(0);
            [code, !code, code | 1 << (width - 1)].into_iter().for_each(&mut around);
        }
        around(u64::MAX >> bit);
    }
    for negative in [false, true] {
        [source.zero(negative), source.infinity(negative), Some(source.largest(negative))]
            .into_iter()
            .flatten()
            .for_each(&mut around);
        source.quiet_nan(negative, 0x155).into_iter().for_each(&mut around);
    }
    // Numbers of the result and the middles between them.
    let padding = result.float().map_or(0, |float| float.padding_bits);
    let total = result.code_mask() >> padding;
    for index in (0..=total).step_by((total / WIDE).max(1) as usize) {
        let low = result.to_f64(index << padding);
        let high = result.to_f64((index + 1).min(total) << padding);
        for value in [low, low.midpoint(high), low * 1.5, low * 2.0] {
            source.encode_f64(value, Rounding::Rz, Overflow::Saturate).into_iter().for_each(&mut around);
        }
    }
    codes
}
