//! Rounding between two operations.

use super::{
    decoder::{NumberDecoder, numbers},
    encoder::{MagnitudeWord, NumberEncoder, encode},
    number::{COUNT, Number},
};
use crate::{
    arithmetic::Destination,
    format::{Finite, Real},
    softfloat::ResultTarget,
};

/// Rounding of a value to a format, from which the next operation decodes it.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) encoder: NumberEncoder,
    pub(super) decoder: NumberDecoder,
    /// Encoder straight to D, where every finite code stays the same.
    pub(super) last: Option<NumberEncoder>,
}

impl Stage {
    /// `None` for a format that the kernel does not support.
    pub(super) fn new(to: &Destination, output: &ResultTarget) -> Option<Stage> {
        let encoder = NumberEncoder::new(to)?;
        let decoder = NumberDecoder::plain(to.target.format)?;
        let last = encoder.then(&to.target, output);
        Some(Stage { encoder, decoder, last })
    }

    /// True if finite values become NaN.
    pub(super) fn makes_nan(target: &ResultTarget) -> bool {
        let beyond = |negative| target.round(&Real::Finite(Finite::exact(negative, 1, 1 << 20)));
        [false, true].into_iter().any(|negative| target.format.value(beyond(negative)) == Real::Nan)
    }

    /// Rounds a value for the next operation.
    pub(super) fn hold<M: MagnitudeWord>(&self, number: &Number<M>, held: &mut Number) {
        let mut codes = [0; COUNT];
        encode(&self.encoder, number, &mut codes);
        numbers(&self.decoder, &codes, held);
        held.add_unknown(number);
    }
}
