//! Single random values.

use rand::{Rng, RngExt, seq::IndexedRandom};
use rand_distr::{Distribution as _, StandardNormal};

use crate::{
    base::named::named,
    format::{Encoding, Finite, Format, Overflow, Real, Rounding, ValueTable},
};

named! {
    /// Distribution of random operands.
    pub enum Distribution {
        Normal = "normal": "Normal(0, 1); integers scaled to a quarter of their range (at most 24 bits), unsigned ones without sign";
        Uniform = "uniform": "Uniform in [-1, 1); integers over their whole range (at most 24 bits)";
        LogUniform = "log-uniform": "Uniform sign, exponent (over the format's range, subnormals included) and significand";
        Special = "special": "Zeros, subnormals, infinities, NaN and extremes, in every position";
        Corners = "corners": "Directed cases: the named corners of the instruction, then random ones of every family";
    }
}

named! {
    /// Operands that references see: before or after rounding to the operand formats.
    pub enum Init {
        Low = "low": "Values are rounded to the operand formats first: a comparison shows the arithmetic alone";
        Fp32 = "fp32": "References keep the f32 values: a comparison shows the loss of conversion too";
    }
}

/// Random value for an operand of `format`: an f32 in a double, or an integer for integer formats.
/// `Special` and `Corners` are drawn as codes and have no values here. Numbers of a format by table are drawn equally
/// often.
pub(super) fn draw_value<R: Rng>(rng: &mut R, distribution: Distribution, format: &Format) -> f64 {
    let range = match format.encoding {
        Encoding::Integer { signed } => 2f64.powi(format.bits.min(24) as i32 - i32::from(signed)),
        Encoding::Float(_) => 1.0,
        Encoding::Table(table) => return format.to_f64(any_number(rng, table)),
    };
    let value: f64 = match distribution {
        Distribution::Uniform => range * (2.0 * rng.random::<f64>() - 1.0),
        Distribution::LogUniform if !format.is_integer() => return format.to_f64(log_uniform(rng, format)),
        _ if format.is_integer() => range / 4.0 * normal(rng),
        _ => normal(rng),
    };
    match format.encoding {
        Encoding::Integer { signed: true } => value.round(),
        Encoding::Integer { signed: false } => value.abs().round(),
        Encoding::Float(_) | Encoding::Table(_) => f64::from(value as f32),
    }
}

fn normal<R: Rng>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

/// Code of any number of a table.
fn any_number<R: Rng>(rng: &mut R, table: &ValueTable) -> u64 {
    (*table.ascending().choose(rng).expect("a table has a number")).into()
}

/// Code with uniform sign, exponent and significand bits.
fn log_uniform<R: Rng>(rng: &mut R, format: &Format) -> u64 {
    if let Some(table) = format.table() {
        return any_number(rng, table);
    }
    let (low, high) = exponents(format);
    let exponent = rng.random_range(low..=high);
    let below = match format.float() {
        Some(f) => (exponent - (f.emin() - f.trailing_bits as i32)).min(f.trailing_bits as i32) as u32,
        None => exponent as u32,
    };
    let tail = rng.random::<u64>() & ((1u64 << below) - 1);
    let negative = rng.random_bool(0.5);
    let value = Finite::exact(negative, u128::from(1 << below | tail), exponent - below as i32);
    format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate).expect("a finite value saturates to a code")
}

/// Code of `format` nearest to `value` (RNE); overflow by the format's standard, integers saturated.
pub(super) fn nearest_code(format: &Format, value: f64) -> u64 {
    format.encode_f64(value, Rounding::Rne, Overflow::Standard).unwrap_or_else(|| format.largest(value < 0.0))
}

/// Exponents of the leading bit of the smallest and the largest number of a format.
pub(super) fn exponents(format: &Format) -> (i32, i32) {
    match format.encoding {
        Encoding::Float(f) => (f.emin() - if f.subnormals { f.trailing_bits as i32 } else { 0 }, f.emax()),
        Encoding::Integer { .. } => (0, format.bits as i32 - 2),
        Encoding::Table(table) => table.leading_exponents(),
    }
}

/// Special codes of a format, of both signs.
/// They are zeros, smallest and largest subnormal and normal numbers, one, infinities, NaN; all codes of a table.
pub(super) fn special_codes(format: &Format) -> Vec<u64> {
    if format.table().is_some() {
        return (0..=format.code_mask()).collect();
    }
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

/// `code` with random bits where the format ignores them (the low bits of tf32 containers).
pub(super) fn with_random_padding<R: Rng>(rng: &mut R, format: &Format, code: u64) -> u64 {
    let padding = format.float().map_or(0, |f| f.padding_bits);
    code | rng.random::<u64>() & ((1 << padding) - 1)
}
