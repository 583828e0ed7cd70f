//! GGUF files (llama.cpp), versions 2 and 3: their tensors and the texts of their metadata.
//!
//! The first extent of a tensor is the one that runs fastest in GGUF, and the last in [`StreamedArray::shape`].

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use super::{Content, StreamedArray, named};

type Result<T> = std::result::Result<T, String>;

pub(super) const MAGIC: &[u8] = b"GGUF";
/// Alignment of the data without `general.alignment`, in bytes.
pub(super) const ALIGNMENT: u64 = 32;
/// Entry with the type of the most of the file.
pub(super) const FILE_TYPE: &str = "general.file_type";
/// Limit of a name or a text that is kept, in bytes; longer texts are skipped.
const LONGEST_NAME: u64 = 1 << 12;
/// Dimensions of a tensor, at most; ggml has 4.
const MOST_DIMENSIONS: u32 = 8;
/// Depth of arrays of arrays, at most.
const DEEPEST: u32 = 4;
/// Least bytes of a tensor's description and of an entry of the metadata; they bound their numbers.
const LEAST_TENSOR: u64 = 8 + 4 + 4 + 8;
const LEAST_ENTRY: u64 = 8 + 4 + 1;

/// A type of tensors.
struct TensorType {
    number: u32,
    name: &'static str,
    /// Format of single elements; `None` for blocks, which are no codes of a format.
    format: Option<&'static str>,
    /// Elements of a block.
    length: u64,
    /// Bytes of a block.
    bytes: u64,
}

const fn element(number: u32, name: &'static str, format: &'static str, bytes: u64) -> TensorType {
    TensorType { number, name, format: Some(format), length: 1, bytes }
}

const fn blocks(number: u32, name: &'static str, length: u64, bytes: u64) -> TensorType {
    TensorType { number, name, format: None, length, bytes }
}

/// The types, as `gguf` 0.19.0 (Python) lists them.
const TYPES: &[TensorType] = &[
    element(0, "F32", "f32", 4),
    element(1, "F16", "f16", 2),
    blocks(2, "Q4_0", 32, 18),
    blocks(3, "Q4_1", 32, 20),
    blocks(6, "Q5_0", 32, 22),
    blocks(7, "Q5_1", 32, 24),
    blocks(8, "Q8_0", 32, 34),
    blocks(9, "Q8_1", 32, 40),
    blocks(10, "Q2_K", 256, 84),
    blocks(11, "Q3_K", 256, 110),
    blocks(12, "Q4_K", 256, 144),
    blocks(13, "Q5_K", 256, 176),
    blocks(14, "Q6_K", 256, 210),
    blocks(15, "Q8_K", 256, 292),
    blocks(16, "IQ2_XXS", 256, 66),
    blocks(17, "IQ2_XS", 256, 74),
    blocks(18, "IQ3_XXS", 256, 98),
    blocks(19, "IQ1_S", 256, 50),
    blocks(20, "IQ4_NL", 32, 18),
    blocks(21, "IQ3_S", 256, 110),
    blocks(22, "IQ2_S", 256, 82),
    blocks(23, "IQ4_XS", 256, 136),
    element(24, "I8", "s8", 1),
    element(25, "I16", "s16", 2),
    element(26, "I32", "s32", 4),
    element(27, "I64", "s64", 8),
    element(28, "F64", "f64", 8),
    blocks(29, "IQ1_M", 256, 56),
    element(30, "BF16", "bf16", 2),
    blocks(34, "TQ1_0", 256, 54),
    blocks(35, "TQ2_0", 256, 66),
    blocks(39, "MXFP4", 32, 17),
    blocks(40, "NVFP4", 64, 36),
    blocks(41, "Q1_0", 128, 18),
];

/// Number of the type of elements or blocks; `None` if GGUF has none.
pub(super) fn number(kind: Content) -> Option<u32> {
    let is_it = |tensor_type: &&TensorType| match kind {
        Content::Format(format) => tensor_type.format == Some(format.name),
        Content::Other(name) => tensor_type.name == name,
        Content::Unsigned(_) => false,
    };
    TYPES.iter().find(is_it).map(|tensor_type| tensor_type.number)
}

/// Content of the blocks of a type.
pub(super) fn blocks_of(name: &str) -> Option<Content> {
    TYPES.iter().find(|tensor_type| tensor_type.name == name).map(|tensor_type| Content::Other(tensor_type.name))
}

/// Entries of the metadata.
pub(super) struct Entries {
    pub(super) count: u64,
    /// Byte after them.
    pub(super) end: u64,
    pub(super) alignment: u64,
    /// Byte where the number of the file's type begins, if there is one.
    pub(super) file_type: Option<u64>,
}

/// The entries of a file.
pub(super) fn entries(file: impl Read, length: u64) -> Result<Entries> {
    let mut header = Header { file, at: 0, length };
    header.bytes(MAGIC.len() as u64 + 4 + 8)?;
    let (count, mut alignment, mut file_type) = (header.long()?, ALIGNMENT, None);
    for _ in 0..count {
        let (key, kind) = (header.name("key")?, header.word()?);
        let place = header.at;
        let value = header.value(kind, 0)?;
        match (key.as_str(), value.and_then(|text| text.parse().ok())) {
            ("general.alignment", Some(given)) => alignment = given,
            (FILE_TYPE, Some(_)) => file_type = Some(place),
            _ => {}
        }
    }
    Ok(Entries { count, end: header.at, alignment, file_type })
}

/// Reads a header and counts its bytes.
struct Header<R> {
    file: R,
    at: u64,
    length: u64,
}

impl<R: Read> Header<R> {
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>> {
        self.fits(count)?;
        let mut read = Vec::new();
        self.at += count;
        match (&mut self.file).take(count).read_to_end(&mut read) {
            Ok(got) if got as u64 == count => Ok(read),
            Ok(_) => Err("the file ends in its header".into()),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.fits(count)?;
        self.at += count;
        match std::io::copy(&mut (&mut self.file).take(count), &mut std::io::sink()) {
            Ok(got) if got == count => Ok(()),
            Ok(_) => Err("the file ends in its header".into()),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    fn fits(&self, count: u64) -> Result<()> {
        match self.at.checked_add(count).is_some_and(|end| end <= self.length) {
            true => Ok(()),
            false => Err("the file ends in its header".into()),
        }
    }

    fn word(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(4)?.try_into().expect("four bytes")))
    }

    fn long(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes(8)?.try_into().expect("eight bytes")))
    }

    /// Reads a text; `None` if it is longer than [`LONGEST_NAME`] bytes, or no text.
    fn text(&mut self) -> Result<Option<String>> {
        let length = self.long()?;
        if length > LONGEST_NAME {
            self.skip(length)?;
            return Ok(None);
        }
        Ok(String::from_utf8(self.bytes(length)?).ok())
    }

    fn name(&mut self, what: &str) -> Result<String> {
        self.text()?.ok_or_else(|| format!("a {what} is longer than {LONGEST_NAME} bytes, or no text"))
    }

    /// Reads a value of the metadata: a text or a number as text; `None` for arrays and what is too long.
    fn value(&mut self, kind: u32, depth: u32) -> Result<Option<String>> {
        match kind {
            0 | 1 | 7 => self.skip(1).map(|()| None),
            2 | 3 => self.skip(2).map(|()| None),
            4 | 5 => Ok(Some(self.word()?.to_string())),
            6 => self.skip(4).map(|()| None),
            8 => self.text(),
            9 if depth == DEEPEST => Err("its metadata nest arrays too deeply".into()),
            9 => {
                let (kind, count) = (self.word()?, self.long()?);
                match kind {
                    0 | 1 | 7 => self.skip(count)?,
                    2 | 3 => self.skip(count.saturating_mul(2))?,
                    4..=6 => self.skip(count.saturating_mul(4))?,
                    10..=12 => self.skip(count.saturating_mul(8))?,
                    _ => {
                        self.fits(count.saturating_mul(8))?;
                        for _ in 0..count {
                            self.value(kind, depth + 1)?;
                        }
                    }
                }
                Ok(None)
            }
            10..=12 => self.skip(8).map(|()| None),
            other => Err(format!("its metadata have a value of type {other}, which GGUF does not have")),
        }
    }
}

/// Describes the tensors in a file of `length` bytes, in the order of their data, and its metadata.
///
/// # Errors
/// A malformed header; tensors that overlap or have impossible extents.
pub(super) fn streamed(file: impl Read, length: u64) -> Result<(Vec<StreamedArray>, BTreeMap<String, String>)> {
    let mut header = Header { file, at: 0, length };
    if header.bytes(4).map_err(|_| "not a GGUF file")? != MAGIC {
        return Err("not a GGUF file".into());
    }
    match header.word()? {
        2 | 3 => {}
        version if version.swap_bytes() < 1 << 16 => return Err("a GGUF file of big-endian numbers is not read".into()),
        version => return Err(format!("version {version} of the GGUF format is not read; 2 and 3 are")),
    }
    let (tensors, entries) = (header.long()?, header.long()?);
    for (what, count, least) in [("tensors", tensors, LEAST_TENSOR), ("entries of metadata", entries, LEAST_ENTRY)] {
        if count > length / least {
            return Err(format!("its header announces {count} {what}, more than {length} bytes can hold"));
        }
    }
    let mut metadata = BTreeMap::new();
    for _ in 0..entries {
        let key = header.name("key")?;
        let kind = header.word()?;
        if let Some(value) = header.value(kind, 0)? {
            metadata.insert(key, value);
        }
    }
    let alignment = match metadata.get("general.alignment").map(|text| text.parse::<u64>()) {
        None => ALIGNMENT,
        Some(Ok(alignment)) if alignment.is_power_of_two() => alignment,
        Some(_) => return Err("general.alignment is not a power of two".into()),
    };
    let mut arrays = Vec::new();
    for _ in 0..tensors {
        arrays.push(tensor(&mut header, alignment)?);
    }
    let start = header.at.next_multiple_of(alignment);
    let mut names = BTreeSet::new();
    for array in &mut arrays {
        let end = start.checked_add(array.data.0).and_then(|first| first.checked_add(array.data.1));
        let end = end.ok_or_else(|| format!("the data of tensor '{}' have an impossible place", array.name))?;
        array.data.0 += start;
        array.complete = end <= length;
        if !names.insert(array.name.clone()) {
            return Err(format!("two tensors have the name '{}'", array.name));
        }
    }
    arrays.sort_by_key(|array| array.data);
    for pair in arrays.windows(2) {
        if pair[0].data.0 + pair[0].data.1 > pair[1].data.0 {
            return Err(format!("the data of the tensors '{}' and '{}' overlap", pair[0].name, pair[1].name));
        }
    }
    Ok((arrays, metadata))
}

/// Reads the description of a tensor; its place is counted from the start of the data.
fn tensor(header: &mut Header<impl Read>, alignment: u64) -> Result<StreamedArray> {
    let name = header.name("tensor's name")?;
    let dimensions = header.word()?;
    if dimensions > MOST_DIMENSIONS {
        return Err(format!("tensor '{name}' has {dimensions} dimensions, more than {MOST_DIMENSIONS}"));
    }
    let mut extents = Vec::new();
    for _ in 0..dimensions {
        extents.push(header.long()?);
    }
    let (number, first) = (header.word()?, header.long()?);
    if !first.is_multiple_of(alignment) {
        return Err(format!("the data of tensor '{name}' begin at {first}, which is no multiple of {alignment}"));
    }
    let known = TYPES.iter().find(|tensor_type| tensor_type.number == number);
    let (length, block) = known.map_or((1, 0), |tensor_type| (tensor_type.length, tensor_type.bytes));
    let row = extents.first().copied().unwrap_or(1);
    if !row.is_multiple_of(length) {
        return Err(format!("rows of tensor '{name}' have {row} elements, which are no whole blocks of {length}"));
    }
    let product = |all: u64, extent: &u64| all.checked_mul(*extent);
    // An extent of 0 bounds the product of those after it only.
    let elements = extents.iter().rev().try_fold(1, product).and(extents.iter().try_fold(1, product));
    let bytes = elements.and_then(|elements| (elements / length).checked_mul(block));
    let bytes = bytes.ok_or_else(|| format!("tensor '{name}' has the impossible extents {extents:?}"))?;
    extents.reverse();
    let shape = extents.iter().map(|extent| usize::try_from(*extent)).collect::<std::result::Result<Vec<usize>, _>>();
    let shape = shape.map_err(|_| format!("tensor '{name}' has the impossible extents {extents:?}"))?;
    let (kind, width) = match known {
        Some(TensorType { format: Some(format), bytes, .. }) => (named(format), *bytes as usize),
        Some(tensor_type) => (Content::Other(tensor_type.name), 0),
        None => (Content::Other("unknown (newer GGUF)"), 0),
    };
    Ok(StreamedArray::whole_elements(name, shape, kind, width, first, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    /// A tensor's name, extents with the fastest first, number of its type, and place.
    type Described<'a> = (&'a str, &'a [u64], u32, u64);

    /// A file with two entries of metadata, these tensors, and so many bytes of data.
    fn file(tensors: &[Described], data: usize) -> Vec<u8> {
        let mut bytes =
            [MAGIC, &3u32.to_le_bytes(), &(tensors.len() as u64).to_le_bytes(), &2u64.to_le_bytes()].concat();
        bytes.extend([text("general.architecture"), 8u32.to_le_bytes().to_vec(), text("llama")].concat());
        bytes.extend([text("tokens"), 9u32.to_le_bytes().to_vec(), 8u32.to_le_bytes().to_vec()].concat());
        bytes.extend([2u64.to_le_bytes().to_vec(), text("a"), text("b")].concat());
        for (name, extents, number, first) in tensors {
            bytes.extend([text(name), (extents.len() as u32).to_le_bytes().to_vec()].concat());
            extents.iter().for_each(|extent| bytes.extend(extent.to_le_bytes()));
            bytes.extend([&number.to_le_bytes()[..], &first.to_le_bytes()].concat());
        }
        bytes.resize(bytes.len().next_multiple_of(32) + data, 7);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<StreamedArray>> {
        streamed(bytes, bytes.len() as u64).map(|(arrays, _)| arrays)
    }

    const GOOD: [Described; 3] = [("a", &[4, 2], 0, 0), ("b", &[64, 3], 2, 32), ("c", &[32], 39, 160)];

    #[test]
    fn tensors_have_their_extents_types_and_places() {
        let bytes = file(&GOOD, 177);
        let (arrays, metadata) = streamed(&bytes[..], bytes.len() as u64).unwrap();
        let start = bytes.len() as u64 - 177;
        let tensors: Vec<_> =
            arrays.iter().map(|array| (array.name.as_str(), array.shape.clone(), array.kind, array.data)).collect();
        assert_eq!(
            tensors,
            [
                ("a", vec![2, 4], named("f32"), (start, 32)),
                ("b", vec![3, 64], Content::Other("Q4_0"), (start + 32, 3 * 2 * 18)),
                ("c", vec![32], Content::Other("MXFP4"), (start + 160, 17)),
            ]
        );
        assert!(arrays.iter().all(|array| array.complete));
        assert_eq!(metadata["general.architecture"], "llama");
    }

    #[test]
    fn a_truncated_file_lacks_its_last_tensors_or_is_refused() {
        let bytes = file(&GOOD, 177);
        for end in 0..bytes.len() {
            match read(&bytes[..end]) {
                Ok(arrays) => assert!(end > bytes.len() - 209 && !arrays[2].complete, "{end}"),
                Err(error) => assert!(
                    error.contains("the file ends") || error.contains("not a GGUF") || error.contains("can hold"),
                    "{end}: {error}"
                ),
            }
        }
    }

    #[test]
    fn impossible_files_are_refused() {
        let refused = |tensors: &[Described], part: &str| {
            let error = read(&file(tensors, 300)).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        refused(&[("a", &[8], 0, 0), ("b", &[8], 0, 0)], "overlap");
        refused(&[("a", &[8], 0, 0), ("a", &[8], 0, 32)], "two tensors have the name 'a'");
        refused(&[("a", &[8], 0, 4)], "no multiple of 32");
        refused(&[("a", &[33], 2, 0)], "no whole blocks of 32");
        refused(&[("a", &[u64::MAX, 3], 0, 0)], "impossible extents");
        refused(&[("a", &[1 << 62, 2], 0, 0)], "impossible extents");
        refused(&[("a", &[1; 9], 0, 0)], "9 dimensions");
        refused(&[("a", &[8], 0, u64::MAX - 31)], "impossible place");
        let good = file(&GOOD, 177);
        for (at, part) in [(8, "tensors, more than"), (16, "entries of metadata, more than"), (24, "longer than")] {
            let mut giant = good.clone();
            giant[at..at + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
            let error = read(&giant).unwrap_err();
            assert!(error.contains(part) || error.contains("the file ends"), "{error}");
        }
        for (version, part) in [(1u32, "version 1"), (4, "version 4"), (3 << 24, "big-endian")] {
            let mut other = good.clone();
            other[4..8].copy_from_slice(&version.to_le_bytes());
            assert!(read(&other).unwrap_err().contains(part));
        }
        for at in 0..good.len() - 177 {
            for flip in [1, 0x20, 0x80, 0xff] {
                let mut changed = good.clone();
                changed[at] ^= flip;
                let _ = read(&changed);
            }
        }
    }
}
