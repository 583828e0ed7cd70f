//! Layouts as TOML files.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use toml::Spanned;

use super::{
    packing::{Packing, PackingOrder},
    tensor::GlobalScale,
};
use crate::{
    Error, Result,
    base::{named::Named, nearest::nearest, text},
    format::{self, Format},
    tensor::Sharing,
};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/layouts.rs"));

/// Most bytes of a block that has its scale inside.
const LONGEST_BLOCK: usize = 1 << 12;

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
    Blocks { stored: String, length: usize, bytes: usize, codes_at: usize, scale_at: usize, scale: &'static Format },
}

/// The arrays that make up a tensor; `*` in a name is the same text in all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArrayParts {
    /// Name of the tensor.
    pub(crate) tensor: String,
    pub(crate) codes: ArrayPart,
    /// True if the last two dimensions of the codes' array are one of the tensor.
    pub(crate) flatten: bool,
    /// Array that holds the shape.
    pub(crate) shape: Option<String>,
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
    pub(crate) zero: Option<ArrayPart>,
    /// Arrays with which the tensor is not decoded.
    pub(crate) unsupported: Vec<String>,
}

/// An array: its name, with a `*`, and the types that it can have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
        matches!(self.name.as_str(), "*" | "*weight")
    }
}

/// A name of a part, for the text of `*`.
pub(crate) fn with_stem(name: &str, stem: &str) -> String {
    name.replacen('*', stem, 1)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutKeys {
    title: String,
    source: String,
    tensor: Option<Spanned<String>>,
    #[serde(default)]
    config: BTreeMap<String, String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    unsupported: Vec<Spanned<String>>,
    blocks: Option<BlockKeys>,
    codes: CodeKeys,
    scale: ScaleKeys,
    global: Option<GlobalKeys>,
    zero: Option<ZeroKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockKeys {
    stored: String,
    length: Spanned<usize>,
    bytes: Spanned<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeKeys {
    name: Option<Spanned<String>>,
    stored: Option<Vec<String>>,
    shape: Option<Spanned<String>>,
    shape_metadata: Option<Spanned<String>>,
    #[serde(default)]
    flatten: bool,
    format: Option<Spanned<String>>,
    packing: Option<Spanned<String>>,
    #[serde(default)]
    offset: i32,
    #[serde(default)]
    exponent: i32,
    at: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScaleKeys {
    name: Option<Spanned<String>>,
    stored: Option<Vec<String>>,
    format: Option<Spanned<String>>,
    block: Option<Spanned<String>>,
    #[serde(default)]
    whole: bool,
    dimensions: Option<usize>,
    #[serde(default)]
    signed: bool,
    at: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GlobalKeys {
    name: Spanned<String>,
    stored: Vec<String>,
    #[serde(rename = "use")]
    used: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZeroKeys {
    name: Spanned<String>,
    stored: Vec<String>,
}

/// A defect of a file, and the byte of its place, if it has one.
type LayoutDefect = (Option<usize>, String);
type Checked<T> = std::result::Result<T, LayoutDefect>;

fn at<T>(value: &Spanned<T>, what: impl Into<String>) -> LayoutDefect {
    (Some(value.span().start), what.into())
}

fn somewhere(what: impl Into<String>) -> LayoutDefect {
    (None, what.into())
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
        let keys: std::result::Result<LayoutKeys, toml::de::Error> = toml::from_str(text);
        let layout = match keys {
            Ok(keys) => of_keys(keys, name),
            Err(error) => Err((error.span().map(|span| span.start), error.message().replace('\n', " "))),
        };
        layout.map_err(|(place, what)| match place {
            Some(place) => {
                let line = 1 + text[..place.min(text.len())].matches('\n').count();
                Error::request(format!("{origin}:{line}: {what}"))
            }
            None => Error::request(format!("{origin}: {what}")),
        })
    }
}

fn of_keys(keys: LayoutKeys, name: &str) -> Checked<Layout> {
    let format = keys.codes.format.as_ref().map(known).transpose()?;
    if let (Some(format), Some(key)) = (format.filter(|format| format.bits > 8), &keys.codes.format) {
        return Err(at(key, format!("{format} has {} bits; codes of a layout have at most 8", format.bits)));
    }
    let order = match &keys.codes.packing {
        None => None,
        Some(given) => Some(one_of::<PackingOrder>(given)?),
    };
    let bits = format.map_or(8, |format| format.bits);
    if let (Some(PackingOrder::HighFirst | PackingOrder::Halves), Some(key)) = (order, &keys.codes.packing)
        && bits != 4
    {
        return Err(at(key, format!("this packing is one of 4 bits, and the format has {bits}")));
    }
    let run = keys.blocks.as_ref().map(|blocks| *blocks.length.get_ref());
    let packing = match order {
        None => Packing::Single,
        Some(PackingOrder::LowFirst) => Packing::LowFirst,
        Some(PackingOrder::HighFirst) => Packing::HighFirst,
        Some(PackingOrder::Halves) => match (run, keys.scale.block.as_ref().map(sharing).transpose()?.flatten()) {
            (Some(run), _) | (None, Some(Sharing::Block(_, run))) if run.is_multiple_of(2) => Packing::Halves(run),
            _ => return Err(somewhere("packing = \"halves\" needs blocks of an even length")),
        },
    };
    let codes =
        Codes { format, packing, offset: f64::from(keys.codes.offset), exponent: keys.codes.exponent.clamp(-200, 200) };
    let (title, source, config, metadata) =
        (keys.title.clone(), keys.source.clone(), keys.config.clone(), keys.metadata.clone());
    let signed_scales = keys.scale.signed;
    let storage = match keys.blocks.is_some() {
        true => blocks(keys, bits as usize)?,
        false => Storage::Arrays(Box::new(arrays(keys)?)),
    };
    Ok(Layout { name: name.into(), title, source, config, metadata, codes, signed_scales, storage })
}

fn blocks(keys: LayoutKeys, bits: usize) -> Checked<Storage> {
    let only = "[blocks] has its scales inside: names, shapes, block, global and zero are keys of arrays";
    let (codes, scale) = (&keys.codes, &keys.scale);
    let named = codes.name.is_some() || codes.stored.is_some() || scale.name.is_some() || scale.stored.is_some();
    if named || scale.block.is_some() || keys.global.is_some() || keys.zero.is_some() || keys.tensor.is_some() {
        return Err(somewhere(only));
    }
    let Some(codes_format) = &codes.format else { return Err(somewhere("[blocks] needs codes.format")) };
    let Some(format) = scale.format.as_ref() else { return Err(somewhere("[blocks] needs scale.format")) };
    let scale_format = known(format)?;
    let (Some(codes_at), Some(scale_at), Some(keys)) = (&codes.at, &scale.at, keys.blocks) else {
        return Err(somewhere("[blocks] needs codes.at and scale.at: the first byte of each"));
    };
    let (length, bytes) = (*keys.length.get_ref(), *keys.bytes.get_ref());
    if !(1..=LONGEST_BLOCK).contains(&bytes) {
        return Err(at(&keys.bytes, format!("a block has 1 to {LONGEST_BLOCK} bytes")));
    }
    if !length.is_power_of_two() || length > LONGEST_BLOCK {
        return Err(at(&keys.length, format!("a block has a power of two of elements, at most {LONGEST_BLOCK}")));
    }
    if (length * bits).div_ceil(8).checked_add(*codes_at.get_ref()).is_none_or(|end| end > bytes) {
        return Err(at(
            codes_at,
            format!("{length} codes of {} end after the block of {bytes} bytes", codes_format.get_ref()),
        ));
    }
    if scale_format.bytes().checked_add(*scale_at.get_ref()).is_none_or(|end| end > bytes) {
        return Err(at(scale_at, format!("the scale ends after the block of {bytes} bytes")));
    }
    Ok(Storage::Blocks {
        stored: keys.stored,
        length,
        bytes,
        codes_at: *codes_at.get_ref(),
        scale_at: *scale_at.get_ref(),
        scale: scale_format,
    })
}

fn arrays(keys: LayoutKeys) -> Checked<ArrayParts> {
    let (codes, scale) = (keys.codes, keys.scale);
    if codes.at.is_some() || scale.at.is_some() {
        return Err(somewhere("codes.at and scale.at belong to [blocks]"));
    }
    let part = |table: &str, name: Option<Spanned<String>>, stored: Option<Vec<String>>| match (name, stored) {
        (Some(name), Some(stored)) if !stored.is_empty() => Ok(ArrayPart { name: starred(name)?, stored }),
        _ => Err(somewhere(format!("[{table}] needs name and stored: the array's name, with a *, and its types"))),
    };
    let tensor = keys.tensor.ok_or_else(|| somewhere("tensor is missing: the name of the tensor, with a *"))?;
    let global = match keys.global {
        None => None,
        Some(GlobalKeys { name, stored, used }) => {
            Some((ArrayPart { name: starred(name)?, stored }, one_of::<GlobalScale>(&used)?))
        }
    };
    let block = match &scale.block {
        None => return Err(somewhere("[scale] needs block: \"1x16\", \"row\", \"tensor\" or \"any\"")),
        Some(given) => sharing(given)?,
    };
    let zero =
        keys.zero.map(|ZeroKeys { name, stored }| Ok::<_, LayoutDefect>(ArrayPart { name: starred(name)?, stored }));
    Ok(ArrayParts {
        tensor: starred(tensor)?,
        flatten: codes.flatten,
        shape: codes.shape.map(starred).transpose()?,
        shape_metadata: codes.shape_metadata.map(starred).transpose()?,
        codes: part("codes", codes.name, codes.stored)?,
        scale_format: scale.format.as_ref().map(known).transpose()?,
        scale: part("scale", scale.name, scale.stored)?,
        block,
        whole_blocks: scale.whole,
        dimensions: scale.dimensions,
        global,
        zero: zero.transpose()?,
        unsupported: keys.unsupported.into_iter().map(starred).collect::<Checked<_>>()?,
    })
}

fn starred(name: Spanned<String>) -> Checked<String> {
    match name.get_ref().matches('*').count() {
        1 => Ok(name.into_inner()),
        _ => {
            Err(at(&name, format!("'{}' needs one *, which stands for the text that all names share", name.get_ref())))
        }
    }
}

fn known(name: &Spanned<String>) -> Checked<&'static Format> {
    format::find(name.get_ref()).map_err(|error| at(name, error.to_string()))
}

/// The values that share a scale; `None` for `any`.
fn sharing(text: &Spanned<String>) -> Checked<Option<Sharing>> {
    match text.get_ref().as_str() {
        "any" => Ok(None),
        words => Sharing::parse(words).map(Some).ok_or_else(|| {
            at(
                text,
                format!("block = \"{words}\": it is \"any\", \"tensor\", \"row\" or ROWSxCOLUMNS, such as \"1x16\""),
            )
        }),
    }
}

/// The value of this name.
fn one_of<T: Named>(given: &Spanned<String>) -> Checked<T> {
    T::all().iter().copied().find(|value| value.name() == given.get_ref()).ok_or_else(|| {
        let known: Vec<String> = T::all().iter().map(|value| format!("\"{}\"", value.name())).collect();
        at(given, format!("\"{}\" is none of {}", given.get_ref(), known.join(", ")))
    })
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
