//! Models of Hugging Face as llama.cpp's converter (`convert_hf_to_gguf.py`) writes them.
//!
//! Tensors have other names, vectors are of f32, and Llama's rows of q and k lie in pairs.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use super::{
    config::beside,
    description::CONFIG,
    names::{PAIRED, gguf_name, is_query, pairs},
};
use crate::{
    Error, Result,
    array::{ArrayFile, ComputedArray, ComputedValues, Content, GgufEntries, StreamedArray},
    base::visible::one_line,
    tensor::ElementReader,
};

/// Models by `model_type`, with their architectures in GGUF.
const ARCHITECTURES: [(&str, &str); 4] =
    [("llama", PAIRED), ("mistral", PAIRED), ("qwen2", "qwen2"), ("qwen3", "qwen3")];

/// Entries of GGUF after the architecture, and the keys of `config.json` that have their numbers.
const NUMBERS: [(&str, &str); 7] = [
    ("block_count", "num_hidden_layers"),
    ("context_length", "max_position_embeddings"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("vocab_size", "vocab_size"),
];
/// The same for real numbers.
const REALS: [(&str, &str); 2] =
    [("attention.layer_norm_rms_epsilon", "rms_norm_eps"), ("rope.freq_base", "rope_theta")];

/// A model that llama.cpp reads.
#[derive(Debug)]
pub struct LlamaModel {
    architecture: &'static str,
    config: Value,
}

/// An array with its rows in another order.
#[derive(Debug)]
struct OrderedRows {
    file: ArrayFile,
    elements: ElementReader,
    columns: usize,
    /// Row of the array for each row; its own order without them.
    rows: Option<Vec<usize>>,
}

impl ComputedValues for OrderedRows {
    fn read(&self, first: usize, values: &mut [f32]) -> Result<()> {
        let array = &self.file.arrays[0];
        let (mut at, mut numbers) = (0, Vec::new());
        while at < values.len() {
            let (row, column) = ((first + at) / self.columns, (first + at) % self.columns);
            let place = self.rows.as_ref().map_or(row, |rows| rows[row]) * self.columns + column;
            let count = (self.columns - column).min(values.len() - at);
            let mut bytes = vec![0; count * self.elements.width()];
            self.file.read(array, place, &mut bytes)?;
            numbers.clear();
            let read = self.elements.read(&bytes, &mut numbers);
            read.map_err(|at| Error::request(format!("array '{}': no code at {}", one_line(&array.name), place + at)))?;
            values[at..at + count].iter_mut().zip(&numbers).for_each(|(value, number)| *value = *number as f32);
            at += count;
        }
        Ok(())
    }
}

/// True for elements whose values are all in f32.
fn fits_f32(kind: Content) -> bool {
    kind.is_floating() && matches!(kind, Content::Format(format) if format.bits <= 32)
}

impl LlamaModel {
    /// The model at `path`, if its `config.json` names an architecture of the table.
    ///
    /// # Errors
    /// A description that is not JSON.
    pub fn of(path: &Path) -> Result<Option<LlamaModel>> {
        let Some((_, config)) = beside(path, CONFIG)? else { return Ok(None) };
        let named = config.get("model_type").and_then(Value::as_str);
        let known = ARCHITECTURES.iter().find(|(model, _)| Some(*model) == named);
        Ok(known.map(|(_, architecture)| LlamaModel { architecture, config }))
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.config.get(key).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
    }

    /// Name of a tensor in GGUF; its own if GGUF has none.
    pub fn name(&self, tensor: &str) -> String {
        gguf_name(tensor).unwrap_or_else(|| tensor.into())
    }

    /// Metadata of the file: what the description of the model has; no tokens.
    pub fn entries(&self) -> GgufEntries {
        let mut entries = GgufEntries::of_architecture(self.architecture);
        let key = |end: &str| format!("{}.{end}", self.architecture);
        for (end, from) in NUMBERS {
            self.number(from).into_iter().for_each(|number| entries.push_word(&key(end), number));
        }
        for (end, from) in REALS {
            let number = self.config.get(from).and_then(Value::as_f64);
            number.into_iter().for_each(|number| entries.push_real(&key(end), number as f32));
        }
        entries
    }

    /// The arrays of a file with rows and types as llama.cpp has them, under their names.
    ///
    /// # Errors
    /// Rows of q or k in codes, or of no whole heads; a description without the number of heads.
    pub fn arranged(&self, file: &ArrayFile) -> Result<ArrayFile> {
        let mut computed = BTreeMap::new();
        // Arrays with names of GGUF are taken for what they are there.
        let is_renamed = |array: &StreamedArray| self.name(&array.name) != array.name;
        for (at, array) in file.arrays.iter().enumerate().filter(|(_, array)| is_renamed(array)) {
            let rows = is_query(&array.name).filter(|_| self.architecture == PAIRED);
            let rows = rows.map(|is_query| self.rows(array, is_query)).transpose()?;
            let is_vector = array.shape.len() == 1 && fits_f32(array.kind);
            if rows.is_none() && !is_vector {
                continue;
            }
            let extents = if rows.is_some() { &array.shape[1..] } else { &array.shape[..] };
            let columns = extents.iter().product::<usize>().max(1);
            let elements = ElementReader::of(array.kind)?;
            let path = file.path(array).to_path_buf();
            let values = Box::new(OrderedRows { file: file.only(at), elements, columns, rows });
            let (name, shape) = (array.name.clone(), array.shape.clone());
            computed.insert(at, ComputedArray { name, shape, path, made_of: array.made_of, values });
        }
        let mut arranged = file.with_computed(|_| true, computed);
        arranged.metadata.clone_from(&file.metadata);
        Ok(arranged)
    }

    /// The row of Hugging Face for each row of q or k.
    fn rows(&self, array: &StreamedArray, is_query: bool) -> Result<Vec<usize>> {
        let (name, rows) = (one_line(&array.name), array.shape.first().copied().unwrap_or(0));
        if !fits_f32(array.kind) {
            let kind = array.kind.type_name();
            return Err(Error::request(format!(
                "array '{name}' has the type {kind}, and GGUF has its rows in another order; convert the file to f32 first"
            )));
        }
        let heads = self.number("num_attention_heads");
        let heads = if is_query { heads } else { self.number("num_key_value_heads").or(heads) };
        let places = heads.and_then(|heads| pairs(heads as usize, rows)).ok_or_else(|| {
            Error::request(format!(
                "array '{name}' has {rows} rows, which {CONFIG} does not divide into heads (num_attention_heads, num_key_value_heads)"
            ))
        })?;
        let mut sources = vec![0; rows];
        places.iter().enumerate().for_each(|(row, place)| sources[*place] = row);
        Ok(sources)
    }
}
