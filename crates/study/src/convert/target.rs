//! A converted tensor in the file that is written: its arrays, and the pieces of them.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    Error, Result,
    array::{ArrayWriter, Content, NewArray, pack},
    base::work,
    format::{
        Real, Rounding,
        block::{BlockFormat, Blocks, Quantizer},
        find,
        slices::largest_finite,
    },
    inputs,
    isa::Codes,
    number::Finite,
    tensor::{
        ArrayNames, BlockBytes, BlockConverter, ConversionTarget, Deviations, Missing, ORIGINAL_SHAPE, Pieces,
        ScalarConverter, SourceTensor, Tensor, TensorComparison, TensorKind, TensorPiece, ValueReader, common_multiple,
        refused_whole, scale_shape, stored_scale,
    },
};

/// A tensor of the result; its first array has this number.
pub(super) struct TargetTensor<'a> {
    pub(super) to: ConversionTarget,
    names: &'a ArrayNames,
    first: usize,
    /// Number of the array with the shape, and of that with the zero points.
    shape: Option<usize>,
    zero: Option<usize>,
}

impl<'a> TargetTensor<'a> {
    /// Adds the arrays that `source` becomes, and what the metadata say of it.
    ///
    /// # Errors
    /// A name that the layout has no place for.
    pub(super) fn plan(
        source: &SourceTensor,
        to: ConversionTarget,
        names: &'a ArrayNames,
        arrays: &mut Vec<NewArray>,
        metadata: &mut BTreeMap<String, String>,
    ) -> Result<TargetTensor<'a>> {
        let first = arrays.len();
        let (mut shape_at, mut zero_at) = (None, None);
        let mut add = |name: String, shape: Vec<usize>, kind: Content, width: usize| {
            let bytes = shape.iter().product::<usize>() as u64 * width as u64;
            arrays.push(NewArray { name, shape, kind, bytes });
            arrays.len() - 1
        };
        let word = || Content::Format(find("s32").expect("a format of the table"));
        match &to {
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
                let width = names.row_bytes(row, format);
                let element = format.element.format;
                if let Some(inside) = names.inside {
                    let kind = Content::blocks(inside.stored).expect("a type of the table");
                    add(codes, source.shape.clone(), kind, 1);
                    let rows = source.element_count().checked_div(row).unwrap_or(0);
                    arrays[first].bytes = (rows * width) as u64;
                    return Ok(TargetTensor { to, names, first, shape: None, zero: None });
                }
                if format.offset.is_some() && names.zero.is_none() {
                    return Err(Error::request(format!(
                        "{format} has an offset for each block; write it in a layout, by ‹layout=compressed-tensors›, or as .gguf"
                    )));
                }
                let packed = element.bits < 8 || names.added > 0;
                let kind = if packed { Content::Unsigned(1) } else { Content::Format(element) };
                match (names.word, names.flatten) {
                    (4, _) => add(codes, with_last(width / 4), word(), 4),
                    (_, true) => {
                        let blocks =
                            [with_last(row.div_ceil(format.length)), vec![width / row.div_ceil(format.length).max(1)]];
                        add(codes, blocks.concat(), kind, 1)
                    }
                    _ => add(codes, with_last(width), kind, 1),
                };
                let kind = if names.bytes { Content::Unsigned(1) } else { Content::Format(stored_scale(format.scale)) };
                let scales = scale_shape(&source.shape, format);
                let array = if names.arrays_of_one && scales.is_empty() { vec![1] } else { scales.clone() };
                add(scale, array, kind, format.scale.bytes());
                if let Some(scale_format) = format.tensor_scale {
                    let shape = if names.arrays_of_one { vec![1] } else { vec![] };
                    add(tensor_scale, shape, Content::Format(scale_format), scale_format.bytes());
                }
                if let Some(shape) = &names.shape {
                    let integer = Content::Format(find("s64").expect("a format of the table"));
                    shape_at = Some(add(names.part(shape, source.name), vec![source.shape.len()], integer, 8));
                }
                if let (Some(zero), [rows, columns]) = (&names.zero, &scales[..]) {
                    let shape = vec![(rows * element.bits as usize).div_ceil(32), *columns];
                    zero_at = Some(add(names.part(zero, source.name), shape, word(), 4));
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
        Ok(TargetTensor { to, names, first, shape: shape_at, zero: zero_at })
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
        match &self.to {
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
                    tensor_scale: tensor_scale(&[source], quantizer)?,
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
        let bytes = bytes * self.names.word;
        let block = if block.1 < BlockFormat::WHOLE { (block.0, common_multiple(block.1, bytes)) } else { block };
        let pieces = source.pieces([block, source.block()]);
        let one = |piece: &TensorPiece, memory: &mut Vec<u8>| {
            let parts = pieces.parts(piece);
            let tensor = source.read(piece, memory)?;
            let random = random.map(|random| random.of(piece, source.row()));
            let blocks = converter.quantize(&tensor, piece.columns.len(), random.as_deref());
            self.write(source, piece, &blocks, writer)?;
            let offsets = if self.zero.is_some() { blocks.offsets.clone() } else { Vec::new() };
            Ok((differences(&comparison, parts, tensor, &Tensor::Blocks(blocks), memory), offsets))
        };
        let mut zeros = Vec::new();
        let deviations = sum(&pieces, one, |_, offsets| zeros.extend(offsets), done)?;
        if let Some(at) = self.zero {
            let columns = source.row().div_ceil(format.length);
            writer.write(at, 0, &packed_columns(&zeros, columns, format.element.format.bits as usize))?;
        }
        if let Some(at) = self.shape {
            let extents: Vec<u8> = source.shape.iter().flat_map(|extent| (*extent as u64).to_le_bytes()).collect();
            writer.write(at, 0, &extents)?;
        }
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
        if let Some(inside) = self.names.inside {
            let place = source.block_at(blocks.format, above, column) * inside.bytes;
            return writer.write(self.first, place as u64, &blocks_of_bytes(inside, blocks, self.names.added));
        }
        let (bits, wide) = (self.names.code_bits(blocks.format), piece.columns.len());
        let elements = added(&blocks.elements, self.names.added, bits);
        let full = self.names.row_bytes(row, blocks.format);
        let place = above * full + column * bits / 8;
        let mut codes = if bits == 8 { elements } else { pack(&elements, wide, bits) };
        let width = (wide * bits).div_ceil(8);
        let rest = (full - column * bits / 8).saturating_sub(width);
        if piece.columns.end == row && rest > 0 {
            codes = codes.chunks(width).map(|row| [row, &vec![0; rest]].concat()).collect::<Vec<_>>().concat();
        }
        writer.write(self.first, place as u64, &codes)?;
        let scale = blocks.format.scale;
        let bytes: Vec<u8> = match scale.bytes() {
            1 => blocks.scales.iter().map(|code| *code as u8).collect(),
            width => blocks.scales.iter().flat_map(|code| code.to_le_bytes().into_iter().take(width)).collect(),
        };
        let place = source.block_at(blocks.format, above, column);
        writer.write(self.first + 1, (place * scale.bytes()) as u64, &bytes)
    }
}

/// Codes with a number added, modulo the codes of so many bits.
fn added(codes: &[u8], number: u8, bits: usize) -> Vec<u8> {
    let mask = u8::MAX >> (8 - bits);
    codes.iter().map(|code| code.wrapping_add(number) & mask).collect()
}

/// Blocks of scale, minimum and codes in GGUF's places.
fn blocks_of_bytes(inside: &BlockBytes, blocks: &Blocks, number: u8) -> Vec<u8> {
    let (format, half) = (blocks.format, blocks.format.length / 2);
    let bits = format.element.format.bits as usize;
    let mut bytes = vec![0; blocks.scales.len() * inside.bytes];
    for ((at, block), codes) in bytes.chunks_mut(inside.bytes).enumerate().zip(blocks.elements.chunks(format.length)) {
        let scale = &blocks.scales[at].to_le_bytes()[..format.scale.bytes()];
        block[..scale.len()].copy_from_slice(scale);
        if let (Some(place), Some(minimum)) = (inside.minimum_at, blocks.offsets.get(at)) {
            block[place..place + 2].copy_from_slice(&minimum.to_le_bytes()[..2]);
        }
        let codes = added(codes, number, bits);
        match bits {
            4 => (0..half).for_each(|at| block[inside.codes_at + at] = codes[at] | codes[half + at] << 4),
            _ => block[inside.codes_at..][..codes.len()].copy_from_slice(&codes),
        }
    }
    bytes
}

/// Words of 32 bits with the codes of each column, the first row in the lowest bits.
fn packed_columns(codes: &[u32], columns: usize, bits: usize) -> Vec<u8> {
    let rows = codes.len().checked_div(columns).unwrap_or(0);
    let mut words = vec![0u32; (rows * bits).div_ceil(32) * columns];
    for (at, code) in codes.iter().enumerate() {
        let (bit, column) = (at / columns * bits, at % columns);
        words[bit / 32 * columns + column] |= code << (bit % 32);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
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

/// Second scale of some tensors, if the format has one: as given, or from their largest magnitude.
pub(super) fn tensor_scale(sources: &[&SourceTensor], quantizer: &Quantizer) -> Result<Option<f32>> {
    if quantizer.format.tensor_scale.is_none() || quantizer.tensor_scale.is_some() {
        return Ok(quantizer.tensor_scale);
    }
    let all = sources.iter().map(|source| Largest::of(source)).collect::<Result<Vec<_>>>()?;
    let largest = all.into_iter().filter_map(|largest| largest.finite).reduce(larger).unwrap_or(Real::Nan);
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

/// The largest finite magnitude of a tensor; `None` without finite values.
///
/// # Errors
/// The tensor cannot be read; a signal.
pub(super) fn largest_magnitude(source: &SourceTensor) -> Result<Option<f64>> {
    Ok(Largest::of(source)?.finite.map(|largest| largest.to_f64()))
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
