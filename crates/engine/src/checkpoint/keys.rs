//! Keys of layouts in TOML files.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use toml::Spanned;

use super::{
    blocks::{BlockNumber, BlockParts, HighBits, Minimum, PartNumbers},
    layout::{ArrayPart, ArrayParts, ArrayPlaces, Codes, Layout, NestedPart, StatePart, Storage, ZeroPart},
    packing::{Packing, PackingOrder},
    tensor::GlobalScale,
};
use crate::{
    base::named::Named,
    format::{self, Format},
    tensor::Sharing,
};

/// Blocks of a row, of any length.
const IN_ROWS: &str = "any in a row";
/// Most bytes of a block that has its scale inside.
const LONGEST_BLOCK: usize = 1 << 12;

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
    #[serde(default)]
    also: Vec<Spanned<String>>,
    #[serde(default)]
    needs: Vec<Spanned<String>>,
    blocks: Option<BlockKeys>,
    codes: CodeKeys,
    scale: ScaleKeys,
    global: Option<GlobalKeys>,
    zero: Option<ZeroKeys>,
    minimum: Option<NumberKeys>,
    high: Option<HighKeys>,
    index: Option<ArrayPart>,
    nested: Option<NestedKeys>,
    state: Option<StatePart>,
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
    bits: Option<Spanned<String>>,
    shape_metadata: Option<Spanned<String>>,
    #[serde(default)]
    flatten: bool,
    format: Option<Spanned<String>>,
    #[serde(default)]
    formats: Vec<Spanned<String>>,
    values: Option<Spanned<String>>,
    packing: Option<Spanned<String>>,
    order: Option<Spanned<[u8; 8]>>,
    run: Option<usize>,
    #[serde(default)]
    transposed: bool,
    #[serde(default)]
    down: bool,
    #[serde(default)]
    flat: bool,
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
    #[serde(default)]
    transposed: bool,
    factor: Option<f32>,
    at: Option<Spanned<usize>>,
    parts: Option<PartKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartKeys {
    at: Spanned<usize>,
    length: usize,
    format: Spanned<String>,
    #[serde(default)]
    offset: i32,
    #[serde(default)]
    low: Vec<usize>,
    bits: Option<usize>,
    #[serde(default)]
    high: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NumberKeys {
    #[serde(rename = "use")]
    used: Spanned<String>,
    format: Spanned<String>,
    at: Spanned<usize>,
    parts: Option<PartKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HighKeys {
    at: Spanned<usize>,
    bits: usize,
    packing: Spanned<String>,
    run: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NestedKeys {
    name: Spanned<String>,
    stored: Vec<String>,
    values: Spanned<String>,
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
    #[serde(default)]
    needed: bool,
    packing: Option<Spanned<String>>,
    order: Option<Spanned<[u8; 8]>>,
    #[serde(default)]
    transposed: bool,
    #[serde(default)]
    down: bool,
    #[serde(default)]
    added: bool,
    #[serde(default)]
    offset: i32,
    other_offset: Option<i32>,
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

/// The layout that a text describes.
pub(super) fn layout(text: &str, name: &str) -> Checked<Layout> {
    match toml::from_str(text) {
        Ok(keys) => of_keys(keys, name),
        Err(error) => Err((error.span().map(|span| span.start), error.message().replace('\n', " "))),
    }
}

/// Places of codes of `bits` bits: a named order, or the order of the nibbles of a word.
fn packing(
    name: Option<&Spanned<String>>,
    order: Option<&Spanned<[u8; 8]>>,
    bits: u32,
    run: Option<usize>,
) -> Checked<Packing> {
    if let Some(places) = order {
        let mut sorted = *places.get_ref();
        sorted.sort_unstable();
        return match sorted == [0, 1, 2, 3, 4, 5, 6, 7] && bits == 4 && name.is_none() {
            true => Ok(Packing::Ordered(*places.get_ref())),
            false => Err(at(places, "order has the places 0 to 7 of codes of 4 bits, in place of packing")),
        };
    }
    let Some(name) = name else { return Ok(Packing::Single) };
    Ok(match one_of::<PackingOrder>(name)? {
        PackingOrder::HighFirst | PackingOrder::Halves if bits != 4 => {
            return Err(at(name, format!("this packing is one of 4 bits, and the format has {bits}")));
        }
        PackingOrder::Parts | PackingOrder::TensorParts if !bits.is_power_of_two() => {
            return Err(at(name, format!("this packing is one of 1, 2, 4 or 8 bits, and the format has {bits}")));
        }
        PackingOrder::LowFirst => Packing::LowFirst,
        PackingOrder::HighFirst => Packing::HighFirst,
        PackingOrder::TensorParts => Packing::TensorParts,
        PackingOrder::Halves | PackingOrder::Parts => match run {
            Some(run) if (1..=LONGEST_BLOCK).contains(&run) && (run * bits as usize).is_multiple_of(8) => {
                Packing::Halves(run)
            }
            _ => return Err(somewhere("packing = \"halves\" needs blocks of an even length")),
        },
    })
}

fn of_keys(keys: LayoutKeys, name: &str) -> Checked<Layout> {
    let mut formats = keys.codes.format.iter().chain(&keys.codes.formats).map(known).collect::<Checked<Vec<_>>>()?;
    let named = keys.codes.format.iter().chain(&keys.codes.formats);
    if let Some((format, key)) = formats.iter().zip(named).find(|(format, _)| format.bits > 8) {
        return Err(at(key, format!("{format} has {} bits; codes of a layout have at most 8", format.bits)));
    }
    let high = keys.high.as_ref().map_or(0, |high| high.bits as u32);
    let bits = formats.first().map_or(8, |format| format.bits).saturating_sub(high);
    let of_scale = match keys.scale.block.as_ref().map(sharing).transpose()?.flatten() {
        Some(Sharing::Block(_, run)) => Some(run),
        _ => None,
    };
    let run = keys.codes.run.or(keys.blocks.as_ref().map(|blocks| *blocks.length.get_ref())).or(of_scale);
    let packing = packing(keys.codes.packing.as_ref(), keys.codes.order.as_ref(), bits, run)?;
    let codes = Codes {
        format: if formats.is_empty() { None } else { Some(formats.remove(0)) },
        others: formats,
        packing,
        offset: f64::from(keys.codes.offset),
        exponent: keys.codes.exponent.clamp(-200, 200),
    };
    let (title, source, config, metadata) =
        (keys.title.clone(), keys.source.clone(), keys.config.clone(), keys.metadata.clone());
    let signed_scales = keys.scale.signed;
    let storage = match keys.blocks.is_some() {
        true => Storage::Blocks(Arc::new(blocks(keys, bits as usize)?)),
        false => Storage::Arrays(Box::new(arrays(keys)?)),
    };
    Ok(Layout { name: name.into(), title, source, config, metadata, codes, signed_scales, storage })
}

fn blocks(keys: LayoutKeys, bits: usize) -> Checked<BlockParts> {
    let only = "[blocks] has its scales inside: names, shapes, block, global and zero are keys of arrays";
    let (codes, scale) = (&keys.codes, &keys.scale);
    let named = codes.name.is_some() || codes.stored.is_some() || scale.name.is_some() || scale.stored.is_some();
    let arrays = keys.global.is_some() || keys.zero.is_some() || keys.index.is_some() || keys.nested.is_some();
    if named || arrays || scale.block.is_some() || keys.tensor.is_some() || keys.state.is_some() {
        return Err(somewhere(only));
    }
    let Some(codes_format) = &codes.format else { return Err(somewhere("[blocks] needs codes.format")) };
    let (Some(codes_at), Some(block)) = (&codes.at, &keys.blocks) else {
        return Err(somewhere("[blocks] needs codes.at and scale.at: the first byte of each"));
    };
    let (length, bytes) = (*block.length.get_ref(), *block.bytes.get_ref());
    if !(1..=LONGEST_BLOCK).contains(&bytes) {
        return Err(at(&block.bytes, format!("a block has 1 to {LONGEST_BLOCK} bytes")));
    }
    if !length.is_power_of_two() || length > LONGEST_BLOCK {
        return Err(at(&block.length, format!("a block has a power of two of elements, at most {LONGEST_BLOCK}")));
    }
    let ends = |first: &Spanned<usize>, size: usize| first.get_ref().checked_add(size).is_none_or(|end| end > bytes);
    if ends(codes_at, (length * bits).div_ceil(8)) {
        return Err(at(
            codes_at,
            format!("{length} codes of {} end after the block of {bytes} bytes", codes_format.get_ref()),
        ));
    }
    let high = match &keys.high {
        None => None,
        Some(high) if !(1..=4).contains(&high.bits) || ends(&high.at, (length * high.bits).div_ceil(8)) => {
            return Err(at(&high.at, "the upper bits of codes are 1 to 4 for each, in the block"));
        }
        Some(high) => Some(HighBits {
            at: *high.at.get_ref(),
            bits: high.bits,
            packing: packing(Some(&high.packing), None, high.bits as u32, high.run.or(Some(length)))?,
        }),
    };
    let number =
        |what: &str, format: Option<&Spanned<String>>, first: Option<&Spanned<usize>>, parts: Option<&PartKeys>| {
            let parts = parts.map(|keys| part_numbers(keys, length, bytes)).transpose()?;
            let format = match (format, first, &parts) {
                (Some(format), Some(first), _) => {
                    let format = known(format)?;
                    if ends(first, format.bytes()) {
                        return Err(at(first, format!("the {what} ends after the block of {bytes} bytes")));
                    }
                    format
                }
                (None, None, Some(parts)) => parts.format,
                (None, ..) => return Err(somewhere(format!("[blocks] needs {what}.format"))),
                _ => return Err(somewhere("[blocks] needs codes.at and scale.at: the first byte of each")),
            };
            Ok(BlockNumber { at: first.map(|first| *first.get_ref()), format, parts })
        };
    let minimum = match &keys.minimum {
        None => None,
        Some(keys) => {
            let used = match keys.used.get_ref().as_str() {
                "adds" => Minimum::Adds,
                "subtracts" => Minimum::Subtracts,
                _ => return Err(at(&keys.used, "use is \"adds\" or \"subtracts\"")),
            };
            Some((number("minimum", Some(&keys.format), Some(&keys.at), keys.parts.as_ref())?, used))
        }
    };
    Ok(BlockParts {
        stored: block.stored.clone(),
        length,
        bytes,
        codes_at: *codes_at.get_ref(),
        high,
        scale: number("scale", scale.format.as_ref(), scale.at.as_ref(), scale.parts.as_ref())?,
        minimum,
    })
}

/// Numbers of the parts of a block of `length` codes.
fn part_numbers(keys: &PartKeys, length: usize, bytes: usize) -> Checked<PartNumbers> {
    let format = known(&keys.format)?;
    if keys.length == 0 || !length.is_multiple_of(keys.length) || format.bits > 8 {
        return Err(at(&keys.format, "parts have a length that divides the block's, and numbers of at most 8 bits"));
    }
    let count = length / keys.length;
    let low = if keys.low.is_empty() { (0..count).map(|part| 8 * part).collect() } else { keys.low.clone() };
    let bits =
        keys.bits.unwrap_or(if keys.high.is_empty() { 8.min(format.bits.next_power_of_two() as usize) } else { 0 });
    let lengths = low.len() == count && (keys.high.is_empty() || keys.high.len() == count);
    let all = low.iter().chain(&keys.high).all(|place| *place <= 8 * LONGEST_BLOCK);
    let offset = f64::from(keys.offset);
    let numbers =
        PartNumbers { at: *keys.at.get_ref(), length: keys.length, format, offset, low, bits, high: keys.high.clone() };
    match lengths
        && all
        && (1..=8).contains(&bits)
        && numbers.at.checked_add(numbers.end()).is_some_and(|end| end <= bytes)
    {
        true => Ok(numbers),
        false => {
            Err(at(&keys.at, format!("{count} parts need as many places of numbers, in the block of {bytes} bytes")))
        }
    }
}

fn arrays(keys: LayoutKeys) -> Checked<ArrayParts> {
    let (codes, scale) = (keys.codes, keys.scale);
    if codes.at.is_some()
        || scale.at.is_some()
        || scale.parts.is_some()
        || keys.minimum.is_some()
        || keys.high.is_some()
    {
        return Err(somewhere("codes.at and scale.at belong to [blocks], and so do parts, [minimum] and [high]"));
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
    let in_rows = scale.block.as_ref().is_some_and(|block| block.get_ref() == IN_ROWS);
    let bits = codes.format.iter().chain(&codes.formats).map(known).next().transpose()?.map_or(8, |format| format.bits);
    let zero = |keys: ZeroKeys| {
        Ok::<_, LayoutDefect>(ZeroPart {
            part: part("zero", Some(keys.name), Some(keys.stored))?,
            needed: keys.needed,
            packing: packing(keys.packing.as_ref(), keys.order.as_ref(), bits, None)?,
            transposed: keys.transposed,
            down: keys.down,
            added: keys.added,
            offset: f64::from(keys.offset),
            other_offset: keys.other_offset.map(f64::from),
        })
    };
    let nested = |keys: NestedKeys| {
        let scale = part("nested", Some(keys.name), Some(keys.stored))?;
        Ok::<_, LayoutDefect>(NestedPart { scale, values: starred(keys.values)? })
    };
    Ok(ArrayParts {
        tensor: starred(tensor)?,
        flatten: codes.flatten,
        shape: codes.shape.map(starred).transpose()?,
        bits: codes.bits.map(starred).transpose()?,
        shape_metadata: codes.shape_metadata.map(starred).transpose()?,
        codes: part("codes", codes.name, codes.stored)?,
        scale_format: scale.format.as_ref().map(known).transpose()?,
        scale: part("scale", scale.name, scale.stored)?,
        block,
        whole_blocks: scale.whole,
        dimensions: scale.dimensions,
        global,
        zero: keys.zero.map(zero).transpose()?,
        unsupported: keys.unsupported.into_iter().map(starred).collect::<Checked<_>>()?,
        also: keys.also.into_iter().map(starred).collect::<Checked<_>>()?,
        needs: keys.needs.into_iter().map(starred).collect::<Checked<_>>()?,
        places: ArrayPlaces {
            transposed: codes.transposed,
            down: codes.down,
            flat: codes.flat,
            scales_transposed: scale.transposed,
            in_rows,
        },
        values: codes.values.map(starred).transpose()?,
        factor: scale.factor,
        index: keys.index,
        nested: keys.nested.map(nested).transpose()?,
        state: keys.state,
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
        "any" | IN_ROWS => Ok(None),
        words => Sharing::parse(words).map(Some).ok_or_else(|| {
            at(
                text,
                format!("block = \"{words}\": it is \"any\", \"any in a row\", \"tensor\", \"row\" or ROWSxCOLUMNS, such as \"1x16\""),
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
