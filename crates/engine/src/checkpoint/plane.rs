//! Matrices in an array: in rows, transposed, or with codes packed down its columns.

use std::ops::Range;

use super::packing::Packing;
use crate::{
    Result,
    array::{ArrayFile, StreamedArray},
};

/// Codes after which words of 32 bits end, for any number of bits.
const ROUND: usize = 32;
/// Bytes of a word.
const WORD: usize = 4;

/// A matrix in the array of this number, by the rows and columns of the tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plane {
    pub(crate) array: usize,
    /// Extents, as the tensor counts them.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// True if rows of the array are columns of the tensor.
    pub(crate) transposed: bool,
    /// True if the codes of a word follow one another down a column of the array.
    pub(crate) down: bool,
    /// `Single` for elements of whole bytes; else codes in words of 32 bits.
    pub(crate) packing: Packing,
    /// Bits of an element.
    pub(crate) bits: usize,
}

impl Plane {
    /// An array of elements in rows of so many.
    pub(super) fn of_rows((at, array): (usize, &StreamedArray), columns: usize) -> Plane {
        let rows = array.len().checked_div(columns).unwrap_or(0).max(1);
        let bits = 8 * array.width;
        Plane { array: at, rows, columns, transposed: false, down: false, packing: Packing::Single, bits }
    }

    /// Extents of the array that holds the matrix.
    pub(crate) fn stored(&self) -> [usize; 2] {
        let (lines, places) = self.lines();
        let words = |codes: usize| (codes * self.bits).div_ceil(8 * WORD);
        match (self.packing, self.down) {
            (Packing::Single, _) => [lines, places],
            (_, true) => [words(lines), places],
            (_, false) => [lines, words(places)],
        }
    }

    /// Numbers of elements in the order of the array.
    fn lines(&self) -> (usize, usize) {
        if self.transposed { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }

    /// Elements in rows of the tensor: codes of one byte, or the bytes of unpacked elements.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn read(&self, file: &ArrayFile, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<u8>> {
        let array = &file.arrays[self.array];
        let all_places = self.lines().1;
        let (lines, places) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let count = places.len();
        let size = if self.packing == Packing::Single { self.bits / 8 } else { 1 };
        let mut elements = vec![0; lines.len() * count * size];
        // Bytes of a range of places in each of some lines, where a line has so many places of so many bytes.
        let band = |lines: Range<usize>, all: usize, places: Range<usize>, size: usize, bytes: &mut [u8]| {
            if places.len() == all {
                return file.read_bytes(array, (lines.start * all * size) as u64, bytes);
            }
            let length = (places.len() * size).max(1);
            lines.zip(bytes.chunks_mut(length)).try_for_each(|(line, bytes)| {
                file.read_bytes(array, ((line * all + places.start) * size) as u64, bytes)
            })
        };
        let words = |codes: &Range<usize>| {
            let first = codes.start / ROUND * ROUND;
            (first, first * self.bits / (8 * WORD)..(codes.end * self.bits).div_ceil(8 * WORD))
        };
        let mut codes = Vec::new();
        match (self.packing, self.down) {
            (Packing::Single, _) => band(lines.clone(), all_places, places, size, &mut elements)?,
            (packing, true) => {
                let (first, words) = words(&lines);
                let mut bytes = vec![0; words.len() * count * WORD];
                band(words.clone(), all_places, places, WORD, &mut bytes)?;
                for place in 0..count {
                    let column = bytes.chunks(count * WORD).flat_map(|line| &line[place * WORD..][..WORD]);
                    let column: Vec<u8> = column.copied().collect();
                    codes.clear();
                    packing.unpack(&column, self.bits, 0..lines.end - first, &mut codes);
                    let wanted = codes.iter().skip(lines.start - first);
                    elements.iter_mut().skip(place).step_by(count).zip(wanted).for_each(|(to, code)| *to = *code);
                }
            }
            (packing, false) => {
                let (first, words) = words(&places);
                let row = (all_places * self.bits).div_ceil(8 * WORD);
                let mut bytes = vec![0; lines.len() * words.len() * WORD];
                band(lines.clone(), row, words.clone(), WORD, &mut bytes)?;
                let length = (words.len() * WORD).max(1);
                for (bytes, elements) in bytes.chunks(length).zip(elements.chunks_mut(count.max(1))) {
                    codes.clear();
                    packing.unpack(bytes, self.bits, 0..places.end - first, &mut codes);
                    elements.copy_from_slice(&codes[places.start - first..][..count]);
                }
            }
        }
        if !self.transposed {
            return Ok(elements);
        }
        let mut turned = Vec::with_capacity(elements.len());
        for place in 0..count {
            for line in 0..lines.len() {
                turned.extend_from_slice(&elements[(line * count + place) * size..][..size]);
            }
        }
        Ok(turned)
    }
}
