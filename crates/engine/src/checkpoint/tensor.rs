//! Tensors of a checkpoint, and reading them piece by piece.

use std::sync::Arc;

use super::{packing::Packing, swizzle};
use crate::{
    Error, Result,
    array::ArrayFile,
    base::named::named,
    base::visible::one_line,
    format::Format,
    tensor::{ElementReader, Matrices, PieceGrid, Sharing, TensorPiece},
};

/// Values of a piece, at most.
const PIECE: usize = 1 << 16;

named! {
    /// Effect of a global scale on values.
    pub enum GlobalScale {
        Multiplies = "multiplies": "a value is code * scale * global scale";
        Divides = "divides": "a value is code * scale / global scale";
    }
}

impl GlobalScale {
    /// The other direction.
    pub fn reversed(self) -> GlobalScale {
        match self {
            GlobalScale::Multiplies => GlobalScale::Divides,
            GlobalScale::Divides => GlobalScale::Multiplies,
        }
    }
}

/// Conventions by which the arrays of a tensor are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Places of the codes.
    pub packing: Packing,
    /// True if scales lie in tiles of 128 rows and 4 columns.
    pub swizzled: bool,
    /// Direction of the global scale, if there is one.
    pub global: Option<GlobalScale>,
}

/// A tensor of a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointTensor {
    /// Name.
    pub name: String,
    /// Extents of its values.
    pub shape: Vec<usize>,
    /// Extents by which rows and blocks are counted: those of a matrix, if a convolution was stored as one.
    pub read_shape: Vec<usize>,
    /// Names of the layouts by which it is read, all in the same way; empty for a plain array.
    pub layouts: Vec<String>,
    /// The source of the layout.
    pub named_by: &'static str,
    /// Names of its arrays.
    pub arrays: Vec<String>,
    /// Bytes of its arrays.
    pub bytes: u64,
    /// Doubts about its layout.
    pub doubts: Vec<String>,
    /// Content of its arrays.
    pub content: TensorContent,
}

/// Content of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub enum TensorContent {
    /// Single elements of the array of this number.
    Plain(usize),
    /// Codes and scales.
    Quantised(Quantised),
    /// A type that is listed and not decoded, and why.
    Opaque {
        /// The type.
        stored: String,
        /// Why it is not decoded.
        why: String,
    },
}

/// Codes with scales.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    /// Number of the array of the codes.
    pub(crate) codes: usize,
    /// Bytes of a row of it.
    pub(crate) row_bytes: usize,
    /// Format of the codes.
    pub format: &'static Format,
    /// Number that is subtracted from each code.
    pub offset: f64,
    /// Values are multiplied by two to this power.
    pub exponent: i32,
    /// Where its scales are.
    pub place: ScalePlace,
    /// Format of the scales.
    pub scale_format: &'static Format,
    /// True if scales have a sign by design.
    pub signed: bool,
    /// Elements that share a scale.
    pub sharing: Sharing,
    /// Number of scales in their array.
    pub(crate) scales: usize,
    /// Values of the global scale: one, or one for each matrix.
    pub global: Vec<f64>,
    /// Number of the array of zero points, and their format.
    pub zero: Option<(usize, &'static Format)>,
    /// Its conventions, as the layout says.
    pub reading: Reading,
    /// True if the shape allows scales in rows and in tiles.
    pub either_order: bool,
}

/// Where scales are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalePlace {
    /// In the array of this number.
    Array(usize),
    /// In blocks with the codes.
    Inside {
        /// Elements of a block.
        length: usize,
        /// Bytes of a block.
        bytes: usize,
        /// Byte of a block where its codes begin.
        codes_at: usize,
        /// Byte of a block where its scale begins.
        scale_at: usize,
    },
}

/// Scales of a piece: for each row, those of the blocks that its columns touch.
pub struct PieceScales {
    pub values: Vec<f64>,
    /// Scales of a row.
    pub(crate) each: usize,
    /// Columns that share a scale.
    pub(crate) width: usize,
}

impl CheckpointTensor {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Conventions by which it is read; `None` for a plain array.
    pub fn reading(&self) -> Option<Reading> {
        self.quantised().map(|quantised| quantised.reading)
    }

    /// True if its values can be read.
    pub fn is_decoded(&self) -> bool {
        !matches!(self.content, TensorContent::Opaque { .. })
    }

    /// Multiple of columns at which a piece of a row may begin and end, besides the end of the row.
    pub(crate) fn alignment(&self) -> usize {
        let Some(quantised) = self.quantised() else { return 1 };
        match (quantised.place, quantised.reading.packing) {
            (ScalePlace::Inside { length, .. }, _) => length,
            (_, Packing::Halves(run)) => run,
            // Eight codes fill whole bytes.
            _ => 8,
        }
    }

    /// Its codes and scales; `None` where it has none.
    pub fn quantised(&self) -> Option<&Quantised> {
        match &self.content {
            TensorContent::Quantised(quantised) => Some(quantised),
            _ => None,
        }
    }

    /// Pieces of bounded size that make up the tensor.
    pub fn pieces(&self) -> impl Iterator<Item = TensorPiece> + use<> {
        let of = Matrices::of(&self.read_shape);
        let (rows, columns) = (of.count * of.rows, of.columns);
        let (high, wide) = if columns <= PIECE { (PIECE / columns.max(1), columns) } else { (1, PIECE) };
        PieceGrid { rows, columns, matrix: rows, high, wide }.pieces()
    }
}

/// Reads the arrays of one tensor.
pub struct TensorReader<'a> {
    file: &'a ArrayFile,
    tensor: &'a CheckpointTensor,
    of: Matrices,
    parts: Arc<ReaderParts>,
}

/// Readers of the arrays of a tensor.
#[derive(Debug)]
pub(super) enum ReaderParts {
    Plain { array: usize, elements: ElementReader },
    Quantised { codes: Vec<f64>, scales: ElementReader, zeros: Option<ElementReader> },
}

impl ReaderParts {
    /// The readers for a tensor of `file`.
    ///
    /// # Errors
    /// A tensor that is not decoded.
    pub(super) fn new(file: &ArrayFile, tensor: &CheckpointTensor) -> Result<ReaderParts> {
        Ok(match &tensor.content {
            TensorContent::Plain(array) => {
                let stored = &file.arrays[*array];
                file.complete(stored)?;
                ReaderParts::Plain { array: *array, elements: ElementReader::of(stored.kind)? }
            }
            TensorContent::Quantised(quantised) => {
                let factor = 2f64.powi(quantised.exponent);
                let value = |code: u64| (quantised.format.to_f64(code) + quantised.offset) * factor;
                ReaderParts::Quantised {
                    codes: (0..=quantised.format.code_mask()).map(value).collect(),
                    scales: ElementReader::of_format(quantised.scale_format)?,
                    zeros: quantised.zero.map(|(_, format)| ElementReader::of_format(format)).transpose()?,
                }
            }
            TensorContent::Opaque { why, .. } => {
                return Err(Error::request(format!("tensor '{}': {why}", one_line(&tensor.name))));
            }
        })
    }
}

impl<'a> TensorReader<'a> {
    /// The reader of a tensor of `file`.
    ///
    /// # Errors
    /// A tensor that is not decoded.
    pub(crate) fn new(file: &'a ArrayFile, tensor: &'a CheckpointTensor) -> Result<TensorReader<'a>> {
        Ok(TensorReader::of_parts(file, tensor, Arc::new(ReaderParts::new(file, tensor)?)))
    }

    /// The reader of a tensor with readers of its arrays, those of [`ReaderParts::new`].
    pub(super) fn of_parts(file: &'a ArrayFile, tensor: &'a CheckpointTensor, parts: Arc<ReaderParts>) -> Self {
        TensorReader { file, tensor, of: Matrices::of(&tensor.read_shape), parts }
    }

    fn wrong(&self, what: String) -> Error {
        Error::request(format!("tensor '{}': {what}", one_line(&self.tensor.name)))
    }

    /// Values of a piece, row by row.
    ///
    /// Values of a plain array are exact, and values of a quantised one rounded once, to `f32`.
    pub fn values(&self, piece: &TensorPiece, reading: Option<Reading>) -> Result<Vec<f64>> {
        let quantised = match (&*self.parts, self.tensor.quantised()) {
            (ReaderParts::Plain { array, elements }, _) => {
                let array = &self.file.arrays[*array];
                let first = piece.start(self.of.columns);
                let mut bytes = vec![0; piece.len() * elements.width()];
                self.file.read(array, first, &mut bytes)?;
                let mut values = Vec::with_capacity(piece.len());
                elements.read(&bytes, &mut values).map_err(|at| self.wide(first + at, "code"))?;
                return Ok(values);
            }
            (ReaderParts::Quantised { .. }, Some(quantised)) => quantised,
            (ReaderParts::Quantised { .. }, None) => return Ok(Vec::new()),
        };
        let reading = reading.unwrap_or(quantised.reading);
        let mut values = self.codes(piece, reading.packing)?;
        if let Some(zeros) = self.zeros(piece)? {
            self.of_each(piece, &zeros, &mut values, |value, zero| value - zero);
        }
        let scales = self.scales(piece, reading.swizzled)?;
        self.of_each(piece, &scales, &mut values, |value, scale| value * scale);
        let columns = piece.columns.len();
        for (row, values) in piece.rows.clone().zip(values.chunks_mut(columns.max(1))) {
            let global = self.global(quantised, row);
            match reading.global {
                // Exact before it is rounded: codes, scales and global scales have at most 53 bits together.
                Some(GlobalScale::Multiplies) => {
                    values.iter_mut().for_each(|value| *value = f64::from((*value * global) as f32))
                }
                Some(GlobalScale::Divides) => {
                    values.iter_mut().for_each(|value| *value = f64::from((*value / global) as f32))
                }
                None => values.iter_mut().for_each(|value| *value = f64::from(*value as f32)),
            }
        }
        Ok(values)
    }

    /// Differences of integers of 64 bits from their nearest doubles; `None` for other elements.
    pub fn rests(&self, piece: &TensorPiece) -> Result<Option<Vec<f64>>> {
        let ReaderParts::Plain { array, elements: ElementReader::Integers { bytes: 8, bits: 64, signed } } =
            &*self.parts
        else {
            return Ok(None);
        };
        let array = &self.file.arrays[*array];
        let mut bytes = vec![0; piece.len() * 8];
        self.file.read(array, piece.start(self.of.columns), &mut bytes)?;
        let rest = |word: &[u8; 8]| {
            let raw = u64::from_le_bytes(*word);
            let (near, exact) = match signed {
                true => (raw as i64 as f64, i128::from(raw as i64)),
                false => (raw as f64, i128::from(raw)),
            };
            (exact - near as i128) as f64
        };
        Ok(Some(bytes.as_chunks().0.iter().map(rest).collect()))
    }

    /// The global scale of a row; 1 without one.
    fn global(&self, quantised: &Quantised, row: usize) -> f64 {
        match quantised.global.as_slice() {
            [] => 1.0,
            [one] => *one,
            several => several.get(row / self.of.rows.max(1)).copied().unwrap_or(1.0),
        }
    }

    /// Applies `join` to each value and the entry of its block.
    pub(crate) fn of_each(
        &self,
        piece: &TensorPiece,
        scales: &PieceScales,
        values: &mut [f64],
        join: impl Fn(f64, f64) -> f64,
    ) {
        let first = piece.columns.start / scales.width;
        for (row, values) in values.chunks_mut(piece.columns.len().max(1)).enumerate() {
            let mut start = piece.columns.start;
            for (at, scale) in scales.values[row * scales.each..][..scales.each].iter().enumerate() {
                let end = ((first + at + 1) * scales.width).min(piece.columns.end);
                let columns = start - piece.columns.start..end - piece.columns.start;
                values[columns].iter_mut().for_each(|value| *value = join(*value, *scale));
                start = end;
            }
        }
    }

    fn wide(&self, at: usize, what: &str) -> Error {
        self.wrong(format!("the {what} at position {at} has more bits than its format"))
    }

    /// Values of the codes of a piece, before scales.
    pub fn codes(&self, piece: &TensorPiece, packing: Packing) -> Result<Vec<f64>> {
        let (ReaderParts::Quantised { codes: table, .. }, Some(quantised)) = (&*self.parts, self.tensor.quantised())
        else {
            return Ok(Vec::new());
        };
        let bits = quantised.format.bits as usize;
        let array = &self.file.arrays[quantised.codes];
        let mut codes = Vec::with_capacity(piece.len());
        match quantised.place {
            ScalePlace::Array(_) => {
                // A stored element of several bytes (I32) is a part of a stream of bytes.
                let bits = if packing == Packing::Single { 8 } else { bits };
                let partial = piece.columns.len() < self.of.columns;
                let start = if partial { piece.columns.start * bits / 8 } else { 0 };
                let length = if partial { (piece.columns.len() * bits).div_ceil(8) } else { quantised.row_bytes };
                let mut bytes = vec![0; piece.rows.len() * length];
                self.file.read_bytes(array, (piece.rows.start * quantised.row_bytes + start) as u64, &mut bytes)?;
                for row in bytes.chunks(length.max(1)) {
                    packing.unpack(row, bits, piece.columns.clone(), &mut codes);
                }
            }
            ScalePlace::Inside { length, bytes: block, codes_at, .. } => {
                let bytes = self.blocks(quantised, piece, length, block)?;
                for chunk in bytes.chunks(block) {
                    packing.unpack(&chunk[codes_at..], bits, 0..length, &mut codes);
                }
            }
        }
        if table.len() < 256
            && let Some(at) = codes.iter().position(|code| usize::from(*code) >= table.len())
        {
            let columns = piece.columns.len().max(1);
            let (row, column) = (piece.rows.start + at / columns, piece.columns.start + at % columns);
            return Err(self.wide(row * self.of.columns + column, "code"));
        }
        Ok(codes.into_iter().map(|code| table[usize::from(code)]).collect())
    }

    /// The bytes of the blocks of a piece.
    fn blocks(&self, quantised: &Quantised, piece: &TensorPiece, length: usize, block: usize) -> Result<Vec<u8>> {
        let start = piece.start(self.of.columns) / length * block;
        let mut bytes = vec![0; piece.len() / length * block];
        self.file.read_bytes(&self.file.arrays[quantised.codes], start as u64, &mut bytes)?;
        Ok(bytes)
    }

    /// Scales of a piece.
    pub fn scales(&self, piece: &TensorPiece, swizzled: bool) -> Result<PieceScales> {
        let (ReaderParts::Quantised { scales, .. }, Some(quantised)) = (&*self.parts, self.tensor.quantised()) else {
            return Ok(PieceScales { values: Vec::new(), each: 0, width: 1 });
        };
        match quantised.place {
            ScalePlace::Inside { length, bytes: block, scale_at, .. } => {
                let bytes = self.blocks(quantised, piece, length, block)?;
                let codes: Vec<u8> =
                    bytes.chunks(block).flat_map(|chunk| chunk[scale_at..][..scales.width()].iter().copied()).collect();
                let mut values = Vec::new();
                scales.read(&codes, &mut values).map_err(|at| self.wide(at, "scale"))?;
                Ok(PieceScales { values, each: piece.columns.len() / length, width: length })
            }
            ScalePlace::Array(array) if swizzled => self.tiles(quantised, array, scales, piece),
            ScalePlace::Array(array) => self.grid(quantised, array, quantised.scales, scales, piece, "scale"),
        }
    }

    /// Scales of the blocks whose first value lies in a piece.
    pub fn scales_that_begin(&self, piece: &TensorPiece, quantised: &Quantised) -> Result<Vec<f64>> {
        let scales = self.scales(piece, quantised.reading.swizzled)?;
        let high = quantised.sharing.extents(self.of).0.max(1);
        // The first block of a piece may have begun in the piece before.
        let skipped = usize::from(!piece.columns.start.is_multiple_of(scales.width));
        let begins = |row: &usize| (row % self.of.rows.max(1)).is_multiple_of(high);
        let each = piece.rows.clone().zip(scales.values.chunks(scales.each.max(1)));
        let each = each.filter(|(row, _)| begins(row));
        Ok(each.flat_map(|(_, scales)| scales.iter().skip(skipped).copied().collect::<Vec<f64>>()).collect())
    }

    fn zeros(&self, piece: &TensorPiece) -> Result<Option<PieceScales>> {
        match (&*self.parts, self.tensor.quantised()) {
            (
                ReaderParts::Quantised { zeros: Some(elements), .. },
                Some(quantised @ Quantised { zero: Some((array, _)), .. }),
            ) => self.grid(quantised, *array, quantised.scales, elements, piece, "zero point").map(Some),
            _ => Ok(None),
        }
    }

    /// Entries of a grid with the sharing of the scales, in rows.
    ///
    /// `array` is the number of the array, and `count` its number of entries.
    fn grid(
        &self,
        quantised: &Quantised,
        array: usize,
        count: usize,
        elements: &ElementReader,
        piece: &TensorPiece,
        what: &str,
    ) -> Result<PieceScales> {
        let (of, array) = (self.of, &self.file.arrays[array]);
        let (high, wide) = quantised.sharing.extents(of);
        let (grid_rows, grid_columns) = quantised.sharing.grid(of);
        let columns = piece.columns.start / wide..piece.columns.end.div_ceil(wide);
        let each = columns.len();
        let mut values = Vec::with_capacity(piece.rows.len() * each);
        let read = |first: usize, count: usize, values: &mut Vec<f64>| -> Result<()> {
            let mut bytes = vec![0; count * elements.width()];
            self.file.read(array, first, &mut bytes)?;
            elements.read(&bytes, values).map_err(|at| self.wide(first + at, what))
        };
        if high == 1 && each == grid_columns {
            read(piece.rows.start * grid_columns, piece.rows.len() * each, &mut values)?;
            return Ok(PieceScales { values, each, width: wide });
        }
        let (mut last, mut line) = (None, Vec::new());
        for row in piece.rows.clone() {
            let (matrix, inside) = (row / of.rows.max(1), row % of.rows.max(1));
            let start = match quantised.sharing {
                Sharing::Tensor => {
                    if count > 1 {
                        matrix
                    } else {
                        0
                    }
                }
                _ => (matrix * grid_rows + inside / high) * grid_columns + columns.start,
            };
            if last != Some(start) {
                line.clear();
                read(start, each, &mut line)?;
                last = Some(start);
            }
            values.extend(&line);
        }
        Ok(PieceScales { values, each, width: wide })
    }

    /// Scales in tiles of 128 rows and 4 columns.
    fn tiles(
        &self,
        quantised: &Quantised,
        array: usize,
        elements: &ElementReader,
        piece: &TensorPiece,
    ) -> Result<PieceScales> {
        let (of, array) = (self.of, &self.file.arrays[array]);
        let (_, wide) = quantised.sharing.extents(of);
        let (grid_rows, grid_columns) = quantised.sharing.grid(of);
        let matrix_scales =
            swizzle::padded(grid_rows, grid_columns).ok_or_else(|| self.wrong("too many scales".into()))?;
        let band = swizzle::TILE.0 * grid_columns.next_multiple_of(swizzle::TILE.1);
        let columns = piece.columns.start / wide..piece.columns.end.div_ceil(wide);
        let mut values = Vec::with_capacity(piece.rows.len() * columns.len());
        let (mut last, mut tiles) = (None, Vec::new());
        for row in piece.rows.clone() {
            let (matrix, inside) = (row / of.rows.max(1), row % of.rows.max(1));
            let start = matrix * matrix_scales + inside / swizzle::TILE.0 * band;
            if last != Some(start) {
                let mut bytes = vec![0; band * elements.width()];
                self.file.read(array, start, &mut bytes)?;
                tiles.clear();
                elements.read(&bytes, &mut tiles).map_err(|at| self.wide(start + at, "scale"))?;
                last = Some(start);
            }
            let inside = inside % swizzle::TILE.0;
            values.extend(columns.clone().map(|column| tiles[swizzle::place(inside, column, grid_columns)]));
        }
        Ok(PieceScales { values, each: columns.len(), width: wide })
    }
}
