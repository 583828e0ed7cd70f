//! The `.npy` format of NumPy (NEP 1), versions 1 to 3: one little-endian array of numbers.
//! Read in C and in Fortran order, written in C order.

use std::io::Read;

use super::{Content, NewArray, StreamedArray, named};

type Result<T> = std::result::Result<T, String>;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Dimensions of an array, at most, as in NumPy 2 (NPY_MAXDIMS).
const MOST_DIMENSIONS: usize = 64;
/// Bytes of a header, at most; 64 dimensions take some thousand.
const LONGEST_HEADER: u64 = 1 << 20;

/// Types of elements of NumPy itself: spelling in the header, format, bytes.
const TYPES: &[(&str, Option<&str>, usize)] = &[
    ("<f8", Some("f64"), 8),
    ("<f4", Some("f32"), 4),
    ("<f2", Some("f16"), 2),
    ("|i1", Some("s8"), 1),
    ("<i2", Some("s16"), 2),
    ("<i4", Some("s32"), 4),
    ("<i8", Some("s64"), 8),
    ("|u1", None, 1),
    ("<u2", None, 2),
    ("<u4", None, 4),
    ("<u8", None, 8),
];

/// Types that other packages add, which are only read.
/// NumPy writes `V` and the bytes of an element for types of ml_dtypes, in either byte order. Of them, only `float8_e5m2` is a floating-point type to NumPy (ml_dtypes 0.2.0 to 0.6.0).
const FOREIGN: &[(&str, Option<&str>, usize)] =
    &[("f1", Some("e5m2"), 1), ("V1", None, 1), ("V2", None, 2), ("V4", None, 4)];

/// The content of a header.
#[derive(Debug, PartialEq)]
struct NpyHeader {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// The type of the elements.
struct ElementKind {
    content: Content,
    /// Bytes of an element.
    bytes: usize,
    /// True if the type says only how wide codes are.
    untyped: bool,
}

/// A checked header, and the place of the data.
struct NpyStart {
    header: NpyHeader,
    kind: ElementKind,
    /// Bytes before the data.
    data: u64,
}

/// Describes the array in a file of `length` bytes.
/// If it is in Fortran order, also returns its elements in C order.
pub(super) fn streamed(name: String, mut file: impl Read, length: u64) -> Result<(StreamedArray, Option<Vec<u8>>)> {
    let NpyStart { header: NpyHeader { fortran_order, shape, .. }, kind, data } = start(&mut file, length)?;
    let (bytes, element) = (length - data, kind.bytes);
    let array = |shape: Vec<usize>, first: u64| StreamedArray {
        untyped: kind.untyped,
        ..StreamedArray::whole_elements(name, shape, kind.content, kind.bytes, first, bytes)
    };
    if !fortran_order || shape.iter().filter(|extent| **extent > 1).count() < 2 {
        return Ok((array(shape, data), None));
    }
    let mut fortran = Vec::new();
    fortran.try_reserve_exact(bytes as usize).map_err(|_| {
        format!("it is in Fortran order and does not fit into memory ({bytes} bytes); save it in C order (numpy.ascontiguousarray)")
    })?;
    file.take(bytes).read_to_end(&mut fortran).map_err(|error| format!("cannot be read: {error}"))?;
    if fortran.len() as u64 != bytes {
        return Err("the file ends in its data".into());
    }
    let ordered = last_fastest(&fortran, &shape, element);
    Ok((array(shape, 0), Some(ordered)))
}

/// Reads the header of a file whose `length` must match it.
fn start(mut file: impl Read, length: u64) -> Result<NpyStart> {
    let mut at = 0;
    let mut next = |bytes: u64, short: &str| {
        let mut read = Vec::new();
        at += bytes;
        match (&mut file).take(bytes).read_to_end(&mut read) {
            Ok(count) if count as u64 == bytes => Ok(read),
            Ok(_) => Err(short.to_string()),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    };
    let (foreign, truncated) = ("not an .npy file", "the file ends in its header");
    if next(MAGIC.len() as u64, foreign)? != MAGIC {
        return Err(foreign.into());
    }
    let bytes = match next(2, truncated)?[0] {
        1 => 2,
        2 | 3 => 4,
        other => return Err(format!("version {other} of the .npy format is unknown")),
    };
    let bytes = next(bytes, truncated)?.into_iter().rev().fold(0, |all, byte| all << 8 | u64::from(byte));
    if bytes > LONGEST_HEADER {
        return Err(format!("its header has {bytes} bytes, more than {LONGEST_HEADER}"));
    }
    let header = next(bytes, truncated)?;
    let text = std::str::from_utf8(&header).map_err(|_| "its header is not text")?;
    let header =
        read_header(text).ok_or_else(|| format!("its header does not describe an array of numbers: {}", cut(text)))?;
    few(&header.shape)?;
    let kind = kind(&header.descr)?;
    let element = kind.bytes;
    let follow = length.saturating_sub(at);
    let expected = header.shape.iter().try_fold(element, |all, extent| all.checked_mul(*extent));
    if expected.map(|expected| expected as u64) != Some(follow) {
        return Err(format!(
            "{follow} bytes of data follow the header, which do not match the shape {:?} of elements of {element} bytes",
            header.shape
        ));
    }
    Ok(NpyStart { header, kind, data: at })
}

/// Refuses a shape with more dimensions than NumPy reads.
fn few(shape: &[usize]) -> Result<()> {
    match shape.len() {
        ..=MOST_DIMENSIONS => Ok(()),
        count => Err(format!("it has {count} dimensions, more than NumPy's {MOST_DIMENSIONS}")),
    }
}

/// Puts elements in column-major order (`bytes` bytes each) into row-major order.
fn last_fastest(data: &[u8], shape: &[usize], bytes: usize) -> Vec<u8> {
    let strides: Vec<usize> =
        shape.iter().scan(bytes, |stride, extent| Some(std::mem::replace(stride, *stride * extent))).collect();
    let (mut index, mut at) = (vec![0; shape.len()], 0);
    let mut ordered = Vec::with_capacity(data.len());
    while ordered.len() < data.len() {
        ordered.extend_from_slice(&data[at..at + bytes]);
        for dimension in (0..shape.len()).rev() {
            index[dimension] += 1;
            at += strides[dimension];
            if index[dimension] < shape[dimension] {
                break;
            }
            index[dimension] = 0;
            at -= strides[dimension] * shape[dimension];
        }
    }
    ordered
}

fn cut(text: &str) -> String {
    text.chars().take(100).collect::<String>().trim_end().to_string()
}

fn kind(descr: &str) -> Result<ElementKind> {
    let listed = TYPES.iter().find(|(spelling, ..)| *spelling == descr);
    let foreign = || {
        let spelling = descr.strip_prefix(['<', '|'])?;
        FOREIGN.iter().find(|(known, ..)| *known == spelling)
    };
    if descr == "|b1" {
        return Ok(ElementKind { content: Content::Other("BOOL"), bytes: 1, untyped: false });
    }
    let untyped = listed.is_none();
    match listed.or_else(foreign) {
        Some((_, Some(format), bytes)) => Ok(ElementKind { content: named(format), bytes: *bytes, untyped: false }),
        Some((_, None, bytes)) => Ok(ElementKind { content: Content::Unsigned(*bytes), bytes: *bytes, untyped }),
        None => {
            let known: Vec<&str> = TYPES.iter().map(|(spelling, ..)| *spelling).collect();
            Err(format!(
                "its elements have the type '{descr}'; supported types: {} (ml_dtypes: <V1 <V2 <f1)",
                known.join(" ")
            ))
        }
    }
}

/// Parses `{'descr': '<f4', 'fortran_order':
/// False, 'shape': (2, 3), }`, with each key once, in any order.
fn read_header(text: &str) -> Option<NpyHeader> {
    let (mut descr, mut order, mut shape) = (None, None, None);
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    while !rest.is_empty() {
        let (key, after) = quoted(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" if descr.is_none() => {
                let (text, after) = quoted(value)?;
                descr = Some(text.to_string());
                after
            }
            "fortran_order" if order.is_none() => {
                let word = value.split(|c: char| !c.is_ascii_alphabetic()).next()?;
                order = Some(match word {
                    "True" => true,
                    "False" => false,
                    _ => return None,
                });
                &value[word.len()..]
            }
            "shape" if shape.is_none() => {
                let (inside, after) = value.strip_prefix('(')?.split_once(')')?;
                shape = Some(extents(inside)?);
                after
            }
            _ => return None,
        }
        .trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(NpyHeader { descr: descr?, fortran_order: order?, shape: shape? })
}

/// Splits off the string in single or double quotes with which `text` begins.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    text[1..].split_once(quote)
}

/// Parses `3, 4` or `3,` or nothing.
fn extents(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.strip_suffix(',').unwrap_or(text).split(',').map(|extent| extent.trim().parse().ok()).collect()
}

/// Makes the header of a file: version 1, padded so that the data begin at a multiple of 64.
///
/// # Errors
/// More dimensions than NumPy reads.
pub(super) fn header(array: &NewArray) -> Result<Vec<u8>> {
    few(&array.shape)?;
    let unsigned = |width: usize| {
        TYPES.iter().find(|(descr, format, bytes)| format.is_none() && *bytes == width && descr.contains('u'))
    };
    let descr = match array.kind {
        Content::Format(held) => {
            TYPES.iter().find(|(_, format, _)| *format == Some(held.name)).or_else(|| unsigned(held.bytes()))
        }
        Content::Unsigned(width) => unsigned(width),
        Content::Other(_) => None,
    };
    let (descr, ..) = descr.expect("arrays of codes have a type of NumPy");
    let extents = match array.shape.as_slice() {
        [one] => format!("{one},"),
        several => several.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}").into_bytes();
    let before = MAGIC.len() + 4;
    header.resize((before + header.len() + 1).next_multiple_of(64) - before - 1, b' ');
    header.push(b'\n');
    let length = u16::try_from(header.len()).expect("shapes have few extents").to_le_bytes();
    Ok([MAGIC, &[1, 0], &length, &header].concat())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::array::Array;

    fn parse(file: &[u8]) -> Result<Array<'_>> {
        let (array, ordered) = streamed("x".into(), file, file.len() as u64)?;
        let bytes = ordered.map_or_else(|| Cow::Borrowed(&file[array.data.0 as usize..]), Cow::Owned);
        Ok(Array { name: array.name, shape: array.shape, kind: array.kind, bytes })
    }

    fn shape(start: &[u8], length: u64) -> Result<Vec<usize>> {
        streamed("x".into(), start, length).map(|(array, _)| array.shape)
    }

    fn to_bytes(array: &Array) -> Result<Vec<u8>> {
        Ok([&header(&array.planned())?, &array.bytes[..]].concat())
    }

    #[test]
    fn headers_are_read_in_any_order_and_with_either_quote() {
        let header = |shape: &[usize]| NpyHeader { descr: "<f4".into(), fortran_order: false, shape: shape.to_vec() };
        for (text, shape) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", vec![2, 3]),
            ("{\"shape\": (7,), \"descr\": \"<f4\", \"fortran_order\": False}", vec![7]),
            ("{'descr':'<f4','fortran_order':False,'shape':()}", vec![]),
        ] {
            assert_eq!(read_header(text), Some(header(&shape)), "{text}");
        }
        for text in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,2)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
            "{'descr': 'é",
        ] {
            assert_eq!(read_header(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for shape in [vec![], vec![0], vec![5], vec![2, 3], vec![1; 64]] {
            let count: usize = shape.iter().product();
            for kind in [
                named("f32"),
                named("f16"),
                named("f64"),
                Content::Unsigned(1),
                Content::Unsigned(2),
                Content::Unsigned(4),
            ] {
                let bytes = match kind {
                    Content::Format(format) => format.bytes(),
                    Content::Unsigned(bytes) => bytes,
                    Content::Other(_) => 0,
                };
                let data: Vec<u8> = (0..count * bytes).map(|i| i as u8).collect();
                let array = Array { name: "x".into(), shape: shape.clone(), kind, bytes: Cow::Owned(data) };
                let file = to_bytes(&array).unwrap();
                assert_eq!((file.len() - array.bytes.len()) % 64, 0);
                assert_eq!(parse(&file).unwrap(), array);
            }
        }
    }

    #[test]
    fn an_array_in_fortran_order_is_the_same_array() {
        for shape in [vec![], vec![0, 1 << 40, 1 << 40], vec![5], vec![2, 3], vec![4, 1, 3], vec![2, 3, 4, 5]] {
            let count: usize = shape.iter().product();
            // Element i of C order goes to the place of its index in Fortran order.
            let mut fortran = vec![0; 4 * count];
            for i in 0..count as u32 {
                let (mut left, mut place) = (i as usize, 0);
                for (dimension, extent) in shape.iter().enumerate().rev() {
                    place += left % extent * shape[..dimension].iter().product::<usize>();
                    left /= extent;
                }
                fortran[4 * place..][..4].copy_from_slice(&i.to_le_bytes());
            }
            let bytes = (0..count as u32).flat_map(u32::to_le_bytes).collect();
            let array = Array { name: "x".into(), shape: shape.clone(), kind: named("f32"), bytes };
            let file = to_bytes(&Array { bytes: Cow::Owned(fortran), ..array.clone() }).unwrap();
            let header = file.len() - 4 * count;
            let order = String::from_utf8_lossy(&file[10..header]).replace("False", "True ");
            let file = [&file[..10], order.as_bytes(), &file[header..]].concat();
            assert_eq!(parse(&file).unwrap(), array, "{shape:?}");
        }
    }

    #[test]
    fn more_dimensions_than_numpy_has_are_neither_read_nor_written() {
        let array = Array { name: "x".into(), shape: vec![1; 65], kind: named("f32"), bytes: Cow::Owned(vec![0; 4]) };
        assert!(to_bytes(&array).unwrap_err().contains("65 dimensions"));
        for order in ["True", "False"] {
            let header = format!(
                "{{'descr': '<f4', 'fortran_order': {order}, 'shape': ({}), }}\n",
                vec!["1"; 100_000].join(",")
            );
            let file = [MAGIC, &[2, 0], &(header.len() as u32).to_le_bytes(), header.as_bytes(), &[0; 4]].concat();
            assert!(parse(&file).unwrap_err().contains("100000 dimensions"));
        }
    }

    #[test]
    fn a_file_is_checked_by_what_comes_before_its_data() {
        let array = Array { name: "x".into(), shape: vec![2, 3], kind: named("f32"), bytes: Cow::Owned(vec![7; 24]) };
        let file = to_bytes(&array).unwrap();
        let (start, length) = (&file[..file.len() - 24], file.len() as u64);
        assert_eq!(shape(start, length), Ok(vec![2, 3]));
        for other in [0, length - 24, length - 1, length + 1, 1 << 42] {
            assert!(shape(start, other).unwrap_err().contains("do not match the shape"), "{other}");
        }
        let endless = [MAGIC, &[2, 0], &[0xff; 4]].concat();
        assert!(shape(&endless[..], 1 << 42).unwrap_err().contains("4294967295 bytes"));
    }

    #[test]
    fn damaged_files_are_refused_whatever_was_cut_or_changed() {
        let array = Array { name: "x".into(), shape: vec![2, 3], kind: named("f32"), bytes: Cow::Owned(vec![7; 24]) };
        let file = to_bytes(&array).unwrap();
        for end in 0..file.len() {
            assert!(parse(&file[..end]).is_err(), "{end}");
        }
        for at in 0..file.len() - 24 {
            for flip in [1, 0x20, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] ^= flip;
                // A successful read has consistent sizes.
                if let Ok(read) = parse(&changed) {
                    assert_eq!(read.bytes.len(), 24);
                }
            }
        }
        let huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }";
        let mut file = [MAGIC, &[1, 0], &(huge.len() as u16).to_le_bytes(), huge.as_bytes()].concat();
        assert!(parse(&file).is_err());
        file[6] = 9;
        assert!(parse(&file).unwrap_err().contains("version 9"));
    }
}
