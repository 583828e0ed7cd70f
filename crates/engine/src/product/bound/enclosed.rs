//! Enclosures: what is known of a value between two operations, and of its error.

use crate::{
    base::named::named,
    format::{Format, Overflow, Rounding},
};

named! {
    /// The kind of operation that makes an error.
    pub enum ErrorSource {
        Flush = "flush": "subnormal numbers replaced by zeros";
        Alignment = "alignment": "bits below the alignment of a fused sum, cut off";
        Step = "step": "rounding of the instruction's own sums, after each step";
        Promotion = "promotion": "rounding in the second register that sums are added to";
        Join = "join": "rounding where accumulators and the parts of k are joined";
        Scale = "scale": "rounding of products with scales, alpha and beta, and of sums with C and the bias";
        Output = "output": "rounding to the format of D";
    }
}

/// Probability with which the probable bound of an element may fail.
pub const RISK: f64 = 1e-6;
/// Number of sources.
const SOURCES: usize = ErrorSource::ALL.len();

/// Relative slack for the f64 arithmetic of the analysis itself: far above 2^-53 times its operations.
pub(super) const SLACK: f64 = 1.0 + 1e-9;
/// The exponent of a quantum that nothing is known of: below every format.
pub(super) const NO_QUANTUM: i32 = -5000;
/// The exponent of the quantum of zero: above every format.
pub(super) const ZERO_QUANTUM: i32 = 5000;

/// Bounds of an error: |computed - exact|.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ErrorBound {
    /// The largest error by source, which add up to the rigorous bound.
    sources: [f64; SOURCES],
    /// Interval of the mean error, where each rounding error is uniform in its range.
    mean: [f64; 2],
    /// Sum of the squares of half the ranges of all rounding errors.
    squares: f64,
    /// True if an operation may overflow, to an infinity or a NaN.
    overflows: bool,
}

impl ErrorBound {
    /// The rigorous bound; infinite if an operation may overflow.
    pub fn worst(&self) -> f64 {
        if self.overflows { f64::INFINITY } else { self.finite() }
    }

    /// The rigorous bound where no operation overflows.
    ///
    /// It holds wherever D is finite: no operation makes a finite number of an infinity or a NaN.
    pub fn finite(&self) -> f64 {
        let [flush, alignment, step, promotion, join, scale, output] = self.sources;
        let sum = flush + alignment + step + promotion + join + scale + output;
        if sum == 0.0 { 0.0 } else { sum * SLACK }
    }

    /// True if an operation may overflow.
    pub fn may_overflow(&self) -> bool {
        self.overflows
    }

    /// Notes that an operation may overflow.
    pub(super) fn overflow(&mut self) {
        self.overflows = true;
    }

    /// Notes that an operation may overflow, if one of another error may.
    pub(super) fn overflows_as(&mut self, other: &ErrorBound) {
        self.overflows |= other.overflows;
    }

    /// The error, if its rigorous bound is known to be at most this.
    pub(super) fn at_most(self, most: f64) -> ErrorBound {
        let sum = self.finite();
        if sum <= most {
            return self;
        }
        // An infinite source is all of the bound.
        let share = |source: f64| if sum.is_finite() { product_up(source, most / sum) } else { most.min(source) };
        ErrorBound { sources: self.sources.map(share), ..self }
    }

    /// The part of the rigorous bound that a source makes.
    pub fn source(&self, source: ErrorSource) -> f64 {
        self.sources[source as usize]
    }

    /// Bound of an element with probability 1 - `risk`, if rounding errors are independent and uniform.
    ///
    /// Hoeffding's inequality for bounded independent errors, as in Higham and Mary (SIAM Journal on Scientific Computing 41, 2019);
    /// the mean of errors that have a direction is added. It is never above the rigorous bound.
    pub fn probable(&self, risk: f64) -> f64 {
        let mean = self.mean[0].abs().max(self.mean[1].abs());
        let spread = (2.0 * (2.0 / risk).ln() * self.squares).sqrt();
        (mean + spread).min(self.finite())
    }

    /// The larger of two errors.
    pub(super) fn larger(&self, other: &ErrorBound) -> ErrorBound {
        let (mut larger, smaller) = if other.finite() > self.finite() { (*other, self) } else { (*self, other) };
        larger.overflows_as(smaller);
        larger
    }

    /// The error less a part of what a source makes of it.
    pub(super) fn less(mut self, source: ErrorSource, part: f64) -> ErrorBound {
        let error = &mut self.sources[source as usize];
        *error = (*error - part).max(0.0);
        self
    }

    /// The sum of two errors.
    pub(super) fn plus(&self, other: &ErrorBound) -> ErrorBound {
        let mut sum = *self;
        for (error, other) in sum.sources.iter_mut().zip(&other.sources) {
            *error += other;
        }
        sum.mean = [sum.mean[0] + other.mean[0], sum.mean[1] + other.mean[1]];
        sum.squares += other.squares;
        sum.overflows_as(other);
        sum
    }

    /// The error times a factor.
    pub(super) fn times(&self, factor: f64) -> ErrorBound {
        let mean = self.mean.map(|mean| mean * factor);
        ErrorBound {
            sources: self.sources.map(|source| product_up(source, factor.abs())),
            mean: if factor < 0.0 { [mean[1], mean[0]] } else { mean },
            squares: self.squares * factor * factor,
            overflows: self.overflows,
        }
    }

    /// The bounds over a positive number.
    pub fn divided(&self, by: f64) -> ErrorBound {
        self.times(1.0 / by)
    }

    /// The error of as many operations that each have this one.
    pub(super) fn repeated(&self, count: usize) -> ErrorBound {
        let count = count as f64;
        ErrorBound {
            sources: self.sources.map(|error| error * count),
            mean: self.mean.map(|mean| mean * count),
            squares: self.squares * count,
            overflows: self.overflows,
        }
    }

    /// The error without what a source makes of the rigorous bound.
    pub(super) fn without(mut self, source: ErrorSource) -> ErrorBound {
        self.sources[source as usize] = 0.0;
        self
    }

    /// Raises the rigorous bound alone.
    pub(super) fn raise(&mut self, source: ErrorSource, most: f64) {
        self.sources[source as usize] += most;
    }

    /// Adds an error of unknown direction and distribution, up to `most`.
    pub(super) fn add(&mut self, source: ErrorSource, most: f64) {
        self.sources[source as usize] += most;
        self.mean = [self.mean[0] - most, self.mean[1] + most];
    }

    /// Adds an error in -below..=above, uniform in that range.
    pub(super) fn add_range(&mut self, source: ErrorSource, below: f64, above: f64) {
        self.sources[source as usize] += below.max(above);
        let middle = (above - below) / 2.0;
        self.mean = [self.mean[0] + middle, self.mean[1] + middle];
        self.squares += ((below + above) / 2.0).powi(2);
    }

    /// Adds an error of 0..=most toward zero, of a value whose sign may be unknown.
    pub(super) fn add_toward_zero(&mut self, source: ErrorSource, most: f64, low: f64, high: f64) {
        if low >= 0.0 {
            self.add_range(source, most, 0.0);
        } else if high <= 0.0 {
            self.add_range(source, 0.0, most);
        } else {
            self.sources[source as usize] += most;
            self.mean = [self.mean[0] - most / 2.0, self.mean[1] + most / 2.0];
            self.squares += (most / 2.0).powi(2);
        }
    }
}

/// Interval and error of a value between two operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Enclosed {
    /// Smallest exact value: the operations give it without errors.
    pub low: f64,
    /// Largest exact value.
    pub high: f64,
    /// Distance of the computed value from the exact one.
    pub error: ErrorBound,
    /// The largest exponent with which it may count in an alignment; `None` if it does not count.
    pub(super) exponent: Option<i32>,
    /// The computed value is a multiple of two to this power.
    pub(super) quantum: i32,
    /// Bits from the exponent with which it counts to its last bit, at most; `None`: unknown.
    pub(super) span: Option<i32>,
    /// Significands that hold the computed value; `None`: unknown.
    pub(super) significand: Option<Significand>,
    /// Magnitude that a sum's alignment and a directed rounding after it cannot both lose.
    pub(super) common: f64,
    /// True if C is part of the value.
    pub(super) has_c: bool,
}

/// Numbers of so many bits that are multiples of one power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Significand {
    /// Bits from the leading one on, at most.
    pub(super) bits: i32,
    /// Every number is a multiple of two to this power.
    pub(super) smallest: i32,
}

impl Significand {
    /// The numbers of a format; `None` for integers.
    pub(super) fn of(format: &Format) -> Option<Significand> {
        let float = format.float()?;
        let bits = float.precision() as i32;
        Some(Significand { bits, smallest: float.emin() - bits + 1 })
    }
}

impl Enclosed {
    /// Zero, which counts in no alignment.
    pub(super) const ZERO: Enclosed = Enclosed {
        low: 0.0,
        high: 0.0,
        error: ErrorBound { sources: [0.0; SOURCES], mean: [0.0; 2], squares: 0.0, overflows: false },
        exponent: None,
        quantum: ZERO_QUANTUM,
        span: None,
        significand: None,
        common: 0.0,
        has_c: false,
    };

    /// A number without error.
    pub(super) fn number(value: f64, exponent: Option<i32>, quantum: i32) -> Enclosed {
        Enclosed { low: value, high: value, exponent, quantum, ..Enclosed::ZERO }
    }

    /// Any number up to a magnitude, without error.
    pub(super) fn up_to(most: f64, exponent: i32, quantum: i32) -> Enclosed {
        match most == 0.0 {
            true => Enclosed::ZERO,
            false => Enclosed { low: -most, high: most, exponent: Some(exponent), quantum, ..Enclosed::ZERO },
        }
    }

    /// The largest magnitude of the computed value.
    pub(super) fn most(&self) -> f64 {
        let exact = self.low.abs().max(self.high.abs());
        match self.error.finite() {
            0.0 => exact,
            error => (exact + error) * SLACK,
        }
    }

    /// The smallest magnitude of the computed value, or a little less.
    pub(super) fn least(&self) -> f64 {
        let exact = self.low.max(-self.high).max(0.0);
        match self.error.finite() {
            0.0 => exact,
            error => ((exact - error) / SLACK).max(0.0),
        }
    }

    /// The same, whose exact value is known to be at most this in magnitude.
    pub(super) fn capped(self, most: f64) -> Enclosed {
        Enclosed { low: self.low.max(-most), high: self.high.min(most), ..self }
    }

    /// The exact sum of two values.
    pub(super) fn plus(&self, other: &Enclosed) -> Enclosed {
        // A sum with zero is the other value.
        let alone = match (self.most() == 0.0, other.most() == 0.0) {
            (_, true) => Some(self),
            (true, _) => Some(other),
            _ => None,
        };
        Enclosed {
            span: None,
            significand: alone.and_then(|value| value.significand),
            common: alone.map_or(0.0, |value| value.common),
            has_c: self.has_c || other.has_c,
            low: below(self.low, other.low),
            high: above(self.high, other.high),
            error: if other.error == ErrorBound::default() { self.error } else { self.error.plus(&other.error) },
            exponent: self.exponent.max(other.exponent),
            quantum: self.quantum.min(other.quantum),
        }
    }

    /// The exact product with a number that has this quantum.
    pub(super) fn times(&self, factor: f64, quantum: i32) -> Enclosed {
        let [x, y] = [self.low, self.high].map(|end| end * factor);
        let (low, high) = if x <= y { (x, y) } else { (y, x) };
        let exact = is_exact_product(self.low, factor, x) && is_exact_product(self.high, factor, y);
        Enclosed {
            low: if exact { low } else { low.next_down() },
            high: if exact { high } else { high.next_up() },
            error: self.error.times(factor),
            exponent: self.exponent.map(|_| exponent(product_up(self.most(), factor.abs()))),
            quantum: self.quantum.saturating_add(quantum),
            span: None,
            significand: None,
            common: 0.0,
            has_c: self.has_c,
        }
    }

    /// The value rounded to a format, where what is too large becomes an infinity or a NaN.
    pub(super) fn rounded(&self, format: &Format, rounding: Rounding, source: ErrorSource) -> Enclosed {
        let Some(float) = format.float() else {
            // An integer that does not fit wraps or saturates.
            let most = (format.bits as i32 - 1).clamp(1, 63);
            let mut result = *self;
            if self.most() >= power(most) || self.quantum < 0 {
                result.error.add(source, f64::INFINITY);
            }
            return result;
        };
        let most = self.most();
        let mut result = *self;
        if most == 0.0 {
            return result;
        }
        let smallest = float.emin() - float.precision() as i32 + 1;
        if overflows(most, format) {
            result.error.overflow();
        }
        // A number that does not overflow has at most the format's largest exponent.
        let unit = (exponent(most).min(float.emax()) - float.precision() as i32 + 1).max(smallest);
        // A number of few bits loses none, except below the smallest number of the format.
        let few = self.significand.filter(|significand| significand.bits <= float.precision() as i32);
        let unit = few.map_or(unit, |_| smallest);
        if self.quantum < unit && few.is_none_or(|significand| significand.smallest < smallest) {
            // A remainder below the unit is a multiple of the value's quantum.
            let least = if self.quantum >= -1074 { power(self.quantum) } else { 0.0 };
            let width = power(unit);
            let least = least.max(self.common.min(width));
            let (low, high) = (self.low - self.error.finite(), self.high + self.error.finite());
            match rounding {
                Rounding::Rne | Rounding::Rna => result.error.add_range(source, half(width), half(width)),
                Rounding::Rz => result.error.add_toward_zero(source, (width - least).min(most), low, high),
                Rounding::Rd => result.error.add_range(source, width - least, 0.0),
                Rounding::Ru => result.error.add_range(source, 0.0, width - least),
                _ => result.error.add_range(source, width - least, width - least),
            }
        }
        result.exponent = Some(exponent(result.most()).max(float.emin()));
        result.quantum = self.quantum.max(smallest);
        result.span = Some(float.precision() as i32 - 1);
        result.significand = Significand::of(format);
        result.common = 0.0;
        result
    }
}

/// True if an overflow in rounding to a format makes an infinity or a NaN.
///
/// No operation makes that finite again.
pub(super) fn overflow_shows(format: &Format, rounding: Rounding, overflow: Overflow) -> bool {
    let nearest = matches!(rounding, Rounding::Rne | Rounding::Rna);
    let effective = match overflow {
        Overflow::Standard => format.float().map_or(overflow, |float| float.overflow),
        other => other,
    };
    match effective {
        // IEEE 754: a direction that points inward gives the largest finite number.
        Overflow::Infinity => overflow != Overflow::Standard || nearest,
        Overflow::Nan => format.has_nan(),
        _ => false,
    }
}

/// True if a magnitude may round to more than the largest number of a format of floating-point numbers.
pub(super) fn overflows(most: f64, format: &Format) -> bool {
    !most.is_finite()
        || format.float().is_some_and(|float| {
            most >= power(float.emax() + 1) || exponent(most) == float.emax() && most > largest(format)
        })
}

/// The largest finite number of a format.
fn largest(format: &Format) -> f64 {
    format.to_f64(format.largest(false))
}

/// The exponent of the leading bit of a magnitude, at least that of the smallest normal number of f64.
pub(super) fn exponent(magnitude: f64) -> i32 {
    ((magnitude.abs().to_bits() >> 52) as i32 - 1023).max(-1022)
}

/// Two to a power: infinite beyond f64, and at least the smallest number of f64.
pub fn power(exponent: i32) -> f64 {
    match exponent {
        ..=-1075 => f64::from_bits(1),
        -1074..=-1023 => f64::from_bits(1 << (exponent + 1074)),
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

/// `x + y`, not above the exact sum.
fn below(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if rest(x, y, sum) < 0.0 { sum.next_down() } else { sum }
}

/// Half of a power of two; the smallest number of f64 for itself.
pub(super) fn half(width: f64) -> f64 {
    (width / 2.0).max(power(-1074))
}

/// True if `product` is `x * y` without a rounding error.
pub(super) fn is_exact_product(x: f64, y: f64, product: f64) -> bool {
    // The rest of a product near the end of f64 would underflow.
    x == 0.0 || y == 0.0 || x.mul_add(y, -product) == 0.0 && product.abs() > 1e-290
}

/// The product of two magnitudes, 0 if one is 0.
///
/// It is below the exact product by no more than [`SLACK`] covers.
pub(super) fn product_up(x: f64, y: f64) -> f64 {
    let product = x * y;
    match x == 0.0 || y == 0.0 {
        true => 0.0,
        false if product < f64::MIN_POSITIVE => product.next_up(),
        false => product,
    }
}

/// `x + y`, not below the exact sum.
fn above(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if rest(x, y, sum) > 0.0 { sum.next_up() } else { sum }
}

/// Rest that rounding took from `x + y` (Knuth's TwoSum).
fn rest(x: f64, y: f64, sum: f64) -> f64 {
    let other = sum - x;
    (x - (sum - other)) + (y - other)
}
