//! The description of a quantised model, written next to its files for the programs that load them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::config::beside;
use crate::{
    Error, Result,
    base::atomic,
    format::block::{BlockFormat, BlockOffset},
    tensor::{ArrayNames, Sharing},
};

/// Name of the description, and of its key on quantisation.
pub(super) const CONFIG: &str = "config.json";
pub(super) const QUANTIZATION: &str = "quantization_config";

/// Tensors of one format and layout.
#[derive(Debug, Clone)]
pub struct DescribedGroup<'a> {
    /// Names of the arrays, with the keys of the layout.
    pub names: &'a ArrayNames,
    /// Format.
    pub format: &'static BlockFormat,
    /// Names of the tensors.
    pub tensors: Vec<String>,
}

/// The description of the input, with the quantisation of the output.
#[derive(Debug, Clone)]
pub struct ModelDescription {
    merged: bool,
    all: Value,
}

/// The module of a tensor: its name without `.weight` at its end.
fn module(tensor: &str) -> &str {
    tensor.strip_suffix(".weight").unwrap_or(tensor)
}

impl DescribedGroup<'_> {
    fn key(&self, key: &str) -> Option<&str> {
        self.names.config.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The arguments of the weights, as compressed-tensors names them.
    fn weights(&self) -> Value {
        let format = self.format;
        let (strategy, size, blocks) = match Sharing::of_blocks(format.rows, format.length) {
            Sharing::Tensor => ("tensor", None, None),
            Sharing::Row => ("channel", None, None),
            Sharing::Block(1, length) if format.tensor_scale.is_some() => ("tensor_group", Some(length), None),
            Sharing::Block(1, length) => ("group", Some(length), None),
            Sharing::Block(rows, columns) => ("block", None, Some([rows, columns])),
        };
        let element = format.element.format;
        let kind = if element.is_integer() { "int" } else { "float" };
        json!({
            "num_bits": element.bits,
            "type": kind,
            "symmetric": !matches!(format.offset, Some(BlockOffset::ZeroPoint(_))),
            "strategy": strategy,
            "group_size": size,
            "block_structure": blocks,
            "dynamic": false,
            "actorder": null,
        })
    }
}

/// Quantisation for compressed-tensors: a group for each format.
fn compressed_tensors(groups: &[DescribedGroup], left: &[&str]) -> Value {
    let of_group = |group: &DescribedGroup| {
        let modules: Vec<&str> = group.tensors.iter().map(|tensor| module(tensor)).collect();
        // One group holds all linear layers but those that are left.
        let targets = if groups.len() == 1 { json!(["Linear"]) } else { json!(modules) };
        json!({"targets": targets, "weights": group.weights(), "input_activations": null, "output_activations": null,
               "format": group.key("format")})
    };
    let numbered = groups.iter().enumerate();
    let all: Map<String, Value> = numbered.map(|(at, group)| (format!("group_{at}"), of_group(group))).collect();
    let mut formats: Vec<Option<&str>> = groups.iter().map(|group| group.key("format")).collect();
    formats.dedup();
    let format = if formats.len() == 1 { formats[0].unwrap_or_default() } else { "mixed-precision" };
    json!({
        "quant_method": "compressed-tensors",
        "format": format,
        "quantization_status": "compressed",
        "config_groups": all,
        "ignore": left,
        "kv_cache_scheme": null,
        "global_compression_ratio": null,
    })
}

/// Quantisation by the keys of the only layout, with its program's keys for blocks and the rest.
fn by_keys(group: &DescribedGroup, left: &[&str]) -> Value {
    let keys = group.names.config.iter().map(|(key, value)| (key.clone(), json!(value)));
    let mut all: Map<String, Value> = keys.collect();
    let format = group.format;
    let blocks = [format.rows, format.length];
    let more = match (group.key("quant_method"), group.key("quant_algo")) {
        (Some("fp8"), _) => json!({"fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": blocks,
                                   "modules_to_not_convert": left}),
        (_, Some(_)) => json!({"quant_method": "modelopt", "kv_cache_quant_algo": null,
                               "group_size": if format.rows == 1 && format.length < BlockFormat::WHOLE { json!(format.length) } else { Value::Null },
                               "exclude_modules": left, "ignore": left}),
        _ => json!({"modules_to_not_convert": left}),
    };
    all.extend(more.as_object().cloned().unwrap_or_default());
    Value::Object(all)
}

impl ModelDescription {
    /// The description of the model at `input` with the quantisation of some groups.
    ///
    /// `left` names matrices that are not quantised.
    ///
    /// # Errors
    /// A description that is not JSON; layouts of different programs.
    pub fn new(input: &Path, groups: &[DescribedGroup], left: Vec<String>) -> Result<ModelDescription> {
        let left: Vec<&str> = left.iter().map(|tensor| module(tensor)).collect();
        let method = groups[0].key("quant_method");
        let quantisation = match groups {
            _ if groups.iter().any(|group| group.key("quant_method") != method) => {
                return Err(Error::request(
                    "‹plan›: its formats have layouts of several programs; name one by ‹layout›",
                ));
            }
            groups if method == Some("compressed-tensors") => compressed_tensors(groups, &left),
            [group] => by_keys(group, &left),
            _ => {
                return Err(Error::request(
                    "‹plan›: only ‹layout=compressed-tensors› and .gguf files hold several formats",
                ));
            }
        };
        let given = match beside(input, CONFIG)? {
            Some((_, Value::Object(all))) => Some(all),
            _ => None,
        };
        let merged = given.is_some();
        let mut all = given.unwrap_or_default();
        all.insert(QUANTIZATION.into(), quantisation);
        Ok(ModelDescription { merged, all: Value::Object(all) })
    }

    /// Writes the description into a folder; returns a sentence on it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<String> {
        let path = folder.join(CONFIG);
        atomic::write(&path, format!("{:#}\n", self.all).as_bytes())?;
        Ok(match self.merged {
            true => format!("{} has the model of the input, and its quantisation.", path.display()),
            false => format!("{} has the quantisation alone: the input has no {CONFIG}.", path.display()),
        })
    }

    /// The architecture of the model at `path`, as its description names it; `unknown` without one.
    ///
    /// # Errors
    /// A description that is not JSON.
    pub fn architecture(path: &Path) -> Result<String> {
        let all = beside(path, CONFIG)?;
        let name = all.as_ref().and_then(|(_, all)| all.get("model_type")).and_then(Value::as_str);
        Ok(name.unwrap_or("unknown").to_string())
    }
}
