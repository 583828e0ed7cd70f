//! Elements of arrays as numbers.

use crate::{
    Error, Result,
    array::Content,
    format::{Encoding, Format},
    tensor::FormatDecoder,
};

/// Reader of elements of one type as `f64`, exactly but for integers beyond 2^53.
#[derive(Debug)]
pub(super) enum ElementReader {
    /// Values of the codes of one byte.
    Table(Vec<f64>),
    Half(FormatDecoder),
    Single,
    Double,
    /// Integers of this many bytes, of which so many bits count.
    Integers {
        bytes: usize,
        bits: u32,
        signed: bool,
    },
}

impl ElementReader {
    /// The reader of codes of a format.
    ///
    /// # Errors
    /// A format without a reader.
    pub(super) fn of_format(format: &'static Format) -> Result<ElementReader> {
        Ok(match (format.name, &format.encoding) {
            _ if format.bits <= 8 => {
                ElementReader::Table((0..=format.code_mask()).map(|code| format.to_f64(code)).collect())
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
    pub(super) fn of(kind: Content) -> Result<ElementReader> {
        match kind {
            Content::Format(format) => ElementReader::of_format(format),
            Content::Unsigned(bytes) => Ok(ElementReader::Integers { bytes, bits: 8 * bytes as u32, signed: false }),
            Content::Other(name) => Err(Error::request(format!("its type {name} is not decoded"))),
        }
    }

    /// Bytes of an element.
    pub(super) fn width(&self) -> usize {
        match self {
            ElementReader::Table(_) => 1,
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
    pub(super) fn read(&self, bytes: &[u8], values: &mut Vec<f64>) -> std::result::Result<(), usize> {
        match self {
            ElementReader::Table(table) => {
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
                values.extend(bytes.chunks_exact(*width).map(|word| {
                    let mut whole = [0; 8];
                    whole[..*width].copy_from_slice(word);
                    let (raw, empty) = (u64::from_le_bytes(whole), 64 - bits);
                    if *signed { ((raw << empty) as i64 >> empty) as f64 } else { (raw << empty >> empty) as f64 }
                }))
            }
        }
        Ok(())
    }
}
