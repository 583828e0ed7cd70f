//! The tensors of an open file, read piece by piece: codes of a format, or blocks.

use std::collections::BTreeMap;

use super::{
    FileContent, Tensor,
    pieces::{Pieces, TensorPiece},
    values::TensorKind,
};
use crate::{
    Error, Result,
    array::{ArrayFile, Content, LARGEST_EXTENT, StreamedArray, check_codes},
    format::block::{BlockFormat, Blocks, unpack_pairs},
    format::{self, Format},
    isa::Codes,
};

/// The arrays of an open file, by name.
pub struct NamedArrays<'a> {
    file: &'a ArrayFile,
    /// The arrays, by name.
    pub arrays: BTreeMap<&'a str, &'a StreamedArray>,
}

/// A tensor of a file, with the arrays that hold it.
pub struct SourceTensor<'a> {
    file: &'a ArrayFile,
    /// The name.
    pub name: &'a str,
    /// The shape; a tensor in blocks is a matrix.
    pub shape: Vec<usize>,
    /// Shape before the tensor became a matrix, if it did.
    pub original: Option<Vec<usize>>,
    array: &'a StreamedArray,
    codes: SourceCodes<'a>,
}

enum SourceCodes<'a> {
    /// Codes of a format.
    Scalar(&'static Format),
    /// Codes of a block format, and where its scales are.
    Blocks { format: &'static BlockFormat, packed: bool, scales: &'a StreamedArray, tensor_scale: Option<u64> },
}

impl<'a> NamedArrays<'a> {
    /// The arrays of a file.
    pub fn of(file: &'a ArrayFile) -> NamedArrays<'a> {
        NamedArrays { file, arrays: file.arrays.iter().map(|array| (array.name.as_str(), array)).collect() }
    }

    /// The file.
    pub fn file(&self) -> &'a ArrayFile {
        self.file
    }

    /// The file's metadata.
    pub fn metadata(&self) -> &'a BTreeMap<String, String> {
        &self.file.metadata
    }

    /// The array of this name.
    pub fn get(&self, name: &str) -> Option<&'a StreamedArray> {
        self.arrays.get(name).copied()
    }

    /// The bytes of an array from its byte `first` on.
    pub fn read(&self, array: &StreamedArray, first: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_bytes(array, first, bytes)
    }

    /// The tensor of this name, one of the file's.
    pub fn tensor(&self, from: FileContent, name: &str) -> Result<SourceTensor<'a>> {
        let array = self.get(name).expect("names were looked up");
        let tensor = match from {
            FileContent::Scalar(format) => {
                // A file of codes that this program wrote says of what format they are.
                let written =
                    self.metadata().get("tcnum.format").filter(|_| matches!(array.kind, Content::Unsigned(_)));
                let named = || written.map(|name| format::find(name)).transpose();
                let given = format.map_or_else(named, |given| Ok(Some(given)))?;
                let codes = SourceCodes::Scalar(array.kind.format(&array.name, given)?);
                SourceTensor {
                    file: self.file,
                    name: &array.name,
                    shape: array.shape.clone(),
                    original: None,
                    array,
                    codes,
                }
            }
            FileContent::Blocks(format) => self.blocks(array, format)?,
        };
        refuse_incomplete(array)?;
        Ok(tensor)
    }

    /// The tensor of blocks whose element codes are `array`.
    fn blocks(&self, array: &'a StreamedArray, format: &'static BlockFormat) -> Result<SourceTensor<'a>> {
        let name = array.name.as_str();
        let wrong = |what: String| Error::request(format!("array '{name}': {what}"));
        let part = |end: &str| {
            let part = self.get(&format!("{name}{end}"));
            let part =
                part.ok_or_else(|| wrong(format!("the array '{name}{end}' that belongs to {format} is missing")))?;
            refuse_incomplete(part).map(|()| part)
        };
        let packed = format.element.format.bits == 4;
        let shape = self.tensor_shape(array, packed)?;
        match packed {
            true if array.kind != Content::Unsigned(1) => {
                return Err(wrong(format!("codes of {format} are stored two to a byte, as U8")));
            }
            true => {}
            false => drop(array.kind.format(name, Some(format.element.format))?),
        }
        let scales = part("_scale")?;
        let is_scale = match scales.kind {
            Content::Format(stored) if format.scale.bytes() == 1 => stored.bytes() == 1,
            Content::Format(stored) => stored == format.scale,
            Content::Unsigned(bytes) => bytes == format.scale.bytes(),
            Content::Other(_) => false,
        };
        if !is_scale {
            return Err(wrong(format!(
                "'{name}_scale' holds no codes of {} bits; scales of {format} are codes of {}",
                8 * format.scale.bytes(),
                format.scale
            )));
        }
        let expected = scale_shape(&shape, format);
        let several = format.rows > 1 && shape.len() > 2;
        if scales.len() != expected.iter().product::<usize>() || several && scales.shape != expected {
            return Err(wrong(format!(
                "{} scales of the shape {:?} for shape {shape:?}; blocks of {} need {} of the shape {expected:?}",
                scales.len(),
                scales.shape,
                format.extents(),
                expected.iter().product::<usize>()
            )));
        }
        let tensor_scale = match format.tensor_scale {
            None => None,
            Some(scale_format) => {
                let scale = part("_tensor_scale")?;
                scale.kind.format(&scale.name, Some(scale_format))?;
                if scale.len() != 1 {
                    return Err(wrong(format!("its tensor scale is {} numbers, not one", scale.len())));
                }
                let mut bytes = vec![0; scale_format.bytes()];
                self.file.read(scale, 0, &mut bytes)?;
                let codes = Codes::from_bytes(scale_format, bytes).expect("one code");
                check_codes(&format!("array '{}'", scale.name), scale_format, &codes, 0)?;
                Some(codes.get(0))
            }
        };
        let original = original_shape(self.metadata(), name, &shape);
        let codes = SourceCodes::Blocks { format, packed, scales, tensor_scale };
        Ok(SourceTensor { file: self.file, name, shape, original, array, codes })
    }

    /// The shape of a tensor of blocks: the metadata's, if it agrees with the array, or the array's.
    fn tensor_shape(&self, array: &StreamedArray, packed: bool) -> Result<Vec<usize>> {
        let name = array.name.as_str();
        let stored = |shape: &[usize]| {
            let mut stored = shape.to_vec();
            match stored.last_mut() {
                Some(last) if packed => *last = last.div_ceil(2),
                Some(_) => {}
                None => stored.push(1),
            }
            stored
        };
        let key = format!("tcnum.shape.{name}");
        let Some(text) = self.metadata().get(&key) else {
            let mut shape = array.shape.clone();
            if let (Some(last), true) = (shape.last_mut(), packed) {
                let doubled = last.checked_mul(2).filter(|last| *last <= LARGEST_EXTENT);
                *last = doubled
                    .ok_or_else(|| Error::request(format!("array '{name}': the last extent, {last}, is too large")))?;
            }
            return Ok(shape);
        };
        let shape: Option<Vec<usize>> =
            if text.is_empty() { Some(vec![]) } else { text.split(',').map(|extent| extent.parse().ok()).collect() };
        shape.filter(|shape| stored(shape) == array.shape).ok_or_else(|| {
            Error::request(format!(
                "metadata '{key}': '{text}' does not agree with the shape {:?} of '{name}'",
                array.shape
            ))
        })
    }
}

/// Key of the shape of a tensor that became a matrix, without the tensor's name at its end.
pub const ORIGINAL_SHAPE: &str = "tcnum.original_shape.";

/// The shape of tensor `name` before it became this matrix; `None` if it did not.
pub fn original_shape(metadata: &BTreeMap<String, String>, name: &str, matrix: &[usize]) -> Option<Vec<usize>> {
    let text = metadata.get(&format!("{ORIGINAL_SHAPE}{name}"))?;
    let shape: Vec<usize> = text.split(',').map(|extent| extent.parse().ok()).collect::<Option<_>>()?;
    let product = |extents: &[usize]| extents.iter().try_fold(1, |all: usize, extent| all.checked_mul(*extent));
    let [first, columns] = matrix else { return None };
    (shape.first() == Some(first) && product(&shape[1..]) == Some(*columns)).then_some(shape)
}

/// Rows of a matrix of the last two axes; 1 for a vector.
fn height(shape: &[usize]) -> usize {
    shape.len().checked_sub(2).map_or(1, |at| shape[at]).max(1)
}

/// Shape of the scales of a tensor of this shape.
///
/// It counts blocks in place of values, within each matrix of the last two axes.
pub fn scale_shape(shape: &[usize], format: &BlockFormat) -> Vec<usize> {
    let columns = |row: usize| row.div_ceil(format.length);
    match shape {
        _ if format.rows == BlockFormat::WHOLE && !shape.contains(&0) => vec![],
        [leading @ .., row] if format.rows == 1 => [leading, &[columns(*row)]].concat(),
        [] => vec![],
        [leading @ .., rows, row] => [leading, &[rows.div_ceil(format.rows), columns(*row)]].concat(),
        [row] => vec![1, columns(*row)],
    }
}

/// Format under whose type scales are stored: the type of a file for e4m3 serves scales without a sign.
pub fn stored_scale(scale: &'static Format) -> &'static Format {
    if scale.name == "ue4m3" { format::find("e4m3").expect("there is e4m3") } else { scale }
}

/// Refuses an array whose data the file does not have.
pub fn refuse_incomplete(array: &StreamedArray) -> Result<()> {
    match array.complete {
        true => Ok(()),
        false => Err(Error::request(format!("the file ends before the data of array '{}'", array.name))),
    }
}

impl SourceTensor<'_> {
    /// The tensor as a matrix, with a row for each index of its first axis.
    pub fn flattened(mut self) -> Self {
        if let [first, rest @ ..] = &self.shape[..] {
            let matrix = vec![*first, rest.iter().product()];
            self.original = Some(std::mem::replace(&mut self.shape, matrix));
        }
        self
    }

    /// Number of elements.
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Elements of a row, along which blocks lie.
    pub fn row(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// The pieces that cut none of some blocks, each of so many rows and columns.
    pub fn pieces<const N: usize>(&self, blocks: [(usize, usize); N]) -> Pieces {
        Pieces::new(self.element_count(), self.row(), height(&self.shape), blocks)
    }

    /// Number of blocks of a format in it.
    pub fn blocks(&self, format: &BlockFormat) -> usize {
        if self.element_count() == 0 { 0 } else { scale_shape(&self.shape, format).iter().product() }
    }

    /// The place among the scales of the block that has the element at this row and column.
    pub fn block_at(&self, format: &BlockFormat, row: usize, column: usize) -> usize {
        let height = height(&self.shape);
        let above = match format.rows {
            1 => row,
            BlockFormat::WHOLE => 0,
            rows => row / height * height.div_ceil(rows) + row % height / rows,
        };
        above * self.row().div_ceil(format.length) + column / format.length
    }

    /// Rows that belong together, and the multiple of elements at which a row may be cut.
    pub fn block(&self) -> (usize, usize) {
        match self.codes {
            SourceCodes::Scalar(_) => (1, 1),
            // Every piece of a whole row or tensor has its scale.
            SourceCodes::Blocks { format, .. } => {
                let cut = |extent| if extent == BlockFormat::WHOLE { 1 } else { extent };
                (cut(format.rows), cut(format.length))
            }
        }
    }

    /// True if blocks of elements share scales.
    pub fn is_in_blocks(&self) -> bool {
        matches!(self.codes, SourceCodes::Blocks { .. })
    }

    /// Its kind.
    pub fn kind(&self) -> TensorKind {
        match self.codes {
            SourceCodes::Scalar(format) => TensorKind::Scalar(format),
            SourceCodes::Blocks { format, tensor_scale, .. } => TensorKind::Blocks(format, tensor_scale),
        }
    }

    /// The name of its format.
    pub fn format_name(&self) -> &'static str {
        match self.codes {
            SourceCodes::Scalar(format) => format.name,
            SourceCodes::Blocks { format, .. } => format.name,
        }
    }

    /// A piece of it, in `memory` that was another's ([`Tensor::into_memory`]).
    pub fn read(&self, piece: &TensorPiece, memory: &mut Vec<u8>) -> Result<Tensor> {
        let mut memory = std::mem::take(memory);
        let start = piece.start(self.row());
        let mut codes = |array: &StreamedArray, format: &Format, first: usize, count: usize| -> Result<Codes> {
            let mut bytes = std::mem::take(&mut memory);
            bytes.resize(count * format.bytes(), 0);
            self.file.read(array, first, &mut bytes)?;
            let codes = Codes::from_bytes(format, bytes).expect("whole codes");
            check_codes(&format!("array '{}'", array.name), format, &codes, first)?;
            Ok(codes)
        };
        let (format, packed, scales, tensor_scale) = match self.codes {
            SourceCodes::Scalar(format) => {
                return Ok(Tensor::Scalar(format, codes(self.array, format, start, piece.len())?));
            }
            SourceCodes::Blocks { format, packed, scales, tensor_scale } => (format, packed, scales, tensor_scale),
        };
        let (row, column, width) = (piece.rows.start, piece.columns.start, piece.columns.len());
        let elements = if packed {
            let mut bytes = vec![0; piece.rows.len() * width.div_ceil(2)];
            self.file.read(self.array, row * self.row().div_ceil(2) + column / 2, &mut bytes)?;
            unpack_pairs(&bytes, width).expect("whole rows")
        } else {
            codes(self.array, format.element.format, start, piece.len())?.into_bytes()
        };
        // Unsigned codes are often stored as the non-negative half of a signed format.
        let first = self.block_at(format, row, column);
        let scales = codes(scales, format.scale, first, format.blocks(piece.len(), width))?;
        let scales = scales.iter().map(|code| code as u32).collect();
        Ok(Tensor::Blocks(Blocks { format, row: width, tensor_scale, scales, offsets: Vec::new(), elements }))
    }
}
