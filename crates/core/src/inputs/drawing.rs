//! Numbers from a distribution with parameters.

use std::fmt;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// The largest spread, with which numbers stay in the range of f32.
const LARGEST_PHI: f64 = 8.0;

/// Distribution with parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Draw {
    /// Uniform in an interval, its end excluded.
    Uniform(f64, f64),
    /// Normal, with this mean and deviation.
    Normal(f64, f64),
    /// Random sign, and a magnitude whose binary logarithm is uniform between two numbers.
    Magnitudes(f64, f64),
    /// `(u - 1/2) exp(phi n)`, with a uniform `u` in [0, 1) and a standard normal `n`.
    Phi(f64),
}

impl Draw {
    /// Reads `uniform(-1,1)`, `normal(0,1)`, `magnitudes(-20,4)`, `log-uniform(1e-6,1)` or `phi(0.5)`.
    /// `log-uniform` is magnitudes between two numbers.
    ///
    /// # Errors
    /// The expected forms.
    pub fn parse(text: &str) -> std::result::Result<Draw, String> {
        let parsed = || {
            let (name, rest) = text.trim().strip_suffix(')')?.split_once('(')?;
            if name.trim() == "phi" {
                let phi: f64 = rest.trim().parse().ok()?;
                return (0.0..=LARGEST_PHI).contains(&phi).then_some(Draw::Phi(phi));
            }
            let (x, y) = rest.split_once(',')?;
            let (x, y): (f64, f64) = (x.trim().parse().ok()?, y.trim().parse().ok()?);
            let small = |x: f64| x.abs() <= f64::from(f32::MAX);
            match name.trim() {
                "uniform" if x < y && small(x) && small(y) => Some(Draw::Uniform(x, y)),
                "normal" if y >= 0.0 && small(x) && small(64.0 * y) => Some(Draw::Normal(x, y)),
                "log-uniform" if 0.0 < x && x <= y && small(y) && x >= 2f64.powi(-149) => {
                    Some(Draw::Magnitudes(exponent(x), exponent(y)))
                }
                "magnitudes" if x <= y && x >= -149.0 && y <= 127.0 => Some(Draw::Magnitudes(x, y)),
                _ => None,
            }
        };
        parsed().ok_or_else(|| {
            "expected uniform(LOW,HIGH), normal(MEAN,DEVIATION), log-uniform(LEAST,MOST), two magnitudes, magnitudes(LOW,HIGH), \
             binary exponents from -149 to 127, or phi(SPREAD), up to 8; such as uniform(-1,1)"
                .into()
        })
    }

    /// Draws the next number.
    pub fn next(self, random: &mut ChaCha8Rng) -> f64 {
        match self {
            Draw::Phi(phi) => {
                let uniform: f64 = random.random();
                let normal: f64 = StandardNormal.sample(random);
                (uniform - 0.5) * exponential(phi * normal)
            }
            Draw::Uniform(low, high) => low + (high - low) * random.random::<f64>(),
            Draw::Normal(mean, deviation) => {
                let normal: f64 = StandardNormal.sample(random);
                mean + deviation * normal
            }
            Draw::Magnitudes(low, high) => {
                let exponent = low + (high - low) * random.random::<f64>();
                let integer_exponent = exponent.floor();
                // A significand between the powers of two, without a logarithm, which machines may round differently.
                let magnitude = (1.0 + (exponent - integer_exponent)) * 2f64.powi(integer_exponent as i32);
                if random.random_bool(0.5) { -magnitude } else { magnitude }
            }
        }
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Draw::Phi(phi) => write!(f, "phi({phi})"),
            Draw::Uniform(low, high) => write!(f, "uniform({low},{high})"),
            Draw::Normal(mean, deviation) => write!(f, "normal({mean},{deviation})"),
            Draw::Magnitudes(low, high) => write!(f, "magnitudes({low},{high})"),
        }
    }
}

/// e^x within 2^-50 of its value, by operations that every machine rounds alike.
///
/// A library's exp may differ between machines.
fn exponential(x: f64) -> f64 {
    let power = (x * std::f64::consts::LOG2_E).round();
    let rest = x - power * std::f64::consts::LN_2;
    // Taylor's series up to |rest| = 0.35, innermost term first.
    let series = (1..=18).rev().fold(1.0, |sum, n| 1.0 + sum * rest / f64::from(n));
    series * 2f64.powi(power as i32)
}

/// Binary exponent of a positive number in [`Draw::Magnitudes`], linear between powers of two.
fn exponent(x: f64) -> f64 {
    let integer_exponent = ((x.to_bits() >> 52) as i32 - 1023).max(-1022);
    f64::from(integer_exponent) + (x / 2f64.powi(integer_exponent) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_numbers_are_uniform_ones_times_an_exponential() {
        use rand::SeedableRng;
        for x in [-50.0, -1.5, -0.3, 0.0, 1e-9, 0.7, 20.0, 66.0f64] {
            assert!((exponential(x) / x.exp() - 1.0).abs() < 1e-13, "{x}");
        }
        let drawn = |phi: f64| {
            let mut random = ChaCha8Rng::seed_from_u64(1);
            (0..1000).map(|_| Draw::Phi(phi).next(&mut random)).collect::<Vec<f64>>()
        };
        assert!(drawn(0.0).iter().all(|x| (-0.5..0.5).contains(x)));
        let largest = |phi: f64| drawn(phi).iter().fold(0f64, |most, x| most.max(x.abs()));
        assert!(largest(4.0) > 1000.0 * largest(0.5));
        assert_eq!(Draw::parse("phi(0.5)"), Ok(Draw::Phi(0.5)));
        for wrong in ["phi(-1)", "phi(9)", "phi()", "phi(1,2)"] {
            assert!(Draw::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn log_uniform_numbers_lie_between_its_ends() {
        use rand::SeedableRng;
        let draw = Draw::parse("log-uniform(0.375,48)").unwrap();
        assert_eq!(draw, Draw::Magnitudes(-1.5, 5.5));
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let drawn: Vec<f64> = (0..1000).map(|_| draw.next(&mut random)).collect();
        assert!(drawn.iter().all(|x| (0.375..=48.0).contains(&x.abs())) && drawn.iter().any(|x| *x < 0.0));
        for wrong in ["log-uniform(0,1)", "log-uniform(2,1)", "log-uniform(1)", "log-uniform(1,inf)"] {
            assert!(Draw::parse(wrong).is_err(), "{wrong}");
        }
    }
}
