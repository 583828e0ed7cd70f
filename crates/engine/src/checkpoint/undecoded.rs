//! Quantised tensors that no layout decodes, known by names or by scales next to their codes.

use std::{collections::BTreeSet, sync::OnceLock};

use serde::Deserialize;

use super::{
    config::Config,
    find::Arrays,
    layout::{ArrayPart, with_stem},
    tensor::{CheckpointTensor, TensorContent},
};
use crate::{
    array::{Content, StreamedArray},
    format::Format,
};

const TABLE: &str = include!(concat!(env!("OUT_DIR"), "/undecoded.rs"));

/// Layout of a tensor whose scales have a name that no layout has.
const UNKNOWN: &str = "an unknown layout";
/// Elements that a word of codes holds, at most.
const PACKED: usize = 8;

/// The conventions of other programs, and the words in the names of scales.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    scales: Vec<String>,
    convention: Vec<Convention>,
}

/// A convention that is recognised and not decoded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Convention {
    name: String,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
    /// Method in the model's description.
    config: Option<String>,
    tensor: String,
    codes: String,
    #[serde(default)]
    stored: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    parts: Vec<String>,
}

fn table() -> &'static Table {
    static READ: OnceLock<Table> = OnceLock::new();
    READ.get_or_init(|| toml::from_str(TABLE).expect("tests hold the table"))
}

impl Convention {
    /// The text for `*`, if the array can hold codes of this convention.
    fn stem<'n>(&self, array: &'n StreamedArray) -> Option<&'n str> {
        let codes = ArrayPart { name: self.codes.clone(), stored: self.stored.clone() };
        let stem = codes.stem(&array.name).filter(|stem| !stem.is_empty() || self.codes != "*")?;
        (self.stored.is_empty() || codes.takes(&array.kind.type_name())).then_some(stem)
    }

    /// True if the arrays that it needs are there.
    fn is_met(&self, arrays: &Arrays, stem: &str) -> bool {
        self.needs.is_empty() || self.needs.iter().any(|name| arrays.get(&with_stem(name, stem)).is_some())
    }

    fn is_named(&self, config: Option<&Config>) -> bool {
        let says =
            |config: &Config, method: &String| config.says("quant_method", method) || config.says("quant_algo", method);
        config.zip(self.config.as_ref()).is_some_and(|(config, method)| says(config, method))
    }
}

/// True for the method of a convention of the table.
pub(super) fn is_known(method: &str) -> bool {
    table()
        .convention
        .iter()
        .any(|convention| convention.config.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(method)))
}

/// True for a name whose last part has a word that scales and zero points have.
fn is_scale_name(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name).to_ascii_lowercase();
    table().scales.iter().any(|word| last.contains(word.as_str()))
}

/// True for types of codes: integers of at most 32 bits, numbers of at most 8 bits but scales.
fn is_narrow(kind: Content) -> bool {
    match kind {
        Content::Format(Format { name: "e8m0", .. }) => false,
        Content::Format(format) if format.is_integer() => format.bits <= 32,
        Content::Format(format) => format.bits <= 8,
        Content::Unsigned(bytes) => bytes <= 4,
        Content::Other(_) => false,
    }
}

/// The names that the arrays in the module of an array begin with.
fn module(name: &str) -> Option<&str> {
    name.rfind(['.', ':', '/']).or_else(|| name.rfind('_')).map(|end| &name[..=end])
}

/// The other arrays in the module of an array, without those of modules inside it.
fn neighbours<'a>(arrays: &Arrays<'a>, array: &StreamedArray) -> Vec<&'a StreamedArray> {
    let Some(module) = module(&array.name) else { return Vec::new() };
    let is_inside = |other: &&StreamedArray| !other.name[module.len()..].contains(['.', ':', '/']);
    arrays.beginning(module).filter(|other| other.name != array.name).filter(is_inside).collect()
}

/// True for the name of codes with something after it.
fn is_after(name: &str, codes: &str) -> bool {
    name.strip_prefix(codes).is_some_and(|rest| rest.starts_with(['.', '_', ':', '/']))
}

/// Scales, zero points and tables that stand next to codes, by their names.
///
/// They have the name of the codes with something after it, or lie in the same module, under a word of scales.
pub(super) fn companions<'a>(arrays: &Arrays<'a>, codes: &StreamedArray) -> Vec<&'a StreamedArray> {
    let after = arrays.beginning(&codes.name).filter(|other| is_after(&other.name, &codes.name));
    let module = neighbours(arrays, codes).into_iter().filter(|other| !is_after(&other.name, &codes.name));
    after.chain(module).filter(|other| is_scale_name(&other.name)).collect()
}

/// True for a matrix of numbers, of which each can belong to a block of the codes.
fn has_shape_of_scales(scales: &StreamedArray, codes: &StreamedArray) -> bool {
    let is_other = scales.name.ends_with("weight") || scales.name.ends_with("bias");
    let divides = |(scale, code): (&usize, &usize)| *scale > 0 && (code * PACKED).is_multiple_of(*scale);
    !is_other
        && scales.kind.is_floating()
        && scales.shape.len() > 1
        && scales.shape.len() == codes.shape.len()
        && 2 * scales.len() <= codes.len()
        && scales.shape.iter().zip(&codes.shape).all(divides)
}

/// The tensor whose codes an array holds, if no layout decodes it.
///
/// `used` names the arrays of other tensors. An array that is a misfit of layouts is one of a convention only.
pub(super) fn tensor(
    arrays: &Arrays,
    array: &StreamedArray,
    used: &BTreeSet<String>,
    config: Option<&Config>,
    misfit: Option<&str>,
) -> Option<CheckpointTensor> {
    let fits: Vec<(&Convention, &str)> =
        table().convention.iter().filter_map(|convention| Some((convention, convention.stem(array)?))).collect();
    let met = |fit: &&(&Convention, &str)| fit.0.is_met(arrays, fit.1);
    let has_specific_name = |convention: &Convention| !matches!(convention.codes.as_str(), "*" | "*.weight");
    let named = |fit: &&(&Convention, &str)| fit.0.is_named(config);
    let chosen = fits.iter().filter(met).find(named);
    let chosen = chosen.or_else(|| fits.iter().filter(named).find(|fit| has_specific_name(fit.0)));
    if let Some((convention, stem)) = chosen.or_else(|| fits.iter().find(met)) {
        let by = if convention.is_named(config) { "config" } else { "names" };
        let parts = convention.needs.iter().chain(&convention.parts).map(|name| with_stem(name, stem));
        let names = parts.filter_map(|name| arrays.get(&name)).map(|(_, part)| part.name.clone());
        let names: Vec<String> = names.filter(|name| !used.contains(name)).collect();
        let mut why = format!("its codes, '{}' ({}), are recognised and not read", array.name, array.kind.type_name());
        why.extend(misfit.map(|what| format!(": {what}")));
        return Some(opaque(arrays, with_stem(&convention.tensor, stem), array, names, &convention.name, by, why));
    }
    if misfit.is_some() || !is_narrow(array.kind) || array.shape.len() < 2 || is_scale_name(&array.name) {
        return None;
    }
    let mut near = companions(arrays, array);
    if near.iter().any(|other| is_after(&other.name, &array.name)) {
        near.retain(|other| is_after(&other.name, &array.name));
    }
    if near.is_empty() {
        near = neighbours(arrays, array).into_iter().filter(|other| has_shape_of_scales(other, array)).collect();
    }
    near.retain(|other| !used.contains(&other.name));
    if let Some(scales) = near.first() {
        let why = format!(
            "'{}' ({}) lies next to its codes ({}), and no layout reads the two",
            scales.name,
            scales.kind.type_name(),
            array.kind.type_name()
        );
        let names = near.iter().map(|other| other.name.clone()).collect();
        return Some(opaque(arrays, array.name.clone(), array, names, UNKNOWN, "names", why));
    }
    let config = config.filter(|_| array.name.contains("weight"))?;
    let method = config.method()?;
    let why = format!(
        "{} names '{method}', and there are no scales of it here; if they lie in another file, name the folder",
        config.file()
    );
    Some(opaque(arrays, array.name.clone(), array, Vec::new(), method, "config", why))
}

/// A tensor that is listed and not decoded: its layout, what named it, and why.
fn opaque(
    arrays: &Arrays,
    name: String,
    codes: &StreamedArray,
    mut parts: Vec<String>,
    layout: &str,
    named_by: &'static str,
    why: String,
) -> CheckpointTensor {
    parts.insert(0, codes.name.clone());
    let bytes = parts.iter().filter_map(|name| arrays.get(name)).map(|(_, array)| array.data.1).sum();
    CheckpointTensor {
        name,
        shape: codes.shape.clone(),
        read_shape: codes.shape.clone(),
        layouts: vec![layout.to_string()],
        named_by,
        arrays: parts,
        bytes,
        doubts: Vec::new(),
        content: TensorContent::Opaque { stored: codes.kind.type_name(), why },
    }
}
