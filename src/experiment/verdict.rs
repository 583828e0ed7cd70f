//! A published value, compared with a measured one.

use serde::{Deserialize, Deserializer, de::Error as _};

/// Least probability of exact samples alone, for a published zero to count as sampling error.
pub const ZERO_PROBABILITY: f64 = 0.05;
/// Standard errors of the difference that still count as agreement; the words of judgements name them.
pub const STANDARD_ERRORS: f64 = 2.0;
/// Spread of a draw, as a share of the published figure, beyond which nearly any arithmetic would pass.
const WIDE: f64 = 0.5;
/// Share of a published latency or rate that still counts as agreement, as the words of judgements say.
const NEAR: f64 = 0.05;

/// Verdict on a figure whose instruction the device lacks.
pub const NOT_TESTABLE: &str = "not testable here";

/// A non-negative number as it was printed: `1.29E-03`, `0.00`.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Its value.
    pub value: f64,
    /// Half a unit of its last digit.
    pub half_unit: f64,
}

/// Relation of a measured mean to the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellVerdict {
    /// It rounds to the published digits; for a published zero, every error is zero.
    Printed,
    /// The difference is within [`STANDARD_ERRORS`]; for a zero, all published samples may be exact.
    Sampling,
    /// Neither.
    Differs,
}

/// A measured mean error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeanError {
    pub mean: Option<f64>,
    pub standard_error: f64,
    /// Samples equal to the reference.
    pub equal: u64,
    /// Samples.
    pub samples: u64,
}

impl Printed {
    /// The number that `text` prints; `None` unless it is a non-negative decimal number.
    pub fn parse(text: &str) -> Option<Printed> {
        let value: f64 = text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0)?;
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let half_unit = 0.5 * 10f64.powi(exponent.parse::<i32>().ok()?.saturating_sub(decimals));
        half_unit.is_finite().then(|| Printed { text: text.to_string(), value, half_unit })
    }
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Printed, D::Error> {
        let text = String::deserialize(deserializer)?;
        Printed::parse(&text)
            .ok_or_else(|| D::Error::custom(format!("'{text}' is not a printed number such as \"1.29E-03\"")))
    }
}

impl MeanError {
    fn deviation(&self) -> f64 {
        self.standard_error * (self.samples as f64).sqrt()
    }

    pub(super) fn sampling_error(&self, samples: u64) -> f64 {
        self.deviation() / (samples as f64).sqrt()
    }

    /// The probability that `samples` samples are all equal to the reference, by the share of ours.
    pub(super) fn all_equal(&self, samples: u64) -> f64 {
        (self.equal as f64 / self.samples as f64).powf(samples as f64)
    }

    /// The number of samples whose sampling error is the difference; `None` without a difference.
    pub(super) fn implied_samples(&self, published: &Printed) -> Option<f64> {
        let difference = (self.mean? - published.value).abs();
        let samples = (self.deviation() / difference).powi(2);
        (published.value > 0.0 && samples.is_finite() && samples > 0.0).then_some(samples)
    }

    /// Judgement of a published mean of `samples` samples.
    pub(super) fn judge(&self, published: &Printed, samples: u64) -> Judgement {
        let Some(mean) = self.mean else { return Judgement::of(CellVerdict::Differs, "") };
        if published.value == 0.0 {
            let judgement = match (self.equal == self.samples && mean == 0.0, self.all_equal(samples)) {
                (true, _) => Judgement::of(CellVerdict::Printed, "reproduced: every sample is exact"),
                (false, probability) if probability >= ZERO_PROBABILITY => {
                    Judgement::of(CellVerdict::Sampling, "reproduced: few samples may all be exact")
                }
                _ => Judgement::of(CellVerdict::Differs, ""),
            };
            return Judgement { zero: true, ..judgement };
        }
        let error = self.sampling_error(samples).hypot(self.standard_error);
        Judgement::of_difference((mean - published.value).abs(), published, error)
    }
}

/// A verdict, and the figures that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: CellVerdict,
    /// The difference beyond the printed digits, in standard errors of both figures together.
    pub(super) distance: Option<f64>,
    /// The words for a figure that is reproduced.
    reproduced: &'static str,
    /// The published figure is a zero, whose number of samples no source gives.
    zero: bool,
}

impl Judgement {
    /// A judgement without a difference.
    pub(super) fn of(verdict: CellVerdict, reproduced: &'static str) -> Judgement {
        Judgement { verdict, distance: None, reproduced, zero: false }
    }

    /// The judgement of a claim that holds, or does not.
    fn of_claim(holds: bool, reproduced: &'static str) -> Judgement {
        Judgement::of(if holds { CellVerdict::Printed } else { CellVerdict::Differs }, reproduced)
    }

    /// The judgement of a claim that every element is exact.
    pub(super) fn of_equality(holds: bool) -> Judgement {
        Judgement::of_claim(holds, "reproduced: exact")
    }

    /// The judgement of a latency or rate.
    pub(super) fn of_share(measured: f64, published: &Printed) -> Judgement {
        let near = (measured - published.value).abs() <= published.half_unit.max(NEAR * published.value);
        Judgement::of_claim(near, "reproduced: within 5 %")
    }

    /// The judgement of a difference with a standard error.
    fn of_difference(difference: f64, published: &Printed, error: f64) -> Judgement {
        let beyond = (difference - published.half_unit).max(0.0);
        let judgement = match () {
            () if difference <= published.half_unit => {
                Judgement::of(CellVerdict::Printed, "reproduced: rounds to the published digits")
            }
            () if beyond <= STANDARD_ERRORS * error => {
                Judgement::of(CellVerdict::Sampling, "reproduced: within 2 standard errors")
            }
            () => Judgement::of(CellVerdict::Differs, ""),
        };
        let distance = if beyond == 0.0 { 0.0 } else { beyond / error };
        Judgement { distance: distance.is_finite().then_some(distance), ..judgement }
    }

    /// The judgement of a published figure of one draw, by the mean and the standard deviation of several.
    pub(super) fn of_draws(mean: f64, deviation: f64, draws: usize, published: &Printed) -> Judgement {
        let error = deviation * (1.0 + 1.0 / draws as f64).sqrt();
        let judgement = Judgement::of_difference((mean - published.value).abs(), published, error);
        let wide = judgement.verdict == CellVerdict::Sampling && STANDARD_ERRORS * deviation > WIDE * published.value;
        let words = "reproduced, with little power: it varies that much from draw to draw";
        Judgement { reproduced: if wide { words } else { judgement.reproduced }, ..judgement }
    }

    /// The words of reports: the verdict, and the worth of a published zero.
    ///
    /// `counts`: the device is of a generation of the experiment. `explained`, `accepted`: the file explains, or accepts, a difference.
    pub(super) fn words(&self, counts: bool, explained: bool, accepted: bool) -> String {
        let words = match self.verdict {
            CellVerdict::Printed | CellVerdict::Sampling => self.reproduced,
            CellVerdict::Differs if !counts => "not reproduced: another generation",
            CellVerdict::Differs if accepted => "not reproduced: accepted",
            CellVerdict::Differs if explained => "not reproduced: explained, not accepted",
            CellVerdict::Differs => "not reproduced: not known why",
        };
        let without_count = self.zero && self.verdict != CellVerdict::Printed;
        words.to_string() + if without_count { "; a zero without a count" } else { "" }
    }
}

/// Why a cell differs: the reason for accepting that, else the explanation.
pub(super) fn why(
    judgement: Option<Judgement>,
    accepted: &Option<String>,
    explanation: &Option<String>,
) -> Option<String> {
    let differs = judgement.is_some_and(|judgement| judgement.verdict == CellVerdict::Differs);
    accepted.clone().or_else(|| explanation.clone()).filter(|_| differs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Summary;

    fn measured(errors: &[f64]) -> MeanError {
        let mut summary = Summary::default();
        errors.iter().for_each(|e| summary.add(Some(*e)));
        MeanError {
            mean: summary.mean(),
            standard_error: summary.standard_error().unwrap(),
            equal: errors.iter().filter(|e| **e == 0.0).count() as u64,
            samples: errors.len() as u64,
        }
    }

    #[test]
    fn printed_numbers_know_the_weight_of_their_last_digit() {
        for (text, value, half) in
            [("1.29E-03", 1.29e-3, 5e-6), ("0.00", 0.0, 5e-3), ("12", 12.0, 0.5), ("2.5e1", 25.0, 0.5)]
        {
            let printed = Printed::parse(text).unwrap();
            assert!(printed.value == value && (printed.half_unit / half - 1.0).abs() < 1e-12, "{printed:?}");
        }
        for text in ["", "x", "-1", "1e", "inf", "NaN", "0e2147483647"] {
            assert_eq!(Printed::parse(text), None, "{text}");
        }
        assert_eq!(Printed::parse("0.0e-2147483648").map(|printed| printed.half_unit), Some(0.0));
    }

    #[test]
    fn a_verdict_depends_on_digits_then_on_the_published_sample() {
        // Mean 1.5, standard deviation 0.5 of one sample.
        let ours = measured(&[1.0, 2.0].repeat(5000));
        let judge = |text: &str, samples| ours.judge(&Printed::parse(text).unwrap(), samples).verdict;
        assert_eq!(judge("1.5", 1), CellVerdict::Printed);
        assert_eq!(judge("1.504", 100), CellVerdict::Sampling);
        assert_eq!(judge("1.59", 100), CellVerdict::Sampling);
        assert_eq!(judge("1.59", 10_000), CellVerdict::Differs);
        assert_eq!(judge("0.0", 1), CellVerdict::Differs);
        // By hand: 0.09 - 0.0005 beyond the digits, over 0.5 / sqrt(100) and 0.5 / sqrt(10 000) in quadrature.
        let distance = ours.judge(&Printed::parse("1.590").unwrap(), 100).distance.unwrap();
        assert!((distance - 0.0895 / 0.05f64.hypot(0.005)).abs() < 1e-3, "{distance}");
        let implied = ours.implied_samples(&Printed::parse("1.6").unwrap()).unwrap();
        assert!((implied - 25.0).abs() < 0.01, "{implied}");
    }

    #[test]
    fn a_published_zero_is_a_claim_that_every_sample_was_exact() {
        let zero = Printed::parse("0.00").unwrap();
        let verdict = |errors: &[f64], samples| measured(errors).judge(&zero, samples).verdict;
        assert_eq!(verdict(&[0.0; 10], 1_000_000), CellVerdict::Printed);
        // One sample in a thousand is inexact: 0.999^n.
        let mut errors = vec![0.0; 1000];
        errors[7] = 1e-9;
        assert_eq!(verdict(&errors, 100), CellVerdict::Sampling);
        assert_eq!(verdict(&errors, 10_000), CellVerdict::Differs);
        let words = |samples| measured(&errors).judge(&zero, samples).words(true, false, false);
        assert_eq!(words(100), "reproduced: few samples may all be exact; a zero without a count");
        assert_eq!(words(10_000), "not reproduced: not known why; a zero without a count");
    }
}
