//! A rounding between two operations.

use super::{
    decoder::{NumberDecoder, numbers},
    encoder::{Magnitude, NumberEncoder, encode},
    number::{COUNT, Number},
};
use crate::{
    arithmetic::Destination,
    format::{Finite, Real},
    softfloat::ResultTarget,
};

/// The rounding of a value to a format, in which the next operation finds it.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) encoder: NumberEncoder,
    pub(super) decoder: NumberDecoder,
    /// Encodes straight to D, where every finite code stays as it is.
    pub(super) last: Option<NumberEncoder>,
}

impl Stage {
    /// `None` for a format that the kernel does not have.
    pub(super) fn new(to: &Destination, output: &ResultTarget) -> Option<Stage> {
        let encoder = NumberEncoder::new(to)?;
        let decoder = NumberDecoder::plain(to.target.format)?;
        let last = encoder.then(&to.target, output);
        Some(Stage { encoder, decoder, last })
    }

    /// Whether finite values become NaN.
    pub(super) fn makes_nan(target: &ResultTarget) -> bool {
        let beyond = |negative| target.round(&Real::Finite(Finite::exact(negative, 1, 1 << 20)));
        [false, true].into_iter().any(|negative| target.format.value(beyond(negative)) == Real::Nan)
    }

    /// The value as the next operation finds it.
    pub(super) fn hold<M: Magnitude>(&self, number: &Number<M>, held: &mut Number) {
        let mut codes = [0; COUNT];
        encode(&self.encoder, number, &mut codes);
        numbers(&self.decoder, &codes, held);
        held.add_unknown(number);
    }
}
