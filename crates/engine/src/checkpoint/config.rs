//! The description of a quantised model that libraries leave next to its files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::description::{CONFIG, QUANTIZATION};
use crate::{Error, Result, base::text, tensor::Sharing};

/// The files, and the key that has the description; the first file that has it counts.
const PLACES: [(&str, &str); 2] = [(CONFIG, QUANTIZATION), ("hf_quant_config.json", "quantization")];

/// Keys with the modules that are left as they are.
const IGNORE_KEYS: [&str; 6] =
    ["ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers", "llm_int8_skip_modules", "skip_modules"];

/// Keys that name blocks of rows and columns.
const BLOCK_KEYS: [&str; 2] = ["weight_block_size", "block_structure"];

/// Reads the JSON of a file next to the checkpoint at `path`; its path too. `None` without such a file.
///
/// # Errors
/// A file of that name that is not JSON.
pub(super) fn beside(path: &Path, name: &str) -> Result<Option<(PathBuf, Value)>> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let text = text::read(&path, "the description of the model")?;
    let all = serde_json::from_str(&text).map_err(|error| {
        Error::request(format!("{}: not JSON: {error}; move it away to do without", path.display()))
    })?;
    Ok(Some((path, all)))
}

/// A description of a quantised model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Config {
    path: PathBuf,
    description: Value,
}

impl Config {
    /// Reads the description next to the checkpoint at `path`; `None` without one.
    ///
    /// # Errors
    /// A file of that name that is not JSON.
    pub(super) fn beside(path: &Path) -> Result<Option<Config>> {
        for (name, key) in PLACES {
            let Some((path, mut all)) = beside(path, name)? else { continue };
            if let Some(description) = all.get_mut(key).filter(|value| value.is_object()) {
                return Ok(Some(Config { path, description: description.take() }));
            }
        }
        Ok(None)
    }

    /// The name of the file.
    pub(super) fn file(&self) -> String {
        self.path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// Returns true if `key` has this value at any depth.
    pub(super) fn says(&self, key: &str, value: &str) -> bool {
        let mut same = |entry: &Value| match entry {
            Value::String(text) => text.eq_ignore_ascii_case(value),
            Value::Number(number) => number.to_string() == value,
            _ => false,
        };
        any(&self.description, key, &mut same)
    }

    /// The blocks of several rows that are named, at any depth.
    pub(super) fn blocks(&self) -> Vec<Sharing> {
        let mut blocks = Vec::new();
        let extent =
            |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|extent| *extent > 0);
        for key in BLOCK_KEYS {
            any(&self.description, key, &mut |value| {
                match value {
                    Value::Array(pair) => {
                        if let [rows, columns] = pair.as_slice() {
                            blocks.extend(extent(rows).zip(extent(columns)).map(|(r, c)| Sharing::Block(r, c)));
                        }
                    }
                    Value::String(text) => {
                        blocks.extend(Sharing::parse(text).filter(|sharing| matches!(sharing, Sharing::Block(..))));
                    }
                    _ => {}
                }
                false
            });
        }
        blocks
    }

    /// Returns true if a block of these extents is named.
    pub(super) fn names_block(&self, sharing: Sharing) -> bool {
        let Sharing::Block(rows, columns) = sharing else { return false };
        self.blocks().contains(&sharing) || rows == 1 && self.says("group_size", &columns.to_string())
    }

    /// Bits of codes that are named, at any depth.
    pub(super) fn bits(&self) -> BTreeSet<u64> {
        self.numbers(&["bits", "num_bits", "w_bit"])
    }

    /// Lengths of groups in a row that are named, at any depth.
    pub(super) fn groups(&self) -> BTreeSet<u64> {
        self.numbers(&["group_size", "q_group_size"])
    }

    fn numbers(&self, keys: &[&str]) -> BTreeSet<u64> {
        let mut numbers = BTreeSet::new();
        for key in keys {
            any(&self.description, key, &mut |value| {
                numbers.extend(value.as_u64().filter(|number| *number > 0));
                false
            });
        }
        numbers
    }

    /// The modules that are left as they are, and the key that has them; `None` without such a list.
    pub(super) fn ignored(&self) -> Option<(&'static str, Vec<&str>)> {
        let list = |key: &&'static str| Some((*key, self.description.get(*key)?.as_array()?));
        let (key, modules) = IGNORE_KEYS.iter().find_map(list)?;
        Some((key, modules.iter().filter_map(Value::as_str).collect()))
    }

    /// The name of the method, for messages.
    pub(super) fn method(&self) -> Option<&str> {
        ["format", "quant_algo", "quant_method"].iter().find_map(|key| self.description.get(key)?.as_str())
    }
}

/// Returns true if `key` has a value that `is` accepts, at any depth; the reader of JSON bounds it.
fn any(value: &Value, key: &str, is: &mut dyn FnMut(&Value) -> bool) -> bool {
    match value {
        Value::Object(entries) => entries.iter().any(|(name, entry)| name == key && is(entry) || any(entry, key, is)),
        Value::Array(values) => values.iter().any(|entry| any(entry, key, is)),
        _ => false,
    }
}
