//! Products as numbers.

use super::{
    number::{COUNT, Number},
    pieces::Pieces,
    step::kept,
    terms::FusedTerms,
    word::{over, set_piece},
};
use crate::base::vectors::vectorised;

vectorised! {
    /// Products of the only term of the group, without their `dropped` low bits.
    /// They are arbitrary for missing pieces.
    pub(super) fn exact(pieces: &Pieces<'_>, dropped: i32, number: &mut Number) {
        number.special = [0; COUNT];
        for at in 0..pieces.count {
            let factors = pieces.factors(at);
            let value = kept(&factors.value(0), dropped);
            let exponent = factors.exponent_sum(0);
            set_piece(&mut number.magnitude, at, &over(&value, i64::unsigned_abs));
            set_piece(&mut number.negative, at, &factors.sign(0));
            set_piece(&mut number.exponent, at, &over(&exponent, |e| e - pieces.fraction_bits));
            if pieces.special {
                set_piece(&mut number.special, at, &factors.special(0));
            }
        }
    }
}
