//! A converted tensor in the file that is written: its arrays, and the pieces of them.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    Error, Result,
    array::{ArrayWriter, Content, NewArray, pack},
    base::work,
    format::{
        Real, Rounding,
        block::{BlockFormat, Blocks, Quantizer},
        slices::largest_finite,
    },
    inputs,
    isa::Codes,
    number::Finite,
    tensor::{
        ArrayNames, BlockConverter, ConversionTarget, Deviations, Missing, ORIGINAL_SHAPE, Pieces, ScalarConverter,
        SourceTensor, Tensor, TensorComparison, TensorKind, TensorPiece, ValueReader, common_multiple, refused_whole,
        scale_shape, stored_scale,
    },
};

/// A tensor of the result; its first array has this number.
pub(super) struct TargetTensor<'a> {
    to: &'a ConversionTarget,
    names: &'a ArrayNames,
    first: usize,
}

impl<'a> TargetTensor<'a> {
    /// Adds the arrays that `source` becomes, and what the metadata say of it.
    ///
    /// # Errors
    /// A name that the layout has no place for.
    pub(super) fn plan(
        source: &SourceTensor,
        to: &'a ConversionTarget,
        names: &'a ArrayNames,
        arrays: &mut Vec<NewArray>,
        metadata: &mut BTreeMap<String, String>,
    ) -> Result<TargetTensor<'a>> {
        let first = arrays.len();
        let mut add = |name: String, shape: Vec<usize>, kind: Content, width: usize| {
            let bytes = shape.iter().product::<usize>() as u64 * width as u64;
            arrays.push(NewArray { name, shape, kind, bytes });
        };
        match to {
            ConversionTarget::Scalar { format, .. } => {
                let shape = source.original.clone().unwrap_or(source.shape.clone());
                add(source.name.into(), shape, Content::Format(format), format.bytes());
            }
            ConversionTarget::Blocks(Quantizer { format, .. }) => {
                let row = source.row();
                let [codes, scale, tensor_scale] = names.of(source.name)?;
                let with_last = |last: usize| {
                    let leading = source.shape.split_last().map_or(&[][..], |(_, leading)| leading);
                    leading.iter().copied().chain([last]).collect::<Vec<usize>>()
                };
                names.takes(source.name, &source.shape, format)?;
                let width = (row * names.code_bits(format)).div_ceil(8);
                let element = format.element.format;
                let kind = if element.bits == 8 { Content::Format(element) } else { Content::Unsigned(1) };
                add(codes, with_last(width), kind, 1);
                let kind = if names.bytes { Content::Unsigned(1) } else { Content::Format(stored_scale(format.scale)) };
                add(scale, scale_shape(&source.shape, format), kind, format.scale.bytes());
                if let Some(scale_format) = format.tensor_scale {
                    // compressed-tensors, whose scale divides, has one number in an array; the others have it alone.
                    let shape = if names.divides { vec![1] } else { vec![] };
                    add(tensor_scale, shape, Content::Format(scale_format), scale_format.bytes());
                }
                if names.layout.is_none() {
                    let extents: Vec<String> = source.shape.iter().map(usize::to_string).collect();
                    metadata.insert(format!("tcnum.shape.{}", source.name), extents.join(","));
                }
                if let Some(original) = &source.original {
                    let extents: Vec<String> = original.iter().map(usize::to_string).collect();
                    metadata.insert(format!("{ORIGINAL_SHAPE}{}", source.name), extents.join(","));
                }
            }
        }
        Ok(TargetTensor { to, names, first })
    }

    /// Converts `source` and writes it; `done` gets numbers of converted values.
    pub(super) fn convert(
        &self,
        source: &SourceTensor,
        seed: u64,
        writer: &ArrayWriter,
        done: &mut dyn FnMut(u64),
    ) -> Result<Deviations> {
        let random = match self.to.rounding() {
            Rounding::Sr { bits, .. } => Some(RandomBits { seed, bits }),
            _ => None,
        };
        match self.to {
            ConversionTarget::Scalar { format, rounding, overflow } => {
                let converter =
                    ScalarConverter::new(source.kind(), source.element_count(), format, *rounding, *overflow)?;
                let comparison = TensorComparison::new(source.kind(), TensorKind::Scalar(format));
                let mut missing = Missing::default();
                let pieces = source.pieces([source.block()]);
                let one = |piece: &TensorPiece, memory: &mut Vec<u8>| {
                    let parts = pieces.parts(piece);
                    let tensor = source.read(piece, memory)?;
                    let mut bytes = vec![0; piece.len() * format.bytes()];
                    let random = random.map(|random| random.of(piece, source.row()));
                    let missing = converter.encode(&tensor, 0..piece.len(), random.as_deref(), &mut bytes)?;
                    writer.write(self.first, (piece.start(source.row()) * format.bytes()) as u64, &bytes)?;
                    let result = Tensor::Scalar(format, Codes::from_bytes(format, bytes).expect("whole codes"));
                    Ok((differences(&comparison, parts, tensor, &result, memory), missing))
                };
                let deviations = sum(&pieces, one, |piece, part| missing.add(part, piece.start(source.row())), done)?;
                missing.refused(source.element_count(), format)?;
                Ok(deviations)
            }
            ConversionTarget::Blocks(quantizer) => {
                let quantizer = Quantizer {
                    tensor_scale: tensor_scale(source, quantizer)?,
                    block_scale: block_scale(source, quantizer)?,
                    // Where elements take random bits of their own, scales alone are found by it.
                    rounding: if random.is_some() { Rounding::Rne } else { quantizer.rounding },
                    ..*quantizer
                };
                self.convert_to_blocks(source, &quantizer, random, writer, done)
            }
        }
    }

    fn convert_to_blocks(
        &self,
        source: &SourceTensor,
        quantizer: &Quantizer,
        random: Option<RandomBits>,
        writer: &ArrayWriter,
        done: &mut dyn FnMut(u64),
    ) -> Result<Deviations> {
        let format = quantizer.format;
        let scale = quantizer.tensor_scale(0, &|_| Real::Nan).0;
        let converter =
            BlockConverter::new(source.kind(), source.element_count(), quantizer, random.map(|random| random.bits));
        let comparison = TensorComparison::new(source.kind(), TensorKind::Blocks(format, scale));
        // Under a scale that is known, any piece will do.
        let block = if quantizer.block_scale.is_some() { (1, 1) } else { (format.rows, format.length) };
        // Eight codes fill whole bytes.
        let bytes = if self.names.code_bits(format) < 8 { 8 } else { 1 };
        let block = if block.1 < BlockFormat::WHOLE { (block.0, common_multiple(block.1, bytes)) } else { block };
        let pieces = source.pieces([block, source.block()]);
        let one = |piece: &TensorPiece, memory: &mut Vec<u8>| {
            let parts = pieces.parts(piece);
            let tensor = source.read(piece, memory)?;
            let random = random.map(|random| random.of(piece, source.row()));
            let blocks = converter.quantize(&tensor, piece.columns.len(), random.as_deref());
            self.write(source, piece, &blocks, writer)?;
            Ok((differences(&comparison, parts, tensor, &Tensor::Blocks(blocks), memory), ()))
        };
        let deviations = sum(&pieces, one, |_, ()| {}, done)?;
        if let (Some(code), Some(scale_format)) = (scale, format.tensor_scale) {
            let reciprocal = 1.0 / f32::from_bits(code as u32);
            let code = if self.names.divides { reciprocal.to_bits().into() } else { code };
            writer.write(self.first + 2, 0, &code.to_le_bytes()[..scale_format.bytes()])?;
        }
        Ok(deviations)
    }

    /// Writes the blocks of a piece of `source`.
    fn write(&self, source: &SourceTensor, piece: &TensorPiece, blocks: &Blocks, writer: &ArrayWriter) -> Result<()> {
        let row = source.row();
        let (above, column) = (piece.rows.start, piece.columns.start);
        match self.names.code_bits(blocks.format) {
            8 => writer.write(self.first, piece.start(row) as u64, &blocks.elements)?,
            bits => {
                let place = above * (row * bits).div_ceil(8) + column * bits / 8;
                writer.write(self.first, place as u64, &pack(&blocks.elements, piece.columns.len(), bits))?;
            }
        }
        let scale = blocks.format.scale;
        let bytes: Vec<u8> = match scale.bytes() {
            1 => blocks.scales.iter().map(|code| *code as u8).collect(),
            width => blocks.scales.iter().flat_map(|code| code.to_le_bytes().into_iter().take(width)).collect(),
        };
        let place = source.block_at(blocks.format, above, column);
        writer.write(self.first + 1, (place * scale.bytes()) as u64, &bytes)
    }
}

#[derive(Debug, Clone, Copy)]
struct RandomBits {
    seed: u64,
    bits: u32,
}

impl RandomBits {
    /// The random bits of the elements of a piece of a tensor with so many columns.
    fn of(self, piece: &TensorPiece, columns: usize) -> Vec<u64> {
        let start = piece.start(columns);
        inputs::rounding_bits(self.seed, self.bits, start as u64..(start + piece.len()) as u64).collect()
    }
}

/// The differences of each part of a piece; the memory of the piece goes back.
fn differences(
    comparison: &TensorComparison,
    parts: impl Iterator<Item = Range<usize>>,
    source: Tensor,
    result: &Tensor,
    memory: &mut Vec<u8>,
) -> Vec<Deviations> {
    let parts = parts.map(|part| comparison.of(&source, result, part)).collect();
    *memory = source.into_memory();
    parts
}

/// The summed differences of all in their order; `take` gets the other results.
fn sum<R: Send>(
    pieces: &Pieces,
    work: impl Fn(&TensorPiece, &mut Vec<u8>) -> Result<(Vec<Deviations>, R)> + Sync,
    mut take: impl FnMut(&TensorPiece, R),
    done: &mut dyn FnMut(u64),
) -> Result<Deviations> {
    let mut all = Deviations::default();
    let one = |piece, memory: &mut Vec<u8>| work(&piece, memory).map(|result| (piece, result));
    work::each(pieces.iter(), pieces.together, one, |(piece, (deviations, rest))| {
        deviations.iter().for_each(|part| all.add(part));
        take(&piece, rest);
        done(piece.len() as u64);
    })?;
    Ok(all)
}

/// Second scale of a tensor, if the format has one: as given, or from the largest magnitude.
fn tensor_scale(source: &SourceTensor, quantizer: &Quantizer) -> Result<Option<f32>> {
    if quantizer.format.tensor_scale.is_none() || quantizer.tensor_scale.is_some() {
        return Ok(quantizer.tensor_scale);
    }
    let largest = Largest::of(source)?.finite.unwrap_or(Real::Nan);
    Ok(quantizer.tensor_scale(1, &|_| largest).0.map(|code| f32::from_bits(code as u32)))
}

/// Scale code of all values of a tensor, if one scale serves them.
fn block_scale(source: &SourceTensor, quantizer: &Quantizer) -> Result<Option<u32>> {
    if quantizer.format.rows != BlockFormat::WHOLE {
        return Ok(quantizer.block_scale);
    }
    let largest = Largest::of(source)?;
    if largest.others {
        return Err(refused_whole());
    }
    let amax = match largest.finite {
        Some(Real::Finite(amax)) => Finite { negative: false, ..amax },
        _ => Finite::zero(false),
    };
    let codes = quantizer.candidates_of_largest(&amax).ok_or_else(|| {
        Error::request(format!(
            "‹scale_rule={}›: it needs all values that share a scale at once; for a whole tensor choose another rule",
            quantizer.rule
        ))
    })?;
    match codes[..] {
        [code] => Ok(Some(code)),
        _ => least_of_tensor(source, quantizer, &codes).map(Some),
    }
}

/// The first of some scale codes with the least loss of a tensor.
fn least_of_tensor(source: &SourceTensor, quantizer: &Quantizer, codes: &[u32]) -> Result<u32> {
    let values = ValueReader::new(source.kind());
    let of_piece = |piece: TensorPiece, memory: &mut Vec<u8>| {
        let tensor = source.read(&piece, memory)?;
        let losses = if values.fit_f32() {
            let mut read = Vec::new();
            values.read_f32(&tensor, 0..piece.len(), &mut read);
            quantizer.losses(&read, codes)
        } else {
            let finite = (0..piece.len()).filter_map(|index| match tensor.value(index) {
                Real::Finite(value) => Some(value),
                _ => None,
            });
            let finite: Vec<Finite> = finite.collect();
            codes.iter().map(|code| quantizer.exact_loss(&finite, *code)).collect()
        };
        *memory = tensor.into_memory();
        Ok(losses)
    };
    let mut sums = vec![0.0; codes.len()];
    let pieces = source.pieces([source.block()]);
    work::each(pieces.iter(), pieces.together, of_piece, |losses: Vec<f64>| {
        sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss);
    })?;
    let best = (0..codes.len()).min_by(|x, y| sums[*x].total_cmp(&sums[*y]));
    Ok(codes[best.unwrap_or(0)])
}

/// Largest finite magnitude of a tensor.
#[derive(Debug, Default)]
struct Largest {
    finite: Option<Real>,
    /// True if there are NaNs or infinities.
    others: bool,
}

impl Largest {
    fn of(source: &SourceTensor) -> Result<Largest> {
        let values = ValueReader::new(source.kind());
        let of_piece = |piece: TensorPiece, memory: &mut Vec<u8>| {
            let tensor = source.read(&piece, memory)?;
            let largest = if values.fit_f32() {
                let mut read = Vec::new();
                values.read_f32(&tensor, 0..piece.len(), &mut read);
                Largest {
                    finite: Some(Real::from(f64::from(f32::from_bits(largest_finite(&read))))),
                    others: read.iter().any(|value| !value.is_finite()),
                }
            } else if values.are_exact() {
                let mut read = Vec::new();
                values.read(&tensor, 0..piece.len(), &mut read);
                let others = read.iter().any(|value| !value.is_finite());
                let finite = read.into_iter().filter(|value| value.is_finite()).map(f64::abs);
                Largest { finite: finite.reduce(f64::max).map(Real::from), others }
            } else {
                let all = || (0..piece.len()).map(|index| tensor.value(index));
                Largest {
                    finite: all().filter(is_finite).reduce(larger),
                    others: !all().all(|value| is_finite(&value)),
                }
            };
            *memory = tensor.into_memory();
            Ok(largest)
        };
        let mut all = Largest::default();
        let pieces = source.pieces([source.block()]);
        work::each(pieces.iter(), pieces.together, of_piece, |largest| {
            all.others |= largest.others;
            all.finite = match (all.finite, largest.finite) {
                (Some(x), Some(y)) => Some(larger(x, y)),
                (x, y) => x.or(y),
            };
        })?;
        Ok(all)
    }
}

fn is_finite(value: &Real) -> bool {
    matches!(value, Real::Finite(_))
}

/// The number of larger magnitude.
fn larger(x: Real, y: Real) -> Real {
    let magnitude = |value: &Real| match value {
        Real::Finite(finite) => *finite,
        _ => Finite::zero(false),
    };
    if magnitude(&x).compare_magnitudes(&magnitude(&y)).is_lt() { y } else { x }
}
