//! Names and types of the arrays that a tensor in blocks becomes, for the programs that read them.

use crate::{Error, Result, format::block::BlockFormat};

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
    /// True if codes of fewer than 8 bits share bytes, the first in the lowest bits.
    ///
    /// Codes of 4 bits always do.
    pub packed: bool,
    /// True if rows are whole blocks: the program that reads the layout takes no others.
    pub whole_blocks: bool,
    /// Most dimensions of a tensor in blocks that the program takes.
    pub dimensions: Option<usize>,
    /// Number that is added to each element for its code, modulo the codes.
    pub added: u8,
    /// Bytes of a word of codes, to a multiple of which rows are filled up.
    pub word: usize,
    /// True if the blocks of a row are a dimension of their own.
    pub flatten: bool,
    /// True if the scale of a tensor is an array of one number, and no number alone.
    pub arrays_of_one: bool,
    /// Name of the array with the shape, if there is one.
    pub shape: Option<String>,
    /// Name of the zero points, if there are any: packed into words along the rows' index.
    pub zero: Option<String>,
    /// Places in the blocks of bytes of a GGUF file.
    pub inside: Option<&'static BlockBytes>,
    /// Keys of `quantization_config` in `config.json` that name the layout.
    pub config: Vec<(String, String)>,
}

/// Places of codes and scales in a block of bytes.
///
/// Nibbles of 4 bits lie half a block apart.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockBytes {
    /// Name of the type.
    pub stored: &'static str,
    /// Name of the block format.
    pub format: &'static str,
    /// Bytes of a block.
    pub bytes: usize,
    /// Byte where the codes begin; the scale is at the start.
    pub codes_at: usize,
    /// Byte where the minimum begins.
    pub minimum_at: Option<usize>,
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
            packed: false,
            whole_blocks: false,
            dimensions: None,
            added: 0,
            word: 1,
            flatten: false,
            arrays_of_one: false,
            shape: None,
            zero: None,
            inside: None,
            config: Vec::new(),
        }
    }
}

impl ArrayNames {
    /// Bits of a code in its array.
    pub fn code_bits(&self, format: &BlockFormat) -> usize {
        match format.element.format.bits {
            4 => 4,
            bits if self.packed => bits as usize,
            _ => 8,
        }
    }

    /// Refuses a tensor of this shape that the program of the layout cannot read.
    ///
    /// # Errors
    /// Rows that are no whole blocks or bytes, or too many dimensions; what to do instead.
    pub fn takes(&self, tensor: &str, shape: &[usize], format: &BlockFormat) -> Result<()> {
        let Some(layout) = &self.layout else { return Ok(()) };
        let row = shape.last().copied().unwrap_or(1);
        let refused = |what: String| {
            Err(Error::request(format!(
                "‹layout={layout}›: '{tensor}' has the shape {shape:?}, and {what}; leave it out by ‹exclude›, or omit ‹layout›"
            )))
        };
        let full_extent = BlockFormat::WHOLE;
        if self.whole_blocks && format.rows == 1 && format.length < full_extent && !row.is_multiple_of(format.length) {
            return refused(format!("programs read rows of whole blocks of {}", format.length));
        }
        let in_blocks = format.rows < full_extent && format.length < full_extent;
        if let Some(most) = self.dimensions.filter(|most| in_blocks && shape.len() > *most) {
            return refused(format!("programs read tensors of {most} dimensions"));
        }
        match self.shape.is_some() || (row * self.code_bits(format)).is_multiple_of(8) {
            true => Ok(()),
            false => refused("its rows are no whole bytes, while the layout keeps no shape".into()),
        }
    }

    /// Bytes of a row of codes.
    pub fn row_bytes(&self, row: usize, format: &BlockFormat) -> usize {
        match self.inside {
            Some(inside) => row.div_ceil(format.length) * inside.bytes,
            None => (row * self.code_bits(format)).div_ceil(8).next_multiple_of(self.word),
        }
    }

    /// The name of a part of a tensor.
    pub fn part(&self, name: &str, tensor: &str) -> String {
        let (before, after) = self.tensor.split_once('*').unwrap_or((&self.tensor, ""));
        name.replacen('*', tensor.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap_or(tensor), 1)
    }

    /// The names of codes, scales and the tensor's scale of a tensor.
    ///
    /// # Errors
    /// A tensor with a name that the layout does not have.
    pub fn of(&self, tensor: &str) -> Result<[String; 3]> {
        let (before, after) = self.tensor.split_once('*').unwrap_or((&self.tensor, ""));
        let stem = tensor.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).ok_or_else(|| {
            Error::request(format!(
                "‹layout={}›: its tensors are named '{}', and '{tensor}' is not; choose others by ‹include›",
                self.layout.as_deref().unwrap_or_default(),
                self.tensor
            ))
        })?;
        Ok([&self.codes, &self.scale, &self.tensor_scale].map(|name| name.replacen('*', stem, 1)))
    }
}
