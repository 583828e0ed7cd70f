//! Conversion of files of arrays.
//!
//! A tensor in a block format is several arrays of a safetensors file: `NAME`, its element codes (U8; codes of 4 bits two to a
//! byte along the last dimension, the even index in the low four bits, as PyTorch's `float4_e2m1fn_x2`; wider ones one to a
//! byte), `NAME_scale`, its scale codes (U8; the last dimension counts blocks), and where the format has one
//! `NAME_tensor_scale` (F32, a single number). The metadata say `tcnum.format`, `tcnum.block` (elements of a block),
//! `tcnum.axis` (-1: blocks lie along the last dimension), `tcnum.scale_rule`, `tcnum.rounding`, and for each tensor
//! `tcnum.shape.NAME`, without which an even last dimension is assumed. A tensor that became a matrix, such as a convolution, has
//! its own shape in `tcnum.original_shape.NAME`. Other block formats than this program's have `tcnum.scale`, `tcnum.element`,
//! `tcnum.exponent` and `tcnum.tensor_scale`: the formats, and the power of two that multiplies the elements. A row whose length is not a multiple of the block ends in
//! a short block; it is quantised as if zeros followed, which are not stored.
//!
//! In a file with floating-point tensors, integers (token ids) are kept unless they are chosen by name; `tcnum.unchanged` names
//! them, one to a line.
//!
//! Tensors are converted piece by piece, by all threads, in bounded memory. With stochastic rounding every element has random
//! bits of its own, from its place and the seed, which the metadata have as `tcnum.seed`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    model::{TargetRecipe, is_folder, is_gguf},
    target::{TargetTensor, largest_magnitude},
};
use crate::{
    Error, Result,
    array::{ArrayFile, ArrayWriter, Container, FileHeading, NewArray, StreamedArray},
    base::interrupt,
    checkpoint::{Checkpoint, LlamaModel},
    format::block::{self, BlockFormat},
    format::{self, Rounding},
    report::{Report, Table, counted, grouped},
    tensor::{
        ArrayCounts, ArrayNames, ChosenTensors, ConversionTarget, Deviations, FileContent, NamedArrays, Sharing,
        SourceTensor, TensorChoice, UnsoundValues, flattened, is_convolution, refuse_incomplete,
    },
};

/// Bytes of an array that is kept that are copied at once.
const COPIED: u64 = 1 << 22;

crate::rows! {
    /// A converted array of a file.
    pub struct ArrayRow in "arrays" {
        /// Its name.
        array: String => shown("array").essential(),
        /// Its extents.
        shape: Vec<usize> => shown("shape").essential(),
        /// The format that it had.
        from: &'static str => shown("from"),
        /// The format that it has.
        to: &'static str => shown("to"),
        /// Number of values.
        values: u64 => shown("values").essential(),
        /// Number of blocks, for a block format.
        blocks: Option<u64> => shown("blocks"),
        /// Values that are unchanged.
        exact: u64 => shown("unchanged").essential(),
        /// Too large values.
        too_large: u64 => shown("too large").essential(),
        /// Values that became zero, and were not.
        to_zero: u64 => shown("to zero").essential(),
        /// Values that are NaN.
        nan: u64 => shown("NaN"),
        /// The largest error.
        max_error: Option<f64> => shown("max error").essential(),
        /// The mean error.
        mean_error: Option<f64> => shown("mean error"),
        /// Root mean square of the errors over root mean square of the values.
        relative_rms: Option<f64> => shown("rms error / rms").essential(),
    }
}

/// Result of the conversion of a file.
#[derive(Debug)]
pub struct ConvertedFile {
    /// A row for each converted array.
    pub rows: Vec<ArrayRow>,
    /// Numbers of all arrays; zero if they are named one by one or are blocks.
    pub counts: ArrayCounts,
    /// A sentence on convolutions, if there are any.
    pub note: Option<String>,
    /// NaNs, infinities and implausible magnitudes of the values.
    pub unsound: UnsoundValues,
    /// A sentence on the description of the model, if one was written.
    pub described: Option<String>,
}

/// Arrays of a file to convert, and their target.
#[derive(Debug, Clone)]
pub struct FileConversion {
    /// Content of the file.
    pub from: FileContent,
    /// Target of the conversion.
    pub to: ConversionTarget,
    /// The arrays, by their whole names; none: those of `choice`.
    pub names: Vec<String>,
    /// The arrays, by patterns.
    pub choice: TensorChoice,
    /// Names of the arrays of a tensor in blocks.
    pub layout: ArrayNames,
    /// Other targets, of the tensors that they match; the first that does decides.
    pub recipes: Vec<TargetRecipe>,
    /// Most bytes of a file, where the output is a folder.
    pub shard_bytes: Option<u64>,
    /// Where the random bits of stochastic rounding come from.
    pub seed: u64,
}

impl FileConversion {
    /// The arrays of a file, with quantised tensors decoded, and notes on them.
    ///
    /// Files of this program and files whose content is named are read as they are.
    ///
    /// # Errors
    /// A file that cannot be read, or tensors that cannot be decoded.
    pub fn source(&self, input: &Path) -> Result<(ArrayFile, Vec<String>)> {
        let file = ArrayFile::open(input)?;
        // A file of this program says what it holds.
        let scalar = file.metadata.contains_key("tcnum.format") && !file.metadata.contains_key("tcnum.scale");
        let is_known = scalar || written_format(&file.metadata).is_some();
        let untyped = file.arrays.iter().any(|array| array.untyped);
        if self.from != FileContent::Scalar(None) || is_known || untyped {
            return Ok((file, Vec::new()));
        }
        let names = &self.names;
        let wanted = |name: &str| {
            if names.is_empty() { self.choice.wants(name) } else { names.iter().any(|listed| listed == name) }
        };
        let decoded = Checkpoint::of(file, input, None, None)?.decoded(&wanted)?;
        Ok((decoded.file, decoded.notes))
    }

    /// Fills a report with what was converted.
    pub fn report(&self, converted: ConvertedFile, report: &mut Report) {
        let ConvertedFile { rows, counts, note, unsound, described } = converted;
        let sentences = unsound.sentence().into_iter().chain([self.answer(&rows)]).chain(counts.sentence("converted"));
        report.answer = Some(sentences.collect::<Vec<_>>().join(" "));
        report.notes.extend(note);
        if let (Some(layout), false, None) = (&self.layout.layout, self.layout.config.is_empty(), &described) {
            let keys = self.layout.config.iter().map(|(key, value)| format!("{key} = {value}"));
            let keys = keys.collect::<Vec<_>>().join(", ");
            report.notes.push(format!(
                "Programs know {layout} by quantization_config in config.json: {keys}. Name a folder by ‹out› to have it written."
            ));
        }
        report.notes.extend(described);
        let lost = |row: &ArrayRow| row.to_zero > row.values / 2;
        if matches!(self.to, ConversionTarget::Scalar { .. }) && rows.iter().any(lost) {
            report.notes.push(
                "Most values of an array became zero: they are below the format's numbers. A scale for each row or block keeps them."
                    .into(),
            );
        }
        report.tables.push(Table::of(format!("To {}", self.formats()), rows));
    }

    /// Converts the file at `input` and writes `output`, whole or not at all.
    ///
    /// `progress` gets the numbers of converted and of all values.
    ///
    /// # Errors
    /// A file that cannot be read or written, is malformed, or lacks an array; codes that are not of the source's format; a
    /// value without a code in the target; [`Error::Interrupted`] by a signal, after which nothing is written.
    pub fn run(&self, input: &Path, output: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<ConvertedFile> {
        self.run_on(&ArrayFile::open(input)?, input, output, progress)
    }

    /// Converts an open file, which messages name by `input`; otherwise as [`FileConversion::run`].
    ///
    /// # Errors
    /// As [`FileConversion::run`].
    pub fn run_on(
        &self,
        file: &ArrayFile,
        input: &Path,
        output: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ConvertedFile> {
        let folder = is_folder(output);
        if self.to.block().is_some() && !folder && Container::of(output)? == Container::Npy {
            return Err(Error::request(format!(
                "{}: {} needs several arrays, and an .npy file holds one; write a .safetensors file",
                output.display(),
                self.to.name()
            )));
        }
        let within = |error: Error| error.within(input.display());
        let gguf = !folder && Container::of(output)? == Container::Gguf;
        let model = if gguf && !is_gguf(input) { LlamaModel::of(input)? } else { None };
        let arranged = model.as_ref().map(|model| model.arranged(file)).transpose().map_err(within)?;
        let arrays = NamedArrays::of(arranged.as_ref().unwrap_or(file));
        let from = self.layout(&arrays).map_err(within)?;
        let (chosen, counts) = self.chosen(from, &arrays).map_err(within)?;
        let kept = if self.names.is_empty() { kept(&arrays, from, &chosen, gguf).map_err(within)? } else { Vec::new() };
        let tensors =
            chosen.iter().map(|name| arrays.tensor(from, name)).collect::<Result<Vec<_>>>().map_err(within)?;
        let in_blocks = |tensor: &SourceTensor| self.target_of(tensor.name).0.block().is_some();
        let note = flattened(tensors.iter().filter(|tensor| in_blocks(tensor)).map(|tensor| &tensor.shape[..]));
        let flat = tensors.into_iter().map(|tensor| {
            let convolution = in_blocks(&tensor) && !tensor.is_in_blocks() && is_convolution(&tensor.shape);
            if convolution { tensor.flattened() } else { tensor }
        });
        let tensors: Vec<SourceTensor> = flat.collect();
        let mut planned: Vec<NewArray> = kept.iter().map(|array| planned(array)).collect();
        let mut metadata = self.metadata();
        if !kept.is_empty() {
            let names: Vec<&str> = kept.iter().map(|array| array.name.as_str()).collect();
            metadata.insert("tcnum.unchanged".into(), names.join("\n"));
        }
        let mut targets: Vec<TargetTensor> = Vec::new();
        let shared = self.shared_scales(&tensors).map_err(within)?;
        for tensor in &tensors {
            let (mut to, names) = self.target_of(tensor.name);
            if let (ConversionTarget::Blocks(quantizer), Some(scale)) = (&mut to, shared.get(tensor.name)) {
                quantizer.tensor_scale = Some(*scale);
            }
            let target = TargetTensor::plan(tensor, to, names, &mut planned, &mut metadata);
            targets.push(target.map_err(within)?);
        }
        if let Some(model) = &model {
            planned.iter_mut().for_each(|array| array.name = model.name(&array.name));
        }
        if let Some(name) = repeated(&planned) {
            return Err(within(Error::request(format!(
                "two arrays of the result would have the name '{name}'; convert each into its own file, by ‹tensor›"
            ))));
        }
        let description = if folder { self.described(input, &tensors, &kept)? } else { None };
        let entries = if gguf { Some(self.entries(input, model.as_ref(), &planned)?) } else { None };
        let writer =
            ArrayWriter::begin(output, &planned, &FileHeading { metadata, entries, shard_bytes: self.shard_bytes })?;
        for (number, array) in kept.iter().enumerate() {
            copy(&arrays, array, &writer, number)?;
        }
        let total = tensors.iter().map(|tensor| tensor.element_count() as u64).sum();
        let (mut done, mut rows, mut unsound) = (0, Vec::new(), UnsoundValues::default());
        for (tensor, target) in tensors.iter().zip(&targets) {
            let deviations = target.convert(tensor, self.seed, &writer, &mut |values| {
                done += values;
                progress(done, total);
            });
            let place = |error: Error| match error {
                Error::Interrupted { .. } => error,
                error => error.within(format!("{}: array '{}'", input.display(), tensor.name)),
            };
            let deviations = deviations.map_err(place)?;
            let losses = &deviations.losses;
            // The root of the sum of squares bounds the magnitudes that have a finite result.
            let may_be_large =
                losses.saturated + losses.void > 0 || losses.energies.signal.sqrt() > UnsoundValues::REASON;
            let largest = if may_be_large { largest_magnitude(tensor).map_err(place)? } else { None };
            unsound.add(tensor.name, [losses.nan, losses.infinite], largest);
            rows.push(row(tensor, &target.to, &deviations));
        }
        writer.finish()?;
        let described = description.map(|description| description.write(output)).transpose()?;
        Ok(ConvertedFile { rows, counts, note, unsound, described })
    }

    /// The content of the arrays; a file of this program states it.
    fn layout(&self, arrays: &NamedArrays) -> Result<FileContent> {
        let named = arrays.metadata().get("tcnum.format");
        let written = written_format(arrays.metadata());
        let layout = match (self.from, written) {
            (FileContent::Scalar(None), Some(format)) => FileContent::Blocks(format),
            (FileContent::Blocks(given), Some(format)) if given.name != format.name => {
                return Err(Error::request(format!(
                    "its metadata say that it holds {format}, not {given}; omit ‹from›"
                )));
            }
            (given, _) => given,
        };
        if let (FileContent::Scalar(None), Some(name), true) =
            (layout, named, arrays.metadata().contains_key("tcnum.scale"))
        {
            return Err(Error::request(format!(
                "its metadata say that it holds blocks of the format '{name}', which is not known here; give its file by ‹from=FILE.toml›"
            )));
        }
        let FileContent::Blocks(format) = layout else { return Ok(layout) };
        if let Some(axis) = arrays.metadata().get("tcnum.axis").filter(|axis| *axis != "-1") {
            return Err(Error::request(format!(
                "metadata 'tcnum.axis' is '{axis}', but {format} is read only with -1"
            )));
        }
        let Some(text) = arrays.metadata().get("tcnum.block") else { return Ok(layout) };
        let Some(sharing) = Sharing::of_metadata(text) else {
            return Err(Error::request(format!(
                "metadata 'tcnum.block' is '{text}'; it must be the elements of a block, ROWSxCOLUMNS, row or tensor"
            )));
        };
        let (rows, length) = sharing.blocks();
        Ok(FileContent::Blocks(format.with_blocks(rows, length)))
    }

    fn chosen(&self, from: FileContent, arrays: &NamedArrays) -> Result<(Vec<String>, ArrayCounts)> {
        let is_part = |name: &str| {
            ["_scale", "_tensor_scale"]
                .iter()
                .any(|end| name.strip_suffix(end).is_some_and(|of| arrays.get(of).is_some()))
        };
        let unchanged = unchanged(arrays);
        let all = arrays.arrays.keys().copied().filter(|name| !unchanged.contains(name));
        let tensors: Vec<&str> = match from {
            FileContent::Scalar(_) => all.collect(),
            FileContent::Blocks(_) => all.filter(|name| !is_part(name)).collect(),
        };
        if let Some(unknown) = self.names.iter().find(|name| !tensors.contains(&name.as_str())) {
            let near = crate::base::nearest::nearest(unknown, tensors.iter().copied(), 3).join(", ");
            return Err(Error::request(format!("there is no array '{unknown}'; the nearest: {near}")));
        }
        if let Some((_, twice)) = self.names.iter().enumerate().find(|(i, name)| self.names[..*i].contains(name)) {
            return Err(Error::request(format!("array '{twice}' is chosen twice")));
        }
        if tensors.is_empty() {
            return Err(Error::request("the file has no arrays"));
        }
        if let Some(part) = self.names.iter().find(|name| arrays.get(name).is_some_and(|array| array.part)) {
            return Err(Error::request(format!(
                "array '{part}' is part of a quantised tensor, and no tensor by itself"
            )));
        }
        if !self.names.is_empty() {
            return Ok((self.names.clone(), ArrayCounts::default()));
        }
        let as_stored = matches!(from, FileContent::Scalar(None)) && !arrays.metadata().contains_key("tcnum.format");
        let asked = !self.choice.include.is_empty() || !self.choice.exclude.is_empty();
        let floating = |name: &&str| arrays.get(name).is_some_and(|array| array.kind.is_floating());
        let by_kind = as_stored && tensors.iter().any(floating);
        if !asked && !by_kind {
            return Ok((tensors.into_iter().map(String::from).collect(), ArrayCounts::default()));
        }
        let narrow = match &self.to {
            ConversionTarget::Scalar { format, .. } => format.bits <= 8,
            ConversionTarget::Blocks(_) => true,
        };
        let ChosenTensors { chosen, counts } = self.choice.of(arrays.file(), as_stored && narrow)?;
        let mut names: Vec<String> = chosen.into_iter().map(|array| array.name.clone()).collect();
        names.retain(|name| tensors.contains(&name.as_str()));
        names.sort();
        // The parts of a tensor in blocks are no arrays that are left.
        let counts = if matches!(from, FileContent::Blocks(_)) { ArrayCounts::default() } else { counts };
        Ok((names, counts))
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        if let Some(layout) = &self.layout.layout {
            // Readers of such layouts want to know that tensors are those of PyTorch.
            return [("format", "pt"), ("tcnum.layout", layout)]
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .into();
        }
        let mut entries = vec![("format", self.to.name().to_string())];
        match &self.to {
            ConversionTarget::Scalar { rounding, overflow, .. } => {
                entries.push(("rounding", rounding.name().into()));
                entries.push(("overflow", overflow.name().into()));
            }
            ConversionTarget::Blocks(quantizer) => {
                entries.push(("rounding", quantizer.rounding.name().into()));
                entries.push(("scale_rule", quantizer.rule.name.into()));
                let format = quantizer.format;
                let along_a_row = format.rows == 1 && format.length < BlockFormat::WHOLE;
                entries.push(("block", if along_a_row { format.length.to_string() } else { format.extents() }));
                if block::find(format.name).is_none() {
                    entries.push(("scale", format.scale.name.into()));
                    entries.push(("element", format.element.format.name.into()));
                    entries.push(("exponent", format.element.exponent.to_string()));
                    entries.extend(format.tensor_scale.map(|scale_format| ("tensor_scale", scale_format.name.into())));
                }
                entries.push(("axis", "-1".into()));
            }
        }
        if matches!(self.to.rounding(), Rounding::Sr { .. }) {
            entries.push(("seed", self.seed.to_string()));
        }
        entries.into_iter().map(|(key, value)| (format!("tcnum.{key}"), value)).collect()
    }

    /// Names of the formats that arrays are converted to.
    fn formats(&self) -> String {
        let mut names: Vec<&str> = self.recipes.iter().map(|target| target.to.name()).collect();
        names.dedup();
        if names.is_empty() { self.to.name().to_string() } else { names.join(", ") }
    }

    fn answer(&self, rows: &[ArrayRow]) -> String {
        let sum = |of: fn(&ArrayRow) -> u64| rows.iter().map(of).sum::<u64>();
        let number = |count: u64| grouped(i64::try_from(count).unwrap_or(i64::MAX));
        // Without negative numbers, each value below zero is beyond the largest.
        let beyond = match &self.to {
            ConversionTarget::Scalar { format, .. } if !format.is_signed() => "too large or negative",
            _ => "too large",
        };
        format!(
            "{} of {} in {} are exact in {}; {beyond}: {}; rounded to zero: {}.",
            number(sum(|row| row.exact)),
            counted(sum(|row| row.values), "value"),
            counted(rows.len() as u64, "array"),
            self.formats(),
            number(sum(|row| row.too_large)),
            number(sum(|row| row.to_zero)),
        )
    }
}

fn row(tensor: &SourceTensor, to: &ConversionTarget, deviations: &Deviations) -> ArrayRow {
    let losses = &deviations.losses;
    ArrayRow {
        array: tensor.name.to_string(),
        shape: tensor.shape.clone(),
        from: tensor.format_name(),
        to: to.name(),
        values: losses.values,
        blocks: to.block().map(|block| tensor.blocks(block) as u64),
        exact: losses.exact,
        too_large: losses.saturated,
        to_zero: losses.to_zero,
        nan: deviations.nan_results,
        max_error: losses.largest_error(),
        mean_error: deviations.mean_error(),
        relative_rms: losses.energies.relative_rms(),
    }
}

/// The block format that metadata of this program name, but for its blocks; `None` for others.
fn written_format(metadata: &BTreeMap<String, String>) -> Option<&'static BlockFormat> {
    let name = metadata.get("tcnum.format")?;
    block::find(name).or_else(|| match metadata.get("tcnum.scale").map(String::as_str) {
        Some("f32") => BlockFormat::with_f32_scales(format::find(name).ok()?, 1, BlockFormat::WHOLE).ok(),
        _ => None,
    })
}

/// The arrays that an earlier conversion left as they were.
fn unchanged<'a>(arrays: &NamedArrays<'a>) -> BTreeSet<&'a str> {
    arrays.metadata().get("tcnum.unchanged").map_or(BTreeSet::new(), |names| names.lines().collect())
}

/// The arrays that are not converted: neither chosen nor parts of blocks.
///
/// The file that is written holds them all if it is of GGUF, with the blocks of that format.
fn kept<'a>(
    arrays: &NamedArrays<'a>,
    from: FileContent,
    chosen: &[String],
    holds_all: bool,
) -> Result<Vec<&'a StreamedArray>> {
    let before = unchanged(arrays);
    let chosen: BTreeSet<&str> = chosen.iter().map(String::as_str).collect();
    let is_kept = |name: &str| {
        let converted = matches!(from, FileContent::Blocks(_)) && !before.contains(name);
        !converted && !chosen.contains(name)
    };
    let kept: Vec<&StreamedArray> =
        arrays.arrays.values().copied().filter(|array| is_kept(array.name.as_str())).collect();
    kept.iter().try_for_each(|array| refuse_incomplete(array))?;
    match kept.iter().find(|array| array.bits == 0 && !holds_all) {
        Some(array) => Err(Error::request(format!(
            "array '{}' has the type {}, which is not decoded and which the result cannot hold; name the arrays to convert by ‹tensor›",
            array.name,
            array.kind.type_name()
        ))),
        None => Ok(kept),
    }
}

fn planned(array: &StreamedArray) -> NewArray {
    NewArray { name: array.name.clone(), shape: array.shape.clone(), kind: array.kind, bytes: array.data.1 }
}

/// A name that two of the arrays have.
fn repeated(arrays: &[NewArray]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    arrays.iter().map(|array| array.name.as_str()).find(|name| !seen.insert(*name))
}

/// Copies an array to the array of this number.
fn copy(arrays: &NamedArrays, array: &StreamedArray, writer: &ArrayWriter, number: usize) -> Result<()> {
    let mut bytes = vec![0; array.data.1.min(COPIED) as usize];
    for first in (0..array.data.1).step_by(COPIED as usize) {
        interrupt::check()?;
        let part = &mut bytes[..(array.data.1 - first).min(COPIED) as usize];
        arrays.read(array, first, part)?;
        writer.write(number, first, part)?;
    }
    Ok(())
}
