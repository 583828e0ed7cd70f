//! Finding the layout of every tensor by names, types, shapes and the model's description.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    config::Config,
    converted::is_converted,
    layout::{ArrayParts, Codes, Layout, Storage, with_stem},
    packing::Packing,
    swizzle,
    tensor::{CheckpointTensor, Quantised, Reading, ScalePlace, TensorContent},
    undecoded,
};
use crate::{
    Error, Result,
    array::{ArrayFile, Content, LARGEST_EXTENT, StreamedArray},
    base::visible::one_line,
    format::{Format, find as format_of},
    tensor::{ElementReader, Matrices, Sharing, original_shape},
};

/// Most global scales: one for each expert.
const MOST_GLOBAL_SCALES: usize = 1 << 16;

/// Why the arrays of a tensor do not fit a layout; the later, the nearer they come to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Misfit {
    /// An array has another type.
    Type(String),
    /// An array is missing.
    Missing(String),
    /// An array has another shape, or is incomplete.
    Shape(String),
}

impl Misfit {
    fn words(&self) -> &str {
        match self {
            Misfit::Type(words) | Misfit::Missing(words) | Misfit::Shape(words) => words,
        }
    }

    fn is_as_near(&self, other: &Misfit) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The misfits of the layouts that come nearest, each with the names of its layouts.
fn nearest(misfits: &[(Misfit, &str)]) -> String {
    let Some((best, _)) = misfits.iter().max() else { return String::new() };
    let mut words: Vec<(&str, Vec<&str>)> = Vec::new();
    for (misfit, layout) in misfits.iter().filter(|(misfit, _)| misfit.is_as_near(best)) {
        match words.iter_mut().find(|(said, _)| *said == misfit.words()) {
            Some((_, layouts)) => layouts.push(layout),
            None => words.push((misfit.words(), vec![layout])),
        }
    }
    let described: Vec<String> =
        words.iter().map(|(said, layouts)| format!("{said} ({})", layouts.join(", "))).collect();
    described.join("; or ")
}

/// Defect of an array that a truncated file lacks a part of.
pub const TRUNCATED: &str = "the file ends in its data";

/// The tensors of a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) tensors: Vec<CheckpointTensor>,
    /// Arrays that are parts of a quantised tensor but fit no layout, and why.
    pub(super) misfits: Vec<(String, String)>,
    /// Arrays that are no tensors by themselves: codes, and scales next to them.
    pub(super) parts: BTreeSet<String>,
    pub(super) notes: Vec<String>,
}

/// A tensor by one layout.
struct Fit<'l> {
    layout: &'l Layout,
    tensor: CheckpointTensor,
}

/// The arrays of a file by name.
pub(super) struct Arrays<'a> {
    file: &'a ArrayFile,
    by_name: BTreeMap<&'a str, usize>,
}

impl<'a> Arrays<'a> {
    pub(super) fn get(&self, name: &str) -> Option<(usize, &'a StreamedArray)> {
        self.by_name.get(name).map(|at| (*at, &self.file.arrays[*at]))
    }

    /// The arrays whose names begin with a text.
    pub(super) fn beginning<'n>(&'n self, start: &'n str) -> impl Iterator<Item = &'a StreamedArray> + use<'a, 'n> {
        let names = self.by_name.range(start..).take_while(move |(name, _)| name.starts_with(start));
        names.map(|(_, at)| &self.file.arrays[*at])
    }
}

/// The tensors of `file`, by name.
///
/// # Errors
/// A file that cannot be read; arrays that it lacks a part of.
///
/// With `given`, the layouts are those that the user named, and they are all.
pub(super) fn tensors(file: &ArrayFile, layouts: &[Layout], given: bool, config: Option<&Config>) -> Result<Found> {
    let by_name = file.arrays.iter().enumerate().map(|(at, array)| (array.name.as_str(), at)).collect();
    let arrays = Arrays { file, by_name };
    let mut contents = Found::default();
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut quantised: BTreeMap<usize, CheckpointTensor> = BTreeMap::new();
    for (at, array) in file.arrays.iter().enumerate() {
        let (mut fits, mut misfits) = (Vec::new(), Vec::new());
        for layout in layouts.iter().filter(|_| array.complete) {
            match fit(&arrays, at, array, layout, config)? {
                Ok(Some(tensor)) => fits.push(Fit { layout, tensor }),
                Ok(None) => {}
                Err(misfit) => misfits.push((misfit, layout.name.as_str())),
            }
        }
        match chosen(fits, given, config) {
            Some(tensor) => {
                used.extend(tensor.arrays.iter().filter(|name| **name != array.name).cloned());
                quantised.insert(at, tensor);
            }
            None if !array.complete => contents.misfits.push((array.name.clone(), TRUNCATED.into())),
            None if !misfits.is_empty() => contents.misfits.push((array.name.clone(), one_line(&nearest(&misfits)))),
            None => {}
        }
    }
    if !given {
        let converted = |name: &str| is_converted(&file.metadata, name);
        let misfits: BTreeSet<&str> = contents.misfits.iter().map(|(name, _)| name.as_str()).collect();
        for (at, array) in file.arrays.iter().enumerate() {
            let name = array.name.as_str();
            let is_read = quantised.contains_key(&at) || used.contains(name) || misfits.contains(name);
            if !(is_read || converted(name))
                && let Some(tensor) = undecoded::tensor(&arrays, array, &used, config)
            {
                used.extend(tensor.arrays.iter().filter(|other| *other != name).cloned());
                contents.parts.extend(tensor.arrays.iter().cloned());
                quantised.insert(at, tensor);
            }
        }
        contents.notes.extend(config.and_then(|config| described(&mut quantised, layouts, config)));
    }
    let misfits = contents.misfits.iter().filter_map(|(name, _)| arrays.get(name));
    let codes = misfits.map(|(_, array)| array).chain(quantised.keys().map(|at| &file.arrays[*at]));
    let is_codes = |array: &&StreamedArray| quantised.contains_key(&arrays.by_name[array.name.as_str()]);
    for array in codes {
        let scales = undecoded::companions(&arrays, array).into_iter().filter(|companion| !is_codes(companion));
        contents.parts.extend(scales.map(|companion| companion.name.clone()));
    }
    for (at, array) in file.arrays.iter().enumerate() {
        match quantised.remove(&at) {
            // Codes of one tensor can have the name of a part of another: x_scale of a tensor x_scale_scale.
            Some(tensor) if !used.contains(&array.name) => contents.tensors.push(tensor),
            _ if used.contains(&array.name) || !array.complete => {}
            _ => contents.tensors.push(plain(at, array)),
        }
    }
    contents.tensors.sort_by(|x, y| x.name.cmp(&y.name));
    Ok(contents)
}

/// Adds doubts of tensors that do not fit the description; returns a note if no layout has its method.
fn described(quantised: &mut BTreeMap<usize, CheckpointTensor>, layouts: &[Layout], config: &Config) -> Option<String> {
    let is_named = |layout: &&Layout| !layout.config.is_empty() && named(layout, config);
    let described: Vec<&str> = layouts.iter().filter(is_named).map(|layout| layout.name.as_str()).collect();
    let method = config.method();
    if !described.is_empty() {
        for tensor in quantised.values_mut().filter(|tensor| tensor.named_by == "names" && tensor.is_decoded()) {
            let words = described.join(" or ");
            tensor.doubts.push(format!("{} names {words}, which these arrays do not fit", config.file()));
        }
        return None;
    }
    let method = method?;
    // A layout of the method needs more keys than the description has, or the tensors have its name.
    let has_method = |name: &String| {
        let layout = layouts.iter().find(|layout| layout.name == *name);
        layout.map_or(name == method, |layout| layout.config.values().any(|value| value.eq_ignore_ascii_case(method)))
    };
    let is_read = quantised.values().any(|tensor| tensor.named_by == "config" || tensor.layouts.iter().any(has_method));
    let what = if undecoded::is_known(method) { "which is not decoded" } else { "which no layout has" };
    (!is_read).then(|| format!("{} names '{method}', {what}.", config.file()))
}

/// True if the description names the layout.
fn named(layout: &Layout, config: &Config) -> bool {
    layout.config.iter().all(|(key, value)| config.says(key, value))
}

/// The tensor by the layouts that fit: those that the description or the metadata name, if any.
fn chosen(mut fits: Vec<Fit>, given: bool, config: Option<&Config>) -> Option<CheckpointTensor> {
    let by_config = |fit: &Fit| config.is_some_and(|config| !fit.layout.config.is_empty() && named(fit.layout, config));
    let by_metadata = |fit: &Fit| !fit.layout.metadata.is_empty();
    let mut named_by = if given { "‹layout›" } else { "names" };
    if !given && fits.iter().any(by_config) {
        named_by = "config";
        fits.retain(by_config);
    } else if !given && fits.iter().any(by_metadata) {
        named_by = "metadata";
        fits.retain(by_metadata);
    }
    let mut fits = fits.into_iter();
    let mut tensor = fits.next()?.tensor;
    for other in fits {
        match other.tensor.content == tensor.content && other.tensor.shape == tensor.shape {
            true => tensor.layouts.push(other.layout.name.clone()),
            false => tensor.doubts.push(format!("nothing decides: {} fits too", other.layout.name)),
        }
    }
    // The types of GGUF are layouts themselves.
    if tensor.named_by != "type" || named_by != "names" {
        tensor.named_by = named_by;
    }
    Some(tensor)
}

/// An array that is a tensor by itself.
fn plain(at: usize, array: &StreamedArray) -> CheckpointTensor {
    let content = match ElementReader::of(array.kind) {
        Ok(_) => TensorContent::Plain(at),
        Err(error) => TensorContent::Opaque { stored: array.kind.type_name(), why: error.to_string() },
    };
    CheckpointTensor {
        name: array.name.clone(),
        shape: array.shape.clone(),
        read_shape: array.shape.clone(),
        layouts: Vec::new(),
        named_by: "type",
        arrays: vec![array.name.clone()],
        bytes: array.data.1,
        doubts: Vec::new(),
        content,
    }
}

/// A tensor by a layout: none if names or types are others; else the part that does not fit.
type Fitted = std::result::Result<Option<CheckpointTensor>, Misfit>;

fn fit(arrays: &Arrays, at: usize, array: &StreamedArray, layout: &Layout, config: Option<&Config>) -> Result<Fitted> {
    match &layout.storage {
        Storage::Blocks { stored, length, bytes, codes_at, scale_at, scale } => {
            let Some(format) = layout.codes.format.filter(|_| array.kind.type_name() == *stored) else {
                return Ok(Ok(None));
            };
            let of = Matrices::of(&array.shape);
            if !of.columns.is_multiple_of(*length) || array.data.1 != (array.len() / length * bytes) as u64 {
                return Ok(Err(Misfit::Shape(format!("rows are no whole blocks of {length}"))));
            }
            let sharing = Sharing::Block(1, *length);
            let place = ScalePlace::Inside { length: *length, bytes: *bytes, codes_at: *codes_at, scale_at: *scale_at };
            let content = TensorContent::Quantised(Quantised {
                codes: at,
                row_bytes: of.columns / length * bytes,
                format,
                offset: layout.codes.offset,
                exponent: layout.codes.exponent,
                place,
                scale_format: scale,
                signed: layout.signed_scales,
                sharing,
                scales: array.len() / length,
                global: Vec::new(),
                zero: None,
                reading: Reading { packing: layout.codes.packing, swizzled: false, global: None },
                either_order: false,
            });
            let plain = plain(at, array);
            Ok(Ok(Some(CheckpointTensor { layouts: vec![layout.name.clone()], named_by: "type", content, ..plain })))
        }
        Storage::Arrays(parts) => {
            let metadata = &arrays.file.metadata;
            if layout.metadata.iter().any(|(key, value)| metadata.get(key) != Some(value)) {
                return Ok(Ok(None));
            }
            ArraysFit { arrays, layout, parts, codes: &layout.codes, at, array, config }.fit()
        }
    }
}

/// The parts of a tensor in arrays of their own.
struct ArraysFit<'a, 'l> {
    arrays: &'a Arrays<'a>,
    layout: &'l Layout,
    parts: &'l ArrayParts,
    codes: &'l Codes,
    /// Number of the array.
    at: usize,
    array: &'a StreamedArray,
    config: Option<&'a Config>,
}

impl<'a> ArraysFit<'a, '_> {
    fn fit(&self) -> Result<Fitted> {
        let (at, array) = (self.at, self.array);
        let Some(stem) = self.parts.codes.stem(&array.name) else { return Ok(Ok(None)) };
        let stored = array.kind.type_name();
        if !self.parts.codes.takes(&stored) {
            return Ok(Ok(None));
        }
        let part = |name: &str| self.arrays.get(&with_stem(name, stem));
        let global = self.parts.global.as_ref().map(|(expected, used)| (expected, *used, part(&expected.name)));
        let Some((scale_at, scales)) = part(&self.parts.scale.name) else {
            // A plain array of the type of codes is no tensor that lacks its scales.
            let other = global.as_ref().is_some_and(|(_, _, entry)| entry.is_some());
            let lacks = other || !self.parts.codes.is_common();
            let name = with_stem(&self.parts.scale.name, stem);
            return Ok(if lacks {
                Err(Misfit::Missing(format!("the array '{name}' with its scales is missing")))
            } else {
                Ok(None)
            });
        };
        let scale_stored = scales.kind.type_name();
        if !self.parts.scale.takes(&scale_stored) {
            return Ok(match self.parts.codes.is_common() {
                true => Ok(None),
                false => Err(Misfit::Type(format!(
                    "'{}' has the type {scale_stored}, and scales have {}",
                    scales.name,
                    self.parts.scale.stored.join(" or ")
                ))),
            });
        }
        let mut names = vec![array.name.clone(), scales.name.clone()];
        let global = match global {
            None => None,
            Some((_, used, Some((_, scale)))) => Some((used, scale)),
            Some((expected, _, None)) => {
                let name = with_stem(&expected.name, stem);
                return Ok(Err(Misfit::Missing(format!("the array '{name}' with its global scale is missing"))));
            }
        };
        names.extend(global.iter().map(|(_, scale)| scale.name.clone()));
        let all = [Some(scales), global.map(|(_, scale)| scale)];
        if let Some(cut) = all.into_iter().flatten().find(|candidate| !candidate.complete) {
            return Ok(Err(Misfit::Shape(format!("'{}': {TRUNCATED}", cut.name))));
        }
        let unsupported =
            self.parts.unsupported.iter().find_map(|name| part(name)).map(|(_, companion)| companion.name.clone());
        let shape = match self.shape(stem)? {
            Ok(shape) => shape,
            Err(what) => return Ok(Err(Misfit::Shape(what))),
        };
        let shapes = self.parts.shape.iter().filter_map(|name| part(name));
        names.extend(shapes.map(|(_, companion)| companion.name.clone()));
        let zero = self
            .parts
            .zero
            .as_ref()
            .and_then(|expected| part(&expected.name).filter(|(_, zeros)| expected.takes(&zeros.kind.type_name())));
        names.extend(zero.iter().map(|(_, zeros)| zeros.name.clone()));
        names.extend(unsupported.clone());
        let bytes =
            names.iter().filter_map(|name| self.arrays.get(name)).map(|(_, named_array)| named_array.data.1).sum();
        let name = with_stem(&self.parts.tensor, stem);
        let mut tensor = CheckpointTensor {
            shape: original_shape(&self.arrays.file.metadata, &name, &shape).unwrap_or_else(|| shape.clone()),
            name,
            read_shape: shape,
            layouts: vec![self.layout.name.clone()],
            named_by: "names",
            arrays: names,
            bytes,
            doubts: Vec::new(),
            content: TensorContent::Opaque { stored: stored.clone(), why: String::new() },
        };
        if let Some(name) = unsupported {
            let why = format!("'{name}' changes the meaning of codes or scales, which is not decoded");
            tensor.content = TensorContent::Opaque { stored, why };
            return Ok(Ok(Some(tensor)));
        }
        let of = Matrices::of(&tensor.read_shape);
        let (sharing, swizzled, either_order) = match self.sharing(&tensor.read_shape, scales, &mut tensor.doubts) {
            Ok(sharing) => sharing,
            Err(what) => return Ok(Err(Misfit::Shape(what))),
        };
        let global_values = match global {
            None => Vec::new(),
            Some((_, scale)) => match self.global(scale, of)? {
                Ok(values) => values,
                Err(what) => return Ok(Err(Misfit::Shape(what))),
            },
        };
        if let Some((_, zeros)) = zero.filter(|(_, zeros)| zeros.len() != scales.len() || !zeros.complete) {
            let what = format!("'{}' has the shape {:?}, and its scales {:?}", zeros.name, zeros.shape, scales.shape);
            return Ok(Err(Misfit::Shape(what)));
        }
        let zero_format = |zeros: &StreamedArray| match zeros.kind {
            Content::Format(format) => format,
            _ => format_of("s8").expect("a format of the table"),
        };
        let (Some(format), Some(scale_format)) =
            (format_or_stored(self.codes.format, array.kind), format_or_stored(self.parts.scale_format, scales.kind))
        else {
            return Ok(Err(Misfit::Type("its types name no format, and neither does the layout".into())));
        };
        let rows = of.count * of.rows;
        tensor.content = TensorContent::Quantised(Quantised {
            codes: at,
            row_bytes: (array.data.1 as usize).checked_div(rows).unwrap_or(0),
            format,
            offset: self.codes.offset,
            exponent: self.codes.exponent,
            place: ScalePlace::Array(scale_at),
            scale_format,
            signed: self.layout.signed_scales,
            sharing,
            scales: scales.len(),
            global: global_values,
            zero: zero.map(|(at, zeros)| (at, zero_format(zeros))),
            reading: Reading { packing: self.packing(), swizzled, global: global.map(|(used, _)| used) },
            either_order,
        });
        Ok(Ok(Some(tensor)))
    }

    /// Places of the codes: the layout's, but for types whose elements share bytes.
    fn packing(&self) -> Packing {
        if self.array.is_packed() { Packing::LowFirst } else { self.codes.packing }
    }

    /// The shape of the values.
    fn shape(&self, stem: &str) -> Result<std::result::Result<Vec<usize>, String>> {
        let array = self.array;
        let mut shape = array.shape.clone();
        if self.parts.flatten {
            let (Some(last), Some(before)) = (shape.pop(), shape.pop()) else {
                return Ok(Err(format!(
                    "'{}' has the shape {:?}, and codes have two dimensions or more",
                    array.name, array.shape
                )));
            };
            let Some(both) = last.checked_mul(before) else {
                return Ok(Err(format!("the extents {before} and {last} of '{}' are too large", array.name)));
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
                return Ok(Err(format!("the last extent of '{}' is too large", array.name)));
            };
            *last = all / bits;
        } else if bits.is_some() {
            return Ok(Err(format!("'{}' is a single number, and codes have a row", array.name)));
        }
        let written = match self.written_shape(stem)? {
            None => return Ok(Ok(shape)),
            Some(Err(what)) => return Ok(Err(what)),
            Some(Ok(written)) => written,
        };
        let packed = |row: usize| row.checked_mul(bits.unwrap_or(8)).map(|all| all.div_ceil(stored));
        if written.is_empty() && array.len() == 1 {
            return Ok(Ok(written));
        }
        let needed = written.split_last().and_then(|(last, leading)| Some((leading.to_vec(), packed(*last)?)));
        let expected = array.shape.split_last().map(|(last, leading)| (leading.to_vec(), *last));
        match needed == expected && written.iter().all(|extent| *extent <= LARGEST_EXTENT) {
            true => Ok(Ok(written)),
            false => Ok(Err(format!(
                "'{}' has the shape {:?}, which does not hold {written:?} values of {} bits",
                array.name,
                array.shape,
                bits.unwrap_or(8)
            ))),
        }
    }

    /// The shape that an array or the metadata hold.
    fn written_shape(&self, stem: &str) -> Result<Option<std::result::Result<Vec<usize>, String>>> {
        if let Some(text) =
            self.parts.shape_metadata.as_ref().and_then(|key| self.arrays.file.metadata.get(&with_stem(key, stem)))
        {
            let extents: Option<Vec<usize>> = match text.as_str() {
                "" => Some(Vec::new()),
                text => text.split(',').map(|extent| extent.parse().ok()).collect(),
            };
            return Ok(Some(extents.ok_or_else(|| format!("its shape in the metadata, '{text}', is none"))));
        }
        let Some((_, array)) = self.parts.shape.as_ref().and_then(|name| self.arrays.get(&with_stem(name, stem)))
        else {
            return Ok(None);
        };
        let wrong = || format!("'{}' holds no shape", array.name);
        if array.len() > 8 || !array.complete {
            return Ok(Some(Err(wrong())));
        }
        let mut extents = Vec::new();
        let read = ElementReader::of(array.kind).and_then(|elements| {
            let mut bytes = vec![0; array.len() * elements.width()];
            self.arrays.file.read(array, 0, &mut bytes)?;
            elements.read(&bytes, &mut extents).map_err(|_| Error::request(wrong()))
        });
        if read.is_err() {
            return Ok(Some(Err(wrong())));
        }
        let integer =
            |extent: &f64| (extent.fract() == 0.0 && (0.0..9e15).contains(extent)).then_some(*extent as usize);
        let extents: Option<Vec<usize>> = extents.iter().map(integer).collect();
        Ok(Some(extents.ok_or_else(wrong)))
    }

    /// The values that share a scale; true if scales are swizzled; true if the shape allows both orders.
    fn sharing(
        &self,
        shape: &[usize],
        scales: &StreamedArray,
        doubts: &mut Vec<String>,
    ) -> std::result::Result<(Sharing, bool, bool), String> {
        let of = Matrices::of(shape);
        let Some(sharing) = self.parts.block else {
            if let Some(sharing) = self.described_block(of, shape, scales) {
                return Ok((sharing, false, false));
            }
            let likely = Sharing::inferred(of, shape, &scales.shape);
            let named = self.config.and_then(|config| likely.iter().find(|sharing| config.names_block(**sharing)));
            return match (named, likely.as_slice()) {
                (Some(named), _) => Ok((*named, false, false)),
                (None, [one]) => Ok((*one, false, false)),
                (None, [first, others @ ..]) => {
                    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
                    doubts.push(format!("nothing decides the blocks: {first} and {} fit the shape", others.join(", ")));
                    Ok((*first, false, false))
                }
                (None, []) => Err(format!(
                    "'{}' has the shape {:?}, which fits no blocks of the shape {shape:?} (one scale, one for each row, or a grid)",
                    scales.name, scales.shape
                )),
            };
        };
        // A description may name other blocks than the layout's usual ones.
        let sharing = match (sharing, self.config) {
            (Sharing::Block(rows, _), Some(_)) if rows > 1 => {
                self.described_block(of, shape, scales).unwrap_or(sharing)
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
        let last = scales.shape.last().copied().unwrap_or(1);
        let in_rows = Some(scales.len()) == needed && (last == columns || sharing == Sharing::Tensor);
        let in_tiles = Some(scales.len()) == tiles;
        match (in_rows, in_tiles) {
            (true, both) => Ok((sharing, false, both)),
            (false, true) => Ok((sharing, true, false)),
            (false, false) => {
                let leading = &shape[..shape.len().saturating_sub(2)];
                let expected = leading.iter().copied().chain([rows, columns]).collect::<Vec<usize>>();
                let padded = tiles.map_or(String::new(), |count| format!(", or {count} in tiles"));
                let inferred = Sharing::inferred(of, shape, &scales.shape);
                let inferred = inferred.first().map_or(String::new(), |other| format!(", the shape for {other}"));
                Err(format!(
                    "values of the shape {shape:?} in blocks of {sharing} need scales of the shape {expected:?}{padded}; '{}' has {:?}{inferred}",
                    scales.name, scales.shape
                ))
            }
        }
    }

    /// The blocks that the description of the model names, if the scales have the shape for them.
    fn described_block(&self, of: Matrices, shape: &[usize], scales: &StreamedArray) -> Option<Sharing> {
        let (leading, grid) = scales.shape.split_at_checked(shape.len().checked_sub(2)?)?;
        let fits = |sharing: &Sharing| {
            let (rows, columns) = sharing.grid(of);
            leading == &shape[..shape.len() - 2] && grid == [rows, columns]
        };
        self.config?.blocks().into_iter().find(fits)
    }

    /// The values of the global scale.
    fn global(&self, array: &StreamedArray, of: Matrices) -> Result<std::result::Result<Vec<f64>, String>> {
        let Some((expected, _)) = &self.parts.global else { return Ok(Ok(Vec::new())) };
        if !expected.takes(&array.kind.type_name()) {
            return Ok(Err(format!(
                "'{}' has the type {}, and global scales have {}",
                array.name,
                array.kind.type_name(),
                expected.stored.join(" or ")
            )));
        }
        if (array.len() != 1 && array.len() != of.count) || array.len() > MOST_GLOBAL_SCALES {
            return Ok(Err(format!(
                "'{}' has the shape {:?}, and a global scale is one number",
                array.name, array.shape
            )));
        }
        let elements = ElementReader::of(array.kind)?;
        let mut bytes = vec![0; array.len() * elements.width()];
        self.arrays.file.read(array, 0, &mut bytes)?;
        let mut values = Vec::new();
        let read = elements.read(&bytes, &mut values);
        Ok(read.map(|()| values).map_err(|_| format!("'{}' holds a code with more bits than its format", array.name)))
    }
}

/// The format of a layout, or else of the array.
fn format_or_stored(given: Option<&'static Format>, kind: Content) -> Option<&'static Format> {
    match (given, kind) {
        (Some(format), _) => Some(format),
        (None, Content::Format(format)) => Some(format),
        _ => None,
    }
}
