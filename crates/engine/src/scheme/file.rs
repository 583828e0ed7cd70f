//! Schemes as TOML files.

use std::path::Path;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::{
    definition::{
        Emulated, Epilogue, Fallback, OperandSplit, PartSum, ProductTurn, Promote, Scheme, SumRegister, WholeParts,
    },
    split_keys::{OperandSplitKeys, recount, split},
};
use crate::{
    Error, Result,
    base::{
        distinct::distinct,
        named::{Named, named},
        nearest::nearest,
        text,
    },
    format,
};

/// The largest count behind the colon of a name.
const MOST_COUNT: usize = 126;
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/schemes.rs"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemeKeys {
    title: String,
    source: Option<String>,
    emulates: Option<String>,
    both: Option<OperandSplitKeys>,
    a: Option<OperandSplitKeys>,
    b: Option<OperandSplitKeys>,
    #[serde(default)]
    dropped: Vec<Spanned<String>>,
    register: Option<String>,
    accumulator: Option<String>,
    parts_of_k: Option<PartsOfKKeys>,
    fallback: Option<String>,
    epilogue: Option<String>,
    #[serde(default)]
    sum: Vec<SumKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartsOfKKeys {
    tile: usize,
    from: usize,
    outputs: usize,
    most: usize,
    batches_from: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SumKeys {
    #[serde(default)]
    products: Vec<Spanned<String>>,
    #[serde(default)]
    triangle: bool,
    order: Option<String>,
    group: Option<usize>,
    #[serde(default)]
    apart: bool,
    block: Option<Value>,
    promote: Option<String>,
}

/// A defect of a file, and the byte of its place, if it has one.
pub(super) type SchemeDefect = (Option<usize>, String);
/// Result of reading a part of a file.
pub(super) type Checked<T> = std::result::Result<T, SchemeDefect>;

/// A defect that stands at no one place.
pub(super) fn somewhere(what: impl Into<String>) -> SchemeDefect {
    (None, what.into())
}

impl Scheme {
    /// The names of the schemes that are shipped, in alphabetical order.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The scheme of this name, or in this file (a path with a slash, or that ends in `.toml`).
    ///
    /// `NAME:COUNT` has so many slices or moduli.
    ///
    /// # Errors
    /// A request error: no such scheme, a file that cannot be read, or that describes no scheme (with its line), or has no count.
    pub fn find(name: &str) -> Result<Scheme> {
        match counted(name)? {
            Some((name, first, last)) if first == last => Scheme::of_name(name, Some(first)),
            Some(_) => Err(Error::request(format!("'{name}' names several schemes; give one count, as in NAME:8"))),
            None => Scheme::of_name(name, None),
        }
    }

    fn of_name(name: &str, count: Option<usize>) -> Result<Scheme> {
        if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name.to_ascii_lowercase()) {
            return Scheme::of_text(text, name, &format!("schemes/{name}.toml"), count);
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
        Scheme::of_text(&text, &stem, name, count)
    }

    /// The scheme with another number of slices or moduli, under the name `NAME:COUNT`.
    ///
    /// # Errors
    /// As [`Scheme::find`].
    pub fn with_count(&self, count: usize) -> Result<Scheme> {
        let base = self.file.as_str();
        Scheme::of_name(base, Some(count))
    }

    /// The shipped schemes that emulate a format.
    ///
    /// # Errors
    /// As [`Scheme::find`].
    pub fn emulating(emulates: Emulated) -> Result<Vec<Scheme>> {
        let all = Scheme::shipped().map(Scheme::find).collect::<Result<Vec<_>>>()?;
        Ok(all.into_iter().filter(|scheme| scheme.emulates == emulates).collect())
    }

    /// The schemes of these names, each once; without names, all that emulate f32 or integers.
    ///
    /// `NAME:7..9` is three schemes; `f32` and `f64` are all that emulate that format.
    ///
    /// # Errors
    /// As [`Scheme::find`]; two schemes of one name.
    pub fn chosen(names: &[String]) -> Result<Vec<Scheme>> {
        let schemes = match names {
            [] => Scheme::emulating(Emulated::Single)?,
            names => {
                let each = |name: &String| match (
                    counted(name)?,
                    Emulated::ALL.into_iter().find(|emulated| emulated.name() == *name),
                ) {
                    (_, Some(emulates)) => Scheme::emulating(emulates),
                    (Some((name, first, last)), None) => {
                        (first..=last).map(|count| Scheme::of_name(name, Some(count))).collect()
                    }
                    (None, None) => Scheme::of_name(name, None).map(|scheme| vec![scheme]),
                };
                distinct(names.iter().map(each).collect::<Result<Vec<_>>>()?.concat())
            }
        };
        let twice = |(at, scheme): &(usize, &Scheme)| schemes[..*at].iter().any(|other| other.name == scheme.name);
        match schemes.iter().enumerate().find(twice) {
            Some((_, scheme)) => {
                Err(Error::request(format!("two schemes have the name {}; rename a file", scheme.name)))
            }
            None => Ok(schemes),
        }
    }

    /// The scheme that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// As [`Scheme::find`].
    pub fn parse(text: &str, name: &str, origin: &str) -> Result<Scheme> {
        Scheme::of_text(text, name, origin, None)
    }

    fn of_text(text: &str, name: &str, origin: &str, count: Option<usize>) -> Result<Scheme> {
        let keys: std::result::Result<SchemeKeys, toml::de::Error> = toml::from_str(text);
        let scheme = match keys {
            Ok(keys) => of_keys(keys, name, origin, count),
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

/// A name and the first and last count behind its colon; `None` without counts.
///
/// # Errors
/// A request error: what is wrong with the counts of a scheme that there is.
fn counted(name: &str) -> Result<Option<(&str, usize, usize)>> {
    let Some((base, counts)) = name.rsplit_once(':') else { return Ok(None) };
    let wrong = |what: String| Err(Error::request(format!("'{name}': {what}")));
    if Emulated::ALL.iter().any(|emulated| emulated.name() == base) {
        return wrong(format!(
            "{base} stands for all schemes that emulate it, and takes no count; name a scheme, as in ozaki-int8-f64:8"
        ));
    }
    let (first, last) = counts.split_once("..").unwrap_or((counts, counts));
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if last < first => {
            wrong(format!("the range is empty, since {first} is above {last}; write {base}:{last}..{first}"))
        }
        (Ok(_), Ok(last)) if last > MOST_COUNT => wrong(format!("a count is at most {MOST_COUNT}")),
        (Ok(first), Ok(last)) => Ok(Some((base, first, last))),
        _ if base.ends_with(".toml") || SHIPPED.iter().any(|(shipped, _)| *shipped == base.to_ascii_lowercase()) => {
            wrong(format!("'{counts}' is no count of slices or moduli; write {base}:8 or {base}:7..9"))
        }
        _ => Ok(None),
    }
}

fn of_keys(mut keys: SchemeKeys, name: &str, origin: &str, count: Option<usize>) -> Checked<Scheme> {
    let mut parts = Vec::new();
    if let Some(count) = count {
        for split in [&mut keys.both, &mut keys.a, &mut keys.b].into_iter().flatten() {
            recount(split, count)?;
        }
        if keys.sum.iter().any(|sum| !sum.triangle) {
            return Err(somewhere(
                "its products are listed, so it takes no count; triangle = true in [[sum]] makes them",
            ));
        }
    }
    let (a, b) = match (keys.both, keys.a, keys.b) {
        (Some(both), None, None) => {
            let split = split(both, "both", &mut parts)?;
            (split.clone(), split)
        }
        (None, Some(a), Some(b)) => (split(a, "a", &mut parts)?, split(b, "b", &mut parts)?),
        _ => return Err(somewhere("expected [both], or [a] and [b]: how elements of A and B are split")),
    };
    if std::mem::discriminant(&a) != std::mem::discriminant(&b) {
        return Err(somewhere("[a] and [b] are split in the same way: into parts, slices, digits or moduli"));
    }
    let emulates = keys.emulates.as_deref().map(|given| one_of("emulates", given, &Emulated::ALL)).transpose()?;
    let emulates = emulates.unwrap_or(Emulated::Single);
    if let (OperandSplit::Moduli(x), OperandSplit::Moduli(y)) = (&a, &b)
        && x != y
    {
        return Err(somewhere("[a] and [b] have the same moduli and scaling; use [both]"));
    }
    let register = match (&a, keys.register.as_deref()) {
        (OperandSplit::Digits(_), None) => SumRegister::Integer,
        (OperandSplit::Digits(_), Some(_)) => {
            return Err(somewhere("register: digits are combined in s32; leave it out"));
        }
        (OperandSplit::Moduli(_), None) => SumRegister::Residues,
        (OperandSplit::Moduli(_), Some(_)) => {
            return Err(somewhere("register: remainders are combined as an exact integer; leave it out"));
        }
        (_, None) if emulates == Emulated::Double => SumRegister::Double,
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
    if emulates == Emulated::Double && (register == SumRegister::Single || register == SumRegister::Integer) {
        return Err(somewhere("emulates = \"f64\": the sums are combined in f64; leave register out, or digits"));
    }
    let of_doubles = keys.parts_of_k.is_some() || keys.fallback.is_some() || keys.epilogue.is_some();
    if emulates == Emulated::Single && of_doubles {
        return Err(somewhere("parts_of_k, fallback and epilogue are of schemes that emulate f64"));
    }
    let file = if origin == format!("schemes/{name}.toml") { name } else { origin };
    let mut scheme = Scheme {
        name: count.map_or(name.into(), |count| format!("{name}:{count}")),
        file: file.into(),
        title: keys.title,
        source: keys.source,
        emulates,
        a,
        b,
        sums: vec![],
        register,
        parts: keys.parts_of_k.map(whole_parts).transpose()?,
        fallback: keys
            .fallback
            .as_deref()
            .map_or(Ok(Fallback::Nan), |given| one_of("fallback", given, &Fallback::ALL))?,
        epilogue: keys
            .epilogue
            .as_deref()
            .map_or(Ok(Epilogue::None), |given| one_of("epilogue", given, &Epilogue::ALL))?,
        accumulator: format::find(accumulator).map_err(|error| somewhere(error.to_string()))?,
    };
    let mut named = vec![false; scheme.a.count() * scheme.b.count()];
    for product in &keys.dropped {
        scheme.once(product, &mut named)?;
    }
    if let OperandSplit::Moduli(moduli) = &scheme.a {
        if !keys.sum.is_empty() || !keys.dropped.is_empty() {
            return Err(somewhere(
                "[[sum]] and dropped: with moduli, remainders by the same one multiply; leave them out",
            ));
        }
        let one = |part: usize| PartSum {
            products: vec![(part, part)],
            block: ProductTurn::Step,
            promote: Promote::Never,
            scale: 0,
            group: None,
        };
        scheme.sums = (0..moduli.moduli.len()).map(one).collect();
        return Ok(scheme);
    }
    for sum in keys.sum {
        let sum = if sum.triangle { scheme.triangle(&sum, &mut named)? } else { scheme.sum(sum, &mut named)? };
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
pub(super) fn one_of<T: Named>(key: &str, given: &str, known: &[T]) -> Checked<T> {
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
            names.iter().position(|known| known == name.trim()).ok_or_else(|| {
                wrong(format!("'{text}': {matrix} has no part '{}'; its parts are {}", name.trim(), names.join(", ")))
            })
        };
        let (a, b) = (part("A", &self.a, a)?, part("B", &self.b, b)?);
        match std::mem::replace(&mut named[a * self.b.count() + b], true) {
            true => Err(wrong(format!("the product {text} is named twice"))),
            false => Ok((a, b)),
        }
    }

    /// The products of slices whose numbers add up to at most their count and one, the smallest first.
    ///
    /// Products of the same power of two are in one sum, unless they are apart.
    fn triangle(&self, keys: &SumKeys, named: &mut [bool]) -> Checked<Vec<PartSum>> {
        let (OperandSplit::Slices(x), OperandSplit::Slices(y)) = (&self.a, &self.b) else {
            return Err(somewhere("triangle = true: its products are of slices"));
        };
        if x.count != y.count || !keys.products.is_empty() || named.iter().any(|named| *named) {
            return Err(somewhere(
                "triangle = true: A and B have the same number of slices, and no products are listed or dropped",
            ));
        }
        named.fill(true);
        let (block, promote) = keys.turns()?;
        let order =
            keys.order.as_deref().map_or(Ok(SumOrder::Smallest), |given| one_of("order", given, &SumOrder::ALL))?;
        let group = keys.group;
        if group.is_some_and(|group| group == 0 || promote != Promote::Never || keys.apart) {
            return Err(somewhere("group: a number of k above 0, of sums in s32 that are neither apart nor promoted"));
        }
        let mut sums: Vec<PartSum> = Vec::new();
        let all: Vec<usize> = match order {
            SumOrder::Smallest => (0..x.count).rev().collect(),
            SumOrder::Largest => (0..x.count).collect(),
        };
        for both in all {
            for place in 0..=both {
                // The largest first: every other power of two in the reverse order.
                let a = if order == SumOrder::Largest && both % 2 == 1 { both - place } else { place };
                let b = both - a;
                let scale = self.a.scale(a) + self.b.scale(b);
                let one = PartSum { products: vec![(a, b)], block, promote, scale, group };
                match sums.last_mut() {
                    Some(sum) if !keys.apart && sum.scale == one.scale && self.formats(sum) == self.formats(&one) => {
                        sum.products.extend(one.products);
                    }
                    _ => sums.push(one),
                }
            }
        }
        Ok(sums)
    }

    /// The sum that is described here; where its products are summed apart, one for each.
    fn sum(&self, keys: SumKeys, named: &mut [bool]) -> Checked<Vec<PartSum>> {
        let (block, promote) = keys.turns()?;
        if keys.order.is_some() || keys.group.is_some() {
            return Err(somewhere("order and group are of sums with triangle = true"));
        }
        let mut sums: Vec<PartSum> = Vec::new();
        for text in &keys.products {
            let (a, b) = self.once(text, named)?;
            let one = PartSum {
                products: vec![(a, b)],
                block,
                promote,
                scale: self.a.scale(a) + self.b.scale(b),
                group: None,
            };
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

impl SumKeys {
    /// The turns of the products, and when the sum is added to a register.
    fn turns(&self) -> Checked<(ProductTurn, Promote)> {
        let block = match &self.block {
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
        let promote = self.promote.as_deref().map(|given| one_of("promote", given, &Promote::ALL)).transpose()?;
        Ok((block, promote.unwrap_or(Promote::Never)))
    }
}

fn whole_parts(keys: PartsOfKKeys) -> Checked<WholeParts> {
    let PartsOfKKeys { tile, from, outputs, most, batches_from } = keys;
    match tile > 0 && most > 0 {
        true => Ok(WholeParts { tile, from, outputs, most, batches_from }),
        false => Err(somewhere("parts_of_k: tile and most are above 0")),
    }
}

named! {
    /// The order in which sums of a triangle of slices are joined.
    enum SumOrder {
        Smallest = "smallest": "The smallest power of two first";
        Largest = "largest": "The largest power of two first";
    }
}
