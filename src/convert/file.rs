//! Conversion of files of arrays.
//!
//! A tensor in a block format is several arrays of a safetensors file: `NAME`, its element codes (U8; codes of 4 bits two to a
//! byte along the last dimension, the even index in the low four bits, as PyTorch's `float4_e2m1fn_x2`; wider ones one to a
//! byte), `NAME_scale`, its scale codes (U8; the last dimension counts blocks), and where the format has one
//! `NAME_tensor_scale` (F32, a single number). The metadata say `tcnum.format`, `tcnum.block` (elements of a block),
//! `tcnum.axis` (-1: blocks lie along the last dimension), `tcnum.scale_rule`, `tcnum.rounding`, and for each tensor
//! `tcnum.shape.NAME`, without which an even last dimension is assumed. A row whose length is not a multiple of the block ends in
//! a short block; it is quantised as if zeros followed, which are not stored.
//!
//! Where a file has tensors of floating-point numbers, those of integers (token ids) are not converted unless they are chosen by name:
//! they are kept as they are, and `tcnum.unchanged` names them, one to a line.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use super::{ConversionTarget, Deviations, Tensor, convert};
use crate::{
    Error, Result,
    array::{Array, Arrays, Container, Content, LARGEST_EXTENT, read_file},
    base::interrupt,
    format::block::{self, BlockFormat, Blocks, pack_pairs, unpack_pairs},
    format::{self, Format},
    report::Table,
};

crate::rows! {
    /// A converted array of a file.
    pub struct ArrayRow in "arrays" {
        /// Its name.
        array: String => shown("array").essential(),
        /// Its extents.
        shape: Vec<usize> => shown("shape").essential(),
        /// The format that it had.
        from: &'static str => shown("from"),
        /// How many values it has.
        values: u64 => shown("values").essential(),
        /// How many blocks it became, of a block format.
        blocks: Option<u64> => shown("blocks"),
        /// Values that are unchanged.
        exact: u64 => shown("unchanged").essential(),
        /// Values that were too large.
        too_large: u64 => shown("too large").essential(),
        /// Values that became zero, and were not.
        to_zero: u64 => shown("to zero").essential(),
        /// Values that are NaN.
        nan: u64 => shown("NaN"),
        /// The largest error.
        max_error: Option<f64> => shown("max error").essential(),
        /// The mean error.
        mean_error: Option<f64> => shown("mean error"),
        /// The root mean square of the errors over that of the values.
        relative_rms: Option<f64> => shown("rms error / rms").essential(),
    }
}

/// What the arrays of a file are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileContent {
    /// Codes of a format; `None`: of the formats that the file names.
    Scalar(Option<&'static Format>),
    /// Blocks.
    Blocks(&'static BlockFormat),
}

/// Which arrays of a file to convert, and to what.
#[derive(Debug, Clone)]
pub struct FileConversion {
    /// What the file holds.
    pub from: FileContent,
    /// What it becomes.
    pub to: ConversionTarget,
    /// The arrays; none: all.
    pub names: Vec<String>,
}

/// One converted tensor.
struct ConvertedArray {
    name: String,
    shape: Vec<usize>,
    from: &'static str,
    deviations: Deviations,
}

impl FileConversion {
    /// Converts the file at `input` and writes the result to `output`, whole or not at all; the table has a row for each tensor.
    ///
    /// # Errors
    /// A file that cannot be read or written, is malformed, or lacks an array; codes that are not of the source's format; a
    /// value without a code in the target; [`Error::Interrupted`] by a signal, after which nothing is written.
    pub fn run(&self, input: &Path, output: &Path) -> Result<Table> {
        if self.to.block().is_some() && Container::of(output)? == Container::Npy {
            return Err(Error::request(format!(
                "{}: {} is codes and scales, and an .npy file holds one array; write a .safetensors file",
                output.display(),
                self.to.name()
            )));
        }
        let bytes = read_file(input)?;
        let arrays = Arrays::parse(input, &bytes)?;
        let within = |error: Error| error.within(input.display());
        let mut result = Arrays { arrays: Vec::new(), metadata: self.metadata() };
        let mut rows = Vec::new();
        let from = self.layout(&arrays).map_err(within)?;
        let chosen = self.chosen(from, &arrays).map_err(within)?;
        if self.names.is_empty() {
            keep(&mut result, &arrays, from, &chosen);
        }
        for name in chosen {
            interrupt::check()?;
            let (tensor, shape) = read(from, &arrays, &name).map_err(within)?;
            let row = shape.last().copied().unwrap_or(1);
            let place = |error: Error| error.within(format!("{}: array '{name}'", input.display()));
            let (converted, deviations) = convert(&tensor, row, &self.to).map_err(place)?;
            store(&mut result, &name, &shape, converted);
            rows.push(ConvertedArray { name, shape, from: tensor.format_name(), deviations });
        }
        if let Some(name) = result.repeated() {
            return Err(within(Error::request(format!(
                "two arrays of the result would be called '{name}'; convert them into files of their own, by --tensor"
            ))));
        }
        let table = self.table(&rows);
        result.write(output)?;
        Ok(table)
    }

    /// What the arrays are; a file that this program wrote says so itself.
    ///
    /// # Errors
    /// Blocks of another format than the file says, or that lie in it otherwise.
    fn layout(&self, arrays: &Arrays) -> Result<FileContent> {
        let written = arrays.metadata.get("tcnum.format").and_then(|name| block::find(name));
        let layout = match (self.from, written) {
            (FileContent::Scalar(None), Some(format)) => FileContent::Blocks(format),
            (FileContent::Blocks(given), Some(format)) if given != format => {
                return Err(Error::request(format!(
                    "its metadata say that it holds {format}, not {given}; omit --from"
                )));
            }
            (given, _) => given,
        };
        if let FileContent::Blocks(format) = layout {
            for (key, value) in [("tcnum.axis", "-1".to_string()), ("tcnum.block", format.length.to_string())] {
                if let Some(other) = arrays.metadata.get(key).filter(|other| **other != value) {
                    return Err(Error::request(format!(
                        "metadata '{key}': '{other}' is not read, {format} only with {value}"
                    )));
                }
            }
        }
        Ok(layout)
    }

    /// The names of the tensors to convert.
    fn chosen(&self, from: FileContent, arrays: &Arrays) -> Result<Vec<String>> {
        let is_part = |name: &str| {
            ["_scale", "_tensor_scale"]
                .iter()
                .any(|end| name.strip_suffix(end).is_some_and(|of| arrays.get(of).is_some()))
        };
        let unchanged = unchanged(arrays);
        let all = arrays.arrays.iter().map(|array| array.name.as_str()).filter(|name| !unchanged.contains(name));
        let tensors: Vec<&str> = match from {
            FileContent::Scalar(_) => all.collect(),
            FileContent::Blocks(_) => all.filter(|name| !is_part(name)).collect(),
        };
        if let Some(unknown) = self.names.iter().find(|name| !tensors.contains(&name.as_str())) {
            let near = crate::base::nearest::nearest(unknown, tensors.iter().copied(), 3).join(", ");
            return Err(Error::request(format!("there is no array '{unknown}'; the nearest: {near}")));
        }
        let mut names = self.names.iter().enumerate();
        if let Some((_, twice)) = names.find(|(i, name)| self.names[..*i].contains(name)) {
            return Err(Error::request(format!("array '{twice}' is chosen twice")));
        }
        if tensors.is_empty() {
            return Err(Error::request("there are no arrays in it"));
        }
        if !self.names.is_empty() {
            return Ok(self.names.clone());
        }
        let floating = |name: &&&str| arrays.get(name).is_some_and(|array| array.kind.is_floating());
        let numbers: Vec<&&str> = match from {
            FileContent::Scalar(None) if !arrays.metadata.contains_key("tcnum.format") => {
                tensors.iter().filter(floating).collect()
            }
            _ => Vec::new(),
        };
        let chosen = if numbers.is_empty() { tensors.iter().collect() } else { numbers };
        Ok(chosen.into_iter().map(|name| name.to_string()).collect())
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let mut entries = vec![("format", self.to.name().to_string())];
        match &self.to {
            ConversionTarget::Scalar { rounding, overflow, .. } => {
                entries.push(("rounding", rounding.name().into()));
                entries.push(("overflow", overflow.name().into()));
            }
            ConversionTarget::Blocks(quantizer) => {
                entries.push(("rounding", quantizer.rounding.name().into()));
                entries.push(("scale_rule", quantizer.rule.name.into()));
                entries.push(("block", quantizer.format.length.to_string()));
                entries.push(("axis", "-1".into()));
            }
        }
        entries.into_iter().map(|(key, value)| (format!("tcnum.{key}"), value)).collect()
    }

    fn table(&self, tensors: &[ConvertedArray]) -> Table {
        let row = |tensor: &ConvertedArray| {
            let d = &tensor.deviations;
            let blocks = self.to.block().map(|block| {
                let width = tensor.shape.last().copied().unwrap_or(1);
                d.values / (width.max(1) as u64) * width.div_ceil(block.length) as u64
            });
            ArrayRow {
                array: tensor.name.clone(),
                shape: tensor.shape.clone(),
                from: tensor.from,
                values: d.values,
                blocks,
                exact: d.exact,
                too_large: d.too_large,
                to_zero: d.to_zero,
                nan: d.nan,
                max_error: (d.finite > 0).then_some(d.max_error),
                mean_error: d.mean_error(),
                relative_rms: d.relative_rms(),
            }
        };
        Table::of(format!("To {}", self.to.name()), tensors.iter().map(row))
    }
}

/// The arrays that an earlier conversion left as they were.
fn unchanged<'a>(arrays: &'a Arrays) -> Vec<&'a str> {
    arrays.metadata.get("tcnum.unchanged").map_or(Vec::new(), |names| names.lines().collect())
}

/// Adds the arrays that are not converted: neither chosen nor parts of blocks.
fn keep(result: &mut Arrays, arrays: &Arrays, from: FileContent, chosen: &[String]) {
    let before = unchanged(arrays);
    let kept = arrays.arrays.iter().filter(|array| {
        let converted = matches!(from, FileContent::Blocks(_)) && !before.contains(&array.name.as_str());
        !converted && !chosen.contains(&array.name)
    });
    let mut names = Vec::new();
    for array in kept {
        names.push(array.name.as_str());
        result.arrays.push(Array { bytes: Cow::Owned(array.bytes.to_vec()), ..array.clone() });
    }
    if !names.is_empty() {
        result.metadata.insert("tcnum.unchanged".into(), names.join("\n"));
    }
}

/// The tensor of this name, and its shape.
fn read(from: FileContent, arrays: &Arrays, name: &str) -> Result<(Tensor, Vec<usize>)> {
    let array = arrays.get(name).expect("names were looked up");
    match from {
        FileContent::Scalar(format) => {
            // A file of codes that this program wrote says of what format they are.
            let written = arrays.metadata.get("tcnum.format").filter(|_| matches!(array.kind, Content::Unsigned(_)));
            let named = || written.map(|name| format::find(name)).transpose();
            let (format, codes) = array.codes(format.map_or_else(named, |given| Ok(Some(given)))?)?;
            Ok((Tensor::Scalar(format, codes), array.shape.clone()))
        }
        FileContent::Blocks(format) => {
            let (blocks, shape) = read_blocks(arrays, array, format)?;
            Ok((Tensor::Blocks(blocks), shape))
        }
    }
}

/// Adds the arrays of one converted tensor.
fn store(result: &mut Arrays, name: &str, shape: &[usize], tensor: Tensor) {
    let blocks = match tensor {
        Tensor::Scalar(format, codes) => {
            return result.arrays.push(Array::of_codes(name, shape.to_vec(), format, codes.as_bytes().to_vec()));
        }
        Tensor::Blocks(blocks) => blocks,
    };
    let Blocks { format, row, tensor_scale, scales, elements } = blocks;
    let with_last = |last: usize| {
        let leading = shape.split_last().map_or(&[][..], |(_, leading)| leading);
        leading.iter().copied().chain([last]).collect::<Vec<usize>>()
    };
    let elements = if format.element.format.bits == 4 { pack_pairs(&elements, row) } else { elements };
    let width = if format.element.format.bits == 4 { row.div_ceil(2) } else { row };
    let mut bytes = |name: String, last: usize, codes: Vec<u8>| {
        result.arrays.push(Array {
            name,
            shape: with_last(last),
            kind: Content::Unsigned(1),
            bytes: Cow::Owned(codes),
        });
    };
    bytes(name.to_string(), width, elements);
    bytes(format!("{name}_scale"), row.div_ceil(format.length), scales);
    if let (Some(code), Some(own)) = (tensor_scale, format.tensor_scale) {
        let bytes = code.to_le_bytes()[..own.bytes()].to_vec();
        result.arrays.push(Array::of_codes(format!("{name}_tensor_scale"), vec![], own, bytes));
    }
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    result.metadata.insert(format!("tcnum.shape.{name}"), extents.join(","));
}

/// The blocks whose element codes are `array`, and the shape of the tensor.
fn read_blocks(arrays: &Arrays, array: &Array, format: &'static BlockFormat) -> Result<(Blocks, Vec<usize>)> {
    let name = array.name.as_str();
    let wrong = |what: String| Error::request(format!("array '{name}': {what}"));
    let part = |end: &str| {
        let part = arrays.get(&format!("{name}{end}"));
        part.ok_or_else(|| wrong(format!("the array '{name}{end}' that belongs to {format} is missing")))
    };
    let packed = format.element.format.bits == 4;
    let shape = tensor_shape(arrays, array, packed)?;
    let (row, count) = (shape.last().copied().unwrap_or(1), shape.iter().product::<usize>());
    let elements = if packed {
        if array.kind != Content::Unsigned(1) {
            return Err(wrong(format!("codes of {format} are stored two to a byte, as U8")));
        }
        unpack_pairs(&array.bytes, row).expect("the shape was checked")
    } else {
        array.codes(Some(format.element.format))?.1.as_bytes().to_vec()
    };
    let scale = part("_scale")?;
    let one_byte = match scale.kind {
        Content::Format(own) => own.bytes() == 1,
        Content::Unsigned(bytes) => bytes == 1,
        Content::Other(_) => false,
    };
    if !one_byte {
        return Err(wrong(format!(
            "'{name}_scale' holds no codes of one byte; scales of {format} are those of {}",
            format.scale
        )));
    }
    // Unsigned codes are often stored as those of the signed format, whose non-negative half they are.
    let scale = Array { kind: Content::Unsigned(1), bytes: Cow::Borrowed(&scale.bytes), ..scale.clone() };
    let scales = scale.codes(Some(format.scale))?.1.as_bytes().to_vec();
    let expected = count / row.max(1) * row.div_ceil(format.length);
    if scales.len() != expected {
        return Err(wrong(format!(
            "{} scales for shape {shape:?}; blocks of {} need {expected}",
            scales.len(),
            format.length
        )));
    }
    let tensor_scale = match format.tensor_scale {
        None => None,
        Some(own) => {
            let (_, codes) = part("_tensor_scale")?.codes(Some(own))?;
            if codes.len() != 1 {
                return Err(wrong(format!("its tensor scale is {} numbers, not one", codes.len())));
            }
            Some(codes.get(0))
        }
    };
    Ok((Blocks { format, row, tensor_scale, scales, elements }, shape))
}

/// The shape of a tensor of blocks: as the metadata have it, checked against the array's own, or else the array's.
fn tensor_shape(arrays: &Arrays, array: &Array, packed: bool) -> Result<Vec<usize>> {
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
    let Some(text) = arrays.metadata.get(&key) else {
        let mut shape = array.shape.clone();
        if let (Some(last), true) = (shape.last_mut(), packed) {
            let doubled = last.checked_mul(2).filter(|last| *last <= LARGEST_EXTENT);
            *last = doubled
                .ok_or_else(|| Error::request(format!("array '{name}': its last extent, {last}, is too large")))?;
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

/// The block or scalar format of this name.
///
/// # Errors
/// A name that neither has; a format of the user's with the name of a block format.
pub fn layout(name: &str) -> Result<FileContent> {
    if let Some(block) = block::find(name) {
        return Ok(FileContent::Blocks(block));
    }
    let known: Vec<&str> = block::BLOCK_FORMATS.iter().map(|format| format.name).collect();
    match format::resolve(name) {
        // Files say by this name what they hold.
        Ok(format) if block::find(format.name).is_some() => {
            Err(Error::request(format!("{name}: the name '{format}' is taken by a block format; give yours another")))
        }
        Ok(format) => Ok(FileContent::Scalar(Some(format))),
        Err(error) => Err(Error::request(format!("{error}; block formats are {}", known.join(", ")))),
    }
}
