//! Recorded tables of Python packages, and the count of differences.

use std::{collections::BTreeMap, path::Path};

use safetensors::{Dtype, SafeTensors};

/// Code of a conversion that the package refused.
pub(crate) const REFUSED: u64 = 0xffff;

/// One file of tables: for each its name, split at the slashes, and its numbers.
pub(crate) struct Tables(Vec<(Vec<String>, Vec<u64>)>);

impl Tables {
    /// Reads `tests/tables/NAME.safetensors`; the runs of tables of 65,536 results are expanded.
    pub(crate) fn read(name: &str) -> Tables {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/tables/{name}.safetensors"));
        let bytes = std::fs::read(path).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let mut tables: Vec<_> = tensors
            .iter()
            .map(|(name, tensor)| {
                let width = tensor.dtype().bitsize() / 8;
                let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                let words: Vec<u64> = tensor.data().chunks(width).map(word).collect();
                let runs = tensor.dtype() == Dtype::U32 && name.starts_with("convert/");
                let parts = name.split('/').map(String::from).collect();
                (parts, if runs { expanded(&words) } else { words })
            })
            .collect();
        tables.sort();
        Tables(tables)
    }

    /// Tables whose names begin with `first`.
    pub(crate) fn matching(&self, first: &str) -> impl Iterator<Item = (Vec<&str>, &[u64])> {
        let first = first.to_string();
        let tables = self.0.iter().filter(move |(parts, _)| parts[0] == first);
        tables.map(|(parts, words)| (parts.iter().map(String::as_str).collect(), words.as_slice()))
    }

    /// Table of this name.
    pub(crate) fn get(&self, name: &str) -> &[u64] {
        &self.0.iter().find(|(parts, _)| parts.join("/") == name).unwrap_or_else(|| panic!("no table {name}")).1
    }
}

fn expanded(runs: &[u64]) -> Vec<u64> {
    let ends = runs.iter().skip(1).map(|run| run >> 16).chain([1 << 16]);
    runs.iter().zip(ends).flat_map(|(run, end)| (run >> 16..end).map(move |_| run & 0xffff)).collect()
}

/// Compares the counted differences with the expected ones.
pub(crate) fn check_counts(counts: &BTreeMap<(String, &'static str), u64>, expected: &[(&str, &str, u64)]) {
    let counted: Vec<_> = counts.iter().map(|((target, rule), count)| (target.as_str(), *rule, *count)).collect();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(counted, expected);
}
