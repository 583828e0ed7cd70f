//! Losses of many values under each of some scales, for scales that more values share than are at hand.

use super::{
    Quantizer, VectorQuantizer,
    rule::{Choice, Loss, NEAREST, SECOND},
};
use crate::number::{Finite, Real};

impl Quantizer {
    /// Scale codes among which the rule chooses for values up to `amax`.
    ///
    /// The first code of the least sum of [`Quantizer::losses`] is the rule's. `None`: the rule needs all values at once.
    pub fn candidates_of_largest(&self, amax: &Finite) -> Option<Vec<u32>> {
        let one = Finite::exact(false, 1, 0);
        match self.rule.choice {
            Choice::Largest(_) => Some(vec![self.scale_of_block(&[*amax], &one)]),
            Choice::TwoTops(_) => {
                let code = |quotient| self.finite_scale(self.scale_code(&quotient, amax, &one), amax, &one);
                Some([NEAREST, SECOND].map(code).to_vec())
            }
            Choice::Least(_) => Some(self.candidates(amax, &one)),
            Choice::Percentile(_) | Choice::Extreme => None,
        }
    }

    /// Losses of values by the rule, under each of some scale codes.
    ///
    /// The losses of the finite values are summed in order. A scale has an infinite loss if a result exceeds f32, as its readers have it.
    pub fn losses(&self, values: &[f32], codes: &[u32]) -> Vec<f64> {
        let of = |code: &u32| {
            let quantizer = Quantizer { block_scale: Some(*code), ..self.by_largest() };
            let Some(vectorised) = VectorQuantizer::new(&quantizer, 0) else {
                let exact = values.iter().filter_map(|value| match Real::from(f64::from(*value)) {
                    Real::Finite(value) => Some(value),
                    _ => None,
                });
                return self.exact_loss(&exact.collect::<Vec<Finite>>(), *code);
            };
            let elements = vectorised.quantize(values, values.len().max(1)).elements;
            let scale = self.format.scale.to_f64((*code).into());
            let element = |code: u64| self.format.element.value(code).to_f64() * scale;
            let results: Vec<f64> = (0..=self.format.element.format.code_mask()).map(element).collect();
            let error = |(value, element): (&f32, u8)| match value.is_finite() {
                true => self.lost(results[usize::from(element)], f64::from(*value)),
                false => 0.0,
            };
            values.iter().zip(elements).map(error).sum()
        };
        codes.iter().map(of).collect()
    }

    /// Loss of exact values by the rule under a scale code, as [`Quantizer::losses`] has it.
    pub fn exact_loss(&self, values: &[Finite], code: u32) -> f64 {
        let scale = self.scale_value(code, &Finite::exact(false, 1, 0));
        let error = |value: &Finite| match self.format.element.value(self.element_code(value, &scale).into()) {
            Real::Finite(result) => self.lost(result.times(&scale).to_f64(), value.to_f64()),
            _ => f64::INFINITY,
        };
        values.iter().map(error).sum()
    }

    /// The quantizer by a rule that needs no preparation.
    fn by_largest(&self) -> Quantizer {
        Quantizer { rule: super::find_rule("nearest").expect("a rule of the table"), ..*self }
    }

    fn lost(&self, result: f64, value: f64) -> f64 {
        let error = if (result as f32).is_finite() { (result - value).abs() } else { f64::INFINITY };
        match self.rule.choice {
            Choice::Least(Loss::Magnitudes) => error,
            _ => error * error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{
        block::{BlockFormat, find_rule},
        find,
    };

    #[test]
    fn losses_of_a_vector_are_those_of_its_exact_values() {
        let values: Vec<f32> = (0..999).map(|at| ((at * 7919) % 1009) as f32 * 0.37 - 180.0).collect();
        let exact: Vec<Finite> = values.iter().map(|value| finite(f64::from(*value))).collect();
        for element in ["e4m3", "s8", "e2m1", "nf4", "u4"] {
            let format = BlockFormat::with_f32_scales(find(element).unwrap(), 1, BlockFormat::WHOLE).unwrap();
            for rule in ["mse", "mae", "four-over-six", "nearest"] {
                let quantizer = Quantizer { rule: find_rule(rule).unwrap(), ..Quantizer::new(format) };
                let codes = quantizer.candidates_of_largest(&finite(200.0)).unwrap();
                let losses = quantizer.losses(&values, &codes);
                let each: Vec<f64> = codes.iter().map(|code| quantizer.exact_loss(&exact, *code)).collect();
                let near = |x: &f64, y: &f64| (x - y).abs() <= 1e-12 * y;
                assert!(losses.iter().zip(&each).all(|(x, y)| near(x, y)), "{element} {rule}: {losses:?} {each:?}");
            }
        }
    }

    #[test]
    fn a_scale_under_which_a_result_exceeds_f32_is_never_the_least() {
        let format = BlockFormat::with_f32_scales(find("s8").unwrap(), 1, BlockFormat::WHOLE).unwrap();
        let quantizer = Quantizer { rule: find_rule("mse").unwrap(), ..Quantizer::new(format) };
        let values = [f32::MAX, 1.0, -3.0];
        let codes = quantizer.candidates_of_largest(&finite(f64::from(f32::MAX))).unwrap();
        let losses = quantizer.losses(&values, &codes);
        let beyond = |code: &u32| f64::from(f32::from_bits(*code)) * 64.0;
        let (mut finite_ones, mut infinite) = (0, 0);
        for (code, loss) in codes.iter().zip(losses) {
            let rounded = (f64::from(f32::MAX) / f64::from(f32::from_bits(*code))).round_ties_even().min(127.0);
            let exceeds = ((rounded * f64::from(f32::from_bits(*code))) as f32).is_infinite();
            assert_eq!(loss.is_infinite(), exceeds, "{}", beyond(code));
            finite_ones += usize::from(!exceeds);
            infinite += usize::from(exceeds);
        }
        assert!(finite_ones > 0 && infinite > 0, "{finite_ones} {infinite}");
    }

    fn finite(value: f64) -> Finite {
        let Real::Finite(value) = Real::from(value) else { panic!("a finite number") };
        value
    }
}
