//! References of one sample: f32 arithmetic on the processor, and the exact result.

use super::{ProbeRequest, statistics::SampleTally};
use crate::{
    exact::Dot,
    format::{self, Class, Format, Overflow, Real, Rounding},
    inputs::{Batch, Init, Position},
    isa::{Codes, Instruction},
};

/// Buffers for the references of one request's samples.
pub(super) struct SampleReferences<'a> {
    instruction: &'a Instruction,
    terms: usize,
    has_c: bool,
    init: Init,
    /// Formats of the operands that the references see.
    operands: [&'static Format; 3],
    exact: Dot,
    pairs: Vec<(u64, u64)>,
}

impl<'a> SampleReferences<'a> {
    pub(super) fn new(request: &ProbeRequest<'a>, init: Init) -> Self {
        let i = request.instruction;
        let seen = |format: &'static Format| match init {
            // The unrounded values are f32 numbers; integers stay integers, and f64 numbers may have more bits.
            Init::Fp32 if !format.is_integer() && format.bits <= 32 => format::find("f32").expect("f32 is a format"),
            _ => format,
        };
        let mut operands = [i.a, i.b, i.c].map(seen);
        if i.scale.is_some() {
            // An operand times its scale is an f64 number.
            let f64 = format::find("f64").expect("f64 is a format");
            (operands[0], operands[1]) = (f64, f64);
        }
        let [a, b, c] = operands;
        SampleReferences {
            instruction: i,
            terms: request.op.terms(i),
            has_c: request.op.has_c(),
            init,
            operands,
            exact: Dot::new(a, b, c, i.d, i.k),
            pairs: Vec::with_capacity(i.k),
        }
    }

    /// Compares the device's result at `at` with its references.
    pub(super) fn tally(&mut self, batch: &Batch, at: Position, d: &Codes) -> SampleTally {
        let c = self.load(batch, at);
        let result = d.get(at.index(self.instruction));
        let mut tally = self.against_exact(c, result);
        if self.instruction.d.is_integer() {
            self.against_integers(c, result, &mut tally);
        } else {
            self.against_float(c, result, &mut tally);
        }
        tally
    }

    /// Loads the operand codes that the references see, and returns c.
    fn load(&mut self, batch: &Batch, at: Position) -> u64 {
        let i = self.instruction;
        let case = batch.tiles.case(i, at.tile, at.row, at.column);
        let [a, b, c] = self.operands;
        let code = |format: &Format, value: f64| {
            format.encode_f64(value, Rounding::Rne, Overflow::Standard).expect("the value is the format's")
        };
        let scale = |codes: &[u64], k: usize| i.scale.map(|s| s.format.to_f64(codes[k / s.block]));
        // The code that the references see: its unrounded value where there is one, times its scale.
        let seen =
            |format: &Format, as_seen: &Format, stored: u64, wide: Option<f64>, scale: Option<f64>| match (wide, scale)
            {
                (None, None) => stored,
                (wide, scale) => code(as_seen, wide.unwrap_or_else(|| format.to_f64(stored)) * scale.unwrap_or(1.0)),
            };
        let wide = batch.wide.as_ref().filter(|_| self.init == Init::Fp32);
        self.pairs.clear();
        for term in 0..self.terms {
            let k = case.logical(i, term);
            let wide_a = wide.map(|wide| wide.a[(at.tile * i.m + at.row) * i.stored_k() + term]);
            let wide_b = wide.map(|wide| wide.b[(at.tile * i.k + k) * i.n + at.column]);
            self.pairs.push(i.factors(
                seen(i.a, a, case.a[term], wide_a, scale(&case.scale_a, k)),
                seen(i.b, b, case.b[k], wide_b, scale(&case.scale_b, k)),
            ));
        }
        seen(i.c, c, case.c, wide.map(|wide| wide.c[at.index(i)]), None)
    }

    fn against_exact(&mut self, c: u64, result: u64) -> SampleTally {
        let d = self.instruction.d;
        let saturates = self.instruction.saturate;
        let mut sum = self.exact.sum(self.pairs.iter().copied(), c);
        let rounded = match sum.wrapped(d) {
            Some(code) if !saturates => Some(code),
            _ => sum.round(d, Rounding::Rne, Overflow::Standard),
        };
        let deviation = sum.deviation(d, result);
        SampleTally {
            exact_equal: equal(d, result, rounded),
            absolute: deviation.map(|x| x.absolute),
            relative: deviation.and_then(|x| x.relative),
            ulps: deviation.and_then(|x| x.ulps),
            ..SampleTally::default()
        }
    }

    /// The expression in f32 (f64 for f64 operands), every step rounded, in ascending k, c last.
    fn against_float(&self, c: u64, result: u64, tally: &mut SampleTally) {
        let d = self.instruction.d;
        let [a, b, c_format] = self.operands;
        let double = d.bits == 64;
        let products = self.pairs.iter().map(|(x, y)| (a.to_f64(*x), b.to_f64(*y)));
        let c = self.has_c.then(|| c_format.to_f64(c));
        let reference = if double {
            products.map(|(x, y)| x * y).chain(c).reduce(|sum, term| sum + term)
        } else {
            let single = products.map(|(x, y)| x as f32 * y as f32).chain(c.map(|c| c as f32));
            single.reduce(|sum, term| sum + term).map(f64::from)
        }
        .unwrap_or(0.0);
        let value = d.to_f64(result);
        let rounded = d.encode(&Real::from(reference), Rounding::Rne, Overflow::Standard);
        tally.f32_equal = value.to_bits() == reference.to_bits() || value.is_nan() && reference.is_nan();
        tally.f32_rounded_equal = equal(d, result, rounded);
        let error = |reference: f64| {
            let error = (value - reference).abs();
            error.is_finite().then_some(error)
        };
        tally.f32_error = error(reference);
        tally.f32_rounded_error = rounded.and_then(|code| error(d.to_f64(code)));
    }

    /// The same expression in integers, wrapped or saturated into the format of D.
    fn against_integers(&self, c: u64, result: u64, tally: &mut SampleTally) {
        let d = self.instruction.d;
        let [a, b, c_format] = self.operands;
        let products: i64 = self.pairs.iter().map(|(x, y)| a.to_f64(*x) as i64 * b.to_f64(*y) as i64).sum();
        let sum = products + c_format.to_f64(c) as i64;
        let reference =
            if self.instruction.saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 } else { sum as i32 };
        let value = d.to_f64(result);
        tally.f32_equal = value == f64::from(reference);
        tally.f32_rounded_equal = tally.f32_equal;
        tally.f32_error = Some((value - f64::from(reference)).abs());
        tally.f32_rounded_error = tally.f32_error;
    }
}

/// Equality in every bit; any NaN equals any NaN.
fn equal(format: &Format, code: u64, reference: Option<u64>) -> bool {
    let nan = |code: u64| format.decode(code).class == Class::Nan;
    reference.is_some_and(|reference| code == reference || nan(code) && nan(reference))
}
