//! The targets of the tensors of a model, and the files that loaders want next to theirs.

use std::{collections::BTreeMap, path::Path};

use super::{FileConversion, target::tensor_scale};
use crate::{
    Result,
    array::{Container, GgufEntries, NewArray, StreamedArray},
    checkpoint::{DescribedGroup, LlamaModel, ModelDescription},
    tensor::{ArrayNames, ConversionTarget, Recipe, SourceTensor, partners},
};

/// Target of some tensors of a file.
#[derive(Debug, Clone)]
pub struct TargetRecipe {
    /// The tensors.
    pub recipe: Recipe,
    /// Target of their conversion.
    pub to: ConversionTarget,
    /// Names of the arrays.
    pub layout: ArrayNames,
}

impl FileConversion {
    /// The target of a tensor, and the names of its arrays.
    pub(super) fn target_of(&self, name: &str) -> (ConversionTarget, &ArrayNames) {
        let recipe = self.recipes.iter().find(|target| target.recipe.matches(name));
        recipe.map_or((self.to, &self.layout), |target| (target.to, &target.layout))
    }

    /// Scales of tensors that programs fuse into one product, in the layouts of those programs.
    pub(super) fn shared_scales<'a>(&self, tensors: &[SourceTensor<'a>]) -> Result<BTreeMap<&'a str, f32>> {
        let mut products: BTreeMap<(String, &str), Vec<&SourceTensor>> = BTreeMap::new();
        for tensor in tensors {
            let (to, names) = self.target_of(tensor.name);
            let has_tensor_scale = to.block().is_some_and(|format| format.tensor_scale.is_some());
            if has_tensor_scale && names.layout.is_some() {
                products.entry((partners(tensor.name), to.name())).or_default().push(tensor);
            }
        }
        let mut scales = BTreeMap::new();
        for tensors in products.values().filter(|tensors| tensors.len() > 1) {
            let (ConversionTarget::Blocks(quantizer), _) = self.target_of(tensors[0].name) else { continue };
            if let Some(scale) = tensor_scale(tensors, &quantizer)? {
                scales.extend(tensors.iter().map(|tensor| (tensor.name, scale)));
            }
        }
        Ok(scales)
    }

    /// The metadata of a GGUF file: the input's, its model's, or the least that readers ask for.
    pub(super) fn entries(&self, input: &Path, model: Option<&LlamaModel>, arrays: &[NewArray]) -> Result<GgufEntries> {
        let mut entries = match model {
            _ if is_gguf(input) => GgufEntries::read(input)?,
            Some(model) => model.entries(),
            None => GgufEntries::of_architecture(&ModelDescription::architecture(input)?),
        };
        entries.set_file_type(arrays);
        Ok(entries)
    }

    /// The description of the model that programs look for next to files in their layouts.
    pub(super) fn described(
        &self,
        input: &Path,
        tensors: &[SourceTensor],
        kept: &[&StreamedArray],
    ) -> Result<Option<ModelDescription>> {
        let mut groups: Vec<DescribedGroup> = Vec::new();
        for tensor in tensors {
            let (to, names) = self.target_of(tensor.name);
            let (Some(format), false) = (to.block(), names.config.is_empty()) else { continue };
            match groups.iter_mut().find(|group| group.names == names && group.format == format) {
                Some(group) => group.tensors.push(tensor.name.to_string()),
                None => groups.push(DescribedGroup { names, format, tensors: vec![tensor.name.to_string()] }),
            }
        }
        let left = kept
            .iter()
            .filter(|array| array.shape.len() > 1 && array.name.ends_with("weight"))
            .map(|array| array.name.clone())
            .collect();
        if groups.is_empty() { Ok(None) } else { ModelDescription::new(input, &groups, left).map(Some) }
    }
}

/// True for a GGUF file.
pub(super) fn is_gguf(path: &Path) -> bool {
    !path.is_dir() && Container::of(path).is_ok_and(|container| container == Container::Gguf)
}

/// True if a path names a folder: an existing one, or one to be made (it ends with a slash).
pub(super) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}
