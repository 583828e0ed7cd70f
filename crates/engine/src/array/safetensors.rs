//! Safetensors files of any arrays.

use std::{collections::BTreeMap, io::Read};

use safetensors::{Dtype, tensor::Metadata};
use serde_json::json;

use super::{Content, NewArray, StreamedArray, named};

/// Types of elements that are formats.
const FORMATS: &[(Dtype, &str)] = &[
    (Dtype::F64, "f64"),
    (Dtype::F32, "f32"),
    (Dtype::F16, "f16"),
    (Dtype::BF16, "bf16"),
    (Dtype::F8_E4M3, "e4m3"),
    (Dtype::F8_E5M2, "e5m2"),
    (Dtype::F8_E4M3FNUZ, "e4m3fnuz"),
    (Dtype::F8_E5M2FNUZ, "e5m2fnuz"),
    (Dtype::F8_E8M0, "e8m0"),
    (Dtype::F4, "e2m1"),
    (Dtype::F6_E2M3, "e2m3"),
    (Dtype::F6_E3M2, "e3m2"),
    (Dtype::I8, "s8"),
    (Dtype::I16, "s16"),
    (Dtype::I32, "s32"),
    (Dtype::I64, "s64"),
];

/// Types without a format, whose arrays are only copied.
const OTHERS: &[(Dtype, &str)] = &[(Dtype::BOOL, "BOOL"), (Dtype::C64, "C64")];

/// Types of unsigned integers, with their bytes.
const UNSIGNED: [(Dtype, usize); 4] = [(Dtype::U8, 1), (Dtype::U16, 2), (Dtype::U32, 4), (Dtype::U64, 8)];

/// Bytes of a header, at most, as in the `safetensors` library.
pub(crate) const LONGEST_HEADER: usize = 100_000_000;

/// Describes the arrays in a file of `length` bytes, in the order of their data, and its metadata.
///
/// # Errors
/// A malformed header, or a file longer than the header says.
pub(super) fn streamed(
    mut file: impl Read,
    length: u64,
) -> Result<(Vec<StreamedArray>, BTreeMap<String, String>), String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let malformed = |cause: &str| format!("not a safetensors file, or a damaged one: {cause}");
    let mut start = [0; 8];
    file.read_exact(&mut start).map_err(|_| malformed("its header is truncated"))?;
    let announced = u64::from_le_bytes(start);
    if announced > LONGEST_HEADER as u64 {
        return Err(malformed("its header is longer than readers accept"));
    }
    let mut header = Vec::new();
    file.take(announced).read_to_end(&mut header).map_err(unreadable)?;
    if header.len() as u64 != announced {
        return Err(malformed("its header is truncated"));
    }
    // Reading the header checks places and sizes.
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| malformed(&error.to_string()))?;
    let from = 8 + announced;
    let array = |name: String| {
        let info = metadata.info(&name).expect("its own name");
        let (first, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
        StreamedArray {
            shape: info.shape.clone(),
            kind: kind(info.dtype),
            width: info.dtype.bitsize().div_ceil(8),
            bits: info.dtype.bitsize(),
            untyped: false,
            data: (from + first, end - first),
            complete: from.saturating_add(end) <= length,
            part: false,
            made_of: 1,
            file: 0,
            name,
        }
    };
    let arrays: Vec<StreamedArray> = metadata.offset_keys().into_iter().map(array).collect();
    let end = arrays.iter().map(|array| array.data.0 + array.data.1).max().unwrap_or(from);
    if length > end {
        return Err(malformed(&format!("{} bytes follow the data of its header", length - end)));
    }
    Ok((arrays, metadata.metadata().clone().unwrap_or_default().into_iter().collect()))
}

fn kind(dtype: Dtype) -> Content {
    let format = FORMATS.iter().find(|(known, _)| *known == dtype).map(|(_, name)| named(name));
    let unsigned = || UNSIGNED.iter().find(|(known, _)| *known == dtype).map(|(_, bytes)| Content::Unsigned(*bytes));
    let other = || OTHERS.iter().find(|(known, _)| *known == dtype).map_or("of this tensor", |(_, name)| name);
    format.or_else(unsigned).unwrap_or_else(|| Content::Other(other()))
}

fn dtype(array: &NewArray) -> Dtype {
    let unsigned = |bytes| UNSIGNED.iter().find(|(_, width)| *width == bytes).map(|(dtype, _)| *dtype);
    let dtype = match array.kind {
        Content::Format(format) => {
            let dtype = FORMATS.iter().find(|(_, name)| *name == format.name).map(|(dtype, _)| *dtype);
            // Codes of 4 or 6 bits are packed only where they are copied from such a file.
            let elements = array.shape.iter().product::<usize>() as u64;
            let packed = array.bytes < elements * format.bytes() as u64;
            dtype.filter(|dtype| dtype.bitsize() % 8 == 0 || packed).or_else(|| unsigned(format.bytes()))
        }
        Content::Unsigned(bytes) => unsigned(bytes),
        Content::Other(name) => OTHERS.iter().find(|(_, known)| *known == name).map(|(dtype, _)| *dtype),
    };
    dtype.expect("arrays that are written were read or hold codes, and both have a safetensors type")
}

/// The name of the type of such elements in a safetensors file.
pub(super) fn type_name(kind: Content) -> String {
    let spelling = |dtype: &Dtype| serde_json::to_value(dtype).ok().and_then(|name| name.as_str().map(String::from));
    let name = match kind {
        Content::Format(format) => {
            FORMATS.iter().find(|(_, name)| *name == format.name).and_then(|(dtype, _)| spelling(dtype))
        }
        Content::Unsigned(bytes) => {
            UNSIGNED.iter().find(|(_, width)| *width == bytes).and_then(|(dtype, _)| spelling(dtype))
        }
        Content::Other(name) => Some(name.to_string()),
    };
    name.unwrap_or_else(|| match kind {
        Content::Format(format) => format.name.to_string(),
        _ => "unknown".into(),
    })
}

/// Makes the header of a file, and says where the data of each array begin.
/// The widest elements come first, so that every array is aligned.
///
/// # Errors
/// A header longer than readers accept.
pub(super) fn layout(arrays: &[NewArray], metadata: &BTreeMap<String, String>) -> Result<(Vec<u8>, Vec<u64>), String> {
    let mut sorted: Vec<usize> = (0..arrays.len()).collect();
    sorted.sort_by_key(|at| std::cmp::Reverse(dtype(&arrays[*at]).bitsize()));
    let (mut offset, mut starts) = (0, vec![0; arrays.len()]);
    let tensors = sorted.iter().map(|at| {
        let (array, start) = (&arrays[*at], offset);
        offset += array.bytes as usize;
        starts[*at] = start as u64;
        (array.name.as_str(), dtype(array), array.shape.as_slice(), (start, offset))
    });
    let bytes = header(metadata, tensors)?;
    starts.iter_mut().for_each(|start| *start += bytes.len() as u64);
    Ok((bytes, starts))
}

/// Makes a file's header: its length, the JSON, and spaces up to a multiple of 8.
/// Each tensor has a name, a type, a shape, and its first byte and the byte after its last, counted from the end of the
/// header.
///
/// # Errors
/// A header longer than readers accept.
pub(crate) fn header<'a>(
    metadata: &BTreeMap<String, String>,
    tensors: impl IntoIterator<Item = (&'a str, Dtype, &'a [usize], (usize, usize))>,
) -> Result<Vec<u8>, String> {
    let mut object = serde_json::Map::new();
    object.insert("__metadata__".into(), json!(metadata));
    for (name, dtype, shape, (start, end)) in tensors {
        object.insert(name.into(), json!({"dtype": dtype, "shape": shape, "data_offsets": [start, end]}));
    }
    let mut json = serde_json::Value::Object(object).to_string().into_bytes();
    json.resize(json.len().next_multiple_of(8), b' ');
    match json.len() > LONGEST_HEADER {
        true => Err(format!(
            "names and metadata make a header of {} bytes, more than the {LONGEST_HEADER} that readers accept",
            json.len()
        )),
        false => Ok([&(json.len() as u64).to_le_bytes()[..], &json].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let array = |name: &str, kind: Content, bytes: u64| NewArray {
            name: name.into(),
            shape: vec![2, 3],
            kind,
            bytes: 6 * bytes,
        };
        let arrays = [array("a", Content::Unsigned(1), 1), array("b", named("f32"), 4), array("c", named("bf16"), 2)];
        let metadata = [("k".to_string(), "v".to_string())].into();
        let (header, starts) = layout(&arrays, &metadata).unwrap();
        let length = header.len() as u64 + 6 * 7;
        let (read, read_metadata) = streamed(&header[..], length).unwrap();
        assert_eq!(read_metadata, metadata);
        for (array, start) in arrays.iter().zip(starts) {
            let again = read.iter().find(|candidate| candidate.name == array.name).unwrap();
            assert_eq!((&again.shape, again.kind, again.data), (&array.shape, array.kind, (start, array.bytes)));
            assert!(again.complete);
        }
        for end in 0..header.len() {
            assert!(streamed(&header[..end], length).is_err(), "{end}");
        }
        assert!(streamed(&header[..], length - 1).unwrap().0.iter().any(|array| !array.complete));
        assert!(streamed(&header[..], length + 1).is_err());
    }
}
