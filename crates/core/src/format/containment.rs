//! Containment: formats whose numbers include all numbers of another format.

use super::{Float, Format, Overflow, Rounding};

/// Bits of a code beyond which a format has more numbers than any table.
const MOST_BITS: u32 = 10;

impl Format {
    /// True if every finite number of `other`, each zero included, is a number of this format.
    /// Integer formats hold none and are held by none.
    pub fn holds(&self, other: &Format) -> bool {
        if self.table().is_some() || other.table().is_some() {
            return self.holds_each(other);
        }
        let (Some(float), Some(inner)) = (self.float(), other.float()) else { return false };
        let quantum = |float: &Float| float.emin() - float.trailing_bits as i32;
        let kept = |code: u64| self.keeps(other, code);
        float.precision() >= inner.precision()
            && quantum(float) <= quantum(inner)
            && kept(other.largest(false))
            && kept(other.largest(true))
            && [false, true].into_iter().filter_map(|negative| other.zero(negative)).all(kept)
    }

    /// [`Format::holds`], code by code: a table has few values, and holds no format of many.
    fn holds_each(&self, other: &Format) -> bool {
        let padding = other.float().map_or(0, |float| float.padding_bits);
        let few = other.bits - padding <= MOST_BITS;
        let finite = |code: &u64| other.decode(*code).is_finite();
        let mut codes = (0..=other.code_mask()).step_by(1 << padding).filter(finite);
        few && !self.is_integer() && !other.is_integer() && codes.all(|code| self.keeps(other, code))
    }

    /// True if the number with this code of `other` is one of this format.
    fn keeps(&self, other: &Format, code: u64) -> bool {
        let code_here = self.encode(&other.value(code), Rounding::Rz, Overflow::Saturate);
        code_here.is_some_and(|here| {
            let (x, y) = (self.decode(here), other.decode(code));
            x.negative == y.negative && x.to_f64() == y.to_f64()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Decoded, FORMATS};

    #[test]
    fn a_format_holds_another_if_every_number_survives_the_conversion() {
        let narrow = || FORMATS.iter().filter(|format| format.bits <= 8);
        for (outer, inner) in FORMATS.iter().flat_map(|outer| narrow().map(move |inner| (outer, inner))) {
            let survives = |code: u64| {
                let there = outer.encode(&inner.value(code), Rounding::Rne, Overflow::Saturate);
                let same = |x: Decoded, y: Decoded| x.negative == y.negative && x.to_f64() == y.to_f64();
                there.is_some_and(|there| same(outer.decode(there), inner.decode(code)))
            };
            let finite = (0..=inner.code_mask()).filter(|code| inner.decode(*code).is_finite());
            let floats = !outer.is_integer() && !inner.is_integer();
            assert_eq!(outer.holds(inner), floats && finite.clone().all(survives), "{outer} {inner}");
        }
    }
}
