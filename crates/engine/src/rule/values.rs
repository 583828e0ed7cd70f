//! Values of model files, read and set by path, and in words.

use toml::{Table, Value};

/// The value at `path` (`group`, `alignment.bits`) of a rule.
pub fn get<'a>(rule: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((table, key)) => get(rule.get(table)?.as_table()?, key),
        None => rule.get(path),
    }
}

/// True if the rule has the table that `path` lies in.
pub(super) fn has_place(rule: &Table, path: &str) -> bool {
    path.rsplit_once('.').is_none_or(|(table, _)| get(rule, table).is_some_and(Value::is_table))
}

/// Sets or removes the value at a path, if there is such a place.
pub fn set(rule: &mut Table, path: &[&str], value: Option<Value>) {
    match (path, value) {
        ([], _) => {}
        ([key], Some(value)) => {
            rule.insert((*key).into(), value);
        }
        ([key], None) => {
            rule.remove(*key);
        }
        ([table, rest @ ..], value) => {
            if let Some(table) = rule.get_mut(*table).and_then(Value::as_table_mut) {
                set(table, rest, value);
            }
        }
    }
}

/// A value in words, without quotes.
pub fn shown(value: Option<&Value>) -> String {
    match value {
        None => "absent".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string().replace('\n', " "),
    }
}
