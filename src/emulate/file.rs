//! Schemes as TOML files.

use std::path::Path;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::scheme::{Digits, OperandSplit, PartSum, ProductTurn, Promote, Scheme, Slices, SplitPart, SumRegister};
use crate::{
    Error, Result,
    base::{distinct::distinct, named::Named, nearest::nearest, text},
    format::{self, Format, Rounding},
};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/schemes.rs"));
const MOST_PARTS: usize = 16;
/// The largest shift of a part.
const LARGEST_SHIFT: i32 = 100;
/// The most bits of integers: numbers of f32.
const MOST_BITS: u32 = 24;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemeKeys {
    title: String,
    source: Option<String>,
    both: Option<OperandSplitKeys>,
    a: Option<OperandSplitKeys>,
    b: Option<OperandSplitKeys>,
    #[serde(default)]
    dropped: Vec<Spanned<String>>,
    register: Option<String>,
    accumulator: Option<String>,
    sum: Vec<SumKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperandSplitKeys {
    parts: Option<Vec<PartKeys>>,
    slices: Option<SliceKeys>,
    digits: Option<DigitKeys>,
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DigitKeys {
    bits: u32,
    digit: u32,
    signed: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SumKeys {
    products: Vec<Spanned<String>>,
    #[serde(default)]
    apart: bool,
    block: Option<Value>,
    promote: Option<String>,
}

/// A defect of a file, and the byte of its place, if it has one.
type SchemeDefect = (Option<usize>, String);
type Checked<T> = std::result::Result<T, SchemeDefect>;

/// A defect that stands at no one place.
fn somewhere(what: impl Into<String>) -> SchemeDefect {
    (None, what.into())
}

impl Scheme {
    /// The names of the schemes that are shipped, in alphabetical order.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The scheme of this name, or in this file (a path with a slash, or that ends in `.toml`).
    ///
    /// # Errors
    /// A request error: no such scheme, a file that cannot be read, or that describes no scheme (with its line).
    pub fn find(name: &str) -> Result<Scheme> {
        if let Some((name, text)) = SHIPPED.iter().find(|(own, _)| *own == name.to_ascii_lowercase()) {
            return Scheme::parse(text, name, &format!("schemes/{name}.toml"));
        }
        let path = Path::new(name);
        if !name.contains('/') && path.extension().is_none_or(|end| end != "toml") {
            let near = nearest(name, Scheme::shipped(), 3).join(", ");
            return Err(Error::request(format!(
                "unknown scheme '{name}'; the nearest are {near}. A scheme of your own is a file: FILE.toml"
            )));
        }
        let text = text::read(path, "the scheme")?;
        let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
        Scheme::parse(&text, &stem, name)
    }

    /// The schemes of these names, each once; without names, all that are shipped.
    ///
    /// # Errors
    /// As [`Scheme::find`]; two schemes of one name.
    pub fn chosen(names: &[String]) -> Result<Vec<Scheme>> {
        let schemes = match names {
            [] => Scheme::shipped().map(Scheme::find).collect::<Result<Vec<_>>>()?,
            names => distinct(names.iter().map(|name| Scheme::find(name)).collect::<Result<Vec<_>>>()?),
        };
        let twice = |(at, own): &(usize, &Scheme)| schemes[..*at].iter().any(|other| other.name == own.name);
        match schemes.iter().enumerate().find(twice) {
            Some((_, own)) => Err(Error::request(format!("two schemes have the name {}; rename a file", own.name))),
            None => Ok(schemes),
        }
    }

    /// The scheme that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// As [`Scheme::find`].
    pub fn parse(text: &str, name: &str, origin: &str) -> Result<Scheme> {
        let keys: std::result::Result<SchemeKeys, toml::de::Error> = toml::from_str(text);
        let scheme = match keys {
            Ok(keys) => of_keys(keys, name),
            Err(error) => Err((error.span().map(|span| span.start), error.message().replace('\n', " "))),
        };
        scheme.map_err(|(at, what)| match at {
            Some(at) => {
                let line = 1 + text[..at.min(text.len())].matches('\n').count();
                Error::request(format!("{origin}:{line}: {what}"))
            }
            None => Error::request(format!("{origin}: {what}")),
        })
    }
}

fn of_keys(keys: SchemeKeys, name: &str) -> Checked<Scheme> {
    let mut parts = Vec::new();
    let (a, b) = match (keys.both, keys.a, keys.b) {
        (Some(both), None, None) => {
            let split = split(both, "both", &mut parts)?;
            (split.clone(), split)
        }
        (None, Some(a), Some(b)) => (split(a, "a", &mut parts)?, split(b, "b", &mut parts)?),
        _ => return Err(somewhere("expected [both], or [a] and [b]: how elements of A and B are split")),
    };
    if std::mem::discriminant(&a) != std::mem::discriminant(&b) {
        return Err(somewhere("[a] and [b] are split in the same way: into parts, slices or digits"));
    }
    let register = match (&a, keys.register.as_deref()) {
        (OperandSplit::Digits(_), None) => SumRegister::Integer,
        (OperandSplit::Digits(_), Some(_)) => {
            return Err(somewhere("register: digits are combined in s32; leave it out"));
        }
        (_, None) => SumRegister::Single,
        (_, Some(given)) => one_of("register", given, &[SumRegister::Single, SumRegister::Double])?,
    };
    let integers = a.format(0).is_integer() && b.format(0).is_integer();
    let accumulator = match (integers, keys.accumulator.as_deref()) {
        (true, None) => "s32",
        (false, None | Some("f32")) => "f32",
        (false, Some("f16")) => "f16",
        (_, Some(given)) => {
            return Err(somewhere(format!(
                "accumulator = \"{given}\": it is \"f32\" or \"f16\"; integers are added in s32"
            )));
        }
    };
    let mut scheme = Scheme {
        name: name.into(),
        title: keys.title,
        source: keys.source,
        a,
        b,
        sums: vec![],
        register,
        accumulator: format::find(accumulator).map_err(|error| somewhere(error.to_string()))?,
    };
    let mut named = vec![false; scheme.a.count() * scheme.b.count()];
    for product in &keys.dropped {
        scheme.once(product, &mut named)?;
    }
    for sum in keys.sum {
        let sum = scheme.sum(sum, &mut named)?;
        scheme.sums.extend(sum);
    }
    if let Some(product) = named.iter().position(|named| !named) {
        let (part, other) = (product / scheme.b.count(), product % scheme.b.count());
        let what = format!(
            "the product {}*{} is in no sum; name it in one, or in dropped",
            scheme.a.name(part),
            scheme.b.name(other)
        );
        return Err((parts.get(part).copied(), what));
    }
    match scheme.sums.is_empty() {
        true => Err(somewhere("there is no [[sum]]")),
        false => Ok(scheme),
    }
}

/// The value of this name.
fn one_of<T: Named>(key: &str, given: &str, known: &[T]) -> Checked<T> {
    known.iter().copied().find(|value| value.name() == given).ok_or_else(|| {
        let known: Vec<String> = known.iter().map(|value| format!("\"{}\"", value.name())).collect();
        somewhere(format!("{key} = \"{given}\": it is one of {}", known.join(", ")))
    })
}

impl Scheme {
    /// The product that is named here, for the first time.
    fn once(&self, product: &Spanned<String>, named: &mut [bool]) -> Checked<(usize, usize)> {
        let text = product.get_ref();
        let wrong = |what: String| (Some(product.span().start), what);
        let (a, b) = text.split_once('*').ok_or_else(|| {
            wrong(format!("'{text}' is no product: expected a part of A and one of B, such as \"hi*lo\""))
        })?;
        let part = |matrix: &str, split: &OperandSplit, name: &str| {
            let names: Vec<String> = (0..split.count()).map(|part| split.name(part)).collect();
            names.iter().position(|own| own == name.trim()).ok_or_else(|| {
                wrong(format!("'{text}': {matrix} has no part '{}'; its parts are {}", name.trim(), names.join(", ")))
            })
        };
        let (a, b) = (part("A", &self.a, a)?, part("B", &self.b, b)?);
        match std::mem::replace(&mut named[a * self.b.count() + b], true) {
            true => Err(wrong(format!("the product {text} is named twice"))),
            false => Ok((a, b)),
        }
    }

    /// The sum that is described here; where its products are summed apart, one for each.
    fn sum(&self, keys: SumKeys, named: &mut [bool]) -> Checked<Vec<PartSum>> {
        let block = match &keys.block {
            None => ProductTurn::Step,
            Some(Value::String(word)) if word == "step" => ProductTurn::Step,
            Some(Value::String(word)) if word == "all" => ProductTurn::All,
            Some(Value::Integer(terms @ 1..=0x1_0000)) => ProductTurn::Terms(*terms as usize),
            Some(other) => {
                return Err(somewhere(format!(
                    "block = {other}: it is \"step\", \"all\", or a number of k up to 65536"
                )));
            }
        };
        let promote = keys.promote.as_deref().map(|given| one_of("promote", given, &Promote::ALL)).transpose()?;
        let promote = promote.unwrap_or(Promote::Never);
        let mut sums: Vec<PartSum> = Vec::new();
        for text in &keys.products {
            let (a, b) = self.once(text, named)?;
            let one = PartSum { products: vec![(a, b)], block, promote, scale: self.a.scale(a) + self.b.scale(b) };
            match sums.last_mut() {
                Some(sum) if !keys.apart => {
                    let wrong = |what: String| (Some(text.span().start), what);
                    if sum.scale != one.scale {
                        return Err(wrong(format!(
                            "{} stands for 2^{}, and the product before it in the sum for 2^{}; sum them apart",
                            text.get_ref(),
                            one.scale,
                            sum.scale
                        )));
                    }
                    let ([c, d], [x, y]) = (self.formats(&one), self.formats(sum));
                    if [c, d] != [x, y] {
                        return Err(wrong(format!(
                            "{} multiplies {c} by {d}, and the product before it in the sum {x} by {y}; sum them apart",
                            text.get_ref()
                        )));
                    }
                    sum.products.extend(one.products);
                }
                _ => sums.push(one),
            }
        }
        match sums.is_empty() {
            true => Err(somewhere("a [[sum]] has no products")),
            false => Ok(sums),
        }
    }
}

/// The split of an operand; `places` gets the bytes of its parts.
fn split(keys: OperandSplitKeys, table: &str, places: &mut Vec<usize>) -> Checked<OperandSplit> {
    let within = |(at, what): SchemeDefect| (at, format!("[{table}]: {what}"));
    match (keys.parts, keys.slices, keys.digits) {
        (Some(parts), None, None) => parts_of(parts, places).map(OperandSplit::Parts),
        (None, Some(slices), None) => slices_of(slices).map(OperandSplit::Slices),
        (None, None, Some(DigitKeys { bits, digit, signed })) => {
            let fits = (digit == 4 || digit == 8) && bits.is_multiple_of(digit) && (digit..=MOST_BITS).contains(&bits);
            match fits {
                true => Ok(OperandSplit::Digits(Digits { bits, digit, signed })),
                false => Err(somewhere(format!(
                    "digits: bits = {bits} of digit = {digit}: digits have 4 or 8 bits, and integers whole digits, up to {MOST_BITS} \
                     bits"
                ))),
            }
        }
        _ => Err(somewhere("expected one of parts, slices and digits")),
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
        let own = name.get_ref();
        if own.is_empty() || !own.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong(format!("'{own}' is no name of a part: it has letters, digits and _")));
        }
        if parts.iter().any(|part| part.name == *own) {
            return Err(wrong(format!("the part {own} is described twice")));
        }
        let found = format::find(&format).map_err(|error| wrong(error.to_string()))?;
        if found.float().is_none_or(|float| float.precision() > 24) || found.bits > 32 {
            return Err(wrong(format!("format = \"{format}\": parts are in floating-point formats up to f32")));
        }
        if shift.abs() > LARGEST_SHIFT {
            return Err(wrong(format!("shift = {shift}: it is from -{LARGEST_SHIFT} to {LARGEST_SHIFT}")));
        }
        let rounding = rounding_of(&rounding, &Rounding::DETERMINISTIC).map_err(|(_, what)| wrong(what))?;
        places.push(name.span().start);
        parts.push(SplitPart { name: own.clone(), format: found, rounding, shift });
    }
    Ok(parts)
}

fn slices_of(keys: SliceKeys) -> Checked<Slices> {
    let SliceKeys { count, bits, rounding, format } = keys;
    let rounding = rounding_of(&rounding, &[Rounding::Rz, Rounding::Rne])?;
    let found = format::find(&format).map_err(|error| somewhere(error.to_string()))?;
    if !(1..=MOST_PARTS).contains(&count) || !(2..=MOST_BITS).contains(&bits) {
        return Err(somewhere(format!("slices: count is 1 to {MOST_PARTS}, and bits 2 to {MOST_BITS}")));
    }
    let slices = Slices { count, bits, rounding, format: found };
    match has_integers(found, slices.largest()) {
        true => Ok(slices),
        false => Err(somewhere(format!(
            "slices of {bits} bits by {} are integers up to {}, and {found} does not have all of them and their negatives",
            rounding.name(),
            slices.largest()
        ))),
    }
}

/// True if a format has all integers up to this magnitude.
fn has_integers(format: &Format, largest: u64) -> bool {
    let has = |x: f64| format.encode_f64(x, Rounding::Rz, format::Overflow::Saturate).map(|code| format.to_f64(code));
    (0..=largest).all(|x| has(x as f64) == Some(x as f64) && has(-(x as f64)) == Some(-(x as f64)))
}

fn rounding_of(given: &str, known: &[Rounding]) -> Checked<Rounding> {
    Rounding::parse(given).filter(|rounding| known.contains(rounding)).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(Rounding::name).collect();
        somewhere(format!("rounding = \"{given}\": it is one of {}", known.join(", ")))
    })
}
