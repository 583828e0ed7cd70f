//! Single random values.

use rand::{Rng, RngExt};
use rand_distr::{Distribution as _, StandardNormal};

use crate::format::{Class, Encoding, Finite, Format, Overflow, Real, Rounding};

/// Where random operands come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Distribution {
    /// Normal(0, 1); for integer operands scaled to a quarter of their range.
    Normal,
    /// Uniform in [-1, 1); for integer operands over their whole range.
    Uniform,
    /// Sign, exponent (over the whole range of the format, subnormal numbers included) and significand uniform.
    LogUniform,
    /// Zeros, subnormal numbers, infinities, NaN and extremes, in every position.
    Special,
    /// Directed cases: alignment, cancellation, ties, underflow, overflow and the like, in every position.
    Corners,
}

impl Distribution {
    /// The name, as in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Distribution::Normal => "normal",
            Distribution::Uniform => "uniform",
            Distribution::LogUniform => "log-uniform",
            Distribution::Special => "special",
            Distribution::Corners => "corners",
        }
    }
}

/// Whether references see the operands before or after they are rounded to the operand formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Init {
    /// Values are rounded to the operand formats first: a comparison shows the arithmetic alone.
    Low,
    /// References keep the f32 values: a comparison shows the loss of conversion too.
    Fp32,
}

impl Init {
    /// The name, as in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Init::Low => "low",
            Init::Fp32 => "fp32",
        }
    }
}

/// A random value for an operand of `format`, as an f32 in a double (an exact integer for integer formats).
///
/// `Special` and `Corners` have no values of their own kind here: they are drawn as codes.
pub(super) fn draw_value<R: Rng>(rng: &mut R, distribution: Distribution, format: &Format) -> f64 {
    let range = match format.encoding {
        Encoding::Integer { signed } => 2f64.powi(format.bits.min(24) as i32 - i32::from(signed)),
        Encoding::Float(_) => 1.0,
    };
    let value: f64 = match distribution {
        Distribution::Uniform => range * (2.0 * rng.random::<f64>() - 1.0),
        Distribution::LogUniform if !format.is_integer() => return format.to_f64(log_uniform(rng, format)),
        _ if format.is_integer() => range / 4.0 * normal(rng),
        _ => normal(rng),
    };
    if format.is_integer() { value.round() } else { f64::from(value as f32) }
}

fn normal<R: Rng>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

/// A code with uniform sign, exponent and significand bits.
fn log_uniform<R: Rng>(rng: &mut R, format: &Format) -> u64 {
    let (low, high) = exponents(format);
    let exponent = rng.random_range(low..=high);
    code_at(rng, format, exponent, Bits::Random)
}

/// The nearest code of `format` to `value` (RNE; beyond the range as the format's standard says, saturated
/// for integers).
pub(super) fn nearest_code(format: &Format, value: f64) -> u64 {
    format.encode_f64(value, Rounding::Rne, Overflow::Standard).unwrap_or_else(|| format.largest(value < 0.0))
}

/// Exponents of the leading bit of the smallest and the largest number of a format.
pub(super) fn exponents(format: &Format) -> (i32, i32) {
    match format.float() {
        Some(f) => (f.emin() - if f.subnormals { f.trailing_bits as i32 } else { 0 }, f.emax()),
        None => (0, format.bits as i32 - 2),
    }
}

/// The bits of a significand below its leading one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    /// All random.
    Random,
    /// One random bit set.
    Sparse,
    /// All set.
    Ones,
    /// None set: a power of two.
    Zeros,
}

impl Bits {
    pub(super) fn draw<R: Rng>(rng: &mut R) -> Bits {
        [Bits::Random, Bits::Random, Bits::Sparse, Bits::Ones, Bits::Zeros][rng.random_range(0..5)]
    }
}

/// A code of random sign whose leading bit weighs `2^exponent` (brought into the format's range), with `bits` below it.
pub(super) fn code_at<R: Rng>(rng: &mut R, format: &Format, exponent: i32, bits: Bits) -> u64 {
    let (low, high) = exponents(format);
    let exponent = exponent.clamp(low, high);
    let below = match format.float() {
        Some(f) => (exponent - (f.emin() - f.trailing_bits as i32)).min(f.trailing_bits as i32) as u32,
        None => exponent as u32,
    };
    let mask = (1u64 << below) - 1;
    let tail = match bits {
        Bits::Random => rng.random::<u64>() & mask,
        Bits::Sparse if below > 0 => 1 << rng.random_range(0..below),
        Bits::Ones => mask,
        Bits::Sparse | Bits::Zeros => 0,
    };
    let negative = rng.random_bool(0.5);
    let value = Finite::exact(negative, u128::from(1 << below | tail), exponent - below as i32);
    format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate).expect("a finite value saturates to a code")
}

/// The code of plus or minus `2^exponent`, brought into the format's range.
pub(super) fn nearest_power(format: &Format, negative: bool, exponent: i32) -> u64 {
    let (low, high) = exponents(format);
    let value = Finite::exact(negative, 1, exponent.clamp(low, high));
    format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate).expect("a finite value saturates to a code")
}

/// The codes where formats do something special: zeros, smallest and largest subnormal and normal numbers, one,
/// infinities, NaN; of both signs.
pub(super) fn special_codes(format: &Format) -> Vec<u64> {
    let mut codes: Vec<u64> = [false, true].map(|negative| format.largest(negative)).to_vec();
    codes.extend([false, true].into_iter().filter_map(|negative| format.zero(negative)));
    codes.extend([false, true].into_iter().filter_map(|negative| format.infinity(negative)));
    codes.extend(format.nan());
    let powers: Vec<i32> = match format.float() {
        Some(f) => vec![f.emin() - f.trailing_bits as i32, f.emin() - 1, f.emin(), f.emin() + 1, 0, f.emax()],
        None => vec![0, format.bits as i32 - 2],
    };
    for negative in [false, true] {
        for power in &powers {
            let value = Real::Finite(Finite::exact(negative, 1, *power));
            codes.extend(format.encode(&value, Rounding::Rz, Overflow::Saturate));
        }
        if let Some(f) = format.float() {
            // The largest subnormal number.
            let units = (1u128 << f.trailing_bits) - 1;
            let value = Real::Finite(Finite::exact(negative, units, f.emin() - f.trailing_bits as i32));
            codes.extend(format.encode(&value, Rounding::Rz, Overflow::Saturate));
        }
    }
    codes
}

/// A random NaN code, quiet or signalling, of either sign; `None` if the format has no NaN.
pub(super) fn any_nan<R: Rng>(rng: &mut R, format: &Format) -> Option<u64> {
    let canonical = format.nan()?;
    let payload = format.fraction_bits();
    let random = rng.random::<u64>() & format.code_mask();
    let padding = format.float().map_or(0, |f| f.padding_bits);
    // The exponent field of the canonical NaN; sign and trailing significand random.
    let field = (((1u64 << payload) - 1) << padding) | 1 << (format.bits - 1);
    let code = canonical & !field | random & field;
    Some(if format.decode(code).class == Class::Nan { code } else { canonical })
}

/// `code` with random bits where the format ignores them (the low bits of tf32 containers).
pub(super) fn with_random_padding<R: Rng>(rng: &mut R, format: &Format, code: u64) -> u64 {
    let padding = format.float().map_or(0, |f| f.padding_bits);
    code | rng.random::<u64>() & ((1 << padding) - 1)
}
