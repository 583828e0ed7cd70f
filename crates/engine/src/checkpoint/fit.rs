//! Fitting the arrays of a file to a layout.

use super::{
    blocks::BlockParts,
    config::Config,
    find::{Arrays, TRUNCATED, plain},
    layout::{ArrayPart, ArrayParts, Codes, Layout, Storage, ZeroPart, with_stem},
    packing::Packing,
    plane::Plane,
    tensor::{CheckpointTensor, NestedScales, Quantised, Reading, ScalePlace, TensorContent, ZeroPoints},
};
use crate::{
    Error, Result,
    array::{Content, StreamedArray},
    format::{Format, find as format_of},
    tensor::{ElementReader, Matrices, Sharing, original_shape},
};

/// Most global scales: one for each expert.
const MOST_GLOBAL_SCALES: usize = 1 << 16;
/// Most numbers of a part that is read whole: a table of values, or scales of scales.
const MOST_NUMBERS: usize = 1 << 24;

/// Why the arrays of a tensor do not fit a layout; the later, the nearer they come to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misfit {
    /// An array has another type.
    Type(String),
    /// An array is missing.
    Missing(String),
    /// An array has another shape, or is incomplete.
    Shape(String),
}

impl Misfit {
    pub(super) fn words(&self) -> &str {
        match self {
            Misfit::Type(words) | Misfit::Missing(words) | Misfit::Shape(words) => words,
        }
    }

    pub(super) fn is_as_near(&self, other: &Misfit) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Why there is no tensor: a misfit, none if names or types are others, or a file that cannot be read.
pub(super) enum Unfit {
    Other,
    Misfit(Misfit),
    Error(Error),
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Unfit {
        Unfit::Error(error)
    }
}

impl From<Misfit> for Unfit {
    fn from(misfit: Misfit) -> Unfit {
        Unfit::Misfit(misfit)
    }
}

pub(super) type Fitting<T> = std::result::Result<T, Unfit>;

/// A misfit of the shape.
pub(super) fn misshapen<T>(what: impl Into<String>) -> Fitting<T> {
    Err(Misfit::Shape(what.into()).into())
}

/// A misfit of the shape of an array.
pub(super) fn wrong_shape<T>(array: &StreamedArray, what: impl std::fmt::Display) -> Fitting<T> {
    misshapen(format!("'{}' has the shape {:?}, {what}", array.name, array.shape))
}

/// A tensor by a layout: none if names or types are others; else the part that does not fit.
pub(super) type Fitted = std::result::Result<Option<CheckpointTensor>, Misfit>;

/// The tensor that an array belongs to by a layout.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn fit(
    arrays: &Arrays,
    at: usize,
    array: &StreamedArray,
    layout: &Layout,
    config: Option<&Config>,
) -> Result<Fitted> {
    let mut outcome = match &layout.storage {
        Storage::Blocks(block) => of_blocks(at, array, layout, block),
        Storage::Arrays(parts) => {
            let metadata = &arrays.file.metadata;
            if layout.metadata.iter().any(|(key, value)| metadata.get(key) != Some(value)) {
                return Ok(Ok(None));
            }
            let tensor = |codes: &Codes| ArraysFit { arrays, layout, parts, codes, at, array, config }.fit();
            let first = tensor(&layout.codes);
            // Codes of other formats have other shapes, or an array says how many bits they have.
            let is_doubted = |fitted: &Fitting<CheckpointTensor>| match fitted {
                Ok(tensor) => parts.bits.is_some() && !tensor.doubts.is_empty(),
                Err(unfit) => matches!(unfit, Unfit::Misfit(_)),
            };
            let mut others = layout
                .codes
                .others
                .iter()
                .filter(|_| is_doubted(&first))
                .map(|format| tensor(&Codes { format: Some(format), ..layout.codes.clone() }));
            let is_better = |other: &Fitting<CheckpointTensor>| match (&first, other) {
                (Ok(_), other) => other.is_ok() && !is_doubted(other),
                (Err(_), other) => !matches!(other, Err(Unfit::Misfit(_))),
            };
            others.find(is_better).unwrap_or(first)
        }
    };
    if let Ok(tensor) = &mut outcome {
        tensor.layouts = vec![layout.name.clone()];
    }
    match outcome {
        Ok(tensor) => Ok(Ok(Some(tensor))),
        Err(Unfit::Other) => Ok(Ok(None)),
        Err(Unfit::Misfit(misfit)) => Ok(Err(misfit)),
        Err(Unfit::Error(error)) => Err(error),
    }
}

/// A tensor whose blocks have their scales inside.
fn of_blocks(
    at: usize,
    array: &StreamedArray,
    layout: &Layout,
    block: &std::sync::Arc<BlockParts>,
) -> Fitting<CheckpointTensor> {
    let (length, bytes) = (block.length, block.bytes);
    let Some(format) = layout.codes.format.filter(|_| array.kind.type_name() == block.stored) else {
        return Err(Unfit::Other);
    };
    let of = Matrices::of(&array.shape);
    if !of.columns.is_multiple_of(length) || array.data.1 != (array.len() / length * bytes) as u64 {
        return misshapen(format!("rows are no whole blocks of {length}"));
    }
    let shared = block.shared(&block.scale);
    let content = TensorContent::Quantised(Quantised {
        row_bytes: of.columns / length * bytes,
        place: ScalePlace::Inside(block.clone()),
        scale_format: block.scale.parts.as_ref().map_or(block.scale.format, |parts| parts.format),
        scales: array.len() / shared,
        ..Quantised::new(at, format, layout, Sharing::Block(1, shared))
    });
    Ok(CheckpointTensor { named_by: "type", content, ..plain(at, array) })
}

impl Quantised {
    /// Codes of a layout without what arrays of their own hold.
    fn new(codes: usize, format: &'static Format, layout: &Layout, sharing: Sharing) -> Quantised {
        Quantised {
            codes,
            row_bytes: 0,
            format,
            offset: layout.codes.offset,
            exponent: layout.codes.exponent,
            place: ScalePlace::Array(codes),
            scale_format: format,
            signed: layout.signed_scales,
            sharing,
            scales: 0,
            global: Vec::new(),
            zero: None,
            code_plane: None,
            scale_plane: None,
            values: None,
            factor: None,
            index: None,
            nested: None,
            strided: false,
            reading: Reading { packing: layout.codes.packing, swizzled: false, global: None },
            either_order: false,
        }
    }
}

/// The parts of a tensor in arrays of their own.
pub(super) struct ArraysFit<'a, 'l> {
    pub(super) arrays: &'a Arrays<'a>,
    pub(super) layout: &'l Layout,
    pub(super) parts: &'l ArrayParts,
    pub(super) codes: &'l Codes,
    /// Number of the array.
    pub(super) at: usize,
    pub(super) array: &'a StreamedArray,
    pub(super) config: Option<&'a Config>,
}

/// The array of a part, and its number.
type Part<'a> = (usize, &'a StreamedArray);

impl<'a> ArraysFit<'a, '_> {
    fn fit(&self) -> Fitting<CheckpointTensor> {
        let (at, array, parts) = (self.at, self.array, self.parts);
        let Some(stem) = parts.codes.stem(&array.name) else { return Err(Unfit::Other) };
        let stored = array.kind.type_name();
        if !parts.codes.takes(&stored) {
            return Err(Unfit::Other);
        }
        let part = |name: &str| self.arrays.get(&with_stem(name, stem));
        if parts.needs.iter().any(|name| part(name).is_none()) {
            return Err(Unfit::Other);
        }
        let of_part = |expected: &ArrayPart| part(&expected.name);
        let takes = |expected: &ArrayPart| of_part(expected).filter(|(_, at)| expected.takes(&at.kind.type_name()));
        let global = parts.global.as_ref().map(|(expected, used)| (expected, *used, of_part(expected)));
        let has_zeros = parts.zero.as_ref().is_some_and(|zero| takes(&zero.part).is_some());
        let has_others = has_zeros || global.as_ref().is_some_and(|(.., entry)| entry.is_some());
        let (scale_at, scales) = self.scales(stem, has_others)?;
        let state = parts.state.as_ref().map(|state| self.state(state, stem)).transpose()?;
        let global = match global {
            None => None,
            Some((_, used, Some((_, scale)))) => Some((used, scale)),
            Some((expected, _, None)) => return self.missing(expected, stem, "global scale"),
        };
        let zero = parts.zero.as_ref().map(|zero| (zero, takes(&zero.part)));
        if let Some((ZeroPart { part, needed: true, .. }, None)) = zero {
            return self.missing(part, stem, "zero points");
        }
        let zero = zero.and_then(|(zero, at)| Some((zero, at?)));
        let index = parts.index.as_ref().and_then(takes);
        let nested = parts.nested.as_ref().and_then(|nested| takes(&nested.scale));
        let values = parts.values.iter().filter_map(|name| part(name));
        let nested_values = parts.nested.iter().filter(|_| nested.is_some()).filter_map(|nested| part(&nested.values));
        // The arrays that have numbers of the tensor; then those that describe it.
        let mut needed: Vec<Part> = vec![(scale_at, scales)];
        needed.extend(global.and_then(|(_, scale)| self.arrays.get(&scale.name)));
        needed.extend(zero.map(|(_, zeros)| zeros).into_iter().chain(index).chain(nested));
        needed.extend(values.chain(nested_values));
        if let Some((_, cut)) = needed.iter().find(|(_, candidate)| !candidate.complete) {
            return misshapen(format!("'{}': {TRUNCATED}", cut.name));
        }
        let unsupported = parts.unsupported.iter().find_map(|name| part(name)).map(|(_, other)| other.name.clone());
        let mut doubts = Vec::new();
        let shape = self.shape(stem, state.as_ref(), index.map(|(_, index)| index.len()))?;
        let described = parts
            .shape
            .iter()
            .chain(parts.state.as_ref().map(|state| &state.name))
            .chain(&parts.needs)
            .chain(&parts.also);
        let mut names = vec![array.name.clone()];
        names.extend(needed.iter().map(|(_, other)| other.name.clone()));
        names.extend(described.filter_map(|name| part(name)).map(|(_, other)| other.name.clone()));
        names.extend(unsupported.clone());
        let bytes = names.iter().filter_map(|name| self.arrays.get(name)).map(|(_, other)| other.data.1).sum();
        let name = with_stem(&parts.tensor, stem);
        let tensor = |read_shape: Vec<usize>, doubts: Vec<String>, content: TensorContent| CheckpointTensor {
            shape: original_shape(&self.arrays.file.metadata, &name, &shape).unwrap_or_else(|| shape.clone()),
            name: name.clone(),
            read_shape,
            layouts: Vec::new(),
            // The arrays of the tensor have its description.
            named_by: if state.is_some() { "metadata" } else { "names" },
            arrays: names.clone(),
            bytes,
            doubts,
            content,
        };
        if let Some(name) = unsupported {
            let why = format!("'{name}' changes the meaning of codes or scales, which is not decoded");
            return Ok(tensor(shape.clone(), doubts, TensorContent::Opaque { stored, why }));
        }
        let (Some(format), Some(scale_format)) =
            (format_or_stored(self.codes.format, array.kind), format_or_stored(parts.scale_format, scales.kind))
        else {
            return Err(Misfit::Type("its types name no format, and neither does the layout".into()).into());
        };
        let mut quantised = Quantised::new(at, format, self.layout, Sharing::Tensor);
        let mut read_shape = shape.clone();
        if parts.places.flat {
            (quantised.sharing, quantised.strided) = self.flat(&mut read_shape, format, scales, state.as_ref())?;
        } else {
            let transposed = parts.places.scales_transposed;
            let of_scales = scales.shape.iter().copied();
            let of_scales: Vec<usize> = if transposed { of_scales.rev().collect() } else { of_scales.collect() };
            (quantised.sharing, quantised.reading.swizzled, quantised.either_order) =
                self.sharing(&shape, (scales, &of_scales), &mut doubts)?;
            if index.is_some() {
                doubts.clear();
            }
        }
        let of = Matrices::of(&read_shape);
        quantised.global = match global {
            None => Vec::new(),
            Some((_, scale)) => self.global(scale, of)?,
        };
        let grid = quantised.sharing.grid(of);
        let packed = format.bits as usize;
        if parts.places.transposed || parts.places.down {
            let places = (parts.places.transposed, parts.places.down);
            quantised.code_plane = Some(plane((at, array), (of.rows, of.columns), places, (self.packing(), packed))?);
        }
        let transposed = parts.places.scales_transposed && quantised.sharing != Sharing::Tensor;
        quantised.scale_plane = Some(match transposed {
            true => plane((scale_at, scales), grid, (true, false), (Packing::Single, 8 * scales.width))?,
            false => Plane::of_rows((scale_at, scales), grid.1),
        });
        quantised.zero = match zero {
            None => None,
            Some((part, (at, zeros))) => {
                let plain = part.packing == Packing::Single && !part.transposed;
                if plain && zeros.len() != scales.len() {
                    return wrong_shape(zeros, format!("and its scales {:?}", scales.shape));
                }
                let held = match (part.packing, zeros.kind) {
                    (Packing::Single, Content::Format(format)) => format,
                    (Packing::Single, _) => format_of("s8").expect("a format of the table"),
                    _ => format,
                };
                let bits = if part.packing == Packing::Single { 8 * zeros.width } else { packed };
                let places = (part.transposed, part.down);
                let plane = match plain {
                    true => Plane::of_rows((at, zeros), grid.1),
                    false => plane((at, zeros), grid, places, (part.packing, bits))?,
                };
                let (added, offset, other_offset) = (part.added, part.offset, part.other_offset);
                Some(ZeroPoints { format: held, added, offset, other_offset, plane })
            }
        };
        if let Some((at, index)) = index {
            if index.len() != of.columns {
                return wrong_shape(index, format!("and rows {} values", of.columns));
            }
            quantised.index = Some(at);
        }
        if let Some(name) = &parts.values {
            let Some((_, table)) = part(name) else { return self.missing_name(name, stem, "values") };
            let values = self.numbers(table)?;
            if values.len() != 1 << format.bits {
                return wrong_shape(
                    table,
                    format!("and codes of {} bits have {} values", format.bits, 1 << format.bits),
                );
            }
            quantised.values = Some(values);
        }
        if let (Some(expected), Content::Unsigned(1)) = (&parts.nested, scales.kind) {
            let Some((_, of_scales)) = nested else { return self.missing(&expected.scale, stem, "scales") };
            let Some((_, table)) = part(&expected.values) else {
                return self.missing_name(&expected.values, stem, "values");
            };
            let state = state.as_ref();
            let scales_of = NestedScales {
                values: self.numbers(table)?,
                scales: self.numbers(of_scales)?,
                block: state.and_then(|state| state.nested_block).unwrap_or(256),
                offset: state.and_then(|state| state.nested_offset).unwrap_or(0.0) as f32,
            };
            if scales_of.values.len() != 256 || scales_of.scales.len() != scales.len().div_ceil(scales_of.block) {
                return wrong_shape(of_scales, format!("and scales {:?}", scales.shape));
            }
            quantised.nested = Some(scales_of);
        }
        let described =
            parts.bits.as_ref().and_then(|name| part(name)).filter(|(_, bits)| bits.complete && bits.len() == 1);
        if let Some((_, said)) = described
            && let [bits] = self.numbers(said)?[..]
            && bits != f64::from(format.bits)
        {
            doubts.push(format!("'{}' says {bits} bits of codes, and the arrays have {}", said.name, format.bits));
        }
        let rows = of.count * of.rows;
        let content = TensorContent::Quantised(Quantised {
            row_bytes: (array.data.1 as usize).checked_div(rows).unwrap_or(0),
            place: ScalePlace::Array(scale_at),
            scale_format,
            scales: scales.len(),
            factor: parts.factor,
            reading: Reading { packing: self.packing(), global: global.map(|(used, _)| used), ..quantised.reading },
            ..quantised
        });
        Ok(tensor(read_shape, doubts, content))
    }

    /// The array of the scales.
    fn scales(&self, stem: &str, has_others: bool) -> Fitting<Part<'a>> {
        let (parts, expected) = (self.parts, &self.parts.scale);
        let Some((at, scales)) = self.arrays.get(&with_stem(&expected.name, stem)) else {
            // A plain array of the type of codes is no tensor that lacks its scales.
            return match has_others || !parts.codes.is_common() {
                true => self.missing(expected, stem, "scales"),
                false => Err(Unfit::Other),
            };
        };
        let stored = scales.kind.type_name();
        match (expected.takes(&stored), parts.codes.is_common()) {
            (true, _) => Ok((at, scales)),
            (false, true) => Err(Unfit::Other),
            (false, false) => Err(Misfit::Type(format!(
                "'{}' has the type {stored}, and scales have {}",
                scales.name,
                expected.stored.join(" or ")
            ))
            .into()),
        }
    }

    fn missing<T>(&self, part: &ArrayPart, stem: &str, what: &str) -> Fitting<T> {
        self.missing_name(&part.name, stem, what)
    }

    fn missing_name<T>(&self, name: &str, stem: &str, what: &str) -> Fitting<T> {
        Err(Misfit::Missing(format!("the array '{}' with its {what} is missing", with_stem(name, stem))).into())
    }

    /// Places of the codes: the layout's, but for types whose elements share bytes.
    pub(super) fn packing(&self) -> Packing {
        if self.array.is_packed() { Packing::LowFirst } else { self.codes.packing }
    }

    /// The numbers of an array that is read whole.
    pub(super) fn numbers(&self, array: &StreamedArray) -> Fitting<Vec<f64>> {
        if array.len() > MOST_NUMBERS || !array.complete {
            return misshapen(format!("'{}' has too many numbers, or ends early", array.name));
        }
        let elements = ElementReader::of(array.kind)?;
        let (mut bytes, mut values) = (vec![0; array.len() * elements.width()], Vec::new());
        self.arrays.file.read(array, 0, &mut bytes)?;
        match elements.read(&bytes, &mut values) {
            Ok(()) => Ok(values),
            Err(_) => misshapen(format!("'{}' holds a code with more bits than its format", array.name)),
        }
    }

    /// The values of the global scale.
    fn global(&self, array: &StreamedArray, of: Matrices) -> Fitting<Vec<f64>> {
        let Some((expected, _)) = &self.parts.global else { return Ok(Vec::new()) };
        if !expected.takes(&array.kind.type_name()) {
            return misshapen(format!(
                "'{}' has the type {}, and global scales have {}",
                array.name,
                array.kind.type_name(),
                expected.stored.join(" or ")
            ));
        }
        if (array.len() != 1 && array.len() != of.count) || array.len() > MOST_GLOBAL_SCALES {
            return wrong_shape(array, "and a global scale is one number");
        }
        self.numbers(array)
    }
}

/// A matrix of these extents in an array of the shape for it: transposed, packed down its columns.
fn plane(
    (at, array): Part,
    (rows, columns): (usize, usize),
    (transposed, down): (bool, bool),
    (packing, bits): (Packing, usize),
) -> Fitting<Plane> {
    let plane = Plane { array: at, rows, columns, transposed, down, packing, bits };
    let needed = plane.stored();
    match array.shape == needed {
        true => Ok(plane),
        false => wrong_shape(array, format!("and {rows} x {columns} numbers of {bits} bits need {needed:?}")),
    }
}

/// The format of a layout, or else of the array.
fn format_or_stored(given: Option<&'static Format>, kind: Content) -> Option<&'static Format> {
    match (given, kind) {
        (Some(format), _) => Some(format),
        (None, Content::Format(format)) => Some(format),
        (None, Content::Unsigned(1)) => format_of("u8").ok(),
        _ => None,
    }
}
