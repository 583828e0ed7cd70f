//! Slices of f32 to codes of up to 16 bits, and back.

use crate::{
    Result,
    format::{
        Format, Overflow, Rounding,
        slices::{Decoder, Encoder},
    },
};

/// Codes of 16 bits that are written at a time: few enough for the stack.
const AT_ONCE: usize = 1 << 11;

/// Encoder to the codes of a format of at most 16 bits, in bytes of their width.
pub enum FormatEncoder {
    /// Codes of at most 8 bits.
    Narrow(Encoder<u8>),
    /// Codes of 9 to 16 bits.
    Wide(Encoder<u16>),
}

/// Decoder of such codes.
#[derive(Debug)]
pub enum FormatDecoder {
    /// Codes of at most 8 bits.
    Narrow(Decoder<u8>),
    /// Codes of 9 to 16 bits.
    Wide(Decoder<u16>),
}

impl FormatEncoder {
    /// The encoder of a format.
    ///
    /// # Errors
    /// A format of more than 16 bits, or one that cannot be rounded to.
    pub fn new(format: &Format, rounding: Rounding, overflow: Overflow) -> Result<FormatEncoder> {
        Ok(match format.bits {
            ..=8 => FormatEncoder::Narrow(Encoder::new(format, rounding, overflow)?),
            _ => FormatEncoder::Wide(Encoder::new(format, rounding, overflow)?),
        })
    }

    /// The encoder of a two's complement format without its most negative number.
    pub fn symmetric(self) -> FormatEncoder {
        match self {
            FormatEncoder::Narrow(encoder) => FormatEncoder::Narrow(encoder.symmetric()),
            FormatEncoder::Wide(encoder) => FormatEncoder::Wide(encoder.symmetric()),
        }
    }

    /// Writes the codes of `values`, and returns how many have none; `random` has a word for each value.
    pub fn encode(&self, values: &[f32], random: Option<&[u64]>, bytes: &mut [u8]) -> Result<usize> {
        match self {
            FormatEncoder::Narrow(encoder) => match random {
                Some(random) => encoder.encode_randomly(values, random, bytes),
                None => Ok(encoder.encode(values, bytes)),
            },
            FormatEncoder::Wide(encoder) => {
                let (mut codes, mut missing) = ([0u16; AT_ONCE], 0);
                for (at, (values, bytes)) in values.chunks(AT_ONCE).zip(bytes.chunks_mut(2 * AT_ONCE)).enumerate() {
                    let codes = &mut codes[..values.len()];
                    missing += match random {
                        Some(random) => {
                            encoder.encode_randomly(values, &random[at * AT_ONCE..][..values.len()], codes)?
                        }
                        None => encoder.encode(values, codes),
                    };
                    bytes.as_chunks_mut().0.iter_mut().zip(codes).for_each(|(place, code)| *place = code.to_le_bytes());
                }
                Ok(missing)
            }
        }
    }
}

impl FormatDecoder {
    /// The decoder of a format.
    ///
    /// # Errors
    /// A format of more than 16 bits.
    pub fn new(format: &Format) -> Result<FormatDecoder> {
        Ok(match format.bits {
            ..=8 => FormatDecoder::Narrow(Decoder::new(format)?),
            _ => FormatDecoder::Wide(Decoder::new(format)?),
        })
    }

    /// Decodes codes to as many values.
    pub fn decode(&self, bytes: &[u8], values: &mut [f32]) {
        match self {
            FormatDecoder::Narrow(decoder) => decoder.decode(bytes, values),
            FormatDecoder::Wide(decoder) => {
                let codes: Vec<u16> = bytes.as_chunks().0.iter().map(|word| u16::from_le_bytes(*word)).collect();
                decoder.decode(&codes, values);
            }
        }
    }
}
