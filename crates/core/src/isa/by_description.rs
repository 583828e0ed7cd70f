//! Instructions that users describe: a TOML file each.
//!
//! ```toml
//! name = "rtl.m4n4k8.f32.e4m3.e4m3.f32"   # by which models cover it, and reports name it
//! m = 4
//! n = 4
//! k = 8
//! a = "e4m3"                              # a format, or a file that describes one, in this folder
//! b = "e4m3"
//! c = "f32"
//! d = "f32"
//! # Where they apply:
//! saturate = false                        # too large integers become the largest
//! xor = false                             # the term of two bits is their exclusive or: A and B are b1
//! sparse = { length = 4, kept = 2 }       # A is stored so; together = 2: in pairs of neighbours; any-order = true: in any order
//! scale = { format = "e8m0", block = 8 }  # block scales of A and B
//! spelling = "dot8"                       # another name, which the exec protocol has as "instruction"
//! [[formats]]                             # a format of the user's, here instead of in a file of its own
//! ```

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use serde::Deserialize;

use super::{Chunk, Instruction, Scale, table};
use crate::{
    Error, Result,
    base::text,
    format::{self, Format},
};

/// Most rows, columns and terms of a tile.
const LARGEST: usize = 1024;
/// Most stored elements of a row of A.
const MOST_STORED: usize = 128;
/// Longest name, in characters.
const LONGEST_NAME: usize = 100;

/// Keys of a description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: String,
    spelling: Option<String>,
    m: usize,
    n: usize,
    k: usize,
    a: String,
    b: String,
    c: String,
    d: String,
    #[serde(default)]
    saturate: bool,
    #[serde(default)]
    xor: bool,
    sparse: Option<SparseKeys>,
    scale: Option<ScaleKeys>,
    #[serde(default)]
    formats: Vec<toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(rename_all = "kebab-case")]
struct SparseKeys {
    length: usize,
    kept: usize,
    #[serde(default = "one")]
    together: usize,
    #[serde(default)]
    any_order: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScaleKeys {
    format: String,
    block: usize,
}

fn one() -> usize {
    1
}

/// Instructions that were read; [`find`](super::find) knows them by their names.
static DESCRIBED: Mutex<Vec<Instruction>> = Mutex::new(Vec::new());

/// Instruction of a command line: a name that [`find`](super::find) knows, or a `.toml` file.
/// After that the instruction is found by its name.
///
/// # Errors
/// Like [`find`](super::find); a file that cannot be read or describes no instruction; a name that another instruction
/// has.
pub fn resolve(name: &str) -> Result<Instruction> {
    if !name.to_ascii_lowercase().ends_with(".toml") {
        return match gemm(name) {
            None => table::find(name),
            Some(Err(error)) => Err(error),
            Some(Ok(product)) => Err(Error::request(format!(
                "{product} is a matrix product, not an instruction; `tcnum gemm`, `tcnum tree` and `tcnum exec-check` take it"
            ))),
        };
    }
    described(&text::read(Path::new(name), "the instruction file")?, name, true)
}

/// Prefix of the names of matrix products.
const PRODUCT: &str = "gemm";
/// Most rows and columns of a matrix product, and most terms of one of its sums.
const MOST_ROWS: usize = 1 << 12;
const MOST_TERMS: usize = (1 << 16) - 1;
/// Most elements of all its operands.
const MOST_ELEMENTS: usize = 1 << 26;

/// Matrix product of this name, a whole D = A*B + C of any shape; `None` for an instruction's name.
/// Names are `gemm.m4n8k1000.f32.bf16.bf16.f32` (the formats of D, A, B and C), or `gemm.m4n8k1000.f32` if all formats
/// are the same.
///
/// # Errors
/// A name of another form, too large a shape, an unknown format.
pub fn gemm(name: &str) -> Option<Result<Instruction>> {
    let name = name.trim().to_ascii_lowercase();
    name.strip_prefix(PRODUCT)?.starts_with('.').then(|| product(&name))
}

fn product(name: &str) -> Result<Instruction> {
    let wrong = |what: String| {
        Error::request(format!(
            "'{name}': {what}; a matrix product is named gemm.mMnNkK.D.A.B.C, such as gemm.m4n4k1000.f32.bf16.bf16.f32, or \
             gemm.mMnNkK.FORMAT"
        ))
    };
    let parts: Vec<&str> = name.split('.').skip(1).collect();
    let shape = parts[0].strip_prefix('m').and_then(|text| {
        let (m, rest) = text.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse::<usize>().ok()?])
    });
    let Some([m, n, k]) = shape else { return Err(wrong(format!("'{}' is not a shape", parts[0]))) };
    for (key, extent, most) in [("m", m, MOST_ROWS), ("n", n, MOST_ROWS), ("k", k, MOST_TERMS)] {
        if !(1..=most).contains(&extent) {
            return Err(wrong(format!("{key} is {extent}; it must be 1 to {most}")));
        }
    }
    if m * k + k * n + m * n > MOST_ELEMENTS {
        return Err(wrong(format!("its operands have more than {MOST_ELEMENTS} elements")));
    }
    let formats = parts[1..].iter().map(|name| format::find(name)).collect::<Result<Vec<_>>>()?;
    let [d, a, b, c] = match formats[..] {
        [all] => [all; 4],
        [d, a, b, c] => [d, a, b, c],
        _ => return Err(wrong(format!("it names {} formats", formats.len()))),
    };
    [c, d].into_iter().try_for_each(has_fields)?;
    Ok(Instruction {
        name: format!("{PRODUCT}.m{m}n{n}k{k}.{d}.{a}.{b}.{c}"),
        ptx: PRODUCT.into(),
        m,
        n,
        k,
        a,
        b,
        c,
        d,
        scale: None,
        sparse: None,
        saturate: false,
        xor: false,
        kernel: None,
        support: &[],
    })
}

/// True if random operands can be drawn for the stored elements of a row of A.
pub fn can_be_drawn(i: &Instruction) -> bool {
    i.stored_k() <= MOST_STORED && i.stored_k().is_power_of_two()
}

/// Instruction that `text` describes, then found by its name; `origin` names the text in messages.
/// The text may name files of formats only if `files` is set.
///
/// # Errors
/// Like [`resolve`].
pub fn described(text: &str, origin: &str, files: bool) -> Result<Instruction> {
    let description: Description =
        toml::from_str(text).map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
    let instruction =
        description.instruction(files.then_some(Path::new(origin))).map_err(|error| error.within(origin))?;
    let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    match described.iter().find(|other| other.name == instruction.name) {
        Some(other) if *other == instruction => {}
        Some(other) => {
            return Err(Error::request(format!("{origin}: 'name': {other} already has another description")));
        }
        None => described.push(instruction.clone()),
    }
    Ok(instruction)
}

/// Description of a user's instruction with its formats, for [`described`]; `None` for a table's.
pub fn text(i: &Instruction) -> Option<String> {
    if !i.support.is_empty() {
        return None;
    }
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut text =
        format!("name = {}\nspelling = {}\nm = {}\nn = {}\nk = {}\n", quoted(&i.name), quoted(&i.ptx), i.m, i.n, i.k);
    for (key, format) in [("a", i.a), ("b", i.b), ("c", i.c), ("d", i.d)] {
        text += &format!("{key} = {}\n", quoted(format.name));
    }
    text += &format!("saturate = {}\nxor = {}\n", i.saturate, i.xor);
    if let Some(Chunk { length, kept, together, any_order }) = i.sparse {
        text += &format!(
            "sparse = {{ length = {length}, kept = {kept}, together = {together}, any-order = {any_order} }}\n"
        );
    }
    if let Some(Scale { format, block }) = i.scale {
        text += &format!("scale = {{ format = {}, block = {block} }}\n", quoted(format.name));
    }
    let formats = [i.a, i.b, i.c, i.d].into_iter().chain(i.scale.map(|scale| scale.format));
    let formats: BTreeMap<_, _> = formats.map(|format| (format.name, format)).collect();
    for record in formats.into_values().filter(|format| format::find(format.name).is_err()).filter_map(Format::to_toml)
    {
        text += &format!("\n[[formats]]\n{record}");
    }
    Some(text)
}

/// Instruction of this name that was described before.
pub(super) fn known(name: &str) -> Option<Instruction> {
    DESCRIBED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .find(|instruction| instruction.name.eq_ignore_ascii_case(name))
        .cloned()
}

impl Description {
    /// The instruction; files of formats are relative to `file`.
    fn instruction(&self, file: Option<&Path>) -> Result<Instruction> {
        let wrong = |what: String| Err(Error::request(what));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        if self.name.is_empty() || self.name.len() > LONGEST_NAME || !self.name.chars().all(plain) {
            return wrong(format!("'name' needs 1 to {LONGEST_NAME} small letters, digits, '.', '-' and '_'"));
        }
        let spelling = self.spelling.as_ref().unwrap_or(&self.name);
        if spelling.is_empty() || spelling.len() > LONGEST_NAME || spelling.chars().any(char::is_control) {
            return wrong(format!("'spelling' needs 1 to {LONGEST_NAME} characters"));
        }
        if let Some(name) = [&self.name, spelling].into_iter().find(|name| table::listed(name).is_some()) {
            return wrong(format!("'{name}' names an instruction of the program; give yours another name"));
        }
        for (key, extent) in [("m", self.m), ("n", self.n), ("k", self.k)] {
            if !(1..=LARGEST).contains(&extent) {
                return wrong(format!("'{key}' is {extent}; it must be 1 to {LARGEST}"));
            }
        }
        let formats = self.formats.iter().map(|record| {
            let format = Format::from_toml(&record.to_string(), "'formats'")?;
            // Leaked like formats of files: used to the end of the program.
            Ok(&*Box::leak(Box::new(format)))
        });
        let formats = formats.collect::<Result<Vec<&'static Format>>>()?;
        let format = |key: &str, name: &str| match formats.iter().find(|format| format.name == name) {
            Some(format) => Ok(*format),
            None => operand(file, name).map_err(|error| error.within(format!("'{key}'"))),
        };
        let divides = |what: &str, length: usize| match length > 0 && self.k.is_multiple_of(length) {
            true => Ok(()),
            false => Err(Error::request(format!("'k' is {}; it must be a multiple of the {what}, {length}", self.k))),
        };
        let sparse = match &self.sparse {
            None => None,
            Some(SparseKeys { length, kept, together, any_order }) => {
                divides("length of 'sparse'", *length)?;
                let fits = |part: usize| part > 0 && part.is_multiple_of(*together);
                if *together == 0 || *kept >= *length || !fits(*length) || !fits(*kept) || *length > 256 {
                    return wrong(
                        "'sparse' must have 'kept' less than 'length', 'length' at most 256, and both multiples of 'together'"
                            .into(),
                    );
                }
                Some(Chunk { length: *length, kept: *kept, together: *together, any_order: *any_order })
            }
        };
        let scale = match &self.scale {
            None => None,
            Some(ScaleKeys { format: name, block }) => {
                divides("block of 'scale'", *block)?;
                Some(Scale { format: format("scale", name)?, block: *block })
            }
        };
        // Random operands need a power of two.
        let stored = sparse.map_or(self.k, |chunk| self.k / chunk.length * chunk.kept);
        if stored > MOST_STORED || !stored.is_power_of_two() {
            return wrong(format!(
                "a row of A has {stored} stored elements; choose 'k' so that it has a power of two, at most {MOST_STORED}"
            ));
        }
        let (a, b) = (format("a", &self.a)?, format("b", &self.b)?);
        if let Some(wide) = [a, b].into_iter().find(|format| self.xor && format.name != "b1") {
            return wrong(format!("'xor' is for 'a' and 'b' of the format b1, not {wide}"));
        }
        let (c, d) = (format("c", &self.c)?, format("d", &self.d)?);
        for (key, format) in [("c", c), ("d", d)] {
            has_fields(format).map_err(|error| error.within(format!("'{key}'")))?;
        }
        Ok(Instruction {
            name: self.name.clone(),
            ptx: spelling.clone(),
            m: self.m,
            n: self.n,
            k: self.k,
            a,
            b,
            c,
            d,
            scale,
            sparse,
            saturate: self.saturate,
            xor: self.xor,
            kernel: None,
            support: &[],
        })
    }
}

/// Refuses a format by table: a sum needs the fields of its format.
///
/// # Errors
/// A format by table.
fn has_fields(format: &Format) -> Result<()> {
    match format.table() {
        None => Ok(()),
        Some(_) => Err(Error::request(format!(
            "{format} is a format by table, which A and B can have; sums need the fields of a floating-point format"
        ))),
    }
}

/// Format of an operand; a file name is relative to the file of the instruction.
fn operand(file: Option<&Path>, name: &str) -> Result<&'static Format> {
    match file.filter(|_| name.to_ascii_lowercase().ends_with(".toml")) {
        None => format::find(name),
        Some(file) => format::resolve(&file.parent().unwrap_or(Path::new("")).join(name).to_string_lossy()),
    }
}
