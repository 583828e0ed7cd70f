//! Choice of a block's scale from its values, exactly.

use super::{
    BlockFormat, Quantizer,
    extreme::Extreme,
    rule::{Choice, Loss, NEAREST, Quotient, SCALE_RULES, SECOND},
    runs::{Reach, SearchedBlock, SignedCodes, norm_of, try_runs},
};
use crate::{
    format::Overflow,
    number::{Finite, Real, Rounding},
};

/// Sixteenths of the scale of `nearest` that are tried where a scale has more than 8 bits.
pub(super) const SIXTEENTHS: std::ops::RangeInclusive<u32> = 4..=32;
/// Exponent of two of magnitudes that are near the end of `f32`.
const NEAR_END: i32 = 117;
/// Below 1: a bound that is computed in f64 stays a bound.
const ROUNDED: f64 = 1.0 - 1e-9;

impl Quantizer {
    /// Scale code of a block of these values.
    pub(super) fn scale_of_block(&self, values: &[Finite], tensor_scale: &Finite) -> u32 {
        if let Some(code) = self.block_scale {
            return code;
        }
        let amax = values.iter().map(Finite::magnitude).reduce(larger).unwrap_or(Finite::zero(false));
        let at_end = self.may_overflow(&amax, tensor_scale);
        let by = |quotient: &Quotient, magnitude: &Finite| match at_end {
            true => self.finite_scale(self.scale_code(quotient, magnitude, tensor_scale), &amax, tensor_scale),
            false => self.scale_code(quotient, magnitude, tensor_scale),
        };
        match self.rule.choice {
            Choice::Largest(quotient) => by(&quotient, &amax),
            Choice::Percentile(percent) => {
                let mut magnitudes: Vec<Finite> = values.iter().map(Finite::magnitude).collect();
                magnitudes.sort_by(Finite::compare_magnitudes);
                let magnitude = magnitudes.get(rank(percent, magnitudes.len())).copied().unwrap_or(Finite::zero(false));
                by(&NEAREST, &magnitude)
            }
            Choice::TwoTops(_) => {
                let codes = [NEAREST, SECOND].map(|quotient| by(&quotient, &amax));
                self.least(&codes, values, tensor_scale, Loss::Squares)
            }
            Choice::Least(loss) => match self.searched_codes() {
                // A search takes it that losses change little between scales; those beyond f32 do not.
                Some(codes) if at_end => self.least(&codes.all(), values, tensor_scale, loss),
                Some(codes) => self.least_of_all(codes, values, tensor_scale, loss),
                None => self.least(&self.candidates(&amax, tensor_scale), values, tensor_scale, loss),
            },
            Choice::Extreme => match Extreme::new(self.format) {
                Some(extreme) => extreme.scale_code(values),
                None => by(&NEAREST, &amax),
            },
        }
    }

    /// True if a block with this largest magnitude may have a result beyond `f32`.
    ///
    /// No rule brings the largest element to more than four times the largest magnitude. Where a search does, the error of one result
    /// beyond `f32` is larger than those of all values of the largest blocks.
    pub(super) fn may_overflow(&self, amax: &Finite, tensor_scale: &Finite) -> bool {
        if amax.compare_magnitudes(&Finite::exact(false, 1, NEAR_END)).is_lt() {
            return false;
        }
        let scale = self.scale_value(self.format.scale.largest(false) as u32, tensor_scale);
        let [positive, negative] = self.format.element.largest_magnitudes();
        positive.max(negative) * scale.to_f64() > f64::from(f32::MAX)
    }

    /// The first scale code at or below one under which values up to `amax` have results within `f32`.
    pub(super) fn finite_scale(&self, code: u32, amax: &Finite, tensor_scale: &Finite) -> u32 {
        let halved = |code: u32| {
            let half = Real::Finite(self.scale_value(code, &Finite::exact(false, 1, 0)).times_power_of_two(-1));
            self.format.scale.encode(&half, Rounding::Rz, Overflow::Saturate).expect("a number has a code") as u32
        };
        let is_power = matches!(self.rule.choice, Choice::Largest(Quotient { to_power: true, .. }));
        let (mut lower, mut step) = (code, 1);
        while lower > 0 && self.overflows(lower, amax, tensor_scale) {
            lower = if is_power { halved(lower) } else { code.saturating_sub(step) };
            step = step.saturating_mul(2);
        }
        lower
    }

    /// True if a value of this magnitude has a result beyond `f32` under a scale.
    fn overflows(&self, code: u32, amax: &Finite, tensor_scale: &Finite) -> bool {
        let scale = self.scale_value(code, tensor_scale);
        let rounding = if matches!(self.rounding, Rounding::Sr { .. }) { Rounding::Ru } else { self.rounding };
        let quantizer = Quantizer { rounding, ..*self };
        let result = |negative: bool| {
            let value = Finite { negative, ..*amax };
            self.format.element.value(quantizer.element_code(&value, &scale).into()).to_f64() * scale.to_f64()
        };
        !scale.is_zero() && [false, true].iter().any(|negative| (result(*negative) as f32).is_infinite())
    }

    /// Scale code of a block with this largest magnitude.
    pub(super) fn scale_code(&self, quotient: &Quotient, amax: &Finite, tensor_scale: &Finite) -> u32 {
        let ratio = Real::Finite(quotient.of(amax, &self.format.element, tensor_scale));
        let code = self.format.scale.encode(&ratio, quotient.rounding, Overflow::Saturate);
        code.expect("a number has a code") as u32
    }

    /// Scale codes that a search tries, in ascending order.
    ///
    /// A scale of at most 8 bits has every code tried. Of a wider scale without [`Quantizer::searched_codes`], sixteenths of the scale
    /// of `nearest` are tried, and the scales of all rules that follow the largest magnitude; with both signs where a block may need either.
    pub(super) fn candidates(&self, amax: &Finite, tensor_scale: &Finite) -> Vec<u32> {
        if self.format.scale.bits <= 8 {
            return self.with_signs((0..=self.format.scale.largest(false) as u32).collect());
        }
        let of = |sixteenths: u32| {
            let amax = amax.times(&Finite::exact(false, sixteenths.into(), -4));
            self.scale_code(&NEAREST, &amax, tensor_scale)
        };
        let by_rules = quotients().map(|quotient| self.scale_code(&quotient, amax, tensor_scale));
        let mut codes: Vec<u32> = SIXTEENTHS.map(of).chain(by_rules).collect();
        codes.sort_unstable();
        codes.dedup();
        self.with_signs(codes)
    }

    /// Codes in ascending order; codes of negative scales are added where a block may need them.
    fn with_signs(&self, mut codes: Vec<u32>) -> Vec<u32> {
        if let Some(sign) = self.format.scale_sign() {
            let negative: Vec<u32> = codes.iter().map(|code| code | sign).collect();
            codes.extend(negative);
        }
        codes
    }

    /// Codes of the scale, if a search bounds the losses of runs of them.
    ///
    /// The bound holds where elements are the nearest ones. Scales of at most 8 bits without a sign are so few that each
    /// is tried.
    pub(super) fn searched_codes(&self) -> Option<SignedCodes> {
        let BlockFormat { scale, element, .. } = self.format;
        let moved = element.format.table().is_some_and(|table| !table.nearest().thresholds.is_empty());
        if self.rounding != Rounding::Rne || moved {
            return None;
        }
        let sign = self.format.scale_sign().or((9..=16).contains(&scale.bits).then_some(0))?;
        Some(SignedCodes { count: scale.largest(false) as u32 + 1, sign })
    }

    /// The first of all scale codes with the least loss of a block.
    fn least_of_all(&self, codes: SignedCodes, values: &[Finite], tensor_scale: &Finite, loss: Loss) -> u32 {
        let amax = values.iter().map(Finite::magnitude).reduce(larger).unwrap_or(Finite::zero(false));
        let magnitude = |code: u32| self.scale_value(code, tensor_scale).to_f64();
        let elements = self.format.element.largest_magnitudes();
        match Reach::of(loss, amax.to_f64(), values.len(), magnitude(codes.count - 1), elements) {
            Reach::LargestScales => return self.least(&codes.largest(), values, tensor_scale, loss),
            Reach::Limited(most) => {
                let Real::Finite(most) = Real::from(most) else { unreachable!("a number below the largest magnitude") };
                let limited = |value: &Finite| match value.compare_magnitudes(&most).is_gt() {
                    true => Finite { negative: value.negative, ..most },
                    false => *value,
                };
                let values: Vec<Finite> = values.iter().map(limited).collect();
                return self.least_of_all(codes, &values, tensor_scale, loss);
            }
            Reach::Whole => {}
        }
        let numbers = || values.iter().map(|value| value.to_f64().abs());
        let lost = |error: f64| if loss == Loss::Squares { error * error } else { error };
        let norm = norm_of(loss, numbers().map(lost).sum());
        let block = SearchedBlock {
            amax: amax.to_f64(),
            above: 0.0,
            norm,
            elements: [self.format.element.smallest().to_f64(), elements[0].max(elements[1])],
            slack: norm * (1.0 - ROUNDED),
        };
        let mut best = (f64::INFINITY, 0);
        let mut consider = |code: u32| {
            let error = self.loss(code, values, tensor_scale, loss);
            if (error, code) < best {
                best = (error, code);
            }
            error
        };
        let usual = self.scale_code(&NEAREST, &amax, tensor_scale);
        let mut least = norm_of(loss, consider(usual).min(consider(codes.negated(usual))));
        try_runs(codes, block, least, magnitude, |codes, norms| {
            for code in codes {
                let error_norm = norm_of(loss, consider(*code));
                least = least.min(error_norm);
                norms.push(error_norm);
            }
            least
        });
        best.1
    }

    /// The first of some scale codes with the least loss of a block.
    pub(super) fn least(&self, codes: &[u32], values: &[Finite], tensor_scale: &Finite, loss: Loss) -> u32 {
        let [positive, negative] = self.format.element.largest_magnitudes();
        let (largest, smallest) = (positive.max(negative), self.format.element.smallest().to_f64());
        let numbers: Vec<f64> = values.iter().map(|value| value.to_f64().abs()).collect();
        let amax = numbers.iter().copied().fold(0.0, f64::max);
        // Loss of the largest value if it saturates, else of those that become zero.
        let bound = |scale: f64| {
            let saturated = amax - scale * largest;
            let lost = |error: f64| if loss == Loss::Squares { error * error } else { error };
            if saturated > 0.0 {
                return lost(saturated * ROUNDED);
            }
            let zeros = numbers.iter().filter(|number| **number < scale * smallest / 2.0 * ROUNDED);
            zeros.map(|number| lost(*number)).sum::<f64>() * ROUNDED
        };
        let usual = self.scale_code(
            &NEAREST,
            &values.iter().map(Finite::magnitude).reduce(larger).unwrap_or(Finite::zero(false)),
            tensor_scale,
        );
        let reference = if codes.contains(&usual) { Some(self.loss(usual, values, tensor_scale, loss)) } else { None };
        let mut best = (f64::INFINITY, codes[0]);
        for code in codes.iter().copied() {
            let most = reference.unwrap_or(f64::INFINITY).min(best.0);
            if bound(self.scale_value(code, tensor_scale).to_f64().abs()) > most {
                continue;
            }
            let error = self.loss(code, values, tensor_scale, loss);
            if error < best.0 {
                best = (error, code);
            }
        }
        best.1
    }

    /// Loss of a block under a scale: each error in f64, summed in order.
    fn loss(&self, code: u32, values: &[Finite], tensor_scale: &Finite, loss: Loss) -> f64 {
        let BlockFormat { element, .. } = self.format;
        let scale = self.scale_value(code, tensor_scale);
        let error = |value: &Finite| {
            let result = match element.value(self.element_code(value, &scale).into()) {
                Real::Finite(result) => result.times(&scale).to_f64(),
                special => special.to_f64(),
            };
            // Readers have results as f32.
            let error = if (result as f32).is_finite() { (result - value.to_f64()).abs() } else { f64::INFINITY };
            if loss == Loss::Squares { error * error } else { error }
        };
        values.iter().map(error).sum()
    }
}

/// Quotients of all rules that follow the largest magnitude.
pub(super) fn quotients() -> impl Iterator<Item = Quotient> {
    let of_rules = SCALE_RULES.iter().filter_map(|rule| match rule.choice {
        Choice::Largest(quotient) => Some(quotient),
        _ => None,
    });
    of_rules.chain([SECOND])
}

/// Index of a percentile among `count` values in ascending order, by nearest rank.
pub(super) fn rank(percent: f64, count: usize) -> usize {
    ((percent / 100.0 * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1
}

pub(super) fn larger(x: Finite, y: Finite) -> Finite {
    if x.compare_magnitudes(&y).is_lt() { y } else { x }
}
