//! Conversion of the elements of one tensor, prepared once for all of its pieces.

use std::ops::Range;

use super::{
    FormatEncoder, Tensor,
    values::{AT_ONCE, TensorKind, ValueReader},
};
use crate::{
    Error, Result,
    format::{
        Format, Overflow, Real, Rounding,
        block::{Blocks, Dequantizer, Quantizer, VectorQuantizer},
    },
};

/// As many values as the vectorised conversion to blocks must have to make up for its preparation.
const WORTH_IT: usize = 1 << 13;
const INFINITY: u32 = 0x7f80_0000;
/// The NaN of binary32 that results are.
const NAN: u32 = 0x7fc0_0000;

/// Values for which a format has no code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    count: usize,
    first: Option<usize>,
}

impl Missing {
    /// Adds the values of a later part, whose places are counted from `from`.
    pub fn add(&mut self, part: Missing, from: usize) {
        self.count += part.count;
        self.first = self.first.or(part.first.map(|first| from + first));
    }

    fn note(&mut self, at: usize) {
        self.count += 1;
        self.first.get_or_insert(at);
    }

    /// Refuses values that the format has no code for.
    ///
    /// # Errors
    /// How many of `count` values have none, and the place of the first.
    pub fn refused(&self, count: usize, format: &Format) -> Result<()> {
        match self.first {
            Some(first) => Err(Error::request(format!(
                "{} of {count} values have no code in {format} (NaN, which it lacks), the first at position {first}",
                self.count
            ))),
            None => Ok(()),
        }
    }
}

/// Conversion to codes of a format.
pub struct ScalarConverter {
    format: &'static Format,
    rounding: Rounding,
    overflow: Overflow,
    values: ValueReader,
    way: EncodeWay,
}

/// Methods to find codes; all give the same.
enum EncodeWay {
    /// The values are of binary32, the codes of 16 bits or fewer.
    Vectorised(FormatEncoder),
    /// Both are of binary32.
    Same,
    /// Blocks whose values are rounded to binary32 to nearest.
    Dequantised(Dequantizer),
    /// The code for each code of the source.
    Table(Vec<Option<u64>>),
    /// Value by value.
    Each,
}

impl ScalarConverter {
    /// For a tensor of `count` values.
    pub fn new(
        from: TensorKind,
        count: usize,
        format: &'static Format,
        rounding: Rounding,
        overflow: Overflow,
    ) -> Result<ScalarConverter> {
        let values = ValueReader::new(from);
        let random = matches!(rounding, Rounding::Sr { .. });
        let standard = overflow == Overflow::Standard;
        let way = match from {
            _ if values.fit_f32() && format.bits <= 16 => {
                EncodeWay::Vectorised(FormatEncoder::new(format, rounding, overflow)?)
            }
            _ if values.fit_f32() && format.name == "f32" && standard => EncodeWay::Same,
            TensorKind::Scalar(from) if !random && from.bits <= 16 && count >> from.bits > 0 => {
                let code = |code| format.encode(&from.value(code), rounding, overflow);
                EncodeWay::Table((0..=from.code_mask()).map(code).collect())
            }
            TensorKind::Blocks(from, tensor_scale) if format.name == "f32" && standard && rounding == Rounding::Rne => {
                Dequantizer::new(from, tensor_scale).map_or(EncodeWay::Each, EncodeWay::Dequantised)
            }
            _ => EncodeWay::Each,
        };
        Ok(ScalarConverter { format, rounding, overflow, values, way })
    }

    /// True if it converts a whole tensor with all threads at once faster than in parts.
    pub(crate) fn takes_all(&self) -> bool {
        matches!(self.way, EncodeWay::Dequantised(_))
    }

    /// Writes the codes of the values of `source` at `range`; `random` has a word for each value.
    pub fn encode(
        &self,
        source: &Tensor,
        range: Range<usize>,
        random: Option<&[u64]>,
        bytes: &mut [u8],
    ) -> Result<Missing> {
        match (&self.way, source) {
            (EncodeWay::Vectorised(encoder), _) => self.vectorised(encoder, source, range, random, bytes),
            (EncodeWay::Same, _) => {
                let mut words = Vec::new();
                self.values.read_f32(source, range, &mut words);
                for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(&words) {
                    let bits = word.to_bits();
                    *place = if bits & u32::MAX >> 1 > INFINITY { NAN } else { bits }.to_le_bytes();
                }
                Ok(Missing::default())
            }
            (EncodeWay::Dequantised(dequantizer), Tensor::Blocks(blocks)) if range == (0..blocks.len()) => {
                let words = dequantizer.values(blocks);
                bytes.as_chunks_mut().0.iter_mut().zip(&words).for_each(|(place, word)| *place = word.to_le_bytes());
                Ok(Missing::default())
            }
            (EncodeWay::Table(table), Tensor::Scalar(_, codes)) => {
                let code = |index: usize| table[codes.get(index) as usize & (table.len() - 1)];
                Ok(self.each(range, bytes, |index, _| code(index)))
            }
            _ => Ok(self.each(range, bytes, |index, at| self.code(&source.value(index), random.map(|bits| bits[at])))),
        }
    }

    /// The code of a value, for stochastic rounding with these random bits.
    fn code(&self, value: &Real, random: Option<u64>) -> Option<u64> {
        let rounding = match (self.rounding, random) {
            (Rounding::Sr { bits, .. }, Some(random)) => Rounding::Sr { random, bits },
            (rounding, _) => rounding,
        };
        self.format.encode(value, rounding, self.overflow)
    }

    fn each(&self, range: Range<usize>, bytes: &mut [u8], code: impl Fn(usize, usize) -> Option<u64>) -> Missing {
        let (width, mut missing) = (self.format.bytes(), Missing::default());
        for (at, (index, place)) in range.zip(bytes.chunks_exact_mut(width)).enumerate() {
            match code(index, at) {
                Some(code) => place.copy_from_slice(&code.to_le_bytes()[..width]),
                None => missing.note(index),
            }
        }
        missing
    }

    /// Writes the codes of the values of `source` at `range`, some at a time.
    fn vectorised(
        &self,
        encoder: &FormatEncoder,
        source: &Tensor,
        range: Range<usize>,
        random: Option<&[u64]>,
        bytes: &mut [u8],
    ) -> Result<Missing> {
        let (mut words, mut count) = (Vec::new(), 0);
        for (at, bytes) in bytes.chunks_mut(AT_ONCE * self.format.bytes()).enumerate() {
            let first = at * AT_ONCE;
            let few = range.start + first..range.end.min(range.start + first + AT_ONCE);
            self.values.read_f32(source, few, &mut words);
            count += encoder.encode(&words, random.map(|random| &random[first..first + words.len()]), bytes)?;
        }
        // The place of the first is looked for where there is one.
        let lacks = |index: &usize| self.code(&source.value(*index), None).is_none();
        Ok(Missing { count, first: if count > 0 { range.clone().find(lacks) } else { None } })
    }
}

/// Conversion to blocks of a tensor whose own scale, where the format has one, is known.
pub struct BlockConverter<'a> {
    quantizer: &'a Quantizer,
    vectorised: Option<VectorQuantizer<'a>>,
    values: ValueReader,
    /// Random bits of each element for stochastic rounding, before which the quantizer rounds to nearest.
    random_bits: Option<u32>,
}

impl<'a> BlockConverter<'a> {
    /// For a tensor of `count` values.
    pub fn new(
        from: TensorKind,
        count: usize,
        quantizer: &'a Quantizer,
        random_bits: Option<u32>,
    ) -> BlockConverter<'a> {
        let values = ValueReader::new(from);
        let worth_it = values.fit_f32() && count >= WORTH_IT;
        let vectorised = if worth_it { VectorQuantizer::new(quantizer, 0) } else { None };
        BlockConverter { quantizer, vectorised, values, random_bits }
    }

    /// Rows of `row` values as blocks, with random bits for each value where the rounding is stochastic.
    pub fn quantize(&self, source: &Tensor, row: usize, random: Option<&[u64]>) -> Blocks {
        let mut blocks = match &self.vectorised {
            Some(vectorised) => {
                let mut words = Vec::new();
                self.values.read_f32(source, 0..source.len(), &mut words);
                vectorised.quantize(&words, row)
            }
            None => self.quantizer.quantize_with(source.len(), row, |index| source.value(index)),
        };
        if let (Some(bits), Some(random)) = (self.random_bits, random) {
            self.round_randomly(source, random, bits, &mut blocks);
        }
        blocks
    }

    /// Rounds the elements again, each with its own random bits, under the scales that are there.
    fn round_randomly(&self, source: &Tensor, random: &[u64], bits: u32, blocks: &mut Blocks) {
        let quantizer = |random| Quantizer { rounding: Rounding::Sr { random, bits }, ..*self.quantizer };
        for (start, length) in starts(source.len(), blocks.row, blocks.format.length) {
            let Real::Finite(scale) = blocks.scale(blocks.block_of(start)) else { continue };
            for (index, random) in random.iter().enumerate().skip(start).take(length) {
                if let Real::Finite(value) = source.value(index) {
                    blocks.elements[index] = quantizer(*random).element_code(&value, &scale);
                }
            }
        }
    }
}

/// Where the blocks of rows of `row` elements begin, and how many elements they have.
fn starts(count: usize, row: usize, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let rows = (0..count).step_by(row.max(1));
    rows.flat_map(move |start| (0..row).step_by(length).map(move |column| (start + column, length.min(row - column))))
}
