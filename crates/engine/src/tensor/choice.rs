//! Choice of the tensors of a file: by patterns, or those that programs quantise.

use std::collections::BTreeSet;

use crate::{
    Error, Result,
    array::{ArrayFile, Content, StreamedArray},
    base::nearest::nearest,
    isa::pattern,
    report::counted,
};

/// Names of tensors that programs leave as they are when they quantise the weights of products.
const LEFT_ALONE: [&str; 7] = ["*norm*", "*ln_*", "*bias*", "*embed*", "*wte*", "*wpe*", "*lm_head*"];
/// Names of scales and zero points.
const SCALES: [&str; 2] = ["*scale*", "*zero_point*"];

/// Tensors by name.
#[derive(Debug, Clone, Default)]
pub struct TensorChoice {
    /// Patterns of names, in which `*` matches anything; none: the usual tensors.
    pub include: Vec<String>,
    /// Patterns of names to leave out.
    pub exclude: Vec<String>,
}

/// The chosen tensors of a file.
#[derive(Debug)]
pub struct ChosenTensors<'a> {
    /// In the order of the file.
    pub chosen: Vec<&'a StreamedArray>,
    /// Numbers of all arrays of the file.
    pub counts: ArrayCounts,
}

/// Numbers of the arrays of files, each counted once: chosen, or left for a reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArrayCounts {
    tensors: usize,
    /// Arrays that make up the chosen tensors.
    chosen: usize,
    /// Floating-point arrays that nobody named.
    alone: usize,
    /// Parts of quantised tensors.
    parts: usize,
    integers: usize,
    /// Blocks of GGUF without a layout.
    undecoded: usize,
    /// Arrays that patterns leave out.
    unwanted: usize,
}

impl ArrayCounts {
    /// Adds the counts of another file.
    pub fn add(&mut self, other: ArrayCounts) {
        self.tensors += other.tensors;
        self.chosen += other.chosen;
        self.alone += other.alone;
        self.parts += other.parts;
        self.integers += other.integers;
        self.undecoded += other.undecoded;
        self.unwanted += other.unwanted;
    }

    /// A sentence on all arrays, of which the chosen ones are `done`; `None` if all are chosen.
    pub fn sentence(&self, done: &str) -> Option<String> {
        let left = [
            (self.alone, "left alone (norms, biases, embeddings, scales, vectors; ‹include='*'› takes them)"),
            (self.parts, "left alone as parts of quantised tensors (scales, zero points, codes)"),
            (self.integers, "left alone as integers"),
            (self.undecoded, "left out, in types of GGUF that are not decoded"),
            (self.unwanted, "left out by ‹include› and ‹exclude›"),
        ];
        let all = self.chosen + left.iter().map(|(count, _)| count).sum::<usize>();
        let left: Vec<String> =
            left.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        let tensors = counted(self.tensors as u64, "tensor");
        (!left.is_empty()).then(|| format!("{all} arrays: {} {done} ({tensors}), {}.", self.chosen, left.join(", ")))
    }
}

impl TensorChoice {
    /// True unless patterns are there and leave the name out.
    pub fn wants(&self, name: &str) -> bool {
        let matches = |patterns: &[String]| patterns.iter().any(|pattern| pattern::matches(pattern, name));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }

    /// Refuses patterns that are none, or that match no name.
    ///
    /// # Errors
    /// A request error: the pattern, and the nearest names.
    pub fn check<'a, N: Iterator<Item = &'a str>>(&self, names: impl Fn() -> N) -> Result<()> {
        let include = self.include.iter().map(|pattern| ("‹include›", pattern));
        for (parameter, pattern) in include.chain(self.exclude.iter().map(|pattern| ("‹exclude›", pattern))) {
            if let Some(defect) = pattern::defect(pattern) {
                return Err(Error::request(format!("{parameter} '{pattern}': {defect}")));
            }
            if !names().any(|name| pattern::matches(pattern, name)) {
                let near = nearest(pattern, names(), 3).join(", ");
                return Err(Error::request(format!(
                    "{parameter} '{pattern}': no tensor has such a name; the nearest: {near}"
                )));
            }
        }
        Ok(())
    }

    /// The chosen tensors of a file.
    ///
    /// Without patterns these are the floating-point tensors. With `weights` they are the weights, if there are any, else all but
    /// scales. Parts of quantised tensors are never chosen.
    ///
    /// # Errors
    /// As [`TensorChoice::check`]; a file in which nothing is chosen.
    pub fn of<'a>(&self, file: &'a ArrayFile, weights: bool) -> Result<ChosenTensors<'a>> {
        self.check(|| file.arrays.iter().map(|array| array.name.as_str()))?;
        let named = file.arrays.iter().filter(|array| self.wants(&array.name));
        let mut chosen: Vec<&StreamedArray> = match self.include.is_empty() {
            true => named.filter(|array| ArrayRole::of(array).holds_numbers()).collect(),
            false => named.filter(|array| !array.part).collect(),
        };
        let is_weight = |array: &StreamedArray| ArrayRole::of(array) == ArrayRole::Weight;
        let has_weights = chosen.iter().any(|array| is_weight(array));
        if self.include.is_empty() && weights {
            let undecoded = file.arrays.iter().find(|array| array.bits == 0);
            if let (Some(array), false) = (undecoded, has_weights) {
                return Err(Error::request(format!(
                    "array '{}' has the type {}, which is not decoded, and there are no other weights; name arrays by ‹include›",
                    array.name,
                    array.kind.type_name()
                )));
            }
            // Without weights, what is no scale is what the command is about.
            chosen
                .retain(|array| if has_weights { is_weight(array) } else { ArrayRole::of(array) != ArrayRole::Scale });
        }
        let scale = |array: &&StreamedArray| ArrayRole::of(array) == ArrayRole::Part || names_scale(&array.name);
        match chosen.is_empty() {
            true => Err(Error::request(match file.arrays.iter().find(scale) {
                Some(scale) => {
                    format!("there are no weights: '{}' is part of a quantised tensor, or a scale", scale.name)
                }
                None => "there are no floating-point tensors; use ‹include=NAME› for others (integers count by value)"
                    .into(),
            })),
            false => Ok(ChosenTensors { counts: self.counts(file, &chosen), chosen }),
        }
    }

    fn counts(&self, file: &ArrayFile, chosen: &[&StreamedArray]) -> ArrayCounts {
        let names: BTreeSet<&str> = chosen.iter().map(|array| array.name.as_str()).collect();
        let mut counts = ArrayCounts { tensors: chosen.len(), ..ArrayCounts::default() };
        for array in &file.arrays {
            let count = match ArrayRole::of(array) {
                _ if names.contains(array.name.as_str()) => &mut counts.chosen,
                _ if !self.wants(&array.name) => &mut counts.unwanted,
                ArrayRole::Part => &mut counts.parts,
                ArrayRole::Undecoded => &mut counts.undecoded,
                ArrayRole::Weight | ArrayRole::Scale | ArrayRole::Other => &mut counts.alone,
                ArrayRole::Integers => &mut counts.integers,
            };
            *count += array.made_of;
        }
        counts
    }
}

fn matches(patterns: &[&str], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    patterns.iter().any(|pattern| pattern::matches(pattern, &name))
}

/// True for the name of a scale or a zero point.
fn names_scale(name: &str) -> bool {
    matches(&SCALES, name)
}

/// The role of an array in a file of a model, by its name, its shape and its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayRole {
    /// Part of a quantised tensor, or codes of E8M0, a format of scales alone.
    Part,
    /// Blocks of GGUF without a layout.
    Undecoded,
    /// Integers.
    Integers,
    /// A scale or a zero point, by its name.
    Scale,
    /// A weight of products: two dimensions or more, and no norm, bias or embedding by its name.
    Weight,
    /// Other numbers: norms, biases, embeddings, vectors.
    Other,
}

impl ArrayRole {
    /// The role of an array.
    pub fn of(array: &StreamedArray) -> ArrayRole {
        match array.kind {
            _ if array.part => ArrayRole::Part,
            Content::Format(format) if format.name == "e8m0" => ArrayRole::Part,
            _ if array.bits == 0 => ArrayRole::Undecoded,
            kind if !kind.is_floating() => ArrayRole::Integers,
            _ => ArrayRole::of_numbers(&array.name, &array.shape),
        }
    }

    /// The role of floating-point numbers.
    pub fn of_numbers(name: &str, shape: &[usize]) -> ArrayRole {
        match () {
            () if names_scale(name) => ArrayRole::Scale,
            () if shape.len() > 1 && !matches(&LEFT_ALONE, name) => ArrayRole::Weight,
            () => ArrayRole::Other,
        }
    }

    /// True for floating-point numbers, scales among them.
    pub fn holds_numbers(self) -> bool {
        matches!(self, ArrayRole::Scale | ArrayRole::Weight | ArrayRole::Other)
    }
}

/// Values of the last axis below which a tensor of three dimensions and more is a convolution's.
const KERNEL: usize = 16;

/// True for the shape of a convolution: its blocks lie along all axes but the first.
pub fn is_convolution(shape: &[usize]) -> bool {
    shape.len() > 2 && shape.last().is_some_and(|last| *last < KERNEL)
}

/// A sentence on the convolutions among some tensors; `None` without any.
pub fn flattened<'a>(shapes: impl Iterator<Item = &'a [usize]>) -> Option<String> {
    let what = match shapes.filter(|shape| is_convolution(shape)).count() {
        0 => return None,
        1 => "1 convolution is taken as a matrix".to_string(),
        count => format!("{count} convolutions are taken as matrices"),
    };
    Some(format!("{what}, a row for each index of the first axis (last axes of fewer than {KERNEL} values)."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, Arrays};

    fn file(names: &[(&str, &[usize])]) -> (tempfile::TempDir, ArrayFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        let array = |(name, shape): &(&str, &[usize])| Array {
            name: name.to_string(),
            shape: shape.to_vec(),
            kind: crate::array::Content::Format(crate::format::find("f32").unwrap()),
            bytes: vec![0; 4 * shape.iter().product::<usize>()].into(),
        };
        Arrays { arrays: names.iter().map(array).collect(), ..Arrays::default() }.write(&path).unwrap();
        let opened = ArrayFile::open(&path).unwrap();
        (folder, opened)
    }

    #[test]
    fn without_patterns_the_weights_of_products_are_chosen() {
        let all: [(&str, &[usize]); 6] = [
            ("model.embed_tokens.weight", &[4, 2]),
            ("model.layers.0.mlp.up_proj.weight", &[4, 2]),
            ("model.layers.0.mlp.up_proj.bias", &[4]),
            ("model.layers.0.input_layernorm.weight", &[2]),
            ("lm_head.weight", &[4, 2]),
            ("x.weight_scale", &[4, 1]),
        ];
        let (_folder, file) = file(&all);
        let names = |chosen: &[&StreamedArray]| chosen.iter().map(|array| array.name.clone()).collect::<Vec<_>>();
        let usual = TensorChoice::default().of(&file, true).unwrap();
        assert_eq!(names(&usual.chosen), ["model.layers.0.mlp.up_proj.weight"]);
        assert_eq!(
            usual.counts.sentence("quantised").unwrap(),
            "6 arrays: 1 quantised (1 tensor), 5 left alone (norms, biases, embeddings, scales, vectors; ‹include='*'› takes them)."
        );
        assert_eq!(TensorChoice::default().of(&file, false).unwrap().chosen.len(), 6);
        let all = TensorChoice { include: vec!["*".into()], exclude: vec!["*bias".into()] };
        assert_eq!(all.of(&file, true).unwrap().chosen.len(), 5);
    }

    #[test]
    fn a_file_without_weights_is_taken_whole() {
        let (_folder, file) = file(&[("x", &[3]), ("bias", &[2])]);
        let usual = TensorChoice::default().of(&file, true).unwrap();
        assert_eq!((usual.chosen.len(), usual.counts.sentence("quantised")), (2, None));
    }
}
