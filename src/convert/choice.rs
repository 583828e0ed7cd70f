//! Choice of the tensors of a file: by patterns, or those that programs quantise.

use crate::{
    Error, Result,
    array::{ArrayFile, StreamedArray},
    base::nearest::nearest,
    isa::pattern,
};

/// Names of tensors that programs leave as they are when they quantise the weights of products.
const LEFT_ALONE: [&str; 9] =
    ["*norm*", "*ln_*", "*bias*", "*embed*", "*wte*", "*wpe*", "*lm_head*", "*scale*", "*zero_point*"];

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
    /// Floating-point tensors that nobody named, and that are left alone.
    pub left_alone: Vec<&'a StreamedArray>,
}

impl TensorChoice {
    /// True unless patterns are there and leave the name out.
    pub fn wants(&self, name: &str) -> bool {
        let matches = |patterns: &[String]| patterns.iter().any(|own| pattern::matches(own, name));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }

    /// The chosen tensors of a file.
    ///
    /// Without patterns these are the floating-point tensors. With `weights` they are those of two dimensions and more
    /// that are no norms, biases, embeddings or scales, if there are any.
    ///
    /// # Errors
    /// Patterns that are none, or that no tensor matches; a file in which nothing is chosen.
    pub fn of<'a>(&self, file: &'a ArrayFile, weights: bool) -> Result<ChosenTensors<'a>> {
        let names = || file.arrays.iter().map(|array| array.name.as_str());
        for (flag, pattern) in
            self.include.iter().map(|own| ("--include", own)).chain(self.exclude.iter().map(|own| ("--exclude", own)))
        {
            if let Some(defect) = pattern::defect(pattern) {
                return Err(Error::request(format!("{flag} '{pattern}': {defect}")));
            }
            if !names().any(|name| pattern::matches(pattern, name)) {
                let near = nearest(pattern, names(), 3).join(", ");
                return Err(Error::request(format!(
                    "{flag} '{pattern}': no tensor has such a name; the nearest: {near}"
                )));
            }
        }
        let matches = |patterns: &[String], name: &str| patterns.iter().any(|own| pattern::matches(own, name));
        let wanted = |array: &&StreamedArray| match self.include.is_empty() {
            true => array.kind.is_floating(),
            false => matches(&self.include, &array.name),
        };
        let mut chosen: Vec<&StreamedArray> =
            file.arrays.iter().filter(wanted).filter(|array| !matches(&self.exclude, &array.name)).collect();
        let mut left_alone = Vec::new();
        let undecoded = file.arrays.iter().find(|array| array.bits == 0);
        if let (true, true, Some(array)) = (self.include.is_empty(), weights, undecoded)
            && !chosen.iter().any(|array| is_weight(array))
        {
            return Err(Error::request(format!(
                "array '{}' has the type {}, which is not decoded, and there are no other weights; name arrays by --include",
                array.name,
                array.kind.type_name()
            )));
        }
        if self.include.is_empty() && weights && chosen.iter().any(|array| is_weight(array)) {
            (chosen, left_alone) = chosen.into_iter().partition(|array| is_weight(array));
        }
        match chosen.is_empty() {
            true => Err(Error::request(
                "there are no floating-point tensors; use --include NAME for others (integers count by value)",
            )),
            false => Ok(ChosenTensors { chosen, left_alone }),
        }
    }
}

/// Values of the last axis below which a tensor of three dimensions and more is a convolution's.
const KERNEL: usize = 16;

/// True for the shape of a convolution: its blocks lie along all axes but the first.
pub(crate) fn is_convolution(shape: &[usize]) -> bool {
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

fn is_weight(array: &StreamedArray) -> bool {
    let name = array.name.to_ascii_lowercase();
    array.shape.len() > 1 && !LEFT_ALONE.iter().any(|own| pattern::matches(own, &name))
}

/// A sentence on tensors that are left alone; `None` without any.
pub fn left_alone(count: usize) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "1 tensor is".to_string(),
        count => format!("{count} tensors are"),
    };
    Some(format!("{what} left alone (norms, biases, embeddings, scales, vectors); --include '*' takes all."))
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
        let names = |chosen: &[&StreamedArray]| chosen.iter().map(|own| own.name.clone()).collect::<Vec<_>>();
        let usual = TensorChoice::default().of(&file, true).unwrap();
        assert_eq!(names(&usual.chosen), ["model.layers.0.mlp.up_proj.weight"]);
        assert_eq!(usual.left_alone.len(), 5);
        assert_eq!(TensorChoice::default().of(&file, false).unwrap().chosen.len(), 6);
        let all = TensorChoice { include: vec!["*".into()], exclude: vec!["*bias".into()] };
        assert_eq!(all.of(&file, true).unwrap().chosen.len(), 5);
    }

    #[test]
    fn a_file_without_weights_is_taken_whole() {
        let (_folder, file) = file(&[("x", &[3]), ("bias", &[2])]);
        let usual = TensorChoice::default().of(&file, true).unwrap();
        assert_eq!((usual.chosen.len(), usual.left_alone.len()), (2, 0));
    }
}
