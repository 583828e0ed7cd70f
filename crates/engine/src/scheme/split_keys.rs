//! The split of an operand in a scheme's file: parts, slices, digits or moduli.

use serde::Deserialize;
use toml::Spanned;

use super::{
    definition::{Digits, DynamicSlices, Moduli, OperandSplit, Scaling, Slices, SplitPart},
    file::{Checked, SchemeDefect, one_of, somewhere},
};
use crate::format::{self, Format, Rounding};

/// The largest shift of a part.
const LARGEST_SHIFT: i32 = 100;
/// The most bits of integers: numbers of f32.
const MOST_BITS: u32 = 24;
/// The most bits that all slices of a number have, unless they are balanced.
const MOST_SLICED_BITS: u32 = 120;
/// The most bits of all balanced slices, whose sums stand for normal numbers of f64.
const MOST_BALANCED_BITS: u32 = 1008;
/// The most balanced slices.
const MOST_BALANCED: usize = 126;
/// The most moduli of a file, whose product has fewer than 200 bits.
const MOST_MODULI: usize = 24;
const MOST_PARTS: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DynamicKeys {
    block: usize,
    most: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperandSplitKeys {
    parts: Option<Vec<PartKeys>>,
    slices: Option<SliceKeys>,
    digits: Option<DigitKeys>,
    moduli: Option<ModuliKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartKeys {
    name: Spanned<String>,
    format: String,
    rounding: String,
    #[serde(default)]
    shift: i32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SliceKeys {
    count: usize,
    bits: u32,
    rounding: String,
    format: String,
    rest: Option<String>,
    #[serde(default)]
    balanced: bool,
    headroom: Option<u32>,
    dynamic: Option<DynamicKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuliKeys {
    values: Vec<u32>,
    count: Option<usize>,
    format: String,
    scaling: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DigitKeys {
    bits: u32,
    digit: u32,
    signed: bool,
}

/// Gives a split another number of slices or moduli.
pub(super) fn recount(keys: &mut OperandSplitKeys, count: usize) -> Checked<()> {
    match keys {
        OperandSplitKeys { slices: Some(slices), .. } => (slices.count, slices.dynamic) = (count, None),
        OperandSplitKeys { moduli: Some(moduli), .. } => moduli.count = Some(count),
        _ => return Err(somewhere("a count (NAME:COUNT) is of slices or moduli; this scheme has neither")),
    }
    Ok(())
}

/// The split of an operand; `places` gets the bytes of its parts.
pub(super) fn split(keys: OperandSplitKeys, table: &str, places: &mut Vec<usize>) -> Checked<OperandSplit> {
    let within = |(at, what): SchemeDefect| (at, format!("[{table}]: {what}"));
    match (keys.parts, keys.slices, keys.digits, keys.moduli) {
        (Some(parts), None, None, None) => parts_of(parts, places).map(OperandSplit::Parts),
        (None, Some(slices), None, None) => slices_of(slices).map(OperandSplit::Slices),
        (None, None, None, Some(moduli)) => moduli_of(moduli).map(OperandSplit::Moduli),
        (None, None, Some(DigitKeys { bits, digit, signed }), None) => {
            let fits = (digit == 4 || digit == 8) && bits.is_multiple_of(digit) && (digit..=MOST_BITS).contains(&bits);
            match fits {
                true => Ok(OperandSplit::Digits(Digits { bits, digit, signed })),
                false => Err(somewhere(format!(
                    "digits: bits = {bits} of digit = {digit}: digits have 4 or 8 bits, and integers whole digits, up to {MOST_BITS} \
                     bits"
                ))),
            }
        }
        _ => Err(somewhere("expected one of parts, slices, digits and moduli")),
    }
    .map_err(within)
}

fn parts_of(keys: Vec<PartKeys>, places: &mut Vec<usize>) -> Checked<Vec<SplitPart>> {
    let mut parts: Vec<SplitPart> = Vec::new();
    if !(1..=MOST_PARTS).contains(&keys.len()) {
        return Err(somewhere(format!("there are 1 to {MOST_PARTS} parts")));
    }
    for PartKeys { name, format, rounding, shift } in keys {
        let wrong = |what: String| (Some(name.span().start), what);
        let part_name = name.get_ref();
        if part_name.is_empty() || !part_name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong(format!("'{part_name}' is no name of a part: it has letters, digits and _")));
        }
        if parts.iter().any(|part| part.name == *part_name) {
            return Err(wrong(format!("the part {part_name} is described twice")));
        }
        let part_format = format::find(&format).map_err(|error| wrong(error.to_string()))?;
        if part_format.float().is_none_or(|float| float.precision() > 24) || part_format.bits > 32 {
            return Err(wrong(format!("format = \"{format}\": parts are in floating-point formats up to f32")));
        }
        if shift.abs() > LARGEST_SHIFT {
            return Err(wrong(format!("shift = {shift}: it is from -{LARGEST_SHIFT} to {LARGEST_SHIFT}")));
        }
        let rounding = rounding_of(&rounding, &Rounding::DETERMINISTIC).map_err(|(_, what)| wrong(what))?;
        places.push(name.span().start);
        parts.push(SplitPart { name: part_name.clone(), format: part_format, rounding, shift });
    }
    Ok(parts)
}

fn slices_of(keys: SliceKeys) -> Checked<Slices> {
    let SliceKeys { count, bits, rounding, format, rest, balanced, headroom, dynamic } = keys;
    let known: &[Rounding] = match (rest.is_some(), balanced) {
        (true, true) => return Err(somewhere("slices: rest is of digits in two's complement, and these are balanced")),
        (true, false) => &[Rounding::Rz, Rounding::Rd],
        (false, true) => &[Rounding::Rz],
        (false, false) => &[Rounding::Rz, Rounding::Rne],
    };
    if balanced && headroom.is_none() || headroom.is_some_and(|headroom| !(1..=52).contains(&headroom)) {
        return Err(somewhere("slices: balanced digits take a headroom, of 1 to 52 fraction bits"));
    }
    let (most, most_bits) = if balanced { (MOST_BALANCED, MOST_BALANCED_BITS) } else { (MOST_PARTS, MOST_SLICED_BITS) };
    if dynamic.as_ref().is_some_and(|dynamic| dynamic.block == 0 || dynamic.most >= bits * most as u32) {
        return Err(somewhere(format!(
            "slices: dynamic needs a block above 0, and fewer bits than {most} slices have"
        )));
    }
    let dynamic = dynamic.map(|DynamicKeys { block, most }| DynamicSlices { block, most });
    let rounding = rounding_of(&rounding, known)?;
    let find = |format: &str| format::find(format).map_err(|error| somewhere(error.to_string()));
    let (format, rest) = (find(&format)?, rest.as_deref().map(find).transpose()?);
    if !(1..=most).contains(&count) || !(2..=MOST_BITS).contains(&bits) {
        return Err(somewhere(format!("slices: count is 1 to {most}, and bits 2 to {MOST_BITS}")));
    }
    let slices = Slices { count, bits, rounding, format, rest, balanced, headroom, dynamic };
    if slices.kept_bits() > most_bits {
        return Err(somewhere(format!("slices: {count} of {bits} bits; together they have up to {most_bits}")));
    }
    for slice in 0..count.min(2) {
        let ((least, most), slice_format) = (slices.range(slice), slices.rest.filter(|_| slice > 0).unwrap_or(format));
        if !has_integers(slice_format, least, most) {
            let what = match rest {
                None => format!(
                    "slices of {bits} bits by {} are integers up to {most}, and {slice_format} does not have all of them and their negatives",
                    rounding.name()
                ),
                Some(_) => {
                    format!("slice {} has integers from {least} to {most}, and {slice_format} lacks some", slice + 1)
                }
            };
            return Err(somewhere(what));
        }
    }
    Ok(slices)
}

fn moduli_of(keys: ModuliKeys) -> Checked<Moduli> {
    let ModuliKeys { mut values, count, format, scaling } = keys;
    let wrong = |what: String| Err(somewhere(format!("moduli: {what}")));
    let most = values.len().min(MOST_MODULI);
    let count = count.unwrap_or(values.len());
    if !(1..=most).contains(&count) || values.len() > MOST_MODULI {
        return wrong(format!(
            "count = {count}: it is 1 to the number of values, which is {most} here and at most {MOST_MODULI}"
        ));
    }
    let format = format::find(&format).map_err(|error| somewhere(error.to_string()))?;
    if !format.is_integer() {
        return wrong(format!("format = \"{format}\": remainders are in a format of integers"));
    }
    for (at, modulus) in values.iter().enumerate() {
        let least = -i64::from(modulus / 2);
        if *modulus < 2 || *modulus > 256 || !has_integers(format, least, least + i64::from(*modulus) - 1) {
            return wrong(format!("{modulus}: moduli are 2 to 256, and {format} has their remainders around zero"));
        }
        if let Some(other) = values[..at].iter().find(|other| divisor(**other, *modulus) > 1) {
            return wrong(format!("{other} and {modulus} have the common divisor {}", divisor(*other, *modulus)));
        }
    }
    values.truncate(count);
    Ok(Moduli { moduli: values, format, scaling: one_of("scaling", &scaling, &Scaling::ALL)? })
}

/// The largest common divisor.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// True if a format has all integers of a range.
fn has_integers(format: &Format, least: i64, most: i64) -> bool {
    let has = |x: f64| format.encode_f64(x, Rounding::Rz, format::Overflow::Saturate).map(|code| format.to_f64(code));
    (least..=most).all(|x| has(x as f64) == Some(x as f64))
}

fn rounding_of(given: &str, known: &[Rounding]) -> Checked<Rounding> {
    Rounding::parse(given).filter(|rounding| known.contains(rounding)).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(Rounding::name).collect();
        somewhere(format!("rounding = \"{given}\": it is one of {}", known.join(", ")))
    })
}
