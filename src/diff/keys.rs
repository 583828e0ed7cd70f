//! Columns that name a row of a table, and columns of provenance.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

/// Matching of the rows of tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    /// Columns of provenance in every table.
    provenance: Vec<String>,
    table: BTreeMap<String, TableKeys>,
}

/// Matching of the rows of one table.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct TableKeys {
    #[serde(default)]
    key: Vec<String>,
    #[serde(default)]
    provenance: Vec<String>,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| toml::from_str(include_str!("keys.toml")).expect("a test reads it"));

/// Columns that name a row of a table; none if rows are matched in order.
pub(super) fn key(table: &str) -> &'static [String] {
    KEYS.table.get(table).map_or(&[], |keys| &keys.key)
}

/// True if a column gives provenance (place, time, size) and no result.
pub(super) fn is_provenance(table: &str, column: &str) -> bool {
    let of_table = KEYS.table.get(table).map_or(&[][..], |keys| &keys.provenance);
    KEYS.provenance.iter().chain(of_table).any(|known| known == column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    #[test]
    fn every_table_and_column_that_is_named_is_declared() {
        let declared = tables::declared();
        let has = |table: &str, column: &String| {
            let table = declared.iter().find(|declared| declared.key == table);
            table.is_some_and(|table| table.columns.iter().any(|candidate| candidate.key == **column))
        };
        for (table, keys) in &KEYS.table {
            let missing: Vec<_> =
                keys.key.iter().chain(&keys.provenance).filter(|column| !has(table, column)).collect();
            assert!(missing.is_empty(), "{table}: {missing:?}");
            assert!(keys.key.iter().all(|column| !keys.provenance.contains(column)), "{table}");
        }
    }
}
