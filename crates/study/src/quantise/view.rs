//! A tensor of a file as rows along one axis, read as `f32` in panels.

use crate::{
    Error, Result,
    array::{ArrayFile, StreamedArray},
    tensor::{ElementReader, PieceGrid, TensorPiece, is_convolution},
};

/// Values of a panel, about: few enough to stay in a cache, and in memory that was used before.
const PANEL: usize = 1 << 14;
/// Values of a row that are read at once, at least, where a panel has parts of several.
const PART: usize = 1 << 10;

/// A tensor as rows along an axis.
pub(super) struct TensorRows<'a> {
    file: &'a ArrayFile,
    pub(super) array: &'a StreamedArray,
    elements: ElementReader,
    /// Rows: one for all indices but the axis, in their order.
    pub(super) rows: usize,
    /// Values of a row.
    pub(super) columns: usize,
    /// Rows of a matrix, within which blocks of several rows lie.
    height: usize,
    /// Rows whose places follow one another in the file; 1 where the values of a row do.
    inner: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowShape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    height: usize,
    inner: usize,
}

impl RowShape {
    /// The shape of `array` along `axis`, which is numbered as for [`TensorRows::new`].
    pub(super) fn new(array: &StreamedArray, axis: Option<i64>) -> Result<RowShape> {
        elements(array)?;
        if axis.is_none() && is_convolution(&array.shape) {
            let rows = if array.is_empty() { 0 } else { array.shape[0] };
            return Ok(RowShape { rows, columns: array.len() / rows.max(1), height: rows, inner: 1 });
        }
        let axis = axis.unwrap_or(-1);
        let dimensions = array.shape.len().max(1);
        let from_front = if axis < 0 { axis + dimensions as i64 } else { axis };
        let Some(at) = usize::try_from(from_front).ok().filter(|at| *at < dimensions) else {
            return Err(Error::request(format!(
                "array '{}' has {} dimensions, so there is no axis {axis}",
                array.name,
                array.shape.len()
            )));
        };
        let columns = array.shape.get(at).copied().unwrap_or(1);
        let inner = array.shape.get(at + 1..).map_or(1, |shape| shape.iter().product());
        // Rows of a matrix follow one another along the last axis that is not theirs.
        let last = if at + 1 == dimensions { at.checked_sub(1) } else { Some(dimensions - 1) };
        let height = last.and_then(|axis| array.shape.get(axis)).copied().unwrap_or(1);
        Ok(RowShape { rows: if array.is_empty() { 0 } else { array.len() / columns }, columns, height, inner })
    }
}

impl<'a> TensorRows<'a> {
    /// The tensor `array` along `axis`: from 0, or from -1 backwards. A single number is a row of its own.
    ///
    /// Without an axis rows lie along the last one, and those of a convolution along all but the first.
    pub(super) fn new(file: &'a ArrayFile, array: &'a StreamedArray, axis: Option<i64>) -> Result<TensorRows<'a>> {
        let RowShape { rows, columns, height, inner } = RowShape::new(array, axis)?;
        Ok(TensorRows { file, elements: elements(array)?, array, rows, columns, height, inner })
    }

    /// Panels of the tensor, in whole blocks but at the ends of rows and matrices.
    ///
    /// Blocks of several rows end with their matrix.
    pub(super) fn panels(&self, block_rows: usize, block_columns: usize) -> Vec<TensorPiece> {
        let wide = match self.columns * block_rows <= 4 * PANEL {
            true => self.columns.max(1),
            false => (PANEL / block_rows).max(PART).next_multiple_of(block_columns),
        };
        let high = (PANEL / wide.min(self.columns.max(1))).max(1).next_multiple_of(block_rows);
        let matrix = if block_rows > 1 { self.height.clamp(1, self.rows.max(1)) } else { self.rows };
        PieceGrid { rows: self.rows, columns: self.columns, matrix, high, wide }.pieces().collect()
    }

    /// Reads a panel row by row; values of wider formats are rounded to nearest.
    pub(super) fn read(&self, panel: &TensorPiece, bytes: &mut Vec<u8>, values: &mut Vec<f32>) -> Result<()> {
        let (width, wide) = (self.array.width, panel.columns.len());
        values.clear();
        values.resize(panel.rows.len() * wide, 0.0);
        if self.inner == 1 {
            // Whole rows follow one another.
            let together = if wide == self.columns { panel.rows.len() } else { 1 };
            for (row, values) in panel.rows.clone().step_by(together).zip(values.chunks_mut(wide * together)) {
                bytes.resize(values.len() * width, 0);
                self.file.read(self.array, row * self.columns + panel.columns.start, bytes)?;
                self.decode(bytes, values)?;
            }
            return Ok(());
        }
        let mut line = Vec::new();
        let mut row = panel.rows.start;
        while row < panel.rows.end {
            let (outer, inside) = (row / self.inner, row % self.inner);
            let count = (self.inner - inside).min(panel.rows.end - row);
            bytes.resize(count * width, 0);
            line.resize(count, 0.0);
            for (at, column) in panel.columns.clone().enumerate() {
                self.file.read(self.array, (outer * self.columns + column) * self.inner + inside, bytes)?;
                self.decode(bytes, &mut line)?;
                for (offset, value) in line.iter().enumerate() {
                    values[(row - panel.rows.start + offset) * wide + at] = *value;
                }
            }
            row += count;
        }
        Ok(())
    }

    fn decode(&self, bytes: &[u8], values: &mut [f32]) -> Result<()> {
        self.elements.read_single(bytes, values).map_err(|wide| {
            Error::request(format!(
                "array '{}' holds {wide:e}, which f32 cannot hold (1e-45 to 3e38); tensors are read as f32",
                self.array.name
            ))
        })
    }
}

fn elements(array: &StreamedArray) -> Result<ElementReader> {
    ElementReader::of(array.kind).map_err(|error| error.within(format!("array '{}'", array.name)))
}
