//! Extended real numbers: finite ones, infinities and NaN.

use super::Finite;

/// Extended real number or NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Real {
    /// Not a number.
    Nan,
    /// Plus or minus infinity.
    Infinity {
        /// The sign.
        negative: bool,
    },
    /// A finite number.
    Finite(Finite),
}

impl Real {
    /// Host double nearest to the number ([`Finite::to_f64`]), an infinity or NaN.
    pub fn to_f64(&self) -> f64 {
        match self {
            Real::Nan => f64::NAN,
            Real::Infinity { negative: false } => f64::INFINITY,
            Real::Infinity { negative: true } => f64::NEG_INFINITY,
            Real::Finite(finite) => finite.to_f64(),
        }
    }
}

impl From<f64> for Real {
    /// Exact value of a host double.
    fn from(value: f64) -> Self {
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let biased = (bits >> 52 & 0x7ff) as i32;
        let trailing = (bits & ((1 << 52) - 1)) as u128;
        match (biased, trailing) {
            (0x7ff, 0) => Real::Infinity { negative },
            (0x7ff, _) => Real::Nan,
            (0, _) => Real::Finite(Finite::exact(negative, trailing, -1074)),
            _ => Real::Finite(Finite::exact(negative, trailing | 1 << 52, biased - 1075)),
        }
    }
}

/// `x * y`, exactly: zero times infinity is NaN, and a zero product has the product of the signs.
pub fn product(x: &Real, y: &Real) -> Real {
    match (x, y) {
        (Real::Nan, _) | (_, Real::Nan) => Real::Nan,
        (Real::Finite(x), Real::Finite(y)) => Real::Finite(x.times(y)),
        (Real::Infinity { negative }, Real::Infinity { negative: other }) => {
            Real::Infinity { negative: negative != other }
        }
        (Real::Infinity { negative }, Real::Finite(finite)) | (Real::Finite(finite), Real::Infinity { negative }) => {
            if finite.is_zero() {
                Real::Nan
            } else {
                Real::Infinity { negative: *negative != finite.negative }
            }
        }
    }
}

/// `x + y`, exact or sticky; operands that cancel give -0 if `negative_zero`.
pub fn sum(x: &Real, y: &Real, negative_zero: bool) -> Real {
    match (x, y) {
        (Real::Nan, _) | (_, Real::Nan) => Real::Nan,
        (Real::Infinity { negative }, Real::Infinity { negative: other }) if negative != other => Real::Nan,
        (Real::Infinity { .. }, _) => *x,
        (_, Real::Infinity { .. }) => *y,
        (Real::Finite(x), Real::Finite(y)) => {
            let sum = x.plus(y);
            if sum.is_zero() {
                Real::Finite(Finite::zero(if x.negative == y.negative { x.negative } else { negative_zero }))
            } else {
                Real::Finite(sum)
            }
        }
    }
}

/// Sum of terms if at least one is not finite: NaN, or the infinity that all infinite terms agree on.
/// `None` if all are finite.
pub(crate) fn special_sum<'a>(terms: impl IntoIterator<Item = &'a Real>) -> Option<Real> {
    let mut sum = None;
    for term in terms {
        sum = match (term, sum) {
            (Real::Nan, _) => return Some(Real::Nan),
            (Real::Infinity { negative }, Some(Real::Infinity { negative: other })) if *negative != other => {
                return Some(Real::Nan);
            }
            (Real::Infinity { .. }, _) => Some(*term),
            (Real::Finite(_), sum) => sum,
        }
    }
    sum
}
