//! Numbers of f64 times powers of two beyond its range.

/// Exponent of one step, whose power of two is a normal number.
const STEP: i32 = 1000;
/// Exponent beyond which every number is zero or infinite.
const LARGEST: i32 = 4000;

/// `x * 2^exponent`: zero or infinity beyond the range, rounded where the result is subnormal.
pub fn times_power(x: f64, exponent: i32) -> f64 {
    let (mut product, mut left) = (x, exponent.clamp(-LARGEST, LARGEST));
    while left != 0 {
        let step = left.clamp(-STEP, STEP);
        product *= 2f64.powi(step);
        left -= step;
    }
    product
}

/// The root of a sum of squares, as a number times 2^-`shift`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Norm {
    value: f64,
    shift: i32,
}

impl Norm {
    /// Adds the square of `x * 2^-shift`.
    pub fn add(&mut self, x: f64, shift: i32) {
        if x == 0.0 {
            return;
        }
        let common = if self.value == 0.0 { shift } else { self.shift.min(shift) };
        self.value = times_power(self.value, common - self.shift).hypot(times_power(x, common - shift));
        self.shift = common;
    }

    /// The quotient by another norm; zero over zero is zero.
    pub fn over(&self, other: &Norm) -> f64 {
        if self.value == 0.0 {
            return 0.0;
        }
        times_power(self.value / other.value, other.shift - self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_beyond_the_range_of_f64_are_multiplied() {
        assert_eq!(times_power(f64::from_bits(1), 1074), 1.0);
        assert_eq!(times_power(f64::from_bits(1), 1074 + 1023), 2f64.powi(1023));
        assert_eq!(times_power(2f64.powi(1023), -1023 - 1074), f64::from_bits(1));
        assert_eq!([times_power(1.0, i32::MAX), times_power(1.0, i32::MIN)], [f64::INFINITY, 0.0]);
    }

    #[test]
    fn norms_of_numbers_beyond_the_range_of_f64_have_a_quotient() {
        let (mut norm, mut other) = (Norm::default(), Norm::default());
        for shift in [2000, 2000, 5000] {
            norm.add(3.0, shift);
            other.add(4.0, shift - 1);
        }
        assert!((norm.over(&other) - 0.375).abs() < 1e-15);
        assert_eq!([Norm::default().over(&other), norm.over(&Norm::default())], [0.0, f64::INFINITY]);
    }
}
