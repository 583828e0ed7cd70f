//! The layout of files that `tcnum convert` writes, as their metadata describe it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    layout::{ArrayPart, ArrayParts, Codes, Layout, Storage},
    packing::Packing,
    tensor::GlobalScale,
};
use crate::{
    array::Content,
    format::{Format, block, find},
    tensor::{Sharing, stored_scale},
};

/// The entry of the metadata with the name of the format.
const FORMAT: &str = "tcnum.format";

/// The content of a file of this program.
pub(super) enum ConvertedContent {
    /// Codes of a format without scales, and the arrays that are none.
    Codes(&'static Format, BTreeSet<String>),
    /// Blocks.
    Blocks(Box<Layout>),
    /// A format that this program does not know.
    Unknown(String),
}

/// True for an array that `tcnum convert` wrote and did not leave unchanged, by the metadata.
pub(super) fn is_converted(metadata: &BTreeMap<String, String>, name: &str) -> bool {
    let unchanged = || metadata.get("tcnum.unchanged").is_some_and(|names| names.lines().any(|line| line == name));
    metadata.contains_key(FORMAT) && !unchanged()
}

/// Types that codes of a format can have in a file.
fn stored(format: &'static Format) -> Vec<String> {
    let type_name = Content::Format(stored_scale(format)).type_name();
    [type_name, Content::Unsigned(format.bytes()).type_name()].into()
}

impl ConvertedContent {
    /// The content that the metadata of a file describe; `None` for files of other programs.
    pub(super) fn of(metadata: &BTreeMap<String, String>) -> Option<ConvertedContent> {
        let name = metadata.get(FORMAT)?;
        let text = |key: &str| metadata.get(key).map(String::as_str);
        let unknown = |what: &str| {
            Some(ConvertedContent::Unknown(format!(
                "its metadata name the format '{name}', whose {what} is not known here"
            )))
        };
        let shipped = block::find(name);
        let (element, exponent, scale, tensor_scale) = match (shipped, text("tcnum.scale")) {
            (Some(format), _) => (
                format.element.format,
                format.element.exponent,
                format.scale,
                format.tensor_scale.map(|scale| scale.name),
            ),
            (None, Some(scale)) => {
                let Ok(element) = find(text("tcnum.element").unwrap_or(name)) else { return unknown("element format") };
                let Ok(scale) = find(scale) else { return unknown("scale format") };
                let exponent = text("tcnum.exponent").and_then(|text| text.parse().ok()).unwrap_or(0);
                (element, exponent, scale, text("tcnum.tensor_scale"))
            }
            (None, None) => {
                let Ok(format) = find(name) else { return unknown("values") };
                let unchanged = text("tcnum.unchanged").unwrap_or_default().lines().map(String::from).collect();
                return Some(ConvertedContent::Codes(format, unchanged));
            }
        };
        if element.bits > 8 {
            return unknown("layout");
        }
        let block = match text("tcnum.block") {
            // One scale for all is what the shape says.
            Some("tensor") => None,
            Some(given) => match Sharing::of_metadata(given) {
                Some(sharing) => Some(sharing),
                None => return unknown("block"),
            },
            None => shipped.map(|format| Sharing::Block(format.rows, format.length)),
        };
        let part = |name: &str, format: &'static Format| ArrayPart { name: name.into(), stored: stored(format) };
        let global = match tensor_scale.map(find) {
            None => None,
            Some(Ok(format)) => Some((part("*_tensor_scale", format), GlobalScale::Multiplies)),
            Some(Err(_)) => return unknown("tensor scale"),
        };
        let parts = ArrayParts {
            tensor: "*".into(),
            codes: part("*", element),
            shape_metadata: Some("tcnum.shape.*".into()),
            scale: part("*_scale", scale),
            scale_format: Some(scale),
            block,
            global,
            ..ArrayParts::default()
        };
        let plain = shipped.is_none() && find(name).is_ok();
        Some(ConvertedContent::Blocks(Box::new(Layout {
            name: if plain {
                "tcnum-scaled".into()
            } else {
                format!("tcnum-{}", shipped.map_or(name.as_str(), |format| format.name))
            },
            title: format!("tcnum convert, {name}"),
            source: "docs/quantise.md".into(),
            config: BTreeMap::new(),
            metadata: [(FORMAT.to_string(), name.clone())].into(),
            codes: Codes {
                format: Some(element),
                others: Vec::new(),
                packing: if element.bits == 4 { Packing::LowFirst } else { Packing::Single },
                offset: 0.0,
                exponent,
            },
            // This program writes negative scales only where they are better.
            signed_scales: true,
            storage: Storage::Arrays(Box::new(parts)),
        })))
    }
}
