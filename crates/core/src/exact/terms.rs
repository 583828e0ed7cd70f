//! Accumulators of dot-product-adds, and their terms as codes.

use crate::{
    format::{Decoded, Encoding, Format},
    number::Accumulator,
};

impl Accumulator {
    /// Accumulator of zero for `terms` products of an `a` and a `b`, one `c` and one number of `d`.
    /// The number of `d` is for subtracting a result. Example: f16 products with f32 c and d need six limbs and two
    /// spare ones.
    pub(crate) fn for_dot(a: &Format, b: &Format, c: &Format, d: &Format, terms: usize) -> Self {
        let ((a_low, a_high), (b_low, b_high)) = (exponents(a), exponents(b));
        let ((c_low, c_high), (d_low, d_high)) = (exponents(c), exponents(d));
        let lowest = (a_low + b_low).min(c_low).min(d_low);
        let highest = (a_high + b_high).max(c_high).max(d_high);
        // Room for terms + 2 magnitudes below 2^highest, and a sign.
        Self::with_carry_bits(lowest, highest, (usize::BITS - terms.leading_zeros()) as i32 + 3)
    }

    /// Adds a finite datum; zeros, infinities and NaN add nothing.
    ///
    /// # Panics
    /// Like [`Accumulator::add`].
    #[inline]
    pub(crate) fn add_decoded(&mut self, datum: &Decoded) {
        self.add(datum.negative, datum.significand.into(), datum.exponent);
    }

    /// Subtracts a finite datum; zeros, infinities and NaN subtract nothing.
    ///
    /// # Panics
    /// Like [`Accumulator::add`].
    #[inline]
    pub(crate) fn subtract_decoded(&mut self, datum: &Decoded) {
        self.add(!datum.negative, datum.significand.into(), datum.exponent);
    }

    /// Adds the exact product of two finite data; a zero, infinite or NaN factor adds nothing.
    ///
    /// # Panics
    /// Like [`Accumulator::add`].
    #[inline]
    pub(crate) fn add_product(&mut self, x: &Decoded, y: &Decoded) {
        let significand = u128::from(x.significand) * u128::from(y.significand);
        self.add(x.negative != y.negative, significand, x.exponent + y.exponent);
    }
}

/// Quantum exponent of a format's smallest magnitude, and the least power of two above its largest one.
fn exponents(format: &Format) -> (i32, i32) {
    match &format.encoding {
        Encoding::Float(float) => (float.emin() - float.trailing_bits as i32, float.emax() + 1),
        Encoding::Integer { .. } => (0, format.bits as i32),
        Encoding::Table(table) => table.exponents(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_a_dot_product_add_is_enough_and_not_more() {
        let [f16, f32, f64] = ["f16", "f32", "f64"].map(|name| crate::format::find(name).unwrap());
        assert_eq!(Accumulator::for_dot(f16, f16, f32, f32, 16).width(), 5 * 64);
        let mut wide = Accumulator::for_dot(f64, f64, f64, f64, 4);
        let largest = f64.decode(f64.largest(true));
        (0..4).for_each(|_| wide.add_product(&f64.decode(f64.largest(false)), &largest));
        (0..2).for_each(|_| wide.add_decoded(&largest));
        assert!(wide.is_negative());
        wide.add_product(&f64.decode(1), &f64.decode(1));
        assert_eq!((wide.to_finite().leading_exponent(), wide.to_finite().sticky), (Some(2049), true));
    }
}
