//! Finding the layout of every tensor by names, types, shapes and the model's description.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    config::Config,
    converted::is_converted,
    fit::{Misfit, fit},
    ignored,
    layout::{Layout, Storage, with_stem},
    tensor::{CheckpointTensor, TensorContent},
    undecoded,
};
use crate::{
    Result,
    array::{ArrayFile, StreamedArray},
    base::visible::one_line,
    tensor::{ElementReader, Matrices, Sharing},
};

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

/// Beginning of a doubt between layouts that fit the same arrays.
pub const NOTHING_DECIDES: &str = "nothing decides:";
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
    pub(super) file: &'a ArrayFile,
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
            None if !misfits.is_empty() => {
                let is_named =
                    |layout: &&str| layouts.iter().any(|one| one.name == **layout && by_description(one, config));
                if misfits.iter().any(|(_, layout)| is_named(layout)) {
                    misfits.retain(|(_, layout)| is_named(layout));
                }
                contents.misfits.push((array.name.clone(), one_line(&nearest(&misfits))));
            }
            None => {}
        }
    }
    if !given {
        let converted = |name: &str| is_converted(&file.metadata, name);
        let misfits: BTreeMap<String, String> = contents.misfits.iter().cloned().collect();
        for (at, array) in file.arrays.iter().enumerate() {
            let name = array.name.as_str();
            let is_read = quantised.contains_key(&at) || used.contains(name);
            let misfit = misfits.get(name).map(String::as_str);
            if !(is_read || converted(name) || misfit == Some(TRUNCATED))
                && let Some(tensor) = undecoded::tensor(&arrays, array, &used, config, misfit)
            {
                contents.misfits.retain(|(other, _)| other != name);
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
    doubt_lone_scales(&mut contents.tensors, &arrays, layouts);
    if let Some(config) = config.filter(|_| !given) {
        ignored::doubt(&mut contents.tensors, file, config);
    }
    Ok(contents)
}

/// Adds doubts of tensors that do not fit the description; returns a note if no layout has its method.
fn described(quantised: &mut BTreeMap<usize, CheckpointTensor>, layouts: &[Layout], config: &Config) -> Option<String> {
    let is_named = |layout: &&Layout| by_description(layout, Some(config));
    let described: Vec<&str> = layouts.iter().filter(is_named).map(|layout| layout.name.as_str()).collect();
    let method = config.method();
    let by_config = quantised.values_mut().filter(|tensor| tensor.named_by == "config");
    by_config.for_each(|tensor| doubt_lengths(tensor, config));
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

/// Adds a doubt to scales of weights whose codes are not in the file, under any layout.
fn doubt_lone_scales(tensors: &mut [CheckpointTensor], arrays: &Arrays, layouts: &[Layout]) {
    let parts = layouts.iter().filter_map(|layout| match &layout.storage {
        Storage::Arrays(parts) if parts.scale.name.contains("weight") => Some(parts),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    for tensor in tensors.iter_mut().filter(|tensor| matches!(tensor.content, TensorContent::Plain(_))) {
        let stems = parts.iter().filter_map(|parts| Some((parts, parts.scale.stem(&tensor.name)?)));
        let mut codes = stems.map(|(parts, stem)| arrays.get(&with_stem(&parts.codes.name, stem)).is_some()).peekable();
        if codes.peek().is_some() && !codes.any(|is_there| is_there) {
            tensor
                .doubts
                .push("the codes of these scales are not here: they are missing, or lie in another file".into());
        }
    }
}

/// True if there is a description, and it names the layout.
fn by_description(layout: &Layout, config: Option<&Config>) -> bool {
    let says = |config: &Config| layout.config.iter().all(|(key, value)| config.says(key, value));
    !layout.config.is_empty() && config.is_some_and(says)
}

/// Adds a doubt to a tensor whose codes or blocks have other lengths than the description says.
fn doubt_lengths(tensor: &mut CheckpointTensor, config: &Config) {
    let Some(quantised) = tensor.quantised() else { return };
    let columns = Matrices::of(&tensor.read_shape).columns;
    let group = match quantised.sharing {
        Sharing::Block(1, length) if length < columns => Some(length as u64),
        _ => None,
    };
    let lengths = [
        ("bits of codes", config.bits(), Some(u64::from(quantised.format.bits))),
        ("values in a group", config.groups(), group),
    ];
    for (what, described, found) in lengths {
        if let (Some(held), false) = (found.filter(|held| !described.contains(held)), described.is_empty()) {
            let described: Vec<String> = described.iter().map(u64::to_string).collect();
            tensor.doubts.push(format!(
                "{} says {} {what}, and the arrays have {held}",
                config.file(),
                described.join(" or ")
            ));
        }
    }
}

/// The tensor by the layouts that fit: those that the description or the metadata name, if any.
fn chosen(mut fits: Vec<Fit>, given: bool, config: Option<&Config>) -> Option<CheckpointTensor> {
    let by_config = |fit: &Fit| by_description(fit.layout, config);
    let by_metadata = |fit: &Fit| !fit.layout.metadata.is_empty();
    let mut named_by = if given { "‹layout›" } else { "names" };
    if !given && fits.iter().any(by_config) {
        named_by = "config";
        // The layout that needs more of the description is the one that it names.
        let keys = |fit: &Fit| fit.layout.config.len();
        let most = fits.iter().filter(|fit| by_config(fit)).map(keys).max().unwrap_or(0);
        fits.retain(|fit| by_config(fit) && keys(fit) == most);
    } else if !given && fits.iter().any(by_metadata) {
        named_by = "metadata";
        fits.retain(by_metadata);
    }
    // A layout that has a place for more of the arrays is nearer.
    let arrays = fits.iter().map(|fit| fit.tensor.arrays.len()).max()?;
    let mut fits = fits.into_iter().filter(|fit| fit.tensor.arrays.len() == arrays);
    let mut tensor = fits.next()?.tensor;
    for other in fits {
        match other.tensor.content == tensor.content && other.tensor.shape == tensor.shape {
            true => tensor.layouts.push(other.layout.name.clone()),
            false => tensor.doubts.push(format!("{NOTHING_DECIDES} {} fits too", other.layout.name)),
        }
    }
    // The types of GGUF are layouts themselves.
    if tensor.named_by == "names" || named_by != "names" {
        tensor.named_by = named_by;
    }
    Some(tensor)
}

/// An array that is a tensor by itself.
pub(super) fn plain(at: usize, array: &StreamedArray) -> CheckpointTensor {
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
