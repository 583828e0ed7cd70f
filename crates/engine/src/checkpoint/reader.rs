//! Reading the tensors of a checkpoint piece by piece.

use std::sync::Arc;

use super::{
    blocks::{BlockParts, Minimum},
    packing::{Packing, mask},
    tensor::{CheckpointTensor, GlobalScale, PieceScales, Quantised, Reading, ScalePlace, TensorContent},
};
use crate::{
    Error, Result,
    array::{ArrayFile, Content},
    base::visible::one_line,
    format::Format,
    tensor::{ElementReader, Matrices, TensorPiece},
};

/// Reads the arrays of one tensor.
pub struct TensorReader<'a> {
    pub(super) file: &'a ArrayFile,
    pub(super) tensor: &'a CheckpointTensor,
    pub(super) of: Matrices,
    pub(super) parts: Arc<ReaderParts>,
    /// Rows of the file, in the order in which they are read; its own order without them.
    rows: Option<Arc<[usize]>>,
}

/// Readers of the arrays of a tensor.
#[derive(Debug)]
pub(super) enum ReaderParts {
    Plain {
        array: usize,
        elements: ElementReader,
    },
    Quantised {
        codes: Vec<f64>,
        scales: ElementReader,
        zeros: Option<ElementReader>,
        /// Group of each column.
        index: Option<Vec<usize>>,
    },
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
            TensorContent::Quantised(quantised) => ReaderParts::Quantised {
                codes: quantised.code_values(),
                scales: ElementReader::of_format(quantised.scale_format)?,
                zeros: quantised.zero.as_ref().map(|zero| ElementReader::of_format(zero.format)).transpose()?,
                index: quantised.index.map(|array| groups(file, tensor, quantised, array)).transpose()?,
            },
            TensorContent::Opaque { why, .. } => {
                return Err(Error::request(format!("tensor '{}': {why}", one_line(&tensor.name))));
            }
        })
    }
}

/// Bytes of a word of [`Packing::TensorParts`]: one, if codes fill it.
pub(super) fn tensor_part_word(bits: usize) -> usize {
    if 8usize.is_multiple_of(bits.max(1)) { 1 } else { 4 }
}

/// The group of each column, from the array of this number.
fn groups(file: &ArrayFile, tensor: &CheckpointTensor, quantised: &Quantised, array: usize) -> Result<Vec<usize>> {
    let of = Matrices::of(&tensor.read_shape);
    let (count, array) = (quantised.sharing.grid(of).1, &file.arrays[array]);
    let elements = ElementReader::of(array.kind)?;
    let (mut bytes, mut numbers) = (vec![0; array.len() * elements.width()], Vec::new());
    file.read(array, 0, &mut bytes)?;
    // The groups of a tensor without an order of its own are -1.
    let group = |(column, number): (usize, &f64)| match *number {
        -1.0 => Some(column / quantised.sharing.extents(of).1.max(1)),
        number if number >= 0.0 && number < count as f64 => Some(number as usize),
        _ => None,
    };
    let read = elements.read(&bytes, &mut numbers);
    let index: Option<Vec<usize>> = numbers.iter().enumerate().map(group).collect();
    index.filter(|index| read.is_ok() && index.len() == of.columns).ok_or_else(|| {
        let (name, array) = (one_line(&tensor.name), one_line(&array.name));
        Error::request(format!("tensor '{name}': '{array}' has a group that is none of the {count} of the scales"))
    })
}

impl<'a> TensorReader<'a> {
    /// The reader of a tensor of `file`.
    ///
    /// # Errors
    /// A tensor that is not decoded.
    pub(crate) fn new(file: &'a ArrayFile, tensor: &'a CheckpointTensor) -> Result<TensorReader<'a>> {
        Ok(TensorReader::of_parts(file, tensor, Arc::new(ReaderParts::new(file, tensor)?)))
    }

    /// The reader of a tensor, with readers of its arrays from [`ReaderParts::new`].
    pub(super) fn of_parts(file: &'a ArrayFile, tensor: &'a CheckpointTensor, parts: Arc<ReaderParts>) -> Self {
        TensorReader { file, tensor, of: Matrices::of(&tensor.read_shape), parts, rows: None }
    }

    /// The reader of these rows of the file, in this order.
    pub fn of_rows(self, rows: Vec<usize>) -> TensorReader<'a> {
        TensorReader { rows: Some(rows.into()), ..self }
    }

    /// Reads the rows of a piece, each from its place in the file.
    fn by_rows(
        &self,
        rows: &[usize],
        piece: &TensorPiece,
        read: impl Fn(&TensorReader, &TensorPiece) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let plain = TensorReader { rows: None, parts: self.parts.clone(), ..*self };
        let mut values = Vec::with_capacity(piece.len());
        for run in rows[piece.rows.clone()].chunk_by(|row, next| row + 1 == *next) {
            let rows = run[0]..run[0] + run.len();
            values.extend(read(&plain, &TensorPiece { rows, columns: piece.columns.clone() })?);
        }
        Ok(values)
    }

    pub(super) fn wrong(&self, what: String) -> Error {
        Error::request(format!("tensor '{}': {what}", one_line(&self.tensor.name)))
    }

    /// Values of a piece, row by row.
    ///
    /// Values of a plain array are exact, and values of a quantised one rounded once, to `f32`.
    pub fn values(&self, piece: &TensorPiece, reading: Option<Reading>) -> Result<Vec<f64>> {
        if let Some(rows) = &self.rows {
            return self.by_rows(rows, piece, |reader, run| reader.values(run, reading));
        }
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
        let values = self.codes(piece, reading.packing)?;
        self.multiplied(quantised, piece, reading, values, false)
    }

    /// Distances of the values of a piece from the middle between them and their neighbours.
    ///
    /// # Errors
    /// As [`TensorReader::values`].
    pub fn half_steps(&self, piece: &TensorPiece) -> Result<Vec<f64>> {
        if let Some(rows) = &self.rows {
            return self.by_rows(rows, piece, |reader, run| reader.half_steps(run));
        }
        let Some(quantised) = self.tensor.quantised() else {
            // Half steps are relative, and subnormals have the least one.
            let (bits, least) = match &*self.parts {
                ReaderParts::Plain { array, .. } => match self.file.arrays[*array].kind {
                    Content::Format(Format { name: "bf16", .. }) => (8, -134),
                    Content::Format(Format { name: "f16", .. }) => (11, -25),
                    _ => (24, -150),
                },
                ReaderParts::Quantised { .. } => (24, -150),
            };
            let half = |value: f64| (value.abs() * 2f64.powi(-bits)).max(2f64.powi(least));
            return Ok(self.values(piece, None)?.into_iter().map(half).collect());
        };
        let table = quantised.code_values();
        let mut sorted: Vec<f64> = table.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let half = |value: f64| {
            let at = sorted.partition_point(|other| *other < value);
            let gap = |below: usize, above: usize| Some((sorted.get(above)? - sorted.get(below)?) / 2.0);
            let below = at.checked_sub(1).and_then(|below| gap(below, at));
            below.into_iter().chain(gap(at, at + 1)).fold(0.0, f64::max)
        };
        let halves = self.codes(piece, quantised.reading.packing)?.into_iter().map(half).collect();
        let steps = self.multiplied(quantised, piece, quantised.reading, halves, true)?;
        Ok(steps.into_iter().map(f64::abs).collect())
    }

    /// Values of codes; `steps` are multiplied only.
    fn multiplied(
        &self,
        quantised: &Quantised,
        piece: &TensorPiece,
        reading: Reading,
        mut values: Vec<f64>,
        steps: bool,
    ) -> Result<Vec<f64>> {
        let zeros = if steps { None } else { self.zeros(piece)? };
        let added = quantised.zero.as_ref().is_some_and(|zero| zero.added);
        if let Some(zeros) = zeros.as_ref().filter(|_| !added) {
            // Zero points that are no integers are subtracted in f32, as the programs do.
            self.of_each(piece, zeros, &mut values, |value, zero| f64::from((value - zero) as f32));
        }
        let scales = self.scales(piece, reading.swizzled)?;
        self.of_each(piece, &scales, &mut values, |value, scale| value * scale);
        if let Some(zeros) = zeros.filter(|_| added) {
            self.of_each(piece, &zeros, &mut values, |value, zero| value + zero);
        }
        if let ScalePlace::Inside(block) = &quantised.place
            && let Some((number, used)) = block.minimum.as_ref().filter(|_| !steps)
        {
            let minima = self.numbers(quantised, piece, block, number)?;
            self.of_each(piece, &minima, &mut values, |value, minimum| match used {
                Minimum::Adds => value + minimum,
                Minimum::Subtracts => value - minimum,
            });
        }
        if let Some(factor) = quantised.factor {
            values.iter_mut().for_each(|value| *value = f64::from(*value as f32) * f64::from(factor));
        }
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
        if let Some(rows) = &self.rows {
            return self.by_rows(rows, piece, |reader, run| Ok(reader.rests(run)?.unwrap_or_default())).map(Some);
        }
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
    pub fn of_each(
        &self,
        piece: &TensorPiece,
        scales: &PieceScales,
        values: &mut [f64],
        join: impl Fn(f64, f64) -> f64,
    ) {
        if scales.each == 0 {
            return;
        }
        let first = piece.columns.start / scales.width;
        let rows = values.chunks_mut(piece.columns.len().max(1)).zip(scales.values.chunks(scales.each));
        for (values, scales_of_row) in rows {
            if let ReaderParts::Quantised { index: Some(index), .. } = &*self.parts {
                let groups = index[piece.columns.clone()].iter().map(|group| scales_of_row[*group]);
                values.iter_mut().zip(groups).for_each(|(value, scale)| *value = join(*value, scale));
                continue;
            }
            let mut start = piece.columns.start;
            for (at, scale) in scales_of_row.iter().enumerate() {
                let end = ((first + at + 1) * scales.width).min(piece.columns.end);
                let columns = start - piece.columns.start..end - piece.columns.start;
                values[columns].iter_mut().for_each(|value| *value = join(*value, *scale));
                start = end;
            }
        }
    }

    pub(super) fn wide(&self, at: usize, what: &str) -> Error {
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
        match (&quantised.place, &quantised.code_plane) {
            (ScalePlace::Inside(block), _) => {
                for chunk in self.blocks(quantised, piece, block)?.chunks(block.bytes) {
                    block.codes(chunk, bits, packing, &mut codes);
                }
            }
            (_, Some(plane)) => codes = plane.read(self.file, piece.rows.clone(), piece.columns.clone())?,
            (_, None) if packing == Packing::TensorParts => self.tensor_parts(quantised, piece, &mut codes)?,
            (_, None) => {
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

    /// Codes of a piece where the highest bits of all words are the first part of the tensor.
    fn tensor_parts(&self, quantised: &Quantised, piece: &TensorPiece, codes: &mut Vec<u8>) -> Result<()> {
        let (array, bits) = (&self.file.arrays[quantised.codes], quantised.format.bits as usize);
        let word = tensor_part_word(bits);
        let (part, parts) = ((array.data.1 as usize / word).max(1), 8 * word / bits);
        for row in piece.rows.clone() {
            let mut first = row * self.of.columns + piece.columns.start;
            let end = first + piece.columns.len();
            while first < end {
                let (number, at) = (first / part, first % part);
                let count = (end - first).min(part - at);
                let mut bytes = vec![0; count * word];
                self.file.read_bytes(array, (at * word) as u64, &mut bytes)?;
                let shift = bits * (parts - 1).saturating_sub(number);
                // The bits of a code lie in two bytes of its word, at most.
                let code = |bytes: &[u8]| {
                    let upper = bytes.get(shift / 8 + 1).copied().unwrap_or(0);
                    (u16::from_le_bytes([bytes[shift / 8], upper]) >> (shift % 8)) as u8 & mask(bits)
                };
                codes.extend(bytes.chunks(word).map(code));
                first += count;
            }
        }
        Ok(())
    }

    /// The bytes of the blocks of a piece.
    pub(super) fn blocks(&self, quantised: &Quantised, piece: &TensorPiece, block: &BlockParts) -> Result<Vec<u8>> {
        let start = piece.start(self.of.columns) / block.length * block.bytes;
        let mut bytes = vec![0; piece.len() / block.length * block.bytes];
        self.file.read_bytes(&self.file.arrays[quantised.codes], start as u64, &mut bytes)?;
        Ok(bytes)
    }
}
