//! Layouts as TOML files.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde::Deserialize;

use super::{blocks::BlockParts, keys, packing::Packing, tensor::GlobalScale};
use crate::{
    Error, Result,
    base::{nearest::nearest, text},
    format::Format,
    tensor::Sharing,
};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/layouts.rs"));

/// A layout: which arrays make up a quantised tensor, and what each holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Name: the file's name without its ending.
    pub name: String,
    /// Title.
    pub title: String,
    /// Program or document that defines it.
    pub source: String,
    /// Keys of `config.json` that name it, with their values.
    pub(crate) config: BTreeMap<String, String>,
    /// Entries of the file's metadata that it needs.
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) codes: Codes,
    /// True if scales have a sign by design.
    pub(crate) signed_scales: bool,
    pub(crate) storage: Storage,
}

/// Element codes of a layout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Codes {
    /// Format; `None` for the array's own.
    pub(crate) format: Option<&'static Format>,
    /// Other formats of the same layout; shapes decide.
    pub(crate) others: Vec<&'static Format>,
    pub(crate) packing: Packing,
    /// Added to every code's value.
    pub(crate) offset: f64,
    /// Power of two by which every code's value is multiplied.
    pub(crate) exponent: i32,
}

/// Where scales are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Storage {
    /// In arrays of their own.
    Arrays(Box<ArrayParts>),
    /// In blocks of bytes with the codes.
    Blocks(Arc<BlockParts>),
}

/// The arrays that make up a tensor; `*` in a name is the same text in all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ArrayParts {
    /// Name of the tensor.
    pub(crate) tensor: String,
    pub(crate) codes: ArrayPart,
    /// True if the last two dimensions of the codes' array are one of the tensor.
    pub(crate) flatten: bool,
    /// Array that holds the shape.
    pub(crate) shape: Option<String>,
    /// Array that says how many bits a code has.
    pub(crate) bits: Option<String>,
    /// Entry of the metadata that holds the shape.
    pub(crate) shape_metadata: Option<String>,
    pub(crate) scale: ArrayPart,
    pub(crate) scale_format: Option<&'static Format>,
    /// Values that share a scale; `None` for what the shape says.
    pub(crate) block: Option<Sharing>,
    /// True if the program that reads the layout takes only rows of whole blocks.
    pub(crate) whole_blocks: bool,
    /// Most dimensions of a tensor in blocks that the program takes.
    pub(crate) dimensions: Option<usize>,
    pub(crate) global: Option<(ArrayPart, GlobalScale)>,
    pub(crate) zero: Option<ZeroPart>,
    /// Arrays with which the tensor is not decoded.
    pub(crate) unsupported: Vec<String>,
    /// Other arrays that belong to the tensor.
    pub(crate) also: Vec<String>,
    /// Arrays without which the layout is another.
    pub(crate) needs: Vec<String>,
    /// Places of codes and of scales, where they do not lie in rows of the tensor.
    pub(crate) places: ArrayPlaces,
    /// Array with the values of the codes.
    pub(crate) values: Option<String>,
    /// Number that multiplies products, rounded to `f32`, at last.
    pub(crate) factor: Option<f32>,
    /// Array with the number of the group of each column.
    pub(crate) index: Option<ArrayPart>,
    pub(crate) nested: Option<NestedPart>,
    pub(crate) state: Option<StatePart>,
}

/// Places of codes and of scales in their arrays.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ArrayPlaces {
    /// True if rows of the codes' array are columns of the tensor.
    pub(crate) transposed: bool,
    /// True if the codes of a word follow one another down a column of the array.
    pub(crate) down: bool,
    /// True if codes and blocks run through the rows of the tensor without a break.
    pub(crate) flat: bool,
    /// True if rows of the scales' array are columns of the tensor.
    pub(crate) scales_transposed: bool,
    /// True if values of several rows share no scale, but for one of all.
    pub(crate) in_rows: bool,
}

/// Zero points.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ZeroPart {
    pub(crate) part: ArrayPart,
    /// True if a tensor without them does not fit.
    pub(crate) needed: bool,
    /// `Single` for elements of their own; else codes of the format of the tensor's, in words.
    pub(crate) packing: Packing,
    pub(crate) transposed: bool,
    pub(crate) down: bool,
    /// True if they are numbers that are added after the scale multiplies.
    pub(crate) added: bool,
    /// Added to each.
    pub(crate) offset: f64,
    /// Added by programs that use the same names.
    pub(crate) other_offset: Option<f64>,
}

/// Scales that are codes of scales: their scales and their values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NestedPart {
    /// Array with the scales of the scales.
    pub(crate) scale: ArrayPart,
    /// Array with the values of the codes.
    pub(crate) values: String,
}

/// An array that holds a description as JSON, and the keys of its entries.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatePart {
    pub(crate) name: String,
    pub(crate) shape: String,
    pub(crate) block: String,
    pub(crate) nested_block: Option<String>,
    pub(crate) nested_offset: Option<String>,
}

/// An array: its name, with a `*`, and the types that it can have.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct ArrayPart {
    pub(crate) name: String,
    pub(crate) stored: Vec<String>,
}

impl ArrayPart {
    /// The text for `*` in the name of an array; `None` if the array has another name.
    pub(crate) fn stem<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (before, after) = self.name.split_once('*')?;
        name.strip_prefix(before)?.strip_suffix(after)
    }

    /// True if it can have this type.
    pub(crate) fn takes(&self, stored: &str) -> bool {
        self.stored.iter().any(|name| name == stored)
    }

    /// True if its name is one that tensors of any layout have.
    pub(crate) fn is_common(&self) -> bool {
        matches!(self.name.as_str(), "*" | "*weight" | "*.weight" | "*.qweight")
    }
}

/// A name of a part, for the text of `*`.
pub(crate) fn with_stem(name: &str, stem: &str) -> String {
    name.replacen('*', stem, 1)
}

impl Layout {
    /// The names of the shipped layouts, in alphabetical order.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// All shipped layouts, in alphabetical order.
    pub fn all() -> Vec<Layout> {
        let parse = |(name, text): &(&str, &str)| Layout::parse(text, name, &format!("layouts/{name}.toml"));
        SHIPPED.iter().map(|one| parse(one).expect("tests hold every shipped layout")).collect()
    }

    /// The layout of this name, or in this file (a path with a slash, or that ends in `.toml`).
    ///
    /// # Errors
    /// A request error: no such layout, a file that cannot be read or describes no layout (with its line).
    pub fn find(name: &str) -> Result<Layout> {
        if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| shipped.eq_ignore_ascii_case(name)) {
            return Layout::parse(text, name, &format!("layouts/{name}.toml"));
        }
        let path = Path::new(name);
        if !name.contains('/') && path.extension().is_none_or(|end| end != "toml") {
            let near = nearest(name, Layout::shipped(), 3).join(", ");
            return Err(Error::request(format!(
                "unknown layout '{name}'; the nearest are {near}. A layout of your own is a file: FILE.toml"
            )));
        }
        let text = text::read(path, "the layout")?;
        let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
        Layout::parse(&text, &stem, name)
    }

    /// The layout that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// As [`Layout::find`].
    pub fn parse(text: &str, name: &str, origin: &str) -> Result<Layout> {
        keys::layout(text, name).map_err(|(place, what)| match place {
            Some(place) => {
                let line = 1 + text[..place.min(text.len())].matches('\n').count();
                Error::request(format!("{origin}:{line}: {what}"))
            }
            None => Error::request(format!("{origin}: {what}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_layout_is_one() {
        assert!(Layout::shipped().count() > 15);
        for layout in Layout::all() {
            assert_eq!(Layout::find(&layout.name).unwrap(), layout);
            assert!(!layout.source.is_empty(), "{}", layout.name);
        }
    }

    #[test]
    fn impossible_layouts_are_refused_with_their_line() {
        let good = "title = 't'\nsource = 's'\ntensor = '*w'\n[codes]\nname = '*q'\nstored = ['U8']\nformat = 'e2m1'\npacking = 'low-first'\n\
                    [scale]\nname = '*s'\nstored = ['U8']\nformat = 'e8m0'\nblock = '1x32'\n";
        assert_eq!(Layout::parse(good, "x", "x.toml").unwrap().codes.packing, Packing::LowFirst);
        for (from, to, part) in [
            ("'*w'", "'w'", "x.toml:3: 'w' needs one *"),
            ("'e2m1'", "'e2m7q'", "x.toml:7: "),
            ("'e2m1'", "'f16'", "x.toml:7: f16 has 16 bits"),
            ("'low-first'", "'first'", "x.toml:8: \"first\" is none of \"low-first\""),
            ("packing = 'low-first'", "packing = 'high-first'\nat = 3", "codes.at and scale.at belong to [blocks]"),
            ("'e2m1'\npacking = 'low-first'", "'e4m3'\npacking = 'halves'", "this packing is one of 4 bits"),
            ("'1x32'", "'0x32'", "x.toml:13: block = \"0x32\""),
            ("block = '1x32'\n", "", "[scale] needs block"),
            ("[scale]", "[scales]", "unknown field"),
            ("stored = ['U8']\nformat = 'e8m0'", "format = 'e8m0'", "[scale] needs name and stored"),
        ] {
            assert!(good.contains(from));
            let error = Layout::parse(&good.replacen(from, to, 1), "x", "x.toml").unwrap_err();
            assert_eq!(error.exit_status(), 2);
            assert!(error.to_string().contains(part), "{to}: {error}");
        }
        let blocks = "title = 't'\nsource = 's'\n[blocks]\nstored = 'Q4_0'\nlength = 32\nbytes = 18\n[codes]\nformat = 'u4'\npacking = 'halves'\nat = 2\n\
                      [scale]\nformat = 'f16'\nat = 0\n";
        assert_eq!(Layout::parse(blocks, "x", "x.toml").unwrap().codes.packing, Packing::Halves(32));
        for (from, to, part) in [
            ("at = 2", "at = 3", "x.toml:10: 32 codes of u4 end after the block"),
            ("at = 0", "at = 17", "x.toml:13: the scale ends after the block"),
            ("length = 32", "length = 30", "x.toml:5: a block has a power of two"),
            ("bytes = 18", "bytes = 0", "x.toml:6: a block has 1 to"),
        ] {
            let error = Layout::parse(&blocks.replacen(from, to, 1), "x", "x.toml").unwrap_err().to_string();
            assert!(error.contains(part), "{to}: {error}");
        }
    }
}
