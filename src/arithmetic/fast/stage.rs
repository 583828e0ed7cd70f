//! One rounding of a chain.

use super::{
    decoder::{Decoder, numbers},
    encoder::{Encoder, encode},
    number::{Number, sum},
};
use crate::{
    arithmetic::{Subnormals, ZeroSign},
    format::{Finite, Real, Rounding},
    softfloat::Target,
};

/// The rounding of a value to a format, in which the next operation finds it.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) rounding: Rounding,
    /// Encodes straight to D, where every finite code stays as it is.
    pub(super) last: Option<Encoder>,
}

impl Stage {
    /// `None` for a format that the kernel does not have.
    pub(super) fn new(target: &Target, subnormals: Subnormals, output: &Target) -> Option<Stage> {
        let encoder = Encoder::new(target, subnormals)?;
        let decoder = Decoder::new(target.format, Subnormals::Keep, None)?;
        let last = encoder.then(target, output);
        Some(Stage { encoder, decoder, rounding: target.rounding, last })
    }

    /// This stage with another rule for the sign of zeros.
    pub(super) fn signing_zeros(self, zero: ZeroSign) -> Stage {
        let last = self.last.map(|last| last.signing_zeros(zero));
        Stage { encoder: self.encoder.signing_zeros(zero), last, ..self }
    }

    /// Whether finite values become NaN.
    pub(super) fn makes_nan(target: &Target) -> bool {
        let beyond = |negative| target.round(&Real::Finite(Finite::exact(negative, 1, 1 << 20)));
        [false, true].into_iter().any(|negative| target.format.value(beyond(negative)) == Real::Nan)
    }

    /// The value as the next operation finds it.
    pub(super) fn hold(&self, number: &Number) -> Number {
        let mut held = numbers(&self.decoder, &encode(&self.encoder, number));
        held.add_unknown(number);
        held
    }

    /// The sum of two values, not yet rounded.
    pub(super) fn sum(&self, x: &Number, y: &Number) -> Number {
        sum(x, y, self.rounding == Rounding::Rd)
    }
}

/// The last value of a chain: still to be rounded by a stage, or as it is.
#[derive(Clone, Copy)]
pub(super) enum Last<'a> {
    Unrounded(&'a Stage),
    Held,
}

impl Last<'_> {
    /// The value as the next operation finds it.
    pub(super) fn hold(&self, number: &Number) -> Number {
        match self {
            Last::Unrounded(stage) => stage.hold(number),
            Last::Held => number.clone(),
        }
    }
}
