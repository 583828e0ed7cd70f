//! Names and types of the arrays that a tensor in blocks becomes, for the programs that read them.

use crate::{Error, Result};

/// Names and types of the arrays of a tensor; `*` stands for the same text in all names.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ArrayNames {
    /// Name of the layout; none for this program's own.
    pub layout: Option<String>,
    /// Name of the tensor.
    pub tensor: String,
    /// Name of the element codes.
    pub codes: String,
    /// Name of the scales.
    pub scale: String,
    /// True if scales of one byte are stored as U8.
    pub bytes: bool,
    /// Name of the tensor's scale.
    pub tensor_scale: String,
    /// True if the values are divided by the tensor's scale: its reciprocal is stored, rounded to f32.
    pub divides: bool,
    /// Keys of `quantization_config` in `config.json` that name the layout.
    pub config: Vec<(String, String)>,
}

impl Default for ArrayNames {
    fn default() -> ArrayNames {
        ArrayNames {
            layout: None,
            tensor: "*".into(),
            codes: "*".into(),
            scale: "*_scale".into(),
            bytes: false,
            tensor_scale: "*_tensor_scale".into(),
            divides: false,
            config: Vec::new(),
        }
    }
}

impl ArrayNames {
    /// The names of codes, scales and the tensor's scale of a tensor.
    ///
    /// # Errors
    /// A tensor with a name that the layout does not have.
    pub(super) fn of(&self, tensor: &str) -> Result<[String; 3]> {
        let (before, after) = self.tensor.split_once('*').unwrap_or((&self.tensor, ""));
        let stem = tensor.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).ok_or_else(|| {
            Error::request(format!(
                "--layout {}: its tensors are named '{}', and '{tensor}' is not; choose others by --include",
                self.layout.as_deref().unwrap_or_default(),
                self.tensor
            ))
        })?;
        Ok([&self.codes, &self.scale, &self.tensor_scale].map(|name| name.replacen('*', stem, 1)))
    }
}
