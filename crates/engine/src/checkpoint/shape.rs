//! Shapes of tensors, and the values that share a scale, by the arrays of a layout.

use serde_json::Value;

use super::{
    fit::{ArraysFit, Fitting, Unfit, misshapen, wrong_shape},
    layout::{StatePart, with_stem},
    packing::Packing,
    reader::tensor_part_word,
    swizzle,
};
use crate::{
    array::{LARGEST_EXTENT, StreamedArray},
    format::Format,
    tensor::{Matrices, Sharing},
};

/// Most dimensions of a tensor whose shape an array holds.
const MOST_DIMENSIONS: usize = 8;
/// Codes that fill up the last words of a column, less than.
const MOST_FILLING: usize = 32;
/// Most bytes of a description.
const LONGEST_STATE: u64 = 1 << 16;

/// Description of a tensor.
pub(super) struct State {
    pub(super) shape: Vec<usize>,
    /// Values that share a scale.
    pub(super) block: usize,
    /// Scales that share a scale, and the number that is added to all.
    pub(super) nested_block: Option<usize>,
    pub(super) nested_offset: Option<f64>,
}

impl ArraysFit<'_, '_> {
    /// The shape of the values.
    pub(super) fn shape(&self, stem: &str, state: Option<&State>, columns: Option<usize>) -> Fitting<Vec<usize>> {
        let array = self.array;
        if let Some(state) = state {
            return Ok(state.shape.clone());
        }
        let places = self.parts.places;
        if places.flat {
            return self.written_shape(stem)?.map_or_else(|| misshapen("its shape is not in the file"), Ok);
        }
        if let (true, Some(format)) = (places.transposed || places.down, self.codes.format) {
            let [lines, all] = *array.shape else {
                return wrong_shape(array, "and codes have two dimensions");
            };
            let codes = |words: usize| words.checked_mul(32).map(|bits| bits / format.bits as usize);
            let (lines, all) = if places.down { (codes(lines), Some(all)) } else { (Some(lines), codes(all)) };
            let (Some(lines), Some(all)) = (lines, all) else {
                return misshapen(format!("the extents {:?} of '{}' are too large", array.shape, array.name));
            };
            let (rows, last) = if places.transposed { (all, lines) } else { (lines, all) };
            // Words at the end may have room for more.
            let fills = |columns: &usize| *columns <= last && last - columns < MOST_FILLING;
            return Ok(vec![rows, columns.filter(fills).unwrap_or(last)]);
        }
        let mut shape = array.shape.clone();
        if self.parts.flatten {
            let (Some(last), Some(before)) = (shape.pop(), shape.pop()) else {
                return wrong_shape(array, "and codes have two dimensions or more");
            };
            let Some(both) = last.checked_mul(before) else {
                return misshapen(format!("the extents {before} and {last} of '{}' are too large", array.name));
            };
            shape.push(both);
        }
        // Packed types count elements.
        let bits = match (self.packing(), self.codes.format) {
            _ if array.is_packed() => None,
            (Packing::Single, _) | (_, None) => None,
            (_, Some(format)) => Some(format.bits as usize),
        };
        let stored = 8 * array.width;
        if let (Some(bits), Some(last)) = (bits, shape.last_mut()) {
            let Some(all) = last.checked_mul(stored).filter(|all| all / bits <= LARGEST_EXTENT) else {
                return misshapen(format!("the last extent of '{}' is too large", array.name));
            };
            *last = all / bits;
        } else if bits.is_some() {
            return misshapen(format!("'{}' is a single number, and codes have a row", array.name));
        }
        let Some(written) = self.written_shape(stem)? else { return Ok(shape) };
        let packed = |row: usize| row.checked_mul(bits.unwrap_or(8)).map(|all| all.div_ceil(stored));
        if written.is_empty() && array.len() == 1 {
            return Ok(written);
        }
        let needed = written.split_last().and_then(|(last, leading)| Some((leading.to_vec(), packed(*last)?)));
        let expected = array.shape.split_last().map(|(last, leading)| (leading.to_vec(), *last));
        match needed == expected && written.iter().all(|extent| *extent <= LARGEST_EXTENT) {
            true => Ok(written),
            false => {
                wrong_shape(array, format!("which does not hold {written:?} values of {} bits", bits.unwrap_or(8)))
            }
        }
    }

    /// The shape that an array or the metadata hold.
    fn written_shape(&self, stem: &str) -> Fitting<Option<Vec<usize>>> {
        if let Some(text) =
            self.parts.shape_metadata.as_ref().and_then(|key| self.arrays.file.metadata.get(&with_stem(key, stem)))
        {
            let extents: Option<Vec<usize>> = match text.as_str() {
                "" => Some(Vec::new()),
                text => text.split(',').map(|extent| extent.parse().ok()).collect(),
            };
            return match extents {
                Some(extents) => Ok(Some(extents)),
                None => misshapen(format!("its shape in the metadata, '{text}', is none")),
            };
        }
        let Some((_, array)) = self.parts.shape.as_ref().and_then(|name| self.arrays.get(&with_stem(name, stem)))
        else {
            return Ok(None);
        };
        let integer =
            |extent: &f64| (extent.fract() == 0.0 && (0.0..9e15).contains(extent)).then_some(*extent as usize);
        let numbers = if array.len() > MOST_DIMENSIONS { None } else { self.numbers(array).ok() };
        match numbers.and_then(|numbers| numbers.iter().map(integer).collect()) {
            Some(extents) => Ok(Some(extents)),
            None => misshapen(format!("'{}' holds no shape", array.name)),
        }
    }

    /// Reads the description of a tensor in an array that holds JSON.
    pub(super) fn state(&self, keys: &StatePart, stem: &str) -> Fitting<State> {
        let Some((_, array)) = self.arrays.get(&with_stem(&keys.name, stem)) else { return Err(Unfit::Other) };
        let wrong = || format!("'{}' holds no description", array.name);
        if array.data.1 > LONGEST_STATE || !array.complete {
            return misshapen(wrong());
        }
        let mut bytes = vec![0; array.data.1 as usize];
        self.arrays.file.read_bytes(array, 0, &mut bytes)?;
        let all: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let number = |key: &str| all.get(key)?.as_u64().and_then(|number| usize::try_from(number).ok());
        let optional = |key: &Option<String>| key.as_deref().and_then(number).filter(|block| *block > 0);
        let extents = all.get(&keys.shape).and_then(Value::as_array).map(|extents| {
            let extents = extents.iter().map(|extent| usize::try_from(extent.as_u64()?).ok());
            extents.collect::<Option<Vec<usize>>>()
        });
        let shape = extents.flatten().filter(|shape| {
            let product = shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
            shape.len() <= MOST_DIMENSIONS && product.is_some_and(|all| all <= LARGEST_EXTENT)
        });
        match (shape, number(&keys.block).filter(|block| *block > 0)) {
            (Some(shape), Some(block)) => Ok(State {
                shape,
                block,
                nested_block: optional(&keys.nested_block),
                nested_offset: keys.nested_offset.as_ref().and_then(|key| all.get(key)?.as_f64()),
            }),
            _ => misshapen(wrong()),
        }
    }

    /// The values that share a scale where blocks run through all rows; true if they lie apart.
    ///
    /// A tensor whose rows are no whole blocks is read as one row.
    pub(super) fn flat(
        &self,
        shape: &mut Vec<usize>,
        format: &'static Format,
        scales: &StreamedArray,
        state: Option<&State>,
    ) -> Fitting<(Sharing, bool)> {
        let (array, of) = (self.array, Matrices::of(shape));
        let Some(count) =
            shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent)).filter(|all| *all <= LARGEST_EXTENT)
        else {
            return misshapen(format!("the extents {shape:?} are too large"));
        };
        let (bits, word) = (format.bits as usize, tensor_part_word(format.bits as usize));
        // Rows of codes of 3 bits are filled up to whole words.
        let fits = match (word, &array.shape[..]) {
            // Floating-point types are another view of the bytes.
            (1, _) => {
                (count * bits).div_ceil(8) as u64 == array.data.1 && (array.width == 1 || array.kind.is_floating())
            }
            (_, [lines, columns]) if *columns > 0 => {
                count.is_multiple_of(*columns)
                    && (count / columns).div_ceil(8 * word / bits) == *lines
                    && array.width == word
            }
            _ => false,
        };
        if !fits {
            return wrong_shape(array, format!("which does not hold {shape:?} values of {} bits", format.bits));
        }
        let block = state.map_or_else(|| count.checked_div(scales.len()).unwrap_or(0), |state| state.block);
        if block == 0 || scales.len() != count.div_ceil(block) {
            return wrong_shape(scales, format!("and {shape:?} values are no whole blocks"));
        }
        if state.is_none() && *scales.shape == [1, scales.len()] && scales.len() > 1 {
            return Ok((Sharing::Block(block, 1), true));
        }
        if !of.columns.is_multiple_of(block) {
            *shape = vec![count];
        }
        Ok((Sharing::Block(1, block), false))
    }

    /// The values that share a scale; true if scales are swizzled; true if the shape allows both orders.
    pub(super) fn sharing(
        &self,
        shape: &[usize],
        (scales, of_scales): (&StreamedArray, &[usize]),
        doubts: &mut Vec<String>,
    ) -> Fitting<(Sharing, bool, bool)> {
        let of = Matrices::of(shape);
        let Some(sharing) = self.parts.block else {
            if let Some(sharing) = self.described_block(of, shape, of_scales) {
                return Ok((sharing, false, false));
            }
            let mut likely = Sharing::inferred(of, shape, of_scales);
            likely.retain(|sharing| !self.parts.places.in_rows || !matches!(sharing, Sharing::Block(2.., _)));
            let named = self.config.and_then(|config| likely.iter().find(|sharing| config.names_block(**sharing)));
            return match (named, likely.as_slice()) {
                (Some(named), _) => Ok((*named, false, false)),
                (None, [one]) => Ok((*one, false, false)),
                (None, [first, others @ ..]) => {
                    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
                    doubts.push(format!("nothing decides the blocks: {first} and {} fit the shape", others.join(", ")));
                    Ok((*first, false, false))
                }
                (None, []) => wrong_shape(
                    scales,
                    format!("which fits no blocks of the shape {shape:?} (one scale, one for each row, or a grid)"),
                ),
            };
        };
        // A description may name other blocks than the layout's usual ones.
        let sharing = match (sharing, self.config) {
            (Sharing::Block(rows, _), Some(_)) if rows > 1 => {
                self.described_block(of, shape, of_scales).unwrap_or(sharing)
            }
            _ => sharing,
        };
        let (rows, columns) = sharing.grid(of);
        let needed = of.count.checked_mul(rows).and_then(|all| all.checked_mul(columns));
        let tiles = match sharing {
            Sharing::Block(1, _) if scales.width == 1 => {
                swizzle::padded(rows, columns).and_then(|one| one.checked_mul(of.count))
            }
            _ => None,
        };
        let last = of_scales.last().copied().unwrap_or(1);
        let in_rows = Some(scales.len()) == needed && (last == columns || sharing == Sharing::Tensor);
        let in_tiles = Some(scales.len()) == tiles;
        match (in_rows, in_tiles) {
            (true, both) => Ok((sharing, false, both)),
            (false, true) => Ok((sharing, true, false)),
            (false, false) => {
                let leading = &shape[..shape.len().saturating_sub(2)];
                let expected = leading.iter().copied().chain([rows, columns]).collect::<Vec<usize>>();
                let padded = tiles.map_or(String::new(), |count| format!(", or {count} in tiles"));
                let inferred = Sharing::inferred(of, shape, of_scales);
                let inferred = inferred.first().map_or(String::new(), |other| format!(", the shape for {other}"));
                misshapen(format!(
                    "values of the shape {shape:?} in blocks of {sharing} need scales of the shape {expected:?}{padded}; '{}' has {:?}{inferred}",
                    scales.name, scales.shape
                ))
            }
        }
    }

    /// The blocks that the description of the model names, if the scales have the shape for them.
    fn described_block(&self, of: Matrices, shape: &[usize], scales: &[usize]) -> Option<Sharing> {
        let (leading, grid) = scales.split_at_checked(shape.len().checked_sub(2)?)?;
        let fits = |sharing: &Sharing| {
            let (rows, columns) = sharing.grid(of);
            leading == &shape[..shape.len() - 2] && grid == [rows, columns]
        };
        self.config?.blocks().into_iter().find(fits)
    }
}
