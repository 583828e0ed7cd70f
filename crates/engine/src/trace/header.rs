//! Headers of trace files: strict parsing and deterministic writing.
//!
//! The header type of safetensors keeps the last of duplicate keys and any number of tensors. This one refuses both
//! while it reads, and so never holds more than a trace's arrays.

use std::{collections::BTreeMap, fmt};

use safetensors::{
    Dtype,
    tensor::{Metadata, TensorInfo},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

/// Names of a trace's tensors: the possible operands, and D.
pub(super) const TENSORS: [&str; 7] = ["a", "b", "c", "d", "positions", "scale_a", "scale_b"];

/// The header of a trace file.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The `__metadata__` strings.
    pub metadata: BTreeMap<String, String>,
    /// The declared tensors, of three dimensions each.
    pub tensors: BTreeMap<String, Declared>,
}

/// A declared tensor.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declared {
    /// Element type.
    pub dtype: Dtype,
    /// Tiles, rows, columns.
    pub shape: [usize; 3],
    /// First byte, and the byte after the last, counted from the end of the header.
    pub data_offsets: (usize, usize),
}

impl Declared {
    /// Bytes of the array; `None` if they are not a whole number, or overflow.
    fn bytes(&self) -> Option<usize> {
        let bits = self.shape.iter().try_fold(self.dtype.bitsize(), |bits, n| bits.checked_mul(*n))?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }
}

impl Header {
    /// Parses a header's JSON, and checks the tensors against the `data_bytes` after it.
    /// Every array has the size of its shape; arrays are adjacent, without overlap or gap, and fill the file.
    pub(super) fn parse(json: &[u8], data_bytes: u64) -> Result<Header, String> {
        let header: Header = serde_json::from_slice(json).map_err(|error| format!("header: {error}"))?;
        if let Some((name, t)) =
            header.tensors.iter().find(|(_, t)| t.bytes() != t.data_offsets.1.checked_sub(t.data_offsets.0))
        {
            return Err(format!(
                "tensor '{name}': data_offsets {:?} do not span an array of {:?} elements of type {:?}",
                t.data_offsets, t.shape, t.dtype
            ));
        }
        let mut tensors: Vec<(String, TensorInfo)> = header
            .tensors
            .iter()
            .map(|(name, t)| {
                let info = TensorInfo { dtype: t.dtype, shape: t.shape.to_vec(), data_offsets: t.data_offsets };
                (name.clone(), info)
            })
            .collect();
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        let layout = Metadata::new(None, tensors).map_err(|error| format!("data_offsets: {error}"))?;
        if layout.data_len() as u64 != data_bytes {
            return Err(format!(
                "data_offsets: the header declares {} bytes of data and the file has {data_bytes} (truncated?)",
                layout.data_len()
            ));
        }
        Ok(header)
    }

    /// Encodes the header with its length before it and spaces up to a multiple of 8.
    ///
    /// # Errors
    /// A header longer than readers accept.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let tensors = self.tensors.iter().map(|(name, t)| (name.as_str(), t.dtype, &t.shape[..], t.data_offsets));
        crate::array::header(&self.metadata, tensors)
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Header, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the header of a trace: __metadata__ and the tensors a, b, c, d")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut header = Header::default();
                let mut described = false;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "__metadata__" {
                        if std::mem::replace(&mut described, true) {
                            return Err(A::Error::custom("__metadata__ appears twice"));
                        }
                        header.metadata = map.next_value::<UniqueStrings>()?.0;
                    } else if !TENSORS.contains(&key.as_str()) {
                        return Err(A::Error::custom(format!("tensor '{key}' is not one of {}", TENSORS.join(", "))));
                    } else {
                        let tensor = map
                            .next_value::<Declared>()
                            .map_err(|error| A::Error::custom(format!("tensor '{key}': {error}")))?;
                        if header.tensors.insert(key.clone(), tensor).is_some() {
                            return Err(A::Error::custom(format!("tensor '{key}' appears twice")));
                        }
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A JSON object of strings without duplicate keys.
struct UniqueStrings(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for UniqueStrings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueStrings, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = UniqueStrings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("__metadata__, an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueStrings, A::Error> {
                let mut strings = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map
                        .next_value::<String>()
                        .map_err(|error| A::Error::custom(format!("__metadata__ '{key}': {error}")))?;
                    if strings.insert(key.clone(), value).is_some() {
                        return Err(A::Error::custom(format!("__metadata__ '{key}' appears twice")));
                    }
                }
                Ok(UniqueStrings(strings))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
