//! Elements of arrays as numbers.

use super::FormatDecoder;
use crate::{
    Error, Result,
    array::Content,
    format::{Encoding, Format},
};

/// Reader of elements of one type, as `f64` or rounded to `f32`; exact but for wide integers.
#[derive(Debug)]
pub enum ElementReader {
    /// Codes of one byte, with the value of each.
    Narrow(FormatDecoder, Vec<f64>),
    /// Codes of a format of at most 16 bits.
    Half(FormatDecoder),
    /// f32.
    Single,
    /// f64.
    Double,
    /// Integers.
    Integers {
        /// Bytes of an element.
        bytes: usize,
        /// Bits of it that count.
        bits: u32,
        /// True for integers with a sign.
        signed: bool,
    },
}

impl ElementReader {
    /// The reader of codes of a format.
    ///
    /// # Errors
    /// A format without a reader.
    pub fn of_format(format: &'static Format) -> Result<ElementReader> {
        Ok(match (format.name, &format.encoding) {
            _ if format.bits <= 8 => {
                let values = (0..=format.code_mask()).map(|code| format.to_f64(code)).collect();
                ElementReader::Narrow(FormatDecoder::new(format)?, values)
            }
            ("f32", _) => ElementReader::Single,
            ("f64", _) => ElementReader::Double,
            (_, Encoding::Integer { signed }) => {
                ElementReader::Integers { bytes: format.bytes(), bits: format.bits, signed: *signed }
            }
            _ if format.bits <= 16 => ElementReader::Half(FormatDecoder::new(format)?),
            _ => return Err(Error::request(format!("codes of {format} are not read here"))),
        })
    }

    /// The reader of the elements of an array.
    ///
    /// # Errors
    /// A type that holds no numbers.
    pub fn of(kind: Content) -> Result<ElementReader> {
        match kind {
            Content::Format(format) => ElementReader::of_format(format),
            Content::Unsigned(bytes) => Ok(ElementReader::Integers { bytes, bits: 8 * bytes as u32, signed: false }),
            Content::Other(name) => Err(Error::request(format!("its type {name} is not decoded"))),
        }
    }

    /// Bytes of an element.
    pub fn width(&self) -> usize {
        match self {
            ElementReader::Narrow(..) => 1,
            ElementReader::Half(_) => 2,
            ElementReader::Single => 4,
            ElementReader::Double => 8,
            ElementReader::Integers { bytes, .. } => *bytes,
        }
    }

    /// Appends the values of whole elements.
    ///
    /// # Errors
    /// The place of the first code that has more bits than the format.
    pub fn read(&self, bytes: &[u8], values: &mut Vec<f64>) -> std::result::Result<(), usize> {
        match self {
            ElementReader::Narrow(_, table) => {
                if table.len() < 256
                    && let Some(wide) = bytes.iter().position(|code| usize::from(*code) >= table.len())
                {
                    return Err(wide);
                }
                values.extend(bytes.iter().map(|code| table[usize::from(*code)]));
            }
            ElementReader::Half(decoder) => {
                let mut singles = vec![0.0; bytes.len() / 2];
                decoder.decode(bytes, &mut singles);
                values.extend(singles.into_iter().map(f64::from));
            }
            ElementReader::Single => {
                values.extend(bytes.as_chunks().0.iter().map(|word| f64::from(f32::from_le_bytes(*word))))
            }
            ElementReader::Double => values.extend(bytes.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word))),
            ElementReader::Integers { bytes: width, bits, signed } => {
                let empty = 64 - bits;
                values.extend(bytes.chunks_exact(*width).map(word).map(|raw| match signed {
                    true => ((raw << empty) as i64 >> empty) as f64,
                    false => (raw << empty >> empty) as f64,
                }))
            }
        }
        Ok(())
    }

    /// Writes the values of elements, rounded to nearest, to as many places.
    ///
    /// # Errors
    /// The first number of f64 that is beyond f32.
    pub fn read_single(&self, bytes: &[u8], values: &mut [f32]) -> std::result::Result<(), f64> {
        match self {
            ElementReader::Narrow(decoder, _) | ElementReader::Half(decoder) => decoder.decode(bytes, values),
            ElementReader::Single => {
                values.iter_mut().zip(bytes.as_chunks().0).for_each(|(value, word)| *value = f32::from_le_bytes(*word));
            }
            ElementReader::Double => {
                for (value, word) in values.iter_mut().zip(bytes.as_chunks().0) {
                    let wide = f64::from_le_bytes(*word);
                    *value = wide as f32;
                    if wide.is_finite() && wide != 0.0 && !value.is_normal() && !value.is_subnormal() {
                        return Err(wide);
                    }
                }
            }
            ElementReader::Integers { bytes: width, bits, signed } => {
                let empty = 64 - bits;
                for (value, raw) in values.iter_mut().zip(bytes.chunks_exact(*width).map(word)) {
                    *value = match signed {
                        true => ((raw << empty) as i64 >> empty) as f32,
                        false => (raw << empty >> empty) as f32,
                    };
                }
            }
        }
        Ok(())
    }
}

/// A little-endian word of at most 8 bytes.
fn word(bytes: &[u8]) -> u64 {
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(padded)
}
