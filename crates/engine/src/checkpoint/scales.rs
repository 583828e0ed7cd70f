//! Scales, minima and zero points of pieces of a tensor.

use super::{
    blocks::{BlockNumber, BlockParts},
    plane::Plane,
    reader::{ReaderParts, TensorReader},
    swizzle,
    tensor::{PieceScales, Quantised, ScalePlace, ZeroPoints},
};
use crate::{
    Result,
    tensor::{ElementReader, TensorPiece},
};

impl TensorReader<'_> {
    /// Scales or minima of the blocks of a piece.
    pub(super) fn numbers(
        &self,
        quantised: &Quantised,
        piece: &TensorPiece,
        block: &BlockParts,
        number: &BlockNumber,
    ) -> Result<PieceScales> {
        let mut values = Vec::new();
        for (at, chunk) in self.blocks(quantised, piece, block)?.chunks(block.bytes).enumerate() {
            number.read(chunk, &mut values).ok_or_else(|| self.wide(at, "scale"))?;
        }
        let width = block.shared(number);
        Ok(PieceScales { values, each: piece.columns.len() / width, width })
    }

    /// Scales of a piece; of all groups, where an array has the group of each column.
    pub fn scales(&self, piece: &TensorPiece, swizzled: bool) -> Result<PieceScales> {
        let (ReaderParts::Quantised { scales, .. }, Some(quantised)) = (&*self.parts, self.tensor.quantised()) else {
            return Ok(PieceScales { values: Vec::new(), each: 0, width: 1 });
        };
        let mut read = match &quantised.place {
            ScalePlace::Inside(block) => self.numbers(quantised, piece, block, &block.scale)?,
            ScalePlace::Array(array) if swizzled => self.tiles(quantised, *array, scales, piece)?,
            ScalePlace::Array(_) => self.grid(quantised, quantised.scale_plane.as_ref(), scales, piece, "scale")?,
        };
        if let Some(nested) = &quantised.nested {
            let (each, first) = (quantised.sharing.grid(self.of).1, piece.columns.start / read.width);
            for (row, scales) in piece.rows.clone().zip(read.values.chunks_mut(read.each.max(1))) {
                let numbers = row * each + first..;
                scales.iter_mut().zip(numbers).for_each(|(scale, number)| *scale = nested.value(number, *scale));
            }
        }
        Ok(read)
    }

    /// Scales of the blocks whose first value lies in a piece.
    pub fn scales_that_begin(&self, piece: &TensorPiece, quantised: &Quantised) -> Result<Vec<f64>> {
        let scales = self.scales(piece, quantised.reading.swizzled)?;
        if quantised.strided {
            let left = quantised.scales.saturating_sub(piece.start(self.of.columns));
            return Ok(scales.values.into_iter().take(left).collect());
        }
        let high = quantised.sharing.extents(self.of).0.max(1);
        // The first block of a piece may have begun in the piece before.
        let skipped = usize::from(!piece.columns.start.is_multiple_of(scales.width));
        let begins = |row: &usize| (row % self.of.rows.max(1)).is_multiple_of(high);
        let each = piece.rows.clone().zip(scales.values.chunks(scales.each.max(1)));
        let each = each.filter(|(row, _)| begins(row));
        Ok(each.flat_map(|(_, scales)| scales.iter().skip(skipped).copied().collect::<Vec<f64>>()).collect())
    }

    /// Zero points of a piece.
    pub fn zeros(&self, piece: &TensorPiece) -> Result<Option<PieceScales>> {
        let (
            ReaderParts::Quantised { zeros: Some(elements), .. },
            Some(quantised @ Quantised { zero: Some(ZeroPoints { offset, plane, .. }), .. }),
        ) = (&*self.parts, self.tensor.quantised())
        else {
            return Ok(None);
        };
        let mut zeros = self.grid(quantised, Some(plane), elements, piece, "zero point")?;
        zeros.values.iter_mut().for_each(|zero| *zero += offset);
        Ok(Some(zeros))
    }

    /// Entries of a grid with the sharing of the scales, in rows.
    fn grid(
        &self,
        quantised: &Quantised,
        plane: Option<&Plane>,
        elements: &ElementReader,
        piece: &TensorPiece,
        what: &str,
    ) -> Result<PieceScales> {
        let of = self.of;
        let (high, wide) = quantised.sharing.extents(of);
        let all = if quantised.index.is_some() { 0..of.columns } else { piece.columns.clone() };
        let columns = all.start / wide..all.end.div_ceil(wide);
        let each = columns.len();
        let mut values = Vec::with_capacity(piece.rows.len() * each);
        let Some(plane) = plane.filter(|_| !piece.is_empty()) else {
            return Ok(PieceScales { values, each, width: wide });
        };
        let mut read = |bytes: &[u8], first: usize| -> Result<()> {
            elements.read(bytes, &mut values).map_err(|at| self.wide(first + at, what))
        };
        if quantised.strided {
            let array = &self.file.arrays[plane.array];
            for row in piece.rows.clone() {
                let (mut first, end) = (row * of.columns + piece.columns.start, row * of.columns + piece.columns.end);
                while first < end {
                    let at = first % array.len().max(1);
                    let mut bytes = vec![0; (end - first).min(array.len() - at) * elements.width()];
                    self.file.read(array, at, &mut bytes)?;
                    read(&bytes, at)?;
                    first += bytes.len() / elements.width();
                }
            }
            return Ok(PieceScales { values, each: piece.columns.len(), width: 1 });
        }
        let grid_rows = quantised.sharing.grid(of).0;
        // A tensor of several matrices can have one scale for all.
        let line = |row: usize| (row / of.rows * grid_rows + row % of.rows / high).min(plane.rows - 1);
        let (first, last) = (line(piece.rows.start), line(piece.rows.end - 1));
        read(&plane.read(self.file, first..last + 1, columns)?, first * plane.columns)?;
        if last - first + 1 < piece.rows.len() {
            let lines = piece.rows.clone().map(|row| &values[(line(row) - first) * each..][..each]);
            values = lines.flatten().copied().collect();
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
